"""What acts on bodies but is no joint of the tree: forces and constraint rows; must not know Modelica's text.

A force that the library has becomes its component between two markers. Everything else acts through a local model on
each of its bodies, at the centre of mass, with the force and torque that follow from the element's own equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mbdfmu.counterparts import MULTIBODY, Counterpart, Equations, Library, Local, axis_force, axis_torque
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.frames import Placed, Row
from mbdfmu.modelica.balances import gradient, slopes
from mbdfmu.modelica.multibody.mechanism import Mechanism, in_body
from mbdfmu.modelica.multibody.parts import Component, vector
from mbdfmu.modelica.multibody.tree import Settled, steady
from mbdfmu.modelica.sheet import Part, Statement
from mbdfmu.signals import ForceTerm
from mbdfmu.vectors import Components, unit_of

_ABREAST = 4  # loads on one body that stand beside each other
_DRIVES = {"displacement": axis_force(), "angle": axis_torque()}  # by coordinate of a joint with an axis
Pull = tuple[Node, Sequence[tuple[str, Node]]]  # an effort, and its slopes by coordinate
LOAD = "Load"
LOAD_TEXT = f"""\
  model {LOAD} "Force and torque on a body at its centre of mass"
    Modelica.Blocks.Interfaces.RealInput force[3](each unit="N") "in ground axes";
    Modelica.Blocks.Interfaces.RealInput torque[3](each unit="N.m") "in the axes of the body";
    {MULTIBODY}.Interfaces.Frame_b frame_b
      annotation(Placement(transformation(extent={{{{84, -16}}, {{116, 16}}}})));
  equation
    frame_b.f = -{MULTIBODY}.Frames.resolve2(frame_b.R, force);
    frame_b.t = -torque;
    annotation(Icon(graphics={{Line(points={{{{-100, 0}}, {{80, 0}}}}, color={{0, 127, 0}}, thickness=1,
          arrow={{Arrow.None, Arrow.Filled}}), Text(extent={{{{-150, 60}}, {{150, 20}}}}, textString="%name")}}));
  end {LOAD};
"""


class Acting:
    """Loads on bodies, and forces of the library."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism, self._m = mechanism, mechanism.m
        self._settled = Settled(mechanism.m)
        self._graph, self._diagram = mechanism.graph, mechanism.diagram
        self._body = {c.name: c.node for c in self._m.coordinates if c.node in self._m.description.bodies}
        self._own: dict[str, list[str]] = {}
        for c in self._m.coordinates:
            self._own.setdefault(c.node, []).append(c.name)
        self._ways = dict(self._find_ways())

    def force(self, term: ForceTerm) -> Iterator[Statement]:
        """The equations of one force element."""
        element: Any = self._m.description.forces[term.name]
        fact = element.counterpart(self._m.dimensions)
        if fact is None:
            raise ModelError(
                f"force '{term.name}': type '{element.type_name}' does not say what it is in Modelica; give the class "
                "an entry `modelica`, or export in style equations, which has it"
            )
        if self._is_component(term, element, fact):
            yield from self._component(term, element, fact)
            return
        yield from self._loads(term.name, [(e.effort, slopes(self._m, e.rate)) for e in term.load.efforts])

    def row(self, name: str, rows: Iterable[tuple[Node, Row]]) -> Iterator[Statement]:
        """What constraint rows do with their multipliers: those that drive a joint of the tree are components."""
        rest: list[Pull] = []
        for multiplier, row in rows:
            entries = gradient(self._m, row)
            if way := self._ways.get(frozenset(entries)):
                yield from self._drive(name, *way, -multiplier)
            else:
                rest.append((-multiplier, entries))
        yield from self._loads(name, rest)

    def _is_component(self, term: ForceTerm, element: Any, fact: Counterpart) -> bool:
        if isinstance(fact, Equations) or not (all(map(steady, term.ends)) and self._settled(element, fact)):
            return False
        if not (isinstance(fact, Library) and fact.turns_axis and self._m.dimensions == 3):
            return True
        return self._mechanism.keeps_axis(term.ends[0], term.ends[1], self._mechanism.resolve(element.axis))

    def _find_ways(self) -> Iterator[tuple[frozenset[tuple[str, Node]], tuple[str, str]]]:
        """The coordinates of the tree's joints along or about an axis, by how bodies move with them."""
        for joint in self._mechanism.tree.joints:
            joined = self._m.joined[joint]
            for key in _DRIVES if joined.axis else ():
                if key in joined.free:
                    value, rate = (self._m.signals[f"{joint}.{word}"].node for word in (key, f"{key}_rate"))
                    entries = [(name, self._m.motion.diff(value, name)) for name in self._m.motion.of(value)]
                    # Rows at velocity level have the entries of the rate, which may be written otherwise.
                    yield from ((frozenset(one), (joint, key)) for one in (entries, slopes(self._m, rate)))

    def _drive(self, name: str, joint: str, key: str, effort: Node) -> Iterator[Statement]:
        """An effort along a coordinate of a joint."""
        fact, joined = _DRIVES[key], self._m.joined[joint]
        component = self._between(name, fact, {}, joined.ends)
        across = self._m.dimensions == 2 and fact.turns_axis
        axis = (self._graph.zero, self._graph.zero, self._graph.one) if across else joined.axis
        for port in fact.inputs:
            yield f"{component}.{port} = ", *self._directed(effort, fact, joined.ends[0], axis)

    def _loads(self, name: str, pulls: Iterable[Pull]) -> Iterator[Statement]:
        """A component for each body that is touched, and what it does; user-written coordinates are no bodies."""
        terms: dict[str, list[Node]] = {}
        for effort, directions in pulls:
            for coordinate, slope in directions:
                terms.setdefault(coordinate, []).append(effort * slope)
        forces = {coordinate: self._graph.sum(every) for coordinate, every in terms.items()}
        bodies = dict.fromkeys(self._body[key] for key in forces if key in self._body)
        for body in bodies:
            entries: list[Part] = [forces.get(key, "0") for key in self._own[body]]
            if self._m.dimensions == 2:
                entries = [entries[0], entries[1], "0", "0", "0", entries[2]]
            component = self._load(name if len(bodies) == 1 else f"{name}.on.{body}", body)
            self._diagram.connect(f"{component}.frame_b", self._mechanism.base(body))
            yield f"{component}.force = ", *vector(*entries[:3])
            yield f"{component}.torque = ", *vector(*entries[3:])

    def _load(self, name: str, body: str) -> str:
        """Left of its body, as high up as there is a place."""
        own = self._mechanism.column(body)
        column = min((own - k for k in range(1, _ABREAST + 1)), key=self._mechanism.depth)
        place = column, self._mechanism.below(column)
        return self._diagram.add(Component(self._mechanism.names.new(name), LOAD, {}, place))

    # ---- forces of the library

    def _component(self, term: ForceTerm, element: Any, fact: Library | Local) -> Iterator[Statement]:
        resolve, signals = self._mechanism.resolve, self._m.signals
        given: dict[str, Statement] = {key: (resolve(getattr(element, f)),) for key, f in fact.parameters.items()}
        name = self._between(term.name, fact, given, term.ends)
        if isinstance(fact, Local):
            yield f"{name}.{fact.input} = ", self._graph.sum(effort.effort for effort in term.load.efforts)
            return
        for port, word in fact.inputs.items():
            key = f"{term.name}.{word}"
            if fact.axis:
                axis = resolve(getattr(element, fact.axis))
                yield f"{name}.{port} = ", *self._directed(signals[key].node, fact, term.ends[0], axis)
            elif key in signals:  # a torque of the plane
                yield f"{name}.{port} = ", *vector("0", "0", signals[key].node)
            else:
                components = [signals[f"{key}.{k}"].node if f"{key}.{k}" in signals else "0" for k in "xyz"]
                yield f"{name}.{port} = ", *vector(*components)

    def _between(self, name: str, fact: Library | Local, given: dict[str, Statement], ends: Sequence[Placed]) -> str:
        """A component between frames i and j, which may have a third one for its axes; returns its name."""
        i, j = ends[:2]
        if isinstance(fact, Library) and fact.inputs:
            where = f"{MULTIBODY}.Types.ResolveInFrameAB"
            given["resolveInFrame"] = (f"{where}.frame_resolve" if len(ends) > 2 else f"{where}.frame_a",)
        column = self._mechanism.column(j.body if j.body in self._own else i.body) - 1
        around = column - 1, column, column + 1
        row = self._mechanism.below(*around)
        component = self._diagram.add(Component(self._mechanism.names.new(name), fact.name, given, (column, row)))
        ports = [(i, fact.connectors[0], "i", (column - 1, row)), (j, fact.connectors[1], "j", (column + 1, row))]
        if len(ends) > 2:
            ports.append((ends[2], "frame_resolve", "frame", (column - 1, self._mechanism.below(*around))))
        for frame, port, end, place in ports:
            if isinstance(fact, Library) and fact.turns_axis:
                connector = self._mechanism.base(frame.body)  # a torque is the same wherever it acts
            else:
                connector = self._mechanism.attach(frame, f"{name}.{end}", place, right=end == "j")
            self._diagram.connect(connector, f"{component}.{port}")
        return component

    def _directed(self, effort: Node, fact: Library, frame: Placed, axis: Components) -> Statement:
        """An effort along or about an axis of a frame, in the axes of what the component is attached to."""
        direction = unit_of(axis)
        if fact.turns_axis:
            direction = in_body(frame, direction)
        return vector(*(effort * a for a in direction), *["0"] * (3 - len(direction)))
