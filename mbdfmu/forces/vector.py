"""The force with components that a user writes."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from mbdfmu.counterparts import Library, force
from mbdfmu.description import In, MarkerRef, Point
from mbdfmu.forces.base import Ends, ForceBetween, force_keys, shown, wrench
from mbdfmu.frames import Load, Measure, Resolve


class VectorForce(ForceBetween, name="vector"):
    """Force on the origin of j, by its components in the axes of `frame` (T4.4)."""

    modelica = Library(name=force("Force"), settings=("resolveInFrame",), inputs={"force": "force"})
    parity: ClassVar = {2: {f"force.{k}": k for k in "xy"}}

    force: Annotated[Point, In("N")] = (0.0, 0.0)
    frame: MarkerRef | None = None  # whose axes count; none: those of i

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return force_keys(dimensions)

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j, frame = ends["i"], ends["j"], ends.get("frame", ends["i"])
        given = resolve(self.force)
        force = shown(force_keys(len(given)), given, "N", "on j, axes of the frame", resolve)
        return Load(shares=(wrench(i, j, frame.axis(force), (), resolve),), energy=given[0].graph.zero, beyond=given)
