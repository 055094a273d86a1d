"""Random models run in ways that must agree: fixed seeds by day, new ones by night; `run.py` runs one seed by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from search.generate import generated
from search.judging import searched
from search.ways import WAYS

PARTS = 10
BY_NIGHT = 5000
TURNS = 3  # ways of each model by day
DECIDED = 0.8  # of all ways: a search that skips more says little
SLOW = {0, 6, 11, 13, 21, 26, 28, 39, 46, 53}  # of the first seeds; they take more than a second
DAY = tuple(seed for seed in range(60) if seed not in SLOW)
DAYS = int(time.time() // 86400)  # the nights of one date have the same seeds
FIRST = int(os.environ.get("MBDFMU_SEARCH_SEED", 1_000_000 + DAYS * BY_NIGHT % 2**31))


@pytest.mark.parametrize("part", range(PARTS))
def test_all_ways_to_run_a_model_agree(part: int, counts: Callable[..., int]) -> None:
    count = counts(BY_NIGHT, len(DAY) / BY_NIGHT) // PARTS
    by_day = count * PARTS == len(DAY)
    seeds = (
        DAY[part * count : (part + 1) * count] if by_day else range(FIRST + part * count, FIRST + (part + 1) * count)
    )
    print(f"seeds {seeds[0]} to {seeds[-1]}")
    verdict = searched(seeds, list(WAYS), TURNS if by_day else None)
    assert not verdict.findings, f"python tests/search/run.py --seed SEED --shrink\n{verdict.text()}"
    assert verdict.share >= DECIDED, verdict.text()


def test_a_seed_gives_the_same_model_again() -> None:
    assert generated(7).text() == generated(7).text()
