"""The cross that may be anywhere."""

from typing import Annotated, ClassVar, Self

from pydantic import model_validator

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X, Y, cross_of, refuse_parallel
from mbdfmu.spatial import SpatialFrame


class PerpendicularAxes(JointElement, name="perpendicular_axes"):
    """Perpendicular axes: a direction of i stays perpendicular to one of j, the origins are free."""

    freedoms = Freedoms(spatial=5)
    modelica = Equations(like="three Prismatic and Universal in series")
    parity: ClassVar = {3: {"angle_1": "even", "angle_2": "even"}}

    axis_i: Annotated[Direction, In("1"), Mirrored("axial")] = X  # in frame i
    axis_j: Annotated[Direction, In("1"), Mirrored("axial")] = Y  # in frame j, made perpendicular to that

    @model_validator(mode="after")
    def _two_axes(self) -> Self:
        refuse_parallel(self.axis_i, self.axis_j)
        return self

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        a, b = cross_of(self.axis_i, self.axis_j, resolve)
        held = spatial.perpendicular(i, a, j, b, reaction="torque")
        return Recipe(primitives=(held,), free=spatial.universal_angles(i, a, j, b))
