"""A model with components of Modelica.Mechanics.MultiBody; must not know joints or forces by name, nor files.

What the library has becomes its components (mechanism.py, acting.py); everything else stands as equations, written with
the variables of those components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mbdfmu.coordinates import QUATERNION
from mbdfmu.counterparts import Local
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import LOAD as SYMBOL
from mbdfmu.modelica.balances import Balances, Held
from mbdfmu.modelica.freedoms import Freedoms
from mbdfmu.modelica.icon import icon, port_extent
from mbdfmu.modelica.laws import Laws, refused
from mbdfmu.modelica.multibody.acting import LOAD, LOAD_TEXT, Acting
from mbdfmu.modelica.multibody.beginning import Beginning
from mbdfmu.modelica.multibody.independent import choose, labels, numbered
from mbdfmu.modelica.multibody.mechanism import WORLD, Mechanism
from mbdfmu.modelica.multibody.sensors import carried, reactions, watch
from mbdfmu.modelica.multibody.tree import spanning_tree
from mbdfmu.modelica.multibody.types import SI, typed
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import INDENT
from mbdfmu.signals import SymbolicModel

PORTS = {causality: f"Modelica.Blocks.Interfaces.Real{causality.capitalize()}" for causality in ("input", "output")}
_COMPONENTS, _OWN = "bodies, joints and forces", "coordinates of the model"


def written(subject: Subject) -> str:
    """The text of the model in style `multibody`; ModelError with all elements that it cannot say."""
    model = subject.model
    if problems := [*refused(model), *_unsaid(model)]:
        raise ModelError(problems)
    return _Collector(subject).text()


def _unsaid(model: SymbolicModel) -> Iterator[str]:
    """Elements of types that do not say what they are in Modelica."""
    d = model.description
    for kind, elements in (("joint", d.joints), ("force", d.forces)):
        for name, element in elements.items():
            if getattr(element, "modelica", None) is None:
                cure = "give its class an entry `modelica`, or export in style equations, which has all elements"
                yield f"{kind} '{name}': type '{element.type_name}' does not say what it is in Modelica; {cure}"


class _Collector:
    """Goes through the model: components first, then what they leave to equations."""

    def __init__(self, subject: Subject) -> None:
        self.m = subject.model
        self.graph = self.m.graph
        tree = spanning_tree(self.m)
        choice = choose(self.m, tree, Beginning(self.m, subject.start), subject.start)
        self.tree = tree.without(choice.written_out)
        forces: list[Any] = list(self.m.description.forces.values())
        facts = [*self.tree.local.values(), *(force.counterpart(self.m.dimensions) for force in forces)]
        self.classes = {LOAD: LOAD_TEXT} | {fact.name: fact.text for fact in facts if isinstance(fact, Local)}
        places, speeds = (frozenset(key for _, key in keys) for keys in (choice.dependent, choice.rates))
        guesses = Freedoms(places, speeds, ())
        self.laws = Laws(subject, typed, [WORLD, "SI", *self.classes], numbers=True, port=self._port,
                         freedoms=guesses if choice.closes else None)  # fmt: skip
        self.sheet = self.laws.sheet
        self.laws.given()
        self.sheet.reserve(_COMPONENTS)
        self.begin = Beginning(self.m, subject.start, choice.dependent, choice.rates)
        read = list(self._read(subject))
        self.mechanism = Mechanism(self.m, self.tree, self.begin, self.sheet.names, self.sheet.known, carried(read))
        watch(self.mechanism, [s.node for s in self.laws.wanted])
        library = labels((*self.tree.joints, *self.tree.closing, *self.tree.local))
        skipped = {k for k, label, *_ in numbered(self.m) if label in library} | choice.repeated
        self.left_out = [f"{label} ({row.direction})" for k, label, row, _ in numbered(self.m) if k in choice.repeated]
        self.balances = Balances(self.m, frozenset(skipped))
        self.acting = Acting(self.mechanism)
        self._seen: set[Node] = set()

    def text(self) -> str:
        """Everything, in the order in which it is read."""
        self._local_joints()
        self._own_coordinates()
        self.laws.states()
        self.laws.unknowns()
        self._held()
        for force in self.m.forces:
            section = self.sheet.section(f"force '{force.name}'", force.name)
            for statement in self.acting.force(force):
                section.say(*statement)
        self.laws.events()
        diagram = self.mechanism.diagram
        for statement in self.mechanism.starts:
            self.sheet.initial.say(*statement)
        for component in diagram.components.values():
            self.sheet.put(_COMPONENTS, component.name, component.statement(), component.behind())
        self.sheet.said += [s.node for s in self.laws.wanted]
        self._define_missing()
        self.laws.outputs()
        kinds = {component.kind for component in diagram.components.values()}
        classes = [text.rstrip("\n") for name, text in self.classes.items() if name in kinds]
        return self.laws.text(
            local=[f"{INDENT}import {SI};", *classes],
            connections=diagram.lines(),
            annotations=self._annotations(),
            notes=[f"Left out: {text} repeats other rows." for text in self.left_out],
        )

    def _port(self, causality: str, k: int, count: int) -> tuple[str, str]:
        """A connector on the edge of the diagram, so that others connect to it."""
        places = f"transformation(extent={self.mechanism.diagram.port(causality, k)})"
        places += f", iconTransformation(extent={port_extent(causality, k, count)})"
        return PORTS[causality], f" annotation(Placement({places}))"

    def _annotations(self) -> Iterator[str]:
        """When all else is written."""
        diagram = self.mechanism.diagram
        yield f"Diagram(coordinateSystem(preserveAspectRatio=true, extent={diagram.extent()}))"
        yield icon(list(diagram.ports.values()))
        yield 'uses(Modelica(version="4.0.0"))'

    def _read(self, subject: Subject) -> Iterator[Node]:
        """All formulas of the model itself."""
        m = self.m
        yield from (s.node for s in subject.wanted)
        yield from (effort.effort for force in m.forces for effort in force.load.efforts)
        yield from (s.equation for s in m.states)
        yield from (y.equation for y in m.unknowns)
        yield from (node for event in m.events for node in (event.condition, *(s.value for s in event.settings)))
        yield from m.generalized_forces.values()

    def _local_joints(self) -> None:
        """Those that are classes of the text: their multipliers and gaps are variables of the components."""
        by_label = {c.label: c for c in self.m.constraints}
        for name, fact in self.tree.local.items():
            component = self.mechanism.hold(name, fact, self.laws.closing)
            label = f"joint '{name}'"
            rows = [row for primitive in by_label[label].primitives for row in primitive.rows]
            for row, multiplier, gap in zip(rows, fact.multipliers, fact.gaps, strict=True):
                self.sheet.known[self.graph.symbol("lam", f"{label} ({row.direction})")] = f"{component}.{multiplier}"
                self.laws.close(label, f"{component}.{gap}", row.unit, is_rate=False)
                self.laws.close(label, f"{component}.{gap.replace('gap', 'gap_rate')}", row.unit, is_rate=True)

    def _own_coordinates(self) -> None:
        """That belong to no body."""
        m, bodies = self.m, self.m.description.bodies
        for c, place, speed in zip(m.coordinates, m.position_starts, m.velocity_starts, strict=True):
            if c.node not in bodies:
                self.laws.coordinate(c, place, speed, _OWN)
        for b in self.balances.balances():
            if b.coordinate.node not in bodies:
                self.sheet.section(_OWN, "coordinate").say(b.inertia, " = ", b.force)

    def _held(self) -> None:
        """Constraints that are no joints of the library, and what they do to the bodies."""
        rows: dict[str, list[Held]] = {}
        for held in self.balances.held:
            rows.setdefault(held.element, []).append(held)
        for every in rows.values():
            for held in every:
                section = self.laws.held(held)
            for statement in self.acting.row(every[0].name, [(held.multiplier, held.row) for held in every]):
                section.say(*statement)
        for label, name, row in self.balances.left_out:
            if f"{label} ({row.direction})" in self.left_out:
                self.laws.left_out(label, name, row)

    # ---- what turns out to be needed

    def _define_missing(self) -> None:
        """Symbols that have no name yet, until there are none: what defines them may need others."""
        self._windings = {w.name: w for w in self.m.windings}
        self._constraints = {c.label: c for c in self.m.constraints}
        self._turnings = {t.body: t for t in self.balances.turnings()}
        done = 0
        while done < len(self.sheet.said):
            for symbol in self._missing(self.sheet.said[done]):
                if symbol not in self.sheet.known:
                    self._define(symbol)
            done += 1

    def _missing(self, formula: Node) -> list[Node]:
        found, waiting = [], [formula]
        while waiting:
            node = waiting.pop()
            if node in self._seen:
                continue
            self._seen.add(node)
            if node.op == SYMBOL and node not in self.sheet.known and node is not self.m.motion.pace:
                found.append(node)
            elif node not in self.sheet.known:
                waiting += node.args
        return found

    def _define(self, symbol: Node) -> None:
        space, name = symbol.value
        if space == "turn":
            self.laws.winding(self._windings[name])
        elif space == "lam":
            self._reaction(symbol, name)
        elif space == "q" and self.m.dimensions == 2:
            self._angle(symbol)
        elif space == "q":
            self._quaternion(name.rpartition(".")[0])
        else:
            raise KeyError(f"{symbol!r} has no name")

    def _angle(self, symbol: Node) -> None:
        """Of a planar body: along the tree."""
        heading = "angles of bodies"
        angle = self.mechanism.angles[symbol.value[1].rpartition(".")[0]]
        name = self.sheet.name(symbol, symbol.value[1])
        self.sheet.declare(heading, name, "rad", self.sheet.text_of(name))
        terms = angle.turn
        if angle.parent in self.m.description.bodies:
            terms = self.graph.symbol("q", f"{angle.parent}.phi") + terms
        if angle.joint:
            joint = self.graph.symbol("free", angle.joint)
            self.sheet.known[joint] = angle.joint
            terms = terms + joint if angle.forward else terms - joint
        self.sheet.section(heading, "angle").say(f"{name} = ", terms)

    def _quaternion(self, body: str) -> None:
        starts = [self.begin(self.graph.symbol("q", f"{body}.{e}")) for e in QUATERNION]
        self.laws.quaternion(self._turnings[body], starts, f"quaternion of body '{body}'")

    def _reaction(self, symbol: Node, name: str) -> None:
        label = name.rpartition(" (")[0]
        c = self._constraints[label]
        if c.name not in self.mechanism.cuts or not c.active:
            self.sheet.known[symbol] = "0"  # a row that repeats others, or rests
            return
        rows = [row for primitive in c.primitives for row in primitive.rows]
        pairs = [(self.graph.symbol("lam", f"{label} ({row.direction})"), row) for row in rows]
        for one, row in pairs:
            self.laws.multiplier(label, c.name, row.direction, row.unit, one)
        section = self.sheet.section(f"reactions of {label}", c.name)
        for statement in reactions(self.mechanism, self.m, c.name, pairs):
            section.say(*statement)
