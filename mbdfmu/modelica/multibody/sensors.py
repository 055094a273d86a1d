"""Sensors of the library: what joints carry, and where markers are; must not know Modelica's text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mbdfmu.counterparts import MULTIBODY, Library
from mbdfmu.description import GROUND
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import CONST, LOAD
from mbdfmu.modelica.multibody.mechanism import CUT, IN_WORLD, Mechanism
from mbdfmu.modelica.multibody.parts import Component
from mbdfmu.modelica.multibody.tree import steady
from mbdfmu.modelica.sheet import Statement
from mbdfmu.signals import SymbolicModel


class _Point(NamedTuple):
    """A sensor of points: its class, its output, what the component is called, and the signals of a marker."""

    fact: Library
    port: str
    kind: str
    words: tuple[str, str, str]


def _sensor(name: str) -> Library:
    return Library(name=f"{MULTIBODY}.Sensors.{name}", settings=("resolveInFrame",), connectors=("frame_a", "frame_a"))


_POINTS = (
    _Point(_sensor("AbsolutePosition"), "r", "place", ("x", "y", "z")),
    _Point(_sensor("AbsoluteVelocity"), "v", "speed", ("vx", "vy", "vz")),
)
SENSORS = (CUT, *(point.fact for point in _POINTS))


def carried(formulas: Iterable[Node]) -> set[str]:
    """The labels of the elements whose multipliers formulas read."""
    return {s.value[1].rpartition(" (")[0] for f in formulas for s in f.support if s.value[0] == "lam"}


def watch(mechanism: Mechanism, formulas: Iterable[Node]) -> None:
    """A sensor on every marker whose place or speed formulas read; what it measures is known then."""
    model, read = mechanism.m, _inside(formulas, mechanism)
    for marker, frame in model.markers.items():
        if frame.body == GROUND or not steady(frame):
            continue
        connector, column = "", mechanism.column(frame.body) + 2
        for fact, port, kind, words in _POINTS:
            nodes = [model.signals[f"{marker}.{word}"].node for word in words[: len(model.gravity)]]
            if not any(node in read for node in nodes):
                continue
            place = column, mechanism.below(column - 1, column)
            connector = connector or mechanism.attach(frame, marker, (column - 1, place[1]))
            name = mechanism.names.new(f"{marker}.{kind}")
            mechanism.diagram.add(Component(name, fact.name, {"resolveInFrame": (IN_WORLD,)}, place))
            mechanism.diagram.connect(connector, f"{name}.frame_a")
            for k, node in enumerate(nodes, 1):
                mechanism.known.setdefault(node, f"{name}.{port}[{k}]")


def _inside(formulas: Iterable[Node], mechanism: Mechanism) -> set[Node]:
    """All parts of formulas that are no variables yet."""
    found: set[Node] = set()
    waiting = list(formulas)
    while waiting:
        node = waiting.pop()
        if node not in found and node.op != LOAD and node not in mechanism.known:
            found.add(node)
            waiting += node.args
    return found


def reactions(
    mechanism: Mechanism, model: SymbolicModel, joint: str, rows: list[tuple[Node, Any]]
) -> Iterator[Statement]:
    """The multipliers of a joint of the library from what it does to its body, at the centre of mass.

    It is the sum of the rows g_l times their multipliers. Entries with one unknown come first; what is left is
    (g_k . g_l) lambda_l = g_k . (force, torque), since the rows of a joint do not depend on each other.
    """
    sensor, body = mechanism.cuts[joint]
    own = [c.name for c in model.coordinates if c.node == body]
    graph, size = model.graph, len(model.gravity)

    def variable(text: str) -> Node:
        symbol = graph.symbol("cut", text)
        mechanism.known[symbol] = text
        return symbol

    force, torque = ([variable(f"{sensor}.{kind}[{k}]") for k in (1, 2, 3)] for kind in ("force", "torque"))
    turn = torque[2:]
    if size == 3:  # rotations are about the axes of the body
        base = mechanism.base(body)
        axes = [[variable(f"{base}.R.T[{i}, {j}]") for j in (1, 2, 3)] for i in (1, 2, 3)]
        turn = [graph.sum(r * t for r, t in zip(row, torque, strict=True)) for row in axes]
    wrench = [*force[:size], *turn]
    slopes = {multiplier: [model.motion.diff(row.value, c) for c in own] for multiplier, row in rows}
    while pivot := _alone(slopes):
        multiplier, k = pivot
        done = slopes.pop(multiplier)
        yield multiplier, " = ", wrench[k] / done[k]
        wrench = [w - multiplier * slope for w, slope in zip(wrench, done, strict=True)]
    for one in slopes.values():
        factors = [graph.sum(a * b for a, b in zip(one, other, strict=True)) for other in slopes.values()]
        total = graph.sum(factor * multiplier for factor, multiplier in zip(factors, slopes, strict=True))
        yield total, " = ", graph.sum(a * b for a, b in zip(one, wrench, strict=True))


def _alone(slopes: Mapping[Node, list[Node]]) -> tuple[Node, int] | None:
    """A multiplier that alone makes up an entry of the wrench, by a factor that stays; and the entry."""
    for k, column in enumerate(zip(*slopes.values(), strict=True)):
        there = [(multiplier, slope) for multiplier, slope in zip(slopes, column, strict=True) if slope.value != 0.0]
        if len(there) == 1 and there[0][1].op == CONST:
            return there[0][0], k
    return None
