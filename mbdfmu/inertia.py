"""Mass, centre of mass and inertia of a spatial body, given or from its shapes; must not know how a body moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mbdfmu.coordinates import Matrix, Vector
from mbdfmu.description import Body, Box, Cylinder, Placed, Rod, Shape, Sphere
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Graph, Node
from mbdfmu.orientation import Resolve, matrix
from mbdfmu.vectors import dot, minus

Tensor = tuple[Node, Node, Node, Node, Node, Node]  # entries xx yy zz xy xz yz of the matrix
_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, kw_only=True)
class Weight:
    """Mass, centre of mass (in the body's frame) and the tensor about it in body axes."""

    mass: Node
    center: Vector
    tensor: Tensor


def weight(body: Body, resolve: Resolve, graph: Graph) -> Weight:
    """The weight of a body of a spatial model, whose values `resolve` turns into nodes."""
    if body.mass is None or body.inertia is None:
        return composed(_of_shape(shape, resolve, graph) for shape in body.shapes if shape.weighs)
    given = body.inertia if isinstance(body.inertia, tuple) else (body.inertia,) * 3
    xx, yy, zz, xy, xz, yz = map(resolve, (*given, 0.0, 0.0, 0.0)[:6])
    return Weight(mass=resolve(body.mass), center=_vector(body.center, resolve), tensor=(xx, yy, zz, xy, xz, yz))


def composed(parts: Iterable[Weight]) -> Weight:
    """The weight of several parts as one, by the parallel-axis theorem."""
    every = list(parts)
    graph = every[0].mass.graph
    mass = graph.sum(part.mass for part in every)
    x, y, z = (graph.sum(part.mass * part.center[k] for part in every) / mass for k in range(3))
    tensors = [_moved(part, (x, y, z)) for part in every]
    entries = (graph.sum(tensor[k] for tensor in tensors) for k in range(6))
    return Weight(mass=mass, center=(x, y, z), tensor=tuple(entries))  # type: ignore[arg-type]


def _moved(part: Weight, center: Vector) -> Tensor:
    """The tensor of a part about another point."""
    d = minus(part.center, center)
    shift = _tensor(lambda i, j: (dot(d, d) if i == j else 0.0) - d[i] * d[j])
    return tuple(own + part.mass * s for own, s in zip(part.tensor, shift, strict=True))  # type: ignore[return-value]


def _tensor(entry: Callable[[int, int], Node]) -> Tensor:
    return tuple(entry(i, j) for i, j in _ENTRIES)  # type: ignore[return-value]


# ---------------------------------------------------------------- shapes


def _of_shape(shape: Shape, resolve: Resolve, graph: Graph) -> Weight:
    if isinstance(shape, Rod):
        return _rod(shape, resolve, graph)
    if type(shape) not in _SOLIDS or not isinstance(shape, Placed):
        raise ModelError(f"the inertia of a shape '{shape.type_name}' is not known; give that of the body")
    volume, squares = _SOLIDS[type(shape)](shape, resolve)
    mass = _mass(shape, volume, resolve)
    r = matrix(shape.orientation, resolve, graph)
    return Weight(mass=mass, center=_vector(shape.at, resolve), tensor=_turned(r, squares, mass))


def _turned(r: Matrix, squares: Vector, mass: Node) -> Tensor:
    """The tensor of principal radii of gyration squared, along axes turned by R."""
    scaled = [(row[0] * squares[0], row[1] * squares[1], row[2] * squares[2]) for row in r]
    return _tensor(lambda i, j: mass * dot(scaled[i], r[j]))


def _mass(shape: Shape, volume: Node, resolve: Resolve) -> Node:
    return resolve(shape.mass) if shape.mass is not None else resolve(shape.density) * volume


def _vector(point: tuple[float | str, ...], resolve: Resolve) -> Vector:
    """A point of a spatial model; a default is short and stands for zero."""
    x, y, z = map(resolve, (*point, 0.0)[:3])
    return x, y, z


def _box(shape: Box, resolve: Resolve) -> tuple[Node, Vector]:
    x, y, z = map(resolve, shape.size)
    return x * y * z, ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)


def _cylinder(shape: Cylinder, resolve: Resolve) -> tuple[Node, Vector]:
    radius, length = resolve(shape.radius), resolve(shape.length)
    across = radius**2 / 4 + length**2 / 12
    return math.pi * radius**2 * length, (across, across, radius**2 / 2)


def _sphere(shape: Sphere, resolve: Resolve) -> tuple[Node, Vector]:
    radius = resolve(shape.radius)
    square = 0.4 * radius**2
    return 4 / 3 * math.pi * radius**3, (square, square, square)


# Of each shape: volume, and squares of the radii of gyration along its axes.
_SOLIDS: dict[type[Shape], Callable[[Any, Resolve], tuple[Node, Vector]]] = {
    Box: _box, Cylinder: _cylinder, Sphere: _sphere,
}  # fmt: skip


def _rod(shape: Rod, resolve: Resolve, graph: Graph) -> Weight:
    """A round bar along d: its tensor is across 1 + (along - across) d d^T/d^2."""
    start, end = _vector(shape.start, resolve), _vector(shape.end, resolve)
    d = (end[0] - start[0], end[1] - start[1], end[2] - start[2])
    square, radius = dot(d, d), graph.zero if shape.radius is None else resolve(shape.radius)
    mass = _mass(shape, math.pi * radius**2 * square**0.5, resolve)
    across, along = radius**2 / 4 + square / 12, radius**2 / 2
    tensor = _tensor(lambda i, j: mass * ((across if i == j else 0.0) + (along - across) * d[i] * d[j] / square))
    middle = tuple(0.5 * (a + b) for a, b in zip(start, end, strict=True))
    return Weight(mass=mass, center=middle, tensor=tensor)  # type: ignore[arg-type]
