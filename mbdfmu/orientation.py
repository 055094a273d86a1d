"""Orientations in symbolic form: quaternions and rotation matrices from whatever a file gives; must not know bodies.

A quaternion (e0, e1, e2, e3) and a matrix R describe the same turn: R takes vectors from the turned axes to those that
the turn is given in. Products compose: R(p q) = R(p) R(q).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.description import SEQUENCES, Orientation
from mbdfmu.expressions import Graph, Node, atan2, cos, less, less_equal, maximum, select, sin, sqrt
from mbdfmu.vectors import cross, dot, plus, scaled, transposed, turned, unit

Quaternion = tuple[Node, Node, Node, Node]
Resolve = Callable[[Any], Node]  # a number or expression of the description -> its node


def quaternion(orientation: Orientation | None, resolve: Resolve, graph: Graph) -> Quaternion:
    """The unit quaternion of an orientation; none is no turn."""
    if orientation is None:
        return graph.one, graph.zero, graph.zero, graph.zero
    return product(quaternion(orientation.within, resolve, graph), _own_quaternion(orientation, resolve, graph))


def _own_quaternion(orientation: Orientation, resolve: Resolve, graph: Graph) -> Quaternion:
    if orientation.quaternion is not None:
        return normalised(tuple(map(resolve, orientation.quaternion)))  # type: ignore[arg-type]
    if orientation.axis is not None:
        half = 0.5 * resolve(orientation.angle)
        x, y, z = (sin(half) * a for a in unit(tuple(map(resolve, orientation.axis))))  # type: ignore[arg-type]
        return cos(half), x, y, z
    if orientation.angles is not None and orientation.sequence is not None:
        first, second, third = (
            _about(axis, resolve(orientation.angles[k]), graph) for k, axis in SEQUENCES[orientation.sequence]
        )
        return product(product(first, second), third)
    if orientation.reverse is not None:
        e0, x, y, z = quaternion(orientation.reverse, resolve, graph)
        return e0, -x, -y, -z
    return of_matrix(_of_directions(orientation, resolve))


def matrix(orientation: Orientation | None, resolve: Resolve, graph: Graph) -> Matrix:
    """The rotation matrix of an orientation; none is no turn."""
    if orientation is None:
        return rotation(quaternion(None, resolve, graph))
    own = rotation(_own_quaternion(orientation, resolve, graph))
    if orientation.x is not None:  # needs no choice of candidates
        own = _of_directions(orientation, resolve)
    return own if orientation.within is None else composed(matrix(orientation.within, resolve, graph), own)


def _of_directions(orientation: Orientation, resolve: Resolve) -> Matrix:
    x = unit(tuple(map(resolve, orientation.x or ())))  # type: ignore[arg-type]
    z = unit(cross(x, tuple(map(resolve, orientation.y or ()))))  # type: ignore[arg-type]
    return transposed((x, cross(z, x), z))


def _about(axis: int, angle: Node, graph: Graph) -> Quaternion:
    """The turn about x, y or z."""
    e = [graph.zero, graph.zero, graph.zero]
    e[axis] = sin(0.5 * angle)
    return cos(0.5 * angle), e[0], e[1], e[2]


def rotation(q: Quaternion) -> Matrix:
    """The matrix of a unit quaternion."""
    e0, e1, e2, e3 = q
    return (
        (1 - 2 * (e2 * e2 + e3 * e3), 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)),
        (2 * (e1 * e2 + e0 * e3), 1 - 2 * (e1 * e1 + e3 * e3), 2 * (e2 * e3 - e0 * e1)),
        (2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), 1 - 2 * (e1 * e1 + e2 * e2)),
    )


def of_matrix(r: Matrix) -> Quaternion:
    """The unit quaternion of a rotation matrix, for every turn.

    Each candidate is 4 e_k times the quaternion, so that its own component is 4 e_k^2. These add up to 4, hence one of
    them is at least 1, and that candidate is far from zero.
    """
    (a, b, c), (d, e, f), (g, h, i) = r
    candidates = (
        (1 + a + e + i, h - f, c - g, d - b),
        (h - f, 1 + a - e - i, d + b, g + c),
        (c - g, d + b, 1 - a + e - i, h + f),
        (d - b, g + c, h + f, 1 - a - e + i),
    )
    chosen = candidates[3]
    for k in (2, 1, 0):
        chosen = tuple(  # type: ignore[assignment]
            select(less(candidates[k][k], 1.0), other, own) for own, other in zip(candidates[k], chosen, strict=True)
        )
    return normalised(chosen)


def roll_pitch_yaw(r: Matrix) -> Vector:
    """The angles of the sequence "rpy", pitch between -90 and 90 degrees."""
    return atan2(r[2][1], r[2][2]), atan2(-r[2][0], sqrt(r[0][0] ** 2 + r[1][0] ** 2)), atan2(r[1][0], r[0][0])


def product(p: Quaternion, q: Quaternion) -> Quaternion:
    """First the turn q, then p, both seen from outside."""
    a, b, c, d = p
    e, f, g, h = q
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


def normalised(q: Quaternion) -> Quaternion:
    """The quaternion with length 1."""
    e0, e1, e2, e3 = q
    length = sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    return e0 / length, e1 / length, e2 / length, e3 / length


def composed(a: Matrix, b: Matrix) -> Matrix:
    """A B: first the turn B, then A, both seen from outside."""
    columns = transposed(b)
    return transposed((turned(a, columns[0]), turned(a, columns[1]), turned(a, columns[2])))


# ---------------------------------------------------------------- rotation vectors

_NEARLY_STILL = 0.01  # sin^2 of half the angle, below which series replace quotients that become 0/0
_WIDE = 0.75  # the same at 120 degrees, above which the axis comes from the symmetric part
_TERMS = 9  # of that series: the tenth is below 1e-18


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """A turn by less than half a turn as a vector along its axis, as long as its angle (rad)."""

    vector: Vector
    bend: Node  # g of (T4.12)

    def conjugate(self, moment: Vector) -> Vector:
        """The torque that works on angular velocities as `moment` does on the rates of the vector (T4.12)."""
        across = cross(self.vector, moment)
        return plus(moment, plus(scaled(0.5, across), scaled(self.bend, cross(self.vector, across))))


def rotation_vector(r: Matrix) -> Rotation:
    """The rotation vector of a matrix, smooth at no turn; at half a turn one of its two (T4.11)."""
    (_, b, c), (d, _, f), (g, h, _) = r
    trace = r[0][0] + r[1][1] + r[2][2]
    sines = 0.5 * (h - f), 0.5 * (c - g), 0.5 * (d - b)  # sin(angle) axis
    half = 0.25 * (3.0 - trace)  # sin^2(angle/2)
    cosine = 0.5 * (trace - 1.0)
    growth = growth_of_ratio(half, sqrt(dot(sines, sines)), cosine)
    ratio = 1.0 + half * growth  # angle/sin(angle)
    rest = 1.0 - half
    wide, far = less(_WIDE, half), _far(r, sines, cosine, half)
    vector = tuple(select(wide, a, ratio * b) for a, b in zip(far.vector, sines, strict=True))
    bend = select(wide, far.bend, (1.0 - rest * growth) / (4.0 * rest * ratio * ratio))
    return Rotation(vector=vector, bend=bend)  # type: ignore[arg-type]


def _far(r: Matrix, sines: Vector, cosine: Node, half: Node) -> Rotation:
    """The same where the sine is small: the axis is that of the longest column of (R + R^T)/2 - cos(angle)."""
    (a, b, c), (d, e, f), (g, h, i) = r
    xy, xz, yz = 0.5 * (b + d), 0.5 * (c + g), 0.5 * (f + h)
    columns = (a - cosine, xy, xz), (xy, e - cosine, yz), (xz, yz, i - cosine)
    x_first, y_first = less_equal(maximum(e, i), a), less_equal(i, e)
    longest = tuple(select(x_first, x, select(y_first, y, z)) for x, y, z in zip(*columns, strict=True))
    sense = select(less(dot(longest, sines), 0.0), -1.0, 1.0)
    axis = scaled(sense / sqrt(dot(longest, longest)), longest)  # type: ignore[arg-type]
    sine = dot(axis, sines)
    angle = atan2(sine, cosine)
    return Rotation(vector=scaled(angle, axis), bend=(1.0 - 0.25 * angle * sine / half) / (angle * angle))


def growth_of_ratio(half: Node, sine: Node, cosine: Node) -> Node:
    """h of angle/sin(angle) = 1 + s h, s = sin^2(angle/2), smooth at no angle (T4.11)."""
    series = half.graph.const(_COEFFICIENTS[-1])
    for coefficient in _COEFFICIENTS[-2::-1]:
        series = series * half + coefficient
    return select(less(half, _NEARLY_STILL), series, (atan2(sine, cosine) / sine - 1.0) / half)


def _series() -> list[float]:
    """Of (angle/sin(angle) - 1)/s by powers of s = sin^2(angle/2): 2/3, 2/3 4/5, 2/3 4/5 6/7, ..."""
    found = [2 / 3]
    while len(found) < _TERMS:
        n = len(found) + 1
        found.append(found[-1] * 2 * n / (2 * n + 1))
    return found


_COEFFICIENTS = tuple(_series())
