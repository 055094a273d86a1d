"""A drawn model with its reference run and what small errors grow to, from which the bound of every way follows.

The bound of a run at tolerance e by a scheme of order p is SAFETY max(G, C) e^(p/(p + 1)). G is by how much the model
magnifies an error of the start: the reference with start values changed by NUDGED, measured. C is by how much the error
of a run at a coarser tolerance exceeds that power of its tolerance, as it does where forces have kinks. Of second order
the power is what few steps sum up to; where a run has taken many, its bound is that of as many local errors, each below
e. Where C is above 1, errors fall with the root of the tolerance, to which tests/test_gaps.py holds all schemes (seed
5053, `radau`: 5.1e-6 at 1e-8, 1.1e-5 at 1e-10, 2.2e-7 at 1e-11). Nothing is loosened for a model: one whose bound says
nothing (above USEFUL) is not decided. Neither G nor C knows what open joints do to the motion, or stiff forces make of
errors in positions: a run a little over its bound is right if its error falls with its tolerance (`ways.judged`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import mbdfmu as mbd
from mbdfmu.errors import ModelError, StepFailed
from search.generate import NUDGE
from search.motion import Array, Motion, apart, motion, recorded
from search.sketch import Sample

REFERENCE: dict[str, Any] = {"scheme": "radau", "tolerance": 1e-10}
COARSER: dict[str, Any] = {"scheme": "radau", "tolerance": 1e-8}
ORDER = 5  # of both
LOW = 2  # the order of which steps are many
NUDGED = 1e-8
SAFETY = 30.0
USEFUL = 1e-2
POINTS = 20


class Undecided(Exception):
    """A model that says nothing: why."""


@dataclass(frozen=True)
class Finding:
    """Two ways that must agree and do not."""

    way: str
    what: str
    apart: float
    bound: float

    def __str__(self) -> str:
        return f"{self.way}: {self.what} (off by {self.apart:.1e}, bound {self.bound:.1e})"


class Case:
    """One sample; everything is computed when first asked for."""

    def __init__(self, sample: Sample, few: bool = False) -> None:
        """`few`: only some of all schemes, by turns."""
        self.sample, self.few = sample, few
        self.grid: Array = np.linspace(0.0, sample.end, POINTS + 1)

    @cached_property
    def model(self) -> mbd.Model:
        return self.sample.model()

    def run(self, model: mbd.Model | None = None, **settings: Any) -> Motion:
        """By one call of simulate."""
        model = model or self.model
        points = settings.pop("points", POINTS)
        inputs = dict(self.sample.inputs) or None
        result = model.simulate(
            self.sample.end, self.sample.end / points, inputs=inputs, record=recorded(model), **settings
        )
        found = motion(model, result, result.time, self.grid[:: max(1, POINTS // points)], result.events)
        return replace(found, steps=int(result.statistics["steps"]))

    @cached_property
    def reference(self) -> Motion:
        """Fails as the model does: by name."""
        try:
            return self.run(**REFERENCE)
        except StepFailed as error:
            raise Undecided(f"the reference ends: {error}") from None

    @cached_property
    def growth(self) -> float:
        """G: of a small error of the start, at least 1."""
        reference = self.reference
        try:
            changed = self.run(**REFERENCE, parameters={NUDGE: NUDGED})
        except (ModelError, StepFailed) as error:
            raise Undecided(f"with start values changed by {NUDGED:g}: {error}") from None
        return max(1.0, apart(reference, changed) / NUDGED)

    @cached_property
    def roughness(self) -> float:
        """C: the error of the coarser run over what its tolerance lets expect."""
        try:
            return apart(self.reference, self.run(**COARSER)) / expected(COARSER["tolerance"], ORDER)
        except StepFailed as error:
            raise Undecided(f"the reference at a coarser tolerance ends: {error}") from None

    def bound(self, tolerance: float, order: int, steps: int = 0) -> float:
        """Of a run by a scheme of this order, in so many steps; not decided where it says nothing."""
        usual = expected(tolerance, order, steps)
        kinks = expected(COARSER["tolerance"], ORDER) * (tolerance / COARSER["tolerance"]) ** 0.5
        rough = self.roughness * (max(usual, kinks) if self.roughness > 1 else usual)
        bound = float(SAFETY * max(self.growth * usual, rough))
        if bound > USEFUL:
            raise Undecided(f"small errors grow by {self.growth:.0e}, and {self.roughness:.0e} is the roughness")
        return bound


def expected(tolerance: float, order: int, steps: int = 0) -> float:
    """The error that a local error below the tolerance sums up to, of a model that does not magnify it."""
    few = float(tolerance ** (order / (order + 1)))
    return max(few, steps * tolerance) if order == LOW else few
