"""The plate that slides on a plane."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from mbdfmu import spatial
from mbdfmu.counterparts import Library, Moving, joint
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import normals, unit


class Planar(JointElement, name="planar"):
    """Plate on a plane: j slides on a plane of i and turns about its normal."""

    freedoms = Freedoms(spatial=3)
    modelica = Library(
        name=joint("Planar"),
        parameters={"n": "axis", "n_x": "axis"},
        coordinates={
            "displacement_x": Moving("s_x", "v_x", "a_x"),
            "displacement_y": Moving("s_y", "v_y", "a_y"),
            "angle": Moving("phi", "w", "wd"),
        },
    )
    parity: ClassVar = {3: {"angle": "even"}}

    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # the normal, in both frames

    def counterpart_axes(self, resolve: Callable[[Any], Any]) -> dict[str, Any]:
        """With the direction of `displacement_x`."""
        axis = unit(resolve(self.axis))
        return {"n": axis, "n_x": normals(axis)[0]}

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        held = spatial.in_plane(i, j, axis), *spatial.parallel(i, j, axis)
        slides = spatial.displacements(i, j, normals(axis), "in the plane of i")
        return Recipe(primitives=held, free={**slides, "angle": spatial.angle_about(i, j, axis)})
