"""The ball and socket."""

from mbdfmu import spatial
from mbdfmu.counterparts import TURNING, Library, Local, between_points, joint
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement
from mbdfmu.spatial import SpatialFrame


class Spherical(JointElement, name="spherical"):
    """Ball and socket: the origins stay together, all rotations are free."""

    freedoms = Freedoms(spatial=3)
    modelica = Library(name=joint("Spherical"), settings=TURNING, turns=True)
    closing = Local(
        name="Ball",
        text=between_points(
            "Ball", "Ball and socket that closes a loop: two points stay together",
            declarations='''\
    Modelica.Units.SI.Force pull[3] "on the first body, its opposite on the second, ground axes";''',
            gap="r", force="pull", size="[3]",
        ),
        multipliers=("pull[1]", "pull[2]", "pull[3]"), gaps=("gap[1]", "gap[2]", "gap[3]"),
        like="MultiBody.Joints.Constraints.Spherical",
    )  # fmt: skip

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(spatial.coincident(i, j),))
