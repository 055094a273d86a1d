"""Dry friction in a joint, pressed by the joint's own reactions; must not know how these are solved for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

from mbdfmu.counterparts import Equations
from mbdfmu.description import In, JointName, NonNegative, Positive
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, sqrt
from mbdfmu.forces.base import Ends
from mbdfmu.forces.sliding import Bristled, signed, size
from mbdfmu.frames import Effort, Joined, Load, Measure, Resolve, Share
from mbdfmu.spatial import relative_spin
from mbdfmu.vectors import Components, cross, dot, minus, scaled, unit


class Pressure(NamedTuple):
    """What a joint's reactions press on its sliding surfaces with."""

    across: Components  # force across the axis, N; without an axis the whole force
    couple: Components = ()  # what torque makes of it at two pads one metre apart, N.m
    along: Components = ()  # force on a collar, N
    about: Components = ()  # torque about the axis, N.m


class Way(NamedTuple):
    """One direction of sliding: a free rate, and the lever that makes it a speed of the surface."""

    rate: Node
    lever: Node | float


class JointFriction(Bristled, name="joint_friction"):
    """Dry friction in a joint, proportional to the joint's reactions (T4.23).

    Turning surfaces have a radius. With a length, torque across the axis presses two pads at the ends of the bearing.
    With a radius, torque about a rail presses at that distance, and a plate that spins on its plane is held back there.
    """

    modelica = Equations()
    parity: ClassVar = {d: {"load": "even"} for d in (2, 3)}

    joint: JointName
    radius: Annotated[Positive | None, In("m")] = None  # of joints that turn; in space also of a rail, a plate
    length: Annotated[Positive | None, In("m")] = None  # of the bearing, between its pads; none: torque does not press
    preload: Annotated[NonNegative, In("N")] = 0.0  # that presses besides the reactions
    rounding: Annotated[Positive, In("N")] = 1e-6  # below which a vanishing reaction is rounded off

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return "load", "friction", "slip"

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        joint = resolve.joint(self.joint)
        bearing = self._bearing(joint)
        ways = bearing.ways(self, joint, resolve)
        slip = tuple(way.rate * way.lever for way in ways)
        load = resolve.force("load", self._pressing(bearing.pressure(joint, resolve), resolve), "N", "on the surfaces")
        forces = self.friction(slip, load, resolve)
        efforts = [Effort(rate=way.rate, effort=force * way.lever) for way, force in zip(ways, forces, strict=True)]
        resolve.show("friction", size(forces), "N", signed("at the sliding surface", forces))
        resolve.show("slip", size(slip), "m/s", signed("sliding speed of the surface", slip))
        return Load(shares=(Share(efforts=tuple(efforts)),), energy=load.graph.zero)

    def _bearing(self, joint: Joined) -> Bearing:
        bearing = _BEARINGS.get(joint.type)
        if bearing is None:
            known = ", ".join(_BEARINGS)
            found = f"joint '{self.joint}' is of type '{joint.type}'"
            raise ModelError(f"{found}, whose friction is not known; known: {known}")
        if bearing.turns and self.radius is None:
            raise ModelError(f"joint '{self.joint}' of type '{joint.type}' turns; give the radius of its surface")
        levered = bearing.turns or (bearing.levered and joint.dimensions == 3)
        for field, fits in (("radius", levered), ("length", bearing.guides)):
            if getattr(self, field) is not None and not fits:
                raise ModelError(f"a {field} counts for nothing in the {joint.type} joint '{self.joint}'; leave it out")
        return bearing

    def _pressing(self, pressure: Pressure, resolve: Resolve) -> Node:
        """The normal load N of (T4.23)."""
        rounding: Node = resolve(self.rounding)

        def rounded(components: Components) -> Node:
            return sqrt(dot(components, components) + rounding * rounding)

        pads = [pressure.across]
        if self.length is not None and pressure.couple:
            span = resolve(self.length)
            pairs = list(zip(pressure.across, pressure.couple, strict=True))
            pads = [tuple(0.5 * f + sign * c / span for f, c in pairs) for sign in (1.0, -1.0)]
        pads += [pressure.along] if pressure.along else []
        if self.radius is not None and pressure.about:
            pads.append((pressure.about[0] / resolve(self.radius),))
        return rounding.graph.sum([resolve(self.preload), *map(rounded, pads)])


# ---------------------------------------------------------------- what presses


def _vector(joint: Joined, word: str, resolve: Resolve) -> Any:
    """Force or torque of a joint in space."""
    return tuple(resolve(f"{joint.name}.{word}.{k}") for k in "xyz")


def _whole(joint: Joined, resolve: Resolve) -> Pressure:
    """The force, whatever its direction."""
    if joint.dimensions == 3:
        return Pressure(_vector(joint, "force", resolve))
    keys = ("x", "y") if joint.type == "revolute" else ("normal",)
    return Pressure(tuple(resolve(f"{joint.name}.reaction.{key}") for key in keys))


def _guided(joint: Joined, resolve: Resolve) -> Pressure:
    """Force across an axis, and the pair of forces that makes up for torque."""
    if joint.dimensions == 2:
        torque = () if joint.type == "revolute" else (resolve(f"{joint.name}.reaction.torque"),)
        return Pressure(_whole(joint, resolve).across, torque)
    force, torque = _vector(joint, "force", resolve), _vector(joint, "torque", resolve)
    x, y, z = joint.axis
    axis = unit((x, y, z))
    along = dot(axis, force)
    collar = (along,) if joint.type == "revolute" else ()
    about = (dot(axis, torque),) if joint.type == "prismatic" else ()
    return Pressure(minus(force, scaled(along, axis)), cross(axis, torque), collar, about)


# ---------------------------------------------------------------- what slides


def _free(friction: JointFriction, joint: Joined, resolve: Resolve) -> tuple[Way, ...]:
    """Along the joint's free coordinates; what only turns at a point does not slide."""
    levers: dict[str, Node | float] = {"m": 1.0}
    if friction.radius is not None:
        levers["rad"] = resolve(friction.radius)
    found = [m for m in joint.free.values() if m.unit in levers]
    return tuple(Way(resolve.rate(m.value), levers[m.unit]) for m in found)


def _ball(friction: JointFriction, joint: Joined, resolve: Resolve) -> tuple[Way, ...]:
    """All turns of a ball in its socket."""
    i, j = joint.ends
    return tuple(Way(rate, resolve(friction.radius)) for rate in relative_spin(i, j, resolve))


class Bearing(NamedTuple):
    """What presses on the surfaces of a joint type, and what slides."""

    pressure: Callable[[Joined, Resolve], Pressure]
    ways: Callable[[JointFriction, Joined, Resolve], tuple[Way, ...]] = _free
    turns: bool = False
    levered: bool = False  # what may have a radius: a rail, a plate on a plane
    guides: bool = False  # two pads along an axis


_BEARINGS = {
    "revolute": Bearing(_guided, turns=True, guides=True),
    "prismatic": Bearing(_guided, guides=True, levered=True),
    "cylindrical": Bearing(_guided, turns=True, guides=True),
    "spherical": Bearing(_whole, _ball, turns=True),
    "point_on_line": Bearing(_whole),
    "point_in_plane": Bearing(_whole),
    "planar": Bearing(_whole, levered=True),
}
