"""Fixtures for every test: fixed seeds, no clocks, and how often repeated checks run; must not import mbdfmu."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import settings

COUNTS = os.environ.get("MBDFMU_COUNTS", "")
if COUNTS not in ("", "full"):
    raise pytest.UsageError(f"MBDFMU_COUNTS is {COUNTS!r}; set it to 'full' or unset it")

# Derandomised: a failure seen once is seen again. No deadline: a slow machine is not a defect.
settings.register_profile(
    "mbdfmu", derandomize=True, deadline=None, database=None, max_examples=1000 if COUNTS == "full" else 100
)
settings.load_profile("mbdfmu")


@pytest.fixture(scope="session")
def counts() -> Callable[..., int]:
    """Repetitions of a check: `counts(full, fraction=0.02)` is `full` at night and the fraction of it by day."""

    def repetitions(full: int, fraction: float = 0.02) -> int:
        return full if COUNTS == "full" else max(1, round(full * fraction))

    return repetitions
