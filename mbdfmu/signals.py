"""The one table of variables: every name a user may say, with unit, causality and symbolic definition.

Expressions, results, `info`, FMI descriptions and recordings read it; nobody builds a second. Names are resolved here
and end in lowering.py, where indices begin. This module must not know indices or the solver.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mbdfmu.description import GROUND, Description, Force, Joint, Marker
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.expressions import Graph, Node, evaluate, less, maximum, select, sqrt
from mbdfmu.forces import ForceElement
from mbdfmu.frames import Frame, Load, Measure, Primitive, Row, on_body
from mbdfmu.joints import PlanarJoint
from mbdfmu.resolution import ANY, PARAMETERS, PLACES, POSITION, TIME, Names
from mbdfmu.units import differentiated, unit


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One variable of the model."""

    name: str
    unit: str
    node: Node = field(repr=False)
    causality: str = "local"  # parameter, calculatedParameter, input, output, local, independent (as in FMI)
    variability: str = "continuous"  # fixed, tunable, continuous
    start: float | None = None  # of parameters and inputs
    minimum: float | None = None
    maximum: float | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One scalar coordinate and what it starts from."""

    name: str  # of its signal, `crank.phi`
    label: str  # in messages, `body 'crank' phi`
    node: str  # what is eliminated together: the body
    unit: str
    rate: str  # name of the velocity's signal


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Constraint rows of one element, with what the solver needs to find a native kernel for them."""

    label: str  # `joint 'hinge'`
    name: str
    primitives: tuple[Primitive, ...]
    ends: tuple[str, str] | None = None  # bodies of a joint


@dataclass(frozen=True, kw_only=True)
class ForceTerm:
    """One force element: its measure, load and ends."""

    name: str
    measure: Measure
    load: Load
    ends: tuple[Frame, Frame]


@dataclass(kw_only=True)
class SymbolicModel:
    """A description with all names resolved."""

    description: Description
    graph: Graph
    signals: dict[str, Signal]
    coordinates: list[Coordinate]
    masses: list[tuple[str, Node, Node]]  # body, m, J
    gravity: tuple[Node, Node]
    constraints: list[Constraint]
    forces: list[ForceTerm]
    generalized_forces: dict[str, Node]  # on user-written coordinates
    mass_matrix: dict[tuple[str, str], Node]
    length: Node

    @property
    def parameters(self) -> list[Signal]:
        """The parameters that an instance may change, in order."""
        return [s for s in self.signals.values() if s.causality == "parameter"]

    def start_nodes(self, names: Iterable[str]) -> list[Node]:
        """The start values of positions or velocities."""
        return [self.signals[f"{name}.start"].node for name in names]

    def matching(self, pattern: str) -> list[Signal]:
        """Signals whose name fits a pattern such as `crank.*`."""
        return [s for s in self.signals.values() if fnmatch.fnmatchcase(s.name, pattern)]

    def signal(self, name: str) -> Signal:
        """The signal of that name; ModelError with the nearest one if there is none."""
        if name not in self.signals:
            raise ModelError(
                f"model '{self.description.name}' has no signal {name!r}{did_you_mean(name, self.signals)}"
            )
        return self.signals[name]

    def rate(self, node: Node) -> Node:
        """Time derivative of a position-level node."""
        return self.graph.rate(node, velocities(self.graph, node.support))


def velocities(graph: Graph, symbols: Iterable[Node]) -> dict[Node, Any]:
    """The time derivative of every symbol that has one."""
    rates: dict[Node, Any] = {}
    for s in symbols:
        space, name = s.value
        if space == "t":
            rates[s] = 1.0
        elif space in _RATE_SPACE:
            rates[s] = graph.symbol(_RATE_SPACE[space], name)
    return rates


_RATE_SPACE = {"q": "v", "v": "a", "u": "ud", "x": "xd"}


def tabulate(description: Description) -> SymbolicModel:
    """Resolve every name of a description; a ModelError lists all that cannot be resolved."""
    return _Builder(description).build()


class _Builder:
    """Resolves one description, section by section; findings are collected until the end."""

    def __init__(self, description: Description) -> None:
        self.d = description
        self.names = Names()
        self.graph = self.names.graph
        self.problems = self.names.problems
        self.signals: dict[str, Signal] = {}
        self.frames: dict[str, Frame] = {}  # of named markers
        self.ends: list[Frame] = []  # of joints and forces
        self.coordinates: list[Coordinate] = []
        self.constraints: list[Constraint] = []
        self.forces: list[ForceTerm] = []

    def build(self) -> SymbolicModel:
        d, zero = self.d, self.graph.zero
        time = self.graph.symbol("t", "time")
        self._add(Signal(name="time", unit="s", node=time, causality="independent", text="simulation time"))
        self._parameters()
        self._inputs()
        self._bodies()
        self._coordinates()
        self.names.settle()  # the start values
        masses = list(self._masses())
        self._markers()
        self._joints()
        self._measures()
        self._constraints()
        self.names.settle()  # the laws
        matrix = {key: node for text, value in d.mass.items() for key, node in self._mass(text, value)}
        loads = {n: self.names.value(f"coordinates.{n}.force", c.force, ANY) for n, c in d.coordinates.items()}
        gravity = self.names.point("gravity", d.gravity, PARAMETERS)
        self._energy(masses, matrix, gravity)
        self._outputs()
        length = self._length()
        if not self.coordinates:
            self.problems.append("bodies: the model has neither bodies nor coordinates; nothing could move, add one")
        if self.problems:
            raise ModelError(self.problems)
        return SymbolicModel(
            description=d, graph=self.graph, signals=self.signals, coordinates=self.coordinates, masses=masses,
            gravity=gravity, constraints=self.constraints, forces=self.forces,
            generalized_forces={n: f for n, f in loads.items() if f is not zero}, mass_matrix=matrix, length=length,
        )  # fmt: skip

    def _add(self, signal: Signal) -> None:
        self.signals[signal.name] = signal
        self.names.define(signal.name, signal.node)

    # ---- parameters and inputs

    def _parameters(self) -> None:
        for name in self.d.parameters:
            self.names.postpone(name, partial(self._parameter, name))
        self.names.settle()

    def _parameter(self, name: str) -> None:
        p = self.d.parameters[name]
        value = self.names.value(f"parameters.{name}.value", p.value, PARAMETERS)
        common: dict[str, Any] = {"unit": p.unit, "minimum": p.min, "maximum": p.max, "text": p.text}
        if value.support:
            tunable = any(
                self.d.parameters[s.value[1]].tunable for s in value.support if s.value[1] in self.d.parameters
            )
            variability = "tunable" if tunable else "fixed"
            self._add(Signal(name=name, node=value, causality="calculatedParameter", variability=variability, **common))
        else:
            self._settable(value, name=name, variability="tunable" if p.tunable else "fixed", **common)

    def _settable(self, value: Node, *, name: str, **properties: Any) -> None:
        """A parameter that an instance may change."""
        start, node = float(evaluate([value], {})[0]), self.graph.symbol("p", name)
        self._add(Signal(name=name, node=node, causality="parameter", start=start, **properties))

    def _start(self, name: str, value: float | str, unit_: str, path: str) -> None:
        """A start value: a parameter of its own, or computed from parameters."""
        node = self.names.value(path, value, PARAMETERS)
        properties: dict[str, Any] = {"unit": unit_, "variability": "fixed", "text": f"start value of {name}"}
        if node.support:
            self._add(Signal(name=f"{name}.start", node=node, causality="calculatedParameter", **properties))
        else:
            self._settable(node, name=f"{name}.start", **properties)

    def _inputs(self) -> None:
        for name, i in self.d.inputs.items():
            node = self.graph.symbol("u", name)
            self._add(Signal(name=name, unit=i.unit, node=node, causality="input", start=i.start, minimum=i.min,
                             maximum=i.max, text=i.text))  # fmt: skip

    # ---- what moves

    def _masses(self) -> Iterator[tuple[str, Node, Node]]:
        for name, b in self.d.bodies.items():
            path = f"bodies.{name}"
            yield (
                name,
                self.names.value(f"{path}.mass", b.mass, PARAMETERS),
                self.names.value(f"{path}.inertia", b.inertia, PARAMETERS),
            )

    def _bodies(self) -> None:
        for name, b in self.d.bodies.items():
            for k, (q, v, a, u) in enumerate(_PLANAR):
                label = f"body '{name}' {q}"
                c = Coordinate(name=f"{name}.{q}", rate=f"{name}.{v}", label=label, node=name, unit=u)
                position, velocity = (*b.position, b.angle)[k], (*b.velocity, b.omega)[k]
                self._coordinate(c, f"{name}.{a}", position, velocity, f"bodies.{name}")

    def _coordinates(self) -> None:
        for name, given in self.d.coordinates.items():
            c = Coordinate(name=name, rate=f"der({name})", label=f"coordinate '{name}'", node=name, unit=given.unit)
            self._coordinate(c, f"der({name},2)", given.start, given.velocity, f"coordinates.{name}")

    def _coordinate(
        self, c: Coordinate, acceleration: str, position: float | str, velocity: float | str, path: str
    ) -> None:
        speed = differentiated(c.unit)
        for name, space, u in ((c.name, "q", c.unit), (c.rate, "v", speed), (acceleration, "a", differentiated(speed))):
            self._add(Signal(name=name, unit=u, node=self.graph.symbol(space, c.name)))
        self.coordinates.append(c)
        for name, value, u in ((c.name, position, c.unit), (c.rate, velocity, speed)):
            self.names.postpone(f"{name}.start", partial(self._start, name, value, u, f"{path}: start of {name}"))

    def _pose(self, body: str) -> tuple[Node, Node, Node]:
        if body == GROUND:
            return self.graph.zero, self.graph.zero, self.graph.zero
        return self.names.nodes[f"{body}.x"], self.names.nodes[f"{body}.y"], self.names.nodes[f"{body}.phi"]

    def _frame(self, path: str, end: Marker | str, allowed: frozenset[str]) -> Frame:
        if isinstance(end, str) and end in self.frames:
            self._check_place(path, end, allowed)
            return self.frames[end]
        marker = self.d.marker(end)
        at = self.names.point(f"{path}.at", marker.at, allowed)
        return on_body(
            marker.body, self._pose(marker.body), at, self.names.value(f"{path}.angle", marker.angle, allowed)
        )

    def _check_place(self, path: str, marker: str, allowed: frozenset[str]) -> None:
        frame = self.frames[marker]
        for s in sorted(frame.sx.support | frame.sy.support | frame.turn.support, key=lambda s: s.index):
            if s.value[0] not in allowed:
                problem = f"marker '{marker}' moves with the input '{s.value[1]}'; only forces may act on such a marker"
                self.problems.append(f"{path}: {problem}")

    def _both_ends(self, path: str, element: Joint | Force, allowed: frozenset[str]) -> tuple[Frame, Frame]:
        i, j = (self._frame(f"{path}.{end}", getattr(element, end), allowed) for end in ("i", "j"))
        self.ends += [i, j]
        return i, j

    def _markers(self) -> None:
        for name in self.d.markers:
            frame = self.frames[name] = self._frame(f"markers.{name}", name, PLACES)
            for place, node, u in (("x", frame.x, "m"), ("y", frame.y, "m"), ("phi", frame.angle, "rad")):
                self._add(Signal(name=f"{name}.{place}", unit=u, node=node))
            for place, node, u in (("vx", frame.x, "m/s"), ("vy", frame.y, "m/s"), ("omega", frame.angle, "rad/s")):
                self._add(Signal(name=f"{name}.{place}", unit=u, node=self._rate(node)))

    def _rate(self, node: Node) -> Node:
        return self.graph.rate(node, velocities(self.graph, node.support))

    # ---- what holds and drives

    def _joints(self) -> None:
        for name, joint in self.d.joints.items():
            if not isinstance(joint, PlanarJoint):
                raise ModelError(f"joints.{name}: type '{joint.type_name}' cannot be used in planar models")
            path = f"joints.{name}"
            i, j = self._both_ends(path, joint, TIME)
            resolve = self.names.resolver(path, TIME)
            primitives = joint.primitives(i, j, resolve)
            for key, measure in joint.free(i, j, resolve).items():
                self._measure(f"{name}.{key}", measure)
            self._hold(name, f"joint '{name}'", primitives, (i.body, j.body))

    def _measure(self, name: str, measure: Measure) -> None:
        self._add(Signal(name=name, unit=measure.unit, node=measure.value, text=measure.text))
        rate = self._rate(measure.value)
        self._add(Signal(name=f"{name}_rate", unit=differentiated(measure.unit), node=rate, text=f"rate of {name}"))

    def _hold(
        self, name: str, label: str, primitives: tuple[Primitive, ...], ends: tuple[str, str] | None = None
    ) -> None:
        """Constraint rows and their reactions."""
        for row in (row for primitive in primitives for row in primitive.rows):
            reaction = row.sign * self.graph.symbol("lam", f"{label} ({row.direction})")
            u, text = "N" if row.unit == "m" else "N.m", f"{label}: {row.text}"
            self._add(Signal(name=f"{name}.reaction.{row.reaction}", unit=u, node=reaction, text=text))
        self.constraints.append(Constraint(label=label, name=name, primitives=primitives, ends=ends))

    def _measures(self) -> None:
        """Lengths of forces come before their laws, so that every law may use every length."""
        for name, force in self.d.forces.items():
            if not isinstance(force, ForceElement):
                raise ModelError(f"forces.{name}: type '{force.type_name}' cannot be used in planar models")
            i, j = self._both_ends(f"forces.{name}", force, PLACES)
            measure = force.measure(i, j)
            self._measure(f"{name}.{'length' if measure.unit == 'm' else 'angle'}", measure)
            self.names.postpone(_force_signal(name, measure), partial(self._force, name, force, i, j, measure))

    def _force(self, name: str, force: ForceElement, i: Frame, j: Frame, measure: Measure) -> None:
        load = force.load(i, j, self.names.resolver(f"forces.{name}", ANY), self._rate)
        law, u = load.spring + load.actuator, "N" if measure.unit == "m" else "N.m"
        signal = _force_signal(name, measure)
        self._add(
            Signal(name=signal, unit=u, node=law, text=f"force '{name}', positive towards a larger {measure.unit}")
        )
        self._add(Signal(name=f"{name}.energy", unit="J", node=load.energy, text="stored in the spring"))
        self._add(
            Signal(
                name=f"{name}.power",
                unit="W",
                node=law * self._rate(measure.value),
                text="of the element on what moves with its ends",
            )
        )
        self.forces.append(ForceTerm(name=name, measure=measure, load=load, ends=(i, j)))

    def _constraints(self) -> None:
        for name, m in self.d.motions.items():
            of = self.names.value(f"motions.{name}.of", m.of, POSITION)
            value = of - self.names.value(f"motions.{name}.value", m.value, TIME)
            u = self._unit_of(m.of) if m.unit is None else m.unit
            if not u:
                self.problems.append(f'motions.{name}: the unit of {m.of!r} is not known; give "unit": "m" or "rad"')
            kind = "rad" if u == "rad" else "m"
            self._hold(
                name,
                f"motion '{name}'",
                (Primitive(rows=(Row(direction="drive", value=value, unit=kind, reaction="force", text=_WORK),)),),
            )
        for name, c in self.d.constraints.items():
            value = self.names.value(f"constraints.{name}", c.value, POSITION)
            if not any(s.value[0] == "q" for s in value.support) and not self.problems:
                self.problems.append(f"constraints.{name}: holds no coordinate; name at least one in the expression")
            kind = "rad" if c.unit == "rad" else "m"
            row = Row(direction="value", value=value, unit=kind, reaction="force", text=_WORK)
            self._hold(name, f"constraint '{name}'", (Primitive(rows=(row,)),))

    def _unit_of(self, text: str) -> str:
        signal = self.signals.get(text.strip())
        return signal.unit if signal else ""

    def _mass(self, key: str, value: float | str) -> Iterator[tuple[tuple[str, str], Node]]:
        names = key.split(",")
        node = self.names.value(f"mass.{key}", value, PARAMETERS | {"q"})
        yield (names[0], names[-1]), node

    # ---- the whole

    def _energy(
        self, masses: list[tuple[str, Node, Node]], matrix: dict[tuple[str, str], Node], gravity: tuple[Node, Node]
    ) -> None:
        g, n = self.graph, self.names.nodes
        kinetic, potential = [], [f.load.energy for f in self.forces]
        for body, m, inertia in masses:
            vx, vy, w = n[f"{body}.vx"], n[f"{body}.vy"], n[f"{body}.omega"]
            kinetic.append(0.5 * (m * (vx * vx + vy * vy) + inertia * w * w))
            potential.append(-m * (gravity[0] * n[f"{body}.x"] + gravity[1] * n[f"{body}.y"]))
        for (a, b), m in matrix.items():
            kinetic.append((0.5 if a == b else 1.0) * m * g.symbol("v", a) * g.symbol("v", b))
        self._add(Signal(name="energy.kinetic", unit="J", node=g.sum(kinetic), text="of all bodies and coordinates"))
        text = "gravity on bodies and springs; forces on user-written coordinates have no known potential"
        self._add(Signal(name="energy.potential", unit="J", node=g.sum(potential), text=text))

    def _outputs(self) -> None:
        for name, o in self.d.outputs.items():
            node = self.names.value(f"outputs.{name}", o.value, ANY)
            known = self._unit_of(str(o.value))
            u = o.unit if o.unit is not None else known
            if known and unit(u).exponents != unit(known).exponents:
                self.problems.append(f"outputs.{name}: {o.value} is in {known}, not in {u or '1'}; leave the unit out")
            self._add(Signal(name=name, unit=unit(u).text, node=node, causality="output", text=o.text))

    def _length(self) -> Node:
        """The model's length scale (T5.7): given, or the longest arm of a marker, or the start positions, or 1 m."""
        if self.d.length is not None:
            return self.names.value("length", self.d.length, PARAMETERS)
        arms = [
            frame.sx * frame.sx + frame.sy * frame.sy
            for frame in self.ends
            if frame.body != GROUND and all(s.value[0] == "p" for s in frame.sx.support | frame.sy.support)
        ]
        starts = [self.names.nodes.get(f"{c.name}.start", self.graph.zero) for c in self.coordinates if c.unit == "m"]
        longest, farthest = self._largest(arms), self._largest([start * start for start in starts])
        size = select(less(_NO_LENGTH, longest), longest, farthest)
        return sqrt(select(less(_NO_LENGTH, size), size, 1.0 + 0.0 * size))

    def _largest(self, nodes: list[Node]) -> Node:
        """The maximum as a balanced tree, as Graph.sum."""
        row = nodes or [self.graph.zero]
        while len(row) > 1:
            pairs = [maximum(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
            row = pairs + row[len(pairs) * 2 :]
        return row[0]


def _force_signal(name: str, measure: Measure) -> str:
    return f"{name}.{'force' if measure.unit == 'm' else 'torque'}"


_NO_LENGTH = 1e-18  # m2; below lies the rounding of cos(90*deg)
_WORK = "generalised force, towards a larger value"
_PLANAR = (("x", "vx", "ax", "m"), ("y", "vy", "ay", "m"), ("phi", "omega", "alpha", "rad"))
