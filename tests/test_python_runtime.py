"""What pythonfmu's wrapper cannot do, a test for each row of the table in docs/fmu.md; and the traps that we keep shut.

When a test of a limit fails because a new pythonfmu has lifted it: be glad, and take the row out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmi_host import Host, begin, native_host, python_host, unpacked
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Discard
from fmu_instances import STEP, in_new_process, opened

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.fmi.instance import plain_folder

ROOT = Path(__file__).parents[1]
OK, DISCARD, ERROR = 0, 2, 3  # fmi2Status
linux = pytest.mark.skipif(sys.platform != "linux", reason="a fact of the Linux binary")
alone = pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="something else is preloaded, such as a sanitizer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fmu")


@pytest.fixture(scope="module")
def pendulum(folder: Path) -> Path:
    return mbd.models.load("pendulum").export_fmu(folder / "pendulum.fmu", runtime="python")


@pytest.fixture(scope="module")
def files(pendulum: Path, folder: Path) -> Path:
    return unpacked(pendulum, folder / "unpacked")


@pytest.fixture(scope="module")
def facts(pendulum: Path) -> Any:
    return mbd.fmu.info(pendulum)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return python_host(tmp_path_factory.mktemp("host"))


# ---------------------------------------------------------------- limits: where it runs


def test_a_host_without_mbdfmu_is_told_so(pendulum: Path) -> None:
    code = """
import sys, fmpy
sys.modules["mbdfmu"] = None  # as if it were not installed
fmpy.simulate_fmu(sys.argv[1], debug_logging=True)
"""
    done = in_new_process(code, pendulum)
    assert done.returncode == 1  # an exception of fmpy, not a crash
    assert "this FMU needs the Python package mbdfmu in the Python of its host" in done.stdout  # the FMI log of fmpy
    assert "this FMU needs the Python package mbdfmu in the Python of its host" in done.stderr  # without FMI log too


def test_there_are_binaries_for_linux64_and_win64_only(facts: Any) -> None:
    assert set(facts.platforms) == {"linux64", "win64"}


def test_the_linux_binary_needs_a_young_glibc_and_libstdcxx(files: Path) -> None:
    content = (files / "binaries" / "linux64" / "pendulum.so").read_bytes()
    for name, newest in ((b"GLIBC", (2, 32)), (b"GLIBCXX", (3, 4, 30))):
        versions = re.findall(name + rb"_(\d+(?:\.\d+)+)\0", content)
        assert max(tuple(map(int, version.split(b"."))) for version in versions) == newest


@linux
def test_a_host_without_python_must_load_libpython_first(files: Path, tmp_path: Path) -> None:
    refused = native_host(tmp_path).run("play", files, [*begin(), "free"])
    assert refused.code != 0
    assert re.search("undefined symbol: _?Py", refused.err)


@linux
@alone
def test_a_host_without_python_runs_it_with_libpython(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Path(sysconfig.get_config_var("LIBDIR")) / str(sysconfig.get_config_var("INSTSONAME"))
    if library.suffix == ".a" or not library.is_file():
        pytest.skip(f"this Python has no shared library: {library}")
    host = native_host(tmp_path)
    # As if the packages of the tests were installed in the Python of libpython.
    packages = sysconfig.get_paths()["purelib"]
    (tmp_path / "sitecustomize.py").write_text(f"import site; site.addsitedir({packages!r})")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", sys.base_prefix)
    calls = host.trace(files, [*begin(), "step 0 0.1", "getreal 0", "free"])  # and the process ends well
    assert [call.status for call in calls] == [OK] * 7
    assert calls[5].values == [0.1]


@pytest.mark.parametrize(
    ("where", "plain"), [("a b", True), ("a-b_c.d~e", True), ("ü", False), ("50%", False), ("(x)", False)]
)
def test_folders_that_crash_pythonfmu_are_known(
    where: str, plain: bool, pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / where
    folder.mkdir()
    assert plain_folder(folder) is plain
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    if plain:
        assert mbd.fmu.simulate(pendulum, 0.1, 0.1).complete
    else:
        with pytest.raises(mbd.ModelError, match="set the environment variable TMPDIR"):
            mbd.fmu.simulate(pendulum, 0.1, 0.1)


# ---------------------------------------------------------------- limits: what it cannot answer


def test_any_guid_is_accepted(host: Host, files: Path) -> None:
    calls = host.trace(files, ["instantiate guid=wrong", "free"])
    assert [call.status for call in calls] == [OK, OK]


def test_what_is_refused_is_answered_by_the_next_step(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        good = fmu.run(0, 5)
        fmu.put("torque", float("nan"))  # fmi2OK
        assert "'torque' must be a finite number" in fmu.said[-1]
        for _ in range(2):
            with pytest.raises(FMICallException) as refused:
                fmu.doStep(5 * STEP, STEP)
            assert refused.value.status == fmi2Discard
        assert "no step is made" in fmu.said[-1]
        assert fmu.look("time", "angle", "speed", "pull") == good
        fmu.reset()
        fmu.begin()
        assert fmu.run(0, 5) == good


def test_values_that_there_are_none_of_are_nan(host: Host, files: Path) -> None:
    script = [*begin(logging=1), "getreal 4294967295", "getinteger 0", "step 0 0.1", "free"]
    *_, real, integer, step, _ = host.trace(files, script)
    assert (real.status, np.isnan(real.values).all()) == (OK, True)
    assert "value reference 4294967295" in real.said
    assert (integer.status, integer.values) == (OK, [0.0])
    assert "is of type Real, not Integer" in integer.said
    assert step.status == OK


def test_a_failed_step_counts_as_terminated_for_ever(host: Host, files: Path) -> None:
    script = ["step 0 0.1", "step 7 0.1", "lasttime", "ended", "step 0.1 0.1", "ended", "reset", "ended", "free"]
    calls = host.trace(files, [*begin(), *script])[4:]
    assert [call.status for call in calls] == [OK, DISCARD, OK, OK, OK, OK, OK, OK, OK]
    assert calls[2].values == [7.0]  # not 0.1: it believes what the master says
    assert [calls[k].values for k in (3, 5, 7)] == [[1.0]] * 3


@pytest.mark.parametrize("call", ["slope 1 0 1", "rates 1 0", "derivative 0 0 1", "cancel"])
def test_functions_that_the_wrapper_does_not_have(call: str, host: Host, files: Path, facts: Any) -> None:
    assert host.trace(files, [*begin(), call, "free"])[4].status == ERROR
    assert not facts.capabilities["canInterpolateInputs"]
    assert not facts.capabilities["providesDirectionalDerivative"]


def test_inputs_are_held_during_a_step(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.put("torque", 2.0)
        fmu.doStep(0.0, 0.1)
        assert fmu.look("torque", "motor.torque") == [2.0, 2.0]


def test_a_freed_state_leaves_its_pointer(host: Host, files: Path) -> None:
    played = host.run("play", files, [*begin(), "save 1", "forget 1", "free"])
    assert "the pointer is left" in played.out


def test_damaged_states_are_refused_when_they_are_restored(host: Host, files: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    host.play(files, [*begin(), "step 0 0.1", "save 1", f"write 1 {state}", "free"])
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    script = [*begin(logging=1), "step 0 0.1", f"load 1 {state}", "restore 1", "getreal 0", "step 0.1 0.1", "free"]
    calls = host.trace(files, script)[4:]
    assert [call.status for call in calls[:5]] == [OK, OK, OK, OK, DISCARD]
    assert calls[2].said  # the refusal
    assert calls[3].values == [0.1]


def test_the_log_is_silent_unless_it_is_asked_for(host: Host, files: Path) -> None:
    for script, heard in ((begin(), False), ([*begin(), "debug 1"], True), ([*begin(), "debug 1 logEvents"], False)):
        call = host.trace(files, [*script, "step 7 0.1", "free"])[-2]
        assert (call.status, bool(call.said)) == (DISCARD, heard), script


def test_failures_that_nobody_hears_reach_the_error_output_once(host: Host, files: Path) -> None:
    script = ["instantiate", "setup 0", "real 1 -1", "real 1 -2", "enter", "exit", "step 0 0.1"]
    played = host.run("trace", files, script)
    assert played.err.count("'length' must lie in") == 1, played.err


@linux
@alone
def test_an_instance_leaves_some_kilobytes_behind(
    host: Host, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [*begin(), "free"]
    monkeypatch.setenv("PYTHONMALLOC", "malloc")  # so that the host sees what Python holds
    counted = host.run("cycles", files, script, 100).counted
    # The wrapper leaves the texts that it has looked for classes by, and the code of the script that it has compiled.
    assert 1_000 < counted["bytes a cycle"] < 30_000
    assert counted["files before"] == counted["files after"]


def test_threads_take_turns_and_get_the_right_numbers(host: Host, files: Path) -> None:
    script = [*begin(), *(f"step {0.01 * k!r} 0.01" for k in range(50)), "getreal 0 1 2 3", "free"]
    assert host.run("threads", files, script, 4).counted == {"threads": 4, "different": 0}


@pytest.mark.parametrize("interface", ["cs3", "me2"])
def test_there_is_fmi_2_co_simulation_only(interface: str, tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match=interface):
        mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", runtime="python", interface=interface)


def calling(body: str, folder: Path) -> Path:
    """An FMU of a state that moves as a function in Python says."""
    (folder / "laws.py").write_text(f"calls = []\n\n\ndef law(t, y, p):\n{body}\n", encoding="utf-8")
    model = {
        "format_version": 1, "name": "called", "callbacks": {"law": {"python": "laws:law", "inputs": ["x"]}},
        "states": {"x": {"rate": "law", "start": 1}},
    }  # fmt: skip
    (folder / "called.json").write_text(json.dumps(model))
    loaded = mbd.Model.load(folder / "called.json", allow_python=True)
    return loaded.export_fmu(folder / "called.fmu", runtime="python")


STOP_ONCE = """
    if t > 0.25 and not calls:
        calls.append(t)
        raise KeyboardInterrupt
    return -y[0]
"""


def test_ctrl_c_ends_a_run_of_ours_and_is_a_failed_step_to_others(tmp_path: Path) -> None:
    path = calling(STOP_ONCE, tmp_path)
    with pytest.raises(mbd.Interrupted, match=r"interrupted at t = 0\.2") as caught:
        mbd.fmu.simulate(path, 1.0, 0.1)
    assert not caught.value.result.complete
    with pytest.raises(SystemExit, match="130"):
        main(["simulate", str(path), "-t", "1", "--dt", "0.1", "-o", str(tmp_path / "x.csv"), "--no-isolate"])
    with opened(path) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.2)
        with pytest.raises(FMICallException):
            fmu.doStep(0.2, 0.2)
        assert "interrupted" in "\n".join(fmu.said)


# ---------------------------------------------------------------- traps that stay shut


def test_hundreds_of_failures_do_not_crash(pendulum: Path, files: Path, counts: Callable[..., int]) -> None:
    code = """
import gc, sys
from pathlib import Path
from fmpy.fmi1 import FMICallException
from fmu_instances import opened
folder = Path(sys.argv[2])
for k in range(int(sys.argv[3])):
    with opened(Path(sys.argv[1]), folder) as fmu:
        fmu.begin(length=-1.0)
        try:
            fmu.doStep(0.0, 0.1)
            sys.exit("the failure went unnoticed")
        except FMICallException:
            pass
        fmu.reset()
        fmu.begin()
        fmu.doStep(0.0, 0.1)
    gc.collect()
print("alive")
"""
    count = counts(300, 0.1)
    done = in_new_process(_with_tests(code), pendulum, files, count)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]
    assert done.stderr.count("'length' must lie in") == count  # told where the host shows no FMI log, once


def test_files_of_before_are_refused_with_the_cure(pendulum: Path, tmp_path: Path) -> None:
    old = tmp_path / "x.fmu"
    with zipfile.ZipFile(pendulum) as new, zipfile.ZipFile(old, "w") as archive:
        for name in new.namelist():
            if not name.endswith("interface.mbd"):
                archive.writestr(name, new.read(name))
    with pytest.raises(mbd.ModelError, match=r"'interface\.mbd' is missing .*; export .* again, or use the mbdfmu"):
        mbd.fmu.simulate(old, 1.0, 0.1)


def test_instances_that_cannot_be_made_do_not_crash(pendulum: Path, tmp_path: Path) -> None:
    broken = tmp_path / "x.fmu"
    with zipfile.ZipFile(pendulum) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[:-5] if name.endswith("model.mbd") else content)
    code = """
import gc, sys, fmpy
folder = fmpy.extract(sys.argv[1], sys.argv[2])
description = fmpy.read_model_description(folder)
for k in range(100):
    try:
        fmpy.instantiate_fmu(folder, description, "CoSimulation")
        sys.exit("the failure went unnoticed")
    except Exception as error:
        assert "instantiate" in str(error), error
    gc.collect()
print("alive")
"""
    done = in_new_process(code, broken, tmp_path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]
    assert done.stderr.count("length does not match") == 100


def test_hundreds_of_instances_in_a_row_do_not_crash(
    pendulum: Path, files: Path, counts: Callable[..., int]
) -> None:
    code = """
import gc, sys
from pathlib import Path
from fmu_instances import opened
for k in range(int(sys.argv[3])):
    with opened(Path(sys.argv[1]), Path(sys.argv[2])) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.1)
    gc.collect()
assert len([p for p in sys.path if p.endswith("resources")]) == 1
assert not sys.path[0].endswith("resources")
print("alive")
"""
    done = in_new_process(_with_tests(code), pendulum, files, counts(200, 0.1))
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_messages_may_hold_anything(tmp_path: Path) -> None:
    path = calling('    if t > 0: raise ValueError("100%s%n \\udcff ü")\n    return -y[0]', tmp_path)
    with opened(path) as fmu:
        fmu.begin()
        with pytest.raises(FMICallException):
            fmu.doStep(0.0, 0.1)
        said = "\n".join(fmu.said)
        assert "Traceback" in said
        assert "100%s%n ? ü" in said


@linux
def test_a_host_that_does_not_unload_the_library_ends_well(pendulum: Path, files: Path) -> None:
    code = """
import sys
from pathlib import Path
from fmu_instances import opened
with opened(Path(sys.argv[1]), Path(sys.argv[2])) as fmu:
    fmu.freeLibrary = lambda: None
    fmu.begin()
"""
    done = in_new_process(_with_tests(code), pendulum, files)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reset_without_files_does_not_crash(pendulum: Path, tmp_path: Path) -> None:
    unpacked(pendulum, tmp_path)
    code = """
import shutil, sys
from pathlib import Path
from fmpy.fmi1 import FMICallException
from fmu_instances import opened
with opened(Path(sys.argv[1]), Path(sys.argv[2])) as fmu:
    fmu.begin()
    (Path(sys.argv[2]) / "resources" / "model.mbd").unlink()
    fmu.reset()
    fmu.begin()
    try:
        fmu.doStep(0.0, 0.1)
    except FMICallException:
        print("refused")
"""
    done = in_new_process(_with_tests(code), pendulum, tmp_path)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def _with_tests(code: str) -> str:
    return f"import sys; sys.path.insert(1, {str(Path(__file__).parent)!r})\n{code}"


def test_every_row_of_the_table_names_its_test() -> None:
    text = (ROOT / "docs" / "fmu.md").read_text(encoding="utf-8")
    section = text.partition("## Limits of the Python runtime\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][2:]
    named = [re.findall(r"`(test_\w+)`", row[3]) for row in rows]
    assert rows
    assert all(named), [row[1] for row, tests in zip(rows, named, strict=True) if not tests]
    assert {test for tests in named for test in tests} <= set(globals())
