"""A ball above a plane, by closed forms and by tight integration between located contacts; must not import the package.

The ball falls along its height x of the lowest point above the plane; d = -x is the depth, F >= 0 acts upward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import cos, exp, sin, sqrt
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Vector = NDArray[np.float64]


def newton_bounces(height: float, restitution: float, count: int, g: float = 9.81) -> Vector:
    """Times at which a ball released at rest touches the plane; the speed falls by `restitution` each time."""
    fall = sqrt(2 * height / g)
    flights = 2 * fall * restitution ** np.arange(1, count)
    return np.concatenate([[fall], fall + np.cumsum(flights)])


def newton_height(t: float, height: float, restitution: float, g: float = 9.81) -> float:
    """Of the same ball, before it rests at fall (1 + e)/(1 - e)."""
    fall = float(sqrt(2 * height / g))
    if t < fall:
        return height - g / 2 * t**2
    if t >= fall * (1 + restitution) / (1 - restitution):
        return 0.0
    bounces, speed, since = 1, g * fall * restitution, t - fall
    while since > 2 * speed / g:
        since, speed, bounces = since - 2 * speed / g, speed * restitution, bounces + 1
    return float(speed * since - g / 2 * since**2)


# ---------------------------------------------------------------- linear spring and damper


@dataclass(frozen=True)
class Spring:
    """F = k d + c d' while d > 0, or while that also pushes: pieces of a parabola and of a damped oscillation."""

    mass: float
    k: float
    c: float = 0.0
    g: float = 9.81
    pulls: bool = True

    def pressed(self, t: float, speed: float) -> tuple[float, float]:
        """d and d' at time t after contact began with d' = speed."""
        w2, half = self.k / self.mass, self.c / (2 * self.mass)
        w = sqrt(w2 - half**2)  # not overdamped
        rest = self.g / w2
        A, B = -rest, (speed - half * rest) / w
        decay = exp(-half * t)
        d = rest + decay * (A * cos(w * t) + B * sin(w * t))
        rate = decay * ((w * B - half * A) * cos(w * t) - (w * A + half * B) * sin(w * t))
        return float(d), float(rate)

    def leaving(self, speed: float) -> tuple[float, float]:
        """How long d > 0 lasts, and d' at its end."""
        w = sqrt(self.k / self.mass - (self.c / (2 * self.mass)) ** 2)
        deepest = brentq(lambda t: self.pressed(t, speed)[1], 0.0, np.pi / w, xtol=1e-16)

        def left(t: float) -> float:
            """What has become zero when the spring lets go."""
            d, rate = self.pressed(t, speed)
            return d if self.pulls else self.k * d + self.c * rate

        end = float(brentq(left, deepest, deepest + np.pi / w, xtol=1e-16))
        d, rate = self.pressed(end, speed)
        flight = 0.0 if self.pulls else float(-rate - sqrt(rate**2 - 2 * self.g * d)) / self.g
        return end + flight, rate + self.g * flight

    def contacts(self, height: float, count: int) -> list[tuple[float, float]]:
        """Times of first and last touch of a ball released at rest."""
        fall = float(sqrt(2 * height / self.g))
        t, speed, found = fall, self.g * fall, []
        for _ in range(count):
            lasting, rate = self.leaving(speed)
            found.append((t, t + lasting))
            speed = -rate
            t += lasting + 2 * speed / self.g
        return found


# ---------------------------------------------------------------- any law


@dataclass(frozen=True)
class Run:
    """Touches and what the height and its rate are at the times asked for."""

    contacts: list[tuple[float, float]]
    times: Vector
    height: Vector
    speed: Vector


def hunt_crossley(k: float, n: float, c: float) -> Callable[[float, float], float]:
    """F = k d^n + c d^n d' of depth and its rate, never pulling."""
    return lambda d, rate: max(0.0, d**n * (k + c * rate)) if d > 0 else 0.0


def dissipation(k: float, restitution: float, speed: float) -> float:
    """c of Hunt and Crossley by Lankarani and Nikravesh: k d^n (1 + 3 (1 - e^2)/(4 v) d')."""
    return 3 * (1 - restitution**2) / (4 * speed) * k


def hertz(radius: float, young: float, poisson: float) -> float:
    """k of a ball on a rigid plane, with n = 3/2."""
    return float(4 / 3 * sqrt(radius) * young / (1 - poisson**2))


def dropped(
    force: Callable[[float, float], float],
    mass: float,
    height: float,
    times: Vector,
    *,
    g: float = 9.81,
    method: str = "DOP853",
    rtol: float = 1e-13,
) -> Run:
    """A ball released at rest; flight and contact are integrated apart, each until d = 0."""

    def rate(t: float, y: Vector) -> list[float]:
        return [y[1], force(-y[0], -y[1]) / mass - g]

    def surface(t: float, y: Vector) -> float:
        return y[0]

    t, end, y, inside = 0.0, float(times[-1]), np.array([height, 0.0]), False
    touches: list[float] = []
    found = {float(s): y for s in times if s == 0}
    while t < end:
        surface.terminal, surface.direction = True, 1.0 if inside else -1.0  # type: ignore[attr-defined]
        wanted = [float(s) for s in times if s > t]
        options = {"rtol": rtol, "atol": 1e-16, "method": method, "dense_output": True, "events": surface}
        run = solve_ivp(rate, (t, end), y, first_step=1e-7, **options)
        t, y = float(run.t[-1]), run.y[:, -1]
        found |= {s: run.sol(s) for s in wanted if s <= t}
        if run.status == 1:
            touches.append(t)
            inside = not inside
            y = np.array([0.0, y[1]])
    values = np.array([found[float(s)] for s in times])
    return Run(list(zip(touches[::2], touches[1::2], strict=False)), times, values[:, 0], values[:, 1])


def rebound(k: float, c: float, speed: float) -> float:
    """The speed after a contact without gravity: v/a - ln(1 + a v)/a^2 is the same before and after, with a = c/k."""
    a = c / k

    def invariant(v: float) -> float:
        return v / a - float(np.log1p(a * v)) / a**2

    return float(-brentq(lambda v: invariant(v) - invariant(speed), -1 / a * (1 - 1e-12), 0.0, xtol=1e-16))
