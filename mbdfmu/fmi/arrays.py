"""Variables `u[1]`, `u[2]`, .. as one array `u`, as FMI 3.0 has them; must not know XML, models or archives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mbdfmu.fmi.variables import Table, Variable

_ELEMENT = re.compile(r"(?P<base>.+)\[(?P<number>\d+)\]")


def with_arrays(table: Table) -> Table:
    """The table in which elements that follow each other are one variable with the reference of the first.

    What depends on an element depends on the array then, and the other way round.
    """
    runs = list(_runs(table.variables))
    owner = {v.reference: run[0].reference for run in runs for v in run}
    return replace(table, variables=tuple(_joined(run, owner) for run in runs))


def _runs(variables: Sequence[Variable]) -> Iterator[list[Variable]]:
    """Elements of an array, complete and in order; what is none stands alone."""
    names = {v.name for v in variables}
    at = 0
    while at < len(variables):
        size = _size(variables, at, names)
        yield list(variables[at : at + size])
        at += size


def _size(variables: Sequence[Variable], at: int, names: set[str]) -> int:
    """How many variables from here on are one array; 1: this one is none."""
    first = variables[at]
    found = _ELEMENT.fullmatch(first.name)
    if found is None or found["number"] != "1" or found["base"] in names or not _can_be_element(first):
        return 1
    size = 1
    while at + size < len(variables) and _follows(variables[at + size], first, size, found["base"]):
        size += 1
    complete = f"{found['base']}[{size + 1}]" not in names
    return size if complete else 1


def _can_be_element(v: Variable) -> bool:
    """Start values of coordinates belong to one variable each."""
    return v.type == "Real" and v.kept is None


def _follows(v: Variable, first: Variable, k: int, base: str) -> bool:
    placed = v.name == f"{base}[{k + 1}]" and v.index == first.index + k
    return placed and _can_be_element(v) and _kind(v) == _kind(first)


def _kind(v: Variable) -> tuple[object, ...]:
    return v.role, v.causality, v.variability, v.unit, v.minimum, v.maximum, v.nominal


def _joined(run: Sequence[Variable], owner: dict[int, int]) -> Variable:
    first = run[0]
    depends, initially = (_mapped((getattr(v, name) for v in run), owner) for name in ("depends", "initially"))
    one = replace(first, depends=depends, initially=initially)
    if len(run) == 1:
        return one
    starts = tuple(start for v in run for start in v.starts) or None
    found = _ELEMENT.fullmatch(first.name)
    return replace(one, name=found["base"] if found else first.name, size=len(run), start=starts)


def _mapped(given: Iterator[tuple[int, ...] | None], owner: dict[int, int]) -> tuple[int, ...] | None:
    """The references that now stand for these; None where nobody asks."""
    sets = [references for references in given if references is not None]
    return tuple(sorted({owner[r] for references in sets for r in references})) if sets else None
