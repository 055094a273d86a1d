"""Differential states X, variables V, force signals F: consistent, of second order, with exact derivatives.

The coupled systems of tests/reference are computed elsewhere; what has no reference is held against the equations that
were written down, and the eliminated form against the one that solves for everything ([Negrut05] eq. 12).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coupled_models import MODELS, file, in_space, model, swinging, torque
from numpy.typing import NDArray
from reference.states import reference

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel, Settings
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.forces import Single
from mbdfmu.joints import Fixed, Prismatic
from mbdfmu.lowering import Lowered, lower

Vector = NDArray[np.float64]
every_model = pytest.mark.parametrize("name", MODELS)
ALL = {**MODELS, "in_space": in_space}
in_the_plane_and_in_space = pytest.mark.parametrize("name", ALL)

# ---------------------------------------------------------------- order and tolerance

MOVING = {  # signals of the integrated quantities, by system
    "pi_actuator": {"q": ("bar.x", "bar.y"), "X": ("X1", "X2")},
    "arm": {"q": ("upper.phi", "lower.phi", "upper.x", "lower.y"), "X": ("i1", "i2", "z1", "z2")},
}
COUNTS = {"pi_actuator": (200, 400, 800), "arm": (400, 800, 1600)}


def errors(name: str, simulation: Any, at: int) -> dict[str, float]:
    """Largest error of positions and of states, over the largest value that the signal takes."""
    signals = reference(name)["signals"]
    found = {}
    for kind, names in MOVING[name].items():
        sizes = {one: max(1.0, *map(abs, signals[one])) for one in names}
        found[kind] = max(abs(simulation[one] - signals[one][at]) / size for one, size in sizes.items())
    return found


def order(found: list[float]) -> float:
    return float(np.log2(found[0] / found[-1]) / (len(found) - 1))


def orders(name: str, **options: Any) -> dict[str, float]:
    data, runs = reference(name), []
    end = data["time"][1]
    for count in COUNTS[name]:
        # The tolerance only says how far the corrector goes.
        simulation = model(file(name)).start(step=end / count, tolerance=1e-12, options=options)
        simulation.advance(end)
        runs.append(errors(name, simulation, 1))
    return {kind: order([run[kind] for run in runs]) for kind in runs[0]}


@pytest.mark.parametrize("name", MOVING)
def test_positions_and_states_are_of_second_order(name: str) -> None:
    assert orders(name) == pytest.approx({"q": 2.0, "X": 2.0}, abs=0.1)


@pytest.mark.parametrize("rho", [0.75, 0.95])
def test_eq_9a_is_of_first_order_and_draws_the_positions_along(rho: float) -> None:
    assert orders("pi_actuator", states="paper", rho=rho) == pytest.approx({"q": 1.0, "X": 1.0}, abs=0.15)


def test_steps_by_eq_9a_follow_the_square_root_of_the_tolerance() -> None:
    """Eq. 38b: the local error of the states is of second order."""
    steps = []
    for tolerance in (1e-5, 1e-7):
        simulation = model(file("pi_actuator")).start(tolerance=tolerance, options={"states": "paper", "rho": 0.75})
        simulation.advance(1.0)
        steps.append(simulation.statistics["steps"])
    assert np.log10(steps[1] / steps[0]) / 2 == pytest.approx(1 / 2, abs=0.04)


@pytest.mark.parametrize("name", MOVING)
def test_errors_follow_the_tolerance(name: str) -> None:
    """Errors fall as eps^(2/3), steps grow as eps^(-1/3)."""
    data, runs = reference(name), []
    for tolerance in (1e-5, 1e-7):
        simulation = model(file(name)).start(tolerance=tolerance)
        simulation.advance(data["time"][-1])
        runs.append((max(errors(name, simulation, -1).values()), simulation.statistics["steps"]))
    (coarse, few), (fine, many) = runs
    assert fine < 1e-3
    assert fine < coarse / 8  # 100^(2/3) = 22
    assert many == pytest.approx(few * 100 ** (1 / 3), rel=0.35)


def test_variables_and_forces_are_those_of_the_reference() -> None:
    """Whatever is reported belongs together: as exact as positions and states."""
    data = reference("arm")
    simulation = model(file("arm")).start(tolerance=1e-8)
    simulation.advance(data["time"][0])
    for name, values in data["signals"].items():
        assert simulation[name] == pytest.approx(values[0], abs=2e-4 * max(1.0, *map(abs, values))), name
    assert simulation["motor2.torque"] == pytest.approx(data["signals"]["T2"][0], abs=1e-2)


# ---------------------------------------------------------------- consistency


def values_of(model_: mbd.Model, t_end: float = 0.3) -> dict[str, float]:
    simulation = model_.start(tolerance=1e-6)
    simulation.advance(t_end)
    return dict(zip(simulation.names, simulation.values(), strict=True))


def test_rates_are_consistent_at_the_start() -> None:
    simulation = model(MODELS["implicit_states"]()).start()
    s = {name: simulation[name] for name in simulation.names}
    d1, d2 = s["der(Z[1])"], s["der(Z[2])"]
    assert 2 * d1 + 0.5 * d2**3 + d2 + 0.2 - s["bar.phi"] == pytest.approx(0, abs=1e-12)
    assert d2 - 0.3 * d1 + np.sin(-0.1) - s["bar.omega"] * 0.5 == pytest.approx(0, abs=1e-12)
    assert s["der(X)"] == pytest.approx(-0.5 + 0.01 * s["pin.reaction.y"] + 0.1 * s["bar.alpha"], abs=1e-12)


def test_implicit_states_fulfil_their_equations_while_they_move() -> None:
    s = values_of(model(MODELS["implicit_states"]()))
    d1, d2 = s["der(Z[1])"], s["der(Z[2])"]
    assert 2 * d1 + 0.5 * d2**3 + d2 + s["Z[1]"] - s["bar.phi"] == pytest.approx(0, abs=1e-11)
    assert d2 - 0.3 * d1 + np.sin(s["Z[2]"]) - s["bar.omega"] * s["X"] == pytest.approx(0, abs=1e-11)


def test_implicit_variables_fulfil_their_equations() -> None:
    s = values_of(model(MODELS["implicit_variables"]()))
    assert s["s"] ** 3 + s["s"] == pytest.approx(3 * s["bar.phi"], abs=1e-11)
    assert s["w[1]"] + 0.4 * s["w[2]"] ** 3 == pytest.approx(s["s"], abs=1e-11)
    assert s["w[2]"] - 0.2 * np.tanh(s["w[1]"]) == pytest.approx(s["bar.omega"], abs=1e-11)
    assert s["motor.torque"] == pytest.approx(-0.7 * np.tanh(s["total"]) - 0.1 * s["s"] ** 2, abs=1e-11)


def test_variables_that_need_each_other_are_solved_for() -> None:
    s = values_of(model(MODELS["variable_loop"]()))
    assert s["a"] == pytest.approx(0.5 * np.cos(s["b"]) + s["bar.phi"], abs=1e-11)
    assert s["b"] == pytest.approx(0.3 * s["a"] + 0.1 * s["bar.omega"] - 0.2 * s["c"], abs=1e-11)
    assert s["c"] == pytest.approx(s["a"] * s["b"] - 0.05 * s["bar.alpha"], abs=1e-11)


def test_forces_that_need_each_other_are_solved_for() -> None:
    s = values_of(model(MODELS["force_loop"]()))
    reaction = np.sqrt(s["pin.reaction.x"] ** 2 + s["pin.reaction.y"] ** 2 + 1)
    assert s["motor.torque"] == pytest.approx(0.3 * s["brake.torque"] - s["bar.phi"] - 0.2 * s["bar.alpha"], abs=1e-10)
    assert s["brake.torque"] == pytest.approx(
        -0.2 * s["motor.torque"] - 0.1 * np.tanh(s["bar.omega"]) * reaction, abs=1e-10
    )


@pytest.mark.parametrize("name", [name for name in MODELS if name != "arm"])  # that has two bars
def test_reported_accelerations_balance_the_forces(name: str) -> None:
    """On the bar about its centre: torques of the forces and of the reaction of the pin."""
    description = MODELS[name]()
    s = values_of(model(description))
    loads = sum(s[f"{force}.torque"] for force in description.forces) + s.get("drive.reaction.force", 0.0)
    half = s["bar.x"], s["bar.y"]  # from the pin
    pull = -half[0] * s["pin.reaction.y"] + half[1] * s["pin.reaction.x"]
    inertia = 1 / 3 if name == "pi_actuator" else 0.3
    assert inertia * s["bar.alpha"] == pytest.approx(loads + pull, abs=1e-9)


def test_accelerations_of_a_motion_contain_the_rate_of_its_state() -> None:
    simulation = model(MODELS["driven"]()).start(tolerance=1e-6)
    for _ in range(3):
        assert simulation["pin.angle_rate"] == pytest.approx(simulation["speed"], abs=1e-9)
        rate = (simulation["command"] - simulation["speed"]) / 0.2
        assert simulation["der(speed)"] == pytest.approx(rate, abs=1e-10)
        assert simulation["bar.alpha"] == pytest.approx(rate, abs=1e-9)
        simulation.step(0.1)


def test_a_state_alone_is_a_model() -> None:
    """X' = -2 X + sin t."""
    description = Description(
        format_version=1, name="alone", states={"X": {"rate": "-2*X + sin(time)", "start": 1.0}}, length=1
    )
    found = []
    for count in (100, 200, 400):
        simulation = model(description).start(step=1 / count)
        simulation.advance(1.0)
        exact = (2 * np.sin(1) - np.cos(1)) / 5 + 1.2 * np.exp(-2)
        found.append(abs(simulation["X"] - exact))
    assert order(found) == pytest.approx(2.0, abs=0.1)


def test_the_nominal_size_says_what_errors_of_a_small_state_count() -> None:
    """A vibration of 1e-6 is nothing beside 1, and is followed where 1e-6 is its size."""
    found = []
    for nominal in (1.0, 1e-6):
        state = {"rate": ["Z[2]", "-400*Z[1]"], "start": [1e-6, 0], "nominal": nominal}
        own = model(Description(format_version=1, name="small", states={"Z": state}, length=1))
        simulation = own.start(tolerance=1e-4)
        simulation.advance(1.0)
        found.append(abs(simulation["Z[1]"] - 1e-6 * np.cos(20)) / 1e-6)
    ignored, followed = found
    assert followed < 0.05 < 0.3 < ignored


# ---------------------------------------------------------------- elimination of V and F

EXACT = {"stop_ratio": 1e-12, "constraint_tolerance": 1e-14, "max_iterations": 30}  # driven to rounding


def both(description: Description) -> tuple[Lowered, Lowered]:
    return lower(description), lower(description, eliminate=False)


def started(lowered: Lowered, **settings: Any) -> tuple[Any, Any]:
    system = _solver.System(lowered.blob)
    native = _solver.Simulation(system, *Settings(**settings).native())
    native.start(True)
    return system, native


@in_the_plane_and_in_space
def test_eliminated_and_full_systems_give_the_same_motion(name: str) -> None:
    states = []
    for lowered in both(ALL[name]()):
        _, native = started(lowered, step=0.01, tolerance=1e-9, options=EXACT)
        native.advance(0.5)
        states.append(native.save())
    eliminated, full = states
    for what in ("q", "v", "x"):
        mine, theirs = getattr(full, what), getattr(eliminated, what)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * max(1.0, np.max(np.abs(theirs), initial=0)))


COEFFICIENTS = (1 / 0.7, 0.8e-2, 0.4225e-4, 0.8 * 0.7 * 1e-2)  # of a step of 0.01 s


def dense(system: Any, native: Any, *coefficients: float) -> Vector:
    s = native.save()
    rates = native.save()
    values = native.derivative(s.t, s.q, native.v, native.a, native.lam, s.x, rates.xdot, rates.y, *coefficients)
    matrix = np.zeros((system.n, system.n))
    np.add.at(matrix, (system.rows, system.cols), values)
    return matrix


@in_the_plane_and_in_space
def test_elimination_is_the_schur_complement_of_the_full_matrix(name: str) -> None:
    """The solve of the eliminated system against NumPy on the full one, at the start of both."""
    (small, eliminated), (large, full) = (started(lowered) for lowered in both(ALL[name]()))
    matrix, labels = dense(large, full, *COEFFICIENTS), list(large.labels)
    kept = [labels.index(label) for label in small.labels]
    gone = [k for k in range(large.n) if k not in kept]
    (A, B), (C, D) = ([matrix[np.ix_(rows, columns)] for columns in (kept, gone)] for rows in (kept, gone))
    complement = A - B @ np.linalg.solve(D, C) if gone else A
    rhs = np.random.default_rng(5).uniform(-1, 1, small.n)
    expected = np.linalg.solve(complement, rhs)
    np.testing.assert_allclose(
        dense(small, eliminated, *COEFFICIENTS), complement, rtol=0, atol=1e-12 * np.max(np.abs(complement))
    )
    rounding = 1e-12 * max(1.0, np.linalg.cond(complement) * 1e-3) * np.max(np.abs(expected))
    np.testing.assert_allclose(eliminated.solve(rhs, *COEFFICIENTS)[0], expected, rtol=0, atol=rounding)


@every_model
def test_full_systems_keep_every_variable_and_force_as_an_unknown(name: str) -> None:
    eliminated, full = both(MODELS[name]())
    kept = {y.name for y in full.model.unknowns}
    description = full.model.description
    variables = {one for one in full.model.signals if one.partition("[")[0] in description.variables}
    forces = {f"{one}.torque" for one in description.forces}
    assert variables | forces <= kept
    assert {y.name for y in eliminated.model.unknowns} <= kept


# ---------------------------------------------------------------- the Jacobian of [Negrut05] eq. 12

STEP = 1e-3
BY_DIFFERENCES = 1e-7  # five points at a distance of 1e-3 leave about 1e-11


def sizes(m: CompiledModel) -> dict[str, int]:
    s = m.system
    return {"q": m.nq, "v": m.nv, "a": m.nv, "lam": m.nc, "x": s.nx, "xdot": s.nx, "y": s.ny}


def random_state(m: CompiledModel, seed: int) -> dict[str, Vector]:
    rng = np.random.default_rng(seed)
    return {key: rng.uniform(-1, 1, n) for key, n in sizes(m).items()}


def column(m: CompiledModel, state: dict[str, Vector], moved: dict[str, Vector]) -> Vector:
    """Derivative of the residual along a direction, by five points."""

    def at(s: float) -> Vector:
        there = {k: x + s * moved[k] if k in moved and k != "q" else x for k, x in state.items()}
        if "q" in moved:
            there["q"] = m.moved(state["q"], s * moved["q"])
        return m.residual(0.37, **there)

    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


def expected_jacobian(m: CompiledModel, state: dict[str, Vector], weights: tuple[float, ...]) -> Vector:
    ca, cv, cq, cx = weights
    columns = []
    for k in range(m.nv):
        unit = np.eye(m.nv)[k]
        columns.append(column(m, state, {"a": ca * unit, "v": cv * unit, "q": cq * unit}))
    for key, weight in (("lam", 0.0), ("xdot", cx), ("y", 0.0)):
        for unit in np.eye(sizes(m)[key]):
            columns.append(column(m, state, {key: unit, **({"x": weight * unit} if weight else {})}))
    return np.stack(columns, axis=-1)


def row_factors(m: CompiledModel, weights: tuple[float, ...]) -> Vector:
    """Constraint rows are divided by what their own level moves with."""
    ca, cv, cq, _ = weights
    own = {"position": cq, "velocity": cv, "acceleration": ca}
    levels = [row.level for c in m.lowered.model.constraints for p in c.primitives for row in p.rows]
    return np.array([1.0] * m.nv + [own[level] for level in levels] + [1.0] * (m.system.n - m.nv - m.nc))


@every_model
@pytest.mark.parametrize("eliminate", [True, False], ids=["eliminated", "full"])
@pytest.mark.parametrize("weights", [(1.4, 0.8, 0.42, 0.56), (0.3, 0.2, 0.9, 0.7), (1.0, 1e-3, 1e-3, 0.9)])
def test_the_jacobian_is_exact(name: str, eliminate: bool, weights: tuple[float, ...]) -> None:
    m = CompiledModel(lower(MODELS[name](), eliminate=eliminate))
    m.start(assemble=True)
    for seed in range(2):
        state = random_state(m, seed)
        wanted = expected_jacobian(m, state, weights) / row_factors(m, weights)[:, None]
        found = m.jacobian(0.37, **state, weights=weights).toarray()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=BY_DIFFERENCES * max(1.0, np.max(np.abs(wanted))))


@every_model
@pytest.mark.parametrize("key", ["a", "v", "q", "lam", "x", "xdot", "y"])
def test_the_jacobian_is_exact_by_each_of_its_arguments(name: str, key: str) -> None:
    """Of the equations of motion, of states and of unknowns; one kind of derivative at a time."""
    m = CompiledModel(lower(MODELS[name](), eliminate=False))
    m.start(assemble=True)
    state = random_state(m, 3)
    first = {"lam": m.nv, "x": m.nv + m.nc, "xdot": m.nv + m.nc, "y": m.nv + m.nc + m.system.nx}.get(key, 0)
    columns = slice(first, first + (sizes(m)[key] if key != "q" else m.nv))
    one = [float(key == k) for k in ("a", "v", "q", "x")]
    none = m.jacobian(0.37, **state, weights=(0.0, 0.0, 0.0, 0.0)).toarray()
    found = m.jacobian(0.37, **state, weights=one).toarray()
    if key in ("a", "v", "q", "x"):
        found = found - none
    units = np.eye(columns.stop - columns.start)
    rows = [k for k in range(m.system.n) if not m.nv <= k < m.nv + m.nc]
    wanted = np.array([column(m, state, {key: unit}) for unit in units]).reshape(-1, m.system.n).T
    np.testing.assert_allclose(
        found[rows][:, columns], wanted[rows], rtol=0, atol=BY_DIFFERENCES * max(1.0, np.max(np.abs(wanted), initial=0))
    )


@pytest.mark.parametrize("eliminate", [True, False], ids=["eliminated", "full"])
def test_the_jacobian_is_exact_in_space(eliminate: bool) -> None:
    """Orientations move by increments from the quaternion of a random pose."""
    m, weights = CompiledModel(lower(in_space(), eliminate=eliminate)), (1.4, 0.8, 0.42, 0.5)
    pose = m.moved(m.start(assemble=True)[0], np.random.default_rng(6).uniform(-1, 1, m.nv))
    state = {**random_state(m, 7), "q": pose}
    wanted = expected_jacobian(m, state, weights) / row_factors(m, weights)[:, None]
    found = m.jacobian(0.37, **state, weights=weights).toarray()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=BY_DIFFERENCES * max(1.0, np.max(np.abs(wanted))))


# ---------------------------------------------------------------- inputs, restarts, saved states


def test_variables_follow_a_jump_at_once_and_states_do_not() -> None:
    simulation = model(MODELS["with_input"]()).start()
    simulation.step(0.1)
    simulation["u"] = 2.0
    assert simulation["x"] == pytest.approx(0, abs=1e-12)
    assert simulation["v"] == pytest.approx(2.0, abs=1e-12)
    assert simulation["der(x)"] == pytest.approx(20.0, abs=1e-9)


def test_states_are_of_second_order_across_a_jump() -> None:
    found = []
    for count in (40, 80, 160):
        simulation = model(MODELS["with_input"]()).start(step=0.2 / count)
        simulation.advance(0.2)
        simulation["u"] = 1.0
        simulation.advance(0.4)
        found.append(abs(simulation["x"] - (1 - np.exp(-2))))
    assert order(found) == pytest.approx(2.0, abs=0.15)
    assert found[-1] < 1e-4


@in_the_plane_and_in_space
def test_saved_states_continue_bit_for_bit(name: str) -> None:
    simulation = model(ALL[name]()).start(tolerance=1e-5)
    simulation.advance(0.13)
    saved = simulation.save()
    runs = []
    for _ in range(2):
        simulation.restore(saved)
        simulation.advance(0.31)
        runs.append(simulation.values())
    np.testing.assert_array_equal(runs[0], runs[1])


@pytest.mark.parametrize("name", ["arm", "implicit_variables", "with_input"])
def test_an_fmu_with_states_gives_bitwise_what_the_model_gives(name: str, tmp_path: Path) -> None:
    own = model(MODELS[name]())
    knots = np.array([0.0, 0.05, 0.05, 0.2]), np.array([0.0, 0.0, 1.0, 1.0])
    arguments: dict[str, Any] = {"inputs": {"u": knots}, "interpolation": "hold"} if name == "with_input" else {}
    path = own.export_fmu(tmp_path / "model.fmu", tolerance=1e-5)
    got, expected = mbd.fmu.simulate(path, 0.2, 0.01, **arguments), own.simulate(0.2, 0.01, tolerance=1e-5, **arguments)
    rows = np.unique(expected.time, return_index=True)[1]  # an FMU has no second row at a jump
    for signal in expected.columns:
        assert np.array_equal(got[signal], expected[signal][rows]), signal


# ---------------------------------------------------------------- what users get wrong


def findings(**sections: Any) -> str:
    with pytest.raises(ModelError) as caught:
        model(swinging(**sections)).compile()
    return "\n".join(caught.value.problems)


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a variable that is itself": (
        {"variables": {"a": "a + 1"}},
        ["variable 'a'", "depends on itself (a -> a)", "no value of it solves that", "correct its expression"],
    ),
    "variables that are each other": (
        {"variables": {"a": "b", "b": "a"}},
        ["depends on itself (a -> b -> a)", "correct"],
    ),
    "an equation without unknown": (
        {"variables": {"a": {"equation": "time - 1"}}},
        ["the equation of variable 'a' holds nothing that could be solved for"],
    ),
    "an array in place of a part": (
        {"variables": {"Z": {"value": ["time", "1"]}, "a": "Z + 1"}},
        ["variables.a", "nothing is called 'Z'", "did you mean 'Z[1]'?"],
    ),
    "an unknown signal": (
        {"variables": {"a": "bar.phy + 1"}},
        ["variables.a", "nothing is called 'bar.phy'", "did you mean 'bar.phi'?"],
    ),
    "an unknown state": ({"states": {"X": {"rate": "-Y"}}}, ["states.X.rate", "nothing is called 'Y'"]),
    "an unknown component": (
        {"states": {"Z": {"rate": ["-Z[1]", "-Z[3]"]}}},
        ["states.Z.rate[1]", "nothing is called 'Z[3]'", "did you mean 'Z["],
    ),
    "an unknown component in a force": (
        {"forces": torque("Z[2]"), "states": {"Z": {"rate": ["time"]}}},
        ["forces.motor", "nothing is called 'Z[2]'", "did you mean 'Z[1]'?"],
    ),
    "rate and equation": (
        {"states": {"X": {"rate": "1", "equation": "der(X) - 1"}}},
        ["states.X", 'either a "rate" or an "equation"'],
    ),
    "neither rate nor equation": ({"states": {"X": {"start": 1}}}, ["states.X", 'either a "rate" or an "equation"']),
    "value and equation": (
        {"variables": {"a": {"value": 1, "equation": "a"}}},
        ["variables.a", 'either a "value" or an "equation"'],
    ),
    "too many start values": (
        {"states": {"Z": {"rate": ["1", "2"], "start": [1, 2, 3]}}},
        ["states.Z", "start", "list of 2", "list of 3"],
    ),
    "a list of start values for one state": (
        {"states": {"X": {"rate": "1", "start": [1, 2]}}},
        ["states.X", "start must be one number", "list of 2"],
    ),
    "an empty list": ({"states": {"Z": {"rate": []}}}, ["states.Z.rate", "list", "found []"]),
    "an equation without the rate": (
        {"states": {"X": {"equation": "X - bar.phi"}}},
        ["states.X.equation", "no equation holds der(X)", "make 'X' a variable"],
    ),
    "a reserved name": ({"states": {"time": {"rate": "1"}}}, ["states.time", "the name is reserved"]),
    "a name that is taken": (
        {"states": {"bar": {"rate": "1"}}},
        ["states.bar", "taken by bodies.bar"],
    ),
    "a nominal value that is zero": ({"states": {"X": {"rate": "1", "nominal": 0}}}, ["states.X.nominal", "positive"]),
    "a start value that depends on time": (
        {"states": {"X": {"rate": "1", "start": "time"}}},
        ["states.X.start", "may depend on parameters only, found 'time'"],
    ),
    "a position that depends on a state": (
        {
            "states": {"X": {"rate": "1"}},
            "motions": {"m": {"of": "pin.angle", "value": "X"}},
        },
        ["motions.m.value", "may depend on parameters, time only, found 'X'", '"level": "velocity"'],
    ),
    "a mass that depends on a state": (
        {"states": {"X": {"rate": "1"}}, "bodies": {"bar": {"mass": "X", "inertia": 1}}},
        ["bodies.bar.mass", "may depend on parameters only, found 'X'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_findings_name_place_cause_and_cure(what: str) -> None:
    sections, words = WRONG[what]
    found = findings(**sections)
    for word in words:
        assert word in found, found


def test_several_findings_are_listed_at_once() -> None:
    found = findings(variables={"a": "a + 1", "b": "nothing"}, states={"X": {"rate": "no_such"}})
    assert "'no_such'" in found
    assert "'nothing'" in found
    assert found.count("\n") >= 1


SINGULAR: dict[str, tuple[dict[str, Any], str]] = {
    "rates that are not determined": (
        {"states": {"Z": {"equation": ["der(Z[1]) + der(Z[2]) - 1", "2*der(Z[1]) + 2*der(Z[2]) - bar.phi"]}}},
        r"state 'Z\[[12]\]'.*singular.*correct the equations",
    ),
    "a rate that counts nothing at the start": (
        {"states": {"X": {"equation": "X*der(X) - 1", "start": 0}}},
        "state 'X'.*singular.*correct the equations",
    ),
    "variables that are not determined": (
        {"variables": {"a": {"equation": "a + b - 1"}, "b": {"equation": "2*a + 2*b - bar.phi"}}},
        "variable '[ab]'.*singular.*correct the equations",
    ),
}


@pytest.mark.parametrize("what", SINGULAR)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "used"])
def test_equations_that_determine_nothing_are_named(what: str, used: bool) -> None:
    sections, message = SINGULAR[what]
    names = {"Z": "Z[1]", "X": "X", "a": "a"}
    first = next(iter(next(iter(sections.values()))))
    extra = {"forces": torque(f"{names[first]} + 0.1*bar.omega")} if used else {}
    with pytest.raises((mbd.StepFailed, ModelError), match=message):
        model(swinging(**sections, **extra)).simulate(0.1)


def test_an_equation_without_solution_says_so() -> None:
    with pytest.raises((mbd.StepFailed, ModelError), match=r"no solution|singular|do not determine"):
        model(swinging(variables={"a": {"equation": "a^2 + 1"}})).simulate(0.1)


def test_values_that_are_not_finite_name_what_they_belong_to() -> None:
    with pytest.raises((mbd.StepFailed, ModelError), match=r"state 'X'|variable|expression|not finite"):
        model(swinging(states={"X": {"rate": "1/(time - 0.05)*1e300^2"}})).simulate(0.1)


def test_accelerations_may_feed_a_state_at_small_steps() -> None:
    """Two blocks welded together; the rounding of q reaches the state with 1/h, which is no divergence."""
    model = mbd.Model("fed_back")
    model.add("one", mbd.Body(mass=1, inertia=1))
    model.add("two", mbd.Body(mass=1, inertia=1, position=(1, 0)))
    model.add("rail", Prismatic(i={"body": "ground"}, j={"body": "one"}))
    model.add("weld", Fixed(i={"body": "one", "at": (1, 0)}, j={"body": "two"}))
    model.add("F", mbd.State(rate="(10*sin(5*time) - F - 0.3*one.ax)/0.05"))
    model.add("push", Single(i={"body": "ground"}, j={"body": "one"}, axis=(1, 0), force="F"))
    result = model.simulate(1.0, 0.1, step=1e-4)
    lag = 0.05 / (1 + 0.3 / 2)  # F/2 is the acceleration

    def exact(t: float) -> float:
        gain, w = 10 / (1 + 0.3 / 2), 5.0
        return gain * (np.sin(w * t) - w * lag * (np.cos(w * t) - np.exp(-t / lag))) / (1 + (w * lag) ** 2)

    np.testing.assert_allclose(result["F"], [exact(t) for t in result.time], atol=1e-6)


def test_a_slope_that_is_not_finite_names_the_expression() -> None:
    def pulled(law: str) -> mbd.Model:
        model = mbd.Model("root")
        model.add("b", mbd.Body(mass=1, inertia=1, position=(0, 0)))
        model.add("rail", Prismatic(i={"body": "ground"}, j={"body": "b"}))
        model.add("law", mbd.Variable(value=law))
        model.add("push", Single(i={"body": "ground"}, j={"body": "b"}, axis=(1, 0), force="law"))
        return model

    rising = pulled("1 + sqrt(max(b.x, 0))").simulate(1.0, 0.5, tolerance=1e-8)  # a slope by positions alone
    assert rising["b.ax"][0] == pytest.approx(1.0, abs=1e-12)
    slope = r"derivative .* not finite at t = 0 s; variables\.law: .* slope: sqrt\(0\)"
    with pytest.raises(mbd.StepFailed, match=slope):
        pulled("sqrt(abs(b.ax))").simulate(1.0, 0.5)
