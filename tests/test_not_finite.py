"""Nothing that is not finite is recorded, given out or accepted: the run ends with the name, the time, the operands."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fmpy.fmi1 import FMICallException
from fmu_instances import opened
from pythonfmu.builder import FmuBuilder

import mbdfmu as mbd
from mbdfmu.blocks import Pid
from mbdfmu.cli import main
from mbdfmu.description import Description
from mbdfmu.fmi.integrating import _Recorded
from mbdfmu.forces import Translational, VectorForce
from mbdfmu.joints import Prismatic

KINDS = [("native", "cs2"), ("python", "cs2"), ("native", "cs3"), ("native", "me2")]  # runtime and interface
GROUND = {"body": "ground"}
WHY = r"'y' is not finite at t = 0\.5[0-9]* s: 1 / "


def pole() -> mbd.Model:
    """A ball that moves on its own, and an output that has no value at 0.5 s."""
    model = mbd.Model("pole", gravity=(0, 0))
    model.add("ball", mbd.Body(mass=1, inertia=1, velocity=(1, 0), free=True))
    model.add("x", "ball.x")
    model.add("y", "1/(max(0.5 - time, 0) + 0)")
    return model


def command(line: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, shlex.split(line), prog_name="mbdfmu")
    return result.exit_code, result.output


# ---------------------------------------------------------------- models


@pytest.mark.parametrize("scheme", ["hht", "dopri5", "radau"])
def test_a_run_ends_with_the_signal_and_keeps_what_is_done(scheme: str) -> None:
    with pytest.raises(mbd.StepFailed, match=rf"signal {WHY}0") as caught:
        pole().simulate(1.0, 0.1, scheme=scheme)
    kept = caught.value.result
    assert not kept.complete and kept.message == str(caught.value)
    assert kept.time == pytest.approx(np.arange(5) / 10) and np.isfinite(kept["y"]).all()


@pytest.mark.parametrize(("value", "wrong"), [(np.inf, "inf"), (np.nan, "nan"), ("two", "'two'")])
def test_an_input_that_goes_wrong_ends_the_run_and_keeps_what_is_done(value: object, wrong: str) -> None:
    model = mbd.Model("driven", gravity=(0, 0))
    model.add("u", mbd.Input())
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    with pytest.raises(mbd.StepFailed, match=rf"{wrong}.*") as caught:
        model.simulate(1.0, 0.1, inputs=lambda t: {"u": 1.0 if t < 0.55 else value})
    kept = caught.value.result
    assert not kept.complete and "'u'" in kept.message and kept.time[-1] > 0.39
    assert np.isfinite(kept["u"]).all()


SWALLOWED = [
    "min(time, sqrt(-1 - time))",
    "max(3, log(ball.x - 1))",
    "clamp(sqrt(ball.x - 1), 0, 1)",
    "sign(sqrt(ball.x - 1))",
    "if(sqrt(ball.x - 1) > 0, 1, 2)",
    "if(sqrt(ball.x - 1), 1, 2)",
    "if(not (sqrt(ball.x - 1)), 1, 2)",
    "if(sqrt(ball.x - 1) > 0 and ball.y >= 0, 1, 2)",
    "if(sqrt(ball.x - 1) > 0 or ball.y > 0, 1, 2)",
    "step(sqrt(ball.x - 1), 0, 0, 1, 1)",
]


@pytest.mark.parametrize("text", SWALLOWED)
def test_what_has_no_value_decides_nothing(text: str) -> None:
    """Minima, comparisons and their like took it for one side or the other, and a force came out of it."""
    model = mbd.Model("still", gravity=(0, 0))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.add("push", VectorForce(i=GROUND, j={"body": "ball"}, force=(text, 0)))
    with pytest.raises(mbd.StepFailed, match=r"forces\.push\[0\].*is not finite: (sqrt|log)"):
        model.simulate(1.0, 0.1)


@pytest.mark.parametrize(
    ("kind", "fields", "found"),
    [
        ("sphere_box", {"radius": 0.1, "size": [1, "k - 2"]}, r"c\.size\[1\]: k - 2 must be positive, found -1"),
        ("sphere_plane", {"radius": 0.1, "exponent": "k/2"}, "forces.c.exponent: k/2 must be at least 1, found 0.5"),
        ("sphere_plane", {"radius": 0.1, "restitution": "1 + k", "impact_speed": 1}, r"restitution: 1 \+ k must .* 2"),
        ("bushing", {"torsional_stiffness": "k - 2"}, "torsional_stiffness: k - 2 must be zero or positive"),
        ("bump_stop", {"lower": "2*k", "upper": 1.5}, "upper minus lower of force 'c' must be .*, found -0.5"),
    ],
)
def test_bounds_hold_for_what_follows_from_parameters(kind: str, fields: dict[str, object], found: str) -> None:
    """As for numbers; a box of negative width was a box."""
    force = {"type": kind, "i": GROUND, "j": {"body": "ball"}, **fields}
    force["stiffness"] = [1e4, 1e4] if kind == "bushing" else 1e4
    ball = {"mass": 1, "inertia": 1, "position": [0, 1], "free": True}
    whole = {"format_version": 1, "name": "bounded", "parameters": {"k": 1.0}, "bodies": {"ball": ball}}
    model = mbd.Model.from_description(mbd.Description.model_validate(whole | {"forces": {"c": force}}))
    with pytest.raises(mbd.ModelError, match=found):
        model.simulate(0.1, 0.1)


def test_limits_of_a_controller_that_cross_by_parameters_are_refused() -> None:
    """Below both limits it gave the lower one."""
    model = mbd.Model("limited")
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.add("k", mbd.Parameter(value=1.0))
    model.add("u", Pid(input="time", kp=1.0, min="-k", max="k"))
    assert model.simulate(0.1, 0.1).complete
    with pytest.raises(mbd.ModelError, match="max minus min of block 'u' must be zero or positive, found -4"):
        model.simulate(0.1, 0.1, parameters={"k": -2.0})


@pytest.mark.parametrize("value", ["1/time", "log(time)", "1 + sqrt(time - 1)"])
def test_a_motion_without_value_at_the_start_is_named(value: str) -> None:
    """It was told as joints that cannot be closed."""
    model = mbd.Model("driven")
    model.add("b", mbd.Body(mass=1, inertia=1, position=(0, 0)))
    model.add("rail", Prismatic(i=GROUND, j={"body": "b"}, axis=(0, 1)))
    model.add("m", mbd.Motion(of="rail.displacement", value=value))
    with pytest.raises(mbd.StepFailed, match=r"motion 'm' .*is not finite at t = 0 s; motions\.m\.value: .*not finite"):
        model.simulate(1.0, 0.1)


@pytest.mark.parametrize(
    ("add", "name"),
    [
        (("p", mbd.Parameter(value="1/(k - 2)")), r"parameters\.p\.value: 1/\(k - 2\) is not .*: 1 / 0"),
        (("push", VectorForce(i=GROUND, j={"body": "ball"}, force=("ball.x + k/(k - 2)", 0))),
         r"forces\.push\[0\]: ball\.x \+ k/\(k - 2\) is not .*: 2 / 0"),
        (("s", mbd.State(rate="-s", start="sqrt(1 - k)")), r"states\.s\.start: sqrt\(1 - k\) is not .*: sqrt\(-1\)"),
    ],
)  # fmt: skip
def test_what_parameters_make_infinite_is_named(add: tuple[str, object], name: str) -> None:
    """Whether a parameter is used or not: it is shown, and given out by FMUs."""
    model = mbd.Model("divided")
    model.add("k", mbd.Parameter(value=3.0))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.add(*add)
    assert "sqrt" in name or model.simulate(0.1, 0.1).complete
    with pytest.raises(mbd.ModelError, match=name):
        model.simulate(0.1, 0.1, parameters={"k": 2.0})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mod(time, 0)", "mod needs y to differ from 0"),
        ("mod(time, 0*time)", "mod needs y to differ from 0"),
        ("impact(ball.x, ball.vx, 1, 1e3, -1, 1, 0.1)", "a stop needs e above 0, found -1"),
        ("bistop(ball.x, ball.vx, 0, 1, 1e3, 0, 1, 0.1)", "a stop needs e above 0, found 0"),
    ],
)
def test_functions_refuse_what_has_no_value_anywhere(text: str, found: str) -> None:
    """`mod(time, 0)` was `time`."""
    model = mbd.Model("still")
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.add("push", VectorForce(i=GROUND, j={"body": "ball"}, force=(text, 0)))
    with pytest.raises(mbd.ModelError, match=found):
        model.simulate(1.0, 0.1)


NOT_NEEDED = {
    "if(ball.y < 0 and sqrt(ball.x - 1) > 0, 1, 2)": 1.0,
    "if(sqrt(ball.x - 1) > 0 or ball.y >= 0, 1, 2)": 0.5,
    "if(ball.y >= 0, 1, sqrt(-1 - time))": 0.5,
}


@pytest.mark.parametrize("text", NOT_NEEDED)
def test_what_is_not_needed_may_have_no_value(text: str) -> None:
    model = mbd.Model("still", gravity=(0, 0))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    model.add("push", VectorForce(i=GROUND, j={"body": "ball"}, force=(0, text)))
    assert model.simulate(1.0, 0.1)["ball.y"][-1] == pytest.approx(NOT_NEEDED[text], rel=1e-6)


@pytest.mark.parametrize(("condition", "occurs"), [("{} and {}", False), ("{} or {}", True)])
@pytest.mark.parametrize("turned", [False, True])
def test_conditions_of_events_may_have_a_side_without_value(condition: str, occurs: bool, turned: bool) -> None:
    """`sqrt(-1)` beside what decides alone: false and .., true or ..; in whatever order."""
    known = "ball.x > 0.45" if occurs else "ball.x < -1"
    sides = [known, "sqrt(-1 - time) > 0"]
    model = mbd.Model("half", gravity=(0, 0))
    model.add("ball", mbd.Body(mass=1, inertia=1, velocity=(1, 0), free=True))
    model.add("there", mbd.Event(when=condition.format(*sides[:: -1 if turned else 1]), restart=True))
    events = model.simulate(1.0, 0.1).events
    assert [time for time, _ in events] == pytest.approx([0.45] if occurs else [])


def broken(t: float) -> dict[str, float]:
    """Of a sensor that is lost."""
    if t > 0.55:
        raise RuntimeError("sensor lost")
    return {"u": 1.0}


def driven() -> mbd.Model:
    model = mbd.Model("driven", gravity=(0, 0))
    model.add("u", mbd.Input())
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    return model


LOST = r"the input function raised RuntimeError at t = 0\.6 s: sensor lost"


def test_an_input_function_that_raises_ends_the_run_and_keeps_what_is_done() -> None:
    with pytest.raises(mbd.StepFailed, match=LOST) as caught:
        driven().simulate(1.0, 0.1, inputs=broken)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.result.time[-1] == pytest.approx(0.5)


def test_an_input_function_that_raises_keeps_what_fmus_have_done(tmp_path: Path) -> None:
    driven().export_fmu(tmp_path / "driven.fmu")
    with pytest.raises(mbd.StepFailed, match=LOST) as caught:
        mbd.fmu.simulate(tmp_path / "driven.fmu", 1.0, 0.1, inputs=broken)
    assert caught.value.result.time[-1] == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, "a"])
@pytest.mark.parametrize("name", ["tolerance", "step_output"])
def test_settings_of_a_run_of_an_fmu_are_positive(name: str, wrong: object, tmp_path: Path) -> None:
    """0 counted as not given."""
    driven().export_fmu(tmp_path / "driven.fmu")
    with pytest.raises(mbd.ModelError, match=f"{name} must be a positive number.* found"):
        mbd.fmu.simulate(tmp_path / "driven.fmu", **{"t_end": 1.0, "step_output": 0.1, name: wrong})


@pytest.mark.parametrize("wrong", [10, 0.2, 1e-15])
def test_a_run_of_an_fmu_refuses_the_tolerances_that_models_refuse(wrong: float, tmp_path: Path) -> None:
    driven().export_fmu(tmp_path / "driven.fmu")
    with pytest.raises(mbd.ModelError, match=rf"tolerance must lie in \[1e-14, 0.1\], found {wrong:g}"):
        mbd.fmu.simulate(tmp_path / "driven.fmu", 1.0, 0.1, tolerance=wrong)


@pytest.mark.parametrize("runtime", ["native", "python"])
@pytest.mark.parametrize(("given", "used"), [(10.0, "0.1"), (1e-20, "1e-14"), (1e-3, None)])
def test_a_master_is_told_what_its_tolerance_becomes(
    runtime: str, given: float, used: str | None, tmp_path: Path
) -> None:
    driven().export_fmu(tmp_path / "driven.fmu", runtime)
    with opened(tmp_path / "driven.fmu") as fmu:
        fmu.begin(tolerance=given)
        told = [text for text in fmu.said if "tolerance" in text]
        assert len(told) == (used is not None), fmu.said
        assert not told or f"lies outside of [1e-14, 0.1]; {used} is used" in told[0]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("solver.scheme", 2.5, "a whole number, found 2.5"),
        ("solver.scheme", np.nan, "a whole number, found nan"),
        ("solver.scheme", np.inf, r"\[1, 15\]|a whole number, found inf"),
        ("solver.assemble", 3, r"true or false \(1 or 0\), found 3"),
    ],
)
def test_whole_numbers_and_truths_are_not_rounded(name: str, value: float, wanted: str, tmp_path: Path) -> None:
    """`solver.scheme` of 2.5 was scheme 2."""
    driven().export_fmu(tmp_path / "driven.fmu")
    with pytest.raises(mbd.ModelError, match=wanted):
        mbd.fmu.simulate(tmp_path / "driven.fmu", 1.0, 0.1, parameters={name: value})


def test_an_input_that_is_given_at_times_only_is_named() -> None:
    with pytest.raises(mbd.StepFailed, match=r"gives u at t = 0\.3 s and nothing at 0\.4 s"):
        driven().simulate(1.0, 0.1, inputs=lambda t: {"u": 1.0} if t < 0.35 else {})


@pytest.mark.parametrize("wrong", ["a", None, [1]])
def test_times_and_slopes_are_numbers(wrong: object) -> None:
    simulation = driven().start()
    with pytest.raises(mbd.ModelError, match="the time to advance to must be a number"):
        simulation.advance(wrong)
    with pytest.raises(mbd.ModelError, match="input 'u' must be a number"):
        simulation.set_input("u", 0.0, wrong)


@pytest.mark.parametrize("name", ["first_step", "largest_step"])
def test_steps_are_not_asked_for_below_the_smallest(name: str) -> None:
    """A first step of 1e-300 s ended in a failure of Newton's iteration."""
    with pytest.raises(mbd.ModelError, match=f"{name} must not be below smallest_step, found 1e-300 s and 1e-10 s"):
        driven().simulate(1.0, 0.1, **{name: 1e-300})


@pytest.mark.parametrize(("runtime", "interface"), KINDS[:3])
def test_fmus_ask_for_no_step_below_the_smallest(runtime: str, interface: str, tmp_path: Path) -> None:
    driven().export_fmu(tmp_path / "driven.fmu", runtime=runtime, interface=interface)
    with pytest.raises((mbd.ModelError, mbd.StepFailed), match=r"solver\.first_step must not be below"):
        mbd.fmu.simulate(tmp_path / "driven.fmu", 1.0, 0.1, parameters={"solver.first_step": 1e-300})


def test_what_is_not_recorded_does_no_harm() -> None:
    assert pole().simulate(1.0, 0.1, record="x").complete


def test_stepping_names_it_too() -> None:
    simulation = pole().start()
    simulation.advance(0.5)
    assert simulation["x"] == pytest.approx(0.5)
    for read in (lambda: simulation["y"], simulation.values):
        with pytest.raises(mbd.StepFailed, match=rf"signal {WHY}0"):
            read()
    simulation.restore(pole().start().save())
    assert simulation["y"] == 2


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_spring_of_tiny_length_is_named(dimensions: int) -> None:
    model = mbd.Model("tiny", dimensions=dimensions, gravity=(0,) * dimensions, length=1.0)
    place = (1e-200, 0, 0)[:dimensions]
    model.add("ball", mbd.Body(mass=1, inertia=1 if dimensions == 2 else (1, 1, 1), position=place))
    model.add("spring", Translational(i=GROUND, j={"body": "ball"}, stiffness=0, damping=0))
    with pytest.raises(mbd.StepFailed, match=r"'spring\.length_rate' is not finite at t = 0 s: 0 / 0|'spring'"):
        model.simulate(0.1, 0.1)


def test_an_energy_that_overflows_is_named() -> None:
    model = mbd.Model("fast", gravity=(0, 0))
    model.add("ball", mbd.Body(mass=1, inertia=1, velocity=(1e200, 0), free=True))
    with pytest.raises(mbd.StepFailed, match=r"signal '[\w.]*energy[\w.]*' is not finite at t = 0 s"):
        model.simulate(1e-200, 1e-200, step=1e-200, record="energy.*")


def test_the_command_ends_with_1_and_writes_what_is_done(tmp_path: Path) -> None:
    pole().save(tmp_path / "pole.json")
    code, said = command(f"simulate {tmp_path / 'pole.json'} -t 1 --dt 0.1 -o {tmp_path / 'out.csv'}")
    assert code == 1 and "signal 'y' is not finite at t = 0.5 s" in said
    assert mbd.Result.read(tmp_path / "out.csv").time[-1] == pytest.approx(0.4)


# ---------------------------------------------------------------- FMUs of ours


@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_our_fmus_give_out_nothing_that_is_not_finite(runtime: str, interface: str, tmp_path: Path) -> None:
    path = pole().export_fmu(tmp_path / "x.fmu", runtime=runtime, interface=interface)
    with pytest.raises(mbd.StepFailed, match=WHY) as caught:
        mbd.fmu.simulate(path, 1.0, 0.1)
    kept = caught.value.result
    assert not kept.complete and np.isfinite(kept["y"]).all()
    assert 0.3 < kept.time[-1] < 0.5
    assert mbd.fmu.simulate(path, 1.0, 0.1, record="x").complete


def test_a_host_is_answered_by_an_error_and_may_go_on(tmp_path: Path) -> None:
    with opened(pole().export_fmu(tmp_path / "x.fmu")) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.5)
        assert fmu.look("x") == pytest.approx([0.5])
        with pytest.raises(FMICallException):
            fmu.look("y")
        assert "'y' is not finite at t = 0.5 s: 1 / 0" in fmu.said[-1]
        fmu.doStep(0.5, 0.1)


def test_the_python_runtime_makes_no_step_to_where_it_could_not_be_read(tmp_path: Path) -> None:
    with opened(pole().export_fmu(tmp_path / "x.fmu", runtime="python")) as fmu:
        fmu.begin()
        assert fmu.look("y") == [2]
        with pytest.raises(FMICallException):
            fmu.doStep(0.0, 0.5)
        assert any("'y' is not finite at t = 0.5 s: 1 / 0" in said for said in fmu.said)


# ---------------------------------------------------------------- FMUs of others


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output that is no number from 0.5 s on."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.py").write_text(ODD, encoding="utf-8")
    built: Path = FmuBuilder.build_FMU(folder / "odd.py", folder / "Odd.fmu", needsExecutionTool=False)
    return built


ODD = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

class Odd(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.y = 1.0
        self.u = 0.0
        self.register_variable(Real("y", causality=Fmi2Causality.output))
        self.register_variable(Real("u", causality=Fmi2Causality.input))

    def do_step(self, current_time, step_size):
        self.y = 1.0 if current_time + step_size < 0.45 else float("nan")
        return True
"""
ODD_SAID = r"FMU '\w+' gave out nan for 'y' at t = 0\.5 s, which is not finite"


def test_a_foreign_fmu_that_gives_nan_is_named(foreign: Path) -> None:
    with pytest.raises(mbd.StepFailed, match=ODD_SAID) as caught:
        mbd.fmu.simulate(foreign, 1.0, 0.1)
    assert caught.value.result.time == pytest.approx(np.arange(5) / 10)
    with mbd.fmu.open(foreign) as running:
        running.advance(0.5)
        with pytest.raises(mbd.StepFailed, match=ODD_SAID):
            running["y"]


def test_coupled_fmus_are_named(foreign: Path) -> None:
    system = mbd.cosim.System("pair")
    system.add("first", foreign)
    system.add("second", foreign)
    system.connect("second.u", "first.y")
    with pytest.raises(mbd.StepFailed, match=r"FMU 'first' gave out nan for 'y' at t = 0\.5 s") as caught:
        system.simulate(1.0, 0.1)
    kept = caught.value.result
    assert np.isfinite(kept["first.y"]).all() and kept.time[-1] == pytest.approx(0.4)


@pytest.mark.parametrize("verb", ["simulate {fmu} -t 1 --dt 0.1 -o {folder}/out.csv", "record {fmu} -t 1 --dt 0.1"])
def test_verbs_end_with_1(verb: str, foreign: Path, tmp_path: Path) -> None:
    code, said = command(verb.format(fmu=foreign, folder=tmp_path))
    assert code == 1 and "gave out nan for 'y' at t = 0.5 s" in said


def test_a_comparison_says_why_and_ends_with_1(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text("time [s],y\n" + "".join(f"{k / 10},1\n" for k in range(11)), encoding="utf-8")
    code, said = command(f"compare {foreign} {tmp_path / 'ref.csv'}")
    assert code == 1 and "gave out nan for 'y' at t = 0.5 s" in said


def test_a_foreign_fmu_for_model_exchange_is_named() -> None:
    """What fmpy's recorder reads passes here; no other maker's FMU is needed to see a nan go by."""

    class Loaded:
        def setTime(self, time: float) -> None: ...

        def setContinuousStates(self, values: object, count: int) -> None: ...

        def getReal(self, vr: list[int]) -> list[float]:
            return [1.0, float("inf")]

    facts = SimpleNamespace(name="odd", variables=[SimpleNamespace(reference=k, name=f"y{k}") for k in range(2)])
    fmu = Loaded()
    _Recorded(fmu, facts, 0.0)
    fmu.setTime(0.25)
    with pytest.raises(mbd.StepFailed, match=r"FMU 'odd' gave out inf for 'y1' at t = 0\.25 s, which is not finite"):
        fmu.getReal(vr=[0, 1])


# ---------------------------------------------------------------- names of what has no value


def hung_on(force: dict[str, Any], **more: Any) -> mbd.Model:
    """A body at the origin, on a force from the ground."""
    return mbd.Model.from_description(
        Description(
            **{
                "format_version": 1, "name": "hung", "gravity": [0, -9.81], "bodies": {"a": {"mass": 1, "inertia": 1}},
                "forces": {"other": {"type": "translational", "i": {"body": "ground", "at": [0, 1]},
                                     "j": {"body": "a"}},
                           "s": {"i": {"body": "ground"}, "j": {"body": "a"}, **force}},
                **more,
            }
        )
    )  # fmt: skip


def test_a_spring_whose_ends_coincide_is_named() -> None:
    model = hung_on({"type": "translational", "stiffness": 100, "free_length": 0.5})
    with pytest.raises(mbd.StepFailed, match=r"force 's' is not finite .*where its ends coincide it has no direction"):
        model.simulate(1.0, 0.1)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(("x", "stiffness"), [(0.0, 100), (0.3, 1e120), (0.3, 1e200), (0.3, 1e300), (0.3, 1e308)])
def test_springs_without_direction_or_far_too_stiff_are_named(dimensions: int, x: float, stiffness: float) -> None:
    """In space, and where Newton's iteration diverges, the coordinate alone was."""
    model = mbd.Model("hung", dimensions=dimensions)
    inertia = 1 if dimensions == 2 else (1, 1, 1)
    model.add("a", mbd.Body(mass=1, inertia=inertia, position=(x, *[0] * (dimensions - 1)), free=True))
    model.add("s", Translational(i=GROUND, j={"body": "a"}, stiffness=stiffness, free_length=0.5))
    with pytest.raises(mbd.StepFailed, match=r"force 's' is not finite or far too large"):
        model.simulate(1.0, 0.1)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("force", [{"type": "translational", "stiffness": 100}, {"type": "single", "force": 10},
                                   {"type": "bump_stop", "lower": 0.1, "upper": 1, "stiffness": 1e5}])  # fmt: skip
def test_forces_without_direction_are_named(dimensions: int, force: dict[str, object]) -> None:
    """A spring that is not stretched has a force, zero, but no direction."""
    ball = {"mass": 1, "inertia": [1] * 3 if dimensions == 3 else 1, "free": True}
    whole = {"format_version": 1, "name": "point", "dimensions": dimensions, "bodies": {"ball": ball},
             "forces": {"s": {"i": GROUND, "j": {"body": "ball"}, **force}}}  # fmt: skip
    with pytest.raises(mbd.StepFailed, match="force 's' is not finite"):
        mbd.Model.from_description(Description.model_validate(whole)).simulate(1.0, 0.1)


@pytest.mark.parametrize("text", ["1/d", "sqrt(d - 1)"])
def test_an_expression_of_parameters_is_named(text: str) -> None:
    model = hung_on(
        {"type": "translational", "stiffness": text, "axis": [1, 0]}, parameters={"d": {"value": 0.0}},
    )  # fmt: skip
    with pytest.raises(mbd.ModelError) as caught:
        model.simulate(1.0, 0.1)
    assert f"forces.s.stiffness: {text} is not a finite number" in str(caught.value)


def test_an_angle_in_degrees_is_noted() -> None:
    """In bodies and forces; a start may well be many turns, so that it is no error."""
    spring = {"type": "rotational", "stiffness": 1, "free_angle": -90}
    model = hung_on(spring, bodies={"a": {"mass": 1, "inertia": 1, "angle": 30, "position": [0, 0.5]}})
    notes = [note for note in model.simulate(0.1, 0.1).notes if "full turn" in note]
    assert notes == [
        'bodies.a.angle is 30 rad, more than a full turn; degrees are written "30*deg"',
        'forces.s.free_angle is -90 rad, more than a full turn; degrees are written "-90*deg"',
    ]
    modest = hung_on(spring | {"free_angle": "720*deg"}, bodies={"a": {"mass": 1, "inertia": 1, "angle": 6.2}})
    assert not any("full turn" in note for note in modest.start().notes)
