"""Kinematic analysis: closed forms, agreement with simulation, what is not driven, dead points and other refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from redundant_mechanisms import draw, first_hinge

import mbdfmu as mbd
from mbdfmu.analyses import Kinematics
from mbdfmu.cli import main
from mbdfmu.joints import Fixed, Prismatic, Revolute

GROUND = {"body": "ground"}
CRANK, ROD, SPEED = 0.2, 0.5, 12.0  # m, m, rad/s
MASSES = (1.0, 1.5, 2.0)  # kg: crank, rod, slider


def driven(name: str, **values: str) -> mbd.Model:
    """A shipped model with motions: name of the signal (dots as __) = what it shall be."""
    model = mbd.models.load(name)
    for signal, value in values.items():
        model.add(f"drive_{signal}", mbd.Motion(of=signal.replace("__", "."), value=value))
    return model


def slider_crank(angle: str = f"30*deg + {SPEED}*time") -> mbd.Model:
    return driven("slider_crank", shaft__angle=angle)


def four_bar(value: str = "pi/2 + 3*time") -> mbd.Model:
    """Crank 0.1, coupler 0.4, rocker 0.3 between pivots 0.45 m apart (Grashof: the crank turns)."""
    model = mbd.Model("linkage", gravity=(0, -9.81))
    x, y = _rocker_pin(math.pi / 2)
    tilt, rock = math.atan2(y - 0.1, x), math.atan2(y, x - 0.45)
    bar = {"mass": 1, "inertia": 0.01}
    model.add("crank", mbd.Body(position=(0, 0.05), angle=math.pi / 2, **bar))
    model.add("coupler", mbd.Body(position=(x / 2, (y + 0.1) / 2), angle=tilt, **bar))
    model.add("rocker", mbd.Body(position=((x + 0.45) / 2, y / 2), angle=rock, **bar))
    model.add("a", Revolute(i=GROUND, j={"body": "crank", "at": (-0.05, 0)}))
    model.add("b", Revolute(i={"body": "crank", "at": (0.05, 0)}, j={"body": "coupler", "at": (-0.2, 0)}))
    model.add("c", Revolute(i={"body": "coupler", "at": (0.2, 0)}, j={"body": "rocker", "at": (0.15, 0)}))
    model.add("d", Revolute(i={"body": "ground", "at": (0.45, 0)}, j={"body": "rocker", "at": (-0.15, 0)}))
    model.add("drive", mbd.Motion(of="crank.phi", value=value))
    return model


def _rocker_pin(theta: float) -> tuple[float, float]:
    """Where coupler and rocker meet: two circles, the upper point."""
    p, o = 0.1 * np.exp(1j * theta), 0.45
    d = abs(o - p)
    along = (0.4**2 - 0.3**2 + d**2) / (2 * d)
    pin = p + (o - p) / d * (along + 1j * math.sqrt(0.4**2 - along**2))
    return pin.real, pin.imag


def arm(*, level: str = "position", value: str = "time", **more: Any) -> mbd.Model:
    """A bar on a hinge whose angle is driven."""
    model = mbd.Model("arm", gravity=(0, -9.81))
    model.add("bar", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0)))
    model.add("hinge", Revolute(i=GROUND, j={"body": "bar", "at": (-0.5, 0)}))
    model.add("drive", mbd.Motion(of="hinge.angle", value=value, level=level, **more))
    return model


# ---------------------------------------------------------------- closed forms


def _stroke(theta: Any) -> Any:
    return CRANK * np.cos(theta) + np.sqrt(ROD**2 - (CRANK * np.sin(theta)) ** 2)


def _energy(theta: Any, speed: float) -> Any:
    """Kinetic and potential energy of the slider-crank that turns at constant speed."""
    crank, rod, slider = MASSES
    beta = -np.arcsin(CRANK * np.sin(theta) / ROD)
    rate = -CRANK * np.cos(theta) * speed / (ROD * np.cos(beta))
    pin = CRANK * speed * np.array([-np.sin(theta), np.cos(theta)])
    middle = pin + ROD / 2 * rate * np.array([-np.sin(beta), np.cos(beta)])
    x_rate = pin[0] - ROD * rate * np.sin(beta)
    kinetic = crank * (CRANK * speed) ** 2 / 6 + rod * (middle**2).sum(axis=0) / 2
    kinetic = kinetic + rod * (ROD * rate) ** 2 / 24 + slider * x_rate**2 / 2
    return kinetic + 9.81 * CRANK / 2 * np.sin(theta) * (crank + rod)


def test_a_slider_crank_at_constant_speed_moves_as_its_closed_form_says() -> None:
    result = slider_crank().kinematics(1.0, 0.01)
    theta = math.radians(30) + SPEED * result.time
    assert result["shaft.angle"] == pytest.approx(theta, abs=1e-12)
    assert result["slider.x"] == pytest.approx(_stroke(theta), abs=1e-13)
    step = 1e-20  # complex step: derivatives without cancellation
    slope = np.imag(_stroke(theta + 1j * step)) / step
    assert result["slider.vx"] == pytest.approx(SPEED * slope, abs=1e-12)
    bend = np.gradient(slope, theta)  # of second order: a check of sign and size only
    assert result["slider.ax"][1:-1] == pytest.approx(SPEED**2 * bend[1:-1], abs=0.3)


def test_the_drive_gives_what_the_energy_gains() -> None:
    """At constant speed the torque is dE/dtheta; the reaction of a motion is what it gives."""
    result = slider_crank().kinematics(1.0, 0.01)
    theta = math.radians(30) + SPEED * result.time
    torque = np.imag(_energy(theta + 1e-20j, SPEED)) / 1e-20
    # rounding of accelerations near 30 m/s2 on 2 kg
    assert result["drive_shaft__angle.reaction.force"] == pytest.approx(torque, abs=1e-11)


def test_a_four_bar_turns_as_two_circles_meet() -> None:
    result = four_bar().kinematics(2 * math.pi / 3, math.pi / 90)
    pins = np.array([_rocker_pin(math.pi / 2 + 3 * t) for t in result.time])
    middle = (pins + np.array([0.45, 0])) / 2
    assert np.column_stack([result["rocker.x"], result["rocker.y"]]) == pytest.approx(middle, abs=1e-13)
    for name in ("rocker.phi", "rocker.omega", "rocker.alpha", "drive.reaction.force"):
        assert result[name][0] == pytest.approx(result[name][-1], abs=1e-9)  # the same after one turn


# ---------------------------------------------------------------- the same as simulate


def compared(model: mbd.Model, t_end: float, limit: float) -> None:
    """All signals of both analyses, each by its largest value or, near zero, by 1.

    The positions that simulate reports close the joints to 1e-10 of the model's length; what depends on their third
    derivative is that much worse, so `limit` is 1e-9 times the pace of the motion.
    """
    found = model.kinematics(t_end, t_end / 20)
    wanted = model.simulate(t_end, t_end / 20, tolerance=1e-10, assemble=True)
    for name in wanted.columns:
        size = max(1.0, float(np.abs(wanted[name]).max()))
        assert np.abs(found[name] - wanted[name]).max() <= limit * size, name


CASES: dict[str, tuple[Callable[[], mbd.Model], float]] = {
    "slider_crank": (lambda: slider_crank("30*deg + 2*time + sin(3*time)"), 1.0),
    "four_bar": (four_bar, 1.0),
    "stewart": (lambda: mbd.models.load("stewart"), 1.0),
    "slider_crank3d": (lambda: driven("slider_crank3d", shaft__angle="speed*time + 0.1*sin(5*time)^2"), 0.5),
    "andrews_angles": (lambda: driven("andrews_angles", **_andrews_drive()), 0.5),
}


def _andrews_drive() -> dict[str, str]:
    start = mbd.models.load("andrews_angles").start()["beta"]
    return {"beta": f"{start!r} + 2*time"}


@pytest.mark.parametrize("name", CASES)
def test_a_driven_model_moves_as_in_a_simulation(name: str) -> None:
    build, t_end = CASES[name]
    compared(build(), t_end, 1e-9)


def test_a_motion_may_turn_far_between_outputs() -> None:
    """Turns are counted although an output step holds three of them."""
    result = slider_crank("30*deg + 60*time").kinematics(1.0, 0.32)
    assert result["shaft.angle"][-1] == pytest.approx(math.radians(30) + 60, abs=1e-10)


def test_inputs_and_parameters_count() -> None:
    """A torque on the driven crank is taken from what the motion gives."""
    inputs = {"torque": ([0.0, 1.0], [0.0, 5.0])}
    plain, helped = slider_crank().kinematics(1.0, 0.1), slider_crank().kinematics(1.0, 0.1, inputs=inputs)
    gain = plain["drive_shaft__angle.reaction.force"] - helped["drive_shaft__angle.reaction.force"]
    assert gain == pytest.approx(5 * plain.time, abs=1e-10)
    longer = slider_crank().kinematics(0.1, 0.1, parameters={"crank_length": 0.1})
    assert longer["slider.x"][0] == pytest.approx(0.1 * math.cos(math.pi / 6) + math.sqrt(0.25 - 0.05**2), abs=1e-12)


def test_rows_that_repeat_others_share_their_reactions_as_in_a_simulation() -> None:
    model = arm(value="time")
    model.add("again", Prismatic(i={"body": "bar"}, j={"body": "slide"}))
    model.add("slide", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0)))
    model.add("hold", mbd.Motion(of="again.displacement", value="0"))
    model.add("twice", mbd.Motion(of="bar.phi", value="time"))
    found = model.kinematics(1.0, 0.1)
    assert "redundant: motion 'twice' (drive) repeats" in found.notes[0]
    compared(model, 1.0, 1e-9)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", [2, 6, 14, 30])
def test_three_cranks_pass_the_dead_points_of_any_two(seed: int) -> None:
    """Beside a dead point of the cranks whose rows were kept, accelerations were wrong by up to 300 rad/s2."""
    m, found = draw(seed), []
    for redundant in (False, True):
        model = m.model(redundant=redundant)
        angle = f"{first_hinge(m, redundant=redundant)[0]}.angle"
        model.add("drive", mbd.Motion(of=angle, value="3*time + 0.2*sin(5*time)"))
        found.append(model.kinematics(4.5, 0.01))
    moving = [name for name in found[0].columns if name.split(".")[0] in m.bodies]
    for name in (*moving, "drive.reaction.force"):
        assert found[1][name] == pytest.approx(found[0][name], abs=1e-8), name


def test_a_structure_stands_on_its_reactions() -> None:
    model = mbd.Model("console", gravity=(0, -9.81))
    model.add("beam", mbd.Body(mass=2, inertia=1, position=(1, 0)))
    model.add("wall", Fixed(i=GROUND, j={"body": "beam", "at": (-1, 0)}))
    result = model.kinematics(1.0, 0.5)
    assert result["wall.reaction.y"] == pytest.approx(2 * 9.81, abs=1e-12)
    assert result["wall.reaction.torque"] == pytest.approx(2 * 9.81, abs=1e-12)


def test_a_long_chain_takes_one_step_between_outputs() -> None:
    """Its end goes far, and no step has to be short for that."""
    model = mbd.models.load("chain", N=60)
    for joint in model.description.joints:
        model.add(f"drive_{joint}", mbd.Motion(of=f"{joint}.angle", value="0.1*sin(time)"))
    result = model.kinematics(1.0, 0.02, record="*.phi")
    assert result.statistics["steps"] == 50 and result.statistics["rejected"] == 0


def test_the_work_is_told() -> None:
    statistics = slider_crank().kinematics(0.5, 0.01).statistics
    assert statistics["steps"] == 50 and statistics["rejected"] == 0
    assert statistics["iterations"] <= 3 * 50 + 3  # Newton from a prediction of second order
    assert statistics["worst_position_violation"] < 1e-13


# ---------------------------------------------------------------- findings


def refused(model: mbd.Model, *words: str, **arguments: Any) -> None:
    with pytest.raises((mbd.ModelError, mbd.StepFailed)) as caught:
        model.kinematics(1.0, 0.1, **arguments)
    for word in words:
        assert word in str(caught.value)


def test_what_is_not_driven_is_named() -> None:
    refused(mbd.models.load("slider_crank"), "1 degree of freedom is free", "body 'crank' phi", "add a motion")
    refused(mbd.models.load("pendulum3d"), "degrees of freedom are free", "theta_", "simulate")


@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_prescribed_rates_are_refused_with_the_alternative(level: str) -> None:
    refused(arm(level=level), "motion 'drive'", "prescribes rates", "prescribe the position, or use simulate")


def test_states_are_refused_by_name() -> None:
    model = arm()
    model.add("heat", mbd.State(rate="1", unit="J"))
    refused(model, "state 'heat'", "integration only", "simulate")


def test_a_motion_beyond_the_reach_names_time_and_joint() -> None:
    """The slider passes the dead point at r + l: it would have to go farther than crank and rod reach."""
    model = driven("slider_crank", slider__x="0.65 + 0.1*time")
    with pytest.raises(mbd.StepFailed) as caught:
        model.kinematics(1.0, 0.01)
    assert "t = 0.5 s" in str(caught.value) and "dead point" in str(caught.value)
    assert "joint 'crank_pin'" in str(caught.value)
    result = caught.value.result
    assert not result.complete and result.time[-1] == pytest.approx(0.49, abs=0.011)


def test_a_change_point_is_passed_unless_it_is_asked_for() -> None:
    """All bars are level at pi/2 s, where the parallelogram might become another linkage."""
    model = driven("four_bar", base0__angle="pi/2 - time")
    result = model.kinematics(3.0, 0.01)
    assert np.abs(result["coupler0.phi"]).max() < 1e-10  # it stays a parallelogram
    assert result["crank1.phi"] == pytest.approx(math.pi / 2 - result.time, abs=1e-10)
    with pytest.raises(mbd.StepFailed, match=r"at t = 1\.5708 s: the pose is singular there.*choose output times"):
        model.kinematics(math.pi, math.pi / 200)


def test_a_start_out_of_reach_is_refused() -> None:
    refused(driven("slider_crank", slider__x="1 + time"), "assembly failed")


def test_motions_that_part_are_overdriven() -> None:
    model = arm()
    model.add("other", mbd.Motion(of="bar.phi", value="sin(time)"))
    refused(model, "overdriven", "motion 'other'", "leave one of them out")


def test_events_do_not_occur_and_that_is_said() -> None:
    model = arm()
    model.add("passed", mbd.Event(when="bar.phi > 0.5", restart=True))
    assert any("events and impacts do not occur" in note for note in model.kinematics(1.0, 0.1).notes)


def test_what_is_never_given_is_asked_for() -> None:
    with pytest.raises(mbd.ModelError, match="t_end"):
        arm().kinematics()
    refused(arm(), "no signal 'bar.phy'", "bar.phi", record="bar.phy")


def test_a_kinematic_analysis_goes_back_to_a_saved_pose() -> None:
    driven_arm = Kinematics(arm(value="time^2").compile())
    driven_arm.advance(0.5)
    saved = driven_arm.save()
    driven_arm.advance(1.0)
    driven_arm.restore(saved)
    driven_arm.advance(1.0)
    assert driven_arm["hinge.angle"] == pytest.approx(1.0, abs=1e-13)
    assert driven_arm["drive.reaction.force"] == pytest.approx(2 * (0.1 + 0.25) + 9.81 * 0.5 * math.cos(1), abs=1e-11)


# ---------------------------------------------------------------- command line


def ended(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["kinematics", *arguments])
    return result.exit_code, result.output


def test_the_command_shows_outputs_and_drives(tmp_path: Path) -> None:
    code, text = ended("stewart", "-t", "0.2", "--dt", "0.1", "--set", "stroke=0.05")
    assert code == 0 and "drive6.reaction.force" in text and "3 points up to t = 0.2 s" in text
    code, text = ended("stewart", "-t", "0.2", "--dt", "0.1", "--record", "platform.?", "-o", str(tmp_path / "x.csv"))
    assert code == 0 and mbd.Result.read(tmp_path / "x.csv").columns.keys() == {f"platform.{k}" for k in "xyz"}


def test_the_command_ends_with_what_it_found(tmp_path: Path) -> None:
    code, text = ended("slider_crank", "-t", "1")
    assert code == 2 and "1 degree of freedom is free" in text
    driven("slider_crank", slider__x="0.65 + 0.1*time").save(tmp_path / "far.json")
    code, text = ended(str(tmp_path / "far.json"), "-t", "1", "-o", str(tmp_path / "far.csv"))
    assert code == 1 and "cannot be met" in text
    assert mbd.Result.read(tmp_path / "far.csv").time[-1] == pytest.approx(0.49, abs=0.011)
    arm().save(tmp_path / "arm.json")
    code, text = ended(str(tmp_path / "arm.json"))
    assert code == 2 and "-t SECONDS" in text
