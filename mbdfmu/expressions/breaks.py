"""Times at which expressions have a jump or kink: zeros of switches that are affine in time; must not know models.

Their coefficients may depend on whatever is constant during a run. What switches by position or speed is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbdfmu.expressions.functions import absolute, less, select
from mbdfmu.expressions.graph import Node, postorder
from mbdfmu.expressions.opcodes import ABS, ADD, CONST, DIV, LE, LOAD, LOOKUP, LT, MAX, MIN, MUL, NEG, SELECT, SIGN, SUB

NEVER = -1e300  # s
_BRANCHES = 16  # that one argument may have; what has more is left to the error control

Line = tuple[Node, Node]  # value at time 0, slope
Lines = tuple[Line, ...]  # of which a node is one at any time


def switching_times(nodes: Sequence[Node], time: Node, constants: frozenset[str]) -> list[Node]:
    """The times as expressions of constants, finite always; `constants` are the spaces of constant symbols."""
    found: dict[Node, None] = {}
    lines: dict[Node, Lines] = {}
    for node in postorder(nodes, lambda n: time in n.support):
        lines[node] = _lines(node, time, lines, constants)
        for value, slope in _arguments(node, lines, constants):
            if not (slope.op == CONST and slope.value == 0):
                found[_zero(value, slope)] = None
    return [at for at in found if not (at.op == CONST and at.value == NEVER)]


def _zero(value: Node, slope: Node) -> Node:
    """Where the line crosses zero (T11.5); never where it does not, or where a number is of a branch not taken."""
    at = -value / slope
    return select(less(absolute(at), -NEVER), at, NEVER)


def _arguments(node: Node, lines: dict[Node, Lines], constants: frozenset[str]) -> Iterator[Line]:
    """What a node switches at the zeros of."""
    if node.op in (LT, LE, MIN, MAX):
        a, b = (_of(arg, lines, constants) for arg in node.args)
        yield from (_minus(x, y) for x in a for y in b)
    elif node.op in (ABS, SIGN):
        yield from _of(node.args[0], lines, constants)
    elif node.op == LOOKUP:
        curve, order = node.value
        for value, slope in _of(node.args[0], lines, constants):
            yield from ((value - knot, slope) for knot in curve.corners(order))


def _of(node: Node, lines: dict[Node, Lines], constants: frozenset[str]) -> Lines:
    if node in lines:
        return lines[node]
    return ((node, node.graph.zero),) if all(s.value[0] in constants for s in node.support) else ()


def _lines(node: Node, time: Node, lines: dict[Node, Lines], constants: frozenset[str]) -> Lines:
    """What the node may be; nothing where that is no line."""
    zero, one = node.graph.zero, node.graph.one
    if node.op == LOAD:
        return ((zero, one),) if node is time else ()
    args = [_of(a, lines, constants) for a in node.args]
    if node.op in (ADD, SUB, MUL, DIV):
        pairs = [(x, y) for x in args[0] for y in args[1]][: _BRANCHES + 1]
        combined = tuple(line for x, y in pairs if (line := _combined(node.op, x, y)) is not None)
        return combined if len(combined) == len(pairs) <= _BRANCHES else ()
    if node.op == NEG:
        return tuple((-value, -slope) for value, slope in args[0])
    every = tuple(dict.fromkeys(line for branch in _branches(node.op, args) for line in branch))
    return every if all(args[node.op == SELECT :]) and len(every) <= _BRANCHES else ()


def _branches(op: int, args: list[Lines]) -> list[Lines]:
    """What a switch chooses from."""
    if op == ABS:
        return [*args, tuple((-value, -slope) for value, slope in args[0])]
    if op == SELECT:
        return args[1:]
    return args if op in (MIN, MAX) else []


def _minus(a: Line, b: Line) -> Line:
    return a[0] - b[0], a[1] - b[1]


def _combined(op: int, a: Line, b: Line) -> Line | None:
    """The sum, difference, product or quotient of two lines, if it is a line."""
    (p, dp), (q, dq) = a, b
    zero = p.graph.zero
    if op in (ADD, SUB):
        return (p + q, dp + dq) if op == ADD else _minus(a, b)
    if op == DIV:
        return (p / q, dp / q) if dq is zero else None
    if dq is zero:
        return p * q, dp * q
    return (p * q, p * dq) if dp is zero else None
