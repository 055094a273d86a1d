"""Times at which expressions have a jump or kink: zeros of switches of time; must not know models.

Their coefficients may depend on whatever is constant for a while. What switches by position or speed is not found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mbdfmu.expressions.functions import absolute, asin, less, maximum, minimum, select, sqrt
from mbdfmu.expressions.graph import Node, postorder
from mbdfmu.expressions.opcodes import (
    ABS,
    ADD,
    ALL,
    AND,
    ANY,
    CONST,
    COS,
    DIV,
    EQ,
    FLOOR,
    LE,
    LOAD,
    LOOKUP,
    LT,
    MAX,
    MIN,
    MUL,
    NEG,
    NOT,
    OR,
    SELECT,
    SIGN,
    SIN,
    SUB,
)

NEVER = -1e300  # s
_BRANCHES = 16  # that one argument may have
_ROUNDINGS = 2e-15  # of sines near a bound


class Times(NamedTuple):
    """first + k period for every whole number k, or once where the period is 0; known to within `blur`."""

    first: Node
    period: Node
    blur: Node


@dataclass(frozen=True)
class Switching:
    """When expressions switch, and the switches by time whose times are not found."""

    times: list[Times]
    missed: list[Node]


class _Line(NamedTuple):
    """value + slope t + k step, where k is one whole number or another."""

    value: Node
    slope: Node
    step: Node


class _Wave(NamedTuple):
    """offset + size sin(phase + speed t)"""

    offset: Node
    size: Node
    phase: Node
    speed: Node


_Branch = _Line | _Wave
_Branches = tuple[_Branch, ...]  # of which a node is one at any time


def switching(
    nodes: Sequence[Node], time: Node, constants: frozenset[str], held: frozenset[Node] = frozenset()
) -> Switching:
    """When nodes switch; `constants` are the spaces of constant symbols, `held` symbols that stay for a while."""
    search = _Search(time, constants, held)
    for node in postorder(nodes, lambda n: time in n.support):
        search.visit(node)
    return Switching([at for at in search.times if not _is(at.first, NEVER)], list(search.missed))


class _Search:
    def __init__(self, time: Node, constants: frozenset[str], held: frozenset[Node]) -> None:
        self.time, self.constants, self.held = time, constants, held
        self.branches: dict[Node, _Branches] = {}
        self.times: dict[Times, None] = {}
        self.missed: dict[Node, None] = {}

    def visit(self, node: Node) -> None:
        self.branches[node] = self._branches(node)
        found = [at for argument in self._switched(node) for at in argument]
        if None in found and all(s is self.time or self._constant(s) for s in node.support):
            self.missed[node] = None
        self.times |= dict.fromkeys(at for at in found if at is not None)

    def _constant(self, symbol: Node) -> bool:
        return symbol.value[0] in self.constants or symbol in self.held

    def _of(self, node: Node) -> _Branches:
        if node in self.branches:
            return self.branches[node]
        zero = node.graph.zero
        return (_Line(node, zero, zero),) if all(map(self._constant, node.support)) else ()

    # ---- where a node switches

    def _switched(self, node: Node) -> Iterator[Iterable[Times | None]]:
        """The zeros of each argument at which it does; None where they are not found."""
        args = [self._of(a) for a in node.args]
        if node.op in (LT, LE, MIN, MAX, ALL, ANY):
            yield from (_zeros(_sum(x, _negative(y))) for x in args[0] for y in args[1])
        elif node.op in (ABS, SIGN):
            yield from map(_zeros, args[0])
        elif node.op == FLOOR:
            yield from map(_wholes, args[0])
        elif node.op == LOOKUP:
            curve, order = node.value
            knots = [_constant(node.graph.const(-knot)) for knot in curve.corners(order)]
            yield from (_zeros(_sum(x, knot)) for x in args[0] for knot in knots)
        else:
            return
        if not all(args):
            yield [None]

    # ---- what a node may be

    def _branches(self, node: Node) -> _Branches:
        """Nothing where that is neither a line nor a wave."""
        every = dict.fromkeys(self._possible(node, [self._of(a) for a in node.args]))
        known = every and None not in every and len(every) <= _BRANCHES
        return tuple(branch for branch in every if branch is not None) if known else ()

    def _possible(self, node: Node, args: list[_Branches]) -> Iterator[_Branch | None]:
        """None stands for anything else."""
        graph, op = node.graph, node.op
        whole = _WHOLES.get(op)
        if op == LOAD:
            yield _Line(graph.zero, graph.one, graph.zero) if node is self.time else None
        elif whole is not None:
            yield from (_constant(graph.const(x)) for x in whole)
        elif not all(args[op == SELECT :]):
            yield None
        elif op in (ADD, SUB, MUL, DIV):
            yield from (_combined(op, x, y) for x in args[0] for y in args[1])
        elif op in _MADE:
            yield from (_MADE[op](x) for x in args[0])
            yield from args[0] if op == ABS else ()
        elif op in (SELECT, MIN, MAX, ALL, ANY):
            yield from (x for branch in args[op == SELECT :] for x in branch)
        else:
            yield None


_WHOLES = {**dict.fromkeys((LT, LE, EQ, AND, OR, NOT), (0.0, 1.0)), SIGN: (-1.0, 0.0, 1.0)}


def _is(node: Node, value: float) -> bool:
    return node.op == CONST and node.value == value


def _constant(node: Node) -> _Line:
    return _Line(node, node.graph.zero, node.graph.zero)


def _flat(branch: _Branch) -> bool:
    """Whether it is one number at all times."""
    return isinstance(branch, _Line) and _is(branch.slope, 0) and _is(branch.step, 0)


# ---------------------------------------------------------------- arithmetic of branches


def _negative(branch: _Branch) -> _Branch:
    if isinstance(branch, _Line):
        return _Line(-branch.value, -branch.slope, branch.step)
    return branch._replace(offset=-branch.offset, size=-branch.size)


def _sum(a: _Branch, b: _Branch) -> _Branch | None:
    if isinstance(a, _Wave) and isinstance(b, _Wave):
        return None
    if isinstance(b, _Wave):
        a, b = b, a
    if isinstance(a, _Wave):
        return a._replace(offset=a.offset + b.value) if isinstance(b, _Line) and _flat(b) else None
    assert isinstance(b, _Line)
    if not (_is(a.step, 0) or _is(b.step, 0) or a.step is b.step):
        return None
    return _Line(a.value + b.value, a.slope + b.slope, b.step if _is(a.step, 0) else a.step)


def _scaled(op: int, branch: _Branch, by: Node) -> _Branch:
    def scaled(part: Node) -> Node:
        return part * by if op == MUL else part / by

    if isinstance(branch, _Line):
        return _Line(*map(scaled, branch))
    return branch._replace(offset=scaled(branch.offset), size=scaled(branch.size))


def _combined(op: int, a: _Branch, b: _Branch) -> _Branch | None:
    """The sum, difference, product or quotient of two branches, if it is one."""
    if op in (ADD, SUB):
        return _sum(a, b if op == ADD else _negative(b))
    if op == MUL and _flat(a):
        a, b = b, a
    if not (_flat(b) and isinstance(b, _Line)):
        return None
    return _scaled(op, a, b.value)


def _wave(branch: _Branch, ahead: float) -> _Branch | None:
    """The sine of a line that is `ahead`."""
    if not isinstance(branch, _Line) or not _is(branch.step, 0):
        return None
    return _Wave(branch.value.graph.zero, branch.value.graph.one, branch.value + ahead, branch.slope)


def _whole(branch: _Branch) -> _Branch:
    """A whole number."""
    graph = branch[0].graph
    return _Line(graph.zero, graph.zero, graph.one)


_MADE = {
    NEG: _negative,
    ABS: _negative,  # or what it is itself
    SIN: lambda x: _wave(x, 0.0),
    COS: lambda x: _wave(x, math.pi / 2),
    FLOOR: _whole,
}


# ---------------------------------------------------------------- zeros


def _zeros(branch: _Branch | None) -> Iterator[Times | None]:
    if branch is None:
        yield None
    elif isinstance(branch, _Wave):
        yield from _zeros_of_wave(branch)
    elif not _is(branch.slope, 0):
        yield _times(-branch.value / branch.slope, absolute(branch.step / branch.slope))


def _wholes(branch: _Branch) -> Iterator[Times | None]:
    """Where it passes whole numbers."""
    if not isinstance(branch, _Line) or not (branch.step.op == CONST and float(branch.step.value).is_integer()):
        yield None
    elif not _is(branch.slope, 0):
        yield _times(-branch.value / branch.slope, absolute(1 / branch.slope))


def _zeros_of_wave(w: _Wave) -> Iterator[Times | None]:
    """sin(phase + speed t) = s: twice in each turn (T11.6)."""
    if _is(w.speed, 0) or _is(w.size, 0):
        return
    s = -w.offset / w.size
    bounded = maximum(minimum(s, 1.0), -1.0)
    angle, period = asin(bounded), absolute(2 * math.pi / w.speed)
    flatness = maximum(sqrt(maximum(1 - bounded * bounded, 0.0)), 1e-8)
    blur = select(_is_small(s), absolute(_ROUNDINGS / (flatness * w.speed)), 0.0)
    for reached in (angle, math.pi - angle):
        first = select(less(absolute(s), 1 + _ROUNDINGS), (reached - w.phase) / w.speed, NEVER)
        yield _times(first, period, blur)


def _is_small(node: Node) -> Node:
    return less(absolute(node), -NEVER)


def _times(first: Node, period: Node, blur: Node | None = None) -> Times:
    """Never infinite; one that is not a number (of a branch not taken) is never, as the core has it (T11.5)."""
    zero = first.graph.zero
    return Times(
        select(_is_small(first), first, NEVER), select(_is_small(period), period, 0.0), zero if blur is None else blur
    )
