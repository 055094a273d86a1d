"""A model as equations that need no library; must not know joints or forces by name, nor how text is put together.

The order is that of reading: what can be chosen, what comes and goes, coordinates and states, then the equations of one
element after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import CONST, LOAD, SUB
from mbdfmu.modelica.balances import Balances, Held, Turning, is_rotation, rotation_matrix
from mbdfmu.modelica.sheet import Section, Sheet
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import INDENT, comment, html, identifier, modified, number, quoted, wrapped
from mbdfmu.signals import Coordinate, SymbolicModel
from mbdfmu.units import differentiated

CLOSING_RATE = 10.0  # 1/s
_CLOSING = "closing_rate"
_CLOSING_TEXT = "at which gaps of joints close that come from rounding and the integrator's tolerance"
_GAP = 1e-6  # of the model's length, or rad: what joints may be open by at the start
# The feedback of each level (T22.1): factors of closing_rate^k before the k-th derivative from the top.
_FEEDBACK = {"position": (1.0, 2.0), "velocity": (1.0,), "acceleration": ()}


def equations(subject: Subject) -> str:
    """The text; ModelError with all elements that equations cannot say."""
    problems = list(refused(subject.model))
    if problems:
        raise ModelError(problems)
    return "\n".join(_Equations(subject).lines()) + "\n"


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


class _Equations:
    def __init__(self, subject: Subject) -> None:
        self.m, self.start, self.about = subject.model, subject.start, subject.about
        self.wanted = [s for s in subject.wanted if s.causality in ("output", "local")]
        self.symbol = self.m.graph.symbol
        self.title = identifier(self.m.description.name)
        self.sheet = Sheet(self.m, [self.title, _CLOSING])
        self.closing = self.symbol("p", "closing rate")  # the blank keeps it apart from the model's own
        self.checks: dict[tuple[str, bool], list[str]] = {}  # gaps that must be none at the start, or their rates

    def lines(self) -> Iterator[str]:
        self._write()
        d, written = self.m.description, self.sheet.written()
        body = list(written.equations())
        yield f"model {self.title}{comment(d.text)}"
        yield from written.function()
        yield f"{INDENT}// parameters"
        yield from written.parameters(self.start.values, d.parameters)
        rate = f'parameter Real {_CLOSING}(unit="1/s", min=0) = {number(CLOSING_RATE)}'
        yield wrapped(f"{rate}{comment(_CLOSING_TEXT)};")
        yield from written.ports()
        yield from written.declarations()
        yield "equation"
        yield from body
        yield from self._start_checks()
        yield wrapped(f"annotation({', '.join(self._annotations())});")
        yield f"end {self.title};"

    def _write(self) -> None:
        """Names that users know come first; sections in the order of reading."""
        self._given()
        balances = Balances(self.m, frozenset(self.start.redundant))
        outputs = self._outputs()
        self._orientations(balances)
        self._coordinates()
        self._states()
        for held in balances.held:
            self._held(held)
        for force in self.m.forces:  # what forces do stands before the balances that share it
            section = self.sheet.section(f"force '{force.name}'", force.name)
            for effort in force.load.efforts:
                section.add("", effort.effort)
        self._unknowns()
        for balance in balances.balances():
            c = balance.coordinate
            section = self.sheet.section(f"motion of {self._element(c)}", c.node)
            section.add("{0} = {1}", balance.inertia, balance.force)
        self._events()
        self.sheet.sections.append(outputs)

    def _element(self, c: Coordinate) -> str:
        return f"body '{c.node}'" if c.node in self.m.description.bodies else c.label

    # ---- what is given and what is wanted

    def _given(self) -> None:
        known, sheet = self.sheet.known, self.sheet
        known[self.closing] = _CLOSING
        for s in self.m.signals.values():
            if s.causality in ("parameter", "input"):
                known[s.node] = sheet.show(s)
            elif s.causality == "calculatedParameter":
                sheet.forced.setdefault(s.node, sheet.show(s))
        known[self.symbol("t", "time")] = "time"
        for s in self.m.inputs:
            known[self.symbol("ud", s.name)] = f"der({known[s.node]})"

    def _outputs(self) -> Section:
        """Wanted signals are variables, whether anything else uses them or not."""
        section = Section("outputs", "output")
        for s in self.wanted:
            if s.node.op == LOAD and s.causality == "local" and self.sheet.signal_of(s.node) is s:
                continue  # a variable anyway
            name = self.sheet.show(s)
            if s.node.op in (LOAD, CONST) or s.node in self.sheet.forced:
                section.add(f"{name} = {{0}}", s.node)
            else:
                self.sheet.forced[s.node] = name
                section.add("", s.node)
        return section

    # ---- what moves

    def _orientations(self, balances: Balances) -> None:
        for k, turning in enumerate(balances.turnings()):
            self._orientation(turning, self.m.orientation_starts[4 * k : 4 * k + 4])

    def _orientation(self, turning: Turning, starts: Sequence[Node]) -> None:
        """The quaternion, and the rotation matrix that follows from it."""
        body, sheet = turning.body, self.sheet
        section = sheet.section(f"orientation of body '{body}'", body)
        sheet.head(section.title)
        symbols = [self.symbol("q", f"{body}.{e}") for e in QUATERNION]
        for symbol, rate, start in zip(symbols, turning.rates, starts, strict=True):
            name = sheet.name(symbol, symbol.value[1])
            sheet.declare(name, "1", sheet.text_of(name), self._started(name, start))
            section.add(f"der({name}) = {{0}}", rate + self.closing * turning.excess * symbol)
        matrix = sheet.names.new(f"{body}.R")
        sheet.declare_matrix(matrix, "takes vectors from body axes to ground axes")
        for k, (symbol, entry) in enumerate(rotation_matrix(self.m, body).items()):
            sheet.known[symbol] = f"{matrix}[{k // 3 + 1}, {k % 3 + 1}]"
            section.add(f"{sheet.known[symbol]} = {{0}}", entry)

    def _coordinates(self) -> None:
        sheet, titles = self.sheet, set()
        motion = sheet.section("rates of coordinates", "rate")
        for c, place, speed in zip(self.m.coordinates, self.m.position_starts, self.m.velocity_starts, strict=True):
            title = self._element(c)
            if title not in titles:
                sheet.head(title)
                titles.add(title)
            unit = differentiated(c.unit)
            v = sheet.name(self.symbol("v", c.name), c.rate)
            a = sheet.name(self.symbol("a", c.name), f"{c.name}.acceleration")
            if not is_rotation(c):
                q = sheet.name(self.symbol("q", c.name), c.name)
                sheet.declare(q, c.unit, sheet.text_of(q), self._started(q, place))
                motion.add(f"der({q}) = {v}")
            sheet.declare(v, unit, sheet.text_of(v), self._started(v, speed))
            sheet.declare(a, differentiated(unit), sheet.text_of(a))
            motion.add(f"der({v}) = {a}")

    def _started(self, name: str, said: Node) -> Node:
        """The model's own expression, or where assembly has brought it."""
        return self.m.graph.const(self.start.values[self.sheet.shown[name].name]) if self.start.moved else said

    def _states(self) -> None:
        sheet = self.sheet
        section = sheet.section("states", "state")
        if self.m.states or self.m.windings:
            sheet.head(section.title)
        for s in self.m.states:
            rate = self.symbol("xd", s.name)
            name = sheet.name(self.symbol("x", s.name), s.name)
            sheet.known[rate] = f"der({name})"
            sheet.declare(name, s.unit, sheet.text_of(name), s.start)
            _solved(section, s.equation, rate)
        for w in self.m.windings:  # (T22.3)
            name = sheet.known[self.symbol("turn", w.name)] = sheet.names.new(f"{w.name}.counted")
            sheet.declare(name, "rad", f"{w.name}, for its full turns", w.start)
            section.add(f"der({name}) = {{0}}", self.m.rate(w.node))

    def _unknowns(self) -> None:
        sheet = self.sheet
        section = sheet.section("variables that are solved for", "variable")
        if self.m.unknowns:
            sheet.head(section.title)
        for y in self.m.unknowns:
            symbol = self.symbol("y", y.name)
            name = sheet.name(symbol, y.name)
            unit = sheet.shown[name].unit if name in sheet.shown else ""
            sheet.declare(name, unit, sheet.text_of(name) or y.label, y.start, fixed=False)
            _solved(section, y.equation, symbol)

    # ---- what holds

    def _held(self, held: Held) -> None:
        """A row with its multiplier, its gap and the rate of that (T22.1)."""
        sheet, row = self.sheet, held.row
        if not sheet.sections or sheet.sections[-1].title != held.element:
            sheet.head(held.element)
        section = sheet.section(held.element, held.name)
        multiplier = sheet.names.new(f"{held.name}.lambda.{row.direction}")
        sheet.known[held.multiplier] = multiplier
        sheet.declare(multiplier, "N" if row.unit == "m" else "N.m", f"multiplier of {row.direction}")
        terms, factors = [held.values[-1]], _FEEDBACK[row.level]
        for order, (value, factor) in enumerate(zip(held.values, factors, strict=False)):
            is_rate = row.level == "velocity" or order == 1
            name = sheet.names.new(f"{held.name}.{'gap_rate' if is_rate else 'gap'}.{row.direction}")
            unit = differentiated(row.unit) if is_rate else row.unit
            sheet.declare(name, unit, "has to be zero" if order == 0 else "its rate")
            section.add(f"{name} = {{0}}", value)
            symbol = self.symbol("gap", name)
            sheet.known[symbol] = name
            terms.append(factor * self.closing ** (len(factors) - order) * symbol)
            size = f"/{number(self.start.length)}" if row.unit == "m" else ""
            self.checks.setdefault((held.element, is_rate), []).append(f"abs({name}){size}")
        section.add("0 = {0}", self.m.graph.sum(terms))

    def _start_checks(self) -> Iterator[str]:
        """Parameters that were changed may not fit the start values."""
        if self.checks:
            yield f"{INDENT}// the start has to be on the joints"
            yield f"{INDENT}when initial() then"
            for (element, is_rate), gaps in self.checks.items():
                what = "moves apart" if is_rate else "is open"
                message = quoted(f"{element} {what} at the start: correct start values or parameters")
                yield wrapped(f"assert({' + '.join(gaps)} <= {number(_GAP)}, {message});", 2)
            yield f"{INDENT}end when;"

    def _events(self) -> None:
        section = self.sheet.section("events", "event")
        for event in self.m.events:
            names = [self.sheet.known[self.symbol("x", s.state)] for s in event.settings]
            settings = " ".join(f"reinit({name}, {{{k}}});" for k, name in enumerate(names, 1))
            values = (s.value for s in event.settings)
            text = f"event '{event.name}'"
            section.add(f"when {{0}} > 0 then {settings} end when", event.indicator, *values, text=text)

    # ---- about

    def _annotations(self) -> Iterator[str]:
        d = self.m.description
        if e := d.experiment:
            given = {"StopTime": e.stop_time, "Interval": e.step, "Tolerance": e.tolerance}
            yield f"experiment{modified(**{k: None if v is None else number(v) for k, v in given.items()})}"
        notes = [d.text, self.about, *(f"Left out: {text}." for text in self.start.redundant.values())]
        page = "".join(f"<p>{html(note)}</p>" for note in notes if note)
        yield f"Documentation(info={quoted(f'<html>{page}</html>')})"


def _solved(section: Section, equation: Node, unknown: Node) -> None:
    """unknown = .., where the equation is of that form."""
    if equation.op == SUB and unknown in equation.args:
        other = equation.args[1 if equation.args[0] is unknown else 0]
        if unknown not in other.support:
            section.add("{0} = {1}", unknown, other)
            return
    section.add("0 = {0}", equation)
