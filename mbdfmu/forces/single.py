"""The force with one component that a user writes."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import model_validator

from mbdfmu.counterparts import Counterpart, axis_force, line_force
from mbdfmu.description import Direction, In, MarkerRef, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.forces.base import Ends, ForceBetween, potential, wrench
from mbdfmu.frames import Effort, Load, Measure, Resolve, Share, distance
from mbdfmu.vectors import unit_of


class Single(ForceBetween, name="single"):
    """Force on the origin of j along an axis of `frame`, or along the line from i to j (T4.5)."""

    modelica = line_force(like="MultiBody.Forces.LineForceWithMass")
    parity: ClassVar = {2: {"force": "even"}, 3: {"force": "even"}}

    force: Annotated[Value, In("N")] = 0.0  # along the line: positive pushes the ends apart
    axis: Annotated[Direction | None, In("1")] = None  # none: the line between the ends
    frame: MarkerRef | None = None  # that has the axis; none: i

    @model_validator(mode="after")
    def _axis_of_frame(self) -> Self:
        if self.frame is not None and self.axis is None:
            raise ModelError('has a frame but no axis in it; give the "axis", or leave the frame out')
        return self

    def counterpart(self, dimensions: int) -> Counterpart:
        """Along the line or along the axis."""
        return self.modelica if self.axis is None else axis_force()

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return ("force",)

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j = ends["i"], ends["j"]
        force = resolve.force("force", resolve(self.force), "N", "on j, along the axis or away from i")
        if self.axis is not None:
            share = wrench(i, j, self._components(force, ends, resolve), (), resolve)
            return Load(shares=(share,), energy=force.graph.zero, beyond=(force,))
        length = distance(i, j).value
        rate = resolve.rate(length)
        share, given = Share(efforts=(Effort(rate=rate, effort=force),)), potential(force, length, rate)
        if given is None:
            return Load(shares=(share,), energy=force.graph.zero, beyond=(force,))
        return Load(shares=(share,), energy=given)

    def _components(self, force: Node, ends: Ends, resolve: Resolve) -> tuple[Node, ...]:
        """In ground axes."""
        frame = ends.get("frame", ends["i"])
        return tuple(force * a for a in frame.axis(unit_of(resolve(self.axis))))
