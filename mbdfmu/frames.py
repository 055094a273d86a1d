"""Frames, constraint primitives and measures in symbolic form, from which joints and forces are made.

Only values are written here: rows, derivatives, rates and accelerations follow by exact differentiation (T3). A
primitive may name a native kernel that computes the same faster; tests hold the two against each other. This module
must not know joints, forces or indices.
"""

from __future__ import annotations

from dataclasses import dataclass

from mbdfmu.expressions import Node, cos, sin, sqrt


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A marker: fixed in `body` at (sx, sy), turned by `turn`; (x, y) and `angle` are the same seen from the ground."""

    body: str
    sx: Node  # m, body axes
    sy: Node
    turn: Node  # rad
    x: Node  # m, ground axes
    y: Node
    angle: Node  # rad

    def axis(self, direction: tuple[Node, Node]) -> tuple[Node, Node]:
        """A unit vector given in this frame's axes, in ground axes."""
        c, s = cos(self.angle), sin(self.angle)
        return c * direction[0] - s * direction[1], s * direction[0] + c * direction[1]


def on_body(body: str, pose: tuple[Node, Node, Node], at: tuple[Node, Node], turn: Node) -> Frame:
    """The frame of a marker on a body with coordinates (x, y, phi); on ground the pose is zero."""
    x, y, phi = pose
    c, s = cos(phi), sin(phi)
    sx, sy = at
    return Frame(body=body, sx=sx, sy=sy, turn=turn, x=x + (c * sx - s * sy), y=y + (s * sx + c * sy), angle=phi + turn)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One constraint equation `value` = 0; `direction` names it in messages, `reaction` names lambda in signals.

    The generalised force of the row on a coordinate is -lambda d(value)/d(coordinate).
    """

    direction: str
    value: Node
    unit: str  # of the value: "m" or "rad"
    reaction: str
    sign: float = -1.0  # the reaction is sign * lambda; -1 gives the force on the end j
    text: str = "on the end j"


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Native code that computes the same: a table of the solver and the constants of one entry."""

    table: str
    constants: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """Constraint rows that belong together."""

    rows: tuple[Row, ...]
    kernel: Kernel | None = None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A scalar that a joint leaves free or that a force acts along."""

    value: Node
    unit: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Load:
    """What a force element does: the generalised forces are (spring + actuator) d(measure)/dq (T4.0)."""

    spring: Node  # N or N.m; positive acts towards a larger measure
    actuator: Node
    energy: Node  # J, stored
    kernel: Kernel | None = None  # computes the spring's part where its constants and both frames are fixed


# ---------------------------------------------------------------- constraint primitives


def coincident(i: Frame, j: Frame) -> Primitive:
    """The origins of both frames stay together (T3.1)."""
    rows = (
        Row(direction="x", value=j.x - i.x, unit="m", reaction="x"),
        Row(direction="y", value=j.y - i.y, unit="m", reaction="y"),
    )
    return Primitive(rows=rows, kernel=Kernel(table="coincid", constants=(i.sx, i.sy, j.sx, j.sy)))


def equal_angles(i: Frame, j: Frame) -> Primitive:
    """Both frames keep the same angle (T3.2)."""
    row = Row(direction="angle", value=j.angle - i.angle, unit="rad", reaction="torque")
    return Primitive(rows=(row,), kernel=Kernel(table="angle", constants=(j.turn - i.turn,)))


def in_line(i: Frame, j: Frame, axis: tuple[Node, Node]) -> Primitive:
    """The origin of j stays on the line through i along `axis` (in frame i) (T3.3)."""
    normal = (-axis[1], axis[0])
    nx, ny = i.axis(normal)
    row = Row(direction="normal", value=nx * (j.x - i.x) + ny * (j.y - i.y), unit="m", reaction="normal")
    c, s = cos(i.turn), sin(i.turn)  # the kernel takes the normal in body axes
    in_body = (c * normal[0] - s * normal[1], s * normal[0] + c * normal[1])
    return Primitive(rows=(row,), kernel=Kernel(table="inline", constants=(i.sx, i.sy, j.sx, j.sy, *in_body)))


def fixed_distance(i: Frame, j: Frame, length: Node) -> Primitive:
    """The origins keep a distance (T3.4)."""
    value = distance(i, j).value - length
    row = Row(direction="length", value=value, unit="m", reaction="pull", sign=1.0, text="tension of the rod")
    return Primitive(rows=(row,))


# ---------------------------------------------------------------- measures


def distance(i: Frame, j: Frame) -> Measure:
    """Distance of the origins."""
    dx, dy = j.x - i.x, j.y - i.y
    return Measure(value=sqrt(dx * dx + dy * dy), unit="m", text="distance of the ends")


def relative_angle(i: Frame, j: Frame) -> Measure:
    """Angle of j relative to i; it counts turns."""
    return Measure(value=j.angle - i.angle, unit="rad", text="angle of j relative to i, counts turns")


def displacement(i: Frame, j: Frame, axis: tuple[Node, Node]) -> Measure:
    """Position of j along an axis of frame i."""
    ax, ay = i.axis(axis)
    return Measure(value=ax * (j.x - i.x) + ay * (j.y - i.y), unit="m", text="position of j along the axis of i")


def unit_vector(direction: tuple[Node, Node]) -> tuple[Node, Node]:
    """The direction with length 1."""
    x, y = direction
    length = sqrt(x * x + y * y)
    return x / length, y / length
