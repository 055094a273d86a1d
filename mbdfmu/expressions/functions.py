"""The mathematical functions of nodes, and the table of those a user may write; must not know the grammar.

A function that users may call is one row of FUNCTIONS; its derivative follows from the operations it is built of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from mbdfmu.errors import ExpressionError
from mbdfmu.expressions.graph import Graph, Node, Operand
from mbdfmu.expressions.opcodes import CONST, OPCODES


class Function(NamedTuple):
    """One function of the language of user equations."""

    name: str
    arity: int
    text: str
    builder: Callable[..., Node]


def _elementary(name: str) -> Callable[..., Node]:
    """The Python function of one operation; numbers among its arguments are promoted."""
    op = OPCODES[name]

    def function(*args: Operand) -> Node:
        graph = _graph_of(args)
        return graph.apply(op, *[graph.promote(a) for a in args])

    function.__name__ = function.__qualname__ = name.lower()
    return function


def _graph_of(args: tuple[Operand, ...]) -> Graph:
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
    return -floor(x / y) * y + x


def step(x: Operand, x0: Operand, y0: Operand, x1: Operand, y1: Operand) -> Node:
    """From y0 at x0 to y1 at x1 by the cubic 3 s^2 - 2 s^3, constant outside."""
    s = _fraction("step", x, x0, x1)
    return s * s * (3 - 2 * s) * (y1 - y0) + y0


def havsin(x: Operand, x0: Operand, y0: Operand, x1: Operand, y1: Operand) -> Node:
    """From y0 at x0 to y1 at x1 by the haversine (1 - cos(pi s)) / 2, constant outside."""
    s = _fraction("havsin", x, x0, x1)
    return (0.5 - 0.5 * cos(math.pi * s)) * (y1 - y0) + y0


def _fraction(name: str, x: Operand, x0: Operand, x1: Operand) -> Node:
    """The way from x0 to x1 that x has gone, held between 0 and 1."""
    graph = _graph_of((x, x0, x1))
    width = graph.promote(x1) - graph.promote(x0)
    if width.op == CONST and width.value == 0:
        raise ExpressionError(f"{name} needs x0 and x1 to differ; for a jump write if(x < x0, y0, y1)")
    return minimum(maximum((x - x0) / width, 0.0), 1.0)


FUNCTIONS: dict[str, Function] = {
    row.name: row
    for row in (
        Function("sin", 1, "sine of an angle in rad", sin),
        Function("cos", 1, "cosine of an angle in rad", cos),
        Function("tan", 1, "tangent of an angle in rad", tan),
        Function("asin", 1, "inverse sine, -pi/2 to pi/2", asin),
        Function("acos", 1, "inverse cosine, 0 to pi", acos),
        Function("atan", 1, "inverse tangent, -pi/2 to pi/2", atan),
        Function("atan2", 2, "atan2(y,x): angle of the point (x, y), -pi to pi", atan2),
        Function("sinh", 1, "hyperbolic sine", sinh),
        Function("cosh", 1, "hyperbolic cosine", cosh),
        Function("tanh", 1, "hyperbolic tangent", tanh),
        Function("exp", 1, "exponential function", exp),
        Function("log", 1, "natural logarithm", log),
        Function("log10", 1, "logarithm to the base 10", log10),
        Function("sqrt", 1, "square root", sqrt),
        Function("abs", 1, "absolute value", absolute),
        Function("sign", 1, "-1, 0 or 1", sign),
        Function("min", 2, "the smaller of two", minimum),
        Function("max", 2, "the larger of two", maximum),
        Function("mod", 2, "mod(x,y): remainder of x/y with the sign of y", modulo),
        Function("floor", 1, "largest integer not above x", floor),
        Function("if", 3, "if(c,a,b): a where c is true (not 0), else b", select),
        Function("step", 5, "step(x,x0,y0,x1,y1): from y0 at x0 to y1 at x1 by a cubic, constant outside", step),
        Function("havsin", 5, "havsin(x,x0,y0,x1,y1): as step, by a haversine", havsin),
    )
}
