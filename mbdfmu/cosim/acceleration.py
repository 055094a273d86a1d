"""Anderson's acceleration of a fixed-point iteration x = G(x)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
MOST = 12  # pairs that are remembered
SINGULAR = 1e-12  # of the largest singular value: differences that say nothing new


class Anderson:
    """The memory of one iteration.

    From pairs of x and f = G(x) - x it takes the combination with weights of sum 1 whose f is smallest, and goes on
    from there. With one unknown that is the secant method; of a linear G of n unknowns it finds the fixed point after
    n + 1 rounds, whatever its gain (docs/theory.md, T21.8).
    """

    def __init__(self, scale: Vector) -> None:
        """`scale`: the usual size of each unknown."""
        self._scale = scale
        self._x: list[Vector] = []
        self._f: list[Vector] = []
        self.gain = 0.0  # |f| after the first round over that before it; 0 where it is not known yet

    def next(self, x: Vector, image: Vector) -> Vector:
        """The next x, after G(x) = image has been found."""
        self._x, self._f = [*self._x, x][-MOST:], [*self._f, image - x][-MOST:]
        if len(self._x) == 1:
            return image
        if len(self._x) == 2:
            before, after = (float(np.linalg.norm(f / self._scale)) for f in self._f)
            self.gain = after / before if before > 0 else 0.0
        of_x, of_f = (np.diff(np.array(rows), axis=0).T for rows in (self._x, self._f))
        weights = np.linalg.lstsq(of_f / self._scale[:, None], self._f[-1] / self._scale, rcond=SINGULAR)[0]
        found: Vector = image - (of_x + of_f) @ weights
        return found if np.isfinite(found).all() else image
