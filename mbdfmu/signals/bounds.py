"""What fields may not be below or above, where they are expressions of parameters; must not know any formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import get_args

from mbdfmu.description import Bound, Element
from mbdfmu.expressions import Node
from mbdfmu.resolution import ANY
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Bounded


def bounded(draft: Draft) -> list[Bounded]:
    """All fields with a bound that are expressions of parameters; numbers have been looked at when they were read."""
    return list(_found(draft))


def _found(draft: Draft) -> Iterator[Bounded]:
    for section, name, element in draft.d.elements():
        value = partial(_value, draft, f"{section}.{name}")
        for label, node, bound in (*_in_bounds(element, value), *_in_order(element, value)):
            if node.support and all(symbol.value[0] == "p" for symbol in node.support):
                yield Bounded(label=f"{label} of {_one(section)} '{name}'", node=node, bound=bound)


def _value(draft: Draft, place: str, part: str, value: str | float) -> Node:
    return draft.names.value(f"{place}.{part}", value, ANY)


def _in_bounds(element: Element, value: Callable[[str, str | float], Node]) -> Iterator[tuple[str, Node, Bound]]:
    for field, bound in _bounds(type(element)):
        for part, written in _parts(field, getattr(element, field)):
            yield part, value(part, written), bound


def _in_order(element: Element, value: Callable[[str, str | float], Node]) -> Iterator[tuple[str, Node, Bound]]:
    for low, high in element.ascending:
        ends = getattr(element, low), getattr(element, high)
        if None not in ends and any(isinstance(end, str) for end in ends):
            yield f"{high} minus {low}", value(high, ends[1]) - value(low, ends[0]), Bound("zero or positive", 0)


def _parts(field: str, value: object) -> Iterator[tuple[str, str]]:
    """What is written as an expression, in a list too."""
    named = [(f"{field}[{k}]", one) for k, one in enumerate(value)] if isinstance(value, tuple) else [(field, value)]
    yield from ((part, one) for part, one in named if isinstance(one, str))


def _one(section: str) -> str:
    return "body" if section == "bodies" else section.removesuffix("s")


@cache
def _bounds(kind: type[Element]) -> list[tuple[str, Bound]]:
    found = []
    for name, info in kind.model_fields.items():
        inside = [mark for part in get_args(info.annotation) for mark in getattr(part, "__metadata__", ())]
        found += [(name, mark) for mark in (*info.metadata, *inside) if isinstance(mark, Bound)]
    return found
