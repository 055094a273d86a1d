"""What is left of a description with findings, so that one look shows all that is wrong; must not know any formula."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbdfmu.description.checks import held
from mbdfmu.description.messages import path
from mbdfmu.description.pieces import Pieces

if TYPE_CHECKING:
    from mbdfmu.description.description import Description


@dataclass(frozen=True)
class Rest:
    """The valid part of a description, and the names of the elements that it lacks."""

    description: Description
    lost: frozenset[str]


def valid_rest(pieces: Pieces, problems: Iterable[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """The fields that no finding is about and that hold nothing which is lost; and the names of what is lost."""
    broken = _Broken(problems)
    lost = {
        name
        for section in pieces.named
        for name in pieces.given[section]
        if name not in pieces.valid[section] or broken.holds(section, name)
    }
    while more := _leaning_on(lost, pieces):
        lost |= more
    fields: dict[str, Any] = {name: value for name, value in pieces.header.items() if not broken.holds(name)}
    for section, entries in pieces.valid.items():
        named = section in pieces.named
        fields[section] = {
            key: entry
            for key, entry in entries.items()
            if not broken.holds(section, key) and lost.isdisjoint([key] if named else map(_element, key.split(",")))
        }
    return fields, frozenset(lost)


class _Broken:
    """The places that findings begin with."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)

    def holds(self, *location: str) -> bool:
        place = path(location)
        return any(problem.startswith((f"{place}:", f"{place}.", f"{place}[")) for problem in self.problems)


def _leaning_on(lost: set[str], pieces: Pieces) -> set[str]:
    """The elements that refer to what is lost and are not yet lost themselves."""
    return {
        name
        for section in pieces.named
        for name, element in pieces.valid[section].items()
        if name not in lost and any(_element(reference) in lost for _, reference in held((section, name), element))
    }


def _element(name: str) -> str:
    """The element of this model that a name begins with."""
    return name.partition(".")[0]
