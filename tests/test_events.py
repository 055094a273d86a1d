"""Events, locks, impacts: the time is found, momentum is kept, energy never grows, and every mistake is named."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest
from reference.spatial_models import joint_model
from scipy.integrate import solve_ivp

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel, Settings, Simulation
from mbdfmu.description import Description
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.joints import JointElement, Relation
from mbdfmu.lowering import lower

G = 9.81
STEPPING = pytest.mark.parametrize("settings", [{}, {"step": 2e-3}], ids=["error-controlled", "fixed"])
GROUND = {"body": "ground"}


def model(**sections: Any) -> mbd.Model:
    return mbd.Model.from_description(mbd.Description(format_version=1, name="case", **sections))


def refused(**sections: Any) -> str:
    with pytest.raises(ModelError) as found:
        model(**sections).compile()
    return str(found.value)


def energy(result: mbd.Result) -> np.ndarray:
    return np.asarray(result["energy.kinetic"] + result["energy.potential"])


def names(result: mbd.Result) -> list[str]:
    return [name for _, name in result.events]


def pendulum(**more: Any) -> mbd.Model:
    """A bar from the horizontal about one of its ends."""
    return model(
        gravity=[0, -G],
        bodies={"bar": {"mass": 2, "inertia": 0.3, "position": [0.5, 0]}},
        joints={"hinge": {"type": "revolute", "i": GROUND, "j": {"body": "bar", "at": [-0.5, 0]}}},
        **more,
    )


def shafts(**more: Any) -> mbd.Model:
    """Two shafts in line, of which one turns."""
    return model(
        bodies={"a": {"mass": 1, "inertia": 0.1, "omega": 5}, "b": {"mass": 1, "inertia": 0.3}},
        joints={
            "bearing": {"type": "revolute", "i": GROUND, "j": {"body": "a"}},
            "clutch": {"type": "revolute", "i": {"body": "a"}, "j": {"body": "b"}},
        },
        **more,
    )


def sliders(**more: Any) -> mbd.Model:
    """Two sliders on one line, of which one runs into the other's way."""
    return model(
        bodies={
            "car": {"mass": 3, "inertia": 1, "velocity": [2, 0]},
            "wagon": {"mass": 1, "inertia": 1, "position": [1, 0]},
        },
        joints={
            "rail": {"type": "prismatic", "i": GROUND, "j": {"body": "car"}},
            "track": {"type": "prismatic", "i": GROUND, "j": {"body": "wagon", "at": [-1, 0]}},
        },
        **more,
    )


# ---------------------------------------------------------------- time and release


@STEPPING
def test_what_is_released_flies_on(settings: dict[str, Any]) -> None:
    run = pendulum(events={"cut": {"when": "hinge.angle < -60*deg", "release": ["hinge"]}}).simulate(
        1.0, 0.01, tolerance=1e-8, **settings
    )
    (t, _), *rest = run.events
    assert not rest and run.statistics["events"] == 1 and run.statistics["restarts"] == 1
    after = run.time > t
    sought = np.polynomial.Polynomial.fit(run.time[after], run["bar.x"][after], 2).convert().coef
    assert abs(sought[2]) < 1e-9  # no force along x
    fall = np.polynomial.Polynomial.fit(run.time[after], run["bar.y"][after], 2).convert().coef
    assert fall[2] == pytest.approx(-G / 2, abs=1e-8)
    assert np.ptp(run["bar.omega"][after]) < 1e-12
    assert abs(run["hinge.reaction.x"][after]).max() == 0 == abs(run["hinge.reaction.y"][after]).max()
    # the bar turns about its end: J omega^2/2 = m g/2 sin(60 deg)
    omega = math.sqrt(2 * 2 * G * 0.5 * math.sin(math.pi / 3) / (0.3 + 2 * 0.25))
    assert run["bar.omega"][-1] == pytest.approx(-omega, rel=5e-5)


@STEPPING
@pytest.mark.parametrize("when", ["bar.phi < -0.5", "not (bar.phi >= -0.5)", "bar.phi < -0.5 and time > 0.1"])
def test_the_time_is_that_of_the_motion(when: str, settings: dict[str, Any]) -> None:
    at = {"when": when, "restart": True}
    (t, name), *rest = pendulum(events={"here": at}).simulate(0.6, 0.1, tolerance=1e-9, **settings).events
    assert name == "here" and not rest
    fine = pendulum().simulate(t, t, tolerance=1e-11)  # another run ends there
    assert fine["bar.phi"][-1] == pytest.approx(-0.5, abs=2e-5 if settings else 1e-6)  # the error of the run


def test_conditions_may_have_any_form() -> None:
    """What has no difference is found by halving."""
    conditions = {
        "equal": "floor(10*time) == 3",
        "chosen": "if(time > 0.4, 1, 0) == 1",
        "either": "time > 0.7 or time > 0.5",
    }
    events = {name: {"when": when, "restart": True} for name, when in conditions.items()}
    found = {name: t for t, name in pendulum(events=events).simulate(0.9, 0.1).events}
    assert found == {"equal": pytest.approx(0.3), "chosen": pytest.approx(0.4), "either": pytest.approx(0.5)}


def test_a_condition_true_at_the_start_occurs_first() -> None:
    result = shafts(events={"first": {"when": "a.omega > 1", "lock": ["clutch"]}}).simulate(0.1, 0.1)
    assert result.events == ((0.0, "first"),)
    assert result["b.omega"][-1] == pytest.approx(5 * 0.1 / 0.4, rel=1e-12)


def test_a_reaction_that_grows_too_large_breaks_the_joint() -> None:
    pull = "sqrt(hinge.reaction.x^2 + hinge.reaction.y^2)"
    run = pendulum(events={"torn": {"when": f"{pull} > 30", "release": ["hinge"]}}, outputs={"pull": pull})
    sim = run.start(tolerance=1e-8)
    pulls = []
    while not sim.events:
        pulls.append(sim["pull"])
        sim.step(1e-3)
    assert max(pulls) <= 30 and pulls[-1] == pytest.approx(30, abs=0.2)
    assert sim["pull"] == 0


def test_events_occur_again_after_they_have_been_false() -> None:
    events = {
        "down": {"when": "bar.omega < 0", "restart": True},
        "up": {"when": "bar.omega > 0", "restart": True},
    }
    result = pendulum(events=events).simulate(5.0, 0.1, tolerance=1e-8)
    assert names(result)[:4] == ["down", "up", "down", "up"] and len(result.events) == 5
    turns = np.diff([t for t, _ in result.events])
    assert np.ptp(turns) < 1e-4  # half periods


def test_events_at_one_time_keep_the_order_of_the_file() -> None:
    actions = {"one": {"lock": ["clutch"]}, "two": {"unlock": ["clutch"]}, "three": {"restart": True}}
    events = {name: {"when": "time > 0.25", **action} for name, action in actions.items()}
    result = shafts(events=events).simulate(0.5, 0.5)
    assert names(result) == ["one", "two", "three"]
    assert len({t for t, _ in result.events}) == 1
    assert result["b.omega"][-1] == 0  # what was locked first was let go before it held


def test_one_event_brings_about_another_at_the_same_time() -> None:
    events = {
        "then": {"when": "b.omega > 1", "unlock": ["clutch"]},
        "first": {"when": "time > 0.25", "lock": ["clutch"]},
    }
    result = shafts(events=events).simulate(0.5, 0.5)
    assert names(result) == ["first", "then"] and result.events[0][0] == result.events[1][0]
    assert result["b.omega"][-1] == pytest.approx(1.25)


def test_events_without_end_are_named() -> None:
    events = {
        "on": {"when": "stop.reaction.force == 0 and time > 0.1", "engage": ["stop"]},
        "off": {"when": "stop.reaction.force != 0", "release": ["stop"]},
    }
    falling = pendulum(constraints={"stop": {"value": "hinge.angle", "unit": "rad", "active": False}}, events=events)
    with pytest.raises(StepFailed, match=r"events follow each other without end at t = 0\.1 s.*'o(n|ff)'.*rest_speed"):
        falling.simulate(1.0, 0.1)


# ---------------------------------------------------------------- locks and rows that are engaged


@STEPPING
def test_a_brake_keeps_the_angular_momentum(settings: dict[str, Any]) -> None:
    result = shafts(
        events={
            "brake": {"when": "clutch.angle < -1", "lock": ["clutch"]},
            "off": {"when": "time > 1", "unlock": ["clutch"]},
        },
        forces={"drive": {"type": "rotational", "i": GROUND, "j": {"body": "b"}, "torque": 0.8}},
    ).simulate(1.5, 0.05, **settings)
    (t, _), (back, _) = result.events
    locked = (result.time > t) & (result.time < back)
    assert result["a.omega"][locked] == pytest.approx(result["b.omega"][locked], abs=1e-12)
    # until the lock a turns at 5 and b at 0.8/0.3 t; then both with 0.4 kg m2
    omega = (0.1 * 5 + 0.3 * 0.8 / 0.3 * t + 0.8 * (result.time[locked] - t)) / 0.4
    assert result["a.omega"][locked] == pytest.approx(omega, rel=1e-9)
    assert np.ptp(result["clutch.angle"][locked]) < 1e-10
    assert result["clutch.reaction.lock_angle"][locked] == pytest.approx(-0.8 * 0.1 / 0.4, rel=1e-6)
    free = result.time > back
    assert np.ptp(result["a.omega"][free]) < 1e-12


def test_a_latch_couples_where_it_is_engaged() -> None:
    """Momentum is kept, the energy of the plastic impact is lost, the gap stays as it was."""
    result = sliders(
        constraints={"latch": {"value": "wagon.x - car.x", "active": False}},
        events={"caught": {"when": "wagon.x - car.x < 0.2", "engage": ["latch"]}},
    ).simulate(1.0, 0.01)
    assert result.events == ((pytest.approx(0.4, abs=1e-9), "caught"),)
    after = result.time > 0.4
    for body in ("car", "wagon"):
        assert result[f"{body}.vx"][after] == pytest.approx(6 / 4, rel=1e-12)
    assert (result["wagon.x"] - result["car.x"])[after] == pytest.approx(0.2, abs=1e-9)
    assert result["energy.kinetic"][after] == pytest.approx(0.5 * 4 * 1.5**2)


def test_a_motion_may_begin_later() -> None:
    """A driver at position level goes on from where the coordinate is; one at velocity level takes hold at once."""
    motions = {
        "turn": {"of": "bearing.angle", "value": "0.5*time", "active": False},
        "spin": {"of": "clutch.angle", "value": -2, "level": "velocity", "active": False},
    }
    events = {
        "on": {"when": "time > 0.5", "engage": ["turn", "spin"]},
        "off": {"when": "time > 1", "release": ["spin"]},
    }
    result = shafts(motions=motions, events=events).simulate(1.5, 0.5)
    assert result["bearing.angle"] == pytest.approx([0, 2.5, 2.75, 3.0], abs=1e-8)
    assert result["a.omega"][1:] == pytest.approx([5, 0.5, 0.5], abs=1e-9)  # the event is just after 0.5 s
    assert result["clutch.angle_rate"][2:] == pytest.approx([-2, -2], abs=1e-9)
    assert result["spin.reaction.force"][-1] == 0


def test_a_joint_may_be_off_from_the_start() -> None:
    loose = {"type": "fixed", "i": GROUND, "j": {"body": "bar"}, "active": False}
    bodies = {"bar": {"mass": 1, "inertia": 1, "position": [3, 4], "free": True}}
    result = model(gravity=[0, -G], bodies=bodies, joints={"weld": loose}).simulate(1.0, 0.5)
    assert result["bar.y"][-1] == pytest.approx(4 - G / 2) and result["weld.reaction.y"][-1] == 0


def test_rows_that_repeat_others_are_chosen_anew() -> None:
    """A second hinge on the same axis repeats the first, and carries on alone when that is released."""
    hinge = {"type": "revolute", "i": GROUND, "j": {"body": "bar"}}
    door = model(
        gravity=[0, -G],
        bodies={"bar": {"mass": 1, "inertia": 1, "omega": 2}},
        joints={"low": hinge, "high": dict(hinge)},
        events={"gone": {"when": "time > 0.5", "release": ["low"]}, "back": {"when": "time > 1", "engage": ["low"]}},
    )
    sim = door.start()
    assert sim["low.reaction.y"] == pytest.approx(G / 2) and len(sim.redundancies) == 2
    sim.advance(0.75)
    assert (sim["low.reaction.y"], sim["high.reaction.y"]) == (0, pytest.approx(G)) and not sim.redundancies
    sim.advance(1.25)
    assert sim["low.reaction.y"] == pytest.approx(G / 2) and len(sim.redundancies) == 2
    assert sim["bar.omega"] == pytest.approx(2) and abs(sim["bar.y"]) < 1e-10


def test_a_lock_in_space_holds_every_free_coordinate() -> None:
    joint = {"type": "universal", "i": GROUND, "j": {"body": "rod", "at": [0, 0, 1]}}
    rod = {"mass": 2, "inertia": [0.3, 0.4, 0.05], "position": [0, 0, -1], "omega": [0.5, 1.0, 0]}
    events = {"brake": {"when": "time > 0.3", "lock": ["cross"]}}
    result = model(
        dimensions=3, gravity=[0, 0, -G], bodies={"rod": rod}, joints={"cross": joint}, events=events
    ).simulate(0.6, 0.05, assemble=True)
    after = result.time > 0.31
    for key in ("angle_1", "angle_2"):
        assert np.ptp(result[f"cross.{key}"][after]) < 1e-10
        assert abs(result[f"cross.{key}"][-1]) > 0.01
    assert abs(result["energy.kinetic"][after]).max() < 1e-15


IN_SPACE = [
    name
    for name, joint in JointElement.members().items()
    if not issubclass(joint, Relation) and joint.freedoms.spatial is not None
]


@pytest.mark.parametrize("kind", IN_SPACE)
def test_every_joint_in_space_can_be_locked_and_freed(kind: str) -> None:
    """While locked, its coordinates stay; what is engaged again holds what was there."""
    data = joint_model(kind).to_data()
    name = next(n for n, joint in data["joints"].items() if joint["type"] == kind)
    coordinates = list(model(**without_header(data)).signals(f"{name}.*_rate"))
    events = {"off": {"when": "time > 0.1", "release": [name]}, "on": {"when": "time > 0.15", "engage": [name]}}
    if coordinates:
        events |= {"stop": {"when": "time > 0.2", "lock": [name]}}
    result = model(**without_header(data), events=events).simulate(0.25, 0.01, tolerance=1e-7)
    assert names(result) == list(events) and result.statistics["worst_position_violation"] < 1e-9
    for rate in coordinates:
        moving = result[rate.name.removesuffix("_rate")]
        assert np.ptp(moving[result.time > 0.201]) < 1e-9 < np.ptp(moving[result.time < 0.2])


def without_header(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in ("format_version", "name")}


# ---------------------------------------------------------------- states, inputs, communication points


def braked() -> mbd.Model:
    events = {
        "brake": {"when": "bar.phi < -1", "lock": ["hinge"]},
        "off": {"when": "time > 0.8", "unlock": ["hinge"]},
        "cut": {"when": "bar.phi < -1.3", "release": ["hinge"]},
    }
    return pendulum(events=events, impacts={"pad": {"gap": "bar.y + 2", "restitution": 0.6}})


@STEPPING
def test_a_saved_state_continues_bit_for_bit(settings: dict[str, Any]) -> None:
    sim = braked().start(**settings)
    saved = {}
    for k in range(40):
        saved[k] = sim.save()
        sim.step(0.05)
    end, events = sim.values().tolist(), sim.events
    assert len({name for _, name in events}) >= 4
    for k in (35, 20, 12, 3):
        sim.restore(copy.copy(saved[k]))
        assert all(t <= sim.time for t, _ in sim.events)
        for _ in range(k, 40):
            sim.step(0.05)
        assert sim.values().tolist() == end and sim.events == events


def test_communication_points_change_nothing() -> None:
    runs = [braked().simulate(2.0, step, tolerance=1e-9) for step in (2.0, 0.1, 0.0137)]
    for run in runs[1:]:
        assert names(run) == names(runs[0])
        assert [t for t, _ in run.events] == pytest.approx([t for t, _ in runs[0].events], abs=1e-6)
        assert run["bar.y"][-1] == pytest.approx(runs[0]["bar.y"][-1], abs=1e-5)


def test_reading_signals_changes_nothing() -> None:
    quiet, read = braked().start(), braked().start()
    for _ in range(30):
        quiet.step(0.05)
        read.step(0.05)
        read.values()
    assert quiet.values().tolist() == read.values().tolist() and quiet.events == read.events


def test_an_input_that_jumps_may_make_a_condition_true() -> None:
    sim = shafts(inputs={"u": {}}, events={"brake": {"when": "u > 0.5", "lock": ["clutch"]}}).start()
    sim.advance(0.5)
    sim["u"] = 1.0
    sim.advance(1.0)
    assert sim.events == [(0.5, "brake")] and sim["b.omega"] == pytest.approx(1.25)


def test_events_of_parts_have_their_names(tmp_path: Any) -> None:
    part = shafts(events={"brake": {"when": "clutch.angle < -1", "lock": ["clutch"]}}).description
    whole = model(
        submodels={"left": {"model": part.to_data()}, "right": {"model": part.to_data(), "mirror": "x"}},
        events={"off": {"when": "time > 1", "unlock": ["left.clutch"]}},
    )
    result = whole.simulate(1.5, 0.5)
    assert names(result) == ["left.brake", "right.brake", "off"]
    assert result["left.b.omega"][-1] == pytest.approx(1.25) and result["right.b.omega"][-1] == pytest.approx(-1.25)
    whole.save(tmp_path / "whole.json")
    assert mbd.Model.load(tmp_path / "whole.json").description == whole.description
    result.to_hdf5(tmp_path / "run.h5")
    assert mbd.Result.read(tmp_path / "run.h5").events == result.events


@pytest.mark.parametrize("eliminate", [True, False])
def test_conditions_may_use_whatever_is_solved_for(eliminate: bool) -> None:
    """Variables that depend on themselves, forces, rates of states: also where they move nothing."""
    plant = cart(
        "4 - 3*e",
        variables={"e": "car.x - 1", "w": {"equation": "w^3 + w - e", "start": 0.1}},
        states={"z": {"rate": "1 - z"}},
        events={
            "deep": {"when": "w > 0.3", "restart": True},
            "slow": {"when": "der(z) < 0.5", "restart": True},
            "far": {"when": "e > 0.5", "restart": True},
            "strong": {"when": "push.force < 1", "restart": True},
        },
    )
    compiled = CompiledModel(lower(plant.description, eliminate=eliminate))
    sim = Simulation(compiled, Settings(tolerance=1e-9))
    sim.advance(1.2)
    at = {e: math.acos(1 - e / (4 / 3)) / math.sqrt(1.5) for e in (0.3 + 0.027, 0.5, 1)}  # e = 4/3 (1 - cos(1.5^0.5 t))
    expected = [(at[0.327], "deep"), (math.log(2), "slow"), (at[0.5], "far"), (at[1], "strong")]
    assert sim.events == [(pytest.approx(t, abs=1e-5), name) for t, name in expected]


# ---------------------------------------------------------------- impacts


def ball(restitution: float = 0.8, **more: Any) -> mbd.Model:
    bodies = {"ball": {"mass": 1, "inertia": 0.01, "position": [0, 1], "free": True, "velocity": [0.3, 0]}}
    return model(gravity=[0, -G], bodies=bodies, impacts={"pad": {"gap": "ball.y", "restitution": restitution, **more}})


def bounces(restitution: float, count: int) -> list[float]:
    fall = math.sqrt(2 / G)
    speeds = [G * fall * restitution**k for k in range(1, count)]
    return list(np.cumsum([fall, *(2 * v / G for v in speeds)]))


@pytest.mark.parametrize("settings", [{}, {"step": 1e-3}, {"step": 0.01}, {"tolerance": 1e-4}], ids=str)
def test_a_ball_bounces_when_it_should_and_comes_to_rest(settings: dict[str, Any]) -> None:
    result = ball().simulate(6.0, 0.01, **settings)
    times = [t for t, name in result.events if name == "pad"]
    assert times[:20] == pytest.approx(bounces(0.8, 20), abs=1e-6)
    assert len(times) == 38 and names(result)[-1] == "pad.rest"  # 4.43 m/s * 0.8^38 is the first below 1 mm/s
    assert times == pytest.approx(bounces(0.8, 38), abs=1e-6)
    still = result.time > times[-1]
    assert abs(result["pad.gap"][still]).max() < 1e-9 and abs(result["ball.vy"][still]).max() < 1e-12
    assert result["pad.reaction.force"][still] == pytest.approx(G)
    assert np.diff(energy(result)).max() < 1e-9
    assert result["ball.vx"] == pytest.approx(0.3, rel=1e-12)  # no friction


def test_an_elastic_ball_keeps_its_energy() -> None:
    result = ball(1.0).simulate(20.0, 0.01)
    assert len(result.events) == 22
    assert energy(result) == pytest.approx(energy(result)[0], rel=1e-9)


def test_a_plastic_ball_stays() -> None:
    assert names(ball(0.0).simulate(1.0, 0.1)) == ["pad", "pad.rest"]


@STEPPING
def test_a_jointed_rod_that_strikes_the_ground_keeps_what_it_should(settings: dict[str, Any]) -> None:
    """The impulse is upright, so the momentum along x is kept, and the angular momentum about the point of contact."""
    rod = model(
        gravity=[0, -G],
        bodies={
            "a": {"mass": 1, "inertia": 0.1, "position": [-0.5, 1], "free": True, "velocity": [1, 0]},
            "b": {"mass": 2, "inertia": 0.2, "position": [0.5, 1], "velocity": [1, 0]},
        },
        markers={"tip": {"body": "b", "at": [0.5, 0]}},
        joints={"pin": {"type": "revolute", "i": {"body": "a", "at": [0.5, 0]}, "j": {"body": "b", "at": [-0.5, 0]}}},
        impacts={"ground_": {"gap": "tip.y", "restitution": 0.5}},
    )
    sim = rod.start(tolerance=1e-8, **settings)
    fall = math.sqrt(2 / G)
    before = after = {}
    for k, t in enumerate((fall - 1e-9, fall + 1e-9)):
        sim.advance(t)
        values = {name: sim[name] for name in sim.names}
        before, after = (values, {}) if k == 0 else (before, values)
    assert [name for _, name in sim.events] == ["ground_"]

    def spin(s: dict[str, float]) -> float:  # about the tip
        return sum(
            m * ((s[f"{n}.x"] - s["tip.x"]) * s[f"{n}.vy"] - s[f"{n}.y"] * s[f"{n}.vx"]) + j * s[f"{n}.omega"]
            for n, m, j in (("a", 1, 0.1), ("b", 2, 0.2))
        )

    assert after["tip.vy"] == pytest.approx(-0.5 * before["tip.vy"], rel=1e-6)
    assert after["a.vx"] + 2 * after["b.vx"] == pytest.approx(3, rel=1e-9)
    assert spin(after) == pytest.approx(spin(before), rel=1e-6)
    assert after["energy.kinetic"] < before["energy.kinetic"]
    # the hinge passes no torque: a on its own gets its impulse at the pin
    assert 0.1 * after["a.omega"] == pytest.approx(1 * 0.5 * (after["a.vy"] - before["a.vy"]), rel=1e-6)


def test_a_block_rocks_to_rest_on_two_corners() -> None:
    block = model(
        gravity=[0, -G],
        bodies={"block": {"mass": 1, "inertia": 0.1, "position": [0, 1], "free": True, "angle": 0.3}},
        markers={"l": {"body": "block", "at": [-0.5, -0.25]}, "r": {"body": "block", "at": [0.5, -0.25]}},
        impacts={name: {"gap": f"{name[0]}.y", "restitution": 0.5} for name in ("left", "right")},
    )
    result = block.simulate(3.0, 0.01)
    assert [result[f"{name}.reaction.force"][-1] for name in ("left", "right")] == pytest.approx([G / 2, G / 2])
    assert abs(result["block.phi"][-1]) < 1e-9 and result["block.y"][-1] == pytest.approx(0.25)
    assert np.diff(energy(result)).max() < 1e-6  # between impacts, the error of the steps
    assert min(result["left.gap"].min(), result["right.gap"].min()) > -1e-9


def test_a_plank_on_three_feet_lies_still() -> None:
    """The smallest reactions would pull at the far foot: it lets go once, and what touches does not hit again."""
    plank = model(
        gravity=[0, -G],
        bodies={"plank": {"mass": 1, "inertia": 0.3, "free": True}},
        markers={f"m{k}": {"body": "plank", "at": [k - 1.9, 0]} for k in range(3)},
        impacts={f"foot{k}": {"gap": f"m{k}.y", "restitution": 0.3} for k in range(3)},
    )
    result = plank.simulate(3.0, 0.01)
    assert len(result.events) == 7 and names(result)[-1] == "foot0.release"
    forces = [result[f"foot{k}.reaction.force"][-1] for k in range(3)]
    assert forces == pytest.approx([0, 0.1 * G, 0.9 * G], abs=1e-9)


def test_a_blow_passes_through_a_row_of_balls() -> None:
    row = (("a", -1.0, 1.0), ("b", 0.0, 0.0), ("c", 0.1, 0.0), ("d", 0.2, 0.0))
    bodies = {n: {"mass": 1, "inertia": 1, "position": [x, 0], "velocity": [v, 0], "free": True} for n, x, v in row}
    impacts = {f"{i}{j}": {"gap": f"{j}.x - {i}.x - 0.1", "restitution": 1} for i, j in ("ab", "bc", "cd")}
    result = model(bodies=bodies, impacts=impacts).simulate(2.0, 0.1)
    assert names(result) == ["ab", "bc", "cd"] and [t for t, _ in result.events] == pytest.approx([0.9] * 3)
    assert [result[f"{n}.vx"][-1] for n in "abcd"] == pytest.approx([0, 0, 0, 1], abs=1e-12)


def test_a_moving_wall_throws_back() -> None:
    """Restitution counts in the frame of the wall."""
    bodies = {"ball": {"mass": 1, "inertia": 1, "free": True, "velocity": [1, 0]}}
    wall = {"gap": "1 - 0.5*time - ball.x", "restitution": 0.5}
    result = model(bodies=bodies, impacts={"wall": wall}).simulate(1.0, 0.1)
    assert result.events[0][0] == pytest.approx(1 / 1.5, abs=1e-9)
    assert result["ball.vx"][-1] == pytest.approx(-0.5 - 0.5 * 1.5)


def test_a_ball_slides_off_a_table() -> None:
    table = {"gap": "ball.y", "restitution": 0.5, "where": "ball.x < 1 and ball.y > -0.1"}
    bodies = {"ball": {"mass": 1, "inertia": 1, "free": True, "velocity": [0.5, 0]}}
    result = model(gravity=[0, -G], bodies=bodies, impacts={"table": table}).simulate(3.0, 0.1)
    assert names(result) == ["table", "table.rest", "table.release"]
    assert result.events[-1][0] == pytest.approx(2, abs=1e-9)
    assert result["ball.y"][-1] == pytest.approx(-G / 2, abs=1e-8)


def test_a_ball_leaves_a_round_hill_where_it_would_have_to_pull() -> None:
    """From the top of a cylinder of radius 1 it leaves at the height 2/3 + v^2/(3 g)."""
    bodies = {"ball": {"mass": 2, "inertia": 1, "position": [0, 1], "free": True, "velocity": [0.4, 0]}}
    hill = {"gap": "sqrt(ball.x^2 + ball.y^2) - 1", "restitution": 0.0}
    sim = model(gravity=[0, -G], bodies=bodies, impacts={"hill": hill}).start(tolerance=1e-9)
    while not any(name == "hill.release" for _, name in sim.events):
        height = sim["ball.y"]
        sim.step(1e-4)
    assert sim["ball.y"] <= 2 / 3 + 0.16 / (3 * G) + 1e-6 <= height + 1e-6
    assert sim["hill.reaction.force"] == 0


def test_a_ball_in_space_bounces_with_what_is_jointed_to_it() -> None:
    """A rod on a ball joint that falls on a stop: one freedom counts, J about the joint over arm squared."""
    rod = {"mass": 3, "inertia": [0.1, 0.8, 0.8], "position": [1, 0, 0]}
    arm = model(
        dimensions=3,
        gravity=[0, 0, -G],
        bodies={"rod": rod},
        markers={"tip": {"body": "rod", "at": [1, 0, 0]}},
        joints={"socket": {"type": "spherical", "i": GROUND, "j": {"body": "rod", "at": [-1, 0, 0]}}},
        impacts={"stop": {"gap": "tip.z + 1", "restitution": 0.7}},
    )
    result = arm.simulate(1.0, 1e-3, tolerance=1e-8)
    t = result.events[0][0]
    near = int(np.searchsorted(result.time, t))
    before, after = result["tip.vz"][near - 1], result["tip.vz"][near]
    assert after == pytest.approx(-0.7 * before, abs=0.03)  # a step of 1 ms on
    # m g sin(30 deg) falls by 0.5 m: J omega^2/2, with J = 0.8 + 3
    assert abs(result["rod.omega_y"][near - 1]) == pytest.approx(math.sqrt(2 * 3 * G * 0.5 / 3.8), abs=0.01)
    assert np.diff(energy(result)).max() < 1e-5


def test_several_impacts_at_once_gain_nothing(counts: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(counts(500, fraction=0.1)):
        e = rng.uniform(0, 1, 3)
        plate = model(
            bodies={
                "p": {"mass": 1, "inertia": float(rng.uniform(0.02, 2)), "free": True, "velocity": [0, -1],
                      "omega": float(rng.uniform(-2, 2))}
            },
            markers={f"m{k}": {"body": "p", "at": [float(x), 0]} for k, x in enumerate((-0.5, 0.1, 0.5))},
            impacts={f"i{k}": {"gap": f"m{k}.y", "restitution": float(e[k])} for k in range(3)},
        )  # fmt: skip
        result = plate.simulate(0.5, 0.1)
        assert np.diff(energy(result)).max() < 1e-9 and result.events


def bars(rng: np.random.Generator) -> mbd.Model:
    """One to three bars in a row that fall on all their ends."""
    n, place = int(rng.integers(1, 4)), np.array([0.0, rng.uniform(2.8, 4)])
    sections: dict[str, dict[str, Any]] = {"bodies": {}, "joints": {}, "markers": {}, "impacts": {}}
    for k in range(n):
        angle = rng.uniform(-1, 1)
        along = np.array([np.cos(angle), np.sin(angle)])
        middle = [float(x) for x in place + along / 2]
        mass, inertia = rng.uniform(0.5, 2), rng.uniform(0.02, 0.2)
        body = {"mass": mass, "inertia": inertia, "position": middle, "angle": angle, "free": True}
        sections["bodies"][f"b{k}"] = body
        if k > 0:
            before = {"body": f"b{k - 1}", "at": [0.5, 0]}
            sections["joints"][f"j{k}"] = {"type": "revolute", "i": before, "j": {"body": f"b{k}", "at": [-0.5, 0]}}
        place = place + along
    ends = [("b0", -0.5), *((f"b{k}", 0.5) for k in range(n))]
    for k, (name, x) in enumerate(ends):
        sections["markers"][f"m{k}"] = {"body": name, "at": [x, 0]}
        sections["impacts"][f"i{k}"] = {"gap": f"m{k}.y", "restitution": rng.uniform(0, 0.9)}
    return model(gravity=[0, -G], **sections)


def test_what_falls_together_comes_to_rest(counts: Any) -> None:
    """Several contacts that set each other off neither sink in nor rattle without end, and energy is lost in each."""
    rng = np.random.default_rng(7)
    for _ in range(counts(200, fraction=0.05)):
        result = bars(rng).simulate(4.0, 0.01, tolerance=1e-7)
        assert min(result[name].min() for name in result.names("*.gap")) > -1e-8
        hit = np.unique(np.searchsorted(result.time, [t for t, _ in result.events]) - 1)
        change = np.diff(energy(result))
        assert change[np.clip(hit, 0, None)].max() < 1e-5 * energy(result)[0]
        assert change.max() < 1e-4 * energy(result)[0]  # the error of steps in between


def test_the_trebuchet_throws() -> None:
    """The stone lies in its trough, is lifted, let go at 45 degrees, and the brake stops the beam."""
    result = mbd.models.load("trebuchet").simulate(tolerance=1e-7)
    assert names(result) == ["trough", "trough.rest", "trough.release", "release", "brake"]
    loose = next(t for t, name in result.events if name == "release")
    at = int(np.searchsorted(result.time, loose))
    assert result["stone.vy"][at] == pytest.approx(result["stone.vx"][at], abs=G * 0.01)
    assert result["axle.angle"][-1] == pytest.approx(math.radians(60), abs=1e-6)
    assert result.statistics["worst_velocity_violation"] < 1e-2


# ---------------------------------------------------------------- energy and order with restarts


def test_hundreds_of_restarts_gain_no_energy() -> None:
    double = model(
        gravity=[0, -G],
        bodies={
            "a": {"mass": 1, "inertia": 1 / 12, "position": [0.5, 0]},
            "b": {"mass": 1, "inertia": 1 / 12, "position": [1.5, 0]},
        },
        joints={
            "p": {"type": "revolute", "i": GROUND, "j": {"body": "a", "at": [-0.5, 0]}},
            "q": {"type": "revolute", "i": {"body": "a", "at": [0.5, 0]}, "j": {"body": "b", "at": [-0.5, 0]}},
        },
        events={"tick": {"when": "sin(100*time) > 0", "restart": True}},
    )
    result = double.simulate(10.0, 0.1, largest_step=0.01)
    assert len(result.events) == 160  # t = 2 pi k/100, and 0 itself just after the start
    assert energy(result).max() < 1e-4 and energy(result).min() > -0.05 * 30


def test_inputs_that_jump_restart_and_keep_the_order() -> None:
    plant = model(
        inputs={"u": {"unit": "N"}},
        bodies={"car": {"mass": 1, "inertia": 1, "position": [1, 0]}},
        joints={"rail": {"type": "prismatic", "i": GROUND, "j": {"body": "car", "at": [-1, 0]}}},
        forces={
            "spring": {"type": "translational", "i": GROUND, "j": {"body": "car"}, "axis": [1, 0], "stiffness": 40,
                       "free_length": 1, "force": "u"}
        },
    )  # fmt: skip
    times, steps = np.arange(20) * 0.1, np.where(np.arange(20) % 2, 10.0, -5.0)

    def end(step: float) -> tuple[float, int]:
        run = plant.simulate(2.0, 0.1, inputs={"u": (times, steps)}, interpolation="hold", step=step)
        return float(run["car.x"][-1]), int(run.statistics["restarts"])

    x, v = 0.0, 0.0  # x'' = u - 40 x, exactly, interval by interval
    w = math.sqrt(40)
    for u in steps:
        y, c, s = x - u / 40, math.cos(0.1 * w), math.sin(0.1 * w)
        x, v = u / 40 + y * c + v / w * s, -w * y * s + v * c
    errors = [abs(end(h)[0] - 1 - x) for h in (4e-3, 2e-3, 1e-3)]
    assert end(4e-3)[1] == 20
    assert all(3.5 < a / b < 4.5 for a, b in itertools.pairwise(errors)), errors


def test_forces_and_rates_that_jump_where_an_event_is_keep_the_order() -> None:
    """A mass on a spring, with a pull and a filter that know on which side of 0.3 it is."""
    sections = {
        "coordinates": {"s": {"unit": "m", "start": 1, "force": "-9*s + if(s < 0.3, 2, 0) + X"}},
        "mass": {"s": 1},
        "states": {"X": {"rate": "-X + if(s < 0.3, 1, -1)"}},
        "events": {"in": {"when": "s < 0.3", "restart": True}, "out": {"when": "s > 0.3", "restart": True}},
    }

    def piece(low: bool) -> Any:  # s, its rate and X from one crossing to the next
        return lambda t, y: [y[1], -9 * y[0] + 2 * low + y[2], -y[2] + (1 if low else -1)]

    def crossing(t: float, y: np.ndarray) -> float:
        return float(y[0] - 0.3)

    crossing.terminal = True  # type: ignore[attr-defined]
    t, y, low = 0.0, np.array([1.0, 0.0, 0.0]), False
    while t < 3:
        crossing.direction = 1 if low else -1  # type: ignore[attr-defined]
        run = solve_ivp(piece(low), (t, 3), y, events=crossing, rtol=1e-11, atol=1e-12, method="DOP853")
        t, y, low = run.t[-1], run.y[:, -1], not low

    for h in (0.01, 0.005, 0.0025, 0.001):
        result = model(**sections).simulate(3.0, 3.0, step=h, tolerance=1e-12)
        assert names(result) == ["out", "in", "out", "in"]
        assert [result["s"][-1], result["X"][-1]] == pytest.approx([y[0], y[2]], abs=4 * h**2)


# ---------------------------------------------------------------- mistakes


def test_every_mistake_is_named() -> None:
    events = {
        "idle": {"when": "time > 1"},
        "both": {"when": "time > 1", "release": ["clutch"], "engage": ["clutch"]},
        "twice": {"when": "time > 1", "lock": ["clutch", "clutch"]},
        "lost": {"when": "time > 1", "lock": ["cluch"]},
        "flat": {"when": "time > 1", "lock": "clutch"},
        "odd": {"when": "time > 1", "release": ["a"]},
    }
    with pytest.raises(ModelError) as found:
        shafts(events=events, impacts={"bad": {"gap": "a.x", "restitution": 1.5}})
    text = str(found.value)
    for line in (
        'events.idle: does nothing; give "release", "engage", "lock" or "unlock" with names, "set" with states, or '
        '"restart": true',
        "events.both: 'clutch' is in both release and engage; leave it out of one of them",
        "events.twice.lock: names 'clutch' twice; once is enough",
        "events.lost.lock[0]: no joint is named 'cluch'; did you mean 'clutch'?; known: bearing, clutch",
        "events.flat.lock: must be a list of names as [\"hinge\"], found 'clutch'",
        "events.odd.release[0]: no joint, motion or constraint is named 'a'; known: bearing, clutch",
        "impacts.bad.restitution: must be between 0 and 1, found 1.5",
    ):
        assert line in text, f"{line}\n---\n{text}"


def test_actions_without_effect_and_odd_conditions_are_named() -> None:
    text = refused(
        dimensions=3,
        bodies={"b": {"mass": 1, "inertia": [1, 1, 1]}},
        joints={
            "ball": {"type": "spherical", "i": GROUND, "j": {"body": "b"}},
            "off": {"type": "fixed", "i": GROUND, "j": {"body": "b"}, "active": False},
        },
        events={
            "e": {"when": "time", "engage": ["ball"]},
            "f": {"when": "time > 1", "release": ["off"]},
            "g": {"when": "b.xx > 1", "lock": ["ball"]},
            "h": {"when": "time > 1", "unlock": ["off"]},
        },
        impacts={"i": {"gap": "time - 1", "restitution": 0}, "j": {"gap": "b.vx", "restitution": 0, "where": "b.x"}},
    )
    for line in (
        "events.e.when: must be a condition such as time > 0, found a quantity; compare it",
        "events.e.engage: 'ball' is always active; give it \"active\": false, or release it in another event",
        "events.f.release: 'off' is never active; leave out its \"active\": false, or engage it in another event",
        "events.g.when: nothing is called 'b.xx'",
        "events.g.lock: 'ball' has no free coordinates; engage a joint that is not active at first in its place",
        "events.h.unlock: 'off' is never locked; lock it in another event",
        "impacts.i.gap: depends on no coordinate; nothing could close it",
        "impacts.j.gap: may depend on",
        "impacts.j.where: must be a condition such as b.x > 0, found a quantity; compare it",
    ):
        assert line in text, f"{line}\n---\n{text}"


# ---------------------------------------------------------------- breaks


def cart(force: str, **more: Any) -> mbd.Model:
    return model(
        bodies={"car": {"mass": 2, "inertia": 1, "position": [1, 0]}},
        joints={"rail": {"type": "prismatic", "i": GROUND, "j": {"body": "car", "at": [-1, 0]}}},
        forces={"push": {"type": "translational", "i": GROUND, "j": {"body": "car"}, "axis": [1, 0], "force": force}},
        **more,
    )


@STEPPING
@pytest.mark.parametrize("until", ["<", "<="])
@pytest.mark.parametrize("step_output", [1.0, 0.25, 0.0137], ids=str)
def test_a_force_that_ends_is_followed_exactly(until: str, step_output: float, settings: dict[str, Any]) -> None:
    """Positions are parabolas, which the scheme follows exactly as long as no step contains the end of the force."""
    result = cart(f"if(time {until} 0.5, 8, -2)").simulate(1.0, step_output, **settings)
    assert result["car.x"][-1] == pytest.approx(1 + 4 / 2 * 0.25 + 2 * 0.5 - 1 / 2 * 0.25, abs=1e-12)
    assert result["car.vx"][-1] == pytest.approx(1.5, abs=1e-12)
    assert result.statistics["restarts"] == 1


def test_the_start_takes_what_holds_from_then_on() -> None:
    result = cart("if(time > 0, 8, 0)").simulate(1.0, 0.5, step=0.5)
    assert result["car.x"][-1] == pytest.approx(3, abs=1e-12)


def test_what_only_bends_is_no_new_start() -> None:
    result = cart("20*min(time, 0.3)").simulate(1.0, 0.5, tolerance=1e-9)
    assert result.statistics["restarts"] == 0
    assert result["car.x"][-1] == pytest.approx(1 + 10 * (0.3**3 / 6 + 0.3**2 / 2 * 0.7 + 0.3 * 0.7**2 / 2), abs=1e-7)


def test_breaks_move_with_parameters() -> None:
    plant = cart("if(time < off, 8, 0)", parameters={"off": {"value": 0.5, "unit": "s", "tunable": True}})
    assert plant.simulate(1.0, 1.0, parameters={"off": 0.25})["car.vx"][-1] == pytest.approx(1, abs=1e-12)
    sim = plant.start()
    sim.advance(0.4)
    sim["off"] = 0.75
    sim.advance(1.0)
    assert sim["car.vx"] == pytest.approx(3, abs=1e-12)


@STEPPING
def test_a_state_saved_at_a_break_continues_bit_for_bit(settings: dict[str, Any]) -> None:
    sim = cart("if(time < 0.5, 8, -2) - 30*(car.x - 1)").start(**settings)
    for t in (0.25, 0.5, 0.75):
        sim.advance(t)
        saved = sim.save()
        sim.advance(1.0)
        end = sim.values().tolist()
        sim.restore(saved)
        sim.advance(1.0)
        assert sim.values().tolist() == end
        sim.restore(saved)


def test_a_motion_with_corners_keeps_its_order() -> None:
    """The speed of the driven coordinate jumps at 0.3 s: the mass beside it gets the momentum that belongs to it."""
    motions = {"drive": {"of": "bearing.angle", "value": "max(0, 4*(time - 0.3))"}}
    sim = shafts(motions=motions, forces={
        "spring": {"type": "rotational", "i": {"body": "a"}, "j": {"body": "b"}, "stiffness": 3}
    }).start(assemble=True, tolerance=1e-9)  # fmt: skip
    sim.advance(1.3)
    w = math.sqrt(3 / 0.3)
    assert sim["a.omega"] == pytest.approx(4, abs=1e-9)
    assert sim["b.omega"] == pytest.approx(4 * (1 - math.cos(w)), abs=1e-5)


def test_what_an_impact_makes_true_occurs_at_every_impact() -> None:
    """Bounces are shorter than a step at the end: no step ends where the ball falls."""
    falling = ball().description
    up = {"when": "ball.vy > 0", "restart": True}
    result = model(gravity=falling.gravity, bodies=falling.bodies, impacts=falling.impacts, events={"up": up}).simulate(
        5.0, 0.05
    )
    rising, bounced = ([t for t, name in result.events if name == one] for one in ("up", "pad"))
    assert len(bounced) == 38 and rising == bounced[:-1]  # after the last it rests


def test_an_impact_that_begins_inside_is_noted() -> None:
    data = {"gap": "ball.y", "restitution": 0.5}
    for y, noted in ((-0.1, True), (0.0, False), (0.2, False)):
        body = {"mass": 1, "inertia": 1, "position": [0, y], "free": True}
        ball = Description(format_version=1, name="m", bodies={"ball": body}, impacts={"base": data})
        notes = mbd.Model.from_description(ball).start().notes
        assert notes == (["impact 'base' begins 0.1 m inside: its gap is negative at the start"] if noted else [])


def test_a_break_at_the_start_hides_no_event() -> None:
    """Right after it the time is no longer 0."""
    data: dict[str, Any] = {
        "format_version": 1, "name": "both", "mass": {"s": 1}, "states": {name: {"rate": 0} for name in "nk"},
        "coordinates": {"s": {"unit": "m", "force": "if(time > 0, 2, 0)"}},
        "events": {"at": {"when": "time <= 0", "set": {"n": 1}}, "after": {"when": "time > 0", "set": {"k": 1}}},
    }  # fmt: skip
    run = mbd.Model.from_description(mbd.Description(**data)).simulate(1.0, 1.0)
    assert (run["n"][-1], run["k"][-1], run["s"][-1]) == pytest.approx((1, 1, 1), abs=1e-9)
