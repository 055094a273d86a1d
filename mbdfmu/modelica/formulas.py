"""Expressions as Modelica writes them; must not know models.

What several formulas share, or what would make one of them unreadable, becomes a variable of its own. Nothing with a
hole in its domain, such as a root or a quotient, is taken out of the branch of an `if` that keeps it from the hole,
unless under the same condition; such a variable is 0 elsewhere, so that what is made of it may be shared anywhere.
Nothing here recurses: formulas are deeper than any call stack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mbdfmu.expressions import Curve, Node
from mbdfmu.expressions.opcodes import (
    ADD,
    AND,
    BY_CODE,
    CONST,
    DIV,
    EQ,
    LE,
    LOAD,
    LOOKUP,
    LT,
    MUL,
    NEG,
    NOT,
    OPCODES,
    OR,
    POW,
    SELECT,
    SQRT,
    SQUARE,
    SUB,
)  # fmt: skip
from mbdfmu.modelica.words import number

FLOOR = OPCODES["FLOOR"]
_BOOLEAN = frozenset((LT, LE, EQ, AND, OR, NOT))
_PARTIAL = frozenset((DIV, POW, SQRT, *(OPCODES[name] for name in ("TAN", "ASIN", "ACOS", "LOG", "ATAN2"))))
BEFORE, TRUTH = "pre", "truth"  # the spaces of values just before an event, and of conditions with names
_INSTANT = frozenset((BEFORE, TRUTH))
_GIVEN = frozenset("tpu")  # what jumps with these alone makes events
_STEADY = _GIVEN | _INSTANT  # conditions on these need no noEvent; others are tried at every step
_UNREADABLE = 100_000  # characters of one formula
_SHARED = 3  # operations from which on a shared expression gets a name
_LONGEST = 2000  # letters of one expression
_PATHS = 4  # to an expression behind conditions, beyond which a variable says whether one of them is taken

# How firmly a text holds together (section 3.2).
_OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _POWER, _ATOM = range(8)


Named = Callable[[Node | None, int], str]
Lookup = Callable[[Curve, int, str, bool], str]


class _Text(NamedTuple):
    text: str
    firmness: int
    opposite: str = ""  # of what begins with a minus: the same without it, as firm as a product

    def at(self, firmness: int) -> str:
        """The text where something at least as firm is wanted."""
        return self.text if self.firmness >= firmness else f"({self.text})"


def _negative(opposite: str) -> _Text:
    return _Text(f"-{opposite}", _SUM, opposite)


@dataclass(frozen=True)
class Auxiliary:
    """A variable that stands for an expression."""

    name: str
    formula: str
    fixed: bool  # follows from parameters alone
    owner: int  # the number of the first formula that uses it


class TooLong(Exception):
    """A formula that would fill pages, as what it shares has no value where it is not used."""

    def __init__(self, node: Node, root: int) -> None:
        super().__init__(root)
        self.node, self.root = node, root


class Formulas:
    """Writes formulas; all of them have to be known before, as `roots`.

    `known` are the names of symbols; `forced` of expressions that are variables in any case. `named` gives a name to an
    expression that needs one, or to a condition of ours, from the number of the first root that uses it; `lookup` is
    the call of a curve. Roots of the numbers `momentary` hold at the start only: what they alone share is written out.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        known: Mapping[Node, str],
        forced: Mapping[Node, str],
        named: Named,
        lookup: Lookup,
        momentary: Container[int],
    ) -> None:
        self.auxiliaries: list[Auxiliary] = []  # each after those that it uses
        self._known, self._forced = known, forced
        self._lookup = lookup
        self._momentary = momentary
        self._named = named
        self._texts: dict[Node, _Text] = {}
        self._costs: dict[Node, int] = {}
        self._owners: dict[Node, int] = {}
        self._uses: dict[Node, int] = {}
        self._paths: dict[Node, _Paths] = {}
        self._partial: dict[Node, bool] = {}
        self._open: set[Node] = set()  # whose texts have no value where they are not used
        self._taken: dict[_Paths, str] = {}  # variables that say whether one of many ways is taken
        nodes = self._reachable(roots)
        self._follow(roots, nodes)
        self._write_all(nodes)

    def text(self, node: Node) -> str:
        """The formula of one of the roots."""
        return self._value(node).text

    def condition(self, node: Node) -> str:
        """The same, as what is true or false; its changes make events."""
        return self._truth(node).text

    # ---- what is used where

    def _reachable(self, roots: Sequence[Node]) -> list[Node]:
        """All nodes, each after its arguments."""
        owners: dict[Node, int] = {}
        for k, root in enumerate(roots):
            waiting = [root]
            while waiting:
                node = waiting.pop()
                if node not in owners:
                    owners[node] = k
                    waiting += self._arguments(node)
        self._owners = owners
        return sorted(owners, key=lambda n: n.index)

    def _arguments(self, node: Node) -> tuple[Node, ...]:
        return () if node in self._known else node.args

    def _follow(self, roots: Iterable[Node], nodes: Sequence[Node]) -> None:
        """How often nodes are used, under which conditions, and where they may have no value."""
        for node in (*roots, *self._forced):
            self._paths[node] = _ALWAYS
        for node in reversed(nodes):
            paths = self._paths[node]
            for k, argument in enumerate(self._arguments(node)):
                self._uses[argument] = self._uses.get(argument, 0) + 1
                inside = paths.under(node.args[0], k == 1) if node.op == SELECT and k else paths
                before = self._paths.get(argument)
                self._paths[argument] = inside if before is None else before.joined(inside)
        for node in nodes:
            self._partial[node] = _has_hole(node, self._known) or any(self._partial[a] for a in self._arguments(node))

    # ---- writing

    def _write_all(self, nodes: Sequence[Node]) -> None:
        """Each after its arguments, and after the conditions that it will stand under where that is possible."""
        begun: set[Node] = set()
        for last in nodes:
            waiting = [last]
            while waiting:
                node = waiting[-1]
                missing = [] if node in begun else [n for n in self._needed(node) if n not in self._texts]
                begun.add(node)
                if missing:
                    waiting += [n for n in missing if n not in begun]
                    continue
                waiting.pop()
                if node not in self._texts:
                    self._write(node)

    def _needed(self, node: Node) -> Iterator[Node]:
        yield from self._arguments(node)
        if self._partial[node] and not self._paths[node].always:
            yield from sorted(self._paths[node].conditions, key=lambda c: c.index)

    def _write(self, node: Node) -> None:
        if node in self._known:
            self._texts[node], self._costs[node] = _Text(self._known[node], _ATOM), 0
            return
        found = self._made(node)
        if len(found.text) > _UNREADABLE:
            raise TooLong(node, self._owners[node])
        if node in self._forced:
            text = (_as_number(node, found) if node.op in _BOOLEAN else found).text
            self._enter(node, self._forced[node], text, node.support)
            return
        cost = (node.op not in (CONST, NEG)) + sum(self._costs[a] for a in node.args)
        self._texts[node], self._costs[node] = found, cost
        paths, hole = self._paths[node], _has_hole(node, self._known)
        if (hole and not paths.always) or not self._open.isdisjoint(node.args):
            self._open.add(node)
        shared = self._uses.get(node, 0) > 1 and cost >= _SHARED
        wanted = shared or len(found.text) > _LONGEST or (hole and len(paths.ways) > _PATHS)
        if wanted and node.op not in _BOOLEAN and self._uses.get(node, 0) and self._stays(node):
            self._take_out(node, found)

    def _stays(self, node: Node) -> bool:
        """Whether the value has a meaning outside of its `when`, and after the start."""
        spaces = {s.value[0] for s in node.support}
        return spaces.isdisjoint(_INSTANT) and (spaces <= {"p"} or self._owners[node] not in self._momentary)

    def _are_everywhere(self, paths: _Paths) -> bool:
        """Whether conditions are written already, and have a meaning outside of their `when`."""
        lasting = _INSTANT.isdisjoint(s.value[0] for s in paths.support)
        return lasting and paths.conditions <= self._texts.keys()

    def _take_out(self, node: Node, found: _Text) -> None:
        """A variable for the expression, under the conditions under which it is used."""
        formula, paths, read = found.text, self._paths[node], node.support
        if node in self._open and not paths.always:
            many = len(paths.ways) > _PATHS
            if (self._uses[node] < 2 and not many) or not self._are_everywhere(paths):
                return
            condition = f"{self._way(paths, node)} > 0" if many else self._condition(paths)
            formula, read = f"if noEvent({condition}) then {found.text} else 0", read.union(paths.support)
        self._enter(node, self._named(node, self._owners[node]), formula, read)

    def _enter(self, node: Node, name: str, formula: str, read: Collection[Node]) -> None:
        """`read` are the symbols in the formula."""
        self.auxiliaries.append(Auxiliary(name, formula, _is_fixed(read), self._owners[node]))
        self._texts[node], self._costs[node] = _Text(name, _ATOM), 0
        self._open.discard(node)

    def _way(self, paths: _Paths, user: Node) -> str:
        """A variable that is 1 where one of many ways is taken, else 0: all that lie on them share it."""
        if paths not in self._taken:
            name = self._taken[paths] = self._named(None, self._owners[user])
            formula = f"if noEvent({self._condition(paths)}) then 1 else 0"
            self.auxiliaries.append(Auxiliary(name, formula, _is_fixed(paths.support), self._owners[user]))
        return self._taken[paths]

    def _condition(self, paths: _Paths) -> str:
        ways = []
        for way in _in_order(paths.ways):
            literals = sorted(way, key=lambda literal: literal[0].index)
            texts = [self._truth(c).at(_RELATION) if yes else f"not {self._truth(c).at(_ATOM)}" for c, yes in literals]
            ways.append(" and ".join(texts))
        return " or ".join(ways)

    def _made(self, node: Node) -> _Text:
        if node.op == CONST:
            return _negative(number(-node.value)) if node.value < 0 else _Text(number(node.value), _ATOM)
        if node.op == LOAD:
            raise KeyError(f"{node!r} has no name")
        if node.op == LOOKUP:
            curve, order = node.value
            spaces = {s.value[0] for s in node.support}
            moment = spaces <= _GIVEN and not spaces <= {"p"}
            return _Text(self._lookup(curve, order, self._texts[node.args[0]].text, moment), _ATOM)
        if node.op == SELECT:
            return self._choice(node)
        if node.op in _BOOLEAN:
            return self._relation(node)
        return _written(node, [self._value(a) for a in node.args])

    def _choice(self, node: Node) -> _Text:
        condition, yes, no = node.args
        text = self._truth(condition).text
        test = text if _is_steady(condition) else f"noEvent({text})"
        return _Text(f"(if {test} then {self._value(yes).text} else {self._value(no).text})", _ATOM)

    def _value(self, node: Node) -> _Text:
        """As a number: conditions are 1 or 0."""
        found = self._texts[node]
        return _as_number(node, found) if self._is_condition(node) else found

    def _truth(self, node: Node) -> _Text:
        """As a condition: numbers other than 0 are true."""
        found = self._texts[node]
        if node.op == CONST:
            return _Text("true" if node.value else "false", _ATOM)
        return found if self._is_condition(node) else _Text(f"abs({found.text}) > 0", _RELATION)

    def _is_condition(self, node: Node) -> bool:
        """Whether the text is true or false; variables are numbers."""
        if node.op == LOAD:
            return bool(node.value[0] == TRUTH)
        return node.op in _BOOLEAN and node not in self._known and node not in self._forced

    def _relation(self, node: Node) -> _Text:
        if node.op == NOT:
            return _Text(f"not {self._truth(node.args[0]).at(_ATOM)}", _NOT)
        if node.op in (AND, OR):
            word, firmness = ("and", _AND) if node.op == AND else ("or", _OR)
            a, b = (self._truth(x).at(firmness + 1) for x in node.args)
            return _Text(f"{a} {word} {b}", firmness)
        a, b = (self._value(x).at(_SUM) for x in node.args)
        if node.op == EQ:  # reals may not be compared for equality (section 3.5)
            return _Text(f"{a} <= {b} and {a} >= {b}", _AND)
        if node.args[0].op == CONST:
            return _Text(f"{b} {'>' if node.op == LT else '>='} {a}", _RELATION)
        return _Text(f"{a} {'<' if node.op == LT else '<='} {b}", _RELATION)


_Way = frozenset[tuple[Node, bool]]


@dataclass(frozen=True)
class _Paths:
    """The ways to an expression: which conditions are true or false on each."""

    ways: frozenset[_Way]

    @property
    def always(self) -> bool:
        return frozenset() in self.ways

    @property
    def conditions(self) -> set[Node]:
        return {condition for way in self.ways for condition, _ in way}

    @property
    def support(self) -> set[Node]:
        """The symbols in the conditions."""
        return {symbol for condition in self.conditions for symbol in condition.support}

    def under(self, condition: Node, holds: bool) -> _Paths:
        """Inside a branch of each way."""
        return _Paths(frozenset(way | {(condition, holds)} for way in self.ways if (condition, not holds) not in way))

    def joined(self, other: _Paths) -> _Paths:
        """This way or that; what holds whether a condition does or not needs no condition."""
        ways = set(self.ways | other.ways)
        while len(ways) <= 2 * _PATHS and (pair := _twins(ways)):
            ways -= {*pair}
            ways.add(pair[0] & pair[1])
        if frozenset() in ways:
            return _ALWAYS
        return _Paths(frozenset(way for way in ways if not any(other < way for other in ways)))


def _in_order(ways: Iterable[_Way]) -> list[_Way]:
    """By the ages of the conditions, so that the same model gives the same text."""
    return sorted(ways, key=lambda way: sorted((condition.index, holds) for condition, holds in way))


def _twins(ways: set[_Way]) -> tuple[_Way, _Way] | None:
    """Two ways that differ in whether one condition holds."""
    for way in _in_order(ways):
        for condition, holds in sorted(way, key=lambda literal: literal[0].index):
            twin = (way - {(condition, holds)}) | {(condition, not holds)}
            if twin in ways:
                return way, twin
    return None


_ALWAYS = _Paths(frozenset((frozenset(),)))


def _has_hole(node: Node, known: Mapping[Node, str]) -> bool:
    """Whether the operation itself may have no value."""
    if node in known or node.op not in _PARTIAL:
        return False
    if node.op == DIV:
        return node.args[1].op != CONST
    if node.op == POW:
        exponent = node.args[1]
        return not (exponent.op == CONST and exponent.value >= 0 and float(exponent.value).is_integer())
    return True


def _written(node: Node, args: Sequence[_Text]) -> _Text:
    """Arithmetic and functions."""
    op = node.op
    if op in (ADD, SUB):
        return _sum(op, *args)
    if op == MUL:
        if node.args[0] is node.args[1]:
            return _Text(f"{args[0].at(_ATOM)}^2", _POWER)
        return _product(*args) if node.args[1].op != CONST else _product(args[1], args[0])  # numbers come first
    if op == DIV:
        a, b = args
        if a.opposite:
            return _negative(f"{a.opposite}/{b.at(_POWER)}")
        return _Text(f"{a.at(_PRODUCT)}/{b.at(_POWER)}", _PRODUCT)
    if op == NEG:
        return _Text(args[0].opposite, _PRODUCT) if args[0].opposite else _negative(args[0].at(_PRODUCT))
    if op == SQUARE:
        return _Text(f"{args[0].at(_ATOM)}^2", _POWER)
    if op == POW:
        return _Text(f"{args[0].at(_ATOM)}^{args[1].at(_ATOM)}", _POWER)
    inside = ", ".join(a.text for a in args)
    call = f"{BY_CODE[op].name.lower()}({inside})"  # Modelica calls them as we do
    return _Text(f"noEvent({call})" if op == FLOOR and not _is_steady(node) else call, _ATOM)


def _as_number(node: Node, condition: _Text) -> _Text:
    """A condition: 1 or 0."""
    test = condition.text if _is_steady(node) else f"noEvent({condition.text})"
    return _Text(f"(if {test} then 1 else 0)", _ATOM)


def _is_fixed(symbols: Iterable[Node]) -> bool:
    """Whether parameters alone decide."""
    return all(s.value[0] == "p" for s in symbols)


def _is_steady(node: Node) -> bool:
    """Whether time, parameters and inputs alone decide, so that what jumps may make events."""
    return all(s.value[0] in _STEADY for s in node.support)


def _product(a: _Text, b: _Text) -> _Text:
    minus = bool(a.opposite) != bool(b.opposite)
    one, other = (x.opposite or x.at(_PRODUCT) for x in (a, b))
    if other[0].isdigit() and not one[0].isdigit():
        one, other = other, one
    text = other if one == "1" else f"{one}*{other}"
    return _negative(text) if minus else _Text(text, _PRODUCT)


def _sum(op: int, a: _Text, b: _Text) -> _Text:
    """Signs go into the sum: a + -b is a - b."""
    if b.opposite:
        return _Text(f"{a.text} {'+' if op == SUB else '-'} {b.opposite}", _SUM)
    if op == SUB:
        return _Text(f"{a.text} - {b.at(_PRODUCT)}", _SUM)
    if a.opposite:
        return _Text(f"{b.at(_SUM)} - {a.opposite}", _SUM)
    right = b.at(_PRODUCT) if b.text.startswith("-") else b.at(_SUM)
    return _Text(f"{a.at(_SUM)} + {right}", _SUM)
