"""[Haug97] eqs. 20 to 40 in plain NumPy by number, what the manuscript lost restored; must not import the package.

Read it beside the paper. u are dependent, v independent coordinates; the brackets of the paper are what they name.
Restored: (3) tau = -(Phi_q qd)_q qd; (25), (33) tau_udot J; (34) tau_udot H + tau_vdot; (28), (29), (35), (36) Q by
velocities in the terms with gamma h and with J; the subscripts u and v of (M a) in (28).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Matrices:
    """What a model holds at q, qd, a, lambda; every square matrix has a row and a column for each coordinate."""

    M: Vector
    G: Vector  # Phi_q
    tau: Vector
    Q: Vector  # applied forces
    Q_q: Vector
    Q_qd: Vector
    Ma_q: Vector  # (M a)_q
    reaction_q: Vector  # (Phi_q^T lambda)_q
    speed_q: Vector  # (Phi_q qd)_q
    bend_q: Vector  # tau_q - (Phi_q a)_q
    tau_qd: Vector


def parted(X: Vector, rows: Vector, cols: Vector) -> Vector:
    """A block."""
    return X[np.ix_(rows, cols)]


def followers(m: Matrices, u: Vector, v: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Accelerations of all coordinates and multipliers for independent accelerations w: eqs. 37 and 38."""
    Gu, Gv = m.G[:, u], m.G[:, v]
    H, alpha = -np.linalg.solve(Gu, Gv), np.linalg.solve(Gu, m.tau)
    a = np.empty(len(m.M))
    a[v], a[u] = w, H @ w + alpha
    lam = np.linalg.solve(Gu.T, m.Q[u] - m.M[u] @ a)
    return a, lam


def residual(m: Matrices, v: Vector, a: Vector, lam: Vector) -> Vector:
    """Psi, eq. 20."""
    return m.M[v] @ a + m.G[:, v].T @ lam - m.Q[v]


def jacobian(m: Matrices, u: Vector, v: Vector, bh2: float, gh: float) -> Vector:
    """Psi by the independent accelerations, eq. 29, with the matrices of eqs. 31 to 36."""
    Gu, Gv = m.G[:, u], m.G[:, v]
    H = -np.linalg.solve(Gu, Gv)
    J = -np.linalg.solve(Gu, m.speed_q[:, u] @ H + m.speed_q[:, v])
    L = np.linalg.solve(Gu, m.bend_q[:, u] @ H + m.bend_q[:, v] + m.tau_qd[:, u] @ J)
    N = np.linalg.solve(Gu, m.tau_qd[:, u] @ H + m.tau_qd[:, v])
    inner = m.Q_q - m.reaction_q - m.Ma_q
    Muu = parted(m.M, u, u)
    R = -(parted(inner, u, u) @ H + parted(inner, u, v) + parted(m.Q_qd, u, u) @ J - Muu @ L)
    S = -(parted(m.Q_qd, u, u) @ H + parted(m.Q_qd, u, v) - Muu @ N)
    Mvu = parted(m.M, v, u)
    reduced = parted(m.M, v, v) + Mvu @ H + H.T @ (parted(m.M, u, v) + Muu @ H)
    by_velocity = Mvu @ N + H.T @ S - parted(m.Q_qd, v, v) - parted(m.Q_qd, v, u) @ H
    by_position = -parted(inner, v, u) @ H - parted(inner, v, v) + Mvu @ L + H.T @ R - parted(m.Q_qd, v, u) @ J
    return reduced + gh * by_velocity + bh2 * by_position


def left_out(m: Matrices, u: Vector, v: Vector, bh2: float, gh: float) -> Vector:
    """What Fisette and Vaneghem leave out of it, eq. 40."""
    Gu, Gv = m.G[:, u], m.G[:, v]
    H = -np.linalg.solve(Gu, Gv)
    J = -np.linalg.solve(Gu, m.speed_q[:, u] @ H + m.speed_q[:, v])
    L = np.linalg.solve(Gu, m.bend_q[:, u] @ H + m.bend_q[:, v] + m.tau_qd[:, u] @ J)
    N = np.linalg.solve(Gu, m.tau_qd[:, u] @ H + m.tau_qd[:, v])
    K = m.reaction_q
    curved = parted(K, v, v) + parted(K, v, u) @ H + H.T @ parted(K, u, v) + H.T @ parted(K, u, u) @ H
    return (parted(m.M, v, u) + H.T @ parted(m.M, u, u)) @ (gh * N + bh2 * L) + bh2 * curved


def reduced_mass(m: Matrices, u: Vector, v: Vector) -> Vector:
    """M hat, eq. 15."""
    T = np.zeros((len(m.M), len(v)))
    T[v], T[u] = np.eye(len(v)), -np.linalg.solve(m.G[:, u], m.G[:, v])
    return T.T @ m.M @ T
