"""Events that are true at the start have happened where the initialisation ends, everywhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mbdfmu as mbd
from mbdfmu.schemes import Scheme


@cache
def plant() -> mbd.Model:
    """A mass whose force an event switches; one event is true by time, one by an input, one by what the first sets."""
    events = {
        "first": {"when": "time >= 0", "set": {"n": "n + 1"}},
        "then": {"when": "n > 0.5", "set": {"k": "k + 10"}},
        "by_input": {"when": "u > 0.5", "set": {"m": "m + 1"}},
        "late": {"when": "time > 0.5", "set": {"n": "n + 1"}},
    }
    data: dict[str, Any] = {
        "format_version": 1, "name": "plant", "inputs": {"u": {"unit": "1"}}, "mass": {"s": 1},
        "states": {name: {"rate": 0} for name in "nkm"}, "events": events,
        "coordinates": {"s": {"unit": "m", "force": "2*n + 100*m"}},
        "outputs": {"count": "n + k + 100*m", "pull": "2*n + 100*m"},
    }  # fmt: skip
    return mbd.Model.from_description(mbd.Description(**data))


def shown(found: Any) -> tuple[float, float]:
    return float(found["count"]), float(found["pull"])


@pytest.mark.parametrize("scheme", Scheme.names())
@pytest.mark.parametrize("step", [None, 0.02])
def test_a_run_and_steps_begin_with_what_follows(scheme: str, step: float | None) -> None:
    run = plant().simulate(0.4, 0.1, scheme=scheme, step=step)
    assert (run["count"][0], run["pull"][0]) == (11, 2)
    assert run.events == ((0.0, "first"), (0.0, "then"))
    assert run["s"][-1] == pytest.approx(0.16, rel=0.2 if scheme == "welch1" else 1e-9)
    sim = plant().start(scheme=scheme, step=step)
    assert shown(sim) == (11, 2)
    sim.advance(0.4)
    assert sim["s"] == pytest.approx(run["s"][-1], rel=1e-4 if scheme == "welch1" else 1e-12)  # in other steps


def test_first_values_of_inputs_count() -> None:
    run = plant().simulate(0.1, 0.1, inputs={"u": ([0.0, 1.0], [1.0, 1.0])})
    assert (run["count"][0], run["pull"][0]) == (111, 102)


def test_an_input_that_is_set_later_counts_from_the_step_on() -> None:
    sim = plant().start()
    sim["u"] = 1.0
    assert shown(sim) == (11, 2)
    sim.step(1e-3)
    assert shown(sim) == (111, 102)


@pytest.mark.parametrize("interface", ["cs2", "cs3", "me2"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_fmus_begin_with_what_follows(tmp_path: Path, interface: Any, value: float) -> None:
    plant().export_fmu(tmp_path / "plant.fmu", interface=interface)
    inputs = {"u": ([0.0, 1.0], [value, value])}
    run = mbd.fmu.simulate(tmp_path / "plant.fmu", 0.4, 0.1, inputs=inputs)
    own = plant().simulate(0.4, 0.1, inputs=inputs)
    assert (run["count"][0], run["pull"][0]) == (own["count"][0], own["pull"][0]) == (11 + 100 * value, 2 + 100 * value)
    assert run["s"][-1] == pytest.approx((1 + 50 * value) * 0.16, rel=1e-5)  # by CVode in model exchange


def test_python_fmus_begin_with_what_follows(tmp_path: Path) -> None:
    plant().export_fmu(tmp_path / "plant.fmu", runtime="python")
    with mbd.fmu.open(tmp_path / "plant.fmu") as fmu:
        assert shown(fmu) == (11, 2)
