"""How a straight beam between two frames is deformed, and what loads do against that; must not know any stiffness.

The deformations are those that rigid motions leave alone (T4.13). In space forces and rates are written by hand:
differentiation would give the same in ten times as many operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mbdfmu import planar, spatial
from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.expressions import Node, atan2, cos, sin, sqrt
from mbdfmu.frames import Effort, Resolve, distance
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import cross, dot, minus, plus, scaled, transposed, turned

Keyed = Mapping[str, Node]  # by the names of the loads that work on the deformations


@dataclass(frozen=True, kw_only=True)
class Deformation:
    """Deformations with their rates, and the efforts of loads that hold against them."""

    values: Keyed
    rates: Keyed
    efforts: Callable[[Keyed], tuple[Effort, ...]]


def in_plane(i: Frame, j: Frame, axis: tuple[Node, Node], length: Node, resolve: Resolve) -> Deformation:
    """Stretch, and the angles of both frames to the chord."""
    (a, b), chord = axis, planar.gap(i, j)
    values = {"axial": distance(i, j).value - length}
    for key, end in (("moment_i", i), ("moment_j", j)):
        x, y = end.components(chord)
        values[key] = -atan2(a * y - b * x, a * x + b * y)
    rates = {key: resolve.rate(value) for key, value in values.items()}

    def efforts(held: Keyed) -> tuple[Effort, ...]:
        return tuple(Effort(rate=rates[key], effort=-load) for key, load in held.items())

    return Deformation(values=values, rates=rates, efforts=efforts)


def in_space(i: SpatialFrame, j: SpatialFrame, section: Matrix, length: Node, resolve: Resolve) -> Deformation:
    """Stretch, twist, and the angles of both frames to the chord about two axes in the middle of the twist.

    The rows of `section` are its axes x, y, z in both frames.
    """
    chord, speed = spatial.gap(i, j), minus(spatial.velocity(j, resolve), spatial.velocity(i, resolve))
    spins = spatial.spin(i, resolve), spatial.spin(j, resolve)
    size, twist = sqrt(dot(chord, chord)), _twist(i, j, section)
    axis = _twisted(i.axis(section[0]), j.axis(section[0]))
    twisting = dot(axis, minus(spins[1], spins[0]))
    c, s = cos(0.5 * twist), sin(0.5 * twist)
    first = _End.of(i, section, chord, minus(speed, cross(spins[0], chord)), (c, s))
    second = _End.of(j, section, chord, minus(speed, cross(spins[1], chord)), (c, -s))
    slopes = (first.slopes, second.slopes)
    rates = (first.rates(0.5 * twisting), second.rates(-0.5 * twisting))
    direction = scaled(1.0 / size, chord)

    def efforts(held: Keyed) -> tuple[Effort, ...]:
        moments = [(held[f"moment_{end}.y"], held[f"moment_{end}.z"]) for end in "ij"]
        at_i, at_j = first.force(moments[0]), second.force(moments[1])
        torsion = held["torsion"] + 0.5 * (first.turning(moments[0]) - second.turning(moments[1]))
        around, pull = scaled(torsion, axis), scaled(held["axial"], direction)
        loads = (
            (speed, scaled(-1.0, plus(pull, plus(at_i, at_j)))),
            (spins[0], plus(cross(chord, at_i), around)),
            (spins[1], minus(cross(chord, at_j), around)),
        )
        return tuple(Effort(rate=r, effort=f) for motion, load in loads for r, f in zip(motion, load, strict=True))

    return Deformation(
        values={"axial": size - length, "torsion": twist} | _named(slopes),
        rates={"axial": dot(direction, speed), "torsion": twisting} | _named(rates),
        efforts=efforts,
    )


def _named(pairs: tuple[tuple[Node, Node], tuple[Node, Node]]) -> dict[str, Node]:
    return {f"moment_{end}.{k}": pair["yz".index(k)] for k in "yz" for end, pair in zip("ij", pairs, strict=True)}


def _twist(i: SpatialFrame, j: SpatialFrame, section: Matrix) -> Node:
    """Angle by which j turns about the beam's axis more than i, however both are inclined."""
    (y, z), (u, v) = ((end.axis(section[1]), end.axis(section[2])) for end in (i, j))
    return atan2(dot(z, u) - dot(y, v), dot(y, u) + dot(z, v))


def _twisted(a: Vector, b: Vector) -> Vector:
    """(a + b)/(1 + a . b): the rate of the twist is the relative angular velocity along it."""
    return scaled(1.0 / (1.0 + dot(a, b)), plus(a, b))


@dataclass(frozen=True, kw_only=True)
class _End:
    """One end: the slopes of its frame to the chord, and how they change with the chord as the frame sees it."""

    frame: SpatialFrame
    section: Matrix
    turn: tuple[Node, Node]  # cosine and sine of what is left to the middle of the twist
    slopes: tuple[Node, Node]  # about y and z, there
    own_rates: tuple[Node, Node]  # of the slopes about the frame's own axes
    by_chord: tuple[Vector, Vector]  # derivatives of those slopes

    @classmethod
    def of(cls, frame: SpatialFrame, section: Matrix, chord: Vector, changing: Vector, turn: tuple[Node, Node]) -> _End:
        """`changing` is the rate of the chord in the frame, in ground axes as the chord is."""
        (x, y, z), moved = (turned(section, frame.components(v)) for v in (chord, changing))
        across_y, across_z, zero = x * x + z * z, x * x + y * y, x.graph.zero
        own_y, own_z = atan2(z, x), -atan2(y, x)
        by_chord = (-z / across_y, zero, x / across_y), (y / across_z, -x / across_z, zero)
        (c, s), rates = turn, (dot(by_chord[0], moved), dot(by_chord[1], moved))
        slopes = c * own_y + s * own_z, c * own_z - s * own_y
        return cls(frame=frame, section=section, turn=turn, slopes=slopes, own_rates=rates, by_chord=by_chord)

    def rates(self, twisting: Node) -> tuple[Node, Node]:
        """Of the slopes, with that of the angle to the middle."""
        (c, s), (own_y, own_z), (about_y, about_z) = self.turn, self.own_rates, self.slopes
        return c * own_y + s * own_z + twisting * about_z, c * own_z - s * own_y - twisting * about_y

    def force(self, moments: tuple[Node, Node]) -> Vector:
        """What moments on the slopes do to the chord, in ground axes."""
        (c, s), (about_y, about_z) = self.turn, moments
        own_y, own_z = c * about_y - s * about_z, s * about_y + c * about_z
        seen = plus(scaled(own_y, self.by_chord[0]), scaled(own_z, self.by_chord[1]))
        return self.frame.axis(turned(transposed(self.section), seen))

    def turning(self, moments: tuple[Node, Node]) -> Node:
        """What moments on the slopes do to the angle to the middle."""
        return moments[0] * self.slopes[1] - moments[1] * self.slopes[0]
