"""Two balls; in the plane two discs."""

from typing import Annotated, Any, ClassVar

from mbdfmu.description import In, Positive
from mbdfmu.expressions import maximum
from mbdfmu.forces.base import geometry
from mbdfmu.forces.contact import Contact, Touch, step_along
from mbdfmu.forces.sliding import length
from mbdfmu.frames import Resolve

_SAME_PLACE = 1e-12  # m; below it there is no direction from one middle to the other


class SphereSphere(Contact, name="sphere_sphere"):
    """Contact of two spheres at the origins of i and j (T4.24 to T4.26)."""

    parity: ClassVar = {
        2: {"gap": "even", "force": "even", "friction": "odd", "slip": "odd"},
        3: {"gap": "even", "force": "even", "friction": "even", "slip": "even"},
    }

    radius_i: Annotated[Positive, In("m")]
    radius_j: Annotated[Positive, In("m")]

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        """Friction acts in the middle of the overlap."""
        apart = geometry(i).gap(i, j)
        distance = length(apart)
        normal = tuple(c / maximum(distance, _SAME_PLACE) for c in apart)
        radius_i, radius_j = resolve(self.radius_i), resolve(self.radius_j)
        gap = distance - radius_i - radius_j
        return (Touch(gap, normal, step_along(i.origin, radius_i + 0.5 * gap, normal)),)
