"""The massless rod."""

from typing import Annotated, ClassVar

from mbdfmu import planar
from mbdfmu.counterparts import Local, between_points
from mbdfmu.description import In, Positive
from mbdfmu.frames import Recipe, Resolve, fixed_distance
from mbdfmu.joints.base import Freedoms, JointElement
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame


class Distance(JointElement, name="distance"):
    """Massless rod: the origins keep their distance."""

    freedoms = Freedoms(planar=2, spatial=5)
    modelica = Local(
        name="Rod",
        text=between_points(
            "Rod", "Massless rod: two points keep their distance",
            declarations="""\
    parameter Modelica.Units.SI.Length length;
    Modelica.Units.SI.Force pull "of the rod, negative where it pushes";""",
            gap="sqrt(r*r) - length", force="pull*r/sqrt(r*r)",
        ),
        parameters={"length": "length"}, multipliers=("pull",), gaps=("gap",),
        like="MultiBody.Joints.SphericalSpherical",
    )  # fmt: skip
    parity: ClassVar = {2: {"angle": "odd"}}

    length: Annotated[Positive, In("m")]

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        held = fixed_distance(i, j, resolve(self.length))
        return Recipe(primitives=(held,), free={"angle": planar.relative_angle(i, j)})

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        return Recipe(primitives=(fixed_distance(i, j, resolve(self.length)),))
