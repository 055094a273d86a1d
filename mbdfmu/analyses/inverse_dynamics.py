"""Inverse dynamics: which values of inputs make a model move as it is given; must not know files.

At every row of the motion the inputs are found for which the accelerations of the model are those of the motion
(T18.9): the equations of a simulation answer, with friction, algebraic loops and repeated rows, and what they report is
consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.closure import listed
from mbdfmu.analyses.compiled import CompiledModel, Vector
from mbdfmu.analyses.given_motion import MotionReader
from mbdfmu.analyses.inputs import InputSchedule
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.notes import silent_events
from mbdfmu.analyses.settings import Settings
from mbdfmu.analyses.simulate import Recording, check_progress
from mbdfmu.analyses.stepping import Simulation
from mbdfmu.analyses.tracking import Tracking
from mbdfmu.errors import Interrupted, ModelError, StepFailed, did_you_mean, how
from mbdfmu.tabular import Table

Matrix = NDArray[np.float64]

PROBE = 1e-3  # of an input, at least of 1: the change that shows what it moves
LINEAR = 1e-5  # of a change: a second one that is smaller is the last
NOTHING = 1e-13  # of the accelerations: what a change by rounding comes to
SAME = 1e-12  # of the accelerations: a change that is none
ALIKE = 1e-7  # of the strongest: inputs that move the model the same way
ITERATIONS, HALVINGS = 30, 20
CREATE = ", of which the model has none: add inputs and forces that use them, or motions"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What shall be found, and how well the motion has to be met."""

    actuators: Sequence[str] = ()
    coordinates: Sequence[str] | None = None
    spline: str = "quintic"
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not (isinstance(self.tolerance, int | float) and 0 < self.tolerance < 1):
            raise ModelError(f"tolerance must lie between 0 and 1, found {self.tolerance!r}")


class InverseDynamics(Simulation):
    """A simulation whose motion is given and whose actuators follow from it, row by row: `go_to(row)`."""

    def __init__(
        self,
        compiled: CompiledModel,
        table: Table,
        question: Question,
        *,
        inputs: InputSchedule | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(compiled, Settings(), parameters=parameters, assemble=True)
        self._inputs = inputs or InputSchedule({})
        self._actuators = self._checked(question.actuators)
        self._numbers = [self._lowered.inputs[name] for name in self._actuators]
        reader = MotionReader(self._model, table, question.spline)
        self._tolerance = float(question.tolerance)
        self._tracking = Tracking(self._native, self._lowered, reader, question.coordinates, self._tolerance)
        self._units = self._tracking.closure.units
        starts = {s.name: s.start for s in self._model.inputs}
        self._u = np.array([float(starts[name] or 0.0) for name in self._actuators])  # the first guess
        self._size = self._worst = 0.0
        self._work = {"points": 0, "iterations": 0}

    @property
    def times(self) -> Vector:
        """Of the rows."""
        return self._tracking.motion.time

    @property
    def statistics(self) -> dict[str, int | float]:
        """Work done so far, and the worst gaps: of the joints, of the positions given, of the accelerations."""
        return {
            **self._work,
            "worst_position_violation": self._tracking.worst_position,
            "worst_position_misfit": self._tracking.worst_misfit,
            "worst_unmet_acceleration": self._worst,
        }

    @property
    def notes(self) -> list[str]:
        """What a reader of the signals has to know."""
        return [*super().notes, *self._tracking.motion.notes, *silent_events(self._model, "inverse dynamics")]

    def _checked(self, names: Sequence[str]) -> list[str]:
        known = list(self._lowered.inputs)
        given = self._inputs.first()
        problems = [
            f"actuators: the model has no input {name!r}{did_you_mean(name, known)}; known: {listed(known) or 'none'}"
            for name in names
            if name not in known
        ]
        problems += [f"actuators: '{name}' is named twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        problems += [f"inputs: '{name}' is an actuator, to be found; leave it out" for name in names if name in given]
        if problems:
            raise ModelError(problems)
        return list(names)

    def go_to(self, row: int) -> None:
        """Take a row of the motion and find what drives it."""
        self._values = None
        q, v = self._tracking.place(row)
        self._take_inputs(row)
        self._solve(self._tracking.acceleration(row, q, v))
        with translated(f"model '{self._model.description.name}': "):
            self._native.adopt()
        self._work["points"] += 1

    def _take_inputs(self, row: int) -> None:
        """What the motion's table has of other inputs, unless a schedule is given for them."""
        t, motion = self.time, self._tracking.motion
        later = motion.time[motion.time > t]
        scheduled = self._inputs.at(t, float(later[0]) if len(later) else t + 1.0)
        for name, values in motion.inputs.items():
            if name not in self._actuators and name not in scheduled:
                self.set_input(name, float(values[row]))
        for name, (value, slope) in scheduled.items():
            self.set_input(name, value, slope)

    # ---------------------------------------------------------------- forces

    def _solve(self, wanted: Vector) -> None:
        """Newton's iteration on a(u) = wanted, by least squares in units; u enters most models by a factor."""
        left = self._left(wanted)
        sizes = (self._size, *(float(np.abs(x).max(initial=0.0)) for x in (left, wanted / self._units)))
        self._size = max(sizes)
        if self._actuators and not self._work["points"]:
            self._refuse_rates(wanted, left)
        if self._actuators:
            left = self._driven(wanted, left)
        self._check_met(left)

    def _driven(self, wanted: Vector, left: Vector) -> Vector:
        for iteration in range(ITERATIONS):
            moved = self._moved(wanted, left)
            if not self._examined(moved, first=iteration == 0):
                break
            change, left = self._improved(moved, left, wanted)
            more = np.linalg.lstsq(moved, left, rcond=None)[0]
            self._u = self._u + change + more
            left = self._tried(self._u, wanted)
            self._work["iterations"] += 1
            gain = np.abs(moved * more).max()
            if gain <= max(LINEAR * np.abs(moved * change).max(), SAME * self._size):
                return left
        raise StepFailed(
            f"at t = {self.time:g} s no values of {listed(self._actuators)} were found in {ITERATIONS} iterations: the "
            "motion asks for more than the forces can become, or they depend on these inputs in jumps"
        )

    def _improved(self, moved: Matrix, left: Vector, wanted: Vector) -> tuple[Vector, Vector]:
        """Newton's change, or the half, quarter, ... of it where the whole leads away; what it leaves."""
        change = np.asarray(np.linalg.lstsq(moved, left, rcond=None)[0], dtype=np.float64)
        enough = float(np.linalg.norm(left)) + SAME * self._size
        for _ in range(HALVINGS):
            then = self._tried(self._u + change, wanted)
            if np.linalg.norm(then) <= enough:
                break
            change = change / 2
        return change, then

    def _left(self, wanted: Vector) -> Vector:
        """What the accelerations lack, in units."""
        with translated(f"model '{self._model.description.name}': "):
            self._native.report()
        return np.asarray((wanted - self._native.a) / self._units)

    def _tried(self, u: Vector, wanted: Vector) -> Vector:
        for number, value in zip(self._numbers, u, strict=True):
            with translated(f"at t = {self.time:g} s: "):
                self._native.set_input(number, float(value), 0.0)
        return self._left(wanted)

    def _refuse_rates(self, wanted: Vector, left: Vector) -> None:
        """Of an input nobody knows the rate before its values at all times are known."""
        for name, number, value in zip(self._actuators, self._numbers, self._u, strict=True):
            with translated():
                self._native.set_input(number, float(value), 1.0)
            changed = np.abs(self._left(wanted) - left).max(initial=0.0)
            with translated():
                self._native.set_input(number, float(value), 0.0)
            if changed > NOTHING * self._size:
                raise ModelError(
                    f"actuators: the rate of '{name}' acts on the model, as that of a place does through a damper; "
                    "choose an input that is a force, or drive the place by a motion"
                )

    def _moved(self, wanted: Vector, left: Vector) -> Matrix:
        """What the accelerations gain by each actuator."""
        columns = []
        for k, value in enumerate(self._u):
            probed = self._u.copy()
            probed[k] = value + PROBE * max(1.0, abs(value))
            columns.append((left - self._tried(probed, wanted)) / (probed[k] - value))
        return np.column_stack(columns)

    # ---------------------------------------------------------------- findings

    def _examined(self, moved: Matrix, *, first: bool) -> bool:
        """Whether every actuator moves the model in a way of its own; refused where it does not from the beginning."""
        sizes = np.linalg.norm(moved, axis=0)
        gains = sizes * PROBE * np.maximum(1.0, np.abs(self._u))
        idle = [name for name, gain in zip(self._actuators, gains, strict=True) if gain <= NOTHING * self._size]
        if idle and first:
            raise ModelError(
                f"actuators: {listed(idle)} moves nothing at t = {self.time:g} s and could have any value; leave it out"
            )
        if not idle:
            self._check_independent(moved, sizes)
        return not idle

    def _check_independent(self, moved: Matrix, sizes: Vector) -> None:
        _, values, ways = np.linalg.svd(moved / sizes)
        if len(values) < len(sizes) or values[-1] < ALIKE * values[0]:
            shares = np.abs(ways[-1]) / np.abs(ways[-1]).max()
            alike = [name for name, share in zip(self._actuators, shares, strict=True) if share > 0.1]
            raise ModelError(
                f"actuators: {listed(alike)} move the model in the same way at t = {self.time:g} s, so that their "
                f"values are not unique; the model has {self._motions()}, leave out what is too many"
            )

    def _motions(self) -> str:
        closure = self._tracking.closure
        free = len(closure.free(self.time, self._tracking.q)) - len(closure.driven_above)
        return f"{free} free motion{'s' * (free != 1)}"

    def _check_met(self, left: Vector) -> None:
        k = int(np.argmax(np.abs(left))) if len(left) else 0
        self._worst = max(self._worst, float(np.abs(left).max(initial=0.0)))
        if not len(left) or np.abs(left[k]) <= self._tolerance * self._size:
            return
        coordinate = self._model.coordinates[k]
        lack = f"{left[k] * self._units[k]:.3g} {'rad/s2' if coordinate.unit == 'rad' else 'm/s2'}"
        lacking = f"at t = {self.time:g} s {coordinate.label} lacks {lack}; the model has {self._motions()}"
        lacking = "; ".join([*silent_events(self._model, "inverse dynamics"), lacking])
        if not self._actuators:
            known = f"; inputs: {listed(list(self._lowered.inputs))}" if self._lowered.inputs else CREATE
            raise StepFailed(
                f"without actuators the model does not move as given: {lacking}, name the inputs that drive it as "
                f"actuators{known}"
            )
        raise StepFailed(
            f"{listed(self._actuators)} cannot drive the given motion: {lacking} and {len(self._actuators)} "
            f"actuator{'s' * (len(self._actuators) > 1)}; name more, give a motion that these can drive, or allow more "
            "(tolerance)"
        )


def inverse_dynamics(
    solver: InverseDynamics, names: Sequence[str], progress: Callable[[float], object] | None = None
) -> Recording:
    """Go through all rows of the motion and record signals at each."""
    check_progress(progress)
    index = {name: k for k, name in enumerate(solver.names)}
    columns = [index[name] for name in names]
    points: list[tuple[float, Any]] = []
    failure: StepFailed | None = None
    interrupted = ""
    try:
        for row, t in enumerate(solver.times.tolist()):
            solver.go_to(row)
            points.append((t, solver.values(columns)))
            if progress is not None and progress(t) is False and row + 1 < len(solver.times):
                raise Interrupted("cancelled")
    except KeyboardInterrupt as interrupt:
        interrupted = how(interrupt)
    except StepFailed as error:
        failure = error
    return Recording(
        time=np.array([t for t, _ in points]),
        names=names,
        values=np.array([row for _, row in points]).reshape(len(points), len(names)),
        statistics=solver.statistics,
        notes=solver.notes,
        failure=failure,
        interrupted=interrupted,
    )
