"""What examples of vehicles print is so: stopping distances against the tyres, comfort, coupling errors, a suite."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd

pytestmark = pytest.mark.nightly  # minutes of driving and of coupled runs

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    """The example as a module, its functions without its main."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- a car stops


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The example and, by road and whether there is anti-lock control, its stops."""
    module = example("abs_stop")
    fmus = module.export(tmp_path_factory.mktemp("stop"))
    stops = {(road, on): module.stop(module.system(fmus, road, on)) for road in module.ROADS for on in (True, False)}
    return module, stops, fmus


@pytest.mark.parametrize("road", ["dry", "wet"])
def test_locked_wheels_stop_the_car_as_their_sliding_friction_says(car: Any, road: str) -> None:
    """By hand without the 0.1 s in which the wheels come to a stand, with the better friction that they pass then."""
    module, stops, _ = car
    assert stops[road, False].distance == pytest.approx(module.by_hand(road, module.sliding), rel=0.01)


@pytest.mark.parametrize(("road", "used"), [("dry", 0.92), ("wet", 0.90), ("split", 0.83)])
def test_anti_lock_brakes_use_most_of_the_friction_that_is_there(car: Any, road: str, used: float) -> None:
    """No stop beats the limit by hand; UN Regulation 13-H asks for three quarters of it."""
    module, stops, _ = car
    limit = module.by_hand(road, module.peak)
    assert limit < stops[road, True].distance < limit / used


def test_anti_lock_brakes_stop_sooner_than_locked_wheels(car: Any) -> None:
    _, stops, _ = car
    for road, most in (("dry", 0.75), ("wet", 0.65)):
        assert stops[road, True].distance < most * stops[road, False].distance


def test_no_wheel_is_locked_for_longer_than_the_controller_says(car: Any) -> None:
    _, stops, _ = car
    limit = mbd.controllers.kind("abs_slip").lock_limit  # type: ignore[attr-defined]
    assert all(stop.locked <= limit for (_, controlled), stop in stops.items() if controlled)
    assert stops["dry", False].locked > 2 and stops["wet", False].locked > 8


def test_on_a_split_road_the_driver_holds_the_car_that_can_be_steered(car: Any) -> None:
    """It turns by some degrees towards the grip at first; with locked wheels it spins, whatever the driver does."""
    _, stops, _ = car
    held, lost = stops["split", True], stops["split", False]
    assert np.max(np.abs(held.yaw)) < 12 and np.max(np.abs(held["car.yaw_rate"])) < 0.4
    assert np.max(np.abs(held["car.path_y"])) < 1.5
    assert np.max(np.abs(lost.yaw)) > 360
    assert np.max(np.abs(held["driver.y"])) <= 0.07


def test_without_a_driver_the_split_road_turns_the_car_with_anti_lock_brakes_too(car: Any) -> None:
    """Each wheel brakes as well as it can, those on the right more: nothing but the steering stands against that."""
    module, _, fmus = car
    alone = module.system(fmus, "split", True).with_parameters({"driver.kp": 0.0, "driver.kd": 0.0})
    assert np.max(np.abs(module.stop(alone).yaw)) > 90


def test_a_stop_on_an_even_road_is_straight(car: Any) -> None:
    """But for rounding, which the unstable motion of locked wheels lets grow."""
    _, stops, _ = car
    assert all(np.max(np.abs(stops[road, on].yaw)) < 0.01 for road in ("dry", "wet") for on in (True, False))


def test_held_values_make_wheels_swing_that_extrapolated_ones_leave_alone(car: Any) -> None:
    """At 5 ms on the wet road; at 1 ms held values do not swing either, so it is the coupling's doing."""
    module, stops, fmus = car
    held = module.stop(module.system(fmus, "wet", True).with_master(extrapolation=0))
    swings = []
    for stop in (held, stops["wet", True]):
        middle = (stop.time > 1) & (stop.time < 2)
        swings.append(np.ptp(stop["car.front_left_slip"][middle]))
    assert swings[0] > 0.1 > 0.01 > swings[1]
    assert held.distance > 1.03 * stops["wet", True].distance


# ---------------------------------------------------------------- active suspensions


@pytest.fixture(scope="module")
def suspension() -> Any:
    """The example, and the quarter car with each controller."""
    module = example("active_suspension")
    return module, module.variants(module.QUARTER)


@pytest.fixture(scope="module")
def rough(suspension: Any) -> dict[str, dict[str, float]]:
    """Figures of the quarter car on a road of class C."""
    module, models = suspension
    return {name: module.figures(module.QUARTER, model, module.road_of("C")) for name, model in models.items()}


def test_skyhook_damping_takes_a_third_of_the_acceleration_and_costs_grip(rough: Any) -> None:
    passive, sky = rough["passive"], rough["skyhook"]
    assert sky["acceleration"] < 0.65 * passive["acceleration"]
    assert sky["travel"] < 1.02 * passive["travel"] and sky["load"] < 1.35 * passive["load"]


def test_the_hybrid_grips_better_in_less_room(rough: Any) -> None:
    passive, hybrid = rough["passive"], rough["hybrid"]
    assert hybrid["load"] < 0.98 * passive["load"] and hybrid["travel"] < 0.8 * passive["travel"]
    assert hybrid["acceleration"] < 1.01 * passive["acceleration"]


def test_optimal_feedback_gives_comfort_without_loss_of_grip(rough: Any) -> None:
    passive, optimal = rough["passive"], rough["optimal"]
    assert optimal["acceleration"] < 0.8 * passive["acceleration"]
    assert optimal["load"] < 1.02 * passive["load"] and optimal["travel"] < passive["travel"]


@pytest.mark.parametrize("variant", ["passive", "skyhook", "hybrid", "optimal"])
def test_accelerations_are_what_density_and_frequency_response_say(suspension: Any, rough: Any, variant: str) -> None:
    """The road fades over 5 m of 160 m at either end, which is 2 % of the RMS; so much is left to one road's phases."""
    module, models = suspension
    wanted = module.expected(module.QUARTER, models[variant], module.road_of("C"))
    assert rough[variant]["acceleration"] == pytest.approx(0.98 * wanted, rel=0.015)


def test_accelerations_grow_as_the_root_of_the_class(suspension: Any, rough: Any) -> None:
    """Each class has four times the density of the one before; the wheels stay on the road until class C."""
    module, models = suspension
    smoother = module.figures(module.QUARTER, models["passive"], module.road_of("B"))
    assert rough["passive"]["acceleration"] == pytest.approx(2 * smoother["acceleration"], rel=0.01)
    assert rough["passive"]["least_load"] > 0


def test_the_gains_are_optimal(suspension: Any) -> None:
    """Of all gains nearby these give the least integral of what is weighed, after a kick of the road."""
    module, _ = suspension
    car, K = module.QUARTER, np.array(module.gains(module.QUARTER))
    outputs = [*car.measured, "acceleration"]
    linear = car.model.linearize(inputs=["actuator"], outputs=outputs, parameters={"bump": 0.0})
    C, Ca, Da = linear.C[:4], linear.C[4:], linear.D[4:]
    seen = np.any(np.abs(C) > 1e-9, axis=0)

    def cost(gains: np.ndarray) -> float:
        from scipy.linalg import solve_continuous_lyapunov

        A = (linear.A - linear.B @ gains @ C)[np.ix_(seen, seen)]
        Q = C.T @ np.diag([*module.WEIGHTS.values()]) @ C + (Ca - Da @ gains @ C).T @ (Ca - Da @ gains @ C)
        return float(np.trace(solve_continuous_lyapunov(A.T, -Q[np.ix_(seen, seen)])))

    best = cost(K)
    for k in range(4):
        for factor in (0.97, 1.03):
            other = K.copy()
            other[0, k] *= factor
            assert cost(other) > best


def test_a_skyhook_at_each_axle_calms_the_half_car(suspension: Any) -> None:
    module, _ = suspension
    car, road = module.HALF, module.road_of("C")
    passive = module.figures(car, car.model, road)
    sky = module.figures(car, module.hooked(car, "skyhook", module.SKYHOOK), road)
    optimal = module.figures(car, module.optimal(car), road)
    assert sky["acceleration"] < 0.65 * passive["acceleration"]
    assert optimal["acceleration"] < 0.9 * passive["acceleration"] and optimal["load"] < passive["load"]


def test_the_skyhook_leaves_no_peak_at_the_body_s_frequency(suspension: Any) -> None:
    module, models = suspension
    frequencies = np.geomspace(0.8, 1.6, 30)  # about the body's own, 1.2 Hz
    passive, sky = (
        np.abs(module.response(module.QUARTER, models[name], frequencies)) for name in ("passive", "skyhook")
    )
    assert np.max(sky) < 0.5 * np.max(passive)


# ---------------------------------------------------------------- from end to end, and a suite


@pytest.mark.parametrize(("master", "order", "most"), [("held", 1, 2e-4), ("extrapolated", 2, 2e-6)])
def test_coupled_fmus_come_to_the_one_model(
    master: str, order: int, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = example("skyhook_from_end_to_end")
    monkeypatch.chdir(tmp_path)
    system = module.coupled().with_master(**module.MASTERS[master])
    errors, made_up, result = module.convergence(system, module.twin())
    assert module.orders(errors)[-1] == pytest.approx(order, abs=0.1) and errors[-1] < most
    assert module.orders(made_up)[-1] == pytest.approx(order, abs=0.2)
    assert made_up[-1] < 2e-3 * abs(result["actuator.energy"][-1])


def test_the_suite_passes_and_finds_the_gain_that_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = example("regression_suite")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "PLANTS", {name: module.PLANTS[name] for name in ("quarter_car", "brake_rig")})
    assert {*module.CONTROLLERS} == {*mbd.controllers.names()}, "every shipped controller is in the suite"
    module.main()
    said = capsys.readouterr().out
    assert "9 passed" in said and "FAILED suite/skyhook.fmu" in said and "1 failed" in said


def test_references_of_the_suite_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference at rest proves nothing."""
    module = example("regression_suite")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "PLANTS", {})
    module.export()
    for name in module.CONTROLLERS:
        table = mbd.Result.read(tmp_path / "suite" / f"{name}_ref.csv")
        assert all(np.ptp(table[signal]) > 0 for signal in table.names()), name
