"""The bushing: springs and dampers in all directions at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Library, force
from mbdfmu.description import Coefficients, Either, In, Mirrored, Point, Spin, SpinCoefficients
from mbdfmu.expressions import Node, cos, sin
from mbdfmu.forces.base import Ends, ForceBetween, force_keys, geometry, shown, torque_keys, turned, turning, wrench
from mbdfmu.frames import Kernel, Load, Measure, Resolve, Share
from mbdfmu.orientation import rotation_vector
from mbdfmu.planar import Frame

_EITHER = Either("a number", "a list [x, y, z]")
_PLANE = {"displacement_x": "x", "displacement_y": "y", "force.x": "x", "force.y": "y", "angle": "odd", "torque": "odd"}
_SPACE = {f"displacement_{k}": k for k in "xyz"} | {f"rotation_{k}": f"-{k}" for k in "xyz"}


class Bushing(ForceBetween, name="bushing"):
    """Springs and dampers along and about the axes of i (T4.10), on the origin of j."""

    modelica = Library(
        name=force("ForceAndTorque"),
        settings=("resolveInFrame",),
        inputs={"force": "force", "torque": "torque"},
    )
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
        pushed, turned_by = self._along(i, j, measures, resolve), self._about(i, j, measures, resolve)
        given = resolve(self.force), turning(self.torque, i, resolve)
        total = _plus(pushed.effort, given[0]), _plus(turned_by.effort, given[1])
        force = shown(force_keys(len(total[0])), total[0], "N", "on j, axes of i", resolve)
        torque = shown(torque_keys(len(total[0])), total[1], "N.m", "on j, axes of i", resolve)
        energy = 0.5 * (pushed.stored + turned_by.stored)

        def share(force: Sequence[Node], torque: Sequence[Node]) -> Share:
            return wrench(i, j, i.axis(force), turned(i, torque), resolve)

        if (force, torque) != total:  # unknowns
            return Load(shares=(share(force, torque),), energy=energy, beyond=(*given[0], *given[1]))
        springs = Share(efforts=share(pushed.effort, turned_by.effort).efforts, kernel=self._kernel(i, j, resolve))
        return Load(shares=(springs, share(*given)), energy=energy, beyond=(*given[0], *given[1]))

    def _along(self, i: Any, j: Any, measures: Mapping[str, Measure], resolve: Resolve) -> _Held:
        gap = [m.value for key, m in measures.items() if key != "angle"]
        speed = i.components(geometry(i).relative_velocity(i, j, resolve))
        stretch = _minus(gap, resolve(self.free_displacement))
        return _Held.of(resolve(self.stiffness), stretch, resolve(self.damping), speed)

    def _about(self, i: Any, j: Any, measures: Mapping[str, Measure], resolve: Resolve) -> _Held:
        fields = self.torsional_stiffness, self.torsional_damping, self.free_rotation
        stiffness, damping, free = (turning(field, i, resolve) for field in fields)
        spin = geometry(i).relative_spin(i, j, resolve)
        if isinstance(i, Frame):
            return _Held.of(stiffness, _minus([measures["angle"].value], free), damping, spin)
        rotation = rotation_vector(spatial.relative_rotation(i, j))
        for k, angle in zip("xyz", rotation.vector, strict=True):
            resolve.show(f"rotation_{k}", angle, "rad", f"rotation vector of j in i, {k}")
        return _Held.of(stiffness, _minus(rotation.vector, free), damping, i.components(spin), rotation.conjugate)

    def _kernel(self, i: Any, j: Any, resolve: Resolve) -> Kernel:
        along = *resolve(self.stiffness), *resolve(self.damping), *resolve(self.free_displacement)
        turns = self.torsional_stiffness, self.torsional_damping, self.free_rotation
        about = [turning(field, i, resolve) for field in turns]
        if not isinstance(i, Frame):
            axes = (component for frame in (i, j) for axis in frame.A for component in axis)
            return Kernel(table="bushin3", constants=(*i.arm, *j.arm, *axes, *along, *about[0], *about[1], *about[2]))
        (stiffness,), (damping,), (free,) = about
        k1, k2, c1, c2, x, y = along
        values = k1, k2, stiffness, c1, c2, damping, x, y, free - (j.turn - i.turn)
        return Kernel(table="bushing", constants=(*i.arm, *j.arm, cos(i.turn), sin(i.turn), *values))


class _Held(NamedTuple):
    """What springs and dampers do to j, and twice the energy that is stored."""

    effort: tuple[Node, ...]
    stored: Node

    @classmethod
    def of(cls, stiffness: Any, stretch: Any, damping: Any, speed: Any, conjugate: Any = tuple) -> _Held:
        """`conjugate` makes a torque of moments on what is stretched."""
        moments = tuple(k * s for k, s in zip(stiffness, stretch, strict=True))
        pairs = zip(conjugate(moments), damping, speed, strict=True)
        stored = moments[0].graph.sum(m * s for m, s in zip(moments, stretch, strict=True))
        return cls(tuple(-(f + c * v) for f, c, v in pairs), stored)


def _plus(a: Any, b: Any) -> tuple[Node, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _minus(a: Any, b: Any) -> tuple[Node, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))
