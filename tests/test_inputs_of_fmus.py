"""Inputs of FMUs over time: the rates that the model feels, and tables of many points for integrators outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu_instances import opened as opened2
from fmu_instances import shipped
from test_model_exchange import driven, exported, opened, ours

import mbdfmu as mbd

ROAD = np.linspace(0, 2, 201), 0.05 * np.sin(6 * np.linspace(0, 2, 201))


@pytest.mark.parametrize(
    ("interface", "choices", "tolerance", "left"),
    [("me2", {}, 1e-6, 2e-5), ("me2", {}, 1e-8, 1e-7), ("cs2", {}, 1e-7, 1e-5), ("cs3", {}, 1e-7, 1e-5),
     ("cs2", {"runtime": "python"}, 1e-7, 1e-5)],
)  # fmt: skip
def test_dampers_feel_the_speed_of_a_road(
    interface: str, choices: dict[str, Any], tolerance: float, left: float, tmp_path: Path
) -> None:
    """Lines between points 10 ms apart; without their slopes the travel of 0.0598 m would be off by 2.5e-4."""
    model = shipped("quarter_car")
    path = model.export_fmu(tmp_path / "car.fmu", interface=interface, **choices)
    found = mbd.fmu.simulate(path, 2.0, 0.01, inputs={"road": ROAD}, tolerance=tolerance, record="travel")
    expected = ours(model, 2.0, inputs={"road": ROAD})["travel"][-1]
    assert found["travel"][-1] == pytest.approx(expected, abs=left)
    assert not found.notes


def test_slopes_set_between_steps_are_followed_or_refused(tmp_path: Path) -> None:
    """In steps of FMI 3.0 the FMU asks for inputs; one that was not told so held them in silence."""
    travels = []
    for interface in ("cs2", "cs3"):
        path = shipped("quarter_car").export_fmu(tmp_path / f"{interface}.fmu", interface=interface)
        with mbd.fmu.open(path, slopes=True) as car:
            for k in range(20):
                car.set_input("road", ROAD[1][5 * k], float(np.diff(ROAD[1][5 * k : 5 * k + 6 : 5])[0]) / 0.05)
                car.step(0.05)
            travels.append(car["travel"])
    assert travels[1] == pytest.approx(travels[0], abs=1e-12)
    with mbd.fmu.open(path) as car:
        car.set_input("road", 0.01, 0.0)
        with pytest.raises(mbd.ModelError, match=r"would hold 'road' .* open it with slopes=True"):
            car.set_input("road", 0.01, 0.2)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("interface", ["me2", "cs2"])
def test_a_road_is_felt_by_the_rate_that_is_set_with_it(interface: str, tmp_path: Path) -> None:
    """Load of the wheel by its damper, and what it changes by with the rate."""
    model = shipped("quarter_car")
    path = model.export_fmu(tmp_path / "car.fmu", interface=interface)
    kind = opened if interface == "me2" else opened2
    with kind(path) as fmu:
        if interface == "me2":
            fmu.begin()
        else:
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
        number = {v.name: v.reference for v in mbd.fmu.info(path).variables}
        load, rate = number["wheel_load"], number["der(road)"]
        before = fmu.getReal([load])[0]
        fmu.setReal([rate], [0.3])
        assert fmu.getReal([load])[0] - before == pytest.approx(100 * 0.3)
        assert fmu.getDirectionalDerivative([load], [rate], [1.0]) == pytest.approx([100.0])
        state = fmu.getFMUState()
        fmu.setReal([rate], [0.0])
        assert fmu.getReal([load])[0] == pytest.approx(before)
        fmu.setFMUState(state)
        assert fmu.getReal([load, rate]) == pytest.approx([before + 30, 0.3])


def test_a_road_goes_on_at_its_rate_until_it_is_set_anew(tmp_path: Path) -> None:
    path = shipped("quarter_car").export_fmu(tmp_path / "car.fmu")
    with mbd.fmu.open(path) as car:
        car["der(road)"] = 0.3
        car.step(0.1)
        assert car._get([car._facts.variable("road")]) == pytest.approx([0.03])
        car.step(0.1)
        assert car._get([car._facts.variable("road")]) == pytest.approx([0.06])


def test_a_road_that_moves_without_its_rate_is_told_once(tmp_path: Path) -> None:
    path = shipped("quarter_car").export_fmu(tmp_path / "car.fmu")
    with mbd.fmu.open(path) as car:
        for k in range(9):
            car["road"] = 0.01 * k
            car.step(0.01)
        assert [note for note in car.notes if "'der(road)' is 0" in note and "feel" in note] == list(car.notes[:1])
        assert len(car.notes) == 1


def test_a_speed_that_an_input_prescribes_has_the_acceleration_that_is_set_with_it(tmp_path: Path) -> None:
    model = driven("speed", level="velocity")
    model.add("speed", mbd.Input(unit="m/s"))
    with opened(exported(model, tmp_path)) as fmu:
        fmu.begin()
        number = {v.name: v.valueReference for v in fmu.description.modelVariables}
        fmu.setReal([number["der(speed)"]], [0.7])
        assert fmu.look("cart.ax") == pytest.approx([0.7])


@pytest.mark.nightly
@pytest.mark.parametrize(("points", "step"), [(1000, 1.0), (5000, 0.5)])
def test_inputs_of_many_points_are_followed_between_few_points_of_output(
    points: int, step: float, tmp_path: Path
) -> None:
    """CVode takes 500 steps from one of its points to the next, and several at each corner of an input."""
    model = mbd.models.load("pendulum")
    path = model.export_fmu(tmp_path / "pendulum.fmu", interface="me2")
    time = np.linspace(0, 3, points)
    torque = time, 0.5 * np.sin(40 * time) + 0.3 * np.random.default_rng(1).standard_normal(points)
    found = mbd.fmu.simulate(path, 3.0, step, inputs={"torque": torque}, tolerance=1e-7, record="bar.phi")
    assert found.time == pytest.approx(np.arange(0, 3 + step / 2, step))
    expected = ours(model, 3.0, inputs={"torque": torque})["bar.phi"][-1]
    assert found["bar.phi"][-1] == pytest.approx(expected, abs=1e-3)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_run_that_takes_too_many_steps_says_what_helps(tmp_path: Path) -> None:
    model = mbd.Model("ringing")
    model.add("x", mbd.Coordinate(force="-1e8*x", start=1.0))
    model.add_mass("x", 1.0)
    with pytest.raises(mbd.StepFailed, match="give a smaller step_output, or a larger tolerance"):
        mbd.fmu.simulate(exported(model, tmp_path), 10.0, 10.0, tolerance=1e-8)
