"""Motion with friction by tight integration: a block on a belt, a pendulum whose pin rubs; must not import the package.

mu(v) = (mud + (mus - mud) exp(-(v/vs)^2)) tanh(v/vt)                               Coulomb and Stribeck, regularised
mu    = sigma0 z + sigma1 z' + sigma2 v,   z' = v - sigma0 |v| z/g(v)               LuGre, z in m
g(v)  = mud + (mus - mud) exp(-(v/vs)^2)

The force is the load times mu; sigma0 is 1/m, sigma1 and sigma2 are s/m. Run as a script this writes
data/stick_slip.json, data/stick_slip_lugre.json and data/friction_pendulum.json.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
from numpy import cos, exp, sin, sqrt, tanh
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from reference.storing import store

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Stribeck:
    mus: float = 0.4
    mud: float = 0.25
    vs: float = 0.1
    vt: float = 1e-3  # of the regularisation

    def level(self, v: float) -> float:
        return float(self.mud + (self.mus - self.mud) * exp(-((v / self.vs) ** 2)))

    def mu(self, v: float) -> float:
        return float(self.level(v) * tanh(v / self.vt))


@dataclass(frozen=True)
class LuGre(Stribeck):
    sigma0: float = 1e4
    sigma1: float = 20.0
    sigma2: float = 0.0

    def rate(self, v: float, z: float) -> float:
        return v - self.sigma0 * abs(v) * z / self.level(v)

    def mu_of(self, v: float, z: float) -> float:
        return self.sigma0 * z + self.sigma1 * self.rate(v, z) + self.sigma2 * v


# ---------------------------------------------------------------- a block on a belt, held by a spring


@dataclass(frozen=True)
class Belt:
    """m x'' = -k x - c x' + N mu(u - x'): the belt runs with u, x is counted from the unstretched spring."""

    friction: Stribeck = field(default_factory=Stribeck)
    mass: float = 1.0
    k: float = 100.0
    c: float = 0.0
    load: float = 10.0  # N
    speed: float = 0.1  # u of the belt, m/s

    @property
    def size(self) -> int:
        return 3 if isinstance(self.friction, LuGre) else 2

    def rate(self, t: float, y: Vector) -> Vector:
        slip = self.speed - y[1]
        if isinstance(self.friction, LuGre):
            mu, more = self.friction.mu_of(slip, y[2]), [self.friction.rate(slip, y[2])]
        else:
            mu, more = self.friction.mu(slip), []
        return np.array([y[1], (self.load * mu - self.k * y[0] - self.c * y[1]) / self.mass, *more])


@dataclass(frozen=True)
class Cycle:
    """Of the limit cycle: period, range of x and of its rate; times of all maxima of x since the start."""

    period: float
    lowest: float
    highest: float
    slowest: float
    fastest: float
    maxima: list[float]
    heights: list[float]  # x there
    relative_change: float  # of the last two periods


def turning_points(belt: Belt, end: float, method: str, rtol: float) -> tuple[list[Vector], list[Vector]]:
    """(t, x, v, ...) where x is largest and smallest, from rest at x = 0."""

    def still(t: float, y: Vector) -> float:
        return y[1]

    start = np.zeros(belt.size)
    run = solve_ivp(belt.rate, (0.0, end), start, method=method, rtol=rtol, atol=rtol * 1e-3, events=still)
    points = [np.array([t, *y]) for t, y in zip(run.t_events[0], run.y_events[0], strict=True) if t > 0]
    tops = [p for p in points if belt.rate(p[0], p[1:])[1] < 0]
    return tops, [p for p in points if belt.rate(p[0], p[1:])[1] > 0]


def extreme_speeds(belt: Belt, top: Vector, period: float, method: str, rtol: float) -> tuple[float, float]:
    """Over one period from a maximum of x."""

    def force(t: float, y: Vector) -> float:
        return float(belt.rate(t, y)[1])

    run = solve_ivp(belt.rate, (0.0, period), top[1:], method=method, rtol=rtol, atol=rtol * 1e-3, events=force)
    speeds = [float(y[1]) for y in run.y_events[0]]
    return min(speeds), max(speeds)


def limit_cycle(belt: Belt, end: float = 10.0, method: str = "DOP853", rtol: float = 1e-12) -> Cycle:
    """What the motion from rest has settled to at the end."""
    tops, bottoms = turning_points(belt, end, method, rtol)
    period, before = tops[-1][0] - tops[-2][0], tops[-2][0] - tops[-3][0]
    slowest, fastest = extreme_speeds(belt, tops[-1], period, method, rtol)
    return Cycle(
        period=float(period),
        lowest=float(bottoms[-1][1]),
        highest=float(tops[-1][1]),
        slowest=slowest,
        fastest=fastest,
        maxima=[float(p[0]) for p in tops],
        heights=[float(p[1]) for p in tops],
        relative_change=float(abs(period - before) / period),
    )


# ---------------------------------------------------------------- a pendulum whose pin rubs


@dataclass(frozen=True)
class RubbingPendulum:
    """A bar swings on a pin of radius r; the friction torque is r mu(r w) sqrt(N^2 + N0^2), N the force in the pin.

    phi is the angle of the bar from +x, gravity acts along -y, `arm` reaches from the pin to the centre of mass.
    """

    friction: Stribeck = field(default_factory=lambda: Stribeck(mus=0.3, mud=0.2, vs=0.05, vt=1e-2))
    mass: float = 2.0
    inertia: float = 1 / 6  # about the centre of mass, kg.m2
    arm: float = 0.5
    radius: float = 0.05
    least_load: float = 1.0  # N0, N
    g: float = 9.81

    def reaction(self, phi: float, w: float, alpha: float) -> tuple[float, float]:
        """On the bar."""
        ax = self.arm * (-sin(phi) * alpha - cos(phi) * w**2)
        ay = self.arm * (cos(phi) * alpha - sin(phi) * w**2)
        return float(self.mass * ax), float(self.mass * (ay + self.g))

    def torque(self, phi: float, w: float, alpha: float) -> float:
        """Of friction on the bar."""
        x, y = self.reaction(phi, w, alpha)
        return -self.radius * self.friction.mu(self.radius * w) * float(sqrt(x * x + y * y + self.least_load**2))

    def alpha(self, phi: float, w: float) -> float:
        """From the moments about the pin, which hold the friction that depends on it."""
        total = self.inertia + self.mass * self.arm**2

        def open_moment(alpha: float) -> float:
            return total * alpha + self.mass * self.g * self.arm * float(cos(phi)) - self.torque(phi, w, alpha)

        around = 10 * (self.mass * self.g * self.arm / total + w * w + 1)
        return float(brentq(open_moment, -around, around, xtol=1e-15, rtol=1e-15))

    def rate(self, t: float, y: Vector) -> Vector:
        return np.array([y[1], self.alpha(y[0], y[1])])


def swung(pendulum: RubbingPendulum, phi: float, times: list[float], method: str, rtol: float) -> Vector:
    """phi and w, one row for each time, from rest at phi."""
    options = {"method": method, "t_eval": times, "rtol": rtol, "atol": rtol * 1e-2}
    return np.asarray(solve_ivp(pendulum.rate, (0.0, times[-1]), [phi, 0.0], **options).y.T)


# ---------------------------------------------------------------- data


def write_cycle(name: str, belt: Belt) -> None:
    fine, coarse = limit_cycle(belt, rtol=1e-12), limit_cycle(belt, method="Radau", rtol=1e-10)
    apart = max(abs(getattr(fine, k) / getattr(coarse, k) - 1) for k in ("period", "lowest", "highest", "slowest"))
    origin = (
        "limit cycle computed by us (tests/reference/friction.py): DOP853, rtol 1e-12; "
        f"Radau at rtol 1e-10 agrees to {apart:.0e}"
    )
    cycle = {k: v for k, v in asdict(fine).items() if isinstance(v, float)}
    head = {"model": name, "origin": origin, "parameters": asdict(belt), "cycle": cycle, "time": fine.maxima}
    store(name, head, {"x": fine.heights})


def write_pendulum() -> None:
    pendulum, times, phi = RubbingPendulum(), [0.25, 0.5, 1.0, 2.0, 4.0], 0.2
    fine = swung(pendulum, phi, times, "DOP853", 1e-13)
    apart = np.max(np.abs(fine - swung(pendulum, phi, times, "Radau", 1e-12)))
    accelerations = [pendulum.alpha(*y) for y in fine]
    reactions = [pendulum.reaction(*y, a) for y, a in zip(fine, accelerations, strict=True)]
    friction = [pendulum.torque(*y, a) for y, a in zip(fine, accelerations, strict=True)]
    origin = (
        "computed by us from the index-1 equation (tests/reference/friction.py): DOP853, rtol 1e-13; "
        f"Radau at rtol 1e-12 agrees to {apart:.0e}"
    )
    parameters = asdict(pendulum) | {"start": phi}
    head = {"model": "friction_pendulum", "origin": origin, "parameters": parameters, "time": times}
    signals = {"bar.phi": list(fine[:, 0]), "bar.omega": list(fine[:, 1]), "bar.alpha": accelerations}
    signals |= {"pin.reaction.x": [r[0] for r in reactions], "pin.reaction.y": [r[1] for r in reactions]}
    store("friction_pendulum", head, signals | {"friction.torque": friction})


if __name__ == "__main__":
    write_cycle("stick_slip", Belt())
    write_cycle("stick_slip_lugre", Belt(friction=LuGre()))
    write_pendulum()
