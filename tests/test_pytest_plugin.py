"""A folder of FMUs as a pytest suite, met as users meet it: another pytest in another process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fmu_suite import Fault, build, write_reference


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wave"))


@pytest.fixture
def suite(built: Path, tmp_path: Path) -> Path:
    """A project: a test of its own, and a folder with one FMU that is right and one that gives up."""
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    (tmp_path / "fmus").mkdir()
    for name, fault in (("right", 0), ("faulty", Fault.DISCARD)):
        write_reference(Path(shutil.copy(built, tmp_path / "fmus" / f"{name}.fmu")), fault=fault)
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_a_folder_is_a_suite(suite: Path) -> None:
    code, text = run(suite, "--fmus", "fmus")
    assert code == 1
    assert "1 failed, 1 passed" in text
    assert "test_own" not in text
    assert "PASSED fmus/right.fmu::co-simulation" in text
    assert "faulty.fmu: FAILED" in text
    assert "the result's run ended early: FMU 'Wave' gave up at t = 0.5 s" in text
    assert "Traceback" not in text


def test_without_being_asked_it_does_nothing(suite: Path) -> None:
    code, text = run(suite)
    assert code == 0
    assert "1 passed" in text
    assert ".fmu" not in text


@pytest.mark.nightly
def test_a_project_may_ask_for_it_once_and_choose_by_name_and_marker(suite: Path) -> None:
    (suite / "pytest.ini").write_text("[pytest]\nfmu_collect = true\naddopts = --strict-markers\n")
    assert "3 tests collected" in run(suite, "--collect-only")[1]
    assert "1 passed, 2 deselected" in run(suite, "-k", "right")[1]
    assert "1/3 tests collected" in run(suite, "-m", "not fmu", "--collect-only")[1]


@pytest.mark.nightly
def test_workers_share_the_fmus(suite: Path) -> None:
    code, text = run(suite, "--fmus", "fmus", "-n", "2")
    assert code == 1
    assert "1 failed, 1 passed" in text


@pytest.mark.nightly
def test_a_crashing_fmu_fails_its_test_only(suite: Path, built: Path) -> None:
    write_reference(Path(shutil.copy(built, suite / "fmus" / "crashing.fmu")), fault=Fault.CRASH)
    code, text = run(suite, "--fmus", "fmus", "--fmu-isolate")
    assert code == 1
    assert "2 failed, 1 passed" in text
    assert "crashed (SIGSEGV)" in text


@pytest.mark.nightly
def test_an_endless_fmu_is_stopped(suite: Path, built: Path) -> None:
    write_reference(Path(shutil.copy(built, suite / "endless.fmu")), fault=Fault.ENDLESS)
    code, text = run(suite, "--fmus", "endless.fmu", "--fmu-time-limit", "3")
    assert code == 1
    assert "1 failed" in text
    assert "within the 3 s of its run and was stopped" in text


@pytest.mark.nightly
def test_an_fmu_without_reference_and_a_broken_file_fail_their_tests_only(suite: Path, built: Path) -> None:
    shutil.copy(built, suite / "fmus" / "alone.fmu")
    (suite / "fmus" / "broken.fmu").write_text("no archive")
    code, text = run(suite, "--fmus", "fmus")
    assert code == 1
    assert "3 failed, 1 passed" in text
    assert "nothing says what it should compute" in text
    assert "cannot be read as an FMU" in text


def test_a_folder_that_is_not_there_is_wrong_use(suite: Path) -> None:
    code, text = run(suite, "--fmus", "fnus")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--fmus fnus: there is no such file or folder" in text


def test_the_plugin_loads_nothing_before_an_fmu_is_met(suite: Path) -> None:
    (suite / "test_own.py").write_text(
        "import sys\n\n\ndef test_own():\n"
        "    heavy = {'scipy', 'h5py', 'fmpy', 'pythonfmu', 'lxml', 'numpy', 'mbdfmu._solver'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    code, text = run(suite)
    assert code == 0, text
