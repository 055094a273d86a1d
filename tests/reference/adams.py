"""Adams-Bashforth and Adams-Moulton in plain Python by backward differences, [Haug89] 7.4; must not import the package.

Read it beside the book: x' = f(x, t), the differences of eq. 7.4.4, the predictor of eq. 7.4.11, the corrector of eq.
7.4.15. The weights gamma come from their recursions, not from integrals or Lagrange polynomials as elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

Rate = Callable[[Any, float], Any]


def predictor_weights(count: int) -> list[float]:
    """gamma_k + gamma_{k-1}/2 + ... + gamma_0/(k + 1) = 1."""
    gamma: list[Fraction] = []
    for k in range(count):
        gamma.append(1 - sum((gamma[k - j] / (j + 1) for j in range(1, k + 1)), Fraction(0)))
    return [float(g) for g in gamma]


def corrector_weights(count: int) -> list[float]:
    """gamma*_k = gamma_k - gamma_{k-1}."""
    gamma = [Fraction(g).limit_denominator(10**6) for g in predictor_weights(count)]
    return [float(g - before) for g, before in zip(gamma, [Fraction(0), *gamma], strict=False)]


def differences(values: list[Any]) -> list[Any]:
    """Backward differences of all orders at the last of the values, order 0 first."""
    found, row = [], list(values)
    while row:
        found.append(row[-1])
        row = [b - a for a, b in pairwise(row)]
    return found


def bashforth(f: Rate, x: Any, h: float, count: int, k: int) -> list[Any]:
    """All x_n of the self-starting predictor: its order is min(n + 1, k)."""
    gamma, xs, fs = predictor_weights(k), [x], [f(x, 0.0)]
    for n in range(count):
        nabla = differences(fs[-k:])
        xs.append(xs[-1] + h * sum(g * d for g, d in zip(gamma, nabla, strict=False)))
        fs.append(f(xs[-1], (n + 1) * h))
    return xs


def corrected(f: Rate, x: Any, h: float, count: int, k: int, *, corrector: int = 1) -> list[Any]:
    """All x_n of the self-starting PECE: a predictor of order m = min(n + 1, k), a corrector of order m + `corrector`.

    corrector = 1 is the book's PECE of order k and MAMPC_k of [Wu00]; 0 is its AMPC_k.
    """
    gamma, star = predictor_weights(k), corrector_weights(k + 1)
    xs, fs = [x], [f(x, 0.0)]
    for n in range(count):
        past = fs[-k:]
        predicted = xs[-1] + h * sum(g * d for g, d in zip(gamma, differences(past), strict=False))
        with_it = differences([*past, f(predicted, (n + 1) * h)])[: len(past) + corrector]
        xs.append(xs[-1] + h * sum(g * d for g, d in zip(star, with_it, strict=False)))
        fs.append(f(xs[-1], (n + 1) * h))
    return xs
