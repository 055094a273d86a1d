"""What the examples of vehicles print is so: stopping distances against the tyres, comfort, coupling errors, a suite."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd

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
