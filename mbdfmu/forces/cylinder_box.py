"""The cylinder at a box, sampled at points."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any, ClassVar, NamedTuple

from mbdfmu.description import Direction, Extents, In, Mirrored, Positive
from mbdfmu.expressions import Node, absolute, less, select
from mbdfmu.expressions.functions import clamp
from mbdfmu.forces.box import box_distance, outside_of
from mbdfmu.forces.contact import Contact, Touch, axes
from mbdfmu.frames import Resolve
from mbdfmu.vectors import Components, combined, directed, dot, minus, normals, step_along, unit

_FLAT = 1e-6  # a rim inclined by less to a face has no lowest point


class CylinderBox(Contact, name="cylinder_box"):
    """Contact of a cylinder about the origin of j with a box about the origin of i (T4.24 to T4.28).

    An approximation: there may be contact at two points of each rim, nearest to the box and opposite, at the point of
    the round side that is nearest to the box, and at the corners of the box. Each has the whole stiffness.
    """

    dimensions: ClassVar = (3,)

    size: Annotated[Extents, In("m"), Mirrored("even")]  # of the box
    radius: Annotated[Positive, In("m")]  # of the cylinder
    length: Annotated[Positive, In("m")]
    axis: Annotated[Direction, In("1")] = (0.0, 0.0, 1.0)  # of the cylinder, in frame j

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        half = tuple(0.5 * side for side in resolve(self.size))
        along = unit(resolve(self.axis))
        radius, reach = resolve(self.radius), 0.5 * resolve(self.length)
        meeting = _Meeting(_Box(i.origin, axes(i), half), j.origin, j.axis(along), radius, reach)
        fixed = j.axis(normals(along)[0])
        return (*meeting.rims(fixed), meeting.side(fixed), *meeting.corners())


class _Box(NamedTuple):
    middle: Components
    sides: tuple[Components, ...]
    half: Components

    def place(self, point: Components) -> Components:
        """A point in the axes of the box."""
        apart = tuple(p - m for p, m in zip(point, self.middle, strict=True))
        return tuple(dot(side, apart) for side in self.sides)

    def distance(self, point: Components) -> tuple[Node, Components]:
        """Of a point, and the direction away from the box."""
        distance, way = box_distance(self.place(point), self.half)
        return distance, combined(way, self.sides)

    def nearest(self, point: Components) -> Components:
        """The point of the box nearest to one."""
        held = tuple(clamp(p, -h, h) for p, h in zip(self.place(point), self.half, strict=True))
        return tuple(m + c for m, c in zip(self.middle, combined(held, self.sides), strict=True))


class _Meeting(NamedTuple):
    """A box, and a cylinder about a middle."""

    box: _Box
    middle: Any
    axis: Any
    radius: Node
    reach: Node  # half the length

    def rims(self, fixed: Any) -> Iterator[Touch]:
        """The lowest and the highest point of each rim: where it lies flat, any tilt is held alike."""
        for sign in (-1.0, 1.0):
            centre = step_along(self.middle, sign * self.reach, self.axis)
            first = self._lowest(centre, fixed)
            for radius in (self.radius, -self.radius):
                yield self._touch(step_along(centre, radius, first))

    def side(self, fixed: Any) -> Touch:
        """The point below that of the axis which is nearest to the box, sought by turns on both."""
        at = self.middle
        for _ in range(2):
            towards = minus(self.box.nearest(at), self.middle)  # type: ignore[arg-type]
            at = step_along(self.middle, clamp(dot(self.axis, towards), -self.reach, self.reach), self.axis)
        return self._touch(step_along(at, self.radius, self._lowest(at, fixed)))

    def corners(self) -> Iterator[Touch]:
        """The corners of the box, at the distance of each to the cylinder."""
        for signs in product((-1.0, 1.0), repeat=3):
            ways = tuple(sign * h for sign, h in zip(signs, self.box.half, strict=True))
            corner = tuple(m + c for m, c in zip(self.box.middle, combined(ways, self.box.sides), strict=True))
            apart = tuple(c - m for c, m in zip(corner, self.middle, strict=True))
            height = dot(self.axis, apart)
            from_axis, radial = directed(step_along(apart, -height, self.axis))
            gap, slopes = outside_of((from_axis - self.radius, absolute(height) - self.reach))
            up = select(less(height, 0.0), -slopes[1], slopes[1])
            yield Touch(gap, tuple(-(slopes[0] * r + up * a) for r, a in zip(radial, self.axis, strict=True)), corner)

    def _lowest(self, centre: Components, fixed: Any) -> Any:
        """From a point of the axis towards the point of its circle that is nearest to the box (T4.28)."""
        arm, at = fixed, centre
        for _ in range(2):
            _, away = self.box.distance(at)
            size, down = directed(step_along(tuple(-c for c in away), dot(away, self.axis), self.axis))
            arm = tuple(select(less(_FLAT, size), d, f) for d, f in zip(down, fixed, strict=True))
            at = step_along(centre, self.radius, arm)
        return arm

    def _touch(self, point: Components) -> Touch:
        gap, normal = self.box.distance(point)
        return Touch(gap, normal, point)
