"""Linear systems in symbolic form: matrices of nodes, and the ones of a transfer function; must not know any block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mbdfmu.expressions import Node, absolute, less, maximum, select

Row = tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Linear:
    """x' = A x + B u, y = C x + D u; the matrices by rows."""

    A: tuple[Row, ...]
    B: tuple[Row, ...]
    C: tuple[Row, ...]
    D: tuple[Row, ...]


def companion(numerator: Sequence[Node], denominator: Sequence[Node]) -> Linear:
    """The controllable canonical form of b(s)/a(s), highest powers first, in the time scale of its poles (T8.5).

    With w = max |a_k/a_0|^(1/k), which bounds the poles up to a factor 2, and p = s/w all coefficients of
    a(p) = p^n + alpha_1 p^(n-1) + .. + alpha_n lie within -1 and 1, so that the states are of one size and in the unit
    of the input: x_i' = w x_{i+1}, x_n' = w (u - alpha_n x_1 - .. - alpha_1 x_n).
    """
    n, graph = len(denominator) - 1, denominator[0].graph
    zero, first = graph.zero, denominator[0]
    w = _pole_scale([a / first for a in denominator[1:]], zero)
    powers = [w**k for k in range(n + 1)]
    alpha = [a / (first * power) for a, power in zip(denominator, powers, strict=True)]
    padded = [zero] * (n + 1 - len(numerator)) + list(numerator)
    beta = [b / (first * power) for b, power in zip(padded, powers, strict=True)]
    chain = [tuple(w if k == i + 1 else zero for k in range(n)) for i in range(n - 1)]
    last = [tuple(-w * alpha[n - k] for k in range(n))] if n else []
    through = beta[0]
    return Linear(
        A=(*chain, *last),
        B=tuple((w if i == n - 1 else zero,) for i in range(n)),
        C=(tuple(beta[n - k] - through * alpha[n - k] for k in range(n)),),
        D=((through,),),
    )


def _pole_scale(ratios: Sequence[Node], zero: Node) -> Node:
    """max |r_k|^(1/k) of the ratios a_k/a_0, k = 1 ..; 1 where all are zero."""
    scale = zero
    for k, ratio in enumerate(ratios, 1):
        scale = maximum(absolute(ratio) ** (1 / k), scale)
    return select(less(0.0, scale), scale, 1.0)
