"""Constraint rows that repeat others, in words; must not know how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mbdfmu.signals import SymbolicModel

SHOWN = 6  # rows that one row repeats


@dataclass(frozen=True)
class Redundancy:
    """A constraint row that is a combination of others; it is left out of the motion."""

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
        Redundancy(labels[row], tuple(labels[k] for k, _ in sorted(repeats, key=lambda r: -abs(r[1]))))
        for row, repeats in found
    ]


def notes(found: Sequence[Redundancy], model: SymbolicModel) -> list[str]:
    """What a user of the reactions has to know."""
    if not found:
        return []
    rows = dict.fromkeys(row for r in found for row in (r.label, *r.repeats))
    elements = list(dict.fromkeys(row.rpartition(" (")[0] for row in rows))
    laws = {f"force '{f.name}'": f.load.spring + f.load.actuator for f in model.forces}
    laws |= {f"coordinate '{name}'": force for name, force in model.generalized_forces.items()}
    readers = [
        name for name, law in laws.items() if any(s.value[0] == "lam" and s.value[1] in rows for s in law.support)
    ]
    return [
        *(f"redundant: {r}" for r in found),
        f"reactions of {', '.join(elements)} are not unique; the smallest possible are reported",
        *(f"{name} depends on reactions that are not unique; so does the motion" for name in readers),
    ]
