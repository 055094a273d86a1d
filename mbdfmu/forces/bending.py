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
from mbdfmu.orientation import growth_of_ratio
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
    """Stretch, twist, and the rotation vectors from the frames to the chord, about two axes in the middle of the twist.

    The rows of `section` are its axes x, y, z in both frames.
    """
    gap, speed = spatial.gap(i, j), minus(spatial.velocity(j, resolve), spatial.velocity(i, resolve))
    spins = spatial.spin(i, resolve), spatial.spin(j, resolve)
    chord = _Chord.of(gap)
    around = tuple(_to_chord(end.axis(section[0]), chord.direction) for end in (i, j))
    twist = _twist(chord, *(_carried(end.axis(section[1]), chord, e) for end, e in zip((i, j), around, strict=True)))
    by_speed = scaled(1.0 / chord.size, cross(minus(around[0], around[1]), chord.direction))
    twisting = dot(around[1], spins[1]) - dot(around[0], spins[0]) + dot(by_speed, speed)
    c, s = cos(0.5 * twist), sin(0.5 * twist)
    first = _End.of(i, section, chord, minus(speed, cross(spins[0], gap)), (c, s))
    second = _End.of(j, section, chord, minus(speed, cross(spins[1], gap)), (c, -s))
    slopes = (first.slopes, second.slopes)
    rates = (first.rates(0.5 * twisting), second.rates(-0.5 * twisting))

    def efforts(held: Keyed) -> tuple[Effort, ...]:
        moments = [(held[f"moment_{end}.y"], held[f"moment_{end}.z"]) for end in "ij"]
        at_i, at_j = first.force(moments[0]), second.force(moments[1])
        torsion = held["torsion"] + 0.5 * (first.turning(moments[0]) - second.turning(moments[1]))
        pull = plus(scaled(held["axial"], chord.direction), scaled(torsion, by_speed))
        loads = (
            (speed, scaled(-1.0, plus(pull, plus(at_i, at_j)))),
            (spins[0], plus(cross(gap, at_i), scaled(torsion, around[0]))),
            (spins[1], minus(cross(gap, at_j), scaled(torsion, around[1]))),
        )
        return tuple(Effort(rate=r, effort=f) for motion, load in loads for r, f in zip(motion, load, strict=True))

    return Deformation(
        values={"axial": chord.size - length, "torsion": twist} | _named(slopes),
        rates={"axial": dot(chord.direction, speed), "torsion": twisting} | _named(rates),
        efforts=efforts,
    )


def _named(pairs: tuple[tuple[Node, Node], tuple[Node, Node]]) -> dict[str, Node]:
    return {f"moment_{end}.{k}": pair["yz".index(k)] for k in "yz" for end, pair in zip("ij", pairs, strict=True)}


@dataclass(frozen=True, kw_only=True)
class _Chord:
    """From end to end, in ground axes."""

    size: Node
    direction: Vector

    @classmethod
    def of(cls, gap: Vector) -> _Chord:
        size = sqrt(dot(gap, gap))
        return cls(size=size, direction=scaled(1.0 / size, gap))

    def across(self, steep: Vector, direction: Vector) -> Vector:
        """The derivatives by the chord of what has these by its direction, both in the axes of any frame."""
        return scaled(1.0 / self.size, minus(steep, scaled(dot(steep, direction), direction)))


def _to_chord(axis: Vector, direction: Vector) -> Vector:
    """e of (T4.13): what a frame turns about the chord is its angular velocity, less that of the chord, along e."""
    return scaled(1.0 / (1.0 + dot(axis, direction)), plus(axis, direction))


def _carried(side: Vector, chord: _Chord, around: Vector) -> Vector:
    """An axis across the beam, turned with the beam's axis into the chord by the shortest way."""
    return minus(side, scaled(dot(chord.direction, side), around))


def _twist(chord: _Chord, first: Vector, second: Vector) -> Node:
    """Angle from one carried axis to the other about the chord."""
    return atan2(dot(chord.direction, cross(first, second)), dot(first, second))


@dataclass(frozen=True, kw_only=True)
class _End:
    """One end: the slopes of its frame to the chord, and how they change with the chord as the frame sees it.

    They are the rotation vector of the shortest turn from the beam's axis to the chord.
    """

    frame: SpatialFrame
    section: Matrix
    turn: tuple[Node, Node]  # cosine and sine of what is left to the middle of the twist
    slopes: tuple[Node, Node]  # about y and z, there
    own_rates: tuple[Node, Node]  # of the slopes about the frame's own axes
    by_chord: tuple[Vector, Vector]  # derivatives of those slopes

    @classmethod
    def of(cls, frame: SpatialFrame, section: Matrix, chord: _Chord, changing: Vector, turn: tuple[Node, Node]) -> _End:
        """`changing` is the rate of the chord in the frame, in ground axes as the chord is."""
        (x, y, z), moved = (turned(section, frame.components(v)) for v in (chord.direction, changing))
        half, zero = 0.5 * (1.0 - x), x.graph.zero
        growth = growth_of_ratio(half, sqrt(y * y + z * z), x)
        f = 1.0 + half * growth
        by_x = (growth * (1.0 - 2.0 * half) - 2.0) / (4.0 * (1.0 - half))  # df/dx
        by_chord = chord.across((by_x * z, zero, f), (x, y, z)), chord.across((-by_x * y, -f, zero), (x, y, z))
        (c, s), (own_y, own_z) = turn, (f * z, -f * y)
        rates = dot(by_chord[0], moved), dot(by_chord[1], moved)
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
