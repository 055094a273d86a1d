"""Two balls; in the plane two discs."""

from typing import Annotated, Any

from mbdfmu.description import In, Positive
from mbdfmu.expressions import Node
from mbdfmu.forces.base import geometry
from mbdfmu.forces.contact import Contact, Touch
from mbdfmu.frames import Resolve
from mbdfmu.vectors import directed, step_along


class SphereSphere(Contact, name="sphere_sphere"):
    """Contact of two spheres at the origins of i and j (T4.24 to T4.26)."""

    radius_i: Annotated[Positive, In("m")]
    radius_j: Annotated[Positive, In("m")]

    def extent(self, resolve: Resolve) -> Node:
        return resolve(self.radius_i) + resolve(self.radius_j)  # type: ignore[no-any-return]

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        """Friction acts in the middle of the overlap."""
        distance, normal = directed(geometry(i).gap(i, j))
        radius_i, radius_j = resolve(self.radius_i), resolve(self.radius_j)
        gap = distance - radius_i - radius_j
        return (Touch(gap, normal, step_along(i.origin, radius_i + 0.5 * gap, normal)),)
