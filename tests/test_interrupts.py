"""Ctrl-C, SIGTERM and `progress` that says no: a run ends at once, and what is done is kept."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mbdfmu as mbd

INTERRUPTED, TERMINATED = 130, 143
Run = Callable[[Any], mbd.Result]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model(progress: Any) -> mbd.Result:
    return mbd.models.load("pendulum").simulate(1.0, 0.1, progress=progress)


def kinematics(progress: Any) -> mbd.Result:
    return mbd.models.load("stewart").kinematics(1.0, 0.1, progress=progress)


def inverse_dynamics(progress: Any) -> mbd.Result:
    pendulum = mbd.models.load("pendulum")
    motion = pendulum.simulate(1.0, 0.1, record="*")
    return pendulum.inverse_dynamics(motion, actuators="torque", progress=progress)


def fmu(progress: Any, interface: str = "cs2", isolate: bool = False) -> mbd.Result:
    path = mbd.models.load("pendulum").export_fmu(f"{interface}.fmu", interface=interface)
    return mbd.fmu.simulate(path, 1.0, 0.1, isolate=isolate, progress=progress)


def system(progress: Any) -> mbd.Result:
    mbd.models.load("pendulum").export_fmu("pendulum.fmu")
    data = {"format_version": 1, "name": "one", "fmus": {"one": {"fmu": "pendulum.fmu"}}, "couplings": {}}
    Path("system.json").write_text(json.dumps(data))
    return mbd.cosim.System.load("system.json").simulate(1.0, 0.1, progress=progress)


RUNS: dict[str, Run] = {
    "model": model, "kinematics": kinematics, "inverse dynamics": inverse_dynamics, "system": system,
    "FMU": fmu, "FMU in its process": lambda p: fmu(p, isolate=True),
    "model exchange": lambda p: fmu(p, "me2"), "model exchange in its process": lambda p: fmu(p, "me2", True),
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("word", ["interrupted", "cancelled"])
def test_a_run_that_is_ended_raises_and_carries_its_result(run: str, word: str) -> None:
    """A loop over runs must end: before, Ctrl-C ended one run, and the loop went on with the next."""

    def progress(time: float) -> object:
        if time < 0.45:
            return None
        if word == "interrupted":
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt) as caught:
        RUNS[run](progress)
    assert isinstance(caught.value, mbd.Interrupted)
    result = caught.value.result
    assert str(caught.value) == result.message and not result.complete
    assert result.message.startswith(f"{word} at t = 0.") and result.message.endswith(" s of 1 s")
    assert 0.35 < result.time[-1] < 0.65 and len(result.time) >= 5
    assert pickle.loads(pickle.dumps(caught.value)).result.message == result.message


@pytest.mark.parametrize("answer", [None, True, 0, ""])
def test_only_false_cancels(answer: object) -> None:
    assert model(lambda time: answer).complete


def test_no_at_the_end_comes_too_late() -> None:
    times: list[float] = []
    result = model(lambda time: times.append(time) or len(times) < 11)
    assert result.complete and result.time[-1] == 1.0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_loop_of_runs() -> None:
    code = """
import os, signal, mbdfmu as mbd
pendulum = mbd.models.load("pendulum")
def press(time):
    if time > 0.5:
        os.kill(os.getpid(), signal.SIGINT)
for k in range(3):
    try:
        pendulum.simulate(1.0, 0.1, progress=press)
    except KeyboardInterrupt as end:
        print(k, end, len(end.result.time))
        raise
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert done.stdout.startswith("0 interrupted at t = 0.") and len(done.stdout.splitlines()) == 1
    assert done.returncode != 0 and "KeyboardInterrupt" not in done.stdout


# ---------------------------------------------------------------- the command line


@pytest.mark.by_day(1)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "word", "code"), [
    (signal.SIGINT, "interrupted", INTERRUPTED), (signal.SIGTERM, "terminated", TERMINATED),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["model", "FMU"])
def test_sigterm_ends_a_run_as_ctrl_c_does(number: int, word: str, code: int, kind: str) -> None:
    if kind == "FMU":
        mbd.models.load("pendulum").export_fmu("pendulum.fmu")
    target = "pendulum" if kind == "model" else "pendulum.fmu"
    # A run that says when it is in the middle of its way.
    script = f"""
import os, sys, mbdfmu.cli, mbdfmu.cli.verbs.simulate as verb
from contextlib import contextmanager
@contextmanager
def bar(*_, **__):
    def tell(time):
        if time > 0.5:
            os.kill(os.getpid(), {int(number)})
            os.kill(os.getpid(), {int(number)}) if {number == signal.SIGTERM} else None
    yield tell
verb.progress_bar = bar
sys.argv = ["mbdfmu", "simulate", {target!r}, "-t", "1", "--dt", "0.1", "-o", "out.h5"]
mbdfmu.cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert f"Error: {word} at t = 0." in done.stderr and "wrote out.h5" in done.stdout
    result = mbd.Result.read("out.h5")
    assert 0.4 < result.time[-1] < 0.7 and result.message.startswith(word)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_ends_what_has_no_result() -> None:
    script = """
import os, signal, sys, mbdfmu.cli, mbdfmu.cli.verbs.check as verb
verb.load_model = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)
sys.argv = ["mbdfmu", "check", "pendulum"]
mbdfmu.cli.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (TERMINATED, "Error: terminated\n")
