"""The pin in a slot."""

from collections.abc import Mapping
from typing import Annotated

from mbdfmu.description import Direction, In
from mbdfmu.frames import Frame, Measure, Primitive, displacement, in_line, relative_angle, unit_vector
from mbdfmu.joints.base import PlanarJoint, Resolve


class PointOnLine(PlanarJoint, name="point_on_line"):
    """Pin in a slot: the origin of j stays on a line of i, rotation and sliding are free."""

    freedoms = 2
    modelica = "Modelica.Mechanics.MultiBody.Joints.Prismatic and Revolute in series"

    axis: Annotated[Direction, In("1")] = (1.0, 0.0)  # in frame i

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        return (in_line(i, j, unit_vector(resolve(self.axis))),)

    def free(self, i: Frame, j: Frame, resolve: Resolve) -> Mapping[str, Measure]:
        axis = unit_vector(resolve(self.axis))
        return {"displacement": displacement(i, j, axis), "angle": relative_angle(i, j)}
