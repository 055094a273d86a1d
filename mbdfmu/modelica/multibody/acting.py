"""What acts on bodies but is no joint of the tree: forces and constraint rows; must not know Modelica's text.

A force that the library has becomes its component between two markers. Everything else acts through a local model on
each of its bodies, at the centre of mass, with the force and torque that follow from the element's own equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mbdfmu.counterparts import MULTIBODY, Counterpart, Equations, Library, Local
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.modelica.balances import gradient
from mbdfmu.modelica.multibody.mechanism import Mechanism, in_body
from mbdfmu.modelica.multibody.parts import Component, vector
from mbdfmu.modelica.multibody.tree import Settled, steady
from mbdfmu.modelica.sheet import Part, Statement
from mbdfmu.signals import ForceTerm
from mbdfmu.vectors import unit_of

_ABREAST = 4  # loads on one body that stand beside each other
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
        yield from self.loads(term.name, self._pushed(term))

    def _is_component(self, term: ForceTerm, element: Any, fact: Counterpart) -> bool:
        if isinstance(fact, Equations) or not (all(map(steady, term.ends)) and self._settled(element, fact)):
            return False
        if not (isinstance(fact, Library) and fact.turns_axis and self._m.dimensions == 3):
            return True
        return self._mechanism.keeps_axis(term.ends[0], term.ends[1], self._mechanism.resolve(element.axis))

    def _pushed(self, term: ForceTerm) -> dict[str, Node]:
        """Every effort along its rate (T4.0), by coordinate."""
        found: dict[str, list[Node]] = {}
        for effort in term.load.efforts:
            for v in sorted((s for s in effort.rate.support if s.value[0] == "v"), key=lambda s: s.index):
                found.setdefault(v.value[1], []).append(effort.effort * self._graph.diff(effort.rate, v))
        return {name: self._graph.sum(terms) for name, terms in found.items()}

    def row(self, name: str, pulls: Iterable[tuple[Node, Any]]) -> Iterator[Statement]:
        """The loads of constraint rows with their multipliers."""
        found: dict[str, list[Node]] = {}
        for multiplier, row in pulls:
            for coordinate, entry in gradient(self._m, row):
                found.setdefault(coordinate, []).append(-multiplier * entry)
        yield from self.loads(name, {key: self._graph.sum(terms) for key, terms in found.items()})

    def loads(self, name: str, forces: Mapping[str, Node]) -> Iterator[Statement]:
        """A component for each body that is touched, and what it does; user-written coordinates are no bodies."""
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
        resolve = self._mechanism.resolve
        given: dict[str, Statement] = {key: (resolve(getattr(element, f)),) for key, f in fact.parameters.items()}
        resolved = getattr(element, "frame", None)
        if isinstance(fact, Library) and fact.inputs:
            where = f"{MULTIBODY}.Types.ResolveInFrameAB"
            given["resolveInFrame"] = (f"{where}.frame_resolve" if resolved is not None else f"{where}.frame_a",)
        i, j = term.ends[0], term.ends[1]
        column = self._mechanism.column(j.body if j.body in self._own else i.body) - 1
        around = column - 1, column, column + 1
        row = self._mechanism.below(*around)
        name = self._diagram.add(Component(self._mechanism.names.new(term.name), fact.name, given, (column, row)))
        ends = [(i, fact.connectors[0], "i", (column - 1, row)), (j, fact.connectors[1], "j", (column + 1, row))]
        if resolved is not None:
            ends.append((term.ends[2], "frame_resolve", "frame", (column - 1, self._mechanism.below(*around))))
        for frame, port, end, place in ends:
            if isinstance(fact, Library) and fact.turns_axis:
                connector = self._mechanism.base(frame.body)  # a torque is the same wherever it acts
            else:
                connector = self._mechanism.attach(frame, f"{term.name}.{end}", place, right=end == "j")
            self._diagram.connect(connector, f"{name}.{port}")
        if isinstance(fact, Local):
            yield f"{name}.{fact.input} = ", self._graph.sum(effort.effort for effort in term.load.efforts)
            return
        for port, key in fact.inputs.items():
            axis = unit_of(resolve(getattr(element, fact.axis))) if fact.axis else ()
            if fact.turns_axis:
                axis = in_body(i, axis)
            yield f"{name}.{port} = ", *vector(*self._components(f"{term.name}.{key}", axis))

    def _components(self, key: str, axis: Sequence[Node]) -> list[Part]:
        """x, y, z of what is along an axis or has components; a torque of the plane is one about z."""
        signals = self._m.signals
        if axis:
            return [*(signals[key].node * a for a in axis), *["0"] * (3 - len(axis))]
        if key in signals:
            return ["0", "0", signals[key].node]
        return [signals[f"{key}.{k}"].node if f"{key}.{k}" in signals else "0" for k in "xyz"]
