"""Equilibria by settling: closed forms, a reference, what has no rest, and simulations that start from one."""

from __future__ import annotations

import json
import math
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.analyses.check import check
from mbdfmu.cli import main
from mbdfmu.forces import Rotational, Translational
from mbdfmu.joints import PointOnLine, Prismatic, Revolute

GROUND = {"body": "ground"}
REFERENCE = Path(__file__).parent / "reference" / "equilibrium_slider_crank.json"
G = 9.81
SHIPPED = ["chain3d", "double_wishbone", "bricard", "stewart", "andrews_stiff", "slider_crank3d"]
LAG = "0.05*der(lagged) + lagged - 400*error - 300*integral"


def slider_crank(phi: float = 11 * math.pi / 6, *, ahead: bool = True) -> mbd.Model:
    """The slider-crank of the reference: half lengths 0.3 and 0.6, a spring from its tip to (2, 0).

    The rod's tip is on the x axis, ahead of the crank or behind it.
    """
    q = [0.3 * math.cos(phi), 0.3 * math.sin(phi), phi]
    tilt = math.asin(-2 * q[1] / 1.2)
    tilt = tilt if ahead else math.pi - tilt
    model = mbd.Model("slider_crank", gravity=(0, -G))
    model.add("crank", mbd.Body(mass=3, inertia=3 * 0.6**2 / 12, position=q[:2], angle=q[2]))
    rod = (2 * q[0] + 0.6 * math.cos(tilt), 2 * q[1] + 0.6 * math.sin(tilt))
    model.add("rod", mbd.Body(mass=9, inertia=9 * 1.2**2 / 12, position=rod, angle=tilt))
    model.add("pin", Revolute(i=GROUND, j={"body": "crank", "at": (-0.3, 0)}))
    model.add("knee", Revolute(i={"body": "crank", "at": (0.3, 0)}, j={"body": "rod", "at": (-0.6, 0)}))
    model.add("tip", PointOnLine(i=GROUND, j={"body": "rod", "at": (0.6, 0)}, axis=(1, 0)))
    ends = {"i": {"body": "ground", "at": (2, 0)}, "j": {"body": "rod", "at": (0.6, 0)}}
    model.add("spring", Translational(stiffness=300, free_length=1.3, **ends))
    return model


def hung(*, stiffness: float = 400.0, damping: float = 0.0, **header: Any) -> mbd.Model:
    """A mass of 2 kg in a vertical guide on a spring whose free length is 1 m."""
    model = mbd.Model("hung", gravity=(0, -G), **header)
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, -1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    law = {"stiffness": stiffness, "damping": damping, "free_length": 1}
    model.add("spring", Translational(i=GROUND, j={"body": "load"}, **law))
    return model


# ---------------------------------------------------------------- where it rests


def test_the_slider_crank_rests_where_the_reference_says() -> None:
    (expected, *_) = json.loads(REFERENCE.read_text(encoding="utf-8"))["equilibria"]
    found = slider_crank().equilibrium()
    q = [found[f"{body}.{k}"] for body in ("crank", "rod") for k in ("x", "y", "phi")]
    assert q == pytest.approx(expected["q"], abs=1e-12)
    reactions = [found[f"pin.reaction.{k}"] for k in ("x", "y")]
    assert np.abs(reactions) == pytest.approx(np.abs(expected["lambda"][:2]), rel=1e-10)
    assert found.stable and found.residual < 1e-10 and not found.notes


@pytest.mark.parametrize("stiffness", [0.5, 400.0, 1e9])
@pytest.mark.parametrize("damping", [0.0, 1e5])
def test_a_hung_mass_stretches_its_spring_by_its_weight(stiffness: float, damping: float) -> None:
    found = hung(stiffness=stiffness, damping=damping).equilibrium()
    stretch = 2 * G / stiffness
    assert found["load.y"] == pytest.approx(-1 - stretch, rel=1e-12)
    assert found["spring.force"] == pytest.approx(-2 * G, rel=1e-8)
    assert found.steps < 100


def test_a_pendulum_hangs_down_whatever_its_start() -> None:
    for angle in (0.0, 1.0, 3.1, 5.0):
        model = mbd.models.load("pendulum")
        found = model.equilibrium(parameters={"phi0": angle})
        assert math.sin(found["bar.phi"]) == pytest.approx(-1, abs=1e-12)


def test_an_unstable_rest_is_left() -> None:
    """The bars of the shipped mechanism stand upright: no force acts on them, and they fall when touched."""
    found = mbd.models.load("four_bar").equilibrium()
    assert found["crank0.y"] < 0 and found.stable
    assert "not stable" in found.notes[0]


def test_motions_stand_still_while_the_rest_settles() -> None:
    model = hung()
    model.add("wheel", mbd.Body(mass=1, inertia=1, position=(1, 0)))
    model.add("axle", Revolute(i={"body": "ground", "at": (1, 0)}, j={"body": "wheel"}))
    model.add("spin", mbd.Motion(of="wheel.phi", value="0.3 + 50*time"))
    found = model.equilibrium(assemble=True)
    assert found["wheel.phi"] == pytest.approx(0.3, abs=1e-12)
    assert found["wheel.omega"] == found["spin.reaction.force"] == 0


@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_prescribed_rates_stand_still_too(level: str) -> None:
    model = hung()
    model.add("wheel", mbd.Body(mass=1, inertia=1, position=(1, 0)))
    model.add("axle", Revolute(i={"body": "ground", "at": (1, 0)}, j={"body": "wheel"}))
    model.add("spin", mbd.Motion(of="wheel.phi", value="50 + time", level=level))
    found = model.equilibrium(assemble=True)
    assert found["wheel.phi"] == found["wheel.omega"] == found["wheel.alpha"] == 0


def test_a_damper_on_a_moving_point_does_not_hold_against_time() -> None:
    """The foot of the strut moves with 1 m/s at t = 0; while time is held it stands."""
    model = mbd.Model("strut", gravity=(0, -G))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, 1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    foot = {"body": "ground", "at": (0, "0.1*sin(10*time)")}
    model.add("strut", Translational(i=foot, j={"body": "load"}, stiffness=400, damping=1e3, free_length=1))
    assert model.equilibrium()["load.y"] == pytest.approx(1 - 2 * G / 400, rel=1e-12)


def test_states_settle_with_the_positions() -> None:
    """A PI controller with an actuator lag holds a hanging mass at y = -1: the force is the weight."""
    states = {"integral": {"rate": "error"}, "lagged": {"equation": LAG}}
    model = mbd.Model("held", gravity=(0, -G), variables={"error": "-1 - load.y"}, states=states)
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, -1.3)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    model.add("drive", Translational(i={"body": "ground", "at": (0, 5)}, j={"body": "load"}, force="-lagged"))
    found = model.equilibrium()
    assert found["load.y"] == pytest.approx(-1, abs=1e-10)
    assert found["lagged"] == pytest.approx(2 * G, rel=1e-9)
    assert found.states["integral"] == pytest.approx(2 * G / 300, rel=1e-9)


def test_inputs_are_what_they_are_told_to_be() -> None:
    model = hung()
    model.add("push", mbd.Input(unit="N"))
    model.add("hand", Translational(i={"body": "ground", "at": (0, 5)}, j={"body": "load"}, force="push"))
    found = model.equilibrium(inputs={"push": 40.0})
    assert found["load.y"] == pytest.approx(-1 - (2 * G + 40) / 400, rel=1e-12)
    result = model.simulate(0.1, 0.1, start="equilibrium", inputs={"push": ([0, 1], [40.0, 40.0])})
    assert np.ptp(result["load.y"]) < 1e-10


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_come_to_rest_and_stay_there(name: str) -> None:
    model = mbd.models.load(name)
    found = model.equilibrium()
    assert found.stable
    assert found.residual < 1e-7
    again = model.equilibrium(start=found)
    assert again.steps <= 3
    assert again.positions == pytest.approx(found.positions, abs=1e-9)


# ---------------------------------------------------------------- where there is none


def test_free_fall_is_refused_by_name() -> None:
    model = mbd.Model("ball", gravity=(0, -G))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    named = r"there is no rest: body 'ball' y goes on moving \(-9\.81 m/s2, .* m so far"
    with pytest.raises(mbd.StepFailed, match=named):
        model.equilibrium()


def test_a_wheel_under_constant_torque_is_refused_by_name() -> None:
    model = hung()
    model.add("wheel", mbd.Body(mass=1, inertia=1, position=(1, 0)))
    model.add("axle", Revolute(i={"body": "ground", "at": (1, 0)}, j={"body": "wheel"}))
    model.add("motor", Rotational(i=GROUND, j={"body": "wheel"}, torque=3))
    with pytest.raises(mbd.StepFailed, match=r"there is no rest: body 'wheel' phi goes on moving \(3 rad/s2"):
        model.equilibrium()


def test_an_integrator_of_a_constant_is_refused_by_name() -> None:
    model = hung(states={"sum": {"rate": "1 - load.vy"}})
    with pytest.raises(mbd.StepFailed, match=r"there is no rest: state 'sum' .* integrates an error"):
        model.equilibrium()


def test_a_simulation_that_found_no_rest_goes_on_as_if_it_had_not_looked() -> None:
    model = slider_crank()
    model.add("wheel", mbd.Body(mass=1, inertia=1, position=(5, 0)))
    model.add("axle", Revolute(i={"body": "ground", "at": (5, 0)}, j={"body": "wheel"}))
    model.add("spin", mbd.Motion(of="wheel.phi", value="3*time^2"))
    plain, tried = model.start(), model.start()
    with pytest.raises(mbd.StepFailed):
        tried.settle(limit=2)
    for simulation in (plain, tried):
        simulation.step(0.3)
    assert (tried.values() == plain.values()).all()
    assert tried["wheel.omega"] == pytest.approx(1.8, abs=1e-9)


def test_too_few_steps_are_said_to_be_too_few() -> None:
    with pytest.raises(mbd.StepFailed, match=r"after as many steps as are allowed .* 3 steps"):
        slider_crank().equilibrium(limit=3)


def test_wrong_words_are_refused() -> None:
    with pytest.raises(mbd.ModelError, match=r"there is no method 'setle' .*did you mean 'settle'"):
        hung().equilibrium(method="setle")
    with pytest.raises(mbd.ModelError, match='start must be "equilibrium"'):
        hung().simulate(0.1, start="rest")
    with pytest.raises(mbd.ModelError, match="settling comes before the motion"):
        simulation = hung().start()
        simulation.step(0.1)
        simulation.settle()


# ---------------------------------------------------------------- motions that start there


def test_a_motion_from_rest_stays_at_rest() -> None:
    result = slider_crank().simulate(2.0, 0.1, start="equilibrium")
    assert np.ptp(result["crank.phi"]) < 1e-9
    assert np.abs(result["crank.omega"]).max() < 1e-9


def test_start_velocities_are_put_back() -> None:
    """A cart rolls with its speed while the load on its spring stands still."""
    model = mbd.Model("cart", gravity=(0, -G))
    model.add("cart", mbd.Body(mass=5, inertia=1, velocity=(3, 0)))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, 1), velocity=(3, 0)))
    model.add("road", Prismatic(i=GROUND, j={"body": "cart"}, axis=(1, 0)))
    model.add("guide", Prismatic(i={"body": "cart"}, j={"body": "load"}, axis=(0, 1)))
    model.add("spring", Translational(i={"body": "cart"}, j={"body": "load"}, stiffness=400, free_length=1))
    result = model.simulate(1.0, 0.1, start="equilibrium")
    assert result["cart.vx"] == pytest.approx(3, abs=1e-9)
    assert result["load.y"] == pytest.approx(1 - 2 * G / 400, abs=1e-9)
    faster = model.equilibrium(start={"cart.vx": 7.0, "cart.x": 2.0})
    result = model.simulate(1.0, 0.1, start=faster)
    assert result["cart.x"][[0, -1]] == pytest.approx([2, 9], abs=1e-8)


def test_an_equilibrium_travels_through_a_file(tmp_path: Path) -> None:
    found = mbd.models.load("double_wishbone").equilibrium()
    found.write(tmp_path / "rest.json")
    again = mbd.Equilibrium.read(tmp_path / "rest.json")
    assert again == found
    model = mbd.models.load("double_wishbone")
    assert model.start(start=again).values() == pytest.approx(model.start(start="equilibrium").values(), abs=1e-9)
    with pytest.raises(mbd.ModelError, match="it does not belong to model 'pendulum'; find it anew"):
        mbd.models.load("pendulum").simulate(0.1, start=again)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"model": "a"}', '{"model": "a", "method": "settle", "positions": {"x": "b"}}'):
        (tmp_path / "rest.json").write_text(content, encoding="utf-8")
        with pytest.raises(mbd.ModelError, match="is no equilibrium that mbdfmu has written"):
            mbd.Equilibrium.read(tmp_path / "rest.json")


def test_an_equilibrium_of_other_lengths_is_refused() -> None:
    found = mbd.models.load("pendulum").equilibrium()
    with pytest.raises(mbd.ModelError, match=r"joint 'hinge' \(y\) is off by .* find them anew"):
        mbd.models.load("pendulum").simulate(0.1, start=found, parameters={"length": 2.0})


def test_angles_keep_their_turns() -> None:
    """A weight on a drum winds a weak torsion spring up by many turns; the motion goes on from there."""
    model = mbd.Model("drum", dimensions=3, gravity=(0, 0, 0))
    model.add("drum", mbd.Body(mass=1, inertia=(1, 1, 1)))
    model.add("axle", Revolute(i=GROUND, j={"body": "drum"}, axis=(0, 0, 1)))
    model.add("spring", Rotational(i=GROUND, j={"body": "drum"}, stiffness=0.1, damping=1, torque=3, axis=(0, 0, 1)))
    found = model.equilibrium()
    assert found["spring.angle"] == pytest.approx(30, rel=1e-10)
    result = model.simulate(1, 0.1, start=found)
    assert result["spring.angle"] == pytest.approx(30, rel=1e-9)


def test_ctrl_c_ends_the_search() -> None:
    """The mass creeps towards the place where its force ends to be a number, for ever."""
    model = mbd.Model("edge", gravity=(0, -G))
    model.add("load", mbd.Body(mass=1, inertia=1, position=(0, -1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    model.add("law", Translational(i=GROUND, j={"body": "load"}, force="sqrt(load.y + 1.5)"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
            model.equilibrium(limit=10**9)
    finally:
        signal.signal(signal.SIGINT, before)


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(mbd.ModelError) as found:
        hung().equilibrium(tolerance=0.0, limit=0)
    assert [problem.split(" must")[0] for problem in found.value.problems] == ["tolerance", "limit"]


# ---------------------------------------------------------------- from the command line


def told(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(arguments))
    return done.exit_code, done.output


def test_the_command_line_settles_writes_and_starts_from_there(tmp_path: Path) -> None:
    rest, table = str(tmp_path / "rest.json"), tmp_path / "out.csv"
    code, text = told("equilibrium", "pendulum", "--set", "phi0=30*deg", "--record", "bar.phi", "-o", rest)
    assert code == 0 and "at rest after" in text and "bar.phi  -1.5708  rad" in text
    for start in (rest, "equilibrium"):
        starts = ("--start", start, "--start", "bar.omega=1")
        code, text = told("simulate", "pendulum", "-t", "1", *starts, "-o", str(table))
        assert code == 0, text
        result = mbd.Result.read(table)
        assert result["bar.phi"][0] == pytest.approx(-math.pi / 2, abs=1e-9)
        assert result["bar.omega"][0] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--start", "equilibium"), "must look like NAME=VALUE"),
        (("--start", "equilibrium", "--start", "a.json"), "one equilibrium at a time"),
        (("--start", "a.json"), "a.json"),
    ],
)
def test_wrong_starts_are_named(arguments: tuple[str, ...], message: str) -> None:
    code, text = told("simulate", "pendulum", "-t", "1", *arguments)
    assert code == 2 and message in text


def test_no_rest_ends_with_one(tmp_path: Path) -> None:
    model = mbd.Model("ball", gravity=(0, -G))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.save(tmp_path / "ball.json")
    code, text = told("equilibrium", str(tmp_path / "ball.json"))
    assert code == 1 and "body 'ball' y goes on moving" in text


def test_positions_beside_an_equilibrium_are_refused() -> None:
    found = mbd.models.load("pendulum").equilibrium()
    with pytest.raises(mbd.ModelError, match="positions come from the equilibrium"):
        mbd.models.load("pendulum").simulate(0.1, start=replace(found, velocities={"bar.phi": 1.0}))


# ---------------------------------------------------------------- contacts, controllers, vehicles


def test_a_ball_rests_on_the_floor_that_carries_it() -> None:
    """m g = k d^1.5, whatever the dissipation and the height that it falls from."""
    model = mbd.Model("ball", dimensions=3, gravity=(0, 0, -G))
    model.add("ball", mbd.Body(mass=0.5, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, 0.5)))
    floor = {"stiffness": 1e6, "dissipation": 0.3, "coefficient": 0.4}
    model.add("touch", mbd.forces.SpherePlane(i=GROUND, j={"body": "ball"}, radius=0.1, **floor))
    found = model.equilibrium()
    assert found["ball.z"] == pytest.approx(0.1 - (0.5 * G / 1e6) ** (2 / 3), rel=1e-10)


def test_a_controlled_pole_stands_upright_where_it_is_sent() -> None:
    found = mbd.models.load("cart_pendulum").equilibrium()
    assert found["cart.x"] == pytest.approx(found["target"], abs=1e-9)
    assert math.sin(found["pole.phi"]) == pytest.approx(1, abs=1e-12)


def test_a_car_finds_back_to_its_height_from_anywhere() -> None:
    model = mbd.models.load("half_car")
    found = model.equilibrium(start={"body.y": 0.9, "front_wheel.y": 0.5}, assemble=True)
    drawn = model.start()
    for name in ("body.y", "body.phi", "front_wheel.y", "rear_wheel.y"):
        assert found[name] == pytest.approx(drawn[name], abs=1e-9)


@pytest.mark.nightly
def test_a_vehicle_dropped_on_its_wheels_stands_and_sets_off_with_its_speed() -> None:
    model = mbd.models.load("full_vehicle")
    found = model.equilibrium(start={"car.z": 0.7})
    loads = [found[f"{wheel}_load"] for wheel in ("front_left", "front_right", "rear_left", "rear_right")]
    assert sum(loads) == pytest.approx(G * check(model.compile()).mass, rel=1e-8)
    assert loads[0] == pytest.approx(loads[1], rel=1e-9)
    result = model.simulate(0.1, 0.05, start=found)
    assert result["speed_ahead"][0] == pytest.approx(20, abs=1e-9)
    assert np.ptp(result["car.z"]) < 1e-4


def test_callbacks_take_part_and_are_named_when_they_fail() -> None:
    def law(t: float, inputs: Any, parameters: Any) -> float:
        if inputs[0] < limit:
            raise ValueError("too far")
        return -400 * (inputs[0] + 1)

    model = mbd.Model("called", gravity=(0, -G), callbacks={"law": {"python": law, "inputs": ["load.y"]}})
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, -1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    model.add("spring", mbd.forces.VectorForce(i=GROUND, j={"body": "load"}, force=(0, "law")))
    limit = -2.0
    assert model.equilibrium()["load.y"] == pytest.approx(-1 - 2 * G / 400, rel=1e-10)
    limit = -1.01
    with pytest.raises(mbd.StepFailed, match="callback 'law' at t = 0 s: ValueError: too far"):
        model.equilibrium(limit=100)


def test_states_alone_come_to_rest() -> None:
    found = mbd.Model("tank", states={"level": {"rate": "2 - level", "start": 0}}).equilibrium()
    assert found.states["level"] == pytest.approx(2, abs=1e-12)
    assert found.worst == ""
