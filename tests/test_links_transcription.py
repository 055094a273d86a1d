"""Baumgarte's terms with Heun's method in space against the plain transcription (tests/reference/links.py)."""

from __future__ import annotations

import pytest
from reference.links import mean_violation

from mbdfmu.reproduce import welch07
from mbdfmu.reproduce.runs import Case, violations


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("pin", ["x", "y"])
def test_open_joints_are_those_of_the_transcription(pin: str, alpha: float) -> None:
    """The means are 1e-7 and 1e-9 m; rounding of positions near 5 m is 1e-15."""
    dt, count = 1e-3, 100
    options = {"formula": "rk2", "alpha": alpha / dt, "beta": 1 / dt}
    ours = welch07.averaged(violations(Case(welch07.links(pin)), dt, count, "baumgarte", **options))
    assert ours == pytest.approx(mean_violation(pin, dt, alpha, count, normalised=True), rel=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize(("pin", "alpha", "expected"), [("x", 0.5, 3.38204e-8), ("x", 1.0, 1.65788e-10),
                                                        ("y", 0.5, 5.48014e-8), ("y", 1.0, 2.71673e-10)])  # fmt: skip
def test_another_program_leaves_euler_parameters_as_they_are_within_a_step(
    pin: str, alpha: float, expected: float
) -> None:
    """Its means over the first second come out so, which explains why ours differ by a factor near one."""
    assert mean_violation(pin, 2e-4, alpha, 5000, normalised=False) == pytest.approx(expected, rel=1e-5)
