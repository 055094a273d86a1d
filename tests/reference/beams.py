"""Timoshenko's cantilever in closed form, and chains of rigid segments; must not import the package.

The cantilever is clamped at x = 0 and loaded at x = L. `element` is the stiffness of one element for what its end j
does relative to its end i: six forces on j at j by six displacements (x, y, z, rotations), x along the beam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import cos, cosh, pi, sin, sqrt
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Beam:
    """A rectangular bar; `shear` is kappa, the part of the section that carries shear."""

    length: float = 1.0
    width: float = 0.02  # along y
    height: float = 0.04  # along z
    young: float = 7e10
    poisson: float = 0.3
    density: float = 2700.0
    shear: float = 5 / 6

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def shear_modulus(self) -> float:
        return self.young / (2 * (1 + self.poisson))

    @property
    def second_moments(self) -> tuple[float, float]:
        """About y (bending along z) and about z (bending along y)."""
        return self.width * self.height**3 / 12, self.height * self.width**3 / 12

    @property
    def torsion(self) -> float:
        """Of a rectangle, by the series of Saint-Venant."""
        a, b = max(self.width, self.height), min(self.width, self.height)
        odd = np.arange(1, 60, 2)
        series = np.sum(np.tanh(odd * pi * a / (2 * b)) / odd**5)
        return float(a * b**3 / 3 * (1 - 192 * b / (pi**5 * a) * series))

    def flexibility(self, length: float) -> Matrix:
        """Displacements (x, y, z, rotations) of the end by forces and torques on the end, clamped at the other."""
        L, E, G, A = length, self.young, self.shear_modulus, self.area
        Iy, Iz = self.second_moments
        F = np.zeros((6, 6))
        F[0, 0], F[3, 3] = L / (E * A), L / (G * self.torsion)
        for along, about, I, side in ((1, 5, Iz, 1), (2, 4, Iy, -1)):  # noqa: E741
            F[along, along] = L**3 / (3 * E * I) + L / (self.shear * G * A)
            F[about, about] = L / (E * I)
            F[along, about] = F[about, along] = side * L**2 / (2 * E * I)
        return F

    def element(self, length: float) -> Matrix:
        """Force on j at j = -element @ displacement of j seen from i."""
        return np.linalg.inv(self.flexibility(length))

    def deflection(self, load: Vector) -> Vector:
        """Of the tip under six forces and torques there, small."""
        return self.flexibility(self.length) @ load

    def cantilever_frequencies(self, count: int) -> Vector:
        """Of bending along z without shear and rotatory inertia (Euler and Bernoulli), rad/s."""
        roots = []
        for n in range(count):
            near = (n + 0.5) * pi
            roots.append(brentq(lambda x: cos(x) * cosh(x) + 1, near - 0.5, near + 0.5, xtol=1e-15))
        stiffness = self.young * self.second_moments[0] / (self.density * self.area)
        return np.array(roots) ** 2 * sqrt(stiffness) / self.length**2

    def timoshenko_frequency(self) -> float:
        """The lowest of bending along z with shear and rotatory inertia, rad/s, by shooting from the clamped end."""
        euler = float(self.cantilever_frequencies(1)[0])
        return float(brentq(self._free_end, 0.5 * euler, 1.01 * euler, xtol=1e-12 * euler))

    def _free_end(self, w: float) -> float:
        """Zero where moment and shear force vanish at the tip: the matrix of y' = A y has constant entries."""
        E, G, A, I, rho = self.young, self.shear_modulus, self.area, self.second_moments[0], self.density  # noqa: E741
        # deflection, rotation, moment, shear force; in units that keep the matrix well scaled
        a, s = self.length, E * I
        flow = np.array([
            [0, 1, 0, s / (a * a * self.shear * G * A)],
            [0, 0, 1, 0],
            [0, -rho * I * w * w * a * a / s, 0, -1],
            [-rho * A * w * w * a**4 / s, 0, 0, 0],
        ])  # fmt: skip
        end = expm(flow)
        return float(end[2, 2] * end[3, 3] - end[2, 3] * end[3, 2])


def chain_tip(beam: Beam, count: int, load: Vector) -> Vector:
    """Of `count` equal elements in a row under a load at the tip: exact for any count."""
    return _places(beam, [beam.length / count] * count, load)[-6:]


def chain_of_bodies(beam: Beam, count: int, load: float) -> float:
    """Deflection along z of the tip of `count` rigid segments: elements join their centres, the first the wall.

    The first element is half a segment b long, and the load acts half a segment beyond the last centre. That half is
    rigid, so the tip lacks F (b^3/(3 E I) + b/(kappa G A)) of the beam's own deflection, and nothing else.
    """
    half = beam.length / count / 2
    lengths = [half] + [2 * half] * (count - 1)
    at_last = np.array([0, 0, load, 0, -load * half, 0.0])  # moved from the tip to the last centre
    last = _places(beam, lengths, at_last)[-6:]
    return float(last[2] - half * last[4])


def _places(beam: Beam, lengths: list[float], load: Vector) -> Vector:
    """Displacements of all nodes from the stiffness of all elements."""
    n = len(lengths)
    K = np.zeros((6 * n + 6, 6 * n + 6))
    for k, length in enumerate(lengths):
        carry = np.eye(6)  # what j does where i moves as a rigid body
        carry[1, 5], carry[2, 4] = length, -length
        B = np.hstack([-carry, np.eye(6)])
        at = slice(6 * k, 6 * k + 12)
        K[at, at] += B.T @ beam.element(length) @ B
    f = np.zeros(6 * n)
    f[-6:] = load
    return np.linalg.solve(K[6:, 6:], f)


def euler_tip(beam: Beam, force: float) -> float:
    """Of a slender cantilever, for comparison: F L^3/(3 E I)."""
    return force * beam.length**3 / (3 * beam.young * beam.second_moments[0])


def elastica_tip(beam: Beam, force: float, rtol: float = 1e-13) -> tuple[float, float]:
    """x and z of the tip of an inextensible, unshearable cantilever under a large dead load along z, by shooting."""
    stiffness = beam.young * beam.second_moments[0]

    def run(curvature: float) -> Vector:
        """(angle, curvature, x, z) at the tip from the curvature at the wall."""
        options = {"method": "DOP853", "rtol": rtol, "atol": 1e-15}
        end = solve_ivp(
            lambda s, y: [y[1], -force / stiffness * cos(y[0]), cos(y[0]), sin(y[0])],
            (0.0, beam.length),
            [0.0, curvature, 0.0, 0.0],
            **options,
        )
        return np.asarray(end.y[:, -1])

    wall = brentq(lambda curvature: run(curvature)[1], 0.0, force * beam.length / stiffness * 1.01, xtol=1e-15)
    return float(run(wall)[2]), float(run(wall)[3])
