"""The hinge."""

from collections.abc import Mapping

from mbdfmu.frames import Frame, Measure, Primitive, coincident, relative_angle
from mbdfmu.joints.base import PlanarJoint, Resolve


class Revolute(PlanarJoint, name="revolute"):
    """Hinge: the origins stay together, rotation is free."""

    freedoms = 1
    modelica = "Modelica.Mechanics.MultiBody.Joints.Revolute"

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        return (coincident(i, j),)

    def free(self, i: Frame, j: Frame, resolve: Resolve) -> Mapping[str, Measure]:
        return {"angle": relative_angle(i, j)}
