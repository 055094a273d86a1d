"""HHT and its relatives in plain NumPy: [Negrut05] sections 2 and 3, by number; must not import the package.

Read it beside the paper. Two forms of the equations of motion: "printed" is eq. 11a; "corrected" keeps the acceleration
that balances the forces, which makes the method second order where M depends on q (docs/theory.md, chapter 5).
What the paper leaves open (marked "choice") is decided as in solver/schemes/newmark.hpp and solver/driver.cpp, so that
both make the same steps with the same iterations. `Decisions` tells how close a decision was, since rounding may turn
one.

Differential states X come in two ways: "corrected" gives them the recursion of the velocities (docs/theory.md, 5.5),
"paper" is eq. 9a. V and F, one vector Y here, are extrapolated as the other
unknowns; they have to settle, but count in no error.

The relatives differ in four numbers (docs/theory.md, chapter 15); index 2 adds a correction e of the positions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.planar import Instant, System, derivative, partial

Vector = NDArray[np.float64]

c = 1e-3  # of eq. 45
SAFETY = 0.9  # s of eq. 37b
CROWDED = 0.01  # choice: a past step below this fraction of the present one is no history
EVEN = 1.35  # choice: steps whose sizes differ by less are treated as equal (T5.18)
NEAREST = 0.25  # choice: times of a_n and a are at least this part of a step apart
MOST_DAMPED, SLOW, LEAST_PART = 20, 0.3, 1 / 64  # choice: damped iterations, rate that asks for a matrix, least part
CALM = 4  # choice: steps that do not grow, from one on whose iteration was damped
HIGHEST_DEGREE = 3  # "a polynomial of order up to three", section 3.5


class StepFailed(Exception):
    """The corrector gave up with a fixed step, or the step size became too small."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Named as in the package; `rho` is that of eq. 9a or, in generalised-alpha, the spectral radius."""

    scheme: str = "hht"
    index: int = 3
    gamma: float = 0.5  # of newmark
    beta: float = 0.25  # of newmark
    alpha: float = -0.3
    form: str = "corrected"
    estimate: str = "paper"
    weights: str = "model"
    states: str = "corrected"
    rho: float = 0.55
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
    unknowns: Vector


class Member(NamedTuple):
    """What tells one member of the family from another (T15.1), with the constant of its local error."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    constant: float

    @property
    def shift(self) -> float:
        """How far a runs ahead of qdd, over h (T15.2)."""
        return self.alpha_m - self.alpha_f

    @property
    def excess(self) -> float:
        """0 where the member is of second order."""
        return self.gamma + self.shift - 1 / 2

    def after(self, last_h: float, h: float) -> tuple[Member, float]:
        """The formula of a step by h after one by last_h, and the times of a_n and a apart, over h (T5.9)."""
        apart = max(1 + self.shift - self.shift * last_h / h, NEAREST)
        behind = 1 + self.shift - apart  # a_n belongs to t_n + behind h
        gamma = (1 / 2 + self.excess - behind) / apart
        beta = self.beta + ((gamma + 1 / 2) ** 2 - (self.gamma + 1 / 2) ** 2) / 4
        if self.shift != 0 and uneven(last_h, h):
            beta = gamma / 2
        return Member(self.alpha_m / apart, self.alpha_f, beta, gamma, self.constant), apart


def uneven(last_h: float, h: float) -> bool:
    return last_h > EVEN * h or h > EVEN * last_h


def safe(alpha_m: float, alpha_f: float, beta: float) -> float:
    """T15.3; of HHT, eq. 25."""
    return beta - (1 - alpha_m) / (6 * (1 - alpha_f))


def sharp(shift: float) -> float:
    """T15.4: of a in steady motion."""
    return 1 / 12 + shift**2 / 4


def member(o: Options) -> Member:
    if o.scheme == "newmark":
        return Member(0.0, 0.0, o.beta, o.gamma, max(abs(o.beta - 1 / 6), 1 / 12) + o.gamma - 1 / 2)  # T15.5
    if o.scheme == "trapezoidal":
        return Member(0.0, 0.0, 1 / 4, 1 / 2, 1 / 12)
    if o.scheme == "hht":
        alpha_m, alpha_f = 0.0, -o.alpha
    else:  # Chung and Hulbert
        alpha_m, alpha_f = (2 * o.rho - 1) / (o.rho + 1), o.rho / (o.rho + 1)
    shift = alpha_m - alpha_f
    beta, gamma = (1 - shift) ** 2 / 4, 1 / 2 - shift  # of HHT, eq. 6
    constant = sharp(shift) if o.estimate == "sharp" else safe(alpha_m, alpha_f, beta)
    return Member(alpha_m, alpha_f, beta, gamma, constant)


class Unknowns(NamedTuple):
    """In the order of eq. 12; Y is V and F, gap is G e/h of the stabilised form."""

    a: Vector
    lam: Vector
    Xdot: Vector
    Y: Vector
    gap: Vector = np.zeros(0)


class Trial(NamedTuple):
    """What the corrector found for one step; `done` is False where it gave up."""

    z: Unknowns
    a: Vector  # of the last iteration, which the error is estimated from
    done: bool
    rough: bool = False  # the iteration was damped, or failed


class Sizes(NamedTuple):
    """Of one group of unknowns, as fractions of the tolerated local error: the last correction, and the whole step."""

    correction: float
    step: float
    places: float  # the part of the coordinates in the correction


@dataclass
class Group:
    """How the coordinates or the states converge within one step."""

    size: float = 0.0  # of the last correction
    converged: bool = False


@dataclass
class Iteration:
    """Where the corrector stands within one step."""

    groups: list[Group]
    k: int = 0
    renewed_at: int = 0  # iteration in which the matrix was computed; 0 = it is an old one
    renew: bool = False
    diverged: bool = False
    open: float = 0.0  # constraint violation when last looked at

    @property
    def converged(self) -> bool:
        return all(group.converged for group in self.groups)


@dataclass
class Damping:
    """The natural monotonicity test (T5.19): of a correction that makes the next one larger, half is taken."""

    z: Vector = field(default_factory=lambda: np.zeros(0))  # the next iterate
    begin: Vector = field(default_factory=lambda: np.zeros(0))
    size: float = 0.0  # of the last correction that was taken
    part: float = 1.0

    slow: bool = False  # the correction fell by little

    def goes_on(self, decisions: Decisions, size: float, at: Iteration, begin: Vector, end: Vector) -> bool:
        """Whether the correction from `begin` to `end` is taken; the first of a new matrix always is."""
        fresh, self.slow = at.renewed_at == at.k, False
        if not math.isfinite(size):
            return False
        if not fresh and self.size > 0:
            if not decisions.at_most(size, (1 - self.part / 4) * self.size):
                return False
            self.slow = not decisions.at_most(size, SLOW * at.groups[0].size)
        self.begin, self.change, self.size, self.part = begin, end - begin, size, 1.0
        return True

    def halve(self) -> bool:
        self.part /= 2
        if self.size == 0 or self.part < LEAST_PART:
            return False
        self.z = self.begin + self.part * self.change
        return True


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
        self.member = self.use = member(self.options)
        self.apart = 1.0
        self.constant = self.member.constant
        self.stabilised = self.options.index == 2
        self.by_paper = self.options.states == "paper"
        self.rho = self.options.rho

    def start(self, q: Vector, v: Vector) -> None:
        """Consistent unknowns at t = 0; empty history."""
        s = self.system
        self.t, self.h, self.q, self.v, self.X = 0.0, 0.0, q, v, s.start_states()
        at = s.consistent(0.0, q, v, self.X)
        self.a, self.lam, self.Xdot, self.Y = at.a, at.lam, at.Xdot, at.Y
        self.qdd, self.w, self.last_h = self.a, self.Xdot, 0.0
        self.gap = np.zeros(len(self.lam) if self.stabilised else 0)
        self.e = np.zeros(len(q))
        self.stabilised = len(self.gap) > 0
        self.balance = self.force_balance()
        unit_floor = (self.options.weights == "paper") | s.rotational
        floor = np.where(unit_floor, 1.0, s.length)  # choice: the model's length
        self.Y_q = np.maximum(floor, np.abs(q))  # after eq. 34
        self.Y_X = np.maximum(1.0, np.abs(self.X))
        p, n_d = len(q), len(self.X)
        self.psi_q = p * self.tolerance**2 / self.constant**2  # eq. 35a
        self.psi_d = n_d * self.tolerance**2 / (self.rho - 1 / 2) ** 2 if self.by_paper else 0.0  # eq. 36a
        self.history = [Point(0.0, self.unknowns)]  # newest first
        self.degree = self.calm = 0
        self.matrix = Matrix()
        self.count: Counter[str] = Counter()
        self.decisions = Decisions()

    def take_over(self, t: float, h: float, q: Vector, v: Vector, a: Vector, lam: Vector, **states: Vector) -> None:
        """Continue from numbers that differ by rounding only, so that rounding cannot grow from step to step."""
        self.t, self.h, self.q, self.v, self.a, self.lam = t, h, q, v, a, lam
        for name in ("X", "Xdot", "Y"):
            setattr(self, name, states.get(name, getattr(self, name)))
        self.history[0] = Point(t, self.unknowns)
        self.balance = self.force_balance()

    @property
    def unknowns(self) -> Vector:
        return np.concatenate([self.a, self.lam, self.Xdot, self.Y, self.gap])

    def parts(self, unknowns: Vector) -> Unknowns:
        ends = np.cumsum([len(self.a), len(self.lam), len(self.Xdot), len(self.Y)])
        return Unknowns(*np.split(unknowns, ends))

    def force_balance(self) -> Vector:
        """(Phi_q^T lam - Q)_n of eq. 11a."""
        s = self.system
        at = Instant(self.t, self.q, self.v, 0 * self.a, self.lam, self.Xdot, self.X, self.Y)
        return s.rows(self.t, self.q).T @ self.lam - s.load(at)

    def norm_q(self, x: Vector) -> float:
        """||x||_q, after eq. 35b."""
        return float(np.sqrt(np.sum((x / self.Y_q) ** 2)))

    def norm_X(self, x: Vector) -> float:
        """||x||_X, after eq. 36b."""
        return float(np.sqrt(np.sum((x / self.Y_X) ** 2)))

    # ---------------------------------------------------------------- section 2: the discretised equations

    def newmark(self, a: Vector, h: float) -> tuple[Vector, Vector]:
        """q and v at t_{n+1}; e is zero but for the stabilised form (T15.8)."""
        a_n, beta, gamma = self.a, self.use.beta, self.use.gamma
        q = self.q + h * self.v_start + h**2 / 2 * ((1 - 2 * beta) * a_n + 2 * beta * (a + self.e))  # eq. 2a
        v = self.v_start + h * ((1 - gamma) * a_n + gamma * a)  # eq. 2b
        return q, v

    def states(self, Xdot: Vector, h: float) -> Vector:
        """X at t_{n+1}."""
        if self.by_paper:
            return self.X + h * self.Xdot + h * self.rho * (Xdot - self.Xdot)  # eq. 9a
        gamma = self.use.gamma
        return self.X + h * ((1 - gamma) * self.w + gamma * self.ahead(Xdot))  # T15.6

    @property
    def dX(self) -> float:
        """dX_{n+1}/dXdot_{n+1} over h; eq. 9b."""
        return self.rho if self.by_paper else self.use.gamma * self.dw

    @property
    def dw(self) -> float:
        """dw/dXdot, as da/dqdd (T15.1)."""
        return (1 - self.use.alpha_f) / (1 - self.use.alpha_m)

    def ahead(self, Xdot: Vector) -> Vector:
        """w_{n+1} of T15.6: Xdot runs ahead in it, as qdd does in a."""
        m = self.use
        return ((1 - m.alpha_f) * Xdot + m.alpha_f * self.Xdot - m.alpha_m * self.w) / (1 - m.alpha_m)

    def choose_formula(self, h: float) -> None:
        """That of a step by h (T5.9); the printed form has one for all."""
        self.use, self.apart = self.member, 1.0
        if self.options.form == "corrected":
            self.use, self.apart = self.member.after(self.last_h, h)

    def choose_velocities(self, h: float) -> None:
        """Choice (T5.18): what v_n has across the joints is of second order in h; it shrinks as steps do."""
        self.v_start = self.v
        if self.stabilised or len(self.lam) == 0 or not uneven(self.last_h, h) or h >= self.last_h:
            return
        s, at = self.system, Instant(self.t, self.q, self.v, self.qdd, self.lam, self.Xdot, self.X, self.Y)
        if self.matrix.values is None:
            self.renew_matrix(at, h)
        across = self.solved(s.speed(at.t, at.q, at.v))[: len(self.v)]
        self.v_start = self.v - (1 - (h / self.last_h) ** 2) * across

    def balanced(self, a: Vector) -> Vector:
        """What M is multiplied with in e1: a/(1 + alpha) as printed, qdd_{n+1} of T15.1 in the corrected form."""
        m = self.use
        if self.options.form == "printed":
            return a / (1 - m.alpha_f)
        return ((1 - m.alpha_m) * a + m.alpha_m * self.a - m.alpha_f * self.qdd) / (1 - m.alpha_f)

    def instant(self, z: Unknowns, h: float) -> Instant:
        """Everything at t_{n+1}."""
        q, v = self.newmark(z.a, h)
        return Instant(self.t + h, q, v, self.balanced(z.a), z.lam, z.Xdot, self.states(z.Xdot, h), z.Y)

    def residual(self, z: Unknowns, h: float, first: bool) -> Vector:
        """e1 to e5 of eq. 13; e4 and e5 are one. Stabilised, e2 holds velocities, open before the first correction."""
        s, at = self.system, self.instant(z, h)
        e1 = s.mass(at.q) @ at.a + s.rows(at.t, at.q).T @ at.lam - s.load(at)
        if self.options.form == "printed":
            e1 = e1 + self.use.alpha_f / (1 - self.use.alpha_f) * self.balance  # eq. 11a
        e2 = self.open_positions(at, h)
        if self.stabilised:
            e2 = s.speed(at.t, at.q, at.v) / (self.use.gamma * h) if first else 0 * e2
        e3 = s.differential(at)
        e4 = at.Y - s.definitions(at)
        return np.concatenate([e1, e2, e3, e4])

    def open_positions(self, at: Instant, h: float) -> Vector:
        """e2 of eq. 13."""
        return self.system.constraints(at.t, at.q) / (self.use.beta * h**2)

    def coefficients(self, at: Instant, h: float) -> NDArray[np.float64]:
        """The matrix of eq. 12, with eq. 14 and the gamma h term that the paper leaves out."""
        s = self.system
        G, m = s.rows(at.t, at.q), len(at.lam)
        Ma_q = derivative(lambda q: s.mass(q) @ at.a, at.q)
        GTlam_q = derivative(lambda q: s.rows(at.t, q).T @ at.lam, at.q)
        M_hat = s.mass(at.q) / self.dw + (Ma_q + GTlam_q) * self.use.beta * h**2  # eq. 14, without Q
        Q, d, f = (self.row_of(function, at, h) for function in (s.load, s.differential, s.definitions))
        none = np.zeros((m, m)), np.zeros((m, len(at.Xdot))), np.zeros((m, len(at.Y)))
        return np.block([
            [M_hat - Q.a, G.T - Q.lam, -Q.Xdot, -Q.Y],
            [G, *none],
            [d.a, d.lam, d.Xdot, d.Y],
            [-f.a, -f.lam, -f.Xdot, np.eye(len(at.Y)) - f.Y],
        ])  # fmt: skip

    def row_of(self, f: Callable[[Instant], Vector], at: Instant, h: float) -> Unknowns:
        """The derivatives of f by the unknowns, as in the rows of eq. 12; a function of none has no rows."""
        f_ = Instant(0, *(self.partial(f, at, name) for name in Instant._fields[1:]))
        return Unknowns(
            a=f_.a / self.dw + self.use.gamma * h * f_.v + self.use.beta * h**2 * f_.q,
            lam=f_.lam,
            Xdot=f_.Xdot + self.dX * h * f_.X,
            Y=f_.Y,
        )

    def partial(self, f: Callable[[Instant], Vector], at: Instant, name: str) -> NDArray[np.float64]:
        """Saves the time for what is zero anyway."""
        if len(getattr(at, name)) > 0 and (self.system.coupled or name in ("q", "v")):
            return partial(f, at, name)
        return np.zeros((len(f(at)), len(getattr(at, name))))

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
        misses = [self.norm_q((self.unknowns - self.extrapolated(d, self.t))[:p]) for d in range(tried + 1)]
        best = int(np.argmin(misses))
        for degree, miss in enumerate(misses):
            if degree != best:
                self.decisions.at_most(misses[best], miss)
        self.degree = min(tried + 1, HIGHEST_DEGREE) if best == tried else best

    # ---------------------------------------------------------------- section 3.4: correction

    def correct(self, h: float) -> Trial:
        """Choice: before a step is cut, it is tried again with a new matrix and damped."""
        self.choose_formula(h)
        self.choose_velocities(h)
        trial = self.iterate(h)
        if trial.done:
            return trial
        self.count["retried"] += 1
        self.matrix.values = None
        return self.iterate(h, Damping())._replace(rough=True)

    def iterate(self, h: float, damping: Damping | None = None) -> Trial:
        """Newton-like iteration on eq. 12."""
        predicted = self.extrapolated(min(self.degree, self.usable(h)), self.t + h)
        z = self.parts(predicted)
        if self.stabilised:
            z = self.predicted_correction(z, h)
        at = Iteration(groups=[Group() for _ in self.sizes(z, z, h, z.a)], renew=self.matrix_is_old(h))
        while at.k < (MOST_DAMPED if damping else self.options.max_iterations):
            at.k += 1
            if at.renew:
                at.renewed_at = at.k
                self.renew_matrix(self.instant(z, h), h)
            before = np.append(np.concatenate(z), self.e)
            delta, moved = self.correction(z, h, at.k == 1)
            self.count["iterations"] += 1
            z = Unknowns(*(x + dx for x, dx in zip(z, delta, strict=True)))
            sizes, a = self.sizes(delta, z, h, moved), z.a
            if self.stabilised:
                z = self.with_closed_velocities(z, h)
            if damping and not at.converged:
                end = np.append(np.concatenate(z), self.e)
                if not damping.goes_on(self.decisions, sizes[0].correction, at, before, end):
                    at.renew = False
                    if not damping.halve():
                        break
                    z, self.e = self.parts(damping.z[: len(predicted)]), damping.z[len(predicted) :]
                    continue
            self.judge(at, sizes)
            at.renew = at.renew or (damping is not None and damping.slow)
            if at.diverged and not damping:
                break
            if at.converged and self.settled(at, delta.Y, z.Y) and self.closed(at, a, z.a, h):
                self.note_iterations(at)
                return Trial(z, a, True)
        return Trial(z, z.a, False, True)

    def sizes(self, delta: Unknowns, z: Unknowns, h: float, moved: Vector) -> list[Sizes]:
        """Of the groups of unknowns whose convergence is tested: a and, if they are not measured with it, X."""
        in_a, places = (self.norm_q(x) * h**2 / math.sqrt(self.psi_q) for x in (delta.a, delta.a + moved))  # eq. 45
        q = Sizes(max(in_a, places), math.sqrt(self.theta_q(z.a, h)), places)
        if len(z.Xdot) == 0:
            return [q]
        if self.by_paper:
            of_X = self.norm_X(delta.Xdot) * h / math.sqrt(self.psi_d)  # eq. 46
            return [q, Sizes(of_X, math.sqrt(self.theta_d(z.Xdot, h)), places)]
        of_X = self.dX * h * self.norm_X(delta.Xdot) / (math.sqrt(len(z.Xdot)) * self.tolerance)
        return [Sizes(max(q.correction, of_X), q.step, places)]

    # ---------------------------------------------------------------- theory 15.3: the stabilised form of index 2

    def solved(self, rows: Vector) -> Vector:
        """[Mhat G^T; G 0]^-1 [0; rows], with what belongs to Xdot and Y in it."""
        assert self.matrix.values is not None
        right = np.zeros(len(self.matrix.values))
        right[len(self.a) : len(self.a) + len(rows)] = rows
        return np.linalg.solve(self.matrix.values, right)

    def predicted_correction(self, z: Unknowns, h: float) -> Unknowns:
        """Choice: e belongs to the extrapolated G e by the matrix at hand, and is 0 without one."""
        self.e = np.zeros(len(self.a))
        if self.matrix.values is None:
            return z._replace(gap=np.zeros(len(z.gap)))
        self.e = self.solved(h * z.gap)[: len(self.a)]
        return z

    def correction(self, z: Unknowns, h: float, first: bool) -> tuple[Unknowns, Vector]:
        """Of the unknowns (eq. 12) and of e, which is moved at once."""
        assert self.matrix.values is not None
        residual = self.residual(z, h, first)
        delta = np.linalg.solve(self.matrix.values, -residual)
        if not self.stabilised:
            return self.parts(delta), np.zeros(len(z.a))
        at, p = self.instant(z, h), len(z.a)
        left = self.open_positions(at, h) - residual[p : p + len(z.lam)]  # T15.9
        moved = -self.solved(left)[:p]
        self.e = self.e + moved
        return self.parts(np.concatenate([delta, -left / h])), moved

    def with_closed_velocities(self, z: Unknowns, h: float) -> Unknowns:
        """Choice: by the matrix at hand, at the same positions."""
        at = self.instant(z, h)
        speed = self.system.speed(at.t, at.q, at.v)
        delta = self.parts(np.append(self.solved(-speed / (self.use.gamma * h)), 0 * z.gap))
        self.e = self.e - delta.a
        return Unknowns(*(x + dx for x, dx in zip(z, delta, strict=True)))

    def judge(self, at: Iteration, sizes: list[Sizes]) -> None:
        """Whether to stop (eqs. 45 and 46, "simultaneously satisfied"), to renew the matrix or to give up."""
        at.renew = False
        if not all(math.isfinite(size.correction) for size in sizes):
            at.diverged = True
            return
        if at.converged:
            self.count["extra_iterations"] += 1  # only for the sake of the constraints
            return
        for group, size in zip(at.groups, sizes, strict=True):
            if not group.converged:
                self.judge_group(at, group, size)

    def judge_group(self, at: Iteration, group: Group, sizes: Sizes) -> None:
        """Choice (T5.8): where the error is below the tolerance c is relative to it, as before eq. 39, but never below
        rounding.
        """
        before, group.size, size = group.size, sizes.correction, sizes.correction
        rounding = np.finfo(float).eps / self.tolerance
        allowed = max(self.options.stop_ratio * min(1.0, sizes.step), rounding)
        if at.k == 1:
            group.converged = self.decisions.at_most(size, allowed)  # choice: a tiny first correction ends it
            return
        xi = size / before  # eq. 43
        left = xi / (1 - xi) * size if xi < 1 else math.inf
        tests = [(size, rounding), (left, allowed)]  # eqs. 45 and 46
        if at.renewed_at > 0 and not self.decisions.at_most(xi, 0.5):
            small = 16000 * rounding  # choice: noise, which no iteration makes smaller
            of_states = self.decisions.at_most(sizes.places, small) and size > sizes.places
            tests.append((size, max(small, self.options.stop_ratio) if of_states else small))
        group.converged = self.decisions.either(*tests)
        if not group.converged:
            self.judge_slow(at, xi)

    def judge_slow(self, at: Iteration, xi: float) -> None:
        """Choice: an old matrix that does not halve the error is renewed; a new one has two iterations to do better."""
        if at.renewed_at == 0:
            at.renew = at.renew or not self.decisions.at_most(xi, 0.5)
        elif at.k - at.renewed_at >= 2:
            at.diverged = at.diverged or not self.decisions.at_most(xi, 1.0)

    def settled(self, at: Iteration, delta: Vector, Y: Vector) -> bool:
        """Choice: Y that moves nothing is in no error, but has to stay near its equations."""
        if len(Y) == 0 or self.decisions.at_most(float(np.max(np.abs(delta) / np.maximum(1.0, np.abs(Y)))), 1e-3):
            return True
        at.renew = at.renew or at.k > 1
        return False

    def closed(self, at: Iteration, of_error: Vector, a: Vector, h: float) -> bool:
        """Choice: the constraints hold to a fraction of the model's length and of the step's error, or to rounding."""
        s, o = self.system, self.options
        if len(self.lam) == 0:
            return True
        self.count["constraint_checks"] += 1
        q, _ = self.newmark(a, h)
        scaled = np.abs(s.constraints(self.t + h, q)) / np.where(s.rotational_rows, 1.0, s.length)
        before, at.open = at.open, float(np.max(scaled))
        of_step = o.stop_ratio * math.sqrt(self.theta_q(of_error, h)) * self.tolerance
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

    def renew_matrix(self, at: Instant, h: float) -> None:
        self.count["jacobians"] += 1
        self.matrix.values, self.matrix.h = self.coefficients(at, h), h

    def note_iterations(self, at: Iteration) -> None:
        if at.renewed_at > 0:
            fresh = 1 if self.last_h == 0 else at.k - at.renewed_at + 1  # choice: the first step is predicted worst
            self.matrix.fresh_iterations, self.matrix.lost = fresh, 0
        else:
            self.matrix.lost += max(0, at.k - self.matrix.fresh_iterations)

    # ---------------------------------------------------------------- sections 3.2, 3.3: accuracy and step size

    def theta_q(self, a: Vector, h: float) -> float:
        """Theta_q of eq. 37a, with x = a_{n+1} - a_n (eq. 17c)."""
        return self.norm_q((a - self.a) / self.apart) ** 2 * h**4 / self.psi_q

    def theta_d(self, Xdot: Vector, h: float) -> float:
        """Theta_d of eq. 38a, with x_d = Xdot_{n+1} - Xdot_n (after eq. 28)."""
        return self.norm_X(Xdot - self.Xdot) ** 2 * h**2 / self.psi_d

    def theta_alpha(self, Xdot: Vector, h: float) -> float:
        """(e^d/eps)^2 of the recursion of velocities: eq. 34 with T15.6, which needs three points."""
        m = self.member
        shift, first_order = m.shift, m.excess * h * (Xdot - self.Xdot)
        curved = Xdot - self.Xdot  # choice (T15.7): h Xdd for h^2 Xddd in the first step, which nothing is known of
        if len(self.history) > 1:
            (t, newest), (before, older) = ((p.t, self.parts(p.unknowns).Xdot) for p in self.history[:2])
            second = ((Xdot - newest) / h - (newest - older) / (t - before)) / (self.t + h - before)
            curved = h**2 * 2 * second
        delta = (1 / 12 - shift / 2 - shift**2 + shift * m.alpha_m) * h * curved + first_order
        return self.norm_X(delta) ** 2 / (len(Xdot) * self.tolerance**2)

    def exponents(self, trial: Trial, h: float) -> list[tuple[float, int]]:
        """Each Theta with the root that belongs to it: eqs. 37b and 38b."""
        thetas, z = [(self.theta_q(trial.a, h), 6)], trial.z
        if len(z.Xdot) > 0:
            thetas.append((self.theta_d(z.Xdot, h), 4) if self.by_paper else (self.theta_alpha(z.Xdot, h), 6))
        return thetas

    def accept(self, trial: Trial, h: float) -> None:
        at = self.instant(trial.z, h)
        self.w = trial.z.Xdot if self.by_paper else self.ahead(trial.z.Xdot)
        self.calm = CALM if trial.rough else max(0, self.calm - 1)
        self.t, self.q, self.v, self.X, self.qdd = at.t, at.q, at.v, at.X, at.a
        self.a, self.lam, self.Xdot, self.Y, self.gap = trial.z
        self.last_h = h
        self.Y_q = np.maximum(self.Y_q, np.abs(self.q))
        self.Y_X = np.maximum(self.Y_X, np.abs(self.X))
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
            thetas = self.exponents(trial, h) if trial.done else []
            if trial.done and self.decisions.at_most(max(theta for theta, _ in thetas), 1.0):  # eqs. 47c and 48c
                break
            self.count["rejected"] += 1
            self.count["failed"] += not trial.done
            rejected = True
            self.calm = CALM + 1 if trial.rough else self.calm
            self.h = h * (min(max(self.proposed(thetas), 0.2), 0.9) if trial.done else 0.25)  # bounded
            if self.h < max(self.smallest_step, 4 * 2.2e-16 * self.t):
                raise StepFailed(f"t = {self.t}, h = {self.h}")
        self.accept(trial, h)
        if last:
            self.t = t_end
        self.choose_step(h, h * self.growth(thetas, rejected), rejected)

    def proposed(self, thetas: list[tuple[float, int]]) -> float:
        """h_new / h, the smaller of eqs. 37b and 38b; choice: errors below 1e-12 count as that."""
        return min(SAFETY * max(theta, 1e-24 ** (root / 6)) ** (-1 / root) for theta, root in thetas)

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

    def growth(self, thetas: list[tuple[float, int]], rejected: bool) -> float:
        """Choice: no growth by less than a third (the matrix is kept), after a rejection, or soon after an iteration
        that failed; five at most.
        """
        factor = self.proposed(thetas)
        grows = not self.decisions.at_most(factor, 1.0)
        if grows and (rejected or self.calm > 0 or self.decisions.at_most(factor, 1.35)):
            return 1.0
        return min(max(factor, 0.2), 5.0)

    def first_step(self, remaining: float) -> float:
        """Choice: a tenth of eps^(1/3) of the time scale of the start."""
        scale = np.where(self.system.rotational, 1.0, self.system.length)
        rate = max(np.max(np.sqrt(np.abs(self.a) / scale)), np.max(np.abs(self.v) / scale))
        rate = max(rate, np.max(np.abs(self.Xdot) / np.maximum(1.0, np.abs(self.X)), initial=0.0))
        return float(0.1 * np.cbrt(self.tolerance) * (min(remaining, 1 / rate) if rate > 0 else remaining))
