"""A motion sets what its joint starts with, and says so; what anything else says against it is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses.check import check
from mbdfmu.joints import Prismatic, Revolute

GROUND = {"body": "ground"}


def driven(value: str, *, dimensions: int = 2, level: str = "position", **hinge: object) -> mbd.Model:
    """A bar on a hinge `h` that a motion turns."""
    model = mbd.Model("driven", dimensions=dimensions, gravity=(0, -9.81, 0)[:dimensions])
    inertia = 0.1 if dimensions == 2 else (0.01, 0.1, 0.1)
    model.add("bar", mbd.Body(mass=1, inertia=inertia, position=(0.5, 0, 0)[:dimensions]))
    model.add("h", Revolute(i=GROUND, j={"body": "bar", "at": (-0.5, 0, 0)[:dimensions]}, **hinge))
    model.add("drive", mbd.Motion(of="h.angle", value=value, level=level))
    return model


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_motion_sets_the_velocity_that_its_joint_starts_with(dimensions: int) -> None:
    result = driven("40*time", dimensions=dimensions).simulate(0.1, 0.01)
    assert result["h.angle_rate"] == pytest.approx(np.full(11, 40.0), abs=1e-6)
    assert result["h.angle"] == pytest.approx(40 * result.time, abs=1e-9)
    said = "motion 'drive' (drive) sets the velocity that its joint starts with, 40 rad/s from the one written"
    assert list(result.notes) == [said]


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_motion_sets_the_position_too(dimensions: int) -> None:
    simulation = driven("0.3 + 2*time", dimensions=dimensions).start()
    assert simulation["h.angle"] == pytest.approx(0.3, abs=1e-12)
    assert simulation["bar.y"] == pytest.approx(0.5 * np.sin(0.3), abs=1e-12)
    assert "the position that its joint starts with, 0.3 rad from the one written" in simulation.notes[0]
    assert "the velocity that its joint starts with, 2 rad/s from the one written" in simulation.notes[1]


def test_a_motion_of_a_rate_sets_the_velocity() -> None:
    simulation = driven("7 + time", level="velocity").start()
    assert (simulation["h.angle"], simulation["h.angle_rate"]) == pytest.approx((0.0, 7.0), abs=1e-12)


def test_the_whole_mechanism_follows() -> None:
    model = mbd.Model("crank")
    model.add("crank", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0)))
    model.add("rod", mbd.Body(mass=1, inertia=0.1, position=(2, 0)))
    model.add("slider", mbd.Body(mass=1, inertia=0.1, position=(3, 0)))
    model.add("foot", Revolute(i=GROUND, j={"body": "crank", "at": (-0.5, 0)}))
    model.add("knee", Revolute(i={"body": "crank", "at": (0.5, 0)}, j={"body": "rod", "at": (-1, 0)}))
    model.add("pin", Revolute(i={"body": "rod", "at": (1, 0)}, j={"body": "slider"}))
    model.add("rail", Prismatic(i=GROUND, j={"body": "slider"}))
    model.add("drive", mbd.Motion(of="foot.angle", value="60*deg + 3*time"))
    simulation = model.start()
    phi = np.radians(60)
    low = np.arcsin(np.sin(phi) / 2)
    assert simulation["slider.x"] == pytest.approx(np.cos(phi) + 2 * np.cos(low), abs=1e-9)
    speed = -3 * (np.sin(phi) + np.cos(phi) * np.tan(low))
    assert simulation["slider.vx"] == pytest.approx(speed, abs=1e-9)


def test_nothing_is_said_of_a_start_that_fits() -> None:
    model = driven("2*time", start={"angle_rate": 2.0})
    assert model.start().notes == []


def test_what_something_else_says_is_refused() -> None:
    with pytest.raises(mbd.StepFailed, match=r"start of h\.angle|'drive'"):
        driven("0.3 + time", start={"angle": 0.4}).start()
    with pytest.raises(mbd.ModelError, match=r"'bar' phi cannot all be kept"):
        driven("40*time").start(start={"bar.omega": 3.0})


def test_joints_that_are_open_are_refused_all_the_same() -> None:
    model = mbd.Model("open")
    model.add("bar", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0.2)))
    model.add("h", Revolute(i=GROUND, j={"body": "bar", "at": (-0.5, 0)}))
    model.add("drive", mbd.Motion(of="h.angle", value="1 + 40*time"))
    with pytest.raises(mbd.ModelError, match=r"positions do not fit the joints: joint 'h' \(y\) is off by 0\.2 m"):
        model.start()


@pytest.mark.parametrize("interface", ["cs2", "cs3", "me2"])
def test_fmus_start_driven(interface: str, tmp_path: Path) -> None:
    model = driven("0.3 + 40*time")
    model.add("speed", "h.angle_rate")
    result = mbd.fmu.simulate(model.export_fmu(tmp_path / "x.fmu", interface=interface), 0.05, 0.01)
    assert result["speed"] == pytest.approx(np.full(len(result.time), 40.0), abs=1e-3)


def test_check_says_what_is_set() -> None:
    verdict = check(driven("0.3 + 40*time").compile())
    assert verdict.passed
    assert any("'drive'" in note and "0.3 rad" in note for note in verdict.notes)
