"""Constraint rows that repeat others, in words; must not know how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHOWN = 6  # rows that one row repeats


@dataclass(frozen=True)
class Redundancy:
    """A constraint row that is a combination of others; it is left out of the motion."""

    row: int  # its number among all constraint rows
    label: str  # `joint 'hinge' (rotation 2)`
    repeats: tuple[str, ...]  # the rows it is made of, the strongest first

    def __str__(self) -> str:
        more = f" and {len(self.repeats) - SHOWN} more" if len(self.repeats) > SHOWN else ""
        if not self.repeats:
            return f"{self.label} holds nothing at the start"
        return f"{self.label} repeats what is held by {', '.join(self.repeats[:SHOWN])}{more}"


def redundancies(found: Iterable[tuple[int, Sequence[tuple[int, float]]]], labels: Sequence[str]) -> list[Redundancy]:
    """The solver's findings with the labels of the constraint rows."""
    return [
        Redundancy(row, labels[row], tuple(labels[k] for k, _ in sorted(repeats, key=lambda r: -abs(r[1]))))
        for row, repeats in found
    ]
