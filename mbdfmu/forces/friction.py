"""Dry friction between two bodies under a given load, as of a block on a belt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from mbdfmu import spatial
from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Only, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import maximum
from mbdfmu.forces.base import Ends, ForceBetween, along
from mbdfmu.forces.sliding import Bristled, signed, size
from mbdfmu.frames import Effort, Load, Measure, Resolve, Share
from mbdfmu.vectors import length, normals, unit

X = (1.0, 0.0, 0.0)


class Friction(Bristled, ForceBetween, name="friction"):
    """Dry friction at the origin of j under a given load, along a line or on a plane of i (T4.20 to T4.22)."""

    modelica = Equations()
    parity: ClassVar = {d: {"load": "even", "friction": "even", "slip": "even"} for d in (2, 3)}

    normal_force: Annotated[Value, In("N")]  # presses the surfaces together; what is negative counts as zero
    axis: Annotated[Direction, In("1")] = X  # of the line, in frame i
    plane: Annotated[Direction | None, In("1"), Only(3, "leave it out")] = None  # its normal, in place of the line
    surface_speed: Annotated[Value, In("m/s")] = 0.0  # of a belt that runs on i, along the line

    @model_validator(mode="after")
    def _line_or_plane(self) -> Self:
        if self.plane is not None and self.surface_speed != 0.0:
            raise ModelError("surface_speed belongs to a line; leave it out, or the plane")
        return self

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return "load", "friction", "slip"

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        slip = tuple(resolve.rate(way.value) for way in self._ways(ends["i"], ends["j"], resolve))
        if self.surface_speed:
            slip = (slip[0] - resolve(self.surface_speed),)
        load = maximum(resolve(self.normal_force), 0.0)
        forces = self.friction(slip, load, resolve)
        resolve.show("load", load, "N", "presses the surfaces together")
        if len(forces) == 1:
            forces = (resolve.force("friction", forces[0], "N", "on j, along the axis of i"),)
        else:
            resolve.show("friction", length(forces), "N", signed("against the sliding of j", forces))
        resolve.show("slip", size(slip), "m/s", signed("sliding speed of j on the surface of i", slip))
        efforts = tuple(Effort(rate=rate, effort=force) for rate, force in zip(slip, forces, strict=True))
        return Load(shares=(Share(efforts=efforts),), energy=load.graph.zero)

    def _ways(self, i: Any, j: Any, resolve: Resolve) -> tuple[Measure, ...]:
        """The coordinates of j along which it slides on i."""
        if self.plane is None:
            return (along(i, j, self.axis, resolve),)
        return tuple(spatial.displacement(i, j, way) for way in normals(unit(resolve(self.plane))))
