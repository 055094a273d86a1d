"""Arithmetic of values that are numbers or the text of expressions; must not know what a name stands for.

Numbers are folded, texts put together, so that a placement by numbers leaves numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import reduce

from mbdfmu.description.values import DOTTED

Scalar = float | str
Triple = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Triple, Triple, Triple]  # rows
NO_TURN: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def negated(a: Scalar) -> Scalar:
    if isinstance(a, str):
        return f"-{a}" if re.fullmatch(DOTTED, a) else f"-({a})"
    return 0.0 - a


def plus(*terms: Scalar) -> Scalar:
    """The sum; its numbers come first."""
    number = math.fsum(term for term in terms if not isinstance(term, str))
    texts = [term for term in terms if isinstance(term, str)]
    if not texts:
        return number
    if len(texts) == 1 and not number:
        return texts[0]
    return " + ".join([*([repr(number)] if number else []), *(f"({text})" for text in texts)])


def times(a: Scalar, b: Scalar) -> Scalar:
    if not isinstance(a, str) and not isinstance(b, str):
        return a * b + 0.0
    if isinstance(a, str):
        a, b = b, a
    if a in (0.0, 1.0, -1.0) and not isinstance(a, str):
        return 0.0 if a == 0.0 else b if a == 1.0 else negated(b)
    return f"({a})*({b})" if isinstance(a, str) else f"{a!r}*({b})"


def over(a: Scalar, b: Scalar) -> Scalar:
    if b == 1.0:
        return a
    return f"({a})/({b})" if isinstance(a, str) or isinstance(b, str) else a / b


def _function(name: str, of_number: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    return lambda a: f"{name}({a})" if isinstance(a, str) else of_number(a)


sine, cosine, root = _function("sin", math.sin), _function("cos", math.cos), _function("sqrt", math.sqrt)


def dot(a: Triple, b: Triple) -> Scalar:
    return plus(*map(times, a, b))


def cross(a: Triple, b: Triple) -> Triple:
    x, y, z = a
    u, v, w = b
    return (
        plus(times(y, w), negated(times(z, v))),
        plus(times(z, u), negated(times(x, w))),
        plus(times(x, v), negated(times(y, u))),
    )


def unit(a: Triple) -> Triple:
    length = root(dot(a, a))
    return over(a[0], length), over(a[1], length), over(a[2], length)


def turned(r: Matrix, a: Triple) -> Triple:
    """R a"""
    return dot(r[0], a), dot(r[1], a), dot(r[2], a)


def transposed(r: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = r
    return (a, d, g), (b, e, h), (c, f, i)


def composed(*factors: Matrix) -> Matrix:
    """A B C"""

    def product(a: Matrix, b: Matrix) -> Matrix:
        x, y, z = transposed(b)
        return transposed((turned(a, x), turned(a, y), turned(a, z)))

    return reduce(product, factors)


def about(axis: int, angle: Scalar) -> Matrix:
    """The turn about x, y or z."""
    c, s = cosine(angle), sine(angle)
    if axis == 0:
        return (1.0, 0.0, 0.0), (0.0, c, negated(s)), (0.0, s, c)
    if axis == 1:
        return (c, 0.0, s), (0.0, 1.0, 0.0), (negated(s), 0.0, c)
    return (c, negated(s), 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)


def of_quaternion(e0: Scalar, e: Triple) -> Matrix:
    """The turn of a quaternion of any length: 1 + 2 (e0 [e]x + [e]x [e]x)/(e0^2 + e^2)."""
    factor = over(2.0, plus(times(e0, e0), dot(e, e)))
    x, y, z = e
    tilde = ((0.0, negated(z), y), (z, 0.0, negated(x)), (negated(y), x, 0.0))
    columns = transposed(tilde)

    def entry(i: int, j: int) -> Scalar:
        change = plus(times(e0, tilde[i][j]), dot(tilde[i], columns[j]))
        return plus(NO_TURN[i][j], times(factor, change))

    a, b, c = ((entry(i, 0), entry(i, 1), entry(i, 2)) for i in range(3))
    return a, b, c
