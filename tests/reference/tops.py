"""Motions of single spatial bodies that are known in closed form; must not integrate any equation of motion.

Quadratures are allowed: an angle whose rate is a known function of time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ellipj, ellipk, ellipkinc

Vector = NDArray[Any]


def integral(rate: Callable[[float], float], t: float, period: float) -> float:
    """From 0 to t, in pieces of a quarter of a period or less."""
    pieces = np.linspace(0, t, 2 + int(4 * t / period))
    return sum(quad(rate, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in pairwise(pieces))


@dataclass(frozen=True, kw_only=True)
class FreeTop:
    """A body without torque, J1 < J2 < J3, whose momentum is closer to axis 3 than the separatrix; omega3 > 0.

    omega = (b1 cn, b2 sn, b3 dn) with the argument n t + start and the parameter m (any book on mechanics).
    """

    inertia: tuple[float, float, float]  # kg.m2
    omega: tuple[float, float, float]  # rad/s, body axes, at time 0

    def __post_init__(self) -> None:
        if not (self.inertia[0] < self.inertia[1] < self.inertia[2] and self.omega[2] > 0):
            raise ValueError("the closed form wants J1 < J2 < J3 and omega3 > 0")
        if self.momentum**2 <= 2 * self.energy * self.inertia[1]:
            raise ValueError("the closed form wants a momentum closer to axis 3 than the separatrix")

    @property
    def momentum(self) -> float:
        """Its magnitude, which stays."""
        return float(np.linalg.norm(np.multiply(self.inertia, self.omega)))

    @property
    def energy(self) -> float:
        return float(np.dot(self.inertia, np.square(self.omega)) / 2)

    @cached_property
    def sizes(self) -> Vector:
        """b1, b2, b3."""
        J1, J2, J3 = self.inertia
        low, high = 2 * self.energy * J3 - self.momentum**2, self.momentum**2 - 2 * self.energy * J1
        return np.sqrt([low / (J1 * (J3 - J1)), low / (J2 * (J3 - J2)), high / (J3 * (J3 - J1))])

    @cached_property
    def parameter(self) -> float:
        """m."""
        J1, J2, J3 = self.inertia
        low, high = 2 * self.energy * J3 - self.momentum**2, self.momentum**2 - 2 * self.energy * J1
        return float((J2 - J1) * low / ((J3 - J2) * high))

    @cached_property
    def pace(self) -> float:
        """n."""
        J1, J2, J3 = self.inertia
        return float(np.sqrt((J3 - J2) * (self.momentum**2 - 2 * self.energy * J1) / (J1 * J2 * J3)))

    @property
    def period(self) -> float:
        """After which omega is the same again."""
        return float(4 * ellipk(self.parameter) / self.pace)

    @cached_property
    def _start(self) -> float:
        b1, b2, _ = self.sizes
        return float(ellipkinc(np.arctan2(self.omega[1] / b2, self.omega[0] / b1), self.parameter))

    def omega_at(self, t: float) -> Vector:
        """Body axes."""
        sn, cn, dn, _ = ellipj(self.pace * t + self._start, self.parameter)
        return np.array(self.sizes * [cn, sn, dn])

    def rotation(self, t: float) -> Vector:
        """Body axes -> ground axes; the identity at time 0.

        The momentum is fixed in the ground, so omega tells its direction in the body; the angle about it has the rate
        L (J1 w1^2 + J2 w2^2)/(J1^2 w1^2 + J2^2 w2^2), measured at the body's axis 3.
        """
        return self._attitude(0.0).T @ self._attitude(t) if t else np.eye(3)

    def _attitude(self, t: float) -> Vector:
        """Body axes -> axes whose third is the momentum, up to one fixed rotation about it."""
        momentum = np.multiply(self.inertia, self.omega_at(t)) / self.momentum
        node = np.array([momentum[1], -momentum[0], 0.0])  # across the momentum and axis 3
        node /= np.linalg.norm(node)
        in_body = np.array([node, np.cross(momentum, node), momentum])
        c, s = np.cos(self._turned(t)), np.sin(self._turned(t))
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ in_body

    def _turned(self, t: float) -> float:
        def rate(s: float) -> float:
            w1, w2, _ = np.square(self.omega_at(s))
            J1, J2, _ = self.inertia
            return float(self.momentum * (J1 * w1 + J2 * w2) / (J1**2 * w1 + J2**2 * w2))

        return integral(rate, t, self.period)


@dataclass(frozen=True, kw_only=True)
class HeavyTop:
    """A symmetric top on a fixed point under gravity, its axis at rest in nutation at the start."""

    across: float  # kg.m2, about the fixed point
    along: float  # kg.m2, about its axis
    weight: float  # N.m, m g l
    tilt: float  # rad, of the axis from the vertical at time 0
    precession: float  # rad/s, of the axis about the vertical at time 0
    spin: float  # rad/s, omega along the axis, which stays

    @staticmethod
    def steady(across: float, along: float, weight: float, tilt: float, spin: float) -> tuple[float, float]:
        """Both precessions, slow and fast, at which the tilt stays: A W^2 cos(tilt) - C spin W + m g l = 0."""
        roots = np.roots([across * np.cos(tilt), -along * spin, weight])
        return float(min(roots)), float(max(roots))

    @cached_property
    def _constants(self) -> tuple[float, float, float, float]:
        """a, b, alpha, beta of u'^2 = (1 - u^2)(alpha - beta u) - (b - a u)^2 with u = cos(tilt)."""
        u = np.cos(self.tilt)
        a = self.along * self.spin / self.across
        alpha = self.precession**2 * (1 - u * u) + 2 * self.weight / self.across * u
        return a, self.precession * (1 - u * u) + a * u, alpha, 2 * self.weight / self.across

    @cached_property
    def roots(self) -> Vector:
        """Of that cubic, in order; the motion lies between the first two."""
        a, b, alpha, beta = self._constants
        return np.sort(np.roots([beta, -(alpha + a * a), 2 * a * b - beta, alpha - b * b]).real)

    @cached_property
    def _wave(self) -> tuple[float, float]:
        u1, u2, u3 = self.roots
        return np.sqrt(self._constants[3] * (u3 - u1)) / 2, (u2 - u1) / (u3 - u1)

    @property
    def period(self) -> float:
        """Of the nutation."""
        pace, m = self._wave
        return float(2 * ellipk(m) / pace)

    def height(self, t: float) -> float:
        """cos(tilt)."""
        (u1, u2, _), (pace, m) = self.roots, self._wave
        upper = abs(np.cos(self.tilt) - u2) < abs(np.cos(self.tilt) - u1)
        sn = ellipj(pace * t + (ellipk(m) if upper else 0.0), m)[0]
        return float(u1 + (u2 - u1) * sn**2)

    def turned(self, t: float) -> float:
        """The angle of precession."""
        a, b, *_ = self._constants
        rate = lambda s: (b - a * self.height(s)) / (1 - self.height(s) ** 2)  # noqa: E731
        return integral(rate, t, self.period)


@dataclass(frozen=True, kw_only=True)
class RollingDisc:
    """A thin disc that rolls on a level plane without slipping, in a circle at a constant tilt.

    n is the axis, u the direction in the disc away from the contact, t = n x u that of travel: omega = W sin(tilt) u +
    w n, the centre moves with a w t and is accelerated by W z x (a w t), z = cos(tilt) n + sin(tilt) u. Euler's
    equation along t is then  (C + m a^2) w W sin - A W^2 sin cos + m g a cos = 0  with the tilt's sine and cosine.
    """

    mass: float
    radius: float
    across: float  # kg.m2, A about a diameter
    along: float  # kg.m2, C about the axis
    gravity: float
    tilt: float  # rad, of the axis from the vertical
    precession: float  # rad/s, W about the vertical

    @property
    def spin(self) -> float:
        """omega along the axis, w."""
        s, c = np.sin(self.tilt), np.cos(self.tilt)
        W, a = self.precession, self.radius
        moved = self.across * W * W * s * c - self.mass * self.gravity * a * c
        return float(moved / ((self.along + self.mass * a * a) * W * s))

    @property
    def circle(self) -> float:
        """Radius of the centre's path, signed."""
        return self.radius * self.spin / self.precession

    def axes(self, t: float) -> tuple[Vector, Vector, Vector]:
        """n, u and n x u; n points towards +x of the plane at time 0."""
        s, c, turn = np.sin(self.tilt), np.cos(self.tilt), self.precession * t
        level = np.array([np.cos(turn), np.sin(turn), 0.0])
        n, u = s * level + [0, 0, c], -c * level + [0, 0, s]
        return n, u, np.cross(n, u)

    def centre(self, t: float) -> Vector:
        """Its place; the axis of the circle is z."""
        _, u, travel = self.axes(t)
        level = np.cross(travel, [0.0, 0.0, 1.0])  # rate of z-rotation: W z x (R level) = a w t
        return np.asarray(self.circle * level + [0, 0, self.radius * u[2]])

    def velocity(self, t: float) -> Vector:
        return np.asarray(self.radius * self.spin * self.axes(t)[2])

    def omega(self, t: float) -> Vector:
        """Ground axes."""
        n, u, _ = self.axes(t)
        return np.asarray(self.precession * np.sin(self.tilt) * u + self.spin * n)

    def contact_force(self, t: float) -> Vector:
        """On the disc, ground axes."""
        pull = self.precession * np.cross([0.0, 0.0, 1.0], self.velocity(t))
        return np.asarray(self.mass * (pull + self.gravity * np.array([0.0, 0.0, 1.0])))
