"""Conditions as numbers that are positive where they hold, so that the time of a change can be found.

A comparison gives the difference of its sides, `and` the smaller of two, `or` the larger; what has no such form jumps
between -1 and 1. This module must not know text.
"""

from __future__ import annotations

from mbdfmu.expressions.functions import maximum, minimum, select
from mbdfmu.expressions.graph import Node, postorder
from mbdfmu.expressions.opcodes import AND, CONST, EQ, LE, LT, NOT, OR

_JOINED = frozenset({AND, OR, NOT})
_LOGICAL = _JOINED | {LT, LE, EQ}


def is_condition(node: Node) -> bool:
    """Whether a node is true or false, and no quantity."""
    return node.op in _LOGICAL or (node.op == CONST and node.value in (0.0, 1.0))


def indicator(condition: Node) -> Node:
    """Positive where the condition is true, negative where it is false, and zero just between."""
    found: dict[Node, Node] = {}
    for node in postorder((condition,), lambda n: n.op in _JOINED):
        inner = [found[a] if a in found else _leaf(a) for a in node.args]
        found[node] = -inner[0] if node.op == NOT else (minimum if node.op == AND else maximum)(*inner)
    return found[condition] if condition in found else _leaf(condition)


def _leaf(node: Node) -> Node:
    if node.op in (LT, LE):
        a, b = node.args
        return b - a
    return select(node, 1.0, -1.0)
