"""The resistance of a medium that flows past a body."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from mbdfmu.counterparts import Library, force
from mbdfmu.description import In, NonNegative, Point
from mbdfmu.forces.base import Ends, ForceBetween, force_keys, geometry, shown, wrench
from mbdfmu.frames import Load, Measure, Resolve
from mbdfmu.vectors import length


class Drag(ForceBetween, name="drag"):
    """Drag on the origin of j, -1/2 rho cd A |v| v, relative to a medium that i carries, and to wind in it (T4.7)."""

    modelica = Library(name=force("Force"), settings=("resolveInFrame",), inputs={"force": "force"})
    parity: ClassVar = {2: {"force.x": "x", "force.y": "y", "speed": "even"}, 3: {"speed": "even"}}

    area: Annotated[NonNegative, In("m2")]
    coefficient: Annotated[NonNegative, In("1")]
    density: Annotated[NonNegative, In("kg/m3")] = 1.225  # air at sea level
    wind: Annotated[Point, In("m/s")] = (0.0, 0.0)  # of the medium, axes of i

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return *force_keys(dimensions), "speed"

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j = ends["i"], ends["j"]
        seen = i.components(geometry(i).relative_velocity(i, j, resolve))
        flow = tuple(v - w for v, w in zip(seen, resolve(self.wind), strict=True))
        speed = length(flow)
        resolve.show("speed", speed, "m/s", "of j in the medium")
        factor = -0.5 * resolve(self.density) * resolve(self.coefficient) * resolve(self.area) * speed
        force = [factor * v for v in flow]
        force = list(shown(force_keys(len(force)), force, "N", "on j, axes of i", resolve))
        return Load(shares=(wrench(i, j, i.axis(force), (), resolve),), energy=speed.graph.zero)
