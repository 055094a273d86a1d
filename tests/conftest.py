"""Fixtures for every test: fixed seeds, no clocks, how often repeated checks run, and which of many by day."""

from __future__ import annotations

import os
from collections import defaultdict
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


# ---------------------------------------------------------------- tests of many parameters

MEMBERS = 2  # of one parametrised test, with --sample


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", action="store_true", help="of each test with many parameters a few, always the same")


@pytest.hookimpl(trylast=True)  # after -m and -k have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("sample"):
        return
    families = defaultdict(list)
    for item in items:
        families[item.nodeid.partition("[")[0]].append(item)
    chosen = {item for family in families.values() for item in spread(family, by_day(family[0]))}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def by_day(item: pytest.Item) -> int:
    """How many parameters of a test run with --sample."""
    mark = item.get_closest_marker("by_day")
    return int(mark.args[0]) if mark else MEMBERS


def spread(family: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many of a family, or all: from the middles of parts of equal length."""
    count = min(count, len(family))
    return [family[(2 * k + 1) * len(family) // (2 * count)] for k in range(count)]
