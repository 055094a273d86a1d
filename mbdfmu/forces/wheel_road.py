"""The rigid wheel on an uneven road."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from mbdfmu.description import Direction, In, Mirrored, Only, Positive, Value
from mbdfmu.expressions import Node, maximum, sqrt
from mbdfmu.forces.base import Ends, geometry
from mbdfmu.forces.contact import Contact, Touch
from mbdfmu.forces.on_plane import upwards
from mbdfmu.forces.road import slope
from mbdfmu.frames import Measure, Resolve
from mbdfmu.planar import Frame
from mbdfmu.vectors import Components, dot, step_along, unit_of

_LEAST = 1e-12  # of 1 - lean^2: a wheel that lies on its side has no lowest point


class WheelRoad(Contact, name="wheel_road"):
    """Contact of a thin rigid wheel about the origin of j with a road of frame i (T4.24 to T4.26, T4.29).

    The road is a height over a plane through i, an expression of the element's own signal `x`, as `lookup(road, w.x)`.
    Below the wheel's centre it is replaced by its tangent, so that bumps should be long against the wheel.
    """

    parity: ClassVar = {d: {"x": "even", **signs} for d, signs in Contact.parity.items()}

    radius: Annotated[Positive, In("m")]
    height: Annotated[Value, In("m")] = 0.0  # of the road
    axis: Annotated[Direction | None, In("1"), Mirrored("up")] = None  # upwards, in frame i; none: y, in space z
    ahead: Annotated[Direction, In("1")] = (1.0, 0.0, 0.0)  # of the signal x, in frame i
    spin_axis: Annotated[Direction, In("1"), Mirrored("axial"), Only(3, "leave it out")] = (0.0, 1.0, 0.0)  # in frame j

    def measures(self, ends: Ends, resolve: Resolve) -> Mapping[str, Measure]:
        i, j = ends["i"], ends["j"]
        place = dot(i.axis(unit_of(resolve(self.ahead))), geometry(i).gap(i, j))
        return {"x": Measure(value=place, unit="m", text="of the wheel's centre along the road")}

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        up, height = upwards(i, self.axis, resolve), resolve(self.height)
        normal = unit_of(tuple(u - s for u, s in zip(up, slope(height, i, j), strict=True)))
        above = (dot(up, geometry(i).gap(i, j)) - height) * dot(up, normal)
        reach, down = self._lowest(normal, j, resolve)
        gap = above - reach
        return (Touch(gap, normal, step_along(j.origin, resolve(self.radius), down), resolve.rate(gap)),)

    def _lowest(self, normal: Components, j: Any, resolve: Resolve) -> tuple[Node, Components]:
        """How far the wheel reaches down, and the direction from its centre to the lowest point."""
        radius, opposite = resolve(self.radius), tuple(-n for n in normal)
        if isinstance(j, Frame):
            return radius, opposite
        axis = j.axis(unit_of(resolve(self.spin_axis)))
        lean = dot(axis, normal)
        upright = sqrt(maximum(1.0 - lean * lean, _LEAST))
        down = tuple(c / upright for c in step_along(opposite, lean, axis))
        return radius * upright, down
