"""The force and torque with components that a user writes."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from mbdfmu.counterparts import Library, force
from mbdfmu.description import Either, In, MarkerRef, Mirrored, Point, Spin
from mbdfmu.forces.base import Ends, ForceBetween, force_keys, shown, torque_keys, turned, turning, wrench
from mbdfmu.frames import Load, Measure, Resolve


class General(ForceBetween, name="general"):
    """Force on the origin of j and torque on j, by their components in the axes of `frame` (T4.4)."""

    modelica = Library(
        name=force("ForceAndTorque"),
        settings=("resolveInFrame",),
        inputs={"force": "force", "torque": "torque"},
    )
    parity: ClassVar = {2: {"force.x": "x", "force.y": "y", "torque": "odd"}}

    force: Annotated[Point, In("N")] = (0.0, 0.0)
    torque: Annotated[Spin, In("N.m"), Mirrored("axial"), Either("a number", "a list [x, y, z]")] = 0.0
    frame: MarkerRef | None = None  # whose axes count; none: those of i

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return *force_keys(dimensions), *torque_keys(dimensions)

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j, frame = ends["i"], ends["j"], ends.get("frame", ends["i"])
        given, twist = resolve(self.force), turning(self.torque, i, resolve)
        force = shown(force_keys(len(given)), given, "N", "on j, axes of the frame", resolve)
        torque = shown(torque_keys(len(given)), twist, "N.m", "on j, axes of the frame", resolve)
        share = wrench(i, j, frame.axis(force), turned(frame, torque), resolve)
        return Load(shares=(share,), energy=given[0].graph.zero, beyond=(*given, *twist))
