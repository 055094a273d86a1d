"""FMUs against references: what is wrong fails and is named, what is right passes, and a crash is a finding."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fmu_instances import shipped
from fmu_suite import STEP, TIMES, Fault, build, write_reference
from fmu_suite import reference as right

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.fmi.references import table_csv
from mbdfmu.regression import Terms, Verdict, cases, judge, record, write_report
from mbdfmu.regression.references import find
from mbdfmu.regression.story import Conditions
from mbdfmu.results import Result

ISOLATED = partial(mbd.fmu.simulate, isolate=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wave"))


@pytest.fixture
def wave(built: Path, tmp_path: Path) -> Path:
    """A copy with its right reference."""
    fmu = Path(shutil.copy(built, tmp_path))
    write_reference(fmu)
    return fmu


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mbd.models.load("pendulum").export_fmu(tmp_path_factory.mktemp("fmu") / "pendulum.fmu")


def verdict(fmu: Path, **terms: Any) -> Verdict:
    (case,) = cases(fmu)
    return judge(case, Terms(**terms))


# ---------------------------------------------------------------- what must fail


def changed(change: Callable[[Any, Any], Any]) -> Result:
    result = right()
    return Result(result.time, {"y": change(result.time, result["y"].copy())})


def with_nan(t: Any, y: Any) -> Any:
    y[50] = np.nan
    return y


MUTATIONS = {
    "offset of 9.5 %": (changed(lambda t, y: y + 0.095 * np.ptp(y)), "y: at t = "),
    "scaled by 2 %": (changed(lambda t, y: 1.02 * y), "y: at t = "),
    "shifted by 2 %": (changed(lambda t, y: np.interp(t + 0.02, t, y)), "y: at t = "),
    "spike": (changed(lambda t, y: y + 0.2 * np.isclose(t, 0.7)), "y: at t = 0.7 s"),
    "not a number": (changed(with_nan), "y: at t = 0.5 s"),
    "shorter": (Result(TIMES[:60], {"y": right()["y"][:60]}), "the reference ends at t = 0.59 s, its options say 1 s"),
    "late": (Result(TIMES[9:], {"y": right()["y"][9:]}), "the reference starts at t = 0.09 s, its options say 0 s"),
    "missing signal": (Result(TIMES, {**right().columns, "w": TIMES}), "missing in the result: w"),
}


@pytest.mark.parametrize(("mutant", "message"), MUTATIONS.values(), ids=MUTATIONS)
def test_a_mutated_reference_fails_and_the_culprit_is_named(mutant: Result, message: str, wave: Path) -> None:
    write_reference(wave, mutant)
    found = verdict(wave)
    assert not found.passed
    assert message in found.report()
    assert found.report().startswith("Wave.fmu: FAILED")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault.DISCARD, "the result's run ended early: FMU 'Wave' gave up at t = 0.5 s"),
        (Fault.WILD_OUTPUT, "the result's run ended early: FMU 'Wave' gave out nan for 'z' at t = 0.51 s"),
        (Fault.ALL_NAN, "the result's run ended early: FMU 'Wave' gave out nan for 'y' at t = 0.01 s"),
    ],
)
def test_an_fmu_that_misbehaves_fails(fault: float, message: str, wave: Path) -> None:
    write_reference(wave, fault=fault)
    found = verdict(wave)
    assert not found.passed
    assert message in found.report()


def test_an_fmu_that_ends_too_early_fails_by_the_end_that_was_wanted(wave: Path) -> None:
    write_reference(wave, end=2.0)
    assert "the reference ends at t = 1 s, its options say 2 s" in verdict(wave).report()


def test_an_fmu_without_a_reference_fails_and_says_how_to_make_one(built: Path) -> None:
    found = verdict(built)
    assert not found.passed
    assert "nothing says what it should compute" in found.report()
    assert f"mbdfmu record {built}" in found.report()


def test_the_cure_can_be_pasted_where_the_path_has_blanks(tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match=re.escape(f"mbdfmu record '{tmp_path}/a b.fmu'")):
        find(tmp_path / "a b.fmu", tmp_path)


def test_a_file_that_is_no_fmu_fails(wave: Path) -> None:
    wave.write_text("no archive")
    assert "cannot be read as an FMU" in verdict(wave).report()


# ---------------------------------------------------------------- what must pass


def test_a_right_fmu_passes_and_says_what_is_nearest_to_its_limit(wave: Path) -> None:
    found = verdict(wave)
    assert found.passed, found.report()
    assert "1 signal is inside the tube" in found.report()
    assert found.notes == ()


def test_warnings_are_told_once_and_fail_nothing(wave: Path) -> None:
    write_reference(wave, fault=Fault.WARNING)
    found = verdict(wave)
    assert found.passed, found.report()
    assert found.notes == ("warning: the oil is hot",)


def test_a_run_that_the_user_interrupts_has_no_verdict(wave: Path) -> None:
    def interrupted(*_: Any, **given: Any) -> Result:
        return Result([0.0], {"y": [0.0]}, complete=False, message="interrupted at t = 0 s of 1 s")

    with pytest.raises(KeyboardInterrupt):
        judge(cases(wave)[0], run=interrupted)


def test_a_reference_at_rest_passes_with_a_note(wave: Path) -> None:
    write_reference(wave, Result([0.0, STEP], {"u": [0.0, 0.0]}), end=STEP)
    found = verdict(wave)
    assert found.passed, found.report()
    assert "nothing moves in the reference" in found.report()


def test_tolerances_come_from_the_caller_then_from_the_reference(wave: Path) -> None:
    write_reference(wave, changed(lambda t, y: 1.02 * y))
    assert not verdict(wave)
    story = wave.with_name("Wave_ref.json")
    story.write_text(json.dumps({**json.loads(story.read_text()), "rtol": 0.05}))
    assert verdict(wave)
    assert not verdict(wave, rtol=1e-3)


def excited(model: mbd.Model) -> dict[str, Any]:
    """Inputs that jump twice, held in between."""
    values = [0.0, 0.0, 1.0, 1.0, -0.5, -0.5]
    times = [0.0, 0.1, 0.1, 0.2, 0.2, 0.3]
    scale = {name: (1.0 if i.unit not in ("m", "rad") else 0.01) for name, i in model.description.inputs.items()}
    return {name: (times, [s * value for value in values]) for name, s in scale.items()}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("runtime", ["native", "python"])
@pytest.mark.parametrize("name", mbd.models.names())
def test_every_shipped_model_agrees_with_its_fmu(name: str, runtime: str, tmp_path: Path) -> None:
    """The reference is the model's own run, so this is no comparison of an FMU with itself."""
    model = shipped(name)
    inputs = excited(model)
    result = model.simulate(0.3, STEP, inputs=inputs, record=[*model.symbolic.description.outputs] or None)
    fmu = model.export_fmu(tmp_path / "x.fmu", runtime)
    if not mbd.fmu.info(fmu).feedthrough:  # then the second row at a jump is one that the FMU does not show
        first = np.append(True, np.diff(result.time) > 0)
        result = Result(result.time[first], {n: result[n][first] for n in result.columns})
    (tmp_path / "x_ref.csv").write_bytes(table_csv(result))
    if inputs:
        times = next(iter(inputs.values()))[0]
        table = Result(times, {n: values for n, (_, values) in inputs.items()})
        (tmp_path / "x_in.csv").write_bytes(table_csv(table))
    (tmp_path / "x_ref.opt").write_text(f"StartTime, 0.0\nStopTime, 0.3\nStepSize, {STEP}\n")
    found = verdict(fmu, rtol=1e-6)  # far below the solver's own error: both are to take the same steps
    assert found.passed, found.report()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("interface", ["cs3", "me2"])
@pytest.mark.parametrize("name", ["pendulum", "slider_crank", "quarter_car", "bouncing_ball", "cart_pendulum"])
def test_other_interfaces_meet_the_same_references(name: str, interface: str, tmp_path: Path) -> None:
    model = mbd.models.load(name)
    asked = {"t_end": 0.3, "step_output": STEP, "inputs": excited(model)}
    fmu = model.export_fmu(tmp_path / "x.fmu", interface=interface, reference=asked, tolerance=1e-9)
    (case,) = cases(fmu)
    assert case.kind == {"cs3": "co-simulation", "me2": "model exchange"}[interface]
    # In model exchange another integrator computes: the errors of both add up, over many steps.
    found = judge(case, Terms(rtol=1e-6 if interface == "cs3" else 1e-4))
    assert found.passed, found.report()


@pytest.mark.nightly
def test_an_isolated_run_may_be_of_any_kind(tmp_path: Path) -> None:
    fmu = mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", interface="me2", reference={"t_end": 0.1})
    found = judge(cases(fmu)[0], run=ISOLATED)
    assert found.passed, found.report()


# ---------------------------------------------------------------- references: where they are


def test_references_are_found_under_either_name(wave: Path) -> None:
    wave.with_name("Wave_ref.csv").rename(wave.with_name("Wave.reference.csv"))
    assert verdict(wave)
    wave.with_name("Wave_ref.csv").write_bytes(table_csv(right()))
    assert [case.name for case in cases(wave)] == ["Wave.fmu [Wave_ref.csv]", "Wave.fmu [Wave.reference.csv]"]


def test_a_reference_may_be_named_as_file_or_folder(wave: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for end in ("_ref.csv", "_in.csv", "_ref.opt", "_ref.json"):
        wave.with_name(f"Wave{end}").rename(elsewhere / f"Wave{end}")
    assert judge(cases(wave, elsewhere)[0])
    assert judge(cases(wave, elsewhere / "Wave_ref.csv")[0])
    assert "there is no Wave_ref.csv" in judge(cases(wave, tmp_path)[0]).report()


MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<fmiReferences xmlns:fmi-ls="http://fmi-standard.org/fmi-ls-manifest"
    fmi-ls:fmi-ls-name="org.fmi-standard.fmi-ls-ref" fmi-ls:fmi-ls-version="1.0.0-alpha.1"
    fmi-ls:fmi-ls-description="Layered Standard providing information on related files included in an FMU.">
{}
</fmiReferences>
"""
RELATED = '<Related type="text/csv" source="{}" role="result"/>'
EXPERIMENTS = '<Related type="text/xml" source="more/two.xml" role="experiment/smoke-test"/>'
TWO = """<Experiments>
<Experiment name="driven" startTime="0" stopTime="1" stepSize="0.01">
  <Stimuli source="../Wave_in.csv"/><References source="../Wave%5Fref.csv"/></Experiment>
<Experiment name="faulty" startTime="0" stopTime="1" stepSize="0.01">
  <Parameters source="fault.ssv"/><Stimuli source="../Wave_in.csv"/><References source="../Wave_ref.csv"/></Experiment>
</Experiments>"""
FAULT = """<ssv:ParameterSet version="1.0" name="f"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues">
<ssv:Parameters><ssv:Parameter name="fault"><ssv:Real value="1"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>"""


def moved_inside(fmu: Path, manifest: str, **more: str) -> None:
    """Put the files beside the FMU into it."""
    folder = "extra/org.fmi-standard.fmi-ls-ref/"
    with zipfile.ZipFile(fmu, "a") as archive:
        archive.writestr(f"{folder}fmi-ls-manifest.xml", MANIFEST.format(manifest))
        for name, text in more.items():
            archive.writestr(f"{folder}more/{name.replace('__', '.')}", text)
        for file in (*fmu.parent.glob("*.csv"), *fmu.parent.glob("*_ref.opt")):
            archive.write(file, f"{folder}{file.name}")
            file.unlink()


def test_references_inside_the_fmu_are_found_with_their_inputs(wave: Path) -> None:
    moved_inside(wave, RELATED.format("Wave_ref.csv"))
    found = verdict(wave)
    assert found.passed, found.report()
    assert found.origin.endswith("Wave.fmu: extra/org.fmi-standard.fmi-ls-ref/Wave_ref.csv")


def test_experiments_inside_the_fmu_are_runs_of_their_own(wave: Path) -> None:
    moved_inside(wave, EXPERIMENTS + RELATED.format("Wave_ref.csv"), two__xml=TWO, fault__ssv=FAULT)
    driven, faulty = map(judge, cases(wave))
    assert driven.name == "Wave.fmu [driven]"
    assert driven.passed, driven.report()
    assert "ended early" in faulty.report()  # its parameters are set: fault = 1


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["pendulum", "slider_crank", "quarter_car", "bouncing_ball"])
def test_references_that_our_export_packs_are_found_and_met(name: str, tmp_path: Path) -> None:
    model = mbd.models.load(name)
    asked = {"t_end": 0.3, "step_output": STEP, "inputs": excited(model)}
    fmu = model.export_fmu(tmp_path / "x.fmu", "native", reference=asked)
    found = verdict(fmu, rtol=1e-6)
    assert found.passed, found.report()
    assert "fmi-ls-ref" in found.origin
    assert bool(excited(model)) == (cases(fmu)[0].reference.inputs is not None)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (RELATED.format("lost.csv"), "lost.csv: named by the manifest and not in the archive"),
        (RELATED.format("../../../../etc/passwd"), "named by the manifest and not in the archive"),
        (EXPERIMENTS, "more/two.xml is named by the manifest and not in the archive"),
        ("<Related", "fmi-ls-manifest.xml: "),
    ],
)
def test_a_manifest_that_is_wrong_fails(manifest: str, message: str, wave: Path) -> None:
    moved_inside(wave, manifest)
    assert message in verdict(wave).report()


def test_parameters_that_are_no_numbers_fail(wave: Path) -> None:
    moved_inside(wave, EXPERIMENTS, two__xml=TWO, fault__ssv=FAULT.replace('value="1"', 'value="one"'))
    assert "parameter 'fault' of type Real cannot be 'one'" in verdict(wave).report()


def test_options_and_stories_that_are_wrong_are_refused(wave: Path) -> None:
    for file, text, message in (
        ("Wave_ref.opt", "StopTime, soon\n", "line 1: StopTime must be a number, found 'soon'"),
        ("Wave_ref.opt", "StopTime, inf\n", "StopTime is inf; it must be finite"),
        ("Wave_ref.json", "{", "is not JSON"),
        ("Wave_ref.json", '{"format": 7}', "is not the story of a reference in format 1"),
        ("Wave_ref.json", '{"format": 1, "paramters": {}}', "unknown entry 'paramters'; did you mean 'parameters'?"),
        ("Wave_ref.json", '{"format": 1, "rtol": "small"}', "rtol must be a number, found 'small'"),
    ):
        write_reference(wave)
        wave.with_name(file).write_text(text)
        assert message in verdict(wave).report()


@pytest.mark.parametrize("text", ["time\n0\n1\n", "time,y\n", "time,y\n0,0\n", "time,y\n0,0\n0,1\n"])
def test_a_reference_without_a_curve_is_refused(text: str, wave: Path) -> None:
    write_reference(wave)
    wave.with_name("Wave_ref.csv").write_text(text)
    assert "Wave_ref.csv: holds no curve" in verdict(wave).report()


def test_options_as_other_tools_write_them_are_read(wave: Path) -> None:
    wave.with_name("Wave_ref.opt").write_bytes(
        b"StartTime, 0.0 // in seconds\nStopTime, 1\nStepSize, 0\nRelTol, 0.0001\nSolverType, FixedStep\n"
        b"OutputIntervalLength, 0.01\nAlgorithm, anything // f\xfcr alle\n"
    )
    assert verdict(wave)


# ---------------------------------------------------------------- a process of its own


def test_an_isolated_run_gives_the_same_result(wave: Path) -> None:
    (case,) = cases(wave)
    alone, here = judge(case, run=ISOLATED), judge(case)
    assert alone.passed, alone.report()
    assert np.array_equal(alone.result["y"], here.result["y"])


@pytest.mark.parametrize(
    ("fault", "limit", "message"),
    [
        (Fault.CRASH, 60.0, "FMU 'Wave' crashed (SIGSEGV) in doStep"),
        (Fault.ENDLESS, 3.0, "did not come back from doStep within the 3 s of its run and was stopped"),
        (Fault.DISCARD, 60.0, "the result's run ended early: FMU 'Wave' gave up"),
        (Fault.EXCEPTION, 60.0, "the spring broke"),
    ],
)
def test_an_isolated_fmu_may_do_anything(fault: float, limit: float, message: str, wave: Path) -> None:
    write_reference(wave, fault=fault)
    (case,) = cases(wave)
    found = judge(case, run=partial(mbd.fmu.simulate, time_limit=limit))
    assert not found.passed
    assert message in found.report()


def test_an_isolated_run_that_is_refused_says_why(wave: Path) -> None:
    with pytest.raises(mbd.ModelError, match="no parameter 'nothing'"):
        ISOLATED(wave, 1.0, STEP, parameters={"nothing": 1.0})


# ---------------------------------------------------------------- recording


def test_a_recorded_reference_repeats_the_run(pendulum: Path, tmp_path: Path) -> None:
    table = tmp_path / "torque.csv"
    table.write_text("time [s],torque [N.m]\n0,0\n0.5,3\n0.5,-2\n1,0\n")
    conditions = Conditions(t_end=1.0, step=0.02, parameters={"length": 1.5}, rtol=1e-6)
    written = record(pendulum, tmp_path, conditions, inputs=table, signals=("angle", "bar.v?"))
    assert [path.name for path in written] == [
        "pendulum_in.csv", "pendulum_ref.opt", "pendulum_ref.json", "pendulum_ref.csv"
    ]  # fmt: skip
    story = json.loads((tmp_path / "pendulum_ref.json").read_text())
    assert story["parameters"]["length"] == 1.5
    assert {"mbdfmu", "fmpy", "python", "guid", "generation_tool"} <= set(story["made_with"])
    (case,) = cases(pendulum, tmp_path)
    assert case.reference.conditions.tolerance == 1e-6
    assert list(case.reference.result.columns) == ["angle", "bar.vx", "bar.vy"]
    found = judge(case)
    assert found.passed, found.report()
    assert found.comparison.worst.deviation == 0.0  # the same run
    assert found.comparison.rtol == 1e-6
    from fmpy.util import read_ref_opt_file

    assert read_ref_opt_file(tmp_path / "pendulum_ref.opt")["StopTime"] == 1.0


@pytest.mark.parametrize("run", [mbd.fmu.simulate, ISOLATED])
def test_inputs_in_other_units_are_refused(run: Any, pendulum: Path, tmp_path: Path) -> None:
    table = tmp_path / "torque.csv"
    table.write_text("time [s],torque [N.mm]\n0,0\n0.1,1\n")
    record(pendulum, tmp_path, Conditions(t_end=0.1))
    shutil.copy(table, tmp_path / "pendulum_in.csv")
    (case,) = cases(pendulum, tmp_path)
    assert "input 'torque' is in 'N.mm', the model has it in 'N.m'" in judge(case, run=run).report()


def test_recorded_inputs_are_lines_for_every_tool(pendulum: Path, tmp_path: Path) -> None:
    steps = {"torque": ([0.0, 0.05], [1.0, 2.0])}
    record(pendulum, tmp_path, Conditions(t_end=0.1, interpolation="hold"), inputs=steps)
    assert (tmp_path / "pendulum_in.csv").read_text().splitlines()[1:] == ["0.0,1.0", "0.05,1.0", "0.05,2.0", "0.1,2.0"]
    found = judge(cases(pendulum, tmp_path)[0], Terms(rtol=1e-6))
    assert found.passed, found.report()
    record(pendulum, tmp_path, Conditions(t_end=0.1), inputs=lambda t: {"torque": 10 * t}, replace_old=True)
    assert len((tmp_path / "pendulum_in.csv").read_text().splitlines()) == 12  # a row for each communication point
    assert judge(cases(pendulum, tmp_path)[0])


def test_a_reference_is_not_overwritten_unless_asked(pendulum: Path, tmp_path: Path) -> None:
    table = tmp_path / "torque.csv"
    table.write_text("time,torque\n0,0\n1,1\n")
    shortly = Conditions(t_end=0.1)
    record(pendulum, tmp_path, shortly, inputs=table)
    before = (tmp_path / "pendulum_ref.csv").read_bytes()
    with pytest.raises(mbd.ModelError, match=r"pendulum_ref.csv: already there; .* --force"):
        record(pendulum, tmp_path, Conditions(t_end=0.2))
    assert (tmp_path / "pendulum_ref.csv").read_bytes() == before
    record(pendulum, tmp_path, shortly, replace_old=True)
    assert not (tmp_path / "pendulum_in.csv").exists()  # it would excite what was recorded at rest
    assert judge(cases(pendulum, tmp_path)[0])


def test_a_failed_recording_leaves_the_old_files(wave: Path) -> None:
    before = {path: path.read_bytes() for path in wave.parent.iterdir()}
    with pytest.raises(mbd.StepFailed):
        record(wave, None, Conditions(t_end=1.0, step=STEP, parameters={"fault": Fault.DISCARD}), replace_old=True)
    with pytest.raises(mbd.StepFailed, match=r"gave out nan for 'z' at t = 0\.51 s"):
        record(wave, None, Conditions(t_end=1.0, step=STEP, parameters={"fault": Fault.WILD_OUTPUT}), replace_old=True)
    assert {path: path.read_bytes() for path in wave.parent.iterdir()} == before


# ---------------------------------------------------------------- the report


def test_the_page_needs_nothing_and_escapes_everything(wave: Path, tmp_path: Path) -> None:
    evil = '<script>alert("1")</script>'
    fmu = wave.rename(wave.with_name("a&b<i>.fmu"))
    result = Result(TIMES, {"y": 2 * right()["y"], evil: TIMES})
    write_reference(fmu, result)
    write_report(tmp_path / "r.html", [verdict(fmu)], evil)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "a&amp;b&lt;i&gt;.fmu" in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(?:https?:)?//|\burl\(|@import", text)
    assert text.count('<svg class="plot"') == 1
    assert 'class="worst"' in text
    assert "FAILED" in text


def test_the_page_is_well_formed_whatever_the_curves_hold(wave: Path, tmp_path: Path) -> None:
    from lxml import html

    verdicts = []
    for mutant in (changed(with_nan), changed(lambda t, y: 1e300 * y), changed(lambda t, y: 0 * y), right()):
        write_reference(wave, mutant)
        verdicts.append(verdict(wave))
    write_report(tmp_path / "r.html", verdicts)
    page = html.parse(str(tmp_path / "r.html"))
    plots = page.findall(".//svg")
    assert len(plots) == len(verdicts)
    assert all("nan" not in path.get("d", "") and "inf" not in path.get("d", "") for path in page.iterfind(".//path"))


def test_spikes_survive_the_thinning_of_curves() -> None:
    from mbdfmu.regression.plots import COLUMNS, thinned

    t = np.linspace(0, 1, 200_001)
    y = np.sin(t)
    y[123_456], y[77_777] = 5.0, np.nan
    at, kept = thinned(t, y)
    assert len(at) <= 5 * COLUMNS
    assert 5.0 in kept
    assert np.isnan(kept).any()
    assert (np.diff(at) > 0).all()


# ---------------------------------------------------------------- the command line


def cli(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.output


@pytest.mark.nightly
def test_record_and_compare_on_the_command_line(
    pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(pendulum, tmp_path)
    (tmp_path / "torque.csv").write_text("time [s],torque [N.m]\n0,0\n1,3\n")
    line = ["record", "pendulum.fmu", "-t", "1", "--input", "torque.csv", "--set", "length=1.5"]
    code, text = cli(*line)
    assert (code, text) == (0, "wrote pendulum_in.csv, pendulum_ref.opt, pendulum_ref.json, pendulum_ref.csv\n")
    code, text = cli(*line)
    assert code == 2
    assert "replace the whole reference with --force" in text
    assert cli(*line, "--force")[0] == 0
    code, text = cli("compare", "pendulum.fmu", "--html", "report.html")
    assert code == 0
    assert text.startswith("pendulum.fmu: passed: 3 signals are inside the tube")
    assert (tmp_path / "report.html").is_file()
    (tmp_path / "torque.csv").write_text("time [s],torque [N.m]\n0,0\n1,4\n")
    code, text = cli("compare", "pendulum.fmu", "--input", "torque.csv")
    assert code == 1
    assert "angle: at t = " in text
    code, text = cli("compare", "pendulum.fmu", "nothing.csv")
    assert code == 2
    assert "nothing.csv: there is no such file" in text


def test_a_folder_is_compared_with_a_verdict_for_each(wave: Path) -> None:
    build(wave.parent, "Other")
    code, text = cli("compare", str(wave.parent))
    assert code == 1
    assert "Wave.fmu: passed" in text
    assert "Other.fmu: FAILED" in text
    assert "2 runs, 1 passed, 1 failed" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compare {folder}/none.fmu", "there is no such FMU"),
        ("compare {folder}/empty", "there is no FMU in this folder"),
        ("compare {folder}/Wave.fmu --signals yy", "no signal is named 'yy'; did you mean 'y'?"),
        ("compare a.csv", "what is it to be compared with?"),
        ("compare a.csv b.csv --isolate", "--isolate: for FMUs"),
        ("compare {folder}/Wave.fmu --time-limit 5 --no-isolate", "only a process of its own can be stopped"),
        ("record {folder}/none.fmu", "there is no such FMU"),
        ("record {folder}/Wave.fmu -o {folder}/Wave.fmu", "is a file; give the name of a folder"),
        ("record {folder}/Wave.fmu --force", "names no stop time; give the end time: t_end (-t SECONDS)"),
    ],
)
def test_wrong_use_is_refused(line: str, message: str, wave: Path) -> None:
    (wave.parent / "empty").mkdir()
    code, text = cli(*line.format(folder=wave.parent).split())
    assert code == 2, text
    assert message in " ".join(text.split())
