"""Converged states of the measured models from other equations and another integrator; must not use mbdfmu's solver.

`python benchmarks/references.py [MODEL ...]` writes data/references.json, all of it or the models named: few
coordinates instead of constrained bodies, and DOP853 of SciPy with tight tolerances instead of HHT. Rings are stiff and
take Radau; their second law is that of a peer. Andrews' mechanism is taken from the tests' data. Planar models are told
by the angles of their bodies, spatial ones by the places of their centres. What strikes a wall is integrated with steps
that are far shorter than a contact.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import struck_wall as wall
from cases import CASES, REFERENCES, SIX
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import solveh_banded
from scipy.sparse import csr_matrix

Vector = NDArray[np.float64]
Acceleration = Callable[[Vector, Vector], Vector]
GRAVITY = 9.81
ORIGIN = (
    "benchmarks/references.py: few coordinates, SciPy DOP853 at relative tolerance 1e-12 (1e-10 for 1000 links); "
    "rings: all coordinates, SciPy Radau at 1e-8; andrews: tests/reference/data/andrews.json; double pendulums: "
    "relative tolerance 1e-13, steps of at most 50 us"
)
BOTH_POINTS = ", forces at both points"  # the law of a peer's bushings
# Of the slider-crank: lengths, masses, inertia of the slider, start angle of the crank (models/slider_crank.json).
CRANK, ROD, M_CRANK, M_ROD, M_SLIDER, START = 0.2, 0.5, 1.0, 1.5, 2.0, np.pi / 6


def final_state(
    acceleration: Acceleration,
    start: Vector,
    rate: Vector,
    t_end: float,
    tolerance: float = 1e-12,
    longest: float = np.inf,
) -> Vector:
    """Coordinates at `t_end` of q'' = acceleration(q, q')."""
    n = len(start)
    both = np.concatenate([start, rate])

    def slope(_: float, y: Vector) -> Vector:
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    fine = {"rtol": tolerance, "atol": tolerance / 10, "max_step": longest}
    end = solve_ivp(slope, (0, t_end), both, method="DOP853", t_eval=[t_end], **fine)
    if not end.success:
        raise RuntimeError(end.message)
    return np.asarray(end.y[:n, -1])


def joint_forces(directions: Vector, squares: Vector, inertia: float, gravity: Vector) -> Vector:
    """Forces on the inner ends of a chain's rods of unit mass and length, from a banded system.

    With d the direction of a rod and P = 1 - d d^T, the force R_k on its inner end and -R_{k+1} on its outer end give
    a = g + R_k - R_{k+1} and d'' = -P (R_k + R_{k+1})/(2 J) - |d'|^2 d; both ends of a joint share their acceleration.
    """
    count, width = directions.shape
    square = (np.eye(width) - directions[:, :, None] * directions[:, None, :]) / (4 * inertia)
    own, next_ = np.eye(width) + square, square - np.eye(width)
    blocks = own.copy()
    blocks[1:] += own[:-1]
    pull = 0.5 * squares[:, None] * directions  # centripetal, from the centre of mass to an end
    right = -pull
    right[0] -= gravity
    right[1:] -= pull[:-1]
    band = _upper_band(blocks, next_[:-1])
    return np.asarray(solveh_banded(band, right.ravel(), check_finite=False)).reshape(count, width)


def _upper_band(diagonal: NDArray[np.float64], beside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric block-tridiagonal matrix in LAPACK's upper band storage."""
    count, width, _ = diagonal.shape
    high = 2 * width - 1  # diagonals above the main one
    band = np.zeros((high + 1, count * width))
    for row, column in np.ndindex(width, width):
        if row <= column:
            band[high + row - column, column::width] = diagonal[:, row, column]
        band[high + row - column - width, width + column :: width] = beside[:, row, column]
    return band


def _tolerance(count: int) -> float:
    return 1e-12 if count <= 100 else 1e-10


def chain(count: int, t_end: float) -> list[float]:
    """Rods in the plane, in their angles."""
    inertia = 1 / 12

    def acceleration(angle: Vector, omega: Vector) -> Vector:
        d = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        force = joint_forces(d, omega**2, inertia, np.array([0.0, -GRAVITY]))
        both = force + np.concatenate([force[1:], np.zeros((1, 2))])
        return np.asarray((d[:, 1] * both[:, 0] - d[:, 0] * both[:, 1]) / (2 * inertia))

    return list(final_state(acceleration, np.zeros(count), np.zeros(count), t_end, _tolerance(count)))


def chain3d(count: int, t_end: float) -> list[float]:
    """Rods in space, in their directions: nothing turns them about their own axes, about which they do not spin."""
    inertia, gravity = 1 / 12, np.array([0.0, -GRAVITY, 0.0])

    def acceleration(directions: Vector, rates: Vector) -> Vector:
        d, square = directions.reshape(-1, 3), np.sum(rates.reshape(-1, 3) ** 2, axis=1)
        d = d / np.linalg.norm(d, axis=1)[:, None]  # as trial steps of the integrator need it
        force = joint_forces(d, square, inertia, gravity)
        both = force + np.concatenate([force[1:], np.zeros((1, 3))])
        across = both - np.sum(both * d, axis=1)[:, None] * d
        return np.asarray(-across / (2 * inertia) - square[:, None] * d).ravel()

    start, rate = np.tile([1.0, 0.0, 0.0], count), np.tile([0.0, 0.0, -1.0], count)
    d = final_state(acceleration, start, rate, t_end, _tolerance(count)).reshape(-1, 3)
    return list((np.cumsum(d, axis=0) - d / 2).ravel())


def slider_crank(t_end: float) -> list[float]:
    """One coordinate, the crank's angle: m q'' + m' q'^2/2 = -V', with m from the speeds per unit of q'."""

    def rod(q: float) -> tuple[float, float, float]:  # angle and its derivatives by q
        s = CRANK / ROD * np.sin(q)
        c = np.sqrt(1 - s * s)
        first = -CRANK / ROD * np.cos(q) / c
        return -np.arcsin(s), first, (s - s * first * first) / c

    def acceleration(q: Vector, rate: Vector) -> Vector:
        x, (p, p1, p2) = q[0], rod(q[0])
        slider1 = -CRANK * np.sin(x) - ROD * np.sin(p) * p1
        slider2 = -CRANK * np.cos(x) - ROD * (np.cos(p) * p1**2 + np.sin(p) * p2)
        rod1 = np.array([-CRANK * np.sin(x) - ROD / 2 * np.sin(p) * p1, CRANK * np.cos(x) + ROD / 2 * np.cos(p) * p1])
        rod2 = np.array([-CRANK * np.cos(x) - ROD / 2 * (np.cos(p) * p1**2 + np.sin(p) * p2),
                         -CRANK * np.sin(x) + ROD / 2 * (np.cos(p) * p2 - np.sin(p) * p1**2)])  # fmt: skip
        inertia = M_ROD * ROD**2 / 12
        mass = M_CRANK * CRANK**2 / 3 + M_ROD * rod1 @ rod1 + inertia * p1**2 + M_SLIDER * slider1**2
        growth = M_ROD * rod1 @ rod2 + inertia * p1 * p2 + M_SLIDER * slider1 * slider2  # m'/2
        weight = GRAVITY * (M_CRANK * CRANK / 2 * np.cos(x) + M_ROD * rod1[1])
        return np.array([-(weight + growth * rate[0] ** 2) / mass])

    crank = final_state(acceleration, np.array([START]), np.zeros(1), t_end)[0]
    return [crank, rod(crank)[0], 0.0]


@dataclass(frozen=True, kw_only=True)
class DoublePendulum:
    """Two uniform rods, in their angles; `torques` are those of other forces than gravity."""

    masses: tuple[float, float]
    lengths: tuple[float, float]
    torques: Acceleration

    def acceleration(self, angle: Vector, omega: Vector) -> Vector:
        (m, n), (a, b) = self.masses, self.lengths
        apart, coupling = angle[0] - angle[1], n * a * b / 2
        both = coupling * np.cos(apart)
        mass = np.array([[m * a * a / 3 + n * a * a, both], [both, n * b * b / 3]])
        inertial = coupling * np.sin(apart) * np.array([omega[1] ** 2, -(omega[0] ** 2)])
        weight = GRAVITY * np.array([m * a / 2 + n * a, n * b / 2]) * np.cos(angle)
        return np.asarray(np.linalg.solve(mass, self.torques(angle, omega) - inertial - weight))

    def angles(self, start: Vector, rate: Vector, t_end: float) -> list[float]:
        return list(final_state(self.acceleration, start, rate, t_end, 1e-13, 5e-5))


def struck_wall(t_end: float) -> list[float]:
    def torques(angle: Vector, omega: Vector) -> Vector:
        lever = -wall.LENGTH * np.sin(angle)  # of a force along x on the tip
        depth, closing = wall.PLACE - wall.LENGTH * np.cos(angle).sum(), -(lever @ omega)
        force = wall.STIFFNESS * max(depth, 0.0) ** wall.EXPONENT * max(1 + wall.DISSIPATION * closing, 0.0)
        return np.asarray(force * lever)

    both = (wall.MASS, wall.MASS), (wall.LENGTH, wall.LENGTH)
    pendulum = DoublePendulum(masses=both[0], lengths=both[1], torques=torques)
    return pendulum.angles(np.zeros(2), np.zeros(2), t_end)


def stiff_double_pendulum(t_end: float) -> list[float]:
    """Springs and dampers at both hinges (models/stiff_double_pendulum.json)."""

    def torques(angle: Vector, omega: Vector) -> Vector:
        ground = -400 * (angle[0] - 1.5 * np.pi) - 15 * omega[0]
        between = 3e5 * (angle[1] - angle[0]) + 2800 * (omega[1] - omega[0])
        return np.array([ground + between, -between])

    pendulum = DoublePendulum(masses=(3.0, 0.3), lengths=(2.0, 3.0), torques=torques)
    return pendulum.angles(np.full(2, 2 * np.pi), np.array([0.0, 10.0]), t_end)


def four_bar(count: int, t_end: float) -> list[float]:
    """All upright rods share one angle, the couplers keep theirs."""
    inertia, weight = (count + 1) / 3 + count, GRAVITY * ((count + 1) / 2 + count)
    end = final_state(lambda q, _: -weight / inertia * np.cos(q), np.array([np.pi / 2]), np.array([-1.0]), t_end)[0]
    return [end] * (count + 1) + [0.0] * count


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Segments on bushings (models/ring.py), all as arrays: one row per segment, one column per cord."""

    count: int
    cords: int
    both_points: bool  # forces act on the points of both ends, and a rate is the difference of their velocities
    radius, width, density, bending, relaxation = 0.25, 0.01, 0.2, 0.5, 1e-3
    stiffness = np.array([2e5, 1e5])

    @cached_property
    def start(self) -> Vector:
        """x, y, angle of every segment."""
        angle = (2 * np.arange(self.count) + 1) * np.pi / self.count
        return np.stack([self.radius * np.sin(angle), -self.radius * np.cos(angle), angle], axis=1)

    @cached_property
    def masses(self) -> Vector:
        length = 2 * self.radius * np.tan(np.pi / self.count)
        return self.density * length * np.array([1, 1, length**2 / 12])

    @cached_property
    def ends(self) -> tuple[Vector, Vector]:
        """Points of the bushings in a segment and in the next."""
        height = ((np.arange(self.cords) + 0.5) / self.cords - 0.5) * self.width
        reach = (self.radius - height) * np.tan(np.pi / self.count)
        return np.stack([reach, height]), np.stack([-reach, height])

    def acceleration(self, flat: Vector, flat_rates: Vector) -> Vector:
        q, v = flat.reshape(-1, 3), flat_rates.reshape(-1, 3)
        (x, y, phi), (vx, vy, w) = q.T[:, :, None], v.T[:, :, None]
        c, s = np.cos(phi), np.sin(phi)
        step = np.roll(q, -1, axis=0) - q
        step[-1, 2] += 2 * np.pi
        sx, sy = self._turned(c, s, self.ends[0])
        nx, ny = self._turned(_next(c), _next(s), self.ends[1])
        dx, dy = _next(x) + nx - x - sx, _next(y) + ny - y - sy
        ax, ay = (sx, sy) if self.both_points else (sx + dx, sy + dy)  # where the force acts, from the segment
        ux, uy = _next(vx) - _next(w) * ny - vx + w * ay, _next(vy) + _next(w) * nx - vy - w * ax
        inside = self._turned(c, -s, (dx + self.relaxation * ux, dy + self.relaxation * uy))
        fx, fy = self._turned(c, s, self.stiffness[:, None, None] / self.cords * inside)
        spin = (np.roll(v, -1, axis=0) - v)[:, 2]
        torque = self.bending * (step[:, 2] - 2 * np.pi / self.count + self.relaxation * spin)
        own = np.stack([fx.sum(1), fy.sum(1), (ax * fy - ay * fx).sum(1) + torque], axis=1)
        given = np.stack([fx.sum(1), fy.sum(1), (nx * fy - ny * fx).sum(1) + torque], axis=1)
        force = own - np.roll(given, 1, axis=0)
        top = self.count // 2
        force[top, :2] -= self.stiffness * (q - self.start + self.relaxation * v)[top, :2]
        return np.asarray(force / self.masses - [0, GRAVITY, 0]).ravel()

    @staticmethod
    def _turned(c: Vector, s: Vector, a: Any) -> Vector:
        return np.stack([c * a[0] - s * a[1], s * a[0] + c * a[1]])

    @property
    def coupling(self) -> csr_matrix:
        """Which numbers the rates of coordinates and velocities depend on."""
        near = np.abs(np.subtract.outer(np.arange(self.count), np.arange(self.count))) % (self.count - 1) < 2
        block, n = np.kron(near, np.ones((3, 3))), 3 * self.count
        return csr_matrix(np.block([[np.zeros((n, n)), np.eye(n)], [block, block]]))


def _next(a: Vector) -> Vector:
    return np.roll(a, -1, axis=0)


def ring(count: int, t_end: float, cords: int = 1, both_points: bool = False) -> list[float]:
    """The angles of the segments."""
    model, n = Ring(count=count, cords=cords, both_points=both_points), 3 * count
    start = np.concatenate([model.start.ravel(), np.zeros(n)])

    def slope(_: float, y: Vector) -> Vector:
        return np.concatenate([y[n:], model.acceleration(y[:n], y[n:])])

    options = {"rtol": 1e-8, "atol": 1e-10, "jac_sparsity": model.coupling, "t_eval": [t_end]}
    end = solve_ivp(slope, (0, t_end), start, method="Radau", **options)
    if not end.success:
        raise RuntimeError(end.message)
    return list(end.y[2:n:3, -1])


def andrews(t_end: float) -> list[float]:
    """From the relative angles of the test set to those of the bodies."""
    path = REFERENCES.parents[2] / "tests" / "reference" / "data" / "andrews.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    names = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
    b, t, g, p, d, o, e = (data["signals"][name][data["time"].index(t_end)] for name in names)
    return [b, b + t, g, p + d, d, o + e, e]


def state(model: str, t_end: float) -> list[float]:
    """Angles of the bodies of a shipped planar model, places of a spatial one's."""
    family, _, text = model.removesuffix(BOTH_POINTS).partition(":N=")
    size, *more = text.split(",")
    alone = {
        "slider_crank": slider_crank,
        "andrews": andrews,
        "struck_wall": struck_wall,
        "stiff_double_pendulum": stiff_double_pendulum,
    }
    families = {"chain": chain, "chain3d": chain3d, "four_bar": four_bar}
    if family == "ring":
        cords = int(more[0].removeprefix("cords=")) if more else 1
        return ring(int(size), t_end, cords, model.endswith(BOTH_POINTS))
    if size:
        return families[family](int(size), t_end)
    return alone[family](t_end)


def main() -> None:
    named = sys.argv[1:]
    states = json.loads(REFERENCES.read_text(encoding="utf-8"))["states"] if named else {}
    for case in dict.fromkeys((*CASES, *SIX)):
        for law in ("", BOTH_POINTS) if case.family == "ring" else ("",):
            if not named or case.model in named:
                numbers = [float(f"{number:.13g}") for number in state(case.model + law, case.t_end)]
                states[case.model + law] = {"time": case.t_end, "places" if case.spatial else "angles": numbers}
    text = json.dumps({"origin": ORIGIN, "units": {"angles": "rad", "places": "m"}, "states": states})
    REFERENCES.write_text(text.replace('}, "', '},\n"').replace("{", "{\n", 1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
