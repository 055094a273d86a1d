"""Frames, constraint primitives and measures of planar models; must not know joints, forces or indices."""

from __future__ import annotations

from dataclasses import dataclass

from mbdfmu.expressions import Node, cos, sin, sqrt
from mbdfmu.frames import Kernel, Measure, Primitive, Resolve, Row


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

    @property
    def origin(self) -> tuple[Node, Node]:
        return self.x, self.y

    @property
    def arm(self) -> tuple[Node, Node]:
        return self.sx, self.sy

    @property
    def fixed(self) -> tuple[Node, ...]:
        return self.sx, self.sy, self.turn

    def axis(self, direction: tuple[Node, Node]) -> tuple[Node, Node]:
        """A unit vector given in this frame's axes, in ground axes."""
        c, s = cos(self.angle), sin(self.angle)
        return c * direction[0] - s * direction[1], s * direction[0] + c * direction[1]

    def components(self, vector: tuple[Node, Node]) -> tuple[Node, Node]:
        """A vector given in ground axes, in this frame's axes."""
        c, s = cos(self.angle), sin(self.angle)
        return c * vector[0] + s * vector[1], c * vector[1] - s * vector[0]


def on_body(body: str, pose: tuple[Node, Node, Node], at: tuple[Node, Node], turn: Node) -> Frame:
    """The frame of a marker on a body with coordinates (x, y, phi); on ground the pose is zero."""
    x, y, phi = pose
    c, s = cos(phi), sin(phi)
    sx, sy = at
    return Frame(body=body, sx=sx, sy=sy, turn=turn, x=x + (c * sx - s * sy), y=y + (s * sx + c * sy), angle=phi + turn)


# ---------------------------------------------------------------- constraint primitives


def coincident(i: Frame, j: Frame) -> Primitive:
    """The origins of both frames stay together (T3.1)."""
    rows = (
        Row(direction="x", value=j.x - i.x, unit="m", reaction="x"),
        Row(direction="y", value=j.y - i.y, unit="m", reaction="y"),
    )
    return Primitive(rows=rows, kernel=Kernel(table="coincid", constants=(i.sx, i.sy, j.sx, j.sy)))


def equal_angles(i: Frame, j: Frame) -> Primitive:
    """Both frames keep the same angle (T3.2), but for the full turns that they start with."""
    row = Row(direction="angle", value=j.angle - i.angle, unit="rad", reaction="torque", periodic=True)
    return Primitive(rows=(row,), kernel=Kernel(table="angle", constants=(j.turn - i.turn,)))


def in_line(i: Frame, j: Frame, axis: tuple[Node, Node]) -> Primitive:
    """The origin of j stays on the line through i along `axis` (in frame i) (T3.3)."""
    normal = (-axis[1], axis[0])
    nx, ny = i.axis(normal)
    row = Row(direction="normal", value=nx * (j.x - i.x) + ny * (j.y - i.y), unit="m", reaction="normal")
    c, s = cos(i.turn), sin(i.turn)  # the kernel takes the normal in body axes
    in_body = (c * normal[0] - s * normal[1], s * normal[0] + c * normal[1])
    return Primitive(rows=(row,), kernel=Kernel(table="inline", constants=(i.sx, i.sy, j.sx, j.sy, *in_body)))


# ---------------------------------------------------------------- measures


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


# ---------------------------------------------------------------- motion of j as seen from i


def gap(i: Frame, j: Frame) -> tuple[Node, Node]:
    """From the origin of i to that of j, in ground axes."""
    return j.x - i.x, j.y - i.y


def relative_velocity(i: Frame, j: Frame, resolve: Resolve) -> tuple[Node, Node]:
    """Velocity of the origin of j in frame i, in ground axes: v_j - v_i - w_i x gap.

    A force along it acts on j at its origin, and on i the opposite at the same point.
    """
    (x, y), spin = gap(i, j), resolve.rate(i.angle)
    vx, vy = resolve.rate(j.x) - resolve.rate(i.x), resolve.rate(j.y) - resolve.rate(i.y)
    return vx + spin * y, vy - spin * x


def relative_spin(i: Frame, j: Frame, resolve: Resolve) -> tuple[Node]:
    """Angular velocity of j in frame i."""
    return (resolve.rate(j.angle) - resolve.rate(i.angle),)
