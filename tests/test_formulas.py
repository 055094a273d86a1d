"""Integration formulas: orders, coefficients, how orders and steps follow errors, and the state within a step."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import coupled_models
import numpy as np
import pytest
from reference.states import kind, reference
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.schemes.formulas import FORMULAS

ROOT = Path(__file__).parents[1]
FIXED = [name for name in FORMULAS if name != "adams"]  # formulas of one order
CONTINUOUS = [
    ("dopri5", {}),
    ("dop853", {}),
    ("direct", {"formula": "adams"}),
    ("baumgarte", {"formula": "adams"}),
    ("gcp", {"formula": "adams"}),
    ("gcp", {"formula": "dop853"}),
    ("direct", {"formula": "rk4"}),
]
MODELS = ["double_pendulum", "slider_crank_g10", "pendulum3d"]
ROUNDING = 2e-12  # of q: what sums of many steps, and joints closed to 1e-13 of the length, leave


def names(data: dict[str, Any]) -> list[str]:
    return [name for name in data["signals"] if kind(name) == "positions"]


def error(simulation: Any, data: dict[str, Any], at: int) -> float:
    """Largest error of a position at one of the reference's times, over the largest value that it takes."""
    values = data["signals"]
    return max(abs(simulation[n] - values[n][at]) / max(1.0, *map(abs, values[n])) for n in names(data))


def started(data: dict[str, Any], **settings: Any) -> Any:
    return mbd.models.load(data["model"]).start(parameters=data.get("parameters"), **settings)


# ---------------------------------------------------------------- orders


def falls_at(order: int, found: list[float]) -> bool:
    """Whether halved steps show the order, or all that is left is rounding.

    The last pair above rounding counts; orders above 5 are seen over a few digits only, so that one less may be.
    """
    pairs = [(a, b) for a, b in pairwise(found) if b > ROUNDING]
    if not pairs:
        return found[-1] < 10 * ROUNDING
    return max(np.log2(a / b) for a, b in pairs[-2:]) > order - (0.35 if order <= 5 else 1.0)


@pytest.mark.parametrize("scheme", ["direct", "baumgarte", "gcp"])
@pytest.mark.parametrize("formula", FIXED)
@pytest.mark.parametrize("name", MODELS)
def test_errors_fall_at_the_order_of_the_formula(name: str, formula: str, scheme: str) -> None:
    data = reference(name)
    # errors of the first order would open joints further than the scheme lets them be, were there only 50 steps
    end, counts = data["time"][0], (50, 100, 200, 400, 800)[FORMULAS[formula] < 2 :]
    options = {"formula": formula} | ({"alpha": 5.0} if scheme == "baumgarte" else {})
    found = []
    for count in counts:
        simulation = started(data, scheme=scheme, options=options, step=end / count)
        simulation.advance(end)
        found.append(error(simulation, data, 0))
    assert falls_at(FORMULAS[formula], found), found


@pytest.mark.parametrize(("scheme", "order"), [("dopri5", 5), ("dop853", 8)])
@pytest.mark.parametrize("name", MODELS)
def test_errors_of_projected_steps_fall_at_their_order(name: str, scheme: str, order: int) -> None:
    data = reference(name)
    end = data["time"][0]
    found = []
    for count in (10, 20, 40, 80, 160, 320):
        simulation = started(data, scheme=scheme, step=end / count)
        simulation.advance(end)
        found.append(error(simulation, data, 0))
    assert falls_at(order, found), found


@pytest.mark.parametrize(("scheme", "options"), CONTINUOUS)
@pytest.mark.parametrize("name", MODELS)
def test_errors_follow_the_tolerance(name: str, scheme: str, options: dict[str, str]) -> None:
    """The error of a run is that of its steps, grown by the model; feedback adds one of its own."""
    data = reference(name)
    for tolerance in (1e-6, 1e-8):
        simulation = started(data, scheme=scheme, options=options, tolerance=tolerance)
        simulation.advance(data["time"][0])
        assert error(simulation, data, 0) < 50 * tolerance


# ---------------------------------------------------------------- coefficients


def test_the_coefficients_of_order_8_are_those_of_its_authors() -> None:
    """SciPy holds the digits of the published program."""
    text = (ROOT / "solver/integrators/dormand_prince8.hpp").read_text()
    numbers = [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?(?=[,}\s])", text.split("Tableau t{")[1])][1:]
    c = dop853_coefficients
    expected = [*c.C[:12], *(x for i in range(1, 12) for x in c.A[i, :i]), *c.B, *c.E5, *c.E3, *c.C[13:]]
    expected += [x for i in range(13, 16) for x in c.A[i, :i]] + [x for row in c.D for x in row]
    assert numbers == expected


# ---------------------------------------------------------------- variable order


def test_adams_takes_fewer_evaluations_than_runge_kutta_at_tight_tolerances() -> None:
    data = reference("andrews")
    runs = {}
    for scheme, options in (("dop853", {}), ("direct", {"formula": "adams"})):
        runs[scheme] = started(data, scheme=scheme, options=options, tolerance=1e-10)
        runs[scheme].advance(data["time"][0])
    assert runs["direct"].statistics["residuals"] < runs["dop853"].statistics["residuals"]


def test_adams_grows_its_order_where_steps_are_equal() -> None:
    """With fixed steps the tolerance says which order is worth while; errors fall faster than any low order's."""
    data = reference("double_pendulum")
    found = []
    for count in (100, 200):
        simulation = started(
            data, scheme="direct", options={"formula": "adams"}, step=data["time"][0] / count, tolerance=1e-3
        )
        simulation.advance(data["time"][0])
        found.append(error(simulation, data, 0))
    assert found[0] > 3.5 * found[1]  # order 2 is what the first steps leave: they are of order 1


def test_evaluations_follow_the_order_of_the_formula() -> None:
    """Steps to a tolerance grow as eps^(-1/p): four digits cost dopri5 a factor of 6, dop853 of 3, adams less."""
    data = reference("double_pendulum")
    cost = {}
    for scheme, options in (("dopri5", {}), ("dop853", {}), ("direct", {"formula": "adams"})):
        runs = [started(data, scheme=scheme, options=options, tolerance=eps) for eps in (1e-6, 1e-10)]
        for run in runs:
            run.advance(data["time"][0])
        cost[scheme] = runs[1].statistics["residuals"] / runs[0].statistics["residuals"]
    assert 3 < cost["dopri5"] < 8
    assert cost["dop853"] < 4
    assert cost["direct"] < 4


def test_adaptive_gains_refuse_a_formula_of_changing_order() -> None:
    with pytest.raises(mbd.ModelError, match=r"adams.*changes with its order"):
        mbd.models.load("double_pendulum").start(scheme="baumgarte", options={"formula": "adams", "gains": "adaptive"})


# ---------------------------------------------------------------- within a step


@pytest.mark.parametrize(("scheme", "options"), CONTINUOUS)
def test_output_costs_no_steps_and_is_as_exact_as_the_steps(scheme: str, options: dict[str, str]) -> None:
    data = reference("double_pendulum")
    end, tolerance = data["time"][0], 1e-7
    plain, shown = (started(data, scheme=scheme, options=options, tolerance=tolerance) for _ in range(2))
    fine = started(data, scheme="dop853", tolerance=1e-13)
    plain.advance(end)
    worst = 0.0
    for k in range(1, 201):
        for simulation in (shown, fine):
            simulation.advance(k * end / 200)
        assert shown.time == k * end / 200
        worst = max([worst, *(abs(shown[n] - fine[n]) for n in names(data))])
    assert shown.statistics["steps"] == plain.statistics["steps"] < 100
    most = plain.statistics["residuals"] + 3 * plain.statistics["steps"]  # dop853 asks for three slopes more
    assert shown.statistics["residuals"] <= most
    assert all(shown[n] == plain[n] for n in names(data))
    assert worst < 50 * tolerance  # ten times what the ends of steps have here


@pytest.mark.parametrize("scheme", ["dopri5", "dop853"])
def test_what_is_shown_lies_on_the_joints(scheme: str) -> None:
    model = mbd.models.load("slider_crank_coordinates")
    simulation, compiled = model.start(scheme=scheme, tolerance=1e-4), model.compile()
    for k in range(1, 101):
        simulation.advance(0.003 * k)
        state = simulation.save()
        speed, _ = compiled.rates(state.t, state.q, state.v)
        assert np.abs(compiled.constraints(state.t, state.q)).max() < 1e-12
        assert np.abs(speed).max() < 1e-11
    assert simulation.statistics["steps"] < 50


@pytest.mark.parametrize(("scheme", "options"), [*CONTINUOUS, ("direct", {"formula": "mampc4"})])
@pytest.mark.parametrize("name", ["andrews", "pendulum3d"])
def test_a_state_saved_anywhere_goes_on_bit_for_bit(name: str, scheme: str, options: dict[str, str]) -> None:
    data = reference(name)
    settings = {"scheme": scheme, "options": options, "tolerance": 1e-6}
    first, second = (started(data, **settings) for _ in range(2))
    times = np.linspace(0, data["time"][0], 38)[1:]
    for k, t in enumerate(times):
        first.advance(t)
        if k == 11:
            saved = first.save()
    second.restore(saved)
    for t in times[12:]:
        second.advance(t)
    assert {n: first[n] for n in data["signals"]} == {n: second[n] for n in data["signals"]}


@pytest.mark.parametrize(("scheme", "options"), CONTINUOUS)
def test_a_changed_parameter_counts_from_the_state_shown(tmp_path: Path, scheme: str, options: dict[str, str]) -> None:
    """Gravity is turned off between the ends of steps."""
    content = json.loads((ROOT / "models/double_pendulum.json").read_text())
    content["parameters"]["g"] = {"value": 10.0, "tunable": True}
    (tmp_path / "tunable.json").write_text(json.dumps(content))
    model = mbd.Model.load(tmp_path / "tunable.json")
    data = reference("double_pendulum")
    runs = [model.start(scheme=scheme, options=options, tolerance=1e-8), model.start(scheme="dop853", tolerance=1e-13)]
    for run in runs:
        run.advance(0.31)
        run["g"] = 0.0
        run.advance(0.8)
    assert max(abs(runs[0][n] - runs[1][n]) for n in names(data)) < 1e-6
    assert runs[0].statistics["restarts"] == 1


@pytest.mark.parametrize(("scheme", "options"), CONTINUOUS)
@pytest.mark.parametrize("build", [coupled_models.implicit_states, coupled_models.driven])
def test_states_are_integrated_and_shown(build: Any, scheme: str, options: dict[str, str]) -> None:
    model = coupled_models.model(build())
    fine = model.start(scheme="hht", tolerance=1e-7)
    simulation = model.start(scheme=scheme, options=options, tolerance=1e-8)
    for t in (0.1, 0.17, 0.2):
        fine.advance(t)
        simulation.advance(t)
        np.testing.assert_allclose(simulation.save().x, fine.save().x, atol=1e-4)  # what HHT leaves at 1e-7
        np.testing.assert_allclose(simulation.save().q, fine.save().q, atol=1e-4)


@pytest.mark.parametrize(("scheme", "options"), CONTINUOUS)
def test_a_model_of_states_alone_is_integrated(scheme: str, options: dict[str, str]) -> None:
    content = {
        "format_version": 1,
        "name": "oscillator",
        "states": {"x": {"rate": "y", "start": 1}, "y": {"rate": "-x", "start": 0}},
    }
    simulation = coupled_models.model(Description(**content)).start(scheme=scheme, options=options, tolerance=1e-9)
    for t in (0.5, 1.0, 2.0):
        simulation.advance(t)
        assert simulation["x"] == pytest.approx(np.cos(t), abs=1e-7)
        assert simulation["y"] == pytest.approx(-np.sin(t), abs=1e-7)


# ---------------------------------------------------------------- against another implementation


def accelerated(compiled: Any, t: float, y: np.ndarray) -> np.ndarray:
    """(q, v)' by a dense solve of the index-1 system."""
    nv, nc = compiled.nv, compiled.nc
    q, v, zero, none = y[:nv], y[nv:], np.zeros(nv), np.zeros(nc)
    right = -compiled.residual(t, q, v, zero, none)
    right[nv:] = compiled.rates(t, q, v)[1]
    matrix = compiled.jacobian(t, q, v, zero, none).toarray()
    return np.concatenate([v, np.linalg.solve(matrix, right)[:nv]])


@pytest.mark.parametrize(("scheme", "method", "order"), [("dopri5", "RK45", 5), ("dop853", "DOP853", 8)])
def test_evaluations_to_an_error_are_those_of_scipy(scheme: str, method: str, order: int) -> None:
    model = mbd.models.load("double_pendulum")
    compiled, fine = model.compile(), model.start(scheme="dop853", tolerance=1e-14)
    fine.advance(1.0)
    q, v, _, _ = compiled.start()
    ratios = []
    for tolerance in (1e-6, 1e-8, 1e-10):
        simulation = model.start(scheme=scheme, tolerance=tolerance)
        simulation.advance(1.0)
        other = solve_ivp(
            lambda t, y: accelerated(compiled, t, y),
            (0, 1),
            np.concatenate([q, v]),
            method=method,
            rtol=tolerance,
            atol=tolerance,
        )
        ours = np.abs(np.asarray(simulation.save().q) - fine.save().q).max()
        theirs = np.abs(other.y[: compiled.nv, -1] - fine.save().q).max()
        ratios.append(simulation.statistics["residuals"] / other.nfev * (ours / theirs) ** (1 / order))
    assert np.mean(ratios) < 1.45  # errors of speeds count by speeds (T12.2), which costs a step here and there


def test_adams_takes_no_more_steps_at_a_looser_tolerance() -> None:
    """Steps that shrank by a little, one after the other, kept it at order 1: 1373 steps at 1e-7 and 365 at 1e-9."""
    counts = []
    for tolerance in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
        simulation = mbd.models.load("andrews").start(
            scheme="direct", options={"formula": "adams"}, tolerance=tolerance
        )
        simulation.advance(0.03)
        counts.append(simulation.statistics["steps"])
    assert all(loose <= 1.1 * tight for loose, tight in pairwise(counts)), counts
