"""One instance of an FMU that is stepped from outside: loaded, set, advanced, read; must not know who wrote the FMU.

fmpy loads and calls the FMU; this module adds names for references, messages for status codes, and an orderly end.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, StepFailed, did_you_mean
from mbdfmu.fmi.calls import PYTHON, Calls2, Calls3, loaded
from mbdfmu.fmi.hearing import Messages
from mbdfmu.fmi.host import hosting
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.types import Value

WARNING, DISCARD, ERROR, FATAL = 1, 2, 3, 4  # of fmi2Status and fmi3Status
RECORDABLE = tuple(type_ for type_ in PYTHON if type_ != "String")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is set before a run."""

    t_start: float = 0.0
    t_end: float | None = None
    tolerance: float | None = None
    values: Sequence[tuple[FmuVariable, Value]] = ()
    inputs: Mapping[str, tuple[float, float]]  # value and slope at the start


class FmuState:
    """What `FmuSimulation.save` returns; the FMU keeps it until nobody holds it, or the FMU is closed."""

    def __init__(self, calls: Calls2 | Calls3, time: float, inputs: dict[str, tuple[float, float, float]]) -> None:
        self._owner, self._time, self._inputs = calls, time, inputs
        self._handle = calls.get_state()
        self._release = weakref.finalize(self, calls.free_state, self._handle)


@dataclass
class _Loaded:
    """What has to be known to free an instance."""

    states: weakref.WeakSet[FmuState] = field(default_factory=weakref.WeakSet)
    fatal: bool = False


class FmuSimulation:
    """An FMU to be stepped: `sim["torque"] = 3.0; sim.step(1e-3); sim["crank.phi"]`.

    Its library stays loaded and its files unpacked until it is closed: by `close()`, at the end of a `with`, or when
    nobody holds it any more. One thread at a time.
    """

    events = ()  # an FMU tells none

    def __init__(self, facts: FmuInfo, names: Sequence[str], *, follows: bool = False) -> None:
        self._facts = facts
        self._messages: Messages = []
        self._inputs: dict[str, tuple[float, float, float]] = {}  # name -> time, value, slope
        self._size = 0.0  # of the first step
        self._loaded = _Loaded()
        # Where no output depends on an input at once, it changes with the next doStep; so do all others.
        self.follows_inputs = bool(facts.feedthrough)
        self.names = names
        self._of_type: dict[str, list[FmuVariable]] = {}  # the same, as they are read
        for variable in map(facts.variable, names):
            self._of_type.setdefault(variable.type, []).append(variable)
        self.time = 0.0
        self.statistics: dict[str, int | float] = {"communication_steps": 0}
        with ExitStack() as undo:
            folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True))
            self._fmu = _instance(facts, folder, self._messages, follows)
            undo.callback(_freed, self._fmu, self._loaded)
            self._close = weakref.finalize(self, undo.pop_all().close)

    def __repr__(self) -> str:
        state = f"t = {self.time:g} s" if self._close.alive else "closed"
        return f"<FmuSimulation '{self._facts.name}': {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the instance, its states and its files; a second time nothing happens."""
        self._close()

    # ---- lifecycle

    def initialise(self, experiment: Experiment) -> None:
        """Through the initialisation mode to the start time; ModelError where the FMU complains."""
        fmu, start = self._fmu, experiment.t_start
        self.time = start
        try:
            self._call(fmu.prepare, start, experiment.t_end, experiment.tolerance)
            for variable, value in experiment.values:
                self._set(variable, value)
            self._call(fmu.enter_initialisation)
            for name, (at_start, slope) in experiment.inputs.items():
                self.set_input(name, at_start, slope)
            self._call(fmu.leave_initialisation)
        except StepFailed as error:
            raise ModelError(str(error)) from None
        complaint = said(self._messages, ERROR)
        if complaint:
            raise ModelError(f"FMU '{self._facts.name}' could not be initialised: {complaint}")

    def end(self) -> None:
        """Terminate; not for an FMU that has given up."""
        self._call(self._fmu.terminate)

    @property
    def notes(self) -> list[str]:
        """What the FMU has warned of."""
        return list(dict.fromkeys(f"warning: {text.strip()}" for level, text in self._messages if level == WARNING))

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
        before = len(self._messages)
        try:
            if variable.causality == "input" and variable.is_real:
                self.set_input(name, _number(name, value), 0.0)
            else:
                self._set(variable, converted(variable, value))
        except StepFailed:
            reason = said(self._messages[before:]) or "it does not say why"
            raise ModelError(f"FMU '{self._facts.name}' refuses {value!r} for '{name}': {reason}") from None

    def set_input(self, name: str, value: float, slope: float) -> None:
        """From now on, as far as the FMU can, the input is value + slope * (t - now)."""
        variable = self._facts.variable(name)
        self._set(variable, value)
        self._call(self._fmu.set_slope, variable, slope)
        self._inputs[name] = (self.time, value, slope)

    def values(self) -> NDArray[np.float64]:
        """The variables `names`; of inputs what was asked for, as a held input would seem to lag by a step."""
        lines = self._inputs.items()
        values: dict[str, Value] = {name: value + slope * (self.time - t) for name, (t, value, slope) in lines}
        for variables in self._of_type.values():
            wanted = [v for v in variables if v.name not in self._inputs]
            if wanted:
                values.update(zip((v.name for v in wanted), self._get(wanted), strict=True))
        return np.array([float(values[n]) for n in self.names])

    def _get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        found: list[Value] = self._call(self._fmu.get, variables)
        return found

    def _set(self, variable: FmuVariable, value: Value) -> None:
        self._call(self._fmu.set, variable, value)

    # ---- steps

    def step(self, size: float) -> None:
        """Advance by `size` seconds in one communication step."""
        if not (isinstance(size, Real) and 0 < size < math.inf):
            raise ModelError(f"step must be a positive number of seconds, found {size!r}")
        self.advance(self.time + size)

    def advance(self, time: float) -> None:
        """One communication step that ends at `time`; StepFailed says why there is none."""
        self._check_size(time - self.time)
        self._call(self._fmu.step, self.time, time - self.time)
        self.time = time
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
        if not self._facts.capabilities.get("canGetAndSetFMUstate", False):  # fmpy's name for that of FMI 3.0 too
            raise ModelError(f"FMU '{self._facts.name}' cannot save its state (canGetAndSetFMUstate is not true)")
        self._check_open()
        state: FmuState = self._call(FmuState, self._fmu, self.time, dict(self._inputs))
        self._loaded.states.add(state)
        return state

    def restore(self, state: FmuState) -> None:
        """Go back (or on) to a state saved from this simulation."""
        if not isinstance(state, FmuState) or state._owner is not self._fmu:
            raise ModelError(f"can restore what save() of this simulation returned, found {type(state).__name__}")
        self._call(self._fmu.set_state, state._handle)
        self.time, self._inputs = state._time, dict(state._inputs)

    # ---- calls

    def _check_open(self) -> None:
        if not self._close.alive:
            raise ModelError(f"FMU '{self._facts.name}' is closed; open it again")

    def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """An FMI function; StepFailed with what the FMU has said if it is not content."""
        from fmpy.fmi1 import FMICallException

        self._check_open()
        before = len(self._messages)
        try:
            with hosting():
                return function(*arguments, **named)
        except FMICallException as error:
            self._loaded.fatal = self._loaded.fatal or error.status == FATAL
            reason = said(self._messages[before:]) or said(self._messages) or f"{error}"
            raise StepFailed(f"FMU '{self._facts.name}' gave up at t = {self.time:g} s: {reason}") from None


def converted(variable: FmuVariable, value: Value) -> Value:
    """The value in the type of the variable, which must be one that can be set."""
    if not variable.settable or variable.type not in PYTHON:
        raise ModelError(f"'{variable.name}' is {variable.causality} of type {variable.type} and cannot be set")
    if isinstance(value, str) and variable.choices:
        return _chosen(variable, value)
    if isinstance(value, str) != (variable.type == "String"):
        wanted = "a text" if variable.type == "String" else "a number"
        raise ModelError(f"'{variable.name}' must be {wanted}, found {value!r}")
    return PYTHON[variable.type](value)


def _chosen(variable: FmuVariable, item: str) -> int:
    """The number of an enumeration's item."""
    if item not in variable.choices:
        known = f"{did_you_mean(item, variable.choices)}; known: {', '.join(variable.choices)}"
        raise ModelError(f"'{variable.name}' cannot be {item!r}{known}")
    return variable.choices[item]


def said(messages: Iterable[tuple[int, str]], status: int = WARNING) -> str:
    """What the FMU has logged at a status or a worse one, each text once."""
    return "; ".join(dict.fromkeys(text.strip() for level, text in messages if level >= status))


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real):
        raise ModelError(f"input '{name}' must be a number, found {value!r}")
    return float(value)


# ---------------------------------------------------------------- loading


def _freed(calls: Calls2 | Calls3, loaded: _Loaded) -> None:
    """States first: they live in the instance. After fmi2Fatal no function may be called (FMI 2.0, section 2.1.3)."""
    for state in list(loaded.states):
        if loaded.fatal:
            state._release.detach()
        state._release()
    if loaded.fatal:
        return
    with hosting():
        calls.free()


def _instance(facts: FmuInfo, folder: str, messages: Messages, follows: bool) -> Calls2 | Calls3:
    _check_folder(facts, Path(folder))
    try:
        with hosting():
            return loaded(facts, folder, messages, follows=follows)
    except Exception as error:  # fmpy has no narrower one
        raise ModelError(f"{facts.path}: cannot be loaded: {said(messages) or error}") from error


def _check_folder(facts: FmuInfo, folder: Path) -> None:
    if facts.runtime == "python":
        import pythonfmu  # noqa: F401  the installed one, not the copy inside the FMU, whose folder will vanish

        if not plain_folder(folder):
            raise ModelError(
                f"{facts.path}: was made by pythonfmu, which cannot be loaded from '{folder}': the path holds "
                "more than ASCII letters, digits, blanks and -._~; set the environment variable TMPDIR (Windows: TEMP) "
                "to a plain folder"
            )


def plain_folder(folder: Path) -> bool:
    """Whether pythonfmu can read resources below the folder: of a URI its wrapper decodes the blank and nothing else.

    With any other one (such as a letter with umlaut) it does not fail but crash, so the folder is looked at before.
    """
    uri = folder.absolute().as_uri()
    return Path(uri.removeprefix("file:///" if os.name == "nt" else "file://").replace("%20", " ")) == folder.absolute()
