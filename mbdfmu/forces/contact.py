"""What every contact does with its gaps: normal force, friction, signals; must not know any shape.

A shape gives the places where it may touch. All vectors are in ground axes and have as many components as the model
has dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator

from mbdfmu.counterparts import Equations
from mbdfmu.description import Bound, Flag, In, NonNegative, Positive
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, less, maximum, minimum, select
from mbdfmu.forces.base import Ends, ForceBetween, geometry
from mbdfmu.forces.sliding import Sliding, signed, size
from mbdfmu.frames import Effort, Gap, Load, Measure, Resolve, Share
from mbdfmu.vectors import Components, cross, dot, length

_OF_LAW = {  # fields that belong to one law of the normal force
    "damping": "linear",
    "exponent": "hunt_crossley",
    "dissipation": "hunt_crossley",
    "restitution": "hunt_crossley",
    "impact_speed": "hunt_crossley",
}


class Touch(NamedTuple):
    """A place where two bodies may touch."""

    gap: Node  # m; negative where they overlap
    normal: Components  # unit vector from i to j
    point: Components  # where the forces act
    rate: Node | None = None  # of the gap, where that is not along the normal what the material does at the point


class _Pressed(NamedTuple):
    """What happens at one touch."""

    gap: Node
    force: Node
    energy: Node
    friction: Components
    slip: Components
    rates: Components  # along which friction works
    normal_rate: Node


class Contact(Sliding, ForceBetween):
    """Base of the contacts of i and j: pushes them apart where they overlap, never pulls, rubs (T4.24 to T4.26)."""

    modelica = Equations()
    parity: ClassVar = {
        2: {"gap": "even", "force": "even", "friction": "odd", "slip": "odd"},
        3: {"gap": "even", "force": "even", "friction": "even", "slip": "even"},
    }

    stiffness: Positive  # N/m to the power of the exponent
    normal: Literal["hunt_crossley", "hertz", "linear"] = "hunt_crossley"  # law of the normal force
    exponent: Annotated[Positive, Bound("at least 1", 1), In("1")] = 1.5  # of the depth; 1.5 for hertz, 1 for linear
    dissipation: Annotated[NonNegative, In("s/m")] = 0.0
    # in place of dissipation: speed after over speed before
    restitution: Annotated[Positive | None, Bound("at most 1", 0, 1), In("1")] = None
    impact_speed: Annotated[Positive | None, In("m/s")] = None  # at which restitution was measured
    damping: Annotated[NonNegative, In("N.s/m")] = 0.0  # of the linear law
    coefficient: Annotated[NonNegative, In("1")] = 0.0  # of friction, while sliding
    locate: Flag = False  # begin and end of the contact are hit in time

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        for name, law in _OF_LAW.items():
            if name in self.model_fields_set and self.normal != law:
                raise ModelError(f'{name} belongs to "normal": "{law}", found "{self.normal}"; leave it out')
        pair = [name for name in ("restitution", "impact_speed") if getattr(self, name) is not None]
        if len(pair) == 1:
            raise ModelError(f"restitution and impact_speed go together, found {pair[0]} alone")
        if pair and "dissipation" in self.model_fields_set:
            raise ModelError("has both dissipation and restitution; leave out one of them")
        for name in ("restitution", "exponent"):
            _check_bounds(name, getattr(self, name))
        return self

    def touches(self, i: Any, j: Any, resolve: Resolve) -> tuple[Touch, ...]:
        """Where the bodies may touch."""
        raise TypeError(f"force type '{self.type_name}' defines no touches")

    def extent(self, resolve: Resolve) -> Node | None:
        """How deep (m) one is in the other where the far side is as near; none where there is no far side."""
        return None

    def speed(self, i: Any, j: Any, resolve: Resolve) -> Node:
        """At which the bodies move against each other at most (m/s)."""
        return length(geometry(i).relative_velocity(i, j, resolve))

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return "gap", "force", "friction", "slip"

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j = ends["i"], ends["j"]
        found = self.touches(i, j, resolve)
        pressed = [self._pressed(touch, i, j, resolve, alone=len(found) == 1) for touch in found]
        self._show(pressed, resolve)
        resolve.gap("gap", self._gap(pressed, i, j, resolve))
        for n, one in enumerate(pressed if self.locate else (), start=1):
            resolve.locate("gap" if len(found) == 1 else f"gap_{n}", one.gap)
        efforts: list[Effort] = []
        for one in pressed:
            efforts.append(Effort(rate=one.normal_rate, effort=one.force))
            efforts += [Effort(rate=r, effort=f) for r, f in zip(one.rates, one.friction, strict=True)]
        graph = pressed[0].gap.graph
        return Load(shares=(Share(efforts=tuple(efforts)),), energy=graph.sum(one.energy for one in pressed))

    def _pressed(self, touch: Touch, i: Any, j: Any, resolve: Resolve, *, alone: bool) -> _Pressed:
        moving = velocity_at(touch.point, i, j, resolve)
        rate = dot(touch.normal, moving) if touch.rate is None else touch.rate
        force, energy = self._press(maximum(-touch.gap, 0.0), -rate, resolve)
        if alone:
            force = resolve.force("force", force, "N", "normal force, pushes i and j apart")
        slip = tangential(moving, touch.normal)
        friction = self.friction(slip, force, resolve) if self._rubs else ()
        rates = slip if len(slip) == 1 else moving  # friction has no part along the normal
        return _Pressed(touch.gap, force, energy, friction, slip, rates if friction else (), rate)

    @property
    def _rubs(self) -> bool:
        return bool(self.coefficient or self.static_coefficient)

    def _press(self, depth: Node, closing: Node, resolve: Resolve) -> tuple[Node, Node]:
        """Normal force and stored energy at a depth and its rate."""
        stiffness: Node = resolve(self.stiffness)
        if self.normal == "linear":
            force = maximum(stiffness * depth + resolve(self.damping) * closing, 0.0)
            return select(less(0.0, depth), force, 0.0), 0.5 * stiffness * depth * depth
        exponent: Node = resolve(1.5 if self.normal == "hertz" else self.exponent)
        elastic = stiffness * depth**exponent
        # one power: of a product, the second derivative at no depth would be 0 times infinity
        energy = stiffness / (exponent + 1.0) * depth ** (exponent + 1.0)
        if self.normal == "hertz":
            return elastic, energy
        return elastic * maximum(1.0 + self._dissipation(resolve) * closing, 0.0), energy

    def _dissipation(self, resolve: Resolve) -> Node:
        """Of Hunt and Crossley's force, from the restitution where that is given (T4.25)."""
        if self.restitution is None:
            return resolve(self.dissipation)  # type: ignore[no-any-return]
        kept, speed = resolve(self.restitution), resolve(self.impact_speed)
        factor: Node = 1.5 * (1.0 - kept) / (kept * speed)
        return factor

    def _gap(self, pressed: list[_Pressed], i: Any, j: Any, resolve: Resolve) -> Gap:
        """The smallest."""
        gap, rate, extent = pressed[0].gap, pressed[0].normal_rate, self.extent(resolve)
        for one in pressed[1:]:
            rate = select(less(one.gap, gap), one.normal_rate, rate)
            gap = minimum(gap, one.gap)
        if extent is None:
            return Gap(value=gap, rate=rate)
        return Gap(value=gap, rate=rate, extent=extent, speed=self.speed(i, j, resolve))

    def _show(self, pressed: list[_Pressed], resolve: Resolve) -> None:
        first, *others = pressed
        graph, gap = first.gap.graph, first.gap
        sized = length if others else size  # along the tangent in the plane, where there is one touch
        sliding = select(less(gap, 0.0), sized(first.slip), 0.0)
        for one in others:
            gap = minimum(gap, one.gap)
            sliding = maximum(sliding, select(less(one.gap, 0.0), length(one.slip), 0.0))
        rubbing = [one.friction for one in pressed if one.friction]
        total = tuple(graph.sum(parts) for parts in zip(*rubbing, strict=True)) or (graph.zero,)
        resolve.show("gap", gap, "m", "negative where the bodies overlap")
        if others:
            force = graph.sum(one.force for one in pressed)
            resolve.show("force", force, "N", "sum of the normal forces, which push i and j apart")
        resolve.show("friction", sized(total), "N", signed("force of friction", first.slip))
        resolve.show("slip", sliding, "m/s", signed("sliding speed where the bodies touch", first.slip))


def _check_bounds(name: str, value: float | str | None) -> None:
    if isinstance(value, float):
        if name == "restitution" and value > 1:
            raise ModelError(f"restitution must not exceed 1, found {value!r}")
        if name == "exponent" and value < 1:
            raise ModelError(f"exponent must be at least 1, found {value!r}")


# ---------------------------------------------------------------- for the shapes


def axes(frame: Any) -> tuple[Components, ...]:
    """The axes of a frame."""
    graph, count = frame.origin[0].graph, len(frame.origin)
    rows = [tuple(graph.one if k == n else graph.zero for k in range(count)) for n in range(count)]
    return tuple(frame.axis(row) for row in rows)


def velocity_at(point: Components, i: Any, j: Any, resolve: Resolve) -> Components:
    """Of the material of j to that of i, both at a point."""
    how = geometry(i)
    moving, spin = how.relative_velocity(i, j, resolve), how.relative_spin(i, j, resolve)
    arm = tuple(p - o for p, o in zip(point, j.origin, strict=True))
    if len(arm) == 2:
        return moving[0] - spin[0] * arm[1], moving[1] + spin[0] * arm[0]
    return tuple(v + w for v, w in zip(moving, cross(spin, arm), strict=True))


def tangential(velocity: Components, normal: Components) -> Components:
    """What is left without the part along the normal; in the plane one number, along the normal turned clockwise."""
    if len(normal) == 2:
        return (velocity[0] * normal[1] - velocity[1] * normal[0],)
    along = dot(velocity, normal)
    return tuple(v - along * n for v, n in zip(velocity, normal, strict=True))
