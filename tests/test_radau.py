"""Radau IIA: order 5 in places, velocities and states, long steps on stiff models, and what every scheme must do."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from coupled_models import file
from reference.states import kind, reference

import mbdfmu as mbd

# Of fixed steps the tolerance only says how far Newton's iteration goes.
CORRECTOR = 1e-12


def loaded(name: str) -> mbd.Model:
    known = name.split(":")[0] in mbd.models.names()
    return mbd.models.load(name) if known else mbd.Model.from_description(file(name))


def begun(name: str, **settings: Any) -> tuple[dict[str, Any], Any]:
    """A reference and a simulation of its model."""
    data = reference(name)
    return data, loaded(data["model"]).start(scheme="radau", parameters=data.get("parameters"), **settings)


def errors(data: dict[str, Any], at: int, simulation: Any) -> dict[str, float]:
    """Largest error of each kind at one of the reference's times, over the largest value that the signal takes."""
    found: dict[str, float] = {}
    for name, values in data["signals"].items():
        error = abs(simulation[name] - values[at]) / max(1.0, *map(abs, values))
        found[kind(name)] = max(found.get(kind(name), 0.0), error)
    return found


# ---------------------------------------------------------------- order

# Steps to the reference's first time: errors from 1e-6 down to where rounding and the reference's own begin.
STEPS = {
    "double_pendulum": (25, 50, 100),
    "slider_crank_g10": (50, 100, 200),
    "andrews": (20, 40, 80),
    "andrews_angles": (20, 40, 80),
    "pendulum3d": (20, 40, 80),  # rotations in space, redundant directions none
    "pi_actuator": (40, 80, 160),  # states X, variables V and forces F
}


@pytest.mark.parametrize("name", STEPS)
def test_everything_reported_is_of_fifth_order(name: str) -> None:
    """Reactions too, as they are those of index 1; the multipliers of the stages would be of third order."""
    runs = []
    for count in STEPS[name]:
        data, simulation = begun(name, step=reference(name)["time"][0] / count, tolerance=CORRECTOR)
        simulation.advance(data["time"][0])
        runs.append(errors(data, 0, simulation))
    orders = {k: np.log2(runs[0][k] / runs[-1][k]) / (len(runs) - 1) for k in runs[0]}
    assert orders == pytest.approx(dict.fromkeys(orders, 5.0), abs=0.3)


TIGHT = ["double_pendulum", "slider_crank_g10", "slider_crank_g9.8", "andrews", "andrews_angles", "andrews_stiff",
         "pendulum3d", "bricard", "pi_actuator", "arm", "stiff_double_pendulum_c2_50000"]  # fmt: skip


@pytest.mark.parametrize("name", TIGHT)
def test_references_are_met_to_ten_digits(name: str) -> None:
    data, simulation = begun(name, tolerance=1e-13)
    simulation.advance(data["time"][0])
    assert errors(data, 0, simulation)["positions"] <= 1e-10


@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank_g10", "andrews", "pendulum3d"])
def test_the_error_follows_the_tolerance(name: str) -> None:
    """As eps^(5/6): the embedded formula is held at eps^(2/3), and errors of order 5 go with its 5/4th power."""
    tolerances = 10.0 ** -np.arange(3.0, 12.0)
    found = []
    for tolerance in tolerances:
        data, simulation = begun(name, tolerance=tolerance)
        simulation.advance(data["time"][0])
        found.append(errors(data, 0, simulation)["positions"])
    assert np.polyfit(np.log10(tolerances), np.log10(found), 1)[0] == pytest.approx(5 / 6, abs=0.12)


# ---------------------------------------------------------------- stiff models


@pytest.mark.parametrize(("name", "steps"), [("andrews_stiff", 20), ("stiff_double_pendulum_c2_50000", 20)])
def test_stiff_models_take_long_steps(name: str, steps: int) -> None:
    """Measured: 13 and 9 steps; explicit ones would be 1/2000 and 1/1000 of the time at most."""
    data, simulation = begun(name, tolerance=1e-4)
    simulation.advance(data["time"][-1])
    assert errors(data, -1, simulation)["positions"] <= 1e-4
    assert simulation.statistics["steps"] <= steps


def test_a_stiff_vibration_dies_out_in_steps_longer_than_its_period() -> None:
    """Stiffly accurate: what is not resolved is taken out by the first steps."""
    data, simulation = begun("stiff_double_pendulum_c2_50000", step=0.005, tolerance=1e-8)
    simulation.advance(data["time"][-1])
    assert errors(data, -1, simulation)["positions"] <= 1e-4


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize("name", ["slider_crank", "andrews", "bricard", "slider_crank3d", "rolling_disc"])
def test_joints_are_closed_in_places_and_velocities(name: str) -> None:
    simulation = mbd.models.load(name).start(scheme="radau", tolerance=1e-5)
    simulation.advance(0.5 if name != "andrews" else 0.03)
    assert simulation.statistics["worst_position_violation"] <= 1e-10
    # over the model's length, per second; the fastest of these turns with 400 rad/s
    assert simulation.statistics["worst_velocity_violation"] <= 1e-10 * 400


def test_redundant_rows_stay_closed() -> None:
    """Bricard's mechanism has one row more than it needs; its reference goes to 10 s."""
    data, simulation = begun("bricard", tolerance=1e-8)
    simulation.advance(data["time"][-1])
    assert simulation.redundancies
    assert errors(data, -1, simulation)["positions"] <= 1e-6


# ---------------------------------------------------------------- restart, save and restore

RUNNING = ["pendulum", "slider_crank", "andrews_angles", "pendulum3d", "quarter_car", "bricard"]


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("settings", [{}, {"step": 1e-4}], ids=["error", "fixed"])
def test_restored_state_continues_bit_for_bit(name: str, settings: dict[str, Any]) -> None:
    simulation = mbd.models.load(name).start(scheme="radau", **settings)
    span = 0.003
    for _ in range(3):
        simulation.step(span)
    saved = copy.copy(simulation.save())
    for _ in range(3):
        simulation.step(span)
    first = simulation.values().copy()
    simulation.restore(saved)
    for _ in range(3):
        simulation.step(span)
    np.testing.assert_array_equal(simulation.values(), first)


def test_bounces_are_met_exactly() -> None:
    """A free fall is a polynomial of second degree, which five orders hold."""
    hht, radau = (mbd.models.load("bouncing_ball").start(scheme=s, tolerance=1e-8) for s in ("hht", "radau"))
    for simulation in (hht, radau):
        simulation.advance(2.0)
    assert [name for _, name in radau.events] == [name for _, name in hht.events]
    assert [t for t, _ in radau.events] == pytest.approx([t for t, _ in hht.events], abs=1e-9)


@pytest.mark.parametrize("name", ["stick_slip", "brake_rig", "rolling_disc", "double_wishbone"])
def test_friction_locks_rolling_and_tyres_as_by_another_scheme(name: str) -> None:
    """The error of the other one, of second order, is what is allowed."""
    radau, hht = (mbd.models.load(name).start(scheme=s, tolerance=1e-7) for s in ("radau", "hht"))
    for simulation in (radau, hht):
        simulation.advance(1.0)
    np.testing.assert_allclose(radau.save().q, hht.save().q, atol=3e-4)


def test_a_communication_point_costs_no_accuracy() -> None:
    """Steps are cut there, but the scheme goes on with what it has."""
    data, simulation = begun("double_pendulum", tolerance=1e-8)
    for t in np.linspace(0, data["time"][0], 101)[1:]:
        simulation.advance(float(t))
    assert errors(data, 0, simulation)["positions"] <= 1e-6
    assert simulation.statistics["restarts"] == 0


# ---------------------------------------------------------------- what it costs


def test_work_is_counted_and_small() -> None:
    """Counts, not times: a few iterations per step, and fewer matrices than steps where these last."""
    _, swinging = begun("double_pendulum", tolerance=1e-6)
    swinging.advance(5.0)
    s = swinging.statistics
    assert s["residuals"] == 3 * s["iterations"]
    assert s["iterations"] <= 4.5 * (s["steps"] + s["rejected"])
    assert s["steps"] <= 140  # measured: 105; the second-order schemes need 1300
    rolling = mbd.models.load("quarter_car").start(scheme="radau", tolerance=1e-6)
    rolling.advance(3.0)
    assert rolling.statistics["jacobians"] <= 0.2 * rolling.statistics["steps"]


def test_options_are_checked() -> None:
    with pytest.raises(mbd.ModelError, match=r"option max_iterations must lie in \[2, 1000\], found 1"):
        mbd.models.load("pendulum").start(scheme="radau", options={"max_iterations": 1})


@pytest.mark.parametrize("pace", [1e6, 1e-6, 1e-8])
def test_the_unit_of_time_does_not_count(pace: float) -> None:
    """Motion slower than 1e-3/s had its velocities weighed as if it were that fast: 20 times the error at 1e-4."""

    def errors_and_steps(pace: float) -> tuple[float, int]:
        model = mbd.Model("spring", length=1)
        model.add("x", mbd.Coordinate(unit="m", start=1.0, force=f"-{pace**2!r}*x*(1 + x^2)"))
        model.add_mass("x", 1)
        runs = []
        for scheme, tolerance in (("radau", 1e-4), ("dop853", 1e-12)):
            runs.append(model.start(scheme=scheme, tolerance=tolerance, smallest_step=1e-15 / pace))
            runs[-1].advance(20 / pace)
        return abs(runs[0]["x"] - runs[1]["x"]), runs[0].statistics["steps"]

    error, steps = errors_and_steps(pace)
    known, count = errors_and_steps(1.0)
    assert steps == count
    assert error == pytest.approx(known, rel=0.2)  # rounding of sums of times chooses when the matrix is new
