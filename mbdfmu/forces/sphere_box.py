"""The ball at a box: faces, edges and corners."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, Any

from mbdfmu.description import Extents, In, Mirrored, NonNegative
from mbdfmu.expressions import Node, minimum
from mbdfmu.forces.base import geometry
from mbdfmu.forces.box import box_distance
from mbdfmu.forces.contact import Contact, Touch, axes
from mbdfmu.frames import Resolve
from mbdfmu.vectors import combined, dot, step_along


class SphereBox(Contact, name="sphere_box"):
    """Contact of a sphere (or point) at the origin of j with a box about the origin of i (T4.24 to T4.27)."""

    size: Annotated[Extents, In("m"), Mirrored("even")]  # of the box
    radius: Annotated[NonNegative, In("m")]  # of the sphere

    def extent(self, resolve: Resolve) -> Node:
        return 0.5 * reduce(minimum, resolve(self.size)) + resolve(self.radius)  # type: ignore[no-any-return]

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        sides, apart = axes(i), geometry(i).gap(i, j)
        half = tuple(0.5 * side for side in resolve(self.size))
        distance, way = box_distance(tuple(dot(side, apart) for side in sides), half)
        radius, normal = resolve(self.radius), combined(way, sides)
        return (Touch(distance - radius, normal, step_along(j.origin, -radius, normal)),)
