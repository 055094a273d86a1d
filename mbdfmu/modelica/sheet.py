"""A Modelica model while it is written: names, declarations, equations by section; must not know mechanics.

Formulas are printed when all of them are there, since what they share gets a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.opcodes import CONST
from mbdfmu.modelica.formulas import Auxiliary, Formulas, Named, TooLong
from mbdfmu.modelica.tables import FUNCTION, Tables
from mbdfmu.modelica.words import INDENT, Names, comment, number, quoted, wrapped
from mbdfmu.signals import Signal, SymbolicModel
from mbdfmu.units import display_units


class Condition(NamedTuple):
    """A formula that is true or false."""

    node: Node


Part = str | Node | Condition
Statement = tuple[Part, ...]  # words, and formulas between them; a formula alone only says where it belongs
Port = Callable[[str, int, int], tuple[str, str]]  # of a causality, its number of so many: a class, and its annotation
_IN_DEGREES = ("rad", "rad/s")


class Kind(NamedTuple):
    """The type of a variable, and the units that it still has to be given."""

    name: str
    unit: str
    shown: str


def plain(unit: str) -> Kind:
    """Numbers with a unit, angles shown in degrees."""
    return Kind("Real", unit, display_units(unit)[0].text if unit in _IN_DEGREES else "")


def formulas_of(statement: Statement) -> Iterator[Node]:
    """The nodes of its parts."""
    for part in statement:
        if not isinstance(part, str):
            yield part.node if isinstance(part, Condition) else part


def modification(given: Iterable[Statement]) -> Statement:
    """(a, b, c), or nothing."""
    parts: list[Part] = []
    for one in given:
        parts += [", " if parts else "(", *one]
    return (*parts, ")") if parts else ()


@dataclass
class Section:
    """Equations under one heading; `name` begins the names of what they share."""

    title: str
    name: str
    _said: list[Node]  # by all sections
    statements: list[Statement] = field(default_factory=list)

    def say(self, *parts: Part) -> None:
        """An equation without its semicolon, or a formula alone."""
        self.statements.append(parts)
        self._said += formulas_of(parts)


class _Declaration(NamedTuple):
    name: str
    statement: Statement
    behind: str  # comment and annotation


def _parts(nodes: Iterable[Node]) -> set[Node]:
    """They, and all that they are made of."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.args
    return found


class Sheet:
    """What is written, by name.

    `taken` are names that the text uses otherwise, `unnamed` signals that give nothing a name, `settled` the numbers of
    symbols that are written as such.
    """

    def __init__(
        self, model: SymbolicModel, kind: Callable[[str], Kind], taken: Iterable[str], unnamed: Container[str],
        settled: Mapping[Node, float],
    ) -> None:  # fmt: skip
        self._model, self._kind = model, kind
        self.names = Names([FUNCTION, *taken], model.signals)
        self._settled = {node: model.graph.const(value) for node, value in settled.items()}
        # Symbols, and expressions that something else calculates.
        self.known = {node: number(value) for node, value in settled.items()}
        self.forced: dict[Node, str] = {}  # expressions that are variables in any case
        self.shown: dict[str, Signal] = {}  # variables that are signals
        self.sections: list[Section] = []
        self.said: list[Node] = []  # all formulas, in the order in which they came
        self.initial = Section("start", "start", self.said)
        self._names_of: dict[str, str] = {}  # by signal
        self._declared: dict[str, list[_Declaration]] = {}  # by heading
        self._variables: set[str] = set()
        self._tables = Tables(model.description.curves, self.names)
        self._by_node: dict[Node, Signal] = {}
        for signal in (s for name, s in model.signals.items() if name not in unnamed):
            self._by_node.setdefault(signal.node, signal)

    # ---- names

    def signal_of(self, node: Node) -> Signal | None:
        """The first signal that is this very expression."""
        return self._by_node.get(node)

    def show(self, signal: Signal) -> str:
        """The variable of a signal."""
        if signal.name not in self._names_of:
            name = self._names_of[signal.name] = self.names.new(signal.name)
            self.shown[name] = signal
        return self._names_of[signal.name]

    def name(self, symbol: Node, otherwise: str) -> str:
        """A variable for a symbol, called as the signal that shows it."""
        signal = self.signal_of(symbol)
        self.known[symbol] = self.show(signal) if signal else self.names.new(otherwise)
        return self.known[symbol]

    def text_of(self, name: str) -> str:
        """What the signal says of itself."""
        return self.shown[name].text if name in self.shown else ""

    # ---- declarations and equations

    def reserve(self, heading: str) -> None:
        """A place for declarations that come later."""
        self._declared.setdefault(heading, [])

    def put(self, heading: str, name: str, statement: Statement, behind: str = "") -> None:
        """The declaration of a name, with its comment and annotation."""
        self._declared.setdefault(heading, []).append(_Declaration(name, statement, behind))
        self.said += formulas_of(statement)

    def declare(
        self, heading: str, name: str, unit: str, text: str, start: Node | None = None, *, fixed: bool = True
    ) -> None:
        """A variable of our own, with its start value."""
        kind = self._kind(unit)
        given: list[Statement] = _units(kind)
        if start is not None:
            given += [("start=", start), *([("fixed=true",)] if fixed else [])]
        self.put(heading, name, (f"{kind.name} {name}", *modification(given)), comment(text))
        self._variables.add(name)

    def section(self, title: str, name: str) -> Section:
        """The section of that title, which may be the last one."""
        if not self.sections or self.sections[-1].title != title:
            self.sections.append(Section(title, name, self.said))
        return self.sections[-1]

    # ---- text

    def running(self, nodes: Iterable[Node]) -> list[Node]:
        """The same with time running and numbers put in, as they are written."""
        return self._model.graph.substitute(
            list(nodes), {self._model.motion.pace: self._model.graph.one, **self._settled}
        )

    def written(self) -> Written:
        """The formulas of everything, with time running."""
        sections, declared = [*self.sections, self.initial], [d for given in self._declared.values() for d in given]
        stated = [*(s.statements for s in sections), *([d.statement] for d in declared)]
        roots = [(k, node) for k, every in enumerate(stated) for one in every for node in formulas_of(one)]
        owners, before = [k for k, _ in roots], [node for _, node in roots]
        after = self.running(before)
        known = dict(zip(self.running(self.known), self.known.values(), strict=True))
        known = {node: text for node, text in known.items() if node.op != CONST}
        forced = dict(zip(self.running(self.forced), self.forced.values(), strict=True))
        signals = dict(zip(self.running(self._by_node), self._by_node.values(), strict=True))
        names = [*(s.name for s in sections), *(d.name for d in declared)]
        named = self._namer([names[k] for k in owners], signals)
        momentary = {n for n, k in enumerate(owners) if k == len(self.sections)}
        try:
            formulas = Formulas(after, known, forced, named, self._tables.call, momentary)
        except TooLong as error:
            titles = [*(s.title for s in sections), *(d.name for d in declared)]
            what = self._source(error.node) or titles[owners[error.root]]
            raise ModelError(
                f"{what} cannot be written in Modelica: its formula would fill dozens of pages; use a simpler element "
                "there, or export an FMU"
            ) from None
        return Written(self, formulas, dict(zip(before, after, strict=True)), owners)

    def _source(self, node: Node) -> str:
        """The force that has most in common with an expression."""
        inside, common = _parts([node]), {}
        for force in self._model.forces:
            parts = _parts(self.running([n for e in force.load.efforts for n in (e.effort, e.rate)]))
            common[f"force '{force.name}'"] = len(inside & parts)
        return max(common, key=common.__getitem__, default="") if any(common.values()) else ""

    def _namer(self, owners: Sequence[str], signals: Mapping[Node, Signal]) -> Named:
        counts: Counter[str] = Counter()

        def named(node: Node | None, root: int) -> str:
            """As the signal that it is, or after what uses it first."""
            if node is not None and node in signals and signals[node].name not in self._names_of:
                return self.show(signals[node])
            counts[owners[root]] += 1
            return self.names.new(f"{owners[root]}_{counts[owners[root]]}")

        return named

    def typed(self, name: str, s: Signal, start: float | None = None, type_name: str | None = None) -> str:
        """Type, name and attributes of a signal's variable."""
        kind = plain(s.unit)._replace(name=type_name) if type_name else self._kind(s.unit)
        bounds = {"min": s.minimum, "max": s.maximum, "start": start}
        given = [*_units(kind), *((f"{key}={number(x)}",) for key, x in bounds.items() if x is not None)]
        return "".join(map(str, (f"{kind.name} {name}", *modification(given))))


class Written:
    """A sheet with its formulas: the parts of the text in the order in which they are read."""

    def __init__(self, sheet: Sheet, formulas: Formulas, running: Mapping[Node, Node], owners: list[int]) -> None:
        self._sheet, self._formulas, self._running = sheet, formulas, running
        self._symbols = {symbol for node in running.values() for symbol in node.support}
        self._fixed = [a for a in formulas.auxiliaries if a.fixed]
        self._moving = [a for a in formulas.auxiliaries if not a.fixed]
        self._shared: dict[int, list[Auxiliary]] = {}
        for a in self._moving:
            self._shared.setdefault(owners[a.owner], []).append(a)

    def uses(self, symbol: Node) -> bool:
        """Whether any formula has the symbol."""
        return symbol in self._symbols

    def function(self) -> Iterator[str]:
        """That reads curves, if there are any."""
        return self._sheet._tables.function()

    def parameters(self, values: Mapping[str, float]) -> Iterator[str]:
        """Those that anything depends on, and what follows from parameters."""
        used = {s.value[1] for s in self._symbols if s.value[0] == "p"}
        for name, s in self._sheet.shown.items():
            if s.causality == "parameter" and s.name in used:
                value = number(values[s.name])
                yield wrapped(f"parameter {self._sheet.typed(name, s)} = {value}{comment(s.text)};")
        for a in self._fixed:
            if shown := self._sheet.shown.get(a.name):
                yield wrapped(f"parameter {self._sheet.typed(a.name, shown)} = {a.formula}{comment(shown.text)};")
        yield from self._sheet._tables.constants()

    def ports(self, rates: Mapping[str, Signal], port: Port | None) -> Iterator[str]:
        """Inputs, with their rates, and outputs."""
        every = [(name, s) for name, s in self._sheet.shown.items() if s.causality in ("input", "output")]
        if every:
            yield f"\n{INDENT}// inputs and outputs"
        for causality in ("input", "output"):
            given = [(name, s) for name, s in every if s.causality == causality]
            given += rates.items() if causality == "input" else ()
            for k, (name, s) in enumerate(given):
                start = s.start if causality == "input" else None
                kind, behind = port(causality, k, len(given)) if port else (None, "")
                declared = self._sheet.typed(name, s, start, kind)
                yield wrapped(f"{declared if kind else f'{causality} {declared}'}{comment(s.text)}{behind};")

    def declarations(self) -> Iterator[str]:
        """Components and variables of our own, signals, and what several equations share."""
        for heading, given in self._sheet._declared.items():
            if given:
                yield f"\n{INDENT}// {heading}"
            yield from (wrapped(f"{self._text(one.statement)}{one.behind};") for one in given)
        there = self._sheet._variables | {a.name for a in self._fixed}
        signals = {n: s for n, s in self._sheet.shown.items() if s.causality == "local" and n not in there}
        if signals:
            yield f"\n{INDENT}// signals"
            yield from (wrapped(f"{self._sheet.typed(n, s)}{comment(s.text)};") for n, s in signals.items())
        if pieces := [name for name, _ in self._sheet._tables.pieces()]:
            yield f"\n{INDENT}// corners of tables that have been passed"
            yield wrapped(f"Integer {', '.join(pieces)};")
        fixed, hidden = ([a for a in every if a.name not in self._sheet.shown] for every in (self._fixed, self._moving))
        if fixed or hidden:
            yield "protected"
            yield f"{INDENT}// what several formulas share"
        yield from (wrapped(f"final parameter Real {a.name} = {a.formula};") for a in fixed)
        if hidden:
            yield wrapped(f"Real {', '.join(a.name for a in hidden)};")

    def equations(self) -> Iterator[str]:
        """Section by section, each after what it shares with later ones."""
        sections = self._sheet.sections
        for k, section in enumerate((*sections, self._sheet.initial)):
            lines = [f"{a.name} = {a.formula};" for a in self._shared.get(k, ())]
            if k < len(sections):
                lines += [f"{self._text(s)};" for s in section.statements if len(s) > 1 or isinstance(s[0], str)]
            if lines:
                yield f"{INDENT}// {section.title}"
                yield from map(wrapped, lines)
        for k, (_, equation) in enumerate(self._sheet._tables.pieces()):
            yield from [f"{INDENT}// corners of tables, which are events"] if k == 0 else []
            yield wrapped(f"{equation};")

    def initial(self) -> Iterator[str]:
        """What holds at the start only."""
        if self._sheet.initial.statements:
            yield "initial equation"
        yield from (wrapped(f"{self._text(s)};") for s in self._sheet.initial.statements)

    def _text(self, statement: Statement) -> str:
        return "".join(map(self._part, statement))

    def _part(self, part: Part) -> str:
        if isinstance(part, Condition):
            return self._formulas.condition(self._running[part.node])
        return part if isinstance(part, str) else self._formulas.text(self._running[part])


def _units(kind: Kind) -> list[Statement]:
    units = {"unit": kind.unit, "displayUnit": kind.shown}
    return [(f"{key}={quoted(unit)}",) for key, unit in units.items() if unit]
