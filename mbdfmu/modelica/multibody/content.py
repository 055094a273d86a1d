"""What is to be written of a model in style `multibody`, before it is text; must not know how lines are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mbdfmu.expressions import Node
from mbdfmu.modelica.multibody.acting import LOAD
from mbdfmu.modelica.multibody.mechanism import WORLD
from mbdfmu.modelica.multibody.parts import Diagram, Statement
from mbdfmu.modelica.start import Start
from mbdfmu.modelica.tables import FUNCTION, Tables
from mbdfmu.modelica.words import Names, identifier
from mbdfmu.signals import Signal, SymbolicModel

CLOSING = "closing_rate"


@dataclass
class Section:
    """Equations under one heading; `name` begins the names of what they share."""

    title: str
    name: str
    statements: list[Statement] = field(default_factory=list)


@dataclass(frozen=True)
class Variable:
    """A declaration."""

    name: str
    unit: str
    text: str = ""
    start: Node | None = None
    fixed: bool = True


class Content:
    """Names, declarations and equations, and the diagram of the components."""

    def __init__(self, model: SymbolicModel, start: Start, wanted: Iterable[Signal], about: str) -> None:
        self.m, self.start, self.about = model, start, about
        self.graph = model.graph
        self.title = identifier(model.description.name)
        self.names = Names([self.title, FUNCTION, LOAD, WORLD, CLOSING, "SI"], model.signals)
        self.tables = Tables(model.description.curves, self.names)
        self.wanted = [s for s in wanted if s.causality in ("output", "local")]
        self.by_node: dict[Node, Signal] = {}
        for signal in model.signals.values():
            self.by_node.setdefault(signal.node, signal)
        self.shown: dict[str, Signal] = {}  # variables that are signals
        self.known: dict[Node, str] = {}
        self.forced: dict[Node, str] = {}  # expressions that are variables in any case
        self.sections: list[Section] = []
        self.variables: dict[str, list[Variable]] = {}  # by heading
        self.checks: dict[tuple[str, bool], list[str]] = {}  # gaps that must be none at the start, or their rates
        self.diagram = Diagram()
        self.closes = False  # whether gaps are closed at a rate

    def section(self, title: str, name: str) -> Section:
        """The next equations."""
        self.sections.append(Section(title, name))
        return self.sections[-1]

    def declare(self, heading: str, variable: Variable) -> str:
        """A variable; returns its name."""
        self.variables.setdefault(heading, []).append(variable)
        return variable.name

    def show(self, signal: Signal) -> str:
        """A name for a signal that becomes a variable."""
        name = self.names.new(signal.name)
        self.shown[name] = signal
        return name

    def name(self, symbol: Node, otherwise: str) -> str:
        """Of a symbol: that of the signal that shows it."""
        signal = self.by_node.get(symbol)
        name = self.known[symbol] = self.show(signal) if signal else self.names.new(otherwise)
        return name

    def text_of(self, name: str) -> str:
        """The comment on a variable."""
        return self.shown[name].text if name in self.shown else ""

    def modifiers(self) -> list[Statement]:
        """The declarations of all components."""
        return [component.statement() for component in self.diagram.components.values()]

    def starts(self) -> list[Node]:
        """The start values of all variables."""
        return [v.start for variables in self.variables.values() for v in variables if v.start is not None]
