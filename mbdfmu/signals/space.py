"""Bodies and markers of spatial models; must not know joints or forces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from mbdfmu.coordinates import QUATERNION, ROTATIONS, Vector
from mbdfmu.description import GROUND, Body, Marker, Orientation
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.frames import Primitive, Row
from mbdfmu.inertia import Weight, weight
from mbdfmu.orientation import Quaternion, matrix, quaternion, roll_pitch_yaw, rotation
from mbdfmu.resolution import PARAMETERS
from mbdfmu.signals.between import View
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Coordinate, RigidBody, Signal
from mbdfmu.spatial import Pose, SpatialFrame, basis, on_body, spin, velocity
from mbdfmu.vectors import cross, dot, minus, plus, scaled, transposed, turned

_SPEEDS = ("omega_x", "omega_y", "omega_z")
_ANGLES = {"rpy": ("roll", "pitch", "yaw"), "313": ("angle_1", "angle_2", "angle_3")}
_UPRIGHT = Orientation(angles=(0.0, 0.0, 0.0), sequence="rpy")


@dataclass(frozen=True, kw_only=True)
class _Moving:
    """One body: its coordinates are the place of the centre of mass, and rotations about the body's axes."""

    place: tuple[str, ...]  # names of coordinates
    turns: tuple[str, ...]
    pose: Pose
    weight: Weight


class Space:
    """Each body has six coordinates; its orientation is a unit quaternion."""

    recipe = "spatial"

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.moving: dict[str, _Moving] = {}
        self._orientations: dict[str, Quaternion] = {}  # at the start
        zero, axes = draft.graph.zero, basis(draft.graph.zero)
        self._ground = Pose(r=(zero, zero, zero), R=axes, omega=(zero, zero, zero))

    # ---- bodies

    def add_bodies(self) -> None:
        """Coordinates and signals; start values wait for each other."""
        bodies = self.draft.d.bodies
        for name, body in bodies.items():
            self._postpone_starts(name, body)
        for name, body in bodies.items():
            moving = self.moving[name] = self._coordinates(name, self._weight(name, body))
            self._place(name, moving)
            self._turns(name, moving)

    def _weight(self, name: str, body: Body) -> Weight:
        """A centre of mass apart from the body's frame decides which coordinates there are, so weights come first."""
        graph = self.draft.graph
        try:
            return weight(body, self._resolver(f"bodies.{name}", PARAMETERS), graph)
        except ModelError as error:
            self.draft.problems += [f"bodies.{name}: {problem}" for problem in error.problems]
            return Weight(mass=graph.one, center=(graph.zero,) * 3, tensor=(graph.one,) * 6)

    def _coordinates(self, name: str, weight: Weight) -> _Moving:
        motion, symbol = self.draft.motion, self.draft.graph.symbol
        at, label = (name, "") if _zero(weight.center) else (f"{name}.cm", "centre of mass ")
        place, turns = tuple(f"{at}.{k}" for k in "xyz"), tuple(f"{name}.{k}" for k in ROTATIONS)
        x, y, z = map(motion.add_scalar, place)
        _, axes = motion.add_orientation(name)
        omega = symbol("v", turns[0]), symbol("v", turns[1]), symbol("v", turns[2])
        for k, q in zip("xyz", place, strict=True):
            self._coordinate(name, q, f"{at}.v{k}", f"{label}{k}", "m")
        for turn, q, speed in zip(ROTATIONS, turns, _SPEEDS, strict=True):
            self._coordinate(name, q, f"{name}.{speed}", turn, "rad")
        return _Moving(place=place, turns=turns, pose=Pose(r=(x, y, z), R=axes, omega=omega), weight=weight)

    def _coordinate(self, body: str, name: str, rate: str, label: str, unit: str) -> None:
        coordinate = Coordinate(name=name, rate=rate, label=f"body '{body}' {label}", node=body, unit=unit)
        self.draft.coordinates.append(coordinate)

    def _place(self, name: str, moving: _Moving) -> None:
        """Place, velocity and acceleration of the body's frame, and of a centre of mass elsewhere."""
        pose, center = moving.pose, moving.weight.center
        if not _zero(center):
            self._add_place(f"{name}.cm", pose.r, "the centre of mass")
        self._add_place(name, minus(pose.r, turned(pose.R, center)), "the frame's origin")

    def _add_place(self, name: str, place: Vector, what: str) -> None:
        rate = self.draft.motion.rate
        speeds = [rate(p) for p in place]
        kinds = ("", "m", "of"), ("v", "m/s", "velocity of"), ("a", "m/s2", "acceleration of")
        for (prefix, unit, word), nodes in zip(kinds, (place, speeds, map(rate, speeds)), strict=True):
            for k, node in zip("xyz", nodes, strict=True):
                text = f"{word} {what}, ground axes"
                self.draft.add(Signal(name=f"{name}.{prefix}{k}", unit=unit, node=node, text=text))

    def _turns(self, name: str, moving: _Moving) -> None:
        """Orientation, angular velocity and acceleration."""
        symbol, add = self.draft.graph.symbol, self.draft.add
        for k in QUATERNION:
            add(Signal(name=f"{name}.{k}", unit="1", node=symbol("q", f"{name}.{k}"), text="quaternion"))
        for space, word, unit in (("v", "omega", "rad/s"), ("a", "alpha", "rad/s2")):
            for k, q in zip("xyz", moving.turns, strict=True):
                add(Signal(name=f"{name}.{word}_{k}", unit=unit, node=symbol(space, q), text="in body axes"))
        for k, angle in zip(_ANGLES["rpy"], roll_pitch_yaw(moving.pose.R), strict=True):
            add(Signal(name=f"{name}.{k}", unit="rad", node=angle, text="R = Rz(yaw) Ry(pitch) Rx(roll)"))

    # ---- start values

    def _postpone_starts(self, name: str, body: Body) -> None:
        point = self.draft.d.point
        starts = [(f"{name}.{k}", value, "m") for k, value in zip("xyz", point(body.position), strict=True)]
        starts += [(f"{name}.v{k}", value, "m/s") for k, value in zip("xyz", point(body.velocity), strict=True)]
        starts += [(f"{name}.{k}", value, "rad/s") for k, value in zip(_SPEEDS, point(body.omega), strict=True)]
        starts += [(f"{name}.{k}", value, unit) for k, value, unit in _turns_given(body.orientation or _UPRIGHT)]
        for start, value, unit in starts:
            path = f"bodies.{name}: start of {start}"
            self.draft.names.postpone(f"{start}.start", partial(self.draft.start, start, value, unit, path))

    def _orientation(self, name: str) -> Quaternion:
        """At the start; what a file gives as numbers may be changed by name."""
        if name not in self._orientations:
            given = self.draft.d.bodies[name].orientation or _UPRIGHT
            resolve = self._resolver(f"bodies.{name}.orientation", PARAMETERS)
            self._orientations[name] = quaternion(_by_name(name, given), resolve, self.draft.graph)
        return self._orientations[name]

    @property
    def orientation_starts(self) -> tuple[Node, ...]:
        return tuple(e for name in self.moving for e in self._orientation(name))

    def position_starts(self) -> Iterator[Node]:
        """Of the centres of mass; what turns starts from its quaternion."""
        for name, moving in self.moving.items():
            x, y, z = (self.draft.started(f"{name}.{k}") for k in "xyz")
            yield from plus((x, y, z), self._turned_start(name, moving.weight.center))
            yield from (self.draft.graph.zero,) * 3

    def velocity_starts(self) -> Iterator[Node]:
        for name, moving in self.moving.items():
            vx, vy, vz, *spin = (self.draft.started(f"{name}.{k}") for k in ("vx", "vy", "vz", *_SPEEDS))
            omega = spin[0], spin[1], spin[2]
            yield from plus((vx, vy, vz), self._turned_start(name, cross(omega, moving.weight.center)))
            yield from omega

    def _turned_start(self, name: str, vector: Vector) -> Vector:
        """A vector in body axes, seen from the ground at the start."""
        return vector if _zero(vector) else turned(rotation(self._orientation(name)), vector)

    # ---- weights

    def weights(self) -> list[RigidBody]:
        return [RigidBody(name=n, mass=m.weight.mass, inertia=m.weight.tensor) for n, m in self.moving.items()]

    def energies(self, body: RigidBody, gravity: tuple[Node, ...]) -> tuple[Node, Node]:
        """Kinetic and potential."""
        moving = self.moving[body.name]
        vx, vy, vz = self.draft.motion.velocities(moving.place)
        wx, wy, wz = moving.pose.omega
        xx, yy, zz, xy, xz, yz = body.inertia
        spin = xx * wx * wx + yy * wy * wy + zz * wz * wz + 2 * (xy * wx * wy + xz * wx * wz + yz * wy * wz)
        down = dot((gravity[0], gravity[1], gravity[2]), moving.pose.r)
        return 0.5 * (body.mass * (vx * vx + vy * vy + vz * vz) + spin), -body.mass * down

    def power(self, body: RigidBody, gravity: tuple[Node, ...]) -> Node:
        """The rate of both energies, m v . (a - g) + omega . J alpha: simpler than their derivatives (T10.3)."""
        moving, symbol = self.moving[body.name], self.draft.graph.symbol
        (ax, ay, az), (x, y, z) = ([symbol("a", name) for name in names] for names in (moving.place, moving.turns))
        vx, vy, vz = self.draft.motion.velocities(moving.place)
        xx, yy, zz, xy, xz, yz = body.inertia
        momentum = xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z
        gx, gy, gz = gravity
        pull = vx * (ax - gx) + vy * (ay - gy) + vz * (az - gz)
        return body.mass * pull + dot(moving.pose.omega, momentum)

    # ---- frames

    def frame(self, path: str, marker: Marker, allowed: frozenset[str]) -> SpatialFrame:
        x, y, z = self.draft.point(f"{path}.at", marker.at, allowed)
        resolve = self._resolver(f"{path}.orientation", allowed)
        axes = self._ground.R  # a marker that is not turned has the axes of its body
        if marker.orientation is not None:
            axes = transposed(matrix(marker.orientation, resolve, self.draft.graph))
        if marker.body == GROUND:
            return on_body(GROUND, self._ground, (x, y, z), axes)
        moving = self.moving[marker.body]
        return on_body(marker.body, moving.pose, minus((x, y, z), moving.weight.center), axes)

    def view(self, frame: SpatialFrame) -> View:
        """The frame in ground axes."""
        motion = self.draft.motion
        x, y, z = map(frame.axis, basis(self.draft.graph.zero))
        return View(origin=frame.p, velocity=velocity(frame, motion), spin=spin(frame, motion), axes=(x, y, z))

    def _resolver(self, path: str, allowed: frozenset[str]) -> partial[Node]:
        return partial(self.draft.names.value, path, allowed=allowed)

    def add_marker(self, name: str, frame: SpatialFrame) -> None:
        for k, node in zip("xyz", frame.p, strict=True):
            self.draft.add(Signal(name=f"{name}.{k}", unit="m", node=node))
        for k, node in zip("xyz", frame.p, strict=True):
            self.draft.add(Signal(name=f"{name}.v{k}", unit="m/s", node=self.draft.motion.rate(node)))

    # ---- reactions

    def add_reactions(
        self, name: str, label: str, primitives: tuple[Primitive, ...], ends: tuple[SpatialFrame, SpatialFrame]
    ) -> None:
        """Force and torque of a joint on its end j, about the origin of j, in the axes of i."""
        symbol = self.draft.graph.symbol
        rows = [(row, symbol("lam", f"{label} ({row.direction})")) for p in primitives for row in p.rows]
        text = f"{label}: on the end j, at its origin, in the axes of i"
        for word, unit, vector in zip(("force", "torque"), ("N", "N.m"), self._wrench(rows, *ends), strict=True):
            for k, node in zip("xyz", vector, strict=True):
                self.draft.add(Signal(name=f"{name}.{word}.{k}", unit=unit, node=node, text=text))

    def _wrench(self, rows: list[tuple[Row, Node]], i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, Vector]:
        if j.body != GROUND:
            force, torque = self._wrench_on(rows, j)
            return i.components(force), i.components(turned(j.pose.R, torque))
        force, torque = self._wrench_on(rows, i)  # the opposite, about the origin of i
        moved = plus(turned(i.pose.R, torque), cross(minus(i.p, j.p), force))
        return _opposite(i.components(force)), _opposite(i.components(moved))

    def _wrench_on(self, rows: list[tuple[Row, Node]], end: SpatialFrame) -> tuple[Vector, Vector]:
        """Force in ground axes, and torque about the end's origin in body axes.

        The work of a row's force on a turn about the origin is that on a turn about the centre of mass less what
        the origin's arm adds; taken row by row, so that a row that only holds the origin has no torque at all.
        """
        moving = self.moving[end.body]
        forces: list[Vector] = []
        torques: list[Vector] = []
        for row, lam in rows:
            by_place = self._slopes(row, moving.place)
            by_turn = self._slopes(row, moving.turns)
            about = by_turn
            if not _zero(by_place):
                about = minus(by_turn, _moment(end.s, turned(transposed(end.pose.R), by_place)))
            forces.append(scaled(-lam, by_place))
            torques.append(scaled(-lam, about))
        return self._sum(forces), self._sum(torques)

    def _slopes(self, row: Row, names: tuple[str, ...]) -> Vector:
        """The derivative of a row by velocities; that of a row at position level by coordinates is the same."""
        graph, motion = self.draft.graph, self.draft.motion
        if row.level == "position":
            x, y, z = (motion.diff(row.value, name) for name in names)
        else:
            x, y, z = (graph.diff(row.value, symbol) for symbol in motion.velocities(names))
        return x, y, z

    def _sum(self, vectors: list[Vector]) -> Vector:
        x, y, z = (self.draft.graph.sum(vector[k] for vector in vectors) for k in range(3))
        return x, y, z


def _zero(vector: Vector) -> bool:
    return all(c is c.graph.zero for c in vector)


def _moment(s: Vector, f: Vector) -> Vector:
    """s x f, written as differentiation writes it: equal terms become the same nodes and leave exactly nothing."""
    return s[1] * f[2] + -s[2] * f[1], s[2] * f[0] + -s[0] * f[2], s[0] * f[1] + -s[1] * f[0]


def _opposite(a: Vector) -> Vector:
    return -a[0], -a[1], -a[2]


def _turns_given(orientation: Orientation) -> list[tuple[str, float | str, str]]:
    """The numbers of an orientation that a start may change: name, value, unit."""
    if orientation.quaternion is not None:
        return [(name, value, "1") for name, value in zip(QUATERNION, orientation.quaternion, strict=True)]
    if orientation.angle is not None:
        return [("angle", orientation.angle, "rad")]
    if orientation.angles is not None and orientation.sequence is not None:
        names = _ANGLES[orientation.sequence]
        return [(name, value, "rad") for name, value in zip(names, orientation.angles, strict=True)]
    return []


def _by_name(body: str, orientation: Orientation) -> Orientation:
    """The same with the names of the start values in place of these."""
    names = tuple(f"{body}.{name}.start" for name, _, _ in _turns_given(orientation))
    if orientation.quaternion is not None:
        return orientation.model_copy(update={"quaternion": names})
    if orientation.angle is not None:
        return orientation.model_copy(update={"angle": names[0]})
    return orientation.model_copy(update={"angles": names}) if names else orientation
