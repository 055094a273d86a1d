"""Systems with states X and unknowns Y (variables V, forces F), in plain NumPy; must not import the package.

`PiActuator` is the index-3 system of the paper's kind. `Arm` is one too, and an ODE in its least coordinates: run
as a script, this file integrates that twice and writes data/arm.json.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import arcsinh, cos, sin, sinh, sqrt
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.planar import Array, Instant, System
from reference.storing import store

Vector = NDArray[np.float64]
Rate = Callable[[float, Vector], Vector]


class Bars(System):
    """A chain of uniform bars, each pinned to the end of the one before, the first to the ground; (x, y, phi) each."""

    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    angles: tuple[float, ...]  # at the start, at rest
    gravity = 9.81
    coupled = True

    def __init__(self) -> None:
        n = len(self.lengths)
        self.length = max(self.lengths) / 2
        self.rotational = np.array([False, False, True] * n)
        self.rotational_rows = np.zeros(2 * n, dtype=bool)

    def start(self) -> tuple[Array, Array]:
        tip, q = np.zeros(2), np.zeros(0)
        for length, phi in zip(self.lengths, self.angles, strict=True):
            along = length * np.array([cos(phi), sin(phi)])
            q = np.concatenate([q, tip + along / 2, [phi]])
            tip = tip + along
        return q, np.zeros(len(q))

    def mass(self, q: Array) -> Array:
        bars = zip(self.masses, self.lengths, strict=True)
        return np.diag([x for m, length in bars for x in (m, m, m * length**2 / 12)])

    def weight(self, torques: Array) -> Array:
        """Gravity and the sum of torques on each bar."""
        return np.concatenate([[0.0, -m * self.gravity, t] for m, t in zip(self.masses, torques, strict=True)])

    def force(self, t: complex, q: Array, v: Array) -> Array:
        raise NotImplementedError("these systems have a load")

    def constraints(self, t: complex, q: Array) -> Array:
        tip, rows = np.zeros(2), []
        for x, y, phi, length in zip(q[::3], q[1::3], q[2::3], self.lengths, strict=True):
            half = length / 2 * np.array([cos(phi), sin(phi)])
            rows.append(np.array([x, y]) - half - tip)
            tip = np.array([x, y]) + half
        return np.concatenate(rows)

    def rows(self, t: complex, q: Array) -> Array:
        G = np.zeros((2 * len(self.lengths), len(q)), dtype=np.result_type(q))
        for k, length in enumerate(self.lengths):
            phi = q[3 * k + 2]
            half = length / 2 * np.array([[-sin(phi)], [cos(phi)]])
            G[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] = np.hstack([np.eye(2), -half])
            if k + 1 < len(self.lengths):
                G[2 * k + 2 : 2 * k + 4, 3 * k : 3 * k + 3] = -np.hstack([np.eye(2), half])
        return G


class PiActuator(Bars):
    """A pendulum follows a sine by a PI controller through an actuator with lag; every arrow of the loop is an unknown.

    V1 = e = pi/2 sin t - phi, V2 = u = 50 e + 20 X1 - 10 phid, X1' = V1, 0.05 X2' + X2 = V2, F1 = X2, F2 = -phid/2.
    """

    lengths, masses, angles = (2.0,), (1.0,), (0.0,)  # J of the centre is 1/3, and that is 1 m from the pin

    def start_states(self) -> Array:
        return np.zeros(2)

    def first_guess(self) -> Array:
        return np.zeros(4)

    def load(self, at: Instant) -> Array:
        _, _, F1, F2 = at.Y
        return self.weight(np.array([F1 + F2]))

    def differential(self, at: Instant) -> Array:
        V1, V2, _, _ = at.Y
        return np.array([at.Xdot[0] - V1, 0.05 * at.Xdot[1] + at.X[1] - V2])

    def definitions(self, at: Instant) -> Array:
        V1, _, _, _ = at.Y
        return np.array([np.pi / 2 * sin(at.t) - at.q[2], 50 * V1 + 20 * at.X[0] - 10 * at.v[2], at.X[1], -at.v[2] / 2])


def cubic(e: Array | float) -> Array | float:
    """s of s^3 + s = e."""
    return 2 / sqrt(3) * sinh(arcsinh(3 * sqrt(3) / 2 * e) / 3)


class Arm(Bars):
    """Two driven links: PI controllers with an algebraic loop, motor currents, iron that saturates, a virtual inertia.

    X = (i1, i2, z1, z2)    currents in A, integrals of the errors in rad s
    Y = (e1, e2, s, u1, u2, T1, T2)    errors in rad; s^3 + s = e1; voltages; torques of the motors in N.m
    T2 depends on an acceleration: -0.05 a2.
    """

    lengths, masses, angles = (0.6, 0.5), (2.0, 1.2), (-0.4, 0.3)
    L1, R1, ke1, kt1, sat1 = 0.02, 1.0, 0.4, 1.5, 40.0
    L2, R2, ke2, kt2, sat2 = 0.01, 1.5, 0.2, 0.8, 15.0
    virtual = 0.05  # kg.m2

    @staticmethod
    def errors(t: Array | complex, phi1: Array | complex, phi2: Array | complex) -> tuple[Array, Array]:
        return 0.8 * sin(1.5 * t) - phi1, 0.5 * sin(2.2 * t) + 0.3 - (phi2 - phi1)

    @staticmethod
    def voltages(e: Array, s: Array, z: Array, omega: Array) -> Array:
        (e1, e2), (z1, z2), (w1, w2) = e, z, omega
        return np.array([60 * e1 + 40 * z1 - 6 * w1 + 20 * s, 30 * e2 + 25 * z2 - 2 * (w2 - w1)])

    def currents_rate(self, i: Array, u: Array, omega: Array) -> Array:
        w1, w2 = omega
        return np.array([
            (u[0] - self.R1 * i[0] - self.ke1 * w1) / self.L1,
            (u[1] - self.R2 * i[1] - self.ke2 * (w2 - w1)) / self.L2,
        ])  # fmt: skip

    def torques(self, i: Array) -> Array:
        """Without the virtual inertia."""
        return np.array([
            self.kt1 * i[0] / sqrt(1 + (i[0] / self.sat1) ** 2),
            self.kt2 * i[1] / sqrt(1 + (i[1] / self.sat2) ** 2),
        ])  # fmt: skip

    # ---- with constraints and unknowns

    def start_states(self) -> Array:
        return np.zeros(4)

    def first_guess(self) -> Array:
        return np.zeros(7)

    def load(self, at: Instant) -> Array:
        T1, T2 = at.Y[5:]
        return self.weight(np.array([T1 - T2, T2]))

    def differential(self, at: Instant) -> Array:
        """The first current is given implicitly, as L di/dt + R i + ke omega = u."""
        i, e, u, omega = at.X[:2], at.Y[:2], at.Y[3:5], at.v[2::3]
        voltage = self.L1 * at.Xdot[0] + self.R1 * i[0] + self.ke1 * omega[0] - u[0]
        rate = at.Xdot[1] - self.currents_rate(i, u, omega)[1]
        return np.array([voltage, rate, at.Xdot[2] - e[0], at.Xdot[3] - e[1]])

    def definitions(self, at: Instant) -> Array:
        e, s, omega = at.Y[:2], at.Y[2], at.v[2::3]
        u = self.voltages(e, s, at.X[2:], omega)
        T1, T2 = self.torques(at.X[:2])
        return np.array(
            [*self.errors(at.t, at.q[2], at.q[5]), s - (s**3 + s - e[0]), *u, T1, T2 - self.virtual * at.a[5]]
        )

    # ---- in its least coordinates y = (phi1, phi2, omega1, omega2, i1, i2, z1, z2)

    def rate(self, t: float, y: Vector) -> Vector:
        phi, omega, i, z = y[:2], y[2:4], y[4:6], y[6:]
        e = self.errors(t, *phi)
        u = self.voltages(e, cubic(e[0]), z, omega)
        T1, T2 = self.torques(i)
        return np.concatenate([omega, self.swing(phi, omega, T1, T2), self.currents_rate(i, u, omega), e])

    def swing(self, phi: Vector, omega: Vector, T1: float, T2: float) -> Vector:
        """The accelerations. The virtual inertia acts on link 2 and back on link 1."""
        (l1, l2), (m1, m2), g = self.lengths, self.masses, self.gravity
        c, s = m2 * l1 * l2 / 2 * cos(phi[1] - phi[0]), m2 * l1 * l2 / 2 * sin(phi[1] - phi[0])
        M = np.array([[(m1 / 3 + m2) * l1**2, c - self.virtual], [c, m2 * l2**2 / 3 + self.virtual]])
        b = np.array([
            T1 - T2 + s * omega[1] ** 2 - (m1 / 2 + m2) * g * l1 * cos(phi[0]),
            T2 - s * omega[0] ** 2 - m2 * g * l2 / 2 * cos(phi[1]),
        ])  # fmt: skip
        return np.linalg.solve(M, b)

    def least_start(self) -> Vector:
        return np.concatenate([self.angles, np.zeros(6)])


def signals(arm: Arm, t: float, y: Vector) -> dict[str, float]:
    """Named as in files/arm.json."""
    (l1, l2), (phi1, phi2, w1, w2, *X) = arm.lengths, y
    e = arm.errors(t, phi1, phi2)
    s = cubic(e[0])
    u = arm.voltages(e, s, np.array(X[2:]), y[2:4])
    T1, T2 = arm.torques(np.array(X[:2]))
    return {
        "upper.x": l1 / 2 * cos(phi1),
        "upper.vx": -l1 / 2 * sin(phi1) * w1,
        "upper.phi": phi1,
        "upper.omega": w1,
        "lower.y": l1 * sin(phi1) + l2 / 2 * sin(phi2),
        "lower.vy": l1 * cos(phi1) * w1 + l2 / 2 * cos(phi2) * w2,
        "lower.phi": phi2,
        "lower.omega": w2,
        **dict(zip(("i1", "i2", "z1", "z2"), X, strict=True)),
        **dict(zip(("e1", "e2", "s", "u1", "u2"), (*e, s, *u), strict=True)),
        "T1": T1,
        "T2": T2 - arm.virtual * arm.swing(y[:2], y[2:4], T1, T2)[1],
    }


def integrated(rate: Rate, y: Vector, times: list[float], method: str, rtol: float) -> Vector:
    """One row for each time."""
    run = solve_ivp(rate, (0.0, times[-1]), y, method=method, t_eval=times, rtol=rtol, atol=rtol * 1e-2)
    return np.asarray(run.y.T)


def write() -> None:
    """Radau against DOP853: the data are the latter's, as far as both agree."""
    arm, times = Arm(), [0.25, 0.5, 1.0, 2.0]
    radau = integrated(arm.rate, arm.least_start(), times, "Radau", 1e-12)
    fine = integrated(arm.rate, arm.least_start(), times, "DOP853", 3e-14)
    apart = np.max(np.abs(radau - fine) / np.maximum(1, np.abs(fine)))
    rows = [signals(arm, t, y) for t, y in zip(times, fine, strict=True)]
    origin = (
        "computed by us from the ODE in least coordinates (tests/reference/coupled.py): DOP853, rtol 3e-14; "
        f"Radau at rtol 1e-12 agrees to {apart:.0e}"
    )
    head = {"model": "arm", "origin": origin, "time": times}
    store("arm", head, {name: [row[name] for row in rows] for name in rows[0]})


if __name__ == "__main__":
    write()
