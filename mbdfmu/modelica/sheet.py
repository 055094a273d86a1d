"""A Modelica model while it is written: names, declarations, equations by section; must not know mechanics.

Formulas are printed when all of them are there, since what they share gets a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from mbdfmu.expressions import Node
from mbdfmu.modelica.formulas import Auxiliary, Formulas, Named
from mbdfmu.modelica.tables import FUNCTION, Tables
from mbdfmu.modelica.words import INDENT, Names, comment, modified, number, quoted, wrapped
from mbdfmu.signals import Signal, SymbolicModel
from mbdfmu.units import display_units

_IN_DEGREES = ("rad", "rad/s")


@dataclass(frozen=True)
class Equation:
    """A statement with places {0}, {1}, .. for formulas; without a template it only says where formulas belong."""

    template: str
    nodes: tuple[Node, ...]
    text: str = ""


@dataclass
class Section:
    """Equations under one heading; `name` begins the names of what they share."""

    title: str
    name: str
    equations: list[Equation] = field(default_factory=list)

    def add(self, template: str, *nodes: Node, text: str = "") -> None:
        self.equations.append(Equation(template, nodes, text))


@dataclass(frozen=True)
class _Declaration:
    """A variable, with the formula of its start value."""

    name: str
    unit: str
    text: str
    start: Node | None
    fixed: bool

    def written(self, start: str | None) -> str:
        unit = quoted(self.unit) if self.unit else None
        fixed = "true" if self.fixed and start is not None else None
        return wrapped(f"Real {self.name}{modified(unit=unit, start=start, fixed=fixed)}{comment(self.text)};")


class Sheet:
    """What is written, by name; `taken` are names that the text uses otherwise."""

    def __init__(self, model: SymbolicModel, taken: Iterable[str]) -> None:
        self._model = model
        self.names = Names([FUNCTION, *taken], model.signals)
        self.known: dict[Node, str] = {}  # symbols
        self.forced: dict[Node, str] = {}  # expressions that are variables in any case
        self.shown: dict[str, Signal] = {}  # variables that are signals
        self.sections: list[Section] = []
        self._lines: list[_Declaration | str] = []
        self._declared: set[str] = set()
        self._tables = Tables(model.description.curves, self.names)
        self._by_node: dict[Node, Signal] = {}
        for signal in model.signals.values():
            self._by_node.setdefault(signal.node, signal)

    # ---- names

    def signal_of(self, node: Node) -> Signal | None:
        """The first signal that is this very expression."""
        return self._by_node.get(node)

    def show(self, signal: Signal) -> str:
        """A variable for a signal."""
        name = self.names.new(signal.name)
        self.shown[name] = signal
        return name

    def name(self, symbol: Node, otherwise: str) -> str:
        """A variable for a symbol, called as the signal that shows it."""
        signal = self.signal_of(symbol)
        self.known[symbol] = self.show(signal) if signal else self.names.new(otherwise)
        return self.known[symbol]

    def text_of(self, name: str) -> str:
        """What the signal says of itself."""
        return self.shown[name].text if name in self.shown else ""

    # ---- declarations and equations

    def head(self, title: str) -> None:
        """Declarations that follow belong together."""
        self._lines += ["", f"{INDENT}// {title}"]

    def declare(self, name: str, unit: str, text: str, start: Node | None = None, *, fixed: bool = True) -> None:
        """A variable of our own, with its start value."""
        self._lines.append(_Declaration(name, unit, text, start, fixed))
        self._declared.add(name)

    def declare_matrix(self, name: str, text: str) -> None:
        """Three by three."""
        self._lines.append(f"{INDENT}Real {name}[3, 3]{comment(text)};")

    def section(self, title: str, name: str) -> Section:
        """The section of that title, which may be the last one."""
        if not self.sections or self.sections[-1].title != title:
            self.sections.append(Section(title, name))
        return self.sections[-1]

    # ---- text

    def written(self) -> Written:
        """The formulas of everything, with time running."""
        running = {self._model.motion.pace: 1.0}
        starts = [line.start for line in self._lines if isinstance(line, _Declaration) and line.start is not None]
        given = [*chain.from_iterable(e.nodes for s in self.sections for e in s.equations), *starts]
        roots = self._model.graph.substitute(given, running)
        forced = self._model.graph.substitute(list(self.forced), running)
        replaced = dict(zip(given, roots, strict=True))
        owners = [k for k, section in enumerate(self.sections) for e in section.equations for _ in e.nodes]
        formulas = Formulas(
            roots, self.known, dict(zip(forced, self.forced.values(), strict=True)), self._namer(owners, running),
            self._tables.call,
        )  # fmt: skip
        return Written(self, formulas, replaced, [*owners, *[-1] * len(starts)])

    def _namer(self, owners: list[int], running: Mapping[Node, float]) -> Named:
        nodes = self._model.graph.substitute(list(self._by_node), running)
        signals = dict(zip(nodes, self._by_node.values(), strict=True))
        counts: Counter[str] = Counter()

        def named(node: Node, root: int) -> str:
            """As the signal that it is, or after the section that uses it first."""
            if node in signals:
                return self.show(signals[node])
            owner = self.sections[owners[root]].name if root < len(owners) else "start"
            counts[owner] += 1
            return self.names.new(f"{owner}_{counts[owner]}")

        return named


class Written:
    """A sheet with its formulas: the parts of the text in the order in which they are read."""

    def __init__(self, sheet: Sheet, formulas: Formulas, replaced: Mapping[Node, Node], owners: list[int]) -> None:
        self._sheet, self._formulas, self._replaced = sheet, formulas, replaced
        self._fixed = [a for a in formulas.auxiliaries if a.fixed]
        self._moving = [a for a in formulas.auxiliaries if not a.fixed]
        self._shared: dict[int, list[Auxiliary]] = {}
        for a in self._moving:
            self._shared.setdefault(owners[a.owner], []).append(a)

    def function(self) -> Iterator[str]:
        """That reads curves, if there are any."""
        return self._sheet._tables.function()

    def parameters(self, values: Mapping[str, float], wanted: Iterable[str]) -> Iterator[str]:
        """Those that anything depends on, those that are wanted in any case, and what follows from parameters."""
        used = {s.value[1] for node in self._replaced.values() for s in node.support if s.value[0] == "p"} | {*wanted}
        for name, s in self._sheet.shown.items():
            if s.causality == "parameter" and s.name in used:
                value = number(values[s.name])
                yield wrapped(f"parameter Real {name}{_attributes(s)} = {value}{comment(s.text)};")
        for a in self._fixed:
            shown = self._sheet.shown.get(a.name)
            kind, text = ("parameter", shown.text) if shown else ("final parameter", "")
            attributes = _attributes(shown) if shown else ""
            yield wrapped(f"{kind} Real {a.name}{attributes} = {a.formula}{comment(text)};")
        yield from self._sheet._tables.constants()

    def ports(self) -> Iterator[str]:
        """Inputs and outputs."""
        ports = [(name, s) for name, s in self._sheet.shown.items() if s.causality in ("input", "output")]
        if ports:
            yield f"\n{INDENT}// inputs and outputs"
        for name, s in ports:
            start = s.start if s.causality == "input" else None
            yield wrapped(f"{s.causality} Real {name}{_attributes(s, start)}{comment(s.text)};")

    def declarations(self) -> Iterator[str]:
        """Variables of our own, signals, and what several equations share."""
        for line in self._sheet._lines:
            if isinstance(line, str):
                yield line
            else:
                start = None if line.start is None else self._formulas.text(self._replaced[line.start])
                yield line.written(start)
        there = self._sheet._declared | {a.name for a in self._fixed}
        signals = {n: s for n, s in self._sheet.shown.items() if s.causality == "local" and n not in there}
        if signals:
            yield f"\n{INDENT}// signals"
            yield from (wrapped(f"Real {n}{_attributes(s)}{comment(s.text)};") for n, s in signals.items())
        hidden = [a.name for a in self._moving if a.name not in self._sheet.shown]
        if hidden:
            yield "protected"
            yield f"{INDENT}// what several equations share"
            yield wrapped(f"Real {', '.join(hidden)};")

    def equations(self) -> Iterator[str]:
        """Section by section, each after what it shares with later ones."""
        for k, section in enumerate(self._sheet.sections):
            lines = [f"{a.name} = {a.formula};" for a in self._shared.get(k, ())]
            lines += [self._statement(e) for e in section.equations if e.template]
            if lines:
                yield f"{INDENT}// {section.title}"
                yield from map(wrapped, lines)

    def _statement(self, e: Equation) -> str:
        formulas = (self._formulas.text(self._replaced[node]) for node in e.nodes)
        return f"{e.template.format(*formulas)}{comment(e.text)};"


def _attributes(s: Signal, start: float | None = None) -> str:
    shown = display_units(s.unit)[0].text if s.unit in _IN_DEGREES else None
    low, high, begin = (None if x is None else number(x) for x in (s.minimum, s.maximum, start))
    return modified(
        unit=quoted(s.unit) if s.unit else None, displayUnit=quoted(shown) if shown else None, min=low, max=high,
        start=begin,
    )  # fmt: skip
