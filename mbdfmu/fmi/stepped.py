"""FMUs for model exchange behind the calls of co-simulation: CVode integrates them from one communication point to the
next, over the events between.

Between steps they are in event mode, in which all inputs may be set. What happens at a communication point waits for
the inputs of that point: it is done when outputs are read after they have been set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.fmi.calls import DISCARD, ERROR, OK, WARNING, Calls2, Calls3
from mbdfmu.fmi.evaluations import TOO_MUCH_WORK, Evaluations
from mbdfmu.fmi.hearing import Messages
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.types import Value

TOLERANCE = 1e-5  # relative, where nothing is said, as fmpy has it
NEAR = 1e-12  # relative: nearer, two times mean the same
MOST_STEPS = 100_000  # of CVode in one communication step
MOST_EVENTS = 10_000  # in one communication step, and rounds of one event


class _Stepped:
    """What is the same in FMI 2.0 and 3.0: stands before their calls for co-simulation."""

    kind = "ModelExchange"
    fmu: Any

    def __init__(
        self, facts: FmuInfo, folder: str, description: Any, messages: Messages, *, follows: bool = False
    ) -> None:
        super().__init__(facts, folder, description, messages, follows=follows)  # type: ignore[call-arg]
        self._model = fmu = self.fmu  # without taking the word at every call
        self._messages = messages
        self._asks_after_steps = description.modelExchange.needsCompletedIntegratorStep
        self._sizes = {"nx": description.numberOfContinuousStates, "nz": description.numberOfEventIndicators}
        self._evaluations = Evaluations(fmu)
        self._derivatives = getattr(fmu, "getDerivatives", None) or fmu.getContinuousStateDerivatives
        self._update = getattr(fmu, "newDiscreteStates", None) or fmu.updateDiscreteStates
        self._solver: Any = None
        self._tolerance = TOLERANCE
        self._now = 0.0  # s
        self._next_event = math.inf
        self._end: float | None = None  # when it wanted to go no further
        self._is_initialised = self._is_fed = False  # `fed`: it has inputs that are set from outside
        self._due = False  # whether values are to be read that events may change before
        self._moves = False  # whether inputs follow lines, from when on, and which: values and slopes
        self._since, self._line = 0.0, (np.zeros(0), np.zeros(0))
        self._writes: list[Callable[[], int]] = []

    # ---- the words of co-simulation

    def prepare(self, t_start: float, t_end: float | None, tolerance: float | None) -> None:
        """What comes before start values are set."""
        super().prepare(t_start, t_end, tolerance)  # type: ignore[misc]
        self._now, self._tolerance = t_start, tolerance or TOLERANCE

    def leave_initialisation(self) -> None:
        super().leave_initialisation()  # type: ignore[misc]
        self._is_initialised = True
        self._handle_event()

    def access(
        self, verb: str, type_: str, references: Sequence[int], values: Any, size: int
    ) -> Callable[[], int]:
        """A call of Get or Set with arguments that stay; it returns the status."""
        from fmpy.fmi1 import FMICallException

        call: Callable[[], int] = super().access(verb, type_, references, values, size)  # type: ignore[misc]

        def read() -> int:
            try:
                self._catch_up()
            except FMICallException as error:
                return int(error.status)
            return call()

        def write() -> int:
            self._is_fed = self._due = True
            return call()

        return read if verb == "Get" else write

    def get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        self._catch_up()
        found: list[Value] = super().get(variables)  # type: ignore[misc]
        return found

    def set(self, variable: FmuVariable, value: Value) -> None:
        super().set(variable, value)  # type: ignore[misc]
        self._due = True

    def _catch_up(self) -> None:
        if self._due and self._is_initialised:
            self._handle_event()

    def slopes(
        self, variables: Sequence[FmuVariable], values: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> Callable[[], int]:
        """A call that lets inputs follow lines during the next step."""
        from mbdfmu.fmi.lanes import lanes

        moving = [k for k, variable in enumerate(variables) if variable.variability != "discrete"]
        self._values = np.zeros(len(moving))
        of_types = lanes(self, [variables[k] for k in moving], self._values)  # type: ignore[arg-type]
        self._writes = [lane.write for lane in of_types]

        def follow() -> int:
            self._since, self._line = self._now, (values[moving], slopes[moving])
            self._moves = bool(slopes[moving].any())
            return OK

        return follow

    def stepper(self, *, repeatable: bool) -> Callable[[float, float], int]:
        """A call of one step from a time by a size, which returns the status; `repeatable`: it may be taken back."""
        from fmpy.fmi1 import FMICallException

        def step(time: float, size: float) -> int:
            try:
                self._go(time + size, final=not repeatable)
            except FMICallException as error:
                return int(error.status)
            return OK if self._end is None else DISCARD

        return step

    def ended_at(self) -> float | None:
        """The time up to which it went, where it wanted to go no further."""
        return self._end

    def get_state(self) -> Any:
        return super().get_state(), self._now, self._next_event, self._end, self._due  # type: ignore[misc]

    def set_state(self, state: Any) -> None:
        kept, self._now, self._next_event, self._end, self._due = state
        self._evaluations.failure = None
        super().set_state(kept)  # type: ignore[misc]

    def free_state(self, state: Any) -> None:
        super().free_state(state[0])  # type: ignore[misc]

    # ---- one step

    def _go(self, end: float, *, final: bool) -> None:
        """To `end`, or until it wants to go no further."""
        self._handle_event()  # inputs have been set
        for _ in range(MOST_EVENTS):
            if self._end is not None or self._now == end:
                return
            self._integrate(end, final)
        self._give_up(f"{MOST_EVENTS} events in one communication step, up to t = {self._now:g} s")

    def _integrate(self, end: float, final: bool) -> None:
        """From event mode into event mode: to the next event, or to `end`."""
        fmu = self._model
        fmu.enterContinuousTimeMode()
        begin, target = self._now, min(end, max(self._next_event, self._now))
        target = end if end - target <= NEAR * abs(end) else target
        met_root = False
        if target - self._now > NEAR * abs(target):
            met_root, self._now = self._solved(target)
        else:
            self._now = target
        is_timed = self._next_event - self._now <= NEAR * max(abs(self._now), abs(end - begin))
        self._at(max(self._now, self._next_event) if is_timed else self._now)  # it may ask whether its time has come
        asks, ends = fmu.completedIntegratorStep(final) if self._asks_after_steps else (False, False)
        fmu.enterEventMode()
        if ends:
            self._end = self._now
        elif met_root or asks or is_timed:
            self._due = self._now == end and not self._is_fed
            if self._now != end:
                self._handle_event()

    def _solved(self, target: float) -> tuple[bool, float]:
        """Whether CVode has met an event on the way there, and where it is."""
        solver, reason = self._at_present(), ""
        try:
            met_root, _, time = solver.step(self._now, target)
        except Exception as error:  # fmpy has no narrower one
            met_root, time, reason = False, target, (solver.error_info or [str(error)])[-1]
        failure = self._evaluations.failure
        if failure is not None:
            self._messages.append((ERROR, str(failure)))
            raise failure
        if reason:
            cure = "; take smaller communication steps, or a larger tolerance" if TOO_MUCH_WORK in reason else ""
            self._give_up(f"CVode comes no further: {reason}{cure}")
        return met_root, time if met_root else target

    def _at_present(self) -> Any:
        """CVode, which begins anew from the present states: they and the inputs may have jumped."""
        if self._solver is None:
            from fmpy.sundials import CVodeSolver

            fmu = self._model
            self._solver = CVodeSolver(
                **self._sizes, get_x=fmu.getContinuousStates, set_x=fmu.setContinuousStates, get_dx=self._derivatives,
                get_z=fmu.getEventIndicators, get_nominals=fmu.getNominalsOfContinuousStates,
                set_time=partial(self._evaluations.is_answered, self._at), startTime=self._now,
                input=SimpleNamespace(apply=lambda _: None), relativeTolerance=self._tolerance, maxNumSteps=MOST_STEPS,
            )  # fmt: skip
        self._solver.reset(self._now)
        return self._solver

    def _at(self, time: float) -> None:
        """The time, and the inputs that belong to it."""
        self._model.setTime(time)
        if self._moves:
            due = self._due
            value, slope = self._line
            self._values[:] = value + slope * (time - self._since)
            for write in self._writes:
                self._check(write())
            self._due = due

    def _handle_event(self) -> None:
        """In event mode: values of discrete variables until they stay."""
        self._due = False
        for _ in range(MOST_EVENTS):
            again, ends, _, _, is_defined, at = self._update()
            self._next_event = at if is_defined else math.inf
            if ends:
                self._end = self._now
            if ends or not again:
                return
        self._give_up(f"the event at t = {self._now:g} s has no end after {MOST_EVENTS} rounds")

    def _give_up(self, reason: str) -> None:
        self._messages.append((ERROR, reason))
        self._check(ERROR)

    def _check(self, status: int) -> None:
        from fmpy.fmi1 import FMICallException

        if status > WARNING:
            raise FMICallException(function="doStep", status=status)


class Exchange2(_Stepped, Calls2):
    """FMI 2.0 for model exchange."""


class Exchange3(_Stepped, Calls3):
    """FMI 3.0 for model exchange."""
