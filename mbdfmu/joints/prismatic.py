"""The slider."""

from collections.abc import Mapping
from typing import Annotated

from mbdfmu.description import Direction, In
from mbdfmu.frames import Frame, Measure, Primitive, displacement, equal_angles, in_line, unit_vector
from mbdfmu.joints.base import PlanarJoint, Resolve


class Prismatic(PlanarJoint, name="prismatic"):
    """Slider: j moves along an axis of i without turning."""

    freedoms = 1
    modelica = "Modelica.Mechanics.MultiBody.Joints.Prismatic"

    axis: Annotated[Direction, In("1")] = (1.0, 0.0)  # in frame i

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        return (equal_angles(i, j), in_line(i, j, unit_vector(resolve(self.axis))))

    def free(self, i: Frame, j: Frame, resolve: Resolve) -> Mapping[str, Measure]:
        return {"displacement": displacement(i, j, unit_vector(resolve(self.axis)))}
