"""The mathematical functions of nodes; must not know the grammar, nor which of them a user may write.

Their derivatives follow from the operations they are built of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce

from mbdfmu.errors import ExpressionError
from mbdfmu.expressions.graph import Graph, Node, Operand
from mbdfmu.expressions.opcodes import CONST, OPCODES


def _elementary(name: str) -> Callable[..., Node]:
    """The Python function of one operation; numbers among its arguments are promoted."""
    op = OPCODES[name]

    def function(*args: Operand) -> Node:
        graph = graph_of(args)
        return graph.apply(op, *[graph.promote(a) for a in args])

    function.__name__ = function.__qualname__ = name.lower()
    return function


def graph_of(args: Iterable[Operand]) -> Graph:
    """The graph of the first node among them."""
    for a in args:
        if isinstance(a, Node):
            return a.graph
    raise TypeError("at least one argument must be a node; make one by graph.const(number)")


sin, cos, tan = _elementary("SIN"), _elementary("COS"), _elementary("TAN")
asin, acos, atan, atan2 = _elementary("ASIN"), _elementary("ACOS"), _elementary("ATAN"), _elementary("ATAN2")
sinh, cosh, tanh = _elementary("SINH"), _elementary("COSH"), _elementary("TANH")
exp, log, sqrt, square = _elementary("EXP"), _elementary("LOG"), _elementary("SQRT"), _elementary("SQUARE")
absolute, sign, floor = _elementary("ABS"), _elementary("SIGN"), _elementary("FLOOR")
minimum, maximum, select = _elementary("MIN"), _elementary("MAX"), _elementary("SELECT")
every, some = _elementary("ALL"), _elementary("ANY")  # of indicators, positive where they are true
less, less_equal, equal = _elementary("LT"), _elementary("LE"), _elementary("EQ")
logical_and, logical_or, logical_not = _elementary("AND"), _elementary("OR"), _elementary("NOT")


def greater(a: Operand, b: Operand) -> Node:
    return less(b, a)


def greater_equal(a: Operand, b: Operand) -> Node:
    return less_equal(b, a)


def not_equal(a: Operand, b: Operand) -> Node:
    return logical_not(equal(a, b))


def log10(x: Node) -> Node:
    return log(x) / math.log(10.0)


def modulo(x: Operand, y: Operand) -> Node:
    """The remainder with the sign of y."""
    divisor = y.value if isinstance(y, Node) and y.op == CONST else y
    if not isinstance(divisor, Node) and divisor == 0:
        raise ExpressionError("mod needs y to differ from 0, which leaves no remainder")
    return -floor(x / y) * y + x


def ceiling(x: Node) -> Node:
    """The smallest integer not below x."""
    return -floor(-x)


def nearest(x: Node) -> Node:
    """The nearest integer, upwards from the middle."""
    return floor(x + 0.5)


def smallest(first: Node, *others: Operand) -> Node:
    """The smallest of several."""
    return reduce(minimum, others, first)


def largest(first: Node, *others: Operand) -> Node:
    """The largest of several."""
    return reduce(maximum, others, first)


def clamp(x: Operand, low: Operand, high: Operand) -> Node:
    """x, held between two bounds."""
    return minimum(maximum(x, low), high)


def hypot(*values: Operand) -> Node:
    """The length of a vector; it has no derivative where all are zero."""
    graph = graph_of(values)
    return sqrt(graph.sum(square(graph.promote(v)) for v in values))


def step(x: Operand, x0: Operand, y0: Operand, x1: Operand, y1: Operand) -> Node:
    """From y0 at x0 to y1 at x1 by the cubic 3 s^2 - 2 s^3, constant outside."""
    s = _fraction("step", x, x0, x1)
    return s * s * (3 - 2 * s) * (y1 - y0) + y0


def step5(x: Operand, x0: Operand, y0: Operand, x1: Operand, y1: Operand) -> Node:
    """As step, by the quintic 10 s^3 - 15 s^4 + 6 s^5, whose curvature is continuous too."""
    s = _fraction("step5", x, x0, x1)
    return s * s * s * (10 - s * (15 - 6 * s)) * (y1 - y0) + y0


def havsin(x: Operand, x0: Operand, y0: Operand, x1: Operand, y1: Operand) -> Node:
    """From y0 at x0 to y1 at x1 by the haversine (1 - cos(pi s)) / 2, constant outside."""
    s = _fraction("havsin", x, x0, x1)
    return (0.5 - 0.5 * cos(math.pi * s)) * (y1 - y0) + y0


def _fraction(name: str, x: Operand, x0: Operand, x1: Operand) -> Node:
    """The way from x0 to x1 that x has gone, held between 0 and 1."""
    graph = graph_of((x, x0, x1))
    width = graph.promote(x1) - graph.promote(x0)
    if width.op == CONST and width.value == 0:
        raise ExpressionError(f"{name} needs x0 and x1 to differ; for a jump write if(x < x0, y0, y1)")
    return minimum(maximum((x - x0) / width, 0.0), 1.0)
