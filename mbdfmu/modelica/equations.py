"""A model as equations that need no library; must not know joints or forces by name, nor files.

The order of the text is that of reading: what can be chosen, what comes and goes, coordinates and states, then the
equations element by element with the variables that they share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import CONST, LOAD, SUB
from mbdfmu.modelica.balances import Balances, Held, is_rotation, rotation_matrix
from mbdfmu.modelica.formulas import Formulas
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.tables import FUNCTION, Tables
from mbdfmu.modelica.words import INDENT, Names, comment, html, identifier, modified, number, quoted, wrapped
from mbdfmu.signals import Signal, SymbolicModel
from mbdfmu.units import differentiated, display_units

CLOSING_RATE = 10.0  # 1/s
_CLOSING = "closing_rate"
_CLOSING_TEXT = "at which gaps of joints close that come from rounding and the integrator's tolerance"
_GAP = 1e-6  # of the model's length, or rad: what joints may be open by at the start


@dataclass(frozen=True)
class _Equation:
    """A statement with places {0}, {1}, .. for formulas."""

    template: str
    nodes: tuple[Node, ...]
    text: str = ""


@dataclass
class _Section:
    """Equations under one heading; `name` begins the names of what they share."""

    title: str
    name: str
    equations: list[_Equation] = field(default_factory=list)

    def add(self, template: str, *nodes: Node, text: str = "") -> None:
        self.equations.append(_Equation(template, nodes, text))


def equations(subject: Subject) -> str:
    """The text of the model in style `equations`; ModelError with all elements that equations alone cannot say."""
    problems = list(refused(subject.model))
    if problems:
        raise ModelError(problems)
    return _Writer(subject).text()


def refused(model: SymbolicModel) -> Iterator[str]:
    """What equations that stay the same cannot say."""
    cure = "export an FMU, which keeps it"
    for function in model.functions:
        yield f"callback '{function.name}' calls Python, for which Modelica has no equations; {cure}"
    for event in model.events:
        if event.actions:
            labels = ", ".join(dict.fromkeys(label for label, _ in event.actions))
            yield f"event '{event.name}' changes what is held ({labels}), which equations cannot; {cure}"
    for impact in model.impacts:
        yield f"impact '{impact.name}' holds its gap for a while, which equations cannot; {cure}"


class _Writer:
    def __init__(self, subject: Subject) -> None:
        self.m, self.start, self.about = subject.model, subject.start, subject.about
        model = self.m
        self.graph, self.rate = model.graph, model.rate
        self.title = identifier(model.description.name)
        self.names = Names([self.title, FUNCTION, _CLOSING])
        self.tables = Tables(model.description.curves, self.names)
        self.wanted = [s for s in subject.wanted if s.causality in ("output", "local")]
        self.by_node: dict[Node, Signal] = {}
        for signal in model.signals.values():
            self.by_node.setdefault(signal.node, signal)
        self.known: dict[Node, str] = {}  # symbols
        self.forced: dict[Node, str] = {}  # expressions that are variables in any case
        self.shown: dict[str, Signal] = {}  # variables that are signals
        self.sections: list[_Section] = []
        self.lines: list[str] = []  # declarations of coordinates, multipliers and states, with their heading
        self.checks: dict[tuple[str, bool], list[str]] = {}  # gaps that must be none at the start, or their rates
        self.starts: list[tuple[int, Node]] = []  # lines that wait for a start value

    # ---- the whole

    def text(self) -> str:
        self._given()
        closing = self.graph.symbol("p", "closing rate")  # the blank keeps it apart from the model's own
        self.known[closing] = _CLOSING
        balances = Balances(self.m, frozenset(self.start.redundant))
        outputs = self._outputs()
        self._coordinates(balances)
        self._states()
        for held in balances.held:
            self._held(held, closing)
        self._forces()
        self._unknowns()
        self._balances(balances)
        self._events()
        self.sections.append(outputs)
        formulas = self._formulas()
        return "\n".join(self._lines(formulas)) + "\n"

    def _formulas(self) -> Formulas:
        """Of everything that is written, with time running."""
        nodes = [node for section in self.sections for e in section.equations for node in e.nodes]
        nodes += [node for _, node in self.starts]
        running = {self.m.motion.pace: 1.0}
        replaced = dict(zip(nodes, self.graph.substitute(nodes, running), strict=True))
        forced = dict(zip(self.graph.substitute(list(self.forced), running), self.forced.values(), strict=True))
        self.starts = [(k, replaced[node]) for k, node in self.starts]
        owners: list[str] = []
        for section in self.sections:
            section.equations = [
                _Equation(e.template, tuple(replaced[n] for n in e.nodes), e.text) for e in section.equations
            ]
            owners += [section.name] * sum(len(e.nodes) for e in section.equations)
        owners += ["start"] * len(self.starts)
        roots = [replaced[node] for node in nodes]
        signals = {n: s for n, s in zip(self.graph.substitute(list(self.by_node), running), self.by_node.values(), strict=True)}
        self.owners = [k for k, section in enumerate(self.sections) for e in section.equations for _ in e.nodes]
        self.owners += [-1] * len(self.starts)

        counts: Counter[str] = Counter()

        def named(node: Node, root: int) -> str:
            if node in signals:
                return self._show(signals[node])
            owner = owners[root]
            counts[owner] += 1
            return self.names.new(f"{owner}_{counts[owner]}")

        return Formulas(roots, self.known, forced, named, self.tables.call)

    # ---- what is given

    def _given(self) -> None:
        """Parameters and inputs have the first choice of names."""
        for s in self.m.signals.values():
            if s.causality in ("parameter", "input"):
                self.known[s.node] = self._show(s)
            elif s.causality == "calculatedParameter":
                self.forced.setdefault(s.node, self._show(s))
        self.known[self.graph.symbol("t", "time")] = "time"
        for s in self.m.inputs:
            self.known[self.graph.symbol("ud", s.name)] = f"der({self.known[s.node]})"

    def _show(self, signal: Signal) -> str:
        name = self.names.new(signal.name)
        self.shown[name] = signal
        return name

    def _name(self, symbol: Node, otherwise: str) -> str:
        """Of a symbol: that of the signal that shows it."""
        signal = self.by_node.get(symbol)
        name = self.names.new(signal.name if signal else otherwise)
        if signal:
            self.shown[name] = signal
        self.known[symbol] = name
        return name

    def _outputs(self) -> _Section:
        """Wanted signals are variables, whether anything else uses them or not."""
        section = _Section("outputs", "output")
        for s in self.wanted:
            if s.node.op == LOAD and s.causality == "local":
                continue  # a variable of its own anyway
            name = self._show(s)
            if s.node.op not in (LOAD, CONST) and s.node not in self.forced:
                self.forced[s.node] = name
                section.add("", s.node)
            else:
                section.add(f"{name} = {{0}}", s.node)
        return section

    # ---- declarations

    def _head(self, title: str) -> None:
        self.lines += ["", f"{INDENT}// {title}"]

    def _declare(self, name: str, unit: str, text: str, start: Node | float | None = None, fixed: bool = True) -> None:
        given = {"unit": quoted(unit) if unit else None}
        if start is not None:
            given |= {"start": "{0}", "fixed": "true" if fixed else None}
            node = self.graph.promote(start)
            self.starts.append((len(self.lines), node))
        self.lines.append(f"Real {name}{modified(**given)}{comment(text)};")

    def _coordinates(self, balances: Balances) -> None:
        d, m = self.m.description, self.m
        pairs = zip(m.coordinates, m.position_starts, m.velocity_starts, strict=True)
        turnings = {t.body: t for t in balances.turnings()}
        for k, body in enumerate(turnings):
            for j, e in enumerate(QUATERNION):
                self._name(self.graph.symbol("q", f"{body}.{e}"), f"{body}.{e}")
            matrix = self.names.new(f"{body}.R")
            for i in range(3):
                for j in range(3):
                    self.known[self.graph.symbol("r", f"{body}.r{i}{j}")] = f"{matrix}[{i + 1}, {j + 1}]"
            self._turning(turnings[body], matrix, m.orientation_starts[4 * k : 4 * k + 4])
        motion = _Section("rates of coordinates", "rate")
        headed = set()
        for c, place, speed in pairs:
            kind = f"body '{c.node}'" if c.node in d.bodies else "coordinates of the model"
            if kind not in headed:
                self._head(kind)
                headed.add(kind)
            v, a = self.graph.symbol("v", c.name), self.graph.symbol("a", c.name)
            vn, an = self._name(v, c.rate), self._name(a, f"{c.name}.acceleration")
            unit = differentiated(c.unit)
            if not is_rotation(c):
                q = self._name(self.graph.symbol("q", c.name), c.name)
                self._declare(q, c.unit, self._text(q), self._started(q, place))
                motion.add(f"der({q}) = {vn}")
            self._declare(vn, unit, self._text(vn), self._started(vn, speed))
            self._declare(an, differentiated(unit), self._text(an))
            motion.add(f"der({vn}) = {an}")
        self.sections.append(motion)

    def _turning(self, turning: object, matrix: str, starts: Sequence[Node]) -> None:
        section = _Section(f"orientation of body '{turning.body}'", turning.body)
        self._head(section.title)
        for e, rate, start in zip(QUATERNION, turning.rates, starts, strict=True):
            symbol = self.graph.symbol("q", f"{turning.body}.{e}")
            name = self.known[symbol]
            self._declare(name, "1", self._text(name), self._started(name, start))
            kept = self.graph.symbol("p", "closing rate") * turning.excess * symbol
            section.add(f"der({name}) = {{0}}", rate + kept)
        self.lines.append(f"Real {matrix}[3, 3]{comment('takes vectors from body axes to ground axes')};")
        for symbol, entry in rotation_matrix(self.m, turning.body).items():
            section.add(f"{self.known[symbol]} = {{0}}", entry)
        self.sections.append(section)

    def _text(self, name: str) -> str:
        signal = self.shown.get(name)
        return signal.text if signal else ""

    def _started(self, name: str, node: Node) -> Node | float:
        """The model's own expression, or where assembly has brought it."""
        return self.start.values[self.shown[name].name] if self.start.moved else node

    def _states(self) -> None:
        m = self.m
        section = _Section("states", "state")
        if m.states or m.windings:
            self._head("states")
        for s in m.states:
            name = self._name(self.graph.symbol("x", s.name), s.name)
            self.known[self.graph.symbol("xd", s.name)] = f"der({name})"
            self._declare(name, s.unit, self._text(name), s.start)
            self._solved(section, s.equation, self.graph.symbol("xd", s.name))
        for w in m.windings:
            symbol = self.graph.symbol("turn", w.name)
            name = self.known[symbol] = self.names.new(f"{w.name}.counted")
            self._declare(name, "rad", f"{w.name}, for its full turns", w.start)
            section.add(f"der({name}) = {{0}}", self.rate(w.node))
        self.sections.append(section)

    def _solved(self, section: _Section, equation: Node, unknown: Node) -> None:
        """unknown = .., where the equation is of that form."""
        if equation.op == SUB and unknown in equation.args:
            other = equation.args[1 if equation.args[0] is unknown else 0]
            if unknown not in other.support:
                section.add("{0} = {1}", unknown, other)
                return
        section.add("0 = {0}", equation)

    def _unknowns(self) -> None:
        section = _Section("variables that are solved for", "variable")
        if self.m.unknowns:
            self._head(section.title)
        for y in self.m.unknowns:
            symbol = self.graph.symbol("y", y.name)
            name = self._name(symbol, y.name)
            signal = self.shown.get(name)
            self._declare(name, signal.unit if signal else "", self._text(name) or y.label, y.start, fixed=False)
            self._solved(section, y.equation, symbol)
        self.sections.append(section)

    # ---- equations

    def _held(self, held: Held, closing: Node) -> None:
        if not self.sections or self.sections[-1].title != held.element:
            self.sections.append(_Section(held.element, held.name))
            self._head(held.element)
        section, row = self.sections[-1], held.row
        key = f"{held.name}.{{}}.{row.direction}"
        multiplier = self.names.new(key.format("lambda"))
        self.known[held.multiplier] = multiplier
        force = "N" if row.unit == "m" else "N.m"
        self._declare(multiplier, force, f"multiplier of {row.direction}")
        terms = [held.values[-1]]
        for order, value in enumerate(held.values[:-1]):
            name = self.names.new(key.format("gap" if order == len(held.values) - 3 else "gap_rate"))
            unit = row.unit if "_rate" not in name else differentiated(row.unit)
            self._declare(name, unit, "what has to be zero" if order == 0 else "its rate")
            section.add(f"{name} = {{0}}", value)
            symbol = self.graph.symbol("gap", name)
            self.known[symbol] = name
            left = len(held.values) - 1 - order  # how often this one is differentiated further
            terms.append((closing * closing if left == 2 else (2.0 if len(held.values) == 3 else 1.0) * closing) * symbol)
            self._check(held, name, row.level != "position" or order == 1)
        section.add("0 = {0}", self.graph.sum(terms))

    def _check(self, held: Held, name: str, is_rate: bool) -> None:
        size = f"/{number(self.start.length)}" if held.row.unit == "m" else ""
        self.checks.setdefault((held.element, is_rate), []).append(f"abs({name}){size}")

    def _forces(self) -> None:
        """What forces do has its place before the balances that share it."""
        for force in self.m.forces:
            section = _Section(f"force '{force.name}'", force.name)
            for effort in force.load.efforts:
                section.add("", effort.effort)
            self.sections.append(section)

    def _balances(self, balances: Balances) -> None:
        for b in balances.balances():
            title = f"motion of {b.coordinate.label.rpartition(' ')[0]}" if "body" in b.coordinate.label else f"motion of {b.coordinate.label}"
            if self.sections[-1].title != title:
                self.sections.append(_Section(title, b.coordinate.node))
            self.sections[-1].add("{0} = {1}", b.inertia, b.force)

    def _events(self) -> None:
        section = _Section("events", "event")
        for event in self.m.events:
            settings = " ".join(f"reinit({self.known[self.graph.symbol('x', s.state)]}, {{{k}}});"
                                for k, s in enumerate(event.settings, 1))
            section.add(f"when {{0}} > 0 then {settings} end when", event.indicator, *(s.value for s in event.settings),
                        text=f"event '{event.name}'")
        self.sections.append(section)

    # ---- text

    def _lines(self, formulas: Formulas) -> Iterator[str]:
        d = self.m.description
        body = list(self._equations(formulas))
        yield f"model {self.title}{comment(d.text)}"
        if function := self.tables.function():
            yield function
        used = self._used(formulas)
        yield from self._parameters(formulas, used)
        yield from self.tables.constants()
        yield from self._ports(formulas)
        yield from self._declarations(formulas)
        yield from self._auxiliaries(formulas)
        yield "equation"
        yield from body
        yield from self._start_checks()
        yield wrapped(f"annotation({', '.join(self._annotations())});")
        yield f"end {self.title};"

    def _used(self, formulas: Formulas) -> set[str]:
        """The parameters that anything depends on."""
        roots = [n for section in self.sections for e in section.equations for n in e.nodes]
        roots += [n for _, n in self.starts]
        found = {s.value[1] for n in roots for s in n.support if s.value[0] == "p"}
        return found | set(self.m.description.parameters)

    def _parameters(self, formulas: Formulas, used: set[str]) -> Iterator[str]:
        yield f"{INDENT}// parameters"
        for name, s in self.shown.items():
            if s.causality == "parameter" and s.name in used:
                yield wrapped(f"parameter Real {name}{self._attributes(s)} = {number(self.start.values[s.name])}{comment(s.text)};")
        for a in formulas.auxiliaries:
            if a.fixed:
                s = self.shown.get(a.name)
                kind = "parameter" if s else "final parameter"
                yield wrapped(f"{kind} Real {a.name}{self._attributes(s)} = {a.formula}{comment(s.text if s else '')};")
        rate = f'parameter Real {_CLOSING}(unit="1/s", min=0) = {number(CLOSING_RATE)}{comment(_CLOSING_TEXT)};'
        yield wrapped(rate)

    def _attributes(self, s: Signal | None, *, start: bool = False) -> str:
        if s is None:
            return ""
        shown = display_units(s.unit)[:1] if s.unit in ("rad", "rad/s") else ()
        low, high = (None if x is None else number(x) for x in (s.minimum, s.maximum))
        return modified(
            unit=quoted(s.unit) if s.unit else None, displayUnit=quoted(shown[0].text) if shown else None, min=low,
            max=high, start=number(s.start) if start and s.start is not None else None,
        )  # fmt: skip

    def _ports(self, formulas: Formulas) -> Iterator[str]:
        ports = [(n, s) for n, s in self.shown.items() if s.causality in ("input", "output")]
        if ports:
            yield f"\n{INDENT}// inputs and outputs"
        for name, s in ports:
            yield wrapped(f"{s.causality} Real {name}{self._attributes(s, start=s.causality == 'input')}{comment(s.text)};")

    def _declarations(self, formulas: Formulas) -> Iterator[str]:
        starts = dict(self.starts)
        for k, line in enumerate(self.lines):
            if k in starts:
                line = line.replace("{0}", formulas.text(starts[k]), 1)
            yield wrapped(line) if line.startswith("Real") else line

    def _auxiliaries(self, formulas: Formulas) -> Iterator[str]:
        forced = set(self.forced.values())
        rest = [a for a in formulas.auxiliaries if not a.fixed]
        wanted = {n: self.shown[n] for n in (a.name for a in rest) if n in self.shown and self.shown[n].causality == "local"}
        if wanted:
            yield f"\n{INDENT}// signals"
        names = {*wanted, *(n for n, s in self.shown.items() if s in self.wanted and s.causality == "local")}
        declared = {line.split("(")[0].split()[1].rstrip(";") for line in self.lines if line.startswith("Real")}
        for name in (n for n in self.shown if n in names and n not in declared):
            s = self.shown[name]
            yield wrapped(f"Real {name}{self._attributes(s)}{comment(s.text)};")
        hidden = [a.name for a in rest if a.name not in self.shown and a.name not in forced]
        if hidden:
            yield "protected"
            yield f"{INDENT}// what several equations share"
            yield wrapped(f"Real {', '.join(hidden)};")

    def _start_checks(self) -> Iterator[str]:
        """Parameters that were changed may not fit the start values."""
        if self.checks:
            yield f"{INDENT}// the start has to be on the joints"
            yield f"{INDENT}when initial() then"
            for (element, is_rate), gaps in self.checks.items():
                message = f"{element} {'moves apart' if is_rate else 'is open'} at the start: correct start or parameters"
                yield wrapped(f"assert({' + '.join(gaps)} <= {number(_GAP)}, {quoted(message)});", 2)
            yield f"{INDENT}end when;"

    def _equations(self, formulas: Formulas) -> Iterator[str]:
        shared: dict[int, list[str]] = {}
        for a in formulas.auxiliaries:
            if not a.fixed:
                shared.setdefault(self.owners[a.owner], []).append(f"{a.name} = {a.formula};")
        for k, section in enumerate(self.sections):
            lines = shared.get(k, [])
            own = [
                f"{e.template.format(*map(formulas.text, e.nodes))}{comment(e.text)};" for e in section.equations if e.template
            ]
            if lines or own:
                yield f"{INDENT}// {section.title}"
                yield from map(wrapped, [*lines, *own])

    def _annotations(self) -> Iterator[str]:
        e = self.m.description.experiment
        if e:
            given = {"StopTime": e.stop_time, "Interval": e.step, "Tolerance": e.tolerance}
            yield f"experiment{modified(**{k: None if v is None else number(v) for k, v in given.items()})}"
        notes = [f"<p>{html(self.m.description.text)}</p>", f"<p>{html(self.about)}</p>"]
        notes += [f"<p>Left out: {html(text)}.</p>" for text in self.start.redundant.values()]
        yield f"Documentation(info={quoted('<html>' + ''.join(notes) + '</html>')})"

