"""Spatial joints in numbers: the wrenches that each can exert, the gaps that it closes; must not know masses.

A joint is what it holds: a list of wrenches w = (force, torque about the origin of j) that it can exert on the end j,
and their opposite, at the same point, on the end i. The work of an ideal joint vanishes, so the same list gives the
constraints on velocities. Gaps, the constraints on positions, are written apart; a test holds the two against each
other. All functions take complex arrays, so that every derivative can come from a complex step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # float, or complex in a complex step
Vector = NDArray[np.float64]

X, Y, Z = np.eye(3)

# ---------------------------------------------------------------- rotations


def skew(a: Array) -> Array:
    """[a]x, the matrix of a x."""
    zero = 0 * a[0]
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def matrix(e: Array) -> Array:
    """The rotation of a quaternion of any length."""
    e0, u = e[0], e[1:]
    return ((e0 * e0 - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * e0 * skew(u)) / (e @ e)


def quaternion(R: Array) -> Vector:
    """The unit quaternion of a rotation, with its largest component positive."""
    t = np.trace(R)
    squares = np.array([1 + t, *(1 + 2 * np.diag(R) - t)])
    k = int(np.argmax(squares))
    K = np.empty((4, 4))  # 4 e e^T
    K[0, 0], K[1:, 1:] = 1 + t, R + R.T + (1 - t) * np.eye(3)
    K[0, 1:] = K[1:, 0] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    return np.asarray(K[k] / (2 * np.sqrt(squares[k])))


def turning(axis: Sequence[float], angle: float) -> Vector:
    """The rotation about an axis."""
    a = unit(np.array(axis, dtype=float))
    return np.asarray(np.eye(3) + np.sin(angle) * skew(a) + (1 - np.cos(angle)) * skew(a) @ skew(a))


def unit(a: Array) -> Array:
    return a / np.sqrt(a @ a)


def across(a: Array) -> tuple[Array, Array]:
    """Two unit vectors which with a, in this order, make a right-handed system."""
    first = unit(np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))]))
    return first, unit(np.cross(a, first))


# ---------------------------------------------------------------- frames


@dataclass(frozen=True, kw_only=True)
class End:
    """A frame fixed to a body, or to the ground."""

    body: str = "ground"
    at: Vector = field(default_factory=lambda: np.zeros(3))
    turn: Vector = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True, kw_only=True)
class Link:
    """A joint between two frames; what `data` holds depends on the kind."""

    kind: str
    i: End
    j: End
    data: Mapping[str, Any] = field(default_factory=dict)

    def vector(self, name: str, default: Sequence[float]) -> Vector:
        """A unit vector of the data."""
        return unit(np.array(self.data.get(name, default), dtype=float))


@dataclass(frozen=True, kw_only=True)
class Frame:
    """An end at one configuration, in ground axes."""

    place: Array
    axes: Array  # columns


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Both frames of a link at one configuration, and what holds for them."""

    i: Frame
    j: Frame
    link: Link

    @property
    def between(self) -> Array:
        return self.j.place - self.i.place

    @property
    def relative(self) -> Array:
        """Axes of j seen from i."""
        return self.i.axes.T @ self.j.axes

    def axis(self, name: str = "axis", default: Sequence[float] = (0, 0, 1)) -> tuple[Array, Array]:
        """A direction given alike in both frames, as either carries it."""
        a = self.link.vector(name, default)
        return self.i.axes @ a, self.j.axes @ a

    def beside(self, name: str = "axis", default: Sequence[float] = (0, 0, 1)) -> list[Array]:
        """Two directions of i perpendicular to an axis of i."""
        return [self.i.axes @ n for n in across(self.link.vector(name, default))]


def push(*directions: Array) -> list[Array]:
    """Wrenches of forces at the origin of j."""
    return [np.concatenate([d, 0 * d]) for d in directions]


def twist(*directions: Array) -> list[Array]:
    """Wrenches of torques."""
    return [np.concatenate([0 * d, d]) for d in directions]


def push_at(arm: Array, *directions: Array) -> list[Array]:
    """Wrenches of forces at an arm from the origin of j."""
    return [np.concatenate([d, np.cross(arm, d)]) for d in directions]


# ---------------------------------------------------------------- wrenches and gaps


def all_of(p: Pair) -> Iterator[Array]:
    return iter(p.i.axes.T)


def offsets(p: Pair) -> list[Array]:
    return list(p.i.axes.T @ p.between)


def same_axes(p: Pair) -> list[Array]:
    R = p.relative
    return [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]


def parallel(p: Pair, name: str = "axis", default: Sequence[float] = (0, 0, 1)) -> list[Array]:
    return [n @ p.axis(name, default)[1] for n in p.beside(name, default)]


def cross_axes(p: Pair) -> tuple[Array, Array]:
    """An axis of i and one of j, perpendicular to each other where the frames coincide."""
    a, b = p.link.vector("axis_i", X), p.link.vector("axis_j", Y)
    return p.i.axes @ a, p.j.axes @ unit(b - (a @ b) * a)


def contact(p: Pair) -> tuple[Array, Array]:
    """Of a disc on a plane: the plane's normal, and the arm from the disc's centre to the lowest point of its rim."""
    normal = p.i.axes @ p.link.vector("normal", Z)
    axis = p.j.axes @ p.link.vector("axis", Z)
    return normal, -p.link.data["radius"] * unit(normal - (normal @ axis) * axis)


def universal_cross(p: Pair) -> Array:
    """The torque between two perpendicular axes."""
    return np.cross(*cross_axes(p))


def turned(p: Pair, name: str = "axis") -> tuple[Array, Array]:
    """Cosine and sine of the angle of j about an axis that both ends share."""
    n, m = p.beside(name)
    other = p.j.axes @ across(p.link.vector(name, Z))[0]
    return n @ other, m @ other


def angle(p: Pair) -> float:
    """Between -pi and pi."""
    cosine, sine = turned(p)
    return float(np.arctan2(np.real(sine), np.real(cosine)))


def screw_wrenches(p: Pair) -> list[Array]:
    a, _ = p.axis()
    thread = np.concatenate([a, -p.link.data["pitch"] / (2 * np.pi) * a])
    return [*push(*p.beside()), *twist(*p.beside()), thread]


def screw_gaps(p: Pair) -> list[Array]:
    """The thread's gap is that of one turn: a sine, so that turns need not be counted."""
    a, _ = p.axis()
    advance = 2 * np.pi * (a @ p.between) / p.link.data["pitch"]
    cosine, sine = turned(p)
    return [*(n @ p.between for n in p.beside()), *parallel(p), sine * np.cos(advance) - cosine * np.sin(advance)]


def rolling_wrenches(p: Pair) -> list[Array]:
    _, arm = contact(p)
    return push_at(arm, *p.i.axes.T)


def rolling_gaps(p: Pair) -> list[Array]:
    normal, arm = contact(p)
    return [normal @ (p.between + arm)]


Holds = Callable[[Pair], list[Array]]

SLIDE = (1, 0, 0)  # the default axis along which things slide; that about which they turn is z

WRENCHES: dict[str, Holds] = {
    "fixed": lambda p: push(*all_of(p)) + twist(*all_of(p)),
    "spherical": lambda p: push(*all_of(p)),
    "revolute": lambda p: push(*all_of(p)) + twist(*p.beside()),
    "prismatic": lambda p: push(*p.beside("axis", SLIDE)) + twist(*all_of(p)),
    "cylindrical": lambda p: push(*p.beside()) + twist(*p.beside()),
    "universal": lambda p: push(*all_of(p)) + twist(universal_cross(p)),
    "constant_velocity": lambda p: push(*all_of(p)) + twist(sum(p.axis())),
    "planar": lambda p: push(p.axis()[0]) + twist(*p.beside()),
    "point_on_line": lambda p: push(*p.beside("axis", SLIDE)),
    "point_in_plane": lambda p: push(p.axis()[0]),
    "parallel_axes": lambda p: twist(*p.beside()),
    "perpendicular_axes": lambda p: twist(universal_cross(p)),
    "orientation": lambda p: twist(*all_of(p)),
    "distance": lambda p: push(unit(p.between)),
    "screw": screw_wrenches,
    "rolling_disc": rolling_wrenches,
}

GAPS: dict[str, Holds] = {
    "fixed": lambda p: offsets(p) + same_axes(p),
    "spherical": offsets,
    "revolute": lambda p: offsets(p) + parallel(p),
    "prismatic": lambda p: [n @ p.between for n in p.beside("axis", SLIDE)] + same_axes(p),
    "cylindrical": lambda p: [n @ p.between for n in p.beside()] + parallel(p),
    "universal": lambda p: [*offsets(p), np.dot(*cross_axes(p))],
    "constant_velocity": lambda p: [*offsets(p), p.link.vector("axis", Z) @ same_axes(p)],
    "planar": lambda p: [p.axis()[0] @ p.between, *parallel(p)],
    "point_on_line": lambda p: [n @ p.between for n in p.beside("axis", SLIDE)],
    "point_in_plane": lambda p: [p.axis()[0] @ p.between],
    "parallel_axes": parallel,
    "perpendicular_axes": lambda p: [np.dot(*cross_axes(p))],
    "orientation": same_axes,
    "distance": lambda p: [np.sqrt(p.between @ p.between) - p.link.data["length"]],
    "screw": screw_gaps,
    "rolling_disc": rolling_gaps,
    "drive_angle": lambda p: [],  # see Mechanism.gaps
    "drive_displacement": lambda p: [],
}

# A driver adds what the joint leaves free: its data hold a Course. It stands after the joint that it drives.
WRENCHES["drive_angle"] = lambda p: twist(p.axis()[0])
WRENCHES["drive_displacement"] = lambda p: push(p.axis("axis", SLIDE)[0])


def driven_gap(p: Pair, t: float) -> list[Array]:
    """How far a driver is from its course."""
    wanted = p.link.data["course"](t)[0]
    if p.link.kind == "drive_displacement":
        return [p.axis("axis", SLIDE)[0] @ p.between - wanted]
    cosine, sine = turned(p)
    return [sine * np.cos(wanted) - cosine * np.sin(wanted)]
