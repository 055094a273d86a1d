"""Functions of markers in expressions: how one marker is placed and moves as seen from others; must not know text.

A vector u that is differentiated in a frame with angular velocity w changes by du/dt - w x u (T11.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.description import GROUND, Marker
from mbdfmu.errors import ExpressionError, did_you_mean
from mbdfmu.expressions import MARKER_FUNCTIONS, MarkerFunction, Node, atan2, equal, select, sqrt
from mbdfmu.orientation import roll_pitch_yaw
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Winding
from mbdfmu.vectors import cross, dot, minus


@dataclass(frozen=True, kw_only=True)
class View:
    """A marker in ground axes; in the plane z points towards the reader."""

    origin: Vector
    velocity: Vector
    spin: Vector
    axes: Matrix  # its directions x, y, z
    angle: Node | None = None  # in the plane, where it counts turns


class Geometry(Protocol):
    """What makes frames of markers, in the plane or in space."""

    def frame(self, path: str, marker: Marker, allowed: frozenset[str]) -> Any: ...

    def view(self, frame: Any) -> View: ...


Views = Mapping[str, View]  # by argument: to, from, in, ref


class Between:
    """Makes the node of every function of markers that an expression names."""

    def __init__(self, draft: Draft, geometry: Geometry, frames: Mapping[str, Any]) -> None:
        self.draft, self.geometry, self.frames = draft, geometry, frames
        self._views: dict[str, View] = {}

    def __call__(self, function: MarkerFunction, markers: list[str]) -> Node:
        if self.draft.d.dimensions == 2 and not function.planar:
            planar = ", ".join(name for name, f in MARKER_FUNCTIONS.items() if f.planar)
            raise ExpressionError(f"{function.name} is for models in space; in the plane there are {planar}")
        views = {argument: self._view(name) for argument, name in function.complete(markers).items()}
        vector = _VECTORS.get(function.name[:-1])
        if vector is None:
            return self._angle(function, markers, views)
        value = vector(self, views)
        if function.kind == "vector" or function.kind == "axial":
            return dot(value, views["in"].axes["xyz".index(function.axis)])
        if function.name == "vr":
            gap = self.gap(views)
            return dot(value, gap) / _magnitude(gap)
        return _magnitude(value)

    def _view(self, name: str) -> View:
        if name not in self._views:
            self._views[name] = self.geometry.view(self._frame(name))
        return self._views[name]

    def _frame(self, name: str) -> Any:
        if name in self.frames:
            return self.frames[name]
        known = [GROUND, *self.draft.d.bodies, *self.frames]
        if name not in known:
            raise ExpressionError(f"no marker or body is named {name!r}{did_you_mean(name, known)}")
        return self.geometry.frame(name, Marker(body=name), frozenset())

    # ---- vectors, in ground axes

    def gap(self, views: Views) -> Vector:
        return minus(views["to"].origin, views["from"].origin)

    def velocity(self, views: Views) -> Vector:
        fixed = minus(views["to"].velocity, views["from"].velocity)
        return minus(fixed, cross(views["ref"].spin, self.gap(views)))

    def acceleration(self, views: Views) -> Vector:
        return self._rate(self.velocity(views), views["ref"])

    def spin(self, views: Views) -> Vector:
        return minus(views["to"].spin, views["from"].spin)

    def spin_rate(self, views: Views) -> Vector:
        return self._rate(self.spin(views), views["ref"])

    def _rate(self, u: Vector, seen_from: View) -> Vector:
        x, y, z = map(self.draft.motion.rate, u)
        return minus((x, y, z), cross(seen_from.spin, u))

    # ---- angles

    def _angle(self, function: MarkerFunction, markers: list[str], views: Views) -> Node:
        name, to, base = function.name, views["to"], views["from"]
        if to.angle is not None and base.angle is not None:
            return to.angle - base.angle
        if name in _ABOUT:
            return self._counted(_ABOUT[name](to.axes, base.axes), f"{name}({','.join(markers)})")
        (a, b, c), (d, e, f), (g, h, i) = (tuple(dot(row, axis) for axis in to.axes) for row in base.axes)
        if name in _CARDAN:
            return roll_pitch_yaw(((a, b, c), (d, e, f), (g, h, i)))[_CARDAN.index(name)]
        # Rz(psi) Rx(theta) Rz(phi) (T11.4); the arc cosine of i has no derivative where theta is 0
        return {"psi": atan2(c, -f), "theta": atan2(_magnitude((g, h, g.graph.zero)), i), "phi": atan2(g, h)}[name]

    def _counted(self, angle: Node, name: str) -> Node:
        """With the turns since the start, which begins between -180 and 180 degrees."""
        if angle not in self.draft.turning:
            node = self.draft.count_turns(angle, name)
            self.draft.windings.append(Winding(name=name, node=node, start=self.draft.graph.zero))
        return self.draft.turning[angle]


_VECTORS: dict[str, Callable[[Between, Views], Vector]] = {
    "d": Between.gap, "v": Between.velocity, "acc": Between.acceleration, "w": Between.spin, "wdt": Between.spin_rate,
}  # fmt: skip
_ABOUT: dict[str, Callable[[Matrix, Matrix], Node]] = {
    "ax": lambda to, base: atan2(-dot(to[2], base[1]), dot(to[2], base[2])),
    "ay": lambda to, base: atan2(dot(to[2], base[0]), dot(to[2], base[2])),
    "az": lambda to, base: atan2(dot(to[0], base[1]), dot(to[0], base[0])),
}
_CARDAN = ("roll", "pitch", "yaw")


def _magnitude(u: Vector) -> Node:
    """Its derivatives are zero where it is: there the square root has none."""
    square = dot(u, u)
    return select(equal(square, 0.0), 0.0, sqrt(square))
