"""Components, their connections and where they stand in the diagram; must not know models or expressions' texts.

Components stand on a grid of columns and rows. Lines run between the columns, and below or above the rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from mbdfmu.modelica.icon import box
from mbdfmu.modelica.sheet import Part, Statement, modification
from mbdfmu.modelica.words import comment

_COLUMN, _ROW, _HALF = 40, 80, 10  # of the diagram: from column to column, from row to row, half a component
_STANDING = 30  # how far above its row a standing component is
_LANE = 25  # how far below or above a row lines pass along it
_PORT = 40  # from port to port
_TRACKS, _TRACK = 5, 2  # lines of different bodies run beside each other
# Of the classes that have a connector frame_resolve: where it stands on their upper side.
_RESOLVE = {"Modelica.Mechanics.MultiBody.Forces.Force": 4, "Modelica.Mechanics.MultiBody.Forces.ForceAndTorque": 8}
_GREY = "color={95, 95, 95}, thickness=0.5"
Point = tuple[int, int]


def vector(*entries: Part) -> Statement:
    """{a, b, c}"""
    parts: list[Part] = ["{"]
    for k, entry in enumerate(entries):
        parts += [", ", entry] if k else [entry]
    return *parts, "}"


@dataclass
class Component:
    """One declaration: its class, its modifiers, and its place as column and row.

    Connectors frame_a are on the left and frame_b on the right, or the other way round on what is flipped; what stands
    has frame_a below.
    """

    name: str
    kind: str
    modifiers: dict[str, Statement]
    place: tuple[float, float]
    text: str = ""
    prefix: str = ""
    stance: Literal["", "flipped", "standing"] = ""

    def statement(self) -> Statement:
        """The declaration without its comment and annotation."""
        given: list[Statement] = []
        for name, value in self.modifiers.items():
            nested = isinstance(value[0], str) and value[0].startswith("(start=")
            given.append((name if nested else f"{name}=", *value))
        return (f"{self.prefix}{self.kind} {self.name}", *modification(given))

    def behind(self) -> str:
        """The comment, and where it stands."""
        x, y = self.middle
        box = f"extent={{{{{x - _HALF}, {y - _HALF}}}, {{{x + _HALF}, {y + _HALF}}}}}"
        if self.stance == "flipped":
            box = f"extent={{{{{x + _HALF}, {y - _HALF}}}, {{{x - _HALF}, {y + _HALF}}}}}"
        elif self.stance == "standing":
            box = f"extent={{{{-{_HALF}, -{_HALF}}}, {{{_HALF}, {_HALF}}}}}, rotation=90, origin={{{x}, {y}}}"
        return f"{comment(self.text)} annotation(Placement(transformation({box})))"

    @property
    def middle(self) -> Point:
        """Of its icon."""
        column, row = self.place
        return round(_COLUMN * column), round(-_ROW * row) + (_STANDING if self.stance == "standing" else 0)

    def way(self, port: str, towards: int) -> list[Point]:
        """From a connector to where lines pass, on the side of `towards` where it can choose."""
        x, y = self.middle
        if self.stance == "standing":
            row, side = y - _STANDING, 1 if towards > x else -1
            return [(x, y - _HALF), (x, row), (x + side * _COLUMN // 2, row)]
        if port == "frame_resolve":
            x += _RESOLVE[self.kind]
            return [(x, y + _HALF), (x, y + _LANE)]
        side = 1 if (port == "frame_b") is not (self.stance == "flipped") else -1
        return [(x + side * _HALF, y), (x + side * _COLUMN // 2, y)]


@dataclass
class Diagram:
    """Components by name, and the connections of their connectors."""

    components: dict[str, Component] = field(default_factory=dict)
    connections: list[tuple[str, str]] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})  # how many, on the edges

    def add(self, component: Component) -> str:
        """A component; returns its name."""
        self.components[component.name] = component
        return component.name

    def connect(self, a: str, b: str) -> None:
        """Two connectors, such as `hinge.frame_b`."""
        self.connections.append((a, b))

    def lines(self) -> Iterator[str]:
        """The connections with their lines."""
        rows: dict[int, list[int]] = {}
        for component in self.components.values():
            x, y = component.middle
            rows.setdefault(y, []).append(x)
        for row in rows.values():
            row.sort()
        tracks: dict[str, int] = {}
        for a, b in self.connections:
            track = tracks.setdefault(a, len(tracks))
            points = self._line(a, b, rows, (track % _TRACKS - _TRACKS // 2) * _TRACK)
            text = ", ".join(f"{{{x}, {y}}}" for x, y in points)
            yield f"connect({a}, {b}) annotation(Line(points={{{text}}}, {_GREY}));"

    def _line(self, a: str, b: str, rows: dict[int, list[int]], track: int) -> list[Point]:
        one, other = (self.components[connector.partition(".")[0]] for connector in (a, b))
        there = one.way(a.partition(".")[2], other.middle[0])
        back = other.way(b.partition(".")[2], one.middle[0])
        (x, y), (u, v) = there[-1], back[-1]
        if y != v or not _free(rows, y, x, u):
            x, u = (n if m % _ROW else n + track for n, m in ((x, y), (u, v)))
            there[-1], back[-1] = (x, y), (u, v)
            lane = max(y, v) - _LANE + track
            if v % _ROW:  # it ends between rows already
                there.append((x, v))
            elif y % _ROW:
                there.append((u, y))
            elif _free(rows, v, x, u):
                there.append((x, v))
            elif _free(rows, y, x, u):
                there.append((u, y))
            else:
                there += [(x, lane), (u, lane)]
        return _straightened([*there, *reversed(back)])

    def port(self, causality: str, k: int) -> str:
        """The place of one more input on the left edge, or output on the right."""
        self.ports[causality] = max(self.ports[causality], k + 1)
        low, high = self._edges()
        return box(low if causality == "input" else high, _ROW - _PORT * (k + 1))

    def _edges(self) -> tuple[int, int]:
        columns = [0.0, *(c.place[0] for c in self.components.values())]
        return round(_COLUMN * min(columns)) - 2 * _COLUMN, max(round(_COLUMN * max(columns)), 100) + 2 * _COLUMN

    def extent(self) -> str:
        """Of the whole diagram."""
        (low, high), rows = self._edges(), [0.0, *(c.place[1] for c in self.components.values())]
        bottom = min(round(-_ROW * max(rows)), _ROW - _PORT * max(self.ports.values())) - _ROW // 2
        return f"{{{{{low - _HALF}, {bottom}}}, {{{high + _HALF}, {round(-_ROW * min(rows)) + _ROW}}}}}"


def _free(rows: dict[int, list[int]], y: int, x: int, u: int) -> bool:
    """Whether no component stands in a row between two places."""
    row, (low, high) = rows.get(y, []), sorted((x, u))
    k = bisect_left(row, low - _HALF)
    return k == len(row) or row[k] >= high + _HALF


def _straightened(points: list[Point]) -> list[Point]:
    """Without points that are no corners."""
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and any(found[-2][k] == found[-1][k] == point[k] for k in (0, 1)):
            found.pop()
        if not found or found[-1] != point:
            found.append(point)
    return found
