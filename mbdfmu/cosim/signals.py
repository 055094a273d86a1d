"""What coupled values do during a step: polynomials through what is known, and what an FMU can follow of them.

docs/theory.md chapter 21 has the formulas. Must not know FMUs.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]  # rows c0, c1, c2 of c0 + c1 s + c2 s^2, a column for each value


class History:
    """The last values of one FMU at its communication points."""

    def __init__(self, points: int) -> None:
        self._points: deque[tuple[float, Vector]] = deque(maxlen=points)

    def add(self, time: float, values: Vector) -> None:
        """The values at the next communication point."""
        self._points.append((time, values))

    def ahead(self, time: float, order: int) -> Matrix:
        """Through the last points, about `time`; of a lower order as long as there are few."""
        return _through(list(self._points)[-order - 1 :], time)

    def towards(self, end: float, values: Vector, time: float, order: int) -> Matrix:
        """Through the last points and those values at the end of the step, about `time`."""
        before = list(self._points)[-order:] if order else []
        return _through([*before, (end, values)], time)


def _through(points: list[tuple[float, Vector]], time: float) -> Matrix:
    """Newton's interpolation through one to three points, the last of which is the nearest (T21.2)."""
    t0, y0 = points[-1]
    found = np.zeros((3, len(y0)))
    found[0] = y0
    if len(points) > 1:
        t1, y1 = points[-2]
        found[1] = first = (y0 - y1) / (t0 - t1)
    if len(points) > 2:
        t2, y2 = points[-3]
        found[2] = second = (first - (y1 - y2) / (t1 - t2)) / (t0 - t2)
        found[1] = first + second * (t0 - t1)
    return shifted(found, time - t0)


def shifted(polynomials: Matrix, by: float) -> Matrix:
    """The same polynomials about a later time."""
    if by == 0.0:
        return polynomials
    c0, c1, c2 = polynomials
    return np.array([c0 + by * (c1 + by * c2), c1 + 2 * by * c2, c2])


def value(polynomials: Matrix, s: float) -> Vector:
    """The values at s."""
    found: Vector = polynomials[0] + s * (polynomials[1] + s * polynomials[2])
    return found


def line(polynomials: Matrix, size: float) -> tuple[Vector, Vector]:
    """Value at the start and slope of the line nearest to the polynomial over the step, in the mean square (T21.3)."""
    c0, c1, c2 = polynomials
    return c0 - c2 * size * size / 6, c1 + c2 * size


def mean(polynomials: Matrix, size: float) -> Vector:
    """The mean over the step: the constant nearest to the polynomial in the mean square (T21.4)."""
    c0, c1, c2 = polynomials
    found: Vector = c0 + size * (c1 / 2 + size * c2 / 3)
    return found
