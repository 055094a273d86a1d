"""How errors fall with step and tolerance, how joints stay closed and energy is kept, measured on shipped models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.states import kind, reference

import mbdfmu as mbd
from mbdfmu.description import Description

KINDS = ("positions", "velocities", "reactions")
# Fixed steps have no error test; the tolerance only says how far the corrector goes, so it must not limit the error.
CORRECTOR = 1e-12


def errors(data: dict[str, Any], at: int, simulation: Any) -> dict[str, float]:
    """Largest error of each kind at one of the reference's times, over the largest value that the signal takes."""
    found = dict.fromkeys(KINDS, 0.0)
    for name, values in data["signals"].items():
        error = abs(simulation[name] - values[at]) / max(1.0, *map(abs, values))
        found[kind(name)] = max(found[kind(name)], error)
    return found


def errors_of_steps(name: str, at: int, counts: tuple[int, ...], **options: Any) -> dict[str, list[float]]:
    """Errors after each number of equal steps, by kind."""
    data = reference(name)
    model, end = mbd.models.load(data["model"]), data["time"][at]
    runs = []
    for count in counts:
        values = data.get("parameters")
        simulation = model.start(step=end / count, tolerance=CORRECTOR, options=options, parameters=values)
        simulation.advance(end)
        runs.append(errors(data, at, simulation))
    return {k: [run[k] for run in runs] for k in KINDS}


def order(found: list[float]) -> float:
    """Of errors whose steps halve, from the first to the last."""
    return float(np.log2(found[0] / found[-1]) / (len(found) - 1))


# ---------------------------------------------------------------- fixed steps

STEPS = {  # with the reference's first time
    "double_pendulum": (500, 1000, 2000),
    "slider_crank_g10": (500, 1000, 2000),
    "slider_crank_g9.8": (500, 1000, 2000),
    "andrews": (500, 1000, 2000),
    "andrews_angles": (500, 1000, 2000),
}


@pytest.mark.parametrize("alpha", [-0.3, -0.05])
@pytest.mark.parametrize("name", STEPS)
def test_positions_velocities_and_reported_reactions_are_of_second_order(name: str, alpha: float) -> None:
    found = errors_of_steps(name, 0, STEPS[name], alpha=alpha)
    assert {k: order(e) for k, e in found.items()} == pytest.approx(dict.fromkeys(KINDS, 2.0), abs=0.1)


@pytest.mark.parametrize("name", ["andrews", "andrews_angles"])
def test_the_order_holds_to_the_end_of_andrews(name: str) -> None:
    """At t = 0.03 s coarse steps are not yet in the range where errors fall as h^2."""
    found = errors_of_steps(name, 2, (2000, 4000, 8000))
    assert {k: order(e) for k, e in found.items()} == pytest.approx(dict.fromkeys(KINDS, 2.0), abs=0.1)


def test_the_printed_form_is_of_first_order_where_the_mass_matrix_varies() -> None:
    found = errors_of_steps("andrews_angles", 2, (2000, 4000, 8000), form="printed")
    assert {k: order(e) for k, e in found.items()} == pytest.approx(dict.fromkeys(KINDS, 1.0), abs=0.1)


@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank_g10", "andrews"])
def test_the_printed_form_is_the_corrected_one_where_the_mass_matrix_is_constant(name: str) -> None:
    printed, corrected = (errors_of_steps(name, 0, (1000,), form=form) for form in ("printed", "corrected"))
    for k in KINDS:
        assert printed[k] == pytest.approx(corrected[k], rel=5e-3)  # but for the first step (T5.9)


# ---------------------------------------------------------------- error control

TOLERANCES = 10.0 ** -np.arange(4.0, 10.0)
# Reference, places of its times (the largest error counts, one time alone may be a lucky one), bounds of the exponent.
# Theory: 2/3, as the step goes with the cube root and the error with its square.
EXPONENTS = {
    "double_pendulum": ((0, 1, 2), 0.6, 0.75),
    "slider_crank_g10": ((0, 1, 2), 0.6, 0.8),
    "slider_crank_g9.8": ((0, 1, 2), 0.6, 0.8),
    "andrews": ((0, 1, 2), 0.6, 1.0),
    "andrews_angles": ((0, 1, 2), 0.6, 1.0),
}


@pytest.mark.parametrize("weights", ["model", "paper"])
@pytest.mark.parametrize("name", EXPONENTS)
def test_the_error_follows_the_tolerance(name: str, weights: str) -> None:
    times, low, high = EXPONENTS[name]
    data = reference(name)
    model = mbd.models.load(data["model"])
    found, steps = [], []
    for tolerance in TOLERANCES:
        simulation = model.start(tolerance=tolerance, options={"weights": weights}, parameters=data.get("parameters"))
        largest = 0.0
        for at in times:
            simulation.advance(data["time"][at])
            largest = max(largest, errors(data, at, simulation)["positions"])
        found.append(largest)
        steps.append(simulation.statistics["steps"])
    assert low <= np.polyfit(np.log10(TOLERANCES), np.log10(found), 1)[0] <= high
    assert np.polyfit(np.log10(TOLERANCES), np.log10(steps), 1)[0] == pytest.approx(-1 / 3, abs=0.02)


# ---------------------------------------------------------------- what must stay as it is

# Energy of the models without damping, plus what a constant drive has put in.
ENERGY = {
    "pendulum": "energy.kinetic + energy.potential",
    "double_pendulum": "energy.kinetic + energy.potential",
    "slider_crank": "energy.kinetic + energy.potential",
    "slider_crank_coordinates": "total_energy",
    "chain:N=5": "energy.kinetic + energy.potential",
    "four_bar:N=2": "energy.kinetic + energy.potential",
    "andrews": "energy.kinetic + energy.potential - drive*beta",
    "andrews_angles": "total_energy",
}


def drift(name: str, tolerance: float, description: Description | None = None) -> float:
    """Largest departure from the first value of the energy, over the largest kinetic energy."""
    model = mbd.Model.from_description(description) if description else mbd.models.load(name)
    model.add("conserved", mbd.Output(value=ENERGY[name], unit="J"))
    result = model.simulate(tolerance=tolerance, record=["conserved", "energy.kinetic"])
    change = np.abs(result["conserved"] - result["conserved"][0])
    return float(change.max() / result["energy.kinetic"].max())


@pytest.mark.parametrize("name", ENERGY)
def test_energy_is_kept_within_the_accuracy(name: str) -> None:
    """Measured: at most 5e-3 and 2.4e-4, both on the slider-crank, which turns fifteen times."""
    coarse, fine = drift(name, 1e-6), drift(name, 1e-8)
    assert coarse <= 1e-2
    assert fine <= 5e-4
    assert fine <= coarse / 5  # 1e-2 of the tolerance gives 1/21 in theory


def test_derived_velocity_terms_keep_the_energy_of_andrews() -> None:
    """Without them the same model is wrong by 4 % of its largest kinetic energy."""
    description = mbd.models.load("andrews_angles").description
    without = Description(**{**description.to_data(), "velocity_terms": "given"})
    assert drift("andrews_angles", 1e-9, description) <= 1e-5
    assert drift("andrews_angles", 1e-9, without) >= 1e-2


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("name", [*mbd.models.names(), "four_bar:N=40"])
def test_joints_stay_closed_at_every_step(name: str, tolerance: float) -> None:
    """|Phi| over the model's length; rule (45) of [Negrut05] alone would leave it at 2e-3 of the tolerance."""
    model = mbd.models.load(name)
    experiment = model.description.experiment
    assert experiment is not None
    simulation = model.start(tolerance=tolerance)
    simulation.advance(experiment.stop_time or 1.0)
    statistics = simulation.statistics
    assert statistics["worst_position_violation"] <= 1e-9
    assert statistics["extra_iterations"] <= statistics["iterations"] / 2  # what that costs
