"""What is reproduced: papers, their tables and figures, rows with a verdict; must not know any paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

Number = float | Fraction


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a value of ours compares: in words, and whether that is agreement."""

    agrees: bool
    text: str


class Check(Protocol):
    """What counts as agreement with a value as printed."""

    def judge(self, ours: Number, printed: str) -> Verdict:
        """Compare."""
        ...

    def promise(self) -> str:
        """Agreement in words that do not depend on the machine."""
        ...

    def show(self, ours: float, printed: str) -> str:
        """Ours, as precisely as it is judged."""
        ...


@dataclass(frozen=True)
class Digits:
    """All printed digits; `cut`: the paper cuts off what it does not print, instead of rounding."""

    cut: bool = False

    def judge(self, ours: Number, printed: str) -> Verdict:
        found = like(printed, float(ours), cut=self.cut)
        return Verdict(agrees=found == plain(printed), text=self.promise() if found == plain(printed) else found)

    def promise(self) -> str:
        return "all digits, cut" if self.cut else "all digits"

    def show(self, ours: float, printed: str) -> str:
        return like(printed, ours, cut=self.cut)


@dataclass(frozen=True)
class Exact:
    """The same fraction or whole number."""

    def judge(self, ours: Number, printed: str) -> Verdict:
        agrees = Fraction(plain(printed)) == ours
        return Verdict(agrees=agrees, text=self.promise() if agrees else f"{ours}")

    def promise(self) -> str:
        return "exact"

    def show(self, ours: float, printed: str) -> str:
        return f"{ours:g}"


@dataclass(frozen=True)
class Within:
    """At most so far away: of the value itself (`relative`), or at all."""

    limit: float
    relative: bool = True

    def judge(self, ours: Number, printed: str) -> Verdict:
        expected = value_of(printed)
        distance = abs(float(ours) - expected) / (abs(expected) if self.relative else 1.0)
        agrees = distance <= self.limit
        return Verdict(agrees=agrees, text=f"off by {distance:.1e}, {self.limit:g} allowed")

    def promise(self) -> str:
        return f"within {self.limit:g}" + (" of it" if self.relative else "")

    def show(self, ours: float, printed: str) -> str:
        digits = 1 - math.floor(math.log10(self.limit))  # one more than the limit tells apart
        return f"{ours:.{digits}g}" if self.relative else f"{ours:.{digits}f}"


@dataclass(frozen=True)
class Between:
    """In an interval, where only that is claimed."""

    low: float = -math.inf
    high: float = math.inf

    def judge(self, ours: Number, printed: str) -> Verdict:
        return Verdict(agrees=self.low <= ours <= self.high, text=self.promise())

    def promise(self) -> str:
        if self.low == -math.inf:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high == math.inf else f"{self.low:g} to {self.high:g}"

    def show(self, ours: float, printed: str) -> str:
        return short(ours)


@dataclass(frozen=True)
class Shown:
    """No verdict: nothing to compare with, or not reproducible for the reason in the remark."""

    def judge(self, ours: Number, printed: str) -> Verdict:
        return Verdict(agrees=True, text=self.promise())

    def promise(self) -> str:
        return "not judged"

    def show(self, ours: float, printed: str) -> str:
        return short(ours)


DIGITS, EXACT, SHOWN = Digits(), Exact(), Shown()


@dataclass(frozen=True, kw_only=True)
class Row:
    """One value: as printed (empty where the paper has none), ours, and what should have been printed if not that."""

    label: str
    ours: Number
    paper: str = ""
    expected: str = ""  # where the paper is in error or has no value: computed independently, or by theory
    check: Check = DIGITS
    remark: str = ""

    @property
    def verdict(self) -> Verdict:
        """Against `expected`, else the paper."""
        return self.check.judge(self.ours, self.target)

    @property
    def shown(self) -> str:
        """Ours, as precisely as it is judged."""
        return str(self.ours) if isinstance(self.ours, Fraction) else self.check.show(self.ours, self.target)

    @property
    def target(self) -> str:
        """What ours is compared with."""
        return self.expected or self.paper


@dataclass(frozen=True, kw_only=True)
class Item:
    """A table or figure of a paper, or a claim in its text."""

    name: str  # as in `mbdfmu reproduce wu00.table2`
    title: str
    convention: str  # under which it comes out
    rows: Callable[[], Iterable[Row]]
    draw: Callable[[Any], None] | None = None  # into a matplotlib Figure
    long: bool = False  # takes more than a few seconds


@dataclass(frozen=True, kw_only=True)
class Lost:
    """What cannot be reproduced, and why."""

    title: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Paper:
    """All items of one paper."""

    key: str  # as cited
    title: str
    items: tuple[Item, ...]
    lost: tuple[Lost, ...] = ()
    errata: tuple[str, ...] = ()  # misprints of equations and text that no row shows
    findings: tuple[str, ...] = ()  # what we found where the paper claims nothing


# ---------------------------------------------------------------- numbers as printed


def short(value: float) -> str:
    """A count as it is, anything else with three digits."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.3g}"


def plain(printed: str) -> str:
    """Without separators of thousands."""
    return printed.replace(",", "")


def value_of(printed: str) -> float:
    """The number that is printed."""
    return float(Fraction(plain(printed)))


def like(printed: str, value: float, *, cut: bool = False) -> str:
    """A value with the digits of a printed number: its decimals, or those of its mantissa."""
    mantissa, exponent, _ = plain(printed).lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if exponent:
        return _scientific(value, decimals)
    if cut:
        value = math.trunc(value * 10**decimals) / 10**decimals
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _scientific(value: float, decimals: int) -> str:
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
