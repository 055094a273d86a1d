"""Kinematic analysis: a fully driven model moves as constraints and motions say; must not know files.

Nothing is integrated: positions are solved for at every output time, from the last pose on (T18.1 - T18.3); velocities,
accelerations and reactions are those that a simulation reports there (T18.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mbdfmu.analyses.closure import LONGEST, Closure, Lost, listed
from mbdfmu.analyses.compiled import CompiledModel, Vector
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.notes import silent_events
from mbdfmu.analyses.settings import Settings
from mbdfmu.analyses.stepping import Simulation
from mbdfmu.errors import ModelError, StepFailed

SMALLEST = 1e-6  # of the interval asked for: shorter steps do not get past what stops the motion
MET = 1e-12  # of the model's length: what a prediction meets so well is a pose, if a singular one
NEARLY = 0.02  # of the largest singular value: below it the motion is near a dead point
LARGEST = 600  # coordinates, above which that is not examined: the cost grows with the cube
NO_TARGET: Vector = np.zeros(0)


class Kinematics(Simulation):
    """A simulation whose motion is known: `advance` solves for positions where others integrate."""

    begins_as_written = False  # the start is a guess of the first pose

    def __init__(
        self,
        compiled: CompiledModel,
        *,
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        assemble: bool = True,
    ) -> None:
        super().__init__(compiled, Settings(), parameters=parameters, start=start, assemble=assemble)
        self._refuse_states()
        self._closure = Closure(self._native, self._lowered)
        state = self._native.save()
        self._refuse_free(state.q)
        self._step, self._calm = np.inf, True
        self._work = {"steps": 0, "rejected": 0}
        self._worst = 0.0
        self._begin(state.q, state.v)

    @property
    def statistics(self) -> dict[str, int | float]:
        """Work done so far, and the worst gap that was left, of the model's length."""
        return {**self._work, "iterations": self._closure.iterations, "worst_position_violation": self._worst}

    @property
    def notes(self) -> list[str]:
        """What a reader of the signals has to know."""
        return [*super().notes, *silent_events(self._model, "a kinematic analysis")]

    def advance(self, time: float) -> None:
        """Advance exactly to `time`; StepFailed names what stops the motion, and leaves the last good pose."""
        self._values = None
        interval = float(time) - self.time
        while self.time < time:
            left = float(time) - self.time
            h = left if self._step >= left * (1 - 1e-9) else self._step
            try:
                self._advance_by(h, float(time) if h == left else self.time + h)
            except Lost as lost:
                self._work["rejected"] += 1
                self._step, self._calm = h / 2, False
                if self._step < SMALLEST * interval:
                    raise StepFailed(self._stopped(self.time, self._q, lost)) from None

    def restore(self, state: Any) -> None:
        """Go back (or on) to a saved state of this model."""
        super().restore(state)
        self._closure.take_rows()
        self._q = self._native.save().q

    def _advance_by(self, h: float, t: float) -> None:
        native, closure = self._native, self._closure
        dq = h * native.v + h * h / 2 * native.a
        if not closure.share(dq) <= LONGEST:
            raise Lost(None)
        with translated():
            ahead = np.asarray(native.system.moved(self._q, dq))
        self._pose(t, closure.closed(t, ahead, NO_TARGET), native.v + h * native.a)
        self._step, self._calm = h * (2 if self._calm else 1), True  # not at once after a rejection
        self._work["steps"] += 1

    def _pose(self, t: float, q: Vector, v: Vector) -> None:
        """Stand there; where rows turn dependent, on the pose that the rows kept from here on give."""
        with translated(f"model '{self._model.description.name}': "):
            before = self._native.save()
            self._native.pose(t, q, v, np.zeros(0))
            if self._closure.exchange_rows():
                q = self._closed_anew(t, q, before)
                self._native.pose(t, q, v, np.zeros(0))
            self._native.adopt()
        self._q = q
        self._worst = max(self._worst, self._closure.open(t, q))

    def _closed_anew(self, t: float, q: Vector, before: Any) -> Vector:
        try:
            return self._closure.closed(t, q, NO_TARGET)
        except Lost:
            self._native.restore(before)
            self._closure.take_rows()
            raise

    # ---------------------------------------------------------------- findings

    def _begin(self, q: Vector, v: Vector) -> None:
        """The start, closed to the last digit."""
        try:
            self._pose(0.0, self._closure.closed(0.0, q, NO_TARGET), v)
        except Lost as lost:
            raise StepFailed(self._stopped(0.0, q, lost)) from None

    def _refuse_states(self) -> None:
        if self._model.states:
            labels = listed([s.label for s in self._model.states])
            raise ModelError(
                f"model '{self._model.description.name}' has differential states ({labels}), which follow by "
                "integration only; use simulate, whose motion is the same where the model is fully driven"
            )

    def _refuse_free(self, q: Vector) -> None:
        free = self._closure.free(0.0, q)
        if not free:
            return
        name = self._model.description.name
        found = f"{len(free)} degree{'s' * (len(free) > 1)} of freedom {'are' if len(free) > 1 else 'is'} free"
        names = listed([self._closure.labels[k] for k in free])
        above = [self._closure.labels[len(self._closure.units) + k] for k in self._closure.driven_above]
        if above:
            raise ModelError(
                f"model '{name}' is not driven at the level of positions: {found} ({names}), and {listed(above)} "
                "prescribes rates, from which positions follow by integration only; prescribe the position, or use "
                "simulate, which integrates"
            )
        raise ModelError(
            f"model '{name}' is not fully driven: {found}, such as {names}; add a motion for each "
            '(section "motions"), or use simulate, which lets forces decide'
        )

    def _stopped(self, t: float, q: Vector, lost: Lost) -> str:
        text, worst = f"kinematic analysis stops at t = {t:.6g} s", lost.worst
        if lost.repeated:
            return (
                f"{text}: the model is overdriven; {worst}, which repeats at the start what others hold, but not "
                "here; leave one of them out, or let them agree"
            )
        near = list(self._nearly_repeated(t, q))
        if near and worst is not None and abs(worst.value) <= MET * self._native.length:
            return (
                f"{text}: the pose is singular there, {listed(near)} repeat what others hold, and the motion is not "
                "determined; choose output times beside it (step_output), between which it is passed"
            )
        text += ": the positions cannot be met beyond it"
        if worst is not None:
            text += f"; worst: {worst} a step later"
        if near:
            text += f"; the pose is a dead point, where {listed(near)} nearly repeat what others hold"
        return f"{text}; change the motion, or drive the mechanism elsewhere"

    def _nearly_repeated(self, t: float, q: Vector) -> Iterator[str]:
        """The rows that make the pose singular."""
        nv = len(self._closure.units)
        if nv > LARGEST:
            return
        matrix = self._closure.gradient(t, q).toarray()
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.finfo(float).tiny)
        left, sizes, _ = np.linalg.svd(matrix)
        if sizes[-1] < NEARLY * sizes[0]:
            shares = np.abs(left[:, len(sizes) - 1])
            for k in np.argsort(-shares):
                if shares[k] > 0.3 * shares.max():
                    yield self._closure.labels[nv + self._closure.rows[k]]
