"""The equations of motion of a model by name, as people write them; must not know Modelica's words.

M a = Q - G^T lambda with index 1: every constraint row is differentiated until accelerations stand in it, and closes
what has opened at a rate k (T22.1): Phi'' + 2 k Phi' + k^2 Phi = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mbdfmu.coordinates import QUATERNION, ROTATIONS
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import LOAD
from mbdfmu.frames import Row
from mbdfmu.orientation import rotation
from mbdfmu.signals import Coordinate, SymbolicModel

_OF_LEVEL = {"velocity": "v", "acceleration": "a"}


@dataclass(frozen=True)
class Balance:
    """Inertia = force, of one coordinate."""

    coordinate: Coordinate
    inertia: Node
    force: Node


@dataclass(frozen=True)
class Held:
    """A constraint row with its derivatives, as far as it has them: `values` begins at its own level."""

    element: str  # `joint 'hinge'`
    name: str
    row: Row
    multiplier: Node
    values: tuple[Node, ...]


@dataclass(frozen=True)
class Turning:
    """The rates of a quaternion, dE/dt = value, which keep its length without force (T22.2)."""

    body: str
    rates: tuple[Node, ...]
    excess: Node  # 1 - e.e


class Balances:
    """All equations of a model; rows numbered in `dropped` repeat others and are left out."""

    def __init__(self, model: SymbolicModel, dropped: frozenset[int]) -> None:
        self._m = model
        self._graph = model.graph
        self._forces: dict[str, list[Node]] = {c.name: [] for c in model.coordinates}
        self._inertia: dict[str, list[Node]] = {c.name: [] for c in model.coordinates}
        self._measures: dict[Node, list[tuple[Node, Node]]] = {}  # by a symbol in them, with symbols for them
        for measure, symbol in _measures(model):
            self._measures.setdefault(min(measure.support, key=lambda s: s.index), []).append((measure, symbol))
        self.silent: list[Node] = []  # the multipliers of rows that are left out, or rest
        self.left_out: list[tuple[str, str, Row]] = []  # rows numbered in `dropped`, with the element and its name
        self.held = list(self._rows(dropped))
        self._bodies()
        self._loads()
        self._constraint_forces()
        self._user_coordinates()

    def balances(self) -> Iterator[Balance]:
        """One for each coordinate, in order."""
        for c in self._m.coordinates:
            inertia, force = (self._graph.sum(terms[c.name]) for terms in (self._inertia, self._forces))
            yield Balance(c, inertia, force)

    def turnings(self) -> Iterator[Turning]:
        """The orientations of spatial bodies."""
        if self._m.dimensions == 2:
            return
        for body in self._m.bodies:
            e = [self._graph.symbol("q", f"{body.name}.{k}") for k in QUATERNION]
            rates = tuple(self._m.rate(one) for one in e)
            yield Turning(body.name, rates, 1.0 - self._graph.sum(one * one for one in e))

    # ---- constraints

    def _rows(self, dropped: frozenset[int]) -> Iterator[Held]:
        number = 0
        for constraint in self._m.constraints:
            for row in (row for primitive in constraint.primitives for row in primitive.rows):
                multiplier = self._graph.symbol("lam", f"{constraint.label} ({row.direction})")
                if constraint.active and number not in dropped:
                    values = [row.value]
                    for _ in range({"position": 2, "velocity": 1, "acceleration": 0}[row.level]):
                        values.append(self._rate(values[-1]))
                    yield Held(constraint.label, constraint.name, row, multiplier, tuple(values))
                else:
                    self.silent.append(multiplier)
                    if constraint.active:
                        self.left_out.append((constraint.label, constraint.name, row))
                number += 1

    def _rate(self, value: Node) -> Node:
        """The derivative, in which those of joints' coordinates stay what they are: variables, where there are some."""
        own = sorted(value.support, key=lambda s: s.index)
        near = {measure: symbol for s in own for measure, symbol in self._measures.get(s, ())}
        inside = self._graph.substitute([value], near)[0]
        names = {symbol: measure for measure, symbol in near.items() if symbol in inside.support}
        slopes = [self._graph.diff(inside, symbol) * self._m.rate(measure) for symbol, measure in names.items()]
        return self._graph.substitute([self._graph.sum([self._m.rate(inside), *slopes])], names)[0]

    def _constraint_forces(self) -> None:
        for held in self.held:
            for name, entry in gradient(self._m, held.row):
                self._forces[name].append(-held.multiplier * entry)

    # ---- what accelerates and what drives

    def _bodies(self) -> None:
        of_body: dict[str, list[Coordinate]] = {}
        for c in self._m.coordinates:
            of_body.setdefault(c.node, []).append(c)
        for body in self._m.bodies:
            own = of_body[body.name]
            place = own[: len(self._m.gravity)]
            for c, g in zip(place, self._m.gravity, strict=True):
                self._inertia[c.name].append(body.mass * self._graph.symbol("a", c.name))
                self._forces[c.name].append(body.mass * g)
            self._rotation(own[len(place) :], body.inertia)

    def _rotation(self, own: Sequence[Coordinate], inertia: Sequence[Node]) -> None:
        """J alpha, and -omega x J omega in space."""
        alpha = [self._graph.symbol("a", c.name) for c in own]
        if len(own) == 1:
            self._inertia[own[0].name].append(inertia[0] * alpha[0])
            return
        omega = [self._graph.symbol("v", c.name) for c in own]
        xx, yy, zz, xy, xz, yz = inertia
        tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        moment = [self._graph.sum(j * a for j, a in zip(row, alpha, strict=True)) for row in tensor]
        spin = [self._graph.sum(j * w for j, w in zip(row, omega, strict=True)) for row in tensor]
        for k, c in enumerate(own):
            m, n = (k + 1) % 3, (k + 2) % 3
            self._inertia[c.name].append(moment[k])
            self._forces[c.name].append(omega[n] * spin[m] - omega[m] * spin[n])

    def _loads(self) -> None:
        """Every effort along its rate (T4.0)."""
        for force in self._m.forces:
            for effort in force.load.efforts:
                for name, slope in slopes(self._m, effort.rate):
                    self._forces[name].append(effort.effort * slope)

    def _user_coordinates(self) -> None:
        """M(q) a, the velocity terms that follow from it (T2.5), and given forces."""
        m, symbol = self._m, self._graph.symbol
        full = {**m.mass_matrix, **{(b, a): n for (a, b), n in m.mass_matrix.items()}}
        for (a, b), entry in full.items():
            self._inertia[a].append(entry * symbol("a", b))
            if m.description.velocity_terms == "derived":
                for c in m.motion.of(entry):
                    slope = m.motion.diff(entry, c)
                    self._forces[a].append(-(slope * symbol("v", c) * symbol("v", b)))
                    self._forces[c].append(0.5 * slope * symbol("v", a) * symbol("v", b))
        for name, force in m.generalized_forces.items():
            self._forces[name].append(force)


def _measures(model: SymbolicModel) -> Iterator[tuple[Node, Node]]:
    """The free coordinates of joints and their rates, unless they are symbols, with symbols for them."""
    for name, joined in model.joined.items():
        for word in (word for key in joined.free for word in (key, f"{key}_rate")):
            node = model.signals[f"{name}.{word}"].node
            if node.op != LOAD:
                yield node, model.graph.symbol("measure", f"{name}.{word}")


def rotation_matrix(model: SymbolicModel, body: str) -> dict[Node, Node]:
    """The entries of a body's rotation matrix, by the quaternion (T7.1)."""
    symbol = model.graph.symbol
    e0, e1, e2, e3 = (symbol("q", f"{body}.{k}") for k in QUATERNION)
    rows = rotation((e0, e1, e2, e3))
    return {symbol("r", f"{body}.r{i}{j}"): rows[i][j] for i in range(3) for j in range(3)}


def is_rotation(c: Coordinate) -> bool:
    """Whether it is a small rotation of a spatial body, which has no symbol for its value."""
    return c.name.rpartition(".")[2] in ROTATIONS and c.name.startswith(f"{c.node}.")


def gradient(model: SymbolicModel, row: Row) -> list[tuple[str, Node]]:
    """The row of G: coordinates and entries."""
    if row.level == "position":
        return [(name, model.motion.diff(row.value, name)) for name in model.motion.of(row.value)]
    return slopes(model, row.value, _OF_LEVEL[row.level])


def slopes(model: SymbolicModel, node: Node, space: str = "v") -> list[tuple[str, Node]]:
    """Of what is linear in velocities, or accelerations (T4.0): coordinates and factors."""
    symbols = sorted((s for s in node.support if s.value[0] == space), key=lambda s: s.index)
    return [(s.value[1], model.graph.diff(node, s)) for s in symbols]
