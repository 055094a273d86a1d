"""How joints stay closed when accelerations are integrated: drift, feedback, partitioning, projection; the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference.states import reference
from test_events import pendulum

import mbdfmu as mbd
from mbdfmu.description import Constraint, Coordinate
from mbdfmu.joints import Fixed

CLOSED = 1e-10  # of the model's length; rounding of Andrews' angles of many turns over its short links comes nearest
GAPS = ["double_pendulum", "andrews", "andrews_angles", "slider_crank_coordinates", "pendulum3d", "bricard", "stewart",
        "rolling_disc", "four_bar3d"]  # fmt: skip


def started(name: str, scheme: str, **settings: Any) -> Any:
    return mbd.models.load(name).start(scheme=scheme, assemble=True, **settings)


@pytest.mark.parametrize("scheme", ["gcp", "dopri5", "dop853"])
@pytest.mark.parametrize("name", GAPS)
def test_partitioning_and_projection_close_joints_to_rounding(name: str, scheme: str) -> None:
    simulation = started(name, scheme, tolerance=1e-5)
    simulation.advance(0.1)
    assert simulation.statistics["steps"] > 1
    assert simulation.statistics["worst_position_violation"] < CLOSED
    assert simulation.statistics["worst_velocity_violation"] < 1e-10 * max(1.0, np.abs(simulation.save().v).max())


@pytest.mark.parametrize("scheme", ["gcp", "dopri5", "dop853"])
def test_a_body_that_is_held_fast_stays_where_it_is(scheme: str) -> None:
    """Its velocity is nothing but rounding, and gets smaller with each step until numbers end."""
    model = mbd.Model("held", gravity=(-1.546, 2.928))
    place = (-0.1743447716672534, -0.2727786303861534)
    model.add("plate", mbd.Body(mass=0.8691, inertia=0.1521, position=place, angle=0.7172541565784083))
    wall = {"body": "ground", "at": (0.008865, 0.02834), "angle": 2.3584216080776246}
    corner = {"body": "plate", "at": (0.336, 0.1065), "angle": 1.6411674515012162}
    model.add("weld", Fixed(i=wall, j=corner))
    result = model.simulate(2.0, 0.0175, scheme=scheme, tolerance=1e-10)
    assert result.complete
    assert (result["plate.x"][-1], result["plate.y"][-1]) == pytest.approx(place, abs=1e-14)


def test_velocities_at_the_end_of_a_step_fit_the_joints() -> None:
    model = mbd.models.load("andrews")
    for scheme, largest in (("gcp", 1e-9), ("dopri5", 1e-9), ("direct", math.inf)):
        simulation = model.start(scheme=scheme, tolerance=1e-5)
        simulation.advance(0.02)
        state = simulation.save()
        speed, _ = model.compile().rates(state.t, state.q, state.v)
        assert np.abs(speed).max() < largest
    assert np.abs(speed).max() > 1e-6  # of direct integration, which is left as it is


def gap_of_direct_integration(seconds: float) -> float:
    simulation = mbd.models.load("slider_crank_coordinates").start(
        scheme="direct", options={"formula": "mampc3"}, step=0.01, parameters={"g": 10.0}
    )
    for k in range(round(seconds / 0.01)):
        simulation.advance((k + 1) * 0.01)
    return float(simulation.statistics["worst_position_violation"]) * mbd.models.load("slider_crank").compile().length


def test_direct_integration_drifts_quadratically() -> None:
    """Ten times the time opens the joints about a hundred times; 40 to 60 were measured by an independent program."""
    early, late = gap_of_direct_integration(10), gap_of_direct_integration(100)
    assert 20 < late / early < 120


# ---------------------------------------------------------------- feedback: [Wu00]


def mean_gap(formula: str, step: float, alpha: float) -> float:
    """Mean over 10 s of the norm of Phi for the slider-crank of [Wu00]; infinite where the motion blows up."""
    model = mbd.models.load("slider_crank_coordinates")
    options = {"formula": formula, "alpha": alpha}
    simulation = model.start(scheme="baumgarte", options=options, step=step, parameters={"g": 9.8})
    compiled, count, total = model.compile(), round(10 / step), 0.0
    for k in range(1, count + 1):
        try:
            simulation.advance(k * step)
        except mbd.StepFailed:  # open further than a mechanism
            return math.inf
        total += float(np.linalg.norm(compiled.constraints(simulation.time, simulation.save().q)))
        if not total < 1e3:
            return math.inf
    return total / count


@pytest.mark.parametrize(
    ("formula", "step", "paper", "independent"),
    [
        ("abm3", 0.01, 4.65e-6, 4.667e-6),
        ("abm3", 0.001, 4.14e-9, 4.146e-9),
        ("mampc3", 0.01, 9.8e-7, 9.846e-7),
        ("mampc3", 0.001, 9.6e-11, 9.705e-11),
    ],
)
def test_gaps_under_feedback_are_those_of_the_paper(
    formula: str, step: float, paper: float, independent: float
) -> None:
    """[Wu00] Table 3. Other first steps than the paper's exact ones change the mean by about a tenth of a per cent."""
    found = mean_gap(formula, step, alpha=5.0)
    assert found == pytest.approx(paper, rel=0.02)
    assert found == pytest.approx(independent, rel=2e-3)


@pytest.mark.parametrize(("formula", "bears"), [("abm3", 167), ("mampc3", 189)])
def test_too_much_feedback_blows_up_where_the_paper_says(formula: str, bears: int) -> None:
    """[Wu00] Fig. 7: at a step of 0.01 s, 168 and 190."""
    assert mean_gap(formula, 0.01, alpha=bears) < 0.01
    assert mean_gap(formula, 0.01, alpha=bears + 1) == math.inf


@pytest.mark.parametrize("formula", ["rk2", "rk4", "dopri5", "ab3", "abm4", "mampc5"])
@pytest.mark.parametrize("step", [0.002, 0.02])
def test_adaptive_gains_suit_any_step(formula: str, step: float) -> None:
    model = mbd.models.load("double_pendulum")
    options = {"formula": formula, "gains": "adaptive"}
    simulation = model.start(scheme="baumgarte", options=options, step=step)
    for k in range(200):
        simulation.advance((k + 1) * step)
    assert simulation.statistics["worst_position_violation"] < (1e-4 if step < 0.01 else 0.02)


@pytest.mark.parametrize("formula", ["dopri5", "mampc3"])
@pytest.mark.parametrize("name", ["bricard", "rolling_disc", "trebuchet"])
def test_adaptive_gains_do_not_grow_as_steps_are_cut(name: str, formula: str) -> None:
    """Gaps fed back the harder the shorter the step: no step would be short enough. Events cut steps too.

    140 to 1500 steps are taken, 7 to 60 times those of fixed gains; gains over the step tried took 413,000 or failed.
    """
    runs = []
    for gains in ("adaptive", "fixed"):
        runs.append(started(name, "baumgarte", options={"formula": formula, "gains": gains}, tolerance=1e-7))
        runs[-1].advance(0.5)
    assert runs[0].statistics["steps"] < 2000
    assert runs[0].save().q == pytest.approx(runs[1].save().q, abs=1e-4)  # some hundred tolerances


@pytest.mark.parametrize("scheme", ["baumgarte", "hybrid"])
def test_adaptive_gains_start_anew_bit_for_bit(scheme: str) -> None:
    """A jump of an input where joints are open: the gains are those of the saved state, not of who restores it."""
    model = mbd.models.load("cart_pendulum")
    runs = [model.start(scheme=scheme, options={"gains": "adaptive"}, tolerance=1e-5) for _ in range(2)]
    runs[0].advance(0.1234)
    runs[1].restore(runs[0].save())
    for run in runs:
        run["push"] = 1.7
        run.advance(0.3)
    assert np.array_equal(runs[0].values(), runs[1].values())


def test_feedback_stops_the_drift() -> None:
    gaps = []
    for alpha, beta in ((0.0, 0.0), (5.0, 0.0), (5.0, 20.0)):
        options = {"formula": "rk4", "alpha": alpha, "beta": beta}
        simulation = mbd.models.load("double_pendulum").start(scheme="baumgarte", options=options, step=0.02)
        simulation.advance(30)
        gaps.append(simulation.statistics["worst_position_violation"])
    assert gaps[0] > 10 * max(gaps[1:])
    assert gaps[1] != gaps[2]


# ---------------------------------------------------------------- partitioning


def errors_at_the_end(scheme: str, **settings: Any) -> tuple[float, dict[str, Any]]:
    data = reference("slider_crank_g10")
    end = data["time"][-1]
    simulation = mbd.models.load(data["model"]).start(scheme=scheme, parameters=data.get("parameters"), **settings)
    simulation.advance(end)
    names = [n for n in data["signals"] if not n.startswith("der(") and ".reaction" not in n]
    error = max(abs(simulation[n] - data["signals"][n][-1]) for n in names)
    return error, simulation.statistics


def circle(speed: float) -> mbd.Model:
    """A mass on a circle by its two coordinates, without weight: neither is independent everywhere."""
    model = mbd.Model("circle", length=1.0)
    for name, start, rate in (("x", 1.0, 0.0), ("y", 0.0, speed)):
        model.add(name, Coordinate(unit="m", start=start, velocity=rate))
        model.add_mass(name, 1.0)
    model.add("ring", Constraint(value="x^2 + y^2 - 1"))
    return model


def test_coordinates_are_chosen_anew_where_the_choice_turns_bad() -> None:
    simulation = circle(speed=2 * math.pi).start(scheme="gcp", tolerance=1e-9)
    simulation.advance(2.125)
    assert simulation["x"] == pytest.approx(math.cos(math.pi / 4), abs=1e-7)
    assert simulation["y"] == pytest.approx(math.sin(math.pi / 4), abs=1e-7)
    assert 8 <= simulation.statistics["repartitions"] <= 9  # once for each quarter of a turn


def test_the_hybrid_partitions_near_singular_positions() -> None:
    simulation = circle(speed=2 * math.pi).start(scheme="hybrid", tolerance=1e-9, options={"most_condition": 1.2})
    simulation.advance(2.125)
    assert simulation["x"] == pytest.approx(math.cos(math.pi / 4), abs=1e-6)
    assert 0 < simulation.statistics["partitioned_steps"] < simulation.statistics["steps"]


def test_the_hybrid_closes_what_feedback_leaves_open() -> None:
    error, statistics = errors_at_the_end("hybrid", tolerance=1e-8, options={"most_open": 1e-9})
    assert error < 1e-3
    assert statistics["worst_position_violation"] < 1.01e-9
    assert 0 < statistics["corrected_steps"] < statistics["steps"]


@pytest.mark.parametrize("scheme", ["direct", "baumgarte", "gcp", "hybrid", "dopri5"])
@pytest.mark.parametrize("formula", ["rk4", "ab4", "mampc3"])
def test_a_restored_state_goes_on_bit_for_bit(scheme: str, formula: str) -> None:
    options = {} if scheme == "dopri5" else {"formula": formula}
    first = started("slider_crank", scheme, options=options, tolerance=1e-6)
    first.advance(0.3)
    saved = first.save()
    first.advance(1.0)
    second = started("slider_crank", scheme, options=options, tolerance=1e-6)
    second.restore(saved)
    second.advance(1.0)
    assert first.save().q.tobytes() == second.save().q.tobytes()
    assert first.save().v.tobytes() == second.save().v.tobytes()


@pytest.mark.parametrize("scheme", ["direct", "baumgarte", "gcp", "hybrid", "dopri5"])
def test_the_ball_bounces_as_with_the_default_scheme(scheme: str) -> None:
    model = mbd.models.load("bouncing_ball")
    default = model.start(tolerance=1e-8)
    other = model.start(scheme=scheme, tolerance=1e-8)
    for simulation in (default, other):
        simulation.advance(1.2)
    assert [name for _, name in other.events] == [name for _, name in default.events]
    assert [t for t, _ in other.events] == pytest.approx([t for t, _ in default.events], abs=1e-6)  # located to this


@pytest.mark.parametrize("scheme", ["dopri5", "dop853"])
def test_inputs_that_stay_do_not_cut_steps_and_a_change_counts_at_once(scheme: str) -> None:
    model = mbd.models.load("slider_crank")
    outputs, exact = (model.start(scheme=scheme, tolerance=1e-8) for _ in range(2))
    for k in range(1, 101):
        outputs.advance(0.005 * k)
    free = model.start(scheme=scheme, tolerance=1e-8)
    free.advance(0.5)
    assert outputs.statistics["steps"] <= free.statistics["steps"] + 1
    exact.restore(free.save())
    for simulation in (outputs, exact):
        simulation["torque"] = 2.0
        simulation.advance(0.7)
        simulation["torque"] = -1.0
        simulation.advance(1.0)
    assert outputs["crank.phi"] == pytest.approx(exact["crank.phi"], abs=1e-6)
    assert outputs["crank.omega"] == pytest.approx(exact["crank.omega"], abs=1e-5)
    reference_run = model.start(tolerance=1e-10)
    for until, torque in ((0.5, 2.0), (0.7, -1.0), (1.0, 0.0)):
        reference_run.advance(until)
        reference_run["torque"] = torque
    assert outputs["crank.phi"] == pytest.approx(reference_run["crank.phi"], abs=1e-5)  # of the reference itself


@pytest.mark.parametrize("scheme", ["dopri5", "dop853", "direct", "hybrid"])
def test_what_comes_to_rest_with_nothing_left_to_move_stays_there(scheme: str) -> None:
    """A pendulum on a stop: velocities are rounding, of which no part follows the joints."""
    stop = {"rest": {"gap": "hinge.angle + 1", "restitution": 0.0}}
    run = pendulum(impacts=stop).simulate(1.0, 0.1, scheme=scheme, tolerance=1e-8)
    assert [name for _, name in run.events] == ["rest", "rest.rest"]
    assert run["hinge.angle"][-1] == pytest.approx(-1, abs=1e-8)
    assert abs(run["bar.omega"][-1]) < 1e-12
