"""Run a finished FMU from outside, like any user of it; must not know who wrote it or how it computes.

The communication points, the handling of inputs and the recording are those of `analyses.simulate`, so that an FMU and
its model can be compared point by point.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from mbdfmu.analyses import InputSchedule
from mbdfmu.analyses.settings import LOOSEST, TIGHTEST
from mbdfmu.analyses.simulate import RECORDED_BY_DEFAULT, Recording, output_times
from mbdfmu.analyses.simulate import simulate as run
from mbdfmu.errors import Interrupted, ModelError, StepFailed
from mbdfmu.fmi.instance import Experiment
from mbdfmu.fmi.integrating import Integration, integrate, integrate_alone
from mbdfmu.fmi.reading import CO_SIMULATION, MODEL_EXCHANGE, FmuInfo, FmuVariable, info
from mbdfmu.fmi.remote import TIME_LIMIT, Alone, Gone
from mbdfmu.fmi.running import RECORDABLE, FmuSimulation, converted
from mbdfmu.fmi.types import Value
from mbdfmu.fmi.variables import START, structured
from mbdfmu.results import Result
from mbdfmu.tabular import Table, foreign_units, read_inputs

DEFAULT_POINTS = 500  # of output, where nothing is said


def simulate(
    path: str | os.PathLike[str],
    t_end: float | None = None,
    step_output: float | None = None,
    *,
    t_start: float | None = None,
    parameters: Mapping[str, Value] | None = None,
    start: Mapping[str, float] | None = None,
    inputs: Any = None,
    interpolation: str = "linear",
    record: str | Iterable[str] | None = None,
    tolerance: float | None = None,
    kind: str | None = None,
    isolate: bool = False,
    time_limit: float | None = None,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """Simulate an FMU of FMI 2.0 or 3.0 from `t_start` to `t_end` and return the recorded variables.

    Arguments as in Model.simulate; what is not given comes from the FMU's default experiment. A start value for
    `crank.phi` sets `crank.phi.start` where there is one. `kind` is "co-simulation" or "model exchange", the first
    that the FMU has if not given.

    In co-simulation an input is constant during a communication step unless the FMU can interpolate, so a smaller
    `step_output` follows a curve more closely. In model exchange fmpy's CVode integrates.

    With `isolate` the FMU runs in a process of its own, so that a crash is a StepFailed that carries what was computed
    until then; when its calls have taken `time_limit` seconds (600) it is stopped.
    """
    facts = info(path)
    kind = runnable(facts, kind)
    t_start, t_end = time_span(facts, t_start, t_end)
    duration = t_end - t_start
    if step_output is None:
        step_output = facts.step or duration / DEFAULT_POINTS
    times = t_start + output_times(duration, step_output)
    times[-1] = t_end  # not a rounding away from it
    names = _recorded(facts, record)
    schedule = input_schedule(facts, inputs, interpolation)
    values, tolerance = start_values(facts, parameters or {}, start or {}), _tolerance(facts, tolerance)
    alone = isolation(isolate, time_limit)
    if kind == MODEL_EXCHANGE:
        asked = Integration(
            t_start=t_start, t_end=t_end, step=float(times[1] - times[0]), tolerance=tolerance,
            values={v.name: value for v, value in values}, inputs=schedule.over(times), progress=progress,
        )  # fmt: skip
        return integrate(facts, names, asked) if alone is None else integrate_alone(facts, names, asked, alone)
    experiment = Experiment(t_start=t_start, t_end=t_end, tolerance=tolerance, values=values)
    crashed: list[str] = []
    with FmuSimulation(facts, names, follows=schedule.has_slopes, alone=alone) as running:
        running.initialise(experiment, schedule.at(t_start, float(times[1])))
        recording = run(running, times, names, schedule, progress)  # type: ignore[arg-type]  # has what run() asks for
        if recording.failure is None and not (alone and recording.interrupted):  # which has stopped its process
            try:
                running.end()
            except Gone as gone:  # everything has been computed
                crashed.append(str(gone))
            except StepFailed as failure:
                if not recording.ended:  # then it has ended by itself
                    recording = replace(recording, failure=failure)
    return _result(facts, recording, [*running.notes, *crashed], t_end)  # some are told when it is freed


def open(
    path: str | os.PathLike[str],
    *,
    t_start: float | None = None,
    t_end: float | None = None,
    parameters: Mapping[str, Value] | None = None,
    start: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    slopes: bool = False,
    isolate: bool = False,
    time_limit: float | None = None,
) -> FmuSimulation:
    """Load and initialise a co-simulation FMU of FMI 2.0 or 3.0, to be stepped: `with mbd.fmu.open(path) as sim: ...`.

    `inputs` are values at the start; `t_end` is a time beyond which the FMU will not be stepped. With `slopes` an FMU
    of FMI 3.0 asks for inputs within its steps, which takes time, and follows the slopes that `set_input` gives. With
    `isolate` it has a process of its own, whose calls may take `time_limit` seconds, if that is given.
    """
    facts = info(path)
    runnable(facts, CO_SIMULATION)
    t_start = (facts.start_time or 0.0) if t_start is None else t_start
    begin = {name: ([t_start], [value]) for name, value in (inputs or {}).items()}
    schedule = InputSchedule.make(begin, _inputs(facts))
    alone = isolation(isolate, time_limit, endless=True)
    simulation = FmuSimulation(facts, _recorded(facts, None), follows=slopes, alone=alone)
    try:
        values = start_values(facts, parameters or {}, start or {})
        tolerance = _tolerance(facts, tolerance)
        experiment = Experiment(t_start=t_start, t_end=t_end, tolerance=tolerance, values=values)
        simulation.initialise(experiment, schedule.at(t_start, t_start))
    except BaseException:
        simulation.close()
        raise
    return simulation


# ---------------------------------------------------------------- checks before anything is loaded


def isolation(isolate: bool, time_limit: float | None, *, endless: bool = False) -> Alone | None:
    """Whether FMUs run in processes of their own: only there a limit of time can be kept, so that it implies that."""
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise ModelError(f"time_limit must be a positive number of seconds, found {time_limit!r}")
    if time_limit is not None:
        return Alone(float(time_limit))
    return Alone(math.inf if endless else TIME_LIMIT) if isolate else None


def time_span(facts: FmuInfo, t_start: float | None, t_end: float | None) -> tuple[float, float]:
    """Begin and end of a run, s: what is not given is that of the FMU's default experiment."""
    t_start = (facts.start_time or 0.0) if t_start is None else t_start
    t_end = facts.stop_time if t_end is None else t_end
    if t_end is None:
        raise ModelError(f"FMU '{facts.name}' names no stop time; give the end time: t_end (-t SECONDS)")
    for name, value in (("t_start", t_start), ("t_end", t_end)):
        if not (isinstance(value, Real) and math.isfinite(value)):
            raise ModelError(f"{name} must be a finite number of seconds, found {value!r}")
    if t_end <= t_start:
        raise ModelError(f"FMU '{facts.name}': t_end must lie behind the start at {t_start:g} s, found {t_end:g} s")
    return t_start, t_end


def _tolerance(facts: FmuInfo, given: float | None) -> float | None:
    """The FMU's own where none is given."""
    if given is None:
        return facts.tolerance
    if not (isinstance(given, Real) and 0 < given < math.inf):
        raise ModelError(f"tolerance must be a positive number, found {given!r}")
    if not TIGHTEST <= given <= LOOSEST:
        raise ModelError(f"tolerance must lie in [{TIGHTEST:g}, {LOOSEST:g}], found {given:g}")
    return float(given)


def kinds(facts: FmuInfo) -> list[str]:
    """How the FMU can be simulated here, the usual way first."""
    known = facts.fmi_version.partition(".")[0] in ("2", "3")
    return [kind for kind in (CO_SIMULATION, MODEL_EXCHANGE) if known and kind in facts.kinds]


def runnable(facts: FmuInfo, kind: str | None) -> str:
    """The kind of the run; ModelError where there can be none."""
    from fmpy import platform, platform_tuple

    allowed = kinds(facts)
    if not allowed or kind not in (None, *allowed):
        found = f"is FMI {facts.fmi_version} for {' and '.join(facts.kinds)}"
        if kind and allowed:
            raise ModelError(f"{facts.path}: {found}, not for {kind}; take out the kind, or replace it")
        what = f"{CO_SIMULATION} or {MODEL_EXCHANGE}"
        raise ModelError(f"{facts.path}: {found}; what can run here is FMI 2.0 and 3.0 for {what}")
    if not {platform, platform_tuple} & set(facts.platforms):
        raise ModelError(f"{facts.path}: has no binary for {platform}; it has: {', '.join(facts.platforms) or 'none'}")
    return kind or allowed[0]


def _recorded(facts: FmuInfo, patterns: str | Iterable[str] | None) -> list[str]:
    if patterns is None:
        chosen = [v for v in facts.variables if v.causality in RECORDED_BY_DEFAULT and v.variability != "fixed"]
    else:
        patterns = [patterns] if isinstance(patterns, str) else list(patterns)
        chosen = [v for p in patterns for v in facts.signals(p) or [facts.variable(p)]]
    return list(dict.fromkeys(v.name for v in chosen if v.type in RECORDABLE and v.causality != "independent"))


def _inputs(facts: FmuInfo) -> dict[str, FmuVariable]:
    return {v.name: v for v in facts.variables if v.causality == "input" and v.type in RECORDABLE}


def input_schedule(facts: FmuInfo, inputs: Any, interpolation: str) -> InputSchedule:
    """Inputs over time; those that are no real numbers, or discrete ones, never lie between two values of a table."""
    known = _inputs(facts)
    units = {name: variable.unit for name, variable in known.items()}
    if isinstance(inputs, str | Path):
        inputs = read_inputs(inputs, units)
    elif isinstance(inputs, Table) and (problems := foreign_units(inputs, units)):
        raise ModelError(problems)
    held = [name for name, v in known.items() if not v.is_real or v.variability == "discrete"]
    return checked_inputs(InputSchedule.make(inputs, known, interpolation, held), known)


def checked_inputs(schedule: InputSchedule, known: Mapping[str, FmuVariable]) -> InputSchedule:
    """The same; ModelError lists inputs with values that their types do not hold."""
    problems: list[str] = []
    for name, curve in schedule.curves.items():
        for value in () if known[name].is_real else np.unique(curve.values).tolist():
            try:
                converted(known[name], value)
            except ModelError as error:
                problems += [f"input {name}: {problem}" for problem in error.problems]
                break
    if problems:
        raise ModelError(problems)
    return schedule


def start_values(
    facts: FmuInfo, parameters: Mapping[str, Value], start: Mapping[str, float]
) -> list[tuple[FmuVariable, Value]]:
    """What to set before a run; a ModelError lists all names and values that cannot be."""
    problems: list[str] = []
    found: list[tuple[FmuVariable, Value]] = []
    named = [(name, value, "parameter") for name, value in parameters.items()]
    named += [(_start_name(facts, name), value, "start value") for name, value in start.items()]
    for name, value, what in named:
        try:
            variable = facts.variable(name, what)
            found.append((variable, converted(variable, value)))
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return found


def _start_name(facts: FmuInfo, name: str) -> str:
    own = structured(f"{name}{START}")
    return own if own in facts else name


def _result(facts: FmuInfo, recording: Recording, notes: list[str], t_end: float) -> Result:
    message = str(recording.failure or "")
    interrupted = ""
    if not (message or recording.ended) and (recording.interrupted or recording.time[-1] != t_end):
        interrupted = recording.interrupted or "interrupted"
        message = f"{interrupted} at t = {recording.time[-1] if len(recording.time) else 0:g} s of {t_end:g} s"
    result = Result(
        recording.time,
        {name: recording.values[:, k] for k, name in enumerate(recording.names)},
        {name: facts.variable(name).unit for name in recording.names},
        statistics=recording.statistics,
        notes=(recording.ended, *notes) if recording.ended else tuple(notes),
        complete=not message,
        message=message or recording.ended,
        model=facts.name,
    )
    if recording.failure is not None:
        recording.failure.result = result
        raise recording.failure
    if interrupted:
        raise Interrupted(message, result)
    return result
