"""Conditions as numbers that are positive where they hold, so that the time of a change can be found.

A comparison gives the difference of its sides, `and` the smaller of two, `or` the larger, where the other may have no
value if one decides alone; what has no such form jumps between -1 and 1. Where sides are equal, `<=` and `>=` are
true: there the number is as small as numbers get. This module must not know text.
"""

from __future__ import annotations

import sys

from mbdfmu.expressions.functions import equal, every, select, some
from mbdfmu.expressions.graph import Node, postorder
from mbdfmu.expressions.opcodes import AND, CONST, EQ, LE, LT, NOT, OR

_JOINED = frozenset({AND, OR, NOT})
_LOGICAL = _JOINED | {LT, LE, EQ}


def is_condition(node: Node) -> bool:
    """Whether a node is true or false, and no quantity."""
    return node.op in _LOGICAL or (node.op == CONST and node.value in (0.0, 1.0))


def indicator(condition: Node) -> Node:
    """Positive where the condition is true, negative where it is false; zero where that of < or > changes."""
    found: dict[Node, tuple[Node, Node]] = {}  # of a condition and of its opposite

    def both(node: Node) -> tuple[Node, Node]:
        return found[node] if node in found else _leaf(node)

    for node in postorder((condition,), lambda n: n.op in _JOINED):
        inner = [both(a) for a in node.args]
        if node.op == NOT:
            found[node] = inner[0][1], inner[0][0]
        else:
            (a, not_a), (b, not_b) = inner
            one, other = (every, some) if node.op == AND else (some, every)
            found[node] = one(a, b), other(not_a, not_b)
    return both(condition)[0]


def _leaf(node: Node) -> tuple[Node, Node]:
    if node.op == LT:
        a, b = node.args
        return b - a, _or_equal(a - b)
    if node.op == LE:
        a, b = node.args
        return _or_equal(b - a), a - b
    return select(node, 1.0, -1.0), select(node, -1.0, 1.0)


def _or_equal(gap: Node) -> Node:
    return select(equal(gap, 0.0), sys.float_info.min, gap)
