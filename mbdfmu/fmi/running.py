"""One FMU that is stepped from outside: set, advanced, read by names; must not know who wrote the FMU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, StepFailed, did_you_mean
from mbdfmu.fmi.calls import PYTHON, RANGES
from mbdfmu.fmi.host import hosting
from mbdfmu.fmi.instance import Experiment, Instance, InstanceState, said
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.remote import Alone, Gone
from mbdfmu.fmi.types import Value
from mbdfmu.fmi.variables import rate_of

RECORDABLE = tuple(type_ for type_ in PYTHON if type_ != "String")
_SETTABLE_INSTEAD = {
    "calculatedParameter": "it follows from other parameters, set those (mbdfmu info FMU lists them)",
    "output": "it is computed; set parameters, inputs or start values (mbdfmu info FMU lists them)",
    "local": "it is computed; set parameters, inputs or start values (mbdfmu info FMU lists them)",
}
_Lines = dict[str, tuple[float, float, float]]  # of inputs: time, value, slope


@dataclass(frozen=True, eq=False)
class FmuState:
    """What `FmuSimulation.save` returns; the FMU keeps it until nobody holds it, or the FMU is closed."""

    kept: InstanceState
    time: float
    inputs: _Lines


class FmuSimulation:
    """An FMU to be stepped: `sim["torque"] = 3.0; sim.step(1e-3); sim["crank.phi"]`.

    Its library stays loaded and its files unpacked until it is closed: by `close()`, at the end of a `with`, or when
    nobody holds it any more. One thread at a time.
    """

    events = ()  # an FMU tells none

    def __init__(
        self, facts: FmuInfo, names: Sequence[str], *, follows: bool = False, alone: Alone | None = None
    ) -> None:
        self._fmu = Instance(facts, follows=follows, alone=alone)
        self._step = self._fmu.stepper()
        self._facts = facts
        self._inputs: _Lines = {}
        follows_lines = facts.capabilities.get("canInterpolateInputs", False)
        can_ask = facts.capabilities.get("providesIntermediateUpdate", False)
        self._would_hold = can_ask and not follows  # inputs that are given slopes, although it could follow
        self._rates = set() if follows_lines else {v.name for v in facts.variables if v.causality == "input"}
        self._size = 0.0  # of the first step
        # Where no output depends on an input at once, it changes with the next doStep; so do all others.
        self.follows_inputs = bool(facts.feedthrough)
        self.names = names
        self._of_type: dict[str, list[FmuVariable]] = {}  # the same, as they are read
        for variable in map(facts.variable, names):
            self._of_type.setdefault(variable.type, []).append(variable)
        self.statistics: dict[str, int | float] = {"communication_steps": 0}

    @property
    def time(self) -> float:
        """Present time, s."""
        return self._fmu.time

    def __repr__(self) -> str:
        state = f"t = {self.time:g} s" if self._fmu.is_open else "closed"
        return f"<FmuSimulation '{self._facts.name}': {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the instance, its states and its files; a second time nothing happens."""
        self._fmu.close()

    # ---- lifecycle

    def initialise(self, experiment: Experiment, inputs: Mapping[str, tuple[float, float]]) -> None:
        """Through the initialisation mode to the start time; ModelError where the FMU complains.

        Gone says that its process has ended. `inputs` are value and slope at the start.
        """
        try:
            self._fmu.prepare(experiment)
            for name, (at_start, slope) in inputs.items():
                self.set_input(name, at_start, slope)
            self._fmu.begin()
        except Gone:
            raise
        except StepFailed as error:
            raise ModelError(str(error)) from None

    def catch_up(self) -> None:
        """Of an FMU nothing happens between steps."""

    def end(self) -> None:
        """Terminate; not for an FMU that has given up."""
        self._fmu.end()

    @property
    def notes(self) -> list[str]:
        """What the FMU has warned of."""
        return self._fmu.notes

    # ---- values

    def __getitem__(self, name: str) -> Value:
        variable = self._facts.variable(name)
        if variable.type not in PYTHON:
            raise ModelError(f"'{name}' is of type {variable.type}, which cannot be read")
        return self._get([variable])[0]

    def __setitem__(self, name: str, value: Value) -> None:
        """Set an input, or a tunable parameter, from now on; ModelError where the FMU refuses the value."""
        variable = self._facts.variable(name)
        if variable.causality != "input" and variable.variability != "tunable":
            cure = "; give it when the FMU is opened: parameters={...}" if variable.settable else ""
            raise ModelError(f"'{name}' is {variable.variability} {variable.causality} and cannot be set now{cure}")
        before = len(self._fmu.messages)
        try:
            if variable.causality == "input" and variable.is_real:
                self.set_input(name, _number(name, value), 0.0)
            else:
                self._set(variable, converted(variable, value))
        except StepFailed:
            reason = said(self._fmu.messages[before:]) or "it does not say why"
            raise ModelError(f"FMU '{self._facts.name}' refuses {value!r} for '{name}': {reason}") from None

    def set_input(self, name: str, value: float, slope: float) -> None:
        """From now on, as far as the FMU can, the input is value + slope * (t - now)."""
        variable = self._facts.variable(name)
        if slope != 0 and self._would_hold:
            raise ModelError(
                f"FMU '{self._facts.name}' would hold '{name}' during the step, although a slope of "
                f"{slope:g} is given; open it with slopes=True"
            )
        self._set(variable, converted(variable, value))
        self._fmu.call(self._fmu.calls.set_slope, variable, slope)
        rate = rate_of(name)
        if rate in self._rates and rate not in self._inputs:  # nothing else has been said of it
            self._set(self._facts.variable(rate), slope)
        self._inputs[name] = (self.time, value, slope)

    def values(self, columns: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The variables `names`; of inputs what was asked for, as a held input would seem to lag by a step.

        All, or those at `columns`; StepFailed names one that is not finite.
        """
        lines = self._inputs.items()
        values: dict[str, Value] = {name: value + slope * (self.time - t) for name, (t, value, slope) in lines}
        for variables in self._of_type.values():
            wanted = [v for v in variables if v.name not in self._inputs]
            if wanted:
                values.update(zip((v.name for v in wanted), self._get(wanted), strict=True))
        found = np.array([float(values[n]) for n in self.names])
        return found if columns is None else found[columns]

    def _get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        found: list[Value] = self._fmu.call(self._fmu.calls.get, variables)
        self._fmu.check_finite(variables, found)
        return found

    def _set(self, variable: FmuVariable, value: Value) -> None:
        self._fmu.call(self._fmu.calls.set, variable, value)

    # ---- steps

    def step(self, size: float) -> None:
        """Advance by `size` seconds in one communication step."""
        if not (isinstance(size, Real) and 0 < size < math.inf):
            raise ModelError(f"step must be a positive number of seconds, found {size!r}")
        self.advance(self.time + size)

    def advance(self, time: float) -> None:
        """One communication step that ends at `time`; StepFailed says why not, Ended that there is no other."""
        self._check_size(time - self.time)
        self._fmu.check_open()
        with hosting():
            self._fmu.calls.take_the_word()
            self._step(time)
        self.statistics["communication_steps"] += 1

    def _check_size(self, size: float) -> None:
        self._size = self._size or size
        if (
            not self._facts.capabilities.get("canHandleVariableCommunicationStepSize", False)
            and abs(size / self._size - 1) > 1e-6
        ):
            raise ModelError(
                f"FMU '{self._facts.name}' takes steps of one size only; after {self._size:g} s it was to take "
                f"{size:g} s: let t_end and the times of inputs be multiples of step_output"
            )

    # ---- states

    def save(self) -> FmuState:
        """The state as a value, to be restored into this simulation."""
        return FmuState(self._fmu.save(), self.time, dict(self._inputs))

    def restore(self, state: FmuState) -> None:
        """Go back (or on) to a state saved from this simulation."""
        if not isinstance(state, FmuState) or state.kept.owner is not self._fmu.calls:
            raise ModelError(f"can restore what save() of this simulation returned, found {type(state).__name__}")
        self._fmu.restore(state.kept)
        self._fmu.time, self._inputs = state.time, dict(state.inputs)


def converted(variable: FmuVariable, value: Value) -> Value:
    """The value in the type of the variable, which must be one that can be set."""
    if not variable.settable or variable.type not in PYTHON:
        cure = _SETTABLE_INSTEAD.get(variable.causality, "leave it out") if not variable.settable else "leave it out"
        raise ModelError(f"'{variable.name}' is {variable.causality} of type {variable.type} and cannot be set; {cure}")
    if isinstance(value, str) and variable.choices:
        return _chosen(variable, value)
    if isinstance(value, str) != (variable.type == "String"):
        wanted = "a text" if variable.type == "String" else "a number"
        raise ModelError(f"'{variable.name}' must be {wanted}, found {value!r}")
    if not isinstance(value, str | Real):
        raise ModelError(f"'{variable.name}' must be a number, found {value!r}")
    kind = PYTHON[variable.type]
    if kind in (int, bool) and not (float(value) in (0.0, 1.0) if kind is bool else float(value).is_integer()):
        wanted = "true or false (1 or 0)" if kind is bool else "a whole number"
        raise ModelError(f"'{variable.name}' is {variable.type} and must be {wanted}, found {value!r}")
    if kind is int:
        low, high = RANGES[variable.type]
        if not low <= int(value) <= high:
            raise ModelError(f"'{variable.name}' is {variable.type} and must lie in {low} .. {high}, found {value!r}")
    return kind(value)


def _chosen(variable: FmuVariable, item: str) -> int:
    """The number of an enumeration's item."""
    if item not in variable.choices:
        known = f"{did_you_mean(item, variable.choices)}; known: {', '.join(variable.choices)}"
        raise ModelError(f"'{variable.name}' cannot be {item!r}{known}")
    return variable.choices[item]


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real):
        raise ModelError(f"input '{name}' must be a number, found {value!r}")
    return float(value)
