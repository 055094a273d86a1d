"""The slider."""

from typing import Annotated, ClassVar

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Library, Moving, joint
from mbdfmu.description import Direction, In
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class Prismatic(JointElement, name="prismatic"):
    """Slider: j moves along an axis of i without turning."""

    freedoms = Freedoms(planar=1, spatial=1)
    modelica = Library(
        name=joint("Prismatic"), parameters={"n": "axis"}, coordinates={"displacement": Moving("s", "v", "a")}
    )
    parity: ClassVar = {2: {"displacement": "even"}, 3: {"displacement": "even"}}

    axis: Annotated[Direction, In("1")] = X  # in frame i

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        axis = planar.unit_vector(resolve(self.axis))
        held = planar.equal_angles(i, j), planar.in_line(i, j, axis)
        return Recipe(primitives=held, free={"displacement": planar.displacement(i, j, axis)})

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        held = *spatial.same_orientation(i, j), *spatial.in_line(i, j, axis)
        return Recipe(primitives=held, free={"displacement": spatial.displacement(i, j, axis)})
