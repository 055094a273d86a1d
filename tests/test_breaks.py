"""Times at which the equations of a model switch: found in expressions, kept with parameters, hit by steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu import expressions as ex
from mbdfmu.analyses import Settings
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description
from mbdfmu.expressions import switching_times
from mbdfmu.lowering import lower
from mbdfmu.schemes import Scheme

CURVE = ex.Curve((0.0, 1.0, 3.0, 4.0), (0.0, 2.0, 6.0, 5.0))  # no corner at 1, where its slope stays


def times(text: str, **parameters: float) -> list[float]:
    """The switching times of an expression of time, parameters p.. and anything else, a position."""
    graph = ex.Graph()
    t = graph.symbol("t", "time")

    def resolve(name: str) -> ex.Node:
        return t if name == "time" else graph.symbol("p" if name in parameters else "q", name)

    node = ex.build(ex.parse(text), graph, resolve, lambda _: CURVE)
    found = switching_times([node], t, frozenset("p"))
    return sorted({round(float(v), 12) for v in ex.evaluate(found, {resolve(n): v for n, v in parameters.items()})})


CASES: dict[str, list[float]] = {
    "if(time < 1, 0, q)": [1],
    "if(2*time + 1 >= 6 and q > 0, 0, q)": [2.5],
    "if(not (3 < time), 0, 1)": [3],
    "step(time, 1, 0, 2.5, q)": [1, 2.5],
    "q*havsin(time, 1, 0, 2, 5) + step5(time, 3, 0, 4, 1)": [1, 2, 3, 4],
    "max(time - 1, 0)": [1],
    "min(max(2*time, 1), 3)": [0.5, 1.5],
    "clamp(time, 0.2, 0.4)*q": [0.2, 0.4],
    "abs(time - 2) + sign(3 - time)": [2, 3],
    "abs(abs(time - 2) - 1)": [1, 2, 3],
    "abs(max(time, 5 - time) - 3)": [2, 2.5, 3],
    "lookup(curve, time)": [0, 3, 4],
    "lookup(curve, 2*time - 1)": [0.5, 2, 2.5],
    "lookup(curve, abs(time - 1))": [-3, -2, 1, 4, 5],
    "max(time/(1 + 1), (time - 3)*2)": [4],
    "sin(max(time, 1)*q)": [1],
    "impact(time, q, 2, 10, 1.5, 1, 0.5)": [1.5, 2],
    "sweep(time, 1, 0.5, 1, 2, 3, 0.25)": [0.5, 0.75, 2],
    # none: no line in time, no switch, no time
    "max(time^2, 1)": [],
    "max(q, time)": [],
    "if(q < 1, time, 2*time)": [],
    "sin(time) + time*q": [],
    "max(q, 1)": [],
    "lookup(curve, q)": [],
    "floor(time)": [],
    "if(time < time + 1, 1, 2)": [],
}


@pytest.mark.parametrize("text", CASES)
def test_switching_times(text: str) -> None:
    assert times(text) == CASES[text]


def test_switching_times_follow_parameters() -> None:
    assert times("step(time, t0, 0, t0 + d, 1)", t0=1.5, d=0.5) == [1.5, 2]
    assert times("if(k*time < 3, 0, 1)", k=2) == [1.5]
    assert times("if(time < if(k > 0, 1/k, 5), 0, 1)", k=0.5) == [2]


NEVER_TAKEN = ["if(k*time < 3, 0, 1)", "if(k > 0, step(time, 1/k, 0, 2/k, 1), 0)", "max(time, log(k))"]


@pytest.mark.parametrize("text", NEVER_TAKEN)
def test_switching_times_are_finite_whatever_the_parameters(text: str) -> None:
    (found,) = times(text, k=0)
    assert found == -1e300


def test_derivatives_add_no_times() -> None:
    """Rates and Jacobians choose by the same conditions; only curves with bends of their own have more."""
    graph = ex.Graph()
    t = graph.symbol("t", "time")
    node = ex.FUNCTIONS["step"].builder(t, graph.symbol("p", "a"), graph.zero, graph.symbol("p", "b"), graph.one)
    slope = graph.diff(node, t)
    assert len(switching_times([node, slope, graph.diff(slope, t)], t, frozenset("p"))) <= 4
    smooth = graph.lookup(ex.Curve((0.0, 1.0, 2.0, 4.0), (0.0, 2.0, 6.0, 5.0), "akima", "linear"), t)
    assert switching_times([smooth], t, frozenset()) == []
    bends = switching_times([graph.diff(graph.diff(smooth, t), t)], t, frozenset())
    assert [node.value for node in bends] == [0.0, 1.0, 2.0, 4.0]


# ---------------------------------------------------------------- in models


def pushed(force: str, **sections: Any) -> Description:
    """A mass of 1 kg that is pushed."""
    parameters = {"t0": {"value": 0.7303}, "height": {"value": 2.0, "tunable": True}}
    data = {
        "format_version": 1, "name": "pushed", "parameters": parameters, "mass": {"s": 1},
        "tables": {"push": {"x": [0, 0.31, 0.77, 1.9], "y": [0, 1, -1, 0.5]}},
        "coordinates": {"s": {"unit": "m", "force": force}},
    }  # fmt: skip
    return Description(**{**data, **sections})


def step_ends(description: Description) -> list[float]:
    """Times at which steps up to 2 s end."""
    simulation = _solver.Simulation(_solver.System(lower(description).blob), *Settings().native())
    simulation.start()
    ends = [0.0]
    while ends[-1] < 2.0:
        simulation.advance(2.0, limit=1)
        ends.append(simulation.save().t)
    return ends


@pytest.mark.parametrize("force", ["step(time, t0, 0, 2*t0, height)", "lookup(push, time)", "if(time < t0, 0, height)"])
def test_steps_end_at_the_times(force: str) -> None:
    wanted = {"step": [0.7303, 1.4606], "look": [0.31, 0.77, 1.9], "if(t": [0.7303]}[force[:4]]
    ends = np.array(step_ends(pushed(force)))
    for at in wanted:
        assert np.min(np.abs(ends - at)) <= 1e-15 * 4  # a few roundings before, or at the time


def test_the_motion_around_a_jump_is_exact() -> None:
    """A jump of a constant force: positions are quadratic on both sides."""
    model = mbd.Model.from_description(pushed("if(time < t0, 0, height)"))
    for t0 in (0.7303, 1.1119):
        result = model.simulate(2.0, 0.05, tolerance=1e-6, parameters={"t0": t0})
        after = np.maximum(result.time - t0, 0.0)
        np.testing.assert_allclose(result["s"], after**2, atol=1e-9)  # no step saw the jump: only rounding is left


@pytest.mark.parametrize("scheme", list(Scheme.members()))
def test_events_a_few_roundings_from_a_jump_do_not_hide_it(scheme: str) -> None:
    """Found once, before it, at it or after it. The force is constant on both sides, so that steps which begin anew
    leave the motion as it was but for rounding."""
    event = {"when": "time > t0 + d and n < 1", "set": {"n": "n + 1"}}
    values = {"t0": 0.7303, "height": 2.0, "d": 1e9}
    parts = {"parameters": values, "states": {"n": {"rate": 0}}, "events": {"e": event}}
    plant = mbd.Model.from_description(pushed("if(time < t0, 0, height)", **parts))
    without = plant.simulate(2.0, 0.05, scheme=scheme)
    for roundings in (-1000, -8, -5, -4, -3, -1, 0, 1, 3, 4, 5, 8, 1000):
        result = plant.simulate(2.0, 0.05, scheme=scheme, parameters={"d": roundings * np.spacing(0.7303)})
        assert len(result.events) == 1
        np.testing.assert_allclose(result["s"], without["s"], rtol=0, atol=1e-13)


def test_a_kink_costs_no_order() -> None:
    """A force that is linear between the corners of a table: the velocity against its integral."""
    model = mbd.Model.from_description(pushed("lookup(push, time)"))
    curve = model.description.tables["push"].curve
    errors = []
    for h in (0.02, 0.01, 0.005):
        result = model.simulate(1.9, 0.1, step=h)
        at = [quadrature(curve.value, [0.0, *curve.x[1:], t], t) for t in result.time]
        errors.append(np.max(np.abs(result["der(s)"] - at)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3) and errors[1] / errors[2] == pytest.approx(4, rel=0.3)


def quadrature(f: Any, corners: list[float], end: float) -> float:
    """The trapezoidal rule between corners is exact for straight lines."""
    knots = sorted({min(c, end) for c in corners})
    return sum((b - a) * (f(a) + f(b)) / 2 for a, b in pairwise(knots))
