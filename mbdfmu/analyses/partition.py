"""Independent and dependent coordinates of constraint rows (T19.4); must not know where the rows come from.

[Haug89] partitions the coordinates so that the rows, solved for the dependent ones, are well conditioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import Vector
from mbdfmu.errors import ModelError

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

RANK = 1e-9  # of the largest pivot: rows that are independent
WEAK = 1e-8  # reciprocal of a condition: coordinates that say nearly nothing of the motion


@dataclass(frozen=True, kw_only=True)
class Partition:
    """`tangent` says how all coordinates move with the independent ones where the rows hold."""

    independent: Indices
    dependent: Indices
    rows: Indices  # as many as there are dependent coordinates; the others repeat them
    tangent: Matrix
    closing: Matrix  # of all coordinates by the values of `rows`: the dependent ones that meet them

    @property
    def free(self) -> int:
        """Number of independent coordinates."""
        return len(self.independent)

    @classmethod
    def made(cls, gradient: Matrix, dependent: Indices, rows: Indices, independent: Indices | None = None) -> Partition:
        """The partition that is told; LinAlgError where the rows do not fix the dependent coordinates."""
        count = gradient.shape[1]
        if independent is None:
            independent = np.setdiff1d(np.arange(count, dtype=np.intp), dependent)
        inverse = np.linalg.inv(gradient[np.ix_(rows, dependent)])
        tangent, closing = np.zeros((count, len(independent))), np.zeros((count, len(rows)))
        tangent[independent, np.arange(len(independent))] = 1.0
        tangent[dependent] = -inverse @ gradient[np.ix_(rows, independent)]
        closing[dependent] = inverse
        return cls(independent=independent, dependent=dependent, rows=rows, tangent=tangent, closing=closing)


def partition(gradient: Matrix, units: Vector, weights: Vector | None = None) -> Partition:
    """The partition with the largest pivots; a coordinate of larger weight is rather dependent."""
    from scipy.linalg import qr

    scaled = gradient * (units if weights is None else units * weights)
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled = np.divide(scaled, sizes, out=np.zeros_like(scaled), where=sizes > 0)
    _, upper, order = qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(upper))
    rank = int(np.count_nonzero(pivots > RANK * pivots.max(initial=0.0)))
    dependent = np.sort(order[:rank])
    rows = np.arange(len(gradient))
    if rank < len(gradient):
        rows = np.sort(qr(scaled[:, dependent].T, mode="economic", pivoting=True)[2][:rank])
    return Partition.made(gradient, dependent.astype(np.intp), rows.astype(np.intp))


def chosen(gradient: Matrix, units: Vector, independent: Sequence[int], labels: Sequence[str]) -> Partition:
    """The partition with these independent coordinates; a ModelError where they do not fix the others."""
    free = partition(gradient, units)
    names = ", ".join(labels[k] for k in independent)
    if len(set(independent)) != free.free:
        cure = f"one choice is {', '.join(labels[k] for k in free.independent) or 'none'}"
        raise ModelError(f"states: {free.free} coordinates are independent, found {len(independent)} ({names}); {cure}")
    there = np.array(sorted(set(range(gradient.shape[1])) - set(independent)), dtype=np.intp)
    block = gradient[np.ix_(free.rows, there)] * units[there]
    if len(there) and 1 / np.linalg.cond(block) < WEAK:
        cure = f"one choice is {', '.join(labels[k] for k in free.independent)}"
        raise ModelError(f"states: {names} do not fix the other coordinates here; {cure}")
    return Partition.made(gradient, there, free.rows, np.array(independent, dtype=np.intp))


def again(part: Partition, gradient: Matrix) -> Partition:
    """The same coordinates and rows with another gradient, that of a place nearby."""
    return Partition.made(gradient, part.dependent, part.rows, part.independent)
