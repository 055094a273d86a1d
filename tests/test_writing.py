"""Files that are written whole or not at all: full disks, kills on the way, what reaches the disk and when."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu import files
from mbdfmu.cli import main
from mbdfmu.files import atomic

FULL = os.strerror(errno.ENOSPC)
NEGATIVE = 1
INERTIA = "<mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
URDF = f"<robot name='stone'><link name='stone'><inertial>{INERTIA}</inertial></link></robot>"
posix = pytest.mark.skipif(os.name != "posix", reason="devices and limits of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on the disk is full."""

    def sync(path: Path) -> None:
        raise OSError(errno.ENOSPC, FULL)

    return lambda: monkeypatch.setattr(files, "_sync", sync)


def run(command: str) -> tuple[int, str]:
    """The exit code and what is said."""
    result = CliRunner().invoke(main, shlex.split(command), prog_name="mbdfmu", catch_exceptions=False)
    return result.exit_code, result.output


def command(text: str) -> list[str]:
    return [sys.executable, "-m", "mbdfmu", *shlex.split(text)]


# ---------------------------------------------------------------- full disks


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("simulate pendulum -t 0.1 -o out.csv", "out.csv"),
        ("simulate pendulum -t 0.1 -o out.h5", "out.h5"),
        ("simulate pendulum -t 0.1 -o out.mat", "out.mat"),
        ("simulate pendulum -t 0.1 --plot", "pendulum.png"),
        ("equilibrium pendulum -o rest.json", "rest.json"),
        ("linearize cart_pendulum -o cart.json", "cart.json"),
        ("linearize cart_pendulum -o cart.mat", "cart.mat"),
        ("kinematics stewart -t 0.1 --dt 0.05 -o legs.csv", "legs.csv"),
        ("inverse-dynamics pendulum --motion run.csv --actuator torque -o forces.csv", "forces.csv"),
        ("plot run.csv -o run.png", "run.png"),
        ("animate run.csv --model pendulum -o page.html", "page.html"),
        ("animate run.csv --model pendulum --gltf scene.glb", "scene.glb"),
        ("export-fmu pendulum -o pendulum.fmu", "pendulum.fmu"),
        ("export-fmu skyhook -o skyhook.fmu", "skyhook.fmu"),
        ("export-modelica pendulum -o pendulum.mo", "pendulum.mo"),
        ("import stone.urdf -o stone.json", "stone.json"),
        ("record wave.fmu -t 0.1", "wave_ref.opt"),
        ("compare wave.fmu --html report.html", "report.html"),
        ("cosim system.json -t 0.1 --step 0.05 -o out.csv", "out.csv"),
        ("demo", "mbdfmu-demo"),
        ("reproduce wu00.table2 --plot figures", "figures"),
    ],
)  # fmt: skip
def test_every_verb_names_the_file_for_which_the_disk_is_full(
    text: str, target: str, full: Callable[[], None]
) -> None:
    if "run.csv" in text:
        mbd.models.load("pendulum").simulate(0.1, 0.01, record="*").to_csv("run.csv")
    if "wave" in text or "cosim" in text:
        mbd.models.load("pendulum").export_fmu("wave.fmu")
    if "compare" in text:
        assert run("record wave.fmu -t 0.1")[0] == 0
    system = {"format_version": 1, "name": "one", "fmus": {"wave": {"fmu": "wave.fmu"}}, "couplings": {}}
    Path("system.json").write_text(json.dumps(system))
    Path("stone.urdf").write_text(URDF)
    full()
    code, said = run(text)
    assert code == NEGATIVE, said
    complaint = next(line for line in said.splitlines() if line.startswith("Error: "))
    assert complaint.startswith(f"Error: {target}") and complaint.endswith(f": {FULL}")
    assert not list(Path().rglob(".*"))


@posix
@pytest.mark.parametrize("name", ["out.csv", "out.h5", "out.mat", "out.png", "out.pdf", "out.svg"])
def test_a_file_that_grows_too_large_is_named_and_the_process_lives(name: str) -> None:
    """HDF5 ended it by a segmentation fault as it closed the file, and zlib spoke of its own state."""
    code = f"""
import resource, numpy as np, mbdfmu as mbd
result = mbd.Result(np.arange(2000.0), {{f"x{{k}}": np.random.rand(2000) for k in range(20)}})
result.plot("x1", path="before.png")  # what matplotlib makes for itself
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    result.plot("x1", "x2", path={name!r}) if {name[-3:]!r} in ("png", "pdf", "svg") else result.write({name!r})
except OSError as error:
    print(error.filename, error.errno, end="")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{name} {errno.EFBIG}"), done.stderr
    assert [path.name for path in Path().iterdir()] == ["before.png"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device of Linux")
@pytest.mark.parametrize("text", ["schema", "--help", "--version", "list models", "simulate pendulum -t 0.1"])
def test_what_cannot_be_printed_is_no_success(text: str) -> None:
    with open("/dev/full", "w") as device:
        done = subprocess.run(command(text), stdout=device, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (NEGATIVE, f"Error: standard output: {FULL}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device of Linux")
def test_errors_keep_their_code_where_they_cannot_be_printed() -> None:
    with open("/dev/full", "w") as device:
        assert subprocess.run(command("check nowhere"), stderr=device).returncode == 2


def test_a_disk_too_full_to_unpack_an_fmu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    mbd.models.load("pendulum").export_fmu("pendulum.fmu")

    def extractall(self: zipfile.ZipFile, path: str) -> None:
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(zipfile.ZipFile, "extractall", extractall)
    code, said = run("simulate pendulum.fmu -t 0.1 --no-isolate")
    assert code == NEGATIVE and f"{FULL} to unpack" in said and "pendulum.fmu" in said


# ---------------------------------------------------------------- kills and losses of power


def test_what_gets_its_name_is_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("rename"), replace(old, new)))
    with atomic("out.txt") as temporary:
        temporary.write_text("whole")
    assert done[:2] == ["sync", "rename"]
    assert Path("out.txt").read_text() == "whole"


@posix
def test_what_a_killed_writer_has_left_goes_with_the_next_one() -> None:
    code = """
import time
from mbdfmu.files import atomic
with atomic("out.csv") as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(300)
"""
    writers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    writers[0].kill()
    writers[0].wait()
    Path(".out.notes.csv").write_text("of somebody else")
    before = {path.name for path in Path().iterdir()}
    mbd.Result(np.zeros(1), {}).to_csv("out.csv")
    after = {path.name for path in Path().iterdir()}
    assert len(before) == 3 and after >= {"out.csv", ".out.notes.csv"}
    assert len(after) == 3, "who still writes keeps the file"
    writers[1].send_signal(signal.SIGKILL)
    writers[1].wait()
    mbd.Result(np.zeros(1), {}).to_csv("out.csv")
    assert {path.name for path in Path().iterdir()} == {"out.csv", ".out.notes.csv"}
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
