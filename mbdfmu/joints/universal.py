"""The Cardan joint."""

from typing import Annotated, ClassVar, Self

from pydantic import model_validator

from mbdfmu import spatial
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X, Y, cross_of, refuse_parallel
from mbdfmu.spatial import SpatialFrame


class Universal(JointElement, name="universal"):
    """Cardan joint: the origins stay together, and an axis of i stays perpendicular to one of j."""

    freedoms = Freedoms(spatial=2)
    modelica = "Modelica.Mechanics.MultiBody.Joints.Universal"
    parity: ClassVar = {3: {"angle_1": "even", "angle_2": "even"}}

    axis_i: Annotated[Direction, In("1"), Mirrored("axial")] = X  # of the cross in frame i
    axis_j: Annotated[Direction, In("1"), Mirrored("axial")] = Y  # of the cross in frame j, made perpendicular

    @model_validator(mode="after")
    def _two_axes(self) -> Self:
        refuse_parallel(self.axis_i, self.axis_j)
        return self

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        a, b = cross_of(self.axis_i, self.axis_j, resolve)
        held = spatial.coincident(i, j), spatial.perpendicular(i, a, j, b)
        return Recipe(primitives=held, free=spatial.universal_angles(i, a, j, b))
