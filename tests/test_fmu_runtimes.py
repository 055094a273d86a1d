"""What both runtimes promise: the same numbers as the model, life, states, failures; every test runs on both."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Discard, fmi2Error
from fmu_instances import (
    MODELS,
    RUNTIMES,
    STEP,
    FMU2Named,
    blow_up,
    first_rows,
    held_torque,
    in_new_process,
    opened,
    shipped,
    user_coordinates,
)

import mbdfmu as mbd
from mbdfmu.forces import VectorForce
from mbdfmu.schemes import Scheme


def tuned() -> mbd.Model:
    """A mass on a spring whose stiffness may change, pushed by an input and by a force that follows the time."""
    model = mbd.Model("tuned")
    model.add("k", mbd.Parameter(value=20.0, min=0.0, tunable=True))
    model.add("drive", mbd.Parameter(value=0.0))
    model.add("push", mbd.Input(unit="N"))
    model.add("x", mbd.Coordinate(start=0.1, unit="m", force="push - k*x + drive*cos(time)"))
    model.add_mass("x", 1.0)
    model.add("place", "x")
    model.add("pull", "k*x")
    return model


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fmu")


@pytest.fixture(scope="module")
def pendulum(runtime: str, folder: Path) -> Path:
    return mbd.models.load("pendulum").export_fmu(folder / f"pendulum_{runtime}.fmu", runtime=runtime)


@pytest.fixture(scope="module")
def spring(runtime: str, folder: Path) -> Path:
    return tuned().export_fmu(folder / f"tuned_{runtime}.fmu", runtime=runtime)


# ---------------------------------------------------------------- equal to the model


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", MODELS)
def test_start_values_are_what_initialisation_reads(name: str, runtime: str, tmp_path: Path) -> None:
    model = shipped(name)
    started = model.start()
    with opened(model.export_fmu(tmp_path / "x.fmu", runtime=runtime)) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        reals = [v for v in fmu.facts.variables if v.type == "Real"]
        read = dict(zip([v.name for v in reals], fmu.getReal([v.reference for v in reals]), strict=True))
        assert {v.name: read[v.name] for v in reals if v.start is not None} == {
            v.name: v.start for v in reals if v.start is not None
        }
        texts = [v for v in fmu.facts.variables if v.type == "String"]
        assert [t.decode() for t in fmu.getString([v.reference for v in texts])] == [v.start for v in texts]
        whole = [v for v in fmu.facts.variables if v.type in ("Integer", "Enumeration") and v.start is not None]
        assert fmu.getInteger([v.reference for v in whole]) == [v.start for v in whole]
        computed = dict(zip(started.names, started.values(), strict=True))
        assert {k: v for k, v in read.items() if k in computed} == {k: v for k, v in computed.items() if k in read}


def test_fmpy_gives_bitwise_what_the_model_gives(pendulum: Path) -> None:
    times, torque = held_torque()
    parameters = {"length": 0.7, "mass": 2.5, "phi0": -0.3}
    expected = mbd.models.load("pendulum").simulate(
        1.0, STEP, inputs={"torque": (times, torque)}, interpolation="hold", parameters=parameters
    )
    signals = np.array(list(zip(times, torque, strict=True)), dtype=[("time", float), ("torque", float)])
    names = ["angle", "speed", "pull", "bar.x", "bar.alpha", "hinge.reaction.x", "energy.kinetic"]
    got = fmpy.simulate_fmu(
        str(pendulum), stop_time=1.0, output_interval=STEP, start_values=parameters, input=signals, output=names
    )
    rows = first_rows(expected)
    assert np.allclose(got["time"], expected.time[rows], rtol=0, atol=1e-14)
    for name in names:
        assert np.array_equal(got[name], expected[name][rows]), name


@pytest.mark.parametrize("scheme", Scheme.names())
def test_every_scheme_gives_bitwise_what_the_model_gives(scheme: str, pendulum: Path) -> None:
    model = mbd.models.load("pendulum")
    expected = model.simulate(0.3, STEP, scheme=scheme)
    with opened(pendulum) as fmu:
        fmu.begin(**{"solver.scheme": Scheme.named(scheme).number})
        for k in range(1, len(expected.time)):
            fmu.doStep(expected.time[k - 1], expected.time[k] - expected.time[k - 1])
            for name in ("angle", "speed", "pull", "bar.alpha", "hinge.reaction.y"):
                assert fmu.look(name) == [expected[name][k]], (name, k)


def test_start_values_are_kept_by_assembly_as_in_the_model(runtime: str, tmp_path: Path) -> None:
    model = mbd.models.load("slider_crank")
    crank = next(s.name.removesuffix(".start") for s in model.signals("*.phi.start") if s.causality == "parameter")
    path = model.export_fmu(tmp_path / "x.fmu", runtime=runtime)
    expected = model.simulate(0.2, STEP, start={crank: 0.3})
    got = mbd.fmu.simulate(path, 0.2, STEP, start={crank: 0.3})
    assert got[crank][0] == 0.3
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name]), name


def test_start_rate_of_an_own_coordinate(runtime: str, tmp_path: Path) -> None:
    model = user_coordinates()
    path = model.export_fmu(tmp_path / "x.fmu", runtime=runtime)
    expected = model.simulate(0.2, STEP, start={"der(theta)": 2.0})
    got = mbd.fmu.simulate(path, 0.2, STEP, start={"der(theta)": 2.0})
    assert np.array_equal(got["rate"], expected["rate"])


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"solver.tolerance": 1e-4}, {"tolerance": 1e-4}),
        ({"solver.step": 2e-3}, {"step": 2e-3}),
        ({"solver.largest_step": 1e-3}, {"largest_step": 1e-3}),
        ({"solver.options.alpha": -0.05}, {"options": {"alpha": -0.05}}),
        ({"solver.options.max_iterations": 3}, {"options": {"max_iterations": 3}}),
        ({"solver.options.estimate": 2}, {"options": {"estimate": "sharp"}}),
    ],
)
def test_solver_parameters_act_as_settings(given: dict[str, Any], settings: dict[str, Any], pendulum: Path) -> None:
    expected = mbd.models.load("pendulum").simulate(0.5, STEP, **settings)
    with opened(pendulum) as fmu:
        fmu.begin(**given)
        fmu.run(0, 50)
        assert fmu.look("angle") == [pytest.approx(expected["angle"][-1], abs=1e-13)]  # times k*h are rounded


def test_tolerance_of_the_experiment_yields_to_the_parameter(pendulum: Path) -> None:
    by_experiment = mbd.fmu.simulate(pendulum, 0.5, STEP, tolerance=1e-3)
    by_both = mbd.fmu.simulate(pendulum, 0.5, STEP, tolerance=1e-3, parameters={"solver.tolerance": 1e-5})
    model = mbd.models.load("pendulum")
    assert np.array_equal(by_experiment["angle"], model.simulate(0.5, STEP, tolerance=1e-3)["angle"])
    assert np.array_equal(by_both["angle"], model.simulate(0.5, STEP, tolerance=1e-5)["angle"])


# ---------------------------------------------------------------- steps, inputs, parameters


def test_communication_steps_may_have_any_size(pendulum: Path) -> None:
    sizes = [0.1, 0.003, 0.25, 1e-6, 0.017]
    simulation = mbd.models.load("pendulum").start()
    with opened(pendulum) as fmu:
        fmu.begin()
        time = 0.0
        for size in sizes:
            fmu.doStep(time, size)
            time += size
            simulation.advance(time)
            assert fmu.look("time", "angle", "pull") == [simulation[n] for n in ("time", "angle", "pull")]


def test_inputs_act_at_once_and_jump_as_in_the_model(pendulum: Path) -> None:
    simulation = mbd.models.load("pendulum").start()
    names = ("time", "torque", "motor.torque", "angle", "speed", "pull", "bar.alpha")
    with opened(pendulum) as fmu:
        fmu.begin()
        for k, torque in enumerate([0.0, 5.0, 5.0, -3.0, 0.25]):
            fmu.put("torque", torque)
            simulation["torque"] = torque
            assert fmu.look(*names) == [simulation[n] for n in names], k
            fmu.doStep(simulation.time, 0.1)
            simulation.advance(simulation.time + 0.1)
            assert fmu.look(*names) == [simulation[n] for n in names], k


def test_inputs_act_in_initialisation_mode(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        free = fmu.look("bar.alpha")[0]
        fmu.put("torque", 2.0)
        assert fmu.look("bar.alpha")[0] == pytest.approx(free + 2.0 * 3, rel=1e-12)  # inertia about the hinge: m l^2/3


def test_parameters_may_be_set_and_corrected_until_initialisation_ends(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.put("length", 4.0)
        fmu.enterInitializationMode()
        assert fmu.look("bar.x") == [2.0]
        fmu.put("length", 3.0)
        assert fmu.look("bar.x", "bar.x.start") == [1.5, 1.5]


def test_tunable_parameters_act_from_now_on_as_in_the_model(spring: Path) -> None:
    simulation = tuned().start()
    with opened(spring) as fmu:
        fmu.begin()
        for k, stiffness in enumerate([20.0, 55.0, 0.0, 20.0]):
            fmu.put("k", stiffness)
            simulation["k"] = stiffness
            assert fmu.look("k", "pull") == [stiffness, simulation["pull"]], k
            fmu.doStep(simulation.time, 0.1)
            simulation.advance(simulation.time + 0.1)
            assert fmu.look("x", "pull") == [simulation["x"], simulation["pull"]], k


def test_time_begins_where_the_experiment_says(spring: Path) -> None:
    begin, end = 5.0, 5.6
    with opened(spring) as fmu:
        fmu.begin(at=begin, k=0.0, drive=1.0, **{"x.start": 0.0, "solver.tolerance": 1e-9})
        assert fmu.look("time") == [begin]
        for k in range(6):
            fmu.doStep(begin + 0.1 * k, begin + 0.1 * (k + 1) - (begin + 0.1 * k))
        exact = np.cos(begin) - np.cos(end) - (end - begin) * np.sin(begin)  # x'' = cos(t), at rest at the beginning
        # a thousand times the tolerance, which holds for each of some hundred steps
        assert fmu.look("time", "x") == [pytest.approx(end, abs=1e-14), pytest.approx(exact, abs=1e-6)]


def test_statistics_are_logged_at_the_end(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.run(0, 3)
        fmu.terminate()
        assert "steps" in fmu.said[-1]


def test_the_first_run_may_be_had_again(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(length=2.0)
        first = fmu.run(0, 50)
        for _ in range(20):
            fmu.reset()
            fmu.begin(length=2.0)
            assert fmu.run(0, 50) == first


# ---------------------------------------------------------------- states


def test_state_restores_bit_for_bit(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.run(0, 30)
        fmu.put("torque", 4.0)
        state = fmu.getFMUState()
        first = fmu.run(30, 60)
        fmu.put("torque", -7.0)
        fmu.run(60, 70)
        for _ in range(2):
            fmu.setFMUState(state)
            assert fmu.look("torque", "time") == [4.0, 30 * STEP]
            assert fmu.run(30, 60) == first
        fmu.freeFMUState(state)


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_state_survives_reset_with_other_parameters(steps: int, pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(length=0.5, torque=2.0)
        fmu.run(0, steps)
        state = fmu.getFMUState()
        first = fmu.run(steps, 40)
        fmu.reset()
        fmu.begin(length=3.0, mass=7.0, torque=1.0, **{"solver.step": 1e-3})
        fmu.run(0, 5)
        fmu.setFMUState(state)
        assert fmu.look("length", "solver.step") == [0.5, 0.0]
        assert fmu.run(steps, 40) == first
        fmu.freeFMUState(state)


def test_state_before_the_first_step_keeps_the_jump_of_an_input(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(torque=3.0)
        state = fmu.getFMUState()
        first = fmu.run(0, 10)
        fmu.setFMUState(state)
        assert fmu.run(0, 10) == first
        fmu.freeFMUState(state)


def test_state_keeps_a_tuned_parameter(spring: Path) -> None:
    def run(fmu: FMU2Named, begin: int, end: int) -> list[float]:
        for k in range(begin, end):
            fmu.doStep(k * STEP, (k + 1) * STEP - k * STEP)
        return fmu.look("k", "x", "pull")

    with opened(spring) as fmu:
        fmu.begin()
        run(fmu, 0, 5)
        fmu.put("k", 77.0)
        state = fmu.getFMUState()
        first = run(fmu, 5, 20)
        fmu.put("k", 3.0)
        run(fmu, 20, 25)
        fmu.setFMUState(state)
        assert run(fmu, 5, 20) == first
        fmu.freeFMUState(state)


def test_state_continues_in_another_instance(pendulum: Path) -> None:
    with opened(pendulum) as fmu, opened(pendulum) as other:
        fmu.begin(length=2.0)
        fmu.run(0, 10)
        state = fmu.getFMUState()
        written = fmu.serializeFMUstate(state)
        other.begin()
        read = other.deSerializeFMUstate(written)
        other.setFMUState(read)
        assert other.run(10, 30) == fmu.run(10, 30)
        fmu.freeFMUState(state)
        other.freeFMUState(read)


def test_a_state_of_forces_with_kinks_continues_in_an_instance_that_has_not_begun(tmp_path: Path) -> None:
    """It wrote into an array that only a start made, where speeds are looked at for blows."""
    model = mbd.models.load("pendulum")
    ground, bar = mbd.Marker(body="ground"), mbd.Marker(body="bar")
    model.add("stop", VectorForce(i=ground, j=bar, force=("-1000*max(bar.x, 0)", "0")))
    path = model.export_fmu(tmp_path / "x.fmu", runtime="native")
    code = """
import sys
from pathlib import Path
from fmu_instances import opened
with opened(Path(sys.argv[1])) as fmu, opened(Path(sys.argv[1])) as other:
    fmu.begin()
    fmu.run(0, 10)
    state = fmu.getFMUState()
    other.setFMUState(other.deSerializeFMUstate(fmu.serializeFMUstate(state)))
    assert other.run(10, 60) == fmu.run(10, 60)
    print("the same")
"""
    done = in_new_process(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}", path)
    assert done.stdout == "the same\n", done


@pytest.mark.by_day(1)
def test_state_continues_in_another_process(pendulum: Path, tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from fmu_instances import opened
with opened(Path(sys.argv[1])) as fmu:
    fmu.begin()
    state = fmu.deSerializeFMUstate(Path(sys.argv[2]).read_bytes())
    fmu.setFMUState(state)
    print(fmu.run(10, 60))
    fmu.freeFMUState(state)
"""
    with opened(pendulum) as fmu:
        fmu.begin(length=2.0, torque=1.5)
        fmu.run(0, 10)
        state = fmu.getFMUState()
        (tmp_path / "state").write_bytes(fmu.serializeFMUstate(state))
        expected = fmu.run(10, 60)
        fmu.freeFMUState(state)
    done = in_new_process(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}", pendulum,
                          tmp_path / "state")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(expected)


# ---------------------------------------------------------------- several at once


def test_fmus_in_one_process_do_not_meddle(runtime: str, pendulum: Path, tmp_path: Path) -> None:
    slider = mbd.models.load("slider_crank")
    path = slider.export_fmu(tmp_path / "slider.fmu", runtime=runtime)
    with opened(pendulum) as one, opened(path) as two, opened(pendulum) as three:
        one.begin()
        two.begin()
        three.begin(length=2.0)
        for k in range(10):
            for fmu in (one, two, three):
                fmu.doStep(k * STEP, (k + 1) * STEP - k * STEP)
        simulation, other = mbd.models.load("pendulum").start(), slider.start()
        for k in range(10):
            simulation.advance((k + 1) * STEP)
            other.advance((k + 1) * STEP)
        assert one.look("angle") == [simulation["angle"]]
        assert three.look("angle") != one.look("angle")
        names = [s.name for s in slider.signals() if s.causality == "local"]
        assert two.look(*names) == [other[name] for name in names]


def test_models_of_one_name_do_not_meddle(runtime: str, tmp_path: Path) -> None:
    models = [user_coordinates(g).export_fmu(tmp_path / f"{g}.fmu", runtime=runtime) for g in (9.81, 1.62)]
    with opened(models[0]) as earth, opened(models[1]) as moon:
        earth.begin()
        moon.begin()
        assert earth.look("g", "der(theta,2)") == [9.81, pytest.approx(-9.81 * np.sin(0.5), rel=1e-12)]
        assert moon.look("g", "der(theta,2)") == [1.62, pytest.approx(-1.62 * np.sin(0.5), rel=1e-12)]


def test_threads_with_own_instances_give_the_same_bits(pendulum: Path) -> None:
    def motion(fmu: FMU2Named, length: float) -> list[float]:
        fmu.begin(length=length)
        return fmu.run(0, 200)

    lengths = [0.5, 1.0, 1.5, 2.0]
    with opened(pendulum) as fmu:
        expected = []
        for length in lengths:
            expected.append(motion(fmu, length))
            fmu.reset()
    got: dict[float, list[float]] = {}

    def run(length: float) -> None:
        with opened(pendulum) as own:
            got[length] = motion(own, length)

    threads = [threading.Thread(target=run, args=(length,)) for length in lengths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[length] for length in lengths] == expected


# ---------------------------------------------------------------- failures


def refused(fmu: FMU2Named, runtime: str, action: Callable[[], Any], message: str) -> None:
    """Said at once; answered with fmi2Error or, where pythonfmu has none, with the fmi2Discard of the next step."""
    if runtime == "native":
        with pytest.raises(FMICallException) as found:
            action()
        assert found.value.status == fmi2Error
    else:
        action()
    assert message in "\n".join(fmu.said)
    if runtime == "python":
        with pytest.raises(FMICallException) as found:
            fmu.doStep(0.0, STEP)
        assert found.value.status == fmi2Discard


# name, value, message: before the initialisation begins
BEFORE = [
    ("length", -1.0, "'length' must lie in [0.001, inf], found -1"),
    ("torque", float("nan"), "'torque' must be a finite number"),
    ("torque", float("inf"), "'torque' must be a finite number"),
    ("bar.x", 2.0, "'bar.x' cannot be set; only inputs and parameters can"),
    ("solver.scheme", 99, "solver.scheme"),
]
# and in step mode
LATER = [
    ("length", 2.0, "'length' is fixed"),
    ("solver.tolerance", 1e-3, "'solver.tolerance' is fixed"),
    ("torque", float("nan"), "'torque' must be a finite number"),
]


@pytest.mark.parametrize(("name", "value", "message"), BEFORE)
def test_values_are_refused_before_the_start(
    name: str, value: float, message: str, runtime: str, pendulum: Path
) -> None:
    with opened(pendulum) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        refused(fmu, runtime, lambda: fmu.put(name, value), message)


@pytest.mark.parametrize(("name", "value", "message"), LATER)
def test_values_are_refused_during_the_run_and_change_nothing(
    name: str, value: float, message: str, runtime: str, pendulum: Path
) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        good = fmu.run(0, 10)
        state = fmu.getFMUState()
        expected = fmu.run(10, 20)
        fmu.setFMUState(state)
        refused(fmu, runtime, lambda: fmu.put(name, value), message)
        assert fmu.look("time", "angle", "speed", "pull") == good
        fmu.setFMUState(state)
        assert fmu.run(10, 20) == expected
        fmu.freeFMUState(state)


@pytest.mark.parametrize(
    ("time", "size", "message"),
    [
        (0.0, 0.0, "step size must be a positive number"),
        (0.0, -0.1, "step size must be a positive number"),
        (0.0, float("nan"), "step size must be a positive number"),
        (0.0, float("inf"), "step size must be a positive number"),
        (0.5, 0.1, "a step from t = 0.5 s was asked for, the model is at t = 0 s"),
        (float("nan"), 0.1, "was asked for, the model is at t = 0 s"),
    ],
)
def test_impossible_steps_are_refused_and_change_nothing(
    time: float, size: float, message: str, pendulum: Path
) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        with pytest.raises(FMICallException):
            fmu.doStep(time, size)
        assert message in "\n".join(fmu.said)
        assert fmu.look("time") == [0.0]
        fmu.doStep(0.0, 0.1)
        assert fmu.look("time") == [0.1]


def test_a_step_that_is_lost_in_rounding_says_so(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(at=1.0)
        with pytest.raises(FMICallException):
            fmu.doStep(1.0, 1e-17)
        assert "a step of 1e-17 s from t = 1 s does not lead beyond the model's time, t = 1 s" in "\n".join(fmu.said)


def test_a_failed_step_is_taken_back_and_may_be_repeated(runtime: str, tmp_path: Path) -> None:
    path = blow_up().export_fmu(tmp_path / "x.fmu", runtime=runtime)
    with opened(path) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.5)
        before = fmu.look("time", "x", "der(x)")
        with pytest.raises(FMICallException) as failed:
            fmu.doStep(0.5, 10.0)
        assert failed.value.status == fmi2Discard
        assert "the step is taken back" in "\n".join(fmu.said)
        assert fmu.look("time", "x", "der(x)") == before
        fmu.doStep(0.5, 0.1)
        repeated = fmu.look("time", "x", "der(x)")
        fmu.reset()
        fmu.begin()
        fmu.doStep(0.0, 0.5)
        fmu.doStep(0.5, 0.1)
        assert fmu.look("time", "x", "der(x)") == repeated


def test_a_start_that_cannot_be_made_is_refused(runtime: str, tmp_path: Path) -> None:
    path = mbd.models.load("slider_crank").export_fmu(tmp_path / "x.fmu", runtime=runtime)
    with opened(path) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.put("slider.y.start", 1e3)
        fmu.enterInitializationMode()
        refused(fmu, runtime, fmu.exitInitializationMode, "the joints cannot be closed")
        fmu.reset()
        fmu.begin()
        fmu.doStep(0.0, STEP)


def test_files_of_another_version_are_refused_with_the_cure(
    runtime: str, pendulum: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "x.fmu"
    with zipfile.ZipFile(pendulum) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("model.mbd"):
                content = content[:8] + b"\x63\0\0\0" + content[12:]
            new.writestr(name, content)
    with pytest.raises(mbd.ModelError, match=r"format 99, .*; export .* again, or use the mbdfmu that wrote it"):
        mbd.fmu.simulate(changed, 1.0, 0.1)
