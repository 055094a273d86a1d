"""One FMU as the master sees it: values in and out of two arrays, steps, states; must not know other FMUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.cosim.signals import Matrix, line, mean
from mbdfmu.cosim.wiring import READ, Pass
from mbdfmu.errors import Ended, ModelError, StepFailed
from mbdfmu.fmi.calls import FATAL, WARNING
from mbdfmu.fmi.instance import Instance, InstanceState
from mbdfmu.fmi.lanes import Unfit, lanes
from mbdfmu.fmi.reading import FmuVariable
from mbdfmu.fmi.remote import Gone
from mbdfmu.fmi.types import Value

VARIES = "canHandleVariableCommunicationStepSize"
Vector = NDArray[np.float64]
Call = Callable[[], None]


class Final(StepFailed):
    """An FMU takes no more steps, however small: it must not be called again."""


LAST = (Final, Gone, Ended)  # after which there are no other steps


@dataclass(frozen=True)
class SlaveState:
    """What a slave goes back to."""

    kept: InstanceState
    time: float
    began: Vector


@dataclass(frozen=True)
class Told:
    """What the inputs of a slave did in one step: lines."""

    begin: float
    end: float
    values: Vector
    slopes: Vector


class Slave:
    """One FMU of the system; its inputs are the part `inputs` of U, its outputs the part `outputs` of Y."""

    def __init__(
        self, name: str, instance: Instance, *, step: float | None, repeatable: bool, varies: bool = True,
        leads: bool = False,
    ) -> None:  # fmt: skip
        """`step`: its own communication step; `varies`: steps may be of any size; `leads`: all meet at its times."""
        self.name, self.instance, self.leads = name, instance, leads
        self.own_step, self._varies = step, varies
        self._size = 0.0  # of its first step
        self.inputs = self.outputs = slice(0, 0)
        self.began = np.zeros(0)  # its inputs at its last communication point
        self.told: list[Told] = []  # what they did on the way there
        self.initialised = False  # before, values may still have to find each other
        self._variables: list[FmuVariable] = []
        self._reads: list[Call] = []
        self._writes: list[Call] = []
        self._follow: Callable[[], int] | None = None
        self.ended: Ended | None = None  # at its last communication point
        self._step = instance.stepper(repeatable=repeatable)

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
            if one.kind == READ:
                call = self._finite(call, one.variables, values)
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

    def set(self, variable: FmuVariable, value: Value) -> None:
        """What nothing is coupled to; StepFailed where the FMU refuses it."""
        calls = self.instance.calls
        with self.naming():
            self.instance.call(calls.recall, variable)
            self.instance.call(calls.set, variable, value)

    # ---- steps

    def feed(self, polynomials: Matrix, end: float) -> None:
        """Let the inputs follow polynomials about its time during the step to `end`, as well as the FMU can."""
        size = end - self.time
        values, self._slopes[:] = (mean(polynomials, size), 0.0) if self._follow is None else line(polynomials, size)
        self.told.append(Told(self.time, end, values, self._slopes.copy()))
        self.write(values)
        if self._follow is not None and self._follow() > WARNING:
            raise StepFailed(f"FMU '{self.name}' follows no inputs during steps: {self._said()}")

    def advance(self, end: float) -> None:
        """One step to `end`; StepFailed says why there is none, Final or Ended that there will be none."""
        if not self._varies:
            self._check_size(end - self.time)
        try:
            self._step(end)
        except Gone:  # which knows the name
            raise
        except Ended as error:
            self.ended = Ended(self._named(str(error)), error.time)
            if error.time < end:
                raise self.ended from None
        except StepFailed as error:
            text = self._named(str(error))
            raise Final(text) if self.instance.is_lost else StepFailed(text) from None

    def _check_size(self, size: float) -> None:
        self._size = self._size or size
        if abs(size / self._size - 1) > 1e-6:
            raise Final(
                f"FMU '{self.name}' takes steps of one size only ({VARIES} is not true); after {self._size:g} s it was "
                f"to take {size:g} s at t = {self.time:g} s: let the end, the times of rows and inputs and its own "
                "step be multiples of step"
            )

    def save(self) -> SlaveState:
        """What `restore` goes back to."""
        with self.naming():
            return SlaveState(self.instance.save(), self.time, self.began)

    def restore(self, state: SlaveState) -> None:
        """Go back."""
        with self.naming():
            self.instance.restore(state.kept)
        self.instance.time, self.began, self.ended = state.time, state.began, None

    # ---- failures

    def _guarded(self, calls: Sequence[Callable[[], int]], what: str) -> Call:
        """The calls; StepFailed with what the FMU has said where it is not content."""
        messages = self.instance.messages

        def call() -> None:
            for one in calls:
                heard = len(messages)
                try:
                    status = one()
                except Unfit as error:
                    raise StepFailed(f"FMU '{self.name}' at t = {self.time:g} s: {error}") from None
                if status > WARNING:
                    raise self._failure(what, status, heard)

        return call

    def _finite(self, read: Call, variables: Sequence[FmuVariable], values: Vector) -> Call:
        """The call; once the FMU is initialised, StepFailed where it gives out what is not finite."""
        zeros = np.zeros(len(values))

        def call() -> None:
            read()
            if self.initialised and values.dot(zeros) != 0:  # nan
                with self.naming():
                    self.instance.check_finite(variables, values.tolist())

        return call

    def _said(self, heard: int = 0) -> str:
        texts = [text.strip() for _, text in self.instance.messages[heard:]]
        return f": {'; '.join(dict.fromkeys(texts))}" if texts else ""

    def _failure(self, what: str, status: int, heard: int) -> StepFailed:
        from fmpy.fmi1 import FMICallException

        text = self._named(str(self.instance.failure(FMICallException(function=what, status=status), heard)))
        return Final(text) if status == FATAL else StepFailed(text)

    def _named(self, text: str) -> str:
        """By its name in the system."""
        own = f"FMU '{self.instance.facts.name}'"
        return f"FMU '{self.name}'{text.removeprefix(own)}" if text.startswith(own) else text

    @contextmanager
    def naming(self) -> Iterator[None]:
        """What goes wrong with its FMU is told by its name in the system."""
        try:
            yield
        except Gone:  # which knows the name
            raise
        except StepFailed as error:
            raise StepFailed(self._named(str(error))) from None
        except ModelError as error:
            raise ModelError(map(self._named, error.problems)) from None


def _part(passes: Sequence[Pass], kind: str) -> slice:
    """The part of the array that the passes of a kind touch."""
    found: list[Any] = [(one.first, one.first + len(one.variables)) for one in passes if one.kind == kind]
    return slice(min(a for a, _ in found), max(b for _, b in found)) if found else slice(0, 0)
