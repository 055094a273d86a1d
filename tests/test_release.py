"""What reactions decide is not passed over, whatever the interval of output: errors of motions say nothing of it."""

from __future__ import annotations

from math import asin, cos, pi
from pathlib import Path
from typing import Any

import pytest

import mbdfmu as mbd
from mbdfmu.schemes import Scheme

END = 8.1
LOAD = "-10 + 11*sin(2*pi*time)"  # lifts what rests once in each second, for a twentieth of it


def lifted() -> mbd.Model:
    """A mass on a floor."""
    data: dict[str, Any] = {
        "format_version": 1, "name": "lifted", "mass": {"s": 1},
        "coordinates": {"s": {"unit": "m", "force": LOAD}},
        "impacts": {"wall": {"gap": "s", "restitution": 0}},
    }  # fmt: skip
    return mbd.Model.from_description(mbd.Description(**data))


def landing(load: str) -> mbd.Model:
    """A mass that falls, bounces and comes to rest for good: from then on all that a step shows is rounding."""
    data: dict[str, Any] = {
        "format_version": 1, "name": "landing", "mass": {"s": 0.808},
        "coordinates": {"s": {"unit": "m", "start": 0.362, "force": load}},
        "impacts": {"wall": {"gap": "s", "restitution": 0.4}},
    }  # fmt: skip
    return mbd.Model.from_description(mbd.Description(**data))


def sunk(restitution: float, order: int) -> mbd.Model:
    """A mass on a table that goes down into the ground and comes up again: both gaps have the same row."""
    impacts = {
        "ground_level": {"gap": "s", "restitution": restitution},
        "table": {"gap": "s - 0.1*cos(2*time)", "restitution": 0},
    }
    data: dict[str, Any] = {
        "format_version": 1, "name": "sunk", "mass": {"s": 1},
        "coordinates": {"s": {"unit": "m", "start": 0.1, "force": "-9.81"}},
        "impacts": dict(list(impacts.items())[::order]),
    }  # fmt: skip
    return mbd.Model.from_description(mbd.Description(**data))


def held(dimensions: int, load: str = LOAD) -> mbd.Model:
    """A body that a joint holds, and a counter of the times at which this has to pull."""
    ground, b = {"body": "ground"}, {"body": "b"}
    force = [0, load, 0][:dimensions]
    reaction = "seat.reaction.y" if dimensions == 2 else "seat.force.y"
    data: dict[str, Any] = {
        "format_version": 1, "name": "held", "dimensions": dimensions, "gravity": [0] * dimensions,
        "bodies": {"b": {"mass": 1, "inertia": 1 if dimensions == 2 else [1, 1, 1]}},
        "joints": {"seat": {"type": "fixed", "i": ground, "j": b}},
        "forces": {"load": {"type": "vector", "i": ground, "j": b, "force": force}},
        "states": {"n": {"rate": 0}},
        "events": {"pulled": {"when": f"{reaction} < 0", "set": {"n": "n + 1"}}},
    }  # fmt: skip
    return mbd.Model.from_description(mbd.Description(**data))


def releases(run: mbd.Result) -> list[float]:
    return [t for t, name in run.events if name == "wall.release"]


@pytest.mark.parametrize("scheme", Scheme.names())
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("output", [END, 0.01])
def test_what_rests_is_let_go(scheme: str, tolerance: float, output: float) -> None:
    run = lifted().simulate(END, output, scheme=scheme, tolerance=tolerance)
    assert releases(run) == pytest.approx([asin(10 / 11) / (2 * pi) + k for k in range(8)], abs=1e-6)
    assert run["s"][-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("scheme", Scheme.names())
@pytest.mark.parametrize("load", ["-10.746 + 10.916*sin(2.144*time + 2.884)", "-7.77*(1 + 0.3*sin(9*time) + 0.1*time)"])
def test_rounding_is_no_error_of_what_has_come_to_rest(scheme: str, load: str) -> None:
    for tolerance in (1e-3, 1e-4, 1e-6, 1e-8):
        for output in (3.0, 0.01):
            run = landing(load).simulate(3.0, output, scheme=scheme, tolerance=tolerance)
            assert abs(run["s"][-1]) < 1e-6
            assert run.events[-1][1] == "wall.rest"


@pytest.mark.parametrize("scheme", Scheme.names())
@pytest.mark.parametrize("restitution", [0.0, 0.4])
@pytest.mark.parametrize("order", [1, -1])
def test_what_rests_parts_where_another_contact_stops_it(scheme: str, restitution: float, order: int) -> None:
    run = sunk(restitution, order).simulate(2.8, 0.7, scheme=scheme, tolerance=1e-5)
    hits = [t for t, name in run.events if name == "ground_level"]
    assert hits[0] == pytest.approx(pi / 4, abs=1e-6)
    if restitution:  # thrown up at 0.4 of 0.2 m/s
        assert hits[1] - hits[0] == pytest.approx(2 * 0.08 / 9.81, rel=5e-2)  # welch1 is of first order
    assert ("ground_level.rest" in dict(map(reversed, run.events))) and max(hits) < 1
    assert [t for t, name in run.events if name == "table"][-1] == pytest.approx(3 * pi / 4, abs=1e-6)
    assert run["s"] == pytest.approx([0.1, 0.1 * cos(1.4), 0, 0, 0.1 * cos(5.6)], abs=1e-5)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("scheme", Scheme.names())
def test_an_event_on_a_reaction_is_seen(scheme: str, dimensions: int) -> None:
    assert held(dimensions).simulate(END, END, scheme=scheme)["n"][-1] in (8, 9)


@pytest.mark.parametrize("scheme", Scheme.names())
def test_events_on_reactions_are_seen_from_the_start_on(scheme: str) -> None:
    """Nothing moves, so that only the time ahead says how long a first step may be."""
    run = held(2, "-10 + 11*sin(12*pi*time)").simulate(8.0, 8.0, scheme=scheme, tolerance=1e-3)
    assert run["n"][-1] == 48


@pytest.mark.parametrize("runtime", ["native", "python"])
def test_one_long_step_of_an_fmu_sees_it_too(tmp_path: Path, runtime: Any) -> None:
    lifted().export_fmu(tmp_path / "x.fmu", runtime=runtime)
    run = mbd.fmu.simulate(tmp_path / "x.fmu", 6.9, 2.3)
    assert run["s"] == pytest.approx(lifted().simulate(6.9, 2.3)["s"], abs=1e-9)
    best = lifted().simulate(2.3, 0.01, scheme="dop853", tolerance=1e-9)
    assert run["s"][1] == pytest.approx(best["s"][-1], abs=1e-4)
    assert run["s"][1] > 1e-3


def test_saved_states_go_on_with_the_same_steps() -> None:
    simulation = lifted().start()
    simulation.advance(1.05)
    saved = simulation.save()
    simulation.advance(END)
    other = lifted().start()
    other.restore(saved)
    other.advance(END)
    assert other.save().to_bytes() == simulation.save().to_bytes()


@pytest.mark.parametrize("scheme", ["hht", "dop853", "radau", "welch2"])
def test_an_input_that_jumps_lets_go_at_once(scheme: str) -> None:
    """The row behind the jump showed a contact that pulls: no acceleration."""
    data: dict[str, Any] = {
        "format_version": 1, "name": "pulled", "mass": {"s": 1}, "inputs": {"u": {"unit": "N"}},
        "coordinates": {"s": {"unit": "m", "force": "u - 10"}},
        "impacts": {"wall": {"gap": "s", "restitution": 0}},
        "outputs": {"a": "der(s,2)"},
    }  # fmt: skip
    model = mbd.Model.from_description(mbd.Description(**data))
    run = model.simulate(1, 0.5, scheme=scheme, inputs={"u": ([0, 0.5, 0.5, 1], [0, 0, 30, 30])})
    assert run.time == pytest.approx([0, 0.5, 0.5, 1])
    assert run["a"][1:] == pytest.approx([0, 20, 20], abs=1e-9)
    simulation = model.start(scheme=scheme)
    simulation.advance(0.5)
    simulation["u"] = 30
    simulation.catch_up()
    assert simulation["a"] == pytest.approx(20, abs=1e-9)
    simulation.advance(1.0)
    assert simulation["s"] == pytest.approx(run["s"][-1], abs=1e-4)
