"""Algebra of vectors of nodes; must not know what they stand for."""

from __future__ import annotations

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.expressions import Node, absolute, less, less_equal, maximum, select, sqrt

Components = tuple[Node, ...]  # as many as the model has dimensions
_NO_LENGTH = 1e-12  # below it a vector has no direction

# ---------------------------------------------------------------- of any number of nodes


def dot(a: Components, b: Components) -> Node:
    """a . b"""
    zero = total = a[0].graph.zero
    for x, y in zip(a, b, strict=True):
        if x is not zero and y is not zero:  # most vectors lie along an axis: what is zero is not even looked up
            total = x * y if total is zero else total + x * y
    return total


def length(a: Components) -> Node:
    """The length of a vector; where it is zero its derivative counts as zero."""
    square = dot(a, a)
    return select(less(0.0, square), sqrt(square), 0.0)


def unit_of(a: Components) -> Components:
    """The direction with length 1."""
    size = sqrt(dot(a, a))
    return tuple(c / size for c in a)


def directed(a: Components) -> tuple[Node, Components]:
    """Length and direction; a vector without length has the direction zero."""
    size = length(a)
    return size, tuple(c / maximum(size, _NO_LENGTH) for c in a)


def combined(factors: Components, directions: tuple[Components, ...]) -> Components:
    """The sum of the directions, each times its factor."""
    graph, rows = factors[0].graph, zip(*directions, strict=True)
    return tuple(graph.sum(f * d for f, d in zip(factors, row, strict=True)) for row in rows)


def step_along(start: Components, distance: Node, direction: Components) -> Components:
    """start + distance direction"""
    return tuple(s + distance * d for s, d in zip(start, direction, strict=True))


# ---------------------------------------------------------------- of three nodes


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
