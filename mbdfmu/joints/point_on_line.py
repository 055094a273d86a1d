"""The pin in a slot."""

from typing import Annotated, ClassVar

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class PointOnLine(JointElement, name="point_on_line"):
    """Pin in a slot: the origin of j stays on a line of i, rotation and sliding are free."""

    freedoms = Freedoms(planar=2, spatial=4)
    modelica = Equations(like="Prismatic and Revolute, in space Spherical, in series")
    parity: ClassVar = {2: {"displacement": "even", "angle": "odd"}, 3: {"displacement": "even"}}

    axis: Annotated[Direction, In("1")] = X  # in frame i

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        axis = planar.unit_vector(resolve(self.axis))
        free = {"displacement": planar.displacement(i, j, axis), "angle": planar.relative_angle(i, j)}
        return Recipe(primitives=(planar.in_line(i, j, axis),), free=free)

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        free = {"displacement": spatial.displacement(i, j, axis)}
        return Recipe(primitives=spatial.in_line(i, j, axis), free=free)
