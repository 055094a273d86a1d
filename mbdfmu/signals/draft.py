"""A model while its names are being resolved; must not know which elements there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from mbdfmu.coordinates import Coordinates
from mbdfmu.description import Description
from mbdfmu.errors import ExpressionError, ModelError
from mbdfmu.expressions import Curve, Lookup, Name, Node, Term, Unary, evaluate, floor, names, parse, take_apart
from mbdfmu.frames import Gap, Joined, Measure, Placed, Side
from mbdfmu.resolution import PARAMETERS, Names
from mbdfmu.signals.table import (
    Algebraic,
    Constraint,
    Coordinate,
    Crossing,
    Event,
    ForceTerm,
    Function,
    Impact,
    Initial,
    Signal,
    State,
    Winding,
)
from mbdfmu.units import differentiated

TURN = 2 * math.pi


class Draft:
    """Names, signals and whatever else the sections of a description have given so far."""

    def __init__(self, description: Description, lost: frozenset[str], eliminate: bool) -> None:
        self.d = description
        self.eliminate = eliminate  # explicit variables and forces are written into the equations that use them
        self.names = Names(lost, description.curves)
        self.names.outputs = description.outputs
        self.graph = self.names.graph
        self.motion = Coordinates(self.graph)
        self.problems = self.names.problems
        self.signals: dict[str, Signal] = {}
        self.ends: list[Placed] = []  # of joints and forces
        self.coordinates: list[Coordinate] = []
        self.constraints: list[Constraint] = []
        self.joined: dict[str, Joined] = {}
        self.forces: list[ForceTerm] = []
        self.windings: list[Winding] = []
        self.turning: dict[Node, Node] = {}  # angles between -pi and pi: the same with their turns
        self.sides: list[Side] = []
        self.initials: list[Initial] = []
        self.crossings: list[Crossing] = []
        self.gaps: dict[str, Gap] = {}  # that no step may pass over, by what an error calls them
        self.unknowns: list[Algebraic] = []
        self.functions: list[Function] = []
        self._states: dict[str, tuple[str, str, float]] = {}  # label, unit, nominal
        self._equations: dict[str, Node] = {}  # of states
        self.events: list[Event] = []
        self.impacts: list[Impact] = []

    def add(self, signal: Signal) -> None:
        """A signal, under whose name expressions find its node."""
        self.signals[signal.name] = signal
        self.names.define(signal.name, signal.node)

    def settable(self, value: Node, *, name: str, **properties: Any) -> None:
        """A parameter that an instance may change."""
        start, node = float(evaluate([value], {})[0]), self.graph.symbol("p", name)
        self.add(Signal(name=name, node=node, causality="parameter", start=start, **properties))

    def start(self, name: str, value: float | str, unit: str, path: str) -> None:
        """A start value: a parameter of its own, or computed from parameters."""
        self.start_at(name, self.names.value(path, value, PARAMETERS), unit)

    def start_at(self, name: str, node: Node, unit: str) -> None:
        """A start value that is resolved."""
        properties: dict[str, Any] = {"unit": unit, "variability": "fixed", "text": f"start value of {name}"}
        if node.support:
            self.add(Signal(name=f"{name}.start", node=node, causality="calculatedParameter", **properties))
        else:
            self.settable(node, name=f"{name}.start", **properties)

    def started(self, name: str) -> Node:
        """The start value of a coordinate or rate; zero where it could not be resolved."""
        return self.names.nodes.get(f"{name}.start", self.graph.zero)

    # ---- differential states and unknowns

    def state(self, name: str, *, label: str, unit: str, text: str = "", nominal: float = 1.0) -> Node:
        """A differential state; its start value and its equation come later."""
        x = self.graph.symbol("x", name)
        self._states[name] = label, unit, nominal
        self.add(Signal(name=name, unit=unit, node=x, text=text))
        rate, text = self.graph.symbol("xd", name), f"rate of {name}"
        self.add(Signal(name=f"der({name})", unit=differentiated(unit), node=rate, text=text))
        return x

    def holds(self, state: str, equation: Node) -> None:
        """The equation of a state has to be zero."""
        self._equations[state] = equation

    def states(self) -> list[State]:
        """All differential states in order."""
        return [
            State(name=name, label=label, unit=unit, equation=self._equations.get(name, self.graph.zero),
                  start=self.started(name), nominal=nominal)
            for name, (label, unit, nominal) in self._states.items()
        ]  # fmt: skip

    def closed(self, name: str, value: Node, label: str, *, keep: bool) -> Node:
        """What stands for a computed value: itself, or an unknown where it depends on itself (or is to be kept)."""
        kept = keep and not self.eliminate and bool(value.support)
        if name not in self.names.unknowns and not kept:
            return value
        y = self.names.unknown(name)
        self.unknown(name, label, y - value, self.graph.zero)
        return y

    def unknown(self, name: str, label: str, equation: Node, start: Node) -> None:
        """An unknown, the symbol ("y", name), and what has to be zero."""
        self.unknowns.append(Algebraic(name=name, label=label, equation=equation, start=start))

    def point(self, path: str, value: object, allowed: frozenset[str]) -> tuple[Node, ...]:
        """The components of a point or direction, as many as the model has dimensions."""
        return self.names.point(path, self.d.point(value), allowed)

    def measure(self, name: str, measure: Measure) -> None:
        """A measure and its rate as signals."""
        self.add(Signal(name=name, unit=measure.unit, node=measure.value, text=measure.text))
        rate, unit = self.motion.rate(measure.value), differentiated(measure.unit)
        self.add(Signal(name=f"{name}_rate", unit=unit, node=rate, text=f"rate of {name}"))

    def count_turns(self, angle: Node, name: str) -> Node:
        """The angle plus the turns that bring it nearest to its last value, which the solver keeps."""
        last = self.graph.symbol("turn", name)
        self.turning[angle] = angle + TURN * floor((last - angle) / TURN + 0.5)
        return self.turning[angle]

    def unit_of(self, expression: str) -> str:
        """The unit of a signal, function of markers or table, or of its opposite; empty for any other expression."""
        return self._unit_of(parse(expression).root)

    def _unit_of(self, term: Term) -> str:
        if isinstance(term, Unary) and term.op == "-":
            return self._unit_of(term.operand)
        if isinstance(term, Lookup) and term.table.name in self.d.tables:
            return self.d.tables[term.table.name].y_unit
        if not isinstance(term, Name):
            return ""
        if found := take_apart(term.name):
            return found[0].unit
        return self.signals[term.name].unit if term.name in self.signals else ""


class Context:
    """What the recipe of one element may ask (`Resolve` of frames.py)."""

    def __init__(self, draft: Draft, section: str, name: str, allowed: frozenset[str]) -> None:
        self.draft, self.path, self.name, self.allowed = draft, f"{section}.{name}", name, allowed
        self.unresolved = draft.names.unresolved  # before the recipe
        self.turning: dict[str, Node] = {}  # the angles whose turns it counts

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return self.draft.point(self.path, value, self.allowed)
        return self.draft.names.value(self.path, value, self.allowed)

    def rate(self, node: Node) -> Node:
        return self.draft.motion.rate(node)

    def counted(self, key: str, measure: Measure) -> Measure:
        """Equal angles share their turns."""
        if not measure.counts:
            return measure
        angle = measure.value
        if angle not in self.draft.turning:
            self.turning[key] = self.draft.count_turns(angle, f"{self.name}.{key}")
        return Measure(value=self.draft.turning[angle], unit=measure.unit, text=measure.text)

    def locate(self, key: str, node: Node) -> None:
        self.draft.crossings.append(Crossing(name=f"{self.name}.{key}", indicator=node))

    def gap(self, key: str, gap: Gap) -> None:
        self.draft.gaps[f"force '{self.name}' ({key})"] = gap

    def table(self, name: str) -> Callable[[Node], Node]:
        return self._of_table(name, self.draft.graph.lookup)

    def integral(self, name: str) -> Callable[[Node], Node]:
        return self._of_table(name, self.draft.graph.integral)

    def _of_table(self, name: str, function: Callable[[Curve, Node], Node]) -> Callable[[Node], Node]:
        """Zero (and a finding) where there is none of that name."""
        names = self.draft.names
        try:
            return partial(function, names.curve(name))
        except ExpressionError as error:
            names.report(self.path, error)
            return lambda x: self.draft.graph.zero

    # ---- forces

    def joint(self, name: str) -> Joined:
        if name not in self.draft.joined:
            self.draft.names.unresolved += 1  # reported where the joint stands
            raise ModelError(f"joint '{name}' could not be resolved")
        return self.draft.joined[name]

    def force(self, key: str, value: Node, unit: str, text: str) -> Node:
        return self._output(key, value, unit, text, keep=True)

    def show(self, key: str, value: Node, unit: str, text: str) -> None:
        self._output(key, value, unit, text, keep=False)

    def _output(self, key: str, value: Node, unit: str, text: str, *, keep: bool) -> Node:
        name = f"{self.name}.{key}"
        node = self.draft.closed(name, value, f"force '{self.name}' {key}", keep=keep)
        self.draft.add(Signal(name=name, unit=unit, node=node, text=text))
        return node

    def state(self, key: str, start: Any, unit: str, text: str, nominal: float = 1.0) -> Node:
        name, label = f"{self.name}.{key}", f"force '{self.name}' {key}"
        self.draft.start(name, start, unit, f"{self.path}: start of {key}")
        return self.draft.state(name, label=label, unit=unit, text=text, nominal=nominal)

    def define(self, state: Node, rate: Node) -> None:
        name = state.value[1]
        self.draft.holds(name, self.draft.graph.symbol("xd", name) - rate)

    def unit(self, expression: str) -> str:
        """Of the one signal in it; a mirrored or shifted sub-model adds a sign or a number."""
        known = {name for name, _ in names(parse(expression))}
        found = self.draft.unit_of(known.pop()) if len(known) == 1 else ""
        if not found and self.draft.names.unresolved == self.unresolved:
            reason = f"must name one coordinate of a joint or body, found {expression!r}"
            self.draft.problems.append(f"{self.path}: {reason}")
        return found
