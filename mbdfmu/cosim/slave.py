"""One FMU as the master sees it: values in and out of two arrays, steps, states; must not know other FMUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.cosim.signals import Matrix, line, mean
from mbdfmu.cosim.wiring import READ, Pass
from mbdfmu.errors import StepFailed
from mbdfmu.fmi.calls import DISCARD, WARNING
from mbdfmu.fmi.instance import Instance, InstanceState
from mbdfmu.fmi.lanes import lanes
from mbdfmu.fmi.reading import FmuVariable

Vector = NDArray[np.float64]
Call = Callable[[], None]


class Ended(StepFailed):
    """An FMU has ended the simulation, which is no failure."""


@dataclass(frozen=True)
class SlaveState:
    """What a slave goes back to."""

    kept: InstanceState
    time: float
    began: Vector


class Slave:
    """One FMU of the system; its inputs are the part `inputs` of U, its outputs the part `outputs` of Y."""

    def __init__(self, name: str, instance: Instance, *, step: float | None, repeatable: bool) -> None:
        self.name, self.instance = name, instance
        self.own_step = step  # its own communication step
        self.inputs = self.outputs = slice(0, 0)
        self.began = np.zeros(0)  # its inputs at its last communication point
        self._variables: list[FmuVariable] = []
        self._reads: list[Call] = []
        self._writes: list[Call] = []
        self._follow: Callable[[], int] | None = None
        self._step = instance.calls.stepper(repeatable=repeatable)

    @property
    def time(self) -> float:
        """Of its last communication point."""
        return self.instance.time

    def connect(self, passes: Sequence[Pass], Y: Vector, U: Vector) -> list[Call]:
        """A function for each of the passes, which are those of this FMU."""
        calls = []
        for one in passes:
            values = (Y if one.kind == READ else U)[one.first : one.first + len(one.variables)]
            of_types = lanes(self.instance.calls, one.variables, values)
            call = self._guarded([lane.read if one.kind == READ else lane.write for lane in of_types], one.kind)
            (self._reads if one.kind == READ else self._writes).append(call)
            calls.append(call)
        self.outputs, self.inputs = _part(passes, READ), _part(passes, "write")
        self._variables = [v for one in passes if one.kind != READ for v in one.variables]
        self._values, self._slopes = U[self.inputs], np.zeros(len(self._variables))
        self._follow = self._following()
        return calls

    def read(self) -> None:
        """All outputs."""
        for call in self._reads:
            call()

    def write(self, values: Vector) -> None:
        """All inputs."""
        self._values[:] = values
        for call in self._writes:
            call()

    def _following(self) -> Callable[[], int] | None:
        """The call that lets real inputs follow lines; None where the FMU cannot."""
        real = [k for k, v in enumerate(self._variables) if v.is_real]
        if not real:
            return None
        values, slopes = np.zeros(len(real)), np.zeros(len(real))
        call = self.instance.calls.slopes([self._variables[k] for k in real], values, slopes)
        if call is None:
            return None

        def follow() -> int:
            values[:], slopes[:] = self._values[real], self._slopes[real]
            return call()

        return follow

    # ---- steps

    def feed(self, polynomials: Matrix, size: float) -> None:
        """Let the inputs follow polynomials about its time during the next step, as well as the FMU can."""
        values, self._slopes[:] = self.shown(polynomials, size)
        self.write(values)
        if self._follow is not None and self._follow() > WARNING:
            raise StepFailed(f"FMU '{self.name}' follows no inputs during steps: {self._said()}")

    def shown(self, polynomials: Matrix, size: float) -> tuple[Vector, Vector | float]:
        """What its inputs do during a step: value at the start, and slope."""
        return (mean(polynomials, size), 0.0) if self._follow is None else line(polynomials, size)

    def advance(self, end: float) -> None:
        """One step to `end`; StepFailed says why there is none, Ended that the FMU wants no more."""
        instance = self.instance
        heard = len(instance.messages)
        status = self._step(instance.time, end - instance.time)
        if status > WARNING:
            raise self._refusal(status, heard)
        instance.time = end

    def save(self) -> SlaveState:
        """What `restore` goes back to."""
        return SlaveState(self.instance.save(), self.time, self.began)

    def restore(self, state: SlaveState) -> None:
        """Go back."""
        self.instance.restore(state.kept)
        self.instance.time, self.began = state.time, state.began

    # ---- failures

    def _guarded(self, calls: Sequence[Callable[[], int]], what: str) -> Call:
        """The calls; StepFailed with what the FMU has said where it is not content."""
        from fmpy.fmi1 import FMICallException

        def call() -> None:
            for one in calls:
                status = one()
                if status > WARNING:
                    raise self._named(self.instance.failure(FMICallException(function=what, status=status)))

        return call

    def _refusal(self, status: int, heard: int) -> StepFailed:
        from fmpy.fmi1 import FMICallException

        if status == DISCARD and self.instance.calls.has_ended:
            return Ended(f"FMU '{self.name}' has ended the simulation at t = {self.time:g} s{self._said(heard)}")
        return self._named(self.instance.failure(FMICallException(function="doStep", status=status), heard))

    def _said(self, heard: int = 0) -> str:
        texts = [text.strip() for _, text in self.instance.messages[heard:]]
        return f": {'; '.join(dict.fromkeys(texts))}" if texts else ""

    def _named(self, failure: StepFailed) -> StepFailed:
        """By its name in the system."""
        own = f"FMU '{self.instance.facts.name}'"
        return StepFailed(f"FMU '{self.name}'{str(failure).removeprefix(own)}")


def _part(passes: Sequence[Pass], kind: str) -> slice:
    """The part of the array that the passes of a kind touch."""
    found: list[Any] = [(one.first, one.first + len(one.variables)) for one in passes if one.kind == kind]
    return slice(min(a for a, _ in found), max(b for _, b in found)) if found else slice(0, 0)
