"""A run of coupled FMUs from begin to end with a table of all they give; must not know how they are stepped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.simulate import output_times
from mbdfmu.cosim.master import NEAR, ROUNDED
from mbdfmu.cosim.running import Running
from mbdfmu.cosim.wiring import ENERGY, RESIDUAL
from mbdfmu.errors import Ended, Interrupted, ModelError, StepFailed, how
from mbdfmu.fmi.host import heeding_interrupts, hosting
from mbdfmu.results import Result

Progress = Callable[[float], object] | None


def stops(
    t_start: float, t_end: float, step: float | None, step_output: float | None, knots: Sequence[float]
) -> tuple[list[float], set[float] | None]:
    """Times at which a communication point must be, in order, and those of them at which is recorded.

    `step` is None where the run chooses its steps. Without `step_output` every communication point is recorded (None).
    """
    duration = t_end - t_start
    wanted: list[float] = [t_end]
    outputs = _grid(t_start, t_end, step_output) if step_output else []
    steps = _grid(t_start, t_end, step) if step else []
    rounding = ROUNDED * math.ulp(max(abs(t_start), abs(t_end)))
    least = max(min(step or duration, step_output or duration) * NEAR, rounding)
    for times in (steps, outputs, [t for t in knots if t_start < t < t_end]):  # nearly equal: the first one stays
        wanted += _apart(times, wanted, least)
    found = sorted(wanted)
    if not step_output:
        return found, None
    places = np.array(found)
    recorded = {float(places[np.argmin(np.abs(places - t))]) for t in outputs}
    return found, recorded


def check_times(t_start: float, t_end: float, **sizes: float | None) -> None:
    """ModelError that lists what cannot be; sizes are of steps, None where they are not given."""
    times = {"t_start": t_start, "t_end": t_end}
    problems = [
        f"{name} must be a finite number of seconds, found {value!r}"
        for name, value in times.items() if not (isinstance(value, Real) and math.isfinite(value))
    ]  # fmt: skip
    if not problems and t_end <= t_start:
        problems.append(f"t_end must lie behind t_start = {t_start:g} s, found {t_end:g} s")
    problems += [
        f"{name} must be a positive number of seconds, found {value!r}"
        for name, value in sizes.items()
        if value is not None and not (isinstance(value, Real) and 0 < value < math.inf)
    ]
    if problems:
        raise ModelError(problems)


def _grid(t_start: float, t_end: float, step: float) -> list[float]:
    times = t_start + output_times(t_end - t_start, step)[1:]
    times[-1] = t_end
    found: list[float] = times.tolist()
    return found


def _apart(times: Sequence[float], others: Sequence[float], least: float) -> list[float]:
    """Those times that are further than `least` from each of the others."""
    known, asked = np.sort([-math.inf, *others, math.inf]), np.array(times)
    after = np.searchsorted(known, asked)
    far = np.minimum(asked - known[after - 1], known[after] - asked) > least
    found: list[float] = asked[far].tolist()
    return found


class Recorder:
    """The rows of the table as they come."""

    def __init__(self, run: Running) -> None:
        self._run = run
        self._rows: list[tuple[float, NDArray[np.float64], list[float]]] = []

    def add(self) -> None:
        """The present values."""
        self._rows.append((self._run.time, self._run.values(), self._run.energies()))

    def result(self, name: str, message: str, ended: str) -> Result:
        """The table, with the story of the run; `ended` says why an FMU went no further."""
        run = self._run
        values = np.array([row for _, row, _ in self._rows]).reshape(len(self._rows), len(run.names))
        energies = np.array([row for *_, row in self._rows]).reshape(len(self._rows), 2 * len(run.accounts))
        columns = {n: values[:, k] for k, n in enumerate(run.names)}
        of_bonds = [f"{account.name}.{kind}" for account in run.accounts for kind in (ENERGY, RESIDUAL)]
        columns |= {n: energies[:, k] for k, n in enumerate(of_bonds)}
        return Result(
            np.array([t for t, *_ in self._rows]), columns, run.units() | dict.fromkeys(of_bonds, "J"),
            statistics=run.statistics, notes=(*([ended] if ended else []), *run.notes),
            complete=not message, message=message or ended, model=name,
        )  # fmt: skip


def simulate(
    run: Running, name: str, times: Sequence[float], recorded: set[float] | None, progress: Progress = None
) -> Result:
    """Through all times; a failure ends the run, its StepFailed carries what was computed until then."""
    recorder = Recorder(run)
    failure: StepFailed | None = None
    interrupted = ""
    recorder.add()
    try:
        with hosting(), heeding_interrupts():
            failure = _through(run, times, recorded, recorder, progress)
    except KeyboardInterrupt as interrupt:
        interrupted = how(interrupt)
    ended = str(failure) if isinstance(failure, Ended) else ""
    if ended:
        failure = None
    message = str(failure or "")
    if interrupted:
        message = f"{interrupted} at t = {run.time:g} s of {times[-1]:g} s"
    elif failure is None:
        try:
            run.end()
        except StepFailed as error:
            if not ended:  # then one of them has ended by itself
                failure, message = error, str(error)
    result = recorder.result(name, message, ended)
    end = Interrupted(message) if interrupted else failure
    if end is not None:
        end.result = result
        raise end
    return result


def _through(
    run: Running, times: Sequence[float], recorded: set[float] | None, recorder: Recorder, progress: Progress
) -> StepFailed | None:
    try:
        run.listen()
        for t in times:
            while run.time < t:
                before = run.time
                run.go(t)
                if recorded is None or run.time in recorded:
                    recorder.add()
                if progress is not None and progress(run.time) is False and run.time < times[-1]:
                    raise Interrupted("cancelled")
    except Ended as end:
        if run.time > before:
            recorder.add()
        return end
    except StepFailed as failure:
        return failure
    return None


def first_step(step: float | None, controlled: bool, duration: float) -> tuple[float | None, float]:
    """The size of all steps, None where they are controlled, and the first size to be tried then."""
    size = duration / 1000 if step is None else step
    return (None, size) if controlled else (size, math.inf)
