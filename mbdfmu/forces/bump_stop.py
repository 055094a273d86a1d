"""The stop that pushes back where a length leaves its bounds."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from mbdfmu.counterparts import Counterpart, axis_force, line_force
from mbdfmu.description import Direction, Flag, In, NonNegative, Positive, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, greater, maximum, minimum, select
from mbdfmu.expressions.adams import impact
from mbdfmu.forces.base import ScalarForce, along, geometry
from mbdfmu.frames import Gap, Law, Measure, Resolve
from mbdfmu.vectors import length

_SHALLOW = 1e-9  # of the damping depth


class BumpStop(ScalarForce, name="bump_stop"):
    """Stops at a smallest and a largest length: k depth^e, damping that grows with the depth, never pulling (T4.6)."""

    modelica = line_force(like="Translational.Components.ElastoGap in MultiBody.Forces.LineForceWithMass")
    ascending: ClassVar = (("lower", "upper"),)
    parity: ClassVar = {d: {"length": "even", "force": "even"} for d in (2, 3)}

    lower: Annotated[Value | None, In("m")] = None  # none: no stop on this side
    upper: Annotated[Value | None, In("m")] = None
    stiffness: Positive  # N/m^e
    exponent: Annotated[Positive, In("1")] = 1.0
    damping: Annotated[NonNegative, In("N.s/m")] = 0.0  # at and beyond the damping depth
    damping_depth: Annotated[Positive | None, In("m")] = None
    axis: Annotated[Direction | None, In("1")] = None  # in frame i, to act along; none: the line between the ends
    locate: Flag = False  # hit the instants at which a stop is reached and left

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        low, high = self.lower, self.upper
        if low is None and high is None:
            raise ModelError("must have a lower or an upper length, or both")
        if isinstance(low, float) and isinstance(high, float) and low > high:
            raise ModelError(f"lower must not exceed upper, found {low:g} and {high:g}")
        if self.damping != 0 and self.damping_depth is None:
            raise ModelError("has damping; give the damping_depth at which it is full")
        return self

    def counterpart(self, dimensions: int) -> Counterpart:
        """Along the line or along the axis."""
        return self.modelica if self.axis is None else axis_force()

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        return along(i, j, self.axis, resolve)

    def law(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Law:
        reach, rate = measure.value, resolve.rate(measure.value)
        zero = total = energy = reach.graph.zero
        for key, bound, sign in (("lower", self.lower, 1.0), ("upper", self.upper, -1.0)):
            if bound is not None:
                depth = sign * (resolve(bound) - reach)
                total = total + sign * self._push(depth, sign * rate, resolve)
                energy = energy + self._stored(depth, resolve)
                resolve.gap(key, self._gap(-depth, sign * rate, (i, j), resolve))
                if self.damping != 0:
                    resolve.gap(f"last push, {key}", self._last_push(depth, sign * rate, resolve))
                if self.locate:
                    resolve.locate(key, depth)
        return Law(spring=total, actuator=zero, energy=energy)

    def _gap(self, value: Node, rate: Node, ends: tuple[Any, Any], resolve: Resolve) -> Gap:
        """Along a line the stops lie on all sides: the ends may pass each other."""
        if self.axis is not None or self.lower is None:
            return Gap(value=value, rate=rate)
        speed = length(geometry(ends[0]).relative_velocity(*ends, resolve))
        return Gap(value=value, rate=rate, extent=resolve(self.lower), speed=speed)

    def _push(self, depth: Node, leaving: Node, resolve: Resolve) -> Node:
        """As the function `impact`."""
        full = 1.0 if self.damping_depth is None else resolve(self.damping_depth)  # no damping: any depth will do
        law = resolve(self.stiffness), resolve(self.exponent), resolve(self.damping), full
        return impact(-depth, leaving, 0.0, *law)

    def _last_push(self, depth: Node, leaving: Node, resolve: Resolve) -> Gap:
        """Open where damping is as large as the spring, and so leaves no force; closed again right before the end.

        The damping coefficient goes to zero faster than the spring: (T9.13).
        """
        k, e, c, full = (resolve(x) for x in (self.stiffness, self.exponent, self.damping, self.damping_depth))
        within = maximum(depth, _SHALLOW * full)  # no division by zero
        part = minimum(within / full, 1.0)
        coefficient = c * part**2 * (3.0 - 2.0 * part) / (k * within ** (e - 1.0))
        slope = (6.0 * c * part * (1.0 - part) / full / (k * within ** (e - 1.0))) - (e - 1.0) * coefficient / within
        inside = greater(depth, 0.0)
        value = select(inside, coefficient * leaving, 0.0) - depth
        rate = leaving - select(inside, slope * leaving**2, 0.0)
        return Gap(value=value, rate=rate, last_push=True)

    def _stored(self, depth: Node, resolve: Resolve) -> Node:
        above = resolve(self.exponent) + 1.0
        return select(greater(depth, 0.0), resolve(self.stiffness) / above * depth**above, 0.0)
