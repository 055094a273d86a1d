"""Dry friction at a sliding surface, for joints, contacts and belts; must not know where it acts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from mbdfmu.description import In, NonNegative, Positive
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, absolute, exp, sqrt, tanh
from mbdfmu.forces.base import ForceElement
from mbdfmu.frames import Resolve
from mbdfmu.vectors import Components, dot, length

_STILL = 1e-9  # of the creep speed: what the speed of several directions is rounded with at rest


class Sliding(ForceElement):
    """Base of the elements with dry friction: Coulomb and Stribeck, regularised (T4.20, T4.21)."""

    ascending: ClassVar = (("coefficient", "static_coefficient"),)

    coefficient: Annotated[NonNegative, In("1")]  # of friction, while sliding
    static_coefficient: Annotated[NonNegative | None, In("1")] = None  # at the onset of sliding; none: the same
    stribeck_speed: Annotated[Positive, In("m/s")] = 1e-2  # over which the one becomes the other
    creep_speed: Annotated[Positive, In("m/s")] = 1e-3  # below it friction is nearly proportional to the speed

    @model_validator(mode="after")
    def _falls_with_speed(self) -> Self:
        low, high = self.coefficient, self.static_coefficient
        if isinstance(low, float) and isinstance(high, float) and low > high:
            raise ModelError(f"coefficient must not exceed static_coefficient, found {low:g} and {high:g}")
        return self

    def grip(self, square: Node, resolve: Resolve) -> Node:
        """The coefficient of friction at a (squared) sliding speed."""
        coefficient: Node = resolve(self.coefficient)
        if self.static_coefficient is None:
            return coefficient
        surplus: Node = resolve(self.static_coefficient) - coefficient
        speed: Node = resolve(self.stribeck_speed)
        return coefficient + surplus * exp(-square / speed**2)

    def friction(self, slip: Components, load: Node, resolve: Resolve) -> Components:
        """The forces along the components of the sliding velocity."""
        return self.regularised(slip, load, resolve)

    def regularised(self, slip: Components, load: Node, resolve: Resolve) -> Components:
        """tanh(speed / creep speed) in the place of the sign."""
        square, creep = dot(slip, slip), resolve(self.creep_speed)
        grip = self.grip(square, resolve) * load
        if len(slip) == 1:
            return (-(grip * tanh(slip[0] / creep)),)
        speed = sqrt(square + (_STILL * creep) ** 2)
        factor = grip * tanh(speed / creep) / speed
        return tuple(-(factor * component) for component in slip)


class Bristled(Sliding):
    """Base of the elements whose surfaces stay together: viscous friction, and by choice bristles (LuGre, T4.22)."""

    viscous: Annotated[NonNegative, In("N.s/m")] = 0.0  # besides, proportional to the speed
    law: Literal["regularised", "lugre"] = "regularised"
    bristle_stiffness: Annotated[Positive, In("1/m")] = 1e4  # coefficient of friction over deflection
    bristle_damping: Annotated[NonNegative, In("s/m")] = 50.0

    @model_validator(mode="after")
    def _fields_of_the_law(self) -> Self:
        foreign = {"regularised": ("bristle_stiffness", "bristle_damping"), "lugre": ("creep_speed",)}
        for name in foreign[self.law]:
            if name in self.model_fields_set:
                raise ModelError(f'{name} counts for nothing with "law": "{self.law}"; leave it out')
        if self.law == "lugre" and self.coefficient == 0:
            raise ModelError("bristles need a coefficient above 0")
        return self

    def friction(self, slip: Components, load: Node, resolve: Resolve) -> Components:
        law, viscous = self.bristles if self.law == "lugre" else self.regularised, resolve(self.viscous)
        return tuple(f - viscous * v for f, v in zip(law(slip, load, resolve), slip, strict=True))

    def bristles(self, slip: Components, load: Node, resolve: Resolve) -> Components:
        """The states are what bent bristles carry, as a coefficient of friction: of the size of 1."""
        speed = absolute(slip[0]) if len(slip) == 1 else length(slip)
        stiffness, damping = resolve(self.bristle_stiffness), resolve(self.bristle_damping)
        relaxing = speed / self.grip(dot(slip, slip), resolve)
        forces = []
        for n, component in enumerate(slip, start=1):
            key = "bristle" if len(slip) == 1 else f"bristle_{n}"
            carried = resolve.state(key, 0.0, "1", "coefficient of friction that bent bristles carry")
            bending = component - relaxing * carried
            resolve.define(carried, stiffness * bending)
            forces.append(-load * (carried + damping * bending))
        return tuple(forces)


def size(components: Components) -> Node:
    """Of a speed or force along some directions: one component keeps its sign, of more it is the length."""
    return components[0] if len(components) == 1 else length(components)


def signed(text: str, components: Components) -> str:
    """What is said of such a size."""
    return f"{text}, with its sign" if len(components) == 1 else f"{text}, never negative"
