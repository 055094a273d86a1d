"""The plane that points and spheres touch; must not know which of them."""

from __future__ import annotations

from typing import Annotated, Any

from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.expressions import Node
from mbdfmu.forces.base import geometry
from mbdfmu.forces.contact import Contact, Touch, axes
from mbdfmu.frames import Resolve
from mbdfmu.vectors import Components, dot, step_along, unit_of


class OnPlane(Contact):
    """Base of the contacts of a sphere at the origin of j with a plane through the origin of i."""

    axis: Annotated[Direction | None, In("1"), Mirrored("up")] = None  # normal, in frame i; none: y, in space z

    def reach(self, resolve: Resolve) -> Node:
        """The radius."""
        raise TypeError(f"force type '{self.type_name}' defines no radius")

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        normal, radius = upwards(i, self.axis, resolve), self.reach(resolve)
        gap = dot(normal, geometry(i).gap(i, j)) - radius
        return (Touch(gap, normal, step_along(j.origin, -radius, normal)),)


def upwards(frame: Any, axis: tuple[float | str, ...] | None, resolve: Resolve) -> Components:
    """The unit vector along an axis of a frame that is given, or along its last axis."""
    return axes(frame)[-1] if axis is None else frame.axis(unit_of(resolve(axis)))
