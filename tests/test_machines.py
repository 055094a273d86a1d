"""Machines with kinks under error control: work and error fall with the tolerance, whatever the interval of output."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from machines import MACHINES, advanced, belt

import mbdfmu as mbd
from mbdfmu import Body, Marker, Model
from mbdfmu.forces import VectorForce
from mbdfmu.joints import Prismatic

PULLEYS = ("crank.phi", "water.phi", "alternator.phi", "tension.phi")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@cache
def model(name: str) -> Any:
    return MACHINES[name][0]()


@cache
def run(name: str, tolerance: float, interval: float) -> Any:
    end = MACHINES[name][1]
    return advanced(model(name), end, min(interval, end), tolerance=tolerance, assemble=name == "track")


def error(name: str, tolerance: float, interval: float) -> float:
    true = run(name, 1e-8, 1.0).save().q
    return float(np.max(np.abs(run(name, tolerance, interval).save().q - true)))


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("tolerance", "bound"), [(1e-3, 2e-3), (1e-4, 5e-4)])
def test_a_belt_takes_few_steps_and_keeps_its_pulleys(tolerance: float, bound: float) -> None:
    """13,472 steps and 7 rad where steps went to and fro between failures of Newton's iteration."""
    found, true = run("belt", tolerance, 1.0), run("belt", 1e-6, 1.0)
    assert found.statistics["steps"] <= 450
    assert found.statistics["residuals"] <= 5000
    assert found.statistics["jacobians"] <= 1100
    for name in PULLEYS:
        assert found[name] == pytest.approx(true[name], abs=bound)


def test_a_run_in_which_many_tries_fail_names_the_forces_that_have_kinks() -> None:
    """A block that sticks and slips by a law without transition, beside a smooth spring."""
    ground, block = Marker(body="ground"), Marker(body="block")
    m = Model("rub", gravity=(0, 0))
    m.add("block", Body(mass=1, inertia=1, position=(0, 0), velocity=(1e-3, 0)))
    m.add("rail", Prismatic(i=ground, j=block, axis=(1, 0)))
    m.add("rub", VectorForce(i=ground, j=block, force=("-50*sign(block.vx)", "0")))
    m.add("pull", VectorForce(i=ground, j=block, force=("20*sin(40*time) - block.x", "0")))
    result = m.simulate(1e-3, 1e-3, tolerance=1e-3)
    (note,) = [n for n in result.notes if "failed at first" in n]
    assert "body 'block' x" in note and "'rub'" in note and "'pull'" not in note and "largest_step" in note
    assert not mbd.models.load("andrews").simulate(0.01, 0.01, tolerance=1e-3).notes


@pytest.mark.nightly
@pytest.mark.parametrize("torque", [2.0, 2.5, 3.5, 4.0, 5.0, 6.0])
def test_no_drive_stalls_a_belt(torque: float) -> None:
    found = advanced(belt(torque), 0.1, 0.1, tolerance=1e-3)
    assert found.statistics["residuals"] <= 4000


@pytest.mark.nightly
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("interval", [1.0, 0.02, 0.002, 0.0005])
def test_a_looser_tolerance_costs_no_more_and_a_tighter_one_errs_less(name: str, interval: float) -> None:
    work = [run(name, tolerance, interval).statistics["residuals"] for tolerance in TOLERANCES]
    for k, looser in enumerate(work):
        assert looser <= 1.5 * min(work[k:])
    errors = [error(name, tolerance, interval) for tolerance in TOLERANCES]
    for k, (tolerance, found) in enumerate(zip(TOLERANCES, errors, strict=True)):
        assert found < 8 * tolerance ** (2 / 3)  # the order of smooth motions (T5.13), of bodies that go about a metre
        assert found < 2 * min(errors[: k + 1])  # chance plays, as no two runs meet the same kinks
