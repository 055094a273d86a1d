"""The functions of ADAMS/Solver beyond mathematics, with its names and arguments; must not know the grammar.

Their derivatives follow from the operations they are built of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mbdfmu.errors import ExpressionError
from mbdfmu.expressions.functions import (
    clamp,
    cos,
    graph_of,
    greater,
    maximum,
    select,
    sin,
    step,
    step5,
)
from mbdfmu.expressions.graph import Node, Operand
from mbdfmu.expressions.opcodes import CONST

# One-sided and two-sided stops ----------------------------------------------------------------------------------------


def impact(x: Operand, vx: Operand, x1: Operand, k: Operand, e: Operand, cmax: Operand, d: Operand) -> Node:
    """Force of a stop below x1: max(0, k (x1 - x)^e - c vx), where c grows by a step from 0 to cmax at x1 - d.

    It never pulls. Nothing of it is left for x >= x1, so that a power with e < 1 does no harm there.
    """
    _check_positive("a stop", "e", e)
    _check_positive("a stop", "d", d)
    graph = graph_of((x, vx, x1, k, e, cmax, d))
    depth = graph.promote(x1) - x
    force = k * depth**e - step(depth, 0.0, 0.0, d, cmax) * vx
    return select(greater(depth, 0.0), maximum(force, 0.0), 0.0)


def bistop(x: Operand, vx: Operand, x1: Operand, x2: Operand, *law: Operand) -> Node:
    """Force of two stops, that of `impact` below x1 and its mirror image above x2; the law is k, e, cmax, d."""
    graph = graph_of((x, vx, x1, x2, *law))
    x, vx, x1, x2 = (graph.promote(value) for value in (x, vx, x1, x2))
    if x1.op == x2.op == CONST and x1.value > x2.value:
        raise ExpressionError(f"bistop needs x1 not above x2, found {x1.value:g} and {x2.value:g}")
    return impact(x, vx, x1, *law) - impact(-x, -vx, -x2, *law)


def _check_positive(name: str, argument: str, value: Operand) -> None:
    number = value.value if isinstance(value, Node) and value.op == CONST else value
    if not isinstance(number, Node) and number <= 0:
        raise ExpressionError(f"{name} needs {argument} above 0, found {number:g}")


# Series ---------------------------------------------------------------------------------------------------------------


def poly(x: Operand, x0: Operand, *c: Operand) -> Node:
    """c0 + c1 (x - x0) + c2 (x - x0)^2 + ..., from the last term on (Horner)."""
    graph = graph_of((x, x0, *c))
    s = graph.promote(x) - x0
    total = graph.promote(c[-1])
    for factor in c[-2::-1]:
        total = total * s + factor
    return total


def cheby(x: Operand, x0: Operand, *a: Operand) -> Node:
    """a0 T0(x - x0) + a1 T1(x - x0) + ... of Chebyshev polynomials: T0 = 1, T1 = s, Tn+1 = 2 s Tn - Tn-1."""
    graph = graph_of((x, x0, *a))
    s = graph.promote(x) - x0
    terms = [graph.one, s]
    while len(terms) < len(a):
        terms.append(2 * s * terms[-1] - terms[-2])
    return graph.sum(factor * term for factor, term in zip(a, terms, strict=False))


def forcos(x: Operand, x0: Operand, w: Operand, a0: Operand, *a: Operand) -> Node:
    """a0 + a1 cos(w (x - x0)) + a2 cos(2 w (x - x0)) + ..."""
    angle = (graph_of((x, x0, w, a0, *a)).promote(x) - x0) * w
    return _series(angle, a0, [cos(n * angle) for n in range(1, len(a) + 1)], a)


def forsin(x: Operand, x0: Operand, w: Operand, a0: Operand, *a: Operand) -> Node:
    """a0 + a1 sin(w (x - x0)) + a2 sin(2 w (x - x0)) + ..."""
    angle = (graph_of((x, x0, w, a0, *a)).promote(x) - x0) * w
    return _series(angle, a0, [sin(n * angle) for n in range(1, len(a) + 1)], a)


def _series(angle: Node, a0: Operand, waves: Sequence[Node], a: Sequence[Operand]) -> Node:
    return angle.graph.sum([a0, *(factor * wave for factor, wave in zip(a, waves, strict=True))])


# Harmonic motions -----------------------------------------------------------------------------------------------------


def shf(x: Operand, x0: Operand, a: Operand, w: Operand, phi: Operand, b: Operand) -> Node:
    """a sin(w (x - x0) - phi) + b"""
    shifted = graph_of((x, x0, a, w, phi, b)).promote(x) - x0
    return a * sin(w * shifted - phi) + b


def sweep(x: Operand, a: Operand, x0: Operand, f0: Operand, x1: Operand, f1: Operand, dx: Operand) -> Node:
    """Sine of amplitude a whose frequency goes from f0 at x0 to f1 at x1 (cycles per unit of x).

    It begins at x0 and has its full amplitude from x0 + dx on. The phase in cycles is the integral of the frequency,
    f0 x + (f1 - f0)/(x1 - x0) w (x - x0 - w/2), where w is how far x has gone from x0 to x1.
    """
    _check_positive("sweep", "dx", dx)
    graph = graph_of((x, a, x0, f0, x1, f1, dx))
    x, x0, x1, f1 = (graph.promote(value) for value in (x, x0, x1, f1))
    if x0.op == x1.op == CONST and x0.value >= x1.value:
        raise ExpressionError(f"sweep needs x0 below x1, found {x0.value:g} and {x1.value:g}")
    gone = clamp(x - x0, 0.0, x1 - x0)
    cycles = f0 * x + (f1 - f0) / (x1 - x0) * gone * (x - x0 - 0.5 * gone)
    return step5(x, x0, 0.0, x0 + dx, 1.0) * a * sin(2 * math.pi * cycles)
