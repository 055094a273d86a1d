"""Frames, constraint primitives and measures of spatial models; must not know joints, forces or indices.

Directions are given in the axes of a frame. A joint that has an axis gives it alike in both frames, which coincide
where the joint's coordinates are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.expressions import Node, atan2
from mbdfmu.frames import Kernel, Measure, Primitive, Rates, Resolve, Row, Side
from mbdfmu.vectors import cross, dot, minus, normals, plus, scaled, transposed, turned


@dataclass(frozen=True, kw_only=True)
class Pose:
    """Place and motion of a body: its centre of mass, its axes, its angular velocity."""

    r: Vector  # m, ground axes
    R: Matrix  # body axes -> ground axes
    omega: Vector  # rad/s, body axes


@dataclass(frozen=True, kw_only=True)
class SpatialFrame:
    """A marker: fixed in `body` at `s` with the axes `A`; `p` is its origin seen from the ground."""

    body: str
    s: Vector  # m, body axes, from the centre of mass
    A: Matrix  # rows: the marker's axes x, y, z in body axes
    pose: Pose
    p: Vector  # m, ground axes

    @property
    def origin(self) -> Vector:
        return self.p

    @property
    def arm(self) -> Vector:
        return self.s

    @property
    def fixed(self) -> tuple[Node, ...]:
        return (*self.s, *self.A[0], *self.A[1], *self.A[2])

    @cached_property
    def _turn(self) -> Matrix:
        return transposed(self.A)

    def in_body(self, direction: Vector) -> Vector:
        """A vector given in this frame's axes, in body axes."""
        return turned(self._turn, direction)

    def axis(self, direction: Vector) -> Vector:
        """A vector given in this frame's axes, in ground axes."""
        return turned(self.pose.R, self.in_body(direction))

    def components(self, vector: Vector) -> Vector:
        """A vector given in ground axes, in this frame's axes."""
        return turned(self.A, turned(transposed(self.pose.R), vector))

    @property
    def axes(self) -> Matrix:
        """The axes x, y, z in ground axes."""
        x, y, z = (turned(self.pose.R, axis) for axis in self.A)
        return x, y, z

    @property
    def omega(self) -> Vector:
        """Angular velocity in ground axes (rad/s)."""
        return turned(self.pose.R, self.pose.omega)


def on_body(body: str, pose: Pose, s: Vector, axes: Matrix) -> SpatialFrame:
    """The frame of a marker on a body."""
    return SpatialFrame(body=body, s=s, A=axes, pose=pose, p=plus(pose.r, turned(pose.R, s)))


def basis(node: Node) -> Matrix:
    """The directions x, y, z as constants of the node's graph."""
    one, zero = node.graph.one, node.graph.zero
    return (one, zero, zero), (zero, one, zero), (zero, zero, one)


# ---------------------------------------------------------------- constraint primitives


def coincident(i: SpatialFrame, j: SpatialFrame) -> Primitive:
    """The origins of both frames stay together."""
    gap = minus(j.p, i.p)
    rows = tuple(Row(direction=name, value=value, unit="m") for name, value in zip("xyz", gap, strict=True))
    return Primitive(rows=rows, kernel=Kernel(table="coinci3", constants=(*i.s, *j.s)))


def perpendicular(
    i: SpatialFrame, a: Vector, j: SpatialFrame, b: Vector, *, direction: str = "rotation", reaction: str = ""
) -> Primitive:
    """The direction `a` of frame i and `b` of frame j stay perpendicular."""
    row = Row(direction=direction, value=dot(i.axis(a), j.axis(b)), unit="rad", reaction=reaction)
    return Primitive(rows=(row,), kernel=Kernel(table="perpend", constants=(*i.in_body(a), *j.in_body(b))))


def in_plane(
    i: SpatialFrame, j: SpatialFrame, normal: Vector, *, direction: str = "normal", reaction: str = ""
) -> Primitive:
    """The origin of j stays in the plane through i with a normal given in frame i."""
    row = Row(direction=direction, value=displacement(i, j, normal).value, unit="m", reaction=reaction)
    return Primitive(rows=(row,), kernel=Kernel(table="inplane", constants=(*i.s, *j.s, *i.in_body(normal))))


def in_line(i: SpatialFrame, j: SpatialFrame, axis: Vector) -> tuple[Primitive, ...]:
    """The origin of j stays on the line through i along an axis of frame i."""
    return tuple(in_plane(i, j, n, direction=f"normal {k}") for k, n in enumerate(normals(axis), start=1))


def parallel(i: SpatialFrame, j: SpatialFrame, axis: Vector) -> tuple[Primitive, ...]:
    """The axis of frame j keeps the direction of that of frame i."""
    first, second = normals(axis)
    side = Side(label="the axes of both ends", node=dot(i.axis(axis), j.axis(axis)))
    tilted = perpendicular(i, first, j, axis, direction="rotation 1")
    return Primitive(rows=tilted.rows, kernel=tilted.kernel, sides=(side,)), perpendicular(
        i, second, j, axis, direction="rotation 2"
    )


def same_orientation(i: SpatialFrame, j: SpatialFrame) -> tuple[Primitive, ...]:
    """The axes of both frames keep the same directions.

    The three rows also hold for half turns (trace of the relative rotation -1) and for a permutation of the axes
    (trace 0).
    """
    x, y, z = basis(i.p[0])
    trace = dot(i.axis(x), j.axis(x)) + dot(i.axis(y), j.axis(y)) + dot(i.axis(z), j.axis(z))
    first = perpendicular(i, z, j, y, direction="rotation x")
    held = Primitive(rows=first.rows, kernel=first.kernel, sides=(Side(label="the axes of both ends", node=trace - 1),))
    return held, perpendicular(i, x, j, z, direction="rotation y"), perpendicular(i, y, j, x, direction="rotation z")


def equal_spin(i: SpatialFrame, j: SpatialFrame, axis: Vector) -> Primitive:
    """Both frames turn alike about their own axes, however these are inclined to each other.

    For parallel axes the value is the sine of the angle between the frames.
    """
    u, v = normals(axis)
    value = 0.5 * (dot(i.axis(v), j.axis(u)) - dot(i.axis(u), j.axis(v)))
    same = dot(i.axis(u), j.axis(u)) + dot(i.axis(v), j.axis(v))
    side = Side(label="the axes of both ends", node=same, meets=True)
    return Primitive(rows=(Row(direction="rotation", value=value, unit="rad"),), sides=(side,))


# ---------------------------------------------------------------- measures


def angle_between(a: Vector, b: Vector, axis: Vector, text: str) -> Measure:
    """Angle that turns `a` into `b` about a unit axis, all in ground axes."""
    value = atan2(dot(cross(a, b), axis), dot(a, b))
    return Measure(value=value, unit="rad", text=f"{text}, counts turns", counts=True)


def angle_about(i: SpatialFrame, j: SpatialFrame, axis: Vector) -> Measure:
    """Angle of j relative to i about an axis that both share."""
    u, v = normals(axis)
    moved = j.axis(u)
    value = atan2(dot(i.axis(v), moved), dot(i.axis(u), moved))
    return Measure(value=value, unit="rad", text="angle of j relative to i about the axis, counts turns", counts=True)


def universal_angles(i: SpatialFrame, axis_i: Vector, j: SpatialFrame, axis_j: Vector) -> dict[str, Measure]:
    """Angles of two perpendicular axes: that of the cross about the axis of i, and that of j about its own axis."""
    a, b = i.axis(axis_i), j.axis(axis_j)
    return {
        "angle_1": angle_between(i.axis(axis_j), b, a, "angle of the axis of j about the axis of i"),
        "angle_2": angle_between(a, j.axis(axis_i), b, "angle of j about its own axis"),
    }


def displacement(i: SpatialFrame, j: SpatialFrame, axis: Vector, text: str = "") -> Measure:
    """Position of j along a direction of frame i."""
    value = dot(i.axis(axis), minus(j.p, i.p))
    return Measure(value=value, unit="m", text=text or "position of j along the axis of i")


def displacements(i: SpatialFrame, j: SpatialFrame, axes: tuple[Vector, ...], text: str) -> dict[str, Measure]:
    """Positions of j along several directions of frame i, as x, y, z."""
    return {
        f"displacement_{name}": displacement(i, j, axis, f"position of j {text}, {name}")
        for name, axis in zip("xyz", axes, strict=False)
    }


# ---------------------------------------------------------------- motion of j as seen from i


def gap(i: SpatialFrame, j: SpatialFrame) -> Vector:
    """From the origin of i to that of j, in ground axes."""
    return minus(j.p, i.p)


def relative_velocity(i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Vector:
    """Velocity of the origin of j in frame i, in ground axes: v_j - v_i - w_i x gap.

    A force along it acts on j at its origin, and on i the opposite at the same point.
    """
    carried = cross(spin(i, resolve), gap(i, j))
    return minus(minus(velocity(j, resolve), velocity(i, resolve)), carried)


def relative_spin(i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Vector:
    """Angular velocity of j in frame i, in ground axes."""
    return minus(spin(j, resolve), spin(i, resolve))


def relative_rotation(i: SpatialFrame, j: SpatialFrame) -> Matrix:
    """Takes vectors from the axes of j to those of i."""
    first, second = i.axes, j.axes
    a, b, c = (tuple(dot(mine, other) for other in second) for mine in first)
    return a, b, c  # type: ignore[return-value]


def velocity(frame: SpatialFrame, resolve: Rates) -> Vector:
    """Of the origin, in ground axes; a marker may also move in its body.

    Rejected: the rate of `p`, which is the same with twice the operations.
    """
    x, y, z = frame.pose.r
    vx, vy, vz = map(resolve.rate, frame.s)
    carried = plus(cross(frame.pose.omega, frame.s), (vx, vy, vz))
    return plus((resolve.rate(x), resolve.rate(y), resolve.rate(z)), turned(frame.pose.R, carried))


def spin(frame: SpatialFrame, resolve: Rates) -> Vector:
    """Angular velocity in ground axes; a marker may also turn in its body: there half the sum of axis x its rate."""
    own = frame.pose.omega
    for axis in frame.A:
        x, y, z = map(resolve.rate, axis)
        own = plus(own, scaled(0.5, cross(axis, (x, y, z))))
    return turned(frame.pose.R, own)
