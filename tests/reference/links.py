"""Heun's method with Baumgarte's terms on three links in space, [Welch07] eqs. 46 to 51; must not import the package.

Read it beside the paper: Euler parameters e, angular velocities in body axes, a ball joint to the ground, another, and
a pin. Two ways to treat e inside a step: `normalised`, or as in our schemes left as the formula moves it until the step
ends, with the rotation matrix 2 (e0^2 - 1/2) I + 2 (e e^T + e0 e~) of the textbooks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

LENGTHS = np.array([1.0, 2.0, 2.5])
GRAVITY = -10 * np.array([0.5, np.sqrt(0.5), 0.5])
MASSES = 1000 * LENGTHS * (LENGTHS / 10) ** 2
INERTIAS = [m * a**2 / 12 * np.diag([1.01, 1.01, 0.02]) for m, a in zip(MASSES, LENGTHS, strict=True)]
HALVES = [np.array([0, 0, a / 2]) for a in LENGTHS]


def tilde(a: Vector) -> Vector:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(e: Vector) -> Vector:
    return (2 * e[0] ** 2 - 1) * np.eye(3) + 2 * np.outer(e[1:], e[1:]) + 2 * e[0] * tilde(e[1:])


def rates_of(e: Vector, omega: Vector) -> Vector:
    """Eq. 8 with the transpose of eq. 9."""
    return 0.5 * np.concatenate([[-e[1:] @ omega], e[0] * omega + np.cross(e[1:], omega)])


class Links:
    """The pendulum with its pin along a direction of the second link: constraints, their rows, and their gamma."""

    def __init__(self, pin: str) -> None:
        self.axis = np.eye(3)["xyz".index(pin)]
        self.across = [row for row in np.eye(3) if not row @ self.axis]
        self.mass = np.zeros((18, 18))
        for k, (m, inertia) in enumerate(zip(MASSES, INERTIAS, strict=True)):
            self.mass[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = m * np.eye(3)
            self.mass[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = inertia
        self.inverse = np.linalg.inv(self.mass)

    def constraints(self, r: Vector, e: Vector, omega: Vector) -> tuple[Vector, Vector, Vector]:
        """Phi, G and gamma."""
        self.turns, self.omega = [rotation(x) for x in e], omega
        self.phi, self.G, self.gamma = np.zeros(11), np.zeros((11, 18)), np.zeros(11)
        self._point(0, r, 0, HALVES[0], 1)
        for k, (upper, lower) in enumerate(pairwise(HALVES)):
            self._point(3 + 3 * k, r, k, -upper, -1)
            self._point(3 + 3 * k, r, k + 1, lower, 1)
        for k, f in enumerate(self.across):
            self._perpendicular(9 + k, f)
        return self.phi, self.G, self.gamma

    def _point(self, row: int, r: Vector, k: int, s: Vector, sign: int) -> None:
        rows, turn, w = slice(row, row + 3), sign * self.turns[k], tilde(self.omega[k])
        self.phi[rows] += sign * r[k] + turn @ s
        self.G[rows, 6 * k : 6 * k + 3] += sign * np.eye(3)
        self.G[rows, 6 * k + 3 : 6 * k + 6] -= turn @ tilde(s)
        self.gamma[rows] -= turn @ w @ w @ s

    def _perpendicular(self, row: int, f: Vector) -> None:
        """f of the second link on the axis of the third."""
        h, w2, w3 = self.axis, tilde(self.omega[1]), tilde(self.omega[2])
        a2, a3 = self.turns[1:]
        self.phi[row] = (a2 @ f) @ (a3 @ h)
        self.G[row, 9:12] = -(a3 @ h) @ a2 @ tilde(f)
        self.G[row, 15:18] = -(a2 @ f) @ a3 @ tilde(h)
        curved = (a3 @ h) @ a2 @ w2 @ w2 @ f + (a2 @ f) @ a3 @ w3 @ w3 @ h
        self.gamma[row] = -curved - 2 * (a2 @ w2 @ f) @ (a3 @ w3 @ h)

    def forces(self, omega: Vector) -> Vector:
        pairs = zip(MASSES, INERTIAS, omega, strict=True)
        return np.concatenate([np.concatenate([m * GRAVITY, -np.cross(w, j @ w)]) for m, j, w in pairs])


def parted(y: Vector) -> tuple[Vector, Vector, Vector]:
    """r, e and velocities (r', omega) of the links."""
    return y[:9].reshape(3, 3), y[9:21].reshape(3, 4), y[21:].reshape(3, 6)


def mean_violation(pin: str, dt: float, alpha: float, count: int, *, normalised: bool) -> float:
    """Sum of |Phi| after the steps 1 .. N - 1, over N; gains alpha/dt and 1/dt."""
    links = Links(pin)

    def slope(y: Vector) -> Vector:
        r, e, v = parted(y)
        if normalised:
            e = e / np.linalg.norm(e, axis=1)[:, None]
        phi, g, gamma = links.constraints(r, e, v[:, 3:])
        force = links.forces(v[:, 3:])
        wanted = gamma - 2 * alpha / dt * g @ v.ravel() - phi / dt**2  # eq. 45
        lam = np.linalg.solve(g @ links.inverse @ g.T, g @ links.inverse @ force - wanted)  # eq. 47
        turning = [rates_of(x, w) for x, w in zip(e, v[:, 3:], strict=True)]
        return np.concatenate([v[:, :3].ravel(), *turning, links.inverse @ (force - g.T @ lam)])

    y, total = at_rest(), 0.0
    for _ in range(count - 1):
        first = slope(y)
        y = y + dt / 2 * (first + slope(y + dt * first))
        _, e, _ = parted(y)
        e /= np.linalg.norm(e, axis=1)[:, None]
        total += float(np.linalg.norm(links.constraints(*_places(y))[0]))
    return total / count


def _places(y: Vector) -> Any:
    r, e, v = parted(y)
    return r, e, v[:, 3:]


def at_rest() -> Vector:
    """Hanging down."""
    y = np.zeros(39)
    r, e, _ = parted(y)
    r[:, 2] = -np.cumsum(LENGTHS) + LENGTHS / 2
    e[:, 0] = 1
    return y
