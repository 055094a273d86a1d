"""Events that set differential states: hysteresis, counters, swaps; everywhere the same, and every mistake is named."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from test_blob import OWN_ERRORS, damaged, run, signed
from test_events import model, names, pendulum, refused
from test_fmi3 import opened as opened3
from test_model_exchange import cvode, exported, opened

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.analyses import Settings
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.lowering import lower
from mbdfmu.schemes import Scheme

COOLS, OUTSIDE, POWER = 0.7, 5.0, 20.0  # 1/s, degrees, degrees/s
STEPPING = pytest.mark.parametrize("settings", [{}, {"step": 2e-3}], ids=["error-controlled", "fixed"])
NOW = "time > 0.5"


def thermostat(**more: Any) -> mbd.Model:
    """Heats below 18 degrees until 22 are reached."""
    return model(
        parameters={"loss": COOLS, "outside": OUTSIDE, "power": {"value": POWER, "tunable": True}},
        states={
            "room": {"rate": "power*heating - loss*(room - outside)", "start": 19},
            "heating": {"rate": 0},
            "starts": {"rate": "0"},
        },
        events={
            "cold": {"when": "room < 18 and heating < 0.5", "set": {"heating": 1, "starts": "starts + 1"}},
            "warm": {"when": "room > 22 and heating > 0.5", "set": {"heating": "0"}},
        },
        **more,
    )


def switched(count: int) -> list[float]:
    """When it switches: exponentials towards the temperature outside and the one that heating would reach."""
    hot = OUTSIDE + POWER / COOLS
    first = math.log((19 - OUTSIDE) / (18 - OUTSIDE))
    heats, cools = math.log((hot - 18) / (hot - 22)), math.log((22 - OUTSIDE) / (18 - OUTSIDE))
    return list(np.cumsum([first, *([heats, cools] * count)])[:count] / COOLS)


def memory(count: int = 2, **more: Any) -> dict[str, Any]:
    """States a, b, .. that nothing moves, with odd values."""
    states = {"abcdef"[k]: {"rate": 0, "start": 0.1 + 0.6 * k} for k in range(count)}
    return {"states": states | more}


def bouncing() -> mbd.Model:
    return model(
        gravity=[0, -9.81],
        states={"bounces": {"rate": 0}, "fastest": {"rate": 0, "unit": "m/s"}},
        bodies={"ball": {"mass": 1, "inertia": 1, "position": [0, 1], "free": True}},
        impacts={"pad": {"gap": "ball.y", "restitution": 0.8}},
        events={
            "up": {"when": "ball.vy > 0", "set": {"bounces": "bounces + 1", "fastest": "max(fastest, ball.vy)"}}
        },
    )


# ---------------------------------------------------------------- what is set


@pytest.mark.parametrize(("scheme", "tolerance"), [("hht", 1e-14), ("radau", 1e-11), ("dopri5", 1e-11)])
def test_a_thermostat_switches_when_it_should(scheme: str, tolerance: float) -> None:
    """HHT is of order 2: its 47000 steps leave 8e-10 s, the others below 1e-10 s."""
    result = thermostat().simulate(3.0, 0.1, scheme=scheme, tolerance=tolerance)
    assert names(result) == ["cold", "warm"] * 4
    assert [t for t, _ in result.events] == pytest.approx(switched(8), abs=1e-9)
    assert (result["starts"][-1], result["heating"][-1]) == (4, 0)
    assert result["room"].min() > 18 - 1e-9 and result["room"].max() < 22 + 1e-9


def test_fixed_steps_keep_the_order() -> None:
    errors = []
    for h in (0.02, 0.01, 0.005):
        result = thermostat().simulate(3.0, 3.0, step=h)
        errors.append(max(abs(np.array([t for t, _ in result.events]) - switched(8))))
    assert 3 < errors[0] / errors[1] < 5 and 3 < errors[1] / errors[2] < 5, errors


@pytest.mark.parametrize("scheme", list(Scheme.members()))
def test_two_states_are_swapped_to_the_bit(scheme: str) -> None:
    """By every scheme that takes the model; a third state is what time makes of it."""
    swap = {"when": "sin(20*time) > 0.5", "set": {"a": "b", "b": "a"}}
    plant = model(
        **memory(),
        events={"swap": swap},
        coordinates={"s": {"unit": "m", "start": 1, "force": "-9*s"}},
        mass={"s": 1},
    )
    result = plant.simulate(2.0, 0.05, scheme=scheme)
    assert len(result.events) == 7
    odd = np.array([sum(t < at for t, _ in result.events) % 2 for at in result.time], dtype=bool)
    assert result["a"].tolist() == np.where(odd, 0.7, 0.1).tolist()
    assert result["b"].tolist() == np.where(odd, 0.1, 0.7).tolist()


@STEPPING
def test_events_at_one_time_see_what_those_before_them_have_set(settings: dict[str, Any]) -> None:
    """Also where that has to be solved for: y^3 + y = 10 a."""
    result = model(
        **memory(4),
        variables={"double": "2*a", "y": {"equation": "y^3 + y - 10*a"}},
        events={
            "first": {"when": NOW, "set": {"a": 3, "b": "a"}},
            "second": {"when": NOW, "set": {"c": "double", "d": "y"}},
            "third": {"when": NOW, "set": {"a": 1, "b": "a + b"}},
        },
    ).simulate(1.0, 1.0, **settings)
    assert names(result) == ["first", "second", "third"] and len({t for t, _ in result.events}) == 1
    assert [result[key][-1] for key in "abcd"] == pytest.approx([1, 3.1, 6, 3], abs=1e-9)  # y of the scheme's tolerance
    assert result["y"][-1] == pytest.approx(2, abs=1e-6)


def test_one_event_brings_about_another_at_the_same_time() -> None:
    result = model(
        **memory(),
        events={
            "then": {"when": "a > 2", "set": {"a": 0, "b": "b + 1"}},
            "first": {"when": NOW, "set": {"a": "3"}},
        },
    ).simulate(1.0, 1.0)
    assert names(result) == ["first", "then"] and result.events[0][0] == result.events[1][0]
    assert (result["a"][-1], result["b"][-1]) == (0, 1.7)


def test_what_is_true_at_the_start_is_set_at_the_start() -> None:
    result = model(**memory(), events={"e": {"when": "b > 0.5", "set": {"a": "time + 4"}}}).simulate(1.0, 1.0)
    assert result.events == ((0.0, "e"),) and result["a"][-1] == 4


@pytest.mark.parametrize("settings", [{}, {"step": 1e-3}, {"scheme": "radau"}, {"scheme": "dopri5"}], ids=str)
def test_bounces_are_counted(settings: dict[str, Any]) -> None:
    """All but the last, after which the ball rests; they are shorter than a step at the end."""
    result = bouncing().simulate(5.0, 0.05, **settings)
    assert names(result).count("pad") == 38 and result["bounces"][-1] == 37
    assert result["fastest"][-1] == pytest.approx(0.8 * math.sqrt(2 * 9.81), rel=1e-6)
    up, pads = ([t for t, name in result.events if name == one] for one in ("up", "pad"))
    assert up == pads[:-1]


def test_values_are_those_before_anything_is_switched() -> None:
    """A clutch is locked by the event that notes the speeds: that of before, not that of after."""
    result = model(
        **memory(),
        bodies={"shaft": {"mass": 1, "inertia": 0.1, "omega": 5}, "wheel": {"mass": 1, "inertia": 0.3}},
        joints={
            "bearing": {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "shaft"}},
            "clutch": {"type": "revolute", "i": {"body": "shaft"}, "j": {"body": "wheel"}},
        },
        events={"shut": {"when": NOW, "lock": ["clutch"], "set": {"a": "shaft.omega", "b": "clutch.angle_rate"}}},
    ).simulate(1.0, 1.0)
    assert (result["a"][-1], result["b"][-1]) == (5, -5)
    assert result["shaft.omega"][-1] == pytest.approx(5 / 4)


def test_the_motion_goes_on_from_what_is_set() -> None:
    """A pressure that is let off pushes a piston: parabolas before and after, which HHT follows exactly."""
    result = model(
        states={"pressure": {"rate": 0, "start": 6, "unit": "Pa"}},
        coordinates={"s": {"unit": "m", "force": "pressure"}},
        mass={"s": 1},
        events={"release": {"when": "s > 0.75", "set": {"pressure": "0.5*pressure"}}},
    ).simulate(1.0, 1.0)
    assert result.events == ((pytest.approx(0.5, abs=1e-9), "release"),)  # s = 3 t^2
    assert result["s"][-1] == pytest.approx(0.75 + 3 * 0.5 + 1.5 * 0.25, abs=1e-8)
    assert result.statistics["restarts"] == 1


def test_arrays_and_states_of_blocks_are_set_by_element() -> None:
    lag = {"type": "transfer_function", "input": "1", "numerator": [1], "denominator": [0.25, 1]}
    plant = model(
        states={"Z": {"rate": [0, "-Z[1]"], "start": [1, 2]}},
        blocks={"lag": lag},
        events={"e": {"when": NOW, "set": {"Z[1]": "Z[2]", "Z[2]": 7, "lag.x[1]": 0}}},
    )
    result = plant.simulate(1.0, 0.5, tolerance=1e-9)
    assert result["Z[1]"][-1] == pytest.approx(1.5, abs=1e-8)
    assert result["Z[2]"][-1] == pytest.approx(7 - 0.5 * 1.5, abs=1e-6)
    grown = [1 - math.exp(-2), 1 - math.exp(-2)]  # of half a second each
    assert result["lag.y"][1:] == pytest.approx(grown, abs=1e-6)


def test_states_of_parts_have_their_names(tmp_path: Path) -> None:
    part = model(
        parameters={"more": 1},
        states={"n": {"rate": 0}, "Z": {"rate": [0, 0]}},
        events={"e": {"when": NOW, "set": {"n": "n + more", "Z[2]": "n - 1"}}},
    )
    whole = model(
        submodels={
            "left": {"model": part.description.to_data()},
            "right": {"model": part.description.to_data(), "mirror": "x", "parameters": {"more": 5}},
        },
        events={"f": {"when": "time > 0.7", "set": {"left.n": "right.n", "right.Z[1]": 3}}},
    )
    whole.save(tmp_path / "whole.json")
    assert mbd.Model.load(tmp_path / "whole.json").description == whole.description
    result = whole.simulate(1.0, 1.0)
    assert names(result) == ["left.e", "right.e", "f"]
    found = {key: result[key][-1] for key in ("left.n", "right.n", "left.Z[2]", "right.Z[1]", "right.Z[2]")}
    assert found == {"left.n": 5, "right.n": 5, "left.Z[2]": -1, "right.Z[1]": 3, "right.Z[2]": -1}


# ---------------------------------------------------------------- states as values


@STEPPING
@pytest.mark.parametrize("scheme", ["hht", "dopri5"])
def test_saved_states_continue_bit_for_bit_around_events(scheme: str, settings: dict[str, Any]) -> None:
    """Saved right before events and right after them, also as bytes."""
    sim = thermostat().start(scheme=scheme, **settings)
    sim.advance(3.0)
    times = [t for t, _ in sim.events]
    sim = thermostat().start(scheme=scheme, **settings)
    saved = []
    for t in (t for at in times for t in (at - 1e-9, at, at + 1e-9)):
        sim.advance(t)
        saved.append((sim.time, pickle.dumps(sim.save())))
    sim.advance(3.0)
    end, events = sim.values().tolist(), sim.events
    for k, (_, state) in enumerate(saved):
        other = thermostat().start(scheme=scheme, **settings)
        other.restore(pickle.loads(state))
        for t, _ in saved[k + 1 :]:
            other.advance(t)
        other.advance(3.0)
        assert other.values().tolist() == end
        assert other.events == events[len(events) - len(other.events) :]


def test_points_of_output_change_no_event() -> None:
    """But for the error of a run: those of output end steps."""
    runs = [thermostat().simulate(3.0, step, tolerance=1e-9, scheme="radau") for step in (3.0, 0.1, 0.0137)]
    for one in runs[1:]:
        assert [t for t, _ in one.events] == pytest.approx([t for t, _ in runs[0].events], abs=1e-8)
        assert one["starts"][-1] == 4


def test_a_parameter_may_change_meanwhile() -> None:
    """Without power it never gets warm."""
    sim = thermostat().start()
    sim.advance(0.2)
    sim["power"] = 0.0
    sim.advance(3.0)
    assert [name for _, name in sim.events] == ["cold"] and sim["heating"] == 1


# ---------------------------------------------------------------- FMUs


@pytest.mark.by_day(1)
@pytest.mark.parametrize("make", [thermostat, bouncing])
def test_fmus_for_co_simulation_compute_what_the_model_computes(make: Callable[[], mbd.Model], tmp_path: Path) -> None:
    plain = make().simulate(2.0, 0.01)
    for options in ({"interface": "cs3"}, {"runtime": "native"}, {"runtime": "python"}):
        path = make().export_fmu(tmp_path / "x.fmu", **options)
        found = mbd.fmu.simulate(path, 2.0, 0.01)
        for signal in plain.columns:
            np.testing.assert_array_equal(found[signal], plain[signal], err_msg=f"{options} {signal}")


def test_states_are_set_in_the_event_mode(tmp_path: Path) -> None:
    path = thermostat().export_fmu(tmp_path / "x.fmu", interface="cs3")
    with opened3(path, earlyReturnAllowed=True, eventModeUsed=True) as fmu:
        fmu.begin()
        fmu.updateDiscreteStates()
        fmu.enterStepMode()
        waits, _, early, reached = fmu.doStep(0.0, 3.0)
        assert waits and early and reached == pytest.approx(switched(1)[0], abs=1e-4)
        state = fmu.getFMUState()
        assert fmu.look("heating", "starts") == [0, 0]
        fmu.happen()
        assert fmu.look("heating", "starts") == [1, 1]
        end = fmu.doStep(reached, 0.1), fmu.look("room")
        fmu.setFMUState(state)
        assert fmu.look("heating", "starts") == [0, 0]
        assert fmu.doStep(reached, 0.1)[0]
        fmu.happen()
        assert (fmu.doStep(reached, 0.1), fmu.look("room")) == end
        fmu.freeFMUState(state)


def test_model_exchange_says_that_states_have_changed(tmp_path: Path) -> None:
    with opened(exported(thermostat(), tmp_path)) as fmu:
        fmu.begin()
        assert fmu.x.tolist() == [19, 0, 0] and fmu.z[0] < 0
        fmu.setTime(0.1)
        fmu.x = np.array([18 - 1e-6, 0, 0])
        assert fmu.z[0] > 0
        assert fmu.completedIntegratorStep()[0]
        fmu.enterEventMode()
        info = fmu.newDiscreteStates()
        assert info[3] and not info[0]  # values have changed, and nothing more is wanted
        assert fmu.x.tolist() == [18 - 1e-6, 1, 1]
        assert not fmu.newDiscreteStates()[3]
        fmu.enterContinuousTimeMode()
        assert fmu.z[0] < 0 and fmu.dx[0] == pytest.approx(POWER - COOLS * 13)


def test_model_exchange_sets_at_the_start_what_is_true_there(tmp_path: Path) -> None:
    plant = model(**memory(), events={"e": {"when": "b > 0.5", "set": {"a": 4}}})
    with opened(exported(plant, tmp_path)) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        assert fmu.newDiscreteStates()[3]
        assert fmu.x.tolist() == [4, 0.7]


def test_cvode_runs_a_thermostat(tmp_path: Path) -> None:
    """At 1e-9; rows stand before and after each event. Its error in the temperature is 1e-7 after eight events."""
    path = exported(thermostat(), tmp_path)
    rows = fmpy.simulate_fmu(str(path), stop_time=3.0, relative_tolerance=1e-9, solver="CVode", record_events=True,
                             output=["room", "heating", "starts"], fmi_type="ModelExchange")  # fmt: skip
    jumps = rows["time"][1:][np.diff(rows["heating"]) != 0]
    assert jumps == pytest.approx(switched(8), abs=1e-6)
    assert (rows["starts"][-1], rows["heating"][-1]) == (4, 0)


def test_cvode_counts_bounces(tmp_path: Path) -> None:
    rows = cvode(exported(bouncing(), tmp_path), 2.5, ["bounces", "ball.y"])
    assert rows["bounces"][-1] == bouncing().simulate(2.5, 2.5)["bounces"][-1] == 4


# ---------------------------------------------------------------- linear models and rests


def test_linear_models_and_rests_leave_memory_alone() -> None:
    linear = thermostat().linearize()
    np.testing.assert_array_equal(linear.A, [[-COOLS, POWER, 0], [0, 0, 0], [0, 0, 0]])
    rest = thermostat().equilibrium()
    assert rest.states == {"room": pytest.approx(OUTSIDE), "heating": 0, "starts": 0}


def test_no_rest_is_found_by_changing_a_memory() -> None:
    """A spring against a force that a state remembers."""
    plant = model(
        states={"phase": {"rate": 0, "start": 1}},
        coordinates={"s": {"unit": "m", "force": "4*phase - 8*s - der(s)"}},
        mass={"s": 1},
        events={"next": {"when": NOW, "set": {"phase": 2}}},
    )
    for method in ("settle", "equations"):
        rest = plant.equilibrium(method=method)
        assert rest.states == {"phase": 1} and rest.positions["s"] == pytest.approx(0.5, abs=1e-6)


# ---------------------------------------------------------------- mistakes

STATES = {
    "phase": {"rate": 0},
    "Z": {"rate": [0, 0]},
    "slack": {"equation": "der(slack)^3 - slack"},
    "pressure": {"rate": 0, "unit": "Pa"},
}
KNOWN = "known: phase, Z[1], Z[2], slack, pressure"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phas": 1}, f"events.e.set: no differential state is named 'phas'; did you mean 'phase'?; {KNOWN}"),
        ({"Z": 1}, f"events.e.set: no differential state is named 'Z'; did you mean 'Z[1]'?; {KNOWN}"),
        ({"Z[3]": 1}, "events.e.set: no differential state is named 'Z[3]'; did you mean 'Z["),
        ({"width": 1}, f"events.e.set: no differential state is named 'width'; {KNOWN}"),
        ({"slack": 1}, "events.e.set: 'slack' is held by an equation, which need not admit the value; "
                       'give the state a "rate" in place of the "equation"'),
        ({"pressure": "width"}, "events.e.set.pressure: 'width' is in m, not in Pa; correct it or what it names"),
        ({"Z[2]": "width + pressure"}, "events.e.set.Z[2]: "),
        ({"phase": "faze"}, "events.e.set.phase: nothing is called 'faze'"),
        ({"phase": "1 +"}, "events.e.set.phase: expected a number, a name or '(', found the end"),
        ({"phase": None}, "events.e.set.phase: must be a number or an expression in quotes, found null"),
        ({"a b": 1}, "events.e.set.'a b': must name one differential state as 'phase' or 'Z[1]', found 'a b'"),
        ({"Z[0]": 1}, "events.e.set.'Z[0]': must name one differential state as 'phase' or 'Z[1]', found 'Z[0]'"),
        (["phase"], "events.e.set: must be an object {...}, found ['phase']"),
        ({}, 'events.e: does nothing; give "release", "engage", "lock" or "unlock" with names, "set" with states, or'),
    ],
    ids=str,
)  # fmt: skip
def test_mistakes_are_named(given: Any, message: str) -> None:
    parameters = {"width": {"value": 2, "unit": "m"}}
    assert message in refused(parameters=parameters, states=STATES, events={"e": {"when": NOW, "set": given}})


def test_a_broken_state_causes_no_second_finding() -> None:
    states = {**STATES, "phase": {"rat": 0}}
    text = refused(states=states, events={"e": {"when": NOW, "set": {"phase": 1}}})
    assert text.startswith("states.phase: unknown entry 'rat'") and "\n" not in text


def test_what_has_no_value_is_named_and_nothing_is_set() -> None:
    sim = model(**memory(), events={"e": {"when": NOW, "set": {"b": 1, "a": "1/(b - b)"}}}).start()
    reason = re.escape("events.e.set.a: 1/(b - b) is not finite at t = 0.5 s: 1 / 0; keep it within")
    with pytest.raises(StepFailed, match=reason):
        sim.advance(1.0)
    assert (sim["a"], sim["b"]) == (0.1, 0.7)


def test_what_has_no_value_between_events_does_no_harm() -> None:
    """sqrt(b - 1) is not a number before."""
    states = memory(b={"rate": "4*b", "start": 1e-3})["states"]
    result = model(states=states, events={"e": {"when": "b > 2", "set": {"a": "sqrt(b - 1)"}}}).simulate(2.0, 1.0)
    assert result["a"][-1] == pytest.approx(1, abs=1e-6)


def test_states_that_are_set_without_end_are_named() -> None:
    events = {"on": {"when": "a < 0.5", "set": {"a": 1}}, "off": {"when": "a > 0.5", "set": {"a": 0}}}
    with pytest.raises(StepFailed, match=r"events follow each other without end at t = 0 s.*'o(n|ff)'"):
        model(**memory(), events=events).simulate(1.0, 1.0)


# ---------------------------------------------------------------- compiled models


def test_damaged_tables_are_refused(counts: Callable[..., int]) -> None:
    """Numbers in what events set: our error or a run, never a crash."""
    rng, blob = np.random.default_rng(3), lower(thermostat().description).blob
    begin, end = blob.index(b"setstates"), blob.index(b"setlabels") + 400
    for _ in range(counts(600, fraction=0.3)):
        data = bytearray(blob)
        for at in rng.integers(begin, min(end, len(data)), rng.integers(1, 4)):
            data[at] = rng.integers(256)
        for broken in (bytes(data), damaged(bytes(data), rng)):
            try:
                run(signed(broken))
            except OWN_ERRORS:
                continue


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("wrong", [-1, 2, 3, 2**31 - 1])
def test_what_is_not_there_cannot_be_set(place: int, wrong: int) -> None:
    """Events 0 and 1, states 0 to 2."""
    blob = bytearray(lower(thermostat().description).blob)
    at = blob.index(b"setstates") + 32 + 4 * (place + 4)  # of the last of three
    blob[at : at + 4] = int(wrong).to_bytes(4, "little", signed=True)
    if (place, wrong) == (1, 2):  # another state
        _solver.System(signed(bytes(blob)))
        return
    with pytest.raises(_solver.NativeModelError, match="an event sets what is not there"):
        _solver.System(signed(bytes(blob)))


def test_model_files_keep_what_is_set(tmp_path: Path) -> None:
    thermostat().save(tmp_path / "t.json")
    data = json.loads((tmp_path / "t.json").read_text())
    assert data["events"]["cold"]["set"] == {"heating": 1, "starts": "starts + 1"}
    assert mbd.Model.load(tmp_path / "t.json").description == thermostat().description
    with pytest.raises(ModelError, match="heating: the key is given twice"):
        (tmp_path / "t.json").write_text('{"a": {"heating": 1, "heating": 2}}')
        mbd.Model.load(tmp_path / "t.json")


# ---------------------------------------------------------------- where inputs jump

EVERY: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in Scheme.members()]
EVERY += [("direct", {"formula": name}) for name in ("rk4", "adams", "ab3", "mampc4")]
BY_EVERY = pytest.mark.parametrize(("scheme", "options"), EVERY, ids=str)
PUSHES = [math.sin(k * k) for k in range(20)]  # of 10 ms each, no two of them alike
ROUNDINGS = (-1000, -30, -8, -3, -2, -1, 0, 1, 2, 3, 8, 30, 1000)  # from a communication point to an event
LATE = 1e-10  # of a step: how late an event may be found (T9.2)
NEVER = 1e9


class Runs:
    """A mass on a spring that an input pushes, and a side of it that events change; a bar that swings beside it."""

    SHOWN = ("s", "der(s)", "bar.phi", "bar.omega")

    def __init__(self, event: dict[str, Any]) -> None:
        force = "-400*s - 2*der(s) + 20*push + 5*side"
        lowered = lower(
            pendulum(
                parameters={"limit": NEVER},
                inputs={"push": {"unit": "N"}},
                states={"count": {"rate": 0}, "side": {"rate": 0, "start": 1}},
                coordinates={"s": {"unit": "m", "start": 0.1, "force": force}},
                mass={"s": 1},
                events={"e": {**event, "set": {"side": "-side", "count": "count + 1"}}},
            ).description
        )
        self.system, self.limit = _solver.System(lowered.blob), lowered.parameters["limit"]
        self.places = [lowered.signals.index(name) for name in self.SHOWN]

    def __call__(self, settings: Settings, begin: float, pushes: list[float], limit: float = NEVER) -> Any:
        """What is shown every 10 ms, where the push jumps, and the events."""
        sim, shown = _solver.Simulation(self.system, *settings.native()), []
        sim.set_parameter(self.limit, limit)
        sim.start(time=begin)
        for k, push in enumerate(pushes):
            sim.set_input(0, push, 0.0)
            sim.advance(begin + 0.01 * (k + 1))
            assert sim.time == begin + 0.01 * (k + 1)
            sim.restore(sim.save())  # it is no state within a step
            sim.report()
            shown.append(sim.signals()[self.places])
        return np.array(shown), sim.events


@pytest.fixture(scope="module")
def by_time() -> Runs:
    return Runs({"when": "time > limit + 0.01*count"})


@pytest.fixture(scope="module")
def by_place() -> Runs:
    return Runs({"when": "s > limit and count < 1"})


@BY_EVERY
@pytest.mark.parametrize("begin", [0.0, 1.0, 100.0])
def test_events_a_few_roundings_from_where_inputs_jump(
    by_time: Runs, scheme: str, options: dict[str, Any], begin: float
) -> None:
    """Against inputs that do what the events do. A change of side is one of 10 m/s2, which is late by what the event is
    and what it was moved by: steps of the same size differ by that alone, others by no more than their own error."""
    without = [push + (0, -0.5)[k % 2] for k, push in enumerate(PUSHES)]
    exact = by_time(Settings(scheme="radau", tolerance=1e-11), begin, without)[0]
    far = 1000 * np.spacing(begin + 0.01)
    for stepping, step in (({"step": 1e-3}, 1e-3), ({"tolerance": 1e-6}, 1e-2)):
        settings = Settings(scheme=scheme, options=options, **stepping)
        reference = by_time(settings, begin, without)[0]
        allowed = 30 * (far + LATE * step)
        if step > 1e-3:
            allowed += 2 * np.max(np.abs(reference - exact))
        for roundings in ROUNDINGS:
            first = begin + 0.01 + roundings * np.spacing(begin + 0.01)
            shown, events = by_time(settings, begin, PUSHES, first)
            assert len(events) in (19, 20)  # the last one is at the end
            late = [t - (first + 0.01 * k) for k, (t, _) in enumerate(events)]
            assert -1e-15 * (begin + 1) <= min(late) <= max(late) <= LATE * step + 1e-15 * (begin + 1)
            np.testing.assert_allclose(shown, reference, rtol=0, atol=allowed)


@BY_EVERY
@pytest.mark.parametrize("begin", [0.0, 100.0])
def test_events_a_few_roundings_from_what_is_reached_where_inputs_jump(
    by_place: Runs, scheme: str, options: dict[str, Any], begin: float
) -> None:
    """A step to the communication point gets there, one that ends right before it and the way that is left may not: the
    event is in this interval or the next then, a few roundings of the place at 0.5 m/s from that point."""
    pushes = [4.0, 4.5, 3.5]
    for stepping in ({"step": 1e-3}, {"tolerance": 1e-6}):
        settings = Settings(scheme=scheme, options=options, **stepping)
        reached = by_place(settings, begin, pushes)[0][1, 0]
        for roundings in ROUNDINGS[1:-1]:
            _, events = by_place(settings, begin, pushes, reached + roundings * np.spacing(reached))
            assert len(events) == 1
            assert events[0][0] == pytest.approx(begin + 0.02, abs=2e-12, rel=1e-15)


@pytest.mark.parametrize("scheme", list(Scheme.members()))
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_a_clock_on_a_rough_road(scheme: str, tolerance: float) -> None:
    """A counter at the communication points moves nothing: the motion of a quarter car is that without it, but for the
    error of steps that begin anew a little later. Schemes of order 2 leave less than 5 sqrt(tolerance) mm."""
    clock = {"states": {"n": {"rate": "0"}}, "events": {"clock": {"when": "time > n*0.005", "set": {"n": "n + 1"}}}}
    plain = mbd.models.load("quarter_car")
    clocked = mbd.Model.from_description(mbd.Description(**{**plain.description.to_data(), **clock}))
    heights = []
    for plant in (plain, clocked):
        sim, rng = plant.start(scheme=scheme, tolerance=tolerance), np.random.default_rng(1)
        for _ in range(40):
            sim["road"] = rng.uniform(-0.01, 0.01)
            sim.step(0.005)
        heights.append([sim["body.y"], sim["wheel.y"]])
    assert len(sim.events) in (40, 41)  # the sum of the steps may be a few roundings below the last time
    np.testing.assert_allclose(heights[1], heights[0], rtol=0, atol=5e-3 * math.sqrt(tolerance) + 1e-12)


# ---------------------------------------------------------------- where both sides are equal


@pytest.mark.parametrize(
    ("when", "times"),
    [
        ("n >= 2", 1), ("2 <= n", 1), ("n > 2", 0), ("not (n < 2)", 1), ("not (n <= 2)", 0), ("n == 2", 1),
        ("not (n < 2 or time < 0)", 1), ("n >= 2 and time >= 0", 1), ("n > 2 or n >= 2", 1), ("n < 2", 1),
        ("time >= 0", 1), ("time <= 0", 1), ("not (time > 0)", 1),
    ],
)  # fmt: skip
def test_a_condition_is_true_where_it_says_so(when: str, times: int) -> None:
    """A count reaches 2 and stays there, so that nothing but equality decides; `time` is 0 at the start only."""
    events = {
        "one": {"when": "time > 0.3", "set": {"n": "n + 1"}}, "two": {"when": "time > 0.6", "set": {"n": "n + 1"}},
        "seen": {"when": when, "set": {"found": "found + 1"}},
    }  # fmt: skip
    result = model(states={"n": {"rate": 0}, "found": {"rate": 0}}, events=events).simulate(1.0, 0.1)
    assert result["found"][-1] == times
