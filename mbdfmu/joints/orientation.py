"""The bodies that do not turn against each other."""

from typing import ClassVar

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Equations
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X, Y
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame


class Orientation(JointElement, name="orientation"):
    """Equal orientation: both frames stay parallel, their origins are free."""

    freedoms = Freedoms(planar=2, spatial=3)
    modelica = Equations(like="three Prismatic in series")
    parity: ClassVar = {2: {f"displacement_{k}": k for k in "xy"}, 3: {f"displacement_{k}": k for k in "xyz"}}

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        free = {f"displacement_{n}": planar.displacement(i, j, resolve(axis)) for n, axis in (("x", X), ("y", Y))}
        return Recipe(primitives=(planar.equal_angles(i, j),), free=free)

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        free = spatial.displacements(i, j, spatial.basis(i.p[0]), "in frame i")
        return Recipe(primitives=spatial.same_orientation(i, j), free=free)
