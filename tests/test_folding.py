"""Shafts on a constant velocity joint that fold back onto each other: no scheme goes over to the other branch."""

from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.errors import StepFailed
from mbdfmu.schemes import Scheme

SPINS = (0.3, 4.0, 0.9), (1.0, 2.0, 3.0), (0.05, 3.0, 0.1)  # rad/s: each folds within the first 0.3 s
GROUND = {"body": "ground"}


def shaft(spin: tuple[float, ...], **fields: Any) -> mbd.Model:
    """A shaft on the ground, bent by 2.5 rad, that bends on."""
    bent = {"axis": [0, 1, 0], "angle": 2.5}
    body = {"mass": 1, "inertia": [0.1, 0.2, 0.25], "omega": spin, "orientation": bent}
    joint = {"type": "constant_velocity", "i": GROUND, "j": {"body": "shaft"}}
    data: dict[str, Any] = {"format_version": 1, "name": "bent", "dimensions": 3, "length": 1, "gravity": [0, 0, 0]}
    data |= {"bodies": {"shaft": body}, "joints": {"cv": joint}, **fields}
    return mbd.Model.from_description(Description(**data))


@pytest.mark.parametrize("spin", SPINS)
@pytest.mark.parametrize("scheme", list(Scheme.members()))
def test_shafts_that_fold_back_go_on_or_end_by_name(scheme: str, spin: tuple[float, ...]) -> None:
    """The row, -2 e0 e3 of the turn about the axis, is zero for e0 = 0 too: there shafts are bent by half a turn and
    spin on their own. On the joint e3 stays zero, but for what joints are open by."""
    for tolerance in (1e-5, 1e-8):
        try:
            found = shaft(spin).simulate(0.5, 0.005, scheme=scheme, tolerance=tolerance, assemble=True)
        except StepFailed as error:
            assert "at t = 0." in str(error)
        else:
            assert np.max(np.abs(found["shaft.e3"])) < 1e-3
            assert found["shaft.e0"][-1] < -0.1  # beyond


def test_a_step_onto_the_other_branch_is_named() -> None:
    text = "axes come to point in opposite directions .* joint 'cv': .* keep it from folding"
    with pytest.raises(StepFailed, match=text):
        shaft(SPINS[0]).simulate(0.5, 0.005, scheme="radau", tolerance=1e-8, assemble=True)


def test_axes_of_a_joint_that_is_released_may_turn_over() -> None:
    """The rows hold nothing then."""
    events = {"off": {"when": "time >= 0.1", "release": ["cv"]}}
    for scheme in ("radau", "dop853", "hht"):
        found = shaft(SPINS[1], events=events).simulate(2.0, 0.01, scheme=scheme, assemble=True)
        side = found["shaft.e0"] ** 2 - found["shaft.e3"] ** 2
        assert found.complete and side.min() < -0.1
