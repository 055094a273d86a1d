"""The linear relation between any number of joint coordinates."""

from typing import Annotated

from pydantic import AfterValidator

from mbdfmu.counterparts import Equations
from mbdfmu.description import Expression, Value
from mbdfmu.errors import ModelError
from mbdfmu.frames import Primitive, Recipe, Resolve, Row
from mbdfmu.joints.base import Relation


def _not_empty(terms: dict[str, float | str]) -> dict[str, float | str]:
    if not terms:
        raise ModelError('must name at least one coordinate, as {"hinge.angle": 1}')
    return terms


class Coupler(Relation, name="coupler"):
    """Coupler: the sum of coordinates times their factors is a constant."""

    modelica = Equations(like="Rotational.Components.IdealPlanetary between flanges")

    terms: Annotated[dict[Expression, Value], AfterValidator(_not_empty)]  # coordinate: factor
    constant: Value = 0.0

    def relation(self, resolve: Resolve) -> Recipe:
        terms = [resolve(factor) * resolve(of) for of, factor in self.terms.items()]
        value = terms[0].graph.sum(terms) - resolve(self.constant)
        row = Row(direction="sum", value=value, unit=resolve.unit(next(iter(self.terms))), reaction="force",
                  text="generalised force, towards a larger sum")  # fmt: skip
        return Recipe(primitives=(Primitive(rows=(row,)),))
