"""Units of measure as text and as exponents of the SI base units; must not know what carries a unit.

Everything is computed in SI. Other units exist to show results in them and to write FMI unit definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from mbdfmu.errors import ModelError, did_you_mean

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")  # the order of FMI's BaseUnit
Exponents = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """`1 text = factor * product(base ** exponent)`; `si` is the unit of the same quantity that needs no factor."""

    text: str  # canonical: "N.m.s/rad", "m/(s.A)", "" for dimensionless
    exponents: Exponents
    factor: float
    si: str

    @property
    def is_si(self) -> bool:
        return self.factor == 1.0


# symbol: (SI partner, factor, exponents of the partner); kg m s A K mol cd rad
_SYMBOLS: dict[str, tuple[str, float, Exponents]] = {
    "kg": ("kg", 1.0, (1, 0, 0, 0, 0, 0, 0, 0)),
    "m": ("m", 1.0, (0, 1, 0, 0, 0, 0, 0, 0)),
    "s": ("s", 1.0, (0, 0, 1, 0, 0, 0, 0, 0)),
    "A": ("A", 1.0, (0, 0, 0, 1, 0, 0, 0, 0)),
    "K": ("K", 1.0, (0, 0, 0, 0, 1, 0, 0, 0)),
    "mol": ("mol", 1.0, (0, 0, 0, 0, 0, 1, 0, 0)),
    "cd": ("cd", 1.0, (0, 0, 0, 0, 0, 0, 1, 0)),
    "rad": ("rad", 1.0, (0, 0, 0, 0, 0, 0, 0, 1)),
    "N": ("N", 1.0, (1, 1, -2, 0, 0, 0, 0, 0)),
    "J": ("J", 1.0, (1, 2, -2, 0, 0, 0, 0, 0)),
    "W": ("W", 1.0, (1, 2, -3, 0, 0, 0, 0, 0)),
    "Pa": ("Pa", 1.0, (1, -1, -2, 0, 0, 0, 0, 0)),
    "Hz": ("Hz", 1.0, (0, 0, -1, 0, 0, 0, 0, 0)),
    "V": ("V", 1.0, (1, 2, -3, -1, 0, 0, 0, 0)),
    "C": ("C", 1.0, (0, 0, 1, 1, 0, 0, 0, 0)),
    "F": ("F", 1.0, (-1, -2, 4, 2, 0, 0, 0, 0)),
    "H": ("H", 1.0, (1, 2, -2, -2, 0, 0, 0, 0)),
    "T": ("T", 1.0, (1, 0, -2, -1, 0, 0, 0, 0)),
    "Wb": ("Wb", 1.0, (1, 2, -2, -1, 0, 0, 0, 0)),
    "ohm": ("ohm", 1.0, (1, 2, -3, -2, 0, 0, 0, 0)),
    "deg": ("rad", math.pi / 180.0, (0, 0, 0, 0, 0, 0, 0, 1)),
    "rev": ("rad", 2.0 * math.pi, (0, 0, 0, 0, 0, 0, 0, 1)),
    "rpm": ("rad/s", math.pi / 30.0, (0, 0, -1, 0, 0, 0, 0, 1)),
    "min": ("s", 60.0, (0, 0, 1, 0, 0, 0, 0, 0)),
    "h": ("s", 3600.0, (0, 0, 1, 0, 0, 0, 0, 0)),
    "g": ("kg", 1e-3, (1, 0, 0, 0, 0, 0, 0, 0)),
    "t": ("kg", 1e3, (1, 0, 0, 0, 0, 0, 0, 0)),
    "bar": ("Pa", 1e5, (1, -1, -2, 0, 0, 0, 0, 0)),
}
_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3, "M": 1e6, "G": 1e9}
_PREFIXED = ("m", "s", "A", "N", "J", "W", "Pa", "Hz", "V", "C", "F", "H", "T", "ohm", "g")
_PLAIN = tuple(_SYMBOLS)
_SYMBOLS = {  # spelled out, so that a look-up is one step; "kg" and "cd" stay what they are
    prefix + symbol: (partner, power * factor, exponents)
    for symbol in _PREFIXED
    for partner, factor, exponents in [_SYMBOLS[symbol]]
    for prefix, power in _PREFIXES.items()
} | _SYMBOLS

# What a quantity may be shown in; the first entry is the one to prefer.
_DISPLAY = {
    "m": ("mm", "cm", "km"),
    "m/s": ("km/h", "mm/s"),
    "m/s2": ("mm/s2",),
    "rad": ("deg", "rev"),
    "rad/s": ("deg/s", "rpm"),
    "rad/s2": ("deg/s2",),
    "kg": ("g", "t"),
    "s": ("ms", "min", "h"),
    "N": ("kN",),
    "N.m": ("N.mm", "kN.m"),
    "N/m": ("N/mm", "kN/m"),
    "N.s/m": ("N.s/mm", "kN.s/m"),
    "N.m/rad": ("N.m/deg",),
    "N.m.s/rad": ("N.m.s/deg",),
    "kg.m2": ("g.cm2",),
    "J": ("kJ",),
    "W": ("kW",),
    "Pa": ("bar", "MPa"),
    "Hz": ("kHz",),
    "1/s": ("1/min",),
}
_COMMON = (*_PLAIN, *_DISPLAY)  # what a misspelt unit is compared with ("Nm" must not become nanometres)
_UNDOTTED = {name.replace(".", ""): name for name in _DISPLAY}  # "Nm" is the commonest slip
_HIGHEST = 9  # power of a symbol


@lru_cache(maxsize=1024)
def unit(text: str) -> Unit:
    """Read a unit such as 'N.m.s/rad', 'kg*m^2', 'm/s2', 'm/(s.A)', '1/s' or '' (dimensionless)."""
    powers = _Reader(text).read()
    si: dict[str, int] = {}
    factor, exponents = 1.0, (0,) * len(BASE)
    for symbol, power in powers.items():
        partner, one, base = _SYMBOLS[symbol]
        factor *= one**power
        exponents = tuple(e + power * b for e, b in zip(exponents, base, strict=True))
        _accumulate(si, _Reader(partner).read(), power)
    return Unit(text=_written(powers), exponents=exponents, factor=factor, si=_written(si))


def bare(text: str) -> str:
    """A unit as other tools write it, without the brackets that some put around it."""
    text = text.strip()
    return text[1:-1].strip() if text.startswith("[") and text.endswith("]") else text


def display_units(text: str) -> tuple[Unit, ...]:
    """The units that a quantity computed in the SI unit `text` may be shown in; empty if none is customary."""
    return tuple(unit(name) for name in _DISPLAY.get(unit(text).text, ()))


def spelled(exponents: Exponents) -> str:
    """The customary unit of a quantity: 'N', 'N.m', 'kg.m2/s', or '1' for a plain number."""
    if exponents in _CUSTOMARY:
        return _CUSTOMARY[exponents]
    return _written({symbol: n for symbol, n in zip(BASE, exponents, strict=True) if n})


def differentiated(text: str) -> str:
    """The unit of the time derivative: 'm' -> 'm/s' -> 'm/s2', '' -> '1/s'."""
    powers = _Reader(text).read()
    _accumulate(powers, {"s": 1}, -1)
    return _written(powers)


def symbols() -> tuple[str, ...]:
    """Every symbol that may stand in a unit, prefixed ones included."""
    return tuple(_SYMBOLS)


class _Reader:
    """Recursive descent over one unit; a product has at most one factor or parenthesis after each '/'."""

    _TOKENS = re.compile(r"\s*(?:(\*\*|[.*/()^])|([A-Za-z]+)|([+-]?[0-9]+))")
    _DEPTH = 8

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._split()
        self.place = 0

    def read(self) -> dict[str, int]:
        """The power of every symbol, in the order of appearance; symbols that cancel are gone."""
        if not self.tokens:
            return {}
        powers = self._product(0)
        if self.place < len(self.tokens):
            raise self._error(f"unexpected {self._peek()!r}")
        for symbol, power in powers.items():
            if abs(power) > _HIGHEST:
                raise self._error(f"the power of {symbol} is beyond {_HIGHEST}")
        return powers

    def _split(self) -> list[str]:
        tokens, place, text = [], 0, self.text.rstrip()
        while place < len(text):
            match = self._TOKENS.match(text, place)
            if match is None:
                raise self._error(f"unexpected {text[place:].strip()[0]!r}")
            tokens.append(match[match.lastindex or 0])
            place = match.end()
        return tokens

    def _product(self, depth: int) -> dict[str, int]:
        powers = self._factor(depth)
        divided = False
        while (operator := self._peek()) in (".", "*", "/"):
            if divided and operator != "/":
                raise self._error("a product after '/' is ambiguous; write 'm/(s.A)' or 'A.m/s'")
            divided = operator == "/"
            self.place += 1
            _accumulate(powers, self._factor(depth), -1 if divided else 1)
        return powers

    def _factor(self, depth: int) -> dict[str, int]:
        token = self._peek()
        self.place += 1
        if token == "(":
            return self._parenthesis(depth + 1)
        if token == "1":
            return {}
        if not token.isalpha():
            raise self._error(f"expected a unit, found {token!r}" if token else "it ends too early")
        if token not in _SYMBOLS:
            raise self._error(f"unknown symbol {token!r}{_hint(self.text)}")
        power = self._power()
        return {token: power} if power else {}

    def _parenthesis(self, depth: int) -> dict[str, int]:
        if depth > self._DEPTH:
            raise self._error(f"parentheses deeper than {self._DEPTH}")
        powers = self._product(depth)
        if self._peek() != ")":
            raise self._error("a ')' is missing")
        self.place += 1
        power = self._power()
        return {symbol: n * power for symbol, n in powers.items() if n * power}

    def _power(self) -> int:
        marked = self._peek() in ("^", "**")
        self.place += marked
        token = self._peek()
        if token.lstrip("+-").isdigit():
            self.place += 1
            if len(token) > 3:
                raise self._error(f"a power is beyond {_HIGHEST}")
            return int(token)
        if marked:
            raise self._error(f"expected a whole number as power, found {token!r}")
        return 1

    def _peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _error(self, reason: str) -> ModelError:
        shown = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        return ModelError(f"{shown!r} is not a unit: {reason}; units look like 'N.m/rad', 'kg.m2', 'm/s2', '1/s'")


def _hint(text: str) -> str:
    return f"; did you mean '{_UNDOTTED[text]}'?" if text in _UNDOTTED else did_you_mean(text, _COMMON)


def _accumulate(powers: dict[str, int], more: dict[str, int], sign: int) -> None:
    for symbol, n in more.items():
        powers[symbol] = powers.get(symbol, 0) + sign * n
        if powers[symbol] == 0:
            del powers[symbol]


def _written(powers: dict[str, int]) -> str:
    """Canonical text with one '/', as Modelica and FMI want it."""
    above = _joined((symbol, n) for symbol, n in powers.items() if n > 0)
    below = _joined((symbol, -n) for symbol, n in powers.items() if n < 0)
    if not below:
        return above
    return f"{above or '1'}/({below})" if "." in below else f"{above or '1'}/{below}"


def _joined(factors: Iterable[tuple[str, int]]) -> str:
    return ".".join(symbol if n == 1 else f"{symbol}{n}" for symbol, n in factors)


# Among units of one quantity the first counts: torque before energy, 1/s before Hz.
_CUSTOMARY = {unit(text).exponents: text for text in reversed(("1", "1/s", *_DISPLAY, *_PLAIN)) if unit(text).is_si}
