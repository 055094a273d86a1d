"""The massless rod."""

from collections.abc import Mapping
from typing import Annotated

from mbdfmu.description import In, Positive
from mbdfmu.frames import Frame, Measure, Primitive, fixed_distance, relative_angle
from mbdfmu.joints.base import PlanarJoint, Resolve


class Distance(PlanarJoint, name="distance"):
    """Massless rod: the origins keep their distance."""

    freedoms = 2
    modelica = "Modelica.Mechanics.MultiBody.Joints.SphericalSpherical"

    length: Annotated[Positive, In("m")]

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        return (fixed_distance(i, j, resolve(self.length)),)

    def free(self, i: Frame, j: Frame, resolve: Resolve) -> Mapping[str, Measure]:
        return {"angle": relative_angle(i, j)}
