"""Equilibria by the equations of equilibrium: Newton's iteration with a line search (T19.1 to T19.3).

It finds stable and unstable rests alike, whichever is near. Must not know files nor how simulations are started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.equilibrium import Equilibrium
from mbdfmu.analyses.rest import LARGEST, at_rest, stability, stands_still
from mbdfmu.analyses.standing import TINY, Matrix, Place, Slopes, Standing
from mbdfmu.errors import StepFailed
from mbdfmu.lowering import Lowered

SHORTEST = 2.0**-20  # part of a correction: below it nothing gets better
SURE = 0.25  # of the part taken: by how much the next correction has to be smaller
FARTHEST = 1.0  # rad that a correction turns
OPEN = 1e-8  # of the largest force: what a direction in which nothing follows may be off by
SINGULAR = 1e-12  # reciprocal of a condition: what is worse has directions that nothing determines
WEAK = 1e-6  # of the largest singular value: what a leap goes along
LEAP = 0.3  # rad, or of the model's length
MOST_LEAPS = 20
ROUNDING = 1e-13
FLOOR = 1e-6  # rad: the force that this makes counts as one where nothing loads the model
CURE = "begin nearer to rest (start), or let the model settle: method='settle' finds the rest that it would come to"


def balance(
    native: Any, lowered: Lowered, velocities: Mapping[str, float], tolerance: float, limit: int
) -> Equilibrium:
    """The rest that Newton's iteration finds from where a started simulation is; it says whether it is stable."""
    search = _Search(Standing(native, lowered))
    place = search.run(tolerance, limit)
    stands_still(search.standing, place)
    pushes = stability(native, lowered) if search.standing.nv <= LARGEST else None
    facts: dict[str, Any] = {"velocities": velocities, "steps": search.steps, "iterations": search.iterations}
    return at_rest(native, lowered, "equations", [], pushes=pushes, **facts)


class _Search:
    """The iteration; `steps` are corrections made, `iterations` evaluations of the equations."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self.steps = self.iterations = self.leaps = 0
        model, nv = standing.lowered.model, standing.nv
        rows = [row for c in model.constraints for p in c.primitives for row in p.rows]
        self._lengths = np.array([1.0 if row.unit == "rad" else float(standing.native.length) for row in rows])
        self._rotations = np.array([c.unit == "rad" for c in model.coordinates], dtype=bool)
        self._solved = nv + len(standing.rows)
        self._ends = [nv, self._solved, self._solved + standing.nx]
        self._force = TINY  # the largest there has been, over the model's length or a radian

    def run(self, tolerance: float, limit: int) -> Place:
        place = self.standing.here
        values = self._values(place)
        while self.steps < limit:
            self._linearise(place)
            correction = self._solve(values)
            met = self._size(correction) <= tolerance
            place, values = self._taken(place, values, correction)
            self.steps += 1
            if met and self._met(values):
                return place
            exchanged = self.standing.exchange_rows(place)  # angles follow with their turns
            if exchanged is not place:
                place, values = exchanged, self._values(exchanged)
        raise StepFailed(f"{self._found(values)} after {limit} corrections, as many as are allowed; {CURE}")

    # ---- one correction

    def _linearise(self, place: Place) -> None:
        slopes = self.standing.slopes(place)
        self._measure(place, slopes)
        held = self.standing.rows
        matrix = np.hstack([slopes.by_q, slopes.by_lam[:, held], slopes.by_x, slopes.by_y])[self.standing.kept]
        matrix = self.of_rows[:, np.newaxis] * matrix * self.of_unknowns
        finite = np.isfinite(matrix).all(axis=1)
        if not finite.all():
            row = self.standing.labels[self.standing.kept[int(np.argmin(finite))]]
            raise StepFailed(f"a derivative in the equation of {row} is not finite at rest; {CURE}")
        memory = ~matrix[self._solved :][: self.standing.nx].any(axis=1)  # what nothing moves stays as it is
        matrix[:, self._ends[1] : self._ends[2]][:, memory] = 0.0
        self._linear = _Linear(matrix)

    def _solve(self, values: Vector) -> Vector:
        return np.asarray(self.of_unknowns * self._linear.solve(self.of_rows * values))

    def _measure(self, place: Place, slopes: Slopes) -> None:
        """Forces count in parts of the largest that has been, all else in its units."""
        standing = self.standing
        units, nv = standing.units, standing.nv
        alone = standing.residual(replace(place, lam=np.zeros(standing.nc)))[:nv]
        moved = np.abs(slopes.by_q[:nv] * units * units[:, np.newaxis])
        force = [np.abs(alone * units).max(initial=TINY), FLOOR * moved[np.isfinite(moved)].max(initial=TINY)]
        self._force = max(self._force, *force)
        sizes, lengths = standing.sizes(place), self._lengths[standing.rows]
        self.of_unknowns = np.concatenate([units, self._force / lengths, sizes, np.maximum(1.0, np.abs(place.y))])
        self.of_rows = np.concatenate([units / self._force, 1 / lengths, 1 / self.of_unknowns[self._solved :]])

    def _taken(self, place: Place, values: Vector, correction: Vector) -> tuple[Place, Vector]:
        """As much of a correction as makes the next one smaller (T19.2), else a leap."""
        whole = self._norm(correction)
        turn = np.abs(correction[: self.standing.nv][self._rotations]).max(initial=0.0)
        part = min(1.0, FARTHEST / max(turn, TINY))
        while part >= SHORTEST and self._whole(values):
            trial = self._moved(place, -part * correction)
            found = self._values(trial)
            fair = np.isfinite(found).all() and self._norm(self._solve(found)) <= (1 - SURE * part) * whole
            if fair or whole <= ROUNDING:
                return trial, found
            part /= 2
        return self._leapt(place, values, correction)

    def _whole(self, values: Vector) -> bool:
        """Whether the correction meets all equations: it cannot where nothing follows."""
        return bool(np.abs(self.of_rows * self._left(values)).max(initial=0.0) <= OPEN)

    def _left(self, values: Vector) -> Vector:
        """What no correction meets."""
        return np.asarray(values - self._linear.matrix @ self._linear.solve(self.of_rows * values) / self.of_rows)

    def _leapt(self, place: Place, values: Vector, correction: Vector) -> tuple[Place, Vector]:
        """A place off the singular one, on the way that the forces push (T19.3).

        Reactions are corrected all the same: without them, bodies that hang in hinges would stay without stiffness.
        """
        nv = self.standing.nv
        way = self._linear.weakest(self.of_rows * values)[:nv]
        push = -(self.of_rows * values)[:nv]
        largest = np.abs(way).max(initial=0.0)
        if self.leaps >= MOST_LEAPS or largest <= ROUNDING:
            open_ = values if self._whole(values) else self._left(values)
            raise StepFailed(f"{self._found(open_)}: no part of a correction makes it smaller; {CURE}")
        self.leaps += 1
        change = np.zeros(len(self.of_unknowns))
        change[nv : self._solved] = -correction[nv : self._solved]
        change[:nv] = self.standing.units * way * (LEAP if way @ push >= 0 else -LEAP) / largest
        trial = self._moved(place, change)
        return trial, self._values(trial)

    def _moved(self, place: Place, change: Vector) -> Place:
        dq, dlam, dx, dy = np.split(change, self._ends)
        lam = place.lam.copy()
        lam[self.standing.rows] += dlam
        return replace(self.standing.moved(place, dq), lam=lam, x=place.x + dx, y=place.y + dy)

    def _values(self, place: Place) -> Vector:
        self.iterations += 1
        return self.standing.residual(place)[self.standing.kept]

    # ---- sizes

    def _norm(self, correction: Vector) -> float:
        return float(np.linalg.norm(correction / self.of_unknowns))

    def _size(self, correction: Vector) -> float:
        """The largest motion of coordinates and states."""
        relative = np.abs(correction / self.of_unknowns)
        return float(max(relative[: self._ends[0]].max(initial=0), relative[self._ends[1] :].max(initial=0)))

    def _met(self, values: Vector) -> bool:
        return bool(np.abs(self.of_rows * values).max(initial=0.0) <= OPEN)

    def _found(self, values: Vector) -> str:
        worst = int(np.argmax(np.abs(self.of_rows * values)))
        row = self.standing.kept[worst]
        what = "force" if row < self.standing.nv else "value"
        left = f"{what} left {values[worst]:.3g}"
        return f"there is no rest: the equation of {self.standing.labels[row]} is not met ({left})"


class _Linear:
    """Solves with a scaled matrix: by LU, or in the sense of least squares where it is singular."""

    def __init__(self, matrix: Matrix) -> None:
        from scipy.linalg.lapack import dgecon, dgetrf

        self.matrix = matrix
        self._factor = None
        if matrix.size:
            *factor, info = dgetrf(matrix)
            if info == 0 and dgecon(factor[0], np.abs(matrix).sum(axis=0).max())[0] > SINGULAR:
                self._factor = factor

    def solve(self, values: Vector) -> Vector:
        """The correction, the shortest of those that come nearest."""
        from scipy.linalg.lapack import dgetrs

        if self._factor is not None:
            return np.asarray(dgetrs(*self._factor, values)[0])
        left, sizes, right = self._parts
        kept = sizes > SINGULAR * sizes.max(initial=0.0)
        return np.asarray((right[kept].T / sizes[kept]) @ (left[:, kept].T @ values))

    def weakest(self, values: Vector) -> Vector:
        """The part of the unknowns that nothing determines, as the values push them; up to sign and size."""
        left, sizes, right = self._parts
        weak = sizes <= max(WEAK * sizes.max(initial=0.0), sizes.min(initial=0.0))
        return np.asarray(right[weak].T @ (left[:, weak].T @ values))

    @cached_property
    def _parts(self) -> tuple[Matrix, Vector, Matrix]:
        return tuple(np.linalg.svd(self.matrix, full_matrices=False))  # type: ignore[return-value]
