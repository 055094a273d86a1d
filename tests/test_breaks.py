"""Times at which the equations of a model switch: found in expressions, kept with parameters, hit by steps."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu import expressions as ex
from mbdfmu.analyses import Settings
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description
from mbdfmu.expressions import switching
from mbdfmu.lowering import lower
from mbdfmu.schemes import Scheme

CURVE = ex.Curve((0.0, 1.0, 3.0, 4.0), (0.0, 2.0, 6.0, 5.0))  # no corner at 1, where its slope stays


Found = list[float | tuple[float, float]]


def found(text: str, **parameters: float) -> tuple[Found, int]:
    """The switching times of an expression of time, parameters p.. and anything else, a position.

    First times, of those that repeat with the period; and how many switches by time are missed.
    """
    graph = ex.Graph()
    t = graph.symbol("t", "time")

    def resolve(name: str) -> ex.Node:
        return t if name == "time" else graph.symbol("p" if name in parameters else "q", name)

    node = ex.build(ex.parse(text), graph, resolve, lambda _: CURVE)
    result = switching([node], t, frozenset("p"))
    values = {resolve(n): v for n, v in parameters.items()}
    rows = [[round(float(v), 12) for v in ex.evaluate(list(times), values)] for times in result.times]
    rows = [[-1e300, 0.0, 0.0] if math.isnan(row[0]) else row for row in rows]  # never, as to the core
    once = sorted({first for first, period, _ in rows if period == 0})
    repeated = sorted({(first, period) for first, period, _ in rows if period != 0})
    return [*once, *repeated], len(result.missed)


def times(text: str, **parameters: float) -> Found:
    return found(text, **parameters)[0]


CASES: dict[str, Found] = {
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
    # again and again
    "floor(time)": [(0, 1)],
    "round(2*time)*q": [(-0.25, 0.5)],
    "if(mod(time, 0.1) < 0.03, q, 0)": [(0, 0.1), (0.03, 0.1)],
    "if(mod(time - 1, 2) < 0.5 and time > 3, q, 0)": [3, (1, 2), (1.5, 2)],
    "abs(mod(time, 1) - 0.5)": [(0, 1), (0.5, 1)],
    "lookup(curve, mod(time, 5))": [(0, 5), (3, 5), (4, 5)],
    "floor(4*mod(time, 1))": [(0, 0.25), (0, 1)],
    "if(mod(time + 0.2, 0.5) > mod(time, 0.5), q, 0)": [(-0.2, 0.5), (0, 0.5)],
    "sign(sin(2*pi*time))": [(0, 1), (0.5, 1)],
    "if(3*cos(pi*time) + 1 >= 2.5, q, 0)": [(-1 / 3, 2), (1 / 3, 2)],
    "max(sin(pi*time + pi/2), 0)": [(-0.5, 2), (0.5, 2)],
    "if(sin(time) > 1.5, q, 0)": [],
    "if(if(time < 1, 1, 2) > 1.5, q, 0)": [1],
    # none: no line in time, no switch, no time
    "max(time^2, 1)": [],
    "max(q, time)": [],
    "if(q < 1, time, 2*time)": [],
    "sin(time) + time*q": [],
    "max(q, 1)": [],
    "lookup(curve, q)": [],
    "if(time < time + 1, 1, 2)": [],
}


@pytest.mark.parametrize("text", CASES)
def test_switching_times(text: str) -> None:
    assert [pytest.approx(at, abs=1e-11) for at in times(text)] == CASES[text]


@pytest.mark.parametrize("text", ["max(time^2, 1)", "sign(sin(time) - sin(2*time))", "if(mod(time^2, 1) < 0.5, 1, 0)"])
def test_switches_by_time_that_are_missed_are_known(text: str) -> None:
    assert found(text) == ([], pytest.approx(1.5, abs=0.5))


@pytest.mark.parametrize("text", ["max(q, time)", "if(q*sin(time) > 0, 1, 0)", "time^2", "lookup(curve, q)"])
def test_switches_by_position_are_not_missed(text: str) -> None:
    """Contacts are full of them; the error control meets them."""
    assert found(text)[1] == 0


def test_switching_times_follow_parameters() -> None:
    assert times("step(time, t0, 0, t0 + d, 1)", t0=1.5, d=0.5) == [1.5, 2]
    assert times("if(k*time < 3, 0, 1)", k=2) == [1.5]
    assert times("if(time < if(k > 0, 1/k, 5), 0, 1)", k=0.5) == [2]


NEVER_TAKEN = ["if(k*time < 3, 0, 1)", "if(k > 0, step(time, 1/k, 0, 2/k, 1), 0)", "max(time, log(k))"]


@pytest.mark.parametrize("text", NEVER_TAKEN)
def test_switching_times_are_finite_whatever_the_parameters(text: str) -> None:
    assert times(text, k=0) == [-1e300]


def test_derivatives_add_no_times() -> None:
    """Rates and Jacobians choose by the same conditions; only curves with bends of their own have more."""
    graph = ex.Graph()
    t = graph.symbol("t", "time")
    node = ex.FUNCTIONS["step"].builder(t, graph.symbol("p", "a"), graph.zero, graph.symbol("p", "b"), graph.one)
    slope = graph.diff(node, t)
    assert len(switching([node, slope, graph.diff(slope, t)], t, frozenset("p")).times) <= 4
    smooth = graph.lookup(ex.Curve((0.0, 1.0, 2.0, 4.0), (0.0, 2.0, 6.0, 5.0), "akima", "linear"), t)
    assert switching([smooth], t, frozenset()).times == []
    bends = switching([graph.diff(graph.diff(smooth, t), t)], t, frozenset()).times
    assert [at.first.value for at in bends] == [0.0, 1.0, 2.0, 4.0]


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
    for h in (0.01, 0.005, 0.0025):
        result = model.simulate(1.9, 0.1, step=h)
        at = [quadrature(curve.value, [0.0, *curve.x[1:], t], t) for t in result.time]
        errors.append(np.max(np.abs(result["der(s)"] - at)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3) and errors[1] / errors[2] == pytest.approx(4, rel=0.3)


def quadrature(f: Any, corners: list[float], end: float) -> float:
    """The trapezoidal rule between corners is exact for straight lines."""
    knots = sorted({min(c, end) for c in corners})
    return sum((b - a) * (f(a) + f(b)) / 2 for a, b in pairwise(knots))


# ---------------------------------------------------------------- again and again

PULSES = {
    "if(mod(time, 0.1) < 0.03, 1, 0)": [(0.1 * k, 0.1 * k + 0.03) for k in range(10)],
    "if(floor(10*time) == 4, 1, 0)": [(0.4, 0.5)],
    "if(sin(10*pi*time) >= 0.3, 1, 0)": [
        (0.2 * k + math.asin(0.3) / (10 * math.pi), 0.2 * k + 0.1 - math.asin(0.3) / (10 * math.pi)) for k in range(5)
    ],
    "if(cos(10*pi*time) > 0.9999, 1, 0)": [
        (max(0.0, 0.2 * k - math.acos(0.9999) / (10 * math.pi)), min(1.0, 0.2 * k + math.acos(0.9999) / (10 * math.pi)))
        for k in range(6)
    ],
    "if(time - tb < 0.1, 1, 0)": [(0.3, 0.4), (0.6, 0.7)],
    "if(time > tb and tb > 0, 1, 0)": [(0.3, 1.0)],  # true right after the event
}
SCHEMES = pytest.mark.parametrize("scheme", [name for name in Scheme.names() if name != "welch1"])  # of first order


def pulsed(force: str) -> mbd.Model:
    """A mass of 1 kg that is pushed; events set when a push begins."""
    events = {name: {"when": f"time >= {at}", "set": {"tb": at}} for name, at in (("one", 0.3), ("two", 0.6))}
    parts = {"states": {"tb": {"rate": 0, "start": -10}}, "events": events}
    return mbd.Model.from_description(pushed(force, **parts))


@SCHEMES
@pytest.mark.parametrize("settings", [{}, {"step": 0.007}, {"step": 0.3}], ids=["controlled", "fine", "coarse"])
def test_no_pulse_is_passed_over(scheme: str, settings: dict[str, Any]) -> None:
    """Constant forces are followed exactly; the events of the last are located to 1e-10 of a step."""
    for force, intervals in PULSES.items():
        exact = sum(((1 - a) ** 2 - (1 - b) ** 2) / 2 for a, b in intervals)
        run = pulsed(force).simulate(1.0, 1.0, scheme=scheme, **settings)
        assert run["s"][-1] == pytest.approx(exact, abs=1e-9)
        assert not [note for note in run.notes if not note.startswith("fixed steps of")]


def test_pulses_in_steps_and_in_an_fmu(tmp_path: Path) -> None:
    force, intervals = next(iter(PULSES.items()))
    exact = sum(((1 - a) ** 2 - (1 - b) ** 2) / 2 for a, b in intervals)
    plant = pulsed(force)
    sim = plant.start()
    plant.export_fmu(tmp_path / "pulsed.fmu")
    with mbd.fmu.open(tmp_path / "pulsed.fmu") as fmu:
        for size in (0.31, 0.1, 0.19, 0.003, 0.097, 0.3):
            sim.step(size)
            fmu.step(size)
        assert (sim["s"], fmu["s"]) == pytest.approx((exact, exact), abs=1e-11)


def test_states_between_periodic_breaks_continue_bit_for_bit() -> None:
    plain, saved = (pulsed("if(mod(time, 0.1) < 0.03, 1, 0)").start() for _ in range(2))
    for k in range(1, 40):
        saved.restore(type(saved.save()).from_bytes(saved.save().to_bytes()))
        plain.advance(0.025 * k)
        saved.advance(0.025 * k)
    assert saved["s"] == plain["s"]


@pytest.mark.parametrize(
    "when", ["sin(2*pi*time) > 0.999", "mod(time, 1) > 0.98", "cos(2*pi*time) > 0 and sin(200*pi*time) > 2"]
)
def test_events_that_recur_are_not_overlooked(when: str) -> None:
    parts = {"states": {"n": {"rate": 0}}, "events": {"e": {"when": when, "set": {"n": "n + 1"}}}}
    run = mbd.Model.from_description(pushed("0", **parts)).simulate(10.0, 10.0)
    assert run["n"][-1] == (0 if "and" in when else 10)


def test_what_cannot_be_found_is_said_with_its_cure() -> None:
    parts = {"states": {"n": {"rate": 0}}, "events": {"e": {"when": "sin(time^2) > 0.9", "set": {"n": "n + 1"}}}}
    plant = mbd.Model.from_description(pushed("if(sin(time^2) > 0.8, 1, 0)", **parts))
    force, event = plant.simulate(1.0, 1.0).notes
    assert force.startswith("coordinates.s.force: if(sin(time^2) > 0.8, 1, 0) switches at times that cannot be found")
    assert event.startswith("event 'e' switches") and "largest_step" in event
    assert plant.simulate(1.0, 1.0, largest_step=0.01).notes == ()


@pytest.mark.parametrize("scheme", ["hht", "dop853", "welch2", "radau", "gcp"])
def test_a_position_that_is_given_and_jumps_is_told(scheme: str) -> None:
    ground, body = {"body": "ground"}, {"body": "b"}
    data: dict[str, Any] = {
        "format_version": 1, "name": "lift", "bodies": {"b": {"mass": 1, "inertia": 1, "position": [0, 1]}},
        "joints": {"rail": {"type": "prismatic", "i": ground, "j": body, "axis": [0, 1]}},
        "motions": {"m": {"of": "rail.displacement", "value": "if(time > 0.5, 2, 1) + 0.1*sin(time)"}},
    }  # fmt: skip
    run = mbd.Model.from_description(mbd.Description(**data)).simulate(1, 0.25, scheme=scheme)
    (note,) = [note for note in run.notes if "jumps" in note]
    assert note.startswith("motion 'm'") and "jumps by 1 at t = 0.5 s" in note and "step5()" in note
    data["motions"]["m"]["value"] = "1 + max(time - 0.5, 0)"  # a corner is none
    assert not mbd.Model.from_description(mbd.Description(**data)).simulate(1, 0.25, scheme=scheme).notes
