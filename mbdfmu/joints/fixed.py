"""The weld."""

from mbdfmu.frames import Frame, Primitive, coincident, equal_angles
from mbdfmu.joints.base import PlanarJoint, Resolve


class Fixed(PlanarJoint, name="fixed"):
    """Weld: both frames stay together."""

    freedoms = 0
    modelica = "Modelica.Mechanics.MultiBody.Parts.FixedTranslation"

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        return (coincident(i, j), equal_angles(i, j))
