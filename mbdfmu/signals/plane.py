"""Bodies and markers of planar models; must not know joints or forces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mbdfmu.description import GROUND, Marker
from mbdfmu.expressions import Node
from mbdfmu.frames import Primitive
from mbdfmu.planar import Frame, on_body
from mbdfmu.resolution import PARAMETERS
from mbdfmu.signals.between import View
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Coordinate, RigidBody, Signal
from mbdfmu.units import differentiated

_PLACE, _TURN = (
    ("centre of mass", "velocity", "acceleration"), ("angle, counts turns", "angular velocity", "angular acceleration"),
)  # fmt: skip
_COORDINATES = (("x", "vx", "ax", "m"), ("y", "vy", "ay", "m"), ("phi", "omega", "alpha", "rad"))


class Plane:
    """Each body has the coordinates x, y, phi of its centre of mass."""

    recipe = "planar"
    orientation_starts: tuple[Node, ...] = ()

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def add_bodies(self) -> None:
        """Coordinates and signals; start values wait for each other."""
        for name, b in self.draft.d.bodies.items():
            starts = zip((*b.position, b.angle), (*b.velocity, b.omega), strict=True)
            for names, (position, velocity) in zip(_COORDINATES, starts, strict=True):
                self._coordinate(name, names, position, velocity)

    def _coordinate(self, body: str, names: tuple[str, str, str, str], position: object, velocity: object) -> None:
        q, v, a, unit = (*(f"{body}.{n}" for n in names[:3]), names[3])
        draft, graph, speed = self.draft, self.draft.graph, differentiated(unit)
        label = f"body '{body}' {names[0]}"
        draft.coordinates.append(Coordinate(name=q, rate=v, label=label, node=body, unit=unit))
        what, rate, change = _TURN if unit == "rad" else _PLACE
        draft.add(Signal(name=q, unit=unit, node=draft.motion.add_scalar(q), text=what))
        draft.add(Signal(name=v, unit=speed, node=graph.symbol("v", q), text=rate))
        draft.add(Signal(name=a, unit=differentiated(speed), node=graph.symbol("a", q), text=change))
        for name, value, u in ((q, _number(position), unit), (v, _number(velocity), speed)):
            path = f"bodies.{body}: start of {name}"
            draft.names.postpone(f"{name}.start", partial(draft.start, name, value, u, path))

    def position_starts(self) -> Iterator[Node]:
        return (self.draft.started(f"{b}.{names[0]}") for b in self.draft.d.bodies for names in _COORDINATES)

    def velocity_starts(self) -> Iterator[Node]:
        return (self.draft.started(f"{b}.{names[1]}") for b in self.draft.d.bodies for names in _COORDINATES)

    def weights(self) -> list[RigidBody]:
        return [self._weight(name) for name in self.draft.d.bodies]

    def _weight(self, name: str) -> RigidBody:
        b, value = self.draft.d.bodies[name], self.draft.names.value
        mass = value(f"bodies.{name}.mass", _number(b.mass), PARAMETERS)
        inertia = value(f"bodies.{name}.inertia", _number(b.inertia), PARAMETERS)
        return RigidBody(name=name, mass=mass, inertia=(inertia,))

    def energies(self, body: RigidBody, gravity: tuple[Node, ...]) -> tuple[Node, Node]:
        """Kinetic and potential."""
        x, y, _, vx, vy, w = (self.draft.names.nodes[f"{body.name}.{n[k]}"] for k in (0, 1) for n in _COORDINATES)
        kinetic = 0.5 * (body.mass * (vx * vx + vy * vy) + body.inertia[0] * w * w)
        return kinetic, -body.mass * (gravity[0] * x + gravity[1] * y)

    def power(self, body: RigidBody, gravity: tuple[Node, ...]) -> Node:
        """The rate of both energies, m v . (a - g) + J omega alpha: simpler than their derivatives (T10.3)."""
        names = (f"{body.name}.{n[k]}" for k in (1, 2) for n in _COORDINATES)
        vx, vy, w, ax, ay, alpha = (self.draft.names.nodes[name] for name in names)
        gx, gy = gravity
        return body.mass * (vx * (ax - gx) + vy * (ay - gy)) + body.inertia[0] * (w * alpha)

    def frame(self, path: str, marker: Marker, allowed: frozenset[str]) -> Frame:
        sx, sy = self.draft.point(f"{path}.at", marker.at, allowed)
        turn = self.draft.names.value(f"{path}.angle", marker.angle, allowed)
        return on_body(marker.body, self._pose(marker.body), (sx, sy), turn)

    def view(self, frame: Frame) -> View:
        """The frame as one in space."""
        rate, zero, one = self.draft.motion.rate, self.draft.graph.zero, self.draft.graph.one
        (cx, sx), (cy, sy) = frame.axis((one, zero)), frame.axis((zero, one))
        return View(
            origin=(frame.x, frame.y, zero),
            velocity=(rate(frame.x), rate(frame.y), zero),
            spin=(zero, zero, rate(frame.angle)),
            axes=((cx, sx, zero), (cy, sy, zero), (zero, zero, one)),
            angle=frame.angle,
        )

    def _pose(self, body: str) -> tuple[Node, Node, Node]:
        nodes, zero = self.draft.names.nodes, self.draft.graph.zero
        if body == GROUND:
            return zero, zero, zero
        return nodes[f"{body}.x"], nodes[f"{body}.y"], nodes[f"{body}.phi"]

    def add_marker(self, name: str, frame: Frame) -> None:
        for place, node, u in (("x", frame.x, "m"), ("y", frame.y, "m"), ("phi", frame.angle, "rad")):
            self.draft.add(Signal(name=f"{name}.{place}", unit=u, node=node))
        for place, node, u in (("vx", frame.x, "m/s"), ("vy", frame.y, "m/s"), ("omega", frame.angle, "rad/s")):
            self.draft.add(Signal(name=f"{name}.{place}", unit=u, node=self.draft.motion.rate(node)))

    def add_reactions(
        self, name: str, label: str, primitives: tuple[Primitive, ...], ends: tuple[Frame, Frame]
    ) -> None:
        """The rows say it all."""


def _number(value: object) -> float | str:
    """What the checks of the description have held already: planar models have numbers here, no lists."""
    assert isinstance(value, float | str)
    return value
