"""Algebra of vectors of three nodes; must not know what they stand for."""

from __future__ import annotations

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.expressions import Node, absolute, less_equal, maximum, select, sqrt


def dot(a: Vector, b: Vector) -> Node:
    """a . b"""
    zero = total = a[0].graph.zero
    for x, y in zip(a, b, strict=True):
        if x is not zero and y is not zero:  # most vectors lie along an axis: what is zero is not even looked up
            total = x * y if total is zero else total + x * y
    return total


def cross(a: Vector, b: Vector) -> Vector:
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def plus(a: Vector, b: Vector) -> Vector:
    """a + b"""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Vector, b: Vector) -> Vector:
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scaled(factor: Node | float, a: Vector) -> Vector:
    """factor a"""
    return a[0] * factor, a[1] * factor, a[2] * factor


def turned(r: Matrix, a: Vector) -> Vector:
    """R a"""
    return dot(r[0], a), dot(r[1], a), dot(r[2], a)


def transposed(r: Matrix) -> Matrix:
    """The columns of R as rows."""
    (a, b, c), (d, e, f), (g, h, i) = r
    return (a, d, g), (b, e, h), (c, f, i)


def unit(a: Vector) -> Vector:
    """The direction with length 1."""
    length = sqrt(dot(a, a))
    return a[0] / length, a[1] / length, a[2] / length


def across(a: Vector, b: Vector) -> Vector:
    """The unit vector nearest to `b` that is perpendicular to the unit vector `a`."""
    return unit(minus(b, scaled(dot(a, b), a)))


def normals(a: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors that make a right-handed system with a unit vector `a`: for x they are y, z; for y: z, x.

    The first starts from the axis that follows the largest component of `a`, so that the two are never nearly parallel.
    """
    x, y, z = (absolute(component) for component in a)
    mostly_z, mostly_x = less_equal(maximum(x, y), z), less_equal(y, x)
    next_is_y, next_is_z = select(mostly_x, 1.0, 0.0), select(mostly_x, 0.0, 1.0)
    start = select(mostly_z, 1.0, 0.0), select(mostly_z, 0.0, next_is_y), select(mostly_z, 0.0, next_is_z)
    first = across(a, start)
    return first, cross(a, first)
