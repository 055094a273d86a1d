"""The hinge."""

from typing import Annotated, ClassVar

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Library, Moving, joint
from mbdfmu.description import Direction, In, Mirrored, Only
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class Revolute(JointElement, name="revolute"):
    """Hinge: the origins stay together, rotation about one axis is free."""

    freedoms = Freedoms(planar=1, spatial=1)
    modelica = Library(
        name=joint("Revolute"), parameters={"n": "axis"}, coordinates={"angle": Moving("phi", "w", "a")}
    )
    closing = Library(name=joint("RevolutePlanarLoopConstraint"), parameters={"n": "axis"})
    parity: ClassVar = {2: {"angle": "odd"}, 3: {"angle": "even"}}

    axis: Annotated[Direction, In("1"), Mirrored("axial"), Only(3, "leave it out")] = Z  # in both frames

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(planar.coincident(i, j),), free={"angle": planar.relative_angle(i, j)})

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        held = spatial.coincident(i, j), *spatial.parallel(i, j, axis)
        return Recipe(primitives=held, free={"angle": spatial.angle_about(i, j, axis)})
