"""What the styles that have equations say in the same words; must not know bodies, nor the library.

What is given and what is wanted, coordinates, states and variables of the model itself, constraint rows, events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from mbdfmu.coordinates import QUATERNION
from mbdfmu.expressions import Node, is_condition
from mbdfmu.expressions.opcodes import LOAD, SUB
from mbdfmu.frames import Row
from mbdfmu.modelica.balances import Held, Turning, is_rotation
from mbdfmu.modelica.events import Occurring, at_start, becoming, together
from mbdfmu.modelica.formulas import BEFORE, TRUTH
from mbdfmu.modelica.freedoms import Freedoms
from mbdfmu.modelica.sheet import Condition, Kind, Part, Port, Section, Sheet, Written
from mbdfmu.modelica.start import start_values
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import INDENT, comment, html, identifier, modified, number, quoted, wrapped
from mbdfmu.signals import Coordinate, Event, Signal, SymbolicModel, Winding
from mbdfmu.units import differentiated

_CLOSING = "closing_rate"
_CLOSING_RATE = 10.0  # 1/s
_CLOSING_TEXT = "at which gaps of joints close that come from rounding and the integrator's tolerance"
_SOLVED_FOR = ("y", "a", "lam", "xd")  # the spaces of what equations are solved for
_GAP = 1e-6  # of the model's length, or rad: what joints may be open by at the start
_TORN = 1e-3  # and what rows that repeat others may, at any time
# The feedback of each level (T22.1): factors of closing_rate^k before the k-th derivative from the top.
_FEEDBACK = {"position": (1.0, 2.0), "velocity": (1.0,), "acceleration": ()}


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


class Laws:
    """Says them on a sheet of its own."""

    def __init__(
        self, subject: Subject, kind: Callable[[str], Kind], taken: Iterable[str] = (), *, numbers: bool = False,
        port: Port | None = None, freedoms: Freedoms | None = None,
    ) -> None:  # fmt: skip
        """`numbers`: start values are no parameters, but numbers and formulas where they count.

        `freedoms`: which of these are guesses, closed by initial equations; none: gaps are only looked at.

        `port` gives inputs and outputs a class and a place.
        """
        self.m, self.start, self._about = subject.model, subject.start, subject.about
        self.symbol, self._port = self.m.graph.symbol, port
        self._closes, self.guesses = freedoms is not None, freedoms or Freedoms(frozenset(), frozenset(), ())
        self._title = identifier(self.m.description.name)
        self._unnamed = start_values(self.m) if numbers else {}
        settled = {s.node: self.start.values[name] for name, s in self._unnamed.items() if s.causality == "parameter"}
        self.sheet = Sheet(self.m, kind, [self._title, _CLOSING, *taken], self._unnamed, settled)
        self.closing = self.symbol("p", "closing rate")  # the blank keeps it apart from the model's own
        self.wanted = [s for s in subject.wanted if s.causality in ("output", "local")]
        self._checks: dict[tuple[str, bool], list[str]] = {}  # gaps that must be none at the start, or their rates

    # ---- what is given and what is wanted

    def given(self) -> None:
        """Parameters, inputs and what is wanted have the first choice of names."""
        known, sheet = self.sheet.known, self.sheet
        known[self.closing] = _CLOSING
        for s in self.m.signals.values():
            if s.name in self._unnamed:
                continue
            if s.causality in ("parameter", "input"):
                known[s.node] = sheet.show(s)
            elif s.causality == "calculatedParameter":
                sheet.forced.setdefault(s.node, sheet.show(s))
        known[self.symbol("t", "time")] = "time"
        for s in self.m.inputs:
            known[self.symbol("ud", s.name)] = sheet.names.new(f"der({s.name})")
        for s in self.wanted:
            sheet.show(s)

    def outputs(self) -> None:
        """Wanted signals are variables, whether anything else uses them or not."""
        section, sheet = self.sheet.section("outputs", "output"), self.sheet
        there = {*sheet.running(sheet.known), *sheet.running(sheet.forced)}
        for s, node in zip(self.wanted, sheet.running(s.node for s in self.wanted), strict=True):
            name = sheet.show(s)
            if sheet.known.get(s.node) == name:
                continue  # a variable anyway
            moving = any(symbol.value[0] != "p" for symbol in node.support)
            if node.op != LOAD and moving and node not in there:
                sheet.forced[s.node] = name
                there.add(node)
                section.say(s.node)
            else:
                section.say(f"{name} = ", s.node)

    # ---- what moves

    def coordinate(self, c: Coordinate, place: Node, speed: Node, heading: str) -> None:
        """Its value, unless it is a small rotation, its rate and its acceleration."""
        sheet, unit = self.sheet, differentiated(c.unit)
        section = sheet.section("rates of coordinates", "rate")
        q, v, a = (self.symbol(space, c.name) for space in "qva")
        rate, acceleration = sheet.name(v, c.rate), sheet.name(a, f"{c.name}.acceleration")
        if not is_rotation(c):
            name = sheet.name(q, c.name)
            fixed = c.name not in self.guesses.places
            sheet.declare(heading, name, c.unit, sheet.text_of(name), self._started(q, place), fixed=fixed)
            section.say(f"der({name}) = {rate}")
        fixed = c.name not in self.guesses.speeds
        sheet.declare(heading, rate, unit, sheet.text_of(rate), self._started(v, speed), fixed=fixed)
        sheet.declare(heading, acceleration, differentiated(unit), sheet.text_of(acceleration))
        section.say(f"der({rate}) = {acceleration}")

    def quaternion(self, turning: Turning, starts: Sequence[Node], heading: str) -> Section:
        """Of a body (T22.2)."""
        sheet = self.sheet
        section = sheet.section(heading, turning.body)
        symbols = [self.symbol("q", f"{turning.body}.{e}") for e in QUATERNION]
        for symbol, rate, start in zip(symbols, turning.rates, starts, strict=True):
            name = sheet.name(symbol, symbol.value[1])
            fixed = symbol.value[1] not in self.guesses.places
            sheet.declare(heading, name, "1", sheet.text_of(name), self._started(symbol, start), fixed=fixed)
            section.say(f"der({name}) = ", rate + self.closing * turning.excess * symbol)
        if any(symbol.value[1] in self.guesses.places for symbol in symbols):
            sheet.initial.say("0 = ", turning.excess)
        return section

    def winding(self, w: Winding) -> None:
        """An angle that is integrated, for its full turns (T22.3)."""
        name = self.sheet.known[self.symbol("turn", w.name)] = self.sheet.names.new(f"{w.name}.counted")
        moved = any(symbol.value[0] == "q" for symbol in self.start.moved) and w.name in self.start.values
        start = self.m.graph.const(self.start.values[w.name]) if moved else w.start
        self.sheet.declare("turns", name, "rad", f"{w.name}, for its full turns", start)
        self.sheet.section("turns", "turn").say(f"der({name}) = ", self.m.rate(w.node))

    def _started(self, symbol: Node, said: Node) -> Node:
        """The model's own expression, or where assembly has brought it."""
        signal = self.sheet.signal_of(symbol)
        return self.m.graph.const(self.start.values[signal.name]) if signal and symbol in self.start.moved else said

    def states(self) -> None:
        """Differential states."""
        sheet, heading = self.sheet, "states"
        section = sheet.section(heading, "state")
        set_by_events = {s.state for event in self.m.events for s in event.settings}
        for s in self.m.states:
            rate = self.symbol("xd", s.name)
            name = sheet.name(self.symbol("x", s.name), s.name)
            sheet.known[rate] = f"der({name})"
            start = s.start if s.name not in set_by_events else None  # else said by an initial equation
            sheet.declare(heading, name, s.unit, sheet.text_of(name), start)
            _solve(section, s.equation, rate)

    def unknowns(self) -> None:
        """Variables of the model."""
        sheet, heading = self.sheet, "variables that are solved for"
        section = sheet.section(heading, "variable")
        for y in self.m.unknowns:
            symbol = self.symbol("y", y.name)
            name = sheet.name(symbol, y.name)
            unit = sheet.shown[name].unit if name in sheet.shown else ""
            sheet.declare(heading, name, unit, sheet.text_of(name) or y.label, y.start, fixed=False)
            _solve(section, y.equation, symbol)

    # ---- what holds

    def multiplier(self, heading: str, name: str, direction: str, unit: str, symbol: Node) -> str:
        """The variable of a constraint row's multiplier."""
        found = self.sheet.known[symbol] = self.sheet.names.new(f"{name}.lambda.{direction}")
        self.sheet.declare(heading, found, "N" if unit == "m" else "N.m", f"multiplier of {direction}")
        return found

    def held(self, held: Held) -> Section:
        """A row with its multiplier, its gap and the rate of that (T22.1)."""
        sheet, row = self.sheet, held.row
        section = sheet.section(held.element, held.name)
        self.multiplier(held.element, held.name, row.direction, row.unit, held.multiplier)
        terms, factors = [held.values[-1]], _FEEDBACK[row.level]
        for order, (value, factor) in enumerate(zip(held.values, factors, strict=False)):
            is_rate = row.level == "velocity" or order == 1
            name = sheet.names.new(f"{held.name}.{'gap_rate' if is_rate else 'gap'}.{row.direction}")
            unit = differentiated(row.unit) if is_rate else row.unit
            sheet.declare(held.element, name, unit, "has to be zero" if order == 0 else "its rate")
            section.say(f"{name} = ", value)
            symbol = self.symbol("gap", name)
            sheet.known[symbol] = name
            terms.append(factor * self.closing ** (len(factors) - order) * symbol)
            self.close(held.element, name, row.unit, is_rate=is_rate)
        if row.level == "velocity":  # above, none follows inputs; below, none has to be held
            self._follows(held, name)
        section.say("0 = ", self.m.graph.sum(terms))
        return section

    def _follows(self, held: Held, gap: str) -> None:
        """An input that jumps opens what follows it, and no equation sees a jump: it is told."""
        inputs = [s.name for s in self.m.inputs if self.symbol("u", s.name) in held.values[0].support]
        if not inputs:
            return
        limit = _TORN * (self.start.length if held.row.unit == "m" else 1.0)
        what = f"{held.element} lags behind {' and '.join(inputs)}: what jumps is followed at {_CLOSING} only, other "
        cure = "than in simulate; let inputs of motions change steadily, with their rates, or use an FMU"
        message = quoted(what + cure)
        section = self.sheet.section(f"{held.element}, behind its inputs", held.name)
        section.say(f"assert(abs({gap}) <= {number(limit)}, {message}, AssertionLevel.warning)")

    def left_out(self, element: str, name: str, row: Row) -> None:
        """A row that repeats others at the start; where it opens it no longer does, and the motion is nobody's."""
        length = self.start.length if row.unit == "m" else 1.0
        what = f"{element} ({row.direction}) repeats what other joints hold at the start, and no longer does: what "
        message = quoted(f"{what}follows is no motion of this mechanism; start from another pose, or use an FMU")
        section = self.sheet.section(f"{element}, {row.direction}, which repeats others", name)
        section.say("assert(abs(", row.value, f") <= {number(_TORN * length)}, {message})")

    def close(self, element: str, gap: str, unit: str, *, is_rate: bool) -> None:
        """The gap, or its rate, is none at the start: guesses follow from that; what a tool finds is looked at."""
        if self._closes:
            self.sheet.initial.say(f"{gap} = 0")
        self.check(element, gap, unit, is_rate=is_rate)

    def wishes(self) -> None:
        """What joints are said to start with."""
        for wish in self.guesses.wishes:
            self.sheet.initial.say("0 = ", wish.value)

    def check(self, element: str, gap: str, unit: str, *, is_rate: bool) -> None:
        """The gap, or its rate, must be none at the start; `unit` is that of the gap."""
        size = f"/{number(self.start.length)}" if unit == "m" else ""
        self._checks.setdefault((element, is_rate), []).append(f"abs({gap}){size}")

    def events(self) -> None:
        """Those that set states; a state is set in one `when` only (section 8.3.6)."""
        groups = together(self.m)
        for group in groups:
            self._when(group)
        # A condition that is true at the start counts too, but nothing becomes true there for a `when`.
        alone = all(len(group) == 1 for group in groups) and self.start.rounds == 1
        begun = at_start(self.m, self.start.rounds, _itself if alone else self._started_with)
        for symbol, value in begun.states.items():
            self.sheet.initial.say(f"{self.sheet.known[symbol]} = ", value)
        checks: list[Part] = []
        for name, condition in begun.left.items():
            what = f"event '{name}' follows from others at the start, which it did not when this was exported"
            message = quoted(f"{what}: export again with these parameters and start values")
            checks += ["assert(not (", Condition(condition), f"), {message});\n"]
        if checks:
            self.sheet.section("events", "event").say("when initial() then\n", *checks, "end when")

    def _when(self, group: Sequence[Event]) -> None:
        """Events that touch each other; where they are several, each has a condition and results with names."""
        sheet, section, first = self.sheet, self.sheet.section("events", "event"), group[0]
        before = {self.symbol("x", s.state): self.symbol(BEFORE, s.state) for event in group for s in event.settings}
        sheet.known |= {held: f"pre({sheet.known[symbol]})" for symbol, held in before.items()}
        inside: list[Part] = []

        def result(name: str, value: Node) -> Node:
            symbol, own = self._named("result", name)
            sheet.put("events", own, (f"discrete Real {own}(start=0, fixed=true)",))
            inside.extend((f"{own} = ", value, ";\n"))
            return symbol

        if len(group) == 1:
            after = becoming(self.m, [Occurring(first, None)], before, _itself)
            when: Part = Condition(first.condition)
        else:
            names = [self._condition(event, section) for event in group]
            edges = [self._named(TRUTH, f"edge({name})", f"edge({name})")[0] for name in names]
            after = becoming(self.m, map(Occurring, group, edges), before, result)
            when = f"{{{', '.join(names)}}}"
        for symbol, value in after.items():
            inside += [f"reinit({sheet.known[symbol]}, ", value, ");\n"]
        comments = comment(f"event {', '.join(event.name for event in group)}")
        section.say("when ", when, " then\n", *inside, f"end when{comments}")

    def _condition(self, event: Event, section: Section) -> str:
        """The variable of a condition, which is what it is before the start too."""
        name = self.sheet.names.new(event.name)
        self.sheet.put("events", name, (f"Boolean {name}",), comment(self.m.description.events[event.name].text))
        section.say(f"{name} = ", Condition(event.condition))
        self.sheet.initial.say(f"pre({name}) = ", Condition(event.condition))
        return name

    def _started_with(self, name: str, value: Node) -> Node:
        """A variable that is found at the start."""
        truth = is_condition(value)
        symbol, own = self._named(TRUTH if truth else "result", name if truth else f"{name}.start")
        self.sheet.put("events", own, (f"parameter {'Boolean' if truth else 'Real'} {own}(fixed=false)",))
        self.sheet.initial.say(f"{own} = ", Condition(value) if truth else value)
        return symbol

    def _named(self, space: str, name: str, text: str = "") -> tuple[Node, str]:
        """A symbol of its own with the text for it: a new name, if nothing else is said."""
        own = text or self.sheet.names.new(name)
        symbol = self.symbol(space, own)
        self.sheet.known[symbol] = own
        return symbol, own

    # ---- the whole

    def text(
        self, *, local: Iterable[str] = (), connections: Iterable[str] = (), annotations: Iterable[str] = (),
        notes: Iterable[str] = (),
    ) -> str:  # fmt: skip
        """The model, with local classes, connections, annotations and paragraphs of the documentation beside ours."""
        every = chain(annotations, self._annotations([*notes, *self._notes()]))
        return "\n".join(self._lines(local, connections, every)) + "\n"

    def _lines(self, local: Iterable[str], connections: Iterable[str], annotations: Iterable[str]) -> Iterator[str]:
        d, written = self.m.description, self.sheet.written()
        yield f"model {self._title}{comment(d.text)}"
        yield from local
        yield from written.function()
        yield from self._headed("parameters", written.parameters(self.start.values))
        if written.uses(self.closing):
            rate = f'parameter Real {_CLOSING}(unit="1/s", min=0) = {number(_CLOSING_RATE)}'
            yield wrapped(f"{rate}{comment(_CLOSING_TEXT)};")
        yield from written.ports(self._rates(written), self._port)
        yield from written.declarations()
        yield from written.initial()
        yield "equation"
        yield from map(wrapped, connections)
        yield from written.equations()
        yield from self._start_checks()
        yield wrapped(f"annotation({', '.join(annotations)});")
        yield f"end {self._title};"

    def _rates(self, written: Written) -> dict[str, Signal]:
        """Rates of inputs are inputs too: tools differentiate none that comes from outside."""
        found = {}
        for s in self.m.inputs:
            if written.uses(symbol := self.symbol("ud", s.name)):
                bounds: dict[str, Any] = {"minimum": None, "maximum": None, "start": 0.0}
                text = f"rate of {s.name}, 0 while it is held"
                found[self.sheet.known[symbol]] = replace(s, unit=differentiated(s.unit), text=text, **bounds)
        return found

    def _notes(self) -> Iterator[str]:
        """What is not as in `simulate`."""
        for event in self.m.events:
            read = event.condition.support.union(*(s.value.support for s in event.settings))
            if event.settings and any(symbol.value[0] in _SOLVED_FOR for symbol in read):
                yield f"Event {event.name}: what it reads is solved for; at the start that is after states were set."

    def _headed(self, heading: str, lines: Iterable[str]) -> Iterator[str]:
        for k, line in enumerate(lines):
            if k == 0:
                yield f"\n{INDENT}// {heading}"
            yield line

    def _start_checks(self) -> Iterator[str]:
        """Parameters that were changed may not fit the start values."""
        if self._checks:
            yield f"{INDENT}// the start has to be on the joints"
            yield f"{INDENT}when initial() then"
            for (element, is_rate), gaps in self._checks.items():
                what = "moves apart" if is_rate else "is open"
                message = quoted(f"{element} {what} at the start: correct start values or parameters")
                yield wrapped(f"assert({' + '.join(gaps)} <= {number(_GAP)}, {message});", 2)
            yield f"{INDENT}end when;"

    def _annotations(self, notes: Iterable[str]) -> Iterator[str]:
        d = self.m.description
        if e := d.experiment:
            values = {"StopTime": e.stop_time, "Interval": e.step, "Tolerance": e.tolerance}
            if given := modified(**{k: None if v is None else number(v) for k, v in values.items()}):
                yield f"experiment{given}"
        page = "".join(f"<p>{html(note)}</p>" for note in (d.text, self._about, *notes) if note)
        yield f"Documentation(info={quoted(f'<html>{page}</html>')})"


def _itself(name: str, value: Node) -> Node:
    return value


def _solve(section: Section, equation: Node, unknown: Node) -> None:
    """unknown = .., where the equation is of that form."""
    if equation is unknown:
        section.say(unknown, " = 0")
        return
    if equation.op == SUB and unknown in equation.args:
        other = equation.args[1 if equation.args[0] is unknown else 0]
        if unknown not in other.support:
            section.say(unknown, " = ", other)
            return
    section.say("0 = ", equation)
