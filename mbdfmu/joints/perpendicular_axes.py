"""The cross that may be anywhere."""

from typing import Annotated, ClassVar

from mbdfmu import spatial
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X, Y
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import across, unit


class PerpendicularAxes(JointElement, name="perpendicular_axes"):
    """Perpendicular axes: a direction of i stays perpendicular to one of j, the origins are free."""

    freedoms = Freedoms(spatial=5)
    modelica = "Modelica.Mechanics.MultiBody.Joints.Prismatic (three) and Universal in series"
    parity: ClassVar = {3: {"angle_1": "even", "angle_2": "even"}}

    axis_i: Annotated[Direction, In("1"), Mirrored("axial")] = X  # in frame i
    axis_j: Annotated[Direction, In("1"), Mirrored("axial")] = Y  # in frame j, made perpendicular to that

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        a = unit(resolve(self.axis_i))
        b = across(a, unit(resolve(self.axis_j)))
        held = spatial.perpendicular(i, a, j, b, reaction="torque")
        return Recipe(primitives=(held,), free=spatial.universal_angles(i, a, j, b))
