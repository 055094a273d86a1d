"""The C host that judges FMUs does what its scripts say: judged here itself, on FMUs of the Python runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmi_host import Host, begin, python_host, steps, unpacked

import mbdfmu as mbd

STEP = 0.01  # communication step, s


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return python_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fmu")
    return unpacked(mbd.models.load("pendulum").export_fmu(folder / "x.fmu", runtime="python"), folder / "unpacked")


def references(*names: str) -> str:
    places = {s.name: k for k, s in enumerate(mbd.models.load("pendulum").signals())}
    return " ".join(str(places[name]) for name in names)


def test_a_script_gives_bitwise_what_the_model_gives(host: Host, pendulum: Path) -> None:
    times = [k * STEP for k in range(51)]
    torque = [[f"real {references('torque')} {0.1 * k!r}"] for k in range(50)]
    look = f"getreal {references('angle', 'speed', 'pull')}"
    lines = [line for step in zip(*[iter(steps(times, torque))] * 2, strict=True) for line in (*step, look)]
    got = host.play(pendulum, [*begin(stop=0.5, tolerance=1e-6), *lines, "terminate", "free"]).table
    held = (np.array(times[:-1]), 0.1 * np.arange(50))
    expected = mbd.models.load("pendulum").simulate(0.5, STEP, inputs={"torque": held}, interpolation="hold")
    rows = np.unique(expected.time, return_index=True)[1][1:]
    columns = [expected[name][rows] for name in ("angle", "speed", "pull")]
    assert np.array_equal(np.array(got), np.column_stack(columns))


def test_refusals_are_told_with_status_and_message(host: Host, pendulum: Path) -> None:
    calls = host.trace(pendulum, [*begin(logging=1), "step 0 0.1", "step 7 0.1", "free"])
    assert [c.status > 1 for c in calls] == [False] * 5 + [True, False]
    assert calls[5].said


def test_scripts_end_at_the_first_refusal_unless_traced(host: Host, pendulum: Path) -> None:
    played = host.run("play", pendulum, [*begin(), "step 7 0.1", "getreal 0"])
    assert (played.code, played.out) == (1, "")
    assert "'step 7 0.1' gave status" in played.err


def test_cycles_and_threads_are_counted(host: Host, pendulum: Path) -> None:
    script = [*begin(), *steps([0.0, 0.1, 0.2]), f"getreal {references('angle')}", "free"]
    assert host.run("threads", pendulum, script, 2).counted == {"threads": 2, "different": 0}
    numbers = host.run("cycles", pendulum, script, 2).counted
    assert numbers["files before"] == numbers["files after"]
