"""Angles of spatial joints count their turns, however fast a body spins and wherever it starts."""

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.forces import Rotational
from mbdfmu.joints import Gear, Revolute

GROUND = {"body": "ground"}


def flywheel(omega: float = 0.0, **hinge: object) -> mbd.Model:
    model = mbd.Model("flywheel", dimensions=3)
    model.add("wheel", mbd.Body(mass=1, inertia=(1, 1, 2), omega=(0, 0, omega)))
    model.add("hinge", Revolute(i=GROUND, j={"body": "wheel"}, **hinge))
    return model


@pytest.mark.parametrize("omega", [62.83, -1000.0])
def test_no_turn_is_lost_between_far_outputs(omega: float) -> None:
    result = flywheel(omega).simulate(2, 0.5)
    assert result["hinge.angle"] == pytest.approx(omega * result.time, rel=1e-9, abs=1e-9)


def test_fixed_step_that_turns_too_far_is_refused() -> None:
    with pytest.raises(mbd.StepFailed, match="turns by more than a quarter turn in one step"):
        flywheel(1000.0).simulate(1, 0.1, step=0.01)


def test_spring_winds_up_over_many_turns() -> None:
    model = flywheel(300.0)
    model.add("spring", Rotational(i=GROUND, j={"body": "wheel"}, stiffness=2.0))
    result = model.simulate(3, 0.5)
    assert result["hinge.angle"] == pytest.approx(300 * np.sin(result.time), abs=0.1)  # J = 2: omega_0 = 1 rad/s


def test_spring_shares_the_turns_of_the_joint_between_the_same_frames() -> None:
    model = flywheel(start={"angle": 20.0})
    model.add("spring", Rotational(i=GROUND, j={"body": "wheel"}, stiffness=1.0))
    simulation = model.start()
    assert simulation["spring.angle"] == pytest.approx(20.0, abs=1e-9)
    assert simulation["spring.torque"] == pytest.approx(-20.0, abs=1e-9)


@pytest.mark.parametrize("start", ["4", "20", "-750*deg"])
def test_motion_may_start_beyond_half_a_turn(start: str) -> None:
    model = flywheel()
    model.add("drive", mbd.Motion(of="hinge.angle", value=f"{start} + time"))
    result = model.simulate(1, 0.5, assemble=True)
    first = 4 if start == "4" else 20 if start == "20" else -750 * np.pi / 180
    assert result["hinge.angle"] == pytest.approx(first + result.time, abs=1e-9)


def test_gear_holds_after_many_turns() -> None:
    model = flywheel(100.0)
    model.add("second", mbd.Body(mass=1, inertia=(1, 1, 1), omega=(0, 0, 100 / 3), position=(1, 0, 0)))
    model.add("bearing", Revolute(i={"body": "ground", "at": (1, 0, 0)}, j={"body": "second"}))
    model.add("gear", Gear(first="hinge.angle", second="bearing.angle", ratio=3))
    result = model.simulate(10, 0.5)
    assert result["bearing.angle"] == pytest.approx(100 / 3 * result.time, rel=1e-9)
    assert result["hinge.angle"] == pytest.approx(3 * result["bearing.angle"], rel=1e-12)
