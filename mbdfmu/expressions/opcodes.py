"""The one table of operations, each with its number, value and derivative; must not know interning, text or models.

The native interpreter has one case per row. Numbers are part of the stored format: never renumber, only append.
Values are real or complex (NumPy); decisions look at the real part, so that the complex step works.
A derivative rule gets the node y and the derivatives of its arguments, and returns the derivative of y.
Rejected: one partial derivative per argument, summed up afterwards. select would turn the branch not taken into
0 * inf = nan.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mbdfmu.expressions.graph import Node

Value = Any  # float, complex or ndarray of them


class Operation(NamedTuple):
    """One row: what the opcode means, how it is evaluated, how it is differentiated."""

    name: str
    code: int
    arity: int
    text: str  # the meaning of the instruction (a, b, c) in C
    evaluate: Callable[..., Value] | None = None  # None: CONST, LOAD and LOOKUP, which have data besides arguments
    tangent: Callable[..., Node] | None = None
    commutative: bool = False


def _apply(name: str, *args: Node) -> Node:
    return args[0].graph.apply(OPCODES[name], *args)


# Values ---------------------------------------------------------------------------------------------------------------


def _where(condition: Value, a: Value, b: Value) -> Value:
    chosen: Value = np.where(condition, a, b)
    return chosen[()]  # turns arrays without dimension back into scalars


def _unknown(*values: Value) -> Value:
    """What has no value (nan) decides nothing: what is decided by it has no value either."""
    return np.any(np.broadcast_arrays(*(np.isnan(np.real(value)) for value in values)), axis=0)


def _truth(condition: Value, *values: Value) -> Value:
    return _where(_unknown(*values), math.nan, _where(condition, 1.0, 0.0))


def _sign(a: Value) -> Value:
    return np.sign(np.real(a))


def _smaller(a: Value, b: Value) -> Value:
    return _where((np.real(a) <= np.real(b)) | _unknown(a), a, b)


def _larger(a: Value, b: Value) -> Value:
    return _where((np.real(a) >= np.real(b)) | _unknown(a), a, b)


def _select(condition: Value, a: Value, b: Value) -> Value:
    return _where(_unknown(condition), math.nan, _where(np.real(condition) != 0, a, b))


def _both(a: Value, b: Value) -> Value:
    """False where one is, whatever the other."""
    false = (np.real(a) == 0) | (np.real(b) == 0)
    return _where(false, 0.0, _truth(~false, a, b))


def _either(a: Value, b: Value) -> Value:
    """True where one is, whatever the other."""
    first, second = ((np.real(c) != 0) & ~_unknown(c) for c in (a, b))
    return _where(first | second, 1.0, _truth(first, a, b))


def _all(a: Value, b: Value) -> Value:
    """Of `and`: what is not positive decides alone."""
    one = _where(_unknown(a), b, a)
    return _where(_unknown(a, b), _where(np.real(one) <= 0, one, math.nan), _smaller(a, b))


def _any(a: Value, b: Value) -> Value:
    """Of `or`: what is positive decides alone."""
    one = _where(_unknown(a), b, a)
    return _where(_unknown(a, b), _where(np.real(one) > 0, one, math.nan), _larger(a, b))


def _arctan2(y: Value, x: Value) -> Value:
    """NumPy has no complex arctan2; both branches are analytic where they are used."""
    if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return np.arctan2(y, x)
    angle = np.arctan2(np.real(y), np.real(x))
    steep = np.abs(np.real(y)) > np.abs(np.real(x))
    local = _where(steep, -np.arctan(np.divide(x, y)), np.arctan(np.divide(y, x)))
    return local + (angle - np.real(local))  # the two differ by a multiple of pi/2, a constant


# Derivatives ----------------------------------------------------------------------------------------------------------


def _constant(y: Node, *_: Node) -> Node:
    """Piecewise constant: the jumps are events, not derivatives."""
    return y.graph.zero


def _product_tangent(y: Node, da: Node, db: Node) -> Node:
    """da b + a db; mostly one of them is zero, and what is zero is not even looked up."""
    a, b = y.args
    zero = y.graph.zero
    if da is zero:
        return a * db
    return da * b if db is zero else da * b + a * db


def _power_tangent(y: Node, da: Node, db: Node) -> Node:
    """b a^(b-1) da + a^b log(a) db, with the limits at a = 0 written out where b is no constant."""
    a, b = y.args
    slope = b * a ** (b - 1) * da
    if b.op == CONST:
        return slope
    zero = y.graph.zero
    slope = _apply("SELECT", _apply("EQ", b, zero), zero, slope)  # else 0 * 0^-1 at a = b = 0
    growth = _apply("SELECT", _apply("EQ", y, zero), zero, y * _apply("LOG", a)) if db is not zero else zero
    return slope + growth * db


def _atan2_tangent(y: Node, dy: Node, dx: Node) -> Node:
    rise, run = y.args
    return (run * dy - rise * dx) / (rise**2 + run**2)


def _lookup_tangent(y: Node, da: Node) -> Node:
    curve, order = y.value
    return y.graph.lookup(curve, y.args[0], order + 1) * da


def _extremum_tangent(y: Node, da: Node, db: Node) -> Node:
    """Of the one that is the result."""
    return _choice(_apply("EQ", y, y.args[0]), da, db)


def _choice(condition: Node, da: Node, db: Node) -> Node:
    return _apply("SELECT", condition, da, db)


OPERATIONS: tuple[Operation, ...] = (
    Operation("CONST", 0, 0, "constants[a]"),
    Operation("LOAD", 1, 0, "space[a][b]"),
    Operation("ADD", 2, 2, "a + b", np.add, lambda y, da, db: da + db, commutative=True),
    Operation("SUB", 3, 2, "a - b", np.subtract, lambda y, da, db: da - db),
    Operation("MUL", 4, 2, "a * b", np.multiply, _product_tangent, commutative=True),
    Operation("DIV", 5, 2, "a / b", np.divide, lambda y, da, db: (da - y * db) / y.args[1]),
    Operation("NEG", 6, 1, "-a", np.negative, lambda y, da: -da),
    Operation("POW", 7, 2, "pow(a, b)", np.power, _power_tangent),
    Operation("SIN", 8, 1, "sin(a)", np.sin, lambda y, da: _apply("COS", *y.args) * da),
    Operation("COS", 9, 1, "cos(a)", np.cos, lambda y, da: -_apply("SIN", *y.args) * da),
    Operation("TAN", 10, 1, "tan(a)", np.tan, lambda y, da: (1 + y**2) * da),
    Operation("ASIN", 11, 1, "asin(a)", np.arcsin, lambda y, da: da / _apply("SQRT", 1 - y.args[0] ** 2)),
    Operation("ACOS", 12, 1, "acos(a)", np.arccos, lambda y, da: -da / _apply("SQRT", 1 - y.args[0] ** 2)),
    Operation("ATAN", 13, 1, "atan(a)", np.arctan, lambda y, da: da / (1 + y.args[0] ** 2)),
    Operation("ATAN2", 14, 2, "atan2(a, b)", _arctan2, _atan2_tangent),
    Operation("SINH", 15, 1, "sinh(a)", np.sinh, lambda y, da: _apply("COSH", *y.args) * da),
    Operation("COSH", 16, 1, "cosh(a)", np.cosh, lambda y, da: _apply("SINH", *y.args) * da),
    Operation("TANH", 17, 1, "tanh(a)", np.tanh, lambda y, da: (1 - y**2) * da),
    Operation("EXP", 18, 1, "exp(a)", np.exp, lambda y, da: y * da),
    Operation("LOG", 19, 1, "log(a)", np.log, lambda y, da: da / y.args[0]),
    Operation("SQRT", 20, 1, "sqrt(a)", np.sqrt, lambda y, da: da / (2 * y)),
    Operation(
        "ABS",
        21,
        1,
        "fabs(a)",
        lambda a: _where(np.real(a) < 0, -a, a),
        lambda y, da: _apply("SIGN", *y.args) * da,
    ),
    Operation("SIGN", 22, 1, "(a > 0) - (a < 0)", _sign, _constant),
    Operation(
        "MIN",
        23,
        2,
        "a <= b ? a : b",
        _smaller,
        lambda y, da, db: _choice(_apply("LE", y.args[0], y.args[1]), da, db),
        commutative=True,
    ),
    Operation(
        "MAX",
        24,
        2,
        "a >= b ? a : b",
        _larger,
        lambda y, da, db: _choice(_apply("LE", y.args[1], y.args[0]), da, db),
        commutative=True,
    ),
    Operation(
        "SELECT",
        25,
        3,
        "a != 0 ? b : c",
        _select,
        lambda y, da, db, dc: _choice(y.args[0], db, dc),
    ),
    Operation("LT", 26, 2, "a < b", lambda a, b: _truth(np.real(a) < np.real(b), a, b), _constant),
    Operation("LE", 27, 2, "a <= b", lambda a, b: _truth(np.real(a) <= np.real(b), a, b), _constant),
    Operation("EQ", 28, 2, "a == b", lambda a, b: _truth(np.real(a) == np.real(b), a, b), _constant, commutative=True),
    Operation(
        "AND",
        29,
        2,
        "a != 0 && b != 0",
        _both,
        _constant,
        commutative=True,
    ),
    Operation(
        "OR",
        30,
        2,
        "a != 0 || b != 0",
        _either,
        _constant,
        commutative=True,
    ),
    Operation("NOT", 31, 1, "a == 0", lambda a: _truth(np.real(a) == 0, a), _constant),
    Operation("FLOOR", 32, 1, "floor(a)", lambda a: np.floor(np.real(a)), _constant),
    Operation("SQUARE", 33, 1, "a * a", lambda a: a * a, lambda y, da: 2 * y.args[0] * da),
    Operation("LOOKUP", 34, 1, "derivative c of curve b at a", None, _lookup_tangent),
    Operation("ALL", 35, 2, "the smaller of two indicators", _all, _extremum_tangent, commutative=True),
    Operation("ANY", 36, 2, "the larger of two indicators", _any, _extremum_tangent, commutative=True),
)

OPCODES: dict[str, int] = {operation.name: operation.code for operation in OPERATIONS}
BY_CODE: dict[int, Operation] = {operation.code: operation for operation in OPERATIONS}

CONST, LOAD = OPCODES["CONST"], OPCODES["LOAD"]
ADD, SUB, MUL, DIV, NEG = OPCODES["ADD"], OPCODES["SUB"], OPCODES["MUL"], OPCODES["DIV"], OPCODES["NEG"]
POW, SQRT, SQUARE, ABS = OPCODES["POW"], OPCODES["SQRT"], OPCODES["SQUARE"], OPCODES["ABS"]
MIN, MAX, SELECT, NOT, SIGN = OPCODES["MIN"], OPCODES["MAX"], OPCODES["SELECT"], OPCODES["NOT"], OPCODES["SIGN"]
LT, LE, EQ, LOOKUP = OPCODES["LT"], OPCODES["LE"], OPCODES["EQ"], OPCODES["LOOKUP"]
AND, OR = OPCODES["AND"], OPCODES["OR"]
ALL, ANY = OPCODES["ALL"], OPCODES["ANY"]
SIN, COS, FLOOR = OPCODES["SIN"], OPCODES["COS"], OPCODES["FLOOR"]

# Graphs fold constants by Python's own floats where these give the same bits as NumPy, in a tenth of the time.
# What has no finite value is nan.
EXACT: dict[int, Callable[..., float]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: lambda a, b: a / b if b else math.nan,
    NEG: operator.neg,
    SQUARE: lambda a: a * a,
    SQRT: lambda a: math.sqrt(a) if a >= 0 else math.nan,
    ABS: abs,
    SELECT: lambda condition, a, b: a if condition else b,
    MIN: min,
    MAX: max,
    LT: operator.lt,
    LE: operator.le,
    EQ: operator.eq,
}
