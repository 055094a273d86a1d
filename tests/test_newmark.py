"""Newmark, trapezoidal, generalised-alpha and the form of index 2: orders, own reactions, events, states, FMUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.states import kind, reference

import mbdfmu as mbd
from mbdfmu.errors import ModelError
from mbdfmu.schemes import Scheme

FAMILY: dict[str, tuple[str, dict[str, Any]]] = {
    "newmark": ("newmark", {}),
    "damped newmark": ("newmark", {"gamma": 0.6, "beta": 0.3025}),
    "trapezoidal": ("trapezoidal", {}),
    "trapezoidal of index 3": ("trapezoidal", {"index": 3}),
    "generalised-alpha": ("generalised-alpha", {}),
    "generalised-alpha, rho 0.8": ("generalised-alpha", {"rho": 0.8}),
    "generalised-alpha of index 2": ("generalised-alpha", {"index": 2}),
    "hht of index 2": ("hht", {"index": 2}),
}
INDEX_2 = ["hht of index 2", "generalised-alpha of index 2", "trapezoidal"]
every_member = pytest.mark.parametrize("member", FAMILY)
CORRECTOR = 1e-12  # fixed steps have no error test: how far the corrector goes must not limit the error


def started(model: mbd.Model, member: str, **settings: Any) -> Any:
    scheme, options = FAMILY[member]
    return model.start(scheme=scheme, options=options, **settings)


def declared(member: str) -> int:
    scheme, options = FAMILY[member]
    return Scheme.named(scheme).from_options(options).order_with_options


def falling(errors: list[Any]) -> Any:
    """The order of errors whose steps halve, from the first to the last."""
    return np.log2(np.asarray(errors[0]) / np.asarray(errors[-1])) / (len(errors) - 1)


# ---------------------------------------------------------------- order


def by_kind(data: dict[str, Any], simulation: Any) -> list[float]:
    found = {"positions": 0.0, "velocities": 0.0, "reactions": 0.0}
    for name, values in data["signals"].items():
        error = abs(simulation[name] - values[0]) / max(1.0, *map(abs, values))
        found[kind(name)] = max(found[kind(name)], error)
    return list(found.values())


@every_member
@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank_g10", "andrews_angles"])
def test_positions_velocities_and_reactions_have_the_declared_order(name: str, member: str) -> None:
    data = reference(name)
    end, found = data["time"][0], []
    for count in (500, 1000, 2000):
        simulation = started(
            mbd.models.load(data["model"]), member, step=end / count, tolerance=CORRECTOR,
            parameters=data.get("parameters"),
        )  # fmt: skip
        simulation.advance(end)
        found.append(by_kind(data, simulation))
    assert falling(found) == pytest.approx([declared(member)] * 3, abs=0.1)


def ends(name: str, member: str, end: float, counts: tuple[int, ...]) -> list[Any]:
    """The scheme's own states after each number of steps."""
    states = []
    for count in counts:
        simulation = started(mbd.models.load(name), member, step=end / count, tolerance=CORRECTOR)
        simulation.advance(end)
        states.append(simulation.save())
    return states


def errors_of(states: list[Any]) -> list[list[float]]:
    """Of q, v and lam against the last state, each over the largest value."""
    *states, last = states

    def miss(state: Any, what: str) -> float:
        true = np.asarray(getattr(last, what))
        return float(np.max(np.abs(getattr(state, what) - true)) / np.max(np.abs(true)))

    return [[miss(state, what) for what in ("q", "v", "lam")] for state in states]


# A loop whose rows repeat each other, rotations in space, friction and rolling rows among them.
@pytest.mark.parametrize("member", INDEX_2)
@pytest.mark.parametrize("name", ["pendulum3d", "slider_crank3d", "bricard", "rolling_disc", "four_bar"])
def test_index_2_is_of_second_order_in_space_and_with_redundant_rows(name: str, member: str) -> None:
    """q, v and the scheme's own lam, which index 3 leaves to a transient of order one."""
    found = errors_of(ends(name, member, 0.1, (50, 100, 200, 3200)))
    assert falling(found) == pytest.approx([2.0] * 3, abs=0.2)  # the coarsest step is not yet quite in the range


# ---------------------------------------------------------------- what index 2 is for


def own_and_true_reactions(model: mbd.Model, simulation: Any) -> tuple[Any, Any]:
    """lam of the scheme, and of the index-1 system at its q and v."""
    compiled, state = model.compile(), simulation.save()
    t, q, v = state.t, state.q, state.v
    zero_a, zero_lam = np.zeros(compiled.nv), np.zeros(compiled.nc)
    forces = compiled.residual(t, q, v, zero_a, zero_lam)[: compiled.nv]
    matrix = compiled.jacobian(t, q, v, zero_a, zero_lam).toarray()
    solution = np.linalg.solve(matrix, np.concatenate([-forces, compiled.rates(t, q, v)[1]]))
    return state.lam, solution[compiled.nv :]


def miss(model: mbd.Model, simulation: Any) -> float:
    own, true = own_and_true_reactions(model, simulation)
    return float(np.max(np.abs(own - true)) / np.max(np.abs(true)))


@pytest.mark.parametrize("member", INDEX_2)
def test_own_reactions_of_index_2_are_right_from_the_first_steps_on(member: str) -> None:
    model = mbd.models.load("slider_crank")
    for steps in (1, 2, 5):
        found = []
        for h in (2e-4, 1e-4, 5e-5):
            simulation = started(model, member, step=h, tolerance=CORRECTOR)
            simulation.advance(steps * h)
            found.append(miss(model, simulation))
        assert falling(found) > 1.8, steps  # after some numbers of steps the leading term is absent


def worst_reactions(member: str, name: str, tolerance: float) -> float:
    """Under error control, where steps change."""
    model, worst = mbd.models.load(name), 0.0
    simulation = started(model, member, tolerance=tolerance)
    for t in np.arange(0.05, 1.0, 0.05):
        simulation.advance(t)
        worst = max(worst, miss(model, simulation))
    return worst


def test_own_reactions_of_index_2_stay_right_where_steps_change() -> None:
    FAMILY["hht"] = ("hht", {})
    try:
        of_3, of_2 = (worst_reactions(member, "double_pendulum", 1e-6) for member in ("hht", "hht of index 2"))
    finally:
        del FAMILY["hht"]
    assert of_2 < of_3 / 5
    assert of_2 < 5e-3


@pytest.mark.parametrize("member", INDEX_2)
@pytest.mark.parametrize(
    "name", ["slider_crank", "andrews_angles", "pendulum3d", "slider_crank3d", "bricard", "gyroscope"]
)
def test_index_2_keeps_velocities_on_the_constraints(name: str, member: str) -> None:
    """Without projection; rounding is that of the fastest coordinate."""
    model = mbd.models.load(name)
    compiled, simulation = model.compile(), started(model, member)
    for t in np.linspace(0.002, 0.02, 10):
        simulation.advance(t)
        state = simulation.save()
        speed = compiled.rates(state.t, state.q, state.v)[0]
        assert np.max(np.abs(speed)) <= 1e-9 * max(1.0, float(np.max(np.abs(state.v))))


def test_undamped_reactions_of_index_3_diverge_and_those_of_index_2_do_not() -> None:
    """The finer the step the worse; positions do not show it, which is why the reported reactions are others."""
    model = mbd.models.load("double_pendulum")
    found = {}
    for member in ("trapezoidal", "trapezoidal of index 3"):
        found[member] = []
        for count in (200, 800):
            simulation = started(model, member, step=0.2 / count, tolerance=CORRECTOR)
            simulation.advance(0.2)
            found[member].append(miss(model, simulation))
    coarse, fine = found["trapezoidal of index 3"]
    assert fine > 10 * coarse
    coarse, fine = found["trapezoidal"]
    assert fine < coarse


# ---------------------------------------------------------------- everything else a scheme has to do


@pytest.mark.parametrize("member", [name for name in FAMILY if "of index 3" not in name and "damped" not in name])
@pytest.mark.parametrize("name", ["slider_crank", "chain", "slider_crank3d", "andrews_angles"])
def test_error_control_takes_about_as_many_steps_as_hht(name: str, member: str) -> None:
    """The local errors differ by their constants only: 1/12 to 1/9, to the power 1/3, and safe estimates by 1.75."""
    model, steps, iterations = mbd.models.load(name), {}, {}
    for scheme in ("hht", member):
        simulation = model.start() if scheme == "hht" else started(model, member)
        simulation.advance(0.02 if name == "andrews_angles" else 0.5)
        steps[scheme] = simulation.statistics["steps"]
        iterations[scheme] = simulation.statistics["iterations"]
    assert 0.7 * steps["hht"] < steps[member] < 1.1 * steps["hht"]
    assert iterations[member] < 1.25 * iterations["hht"]


@every_member
@pytest.mark.parametrize("settings", [{}, {"step": 1e-3}], ids=["error", "fixed"])
def test_a_saved_state_continues_bit_for_bit(member: str, settings: dict[str, Any]) -> None:
    simulation = started(mbd.models.load("slider_crank3d"), member, tolerance=1e-4, **settings)
    simulation.advance(0.05)
    saved, runs = simulation.save(), []
    for _ in range(2):
        simulation.restore(saved)
        simulation.advance(0.1)
        runs.append(simulation.values())
    np.testing.assert_array_equal(runs[0], runs[1])


@every_member
def test_a_ball_bounces(member: str) -> None:
    """Impacts restart the scheme; a free flight is exact for all of them."""
    model = mbd.models.load("bouncing_ball")
    scheme, options = FAMILY[member]
    expected, found = model.simulate(1.0, 0.01), model.simulate(1.0, 0.01, scheme=scheme, options=options)
    for name in expected.columns:
        size = max(1.0, float(np.max(np.abs(expected[name]))))
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-6 * size, err_msg=name)


@pytest.mark.parametrize("member", ["generalised-alpha", "hht of index 2"])
def test_an_fmu_gives_bitwise_what_the_model_gives(member: str, tmp_path: Path) -> None:
    scheme, options = FAMILY[member]
    model = mbd.models.load("slider_crank")
    path = model.export_fmu(tmp_path / "model.fmu", scheme=scheme, options=options)
    got, expected = mbd.fmu.simulate(path, 0.2, 0.01), model.simulate(0.2, 0.01, scheme=scheme, options=options)
    for signal in expected.columns:
        np.testing.assert_array_equal(got[signal], expected[signal], err_msg=signal)


def test_newmark_refuses_what_makes_joints_unstable() -> None:
    options = {"beta": 0.2, "index": 3}
    with pytest.raises(ModelError, match=r"beta = 0\.2 below gamma/2 = 0\.25.*use a larger beta, or index = 2"):
        mbd.models.load("slider_crank").start(scheme="newmark", options=options)
    simulation = mbd.models.load("quarter_car").start(scheme="newmark", options={"beta": 1 / 6})
    simulation.advance(0.5)
    assert simulation.time == 0.5
