"""The distance to a box and to a cylinder, and which way it leads; must not know what touches them (T4.27)."""

from __future__ import annotations

from functools import reduce

from mbdfmu.expressions import Node, absolute, less, less_equal, maximum, minimum, select
from mbdfmu.vectors import Components, directed


def outside_of(excess: Components) -> tuple[Node, Components]:
    """Distance to a convex body of which each pair of sides is exceeded by so much, and its derivatives (T4.27).

    Outside it is the length of what is positive; inside the nearest side counts, where the excess is largest.
    """
    out, towards = directed(tuple(maximum(q, 0.0) for q in excess))
    inmost = reduce(maximum, excess)
    slopes, taken = [], excess[0].graph.zero
    for q, way in zip(excess, towards, strict=True):
        here = select(less_equal(inmost, q), 1.0 - taken, 0.0)  # of equal ones the first
        taken = taken + here
        slopes.append(select(less(0.0, out), way, here))
    return out + minimum(inmost, 0.0), tuple(slopes)


def box_distance(place: Components, half: Components) -> tuple[Node, Components]:
    """Distance of a place, given in the axes of a box about its middle, and the direction away from the box."""
    distance, slopes = outside_of(tuple(absolute(p) - h for p, h in zip(place, half, strict=True)))
    return distance, tuple(_side(p) * s for p, s in zip(place, slopes, strict=True))


def _side(coordinate: Node) -> Node:
    return select(less(coordinate, 0.0), -1.0, 1.0)
