"""HHT for index-3 equations in plain NumPy: [Negrut05] sections 2 and 3, by number; must not import the package.

Read it beside the paper. Two forms of the equations of motion: "printed" is eq. 11a; "corrected" keeps the acceleration
that balances the forces, which makes the method second order where M depends on q (docs/theory.md, chapter 5).
What the paper leaves open (marked "choice") is decided as in solver/schemes/hht.hpp and solver/driver.cpp, so that both
make the same steps with the same iterations. `Decisions` tells how close a decision was, since rounding may turn one.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.planar import System, derivative

Vector = NDArray[np.float64]

c = 1e-3  # of eq. 45
SAFETY = 0.9  # s of eq. 37b
CROWDED = 0.01  # choice: a past step below this fraction of the present one is no history
HIGHEST_DEGREE = 3  # "a polynomial of order up to three", section 3.5


class StepFailed(Exception):
    """The corrector gave up with a fixed step, or the step size became too small."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Named as in the package."""

    alpha: float = -0.3
    form: str = "corrected"
    estimate: str = "paper"
    weights: str = "model"
    stop_ratio: float = c
    max_iterations: int = 10
    constraint_tolerance: float = 1e-10


@dataclass
class Decisions:
    """Comparisons with thresholds, and how close the closest of them was (relative to the threshold)."""

    closest: float = math.inf

    def at_most(self, value: float, limit: float) -> bool:
        self.closest = min(self.closest, self._distance(value, limit))
        return value <= limit

    def either(self, *pairs: tuple[float, float]) -> bool:
        """Whether any value is at most its limit: as safe as the safest that is, else as the closest of all."""
        held = [self._distance(*pair) for pair in pairs if pair[0] <= pair[1]]
        self.closest = min(self.closest, max(held) if held else min(self._distance(*pair) for pair in pairs))
        return bool(held)

    @staticmethod
    def _distance(value: float, limit: float) -> float:
        return abs(value - limit) / abs(limit)


class Point(NamedTuple):
    """A past point of the predictor's polynomial."""

    t: float
    unknowns: Vector  # a and lam


class Trial(NamedTuple):
    """What the corrector found for one step; `done` is False where it gave up."""

    a: Vector
    lam: Vector
    done: bool


@dataclass
class Iteration:
    """Where the corrector stands within one step."""

    k: int = 0
    size: float = 0.0  # of the last correction, as a fraction of the tolerated local error
    renewed_at: int = 0  # iteration in which the matrix was computed; 0 = it is an old one
    converged: bool = False
    renew: bool = False
    diverged: bool = False
    open: float = 0.0  # constraint violation when last looked at


@dataclass
class Matrix:
    """The matrix of eq. 12 that is recycled, and what recycling has cost."""

    values: NDArray[np.float64] | None = None
    h: float = 0.0
    fresh_iterations: int = 0  # of the step after it was last computed
    lost: int = 0  # iterations more than that since


@dataclass
class Hht:
    """One simulation. `refactor_cost`: what a new matrix costs, in iterations (choice: when to recycle)."""

    system: System
    tolerance: float
    refactor_cost: float
    options: Options = field(default_factory=Options)
    step: float = 0.0  # fixed; 0 = error-controlled
    first: float = 0.0  # first step of the error control; 0 = chosen
    smallest_step: float = 1e-10

    def __post_init__(self) -> None:
        alpha = self.options.alpha
        self.alpha = alpha
        self.gamma = (1 - 2 * alpha) / 2  # eq. 6
        self.beta = (1 - alpha) ** 2 / 4  # eq. 6
        self.constant = self.beta - 1 / (6 * (1 + alpha))  # eq. 25
        if self.options.estimate == "sharp":
            self.constant = 1 / 12 + alpha**2 / 4  # of a in steady motion, where a runs alpha h ahead of qdd

    def start(self, q: Vector, v: Vector) -> None:
        """Consistent a and lam at t = 0; empty history."""
        s = self.system
        self.t, self.h, self.q, self.v = 0.0, 0.0, q, v
        self.a, self.lam = s.accelerations(0.0, q, v)
        self.qdd, self.last_h = self.a, 0.0
        self.balance = self.force_balance()
        unit_floor = (self.options.weights == "paper") | s.rotational
        self.Y = np.maximum(np.where(unit_floor, 1.0, s.length), np.abs(q))  # after eq. 34; choice: the model's length
        p = len(q)
        self.psi = p * self.tolerance**2 / self.constant**2  # eq. 35a
        self.history = [Point(0.0, self.unknowns)]  # newest first
        self.degree = 0
        self.matrix = Matrix()
        self.count: Counter[str] = Counter()
        self.decisions = Decisions()

    def take_over(self, t: float, h: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> None:
        """Continue from numbers that differ by rounding only, so that rounding cannot grow from step to step."""
        self.t, self.h, self.q, self.v, self.a, self.lam = t, h, q, v, a, lam
        self.history[0] = Point(t, self.unknowns)
        self.balance = self.force_balance()

    @property
    def unknowns(self) -> Vector:
        return np.concatenate([self.a, self.lam])

    def force_balance(self) -> Vector:
        """(Phi_q^T lam - Q)_n of eq. 11a."""
        s = self.system
        return s.rows(self.t, self.q).T @ self.lam - s.force(self.t, self.q, self.v)

    def norm(self, x: Vector) -> float:
        """||x||_q, after eq. 35b."""
        return float(np.sqrt(np.sum((x / self.Y) ** 2)))

    # ---------------------------------------------------------------- section 2: the discretised equations

    def newmark(self, a: Vector, h: float) -> tuple[Vector, Vector]:
        """q and v at t_{n+1}."""
        a_n = self.leading(h)
        q = self.q + h * self.v + h**2 / 2 * ((1 - 2 * self.beta) * a_n + 2 * self.beta * a)  # eq. 2a
        v = self.v + h * ((1 - self.gamma) * a_n + self.gamma * a)  # eq. 2b
        return q, v

    def leading(self, h: float) -> Vector:
        """a_n; in the corrected form it runs alpha times the last step ahead of qdd_n, and shall by alpha h (T5.9)."""
        if self.options.form == "printed" or self.last_h == 0:
            return self.a
        if self.last_h <= CROWDED * h:
            return self.qdd
        return self.qdd + h / self.last_h * (self.a - self.qdd)

    def balanced(self, a: Vector) -> Vector:
        """What M is multiplied with in e1: a/(1 + alpha) as printed, qdd_{n+1} in the corrected form."""
        if self.options.form == "printed":
            return a / (1 + self.alpha)
        return (a + self.alpha * self.qdd) / (1 + self.alpha)

    def residual(self, a: Vector, lam: Vector, h: float) -> Vector:
        """e1 and e2 of eq. 13."""
        s, t = self.system, self.t + h
        q, v = self.newmark(a, h)
        e1 = s.mass(q) @ self.balanced(a) + s.rows(t, q).T @ lam - s.force(t, q, v)
        if self.options.form == "printed":
            e1 = e1 - self.alpha / (1 + self.alpha) * self.balance  # eq. 11a
        e2 = s.constraints(t, q) / (self.beta * h**2)
        return np.concatenate([e1, e2])

    def coefficients(self, a: Vector, lam: Vector, h: float) -> NDArray[np.float64]:
        """The matrix of eq. 12, with eq. 14 and the gamma h term that the paper leaves out."""
        s, t = self.system, self.t + h
        q, v = self.newmark(a, h)
        qdd, G = self.balanced(a), s.rows(t, q)
        Ma_q = derivative(lambda q: s.mass(q) @ qdd, q)
        GTlam_q = derivative(lambda q: s.rows(t, q).T @ lam, q)
        Q_q = derivative(lambda q: s.force(t, q, v), q)
        Q_v = derivative(lambda v: s.force(t, q, v), v)
        M_hat = s.mass(q) / (1 + self.alpha) + (Ma_q + GTlam_q - Q_q) * self.beta * h**2  # eq. 14
        M_hat = M_hat - Q_v * self.gamma * h
        return np.block([[M_hat, G.T], [G, np.zeros((len(G), len(G)))]])

    # ---------------------------------------------------------------- section 3.5: prediction

    def extrapolated(self, degree: int, t: float) -> Vector:
        """The polynomial through the newest points, by Newton's divided differences and Horner's scheme."""
        points = self.history[: degree + 1]
        differences = [p.unknowns for p in points]
        for order in range(1, degree + 1):
            for k in range(degree, order - 1, -1):
                differences[k] = (differences[k] - differences[k - 1]) / (points[k].t - points[k - order].t)
        value = differences[degree]
        for k in range(degree - 1, -1, -1):
            value = differences[k] + (t - points[k].t) * value
        return value

    def usable(self, h: float) -> int:
        """Choice: points crowded together, compared with h, are no history."""
        degree = 0
        for newer, older in pairwise(self.history):
            if degree == HIGHEST_DEGREE or newer.t - older.t <= CROWDED * h:
                break
            degree += 1
        return degree

    def choose_degree(self) -> None:
        """Choice: the degree that would have predicted the accepted step best, one more where that is the highest."""
        p, tried = len(self.q), self.usable(self.t - self.history[0].t)
        misses = [self.norm((self.unknowns - self.extrapolated(d, self.t))[:p]) for d in range(tried + 1)]
        best = int(np.argmin(misses))
        for degree, miss in enumerate(misses):
            if degree != best:
                self.decisions.at_most(misses[best], miss)
        self.degree = min(tried + 1, HIGHEST_DEGREE) if best == tried else best

    # ---------------------------------------------------------------- section 3.4: correction

    def correct(self, h: float) -> Trial:
        """Choice: before a step is cut, it is tried again with a new matrix."""
        kept = self.matrix.values is not None
        trial = self.iterate(h)
        if trial.done or not kept:
            return trial
        self.count["retried"] += 1
        self.matrix.values = None
        return self.iterate(h)

    def iterate(self, h: float) -> Trial:
        """Newton-like iteration on eq. 12."""
        predicted = self.extrapolated(min(self.degree, self.usable(h)), self.t + h)
        p = len(self.q)
        a, lam = predicted[:p], predicted[p:]
        at = Iteration(renew=self.matrix_is_old(h))
        while at.k < self.options.max_iterations:
            at.k += 1
            if at.renew:
                at.renewed_at = at.k
                self.renew_matrix(a, lam, h)
            delta = np.linalg.solve(self.matrix.values, -self.residual(a, lam, h))  # eq. 12
            self.count["iterations"] += 1
            a, lam = a + delta[:p], lam + delta[p:]
            if not np.all(np.isfinite(delta)):
                break
            self.judge(at, self.norm(delta[:p]) * h**2 / math.sqrt(self.psi), math.sqrt(self.theta(a, h)))
            if at.diverged:
                break
            if at.converged and self.closed(at, a, h):
                self.note_iterations(at)
                return Trial(a, lam, True)
        return Trial(a, lam, False)

    def judge(self, at: Iteration, size: float, error: float) -> None:
        """Whether to stop (eq. 45), to renew the matrix or to give up.

        `size` = ||Delta x|| h^2 / sqrt(psi), and `error` the same of x. Choice (T5.8): where the error is below the
        tolerance c is relative to it, as before eq. 39, but never below rounding.
        """
        before, at.size, at.renew = at.size, size, False
        rounding = np.finfo(float).eps / self.tolerance
        allowed = max(self.options.stop_ratio * min(1.0, error), rounding)
        if at.converged:
            self.count["extra_iterations"] += 1  # only for the sake of the constraints
        elif at.k == 1:
            at.converged = self.decisions.at_most(size, allowed)  # choice: a tiny first correction ends the iteration
        else:
            xi = size / before  # eq. 43
            left = xi / (1 - xi) * size if xi < 1 else math.inf
            tests = [(size, rounding), (left, allowed)]  # eq. 45
            if at.renewed_at > 0 and not self.decisions.at_most(xi, 0.5):
                tests.append((size, 16000 * rounding))  # choice: noise, which no iteration makes smaller
            at.converged = self.decisions.either(*tests)
            if not at.converged:
                self.judge_slow(at, xi)

    def judge_slow(self, at: Iteration, xi: float) -> None:
        """Choice: an old matrix that does not halve the error is renewed; a new one has two iterations to do better."""
        if at.renewed_at == 0:
            at.renew = not self.decisions.at_most(xi, 0.5)
        elif at.k - at.renewed_at >= 2:
            at.diverged = not self.decisions.at_most(xi, 1.0)

    def closed(self, at: Iteration, a: Vector, h: float) -> bool:
        """Choice: the constraints hold to a fraction of the model's length and of the step's error, or to rounding."""
        s, o = self.system, self.options
        if len(self.lam) == 0:
            return True
        self.count["constraint_checks"] += 1
        q, _ = self.newmark(a, h)
        scaled = np.abs(s.constraints(self.t + h, q)) / np.where(s.rotational_rows, 1.0, s.length)
        before, at.open = at.open, float(np.max(scaled))
        of_step = o.stop_ratio * math.sqrt(self.theta(a, h)) * self.tolerance
        rounding = 64 * np.finfo(float).eps * max(1.0, float(np.max(np.abs(q))) / s.length)
        if self.decisions.either((at.open, min(o.constraint_tolerance, of_step)), (at.open, rounding)):
            return True
        at.renew = at.renew or (before > 0 and not self.decisions.at_most(at.open, 0.1 * before))
        return False

    # ---- choice: when the matrix is recycled

    def matrix_is_old(self, h: float) -> bool:
        """After a large change of h, or when it has cost as much in iterations as a new one."""
        m, within = self.matrix, self.decisions.at_most
        if m.values is None:
            return True
        return not (within(0.5 * m.h, h) and within(h, 2 * m.h)) or m.lost >= self.refactor_cost

    def renew_matrix(self, a: Vector, lam: Vector, h: float) -> None:
        self.count["jacobians"] += 1
        self.matrix.values, self.matrix.h = self.coefficients(a, lam, h), h

    def note_iterations(self, at: Iteration) -> None:
        if at.renewed_at > 0:
            self.matrix.fresh_iterations, self.matrix.lost = at.k - at.renewed_at + 1, 0
        else:
            self.matrix.lost += max(0, at.k - self.matrix.fresh_iterations)

    # ---------------------------------------------------------------- sections 3.2, 3.3: accuracy and step size

    def theta(self, a: Vector, h: float) -> float:
        """Theta_q of eq. 37a, with x = a_{n+1} - a_n (eq. 17c)."""
        return self.norm(a - self.leading(h)) ** 2 * h**4 / self.psi

    def accept(self, trial: Trial, h: float) -> None:
        q, v = self.newmark(trial.a, h)
        qdd = self.balanced(trial.a)
        self.t, self.q, self.v, self.a, self.lam, self.qdd = self.t + h, q, v, trial.a, trial.lam, qdd
        self.last_h = h
        self.Y = np.maximum(self.Y, np.abs(q))
        self.choose_degree()
        self.history = [Point(self.t, self.unknowns), *self.history][: HIGHEST_DEGREE + 1]
        self.balance = self.force_balance()
        self.count["steps"] += 1

    def advance(self, t_end: float) -> None:
        """One accepted step towards t_end."""
        self.decisions = Decisions()
        if self.step > 0:
            self.fixed_step(t_end)
        else:
            self.controlled_step(t_end)

    def fixed_step(self, t_end: float) -> None:
        """Equal steps, the last of which ends at t_end."""
        begin, remaining = self.t, t_end - self.t
        steps = max(1, math.ceil(remaining / self.step * (1 - 1e-9)))
        h = remaining / steps
        trial = self.correct(h)
        if not trial.done:
            raise StepFailed(f"t = {begin}, h = {h}")
        self.accept(trial, h)
        self.t = t_end if steps == 1 else begin + h

    def controlled_step(self, t_end: float) -> None:
        if self.h == 0:
            self.h = self.first or self.first_step(t_end - self.t)
        rejected = False
        while True:
            h, last = self.fitted(t_end - self.t)
            trial = self.correct(h)
            theta = self.theta(trial.a, h) if trial.done else math.inf
            if trial.done and self.decisions.at_most(theta, 1.0):  # eq. 47c
                break
            self.count["rejected"] += 1
            self.count["failed"] += not trial.done
            rejected = True
            self.h = h * (min(max(SAFETY * theta ** (-1 / 6), 0.2), 0.9) if trial.done else 0.25)  # eq. 37b, bounded
            if self.h < max(self.smallest_step, 4 * 2.2e-16 * self.t):
                raise StepFailed(f"t = {self.t}, h = {self.h}")
        self.accept(trial, h)
        if last:
            self.t = t_end
        self.choose_step(h, h * self.growth(theta, rejected), rejected)

    def choose_step(self, h: float, proposal: float, rejected: bool) -> None:
        """Choice: a step that was shortened much, only to hit t_end, leaves the free step size as it is."""
        if rejected or not self.decisions.at_most(h, 0.75 * self.h):
            self.h = self.h if proposal == h and not rejected else proposal
        else:
            self.h = max(self.h, proposal)

    def fitted(self, remaining: float) -> tuple[float, bool]:
        """Choice: t_end is hit exactly, by equal steps; 1e-10 keeps rounding from adding one."""
        steps = math.ceil(remaining / self.h * (1 - 1e-10))
        return (remaining, True) if steps <= 1 else (remaining / steps, False)

    def growth(self, theta: float, rejected: bool) -> float:
        """Eq. 37b; choice: no growth by less than a third (the matrix is kept) or after a rejection, five at most."""
        factor = SAFETY * max(theta, 1e-24) ** (-1 / 6)
        grows = not self.decisions.at_most(factor, 1.0)
        if grows and (rejected or self.decisions.at_most(factor, 1.35)):
            return 1.0
        return min(max(factor, 0.2), 5.0)

    def first_step(self, remaining: float) -> float:
        """Choice: a tenth of eps^(1/3) of the time scale of the start."""
        scale = np.where(self.system.rotational, 1.0, self.system.length)
        rate = max(np.max(np.sqrt(np.abs(self.a) / scale)), np.max(np.abs(self.v) / scale))
        return float(0.1 * np.cbrt(self.tolerance) * (min(remaining, 1 / rate) if rate > 0 else remaining))
