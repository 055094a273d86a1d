"""What a law may compute with: arithmetic and a few functions, on numbers and on symbols; must not know any controller.

A symbol stands for a name of the language of user equations and writes down what is done to it. So one law gives
numbers in a slave and expressions in a model, both in the same order of operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

_COMPARED, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)  # how tightly a text holds together


class Symbol:
    """The text of an expression; conditions are made by comparing, and used by `where`, `both`, `either`."""

    __slots__ = ("level", "text")

    def __init__(self, text: str, level: int = _ATOM) -> None:
        self.text, self.level = text, level

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self.text} holds is not known while a law is written down; use where(..)")

    def __add__(self, other: Any) -> Symbol:
        return _joined(self, "+", other, _SUM)

    def __radd__(self, other: Any) -> Symbol:
        return _joined(other, "+", self, _SUM)

    def __sub__(self, other: Any) -> Symbol:
        return _joined(self, "-", other, _SUM)

    def __rsub__(self, other: Any) -> Symbol:
        return _joined(other, "-", self, _SUM)

    def __mul__(self, other: Any) -> Symbol:
        return _joined(self, "*", other, _PRODUCT)

    def __rmul__(self, other: Any) -> Symbol:
        return _joined(other, "*", self, _PRODUCT)

    def __truediv__(self, other: Any) -> Symbol:
        return _joined(self, "/", other, _PRODUCT)

    def __rtruediv__(self, other: Any) -> Symbol:
        return _joined(other, "/", self, _PRODUCT)

    def __pow__(self, other: Any) -> Symbol:
        return Symbol(f"{_operand(self, _ATOM)}^{_operand(other, _ATOM)}", _POWER)

    def __neg__(self) -> Symbol:
        return Symbol(f"-{_operand(self, _POWER)}", _SIGN)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return Symbol(f"abs({self.text})")

    def __lt__(self, other: Any) -> Symbol:
        return _joined(self, " < ", other, _COMPARED)

    def __le__(self, other: Any) -> Symbol:
        return _joined(self, " <= ", other, _COMPARED)

    def __gt__(self, other: Any) -> Symbol:
        return _joined(self, " > ", other, _COMPARED)

    def __ge__(self, other: Any) -> Symbol:
        return _joined(self, " >= ", other, _COMPARED)


def text_of(value: Any) -> str:
    """A symbol or number as an expression."""
    return _operand(value, _COMPARED)


def _joined(left: Any, sign: str, right: Any, level: int) -> Symbol:
    """Chains associate to the left, comparisons do not chain."""
    first = _operand(left, level + (level == _COMPARED))
    return Symbol(f"{first}{sign}{_operand(right, level + 1)}", level)


def _operand(value: Any, least: int) -> str:
    if isinstance(value, Symbol):
        text, level = value.text, value.level
    else:
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{number} has no place in an expression")
        text, level = repr(number), _SIGN if number < 0 else _ATOM
    return text if level >= least else f"({text})"


def _called(name: str, numeric: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers that is written down where it meets a symbol."""

    def function(*args: Any) -> Any:
        if any(isinstance(a, Symbol) for a in args):
            return Symbol(f"{name}({','.join(map(text_of, args))})")
        return numeric(*args)

    function.__name__ = function.__qualname__ = name
    return function


minimum, maximum = _called("min", min), _called("max", max)
tanh, exp, sqrt, sin, cos = (_called(f.__name__, f) for f in (math.tanh, math.exp, math.sqrt, math.sin, math.cos))
absolute = _called("abs", abs)
sign = _called("sign", lambda x: float((x > 0) - (x < 0)))
_select = _called("if", lambda condition, yes, no: yes if condition else no)


def limited(x: Any, low: Any, high: Any) -> Any:
    """x between two bounds, of which None is no bound."""
    below = x if high is None else minimum(x, high)
    return below if low is None else maximum(below, low)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; both are computed."""
    return _select(condition, yes, no)


def both(a: Any, b: Any) -> Any:
    """Whether two conditions hold."""
    return _logical("and", a, b) if _symbolic(a, b) else bool(a and b)


def either(a: Any, b: Any) -> Any:
    """Whether one of two conditions holds."""
    return _logical("or", a, b) if _symbolic(a, b) else bool(a or b)


def equal(a: Any, b: Any) -> Any:
    """Whether two numbers are the same, such as a phase and the one that is asked for."""
    return _joined(a, " == ", b, _COMPARED) if _symbolic(a, b) else bool(a == b)


def _symbolic(*values: Any) -> bool:
    return any(isinstance(v, Symbol) for v in values)


def _logical(word: str, a: Any, b: Any) -> Symbol:
    texts = (f"({v.text})" if isinstance(v, Symbol) else str(int(v)) for v in (a, b))
    return Symbol(f"({f' {word} '.join(texts)})")
