"""Runs that begin at another time than 0, and with other inputs than those of the model, as hosts of FMUs ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description

BEGIN = 2.0  # a number of which all sums in these tests are exact to the last bits of time
TIMED: dict[str, Any] = {
    "format_version": 1,
    "name": "timed",
    "length": 1.0,
    "parameters": {"origin": {"value": 0.0, "unit": "s"}},
    "inputs": {"u": {"unit": "N"}},
    "bodies": {"a": {"mass": 1.0, "inertia": 0.1, "position": [0.5, 0.0]}},
    "joints": {"hinge": {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "a", "at": [-0.5, 0.0]}}},
    "states": {"s": {"rate": "sin(3*(time - origin)) - s"}},
    "forces": {"push": {"type": "vector", "i": {"body": "ground"}, "j": {"body": "a"},
                        "force": [0.0, "u + cos(time - origin) + if(time - origin > 0.3, 4, 0)"]}},
    "events": {"late": {"when": "time > origin + 0.4", "restart": True}},
}  # fmt: skip
DRIVEN: dict[str, Any] = {
    "format_version": 1,
    "name": "driven",
    "length": 1.0,
    "inputs": {"speed": {"unit": "m/s"}},
    "bodies": {
        "cart": {"mass": 1.0, "inertia": 0.1, "position": [0.0, 0.0]},
        "bob": {"mass": 1.0, "inertia": 0.1, "position": [0.0, -1.0]},
    },
    "joints": {
        "rail": {"type": "prismatic", "i": {"body": "ground"}, "j": {"body": "cart"}},
        "hinge": {"type": "revolute", "i": {"body": "cart"}, "j": {"body": "bob", "at": [0.0, 1.0]}},
    },
    "motions": {"drive": {"of": "cart.x", "unit": "m", "level": "velocity", "value": "speed"}},
}  # fmt: skip


def native(model: mbd.Model, scheme: str = "hht", **start: Any) -> Any:
    simulation = model.start(scheme=scheme)._native
    simulation.start(**start)
    return simulation


@pytest.mark.parametrize("scheme", ["hht", "radau", "dopri5", "baumgarte", "welch2"])
def test_a_run_that_begins_later_is_the_same_shifted(scheme: str) -> None:
    model = mbd.Model.from_description(Description.model_validate(TIMED))
    origin = model.start()._lowered.parameters["origin"]
    # iterated to the end: rounding may decide whether a matrix is made anew, and so where an iteration stops
    options = {"stop_ratio": 1e-7} if scheme == "hht" else {}
    early, late = (model.start(scheme=scheme, tolerance=1e-8, options=options)._native for _ in range(2))
    late.set_parameter(origin, BEGIN)
    early.start(), late.start(time=BEGIN)
    assert (late.time, late.save().t_input) == (BEGIN, BEGIN)
    watched = [k for k, name in enumerate(model.start().names) if name.startswith(("a.", "s", "hinge"))]
    for k in range(1, 33):
        early.set_input(0, k / 8, 0.5), late.set_input(0, k / 8, 0.5)
        early.advance(k / 32), late.advance(BEGIN + k / 32)
        early.report(), late.report()
        found, wanted = late.signals()[watched], early.signals()[watched]
        # rounding of time (4e-16) moves events and jumps by that, and steps are chosen by errors of 1e-8
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-11)
    assert [name for _, name in early.events] == [name for _, name in late.events] == ["late"]


def test_time_may_begin_below_zero() -> None:
    simulation = native(mbd.models.load("slider_crank"), "dopri5", time=-3.0)
    reference = native(mbd.models.load("slider_crank"), "dopri5")
    for k in range(1, 20):
        simulation.advance(-3.0 + 0.05 * k), reference.advance(0.05 * k)
        simulation.report(), reference.report()
        # this model knows no time: what differs is the rounding of step sizes
        np.testing.assert_allclose(simulation.v, reference.v, rtol=1e-9, atol=1e-9)


def test_inputs_that_joints_hold_are_there_at_the_start() -> None:
    """Positions may depend on no input; velocities and what follows from them do."""
    model = mbd.Model.from_description(Description.model_validate(DRIVEN))
    simulation, names = native(model, inputs=[(0, 0.25)]), model.start().names
    found = dict(zip(names, simulation.signals(), strict=True))
    assert (found["speed"], found["cart.vx"]) == (0.25, pytest.approx(0.25, abs=1e-12))
    # the hinge pulls the bob, which may turn: what moves least, weighed by masses, is 0.1/(0.1 + 1*1^2) of the way
    assert found["bob.vx"] == pytest.approx(0.25 * 0.1 / 1.1, abs=1e-12)
    assert simulation.save().v == pytest.approx(simulation.v, abs=1e-12)  # the motion itself, not only its report
    simulation.advance(0.5)
    simulation.report()
    assert dict(zip(names, simulation.signals(), strict=True))["cart.x"] == pytest.approx(0.125, abs=1e-6)


def test_inputs_excuse_no_joint_that_opens_without_them() -> None:
    moving = {"mass": 1.0, "inertia": 0.1, "position": [0.0, 0.0], "velocity": [0.1, 0.0]}
    data = {**DRIVEN, "bodies": {**DRIVEN["bodies"], "cart": moving}}
    model = mbd.Model.from_description(Description.model_validate(data))
    simulation = model.start(assemble=True)._native
    with pytest.raises(_solver.NativeModelError, match="the start velocities do not fit the joints"):
        simulation.start(inputs=[(0, 0.25)])
    simulation.start(correct=True, inputs=[(0, 0.25)])
    assert simulation.v[0] == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("start", [{"time": np.nan}, {"inputs": [(1, 0.0)]}, {"inputs": [(0, np.inf)]}])
def test_starts_that_cannot_be_are_refused(start: dict[str, Any]) -> None:
    simulation = mbd.Model.from_description(Description.model_validate(DRIVEN)).start()._native
    with pytest.raises(_solver.NativeModelError, match=r"the time of the start|an input at the start"):
        simulation.start(**start)
