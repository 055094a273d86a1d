"""Models of two bodies and one force element, made of the samples in force_examples.py; must not hold a formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import numpy as np
import pytest

import mbdfmu.forces  # noqa: F401  fills the family, so that descriptions can name its members
from mbdfmu.description import Description, Force, MarkerRef
from reference.force_examples import EXAMPLES, Example

BODIES = ("one", "two")


@dataclass(frozen=True)
class Case:
    """One example in a model of so many dimensions."""

    kind: str
    number: int
    dimensions: int

    @property
    def example(self) -> Example:
        return EXAMPLES[self.kind][self.number]

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}-{'plane' if self.dimensions == 2 else 'space'}"


def cases(wanted: Callable[[Example], Any] = lambda _: True) -> list[Any]:
    found = [Case(kind, n, d) for kind in EXAMPLES for n in range(len(EXAMPLES[kind])) for d in (2, 3)]
    chosen = (c for c in found if c.example.of(c.dimensions) is not None and wanted(c.example))
    return [pytest.param(case, id=str(case)) for case in chosen]


def markers(member: type[Force]) -> list[str]:
    """The fields that must name one."""
    kind = get_args(MarkerRef)[0]
    return [n for n, info in member.model_fields.items() if info.is_required() and info.annotation == kind]


def random_marker(rng: np.random.Generator, body: str, dimensions: int) -> dict[str, Any]:
    at = [float(x) for x in rng.uniform(-0.5, 0.5, dimensions)]
    if dimensions == 2:
        return {"body": body, "at": at, "angle": float(rng.uniform(-1, 1))}
    axis = [float(x) for x in rng.normal(size=3)]
    return {"body": body, "at": at, "orientation": {"axis": axis, "angle": float(rng.uniform(0.1, 1))}}


@cache
def element(case: Case, ends: tuple[str, str], conservative: bool = False) -> dict[str, Any]:
    """What a file says about the example."""
    member, rng = Force.named(case.kind), np.random.default_rng(case.number)
    pairs = zip(markers(member), ends, strict=False)
    given = {end: random_marker(rng, body, case.dimensions) for end, body in pairs}
    if case.example.marker is not None:
        at = {key: value[: case.dimensions] for key, value in case.example.marker.items()}
        given = {end: {"body": marker["body"], **at} for end, marker in given.items()}
    own = case.example.of(case.dimensions) or {}
    left_out = (case.example.conservative or ()) if conservative else ()
    return {"type": case.kind, **given, **{key: value for key, value in own.items() if key not in left_out}}


def described(case: Case, force: dict[str, Any] | None) -> Description:
    """Two free bodies, and the element called f."""
    planar = case.dimensions == 2
    inertia: Any = 0.4 if planar else [0.4, 0.3, 0.5]
    places = case.example.positions or ((0.1, -0.2, 0.3), (-0.6, 0.7, -0.4))
    bodies = {
        name: {"mass": 0.7, "inertia": inertia, "position": list(place[: case.dimensions]), "free": True}
        for name, place in zip(BODIES, places, strict=True)
    }
    return Description(
        format_version=1, name="sample", dimensions=case.dimensions, bodies=bodies,
        forces={} if force is None else {"f": force}, **case.example.sections,
    )  # fmt: skip
