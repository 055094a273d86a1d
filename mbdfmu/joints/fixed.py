"""The weld."""

from mbdfmu import planar, spatial
from mbdfmu.counterparts import MULTIBODY, Library
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame


class Fixed(JointElement, name="fixed"):
    """Weld: both frames stay together."""

    freedoms = Freedoms(planar=0, spatial=0)
    modelica = Library(name=f"{MULTIBODY}.Parts.FixedTranslation", settings=("r",))

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(planar.coincident(i, j), planar.equal_angles(i, j)))

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(spatial.coincident(i, j), *spatial.same_orientation(i, j)))
