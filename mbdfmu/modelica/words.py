"""Words of Modelica: names, strings, numbers, lines; must not know models or expressions.

Section numbers are those of the Modelica Language Specification 3.6.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

WIDTH = 120
INDENT = "  "
# Keywords (section 2.3.3), and what every tool knows without looking: functions, types and `time`.
_RESERVED = """
    algorithm and annotation block break class connect connector constant constrainedby der discrete each else elseif
    elsewhen encapsulated end enumeration equation expandable extends external false final flow for function if import
    impure in initial inner input loop model not operator or outer output package parameter partial protected public
    pure record redeclare replaceable return stream then true type when while within
    abs acos array asin assert atan atan2 cardinality cat ceil change cos cosh cross delay diagonal div edge exp fill
    floor getInstanceName homotopy identity inStream integer linspace log log10 matrix max min mod ndims noEvent ones
    outerProduct pre product promote reinit rem sample scalar sign sin sinh size skew smooth spatialDistribution sqrt
    String sum symmetric tan tanh terminate terminal time transpose vector zeros actualStream semiLinear Clock hold
    previous Real Integer Boolean AssertionLevel StateSelect ExternalObject Modelica Connections
"""
RESERVED = frozenset(_RESERVED.split())


class Names:
    """Identifiers for the names of a model, each given once; those of `own` that are identifiers keep their name."""

    def __init__(self, taken: Iterable[str] = (), own: Iterable[str] = ()) -> None:
        self._taken = {*taken}
        self._own = {name for name in own if identifier(name) == name}

    def new(self, name: str) -> str:
        """An identifier that nothing else has: `crank.phi` becomes crank_phi."""
        wanted = identifier(name)
        found, k = wanted, 2
        while found in self._taken or (found in self._own and found != name):
            found, k = f"{wanted}_{k}", k + 1
        self._taken.add(found)
        return found


def identifier(name: str) -> str:
    """The nearest identifier (section 2.3.1): letters, digits and _, no reserved word."""
    rate = re.fullmatch(r"der\((.+?)(?:,\s*(\d+))?\)", name)
    if rate:
        return f"der{rate[2] or ''}_{identifier(rate[1])}"
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "model"
    if word[0].isdigit():
        word = f"n{word}"
    return f"{word}_" if word in RESERVED else word


def quoted(text: str) -> str:
    """A string (section 2.3.4)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped) + '"'


def comment(text: str) -> str:
    """What follows a declaration: nothing, or a space and a string."""
    line = " ".join(text.split())
    return f" {quoted(line)}" if line else ""


def html(text: str) -> str:
    """Text inside of HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(value: float) -> str:
    """All digits that make a difference; whole numbers as such, as far as tools' integers reach."""
    if value == int(value) and abs(value) < 2**31:
        return str(int(value))
    return repr(float(value)).replace("e+", "e")


def modified(**given: str | None) -> str:
    """Modifiers in parentheses, without those that are None: (unit="m", start=1)."""
    parts = [f"{name}={value}" for name, value in given.items() if value is not None]
    return f"({', '.join(parts)})" if parts else ""


def wrapped(statement: str, depth: int = 1) -> str:
    """A statement on as many lines as it takes, broken at spaces outside of strings; lines of its own are inside it."""
    if "\n" in statement:
        first, *inside, last = statement.split("\n")
        return "\n".join([wrapped(first, depth), *(wrapped(one, depth + 1) for one in inside), wrapped(last, depth)])
    first, rest = INDENT * depth, INDENT * (depth + 2)
    if len(first) + len(statement) <= WIDTH:
        return first + statement
    hidden = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: m[0].replace(" ", "\0"), statement)
    lines = textwrap.wrap(hidden, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return "\n".join(lines).replace("\0", " ")
