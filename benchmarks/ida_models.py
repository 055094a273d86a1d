"""The compiled equations in IDA of SUNDIALS, in forms of index 3, 2 and 1; must not know which models are measured.

    index 3      q' = v,           M v' + G^T lam = Q,   Phi = 0;  lam and v out of the error test, as in GSTIFF I3
    index 2      q' = v - G^T mu,  M v' + G^T lam = Q,   Phi = 0,  G v = -Phi_t  (Gear, Gupta, Leimkuhler)
    index 1      q' = v,           M v' + G^T lam = Q,   G v' = gamma

IDA is driven from Python, which a native user would not pay for. So a run is charged with what its evaluations, its
factorisations and solves take in our native core, with the elimination of the smaller matrix of (a, lam), and with
nothing for all that IDA itself does: the least that these counts could cost anybody. The most is that and all time of a
run outside of our Python functions: IDA's own, its dense matrices, and what the wrapper takes to call.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from cases import Ours, Run, Vector, described
from numpy.typing import NDArray
from scipy.sparse import block_diag, coo_array, csr_array, diags_array, eye_array
from sksundae.ida import IDA

from mbdfmu.analyses import CompiledModel

NAME = "IDA"
UNTESTED = 1e12  # absolute tolerance of what is out of the error test
MOST_STEPS = 100_000
REPEATS = 2000  # of a native part, for its time
Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Charge:
    """Seconds of the native parts; the forms of index 2 and 1 need the rates of constraints besides."""

    residual: float
    derivative: float
    rates: float
    rate_derivatives: float
    factorisation: float
    solve: float

    def of(self, statistics: dict[str, Any], rates: bool) -> float:
        """IDA evaluates once for each solve, and factorises each matrix."""
        evaluation, matrix = self.residual + self.solve, self.derivative + self.factorisation
        if rates:
            evaluation, matrix = evaluation + self.rates, matrix + self.rate_derivatives
        return float(statistics["residuals"] * evaluation + statistics["factorisations"] * matrix)


class Peer:
    """A compiled model without states, inputs and unknown forces, in IDA."""

    def __init__(self, model: str) -> None:
        self.compiled = described(model).compile()
        self.q, self.v, self.a, self.lam = self.compiled.start()
        self.map = Coordinates(self.compiled)
        self.native = Ours(model).simulation()

    @cached_property
    def charge(self) -> Charge:
        factorisation, solve, *_ = self.native.factorisation_times(REPEATS)
        residual, derivative, rates, rate_derivatives = self.native.evaluation_times(REPEATS)
        return Charge(
            residual=residual,
            derivative=derivative,
            rates=rates,
            rate_derivatives=rate_derivatives,
            factorisation=factorisation,
            solve=solve,
        )

    def run(self, t_end: float, tolerance: float, form: str) -> Run | None:
        """One simulation without output; None where IDA gives up."""
        equations = FORMS[form](self)
        y, rates = equations.start()
        solver = IDA(
            equations.residual,
            jacfn=equations.jacobian,
            algebraic_idx=list(range(equations.algebraic, len(y))),
            rtol=tolerance,
            atol=equations.tolerances(tolerance),
            max_num_steps=MOST_STEPS,
            max_conv_fails=100,
        )
        begin = time.process_time()
        try:
            solver.init_step(0.0, y, rates)
            found = solver.step(t_end, method="normal", tstop=t_end)
        except RuntimeError:  # what the wrapper raises where a step fails at its first call
            return None
        cpu = time.process_time() - begin
        if not found.success or found.t < t_end:
            return None
        statistics = {"residuals": found.nfev, "factorisations": found.njev, "own": cpu - equations.seconds}
        return Run(cpu=cpu, statistics=statistics, q=self.map.positions(np.asarray(found.y)))

    def charged(self, run: Run, form: str) -> float:
        """s."""
        return self.charge.of(run.statistics, FORMS[form] is not Index3)


class Coordinates:
    """Between the positions of a model, nq numbers with a zero rotation for each spatial body, and those of an ODE."""

    def __init__(self, compiled: CompiledModel) -> None:
        self.nv = compiled.nv
        self.bodies = (compiled.nq - compiled.nv) // 4
        rotations = np.array([6 * b + k for b in range(self.bodies) for k in (3, 4, 5)], dtype=int)
        self.kept = np.setdiff1d(np.arange(compiled.nq), rotations)  # places, then quaternions
        self.places = np.setdiff1d(np.arange(self.nv), rotations)
        self.rotations, self.nq = rotations, len(self.kept)

    def positions(self, y: Vector) -> Vector:
        """Of the model; quaternions of unit length."""
        q = np.zeros(self.nv + 4 * self.bodies)
        q[self.kept] = y[: self.nq]
        e = q[self.nv :].reshape(-1, 4)
        e /= np.linalg.norm(e, axis=1)[:, None]
        return q

    def rates(self, q: Vector, v: Vector) -> Vector:
        """Of the ODE's positions: e' = e o (0, omega)/2."""
        if not self.bodies:
            return v
        turned = _products(q[self.nv :].reshape(-1, 4)) @ v[self.rotations].reshape(-1, 3, 1)
        return np.concatenate([v[self.places], 0.5 * turned.ravel()])

    def rates_by_v(self, q: Vector) -> csr_array:
        """The derivative of `rates` by v."""
        if not self.bodies:
            return eye_array(self.nv, format="csr")
        count = len(self.places)
        blocks = block_diag([eye_array(count), *(0.5 * P for P in _products(q[self.nv :].reshape(-1, 4)))]).tocoo()
        cols = np.concatenate([self.places, self.rotations])[blocks.col]
        return coo_array((blocks.data, (blocks.row, cols)), shape=(self.nq, self.nv)).tocsr()

    def rates_by_q(self, v: Vector) -> csr_array:
        """The derivative of `rates` by the ODE's positions."""
        if not self.bodies:
            return csr_array((self.nq, self.nq))
        blocks = [_spinning(omega) for omega in v[self.rotations].reshape(-1, 3)]
        return block_diag([csr_array((len(self.places),) * 2), *blocks], format="csr")

    def moves(self, q: Vector) -> csr_array:
        """How the model's coordinates move with the ODE's positions: rotations by 2 conj(e) o de."""
        scale = np.ones(self.nv)
        scale[self.rotations] = 4.0  # the columns of e o (0, .)/2 have length 1/2 and are orthogonal
        return diags_array(scale) @ self.rates_by_v(q).T


def _products(e: Matrix) -> Matrix:
    """The matrices of w -> e o (0, w)."""
    w, x, y, z = e.T
    rows = [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
    return np.moveaxis(np.array(rows), 2, 0)


def _spinning(omega: Vector) -> Matrix:
    """The matrix of e -> e o (0, omega)/2."""
    x, y, z = omega / 2
    return np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])


class Equations:
    """What the forms share: y = (q, v, lam, ...)."""

    def __init__(self, peer: Peer) -> None:
        self.peer, self.map, self.native = peer, peer.map, peer.compiled._native
        self.nq, self.nv, self.nc = peer.map.nq, peer.compiled.nv, peer.compiled.nc
        self.algebraic, self.size = self.nq + self.nv, self.nq + self.nv + self.nc
        system = peer.compiled.system
        self.places, self.n = (system.rows, system.cols), system.n
        self.seconds = 0.0  # spent in these functions
        self.nothing = (np.zeros(0),) * 3  # no states, no other unknowns

    def start(self) -> tuple[Vector, Vector]:
        p = self.peer
        y, rates = np.zeros(self.size), np.zeros(self.size)
        y[: self.nq], y[self.nq : self.algebraic], y[self.algebraic :][: self.nc] = p.q[self.map.kept], p.v, p.lam
        rates[: self.nq], rates[self.nq : self.algebraic] = self.map.rates(p.q, p.v), p.a
        return y, rates

    def tolerances(self, tolerance: float) -> Vector:
        """Positions over the model's length and a radian, velocities over the pace of the motion."""
        atol = np.full(self.size, UNTESTED)
        atol[: self.nq] = tolerance * min(1.0, self.peer.compiled.length)
        pace = max(1.0, float(np.sqrt(np.max(np.abs(self.peer.a)))), float(np.max(np.abs(self.peer.v))))
        atol[self.nq : self.algebraic] = tolerance * pace
        return atol

    def split(self, y: Vector) -> tuple[Vector, Vector, Vector]:
        q = self.map.positions(y)
        return q, np.array(y[self.nq : self.algebraic]), np.array(y[self.algebraic : self.algebraic + self.nc])

    def rows(self, t: float, q: Vector, v: Vector, a: Vector, lam: Vector) -> Vector:
        """[M a + G^T lam - Q; Phi]."""
        return np.asarray(self.native.residual(t, q, v, a, lam, *self.nothing))

    def matrix(self, t: float, state: tuple[Vector, ...], moves: tuple[float, float, float]) -> csr_array:
        """Their derivative where a, v and q move; G^T by lam, G in the rows of constraints."""
        values = self.native.derivative(t, *state, *self.nothing, *moves, 0.0)
        return coo_array((values, self.places), shape=(self.n, self.n)).tocsr()

    def residual(self, t: float, y: Vector, yp: Vector, res: Vector) -> None:
        begin = time.process_time()
        self.evaluate(t, y, yp, res)
        self.seconds += time.process_time() - begin

    def jacobian(self, t: float, y: Vector, yp: Vector, res: Vector, cj: float, J: Matrix) -> None:
        begin = time.process_time()
        self.differentiate(t, y, yp, cj, J)
        self.seconds += time.process_time() - begin

    def evaluate(self, t: float, y: Vector, yp: Vector, res: Vector) -> None:
        q, v, lam = self.split(y)
        rows = self.rows(t, q, v, np.array(yp[self.nq : self.algebraic]), lam)
        res[: self.nq] = yp[: self.nq] - self.map.rates(q, self.speeds(t, q, v, y))
        res[self.nq : self.algebraic] = rows[: self.nv]
        self.close(t, (q, v, lam), rows, yp, res[self.algebraic :])

    def differentiate(self, t: float, y: Vector, yp: Vector, cj: float, J: Matrix) -> None:
        q, v, lam = self.split(y)
        state = q, v, np.array(yp[self.nq : self.algebraic]), lam
        by_a, by_v, by_q = (self.matrix(t, state, moves) for moves in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
        nq, nv, end, nc = self.nq, self.nv, self.algebraic, self.nc
        moves, rates = self.map.moves(q), self.map.rates_by_v(q)
        G = by_a[nv : nv + nc, :nv]
        J[:] = 0
        J[:nq, :nq] = (cj * eye_array(nq) - self.map.rates_by_q(v)).toarray()
        J[:nq, nq:end] = -rates.toarray()
        J[nq:end, :nq] = (by_q[:nv, :nv] @ moves).toarray()
        J[nq:end, nq:end] = (cj * by_a[:nv, :nv] + by_v[:nv, :nv]).toarray()
        J[nq:end, end : end + nc] = G.T.toarray()
        self.derive(t, state, G, (moves, rates), cj, J)

    def speeds(self, t: float, q: Vector, v: Vector, y: Vector) -> Vector:
        """At which positions move."""
        return v

    def close(self, t: float, state: tuple[Vector, ...], rows: Vector, yp: Vector, res: Vector) -> None:
        """The rows of constraints."""
        raise NotImplementedError

    def derive(
        self, t: float, state: tuple[Vector, ...], G: csr_array, maps: tuple[csr_array, ...], cj: float, J: Matrix
    ) -> None:
        """Their derivatives."""
        raise NotImplementedError

    def rate_derivatives(self, t: float, state: tuple[Vector, ...]) -> tuple[csr_array, ...]:
        q, v, a, _ = state
        return self.peer.compiled.rate_derivatives(t, q, v, a)


class Index3(Equations):
    """Constraints on positions; velocities are out of the error test too, which at index 3 never gets smaller."""

    def tolerances(self, tolerance: float) -> Vector:
        atol = super().tolerances(tolerance)
        atol[self.nq :] = UNTESTED
        return atol

    def close(self, t: float, state: tuple[Vector, ...], rows: Vector, yp: Vector, res: Vector) -> None:
        res[:] = rows[self.nv :]

    def derive(
        self, t: float, state: tuple[Vector, ...], G: csr_array, maps: tuple[csr_array, ...], cj: float, J: Matrix
    ) -> None:
        J[self.algebraic :, : self.nq] = (G @ maps[0]).toarray()


class Index2(Equations):
    """Constraints on positions and velocities, the former by more multipliers, which stay near zero."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self.size += self.nc

    def speeds(self, t: float, q: Vector, v: Vector, y: Vector) -> Vector:
        still = np.zeros(self.nv)
        mu = np.array(y[self.algebraic + self.nc :])
        pushed = self.rows(t, q, v, still, mu) - self.rows(t, q, v, still, np.zeros(self.nc))  # G^T mu
        return v - pushed[: self.nv]

    def close(self, t: float, state: tuple[Vector, ...], rows: Vector, yp: Vector, res: Vector) -> None:
        res[: self.nc] = rows[self.nv :]
        res[self.nc :] = self.native.rates(t, *state[:2])[0]

    def derive(
        self, t: float, state: tuple[Vector, ...], G: csr_array, maps: tuple[csr_array, ...], cj: float, J: Matrix
    ) -> None:
        nq, end, last = self.nq, self.algebraic, self.algebraic + self.nc
        moves, rates = maps
        J[:nq, last:] = (rates @ G.T).toarray()
        J[end:last, :nq] = (G @ moves).toarray()
        J[last:, :nq] = (self.rate_derivatives(t, state)[0] @ moves).toarray()
        J[last:, nq:end] = G.toarray()


class Index1(Equations):
    """Constraints on accelerations; positions drift."""

    def close(self, t: float, state: tuple[Vector, ...], rows: Vector, yp: Vector, res: Vector) -> None:
        q, v, lam = state
        a, (rows, cols) = np.array(yp[self.nq : self.algebraic]), self.places
        values = self.native.derivative(t, q, v, a, lam, *self.nothing, 1.0, 0.0, 0.0, 0.0)
        closing = (rows >= self.nv) & (cols < self.nv)
        bent = np.bincount(rows[closing] - self.nv, values[closing] * a[cols[closing]], self.nc)  # G a
        res[:] = bent - self.native.rates(t, q, v)[1]

    def derive(
        self, t: float, state: tuple[Vector, ...], G: csr_array, maps: tuple[csr_array, ...], cj: float, J: Matrix
    ) -> None:
        _, by_q, by_v = self.rate_derivatives(t, state)
        J[self.algebraic :, : self.nq] = -(by_q @ maps[0]).toarray()
        J[self.algebraic :, self.nq : self.algebraic] = (cj * G - by_v).toarray()


FORMS: dict[str, type[Equations]] = {"index 3": Index3, "index 2": Index2, "index 1": Index1}
