"""The sliding hinge."""

from typing import Annotated, ClassVar

from mbdfmu import spatial
from mbdfmu.counterparts import Library, Moving, joint
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class Cylindrical(JointElement, name="cylindrical"):
    """Sliding hinge: j turns about and moves along one axis."""

    freedoms = Freedoms(spatial=2)
    modelica = Library(
        name=joint("Cylindrical"),
        parameters={"n": "axis"},
        coordinates={"angle": Moving("phi", "w", "wd"), "displacement": Moving("s", "v", "a")},
    )
    parity: ClassVar = {3: {"angle": "even", "displacement": "odd"}}

    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # in both frames

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        return Recipe(
            primitives=(*spatial.in_line(i, j, axis), *spatial.parallel(i, j, axis)),
            free={"angle": spatial.angle_about(i, j, axis), "displacement": spatial.displacement(i, j, axis)},
        )
