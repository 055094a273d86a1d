"""Local rewriting rules that keep derivatives small; must not know how nodes are stored, only how they are combined.

A rule gets the arguments in canonical order (a constant first where the operation commutes) and returns the simpler
node, or None if nothing is to be gained. Constants alone never arrive here: the graph folds them before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from mbdfmu.expressions import opcodes as op

if TYPE_CHECKING:
    from mbdfmu.expressions.graph import Node


def _add(a: Node, b: Node) -> Node | None:
    if a.op == op.CONST:
        return b if a.value == 0 else None
    if a is b:
        return 2 * a
    if b.op == op.NEG:
        return a - b.args[0]
    if a.op == op.NEG:
        return b - a.args[0]
    return None


def _subtract(a: Node, b: Node) -> Node | None:
    if b.op == op.CONST and b.value == 0:
        return a
    if a.op == op.CONST and a.value == 0:
        return -b
    if a is b:
        return a.graph.zero
    if b.op == op.NEG:
        return a + b.args[0]
    if a.op == op.NEG:
        return -(a.args[0] + b)
    return None


def _multiply(a: Node, b: Node) -> Node | None:
    if a.op == op.CONST:
        return _scale(a, b)
    if a is b:
        return a.graph.apply(op.SQUARE, a)
    if a.op == op.NEG:
        return -(a.args[0] * b)
    if b.op == op.NEG:
        return -(a * b.args[0])
    return None


def _scale(factor: Node, b: Node) -> Node | None:
    if factor.value == 0:
        return factor
    if factor.value == 1:
        return b
    if factor.value == -1:
        return -b
    if b.op == op.NEG:
        return -factor * b.args[0]
    if b.op == op.MUL and b.args[0].op == op.CONST:
        product: float = factor.value * b.args[0].value
        if math.isfinite(product) and product != 0:  # overflow and underflow stay visible at run time
            return b.args[1] * product
    return None


def _divide(a: Node, b: Node) -> Node | None:
    if a.op == op.CONST and a.value == 0:
        return None if b.op == op.CONST and b.value == 0 else a  # 0/0 stays, and is not a number at run time
    if b.op == op.CONST and abs(b.value) == 1:
        return a if b.value == 1 else -a
    if a.op == op.NEG:
        return -(a.args[0] / b)
    if b.op == op.NEG:
        return -(a / b.args[0])
    return None


def _negate(a: Node) -> Node | None:
    if a.op == op.NEG:
        return a.args[0]
    if a.op == op.SUB:
        return a.args[1] - a.args[0]
    if a.op == op.MUL and a.args[0].op == op.CONST:
        return -a.args[0] * a.args[1]
    return None


_POWERS: dict[float, Callable[[Node], Node]] = {
    0.0: lambda a: a.graph.one,
    1.0: lambda a: a,
    2.0: lambda a: a.graph.apply(op.SQUARE, a),
    3.0: lambda a: a * a**2,
    4.0: lambda a: (a**2) ** 2,
    0.5: lambda a: a.graph.apply(op.SQRT, a),
    -1.0: lambda a: 1 / a,
    -2.0: lambda a: 1 / a**2,
}


def _power(a: Node, b: Node) -> Node | None:
    if b.op == op.CONST and b.value in _POWERS:
        return _POWERS[b.value](a)
    return a if a.op == op.CONST and a.value == 1 else None


def _square(a: Node) -> Node | None:
    return a.graph.apply(op.SQUARE, a.args[0]) if a.op in (op.NEG, op.ABS) else None


def _absolute(a: Node) -> Node | None:
    if a.op in (op.ABS, op.SQUARE):
        return a
    return a.graph.apply(op.ABS, a.args[0]) if a.op == op.NEG else None


def _select(condition: Node, a: Node, b: Node) -> Node | None:
    if a is b:
        return a
    if condition.op == op.CONST:
        return a if condition.value != 0 else b
    if condition.op == op.NOT:
        return a.graph.apply(op.SELECT, condition.args[0], b, a)
    return None


def _extremum(a: Node, b: Node) -> Node | None:
    return a if a is b else None


def _never(a: Node, b: Node) -> Node | None:
    return a.graph.zero if a is b else None


def _always(a: Node, b: Node) -> Node | None:
    return a.graph.one if a is b else None


RULES: dict[int, Callable[..., Node | None]] = {
    op.ADD: _add,
    op.SUB: _subtract,
    op.MUL: _multiply,
    op.DIV: _divide,
    op.NEG: _negate,
    op.POW: _power,
    op.SQUARE: _square,
    op.ABS: _absolute,
    op.SELECT: _select,
    op.MIN: _extremum,
    op.MAX: _extremum,
    op.ALL: _extremum,
    op.ANY: _extremum,
    op.LT: _never,
    op.LE: _always,
    op.EQ: _always,
}
