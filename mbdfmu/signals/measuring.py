"""Looks for expressions whose unit is not the one that belongs where they stand; must not know any formula.

Units count where they are given: by parameters, inputs, states, variables, outputs and by the fields of elements. What
has none fits anything (see quantities.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from mbdfmu.blocks import BlockElement
from mbdfmu.description import (
    Constraint,
    Coordinate,
    Element,
    Event,
    Formula,
    Initial,
    Motion,
    Output,
    Parameter,
    Short,
    State,
    Typed,
    Variable,
    Vector,
)
from mbdfmu.expressions import take_apart
from mbdfmu.quantities import PLAIN, Quantity, Table, inferred, known, shown
from mbdfmu.signals.draft import Draft
from mbdfmu.units import differentiated

_DERIVATIVE = re.compile(r"der\(([^,)]*)(?:,[12])?\)")
_LEVELS = {"position": 0, "velocity": 1, "acceleration": 2}
Found = tuple[str, str, str | None]  # place in the file, expression, the unit that belongs there


@cache
def _fields(kind: type[Element]) -> list[tuple[str, str, str | None]]:
    """Every field of a class, its key in a file and its unit: "1" where that is said, none where nothing is."""
    units = {name: text or "1" for name, text in kind.units().items()}
    return [(name, info.alias or name, units.get(name)) for name, info in kind.model_fields.items()]


def misfits(draft: Draft) -> list[str]:
    """A finding for each expression that is in another unit than it should be, or adds what cannot be added."""
    return list(_Check(draft).findings())


class _Check:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.elements = {name: element for _, name, element in draft.d.elements()}
        self.tables = {n: Table(known(table.x_unit), known(table.y_unit)) for n, table in draft.d.tables.items()}

    def findings(self) -> Iterator[str]:
        for section, name, element in self.draft.d.elements():
            for path, text, unit in self._expressions(f"{section}.{name}", name, element):
                yield from self._compared(path, text, unit)
        for key, value in self.draft.d.mass.items():
            for path, text, unit in self._inside(f"mass.{key}", key, value, None):
                yield from self._compared(path, text, unit)

    def _compared(self, path: str, text: str, unit: str | None) -> Iterator[str]:
        found, problems = inferred(self.draft.names.tree(text), self._unit_of, self.tables)
        yield from (f"{path}: {problem}" for problem in problems)
        wanted = PLAIN if unit == "1" else known(unit or "")
        if isinstance(found, tuple) and isinstance(wanted, tuple) and found != wanted:
            yield f"{path}: {text!r} is in {shown(found)}, not in {unit}; correct it or what it names, or write 1*(..)"

    # ---- what is written where

    def _expressions(self, path: str, name: str, element: Element) -> Iterator[Found]:
        """All expressions of an element with their places and units."""
        own: dict[str, str | None] | None = None
        for field, key, said in _fields(type(element)):
            value = getattr(element, field)
            if not isinstance(value, str | tuple | dict | Element):
                continue
            own = self._own_units(name, element) if own is None else own
            unit = own.get(field, said)
            if isinstance(value, Vector) and unit == "1":
                unit = None  # a direction may have any length
            if isinstance(element, Typed) and field == "start" and isinstance(value, dict):
                yield from self._starts(f"{path}.start", name, value)
            elif isinstance(element, Event) and isinstance(value, dict):
                yield from self._settings(f"{path}.{key}", name, value)
            else:
                short = isinstance(element, Short) and field == "value"
                yield from self._inside(path if short else f"{path}.{key}", name, value, unit)

    def _inside(self, path: str, name: str, value: Any, unit: str | None) -> Iterator[Found]:
        """The depth is that of the element's class, hence the recursion."""
        if isinstance(value, Formula):
            yield path, value, unit
        elif isinstance(value, Element):
            yield from self._expressions(path, name, value)
        elif isinstance(value, tuple):
            for k, item in enumerate(value):
                yield from self._inside(f"{path}[{k}]", name, item, unit)

    def _starts(self, path: str, name: str, given: dict[str, Initial]) -> Iterator[Found]:
        for key, initial in given.items():
            signal = self.draft.signals.get(f"{name}.{key}")
            yield from self._inside(f"{path}.{key}", name, initial.value, signal.unit if signal else None)

    def _settings(self, path: str, name: str, given: dict[str, Any]) -> Iterator[Found]:
        """What an event sets states to is in their units."""
        for state, value in given.items():
            signal = self.draft.signals.get(state)
            yield from self._inside(f"{path}.{state}", name, value, signal.unit if signal else None)

    def _own_units(self, name: str, element: Element) -> dict[str, str | None]:
        """Units of fields that follow from another field."""
        if isinstance(element, Parameter | Variable | Output):
            return {"value": element.unit, "start": getattr(element, "unit", None)}
        if isinstance(element, State):
            return {"rate": differentiated(element.unit) if element.unit else None, "start": element.unit}
        if isinstance(element, Constraint) and "unit" in element.model_fields_set:
            return {"value": element.unit}
        if isinstance(element, Coordinate) and "unit" in element.model_fields_set:
            return {"start": element.unit, "velocity": differentiated(element.unit)}
        if isinstance(element, BlockElement):
            return dict.fromkeys(element.in_unit, element.unit)
        return {"value": self._driven(element)} if isinstance(element, Motion) else {}

    def _driven(self, motion: Motion) -> str | None:
        unit = self.draft.unit_of(motion.of) if motion.unit is None else motion.unit
        for _ in range(_LEVELS[motion.level] if unit else 0):
            unit = differentiated(unit)
        return unit

    # ---- what names are in

    def _unit_of(self, name: str) -> Quantity:
        """Unknown where no unit is given; so is time, which stands for angles in sin(time)."""
        if name == "time":
            return None
        if function := take_apart(name):
            return known(function[0].unit)
        derivative = _DERIVATIVE.fullmatch(name)
        base = (derivative[1] if derivative else name).removesuffix(".start")
        signal, owner = self.draft.signals.get(name), self._element(base)
        if signal is None or self._is_guess(base, owner, derivative is not None):
            return None
        return known(signal.unit)

    def _is_guess(self, base: str, owner: Any, is_rate: bool) -> bool:
        """Whether the unit of a name follows from one that nobody has given."""
        if isinstance(owner, Coordinate | Constraint | Motion):
            return "unit" not in owner.model_fields_set
        signal = self.draft.signals.get(base)
        return is_rate and not (signal and signal.unit)

    def _element(self, name: str) -> Any:
        """The element that a signal belongs to."""
        words = name.partition("[")[0].split(".")
        for k in range(len(words), 0, -1):
            if (element := self.elements.get(".".join(words[:k]))) is not None:
                return element
        return None
