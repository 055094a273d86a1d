"""The elastic beam without mass: Timoshenko's element in a frame that follows its chord."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from mbdfmu.coordinates import Matrix
from mbdfmu.counterparts import Equations
from mbdfmu.description import (
    Bound,
    Direction,
    Either,
    In,
    NonNegative,
    Only,
    Positive,
    Several,
    SpinCoefficients,
    parallel,
)
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.forces.base import Ends, ForceBetween
from mbdfmu.forces.bending import Deformation, Keyed, in_plane, in_space
from mbdfmu.frames import Load, Measure, Resolve, Share
from mbdfmu.planar import Frame, unit_vector
from mbdfmu.vectors import across, cross, unit

Row = dict[str, Node]  # of a matrix, by the names of the columns
_PLANE = {"axial": "even", "moment_i": "odd", "moment_j": "odd"}
_BENT = ("moment_i.y", "moment_j.y", "moment_i.z", "moment_j.z")
_SPACE = {"axial": "even", "torsion": "odd"} | {key: "odd" if key.endswith("y") else "even" for key in _BENT}


class Beam(ForceBetween, name="beam"):
    """Elastic beam from i to j along an axis that both frames have, with shear (T4.13 to T4.15)."""

    modelica = Equations()
    parity: ClassVar = {2: _PLANE, 3: _SPACE}

    length: Annotated[Positive, In("m")]
    elastic_modulus: Annotated[Positive, In("Pa")]
    shear_modulus: Annotated[Positive | None, In("Pa")] = None  # in space, and where there is a shear factor
    area: Annotated[Positive, In("m2")]
    # about z; in space the torsion constant, and about y and z
    second_moment: Annotated[SpinCoefficients, In("m4"), Either("a number Iz", "a list [J, Iy, Iz]")]
    # area that carries shear/area; none: no shear deformation
    shear_factor: Annotated[Several | None, Bound("positive", 0, positive=True), In("1")] = None
    damping: Annotated[NonNegative, In("s")] = 0.0  # over stiffness
    axis: Annotated[Direction, In("1")] = (1.0, 0.0, 0.0)  # of the beam from i to j, the same in both frames
    side: Annotated[Direction, In("1"), Only(3, "leave it out")] = (0.0, 1.0, 0.0)  # of its axis y, in both frames

    @model_validator(mode="after")
    def _moduli(self) -> Self:
        factors = self.shear_factor if isinstance(self.shear_factor, tuple) else (self.shear_factor,)
        if len(factors) > 2 or any(isinstance(factor, float) and factor <= 0 for factor in factors):
            raise ModelError("shear_factor must be a positive number, or in space two, along y and along z")
        if self.shear_modulus is None and (self.shear_factor is not None or isinstance(self.second_moment, tuple)):
            raise ModelError("needs a shear_modulus: for torsion in space, and for shear")
        if parallel(self.axis, self.side):
            raise ModelError(f"side must not be parallel to axis, found {list(self.side)} and {list(self.axis)}")
        return self

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        if dimensions == 2:
            return "axial", "moment_i", "moment_j"
        return "axial", "torsion", *_BENT

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        bent, stiffness = self._deformation(ends["i"], ends["j"], resolve), self._stiffness(ends["i"], resolve)
        damping = resolve(self.damping)
        strained = {key: value + damping * bent.rates[key] for key, value in bent.values.items()}
        held = {key: _against(row, strained) for key, row in stiffness.items()}
        for key, value in held.items():
            unit, text = ("N", "tension") if key == "axial" else ("N.m", _TEXTS.get(key, "of the body on the beam"))
            held[key] = resolve.force(key, value, unit, text)
        stored = (bent.values[key] * _against(row, bent.values) for key, row in stiffness.items())
        return Load(shares=(Share(efforts=bent.efforts(held)),), energy=0.5 * damping.graph.sum(stored))

    def _deformation(self, i: Any, j: Any, resolve: Resolve) -> Deformation:
        length = resolve(self.length)
        if isinstance(i, Frame):
            return in_plane(i, j, unit_vector(resolve(self.axis)), length, resolve)
        return in_space(i, j, self._section(resolve), length, resolve)

    def _stiffness(self, i: Any, resolve: Resolve) -> dict[str, Row]:
        """The rows of the stiffness matrix (T4.14)."""
        length = resolve(self.length)
        rows = {"axial": {"axial": resolve(self.elastic_modulus) * resolve(self.area) / length}}
        if isinstance(i, Frame):
            return rows | self._bending("", resolve(self.second_moment), self._shear_factors(1)[0], resolve)
        torsion, *moments = resolve(self.second_moment)
        rows["torsion"] = {"torsion": resolve(self.shear_modulus) * torsion / length}
        factors = reversed(self._shear_factors(2))  # bending about y goes with shear along z
        for k, moment, factor in zip((".y", ".z"), moments, factors, strict=True):
            rows |= self._bending(k, moment, factor, resolve)
        return rows

    def _section(self, resolve: Resolve) -> Matrix:
        """Axes x along the beam, y and z of its section, in both frames."""
        x = unit(resolve(self.axis))
        y = across(x, resolve(self.side))
        return x, y, cross(x, y)

    def _bending(self, about: str, moment: Node, factor: Any, resolve: Resolve) -> dict[str, Row]:
        """Moments at both ends by the slopes of both ends."""
        length, bending, shear = resolve(self.length), resolve(self.elastic_modulus) * moment, moment.graph.zero
        if factor is not None:
            carried = resolve(factor) * resolve(self.shear_modulus) * resolve(self.area)
            shear = 12.0 * bending / (carried * length * length)
        base = bending / (length * (1.0 + shear))
        own, other = (4.0 + shear) * base, (2.0 - shear) * base
        i, j = f"moment_i{about}", f"moment_j{about}"
        return {i: {i: own, j: other}, j: {i: other, j: own}}

    def _shear_factors(self, count: int) -> tuple[Any, ...]:
        """One for every direction across the beam."""
        factor = self.shear_factor
        if isinstance(factor, tuple):
            if len(factor) != count:
                raise ModelError("shear_factor must be a number in a planar model")
            return factor
        return (factor,) * count


_TEXTS = {"torsion": "twists j on"}


def _against(row: Row, values: Keyed) -> Node:
    """A row of the stiffness times values."""
    (first, *_) = values.values()
    return first.graph.sum(k * values[key] for key, k in row.items())
