"""The tube around a sampled curve, in time and value; must not know signals, tolerances or reports.

At time t the tube with half-widths `reach` and `allowed` spans

    min y(s) - allowed .. max y(s) + allowed      over |s - t| <= reach,

so a jump that comes slightly early or late is inside, both values of a double time are, and an offset is not.

Between two samples a curve is not known, which matters where two grids differ. There the tube also holds

* a kink: slopes s1, s, s2 before, in and after an interval of length h. If the neighbours go on straight until they
  meet, the curve leaves its chord by no more than the triangle  h min(w |s - s1|, (1 - w) |s2 - s|)  at the fraction
  w of the interval. A smooth curve, h^2 w (1 - w) |y''| / 2, is well inside.
* a jump recorded without a double time: an interval more than twice as steep as each neighbour. The jump may have
  happened anywhere in it, so both end values count, and where the neighbours' slopes lead to across it.

Known limit: a jump without a double time that is no steeper than the motion around it looks like motion, and fails on
another grid. Record the double time.

At the samples themselves a kink adds nothing. Rejected: a bound from w (1 - w) (|s - s1| + |s2 - s|); one nearly
double time next to an interval makes s1 huge and the tube endless, where the triangle keeps to the other side.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..tabular import Array

Index: TypeAlias = NDArray[np.intp]

STEEP = 2.0  # an interval this much steeper than each neighbour is a jump that was not recorded as one


class Place(NamedTuple):
    """Where points leave the tube most, measured by what is allowed there."""

    time: float
    point: float
    curve: float
    deviation: float  # distance from the curve within reach
    allowed: float


class Level(NamedTuple):
    """Queries whose samples within reach are covered by two runs of one power of two of samples."""

    rows: Index
    first: Index  # start of the one run
    last: Index  # start of the other


class Tube:
    """Tube around curves sampled at `knots`, asked at the times `at`; what depends on times alone is computed once."""

    def __init__(self, knots: Array, at: Array, reach: float) -> None:
        self.knots = _at_least_two(knots)
        self.at = at
        self.steps = np.diff(self.knots)
        self.ends = [self._locate(at - reach), self._locate(at + reach)]
        self.interval, self.fraction = self._locate(at)
        before = np.searchsorted(self.knots, at, "left") - 1
        self.before = np.clip(before, 0, len(self.steps) - 1)  # another interval than `interval` only at a knot
        self.levels = _levels(
            np.searchsorted(self.knots, at - reach, "left"), np.searchsorted(self.knots, at + reach, "right")
        )

    def worst(self, points: Array, curve: Array, allowed: float) -> Place | None:
        """The place where `points` (at the times asked) leave the tube around `curve` most; None without points."""
        if not len(points):
            return None
        curve = _at_least_two(curve)
        low, high, permitted = self._around(curve, allowed)
        outside = np.maximum(np.maximum(low - points, points - high), 0.0)
        ratio = np.divide(outside, permitted, out=np.where(outside > 0, np.inf, 0.0), where=permitted > 0)
        k = int(np.argmax(ratio))
        here = float(np.interp(self.at[k], self.knots, curve))
        return Place(float(self.at[k]), float(points[k]), here, float(outside[k]), float(permitted[k]))

    def edges(self, curve: Array, allowed: float) -> tuple[Array, Array]:
        """Lower and upper edge of the tube around `curve` at the times asked."""
        low, high, permitted = self._around(_at_least_two(curve), allowed)
        return low - permitted, high + permitted

    def _around(self, curve: Array, allowed: float) -> tuple[Array, Array, Array]:
        """Lowest and highest value within reach of each time, and the distance from them that is permitted."""
        slope = np.divide(np.diff(curve), self.steps, out=np.full(len(self.steps), np.nan), where=self.steps > 0)
        steep = _steep(slope)
        low, high = self._span(curve, self._jumps(curve, slope, steep))
        # Beyond a jump its slope says nothing.
        return low, high, allowed + self._kinks(np.where(steep, np.nan, slope))

    def _locate(self, at: Array) -> tuple[Index, Array]:
        """Interval and fraction of it for each time; before the first knot and after the last the end itself."""
        interval = np.clip(np.searchsorted(self.knots, at, "right") - 1, 0, len(self.steps) - 1)
        step = self.steps[interval]
        fraction = (at - self.knots[interval]) / np.where(step > 0, step, 1.0)
        return interval, np.clip(fraction, 0.0, 1.0)

    def _jumps(self, y: Array, slope: Array, steep: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Lowest and highest value of a jump in each interval; empty, (inf, -inf), where the interval is not steep."""
        low, high = np.full(len(slope), np.inf), np.full(len(slope), -np.inf)
        before, after = _neighbours(slope)
        k = np.flatnonzero(steep)
        y0, y1, step = y[k], y[k + 1], self.steps[k]
        values = (y0, y1, y0 + np.nan_to_num(before[k]) * step, y1 - np.nan_to_num(after[k]) * step)
        low[k], high[k] = np.min(values, axis=0), np.max(values, axis=0)
        return low, high

    def _kinks(self, slope: Array) -> Array:
        """Height of the triangle at each time asked; a neighbour without slope is taken to bend as the other does."""
        before, after = _neighbours(slope)
        left, right = np.abs(slope - before), np.abs(after - slope)
        left, right = np.where(np.isnan(left), right, left), np.where(np.isnan(right), left, right)
        rise = np.minimum(self.fraction * left[self.interval], (1.0 - self.fraction) * right[self.interval])
        return np.nan_to_num(rise) * self.steps[self.interval]

    def _span(self, y: Array, jumps: tuple[Array, Array]) -> tuple[Array, Array]:
        """Lowest and highest value of the curve within reach of each time; the jumps of an interval reach its ends."""
        (k0, w0), (k1, w1) = self.ends
        first, last = (1.0 - w0) * y[k0] + w0 * y[k0 + 1], (1.0 - w1) * y[k1] + w1 * y[k1 + 1]
        low, high = np.minimum(first, last), np.maximum(first, last)
        self._include_samples(y, low, high)
        for interval in (self.before, self.interval):
            np.minimum(low, jumps[0][interval], out=low)
            np.maximum(high, jumps[1][interval], out=high)
        return low, high

    def _include_samples(self, y: Array, low: Array, high: Array) -> None:
        """Widen low and high to the samples within reach, by runs of doubling length: n log(samples within reach)."""
        lowest = highest = y
        for power, level in enumerate(self.levels):
            if power:
                half = 2 ** (power - 1)
                lowest = np.minimum(lowest[:-half], lowest[half:])
                highest = np.maximum(highest[:-half], highest[half:])
            rows, i, j = level
            low[rows] = np.minimum(low[rows], np.minimum(lowest[i], lowest[j]))
            high[rows] = np.maximum(high[rows], np.maximum(highest[i], highest[j]))


def _levels(start: Index, stop: Index) -> list[Level]:
    """Sort the queries by the power of two that fits into their number of samples; those without any are left out."""
    count = stop - start
    power = np.frexp(count)[1] - 1  # -1 for no samples
    levels = []
    for k in range(int(power.max(initial=-1)) + 1):
        rows = np.flatnonzero(power == k)
        levels.append(Level(rows, start[rows], stop[rows] - 2**k))
    return levels


def _neighbours(slope: Array) -> tuple[Array, Array]:
    """Slope before and after each interval, NaN where there is none."""
    return np.concatenate([[np.nan], slope[:-1]]), np.concatenate([slope[1:], [np.nan]])


def _steep(slope: Array) -> NDArray[np.bool_]:
    before, after = _neighbours(np.abs(slope))
    steep: NDArray[np.bool_] = np.abs(slope) > STEEP * np.fmax(before, after)
    return steep


def _at_least_two(samples: Array) -> Array:
    return np.repeat(samples, 2) if len(samples) == 1 else samples
