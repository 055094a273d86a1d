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
    assert ours == pytest.approx(mean_violation(pin, dt, alpha, count, normalised=False), rel=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("pin", ["x", "y"])
def test_normalising_within_steps_too_would_leave_other_gaps(pin: str) -> None:
    """So it matters for the table where that is done; both ways are of second order."""
    within, after = (mean_violation(pin, 2e-4, 0.5, 5000, normalised=n) for n in (True, False))
    assert not 0.9 < within / after < 1.1
