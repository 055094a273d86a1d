"""Conversions between units, those that a file defines and ours; must not know what is converted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mbdfmu.cosim.ssp.markup import Tag
from mbdfmu.errors import ModelError
from mbdfmu.units import BASE, bare, unit


@dataclass(frozen=True)
class Affine:
    """y = factor * x + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def then(self, other: Affine) -> Affine:
        """This, then the other."""
        return Affine(other.factor * self.factor, other.factor * self.offset + other.offset)


@dataclass(frozen=True)
class Definition:
    """A value in base units is factor * value + offset."""

    exponents: tuple[int, ...]  # of BASE
    factor: float
    offset: float = 0.0
    own: bool = False  # whether it is ours


class Units:
    """The units that a file knows."""

    def __init__(self, defined: dict[str, Definition] | None = None) -> None:
        self._defined = defined or {}

    def with_those_of(self, tags: Iterable[Tag]) -> Units:
        """With the definitions of <Unit> elements, which go before what was known."""
        return Units(self._defined | {tag.needed("name"): _definition(tag) for tag in tags})

    def between(self, found: str, wanted: str) -> Affine | None:
        """What turns one into the other; None where nothing does. A value without unit is taken as it is."""
        if not (found and wanted) or found == wanted:
            return Affine()
        one, other = self._named(found), self._named(wanted)
        if one is None or other is None or not _alike(one, other):
            return None
        return Affine(one.factor / other.factor, (one.offset - other.offset) / other.factor)

    def _named(self, name: str) -> Definition | None:
        return self._defined.get(name) or ours(bare(name))


def ours(name: str) -> Definition | None:
    """None where it is none of ours."""
    try:
        known = unit(name)
    except ModelError:
        return None
    return Definition(known.exponents, known.factor, own=True)


def _alike(one: Definition, other: Definition) -> bool:
    """Whether the quantity is the same. To some tools an angle is a plain number, to us it is not."""
    if one.own and other.own:
        return one.exponents == other.exponents
    return one.exponents[:-1] == other.exponents[:-1]


def _definition(tag: Tag) -> Definition:
    base = tag.child("BaseUnit")
    if base is None:
        return Definition((0,) * len(BASE), 1.0)
    factor = base.number("factor", 1.0)
    if factor == 0.0:
        base.problem(f"factor of unit '{tag.get('name')}' must not be 0")
        factor = 1.0
    return Definition(tuple(int(base.number(name)) for name in BASE), factor, base.number("offset"))
