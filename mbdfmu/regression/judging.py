"""Is what an FMU computes what it should compute? Must not know files of references, nor how a verdict is shown.

A run is judged by all of: it was loaded and initialised, no call failed, it came to the end that the reference has,
every output is finite, and every signal of the reference lies in its tube (comparator.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mbdfmu import fmi
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.fmi.harness import kinds as kinds_of
from mbdfmu.regression.comparator import Comparison, compare
from mbdfmu.regression.references import Reference, find
from mbdfmu.results import Result

RTOL = 1e-3  # where neither the caller nor the reference says
NEAR = 1e-9  # of the length of a run: two times that mean the same
Run: TypeAlias = Callable[..., Result]  # called as fmi.simulate is
Progress: TypeAlias = Callable[[float], object] | None


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a comparison allows and looks at; None leaves it to the reference, then to the comparator."""

    rtol: float | None = None
    atol: float | None = None
    time_tolerance: float | None = None
    signals: tuple[str, ...] = ()  # patterns; none: all of the reference


USUAL = Terms()


@dataclass(frozen=True, kw_only=True)
class Case:
    """An FMU, one way to simulate it and one reference; `problem` where there is none to be had."""

    fmu: Path
    kind: str = ""  # as in FmuInfo.kinds
    alone: bool = True  # whether that is the FMU's only kind
    reference: Reference | None = None
    problem: ModelError | None = None

    @property
    def name(self) -> str:
        """The FMU, and which of its kinds and references if there are several."""
        which = [self.kind] * (not self.alone) + [self.reference.name if self.reference else ""]
        return f"{self.fmu.name}{''.join(f' [{text}]' for text in which if text)}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came out. It is true in a condition if passed; its text is the report."""

    name: str
    origin: str = ""  # of the reference
    problems: tuple[str, ...] = ()  # what fails beside the comparison
    notes: tuple[str, ...] = ()  # what does not fail, yet a reader should know
    comparison: Comparison | None = None
    result: Result | None = None
    reference: Result | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.problems and self.comparison is not None and self.comparison.passed

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """The verdict in a line, then every finding: problems of the run, then signals, worst first."""
        head, *findings = self.comparison.report().splitlines() if self.comparison is not None else [""]
        word = "passed" if self.passed else "FAILED"
        counted = head.partition(": ")[2]
        lines = [f"{self.name}: {word}{': ' if counted else ''}{counted}", *self.problems, *findings, *self.notes]
        return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])])


def cases(fmu: str | os.PathLike[str], where: str | os.PathLike[str] | None = None) -> list[Case]:
    """The FMU in each of its kinds, with each reference that `references.find` finds; without any a case that fails."""
    path = Path(fmu)
    try:
        references, kinds = find(path, where), kinds_of(fmi.info(path)) or [""]
        return [Case(fmu=path, kind=k, alone=len(kinds) == 1, reference=r) for k in kinds for r in references]
    except ModelError as error:
        return [Case(fmu=path, problem=error)]


def judge(case: Case, terms: Terms = USUAL, *, run: Run | None = None, progress: Progress = None) -> Verdict:
    """Run the FMU of a case as its reference was run and compare; `run` is `fmi.simulate`, or one like it."""
    if case.reference is None:
        return Verdict(name=case.name, problems=tuple(case.problem.problems if case.problem else ()))
    begun = time.perf_counter()
    problems: list[str] = []
    result = None
    try:
        result = _ran(case, case.reference, terms, run or fmi.simulate, progress)
    except ModelError as error:
        problems += error.problems
    except StepFailed as error:
        result = error.result
        problems += [] if result is not None else [str(error)]
    return _verdict(case, terms, result, problems, time.perf_counter() - begun)


def _verdict(case: Case, terms: Terms, result: Result | None, problems: list[str], seconds: float) -> Verdict:
    reference = case.reference
    assert reference is not None
    comparison = None
    try:
        problems += _end_problems(reference, result)
        if result is not None:
            comparison = _compared(result, reference, terms)
            problems += _wild(result, comparison)
    except ModelError as error:
        problems += error.problems
    return Verdict(
        name=case.name,
        origin=reference.origin,
        problems=tuple(dict.fromkeys(problems)),
        notes=(*(result.notes if result else ()), *_still(reference, comparison)),
        comparison=comparison,
        result=result,
        reference=reference.result,
        seconds=seconds,
    )


def _ran(case: Case, reference: Reference, terms: Terms, run: Run, progress: Progress) -> Result:
    """The run: what the reference has and, to see that they are finite, all outputs."""
    facts = fmi.info(case.fmu)
    wanted = reference.result.select(terms.signals or ("*",))
    outputs = [v.name for v in facts.variables if v.causality == "output"]
    conditions, times = reference.conditions, reference.result.time
    t_start = float(times[0]) if conditions.t_start is None else conditions.t_start
    arguments: dict[str, Any] = {"progress": progress} if progress is not None else {}
    result = run(
        case.fmu,
        float(times[-1]) if conditions.t_end is None else conditions.t_end,
        conditions.step or facts.step or _typical(times),
        t_start=t_start,
        parameters=conditions.parameters,
        start=conditions.start,
        inputs=reference.inputs,
        interpolation=conditions.interpolation,
        record=list(dict.fromkeys([*(name for name in wanted if name in facts), *outputs])),
        tolerance=conditions.tolerance,
        kind=case.kind or None,
        **arguments,
    )
    if result.message.startswith("interrupted"):  # by the user, who wants no verdict either
        raise KeyboardInterrupt
    return result


def _typical(times: np.ndarray[Any, Any]) -> float | None:
    steps = np.diff(times)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else None


def _compared(result: Result, reference: Reference, terms: Terms) -> Comparison:
    told = reference.conditions
    rtol = terms.rtol if terms.rtol is not None else told.rtol
    return compare(
        result,
        reference.result,
        rtol=RTOL if rtol is None else rtol,
        atol=terms.atol if terms.atol is not None else told.atol,
        signals=terms.signals or None,
        time_tolerance=terms.time_tolerance,
    )


def _end_problems(reference: Reference, result: Result | None) -> Iterator[str]:
    """A reference that is shorter than its own options say has lost something, and may hide a failure in the rest.

    Unless the FMU wants to end there.
    """
    times, told = reference.result.time, reference.conditions
    near = NEAR * max(float(np.ptp(times)), abs(float(times[-1])))
    ends = result is not None and result.complete and result.message and abs(result.time[-1] - times[-1]) <= near
    for what, said, found in (("starts", told.t_start, times[0]), ("ends", told.t_end, times[-1])):
        if said is not None and abs(said - found) > near and not (ends and what == "ends"):
            yield f"the reference {what} at t = {found:.9g} s, its options say {said:.9g} s; record it again"


def _wild(result: Result, comparison: Comparison) -> Iterator[str]:
    """Values that are not finite in what is not compared."""
    for name, values in result.columns.items():
        rows = np.flatnonzero(~np.isfinite(values))
        if len(rows) and name not in comparison.deviations:
            yield f"{name}: at t = {result.time[rows[0]]:.9g} s the result is {values[rows[0]]}"


def _still(reference: Reference, comparison: Comparison | None) -> Iterator[str]:
    names = comparison.deviations if comparison is not None else ()
    if names and not any(np.ptp(reference.result[name]) for name in names):
        yield "note: nothing moves in the reference, so this run proves little; record one with inputs or start values"
