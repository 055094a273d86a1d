"""The cylinder at a box, sampled at points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import Annotated, Any, ClassVar, NamedTuple

from mbdfmu.description import Direction, Extents, In, Mirrored, Positive
from mbdfmu.expressions import Node, absolute, less, maximum, minimum, select
from mbdfmu.expressions.functions import clamp
from mbdfmu.forces.base import geometry
from mbdfmu.forces.box import box_distance, outside_of
from mbdfmu.forces.contact import Contact, Touch, axes
from mbdfmu.frames import Resolve
from mbdfmu.vectors import Components, combined, directed, dot, length, minus, step_along, unit

_FLAT = 1e-3  # of a rim inclined by less to a face the lowest point moves to the middle
_DEEPEST = 0.25  # of the radius: depth at which the inner cylinder meets the box
_NEAR = 0.05  # of the radius: distance of an inner disc from which on its arm is whole


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

    def extent(self, resolve: Resolve) -> Node:
        thickness = minimum(resolve(self.radius), 0.5 * resolve(self.length))
        return 0.5 * reduce(minimum, resolve(self.size)) + thickness  # type: ignore[no-any-return]

    def speed(self, i: Any, j: Any, resolve: Resolve) -> Node:
        """Of the ends of the cylinder."""
        turning = length(geometry(i).relative_spin(i, j, resolve))
        reach = length((resolve(self.radius), 0.5 * resolve(self.length)))
        return super().speed(i, j, resolve) + reach * turning

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        half = tuple(0.5 * side for side in resolve(self.size))
        along = unit(resolve(self.axis))
        radius, reach = resolve(self.radius), 0.5 * resolve(self.length)
        meeting = _Meeting(_Box(i.origin, axes(i), half), j.origin, j.axis(along), radius, reach)
        sampled = (*meeting.rims(), meeting.side())  # these points move along the cylinder
        return (*(touch._replace(rate=resolve.rate(touch.gap)) for touch in sampled), *meeting.corners())


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

    @property
    def inner(self) -> tuple[Node, Node]:
        """Radius and half the length of a cylinder that stays outside the box, where the direction to it is unique."""
        depth = _DEEPEST * self.radius
        return self.radius - depth, maximum(self.reach - depth, 0.0)

    def rims(self) -> Iterator[Touch]:
        """The lowest and the highest point of each rim."""
        for sign in (-1.0, 1.0):
            arm = self._lowest(step_along(self.middle, sign * self.inner[1], self.axis))
            centre = step_along(self.middle, sign * self.reach, self.axis)
            for radius in (self.radius, -self.radius):
                yield self._touch(step_along(centre, radius, arm))

    def side(self) -> Touch:
        """The point below that of the axis which is nearest to the box, sought by turns on both."""
        at, reach = self.middle, self.inner[1]
        for _ in range(2):
            towards = minus(self.box.nearest(at), self.middle)  # type: ignore[arg-type]
            at = step_along(self.middle, clamp(dot(self.axis, towards), -reach, reach), self.axis)
        return self._touch(step_along(at, self.radius, self._lowest(at)))

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

    def _lowest(self, centre: Components) -> Components:
        """From a point of the inner axis towards the point of its disc that is nearest to the box (T4.28).

        Against a face the first guess is right, against an edge one turn of projecting on both is added. Each is
        continuous: the way out of the box, which jumps inside of it, counts less and less where the centre comes near,
        and inside no more.
        """
        distance, away = self.box.distance(centre)
        outside = clamp(distance / (_NEAR * self.radius), 0.0, 1.0)
        guess = tuple(outside * c for c in self._held(tuple(-c / _FLAT for c in away), 1.0))
        radius = self.inner[0]
        nearest = self.box.nearest(step_along(centre, radius, guess))
        return self._held(minus(nearest, centre), radius)  # type: ignore[arg-type]

    def _held(self, way: Components, size: Node | float) -> Components:
        """The point of a disc across the axis nearest to one, over the size of the disc."""
        across = step_along(way, -dot(way, self.axis), self.axis)
        return tuple(c / maximum(length(across), size) for c in across)

    def _touch(self, point: Components) -> Touch:
        gap, normal = self.box.distance(point)
        return Touch(gap, normal, point)
