"""The bushing: springs and dampers in all directions at once."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from mbdfmu import planar, spatial
from mbdfmu.description import Coefficients, Either, In, Mirrored, Point, Spin, SpinCoefficients
from mbdfmu.expressions import Node
from mbdfmu.forces.base import Ends, ForceBetween, force_keys, geometry, shown, torque_keys, turned, turning, wrench
from mbdfmu.frames import Load, Measure, Resolve
from mbdfmu.orientation import rotation_vector
from mbdfmu.planar import Frame

_EITHER = Either("a number", "a list [x, y, z]")
_PLANE = {"displacement_x": "x", "displacement_y": "y", "force.x": "x", "force.y": "y", "angle": "odd", "torque": "odd"}
_SPACE = {f"displacement_{k}": k for k in "xyz"} | {f"rotation_{k}": f"-{k}" for k in "xyz"}


class Bushing(ForceBetween, name="bushing"):
    """Springs and dampers along and about the axes of i (T4.10), on the origin of j."""

    modelica = "Modelica.Mechanics.MultiBody.Forces.SpringDamperParallel"
    parity: ClassVar = {2: _PLANE, 3: _SPACE}

    stiffness: Annotated[Coefficients, In("N/m"), Mirrored("even")] = (0.0, 0.0)
    damping: Annotated[Coefficients, In("N.s/m"), Mirrored("even")] = (0.0, 0.0)
    free_displacement: Annotated[Point, In("m")] = (0.0, 0.0)
    force: Annotated[Point, In("N")] = (0.0, 0.0)  # in addition: preload or actuator
    torsional_stiffness: Annotated[SpinCoefficients, In("N.m/rad"), _EITHER] = 0.0
    torsional_damping: Annotated[SpinCoefficients, In("N.m.s/rad"), _EITHER] = 0.0
    free_rotation: Annotated[Spin, In("rad"), Mirrored("axial"), _EITHER] = 0.0
    torque: Annotated[Spin, In("N.m"), Mirrored("axial"), _EITHER] = 0.0  # in addition

    def measures(self, ends: Ends, resolve: Resolve) -> Mapping[str, Measure]:
        i, j = ends["i"], ends["j"]
        gaps = zip("xyz", i.components(geometry(i).gap(i, j)), strict=False)
        found = {f"displacement_{k}": Measure(value=v, unit="m", text=f"of j along {k} of i") for k, v in gaps}
        if isinstance(i, Frame):
            return {**found, "angle": planar.relative_angle(i, j)}
        return found

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        turns = () if dimensions == 2 else tuple(f"rotation_{k}" for k in "xyz")
        return *turns, *force_keys(dimensions), *torque_keys(dimensions)

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        i, j = ends["i"], ends["j"]
        how, dimensions = geometry(i), len(i.origin)
        gap = [m.value for key, m in measures.items() if key != "angle"]
        speed = i.components(how.relative_velocity(i, j, resolve))
        stretch = _minus(gap, resolve(self.free_displacement))
        stiffness, damping = resolve(self.stiffness), resolve(self.damping)
        spring, force = _linear(stiffness, stretch, damping, speed)
        force = tuple(f + given for f, given in zip(force, resolve(self.force), strict=True))
        stored, torque = self._twist(i, j, measures, resolve)
        force = shown(force_keys(dimensions), force, "N", "on j, axes of i", resolve)
        torque = shown(torque_keys(dimensions), torque, "N.m", "on j, axes of i", resolve)
        share = wrench(i, j, i.axis(force), turned(i, torque), resolve)
        return Load(shares=(share,), energy=0.5 * (_product(spring, stretch) + stored))

    def _twist(
        self, i: Any, j: Any, measures: Mapping[str, Measure], resolve: Resolve
    ) -> tuple[Node, tuple[Node, ...]]:
        """Twice the energy stored, and the torque on j in axes of i."""
        fields = (self.torsional_stiffness, self.torsional_damping, self.free_rotation, self.torque)
        stiffness, damping, free, given = (turning(field, i, resolve) for field in fields)
        spin = geometry(i).relative_spin(i, j, resolve)
        if isinstance(i, Frame):
            twist = _minus([measures["angle"].value], free)
            moment, torque = _linear(stiffness, twist, damping, spin)
            return _product(moment, twist), (torque[0] + given[0],)
        rotation = rotation_vector(spatial.relative_rotation(i, j))
        for k, angle in zip("xyz", rotation.vector, strict=True):
            resolve.show(f"rotation_{k}", angle, "rad", f"rotation vector of j in i, {k}")
        twist = _minus(rotation.vector, free)
        moment = tuple(k * angle for k, angle in zip(stiffness, twist, strict=True))
        spin = i.components(spin)
        parts = zip(given, rotation.conjugate(moment), damping, spin, strict=True)  # type: ignore[arg-type]
        return _product(moment, twist), tuple(m - spring - c * w for m, spring, c, w in parts)


def _minus(a: Any, b: Any) -> tuple[Node, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _product(a: Any, b: Any) -> Node:
    total: Node = a[0].graph.sum(x * y for x, y in zip(a, b, strict=True))
    return total


def _linear(stiffness: Any, stretch: Any, damping: Any, speed: Any) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """What springs hold against, and the whole force on j."""
    held = tuple(k * s for k, s in zip(stiffness, stretch, strict=True))
    return held, tuple(-(f + c * v) for f, c, v in zip(held, damping, speed, strict=True))
