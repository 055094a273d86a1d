"""Infers in what unit an expression is, as far as that is certain; must not know what a name stands for.

A unit here is the exponents of the SI base units without the radian, which counts as 1. Never a false alarm: a plain
number fits anything, and so does its product or sum with anything: in "k*(1 + 3*x^2)" and "-50*e - bar.omega" numbers
stand for units that nobody writes. What is not certain stays unknown. Not a mistake: sums of what is known and unknown
are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from mbdfmu.errors import ExpressionError
from mbdfmu.expressions import Call, Chain, Lookup, Name, Number, Term, Tree, Unary
from mbdfmu.units import Exponents, spelled, unit

Quantity = Exponents | Literal["number"] | None  # None: unknown
NUMBER: Quantity = "number"
PLAIN: Exponents = unit("").exponents[:-1]

# By letters, which arguments are of one unit, and after the colon that of the result; "." is any unit, "1" an angle or
# plain number. The last letter before the colon counts for all arguments that follow.
SIGNATURES = {
    **dict.fromkeys(("abs", "floor", "ceil", "round", "min", "max", "hypot", "clamp", "mod"), "a:a"),
    **dict.fromkeys(("sin", "cos", "tan"), "1:."),
    **dict.fromkeys(("step", "step5", "havsin"), "xxyxy:y"),
    **dict.fromkeys(("poly", "cheby", "forcos", "forsin"), "xx.:."),
    "atan2": "a:.",
    "if": ".a:a",
    "shf": "xxa..a:a",
    "sweep": "xaxfxfx:a",
    "impact": "x.x...x:.",
    "bistop": "x.xx...x:.",
}


def known(text: str) -> Quantity:
    """The quantity of a unit; unknown where none is given."""
    return unit(text).exponents[:-1] if text else None


class Table(NamedTuple):
    """The units of a table's argument and value."""

    x: Quantity
    y: Quantity


def inferred(
    tree: Tree, unit_of: Callable[[str], Quantity], tables: Mapping[str, Table]
) -> tuple[Quantity, list[ExpressionError]]:
    """The quantity of an expression, and what in it does not fit together."""
    inference = _Inference(tree.text, unit_of, tables)
    return inference.of(tree.root), inference.problems


class _Inference:
    def __init__(self, text: str, unit_of: Callable[[str], Quantity], tables: Mapping[str, Table]) -> None:
        self.text, self.unit_of, self.tables = text, unit_of, tables
        self.problems: list[ExpressionError] = []

    def of(self, term: Term) -> Quantity:
        if isinstance(term, Number):
            return NUMBER
        if isinstance(term, Name):
            return self.unit_of(term.name)
        if isinstance(term, Unary):
            inside = self.of(term.operand)
            return None if term.op == "not" else inside
        if isinstance(term, Call):
            return self._call(term)
        if isinstance(term, Lookup):
            return self._lookup(term)
        return self._chain(term)

    # ---- operators

    def _chain(self, chain: Chain) -> Quantity:
        operands = [chain.first, *(operand for _, operand in chain.rest)]
        found = [self.of(operand) for operand in operands]
        op = chain.rest[0][0]
        if op in ("+", "-"):
            total = self._alike("a sum", operands, found)
            return total if total == NUMBER or not any(map(_stands_for_a_unit, operands, found)) else None
        if op in ("*", "/"):
            return _product(found, [1, *(1 if one == "*" else -1 for one, _ in chain.rest)])
        if op == "^":
            return _power(found[0], operands[1])
        if op not in ("and", "or"):
            self._alike("a comparison", operands, found)
        return None

    def _alike(self, where: str, terms: Iterable[Term], found: Iterable[Quantity]) -> Quantity:
        """The one unit of several; unknown where any of them is."""
        pairs = list(zip(terms, found, strict=True))
        certain = [(term, one) for term, one in pairs if isinstance(one, tuple)]
        for term, one in certain:
            if one != certain[0][1]:
                units = f"found {shown(certain[0][1])} and {shown(one)}"
                self._report(f"{where} needs one unit, {units}", term)
                return None
        if any(one is None for _, one in pairs):
            return None
        return certain[0][1] if certain else NUMBER

    def _report(self, message: str, term: Term) -> None:
        self.problems.append(ExpressionError(message, self.text, _begin(term)))

    # ---- functions

    def _call(self, call: Call) -> Quantity:
        found = [self.of(argument) for argument in call.args]
        if call.function == "sqrt":
            return _root(found[0])
        letters, _, result = SIGNATURES.get(call.function, ".:.").partition(":")
        letters += letters[-1] * (len(call.args) - len(letters))
        groups: dict[str, Quantity] = {".": None, "1": None}
        for letter in dict.fromkeys(letters):
            members = [k for k, one in enumerate(letters[: len(call.args)]) if one == letter]
            if letter == "1":
                self._angle(call, found[0])
            elif letter != ".":
                terms, units = [call.args[k] for k in members], [found[k] for k in members]
                groups[letter] = self._alike(f"{call.function}({_NAMES[letter]})", terms, units)
        return groups[result]

    def _angle(self, call: Call, found: Quantity) -> None:
        if isinstance(found, tuple) and found != PLAIN:
            reason = f"needs an angle in rad, found {shown(found)}; 1*(..) makes it one"
            self._report(f"{call.function} {reason}", call.args[0])

    def _lookup(self, lookup: Lookup) -> Quantity:
        argument, table = lookup.argument, self.tables.get(lookup.table.name, Table(None, None))
        found = known("s") if isinstance(argument, Name) and argument.name == "time" else self.of(argument)
        if isinstance(found, tuple) and isinstance(table.x, tuple) and found != table.x:
            reason = f"is read at what is in {shown(found)}; its x_unit is {shown(table.x)}"
            self._report(f"table '{lookup.table.name}' {reason}", argument)
        return table.y


_NAMES = {"a": "values", "x": "x", "y": "y", "f": "frequencies"}  # groups of arguments in messages


def _stands_for_a_unit(term: Term, found: Quantity) -> bool:
    """Any number but zero."""
    return found == NUMBER and _literal(term) != 0


def _product(found: Iterable[Quantity], powers: Iterable[int]) -> Quantity:
    total = PLAIN
    every = list(found)
    if all(one == NUMBER for one in every):
        return NUMBER
    for one, power in zip(every, powers, strict=True):
        if not isinstance(one, tuple):
            return None
        total = tuple(a + power * b for a, b in zip(total, one, strict=True))
    return total


def _power(base: Quantity, exponent: Term) -> Quantity:
    number = _literal(exponent)
    if number is None or base is None:
        return None
    if base == NUMBER:
        return NUMBER
    scaled = [number * float(one) for one in base]
    return tuple(map(int, scaled)) if all(one == int(one) for one in scaled) else None


def _root(found: Quantity) -> Quantity:
    if not isinstance(found, tuple):
        return found
    return tuple(one // 2 for one in found) if all(one % 2 == 0 for one in found) else None


def _literal(term: Term) -> float | None:
    if isinstance(term, Unary) and term.op in ("+", "-"):
        inside = _literal(term.operand)
        return inside if inside is None or term.op == "+" else -inside
    return term.value if isinstance(term, Number) else None


def _begin(term: Term) -> int:
    """Where a term begins in the text; a chain's own position is that of its operator."""
    return _begin(term.first) if isinstance(term, Chain) else term.position


def shown(exponents: Exponents) -> str:
    """In the customary words."""
    return spelled((*exponents, 0))
