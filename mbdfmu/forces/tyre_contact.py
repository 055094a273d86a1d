"""Where and how a thin round wheel meets a road: directions, distance, relative speeds; must not know any force law.

The road is a height over the plane through frame i; below the wheel's centre it is replaced by its tangent plane
(T4.40), so that bumps should be long against the wheel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mbdfmu.coordinates import Vector
from mbdfmu.expressions import Node, asin, sqrt
from mbdfmu.forces.road import slope
from mbdfmu.frames import Resolve
from mbdfmu.planar import Frame, unit_vector
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import across, cross, dot, minus, scaled, unit


@dataclass(frozen=True, kw_only=True)
class Patch:
    """What a tyre needs to know; all rates are linear in velocities (T4.41-T4.43)."""

    radius: Node  # m, from the wheel's centre to the road, in the plane of the wheel
    upright: Node  # cosine of the camber
    camber: Node  # rad, positive where the wheel leans to its right
    speed: Node  # m/s, of the wheel's centre over the road, along the contact patch
    spin: Node  # rad/s, about the wheel's axis
    across: Node  # m/s, of the contact patch, to the left
    approach: Node  # m/s, of the contact patch away from the road; negative while the tyre is being pressed
    turning: Node  # rad/s, about the normal of the road


def places_in_space(i: SpatialFrame, j: SpatialFrame, normal: Vector, ahead: Vector) -> tuple[Node, Node]:
    """Place of the wheel's centre over the plane of the road, along a direction of frame i and to its left."""
    gap, first = minus(j.p, i.p), across(normal, ahead)
    return dot(i.axis(first), gap), dot(i.axis(cross(normal, first)), gap)


def in_space(
    i: SpatialFrame, j: SpatialFrame, directions: tuple[Vector, Vector], height: Node, resolve: Resolve
) -> Patch:
    """`directions`: the normal in frame i and the wheel's axis in frame j, unit vectors."""
    up, axis = i.axis(directions[0]), j.axis(directions[1])
    gap, turn = minus(j.p, i.p), minus(j.omega, i.omega)
    x, y, z = (resolve.rate(component) for component in gap)
    speed = minus((x, y, z), cross(i.omega, gap))  # of the wheel's centre, seen from the road
    rising = slope(height, i, j)
    speed = minus(speed, scaled(_rise(height, resolve), up))
    n = up if _flat(rising) else unit(minus(up, (rising[0], rising[1], rising[2])))
    side = cross(axis, n)
    upright = sqrt(dot(side, side))
    ahead = scaled(1 / upright, side)
    lean = dot(axis, n)
    radius = (dot(up, gap) - height) * dot(up, n) / upright
    roll = dot(turn, ahead)
    return Patch(
        radius=radius,
        upright=upright,
        camber=asin(lean),
        speed=dot(ahead, speed),
        spin=dot(turn, axis),
        across=dot(cross(n, ahead), speed) + radius * upright * roll,
        approach=dot(n, speed) + radius * lean * roll,
        turning=dot(turn, n),
    )


def place_in_plane(i: Frame, j: Frame) -> Node:
    """Place of the wheel's centre along the axis x of frame i."""
    ahead = i.axis((i.x.graph.one, i.x.graph.zero))
    return ahead[0] * (j.x - i.x) + ahead[1] * (j.y - i.y)


def in_plane(i: Frame, j: Frame, normal: tuple[Node, Node], height: Node, resolve: Resolve) -> Patch:
    """`normal` in frame i, a unit vector; the wheel rolls ahead, 90 degrees to its right, where it turns clockwise."""
    graph = i.x.graph
    up, gap, turn = i.axis(normal), (j.x - i.x, j.y - i.y), resolve.rate(i.angle)
    rise = _rise(height, resolve)
    speed = (
        resolve.rate(gap[0]) + turn * gap[1] - rise * up[0],
        resolve.rate(gap[1]) - turn * gap[0] - rise * up[1],
    )
    rising, n = slope(height, i, j), up
    if not _flat(rising):
        n = unit_vector((up[0] - rising[0], up[1] - rising[1]))
    return Patch(
        radius=(up[0] * gap[0] + up[1] * gap[1] - height) * (up[0] * n[0] + up[1] * n[1]),
        upright=graph.one,
        camber=graph.zero,
        speed=n[1] * speed[0] - n[0] * speed[1],
        spin=turn - resolve.rate(j.angle),
        across=graph.zero,
        approach=n[0] * speed[0] + n[1] * speed[1],
        turning=graph.zero,
    )


def _flat(slope: Iterable[Node]) -> bool:
    return all(component is component.graph.zero for component in slope)


def _rise(height: Node, resolve: Resolve) -> Node:
    """How the height changes with time, inputs and states at a fixed place."""
    graph = height.graph
    moving = sorted((s for s in height.support if s.value[0] in ("t", "u", "x")), key=lambda s: s.index)
    return graph.sum(graph.diff(height, symbol) * resolve.rate(symbol) for symbol in moving)
