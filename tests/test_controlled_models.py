"""The cart with a pole against SciPy, the crane against what it is made for: closed loops of shipped models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import mbdfmu as mbd

Vector = NDArray[np.float64]

# ---------------------------------------------------------------- a cart balances a pole


def cart_and_pole(t: float, y: Vector, p: dict[str, float], push: float) -> Vector:
    """x, lean, their rates, integral, actuator: from Lagrange's equations, the lean counted towards -x."""
    x, lean, v, w, integral, actuator = y
    m, half, s, c = p["pole_mass"], p["pole_length"] / 2, np.sin(lean), np.cos(lean)
    error = 0.5 - x
    command = p["kd"] * v - p["kp"] * error - p["ki"] * integral - p["ka"] * lean - p["kw"] * w
    force = p["strongest"] * np.tanh(actuator / p["strongest"]) - p["rolling"] * v
    M = np.array([[p["cart_mass"] + m, -m * half * c], [-m * half * c, 4 / 3 * m * half**2]])
    b = np.array([force + push - m * half * s * w**2, m * 9.81 * half * s - push * 2 * half * c])
    return np.array([v, w, *np.linalg.solve(M, b), error, (command - actuator) / p["lag"]])


SIGNALS = ("cart.x", "hinge.angle", "cart.vx", "hinge.angle_rate", "integral", "actuator")


def test_the_cart_moves_as_scipy_says() -> None:
    """A push that brings the actuator near its limit."""
    model, push, found = mbd.models.load("cart_pendulum"), 4.0, []
    p = {s.name: float(s.start or 0) for s in model.signals() if s.causality == "parameter"}
    exact = solve_ivp(cart_and_pole, (0, 1), np.zeros(6), "Radau", rtol=1e-10, atol=1e-11, args=(p, push)).y[:, -1]
    for count in (400, 800, 1600):
        simulation = model.start(step=1 / count)
        simulation["push"] = push
        simulation.advance(1.0)
        found.append(max(abs(simulation[n] - e) / max(1, abs(e)) for n, e in zip(SIGNALS, exact, strict=True)))
    assert np.log2(found[0] / found[-1]) / 2 == pytest.approx(2.0, abs=0.1)
    assert found[-1] < 2e-4


def test_the_pole_stays_upright_and_the_cart_arrives() -> None:
    result = mbd.models.load("cart_pendulum").simulate()
    assert np.max(np.abs(result["lean"])) > 0.02  # it has to lean to go
    assert result["place"][-1] == pytest.approx(0.5, abs=2e-3)
    assert abs(result["lean"][-1]) < 1e-3
    assert np.max(np.abs(result["force"])) < 60


def test_a_slow_actuator_lets_the_pole_fall() -> None:
    result = mbd.models.load("cart_pendulum").simulate(3.0, parameters={"lag": 1.0})
    assert np.max(np.abs(result["lean"])) > 1


# ---------------------------------------------------------------- a crane


def moved(**parameters: float) -> mbd.Result:
    return mbd.models.load("crane").simulate(
        record=["load*", "sway", "rope*", "control*", "trolley.*"], parameters=parameters
    )


def test_the_crane_brings_the_load_and_calms_it() -> None:
    calm, wild = moved(), moved(calming=0.0)
    assert calm["load_x"][-1] == pytest.approx(5, abs=0.03)
    assert calm["load_y"][-1] == pytest.approx(2, abs=0.03)
    late = calm.time > 15
    assert np.max(calm["sway"][late]) < 0.01 < 0.2 < np.max(wild["sway"][late])


def test_the_rope_keeps_its_length_and_pulls() -> None:
    result = moved()
    ends: Any = [[result[f"{body}.{axis}"] for axis in "xyz"] for body in ("load", "trolley")]
    np.testing.assert_allclose(np.linalg.norm(np.subtract(*ends), axis=0), 6, atol=1e-8)
    assert np.min(result["rope_force"]) > 2000


def test_drives_stay_within_their_limits() -> None:
    result = moved(smoothing=20.0)
    assert np.max(result["control_x.y"]) == 8000
    assert np.max(np.abs(result["control_y.y"])) <= 4000
