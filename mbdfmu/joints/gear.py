"""The gear between two joint coordinates."""

from mbdfmu.description import Expression, Value
from mbdfmu.frames import Primitive, Recipe, Resolve, Row
from mbdfmu.joints.base import Relation


class Gear(Relation, name="gear"):
    """Gear: first = ratio second + offset, where both are coordinates of joints or bodies."""

    modelica = "Modelica.Mechanics.Rotational.Components.IdealGear between the flanges of two joints"

    first: Expression
    second: Expression
    ratio: Value
    offset: Value = 0.0  # in the unit of `first`

    def relation(self, resolve: Resolve) -> Recipe:
        value = resolve(self.first) - resolve(self.ratio) * resolve(self.second) - resolve(self.offset)
        row = Row(direction="ratio", value=value, unit=resolve.unit(self.first), reaction="force",
                  text="on the coordinate 'first', towards a larger value")  # fmt: skip
        return Recipe(primitives=(Primitive(rows=(row,)),))
