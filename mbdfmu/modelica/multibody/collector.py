"""A model with components of Modelica.Mechanics.MultiBody; must not know joints or forces by name, nor files.

What the library has becomes its components (mechanism.py, acting.py); everything else stands as equations, written with
the variables of those components.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import LOAD, SUB
from mbdfmu.modelica.balances import Balances, Held, Turning
from mbdfmu.modelica.equations import refused
from mbdfmu.modelica.multibody.acting import Acting, reactions
from mbdfmu.modelica.multibody.beginning import Beginning
from mbdfmu.modelica.multibody.content import CLOSING, Content, Section, Variable
from mbdfmu.modelica.multibody.independent import choose, labels, numbered
from mbdfmu.modelica.multibody.lines import Lines
from mbdfmu.modelica.multibody.mechanism import Mechanism
from mbdfmu.modelica.multibody.parts import Statement
from mbdfmu.modelica.multibody.tree import spanning_tree
from mbdfmu.modelica.start import Start
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import number
from mbdfmu.signals import Signal, SymbolicModel
from mbdfmu.units import differentiated


def multibody(subject: Subject) -> str:
    """The text of the model in style `multibody`; ModelError with all elements that it cannot say."""
    model = subject.model
    problems = [*refused(model), *_unsaid(model)]
    if problems:
        raise ModelError(problems)
    content = _Collector(model, subject.start, subject.wanted, subject.about)
    content.collect()
    return Lines(content).text()


def _unsaid(model: SymbolicModel) -> Iterator[str]:
    """Elements of types that do not say what they are in Modelica."""
    d = model.description
    for kind, elements in (("joint", d.joints), ("force", d.forces)):
        for name, element in elements.items():
            if getattr(element, "modelica", None) is None:
                cure = "give its class an entry `modelica`, or export in style equations, which has all elements"
                yield f"{kind} '{name}': type '{element.type_name}' does not say what it is in Modelica; {cure}"


class _Collector(Content):
    """Goes through the model."""

    def __init__(self, model: SymbolicModel, start: Start, wanted: Iterable[Signal], about: str) -> None:
        super().__init__(model, start, wanted, about)
        self._seen: set[Node] = set()
        self.closing = self.graph.symbol("p", "closing rate")  # the blank keeps it apart from the model's own

    # ---- the whole

    def collect(self) -> None:
        """Everything, in the order in which it is read."""
        self._given()
        outputs = self._outputs()
        self.tree = spanning_tree(self.m)
        place = Beginning(self.m, self.start, ())
        choice = choose(self.m, self.tree, place, bool(self.start.redundant))
        begin = Beginning(self.m, self.start, choice.dependent)
        self.mechanism = Mechanism(self.m, self.tree, begin, self.names, self.known)
        self.diagram = self.mechanism.diagram
        library = labels((*self.tree.joints, *self.tree.closing))
        skipped = {k for k, label, *_ in numbered(self.m) if label in library} | choice.repeated
        self.balances = Balances(self.m, frozenset(skipped))
        self.closes = bool(self.balances.held)
        self.acting = Acting(self.mechanism)
        self._user_coordinates()
        self._states()
        self._unknowns()
        elements: dict[str, list[Held]] = {}
        for held in self.balances.held:
            elements.setdefault(held.element, []).append(held)
        for label, rows in elements.items():
            self._held(label, rows)
        for force in self.m.forces:
            self.section(f"force '{force.name}'", force.name).statements += self.acting.force(force)
        self._events()
        self.sections.append(outputs)
        self._define_missing()

    # ---- what is given, what is wanted

    def _given(self) -> None:
        """Parameters and inputs have the first choice of names."""
        for s in self.m.signals.values():
            if s.causality in ("parameter", "input"):
                self.known[s.node] = self.show(s)
            elif s.causality == "calculatedParameter":
                self.forced.setdefault(s.node, self.show(s))
        self.known[self.graph.symbol("t", "time")] = "time"
        self.known[self.closing] = CLOSING
        for s in self.m.inputs:
            self.known[self.graph.symbol("ud", s.name)] = f"der({self.known[s.node]})"

    def _outputs(self) -> Section:
        """Wanted signals are variables, whether anything else uses them or not."""
        section = Section("outputs", "output")
        for s in self.wanted:
            section.statements.append((f"{self.show(s)} = ", s.node))
        return section

    # ---- coordinates, states and variables of the model itself

    def _user_coordinates(self) -> None:
        d, m, heading = self.m.description, self.m, "coordinates of the model"
        section = self.section(heading, "coordinate")
        for c, place, speed in zip(m.coordinates, m.position_starts, m.velocity_starts, strict=True):
            if c.node in d.bodies:
                continue
            symbols = [self.graph.symbol(space, c.name) for space in "qva"]
            words = c.name, c.rate, f"{c.name}.acceleration"
            names = [self.name(s, word) for s, word in zip(symbols, words, strict=True)]
            units = [c.unit, differentiated(c.unit), differentiated(differentiated(c.unit))]
            starts = [self._started(symbols[0], place), self._started(symbols[1], speed), None]
            for name, unit, start in zip(names, units, starts, strict=True):
                self.declare(heading, Variable(name, unit, self.text_of(name), start))
            section.statements += [(f"der({names[0]}) = {names[1]}",), (f"der({names[1]}) = {names[2]}",)]
        for b in self.balances.balances():
            if b.coordinate.node not in d.bodies:
                section.statements.append((b.inertia, " = ", b.force))

    def _started(self, symbol: Node, node: Node) -> Node:
        """The model's own expression, or where assembly has brought it."""
        if self.start.moved and symbol in self.by_node:
            return self.graph.const(self.start.values[self.by_node[symbol].name])
        return node

    def _states(self) -> None:
        section = self.section("states", "state")
        for s in self.m.states:
            name = self.name(self.graph.symbol("x", s.name), s.name)
            rate = self.graph.symbol("xd", s.name)
            self.known[rate] = f"der({name})"
            self.declare("states", Variable(name, s.unit, self.text_of(name), s.start))
            section.statements.append(_solved(s.equation, rate))

    def _unknowns(self) -> None:
        heading = "variables that are solved for"
        section = self.section(heading, "variable")
        for y in self.m.unknowns:
            symbol = self.graph.symbol("y", y.name)
            name = self.name(symbol, y.name)
            unit = self.shown[name].unit if name in self.shown else ""
            self.declare(heading, Variable(name, unit, self.text_of(name) or y.label, y.start, fixed=False))
            section.statements.append(_solved(y.equation, symbol))

    # ---- constraints that are no joints of the library

    def _held(self, label: str, rows: list[Held]) -> None:
        """Every row differentiated until accelerations stand in it, closing what has opened (T20.1)."""
        section = self.section(label, rows[0].name)
        for held in rows:
            self._row(section, held)
        section.statements += self.acting.row(rows[0].name, [(held.multiplier, held.row) for held in rows])

    def _row(self, section: Section, held: Held) -> None:
        key, row, steps = f"{held.name}.{{}}.{held.row.direction}", held.row, len(held.values) - 1
        multiplier = self.known[held.multiplier] = self.names.new(key.format("lambda"))
        force = "N" if row.unit == "m" else "N.m"
        self.declare(held.element, Variable(multiplier, force, f"multiplier of {row.direction}"))
        terms = [held.values[-1]]
        for order, value in enumerate(held.values[:-1]):
            is_rate = row.level != "position" or order == 1
            name = self.names.new(key.format("gap_rate" if is_rate else "gap"))
            unit = differentiated(row.unit) if is_rate else row.unit
            self.declare(held.element, Variable(name, unit, "its rate" if order else "what has to be zero"))
            section.statements.append((f"{name} = ", value))
            symbol = self.graph.symbol("gap", name)
            self.known[symbol] = name
            factor = self.closing * self.closing if steps - order == 2 else steps * self.closing
            terms.append(factor * symbol)
            size = f"/{number(self.start.length)}" if row.unit == "m" else ""
            self.checks.setdefault((held.element, is_rate), []).append(f"abs({name}){size}")
        section.statements.append(("0 = ", self.graph.sum(terms)))

    def _events(self) -> None:
        section = self.section("events", "event")
        for event in self.m.events:
            parts: list[str | Node] = ["when ", event.indicator, " > 0 then "]
            for s in event.settings:
                parts += [f"reinit({self.known[self.graph.symbol('x', s.state)]}, ", s.value, "); "]
            section.statements.append((*parts, "end when"))

    # ---- what turns out to be needed

    def _define_missing(self) -> None:
        """Symbols that have no name yet, until there are none."""
        self._windings = {w.name: w for w in self.m.windings}
        self._constraints = {c.label: c for c in self.m.constraints}
        self._turnings = {t.body: t for t in self.balances.turnings()}
        done = 0
        statements: list[Statement] = [*self.modifiers(), *((start,) for start in self.starts())]
        missing = self._missing(statements)
        while True:
            for section in self.sections[done:]:
                missing += self._missing(section.statements)
            done = len(self.sections)
            missing = [s for s in missing if s not in self.known]
            if not missing:
                break
            for symbol in missing:
                if symbol not in self.known:
                    self._define(symbol)
            missing = []

    def _missing(self, statements: Iterable[Statement]) -> list[Node]:
        found = []
        waiting = [part for statement in statements for part in statement if isinstance(part, Node)]
        while waiting:
            node = waiting.pop()
            if node in self._seen:
                continue
            self._seen.add(node)
            if node.op == LOAD and node not in self.known and node is not self.m.motion.pace:
                found.append(node)
            elif node not in self.known:
                waiting += node.args
        return found

    def _define(self, symbol: Node) -> None:
        space, name = symbol.value
        if space == "turn":
            self._winding(symbol, name)
        elif space == "lam":
            self._reaction(symbol, name)
        elif space == "q" and self.m.dimensions == 2:
            self._angle(symbol)
        elif space == "q":
            self._quaternion(name.rpartition(".")[0])
        else:
            raise KeyError(f"{symbol!r} has no name")

    def _winding(self, symbol: Node, name: str) -> None:
        w = self._windings[name]
        counted = self.known[symbol] = self.names.new(f"{name}.counted")
        self.declare("turns", Variable(counted, "rad", f"{name}, for its full turns", w.start))
        self.section("turns", "turn").statements.append((f"der({counted}) = ", self.m.rate(w.node)))

    def _angle(self, symbol: Node) -> None:
        """Of a planar body: along the tree."""
        body = symbol.value[1].rpartition(".")[0]
        angle = self.mechanism.angles[body]
        name = self.name(symbol, symbol.value[1])
        self.declare("angles of bodies", Variable(name, "rad", self.text_of(name)))
        terms = angle.turn
        if angle.parent in self.m.description.bodies:
            terms = self.graph.symbol("q", f"{angle.parent}.phi") + terms
        if angle.joint:
            joint = self.graph.symbol("free", angle.joint)
            self.known[joint] = angle.joint
            terms = terms + joint if angle.forward else terms - joint
        self.section("angles of bodies", "angle").statements.append((f"{name} = ", terms))

    def _quaternion(self, body: str) -> None:
        turning: Turning = self._turnings[body]
        section = self.section(f"quaternion of body '{body}'", body)
        for e, rate in zip(QUATERNION, turning.rates, strict=True):
            symbol = self.graph.symbol("q", f"{body}.{e}")
            name = self.name(symbol, f"{body}.{e}")
            begin = self.mechanism.begin(symbol)
            self.declare(section.title, Variable(name, "1", self.text_of(name), begin))
            section.statements.append((f"der({name}) = ", rate + self.closing * turning.excess * symbol))

    def _reaction(self, symbol: Node, name: str) -> None:
        label = name.rpartition(" (")[0]
        c = self._constraints[label]
        rows = [row for primitive in c.primitives for row in primitive.rows]
        pairs = [(self.graph.symbol("lam", f"{label} ({row.direction})"), row) for row in rows]
        if c.name not in self.mechanism.cuts or not c.active:
            self.known[symbol] = "0"  # a row that repeats others, or rests
            return
        for one, row in pairs:
            variable = self.known[one] = self.names.new(f"{c.name}.lambda.{row.direction}")
            unit = "N" if row.unit == "m" else "N.m"
            self.declare(label, Variable(variable, unit, f"multiplier of {row.direction}"))
        self.section(f"reactions of {label}", c.name).statements += reactions(self.mechanism, self.m, c.name, pairs)


def _solved(equation: Node, unknown: Node) -> Statement:
    """unknown = .., where the equation is of that form."""
    if equation.op == SUB and unknown in equation.args:
        other = equation.args[1 if equation.args[0] is unknown else 0]
        if unknown not in other.support:
            return unknown, " = ", other
    return "0 = ", equation
