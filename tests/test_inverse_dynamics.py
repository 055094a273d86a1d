"""Inverse dynamics: runs give back what drove them, splines at their order, closed forms, what cannot be answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from redundant_mechanisms import draw, first_hinge, with_a_motor

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.description import Description
from mbdfmu.forces import JointFriction, Rotational, VectorForce
from mbdfmu.joints import Prismatic, Revolute

GROUND = {"body": "ground"}
TIMES = np.linspace(0, 2, 201)
CLOSES = 1e-8  # of the largest value of an input: what the issue asks for; rounding gives 1e-13


def pushes(*amplitudes: float) -> dict[str, tuple[Any, Any]]:
    """Smooth values of inputs u0, u1, ..."""
    values = (size * np.sin((2 + k) * TIMES + k) for k, size in enumerate(amplitudes))
    return {f"u{k}": (TIMES, value) for k, value in enumerate(values)}


def arm(bars: int = 2, **options: Any) -> mbd.Model:
    """A planar arm of bars of 1 m with a torque u0, u1, ... in every hinge."""
    model = mbd.Model("arm", gravity=(0, -9.81))
    before = GROUND
    for k in range(bars):
        model.add(f"u{k}", mbd.Input(unit="N.m"))
        model.add(f"bar{k}", mbd.Body(mass=2, inertia=0.2, position=(k + 0.5, 0)))
        model.add(f"hinge{k}", Revolute(i=before, j={"body": f"bar{k}", "at": (-0.5, 0)}))
        ends = {"i": {"body": before["body"]}, "j": {"body": f"bar{k}"}}
        model.add(f"motor{k}", Rotational(torque=f"u{k}", damping=0.5, **ends, **options))
        before = {"body": f"bar{k}", "at": (0.5, 0)}
    return model


def cart() -> mbd.Model:
    """A cart that a force u0 moves, with a pole that hangs on it: two free motions, one actuator."""
    model = mbd.Model("cart", gravity=(0, -9.81))
    model.add("u0", mbd.Input(unit="N"))
    model.add("cart", mbd.Body(mass=3, inertia=0.1))
    model.add("pole", mbd.Body(mass=1, inertia=0.1, position=(0, -0.5), angle="-90*deg"))
    model.add("rails", Prismatic(i=GROUND, j={"body": "cart"}, axis=(1, 0)))
    model.add("hinge", Revolute(i={"body": "cart"}, j={"body": "pole", "at": (-0.5, 0)}))
    model.add("motor", VectorForce(i=GROUND, j={"body": "cart"}, force=("u0", 0)))
    return model


def robot() -> mbd.Model:
    """A spatial arm: shoulder with two driven axes, elbow with one."""
    model = mbd.Model("robot", dimensions=3, gravity=(0, 0, -9.81))
    for k in range(3):
        model.add(f"u{k}", mbd.Input(unit="N.m"))
    model.add("turret", mbd.Body(mass=5, inertia=(0.1, 0.1, 0.2)))
    model.add("upper", mbd.Body(mass=2, inertia=(0.01, 0.2, 0.2), position=(0.5, 0, 0)))
    model.add("lower", mbd.Body(mass=1, inertia=(0.005, 0.1, 0.1), position=(1.4, 0, 0)))
    model.add("base", Revolute(i=GROUND, j={"body": "turret"}, axis=(0, 0, 1)))
    model.add("shoulder", Revolute(i={"body": "turret"}, j={"body": "upper", "at": (-0.5, 0, 0)}, axis=(0, 1, 0)))
    elbow = {"i": {"body": "upper", "at": (0.5, 0, 0)}, "j": {"body": "lower", "at": (-0.4, 0, 0)}}
    model.add("elbow", Revolute(axis=(0, 1, 0), **elbow))
    for k, (i, j, axis) in enumerate(
        (("ground", "turret", (0, 0, 1)), ("turret", "upper", (0, 1, 0)), ("upper", "lower", (0, 1, 0)))
    ):
        ends = {"i": {"body": i}, "j": {"body": j}, "axis": axis}
        model.add(f"motor{k}", Rotational(torque=f"u{k}", damping=0.2, **ends))
    return model


def rubbing() -> mbd.Model:
    """An arm with Coulomb friction in its hinges, which depends on the reactions that the torques change."""
    model = arm()
    for k in range(2):
        model.add(f"rub{k}", JointFriction(joint=f"hinge{k}", radius=0.05, coefficient=0.2, creep_speed=0.01))
    return model


def saturated() -> mbd.Model:
    """Torques that tend to a limit: no factor of the inputs."""
    model = arm(1)
    model.add("limited", mbd.Variable(value="20*tanh(v/20)", unit="N.m"))
    model.add("v", mbd.Input(unit="N.m"))
    model.add("more", Rotational(i=GROUND, j={"body": "bar0"}, torque="limited"))
    return model


MODELS: dict[str, tuple[Callable[[], mbd.Model], dict[str, tuple[Any, Any]]]] = {
    "slider_crank": (lambda: mbd.models.load("slider_crank"), {"torque": (TIMES, 3 * np.sin(3 * TIMES))}),
    "double pendulum": (arm, pushes(20, 5)),
    "cart and pole": (cart, pushes(10)),
    "robot": (robot, pushes(5, 20, 5)),
    "friction": (rubbing, pushes(20, 5)),
    "saturated": (saturated, {"v": (TIMES, 15 * np.sin(3 * TIMES))}),
    "cart_pendulum": (lambda: mbd.models.load("cart_pendulum"), {"push": (TIMES, np.sin(3 * TIMES))}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_run_gives_back_what_drove_it(name: str) -> None:
    build, inputs = MODELS[name]
    model = build()
    run = model.simulate(2.0, 0.01, inputs=inputs)
    found = model.inverse_dynamics(run, actuators=list(inputs))
    for actuator in inputs:
        assert found[actuator] == pytest.approx(run[actuator], abs=CLOSES * np.abs(run[actuator]).max())
    for signal in run.columns:  # reactions and all else
        assert found[signal] == pytest.approx(run[signal], abs=1e-7 * max(1.0, np.abs(run[signal]).max())), signal
    assert found.statistics["worst_unmet_acceleration"] < 1e-6


@pytest.mark.parametrize("start", [2.0, -30.0])
def test_inputs_that_start_with_a_value_are_actuators_too(start: float) -> None:
    data = mbd.models.load("slider_crank").description.to_data()
    data["inputs"]["torque"]["start"] = start
    model = mbd.Model.from_description(Description(**data))
    run = model.simulate(2.0, 0.02, inputs={"torque": (TIMES, 3 * np.sin(3 * TIMES))})
    found = model.inverse_dynamics(run, actuators="torque")
    assert found["torque"] == pytest.approx(run["torque"], abs=3 * CLOSES)


@pytest.mark.parametrize("name", sorted(set(mbd.models.names()) - {"trebuchet"}))
def test_what_moves_by_itself_asks_for_nothing(name: str) -> None:
    """Every shipped model at the states of a run: the same accelerations, reactions and all else, without actuators."""
    model = mbd.models.load(name)
    experiment = model.description.experiment
    span = (experiment.stop_time if experiment else 1.0) / 50
    run = model.simulate(span, span / 4)
    found = model.inverse_dynamics(run)
    for signal in run.columns:  # 1e-8: stiff springs times the rounding of places
        assert np.abs(found[signal] - run[signal]).max() <= 1e-8 * max(1.0, np.abs(run[signal]).max()), signal


def test_events_are_not_repeated_and_that_is_said() -> None:
    model = mbd.models.load("trebuchet")
    refused(model, model.simulate(0.5, 0.1), "events and impacts do not occur in inverse dynamics")


def test_only_positions_of_some_coordinates_are_needed() -> None:
    """The angles of a motion that is known exactly, with rates: bodies, joints and reactions follow."""
    model = mbd.models.load("slider_crank")
    inputs = MODELS["slider_crank"][1]
    run = model.simulate(2.0, 0.01, inputs=inputs)
    motion = {name: run[name] for name in ("time", "shaft.angle", "shaft.angle_rate", "crank.alpha")}
    found = model.inverse_dynamics(motion, actuators="torque")
    assert found["torque"] == pytest.approx(run["torque"], abs=1e-8)
    assert found["guide.reaction.normal"] == pytest.approx(run["guide.reaction.normal"], abs=1e-7)
    assert found["slider.x"] == pytest.approx(run["slider.x"], abs=1e-9)


# ---------------------------------------------------------------- splines


def swinging(points: int) -> dict[str, Any]:
    """Angles of the robot's joints over 2 s."""
    time = np.linspace(0, 2, points)
    angles = (0.3 * time**2, 0.5 * np.sin(2 * time), 0.8 * np.cos(3 * time))
    return {"time": time} | {f"{j}.angle": a for j, a in zip(("base", "shoulder", "elbow"), angles, strict=True)}


@cache
def exact_swing(points: int) -> np.ndarray:
    """The torques of a model whose joints are driven so: a motion's reaction is the torque that it gives."""
    model = robot()
    for joint, value in (("base", "0.3*time^2"), ("shoulder", "0.5*sin(2*time)"), ("elbow", "0.8*cos(3*time)")):
        model.add(f"drive_{joint}", mbd.Motion(of=f"{joint}.angle", value=value))
    result = model.kinematics(2.0, 2 / (points - 1))
    return np.column_stack([result[f"drive_{joint}.reaction.force"] for joint in ("base", "shoulder", "elbow")])


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("spline", "order"), [("quintic", 4), ("cubic", 2)])
def test_splines_of_positions_give_the_torques_with_their_order(spline: str, order: int) -> None:
    """Inside; at the ends a spline that knows nothing of what lies beyond is worse."""
    model, errors = robot(), []
    for points in (21, 41, 81):
        found = model.inverse_dynamics(swinging(points), actuators=["u0", "u1", "u2"], spline=spline)
        torques = np.column_stack([found[f"u{k}"] for k in range(3)])
        inside = slice(points // 5, -points // 5)
        errors.append(np.abs(torques - exact_swing(points))[inside].max())
        assert f"{spline} splines" in found.notes[-1]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (rates > order - 0.2).all(), (errors, rates)
    assert errors[-1] < {4: 1e-5, 2: 1e-2}[order]  # N.m, of 30


def test_all_positions_of_a_run_without_rates_do_too() -> None:
    """Quaternions, of which some change their sign as a table of another source may."""
    model = robot()
    run = model.simulate(2.0, 0.005, inputs=pushes(5, 20, 5), tolerance=1e-9)
    motion = {name: run[name].copy() for name in run.columns if name.split(".")[-1] in ("x", "y", "z")}
    for body in ("turret", "upper", "lower"):
        flip = np.where(run.time > 1, -1.0, 1.0)
        motion |= {f"{body}.e{k}": flip * run[f"{body}.e{k}"] for k in range(4)}
    found = model.inverse_dynamics({"time": run.time, **motion}, actuators=["u0", "u1", "u2"])
    for name in ("u0", "u1", "u2"):
        # the fourth power of the distance of points, for an arm that swings freely at several rad/s
        assert found[name][20:-20] == pytest.approx(run[name][20:-20], abs=0.01)


def test_velocities_alone_are_differentiated_once() -> None:
    model = arm()
    run = model.simulate(2.0, 0.01, inputs=pushes(20, 5), tolerance=1e-9)
    kept = [name for name in run.columns if not name.endswith((".ax", ".ay", ".alpha"))]
    found = model.inverse_dynamics({"time": run.time} | {n: run[n] for n in kept}, actuators=["u0", "u1"])
    for name in ("u0", "u1"):
        assert found[name][10:-10] == pytest.approx(run[name][10:-10], abs=1e-3)
    assert "bar0.omega" in found.notes[-1]


# ---------------------------------------------------------------- driven models


def test_a_driven_model_needs_no_actuators() -> None:
    """The motion of a kinematic analysis, given back: its drives and joints take the same."""
    model = mbd.models.load("stewart")
    run = model.kinematics(1.0, 0.05)
    found = model.inverse_dynamics(run)
    for name in run.columns:
        assert found[name] == pytest.approx(run[name], abs=1e-7 * max(1.0, np.abs(run[name]).max())), name


def test_what_a_motion_takes_is_what_an_actuator_gives() -> None:
    """A kinematic analysis of a driven twin, and the actuator that makes the free model move so."""
    twin = mbd.models.load("slider_crank")
    twin.add("drive", mbd.Motion(of="shaft.angle", value="30*deg + 5*time + 0.3*sin(4*time)"))
    run = twin.kinematics(1.0, 0.01)
    found = mbd.models.load("slider_crank").inverse_dynamics(run, actuators="torque")
    assert found["torque"] == pytest.approx(run["drive.reaction.force"], abs=1e-9)


def test_what_falls_freely_needs_nothing() -> None:
    time = np.linspace(0, 1, 11)
    model = mbd.Model("ball", gravity=(0, -9.81))
    model.add("ball", mbd.Body(mass=2, inertia=1, free=True))
    motion = {"time": time, "ball.x": time, "ball.y": -9.81 * time**2 / 2, "ball.phi": 0 * time}
    found = model.inverse_dynamics(motion)
    assert found["ball.ay"] == pytest.approx(-9.81, abs=1e-9)


@pytest.mark.parametrize(("level", "value"), [("velocity", "sin(time)"), ("acceleration", "cos(time)")])
def test_a_drive_and_an_actuator_share_the_work(level: str, value: str) -> None:
    model = arm()
    model.add("spin", mbd.Motion(of="hinge0.angle", value=value, level=level))
    run = model.simulate(2.0, 0.02, inputs=pushes(20, 5), assemble=True)
    found = model.inverse_dynamics(run, actuators="u1")
    for name in ("u1", "spin.reaction.force"):
        assert found[name] == pytest.approx(run[name], abs=1e-9)
    refused(model, run, "u0 moves nothing at t = 0 s", actuators=["u0", "u1"])  # what the drive takes up


def test_rows_that_repeat_others_are_no_obstacle() -> None:
    model = mbd.Model("door", dimensions=3, gravity=(0, 0, -9.81))
    model.add("u0", mbd.Input(unit="N.m"))
    model.add("door", mbd.Body(mass=20, inertia=(2, 1, 3), position=(0.5, 0, 1)))
    for k, z in enumerate((-0.8, 0.8)):
        ends = {"i": {"body": "ground", "at": (0, 0, 1 + z)}, "j": {"body": "door", "at": (-0.5, 0, z)}}
        model.add(f"hinge{k}", Revolute(axis=(0, 0, 1), **ends))
    model.add("motor", Rotational(i=GROUND, j={"body": "door"}, axis=(0, 0, 1), torque="u0"))
    run = model.simulate(2.0, 0.02, inputs=pushes(20))
    found = model.inverse_dynamics(run, actuators="u0")
    for name in run.columns:  # the smallest reactions too
        assert found[name] == pytest.approx(run[name], abs=1e-8), name
    assert any("not unique" in note for note in found.notes)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("dt", [0.01, 0.1])
def test_mechanisms_that_hold_more_than_needed_give_back_what_drove_them(dt: float, counts: Callable[..., int]) -> None:
    """Any two of three cranks have a dead point: rows chosen once made the torque wrong by up to 1 Nm there."""
    for seed in (2, 6, *range(counts(40, fraction=0.05))):
        m = draw(seed)
        for backwards in (False, True):
            model = with_a_motor(m, redundant=True, backwards=backwards)
            settings = {"scheme": "radau", "tolerance": 1e-10, "inputs": {"T": ([0, 3], [0.3, -0.6])}}
            run = model.simulate(3.0, dt, start=m.start, **settings)
            assert model.inverse_dynamics(run, actuators="T")["T"] == pytest.approx(run["T"], abs=1e-9), seed
            if m.name == "three_cranks" and m.dimensions == 2:  # in the plane the rates of an angle are recorded
                angle = f"{first_hinge(m, redundant=True)[0]}.angle"
                found = model.inverse_dynamics(run, actuators="T", coordinates=[angle])
                assert found["T"] == pytest.approx(run["T"], abs=1e-9), seed


def test_an_input_whose_rate_acts_is_no_actuator() -> None:
    model = mbd.models.load("quarter_car")
    run = model.simulate(0.5, 0.02)
    refused(model, run, "the rate of 'road' acts on the model", "drive the place by a motion", actuators="road")


def test_the_parameters_of_a_run_come_with_it() -> None:
    model = mbd.models.load("slider_crank")
    run = model.simulate(1.0, 0.02, inputs={"torque": ([0, 1], [1, 3])}, parameters={"rod_mass": 9.0})
    assert model.inverse_dynamics(run, actuators="torque")["torque"] == pytest.approx(run["torque"], abs=1e-9)
    without = model.inverse_dynamics(run, actuators="torque", parameters={})
    assert np.abs(without["torque"] - run["torque"]).max() > 1


def test_other_inputs_come_from_the_motion_or_are_given() -> None:
    model = arm()
    run = model.simulate(2.0, 0.01, inputs=pushes(20, 5))
    assert model.inverse_dynamics(run, actuators="u0")["u0"] == pytest.approx(run["u0"], abs=1e-9)
    found = model.inverse_dynamics(run, actuators="u0", inputs={"u1": (run.time, run["u1"])})
    assert found["u0"] == pytest.approx(run["u0"], abs=1e-9)


def test_a_file_is_a_motion(tmp_path: Path) -> None:
    model = arm()
    run = model.simulate(1.0, 0.05, inputs=pushes(20, 5))
    run.to_csv(tmp_path / "run.csv")
    found = model.inverse_dynamics(tmp_path / "run.csv", actuators=["u0", "u1"], record="u*")
    assert list(found.columns) == ["u0", "u1"]
    assert found["u0"] == pytest.approx(run["u0"], abs=1e-9)
    assert found.unit("u0") == "N.m" and found.model == "arm"


def test_a_jump_of_an_input_is_met_on_both_sides() -> None:
    model = arm(1)
    run = model.simulate(1.0, 0.1, inputs={"u0": ([0, 0.5, 0.5, 1], [1, 1, 4, 4])})
    assert (np.diff(run.time) == 0).any()
    assert model.inverse_dynamics(run, actuators="u0")["u0"] == pytest.approx(run["u0"], abs=1e-9)


# ---------------------------------------------------------------- findings


def refused(model: mbd.Model, motion: Any, *words: str, **arguments: Any) -> None:
    with pytest.raises((mbd.ModelError, mbd.StepFailed)) as caught:
        model.inverse_dynamics(motion, **arguments)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.fixture(scope="module")
def run() -> Any:
    return arm().simulate(1.0, 0.05, inputs=pushes(20, 5))


def test_wrong_names_are_answered_by_known_ones(run: Any) -> None:
    refused(arm(), run, "no input 'u3'", "known: u0, u1", actuators=["u0", "u3"])
    refused(arm(), run, "'u0' is named twice", actuators=["u0", "u0"])
    refused(arm(), run, "'u1' is an actuator", actuators=["u0", "u1"], inputs={"u1": ([0], [1])})
    refused(arm(), run, "hinge0.angel", "hinge0.angle", coordinates=["hinge0.angel"])
    refused(arm(), run, "'hinge0.angle_rate' is no position", coordinates=["hinge0.angle_rate"])
    refused(arm(), {"time": [0.0]}, "no column 'hinge0.angle'", coordinates=["hinge0.angle"])
    refused(arm(), run, "quintic, cubic", spline="linear")
    refused(arm(), run, "tolerance must lie between", tolerance=2)
    refused(arm(), {"t": [0, 1]}, '"time"')
    refused(arm(), 3, "result, a file or a mapping")
    refused(arm(), "nowhere.csv", "there is no such file")


def test_a_motion_that_says_too_little_names_what_is_open() -> None:
    motion = {"time": TIMES, "hinge0.angle": TIMES, "hinge1.angel": TIMES}
    refused(arm(), motion, "leaves 1 coordinate", "body 'bar1'", "hinge1.angel", "did you mean 'hinge1.angle'")


def test_too_few_actuators_name_the_motion_left(run: Any) -> None:
    given = {name: run[name] for name in ("time", *run.columns) if name not in ("u0", "u1")}
    refused(arm(), given, "u0 cannot drive the given motion", "2 free motions and 1 actuator", actuators="u0")
    refused(arm(), given, "without actuators", "inputs: u0, u1")


def test_too_many_actuators_are_not_unique(run: Any) -> None:
    model = arm()
    model.add("again", mbd.Input(unit="N.m"))
    model.add("twin", Rotational(i=GROUND, j={"body": "bar0"}, torque="again"))
    refused(model, run, "again", "u0", "in the same way", "2 free motions", actuators=["u0", "u1", "again"])
    model.add("unused", mbd.Input())
    refused(model, run, "unused moves nothing", actuators=["u0", "u1", "unused"])


def test_forces_that_cannot_become_so_large_are_refused() -> None:
    model = saturated()
    time = np.linspace(0, 1, 21)
    motion = {"time": time, "hinge0.angle": 50 * time**2}
    refused(model, motion, "no values of v were found", "more than the forces can become", actuators="v")


def test_numbers_must_be_finite_and_in_the_models_unit(run: Any) -> None:
    broken = {"time": TIMES, "hinge0.angle": np.where(TIMES > 1, math.nan, 0.0), "hinge1.angle": TIMES}
    refused(arm(), broken, "'hinge0.angle' holds nan at t = 1.01 s")
    degrees = replace(run, units={**run.units, "bar0.phi": "deg"})
    refused(arm(), degrees, "'bar0.phi' in 'deg', the model in 'rad'")


def test_splines_need_points_and_no_jumps() -> None:
    few = np.linspace(0, 1, 5)
    refused(arm(1), {"time": few, "hinge0.angle": few}, "needs 6 points, found 5", actuators="u0")
    twice = np.array([0, 1, 2, 3, 3, 4, 5, 6.0])
    refused(arm(1), {"time": twice, "hinge0.angle": twice}, "t = 3 s twice", actuators="u0")
    refused(arm(1), {"time": [], "hinge0.angle": []}, "no rows")


def test_positions_that_open_a_joint_are_refused(run: Any) -> None:
    moved = replace(run, columns={**run.columns, "bar1.x": run["bar1.x"] + 0.1})
    refused(arm(), moved, "do not fit the joints", "at t = 0 s", "coordinates=[...]", actuators=["u0", "u1"])
    faster = replace(run, columns={**run.columns, "bar1.vx": run["bar1.vx"] + 0.1})
    refused(arm(), faster, "velocities given at t = 0 s", "joint 'hinge1' (x) opens", "m/s", actuators=["u0", "u1"])


def test_rounded_positions_are_closed(run: Any) -> None:
    """Five digits, as of a measurement: the joints are closed anew, and splines do the rest."""
    time = np.linspace(0, 2, 41)
    exact = {"hinge0.angle": np.sin(time), "hinge1.angle": np.cos(time)}
    rough = {name: np.round(values, 5) for name, values in exact.items()}
    wanted, found = (arm().inverse_dynamics({"time": time, **m}, actuators=["u0", "u1"]) for m in (exact, rough))
    assert found["u0"][8:-8] == pytest.approx(wanted["u0"][8:-8], abs=0.2)
    assert found.statistics["worst_position_violation"] < 1e-10


def test_a_run_of_few_digits_gives_back_as_many() -> None:
    """Positions are closed anew and velocities projected; accelerations are rounded by 1e-5 of about 30."""
    model = arm()
    exact = model.simulate(1.0, 0.05, inputs=pushes(20, 5))
    rough = {name: np.round(exact[name], 5) for name in exact.columns}
    found = model.inverse_dynamics({"time": exact.time, **rough}, actuators=["u0", "u1"])
    for name in ("u0", "u1"):
        assert found[name] == pytest.approx(exact[name], abs=1e-3)  # N.m, of 20
    assert found.statistics["worst_position_violation"] < 1e-10


def test_states_have_to_be_recorded() -> None:
    model = mbd.models.load("cart_pendulum")
    result = model.simulate(0.5, 0.05)
    rest = {name: result[name] for name in ("time", *result.columns) if name != "integral"}
    refused(model, rest, "state 'integral'", "record differential states", actuators="push")
    refused(model, result, "target moves nothing", actuators=["target", "push"])


# ---------------------------------------------------------------- command line


def ended(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["inverse-dynamics", *arguments])
    return result.exit_code, result.output


def test_the_command_finds_the_torque_of_a_run(tmp_path: Path) -> None:
    model = mbd.models.load("slider_crank")
    run = model.simulate(0.5, 0.05, inputs={"torque": ([0, 1], [1, 3])})
    run.to_csv(tmp_path / "run.csv")
    motion = ["slider_crank", "--motion", str(tmp_path / "run.csv")]
    code, text = ended(*motion, "--actuator", "torque", "-o", str(tmp_path / "found.csv"))
    assert code == 0 and "11 points" in text, text
    assert mbd.Result.read(tmp_path / "found.csv")["torque"] == pytest.approx(run["torque"], abs=1e-9)
    code, text = ended(*motion, "--actuator", "torque", "--coordinate", "shaft.angle", "--spline", "cubic")
    assert code == 0 and "side_force" in text, text
    code, text = ended(*motion, "--actuator", "torqe")
    assert code == 2 and "did you mean 'torque'" in text
    code, text = ended(*motion, "--coordinate", "slider.phi")
    assert code == 2 and "open" in text


def test_the_command_ends_with_1_where_nothing_drives(tmp_path: Path) -> None:
    time = np.linspace(0, 1, 21)
    mbd.Result(time, {"shaft.angle": 0.5 + 3 * time}).to_csv(tmp_path / "plan.csv")
    code, text = ended("slider_crank", "--motion", str(tmp_path / "plan.csv"))
    assert code == 1 and "name the inputs that drive it" in text
