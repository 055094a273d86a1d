"""The text of a model in style `multibody`; must not know where equations come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import CONST
from mbdfmu.modelica.equations import CLOSING_RATE
from mbdfmu.modelica.formulas import Formulas
from mbdfmu.modelica.multibody.acting import LOAD, LOAD_TEXT
from mbdfmu.modelica.multibody.content import CLOSING, Content
from mbdfmu.modelica.multibody.parts import Statement
from mbdfmu.modelica.multibody.types import SI, type_of
from mbdfmu.modelica.words import INDENT, comment, modified, number, quoted, wrapped
from mbdfmu.signals import Signal
from mbdfmu.units import display_units

_CLOSING_TEXT = "at which gaps of constraints close that come from rounding and the integrator's tolerance"
_GAP = 1e-6  # of the model's length, or rad: what constraints may be open by at the start


class Lines:
    """Writes what has been collected."""

    def __init__(self, content: Content) -> None:
        self.c = content

    def text(self) -> str:
        """The whole file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        d = self.c.m.description
        self._write()
        body = list(self._equations())
        given = list(self._parameters())
        parts = list(self._components())
        declared = list(self._declarations())
        yield f"model {self.c.title}{comment(d.text)}"
        yield f"{INDENT}import {SI};"
        loads = any(c.kind == LOAD for c in self.c.diagram.components.values())
        yield from self.c.tables.function()
        if loads:
            yield LOAD_TEXT.rstrip("\n")
        yield from given
        yield from self.c.tables.constants()
        yield from self._ports()
        yield f"\n{INDENT}// bodies, joints and forces"
        yield from parts
        yield from declared
        yield from self._auxiliaries()
        yield "equation"
        yield from map(wrapped, self.c.diagram.lines())
        yield from body
        yield from self._start_checks()
        yield wrapped(f"annotation({', '.join(self._annotations())});")
        yield f"end {self.c.title};"

    def _write(self) -> None:
        """All formulas, with time running."""
        statements = [(-1, s) for s in self.c.modifiers()]
        statements += [(-1, (start,)) for start in self.c.starts()]
        statements += [(k, s) for k, section in enumerate(self.c.sections) for s in section.statements]
        roots = [(k, part) for k, statement in statements for part in statement if isinstance(part, Node)]
        nodes, running = [node for _, node in roots], {self.c.m.motion.pace: self.c.graph.one}

        def run(before: Iterable[Node]) -> list[Node]:
            return self.c.graph.substitute(list(before), running)

        self._running = dict(zip(nodes, run(nodes), strict=True))
        known = dict(zip(run(self.c.known), self.c.known.values(), strict=True))
        known = {node: text for node, text in known.items() if node.op != CONST}
        forced = dict(zip(run(self.c.forced), self.c.forced.values(), strict=True))
        signals = dict(zip(run(self.c.by_node), self.c.by_node.values(), strict=True))
        wanted = {s.name for s in self.c.wanted}
        owners = [k for k, _ in roots]
        self._owners, counts = owners, Counter[str]()

        def named(node: Node, root: int) -> str:
            if node in signals and signals[node].name not in wanted and signals[node].causality == "local":
                return self.c.show(signals[node])
            owner = self.c.sections[owners[root]].name if owners[root] >= 0 else "start"
            counts[owner] += 1
            return self.c.names.new(f"{owner}_{counts[owner]}")

        self.formulas = Formulas([self._running[n] for n in nodes], known, forced, named, self.c.tables.call)

    def _written(self, statement: Statement) -> str:
        return "".join(part if isinstance(part, str) else self._formula(part) for part in statement)

    def _formula(self, node: Node) -> str:
        return self.formulas.text(self._running[node])

    def _components(self) -> Iterator[str]:
        for component in self.c.diagram.components.values():
            declared = self._written(component.statement())
            yield wrapped(f"{declared}{comment(component.text)} {component.annotation()};")

    def _parameters(self) -> Iterator[str]:
        roots = self._running.values()
        used = {s.value[1] for n in roots for s in n.support if s.value[0] == "p"}
        used |= set(self.c.m.description.parameters)
        lines = []
        for name, s in self.c.shown.items():
            if s.causality == "parameter" and s.name in used:
                value = number(self.c.start.values[s.name])
                lines.append(f"parameter {self._typed(name, s)} = {value}{comment(s.text)};")
        for a in self.formulas.auxiliaries:
            if a.fixed:
                shown = self.c.shown.get(a.name)
                typed = f"parameter {self._typed(a.name, shown)}" if shown else f"final parameter Real {a.name}"
                lines.append(f"{typed} = {a.formula}{comment(shown.text if shown else '')};")
        if self.c.closes:
            rate = modified(unit=quoted("1/s"), min="0")
            lines.append(f"parameter Real {CLOSING}{rate} = {number(CLOSING_RATE)}{comment(_CLOSING_TEXT)};")
        if lines:
            yield f"\n{INDENT}// parameters"
        yield from map(wrapped, lines)

    def _typed(self, name: str, s: Signal, *, start: bool = False) -> str:
        """Type, name and attributes."""
        kind, unit = type_of(s.unit)
        shown = display_units(s.unit)[:1] if s.unit == "rad/s" else ()
        low, high = (None if x is None else number(x) for x in (s.minimum, s.maximum))
        given = modified(
            unit=quoted(unit) if unit else None, displayUnit=quoted(shown[0].text) if shown else None,
            min=low, max=high, start=number(s.start) if start and s.start is not None else None,
        )  # fmt: skip
        return f"{kind} {name}{given}"

    def _ports(self) -> Iterator[str]:
        ports = [(n, s) for n, s in self.c.shown.items() if s.causality in ("input", "output")]
        if ports:
            yield f"\n{INDENT}// inputs and outputs"
        for name, s in ports:
            yield wrapped(f"{s.causality} {self._typed(name, s, start=s.causality == 'input')}{comment(s.text)};")

    def _declarations(self) -> Iterator[str]:
        for heading, variables in self.c.variables.items():
            yield f"\n{INDENT}// {heading}"
            for v in variables:
                kind, unit = type_of(v.unit)
                given = modified(
                    unit=quoted(unit) if unit else None,
                    start=self._formula(v.start) if v.start is not None else None,
                    fixed="true" if v.start is not None and v.fixed else None,
                )
                yield wrapped(f"{kind} {v.name}{given}{comment(v.text)};")

    def _auxiliaries(self) -> Iterator[str]:
        declared = {v.name for variables in self.c.variables.values() for v in variables}
        local = [n for n, s in self.c.shown.items() if s.causality == "local" and n not in declared]
        if local:
            yield f"\n{INDENT}// signals"
        for name in local:
            yield wrapped(f"{self._typed(name, self.c.shown[name])}{comment(self.c.shown[name].text)};")
        others = {*self.c.forced.values(), *self.c.shown}
        hidden = [a.name for a in self.formulas.auxiliaries if not a.fixed and a.name not in others]
        if hidden:
            yield "protected"
            yield f"{INDENT}// what several equations share"
            yield wrapped(f"Real {', '.join(hidden)};")

    def _equations(self) -> Iterator[str]:
        shared: dict[int, list[str]] = {}
        for a in self.formulas.auxiliaries:
            if not a.fixed:
                shared.setdefault(self._owners[a.owner], []).append(f"{a.name} = {a.formula};")
        for k, section in enumerate(self.c.sections):
            lines = [*shared.get(k, []), *(f"{self._written(s)};" for s in section.statements)]
            if lines:
                yield f"{INDENT}// {section.title}"
                yield from map(wrapped, lines)

    def _start_checks(self) -> Iterator[str]:
        """Parameters that were changed may not fit the start values."""
        if self.c.checks:
            yield f"{INDENT}// the start has to be on the constraints"
            yield f"{INDENT}when initial() then"
            for (element, is_rate), gaps in self.c.checks.items():
                what = "moves apart" if is_rate else "is open"
                message = f"{element} {what} at the start: correct start or parameters"
                yield wrapped(f"assert({' + '.join(gaps)} <= {number(_GAP)}, {quoted(message)});", 2)
            yield f"{INDENT}end when;"

    def _annotations(self) -> Iterator[str]:
        e = self.c.m.description.experiment
        yield f"Diagram(coordinateSystem(preserveAspectRatio=true, extent={self.c.diagram.extent()}))"
        if e:
            given = {"StopTime": e.stop_time, "Interval": e.step, "Tolerance": e.tolerance}
            yield f"experiment{modified(**{k: None if v is None else number(v) for k, v in given.items()})}"
        notes = [f"<p>{_html(self.c.m.description.text)}</p>", f"<p>{_html(self.c.about)}</p>"]
        yield f"Documentation(info={quoted('<html>' + ''.join(notes) + '</html>')})"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
