"""FMUs as their users meet them: files, `mbd.fmu.simulate` and `mbd.fmu.info`; the same of both runtimes."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu_instances import RUNTIMES, STEP, blow_up, first_rows, held_torque, in_new_process

import mbdfmu as mbd


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def pendulum(runtime: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mbd.models.load("pendulum").export_fmu(tmp_path_factory.mktemp("fmu") / "pendulum.fmu", runtime=runtime)


@pytest.fixture(scope="module")
def facts(pendulum: Path) -> Any:
    return mbd.fmu.info(pendulum)


# ---------------------------------------------------------------- the archive


def test_date_is_that_of_source_date_epoch(
    facts: Any, runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert facts.generation_date == "1980-01-01T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    path = mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", runtime=runtime)
    assert mbd.fmu.info(path).generation_date == "2026-09-21T14:13:20Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(mbd.ModelError, match="SOURCE_DATE_EPOCH must be a whole number"):
        mbd.models.load("pendulum").export_fmu(path, runtime=runtime)


def test_export_leaves_no_trace_in_the_process(tmp_path: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", runtime="python")
    assert sys.path == path
    assert not [m for m in set(sys.modules) - modules if m.startswith("m_")]


def test_failed_export_leaves_the_old_file(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.fmu"
    path.write_text("old")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    with pytest.raises(mbd.ModelError):
        mbd.models.load("pendulum").export_fmu(path, runtime=runtime)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- equal to the model


def test_harness_gives_bitwise_what_the_model_gives(pendulum: Path) -> None:
    model = mbd.models.load("pendulum")
    arguments: dict[str, Any] = {
        "inputs": {"torque": held_torque()},
        "interpolation": "hold",
        "parameters": {"length": 0.7},
    }
    expected, got = model.simulate(1.0, STEP, **arguments), mbd.fmu.simulate(pendulum, 1.0, STEP, **arguments)
    assert np.array_equal(got.time, expected.time)
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name]), name
    assert got.units == {name: expected.unit(name) for name in got.columns}
    assert got.complete


# ---------------------------------------------------------------- the harness


def test_inputs_of_the_harness_follow_a_curve(runtime: str, pendulum: Path) -> None:
    t, u = np.array([0.0, 1.0]), np.array([0.0, 3.0])
    got = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs={"torque": (t, u)})
    assert got["torque"] == pytest.approx(3.0 * got.time)  # what was asked for
    interpolation = {"native": "linear", "python": "hold"}[runtime]  # pythonfmu knows no derivatives of inputs
    expected = mbd.models.load("pendulum").simulate(
        1.0, 0.1, inputs={"torque": (got.time, 3.0 * got.time)}, interpolation=interpolation
    )
    rows, times = first_rows(expected), first_rows(got)
    assert got["angle"][times] == pytest.approx(expected["angle"][rows], abs=1e-9)  # slopes come from rounded times


def test_inputs_of_the_harness_come_from_files_and_functions(pendulum: Path, tmp_path: Path) -> None:
    file = tmp_path / "u.csv"
    file.write_text("time,torque [N.m]\n0,0\n1,3\n")
    by_file = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs=file)
    by_function = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs=lambda t: {"torque": 3.0 * t})
    assert by_function["angle"] == pytest.approx(by_file["angle"], abs=1e-9)  # slopes come from rounded times


def test_recording_takes_patterns(pendulum: Path) -> None:
    assert set(mbd.fmu.simulate(pendulum, 0.1, 0.1, record=["bar.v?", "pull"]).columns) == {"bar.vx", "bar.vy", "pull"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": {"lenght": 1.0}}, "has no parameter 'lenght'; did you mean 'length'"),
        ({"parameters": {"length": "long"}}, "'length' must be a number, found 'long'"),
        ({"parameters": {"angle": 1.0}}, "'angle' is output of type Real and cannot be set"),
        ({"start": {"bar.fi": 1.0}}, "has no start value 'bar.fi'; did you mean 'bar.phi'"),
        ({"start": {"bar.phi": 1.0}}, "'bar.phi.start' is calculatedParameter of type Real and cannot be set"),
        ({"inputs": {"torqe": ([0], [0])}}, "no input 'torqe'; did you mean 'torque'"),
        ({"record": "anlge"}, "has no variable 'anlge'; did you mean 'angle'"),
        ({"t_end": -1.0}, "t_end must lie behind the start at 0 s, found -1 s"),
    ],
)
def test_the_harness_refuses(arguments: dict[str, Any], message: str, pendulum: Path) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        mbd.fmu.simulate(pendulum, **{"t_end": 1.0, **arguments})


def test_a_failing_run_keeps_what_there_is(runtime: str, tmp_path: Path) -> None:
    path = blow_up().export_fmu(tmp_path / "x.fmu", runtime=runtime)
    with pytest.raises(mbd.StepFailed, match=r"FMU 'blow_up' gave up at t = .* smallest allowed") as failed:
        mbd.fmu.simulate(path, 100.0, 0.1)
    result = failed.value.result
    assert not result.complete
    assert 0 < result.time[-1] < 100
    assert np.isfinite(result["x"]).all()


def test_files_that_are_no_fmus_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match="there is no such file"):
        mbd.fmu.info(tmp_path / "x.fmu")
    (tmp_path / "x.fmu").write_text("no zip")
    with pytest.raises(mbd.ModelError, match="cannot be read as an FMU"):
        mbd.fmu.simulate(tmp_path / "x.fmu")
    with pytest.raises(mbd.ModelError, match="is a folder; name an FMU"):
        mbd.fmu.info(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<fmiModelDescription fmiVersion="2.0" modelName="x" guid="x"/>', "Missing child element"),
        ("<html/>", "modelDescription.xml: it is not as FMI wants it"),
        ("<html", "cannot be read as an FMU"),
    ],
)
def test_a_description_that_cannot_be_read_says_what_is_wrong_with_it(text: str, message: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", text)
    with pytest.raises(mbd.ModelError, match=message):
        mbd.fmu.info(tmp_path / "x.fmu")


@pytest.mark.parametrize("start", ["", "soon"])
def test_a_start_value_that_is_no_number_is_refused(start: str, pendulum: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "x.fmu"
    with zipfile.ZipFile(pendulum) as good, zipfile.ZipFile(damaged, "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name == "modelDescription.xml":
                content = re.sub(
                    rb'(name="length".*?start=)"[^"]*"', rb'\1"%s"' % start.encode(), content, flags=re.DOTALL
                )
            bad.writestr(name, content)
    with pytest.raises(mbd.ModelError, match=f"'length' of type Real cannot start at '{start}'"):
        mbd.fmu.info(damaged)


def test_the_path_of_the_fmu_itself_may_hold_anything(pendulum: Path, tmp_path: Path) -> None:
    odd = tmp_path / "50% (größer) #1.fmu"
    odd.write_bytes(pendulum.read_bytes())
    assert mbd.fmu.simulate(odd, 0.1, 0.1).complete


def test_info_tells_what_is_in_the_file(runtime: str, facts: Any) -> None:
    assert (facts.name, facts.fmi_version, facts.kinds) == ("pendulum", "2.0", ("co-simulation",))
    assert facts.runtime == runtime
    assert facts.platforms
    assert facts.capabilities["canGetAndSetFMUstate"]
    assert not facts.capabilities["needsExecutionTool"]
    length = facts.variable("length")
    assert (length.start, length.minimum, length.unit, length.causality) == (1.0, 0.001, "m", "parameter")
    assert [v.name for v in facts.signals("hinge.angle*")] == ["hinge.angle", "hinge.angle_rate"]


# ---------------------------------------------------------------- what is loaded when


def test_the_slave_loads_neither_pydantic_nor_click_nor_h5py(tmp_path: Path) -> None:
    heavy = "{'pydantic', 'click', 'h5py', 'scipy', 'lxml'}"
    done = in_new_process(f"import sys, mbdfmu.fmi.python_slave; print(*({heavy} & set(sys.modules)))")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_the_room_loads_no_fmi_library(tmp_path: Path) -> None:
    code = "import sys, mbdfmu.fmi; mbdfmu.fmu; print(*({'fmpy', 'pythonfmu', 'lxml'} & set(sys.modules)))"
    done = in_new_process(code)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
