"""Simulation over an interval with recorded signals; must not know files of models or results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.inputs import InputSchedule
from mbdfmu.analyses.stepping import Simulation
from mbdfmu.errors import Ended, Interrupted, ModelError, StepFailed, how
from mbdfmu.signals import SymbolicModel

RECORDED_BY_DEFAULT = frozenset({"local", "output", "input"})


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What simulate returns: times, values of the recorded signals, and how the run ended."""

    time: NDArray[np.float64]
    names: Sequence[str]
    values: NDArray[np.float64]  # times x names
    statistics: dict[str, int | float]
    events: Sequence[tuple[float, str]] = ()  # that have occurred
    notes: Sequence[str] = ()  # what a reader of the values has to know
    failure: StepFailed | None = None
    ended: str = ""  # why there is no more, where that is no failure
    interrupted: str = ""  # the word for what has ended it: interrupted, cancelled, terminated


def output_times(t_end: float, step_output: float) -> NDArray[np.float64]:
    """0, step, 2 step, ... and t_end."""
    for name, value in (("t_end", t_end), ("step_output", step_output)):
        if not (isinstance(value, Real) and 0 < value < math.inf) or isinstance(value, bool):
            raise ModelError(f"{name} must be a positive number of seconds, found {value!r}")
    if t_end / step_output > 1e8:
        raise ModelError(
            f"step_output = {step_output:g} s gives more than 1e8 points up to t_end = {t_end:g} s; use a larger one"
        )
    count = math.ceil(t_end / step_output * (1 - 1e-9))
    return np.append(np.arange(count) * step_output, t_end)


def check_progress(progress: object) -> None:
    """Refuse what cannot be told the time, before anything is computed."""
    if progress is not None and not callable(progress):
        raise ModelError(f"progress must be a function that is told the time, found {progress!r}")


def recorded_names(model: SymbolicModel, patterns: str | Iterable[str] | None) -> list[str]:
    """Signals that fit any of the patterns; without patterns everything that moves."""
    if patterns is None:
        return [s.name for s in model.signals.values() if s.causality in RECORDED_BY_DEFAULT]
    if not isinstance(patterns, Iterable):
        raise ModelError(f"record must be names or patterns such as 'crank.*', found {patterns!r}")
    chosen: dict[str, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if not isinstance(pattern, str):
            raise ModelError(f"record must be names or patterns such as 'crank.*', found {pattern!r}")
        known = pattern in model.signals
        found = [pattern] if known else [s.name for s in model.matching(pattern)] or [model.signal(pattern).name]
        chosen.update(dict.fromkeys(found))
    chosen.pop("time", None)
    return list(chosen)


def simulate(
    simulation: Simulation,
    times: NDArray[np.float64],
    names: Sequence[str],
    inputs: InputSchedule,
    progress: Any = None,
) -> Recording:
    """Advance through `times`, recording at each of them and on both sides of jumps of inputs."""
    check_progress(progress)
    index = {name: k for k, name in enumerate(simulation.names)}
    columns = [index[name] for name in names]
    points: list[tuple[float, NDArray[np.float64]]] = []  # pairs: an error or Ctrl-C must not part time from values
    failure: StepFailed | None = None
    ended, interrupted = "", ""

    def record() -> None:
        points.append((simulation.time, simulation.values(columns)))

    try:
        for t, t_next, output in _intervals(times, inputs.knots()):
            jumps = simulation.follows_inputs and inputs.jumps(t)
            if (output or jumps) and t > times[0]:
                record()
            if math.isfinite(t_next):
                _set_inputs(simulation, inputs, t, t_next)
                if jumps or t == times[0]:
                    simulation.catch_up()
                    record()
                simulation.advance(t_next)
            if progress is not None and progress(simulation.time) is False and math.isfinite(t_next):
                raise Interrupted("cancelled")
    except KeyboardInterrupt as interrupt:
        interrupted = how(interrupt)
    except Ended as end:
        ended, failure = str(end), _last(record, simulation.time > points[-1][0])
    except StepFailed as error:
        failure = error
    values = np.array([row for _, row in points]).reshape(len(points), len(names))
    return Recording(
        time=np.array([t for t, _ in points]),
        names=names,
        values=values,
        statistics=simulation.statistics,
        events=simulation.events,
        notes=simulation.notes,
        failure=failure,
        ended=ended,
        interrupted=interrupted,
    )


def _last(record: Callable[[], None], moved: bool) -> StepFailed | None:
    """The row of an end, if it is one of its own; what fails there."""
    try:
        if moved:
            record()
    except StepFailed as error:
        return error
    return None


def _set_inputs(simulation: Simulation, inputs: InputSchedule, t: float, t_next: float) -> None:
    """What an input cannot be ends the run as a step that fails does, so that what is done is kept."""
    try:
        for name, (value, slope) in inputs.at(t, t_next).items():
            simulation.set_input(name, value, slope)
    except ModelError as error:
        raise StepFailed(str(error)) from error.__cause__


def _snapped(times: NDArray[np.float64], knots: NDArray[np.float64], near: float) -> NDArray[np.float64]:
    """Output times that mean a knot are that knot."""
    if not knots.size:
        return times
    nearest = knots[np.clip(np.searchsorted(knots, times), 0, len(knots) - 1)]
    before = knots[np.clip(np.searchsorted(knots, times) - 1, 0, len(knots) - 1)]
    nearest = np.where(np.abs(before - times) < np.abs(nearest - times), before, nearest)
    return np.where(np.abs(nearest - times) <= near, nearest, times)


def _intervals(times: NDArray[np.float64], knots: NDArray[np.float64]) -> Iterator[tuple[float, float, bool]]:
    """Begin, end and "is an output time" of every interval between outputs and knots; the last has no end."""
    near = 1e-9 * np.min(np.diff(times))  # closer, two times mean the same: 3 * 0.1 is not 0.3
    inner = knots[(knots > times[0] + near) & (knots < times[-1] - near)]
    times = _snapped(times, inner, near)
    grid = np.union1d(times, inner)
    outputs = set(times.tolist())
    ends = [*grid[1:].tolist(), math.inf]
    for t, t_next in zip(grid.tolist(), ends, strict=True):
        yield t, t_next, t in outputs
