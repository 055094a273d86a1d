"""Dry friction against motions computed elsewhere: a block on a belt sticks and slips, the pin of a pendulum rubs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.states import reference

import mbdfmu as mbd
import mbdfmu.forces
import mbdfmu.joints
from mbdfmu.description import Description

GROUND = {"body": "ground"}
LAWS: dict[str, dict[str, Any]] = {
    "stick_slip": {"creep_speed": 1e-3},
    "stick_slip_lugre": {"law": "lugre", "bristle_stiffness": 1e4, "bristle_damping": 20},
}


def belt(name: str) -> mbd.Model:
    """reference.friction.Belt with its default numbers, in the plane."""
    on = {"i": GROUND, "j": {"body": "block"}}
    grip = {"coefficient": 0.25, "static_coefficient": 0.4, "stribeck_speed": 0.1, **LAWS[name]}
    data = {
        "length": 0.05,
        "bodies": {"block": {"mass": 1, "inertia": 0.01}},
        "joints": {"guide": {"type": "prismatic", **on}},
        "forces": {
            "spring": {"type": "vector", **on, "force": ["-100*block.x", 0]},
            "rub": {"type": "friction", **on, "normal_force": 10, "surface_speed": 0.1, **grip},
        },
    }
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": name, **data}))


def rubbing_pendulum() -> mbd.Model:
    """reference.friction.RubbingPendulum with its default numbers: N0 is the rounding of the load."""
    centre = [0.5 * np.cos(0.2), 0.5 * np.sin(0.2)]
    grip = {"coefficient": 0.2, "static_coefficient": 0.3, "stribeck_speed": 0.05, "creep_speed": 0.01}
    data = {
        "gravity": [0, -9.81],
        "length": 0.5,
        "bodies": {"bar": {"mass": 2, "inertia": 1 / 6, "position": centre, "angle": 0.2}},
        "joints": {"pin": {"type": "revolute", "i": GROUND, "j": {"body": "bar", "at": [-0.5, 0]}}},
        "forces": {"rub": {"type": "joint_friction", "joint": "pin", "radius": 0.05, "rounding": 1.0, **grip}},
    }
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": "rubbing_pendulum", **data}))


@pytest.mark.parametrize("name", LAWS)
def test_the_limit_cycle_is_met_and_nears_with_the_tolerance(name: str) -> None:
    """At the times of the cycle's maxima the block stands still at the right place; errors of time show as speed."""
    data, worst = reference(name), []
    deceleration = 100 * data["cycle"]["highest"] - 10 * 0.25  # of the block at its maximum, in m/s2, nearly
    for tolerance in (1e-5, 1e-7):
        simulation, late = mbd.Model.start(belt(name), tolerance=tolerance), []
        for t, x in zip(data["time"], data["signals"]["x"], strict=True):
            simulation.advance(t)
            assert simulation["block.x"] == pytest.approx(x, abs=0.1 * tolerance ** (2 / 3))
            late.append(abs(simulation["block.vx"]) / deceleration)
        worst.append(max(late))
    assert worst[0] < 3e-3 and worst[1] < worst[0] / 10


def test_a_pin_that_rubs_with_its_reaction_is_of_second_order() -> None:
    data, found = reference("friction_pendulum"), []
    torques = data["signals"].pop("friction.torque")
    for count in (500, 1000, 2000):
        simulation, apart = rubbing_pendulum().start(step=1 / count, tolerance=1e-12), []
        for k, t in enumerate(data["time"]):
            simulation.advance(t)
            apart.append([abs(simulation[name] - values[k]) for name, values in data["signals"].items()])
            assert abs(0.05 * simulation["rub.friction"]) == pytest.approx(abs(torques[k]), abs=1e-3)
        found.append(np.max(apart, axis=0))
    assert np.log2(found[1] / found[2]) == pytest.approx(2.0, abs=0.05)
    assert found[2][0] < 1e-5
