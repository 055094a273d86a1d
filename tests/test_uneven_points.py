"""FMUs of all shipped models, stepped by a master whose steps go from 1 us to 10 ms at random: as one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd

TOLERANCE = 1e-5
POINTS = 400
MOTION = ("m", "rad", "m/s", "rad/s")


@pytest.mark.parametrize("name", mbd.models.names())
def test_an_fmu_under_uneven_steps_is_as_accurate_as_one_run(
    name: str, counts: Callable[..., int], tmp_path: Path
) -> None:
    model = mbd.models.load(name)
    rng = np.random.default_rng(sum(map(ord, name)))
    times = np.cumsum(np.exp(rng.uniform(np.log(1e-6), np.log(1e-2), counts(POINTS, 0.1))))
    once, true = model.start(tolerance=TOLERANCE), model.start(tolerance=1e-9)
    for simulation in (once, true):
        simulation.advance(times[-1])
    path = model.export_fmu(tmp_path / "x.fmu")
    names = [s.name for s in model.signals("*") if s.unit in MOTION and s.variability == "continuous"]
    assert names
    with mbd.fmu.open(path, parameters={"solver.tolerance": TOLERANCE}) as fmu:
        for step in np.diff(times, prepend=0.0):
            fmu.step(step)
        assert worst(fmu, true, names) < 5 * worst(once, true, names) + 100 * TOLERANCE


def worst(found: Any, true: Any, names: list[str]) -> float:
    return max(abs(found[name] - true[name]) / max(1.0, abs(true[name])) for name in names)
