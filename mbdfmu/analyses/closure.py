"""Positions, velocities and accelerations that constraints and given signals leave no choice about (T18.1 - T18.6).

It must not know where the given values come from, nor how time goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.given_signals import Given, size_of
from mbdfmu.analyses.native import translated
from mbdfmu.lowering import Lowered

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = NDArray[np.float64]

CLOSED = 1e-13  # rad, or of the model's length: what Newton's iteration aims for
ACCEPTED = 1e-10  # and what it must reach where rounding stops it (as in solver/start.cpp)
FITS = 1e-6  # what given positions may open a joint by, as a start as written may
HALF_THE_DIGITS = 1e-8
ITERATIONS = 12
FARTHEST = 0.5  # rad, or of the model's extent: a correction beyond it leads to another pose than the next one
LONGEST = 1.0  # rad, or the model's extent, of one step: turns are counted, and the branch is kept
DEPENDENT = 1e-6  # of a row of size one: below it a row is a combination of the others
SHOWN = 6


class Lost(Exception):
    """No pose is near that meets the rows; `worst` is the row that stays open most, `repeated` if it repeats others."""

    def __init__(self, worst: Opening | None, *, repeated: bool = False) -> None:
        super().__init__(worst)
        self.worst, self.repeated = worst, repeated


class Opening(NamedTuple):
    """A row that is not met, in its own unit."""

    label: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.label} is off by {self.value:.3g} {self.unit}"


class Closure:
    """The rows at the level of positions of a started simulation, scaled: angles in rad, lengths in the model's."""

    def __init__(self, native: Any, lowered: Lowered, given: Sequence[str] = ()) -> None:
        model, system = lowered.model, native.system
        self._native, self._nv, self._nc = native, int(system.nv), int(system.nc)
        self.units = np.array([size_of(c.unit, native.length) for c in model.coordinates])
        primitives = [(c.active, row.unit) for c in model.constraints for p in c.primitives for row in p.rows]
        self._row_units = [unit for _, unit in primitives]
        self.row_sizes = np.array([size_of(unit, native.length) for unit in self._row_units])
        self._held = [k for k, (on, _) in enumerate(primitives) if on and system.levels[k] == 0]
        self.take_rows()
        self.driven_above = [k for k, (on, _) in enumerate(primitives) if on and system.levels[k] > 0]
        self.labels = list(system.labels)
        rows, columns = np.asarray(system.rows), np.asarray(system.cols)
        self._entries = np.flatnonzero((rows >= self._nv) & (rows < self._nv + self._nc) & (columns < self._nv))
        self._where = (rows[self._entries] - self._nv, columns[self._entries])
        self.given = Given(native, lowered, given)
        self.iterations = 0
        self._reach = self._reaches(native.save().q, [c.unit == "rad" for c in model.coordinates])

    def _reaches(self, q: Vector, turning: Sequence[bool]) -> Vector:
        """Of every coordinate in its unit: 1 rad, or how far the model extends."""
        turns = np.array(turning, dtype=bool)
        places = (q[: self._nv] / self.units)[~turns]
        return np.where(turns, 1.0, max(1.0, float(np.ptp(places)) if places.size else 0.0))

    def share(self, dq: Vector) -> float:
        """The largest part of a radian, or of the model's extent, by which an increment moves."""
        return float(np.abs(dq / self.units / self._reach).max(initial=0.0))

    # ---------------------------------------------------------------- rows

    def take_rows(self) -> None:
        """The rows that the simulation keeps, and those that repeat them."""
        repeated = {row for row, _ in self._native.redundancies}
        self.rows = [k for k in self._held if k not in repeated]
        self.repeated = [k for k in self._held if k in repeated]

    def exchange_rows(self) -> bool:
        """Where the simulation stands, rows that turn dependent give way to some left out (T7.15)."""
        with translated():
            changed = bool(self._native.exchange_rows_anywhere())
        if changed:
            self.take_rows()
        return changed

    def gaps(self, t: float, q: Vector) -> Vector:
        """Phi of all rows, scaled."""
        with translated():
            gaps: Vector = np.asarray(self._native.constraints(t, q)) / self.row_sizes
        return gaps

    def gradient(self, t: float, q: Vector) -> csr_array:
        """G of the rows that are kept, by coordinates in their units."""
        from scipy.sparse import coo_array

        system = self._native.system
        none, still = np.zeros(self._nc), np.zeros(self._nv)
        others = (np.zeros(system.nx), np.zeros(system.nx), np.zeros(system.ny))
        with translated():
            entries = np.asarray(self._native.derivative(t, q, still, still, none, *others, 0.0, 0.0, 0.0, 0.0))
        rows, columns = self._where
        values = entries[self._entries] * self.units[columns] / self.row_sizes[rows]
        matrix: csr_array = coo_array((values, (rows, columns)), shape=(self._nc, self._nv)).tocsr()[self.rows]
        return matrix

    def free(self, t: float, q: Vector) -> list[int]:
        """The coordinates that the rows leave free, picked by pivoting (T18.2)."""
        from scipy.linalg import qr

        matrix = self.gradient(t, q).toarray()
        if not matrix.size:
            return list(range(self._nv))
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.finfo(float).tiny)
        r, pivots = qr(matrix, mode="r", pivoting=True)
        sizes = np.abs(np.diag(r))
        return sorted(int(k) for k in pivots[np.count_nonzero(sizes > DEPENDENT * max(sizes[0], DEPENDENT)) :])

    def worst(self, gaps: Vector, among: Iterable[int] | None = None) -> Opening | None:
        """The row that is farthest from zero."""
        rows = list(self.rows if among is None else among)
        if not rows:
            return None
        k = rows[int(np.argmax(np.nan_to_num(np.abs(gaps[rows]), nan=np.inf)))]
        unit = self._row_units[k]
        return Opening(self.labels[self._nv + k], float(gaps[k] * self.row_sizes[k]), unit)

    # ---------------------------------------------------------------- positions

    def closed(self, t: float, q: Vector, target: Vector, *, enough: float = ACCEPTED) -> Vector:
        """The positions near q that meet the rows, and the given values as well as the rows allow; Lost if none."""
        begun, corrected = q, 0.0
        gaps = self.gaps(t, q)
        for _ in range(ITERATIONS):
            step = self._step(t, q, gaps, target)
            size = float(np.abs(step).max(initial=0.0))
            corrected += self.share(step * self.units)
            if not corrected <= FARTHEST:  # not a number: the rows are singular
                raise Lost(self.worst(self.gaps(t, begun)))
            with translated():
                q = np.asarray(self._native.system.moved(q, step * self.units))
            gaps = self.gaps(t, q)
            self.iterations += 1
            # The error is the square of the last correction.
            if size <= HALF_THE_DIGITS or (not len(target) and self._largest(gaps) <= CLOSED):
                break
        if not self._largest(gaps) <= enough or size > FITS:
            raise Lost(self.worst(gaps))
        if not np.abs(gaps[self.repeated]).max(initial=0.0) <= FITS:  # rows that turned dependent lead elsewhere
            raise Lost(self.worst(gaps, self.repeated), repeated=True)
        return q

    def open(self, t: float, q: Vector) -> float:
        """The largest gap of the rows that are kept."""
        return self._largest(self.gaps(t, q))

    def _largest(self, gaps: Vector) -> float:
        return float(np.abs(gaps[self.rows]).max(initial=0.0))

    def _step(self, t: float, q: Vector, gaps: Vector, target: Vector) -> Vector:
        """Newton's step (T18.3), in units."""
        if len(target):
            misfit = target - self.given.values(t, q)
            return self.solved(t, q, -gaps[self.rows], misfit)
        return _square(self.gradient(t, q), -gaps[self.rows])

    def solved(self, t: float, q: Vector, right: Vector, wanted: Vector) -> Vector:
        """x with G x = right that is nearest to C x = wanted (T18.4); rows of G scaled, x in units."""
        C = self.given.gradient(t, q) * self.units / self.given.sizes[:, np.newaxis]
        return constrained(self.gradient(t, q).toarray(), right, C, wanted / self.given.sizes)

    # ---------------------------------------------------------------- rates

    def velocity(self, t: float, q: Vector, rates: Vector) -> Vector:
        """v with G v = -Phi_t that gives the signals these rates (T18.5)."""
        with translated():
            opening = self._native.rates(t, q, np.zeros(self._nv))[0]
        return self.units * self.solved(t, q, self._kept(-opening), rates - self.given.rates(t, q))

    def acceleration(self, t: float, q: Vector, v: Vector, seconds: Vector) -> Vector:
        """a with G a = gamma that gives the signals these second derivatives (T18.6)."""
        with translated():
            gamma = self._native.rates(t, q, v)[1]
        return self.units * self.solved(t, q, self._kept(gamma), seconds - self.given.seconds(t, q, v))

    def _kept(self, rows: Vector) -> Vector:
        return np.asarray(rows / self.row_sizes)[self.rows]

    def open_directions(self, t: float, q: Vector) -> list[str]:
        """The coordinates that neither rows nor given signals determine."""
        from scipy.linalg import null_space

        C = self.given.gradient(t, q) * self.units / self.given.sizes[:, np.newaxis]
        both = np.vstack([self.gradient(t, q).toarray(), C])
        both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), np.finfo(float).tiny)
        left = null_space(both, rcond=DEPENDENT) if both.size else np.eye(self._nv)
        return [self.labels[k] for k in _independent(left)]


def constrained(G: Matrix, right: Vector, C: Matrix, wanted: Vector) -> Vector:
    """min |C x - wanted| with G x = right, by an orthogonal basis of the kernel of G."""
    Q, R = np.linalg.qr(G.T, mode="complete")
    m = len(G)
    try:
        x = Q[:, :m] @ np.linalg.solve(R[:m].T, right)
    except np.linalg.LinAlgError:
        return np.full(G.shape[1], np.nan)
    free = Q[:, m:]
    return np.asarray(x + free @ np.linalg.lstsq(C @ free, wanted - C @ x, rcond=None)[0])


def _independent(basis: Matrix) -> list[int]:
    """Rows of a basis that tell its vectors apart."""
    from scipy.linalg import qr

    if not basis.shape[1]:
        return []
    return sorted(int(k) for k in qr(basis.T, mode="r", pivoting=True)[1][: basis.shape[1]])


def _square(matrix: csr_array, right: Vector) -> Vector:
    """The solution of a square sparse system; not a number where it is singular."""
    from scipy.sparse.linalg import splu

    try:
        return np.asarray(splu(matrix.tocsc()).solve(right))
    except RuntimeError:  # SuperLU: exactly singular
        return np.full(len(right), np.nan)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
