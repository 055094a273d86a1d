"""Two free bodies on a bushing against the closed form of linear vibration, in every direction alone."""

from __future__ import annotations

from typing import Any

import pytest
from reference.linear import Bushing

import mbdfmu as mbd
import mbdfmu.forces
import mbdfmu.joints
from mbdfmu.description import Description

MASSES = (2.0, 3.0)
INERTIAS = {2: (0.02, 0.05), 3: ([0.02, 0.03, 0.04], [0.05, 0.06, 0.07])}
STIFFNESS, DAMPING = [500.0, 800.0, 650.0], [4.0, 3.0, 2.0]
TURNING, TURNING_DAMPING = [20.0, 30.0, 25.0], [0.05, 0.04, 0.03]
GAP, RATE = 0.02, 0.1
AXES = "xyz"


def pair(dimensions: int, second: dict[str, Any]) -> mbd.Model:
    """`second` says where that body starts; the first is at rest in the origin."""
    first_inertia, second_inertia = INERTIAS[dimensions]
    turning = {"torsional_stiffness": TURNING, "torsional_damping": TURNING_DAMPING}
    if dimensions == 2:
        turning = {"torsional_stiffness": TURNING[2], "torsional_damping": TURNING_DAMPING[2]}
    linear = {"stiffness": STIFFNESS[:dimensions], "damping": DAMPING[:dimensions]}
    data: dict[str, Any] = {
        "length": 0.1,
        "gravity": [0.0] * dimensions,
        "bodies": {
            "first": {"mass": MASSES[0], "inertia": first_inertia},
            "second": {"mass": MASSES[1], "inertia": second_inertia, **second},
        },
        "forces": {"mount": {"type": "bushing", "i": {"body": "first"}, "j": {"body": "second"}, **linear, **turning}},
    }
    if dimensions == 3:
        data["dimensions"] = 3
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": "pair", **data}))


def nears(model: mbd.Model, signal: str, closed: float, size: float) -> bool:
    """Whether the signal after half a second has an error of second order, below a thousandth of the motion's size."""
    errors = []
    for count in (500, 1000):
        simulation = model.start(step=0.5 / count, tolerance=1e-12)
        simulation.advance(0.5)
        errors.append(abs(simulation[signal] - closed))
    return errors[1] < 1e-3 * size and errors[0] / errors[1] > 3.8  # more where the leading errors cancel


@pytest.mark.parametrize(("dimensions", "k"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_along_an_axis(dimensions: int, k: int) -> None:
    along = [float(n == k) for n in range(dimensions)]
    model = pair(dimensions, {"position": [GAP * x for x in along], "velocity": [RATE * x for x in along]})
    closed = Bushing(*MASSES, STIFFNESS[k], DAMPING[k]).difference(0.5, GAP, RATE)
    assert nears(model, f"mount.displacement_{AXES[k]}", closed, GAP)


def test_about_the_axis_of_the_plane() -> None:
    closed = Bushing(*INERTIAS[2], TURNING[2], TURNING_DAMPING[2]).difference(0.5, GAP, RATE)
    assert nears(pair(2, {"angle": GAP, "omega": RATE}), "mount.angle", closed, GAP)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_about_an_axis_in_space(k: int) -> None:
    """About a principal axis of both bodies, however far it turns."""
    turn, inertias = 1.0, [inertia[k] for inertia in INERTIAS[3]]
    start = {"orientation": {"axis": [float(n == k) for n in range(3)], "angle": turn}}
    closed = Bushing(*inertias, TURNING[k], TURNING_DAMPING[k]).difference(0.5, turn, 0.0)
    assert nears(pair(3, start), f"mount.rotation_{AXES[k]}", closed, turn)
