"""Curves through given points, by pieces of cubics, with all their derivatives; must not know what is interpolated.

Knots x0 < x1 < ... < xn-1 part the line into n + 1 pieces, the outer two of which extrapolate. Piece k holds from the
knot before it on, that of number max(k - 1, 0), and is c0 + c1 s + c2 s^2 + c3 s^3 of the way s from that knot. The
native interpreter evaluates the same numbers in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_FLAT = 1e-9  # of the largest change of slope: rounding of points on a straight line


@dataclass(frozen=True)
class Curve:
    """A function given by at least two points with increasing x; equal ones are interchangeable."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    method: Literal["linear", "akima", "steps"] = "linear"  # steps hold the y of the knot before
    extrapolate: Literal["hold", "linear"] = "hold"

    @cached_property
    def _hash(self) -> int:
        return hash((self.x, self.y, self.method, self.extrapolate))

    def __hash__(self) -> int:
        return self._hash  # asked for with every node of a graph

    @property
    def degree(self) -> int:
        """Derivatives of a higher order are zero."""
        return {"linear": 1, "akima": 3, "steps": 0}[self.method]

    @cached_property
    def knots(self) -> Array:
        return np.array(self.x)

    @property
    def is_finite(self) -> bool:
        """Whether no slope is beyond what numbers can hold."""
        return bool(np.isfinite(self.pieces).all())

    @cached_property
    def pieces(self) -> Array:
        """c0, c1, c2, c3 of each piece."""
        with np.errstate(all="ignore"):  # see is_finite
            return self._pieces()

    def _pieces(self) -> Array:
        y = np.array(self.y)
        if self.method == "steps":
            return np.outer([y[0], *y], [1.0, 0, 0, 0])
        if self.method == "linear":
            slope = np.diff(y) / np.diff(self.knots)
            inner, first, last = [y[:-1], slope, 0 * slope, 0 * slope], slope[0], slope[-1]
        else:
            slopes = akima_slopes(self.knots, y)
            inner, first, last = _hermite(self.knots, y, slopes), slopes[0], slopes[-1]
        outside = 0.0 if self.extrapolate == "hold" else 1.0
        rows = [[y[0], outside * first, 0, 0], *np.transpose(inner), [y[-1], outside * last, 0, 0]]
        return np.array(rows, dtype=float)

    def corners(self, order: int = 0) -> list[float]:
        """The knots where a derivative, or its slope, is different on both sides."""
        width = np.diff(self.knots, prepend=self.knots[0])
        found = np.zeros(len(self.knots), dtype=bool)
        for n in (order, order + 1):
            before, after = _cubic(self.pieces[:-1], width, n), _cubic(self.pieces[1:], 0 * width, n)
            found |= np.abs(after - before) > _FLAT * max(np.abs(before).max(), np.abs(after).max())
        return [float(knot) for knot in self.knots[found]]

    def sums(self) -> tuple[Curve, Curve]:
        """For the integral: the knot at which the piece of x begins, and the integral from the first knot to it."""
        width = np.diff(self.knots)
        parts = self.pieces[1:-1] / np.arange(1, 5) * width[:, None] ** np.arange(1, 5)
        sums = tuple(float(total) for total in np.cumsum([0.0, *parts.sum(axis=1)]))
        return Curve(self.x, self.x, "steps"), Curve(self.x, sums, "steps")

    def value(self, x: Any, order: int = 0) -> Any:
        """The derivative of that order at a number or array, real or complex; at a knot that of the piece after it."""
        number = np.searchsorted(self.knots, np.real(x), side="right")
        return _cubic(self.pieces[number], x - self.knots[np.maximum(number - 1, 0)], order)


def _cubic(c: Array, s: Any, order: int) -> Any:
    """The derivatives of cubics, the last axis of c, at s."""
    c0, c1, c2, c3 = np.moveaxis(c, -1, 0)
    if order == 0:
        return ((c3 * s + c2) * s + c1) * s + c0
    if order == 1:
        return (3 * c3 * s + 2 * c2) * s + c1
    if order == 2:
        return 6 * c3 * s + 2 * c2
    return (6 if order == 3 else 0) * c3 + 0 * s


def _hermite(x: Array, y: Array, slopes: Array) -> list[Array]:
    """The cubics that have the given values and slopes at both ends (T11.1)."""
    h, chord = np.diff(x), np.diff(y) / np.diff(x)
    left, right = slopes[:-1], slopes[1:]
    return [y[:-1], left, (3 * chord - 2 * left - right) / h, (left + right - 2 * chord) / h**2]


def akima_slopes(x: Array, y: Array) -> Array:
    """Slopes after [Akima70] (T11.2): of the chords on both sides that one counts more whose neighbour differs less.

    Two chords are added at each end, by continuing the change of slope there. Where neither side has a change, as on a
    straight line or in a symmetric corner, it is the mean of both.
    """
    chords = np.diff(y) / np.diff(x)
    if len(chords) == 1:
        return np.repeat(chords, 2)
    m = np.concatenate([[0.0, 0.0], chords, [0.0, 0.0]])
    m[1], m[-2] = 2 * m[2] - m[3], 2 * m[-3] - m[-4]
    m[0], m[-1] = 2 * m[1] - m[2], 2 * m[-2] - m[-3]
    change = np.abs(np.diff(m))
    before, after = change[:-2], change[2:]
    total = before + after
    flat = total <= _FLAT * total.max()
    weight = np.where(flat, 0.5, after / np.where(flat, 1.0, total))
    slopes: Array = weight * m[1:-2] + (1 - weight) * m[2:-1]
    return slopes
