"""Converged states of the measured models from other equations and another integrator; must not use mbdfmu's solver.

`python benchmarks/references.py` writes data/references.json: few coordinates instead of constrained bodies, and DOP853
of SciPy with tight tolerances instead of HHT. Andrews' mechanism is taken from the tests' data.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from cases import CASES, REFERENCES
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import solveh_banded

Vector = NDArray[np.float64]
Acceleration = Callable[[Vector, Vector], Vector]
GRAVITY = 9.81
ORIGIN = (
    "benchmarks/references.py: minimal coordinates, SciPy DOP853 at relative tolerance 1e-12 (1e-10 for 1000 links); "
    "andrews: tests/reference/data/andrews.json"
)
# Of the slider-crank: lengths, masses, inertia of the slider, start angle of the crank (models/slider_crank.json).
CRANK, ROD, M_CRANK, M_ROD, M_SLIDER, START = 0.2, 0.5, 1.0, 1.5, 2.0, np.pi / 6


def final_state(
    acceleration: Acceleration, start: Vector, rate: Vector, t_end: float, tolerance: float = 1e-12
) -> Vector:
    """Coordinates at `t_end` of q'' = acceleration(q, q')."""
    n = len(start)
    both = np.concatenate([start, rate])

    def slope(_: float, y: Vector) -> Vector:
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    end = solve_ivp(slope, (0, t_end), both, method="DOP853", rtol=tolerance, atol=tolerance / 10, t_eval=[t_end])
    if not end.success:
        raise RuntimeError(end.message)
    return np.asarray(end.y[:n, -1])


def chain(count: int, t_end: float) -> list[float]:
    """Rods of unit mass and length, linear in their number: the joint forces follow from a banded system.

    With e the direction of a rod and n its normal, the force R_k on its inner end and -R_{k+1} on its outer end give
    a = g + R_k - R_{k+1} and J alpha = -(n . (R_k + R_{k+1}))/2; both ends of a joint share their acceleration.
    """
    inverse = 12.0  # 1/J

    def acceleration(angle: Vector, omega: Vector) -> Vector:
        e = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        n = np.stack([-e[:, 1], e[:, 0]], axis=1)
        square = inverse / 4 * n[:, :, None] * n[:, None, :]  # of the inner end's acceleration by R_k
        own, next_ = np.eye(2) + square, square - np.eye(2)
        blocks = own.copy()
        blocks[1:] += own[:-1]
        pull = 0.5 * omega[:, None] ** 2 * e  # centripetal, from the centre of mass to an end
        right = -pull
        right[0] -= [0.0, -GRAVITY]
        right[1:] -= pull[:-1]
        force = solveh_banded(_upper_band(blocks, next_[:-1]), right.ravel(), check_finite=False).reshape(count, 2)
        both = force + np.concatenate([force[1:], np.zeros((1, 2))])
        return np.asarray(-inverse / 2 * np.einsum("ki,ki->k", n, both))

    tolerance = 1e-12 if count <= 100 else 1e-10
    return list(final_state(acceleration, np.zeros(count), np.zeros(count), t_end, tolerance))


def _upper_band(diagonal: NDArray[np.float64], beside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric block-tridiagonal matrix with 2 x 2 blocks in LAPACK's upper band storage."""
    band = np.zeros((4, 2 * len(diagonal)))
    band[3, 0::2], band[3, 1::2], band[2, 1::2] = diagonal[:, 0, 0], diagonal[:, 1, 1], diagonal[:, 0, 1]
    band[1, 2::2], band[0, 3::2] = beside[:, 0, 0], beside[:, 0, 1]
    band[2, 2::2], band[1, 3::2] = beside[:, 1, 0], beside[:, 1, 1]
    return band


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


def four_bar(count: int, t_end: float) -> list[float]:
    """All upright rods share one angle, the couplers keep theirs."""
    inertia, weight = (count + 1) / 3 + count, GRAVITY * ((count + 1) / 2 + count)
    end = final_state(lambda q, _: -weight / inertia * np.cos(q), np.array([np.pi / 2]), np.array([-1.0]), t_end)[0]
    return [end] * (count + 1) + [0.0] * count


def andrews(t_end: float) -> list[float]:
    """From the relative angles of the test set to those of the bodies."""
    path = REFERENCES.parents[2] / "tests" / "reference" / "data" / "andrews.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    names = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
    b, t, g, p, d, o, e = (data["signals"][name][data["time"].index(t_end)] for name in names)
    return [b, b + t, g, p + d, d, o + e, e]


def state(model: str, t_end: float) -> list[float]:
    """Angles of the bodies of a shipped model."""
    family, _, size = model.partition(":N=")
    alone = {"slider_crank": slider_crank, "andrews": andrews}
    families = {"chain": chain, "four_bar": four_bar}
    if size:
        return families[family](int(size), t_end)
    return alone[family](t_end)


def main() -> None:
    states = {}
    for case in CASES:
        angles = [float(f"{angle:.13g}") for angle in state(case.model, case.t_end)]
        states[case.model] = {"time": case.t_end, "angles": angles}
    text = json.dumps({"origin": ORIGIN, "unit": "rad", "states": states})
    REFERENCES.write_text(text.replace('}, "', '},\n"').replace("{", "{\n", 1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
