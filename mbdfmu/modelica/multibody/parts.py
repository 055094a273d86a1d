"""Components, their connections and where they stand in the diagram; must not know models or expressions' texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mbdfmu.modelica.sheet import Part, Statement, modification
from mbdfmu.modelica.words import comment

_PITCH = 40  # of the diagram, between the middles of components; each is 20 wide
_GREY = "color={95, 95, 95}, thickness=0.5"


def vector(*entries: Part) -> Statement:
    """{a, b, c}"""
    parts: list[Part] = ["{"]
    for k, entry in enumerate(entries):
        parts += [", ", entry] if k else [entry]
    return *parts, "}"


@dataclass
class Component:
    """One declaration: its class, its modifiers, and its place as column and row."""

    name: str
    kind: str
    modifiers: dict[str, Statement]
    place: tuple[float, float]
    text: str = ""
    prefix: str = ""

    def statement(self) -> Statement:
        """The declaration without its comment and annotation."""
        given: list[Statement] = []
        for name, value in self.modifiers.items():
            nested = isinstance(value[0], str) and value[0].startswith("(start=")
            given.append((name if nested else f"{name}=", *value))
        return (f"{self.prefix}{self.kind} {self.name}", *modification(given))

    def behind(self) -> str:
        """The comment, and where it stands."""
        x, y = self._middle()
        extent = f"{{{{{x - 10}, {y - 10}}}, {{{x + 10}, {y + 10}}}}}"
        return f"{comment(self.text)} annotation(Placement(transformation(extent={extent})))"

    def _middle(self) -> tuple[int, int]:
        column, row = self.place
        return round(_PITCH * column), round(-_PITCH * row)

    def port(self, right: bool) -> str:
        """The point where a line ends."""
        x, y = self._middle()
        return f"{{{x + 10 if right else x - 10}, {y}}}"


@dataclass
class Diagram:
    """Components by name, and the connections of their connectors."""

    components: dict[str, Component] = field(default_factory=dict)
    connections: list[tuple[str, str]] = field(default_factory=list)

    def add(self, component: Component) -> str:
        """A component; returns its name."""
        self.components[component.name] = component
        return component.name

    def connect(self, a: str, b: str) -> None:
        """Two connectors, such as `hinge.frame_b`."""
        self.connections.append((a, b))

    def lines(self) -> Iterator[str]:
        """The connections with their lines."""
        for a, b in self.connections:
            ends = []
            for connector in (a, b):
                name, _, port = connector.partition(".")
                ends.append(self.components[name].port(port == "frame_b"))
            yield f"connect({a}, {b}) annotation(Line(points={{{ends[0]}, {ends[1]}}}, {_GREY}));"

    def extent(self) -> str:
        """Of the whole diagram."""
        columns = [c.place[0] for c in self.components.values()] or [0.0]
        rows = [c.place[1] for c in self.components.values()] or [0.0]
        left, right = (round(_PITCH * f(columns)) for f in (min, max))
        top, bottom = (round(-_PITCH * f(rows)) for f in (min, max))
        low = f"{{{min(left, 0) - 20}, {min(bottom, 0) - 20}}}"
        high = f"{{{max(right, 100) + 20}, {max(top, 20) + 20}}}"
        return f"{{{low}, {high}}}"
