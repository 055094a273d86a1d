"""The gear between two joint coordinates."""

from typing import Self

from pydantic import model_validator

from mbdfmu.counterparts import Equations
from mbdfmu.description import Expression, Value
from mbdfmu.errors import ModelError
from mbdfmu.frames import Primitive, Recipe, Resolve, Row
from mbdfmu.joints.base import Relation


class Gear(Relation, name="gear"):
    """Gear: first = ratio second + offset, where both are coordinates of joints or bodies."""

    modelica = Equations(like="Rotational.Components.IdealGear between flanges")

    first: Expression
    second: Expression
    ratio: Value
    offset: Value = 0.0  # in the unit of `first`

    @model_validator(mode="after")
    def _two_coordinates(self) -> Self:
        if self.first.strip() == self.second.strip():
            raise ModelError(f"first and second must be two coordinates, found {self.first.strip()!r} twice")
        return self

    def relation(self, resolve: Resolve) -> Recipe:
        value = resolve(self.first) - resolve(self.ratio) * resolve(self.second) - resolve(self.offset)
        row = Row(direction="ratio", value=value, unit=resolve.unit(self.first), reaction="force",
                  text="on the coordinate 'first', towards a larger value")  # fmt: skip
        return Recipe(primitives=(Primitive(rows=(row,)),))
