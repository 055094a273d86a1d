"""Linear vibrations in closed form: cars on steps, bodies on bushings; must not import the package.

M q'' + C q' + K q = f with f constant is solved by the exponential of its first-order matrix, exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Vibration:
    """M q'' + C q' + K q = f; K may be singular."""

    M: Matrix
    C: Matrix
    K: Matrix
    f: Vector

    def at(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """q and v at time t from those at 0."""
        n, inverse = len(self.f), np.linalg.inv(self.M)
        A = np.zeros((2 * n + 1, 2 * n + 1))
        A[:n, n : 2 * n] = np.eye(n)
        A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n] = -inverse @ self.K, -inverse @ self.C
        A[n : 2 * n, 2 * n] = inverse @ self.f
        y = expm(A * t) @ np.concatenate([q, v, [1.0]])
        return y[:n], y[n : 2 * n]

    def frequencies(self) -> Vector:
        """Undamped, rad/s, ascending."""
        w2 = np.linalg.eigvals(np.linalg.solve(self.M, self.K))
        return np.sqrt(np.sort(np.maximum(0.0, w2.real)))


# ---------------------------------------------------------------- cars


@dataclass(frozen=True)
class QuarterCar:
    """Body on wheel on road, heights counted from equilibrium on a road at 0."""

    sprung: float = 400.0  # kg
    unsprung: float = 40.0
    spring: float = 2e4  # N/m
    damper: float = 1.5e3  # N.s/m
    tyre: float = 2e5  # N/m
    tyre_damper: float = 0.0  # N.s/m; with it a step would be an impulse

    def on(self, road: float) -> Vibration:
        """At rest on a road of constant height."""
        k, c, kt, ct = self.spring, self.damper, self.tyre, self.tyre_damper
        return Vibration(
            M=np.diag([self.sprung, self.unsprung]),
            C=np.array([[c, -c], [-c, c + ct]]),
            K=np.array([[k, -k], [-k, k + kt]]),
            f=np.array([0.0, kt * road]),
        )

    def step(self, t: float, road: float) -> tuple[Vector, Vector]:
        """(body, wheel) and their rates, t after the road rose by `road` under a car at rest."""
        return self.on(road).at(t, np.zeros(2), np.zeros(2))


@dataclass(frozen=True)
class HalfCar:
    """A beam-like body on two wheels: heave and pitch (nose up positive), front and rear wheel."""

    sprung: float = 800.0
    inertia: float = 1000.0  # kg.m2
    front: float = 1.2  # from the centre of mass, m
    rear: float = 1.4
    unsprung: float = 40.0
    spring: float = 2e4
    damper: float = 1.5e3
    tyre: float = 2e5

    def on(self, roads: tuple[float, float]) -> Vibration:
        """q = (heave, pitch, front wheel, rear wheel); small angles."""
        B = np.array([[1, self.front, -1, 0], [1, -self.rear, 0, -1]])  # stretch of the two springs
        tyres = np.diag([0, 0, self.tyre, self.tyre])
        return Vibration(
            M=np.diag([self.sprung, self.inertia, self.unsprung, self.unsprung]),
            C=self.damper * B.T @ B,
            K=self.spring * B.T @ B + tyres,
            f=np.array([0, 0, *(self.tyre * z for z in roads)]),
        )


# ---------------------------------------------------------------- bushings


@dataclass(frozen=True)
class Bushing:
    """Between two free bodies, along or about one axis: only the difference of their coordinates vibrates.

    `first` and `second` are masses, or moments of inertia about the common axis.
    """

    first: float
    second: float
    stiffness: float
    damping: float = 0.0
    preload: float = 0.0  # on the second, from the first

    def vibration(self) -> Vibration:
        D = np.array([[1.0, -1.0], [-1.0, 1.0]])
        masses = np.diag([self.first, self.second])
        return Vibration(masses, self.damping * D, self.stiffness * D, self.preload * np.array([-1.0, 1.0]))

    def difference(self, t: float, gap: float, rate: float) -> float:
        """Second minus first, in closed form for less than critical damping and no preload."""
        m = self.first * self.second / (self.first + self.second)
        half = self.damping / (2 * m)
        w = np.sqrt(self.stiffness / m - half**2)
        return float(np.exp(-half * t) * (gap * np.cos(w * t) + (rate + half * gap) / w * np.sin(w * t)))


def two_bodies(first: Vector, second: Vector, stiffness: Matrix, damping: Matrix) -> Vibration:
    """q = coordinates of the first, then of the second body; force on the second = -K (difference) - C (its rate).

    For points that coincide with the centres of mass, and small or commuting rotations: `first` and `second` hold the
    masses and moments of inertia of each coordinate, K and C are 3 x 3 in the plane and 6 x 6 in space.
    """
    D = np.array([[1.0, -1.0], [-1.0, 1.0]])
    n = len(first)
    masses = np.diag(np.concatenate([first, second]))
    return Vibration(masses, np.kron(D, damping), np.kron(D, stiffness), np.zeros(2 * n))
