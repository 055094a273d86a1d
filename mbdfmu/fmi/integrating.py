"""Run an FMU for model exchange: fmpy's CVode integrates it between its events; must not know who wrote it."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import Interrupted, ModelError, StepFailed, how
from mbdfmu.fmi.calls import PYTHON, WARNING, loading, refuse_negative
from mbdfmu.fmi.evaluations import TOO_MUCH_WORK, Evaluations
from mbdfmu.fmi.hearing import Messages, readable, take_the_word
from mbdfmu.fmi.instance import said
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.remote import Alone, Gone, Process
from mbdfmu.fmi.types import Value
from mbdfmu.fmi.unpacking import unpack
from mbdfmu.fmi.variables import rate_of
from mbdfmu.results import Result
from mbdfmu.tabular import TIME, Table

_VALUES_SET = tuple(f"Set{type_}" for type_ in PYTHON)
LAST = 3  # messages that are told of a failure
# fmpy lets CVode take 500 steps from one of its points to the next; some twenty follow a corner of an input.
CORNERS = 10  # at most, from one point to the next
_READ = ("getReal", "getFloat64", "getFloat32")
_MAY_END = ("completedIntegratorStep", "newDiscreteStates", "updateDiscreteStates")  # the second number says so
_STORED: dict[str, type] = {"Boolean": np.bool_, "Integer": np.int32, "Enumeration": np.int32}  # else real


@dataclass(frozen=True, kw_only=True)
class Integration:
    """What to run: from t_start to t_end, with what is set before and what goes in."""

    t_start: float
    t_end: float
    step: float  # between recorded points
    tolerance: float | None
    values: Mapping[str, Value]
    inputs: Table  # lines between rows, two rows where an input jumps
    progress: Callable[[float], object] | None = None
    row: Callable[[Sequence[Any]], None] | None = None  # gets the names of columns, then the rows as they come


def integrate(facts: FmuInfo, names: Sequence[str], run: Integration) -> Result:
    """The recorded variables, on both sides of events.

    ModelError where the FMU cannot be loaded or refuses values, StepFailed where it or the integrator gives up. Where
    the FMU itself wants to go no further (terminateSimulation) a note says so.
    """
    from fmpy import simulate_fmu
    from fmpy.simulation import Recorder

    messages: Messages = []
    steps = told = 0
    recorded: Any = None

    def finished(time: float, recorder: Any) -> bool:
        nonlocal steps, recorded, told
        steps, recorded = steps + 1, recorder
        if run.row is not None:
            for row in ([[name for name, *_ in recorder.cols]] if told == 0 else []) + recorder.rows[told:]:
                run.row(row)
            told = len(recorder.rows)
        if evaluations.failure is not None:
            raise evaluations.failure
        if run.progress is not None and run.progress(time) is False:
            raise Interrupted("cancelled")
        return True

    def ending(time: float) -> None:
        nonlocal recorded
        recorded = recorded or Recorder(fmu, description, list(names))  # at the start there is none yet
        recorded.sample(time, force=True)

    signals = _signals(facts, run)
    pieces = _pieces(run)
    try:
        with _failures(facts, messages), _instance(facts, messages) as (folder, description, fmu):
            evaluations = _Recorded(fmu, facts, run.t_start)
            evaluations.before_the_end = ending
            if signals is not None:
                _let_inputs_move(fmu, description, signals, run.t_start)
            with evaluations.judged():
                simulate_fmu(
                    folder, validate=False, fmi_type="ModelExchange", solver="CVode", start_time=run.t_start,
                    stop_time=run.t_end, output_interval=run.step / pieces, relative_tolerance=run.tolerance,
                    start_values=dict(run.values), input=signals, output=list(names), step_finished=finished,
                    fmu_instance=fmu, model_description=description,
                )  # fmt: skip
    except (StepFailed, KeyboardInterrupt) as error:
        if recorded is None:
            raise
        found = recorded.result()  # what is done is kept
        done = found[_wanted(found[TIME], run, pieces)]
        end = _interrupted(error, found[TIME][-1], run) if isinstance(error, KeyboardInterrupt) else error
        end.result = _result(facts, names, done, run.t_end, {"integrator_steps": steps}, str(end))
        raise end from None
    found = recorded.result()
    done = found[_wanted(found[TIME], run, pieces)]
    return _result(facts, names, done, run.t_end, {"integrator_steps": steps}, ended=evaluations.has_ended)


def integrate_alone(facts: FmuInfo, names: Sequence[str], run: Integration, alone: Alone) -> Result:
    """The same in a process of its own; the rows that a crash, a hang or Ctrl-C leaves are kept."""
    rows: list[Sequence[Any]] = []

    def heard(row: Sequence[Any]) -> None:
        rows.append(row)
        if run.progress is not None and len(rows) > 1 and run.progress(row[0]) is False:
            raise Interrupted("cancelled")

    def done(failure: str) -> Result:
        kinds = [(name, np.float64) for name in (rows[0] if rows else (TIME, *names))]
        found = np.array([tuple(row) for row in rows[1:]], dtype=kinds)
        found = found[_wanted(found[TIME], run, _pieces(run))] if len(found) else found
        return _result(facts, names, found, run.t_end, {"integrator_steps": max(0, len(rows) - 2)}, failure)

    asked = {key: value for key, value in vars(run).items() if key not in ("progress", "row")}
    process = Process(facts, alone)
    try:
        result, failure = process.ask("integrate", os.fspath(facts.path.absolute()), names, asked, heard=heard)
    except Gone as error:
        error.result = done(str(error))
        raise
    except KeyboardInterrupt as error:
        interrupt = _interrupted(error, rows[-1][0] if len(rows) > 1 else run.t_start, run)
        interrupt.result = done(str(interrupt))
        raise interrupt from None
    finally:
        process.leave()
    if failure:
        stopped = StepFailed(failure)
        stopped.result = result
        raise stopped
    found: Result = result
    return found


def _interrupted(interrupt: KeyboardInterrupt, time: float, run: Integration) -> Interrupted:
    return Interrupted(f"{how(interrupt)} at t = {time:g} s of {run.t_end:g} s")


def _pieces(run: Integration) -> int:
    """Of the step between recorded points, so that no piece has many corners of inputs."""
    if not run.inputs.columns:
        return 1
    points = np.floor((run.inputs.time - run.t_start) / run.step)
    most = int(np.unique(points, return_counts=True)[1].max())
    return max(1, math.ceil(most / CORNERS))


def _wanted(time: NDArray[np.float64], run: Integration, pieces: int) -> NDArray[np.bool_]:
    """Rows that are no ends of pieces only: recorded points, and both sides of events."""
    place = (time - run.t_start) / run.step * pieces
    end, same = np.isclose(place, np.round(place), rtol=0, atol=1e-6), np.diff(time) == 0
    twice = np.append(same, False) | np.insert(same, 0, False)
    return np.asarray(~end | twice | (np.round(place) % pieces == 0) | (time == time[-1]))


@contextmanager
def _instance(facts: FmuInfo, messages: Messages) -> Iterator[tuple[str, Any, Any]]:
    """The folder of the unpacked FMU, its description, and an instance, which nobody touches after a failure."""
    from fmpy import instantiate_fmu, read_model_description

    with tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True) as folder:
        unpack(facts.path, folder)
        description = read_model_description(folder, validate=False)
        try:
            with loading():
                logger = _logger(messages)
                fmu = instantiate_fmu(folder, description, "ModelExchange", debug_logging=True, logger=logger)
        except Exception as error:
            raise ModelError(f"{facts.path}: cannot be loaded: {said(messages) or error}") from error
        refuse_negative(fmu)
        yield folder, description, fmu
        fmu.freeInstance()


def _let_inputs_move(fmu: Any, description: Any, signals: NDArray[Any], t_start: float) -> None:
    """Inputs go with the time: fmpy sets them where steps end and where it looks for events, not for derivatives.

    Beyond a jump, where CVode's steps may lead, they stay as they are right before it.
    """
    from fmpy.simulation import Input

    inputs = Input(fmu, description, signals)
    set_time, resume = fmu.setTime, fmu.enterContinuousTimeMode
    now = passed = t_start
    jump = inputs.nextEvent(t_start)

    def timed(time: float) -> None:
        nonlocal now
        now = time
        set_time(time)
        inputs.apply(min(time, jump), discrete=False, after_event=isclose(time, passed))

    def resumed() -> None:
        nonlocal jump, passed
        passed, jump = now, inputs.nextEvent(now)
        resume()

    fmu.setTime, fmu.enterContinuousTimeMode = timed, resumed


class _Recorded(Evaluations):
    """What is recorded too is heard, and that the FMU wants to go no further."""

    def __init__(self, fmu: Any, facts: FmuInfo, t_start: float) -> None:
        super().__init__(fmu)
        self._facts = facts
        self._time = t_start
        self.has_ended = False  # it wants to go no further
        self.before_the_end: Callable[[float], Any] = lambda _: None
        self._names = {v.reference: v.name for v in reversed(facts.variables)}
        fmu.setTime = partial(self._at, fmu.setTime)
        for name in _READ:
            if hasattr(fmu, name):
                setattr(fmu, name, partial(self._read, getattr(fmu, name)))
        for name in _MAY_END:
            if hasattr(fmu, name):
                setattr(fmu, name, partial(self._hear_the_end, getattr(fmu, name)))

    def _at(self, call: Callable[..., Any], time: float) -> None:
        self._time = time
        call(time)

    def _read(self, call: Callable[..., Any], vr: Sequence[int], **sizes: Any) -> Any:
        """What is recorded; StepFailed names what is not finite."""
        found = call(vr, **sizes)
        for k, value in enumerate(found):
            if not isfinite(value):
                name = self._names[vr[k] if len(found) == len(vr) else vr[0]]
                at = f"FMU '{self._facts.name}' gave out {value} for '{name}' at t = {self._time:g} s"
                raise StepFailed(f"{at}, which is not finite")
        return found

    def _hear_the_end(self, call: Callable[..., Any]) -> Any:
        """What is true at the end is recorded before fmpy leaves."""
        answer = call()
        if answer[1] and not self.has_ended:
            self.before_the_end(self._time)
            self.has_ended = True
        return answer

    @contextmanager
    def judged(self) -> Iterator[None]:
        """Around fmpy, which raises where an FMU ends at the start, and tells what CVode makes of a failure."""
        try:
            yield
        except Exception as error:  # fmpy has no narrower one
            if not self.has_ended:
                raise self.failure or error from None


def _logger(messages: Messages) -> Callable[..., None]:
    """FMI 3.0 has no instance name in its messages."""

    def heard(*arguments: Any) -> None:
        status, _, text = arguments[-3:]
        messages.append((status, readable(text)))

    return heard


@contextmanager
def _failures(facts: FmuInfo, messages: Messages) -> Iterator[None]:
    here = Path.cwd()
    try:
        yield
    except (ModelError, StepFailed):
        raise
    except Exception as error:  # fmpy has no narrower one
        complaints = [message for message in messages if message[0] >= WARNING]  # also of steps that were tried
        reason = said(complaints[-LAST:]) or error
        if _is_refusal(error):
            raise ModelError(f"FMU '{facts.name}' could not be initialised: {reason}") from error
        cure = "; give a smaller step_output, or a larger tolerance" if TOO_MUCH_WORK in str(reason) else ""
        raise StepFailed(f"FMU '{facts.name}' gave up: {reason}{cure}") from error
    finally:
        os.chdir(here)  # where fmpy fails to load a library, it stays in the library's folder
        take_the_word()  # from the function that fmpy has made for this run


def _is_refusal(error: Exception) -> bool:
    """Of a value, or of the start, which ask for other values."""
    called = getattr(error, "function", "")[len("fmi2") :]  # fmpy's, of FMI 2.0 or 3.0
    return called.endswith("InitializationMode") or called == "SetupExperiment" or called in _VALUES_SET


def _signals(facts: FmuInfo, run: Integration) -> NDArray[Any] | None:
    """The inputs in fmpy's form: all of them, those that are not given at their start values."""
    if not run.inputs.columns:
        return None
    inputs = [v for v in facts.variables if v.causality == "input" and v.type != "String"]
    kinds = [(TIME, np.float64), *((v.name, _STORED.get(v.type, np.float64)) for v in inputs)]
    table = _with_rates(run.inputs, {v.name for v in inputs})
    signals = np.zeros(len(table.time), dtype=kinds)
    signals[TIME] = table.time
    for variable in inputs:
        signals[variable.name] = table.columns.get(variable.name, _start(variable))
    return signals


def _with_rates(inputs: Table, known: Collection[str]) -> Table:
    """The slopes of columns too, where they are inputs that nothing else is said of."""
    rates = {rate_of(n): n for n in inputs.columns if rate_of(n) in known and rate_of(n) not in inputs.columns}
    if not rates:
        return inputs
    size = np.diff(inputs.time)
    moves = np.asarray(size > 0)
    sides = np.stack([np.insert(moves, 0, False), np.append(moves, False)], axis=1)  # of rows that have them
    row, side = np.nonzero(sides)
    # Behind a corner is the next number: at two rows of one time fmpy would look for an event.
    behind = np.asarray(sides.all(axis=1))[row] & (side == 1)
    time = np.where(behind, np.nextafter(inputs.time[row], np.inf), inputs.time[row])
    columns = {name: values[row] for name, values in inputs.columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        columns |= {rate: (np.diff(inputs.columns[n]) / size)[row + side - 1] for rate, n in rates.items()}
    return Table(time, columns)


def _start(variable: FmuVariable) -> Any:
    return variable.start if isinstance(variable.start, float | int) else 0


def _result(
    facts: FmuInfo, names: Sequence[str], found: NDArray[Any], t_end: float, statistics: dict[str, int | float],
    failure: str = "", *, ended: bool = False,
) -> Result:
    time = np.asarray(found[TIME], dtype=np.float64)
    near = 1e-9 * max(abs(t_end), float(np.ptp(time)) if len(time) else 0.0)  # fmpy sums up its steps
    whole = len(time) > 0 and time[-1] >= t_end - near
    last = time[-1] if len(time) else 0.0
    wish = f"FMU '{facts.name}' has ended the simulation at t = {last:g} s" if ended else ""
    short = "" if whole or ended else f"FMU '{facts.name}' came to t = {last:g} s of {t_end:g} s only"
    return Result(
        time,
        {name: np.asarray(found[name], dtype=np.float64) for name in names},
        {name: facts.variable(name).unit for name in names},
        statistics=statistics,
        notes=(wish,) if wish else (),
        complete=not (failure or short),
        message=failure or short or wish,
        model=facts.name,
    )
