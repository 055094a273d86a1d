"""Equilibria by the least potential energy in the independent coordinates (T19.4 to T19.7).

It ends at no rest that a push would leave. Forces must have a potential; where they have none, that is found and said.
Must not know files nor how simulations are started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.equilibrium import Equilibrium
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.numbers import Numbers, at_state
from mbdfmu.analyses.partition import Partition, again, partition
from mbdfmu.analyses.potential import without_potential
from mbdfmu.analyses.rest import LARGEST as MOST_EXAMINED
from mbdfmu.analyses.rest import UNSTABLE, Stability, at_rest, stability, stands_still
from mbdfmu.analyses.standing import TINY, Matrix, Place, Slopes, Standing
from mbdfmu.calling import Called
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.lowering import Lowered

FIRST, LARGEST = 0.3, 1.0  # rad, or of the model's length: of a step, which may be longer after as much travel
LEAST = 1e-14  # of a step: below it there is rounding only
FAIR, GOOD = 1e-3, 0.75  # of the work foreseen that a step must do, and from which on steps grow
MOST_CLOSING = 30  # iterations
CLOSED = 1e-13  # rad, or of the model's length
FARTHEST = 1e4  # rad, or of the model's length
ROUNDING = 1e-13  # of the largest force
BISECTIONS = 100
OPEN = 1e-8  # of a state's size, 1/s: what still changes
CURL = 1e-7  # of the stiffness: what may be unsymmetric
CURE = "use method='settle', which follows any forces, or method='equations'"


def minimise(
    native: Any,
    lowered: Lowered,
    velocities: Mapping[str, float],
    tolerance: float,
    limit: int,
    functions: Sequence[Called] = (),
) -> Equilibrium:
    """The rest of least energy near where a started simulation is; the energy falls at every step."""
    descent = _Descent(Standing(native, lowered), functions)
    point = descent.run(tolerance, limit)
    stands_still(descent.standing, point.place)
    pushes = stability(native, lowered) if descent.standing.nv <= MOST_EXAMINED else None
    neutral = pushes.neutral if pushes else ()
    held = Stability(np.zeros(descent.standing.nv), neutral)  # the energy is least, whatever rounding says of the rest
    facts: dict[str, Any] = {"velocities": velocities, "steps": descent.steps, "iterations": descent.evaluations}
    return at_rest(native, lowered, "energy", descent.notes, pushes=held, **facts)


@dataclass(frozen=True, kw_only=True)
class _Point:
    """A place on the joints, with the gradient and the Hessian of the energy by the independent coordinates."""

    place: Place
    part: Partition
    gradient: Vector  # J per unit
    hessian: Matrix


class _Descent:
    """Newton's method with a trust region; coordinates in units of a radian or the model's length."""

    def __init__(self, standing: Standing, functions: Sequence[Called]) -> None:
        self.standing, self._functions = standing, functions
        self.steps = self.evaluations = 0
        self.notes: list[str] = []
        self._travel = 0.0
        self._force = TINY  # the largest there has been, times a radian or the model's length
        self._model = standing.lowered.model

    def run(self, tolerance: float, limit: int) -> _Point:
        self._check_laws()
        point = self._at(self.standing.here, None)
        radius = FIRST
        while self.steps < limit:
            step, bent = _foreseen(point, radius, ROUNDING * self._force)
            size = float(np.abs(step).max(initial=0.0))
            if size <= tolerance and bent is None:
                return self._arrived(point, step)
            if not np.isfinite(step).all():
                raise StepFailed(f"a force or its derivative is not finite; {CURE}")
            self._leaves(point, bent, tolerance)
            point, ratio = self._tried(point, step)
            radius = self._next(radius, float(np.linalg.norm(step)), ratio)
            if radius < LEAST:
                raise StepFailed(f"no step, however short, lowers the energy; {CURE}")
        raise StepFailed(f"the energy still falls after {limit} steps, as many as are allowed; begin nearer to rest")

    def _next(self, radius: float, size: float, ratio: float) -> float:
        if ratio < 0.25:
            return size / 4
        return min(2 * radius, max(LARGEST, self._travel)) if ratio > GOOD and size > 0.9 * radius else radius

    def _arrived(self, point: _Point, step: Vector) -> _Point:
        """The last correction is made without a look at the energy, whose change is rounding."""
        moved = self._moved(point, step)
        last = point if moved is None else self._at(moved, None)
        self._check_potential(last)
        return replace(last, place=self._with_states(last.place))

    def _with_states(self, place: Place) -> Place:
        """The same place with the states that come to rest there; no force depends on them."""
        standing = self.standing
        first, nx = standing.nv + standing.nc, standing.nx
        if not nx:
            return place
        for _ in range(MOST_CLOSING):
            slopes = standing.slopes(place)
            matrix = np.hstack([slopes.by_x, slopes.by_y])[first:]
            change = np.linalg.lstsq(matrix, standing.residual(place)[first:], rcond=None)[0]
            place = replace(place, x=place.x - change[:nx], y=place.y - change[nx:])
            if np.abs(change[:nx] / standing.sizes(place)).max() <= CLOSED:
                break
        left = standing.residual(place)[first : first + nx] / standing.sizes(place)
        worst = int(np.argmax(np.abs(left)))
        if not abs(left[worst]) <= OPEN:
            raise StepFailed(f"there is no rest: {standing.labels[first + worst]} goes on changing")
        return place

    def _tried(self, point: _Point, step: Vector) -> tuple[_Point, float]:
        """The point after a step, if it lowers the energy, and how much of the work foreseen is done (T19.6)."""
        place = self._moved(point, step)
        if place is None:
            return point, 0.0
        try:
            found = self._at(place, point.part)
        except np.linalg.LinAlgError:  # a dead point: shorter steps see it coming
            return point, 0.0
        foreseen = float(point.gradient @ step + 0.5 * step @ point.hessian @ step)
        mean = float(0.5 * (point.gradient + found.gradient) @ step)
        done = mean + float(step @ (point.hessian - found.hessian) @ step) / 12
        ratio = done / foreseen if foreseen < 0 and np.isfinite(done) else 0.0
        if ratio < FAIR:
            return point, 0.0
        place = self.standing.exchange_rows(place)
        self.steps += 1
        self._travel += float(np.abs(step).max(initial=0.0))
        if self._travel > FARTHEST:
            self._wandered(point, step)
        return self._at(place, None), ratio

    def _wandered(self, point: _Point, step: Vector) -> None:
        label = self._model.coordinates[point.part.independent[int(np.argmax(np.abs(step)))]].label
        cure = "nothing balances the forces on it: hold it by a joint or spring, or take the drive away"
        raise StepFailed(f"there is no rest: {label} goes on moving, and the energy falls without end; {cure}")

    def _leaves(self, point: _Point, bent: int | None, tolerance: float) -> None:
        """Say so where a rest is left that a push would leave."""
        if bent is None:
            return
        label = self._model.coordinates[point.part.independent[bent]].label
        note = f"left an equilibrium that is not stable ({label})"
        newton = np.linalg.lstsq(point.hessian, point.gradient, rcond=None)[0]
        if np.abs(newton).max(initial=0.0) <= max(tolerance, CLOSED) and note not in self.notes:
            self.notes.append(note)

    # ---- points

    def _moved(self, point: _Point, step: Vector) -> Place | None:
        """A place on the joints: the dependent coordinates follow by Newton's iteration; None where they cannot."""
        standing, part = self.standing, point.part
        units = standing.units
        place = standing.moved(point.place, part.tangent @ (units[part.independent] * step))
        before = np.inf
        for _ in range(MOST_CLOSING):
            self.evaluations += 1
            values, gradient = self._open(place)
            block = gradient[np.ix_(part.rows, part.dependent)]
            with np.errstate(all="ignore"):
                try:
                    change = -np.linalg.solve(block, values[part.rows])
                except np.linalg.LinAlgError:
                    return None
            size = np.abs(change / units[part.dependent]).max(initial=0.0)
            if not size < max(before, FIRST):
                return None if size > CLOSED * 100 else place
            increment = np.zeros(standing.nv)
            increment[part.dependent] = change
            place = standing.moved(place, increment)
            if size <= CLOSED:
                return place
            before = size
        return None

    def _open(self, place: Place) -> tuple[Vector, Matrix]:
        """Values of the constraints and their gradient; prescribed rates hold the coordinates where they are."""
        rows = self.standing.rows
        values = self.standing.residual(place)[self.standing.nv + rows]
        gradient = self.standing.slopes(place).holding[rows]
        return np.where(self.standing.levels[rows] == 0, values, 0.0), gradient

    def _at(self, place: Place, part: Partition | None) -> _Point:
        """Gradient and Hessian at a place: with multipliers that balance the dependent coordinates (T19.5)."""
        standing = self.standing
        nv, rows, units = standing.nv, standing.rows, standing.units
        self.evaluations += 1
        place, slopes = self._followed(replace(place, lam=np.zeros(standing.nc)))
        gradient = slopes.by_q[nv + rows]
        part = partition(gradient, units) if part is None else again(part, gradient)
        load = standing.residual(place)[:nv]
        place.lam[rows[part.rows]] = -part.closing.T @ load
        slopes = standing.slopes(place)
        self._force = max(self._force, float(np.abs(load * units).max(initial=0.0)))
        free = part.tangent * units[part.independent]
        hessian = free.T @ self._stiffness(slopes) @ free
        return _Point(place=place, part=part, gradient=free.T @ load, hessian=hessian)

    def _stiffness(self, slopes: Slopes) -> Matrix:
        """Of the coordinates, with variables that follow."""
        nv, nx = self.standing.nv, self.standing.nx
        if slopes.by_y.shape[1] == 0:
            return slopes.by_q[:nv]
        own = slopes.by_y[nv + self.standing.nc + nx :]
        return np.asarray(
            slopes.by_q[:nv] - slopes.by_y[:nv] @ np.linalg.solve(own, slopes.by_q[nv + self.standing.nc + nx :])
        )

    def _followed(self, place: Place) -> tuple[Place, Slopes]:
        """The place where variables meet their equations, and the slopes there."""
        slopes = self.standing.slopes(place)
        first = self.standing.nv + self.standing.nc + self.standing.nx
        for _ in range(MOST_CLOSING if len(place.y) else 0):
            self.evaluations += 1
            change = np.linalg.solve(slopes.by_y[first:], self.standing.residual(place)[first:])
            place = replace(place, y=place.y - change)
            slopes = self.standing.slopes(place)
            if np.abs(change).max() <= CLOSED * max(1.0, np.abs(place.y).max()):
                break
        return place, slopes

    # ---- what has a potential

    def _check_laws(self) -> None:
        """Refuse what makes forces depend on more than positions."""
        standing, place = self.standing, self.standing.here
        slopes = standing.slopes(place)
        nv = standing.nv
        problems = [*self._acting_states(slopes), *self._servos(slopes)]
        unlike = np.abs(slopes.by_lam[:nv] - slopes.holding.T)[:, standing.rows].max(axis=0, initial=0.0)
        problems += [
            f"a force depends on the reaction of {standing.labels[nv + row]} at rest"
            for row, off in zip(standing.rows, unlike, strict=True)
            if off > CURL * np.abs(slopes.holding).max(initial=TINY)
        ]
        if problems:
            raise ModelError([f"energy: {problem}; {CURE}" for problem in problems])

    def _acting_states(self, slopes: Slopes) -> Iterator[str]:
        """States that forces feel, at once or by variables."""
        nv, first = self.standing.nv, self.standing.nv + self.standing.nc
        own = slopes.by_y[first + self.standing.nx :]
        felt = slopes.by_x[:nv] - slopes.by_y[:nv] @ np.linalg.solve(own, slopes.by_x[first + self.standing.nx :])
        for state, column in zip(self._model.states, felt.T, strict=True):
            if column.any():
                yield f"forces depend on {state.label}, so they have no potential in the positions"

    def _servos(self, slopes: Slopes) -> Iterator[str]:
        """Rows of rates that follow a law of positions."""
        for row in self.standing.rows:
            k = self.standing.nv + row
            law = (slopes.by_q[k] != slopes.holding[row]).any() or slopes.by_x[k].any()
            if self.standing.levels[row] > 0 and law:
                yield f"{self.standing.labels[k]} moves by a law of positions or states, which has no potential"

    def _check_potential(self, point: _Point) -> None:
        """Forces have a potential where the stiffness is symmetric (T19.7)."""
        curl = np.abs(point.hessian - point.hessian.T)
        if curl.max(initial=0.0) <= CURL * np.abs(point.hessian).max(initial=TINY):
            return
        pair = np.unravel_index(int(np.argmax(curl)), curl.shape)
        a, b = (self._model.coordinates[point.part.independent[k]].label for k in pair)
        self.standing.stand(point.place)
        found = without_potential(self.standing.lowered, self._numbers())
        named = f"; not known to have one: {', '.join(found)}" if found else ""
        raise ModelError(f"energy: the forces along {a} and {b} have no potential{named}; {CURE}")

    def _numbers(self) -> Numbers:
        native = self.standing.native
        with translated():
            native.stand_still()
        return at_state(native, self.standing.lowered, self._functions, pace=0.0)


def _foreseen(point: _Point, radius: float, noise: float) -> tuple[Vector, int | None]:
    """The step of least energy within the radius (T19.6), and where the energy bends down the coordinate that does."""
    values, vectors = np.linalg.eigh(0.5 * (point.hessian + point.hessian.T))
    if not len(values):
        return np.zeros(0), None
    floor = UNSTABLE * np.abs(values).max()
    along = vectors.T @ point.gradient
    along[np.abs(along) <= noise] = 0.0  # rounding, which a direction without stiffness would follow for ever
    bent = int(np.argmax(np.abs(vectors[:, 0]))) if values[0] < -floor else None
    values = np.where(np.abs(values) <= floor, 0.0, values)
    parts = _shifted(values, along, _shift(values, along, radius))
    if bent is not None and np.linalg.norm(parts) < 0.999 * radius:  # a crest itself says nothing: either side will do
        parts[0] += np.copysign(np.sqrt(radius**2 - np.linalg.norm(parts) ** 2), -along[0])
    return vectors @ parts, bent


def _shifted(values: Vector, along: Vector, shift: float) -> Vector:
    """The step where all curvatures are larger by the shift; nothing along what neither rises nor falls."""
    with np.errstate(all="ignore"):
        return np.where(along == 0, 0.0, -along / (values + shift))


def _shift(values: Vector, along: Vector, radius: float) -> float:
    """What makes all curvatures positive and the step as long as the radius; 0 where it is shorter without."""

    def length(shift: float) -> float:
        return float(np.linalg.norm(_shifted(values, along, shift)))

    least = max(0.0, -float(values.min()))
    if length(least) <= radius:
        return least
    low, high = least, least + float(np.linalg.norm(along)) / radius + TINY
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if length(middle) > radius else (low, middle)
    return high
