"""The point that stays in a plane."""

from typing import Annotated

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import normals, unit


class PointInPlane(JointElement, name="point_in_plane"):
    """Point in a plane: the origin of j stays in a plane through i, all rotations are free."""

    freedoms = Freedoms(spatial=5)
    modelica = Equations(like="two Prismatic and Spherical in series")

    axis: Annotated[Direction, In("1")] = Z  # the normal, in frame i

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        held = spatial.in_plane(i, j, axis, reaction="normal")
        return Recipe(primitives=(held,), free=spatial.displacements(i, j, normals(axis), "in the plane of i"))
