"""The schemes of [Welch07] in plain NumPy, equations 43 and 44 by number; must not import the package.

Read it beside the paper. What the paper takes as constant (M, F, Q, T) or leaves out (constraints with time) follows
docs/theory.md, chapter 13: the predictor sees Phi(q_n, t_{n+1}), the corrector everything at the half step. The
corrector is repeated once with the velocities it has found ("corrected"), or not ("printed"); with constant forces and
masses in the plane both are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.planar import System

Vector = NDArray[np.float64]
TINY = 1e-30  # a complex step has no cancellation, so it may be as small as this


def multipliers(G: Vector, M: Vector, right: Vector) -> Vector:
    """lam of [G M^-1 G^T] lam = right."""
    return np.asarray(np.linalg.solve(G @ np.linalg.solve(M, G.T), right))


# ---------------------------------------------------------------- generalised coordinates, eq. 44


class Generalised(NamedTuple):
    t: float
    q: Vector
    qd: Vector
    lam: Vector


def predicted(system: System, at: Generalised, dt: float) -> Generalised:
    """Eq. 44a: the first-order scheme."""
    t, q, qd, _ = at
    M, Phi_q, Q = system.mass(q), system.rows(t, q), system.force(t, q, qd)
    Phi = system.constraints(t + dt, q)
    free = np.linalg.solve(M, Q)
    lam_p = multipliers(Phi_q, M, Phi / dt**2 + Phi_q @ qd / dt + Phi_q @ free)
    qd_p = qd + dt * free - dt * np.linalg.solve(M, Phi_q.T @ lam_p)
    return Generalised(t + dt, q + dt * qd_p, qd_p, lam_p)


def corrected(system: System, at: Generalised, p: Generalised, qd_h: Vector) -> Generalised:
    """Eq. 44b, with the velocity qd_h in the forces."""
    t, q, qd, _ = at
    dt = p.t - t
    t_h, q_h = t + dt / 2, (q + p.q) / 2
    M, Phi_q, Q = system.mass(q_h), system.rows(t_h, q_h), system.force(t_h, q_h, qd_h)
    Phi_p = system.constraints(p.t, p.q)
    free = np.linalg.solve(M, Q)
    lam = multipliers(Phi_q, M, 2 * Phi_p / dt**2 + 2 / dt * Phi_q @ (qd - p.qd) + Phi_q @ free)
    qd_next = qd - dt * np.linalg.solve(M, Phi_q.T @ lam) + dt * free
    return Generalised(p.t, q + dt / 2 * (qd_next + qd), qd_next, lam)


def second_order(system: System, at: Generalised, dt: float, form: str = "corrected") -> Generalised:
    """Eq. 44; the corrected form repeats the corrector once."""
    p = predicted(system, at, dt)
    next_ = corrected(system, at, p, (at.qd + p.qd) / 2)
    return next_ if form == "printed" else corrected(system, at, p, (at.qd + next_.qd) / 2)


# ---------------------------------------------------------------- bodies in space, eq. 43


class Spatial(NamedTuple):
    """r, e, rdot and omega (body axes) have a row for each body."""

    t: float
    r: Vector
    e: Vector
    rd: Vector
    omega: Vector
    lam: Vector


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Masses, inertias in body axes, forces, torques in body axes, and constraints of r and e."""

    mass: Vector
    J: Vector  # n x 3 x 3
    force: Callable[[Spatial], Vector]
    torque: Callable[[Spatial], Vector]
    constraints: Callable[[float, Any, Any], Any]

    @property
    def M(self) -> Vector:
        """Of all (rdot, omega)."""
        n = len(self.mass)
        M = np.zeros((6 * n, 6 * n))
        for k in range(n):
            M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = self.mass[k] * np.eye(3)
            M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = self.J[k]
        return M

    def rows(self, t: float, r: Vector, e: Vector) -> Vector:
        """Phi_r and Phi_pi of all bodies, by complex steps along displacements and virtual rotations (eq. 1)."""
        columns = []
        for k in range(len(r)):
            for d in range(6):
                way = np.eye(3)[d % 3] * 1j * TINY
                r_way, e_way = r.astype(complex), e.astype(complex)
                if d < 3:
                    r_way[k] += way
                else:
                    e_way[k] += G(way) @ e[k]
                columns.append(np.imag(self.constraints(t, r_way, e_way)) / TINY)
        return np.array(columns).T

    def loads(self, at: Spatial) -> Vector:
        """F and T - omega~ J omega."""
        gyroscopic = np.cross(at.omega, np.einsum("kij,kj->ki", self.J, at.omega))
        return np.hstack([self.force(at), self.torque(at) - gyroscopic]).ravel()


def G(omega: Any) -> Any:
    """Eq. 11."""
    x, y, z = omega
    return 0.5 * np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])


def unit(e: Vector) -> Vector:
    """Eq. 22 is the first step of Newton's iteration to this."""
    return np.asarray(e / np.linalg.norm(e, axis=1)[:, None])


def speeds(at: Spatial) -> Vector:
    return np.hstack([at.rd, at.omega]).ravel()


def split(speed: Vector) -> tuple[Vector, Vector]:
    parts = speed.reshape(-1, 6)
    return parts[:, :3], parts[:, 3:]


def predicted_in_space(body: Mechanism, at: Spatial, dt: float) -> Spatial:
    """Eq. 43a."""
    M, Phi_q, loads, v = body.M, body.rows(at.t, at.r, at.e), body.loads(at), speeds(at)
    Phi = body.constraints(at.t + dt, at.r, at.e)
    free = np.linalg.solve(M, loads)
    lam_p = multipliers(Phi_q, M, Phi / dt**2 + Phi_q @ v / dt + Phi_q @ free)
    rd_p, omega_p = split(v + dt * free - dt * np.linalg.solve(M, Phi_q.T @ lam_p))
    e_p = [np.linalg.solve(np.eye(4) - dt * G(w), e) for w, e in zip(omega_p, at.e, strict=True)]
    return Spatial(at.t + dt, at.r + dt * rd_p, unit(np.array(e_p)), rd_p, omega_p, lam_p)


def corrected_in_space(body: Mechanism, at: Spatial, p: Spatial, v_h: Vector) -> Spatial:
    """Eq. 43b, with the velocities v_h in the forces."""
    dt, v = p.t - at.t, speeds(at)
    r_h, e_h = (at.r + p.r) / 2, unit((at.e + p.e) / 2)
    half = Spatial(at.t + dt / 2, r_h, e_h, *split(v_h), at.lam)
    M, Phi_q, loads = body.M, body.rows(half.t, r_h, e_h), body.loads(half)
    Phi_p = body.constraints(p.t, p.r, p.e)
    free = np.linalg.solve(M, loads)
    lam = multipliers(Phi_q, M, 2 * Phi_p / dt**2 + 2 / dt * Phi_q @ (v - speeds(p)) + Phi_q @ free)
    rd, omega = split(v - dt * np.linalg.solve(M, Phi_q.T @ lam) + dt * free)
    half_turns = [dt / 2 * G((w + w_n) / 2) for w, w_n in zip(omega, at.omega, strict=True)]
    e = [np.linalg.solve(np.eye(4) - A, (np.eye(4) + A) @ e_n) for A, e_n in zip(half_turns, at.e, strict=True)]
    return Spatial(p.t, at.r + dt / 2 * (rd + at.rd), unit(np.array(e)), rd, omega, lam)


def second_order_in_space(body: Mechanism, at: Spatial, dt: float, form: str = "corrected") -> Spatial:
    """Eq. 43; the corrected form repeats the corrector once."""
    p = predicted_in_space(body, at, dt)
    next_ = corrected_in_space(body, at, p, (speeds(at) + speeds(p)) / 2)
    return next_ if form == "printed" else corrected_in_space(body, at, p, (speeds(at) + speeds(next_)) / 2)
