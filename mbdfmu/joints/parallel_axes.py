"""The bodies that turn about one direction only."""

from typing import Annotated, ClassVar

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class ParallelAxes(JointElement, name="parallel_axes"):
    """Parallel axes: j turns about one direction of i only, its origin is free."""

    freedoms = Freedoms(spatial=4)
    modelica = Equations(like="Planar and Prismatic in series")
    parity: ClassVar = {3: {"angle": "even"}}

    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # in both frames

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        return Recipe(primitives=spatial.parallel(i, j, axis), free={"angle": spatial.angle_about(i, j, axis)})
