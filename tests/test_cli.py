"""The command line as a user meets it: what it prints, what it writes, how it ends; must not know how."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel, Simulation
from mbdfmu.analyses.check import check
from mbdfmu.cli import VERBS, main
from mbdfmu.cli.endings import ended
from mbdfmu.cli.values import constant
from mbdfmu.fmi.binaries import available

VERB_FILES = Path(mbd.__file__).parent / "cli" / "verbs"
SUCCESS, NEGATIVE, WRONG, INTERRUPTED = 0, 1, 2, 130


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> Result:
    """Run a command in this process; an exception that it lets through fails the test."""
    result = CliRunner().invoke(main, shlex.split(command), prog_name="mbdfmu", catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def succeed(command: str) -> str:
    result = run(command)
    assert result.exit_code == SUCCESS, result.output
    return result.output


def refuse(command: str, code: int = WRONG) -> str:
    """The messages of a command that must not succeed."""
    result = run(command)
    assert result.exit_code == code, result.output
    assert "Error: " in result.stderr
    return result.stderr


def write_model(path: str, **changes: Any) -> str:
    """A bar on a hinge, or what the changes make of it."""
    hinge = {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "bar", "at": [-0.5, 0]}}
    bar = {"mass": 2, "inertia": 0.1, "position": [0.5, 0]}
    model = {
        "format_version": 1,
        "name": "bar",
        "gravity": [0, -9.81],
        "bodies": {"bar": bar},
        "joints": {"hinge": hinge},
        "experiment": {"stop_time": 1, "step": 0.1},
        **changes,
    }
    Path(path).write_text(json.dumps(model), encoding="utf-8")
    return path


def write_scalar_model(path: str, coordinates: dict[str, Any]) -> str:
    """Coordinates without bodies; only `z` has a mass."""
    return write_model(path, bodies={}, joints={}, coordinates=coordinates, mass={"z": 1})


def failing_model() -> str:
    """A force that grows without bound towards t = 1 s: the error control must give up there."""
    law = "1/(1 - time)^2*if(time < 1, 1, sqrt(-1))"
    return write_scalar_model("failing.json", {"z": {"force": law}})


# ---------------------------------------------------------------- the whole


def test_help_names_every_verb() -> None:
    text = succeed("--help")
    assert all(re.search(rf"^  {verb} +\S", text, re.MULTILINE) for verb in VERBS), text
    assert "..." not in text.partition("Commands:")[2], "a line of help is cut; shorten the first sentence of the verb"


def test_each_verb_is_a_file_and_each_file_a_verb() -> None:
    files = {path.stem.rstrip("_").replace("_", "-") for path in VERB_FILES.glob("[a-z]*.py")}
    assert files == set(VERBS)


def examples(verb: str) -> list[str]:
    _, _, text = succeed(f"{verb} --help").partition("Example:\n")
    return [line.strip().partition(" > ")[0] for line in text.splitlines() if line.strip()]


ROBOT = """<robot name="arm"><link name="base"/><link name="bar"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint></robot>
"""


RIDE = """{"format_version": 1, "name": "ride", "fmus": {"car": "car.fmu", "skyhook": "skyhook.fmu"}, "couplings": {
"skyhook.body_speed": "car.body_speed", "skyhook.travel_rate": "car.travel_rate", "car.actuator": "skyhook.force"},
"experiment": {"stop_time": 1, "step": 0.001}}"""


@pytest.mark.by_day(2)
@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_the_help_run(verb: str) -> None:
    Path("robot.urdf").write_text(ROBOT, encoding="utf-8")  # the folder is the test's own
    Path("ride.json").write_text(RIDE, encoding="utf-8")
    commands = examples(verb)
    assert any(command.startswith(f"mbdfmu {verb}") for command in commands), f"the help of {verb} has no example"
    for command in commands:
        succeed(command.removeprefix("mbdfmu "))


def test_help_loads_no_package_that_takes_time() -> None:
    heavy = {"scipy", "h5py", "fmpy", "pythonfmu", "matplotlib", "tqdm", "numpy", "pydantic", "lxml"}
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(*({heavy!r} & set(sys.modules)), file=sys.stderr))\n"
        "from mbdfmu.cli import main\n"
        "main(['--help'], prog_name='mbdfmu')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_version_is_the_package_s() -> None:
    assert succeed("--version").split() == ["mbdfmu", mbd.__version__]


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "mbdfmu", *arguments], text=True, **options)


def test_the_module_runs_as_a_program() -> None:
    process = started("list", "schemes", stdout=subprocess.PIPE)
    output, _ = process.communicate()
    assert process.returncode == SUCCESS
    assert "hht" in output


def test_a_reader_that_leaves_early_is_no_error() -> None:
    process = started("schema", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()


def test_a_terminal_that_lacks_a_letter_still_shows_the_text() -> None:
    model = write_model("greek.json", text="φ is the angle")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    process = started("info", model, stdout=subprocess.PIPE, env=environment)
    output, _ = process.communicate()
    assert process.returncode == SUCCESS
    assert r"\u03c6 is the angle" in output


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (PermissionError(13, "Permission denied", "out.csv"), WRONG, "out.csv: Permission denied"),
        (ImportError("the compiled part is missing"), WRONG, "the compiled part is missing"),
        (MemoryError(), WRONG, "record fewer signals"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted"),
        (mbd.StepFailed("no convergence at t = 1 s"), NEGATIVE, "no convergence at t = 1 s"),
        (mbd.ModelError(["one", "two"]), WRONG, "Error: one\nError: two\n"),
    ],
)
def test_every_error_becomes_a_message_and_an_exit_code(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError) as caught, ended():
        raise error
    assert caught.value.exit_code == code  # type: ignore[attr-defined]
    assert message in capsys.readouterr().err


# ---------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("simulte", "no verb is called 'simulte'; did you mean 'simulate'?"),
        ("list modles", "did you mean 'models'?"),
        ("simulate pendulum --tolerence 1", "Did you mean '--tolerance'?"),
        ("check pendlum", "did you mean 'pendulum'?"),
        ("check chain:M=3", "family 'chain' has no parameter 'M'"),
        ("check pendulum.json", "did you mean the shipped model 'pendulum'?"),
        ("check nowhere/x.json", "nowhere/x.json: there is no such file"),
        ("check x.fmu", "needs a model"),
        ("info x.fmu", "x.fmu: there is no such FMU"),
        ("simulate x.fmu", "x.fmu: there is no such FMU"),
        ("info pendulum --signals bar.fi", "did you mean 'bar.phi'?"),
        ("simulate pendulum --set lenght=2", "did you mean 'length'?"),
        ("simulate pendulum --set mass=-1", "must lie in [0.001, inf], found -1"),
        ("simulate pendulum --set mass", "must look like NAME=VALUE"),
        ("simulate pendulum --set mass=", "must look like NAME=VALUE"),
        ("simulate pendulum --set mass=1 --set mass=2", "'mass' is given twice"),
        ("simulate pendulum --set mass=2*x", "must be constant, found 'x'"),
        ("simulate pendulum --set mass=1/0", "give a finite number"),
        ("simulate pendulum --start bar.fi=1", "did you mean 'bar.phi'?"),
        ("simulate pendulum --record bar.fi", "did you mean 'bar.phi'?"),
        ("simulate pendulum --scheme hhtt", "did you mean 'hht'?"),
        ("simulate pendulum --option alfa=0", "did you mean 'alpha'?"),
        ("simulate pendulum --scheme gcp --option formla=rk4", "did you mean 'formula'?"),
        ("simulate pendulum --option alpha=1", "must lie in [-0.333333, 0]"),
        ("simulate pendulum --option form=wrong", "must be one of corrected, printed"),
        ("simulate pendulum --interpolate holt", "did you mean 'hold'?"),
        ("simulate pendulum --input u.csv", "u.csv: there is no such file"),
        ("simulate pendulum -t 0", "must be positive, found 0"),
        ("simulate pendulum -t soon", "must be constant, found 'soon'"),
        ("simulate pendulum --dt -1", "must be positive"),
        ("simulate pendulum -t 1e9 --dt 1", "more than 1e8 points"),
        ("simulate pendulum -o x.xls", "allowed: .csv, .h5, .hdf5, .mat"),
        ("simulate pendulum -o nowhere/x.csv", "there is no folder 'nowhere'"),
        ("simulate pendulum -o .", "is a folder"),
        ("plot a.csv b.h5 -o p.png", "a.csv: there is no such file\nError: b.h5: there is"),
        ("plot a.csv -o p.bmp", "allowed: .png, .pdf, .svg"),
        ("plot -o p.png", "Missing argument 'RESULT...'"),
        ("compare a.csv b.csv", "a.csv: there is no such file"),
        ("compare a.csv b.csv --rtol -1", "must not be negative"),
        ("export-fmu pendulum -o x.zip", "allowed: .fmu"),
        ("export-fmu pendulum --runtime pyhton", "did you mean 'python'?"),
        ("export-fmu pendulum --interface me3", "did you mean 'me2'?"),
        ("export-fmu pendulum --platform linux46", "did you mean 'linux64'?"),
        ("export-fmu pendulum --signals 'bra.*'", "no signal fits 'bra.*'"),
        ("export-fmu pendulum -t 2", "belong to the run of --with-reference, which is missing"),
        ("export-fmu pendulum --with-reference --input u.csv", "u.csv: there is no such file"),
        ("demo -o a/b", "there is no folder 'a'"),
        ("export-fmu pendulum --set length=2", "--set belongs to controllers"),
        ("export-fmu skyhook --set gain=-1", "controller 'skyhook': gain must be at least 0, found -1"),
        ("export-fmu skyhook --set gian=1", "has no parameter 'gian'; did you mean 'gain'?"),
        ("export-fmu skyhook --signals 'x*' --interface cs3", "--interface, --signals: belong to models"),
        ("export-fmu lqr --set gains=[[1,2", "is no list such as [[1,2],[3,4]]"),
        ("export-fmu skyhook --set sample_time=0.001 --set delay=0.2 --runtime native", "must be below 0.1 s inside a"),
        ("simulate skyhook", "is a controller; this command needs a model; export it and run the FMU"),
    ],
)
def test_wrong_use_is_refused_with_the_cure(command: str, message: str) -> None:
    assert message in refuse(command)


def test_all_wrong_values_are_named_at_once() -> None:
    text = refuse("simulate pendulum --set 'mass=2*' --start bar.phi --option alpha=x")
    assert [line.split(":")[1].split()[0] for line in text.splitlines() if line.startswith("Error")] == [
        "--set",
        "--start",
        "--option",
    ]
    assert "\n  2*\n    ^\n" in text, "the place in an expression is shown by a caret"


@pytest.mark.parametrize("output", ["out.docx", "nowhere/out.docx", "nowhere/out.h5"])
@pytest.mark.parametrize("verb", ["simulate", "export-fmu", "linearize"])
def test_a_wrong_output_and_a_wrong_model_are_told_at_once(verb: str, output: str) -> None:
    model = write_model("wrong.json", length="lenght", gravity=[0, -9.81, 0])
    found = "names no format" if output.endswith("x") else "there is no folder 'nowhere'"
    if output == "nowhere/out.h5":
        output = {"export-fmu": "nowhere/a.fmu", "linearize": "nowhere/a.mat"}.get(verb, output)
    text = refuse(f"{verb} {model} -o {output}")
    assert found in text and "gravity" in text and "lenght" in text
    right = write_model("right.json")
    assert refuse(f"{verb} {right} -o {output}").count("Error: ") == 1
    assert "length" in refuse(f"{verb} {model}")


def test_a_wrong_output_hides_no_wrong_value() -> None:
    text = refuse("linearize nothing.json --set k -o out.csv --at 3..4")
    assert all(found in text for found in ("no such file", "must look like NAME=VALUE", "names no format", "3..4"))
    text = refuse("simulate nothing.json --set k -o out.docx")
    assert all(found in text for found in ("no such file", "must look like NAME=VALUE", "names no format"))


@pytest.mark.parametrize(
    "command",
    [
        "simulate nothing.fmu -o x.docx",
        "cosim nothing.json -o x.docx",
        "cosim nothing.json --save x.docx",
        "export-fmu skyhook --set gian=3 -o x.docx",
    ],
)
def test_a_wrong_output_hides_no_wrong_file(command: str) -> None:
    assert refuse(command).count("Error: ") == 2


def test_all_problems_of_a_model_file_are_shown() -> None:
    bar = {"mass": -1, "inertia": 1, "colour": "red"}
    text = refuse(f"check {write_model('bad.json', bodies={'bar': bar})}")
    assert "bad.json: bodies.bar.mass: must be positive, found -1" in text
    assert "bad.json: bodies.bar: unknown entry 'colour'" in text


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"format_version": 1e999}'])
@pytest.mark.parametrize("verb", ["check", "info", "simulate", "export-fmu"])
def test_a_file_that_is_no_model_is_refused(verb: str, content: bytes) -> None:
    Path("broken.json").write_bytes(content)
    assert "Error: broken.json: " in refuse(f"{verb} broken.json")


def test_a_plot_without_matplotlib_is_refused_before_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbdfmu.cli.drawing.find_spec", lambda _: None)
    assert "pip install 'mbdfmu[plot]'" in refuse("simulate pendulum --plot")


@pytest.mark.parametrize(
    ("text", "value"), [("3e4", 3e4), ("30*deg", np.pi / 6), ("-1/3", -1 / 3), ("sqrt(2)", np.sqrt(2)), ("2^-1", 0.5)]
)
def test_values_may_be_constant_expressions(text: str, value: float) -> None:
    assert constant(text) == pytest.approx(value, rel=1e-15)


# ---------------------------------------------------------------- list, schema, info


def test_list_shows_all_there_is() -> None:
    text = succeed("list")
    families = (mbd.joints.JointElement, mbd.forces.ForceElement, mbd.schemes.Scheme)
    for name in (
        *mbd.models.names(),
        *mbd.expressions.FUNCTIONS,
        *(name for family in families for name in family.names()),
    ):
        assert name in text
    assert "stiffness [N/m]" in text
    assert "mod(x,y)  " in succeed("list functions")


def test_schema_is_the_library_s() -> None:
    from mbdfmu.description import schema

    assert json.loads(succeed("schema")) == schema()


def test_info_shows_variables_with_unit_and_start() -> None:
    text = succeed("info pendulum")
    assert re.search(r"^  length +m += 1 +of the bar$", text, re.MULTILINE)
    assert re.search(r"^  torque +N\.m += 0 ", text, re.MULTILINE)
    assert "bar.phi  " not in text, "without --signals, what is inside is only counted"
    chosen = succeed("info pendulum --signals 'bar.*' --signals mass")
    assert re.search(r"^  bar.omega +rad/s +angular velocity$", chosen, re.MULTILINE)
    assert "length" not in chosen


def test_info_in_json_holds_every_signal_of_the_model() -> None:
    data = json.loads(succeed("info pendulum --json"))
    assert [v["name"] for v in data["variables"]] == [s.name for s in mbd.models.load("pendulum").signals()]
    assert data["experiment"]["stop_time"] == 10
    few = json.loads(succeed("info pendulum --json --signals length"))
    (length,) = few["variables"]
    assert length == {
        "name": "length", "unit": "m", "causality": "parameter", "variability": "fixed", "start": 1.0, "minimum": 0.001,
        "text": "of the bar",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        ("b.x", "of the frame's origin, ground axes"),
        ("b.vz", "velocity of the frame's origin, ground axes"),
        ("b.cm.y", "of the centre of mass, ground axes"),
        ("b.cm.vx", "velocity of the centre of mass, ground axes"),
        ("b.cm.ax", "acceleration of the centre of mass, ground axes"),
    ],
)
def test_info_says_what_signals_of_a_body_are(signal: str, text: str) -> None:
    body = {"mass": 1, "inertia": [1, 1, 1], "center": [0, 0, 1], "free": True}
    model = write_model("body.json", dimensions=3, gravity=[0, 0, 0], bodies={"b": body}, joints={})
    (found,) = json.loads(succeed(f"info {model} --json --signals {signal}"))["variables"]
    assert found["text"] == text


# ---------------------------------------------------------------- check


@pytest.mark.parametrize(
    ("name", "coordinates", "constraints", "freedoms"),
    [("pendulum", 3, 2, 1), ("slider_crank", 9, 8, 1), ("chain:N=10", 30, 20, 10), ("four_bar:N=3", 21, 20, 1)],
)
def test_check_counts_freedoms(name: str, coordinates: int, constraints: int, freedoms: int) -> None:
    found = check(mbd.models.load(name).compile())
    assert found.passed
    assert (found.coordinates, found.constraints, found.freedoms) == (coordinates, constraints, freedoms)
    assert found.rank == constraints


@pytest.mark.parametrize("name", mbd.models.names())
def test_every_shipped_model_passes_its_check(name: str) -> None:
    assert re.search("^no (further )?findings$", succeed(f"check {name}"), re.MULTILINE)


def loop(size: float, bars: Sequence[float]) -> CompiledModel:
    """A parallelogram of upright bars and one on top of all; more than two bars are redundant."""
    model = mbd.Model("loop", gravity=(0, -9.81))
    width, height = 2 * size, size
    model.add("top", mbd.Body(mass=1, inertia=size**2, position=(0, height)))
    for k, place in enumerate(bars):
        x = place * width / 2
        model.add(f"bar{k}", mbd.Body(mass=1, inertia=size**2, position=(x, height / 2)))
        low, high = {"body": f"bar{k}", "at": (0, -height / 2)}, {"body": f"bar{k}", "at": (0, height / 2)}
        model.add(f"foot{k}", mbd.joints.Revolute(i={"body": "ground", "at": (x, 0)}, j=low))
        model.add(f"head{k}", mbd.joints.Revolute(i=high, j={"body": "top", "at": (x, 0)}))
    return model.compile()


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])  # m: the rank must not depend on the unit of length
def test_redundant_constraints_are_found_at_any_size(size: float) -> None:
    assert check(loop(size, (-1, 1))).passed
    found = check(loop(size, (-1, 0, 1)))
    assert (found.constraints, found.rank, found.freedoms) == (12, 11, 1)
    assert len(found.redundant) == 1
    assert found.passed
    assert " repeats what is held by " in str(found.redundant[0])


def test_a_run_says_which_reactions_are_not_unique() -> None:
    text = succeed("simulate bricard -t 0.1 --dt 0.1 -o run.h5")
    # which row of the ring is left out is a matter of what is kept (T7.15)
    assert re.search(r"redundant: joint 'hinge\d' \(.+\) repeats what is held by joint", text)
    assert "are not unique; the smallest possible are reported" in text
    assert len(mbd.results.Result.read("run.h5").notes) == 2


def test_check_names_every_joint_that_is_open() -> None:
    bar = {"mass": 2, "inertia": 0.1, "position": [0.5, 0.1], "velocity": [1, 0]}
    model = write_model("open.json", bodies={"bar": bar})
    result = run(f"check {model}")
    assert result.exit_code == NEGATIVE
    assert "joint 'hinge': the start positions leave it open by 0.1 m" in result.stderr
    assert "joint 'hinge': the start velocities open it with 1 m/s" in result.stderr
    assert re.search(r"degrees of freedom +1\n", result.stdout)
    assert "total mass 2 kg" in result.stdout
    succeed(f"simulate {model} --assemble")


def test_check_counts_states_blocks_and_what_is_solved_for() -> None:
    crane = succeed("check crane")
    assert re.search(r"blocks +4\n", crane)
    assert re.search(r"differential states +6\n", crane)
    arm = succeed(f"check {Path(__file__).parent}/reference/files/arm.json")
    assert re.search(r"unknowns besides +1, solved for in every step\n", arm)
    assert "unknowns" not in crane


def test_a_model_of_states_alone_is_checked() -> None:
    model = write_model("tank.json", bodies={}, joints={}, states={"level": {"start": 1, "rate": "-level"}})
    text = succeed(f"check {model}")
    assert re.search(r"coordinates +0\n", text) and re.search(r"differential states +1\n", text)


def test_check_and_the_solver_agree_on_what_fits() -> None:
    for gap, code in ((0.9e-6, SUCCESS), (1.1e-6, NEGATIVE)):  # of the length scale, 0.5 m
        bar = {"mass": 2, "inertia": 0.1, "position": [0.5, gap * 0.5]}
        model = write_model("gap.json", bodies={"bar": bar})
        assert run(f"check {model}").exit_code == code
        assert run(f"simulate {model}").exit_code == (SUCCESS if code == SUCCESS else WRONG)


def solid(**entries: Any) -> dict[str, Any]:
    return {"mass": 1, "inertia": [1, 1, 1], "free": True, **entries}


def test_check_notes_what_no_rigid_body_has() -> None:
    rod = {"type": "rod", "from": [0, 0, 0], "to": [1, 2, 3], "mass": 1, "radius": 1e-3}
    bodies = {
        "a": solid(inertia=[1, 1, "5*k"]),
        "b": solid(inertia=[1, 1, 1.5, 0.9, 0, 0]),  # each moment is possible, those about its main axes are not
        "flat": solid(inertia=[0.1, 0.2, 0.3]),
        "bar": {"free": True, "shapes": [rod]},
    }
    header = {"dimensions": 3, "gravity": [0, 0, 0], "parameters": {"k": {"value": 1}}}
    model = write_model("unreal.json", **header, bodies=bodies, joints={})
    text = succeed(f"check {model}")
    assert re.findall("^note: (.*)$", text, re.MULTILINE) == [
        "body 'a': inertia 5 about z exceeds the sum of the others (1 + 1): no rigid body has that",
        "body 'b': principal moment of inertia 1.9 exceeds the sum of the others (0.1 + 1.5): no rigid body has that",
    ]
    assert text.endswith("no further findings\n")
    succeed(f"simulate {model} -t 0.1")


@pytest.mark.parametrize("dimensions", [2, 3])
def test_check_says_how_far_an_assembled_start_is_from_the_file(dimensions: int) -> None:
    at, weight = [0.0, 0.15, 0.0][:dimensions], 1 if dimensions == 2 else [1, 1, 1]
    hinge = {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "bar"}, "start": {"angle": 0.3}}
    bar = {"mass": 1, "inertia": weight, "position": at}
    header = {"dimensions": dimensions, "gravity": [0] * dimensions}
    model = write_model("moved.json", **header, bodies={"bar": bar}, joints={"h": hinge})
    said = "note: joints give start values, so the start is assembled: "
    text = succeed(f"check {model}")
    assert f"{said}farthest, body 'bar' moves by 0.15 m, body 'bar' turns by 0.3 rad\nno further findings" in text
    hinge["start"], bar["position"] = {"angle": 0}, [0] * dimensions
    model = write_model("still.json", **header, bodies={"bar": bar}, joints={"h": hinge})
    assert f"{said}nothing has to move for that\n" in succeed(f"check {model}")


def test_check_says_no_further_findings_after_redundancies() -> None:
    text = succeed("check bricard")
    assert "redundant: " in text and text.endswith("\nno further findings\n")


def test_check_finds_a_coordinate_without_mass() -> None:
    model = write_scalar_model("massless.json", {"y": {}, "z": {"force": "-z"}})
    assert "has no mass" in refuse(f"check {model}", code=NEGATIVE)


def test_check_refuses_parameters_that_give_no_numbers() -> None:
    model = write_model("infinite.json", parameters={"k": {"value": 0}}, gravity=[0, "1/k"], length="1/k")
    assert "not a finite number" in refuse(f"check {model}")


# ---------------------------------------------------------------- simulate


def test_simulate_writes_what_the_library_computes() -> None:
    succeed(
        "simulate pendulum -t 1 --dt 0.1 --set length=3/2 --record 'bar.*' --tolerance 1e-7 "
        "--option alpha=-0.1 --option form=printed -o out.csv"
    )
    ours = mbd.models.load("pendulum").simulate(
        1.0, 0.1, parameters={"length": 1.5}, record="bar.*", tolerance=1e-7, options={"alpha": -0.1, "form": "printed"}
    )
    found = mbd.Result.read("out.csv")
    assert list(found.columns) == list(ours.columns)
    assert all(np.array_equal(found[name], ours[name]) for name in ("time", *ours.columns))


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".hdf5", ".mat"])
def test_simulate_writes_every_format(suffix: str) -> None:
    from mbdfmu.cli.verbs.simulate import FORMATS

    assert f"wrote out{suffix}" in succeed(f"simulate pendulum -t 0.1 -o out{suffix}")
    assert Path(f"out{suffix}").stat().st_size > 0
    assert suffix in FORMATS


def test_the_formats_are_those_of_results() -> None:
    from mbdfmu.cli.verbs.simulate import FORMATS

    with pytest.raises(mbd.ModelError, match=", ".join(FORMATS)):
        mbd.Result([0.0], {}).write("x.unknown")


def test_without_a_file_the_final_values_of_the_outputs_are_shown() -> None:
    text = succeed("simulate pendulum -t 1 --dt 0.5")
    result = mbd.models.load("pendulum").simulate(1.0, 0.5)
    assert "pendulum: 3 points up to t = 1 s" in text
    assert re.search(r"steps? \(\d+ rejected\), \d+ iterations, \d+ Jacobians, \d+ factorisations", text)
    assert "worst constraint violation" in text
    assert re.search(rf"^  angle +{result['angle'][-1]:.6g} +rad$", text, re.MULTILINE)
    assert "bar.phi" not in text


def test_start_values_are_kept() -> None:
    succeed("simulate slider_crank -t 0.1 --start crank.phi=20*deg --record crank.phi -o out.csv")
    assert mbd.Result.read("out.csv")["crank.phi"][0] == pytest.approx(np.radians(20), abs=1e-12)


@pytest.mark.parametrize(("word", "value"), [("linear", 0.5), ("hold", 0.0)])
def test_inputs_come_from_a_file(word: str, value: float) -> None:
    Path("u.csv").write_text("time [s],torque [N.m]\n0,0\n1,1\n", encoding="utf-8")
    succeed(
        f"simulate pendulum -t 1 --dt 0.5 --input u.csv --interpolate {word} --record torque -o out.csv"
    )  # fmt: skip
    result = mbd.Result.read("out.csv")
    assert result["torque"][np.searchsorted(result.time, 0.5)] == value


def test_an_input_that_the_model_lacks_is_refused() -> None:
    Path("u.csv").write_text("time [s],torqe [N.m]\n0,0\n", encoding="utf-8")
    assert "did you mean 'torque'?" in refuse("simulate pendulum --input u.csv")


def test_a_fixed_step_takes_the_steps_it_was_told() -> None:
    assert "100 steps (0 rejected)" in succeed("simulate pendulum -t 1 --dt 0.1 --step 0.01")


@pytest.mark.parametrize("target", ["pendulum", "pendulum.fmu"])
def test_sizes_of_steps_are_those_of_the_library(target: str) -> None:
    if target == "pendulum.fmu":
        succeed("export-fmu pendulum")
    options = "--largest-step 1e-3 --first-step 1e-5 --smallest-step 1e-9"
    succeed(f"simulate {target} -t 0.2 --dt 0.1 {options} -o out.h5")
    sizes = {"largest_step": 1e-3, "first_step": 1e-5, "smallest_step": 1e-9}
    expected = mbd.models.load("pendulum").simulate(0.2, 0.1, **sizes)
    assert expected.statistics["steps"] > 200
    found = mbd.Result.read("out.h5")
    assert found["bar.x"][-1] == expected["bar.x"][-1]
    assert "steps" not in found.statistics or found.statistics["steps"] == expected.statistics["steps"]


def test_sizes_of_steps_must_fit_each_other() -> None:
    command = "simulate pendulum -t 1 --largest-step 1e-5 --smallest-step 1e-4"
    assert "largest_step must not be below smallest_step, found 1e-05 s and 0.0001 s" in refuse(command)
    assert "--first-step" in refuse("simulate pendulum -t 1 --first-step 0")


def test_a_model_without_experiment_needs_an_end_time() -> None:
    model = write_model("plain.json", experiment=None)
    assert "give the end time: -t SECONDS" in refuse(f"simulate {model}")
    assert "up to t = 0.5 s" in succeed(f"simulate {model} -t 1/2")


def test_plot_draws_the_outputs_beside_the_file() -> None:
    succeed("simulate pendulum -t 0.1 -o out.csv --plot")
    assert is_png("out.png")
    succeed("simulate pendulum -t 0.1 --plot")
    assert is_png("pendulum.png")


def is_png(path: str) -> bool:
    return Path(path).read_bytes().startswith(b"\x89PNG")


def test_a_failed_step_ends_with_1_and_what_was_computed_is_written() -> None:
    text = refuse(f"simulate {failing_model()} -t 2 --dt 0.1 -o out.h5", code=NEGATIVE)
    assert "t = 1 s" in text
    result = mbd.Result.read("out.h5")
    assert result.time[-1] == pytest.approx(0.9)
    assert not result.complete
    assert result.message in text


def test_a_start_that_cannot_be_closed_ends_with_1() -> None:
    far = {"type": "distance", "i": {"body": "ground", "at": [9, 1]}, "j": {"body": "bar"}, "length": 1}
    hinge = {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "bar", "at": [-0.5, 0]}}
    model = write_model("far.json", joints={"hinge": hinge, "far": far})
    assert "assembly failed" in refuse(f"simulate {model} --assemble -o out.csv", code=NEGATIVE)
    assert not Path("out.csv").exists()


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Simulation.advance

    def interrupted(self: Simulation, time: float) -> None:
        if time > 0.55:
            raise KeyboardInterrupt
        advance(self, time)

    monkeypatch.setattr(Simulation, "advance", interrupted)
    text = refuse("simulate pendulum -t 1 --dt 0.1 -o out.csv", code=INTERRUPTED)
    assert "Error: interrupted at t = 0.5 s of 1 s" in text
    assert len(mbd.Result.read("out.csv").time) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_long_run_on_a_terminal_shows_progress_and_heeds_ctrl_c() -> None:
    import pty

    ours, theirs = pty.openpty()
    process = started(
        "simulate", "pendulum", "-t", "1e5", "--dt", "0.1", "-o", "out.h5", stderr=theirs, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a run in the background ignores it
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b" s [" not in shown:  # of the bar, after its first two seconds
        shown += os.read(ours, 1000)
    process.send_signal(signal.SIGINT)
    while b"Error" not in shown:
        shown += os.read(ours, 1000)
    output, _ = process.communicate()
    os.close(ours)
    assert process.returncode == INTERRUPTED
    assert b"% |" in shown and b"interrupted at t = " in shown
    assert "wrote out.h5" in output
    result = mbd.Result.read("out.h5")
    assert 0 <= result.time[-1] < 1e5 and not result.complete


def test_there_is_no_bar_without_a_terminal() -> None:
    assert run("simulate pendulum -t 1").stderr == ""


# ---------------------------------------------------------------- plot and compare


@pytest.fixture
def two_runs(folder: Path) -> tuple[str, str]:
    """The same model with another length."""
    for name, length in (("a", "1"), ("b", "2")):
        succeed(f"simulate pendulum -t 1 --dt 0.01 --set length={length} -o {name}.csv")
    return "a.csv", "b.csv"


def test_plot_overlays_results(two_runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    figures: list[Figure] = []
    save: Callable[..., None] = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: (figures.append(figure), save(figure, *a, **k))[1])
    succeed("plot a.csv b.csv -y angle -y speed -x time -o both.png")
    assert is_png("both.png")
    legends = [[str(line.get_label()) for line in ax.lines] for ax in figures[0].axes]
    assert legends == [["angle (a)", "angle (b)"], ["speed (a)", "speed (b)"]]


@pytest.mark.parametrize(("suffix", "start"), [(".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_plot_writes_other_formats(two_runs: tuple[str, str], suffix: str, start: bytes) -> None:
    succeed(f"plot {two_runs[0]} -y 'bar.*' -o p{suffix}")
    assert Path(f"p{suffix}").read_bytes().startswith(start)


def test_plot_refuses_unknown_signals(two_runs: tuple[str, str]) -> None:
    assert "did you mean 'angle'?" in refuse("plot a.csv b.csv -y angel -o p.png")
    assert "did you mean 'angle'?" in refuse("plot a.csv b.csv -x angel -o p.png")
    assert not Path("p.png").exists()


def test_compare_passes_what_is_equal_and_fails_what_is_not(two_runs: tuple[str, str]) -> None:
    first, second = two_runs
    assert succeed(f"compare {first} {first}").startswith("passed")
    result = run(f"compare {second} {first}")
    assert result.exit_code == NEGATIVE
    assert result.stdout.startswith("FAILED")
    succeed(f"compare {second} {first} --signals torque")
    succeed(f"compare {second} {first} --atol 1e3")
    assert "did you mean 'angle'?" in refuse(f"compare {second} {first} --signals angel")


# ---------------------------------------------------------------- FMUs


@pytest.fixture
def pendulum_fmu(folder: Path) -> str:
    assert "wrote pendulum.fmu" in succeed("export-fmu pendulum")
    return "pendulum.fmu"


def test_an_fmu_is_a_model_to_info_and_simulate(pendulum_fmu: str) -> None:
    text = succeed(f"info {pendulum_fmu}")
    assert re.search(r"^  length +m +", text, re.MULTILINE)
    for target, file in ((pendulum_fmu, "fmu.csv"), ("pendulum", "model.csv")):
        succeed(f"simulate {target} -t 1 --dt 0.1 --set length=2 --record angle -o {file}")
    succeed("compare fmu.csv model.csv")
    solver = "--scheme hht --option form=printed --option alpha=-1/10 --set solver.options.estimate=sharp --step 1e-3"
    assert "11 points" in succeed(f"simulate {pendulum_fmu} -t 1 --dt 0.1 {solver}")
    assert "angle" in succeed(f"simulate {pendulum_fmu} -t 1")


def test_unknown_names_of_an_fmu_are_refused(pendulum_fmu: str) -> None:
    assert "did you mean 'length'?" in refuse(f"simulate {pendulum_fmu} -t 1 --set lenght=1")
    assert "did you mean 'angle'?" in refuse(f"simulate {pendulum_fmu} -t 1 --record angel")
    assert "did you mean 'solver.options.alpha'?" in refuse(f"simulate {pendulum_fmu} -t 1 --option alfa=0")
    assert "--assemble is for models" in refuse(f"simulate {pendulum_fmu} -t 1 --assemble")


def test_a_file_that_is_no_fmu_is_refused() -> None:
    Path("broken.fmu").write_bytes(b"no zip")
    for verb in ("info", "simulate"):
        assert "Error: broken.fmu: " in refuse(f"{verb} broken.fmu")


def test_what_an_fmu_holds_is_chosen_by_options() -> None:
    platform = next(iter(available()))
    text = succeed(f"export-fmu pendulum -o a.fmu --signals 'bar.*' --platform {platform} --with-reference -t 0.1")
    assert re.fullmatch(rf"wrote a\.fmu \(\d+ kB, runtime native, {platform}\)\n", text)
    shown = succeed("info a.fmu --signals '*'")
    assert "bar.alpha" in shown and "hinge.reaction" not in shown
    assert "= hht" in succeed("info a.fmu --signals solver.scheme")
    assert "passed" in succeed("compare a.fmu")
    assert "runtime python" in succeed("export-fmu pendulum -o b.fmu --runtime python")
    assert "cannot be 'htt'; did you mean 'hht'?" in refuse("simulate a.fmu -t 0.1 --set solver.scheme=htt")
    succeed("simulate a.fmu -t 0.1 --set solver.scheme=radau -o a.csv")


def test_an_fmu_of_a_model_with_callbacks_says_why_its_runtime_is_python() -> None:
    Path("laws.py").write_text("def law(t, y, p):\n    return -y[0]\n", encoding="utf-8")
    states = {"x": {"rate": "f", "start": 1}}
    callbacks = {"f": {"python": "laws:law", "inputs": ["x"]}}
    path = write_model("called.json", bodies={}, joints={}, states=states, callbacks=callbacks)
    text = succeed(f"export-fmu {path} --allow-python -o c.fmu")
    assert text.endswith("note: the runtime is python, which the callbacks need: f\n")
    assert "has no Python, which callback 'f' needs" in refuse(f"export-fmu {path} --allow-python --runtime native")


def test_what_is_an_fmu_or_a_folder_is_called_so(pendulum_fmu: str) -> None:
    assert "is an FMU; this command needs a model; run it (mbdfmu simulate" in refuse(f"check {pendulum_fmu}")
    assert "is an FMU, not a system of FMUs; name it in a system file" in refuse(f"cosim {pendulum_fmu}")
    Path("folder.json").mkdir()
    for command in ("check", "info", "simulate"):
        assert "folder.json: is a folder; give a model file" in refuse(f"{command} folder.json")
    assert "is a folder, not a file; check the path" in refuse("cosim folder.json")
    Path("folder.csv").mkdir()
    assert "is a folder; give the name of a file" in refuse("plot folder.csv -o a.png")


def test_an_input_is_no_parameter() -> None:
    text = refuse("simulate pendulum -t 1 --set torque=3")
    assert "'torque' is an input, not a parameter; give it over time (inputs={...}, --input FILE" in text


def test_what_an_fmu_computes_cannot_be_set_and_the_cure_is_told(pendulum_fmu: str) -> None:
    text = refuse(f"simulate {pendulum_fmu} -t 1 --set bar.ax=3")
    assert "'bar.ax' is local of type Real and cannot be set; it is computed; set parameters, inputs" in text


def test_a_result_without_rows_is_not_drawn() -> None:
    Path("none.csv").write_text("time [s],a\n", encoding="utf-8")
    assert "none: has no rows, of which nothing can be drawn" in refuse("plot none.csv -o a.png")
    assert not Path("a.png").exists()


@pytest.mark.parametrize("suffix", ["csv", "h5", "mat"])
def test_info_describes_a_result(suffix: str) -> None:
    succeed(f"simulate pendulum -t 1 --set length=2 -o out.{suffix}")
    text = succeed(f"info out.{suffix}")
    assert re.search(r"points +101\n", text) and re.search(r"time +0 .. 1 s\n", text)
    assert re.search(r"\n  angle +rad +-\d.* .. 0\n", text)
    assert ("length 2" in text) == (suffix == "h5")
    rows = json.loads(succeed(f"info out.{suffix} --json --signals 'bar.*'"))["variables"]
    assert {row["name"].partition(".")[0] for row in rows} == {"bar"}


@pytest.mark.parametrize("command", ["simulate pendulum", "simulate {}", "kinematics stewart", "record {}"])
def test_points_farther_apart_than_the_run_is_long_are_refused(command: str, pendulum_fmu: str) -> None:
    text = refuse(f"{command.format(pendulum_fmu)} -t 1 --dt 3")
    assert "--dt 3 s is longer than the run of 1 s; give at most that" in text


def test_an_output_is_no_name_for_forces() -> None:
    force = {"type": "rotational", "i": {"body": "ground"}, "j": {"body": "bar"}, "torque": "pull"}
    model = write_model("output.json", outputs={"pull": "bar.x*2"}, forces={"f": force})
    text = refuse(f"check {model}")
    assert "an output of that name is computed last and cannot be used, make it a variable (variables)" in text


def test_the_demo_leaves_an_fmu_tables_and_a_picture() -> None:
    text = succeed("demo")
    assert "passed: " in text
    written = {path.suffix for path in Path("mbdfmu-demo").iterdir()}
    assert written == {".csv", ".fmu", ".png"}


# ---------------------------------------------------------------- controllers


def test_controllers_are_listed_shown_and_exported() -> None:
    assert "gain [N.s/m]" in succeed("list controllers")
    text = succeed("info abs_threshold --signals '*'")
    assert "sampled every  0.002 s" in text and "phase" in text
    assert "slip_rl" in succeed("info abs_slip:wheels=4")
    assert json.loads(succeed("info skyhook --json"))["name"] == "skyhook"
    assert "runtime python" in succeed("export-fmu skyhook --set gain=2500 --set sample_time=0.005")
    assert "gain" in succeed("info skyhook.fmu") and "2500" in succeed("info skyhook.fmu --signals gain")
    assert "runtime native" in succeed("export-fmu skyhook --set lag=0.02 --runtime native -o n.fmu")
    assert "force" in succeed("simulate skyhook.fmu -t 0.1 --dt 0.01")
