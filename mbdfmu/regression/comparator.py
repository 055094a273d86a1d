"""Compare a result with a reference, signal by signal; must not know how either was made.

Every sample of the result must lie in the tube around the reference (tube.py), and every sample of the reference in
the tube around the result: the first finds what only the result has (a spike, an offset), the second what it lacks.

Rejected: interpolating one curve on the grid of the other and taking a norm of the difference. A jump one sample late
then fails, and a short spike, an offset or NaN hides in the norm.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

from ..errors import ModelError
from ..results import Result
from ..tabular import SHOWN, Array
from .tube import Place, Tube
from .waves import crossings, shortest_half

Curves: TypeAlias = Result | str | os.PathLike[str] | np.ndarray[Any, Any]

COVERAGE = 0.05  # part of the reference's time that a coarse output grid may leave open at an end
ROUNDING = 8 * float(np.finfo(np.float64).eps)  # relative, of times that are meant to be equal
# A range below rtol times this part of the magnitude is rounding, not motion: then the magnitude counts.
FLOOR_RELATIVE = 1e-3
FLOOR_ABSOLUTE = 1e-12  # for signals that are zero throughout
SHARE = 0.2  # of the shortest half period, that a tolerance along time may be


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """The worst place of one signal: where its deviation is the largest part of what is allowed."""

    name: str
    unit: str
    time: float
    value: float  # of the result
    reference: float
    deviation: float  # distance from the other curve within the time tolerance; NaN where a value is not finite
    allowed: float
    reach: float = 0.0  # s, the tolerance along time

    @property
    def ratio(self) -> float:
        """Deviation as a part of what is allowed; above 1 the signal fails."""
        if self.deviation == 0.0:
            return 0.0
        if math.isnan(self.deviation) or self.allowed == 0.0:
            return math.inf
        return self.deviation / self.allowed

    @property
    def passed(self) -> bool:
        return self.ratio <= 1.0

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.name}: at t = {self.time:.9g} s the result is {self.value:.9g}{unit}, the reference is "
            f"{self.reference:.9g}{unit}; deviation {self.deviation:.3g}, allowed {self.allowed:.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The verdict. It is true in a condition if passed; its text is the report."""

    deviations: dict[str, Deviation]  # one for each compared signal
    problems: tuple[str, ...]  # what fails without a number: missing signals, short runs, other units
    rtol: float
    atol: float | None
    time_tolerance: float

    @property
    def passed(self) -> bool:
        return not self.problems and not self.failed

    @property
    def failed(self) -> list[Deviation]:
        """The signals that leave the tube, worst first."""
        return [deviation for deviation in self.ranked if not deviation.passed]

    @property
    def worst(self) -> Deviation | None:
        """The signal nearest to its limit or farthest beyond it."""
        return self.ranked[0] if self.ranked else None

    @cached_property
    def ranked(self) -> list[Deviation]:
        return sorted(self.deviations.values(), key=lambda deviation: deviation.ratio, reverse=True)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """The verdict in one line, then what is wrong, worst first; after a pass the signal nearest to its limit."""
        count = len(self.deviations)
        tube = f"rtol {self.rtol:g}, time tolerance {self.time_tolerance:g} s"
        if self.passed:
            nearest = [f"nearest to its limit: {self.worst}"] if self.worst else []
            inside = "1 signal is" if count == 1 else f"{count} signals are"
            return "\n".join([f"passed: {inside} inside the tube ({tube})", *nearest])
        verdict = f"FAILED: {len(self.failed)} of {count} compared signals leave the tube ({tube})"
        return "\n".join([verdict, *self.problems, *map(str, self.failed)])


def compare(
    result: Curves,
    reference: Curves,
    *,
    rtol: float = 1e-3,
    atol: float | None = None,
    signals: str | Iterable[str] | None = None,
    time_tolerance: float | None = None,
) -> Comparison:
    """Compare all signals of the reference, or those that match `signals`, with the result.

    Allowed is `rtol` times the signal's range in the reference, but never less than `atol` (in the signal's unit;
    without it a floor from rounding) and, along time, `time_tolerance` in seconds (without it `rtol` times the
    length of the reference), but never more than a tenth of the signal's own shortest period in the reference. The
    result must cover the time of the reference; more time or signals are not compared.
    """
    _check_tolerances(rtol=rtol, atol=atol, time_tolerance=time_tolerance)
    result, reference = _load(result), _load(reference)
    if not len(reference.time):
        raise ModelError("the reference has no rows; nothing can be compared with it")
    names = reference.select(_patterns(signals))
    if not names:
        raise ModelError("the reference has no signals beside the time; nothing can be compared with it")
    if time_tolerance is None:
        time_tolerance = rtol * float(np.ptp(reference.time))
    problems = _run_problems(result, reference) + _signal_problems(result, reference, names)
    common = [name for name in names if name in result.columns]
    allowed = {name: allowance(reference[name], rtol, atol) for name in common}
    problems += _sparse_problems(result, reference, allowed)
    deviations = _deviations(result, reference, allowed, time_tolerance)
    return Comparison(
        deviations=deviations, problems=tuple(problems), rtol=rtol, atol=atol, time_tolerance=time_tolerance
    )


def _check_tolerances(**tolerances: float | None) -> None:
    problems = [
        f"{name} is {value}; it must be a finite number, not below 0"
        for name, value in tolerances.items()
        if value is not None and not (math.isfinite(value) and value >= 0)
    ]
    if problems:
        raise ModelError(problems)


def _load(curves: Curves) -> Result:
    if isinstance(curves, Result):
        return curves
    if isinstance(curves, np.ndarray):
        return Result.from_array(curves)
    return Result.read(curves)


def _patterns(signals: str | Iterable[str] | None) -> list[str]:
    if signals is None:
        return ["*"]
    return [signals] if isinstance(signals, str) else list(signals)


def _run_problems(result: Result, reference: Result) -> list[str]:
    problems = [] if result.complete else [f"the result's run ended early: {result.message or 'no reason is given'}"]
    if len(reference.time) == 1 < len(result.time):
        problems.append("the reference has one row, which shows no course; record it over time")
    if not len(result.time):
        return [*problems, "the result has no rows"]
    t, tref = result.time, reference.time
    if _lacks_end(-t[::-1], -tref[::-1]):
        problems.append(f"the result starts at t = {t[0]:.9g} s, the reference at t = {tref[0]:.9g} s")
    if _lacks_end(t, tref):
        problems.append(f"the result ends at t = {t[-1]:.9g} s, the reference at t = {tref[-1]:.9g} s")
    return problems


def _lacks_end(time: Array, reference: Array) -> bool:
    """Whether `time` ends before the reference although its own grid has room for another sample."""
    steps = np.diff(time)
    steps = steps[steps > 0]
    span = float(np.ptp(reference))
    next_sample = min(steps[-1], COVERAGE * span) if len(steps) else 0.0
    # Less than a sample is missing: 1e-9 of the span, as times of a grid are summed up by many tools.
    rounding = 1e-9 * span + ROUNDING * abs(reference[-1])
    lack = reference[-1] - time[-1]
    return bool(lack > rounding and lack >= next_sample - rounding)


def _signal_problems(result: Result, reference: Result, names: list[str]) -> list[str]:
    missing = [name for name in names if name not in result.columns]
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    problems = [f"missing in the result: {', '.join(missing[:SHOWN])}{more}"] if missing else []
    for name in names:
        ours, theirs = result.units.get(name, ""), reference.units[name]
        if ours and theirs and ours != theirs:  # files of other tools may have no units at all
            problems.append(f"{name}: the result is in '{ours}', the reference in '{theirs}'; convert one of them")
    return problems


def _sparse_problems(result: Result, reference: Result, allowed: dict[str, float]) -> list[str]:
    """Where the result swings to and fro between two rows of the reference nothing says that it should."""
    problems = []
    for name, limit in allowed.items():
        if not np.isfinite(result[name]).all():
            continue
        times = crossings(result.time, result[name], 2 * limit)
        times = times[(times > reference.time[0]) & (times < reference.time[-1])]
        rows = np.searchsorted(reference.time, times)
        between = rows == np.searchsorted(reference.time, times, "right")  # a jump at a row is shown by it
        swings = np.flatnonzero((np.diff(rows) == 0) & (np.diff(times) > 0) & between[1:] & between[:-1])
        if len(swings):
            k = int(swings[0])
            problems.append(
                f"{name}: the result swings between t = {times[k]:.9g} s and {times[k + 1]:.9g} s, where the reference "
                "has no row; record the reference with more rows"
            )
    return problems


def allowance(reference: Array, rtol: float, atol: float | None) -> float:
    """Distance from the curve of a reference that is allowed."""
    if not np.isfinite(reference).all():
        return 0.0
    if atol is None:
        atol = max(FLOOR_RELATIVE * rtol * float(np.abs(reference).max()), FLOOR_ABSOLUTE)
    return max(rtol * float(np.ptp(reference)), atol)


def _deviations(result: Result, reference: Result, allowed: dict[str, float], reach: float) -> dict[str, Deviation]:
    """The worst deviation of each signal; a signal without any common time has none, and the run is refused anyway."""
    if not len(result.time):
        return {}
    rounding = ROUNDING * float(np.abs(reference.time).max())
    ours = _overlap(result.time, reference.time, rounding)
    theirs = _overlap(reference.time, result.time, rounding)

    @cache
    def tubes(reach: float) -> tuple[Tube, Tube]:
        around_reference = Tube(reference.time, result.time[ours], reach + rounding)
        return around_reference, Tube(result.time, reference.time[theirs], reach + rounding)

    found = {}
    for name, limit in allowed.items():
        y, yref = result[name], reference[name]
        wild = _not_finite(result, reference, name)
        own = 0.0 if wild else _reach(reference.time, yref, limit, reach)
        around_reference, around_result = tubes(own)
        forth = None if wild else around_reference.worst(y[ours], yref, limit)
        back = None if wild else around_result.worst(yref[theirs], y, limit)
        places = [wild, forth, back and back._replace(point=back.curve, curve=back.point)]
        unit = reference.unit(name) or result.unit(name)
        candidates = [_deviation(name, unit, place, own) for place in places if place is not None]
        if candidates:
            found[name] = max(candidates, key=lambda deviation: deviation.ratio)
    return found


def _reach(time: Array, values: Array, allowed: float, longest: float) -> float:
    """The tolerance along time of one signal: with a longer one than its periods any oscillation would pass."""
    most = SHARE * shortest_half(time, values, 2 * allowed)
    # Halved as often as needed: signals share tubes.
    return longest if longest <= most else longest * 2.0 ** math.floor(math.log2(most / longest))


def _overlap(time: Array, other: Array, rounding: float) -> slice:
    first = np.searchsorted(time, other[0] - rounding, "left")
    return slice(int(first), int(np.searchsorted(time, other[-1] + rounding, "right")))


def _not_finite(result: Result, reference: Result, name: str) -> Place | None:
    """The first value that is not finite, in either; it can be inside no tube."""
    for run in (result, reference):
        rows = np.flatnonzero(~np.isfinite(run[name]))
        if len(rows):
            at = float(run.time[rows[0]])
            value, other = (float(table[name][np.abs(table.time - at).argmin()]) for table in (result, reference))
            return Place(at, value, other, math.nan, 0.0)
    return None


def _deviation(name: str, unit: str, place: Place, reach: float) -> Deviation:
    time, value, reference, deviation, allowed = place
    return Deviation(
        name=name, unit=unit, time=time, value=value, reference=reference, deviation=deviation, allowed=allowed,
        reach=reach,
    )  # fmt: skip
