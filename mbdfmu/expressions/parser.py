"""The small language of user equations, from text to tree and from tree to graph; must not know what a name stands for.

Grammar, from loose to tight binding (chains of one line associate to the left, ^ to the right):

    or | and | not | < <= > >= == != (one only) | + - | * / | unary + - | ^ ** | number, name, f(a,b), (a)

A name may also be der(name,n) or a function of markers; lookup(table,a) reads a table of that name.

Names are dotted identifiers, with an index where they are components of arrays: `tank.level[2]`. `pi` and `deg` are
numbers; every other name, `time` too, is the business of `resolve`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from mbdfmu.errors import ExpressionError, did_you_mean
from mbdfmu.expressions import functions as fn
from mbdfmu.expressions.catalogue import FUNCTIONS
from mbdfmu.expressions.curves import Curve
from mbdfmu.expressions.graph import Graph, Node
from mbdfmu.expressions.markers import MARKER_FUNCTIONS

MAX_DEPTH = 200  # nested operands; keeps every walk over a tree within Python's call stack
MAX_LENGTH = 100_000  # characters
CONSTANTS: dict[str, float] = {"pi": math.pi, "deg": math.pi / 180.0}
KEYWORDS = ("and", "or", "not")
LOOKUP = "lookup"

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER = range(1, 9)
LEVELS: dict[str, int] = {
    "or": OR,
    "and": AND,
    "<": COMPARE,
    "<=": COMPARE,
    ">": COMPARE,
    ">=": COMPARE,
    "==": COMPARE,
    "!=": COMPARE,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "^": POWER,
}
BETWEEN = frozenset(LEVELS) - {"+", "-"} | {")", ","}  # what cannot begin an operand
HINTS: dict[str, str] = {
    "=": "write '==' to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not'",
    "%": "write mod(a,b)",
    "[": "an index is a whole number from 1 on, directly after a name: Z[1]",
    "]": "write ')'",
    ";": "write ','",
    ":": "write '/' or if(c,a,b)",
}


# Trees ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    """A signal; derivatives are normalised to der(x) and der(x,2), functions of markers to dx(a,b)."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Term, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """The value of a table."""

    table: Name
    argument: Term
    position: int


@dataclass(frozen=True, slots=True)
class Unary:
    """op is one of - + not."""

    op: str
    operand: Term
    position: int


@dataclass(frozen=True, slots=True)
class Chain:
    """first op operand op operand ..., evaluated from the left; a comparison or a power has one pair only.

    Rejected: nested pairs. A sum of a thousand terms would be a tree a thousand deep.
    """

    first: Term
    rest: tuple[tuple[str, Term], ...]
    position: int


Term = Number | Name | Call | Lookup | Unary | Chain


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed expression together with its text, which error messages show."""

    text: str
    root: Term


class _Token(NamedTuple):
    kind: str  # number, name, op, end
    text: str
    position: int


# Text to tree ---------------------------------------------------------------------------------------------------------

_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*(?:\[[1-9][0-9]*\])?)"
    r"|(?P<op>\*\*|<=|>=|==|!=|[-+*/^()<>,])"
)


def parse(text: str) -> Tree:
    """Read an expression; whatever is wrong with the text is an ExpressionError."""
    if len(text) > MAX_LENGTH:
        message = f"the expression has {len(text)} characters; at most {MAX_LENGTH} are allowed, split it"
        raise ExpressionError(message, text, 0)
    return Tree(text, _Parser(text).whole())


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = _end(_SPACE, text, 0)
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            hint = HINTS.get(text[position])
            message = f"unexpected character {text[position]!r}" + (f"; {hint}" if hint else "")
            raise ExpressionError(message, text, position)
        tokens.append(_token(match))
        position = _end(_SPACE, text, match.end())
    return [*tokens, _Token("end", "", len(text))]


def _token(match: re.Match[str]) -> _Token:
    kind, text = str(match.lastgroup), match.group()
    if text in KEYWORDS:
        kind = "op"
    return _Token(kind, "^" if text == "**" else text, match.start())


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


class _Parser:
    """Recursive descent, one call of `expression` for every nested operand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def whole(self) -> Term:
        if self.token.kind == "end":
            self.fail("the expression is empty; write a number, a name or a formula")
        root = self.expression(OR)
        if self.token.text == ")":
            self.fail("')' has no matching '('")
        if self.token.kind != "end":
            self.fail(f"expected an operator, found {self.found()}")
        return root

    def expression(self, level: int) -> Term:
        """One operand with all operators behind it that bind at least as tightly as `level`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels; give parts of the expression names of their own")
        left = self.operand(level)
        while LEVELS.get(self.token.text, 0) >= level:
            left = self.chain(left)
        self.depth -= 1
        return left

    def chain(self, first: Term) -> Term:
        level = LEVELS[self.token.text]
        position = self.token.position
        rest: list[tuple[str, Term]] = []
        while LEVELS.get(self.token.text) == level:
            if rest and level == COMPARE:
                self.fail("comparisons cannot be chained; write 'a < b and b < c'")
            op = self.take().text
            rest.append((op, self.expression(UNARY if level == POWER else level + 1)))
        return Chain(first, tuple(rest), position)

    def operand(self, level: int) -> Term:
        if self.token.kind == "end" or self.token.text in BETWEEN:
            self.fail(f"expected a number, a name or '(', found {self.found()}")
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "name":
            called = token.text in FUNCTIONS and self.token.text == "("
            return self.call(token) if called else self.name(token)
        if token.text == "(":
            inner = self.expression(OR)
            self.expect(")", token)
            return inner
        return self.unary(token, level)

    def unary(self, token: _Token, level: int) -> Term:
        if token.text == "not" and level > NOT:
            self.fail("'not' binds more loosely than the operator before it; put it in parentheses", token)
        return Unary(token.text, self.expression(NOT if token.text == "not" else UNARY), token.position)

    def number(self, token: _Token) -> Number:
        value = float(token.text)
        if not math.isfinite(value):
            self.fail("the number is too large; at most 1.797e308 is allowed", token)
        return Number(value, token.position)

    def name(self, token: _Token) -> Term:
        if token.text == "der":
            return self.derivative(token)
        if token.text == LOOKUP:
            return self.lookup(token)
        if token.text in FUNCTIONS:
            self.fail(f"'{token.text}' is a function; write {token.text}(...)", token)
        if self.token.text == "(":
            return self.between(token)
        if token.text in CONSTANTS:
            return Number(CONSTANTS[token.text], token.position)
        return Name(token.text, token.position)

    def call(self, token: _Token) -> Term:
        function = FUNCTIONS[token.text]
        opening = self.take()
        args = [] if self.token.text == ")" else [self.expression(OR)]
        while self.token.text == ",":
            self.take()
            args.append(self.expression(OR))
        self.expect(")", opening)
        if misfit := function.misfit(len(args)):
            self.fail(misfit, token)
        return Call(function.name, tuple(args), token.position)

    def derivative(self, token: _Token) -> Name:
        """der(name) or der(name,order): one signal, not an operation."""
        usage = "write der(name) or der(name,2)"
        if self.token.text != "(":
            self.fail(f"'der' stands for a time derivative; {usage}", token)
        opening = self.take()
        inner = self.take()
        if inner.kind != "name" or inner.text == "der":
            self.fail(f"der takes the name of a signal; {usage}", inner)
        order = self.order() if self.token.text == "," else 1
        self.expect(")", opening)
        return Name(f"der({inner.text})" if order == 1 else f"der({inner.text},{order})", token.position)

    def lookup(self, token: _Token) -> Lookup:
        """lookup(table,x): the first argument is the name of a table."""
        usage = "write lookup(table,x)"
        if self.token.text != "(":
            self.fail(f"'{LOOKUP}' reads a table; {usage}", token)
        opening = self.take()
        table = self.take()
        if table.kind != "name":
            self.fail(f"{LOOKUP} begins with the name of a table, found {_quoted(table.text)}; {usage}", table)
        if self.token.text != ",":
            self.fail(f"{LOOKUP} needs a table and a value; {usage}")
        self.take()
        argument = self.expression(OR)
        self.expect(")", opening)
        return Lookup(Name(table.text, table.position), argument, token.position)

    def between(self, token: _Token) -> Name:
        """dx(to,from,in) and its like: one signal of some markers. Their names are legal for other things too."""
        function = MARKER_FUNCTIONS.get(token.text)
        if function is None:
            known = [*FUNCTIONS, *MARKER_FUNCTIONS, LOOKUP]
            self.fail(f"unknown function {_quoted(token.text)}" + did_you_mean(token.text, known), token)
        opening = self.take()
        markers = [] if self.token.text == ")" else [self.marker(function.call)]
        while self.token.text == ",":
            self.take()
            markers.append(self.marker(function.call))
        self.expect(")", opening)
        if not 1 <= len(markers) <= len(function.arguments):
            self.fail(f"write {function.call}, where all but the first may be left out, found {len(markers)}", token)
        return Name(f"{token.text}({','.join(markers)})", token.position)

    def marker(self, call: str) -> str:
        token = self.take()
        if token.kind != "name":
            self.fail(f"expected the name of a marker or body, found {_quoted(token.text)}; write {call}", token)
        return token.text

    def order(self) -> int:
        self.take()
        token = self.take()
        if token.text not in ("1", "2"):
            self.fail(f"the order of a derivative is 1 or 2, found {_quoted(token.text)}", token)
        return int(token.text)

    def take(self) -> _Token:
        token = self.token
        if token.kind != "end":
            self.place += 1
        return token

    def expect(self, closing: str, opening: _Token) -> None:
        if self.token.kind == "end":
            self.fail(f"'{opening.text}' is never closed", opening)
        if self.token.text != closing:
            self.fail(f"expected '{closing}' or an operator, found {self.found()}")
        self.take()

    def found(self) -> str:
        return "the end" if self.token.kind == "end" else _quoted(self.token.text)

    def fail(self, message: str, token: _Token | None = None) -> NoReturn:
        raise ExpressionError(message, self.text, (token or self.token).position)


def _quoted(name: str) -> str:
    return f"'{name}'" if len(name) <= 60 else f"'{name[:57]}...'"


# Tree to graph --------------------------------------------------------------------------------------------------------

_INFIX: dict[str, Callable[[Any, Any], Node]] = {
    "or": fn.logical_or,
    "and": fn.logical_and,
    "<": fn.less,
    "<=": fn.less_equal,
    ">": fn.greater,
    ">=": fn.greater_equal,
    "==": fn.equal,
    "!=": fn.not_equal,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}
_PREFIX: dict[str, Callable[[Node], Node]] = {"+": lambda a: a, "-": lambda a: -a, "not": fn.logical_not}

Resolve = Callable[[str], Any]  # a node or a number; raises KeyError or ExpressionError for what it does not know
Curves = Callable[[str], Curve]  # the table of a name, likewise


def _no_curve(name: str) -> Curve:
    raise ExpressionError(f"there are no tables here, found {_quoted(name)}")


def build(tree: Tree, graph: Graph, resolve: Resolve, curves: Curves = _no_curve) -> Node:
    """Make the node of a tree; `resolve` gives the node of a name, errors show its place in the text."""
    return _Builder(tree.text, graph, resolve, curves).node(tree.root)


@dataclass(frozen=True, slots=True)
class _Builder:
    text: str
    graph: Graph
    resolve: Resolve
    curves: Curves

    def node(self, term: Term) -> Node:
        if isinstance(term, Number):
            return self.graph.const(term.value)
        if isinstance(term, Name):
            return self.graph.promote(self.known(term, self.resolve))
        if isinstance(term, Unary):
            return _PREFIX[term.op](self.node(term.operand))
        if isinstance(term, Call):
            return self.called(term)
        if isinstance(term, Lookup):
            return self.graph.lookup(self.known(term.table, self.curves), self.node(term.argument))
        node = self.node(term.first)
        for op, operand in term.rest:
            node = _INFIX[op](node, self.node(operand))
        return node

    def known(self, term: Name, resolve: Callable[[str], Any]) -> Any:
        try:
            return resolve(term.name)
        except KeyError:
            raise ExpressionError(f"unknown name {_quoted(term.name)}", self.text, term.position) from None
        except ExpressionError as error:
            raise self.placed(error, term.position) from None

    def called(self, term: Call) -> Node:
        args = [self.node(a) for a in term.args]
        try:
            return FUNCTIONS[term.function].builder(*args)
        except ExpressionError as error:
            raise self.placed(error, term.position) from None

    def placed(self, error: ExpressionError, position: int) -> ExpressionError:
        return error if error.text is not None else ExpressionError(error.message, self.text, position)


# What a tree names ----------------------------------------------------------------------------------------------------


def names(tree: Tree) -> list[tuple[str, int]]:
    """Every name with its position, in the order of the text; `pi`, `deg`, functions and tables are none."""
    return sorted(_names(tree.root), key=lambda found: found[1])


def lookups(tree: Tree) -> list[Lookup]:
    """Every reading of a table, in the order of the text."""
    return sorted(_lookups(tree.root), key=lambda found: found.position)


def _lookups(term: Term) -> list[Lookup]:
    own = [term] if isinstance(term, Lookup) else []
    return own + [found for part in _parts(term) for found in _lookups(part)]


def _names(term: Term) -> list[tuple[str, int]]:
    if isinstance(term, Name):
        return [(term.name, term.position)]
    return [found for part in _parts(term) for found in _names(part)]


def _parts(term: Term) -> tuple[Term, ...]:
    if isinstance(term, Call):
        return term.args
    if isinstance(term, Lookup):
        return (term.argument,)
    if isinstance(term, Unary):
        return (term.operand,)
    if isinstance(term, Chain):
        return (term.first, *(operand for _, operand in term.rest))
    return ()
