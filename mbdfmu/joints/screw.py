"""The nut on a thread."""

import math
from typing import Annotated, ClassVar

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored, Value
from mbdfmu.frames import Primitive, Recipe, Resolve, Row
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import unit


class Screw(JointElement, name="screw"):
    """Nut on a thread: j turns about an axis and moves along it by the pitch per turn."""

    freedoms = Freedoms(spatial=1)
    modelica = Equations(like="Prismatic and Revolute in series, with Rotational.Components.IdealGearR2T")
    parity: ClassVar = {3: {"angle": "even", "displacement": "odd"}}

    pitch: Annotated[Value, In("m"), Mirrored("odd")]  # along the axis at one turn about it
    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # in both frames

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        axis = unit(resolve(self.axis))
        angle = resolve.counted("angle", spatial.angle_about(i, j, axis))
        displacement = spatial.displacement(i, j, axis)
        value = displacement.value - resolve(self.pitch) * angle.value / (2 * math.pi)
        thread = Primitive(rows=(Row(direction="thread", value=value, unit="m"),))
        held = *spatial.in_line(i, j, axis), *spatial.parallel(i, j, axis), thread
        return Recipe(primitives=held, free={"angle": angle, "displacement": displacement})
