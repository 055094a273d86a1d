"""Vehicles: linear vibrations in closed form, weight distribution, manoeuvres against what textbooks say."""

from __future__ import annotations

import numpy as np
import pytest
from reference.linear import HalfCar, QuarterCar

import mbdfmu as mbd

STEP = 0.01  # m
SMOOTH = {"bump": 0.0, "tyre_damping": 0.0}


# ---------------------------------------------------------------- quarter and half car


def test_a_quarter_car_on_a_step_of_the_road() -> None:
    car = QuarterCar(sprung=360, unsprung=40, spring=22e3, damper=1600, tyre=2e5)
    model = mbd.models.load("quarter_car")
    result = model.simulate(
        t_end=1, step_output=0.01, tolerance=1e-8, parameters=SMOOTH, inputs={"road": ([0], [STEP])}
    )
    wanted = np.array([car.step(t, STEP)[0] for t in result.time])
    for k, name in enumerate(("height_of_body", "height_of_wheel")):
        assert result[name] == pytest.approx(wanted[:, k], abs=2e-4 * STEP), name
    assert result["travel"] == pytest.approx(wanted[:, 0] - wanted[:, 1], abs=4e-4 * STEP)


def test_a_quarter_car_stands_still_until_the_bump() -> None:
    result = mbd.models.load("quarter_car").simulate()
    before = result.time < 0.5
    assert np.max(np.abs(result["height_of_body"][before])) < 1e-9
    assert result["wheel_load"][0] == pytest.approx(400 * 9.81)
    assert 0.03 < np.max(result["height_of_wheel"]) < 0.08 and np.min(result["wheel_load"]) >= 0


def test_the_actuator_of_a_quarter_car_pushes_body_and_wheel_apart() -> None:
    result = mbd.models.load("quarter_car").simulate(
        t_end=5, parameters={"bump": 0}, inputs={"actuator": ([0], [500.0])}
    )
    assert result["height_of_body"][-1] == pytest.approx(500 / 22e3, rel=1e-3)
    assert result["height_of_wheel"][-1] == pytest.approx(0, abs=1e-5)


def test_a_half_car_with_one_wheel_on_a_step() -> None:
    """Small angles: what is left out is of the second order in the step."""
    step = STEP / 10
    car = HalfCar(sprung=700, inertia=1150, front=1.2, rear=1.5, unsprung=40, spring=22e3, damper=1600, tyre=2e5)
    springs = {"front_stiffness": 22e3, "rear_stiffness": 22e3, "front_damping": 1600, "rear_damping": 1600}
    result = mbd.models.load("half_car").simulate(
        t_end=1,
        step_output=0.01,
        tolerance=1e-8,
        parameters={**SMOOTH, **springs},
        inputs={"front_road": ([0], [step])},
    )
    vibration = car.on((step, 0.0))
    wanted = np.array([vibration.at(t, np.zeros(4), np.zeros(4))[0] for t in result.time])
    for k, name in enumerate(("heave", "pitch")):
        assert result[name] == pytest.approx(wanted[:, k], abs=1e-3 * step), name
    front = result["heave"] + 1.2 * result["pitch"] - wanted[:, 2]
    assert result["front_travel"] == pytest.approx(front, abs=1e-3 * step)


def test_the_rear_wheel_of_a_half_car_meets_the_bump_later() -> None:
    result = mbd.models.load("half_car").simulate(step_output=0.002)
    front, rear = (result.time[np.argmax(result[f"{axle}_wheel.y"])] for axle in ("front", "rear"))
    assert rear - front == pytest.approx(2.7 / 10, abs=0.02)
