"""What fields may not be below or above, where they are expressions; must not know any formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple, get_args, get_origin

from mbdfmu.description import Bound, Element, Parameter
from mbdfmu.errors import ExpressionError
from mbdfmu.expressions import Node, build, evaluate
from mbdfmu.resolution import ANY, PARAMETERS
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Bounded

Value = Callable[[str, str | float], Node | None]
_NO_LIMIT = 1e300
_POSITIVE = Bound("positive", 0, positive=True)
_IN_ORDER = Bound("zero or positive", 0)


class _Found(NamedTuple):
    """Something with a bound, written as an expression."""

    label: str  # of the field
    node: Node
    bound: Bound
    problem: Callable[[float], str]  # what is said of a constant that lies outside


def bounded(draft: Draft) -> list[Bounded]:
    """All fields with a bound that follow from parameters; constants in quotes are judged here, as numbers were."""
    bounds: list[Bounded] = []
    _judge_length(draft)
    for section, name, element in draft.d.elements():
        place, refused = f"{section}.{name}", set[str]()  # one field may have several bounds
        for found in _fields(element, partial(_value, draft, place)):
            if not found.node.support:
                if found.label not in refused and (problem := _judged(place, found)):
                    draft.problems.append(problem)
                    refused.add(found.label)
            elif all(symbol.value[0] == "p" for symbol in found.node.support):
                label = f"{found.label} of {_one(section)} '{name}'"
                bounds.append(Bounded(label=label, node=found.node, bound=found.bound))
    return bounds


def _judge_length(draft: Draft) -> None:
    """Of the model; what follows from parameters the solver looks at."""
    length = draft.d.length
    if isinstance(length, str) and not (node := draft.names.value("length", length, PARAMETERS)).support:
        found = _Found("length", node, _POSITIVE, partial(_outside, "length", _POSITIVE))
        draft.problems += [problem.removeprefix(".")] if (problem := _judged("", found)) else []


def _value(draft: Draft, place: str, part: str, value: str | float) -> Node | None:
    """None where it cannot be resolved; that is told once for each element."""
    names = draft.names
    if not isinstance(value, str):
        return names.graph.const(value)
    try:
        build(names.tree(value), names.graph, names.resolve, names.curve)
    except ExpressionError as error:
        if not any(problem.startswith(place) for problem in draft.problems):
            names.report(f"{place}.{part}", error)
        return None
    return names.value(f"{place}.{part}", value, ANY)


def _judged(place: str, found: _Found) -> str:
    """Empty where a constant is allowed; what is not finite is told elsewhere."""
    value = float(evaluate([found.node], {})[0])
    outside = math.isfinite(value) and not found.bound.holds(value)
    return f"{place}{found.problem(value)}" if outside else ""


def _fields(element: Element, value: Value, path: str = "") -> Iterator[_Found]:
    """Of the element and of those in it, as the shapes of a body."""
    if isinstance(element, Parameter):
        yield from _of_parameter(element, value)
    for field, bounds in _bounds(type(element)):
        for part, written, bound in _parts(f"{path}{field}", getattr(element, field), bounds):
            if (node := value(part, written)) is not None:
                yield _Found(part, node, bound, partial(_outside, part, bound))
    yield from _in_order(element, value, path)
    for field in type(element).model_fields:
        for part, inner in _elements(f"{path}{field}", getattr(element, field)):
            yield from _fields(inner, value, f"{part}.")


def _of_parameter(given: Parameter, value: Value) -> Iterator[_Found]:
    """Its own bounds are its user's."""
    limits = (given.min, given.max)
    if isinstance(given.value, str) and limits != (None, None) and (node := value("value", given.value)) is not None:
        least, most = (sign * _NO_LIMIT if end is None else end for sign, end in zip((-1, 1), limits, strict=True))
        bound = Bound(f"within min and max [{given.min}, {given.max}]", least, most)
        yield _Found("value", node, bound, partial(_outside, "value", bound))


def _elements(field: str, value: object) -> Iterator[tuple[str, Element]]:
    several = [(f"{field}[{k}]", one) for k, one in enumerate(value)] if isinstance(value, tuple) else [(field, value)]
    yield from ((part, one) for part, one in several if isinstance(one, Element))


def _outside(part: str, bound: Bound, value: float) -> str:
    return f".{part}: must be {bound.allowed}, found {value!r}"


def _in_order(element: Element, value: Value, path: str) -> Iterator[_Found]:
    for low, high in element.ascending:
        ends = getattr(element, low), getattr(element, high)
        if None in ends or not any(isinstance(end, str) for end in ends):
            continue
        least, most = value(f"{path}{low}", ends[0]), value(f"{path}{high}", ends[1])
        if least is not None and most is not None:
            problem = partial(_crossed, (low, high), (least, most))
            yield _Found(f"{path}{high} minus {low}", most - least, _IN_ORDER, problem)


def _crossed(fields: tuple[str, str], ends: tuple[Node, Node], value: float) -> str:
    found = " and ".join(f"{evaluate([end], {})[0]:g}" for end in ends)
    return f": {fields[0]} must not exceed {fields[1]}, found {found}"


def _parts(field: str, value: object, bounds: list[_Marked]) -> Iterator[tuple[str, str, Bound]]:
    """What is written as an expression, in a list too."""
    if isinstance(value, str):
        yield from ((field, value, bound) for bound, of_items in bounds if not of_items)
    elif isinstance(value, tuple):
        for k, one in enumerate(value):
            marks = (bound for bound, of_items in bounds if of_items is not False and k < bound.items)
            yield from ((f"{field}[{k}]", one, bound) for bound in marks if isinstance(one, str))


def _one(section: str) -> str:
    return "body" if section == "bodies" else section.removesuffix("s")


_Marked = tuple[Bound, bool | None]  # and whether it bounds the items of a list; None: both these and a single value


@cache
def _bounds(kind: type[Element]) -> list[tuple[str, list[_Marked]]]:
    found = []
    for name, info in kind.model_fields.items():
        own: list[_Marked] = [(mark, None) for mark in info.metadata if isinstance(mark, Bound)]
        if marks := own + list(_marks(info.annotation, in_list=None)):
            found.append((name, marks))
    return found


def _marks(annotation: Any, in_list: bool | None) -> Iterator[_Marked]:
    """The bounds in an annotation; a number has none of its own, `tuple[Positive, ...]` has that of its items."""
    if get_origin(annotation) is tuple:
        in_list = True
    arguments = get_args(annotation)
    for mark in getattr(annotation, "__metadata__", ()):
        if isinstance(mark, Bound):
            yield mark, get_origin(arguments[0]) is tuple or in_list or False
    for argument in arguments:
        yield from _marks(argument, in_list)
