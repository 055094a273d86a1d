"""Run a finished FMU from outside, like any user of it; must not know who wrote it or how it computes.

fmpy loads and calls the FMU; the communication points, the handling of inputs and the recording are those of
`analyses.simulate`, so that an FMU and its model can be compared point by point.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses import InputSchedule
from mbdfmu.analyses.simulate import RECORDED_BY_DEFAULT, Recording, output_times
from mbdfmu.analyses.simulate import simulate as run
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.fmi.description import START, structured
from mbdfmu.fmi.interface import HEARD, Value
from mbdfmu.fmi.reading import FmuInfo, FmuVariable, info
from mbdfmu.results import Result
from mbdfmu.tabular import read_inputs

DEFAULT_POINTS = 500  # of output, where nothing is said
WARNING, ERROR = 1, 3  # fmi2Status
_RECORDABLE = ("Real", "Integer", "Boolean", "Enumeration")
_CALLED = {"Enumeration": "Integer"}  # the FMI function that gets and sets the type, where it is not the type's own
_PYTHON: dict[str, Callable[[Any], Value]] = {
    "Real": float,
    "Integer": int,
    "Enumeration": int,
    "Boolean": bool,
    "String": str,
}


def simulate(
    path: str | os.PathLike[str],
    t_end: float | None = None,
    step_output: float | None = None,
    *,
    parameters: Mapping[str, Value] | None = None,
    start: Mapping[str, float] | None = None,
    inputs: Any = None,
    interpolation: str = "linear",
    record: str | Iterable[str] | None = None,
    tolerance: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulate an FMI 2.0 co-simulation FMU from 0 to `t_end` and return the recorded variables.

    Arguments as in Model.simulate; what is not given comes from the FMU's default experiment. A start value for
    `crank.phi` sets `crank.phi.start` where there is one. An input is constant during a communication step unless the
    FMU can interpolate, so a smaller `step_output` follows a curve more closely.
    """
    facts = _runnable(info(path))
    t_end = facts.stop_time if t_end is None else t_end
    if t_end is None:
        raise ModelError(f"FMU '{facts.name}' names no stop time; give t_end")
    times = output_times(t_end, step_output or facts.step or t_end / DEFAULT_POINTS)
    names = _recorded(facts, record)
    schedule = _schedule(facts, inputs, interpolation)
    experiment = _Experiment(
        t_end=t_end,
        tolerance=tolerance or facts.tolerance,
        values=_start_values(facts, parameters or {}, start or {}),
        inputs=schedule.at(0.0, float(times[1])),
    )
    with _opened(facts) as (fmu, messages):
        running = _Running(fmu, facts, names, messages)
        running.initialise(experiment)
        recording = run(running, times, names, schedule, progress)  # type: ignore[arg-type]  # has what run() asks for
        if recording.failure is None:
            running.end()
    return _result(facts, recording, t_end)


# ---------------------------------------------------------------- checks before anything is loaded


def _runnable(facts: FmuInfo) -> FmuInfo:
    from fmpy import platform, platform_tuple

    if facts.fmi_version != "2.0" or "co-simulation" not in facts.kinds:
        kinds = " and ".join(facts.kinds)
        raise ModelError(
            f"{facts.path}: is FMI {facts.fmi_version} for {kinds}; only FMI 2.0 for co-simulation can be simulated"
        )
    if not {platform, platform_tuple} & set(facts.platforms):
        raise ModelError(f"{facts.path}: has no binary for {platform}; it has: {', '.join(facts.platforms) or 'none'}")
    return facts


def _recorded(facts: FmuInfo, patterns: str | Iterable[str] | None) -> list[str]:
    if patterns is None:
        chosen = [v for v in facts.variables if v.causality in RECORDED_BY_DEFAULT and v.variability != "fixed"]
    else:
        patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        chosen = [v for p in patterns for v in facts.signals(p) or [facts.variable(p)]]
    return list(dict.fromkeys(v.name for v in chosen if v.type in _RECORDABLE and v.causality != "independent"))


def _schedule(facts: FmuInfo, inputs: Any, interpolation: str) -> InputSchedule:
    known = {v.name: v.unit for v in facts.variables if v.causality == "input" and v.type in _RECORDABLE}
    if isinstance(inputs, str | Path):
        table = read_inputs(inputs, known)
        inputs = {name: (table.time, table[name]) for name in table.columns}
    return InputSchedule.make(inputs, known, interpolation)


def _start_values(
    facts: FmuInfo, parameters: Mapping[str, Value], start: Mapping[str, float]
) -> list[tuple[FmuVariable, Value]]:
    problems: list[str] = []
    found: list[tuple[FmuVariable, Value]] = []
    named = [(name, value, "parameter") for name, value in parameters.items()]
    named += [(_start_name(facts, name), value, "start value") for name, value in start.items()]
    for name, value, what in named:
        try:
            variable = facts.variable(name, what)
            found.append((variable, _converted(variable, value)))
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return found


def _start_name(facts: FmuInfo, name: str) -> str:
    own = structured(f"{name}{START}")
    return own if own in facts else name


def _converted(variable: FmuVariable, value: Value) -> Value:
    if not variable.settable or variable.type not in _PYTHON:
        raise ModelError(f"'{variable.name}' is {variable.causality} of type {variable.type} and cannot be set")
    if isinstance(value, str) != (variable.type == "String"):
        wanted = "a text" if variable.type == "String" else "a number"
        raise ModelError(f"'{variable.name}' must be {wanted}, found {value!r}")
    return _PYTHON[variable.type](value)


def plain_folder(folder: Path) -> bool:
    """Whether pythonfmu can read resources below the folder: of a URI its wrapper decodes the blank and nothing else.

    With any other one (such as a letter with umlaut) it does not fail but crash, so the folder is looked at before.
    """
    uri = folder.absolute().as_uri()
    return Path(uri.removeprefix("file:///" if os.name == "nt" else "file://").replace("%20", " ")) == folder.absolute()


# ---------------------------------------------------------------- the instance


@contextmanager
def _opened(facts: FmuInfo) -> Iterator[tuple[Any, list[tuple[int, str]]]]:
    """An instance of the FMU and the messages it logs; both the instance and the unpacked files are gone afterwards."""
    messages: list[tuple[int, str]] = []
    with tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True) as folder:
        _check_folder(facts, Path(folder))
        heard = HEARD.set(True)
        try:
            fmu = _instance(facts, folder, messages)
            try:
                yield fmu, messages
            finally:
                fmu.freeInstance()
        finally:
            HEARD.reset(heard)


def _instance(facts: FmuInfo, folder: str, messages: list[tuple[int, str]]) -> Any:
    from fmpy import extract, read_model_description
    from fmpy.simulation import instantiate_fmu

    def logger(environment: object, instance: bytes, status: int, category: bytes, message: bytes) -> None:
        messages.append((status, message.decode("utf-8", "replace")))

    here = Path.cwd()
    try:
        extract(os.fspath(facts.path), folder)
        description = read_model_description(folder, validate=False)
        return instantiate_fmu(folder, description, "CoSimulation", debug_logging=True, logger=logger)
    except Exception as error:  # fmpy has no narrower one
        os.chdir(here)  # where fmpy fails to load a library, it stays in the library's folder
        raise ModelError(f"{facts.path}: cannot be loaded: {_said(messages) or error}") from error


def _check_folder(facts: FmuInfo, folder: Path) -> None:
    if facts.runtime == "python":
        import pythonfmu  # noqa: F401  the installed one, not the copy inside the FMU, whose folder will vanish

        if not plain_folder(folder):
            raise ModelError(
                f"{facts.path}: was made by pythonfmu, which cannot be loaded from '{folder}': the path holds "
                "more than ASCII letters, digits, blanks and -._~; set the environment variable TMPDIR (Windows: TEMP) "
                "to a plain folder"
            )


def _said(messages: Iterable[tuple[int, str]], status: int = WARNING) -> str:
    return "; ".join(dict.fromkeys(text.strip() for level, text in messages if level >= status))


@dataclass(frozen=True, kw_only=True)
class _Experiment:
    """What is set before a run."""

    t_end: float
    tolerance: float | None
    values: list[tuple[FmuVariable, Value]]
    inputs: Mapping[str, tuple[float, float]]  # value and slope at the start


class _Running:
    """An FMU in the shape that `analyses.simulate` advances and records."""

    notes = ()  # an FMU tells none
    events = ()  # nor these
    follows_inputs = False  # outputs change with the next doStep; a second row at a jump would be half old

    def __init__(self, fmu: Any, facts: FmuInfo, names: list[str], messages: list[tuple[int, str]]) -> None:
        self._fmu = fmu
        self._facts = facts
        self._messages = messages
        self._inputs: dict[str, tuple[float, float, float]] = {}  # name -> time, value, slope
        self._interpolates = facts.capabilities.get("canInterpolateInputs", False)
        self._size = 0.0  # of the first step
        self.names = names
        self.time = 0.0
        self.statistics: dict[str, int | float] = {"communication_steps": 0}

    def initialise(self, experiment: _Experiment) -> None:
        """Through the initialisation mode to t = 0; ModelError where the FMU complains."""
        fmu = self._fmu
        try:
            self._call(fmu.setupExperiment, tolerance=experiment.tolerance, startTime=0.0, stopTime=experiment.t_end)
            for variable, value in experiment.values:
                self._set(variable, value)
            self._call(fmu.enterInitializationMode)
            for name, (at_start, slope) in experiment.inputs.items():
                self.set_input(name, at_start, slope)
            self._call(fmu.exitInitializationMode)
        except StepFailed as error:
            raise ModelError(str(error)) from None
        said = _said(self._messages, ERROR)
        if said:
            raise ModelError(f"FMU '{self._facts.name}' could not be initialised: {said}")

    def set_input(self, name: str, value: float, slope: float) -> None:
        """From now on, as far as the FMU can, the input is value + slope * (t - now)."""
        variable = self._facts.variable(name)
        self._inputs[name] = (self.time, value, slope)
        self._set(variable, value)
        if self._interpolates and variable.type == "Real":
            self._call(self._fmu.setRealInputDerivatives, [variable.reference], [1], [slope])

    def _set(self, variable: FmuVariable, value: Value) -> None:
        setter = getattr(self._fmu, f"set{_CALLED.get(variable.type, variable.type)}")
        self._call(setter, [variable.reference], [_PYTHON[variable.type](value)])

    def values(self) -> NDArray[np.float64]:
        """The recorded variables; of inputs what was asked for, as a held input would seem to lag by a step."""
        values = {name: value + slope * (self.time - since) for name, (since, value, slope) in self._inputs.items()}
        for type_ in _RECORDABLE:
            names = [n for n in self.names if n not in self._inputs and self._facts.variable(n).type == type_]
            if names:
                getter = getattr(self._fmu, f"get{_CALLED.get(type_, type_)}")
                references = [self._facts.variable(n).reference for n in names]
                values.update(zip(names, self._call(getter, references), strict=True))
        return np.array([float(values[n]) for n in self.names])

    def advance(self, time: float) -> None:
        """One communication step that ends at `time`."""
        self._check_size(time - self.time)
        self._call(self._fmu.doStep, currentCommunicationPoint=self.time, communicationStepSize=time - self.time)
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

    def end(self) -> None:
        """Terminate; not for an FMU that has given up."""
        self._call(self._fmu.terminate)

    def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """An FMI function; StepFailed with what the FMU has said if it is not content."""
        from fmpy.fmi1 import FMICallException

        try:
            return function(*arguments, **named)
        except FMICallException as error:
            reason = _said(self._messages) or f"{error}"
            raise StepFailed(f"FMU '{self._facts.name}' gave up at t = {self.time:g} s: {reason}") from None


def _result(facts: FmuInfo, recording: Recording, t_end: float) -> Result:
    message = str(recording.failure or "")
    if not message and (recording.interrupted or recording.time[-1] != t_end):
        message = f"interrupted at t = {recording.time[-1] if len(recording.time) else 0:g} s of {t_end:g} s"
    result = Result(
        recording.time,
        {name: recording.values[:, k] for k, name in enumerate(recording.names)},
        {name: facts.variable(name).unit for name in recording.names},
        statistics=recording.statistics,
        complete=not message,
        message=message,
        model=facts.name,
    )
    if recording.failure is not None:
        recording.failure.result = result
        raise recording.failure
    return result
