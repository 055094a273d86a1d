"""FMUs in processes of their own: whatever they do is told by their names, and what was done is kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from fmu_suite import Fault, build
from hostile import EXPERIMENT
from hostile import build as build_hostile
from oscillator import build as build_oscillator

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.cosim import System
from mbdfmu.errors import ModelError

DEADLY = {
    Fault.CRASH: "FMU 'Wave' crashed (SIGSEGV) in doStep",
    Fault.EXIT: "FMU 'Wave' ended its process with code 0 in doStep",
    Fault.ENDLESS: "FMU 'Wave' did not come back from doStep within the 5 s of its run and was stopped",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wave"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def hostile(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(compiled, tmp_path))


@pytest.fixture
def wave(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(built, tmp_path))


def command(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), prog_name="mbdfmu")


def system(fault: Fault) -> None:
    """Two of them, one of which misbehaves."""
    fmus = {"good": {"fmu": "Wave.fmu"}, "bad": {"fmu": "Wave.fmu", "parameters": {"fault": int(fault)}}}
    data = {"format_version": 1, "name": "pair", "fmus": fmus, "couplings": {"good.u": "bad.y"}}
    Path("pair.json").write_text(json.dumps(data))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", ["cs2", "cs3", "me2"])
def test_a_run_is_the_same_to_the_bit(kind: str, tmp_path: Path) -> None:
    fmu = mbd.models.load("slider_crank").export_fmu(tmp_path / "crank.fmu", interface=kind)
    here, alone = (mbd.fmu.simulate(fmu, 0.3, 0.01, isolate=isolate) for isolate in (False, True))
    assert list(here.columns) == list(alone.columns) and here.statistics == alone.statistics
    for name in here.columns:
        np.testing.assert_array_equal(here[name], alone[name])


def test_a_stepped_fmu_goes_back(tmp_path: Path) -> None:
    fmu = mbd.models.load("slider_crank").export_fmu(tmp_path / "crank.fmu")
    with mbd.fmu.open(fmu, isolate=True) as stepped:
        stepped.step(0.1)
        state = stepped.save()
        stepped.step(0.1)
        there = stepped.values()
        stepped.restore(state)
        stepped.step(0.1)
        np.testing.assert_array_equal(stepped.values(), there)
    with pytest.raises(mbd.ModelError, match="is closed"):
        stepped.step(0.1)


def test_coupled_fmus_are_the_same_to_the_bit(wave: Path) -> None:
    system(Fault.WARNING)
    pair = System.load("pair.json")
    here, alone = (pair.simulate(1.0, 0.01, isolate=isolate) for isolate in (False, True))
    np.testing.assert_array_equal(here["good.y"], alone["good.y"])
    assert here.notes == alone.notes and any("the oil is hot" in note for note in alone.notes)


@pytest.mark.parametrize("fault", DEADLY)
def test_a_deadly_fault_is_named_and_what_was_done_is_kept(fault: Fault, wave: Path) -> None:
    with pytest.raises(mbd.StepFailed) as caught:
        mbd.fmu.simulate(wave, 1.0, 0.01, parameters={"fault": float(fault)}, time_limit=5.0)
    assert DEADLY[fault] in str(caught.value)
    assert caught.value.result.time[-1] == pytest.approx(0.5)
    assert not caught.value.result.complete


@pytest.mark.by_day(1)
@pytest.mark.parametrize("fault", DEADLY)
@pytest.mark.parametrize("verb", ["simulate", "cosim", "record"])
def test_every_verb_ends_with_1_and_the_name(verb: str, fault: Fault, wave: Path) -> None:
    given = ["--time-limit", 5, "-t", 1]
    if verb == "cosim":
        system(fault)
        done = command("cosim", "pair.json", "--step", 0.01, *given, "-o", "out.csv")
    elif verb == "simulate":
        done = command("simulate", wave, "--dt", 0.01, "--set", f"fault={int(fault)}", *given, "-o", "out.csv")
    else:
        done = command("record", wave, "--dt", 0.01, "--set", f"fault={int(fault)}", *given)
    name = "bad" if verb == "cosim" else "Wave"
    assert done.exit_code == 1
    assert re.match(r"FMU 'Wave' (.*?) (in|from) ", DEADLY[fault])[1] in done.output and f"FMU '{name}' " in done.output
    if verb != "record":
        rows = Path("out.csv").read_text().splitlines()
        assert float(rows[-1].split(",")[0]) == pytest.approx(0.5)


@pytest.mark.parametrize("isolated", ["--isolate", "--no-isolate"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("verb", ["simulate", "record", "cosim"])
def test_a_wish_to_end_is_no_failure_and_its_row_is_kept(
    verb: str, version: int, isolated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOSTILE", "step:end")
    fmu = build_hostile(tmp_path, version)
    two = {"one": {"fmu": "Hostile.fmu"}, "two": {"fmu": "Hostile.fmu"}}
    data = {"format_version": 1, "name": "pair", "fmus": two, "couplings": {"two.u": "one.y"}}
    Path("pair.json").write_text(json.dumps(data))
    target = Path("pair.json") if verb == "cosim" else fmu
    more = {"simulate": ["-o", "out.csv"], "cosim": ["-t", 1, "--step", 0.01, "-o", "out.csv"]}.get(verb, [])
    done = command(verb, target, *more, isolated)
    assert done.exit_code == 0, done.output
    end = 0.505 if version == 2 else 0.51
    assert f"'{'one' if verb == 'cosim' else 'Hostile'}' has ended the simulation at t = {end:g} s" in done.output
    rows = Path("Hostile_ref.csv" if verb == "record" else "out.csv").read_text().splitlines()
    if verb == "cosim" and version == 2:  # the other one is not there
        end = 0.5
    assert float(rows[-1].split(",")[0]) == pytest.approx(end)
    if verb != "cosim":
        assert float(rows[-1].split(",")[1]) == pytest.approx(np.sin(6 * end))
    if verb == "record":
        assert command("compare", fmu, isolated).exit_code == 0


@pytest.mark.parametrize("isolated", ["--isolate", "--no-isolate"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("ending", "end"), [("start", 0.0), ("event", 0.5), ("step", 0.5)])
def test_a_wish_to_end_in_model_exchange_is_no_failure_either(
    ending: str, end: float, version: int, isolated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENDING", ending)
    done = command("simulate", build_oscillator(tmp_path, version), "-o", "out.csv", isolated)
    assert done.exit_code == 0, done.output
    assert f"FMU 'Oscillator' has ended the simulation at t = {end:g} s" in done.output
    time, place = map(float, Path("out.csv").read_text().splitlines()[-1].split(",")[:2])
    pace = np.sqrt(40)
    assert time == pytest.approx(end)
    # CVode at the tolerance of the FMU, 1e-9 a step
    assert place == pytest.approx(0.5 * np.cos(pace * time) - np.sin(pace * time) / pace, abs=1e-6)


@pytest.mark.parametrize(("version", "called"), [(2, "fmi2GetDerivatives"), (3, "fmi3GetContinuousStateDerivatives")])
def test_a_failure_of_model_exchange_is_told_by_its_cause(
    version: int, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDING", "error")
    with pytest.raises(mbd.StepFailed, match=f"FMU 'Oscillator' gave up: {called} failed") as caught:
        mbd.fmu.simulate(build_oscillator(tmp_path, version))
    assert 0.4 < caught.value.result.time[-1] <= 0.5


@pytest.mark.parametrize("action", ["print", "garbage"])
def test_what_an_fmu_prints_or_says_harms_nobody(
    action: str, hostile: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOSTILE", f"step:{action}")
    result = mbd.fmu.simulate(hostile, isolate=True)
    assert result.complete and result.time[-1] == 1.0
    assert "I am printing" not in "".join(capfd.readouterr())


def test_ctrl_c_works_while_an_fmu_hangs(wave: Path) -> None:
    run = [sys.executable, "-m", "mbdfmu", "simulate", "Wave.fmu", "-t", "1", "--dt", "0.01", "--set", "fault=3"]
    child = subprocess.Popen(
        [*run, "-o", "out.csv"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a run in the background ignores it
    )  # fmt: skip
    served = None
    while served is None:  # until the FMU has a process, which then hangs for 300 s
        time.sleep(0.2)
        found = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True).stdout.split()
        served = int(found[0]) if found else None
    time.sleep(4.0)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert float(Path("out.csv").read_text().splitlines()[-1].split(",")[0]) == pytest.approx(0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(served, 0)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("ends", ["crash", "hang", "interrupt", "killed"])
def test_no_unpacked_fmu_stays_behind(
    ends: str, hostile: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stayed wherever the process of the FMU did not end by itself."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("HOSTILE", "step:crash" if ends == "crash" else "step:hang")
    limit = 1.0 if ends == "hang" else 600.0
    code = f"import mbdfmu as m; m.fmu.simulate('Hostile.fmu', isolate=True, time_limit={limit})"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not list(folder.rglob("hostile.so")) and child.poll() is None:
        time.sleep(0.05)
    if ends in ("interrupt", "killed"):
        time.sleep(2.0)
        child.send_signal(signal.SIGINT if ends == "interrupt" else signal.SIGKILL)
    child.wait()
    for _ in range(100):  # the FMU's process looks once a second whether it is alone
        if not list(folder.iterdir()):
            return
        time.sleep(0.1)
    raise AssertionError(f"left behind: {[str(path) for path in folder.rglob('*')]}")


def test_an_fmu_ends_with_who_runs_it(wave: Path) -> None:
    code = f"import mbdfmu as m; m.fmu.simulate({str(wave)!r}, 1.0, 0.01, parameters={{'fault': 3.0}}, isolate=True)"
    child = subprocess.Popen([sys.executable, "-c", code])
    found: list[str] = []
    while not found:
        time.sleep(0.2)
        found = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True).stdout.split()
    time.sleep(3.0)
    child.kill()
    child.wait()
    for _ in range(50):
        time.sleep(0.2)
        if not Path(f"/proc/{found[0]}").exists():
            return
    raise AssertionError("the process of the FMU lives on")


def test_a_crash_of_model_exchange_keeps_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mbdfmu.fmi import remote

    fmu = mbd.models.load("slider_crank").export_fmu(tmp_path / "crank.fmu", interface="me2")
    asked = remote.Process.ask

    def killed(self: Any, doing: str, *question: Any, heard: Any, **more: Any) -> Any:
        def hear(row: Any) -> None:
            heard(row)
            if row[0] != "time" and row[0] > 0.1:
                self._child.kill()

        return asked(self, doing, *question, heard=hear, **more)

    monkeypatch.setattr(remote.Process, "ask", killed)
    with pytest.raises(mbd.StepFailed, match=r"crashed \(SIGKILL\) in integrate") as caught:
        mbd.fmu.simulate(fmu, 5.0, 0.001, isolate=True)
    assert 0.1 < caught.value.result.time[-1] < 5.0


@pytest.mark.parametrize("limit", [0, -1.0, "soon"])
def test_a_limit_is_a_time(limit: Any, wave: Path) -> None:
    with pytest.raises(mbd.ModelError, match="time_limit must be a positive number of seconds"):
        mbd.fmu.simulate(wave, 1.0, 0.01, time_limit=limit)
    done = command("simulate", wave, "-t", 1, "--no-isolate", "--time-limit", 3)
    assert done.exit_code == 2 and "leave out --no-isolate" in done.output
    done = command("simulate", "pendulum", "--isolate", "-t", 1)
    assert done.exit_code == 2 and "are for FMUs" in done.output


def test_a_run_begins_where_the_default_experiment_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fmu = build_hostile(tmp_path, edits={EXPERIMENT: 'startTime="2" stopTime="3" stepSize="0.1"'})

    def times(*words: object) -> list[float]:
        done = command("simulate", fmu, *words, "-o", "out.csv")
        assert done.exit_code == 0, done.output
        rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()[1:]]
        assert float(rows[-1][1]) == pytest.approx(np.sin(6 * float(rows[-1][0])))
        return [float(row[0]) for row in rows]

    assert (times()[0], times()[-1], len(times())) == (2.0, 3.0, 11)
    assert (times("--start", "2.5")[0], times("--start", "2.5")[-1]) == (2.5, 3.0)
    assert times("--start", "0", "-t", "1")[-1] == 1.0
    assert mbd.fmu.simulate(fmu).time[0] == 2.0
    with mbd.fmu.open(fmu) as simulation:
        assert simulation.time == 2.0
    for words, said in (
        (["--start", "4"], "t_end must lie behind the start at 4 s, found 3 s"),
        (["--start", "1", "--start", "2"], "an FMU begins at one time, found 1, 2"),
        (["--start", "soon"], "--start must be NAME=VALUE, or the time at which an FMU begins, found 'soon'"),
    ):
        done = command("simulate", fmu, *words)
        assert done.exit_code == 2 and said in done.output
    assert command("record", fmu, "--start", "2.5").exit_code == 0
    assert "StartTime, 2.5" in Path("Hostile_ref.opt").read_text()
    assert command("compare", fmu).exit_code == 0


def test_an_fmu_that_cannot_be_loaded_says_why_in_a_process_of_its_own_too(tmp_path: Path) -> None:
    mbd.models.load("pendulum").export_fmu(tmp_path / "whole.fmu")
    with zipfile.ZipFile(tmp_path / "whole.fmu") as whole, zipfile.ZipFile(tmp_path / "other.fmu", "w") as other:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "modelDescription.xml":
                content = re.sub(rb'guid="[^"]*"', b'guid="{another}"', content)
            other.writestr(name, content)
    said = []
    for isolate in (False, True):
        with pytest.raises(ModelError, match="cannot be loaded") as caught:
            mbd.fmu.simulate(tmp_path / "other.fmu", 0.1, isolate=isolate)
        said.append(str(caught.value))
    assert said[0] == said[1] and "Failed to instantiate" not in said[1]
