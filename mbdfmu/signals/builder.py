"""Resolves a description section by section, so that names exist before they are used; must not know any formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from mbdfmu.collecting import without_collection
from mbdfmu.description import GROUND, Coordinate, Description, Rest
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, evaluate, less, maximum, select, sqrt
from mbdfmu.resolution import ANY, PARAMETERS
from mbdfmu.signals import table
from mbdfmu.signals.bounds import bounded
from mbdfmu.signals.diagram import Diagram
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.elements import Elements
from mbdfmu.signals.energy import WHOLE, Energies, add_energies
from mbdfmu.signals.measuring import misfits
from mbdfmu.signals.plane import Plane
from mbdfmu.signals.space import Space
from mbdfmu.signals.switching import Switching
from mbdfmu.signals.table import RigidBody, Signal, SymbolicModel
from mbdfmu.units import differentiated, unit

_NO_LENGTH = 1e-18  # m2; below lies the rounding of cos(90*deg)


@without_collection()
def tabulate(description: Description, *, eliminate: bool = True) -> SymbolicModel:
    """Resolve every name of a description; a ModelError lists all that cannot be resolved.

    `eliminate=False` keeps every variable and every force as an unknown of its own ([Negrut05] eqs. 8b, 8c).
    """
    return _tabulated(Rest(description, frozenset()), eliminate)


def unresolved(rest: Rest) -> list[str]:
    """What cannot be resolved in the valid part of a description."""
    try:
        _tabulated(rest, eliminate=True)
    except ModelError as error:
        return error.problems
    return []


def _tabulated(rest: Rest, eliminate: bool) -> SymbolicModel:
    try:
        return _Builder(rest.description.flat(), rest.lost, eliminate).build()
    except ModelError as error:
        raise ModelError(map(rest.description.placed, error.problems)) from None


class _Builder:
    """The sections in their order."""

    def __init__(self, description: Description, lost: frozenset[str], eliminate: bool) -> None:
        self.d, self.lost = description, lost
        self.draft = Draft(description, lost, eliminate)
        self.names, self.graph = self.draft.names, self.draft.graph
        self.geometry: Plane | Space = Plane(self.draft) if description.dimensions == 2 else Space(self.draft)
        self.elements = Elements(self.draft, self.geometry)
        self.diagram = Diagram(self.draft)

    def build(self) -> SymbolicModel:
        self._independent()
        self.geometry.add_bodies()
        self._coordinates()
        self.elements.states()
        self.diagram.states()
        self.names.settle()  # the start values
        bodies = self.geometry.weights()
        positions = [*self.geometry.position_starts(), *(self.draft.started(n) for n in self.d.coordinates)]
        velocities = [*self.geometry.velocity_starts(), *(self.draft.started(f"der({n})") for n in self.d.coordinates)]
        orientations = list(self.geometry.orientation_starts)
        self.elements.markers()
        self.elements.joints()
        self.elements.variables()
        self.elements.callbacks()
        self.diagram.outputs()
        self.elements.forces()
        self.elements.constraints()
        switching = Switching(self.draft, self.elements)
        switching.locks()
        switching.impacts()
        self.names.settle()  # the laws
        self.elements.functions()
        self.elements.state_equations()
        self.diagram.equations()
        self.elements.check_loops()
        matrix = {key: node for text, value in self.d.mass.items() for key, node in self._mass(text, value)}
        loads = {n: self.names.value(f"coordinates.{n}.force", c.force, ANY) for n, c in self.d.coordinates.items()}
        gravity = self.draft.point("gravity", self.d.gravity, PARAMETERS)
        add_energies(self.draft, self._energies(bodies, matrix, gravity), loads)
        self._outputs()
        switching.events()
        length = self._length(positions)
        bounds = bounded(self.draft)
        self._check()
        draft = self.draft
        return SymbolicModel(
            description=self.d, graph=self.graph, motion=draft.motion, signals=draft.signals,
            coordinates=draft.coordinates, bodies=bodies, gravity=gravity, position_starts=positions,
            orientation_starts=orientations, velocity_starts=velocities, constraints=draft.constraints,
            joined=draft.joined, markers=self.elements.frames,
            forces=draft.forces, states=draft.states(), unknowns=draft.unknowns, functions=draft.functions,
            bounds=bounds,
            written=draft.names.written, windings=draft.windings, sides=draft.sides, initials=draft.initials,
            crossings=draft.crossings, gaps=draft.gaps, events=draft.events, impacts=draft.impacts,
            generalized_forces={n: f for n, f in loads.items() if f is not self.graph.zero}, mass_matrix=matrix,
            length=length,
        )  # fmt: skip

    def _check(self) -> None:
        problems = self.draft.problems
        if not (self.draft.coordinates or self.draft.states() or self.lost):
            text = "the model has neither bodies nor coordinates nor states; nothing could move, add one"
            problems.append(f"bodies: {text}")
        problems += misfits(self.draft)
        if problems:
            raise ModelError(problems)

    # ---- time, parameters and inputs

    def _independent(self) -> None:
        time = self.graph.symbol("t", "time")
        self.draft.add(Signal(name="time", unit="s", node=time, causality="independent", text="simulation time"))
        for name in self.d.parameters:
            self.names.postpone(name, partial(self._parameter, name))
        self.names.settle()
        for name, i in self.d.inputs.items():
            for one, start in i.starts(name).items():
                node = self.graph.symbol("u", one)
                self.draft.add(Signal(name=one, unit=i.unit, node=node, causality="input", start=start, minimum=i.min,
                                      maximum=i.max, text=i.text, variability=_variability(i.discrete)))  # fmt: skip

    def _parameter(self, name: str) -> None:
        p = self.d.parameters[name]
        value = self.names.value(f"parameters.{name}.value", p.value, PARAMETERS)
        common: dict[str, Any] = {"unit": p.unit, "minimum": p.min, "maximum": p.max, "text": p.text}
        if value.support:
            tunable = any(
                self.d.parameters[s.value[1]].tunable for s in value.support if s.value[1] in self.d.parameters
            )
            common["variability"] = "tunable" if tunable else "fixed"
            self.draft.add(Signal(name=name, node=value, causality="calculatedParameter", **common))
        elif not math.isfinite(number := float(evaluate([value], {})[0])):
            problem = f"must be a finite number, found {p.value!r} = {number}"
            self.draft.problems.append(f"parameters.{name}.value: {problem}")
        else:
            self.draft.settable(value, name=name, variability="tunable" if p.tunable else "fixed", **common)

    # ---- user-written coordinates

    def _coordinates(self) -> None:
        for name, given in self.d.coordinates.items():
            self._coordinate(name, given)

    def _coordinate(self, name: str, given: Coordinate) -> None:
        draft, speed, label = self.draft, differentiated(given.unit), f"coordinate '{name}'"
        v, a = f"der({name})", f"der({name},2)"
        draft.coordinates.append(table.Coordinate(name=name, rate=v, label=label, node=name, unit=given.unit))
        draft.add(Signal(name=name, unit=given.unit, node=draft.motion.add_scalar(name)))
        draft.add(Signal(name=v, unit=speed, node=self.graph.symbol("v", name)))
        draft.add(Signal(name=a, unit=differentiated(speed), node=self.graph.symbol("a", name)))
        for signal, value, u in ((name, given.start, given.unit), (v, given.velocity, speed)):
            path = f"coordinates.{name}: start of {signal}"
            self.names.postpone(f"{signal}.start", partial(draft.start, signal, value, u, path))

    def _mass(self, key: str, value: float | str) -> Iterator[tuple[tuple[str, str], Node]]:
        names = key.split(",")
        node = self.names.value(f"mass.{key}", value, PARAMETERS | {"q"})
        yield (names[0], names[-1]), node

    # ---- the whole

    def _energies(
        self, bodies: list[RigidBody], matrix: dict[tuple[str, str], Node], gravity: tuple[Node, ...]
    ) -> Energies:
        pairs = [self.geometry.energies(body, gravity) for body in bodies]
        v = partial(self.graph.symbol, "v")
        written = [(0.5 if a == b else 1.0) * m * v(a) * v(b) for (a, b), m in matrix.items()]
        changes = [self.geometry.power(body, gravity) for body in bodies]
        kinetic, potential = ([pair[k] for pair in pairs] for k in (0, 1))
        return Energies(kinetic=kinetic, gravity=potential, changes=changes, written=written)

    def _outputs(self) -> None:
        for name, o in self.d.outputs.items():
            node = self.names.value(f"outputs.{name}", o.value, ANY)
            known = self.draft.unit_of(str(o.value))
            u = o.unit if o.unit is not None else known
            if known and unit(u).exponents != unit(known).exponents:
                problem = f"{o.value} is in {known}, not in {u or '1'}; leave the unit out"
                self.draft.problems.append(f"outputs.{name}: {problem}")
            if name in self.draft.signals:
                self.draft.problems.append(f"outputs.{name} {WHOLE}")
            self.draft.add(Signal(name=name, unit=unit(u).text, node=node, causality="output", text=o.text,
                                  variability=_variability(o.discrete)))  # fmt: skip

    def _length(self, positions: list[Node]) -> Node:
        """The model's length scale (T5.7): given, or the longest arm of a marker, or the start positions, or 1 m."""
        if self.d.length is not None:
            return self.names.value("length", self.d.length, PARAMETERS)
        arms = [
            self.graph.sum(s * s for s in frame.arm)
            for frame in self.draft.ends
            if frame.body != GROUND and all(symbol.value[0] == "p" for s in frame.arm for symbol in s.support)
        ]
        squares = [start * start for c, start in zip(self.draft.coordinates, positions, strict=True) if c.unit == "m"]
        longest, farthest = self._largest(arms), self._largest(squares)
        size = select(less(_NO_LENGTH, longest), longest, farthest)
        return sqrt(select(less(_NO_LENGTH, size), size, 1.0 + 0.0 * size))

    def _largest(self, nodes: list[Node]) -> Node:
        """The maximum as a balanced tree, as Graph.sum."""
        row = nodes or [self.graph.zero]
        while len(row) > 1:
            pairs = [maximum(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
            row = pairs + row[len(pairs) * 2 :]
        return row[0]


def _variability(discrete: bool) -> str:
    return "discrete" if discrete else "continuous"
