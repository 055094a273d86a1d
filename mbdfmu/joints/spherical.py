"""The ball and socket."""

from mbdfmu import spatial
from mbdfmu.counterparts import TURNING, Library, joint
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement
from mbdfmu.spatial import SpatialFrame


class Spherical(JointElement, name="spherical"):
    """Ball and socket: the origins stay together, all rotations are free."""

    freedoms = Freedoms(spatial=3)
    modelica = Library(name=joint("Spherical"), settings=TURNING, turns=True)

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(spatial.coincident(i, j),))
