"""Native FMUs in any number and place: instances leak nothing and know nothing of each other, folders may be called
anything, and nothing is printed or left behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import fmpy
import pytest
from fmi_host import SUFFIX, Host, begin, native_host, unpacked

import mbdfmu as mbd

STEP = 0.005  # s
# Where `make sanitize-threads` has built the library with the thread sanitizer; the host is then built so, too.
SANITIZED = os.environ.get("MBDFMU_THREAD_SANITIZED", "")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return native_host(tmp_path_factory.mktemp("host"), *(["-fsanitize=thread", "-g"] if SANITIZED else []))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mbd.models.load("slider_crank").export_fmu(tmp_path_factory.mktemp("fmu") / "x.fmu", runtime="native")


@pytest.fixture(scope="module")
def folder(exported: Path) -> Path:
    folder = unpacked(exported, exported.parent / "unpacked")
    if SANITIZED:
        (library,) = (folder / "binaries" / fmpy.platform).glob(f"*{SUFFIX}")
        library.write_bytes(Path(SANITIZED).read_bytes())
    return folder


@pytest.fixture(scope="module")
def look(exported: Path) -> str:
    names = (v.reference for v in mbd.fmu.info(exported).variables if v.type == "Real" and v.causality == "local")
    return "getreal " + " ".join(map(str, names))


def a_run(look: str, count: int) -> list[str]:
    """Calls of a whole life."""
    lines = begin(stop=1e3, tolerance=1e-6)
    for k in range(count):
        lines += [f"step {k * STEP!r} {STEP!r}", *([look] if k % 100 == 0 else [])]
    return [*lines, "save 1", "restore 1", "forget 1", look, "terminate", "free"]


def test_instances_leave_no_memory_and_no_open_file(host: Host, folder: Path, counts: Callable[..., int]) -> None:
    numbers = host.run("cycles", folder, ["instantiate", "free"], counts(100_000, 0.005), seconds=600).counted
    assert numbers["bytes a cycle"] < 100  # where resident pages are counted, the allocator keeps some
    assert numbers["files before"] == numbers["files after"]


def test_loading_and_unloading_leaves_nothing(host: Host, folder: Path, counts: Callable[..., int]) -> None:
    numbers = host.run("loads", folder, ["instantiate", "free"], counts(5000), seconds=600).counted
    assert numbers["bytes a cycle"] < 100  # a C++ library of its own would keep 73 kB
    assert numbers["files before"] == numbers["files after"]


def test_runs_leave_no_memory_and_no_open_file(host: Host, folder: Path, look: str, counts: Callable[..., int]) -> None:
    script = [*begin(), "step 0 0.01", "save 1", "restore 1", look, "reset", "free"]
    numbers = host.run("cycles", folder, script, counts(10_000, 0.1), seconds=600).counted
    assert numbers["bytes a cycle"] < 100
    assert numbers["files before"] == numbers["files after"]


def test_threads_with_own_instances_give_what_one_gives(
    host: Host, folder: Path, look: str, counts: Callable[..., int]
) -> None:
    played = host.run("threads", folder, a_run(look, counts(2000, 0.1)), counts(32, 0.25), seconds=600)
    assert (played.code, played.err) == (0, "")  # the thread sanitizer tells its findings there
    assert played.counted["different"] == 0


@pytest.mark.parametrize(
    "name", ["plain", "a b", "größer", "50%", "100%25", "#1", "a+b", "(x) [y] {z}", "it's; &co", "日本"]
)
def test_folders_may_be_called_anything(host: Host, exported: Path, look: str, name: str, tmp_path: Path) -> None:
    folder = unpacked(exported, tmp_path / name)
    reference = unpacked(exported, tmp_path / "reference")
    script = a_run(look, 3)
    assert host.play(folder, script).out == host.play(reference, script).out


@pytest.mark.parametrize("start", ["", "file:", "file://", "file://localhost"])
def test_importers_that_encode_nothing_are_understood(host: Host, exported: Path, start: str, tmp_path: Path) -> None:
    folder = unpacked(exported, tmp_path / "a#b50%25ü")
    calls = host.trace(folder, [f"instantiate resources={start}{folder / 'resources'}", "free"])
    assert [c.status for c in calls] == [0, 0], calls


def test_nothing_is_printed_and_no_file_is_written(
    host: Host, folder: Path, look: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    for variable in ("TMPDIR", "TEMP", "TMP", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    script = [line for line in a_run(look, 50) if not line.startswith("getreal")]
    played = host.run("play", folder, script)
    assert (played.code, played.out, played.err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
