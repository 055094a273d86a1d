"""The Adams formulas and what follows from their coefficients: weights, errors, stability; must not know any paper.

All coefficients are derived, as exact fractions, from the polynomials that the formulas integrate; none is typed in.
Backward differences and the letters gamma and gamma* are those of [Haug89] 7.4; m-step formulas those of [Wu00].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = tuple[Fraction, ...]
Complex = NDArray[np.complexfloating[Any, Any]]
MARGIN = 1e-9  # of a modulus, so that roots on the unit circle are not lost to rounding
FINENESS = 1e-3  # of the search for the first crossing


@cache
def gamma(k: int) -> Fraction:
    """Weight of the k-th backward difference in an Adams-Bashforth formula: int_0^1 s (s+1) ... (s+k-1) ds / k!."""
    return _rising(0, k)


@cache
def gamma_star(k: int) -> Fraction:
    """The same in an Adams-Moulton formula: int_0^1 (s-1) s ... (s+k-2) ds / k!."""
    return _rising(-1, k)


def _rising(first: int, k: int) -> Fraction:
    """int_0^1 of (s + first) (s + first + 1) ..., k factors, over k!."""
    polynomial = [Fraction(1)]  # coefficients of 1, s, s^2, ...
    for j in range(k):
        shifted = [Fraction(0), *polynomial]
        polynomial = [s + (first + j) * p for s, p in zip(shifted, [*polynomial, Fraction(0)], strict=True)]
    return sum((c / (n + 1) for n, c in enumerate(polynomial)), Fraction(0)) / factorial(k)


def bashforth(order: int) -> Weights:
    """Weights of f_n, f_{n-1}, ...; explicit."""
    return _of_values([gamma(k) for k in range(order)])


def moulton(order: int) -> Weights:
    """Weights of f_{n+1}, f_n, ...; implicit."""
    return _of_values([gamma_star(k) for k in range(order)])


def _of_values(of_differences: Sequence[Fraction]) -> Weights:
    """Weights of values from those of their backward differences."""
    n = len(of_differences)
    return tuple((-1) ** j * sum(comb(k, j) * of_differences[k] for k in range(j, n)) for j in range(n))


@dataclass(frozen=True, kw_only=True)
class Formula:
    """Predict, evaluate, correct, evaluate; without a corrector the predictor alone."""

    predictor: Weights
    corrector: Weights = ()

    def growth(self, z: Complex) -> NDArray[np.float64]:
        """Modulus of the largest root of the characteristic polynomial for x' = lambda x, at all z = h lambda."""
        taken = self._taken(np.asarray(z, dtype=np.complex128))
        companion = np.zeros((*taken.shape, taken.shape[-1]), dtype=np.complex128)
        companion[..., 0, :] = taken
        companion[..., range(1, taken.shape[-1]), range(taken.shape[-1] - 1)] = 1
        return np.asarray(np.abs(np.linalg.eigvals(companion)).max(axis=-1))

    def _taken(self, z: Complex) -> Complex:
        """What x_{n+1} takes of x_n, x_{n-1}, ...

        x_{n+1} = x_n + z (c_0 x^p + c_1 x_n + ...) with x^p = x_n + z (b_0 x_n + b_1 x_{n-1} + ...).
        """
        size = max(len(self.predictor), len(self.corrector) - 1)
        b, c = (_padded(weights, size) for weights in (self.predictor, self.corrector[1:]))
        present = np.eye(1, size)[0]
        predicted = present + z[..., None] * b
        if not self.corrector:
            return np.asarray(predicted)
        return np.asarray(present + z[..., None] * (c + float(self.corrector[0]) * predicted))


def _padded(weights: Weights, size: int) -> NDArray[np.float64]:
    return np.array([*map(float, weights), *[0.0] * (size - len(weights))])


def adams_bashforth(order: int) -> Formula:
    """AB of an order."""
    return Formula(predictor=bashforth(order))


def predictor_corrector(steps: int) -> Formula:
    """AMPC of [Wu00]: AB of m steps, AM of the same order."""
    return Formula(predictor=bashforth(steps), corrector=moulton(steps))


def modified_predictor_corrector(steps: int) -> Formula:
    """MAMPC of [Wu00], eq. 27: AB of m steps, corrected by W1 AB_m + W2 AM_{m-1}, which is AM of m steps."""
    w1, w2 = modification(steps)
    am, ab = moulton(steps), bashforth(steps)
    mixed = [w2 * am[0], *(w2 * c for c in am[1:]), Fraction(0)]
    for j, b in enumerate(ab):
        mixed[j + 1] += w1 * b
    return Formula(predictor=ab, corrector=tuple(mixed))


def modification(steps: int) -> tuple[Fraction, Fraction]:
    """W1/(W1 + W2) and W2/(W1 + W2) of [Wu00] eq. 21."""
    w1, w2 = -gamma_star(steps), gamma(steps)
    return w1 / (w1 + w2), w2 / (w1 + w2)


def heun(z: Complex) -> NDArray[np.float64]:
    """Modulus of the growth of x' = lambda x in a step of Heun's method."""
    return np.asarray(np.abs(1 + z + z**2 / 2))


# ---------------------------------------------------------------- stability

Growth = Callable[[Complex], NDArray[np.float64]]


def real_limit(growth: Growth) -> float:
    """The length of the stable interval of the negative real axis.

    An error that Baumgarte's terms let decay has the double eigenvalue -alpha ([Wu00] eq. 33 with alpha = beta), so
    this is the limit of alpha h.
    """
    x = np.arange(0, 3, FINENESS)
    first = int(np.argmax(growth(-x + 0j) > 1 + MARGIN))
    low, high = x[first - 1], x[first]
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if growth(np.array(-middle + 0j)) <= 1 + MARGIN else (low, middle)
    return float((low + high) / 2)


def grid(x: tuple[float, float], y: tuple[float, float], count: int) -> Complex:
    """Midpoints of count x count cells of a rectangle of the complex plane."""
    places = (np.arange(count) + 0.5) / count
    return x[0] + (x[1] - x[0]) * places[None, :] + 1j * (y[0] + (y[1] - y[0]) * places[:, None])
