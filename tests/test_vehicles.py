"""Vehicles: linear vibrations in closed form, weight distribution, manoeuvres against what textbooks say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.linear import HalfCar, QuarterCar
from reference.tyres import A_TYRE
from scipy.integrate import solve_ivp

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


def test_a_quarter_car_over_a_bump_is_that_of_scipy() -> None:
    """A bump of 30 mm at 10 m/s: the tyre stays on the road, so that everything is linear."""
    m, mu, k, c, kt, ct = 360, 40, 22e3, 1600, 2e5, 100

    def road(t: float) -> tuple[float, float]:
        s = 10 * t - 5  # into a haversine of 3 m
        inside = 0 < s < 3
        return (0.015 * (1 - np.cos(2 * np.pi * s / 3)), 0.1 * np.pi * np.sin(2 * np.pi * s / 3)) if inside else (0, 0)

    def rates(t: float, y: np.ndarray) -> list[float]:
        strut, (z, speed) = k * (y[0] - y[1]) + c * (y[2] - y[3]), road(t)
        return [y[2], y[3], -strut / m, (strut - kt * (y[1] - z) - ct * (y[3] - speed)) / mu]

    result = mbd.models.load("quarter_car").simulate(
        t_end=2, step_output=0.01, tolerance=1e-8, parameters={"bump": 0.03}
    )
    wanted = solve_ivp(rates, (0, 2), np.zeros(4), "Radau", t_eval=result.time, rtol=1e-9, atol=1e-12, max_step=0.01).y
    for row, name in enumerate(("height_of_body", "height_of_wheel", "body_speed")):
        assert result[name] == pytest.approx(wanted[row], abs=2e-4 * np.max(np.abs(wanted[row]))), name


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


def test_what_controllers_of_a_half_car_measure_are_rates_of_what_it_shows() -> None:
    result = mbd.models.load("half_car").simulate(t_end=1.5, step_output=1e-3, tolerance=1e-8)
    middle = slice(1, -1)
    for rate, of in (("heave_speed", "heave"), ("pitch_rate", "pitch"), ("front_travel_rate", "front_travel")):
        slope = (result[of][2:] - result[of][:-2]) / 2e-3
        assert result[rate][middle] == pytest.approx(slope, abs=5e-3 * np.max(np.abs(slope))), rate
    for axle, x in (("front", 1.2), ("rear", -1.5)):
        speed = result["heave_speed"] + x * result["pitch_rate"]
        assert result[f"{axle}_body_speed"] == pytest.approx(speed, abs=5e-3 * np.max(np.abs(speed))), "small angles"
        change = 2e5 * (result[f"{axle}_deflection"] - result[f"{axle}_deflection"][0])
        assert result[f"{axle}_wheel_load"][0] + change == pytest.approx(result[f"{axle}_wheel_load"], abs=60)


def test_the_rear_wheel_of_a_half_car_meets_the_bump_later() -> None:
    result = mbd.models.load("half_car").simulate(step_output=0.002)
    front, rear = (result.time[np.argmax(result[f"{axle}_wheel.y"])] for axle in ("front", "rear"))
    assert rear - front == pytest.approx(2.7 / 10, abs=0.02)


# ---------------------------------------------------------------- full vehicle

WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
G, FRONT, REAR, BASE = 9.81, 1.2, 1.5, 2.7
BODY, RACK, UNSPRUNG = 1340, 6, 40  # kg
MASS = BODY + RACK + 4 * UNSPRUNG
# of one front, one rear wheel; the rack lies 0.12 m behind the front axle
LOADS = G * (np.array([BODY * REAR + RACK * (BASE - 0.12), BODY * FRONT + RACK * 0.12]) / BASE / 2 + UNSPRUNG)


@pytest.fixture(scope="module")
def car() -> mbd.Model:
    return mbd.models.load("full_vehicle")


def braking(front: float, rear: float, at: float = 0.2) -> dict[str, Any]:
    torques = {"front": front, "rear": rear}
    return {f"{w}.brake": ([0, at, at + 0.1], [0, 0, torques[w.split("_")[0]]]) for w in WHEELS}


def test_the_vehicle_has_fifteen_degrees_of_freedom(car: mbd.Model) -> None:
    """Six of the body, four suspensions, four wheels, the rack."""
    compiled = car.compile()
    assert compiled.nv - compiled.nc == 15
    compiled.start(assemble=True)
    assert compiled.redundancies == []


def test_wheel_loads_are_the_distribution_of_weight(car: mbd.Model) -> None:
    """The struts' preload comes from the linkage's ratio, so that nothing moves at the start."""
    result = car.simulate(t_end=3, step_output=0.02, parameters={"speed": 0})
    for k, axle in enumerate(("front", "rear")):
        for side in ("left", "right"):
            load = result[f"{axle}_{side}_load"]
            assert load[0] == pytest.approx(LOADS[k], rel=1e-9)
            assert load[-1] == pytest.approx(LOADS[k], rel=2e-3)
    assert np.ptp(result["car.z"]) < 2e-3 and np.ptp(result["car.x"]) < 1e-3


def test_a_car_on_its_springs_finds_its_equilibrium(car: mbd.Model) -> None:
    found = car.start(parameters={"speed": 0, "body_mass": 1600}, start="equilibrium")
    assert sum(found[f"{w}_load"] for w in WHEELS) == pytest.approx((1600 + RACK + 4 * UNSPRUNG) * G, rel=1e-3)
    assert abs(found["speed_ahead"]) < 1e-3


@pytest.mark.parametrize("speed", [15, 22])
def test_a_small_step_of_the_steering_ends_in_the_yaw_rate_of_a_bicycle(car: mbd.Model, speed: float) -> None:
    """r = V delta/(L + K V^2) with what the wheels really are turned; aligning torques move the axles' forces back."""
    drive = {f"{w}.drive": ([0], [14.0]) for w in WHEELS[:2]}  # against rolling resistance
    result = car.simulate(t_end=5, step_output=0.005, parameters={"speed": speed},
                          inputs={"rack": ([0, 1, 1.2], [0, 0, 5e-4]), **drive})  # fmt: skip
    last = {name: result[name][-1] for name in result.names()}
    turned = [np.mean([last[f"{axle}_{side}.upright.yaw"] for side in ("left", "right")]) for axle in ("front", "rear")]
    stiffness = 2 * A_TYRE["pky1"] * -4000 * np.sin(2 * np.arctan(LOADS / (A_TYRE["pky2"] * 4000)))
    trail = 0.1 * 0.313 * LOADS / 4000  # qdz1 R Fz/Fz0
    understeer = MASS / BASE * ((REAR + trail[0]) / stiffness[0] - (FRONT - trail[1]) / stiffness[1])
    v = last["speed_ahead"]
    assert last["yaw_rate"] == pytest.approx(v * (turned[0] - turned[1]) / (BASE + understeer * v**2), rel=0.035)
    assert last["acceleration_left"] == pytest.approx(v * last["yaw_rate"], rel=0.02)
    assert last["roll"] > 0 and last["front_right_load"] > last["front_left_load"]  # out of the bend


def test_left_is_the_mirror_image_of_right(car: mbd.Model) -> None:
    runs = [car.simulate(t_end=1, step_output=0.05, inputs={"rack": ([0, 0.2], [0, s * 0.01])}) for s in (1, -1)]
    for name, sign in (("car.x", 1), ("car.y", -1), ("yaw_rate", -1), ("roll", -1), ("pitch", 1)):
        assert runs[0][name] == pytest.approx(sign * runs[1][name], abs=1e-4), name
    assert runs[0]["front_left_load"] == pytest.approx(runs[1]["front_right_load"], rel=1e-3)


@pytest.mark.parametrize("friction", [1.0, 0.5])
def test_locked_wheels_slow_the_car_by_less_than_the_peak(car: mbd.Model, friction: float) -> None:
    parameters = {"speed": 12, "friction": friction}
    result = car.simulate(t_end=4.5, step_output=0.005, parameters=parameters, inputs=braking(4000, 3000))
    sliding = (result.time > 0.6) & (result["speed_ahead"] > 3)
    slowing = -result["acceleration_ahead"][sliding] / G
    assert np.max(slowing) < 1.21 * friction
    assert np.mean(slowing) > 0.6 * friction
    assert all(np.max(result[f"{w}_slip"][sliding]) < -0.97 for w in WHEELS)
    if friction == 1:
        assert abs(result["speed_ahead"][-1]) < 1e-2  # it stands, and does not slide back
        assert np.max(np.abs(result["car.y"])) < 1e-6


def test_gentle_braking_locks_nothing_and_dives(car: mbd.Model) -> None:
    """The brakes' torques over the rolling radius are the force that slows the car."""
    result = car.simulate(t_end=2, step_output=0.01, inputs=braking(700, 400))
    assert all(np.min(result[f"{w}_slip"]) > -0.1 for w in WHEELS)
    radius = 0.313 - np.mean(LOADS) / 2e5 / 3
    rolling = 0.01 * MASS * G * 0.313 / radius
    spinning = 4 * 0.95 / radius**2
    wanted = (2 * (700 + 400) / radius + rolling) / (MASS + spinning)
    assert -result["acceleration_ahead"][-1] == pytest.approx(wanted, rel=0.02)
    assert result["pitch"][-1] > 0 and result["front_left_load"][-1] > LOADS[0]


def test_pressures_brake_as_the_torques_that_they_stand_for(car: mbd.Model) -> None:
    """2e-4 m3 in front and 1e-4 m3 at the rear: 40 bar are 800 and 400 N.m."""
    pressed = {f"{w}_pressure": ([0, 0.2, 0.3], [0, 0, 40e5]) for w in WHEELS}
    found, wanted = (car.simulate(t_end=1.5, step_output=0.01, inputs=i) for i in (pressed, braking(800, 400)))
    for name in ("speed_ahead", "front_left_brake_torque", "rear_right_brake_torque", "pitch"):
        assert found[name] == pytest.approx(wanted[name], abs=1e-9 * np.max(np.abs(wanted[name]))), name
    assert found["front_left_brake_torque"][-1] == pytest.approx(800, rel=1e-6)


def test_outputs_say_where_the_car_is_and_how_its_wheels_point(car: mbd.Model) -> None:
    """A bend: the way driven is longer than its chord, the path bends with the heading, the wheels slip outwards."""
    result = car.simulate(t_end=3, step_output=0.005, inputs={"rack": ([0, 0.5], [0, 0.01])}, tolerance=1e-6)
    steps = np.hypot(np.diff(result["path_x"]), np.diff(result["path_y"]))
    assert result["driven"][-1] == pytest.approx(np.sum(steps), rel=2e-4), "1 mm for each second at most, by smoothing"
    assert np.hypot(result["path_x"][-1], result["path_y"][-1]) < 0.99 * result["driven"][-1]
    turned = np.trapezoid(result["yaw_rate"], result.time)
    assert result["yaw"][-1] == pytest.approx(turned, rel=5e-3) and turned > 0.3
    assert all(result[f"{w}_slip_angle"][-1] < -0.005 for w in WHEELS), "to the right, out of the bend"


def test_split_friction_turns_the_car_to_the_side_that_grips() -> None:
    split = mbd.models.load("full_vehicle", friction="if({y} > 0, 0.3, 1)")
    result = split.simulate(t_end=1, step_output=0.01, inputs=braking(1200, 700))
    assert np.min(result["front_left_slip"]) < -0.9 < np.min(result["front_right_slip"])
    assert result["car.yaw"][-1] < -0.02


@pytest.mark.nightly
def test_a_bump_passes_below_both_axles() -> None:
    """At 20 m/s a bump of 6 m at x = 10 m: front wheels rise before rear ones, and the car lands where it was."""
    bump = mbd.models.load("full_vehicle", height="0.08*havsin(abs({x} - 13), 0, 1, 3, 0)")
    result = bump.simulate(t_end=2.5, step_output=0.005)
    front, rear = (result.time[np.argmax(result[f"{axle}_left.wheel.z"])] for axle in ("front", "rear"))
    assert front == pytest.approx((13 - FRONT) / 20, abs=0.04) and rear - front == pytest.approx(BASE / 20, abs=0.02)
    assert 0.02 < np.ptp(result["car.z"]) < 0.1
    assert result["car.z"][-1] == pytest.approx(result["car.z"][0], abs=3e-3)
    assert np.ptp(result["roll"]) < 1e-6


def test_actuators_lift_the_car(car: mbd.Model) -> None:
    lifted = car.simulate(t_end=3, step_output=0.05, parameters={"speed": 0},
                          inputs={f"{w}.actuator": ([0, 0.5], [0, 400]) for w in WHEELS})  # fmt: skip
    assert 5e-3 < lifted["car.z"][-1] - lifted["car.z"][0] < 0.03


def test_a_controller_of_slip_stops_sooner_than_locked_wheels() -> None:
    """What anti-lock control will be coupled to: measured wheel speed in, brake torque out, every 5 ms."""
    distances = []
    for controlled in (False, True):
        rig = mbd.models.load("brake_rig").start(parameters={"speed": 20.0})
        torque = 0.0
        while rig["car_speed"] > 1.0:
            slip = 1 - 0.306 * rig["wheel_speed"] / rig["car_speed"]
            rise = 100.0 if slip < 0.12 or not controlled else -200.0
            rig["brake"] = torque = min(max(torque + rise, 0.0), 3000.0)
            rig.step(0.005)
        distances.append(rig["distance"])
    locked, held = distances
    assert held < 0.85 * locked
