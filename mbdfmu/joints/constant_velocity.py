"""The joint of a driven front wheel."""

from typing import Annotated

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class ConstantVelocity(JointElement, name="constant_velocity"):
    """Constant velocity joint: two shafts that meet at an angle turn alike."""

    freedoms = Freedoms(spatial=2)
    modelica = Equations(like="two Universal in series")

    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # of the shafts, in both frames

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        return Recipe(primitives=(spatial.coincident(i, j), spatial.equal_spin(i, j, axis)))
