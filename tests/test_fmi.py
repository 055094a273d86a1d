"""FMUs as their users meet them: valid, equal to the model, repeatable, and no crash whatever goes wrong."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, fmi2Discard
from lxml import etree

import mbdfmu as mbd
from mbdfmu.fmi.running import plain_folder

STEP = 0.01  # communication step of most tests, s
FAMILIES = {"chain": {"N": 3}, "four_bar": {}}


def shipped(name: str) -> mbd.Model:
    return mbd.models.load(name, **FAMILIES.get(name, {}))


def user_coordinates() -> mbd.Model:
    """A pendulum in the user's own coordinate, whose velocity is called der(theta)."""
    model = mbd.Model("own_coordinates")
    model.add("g", 9.81)
    model.add("theta", mbd.Coordinate(start=0.5, force="-g*sin(theta)"))
    model.add_mass("theta", 1.0)
    model.add("rate", "der(theta)")
    return model


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mbd.models.load("pendulum").export_fmu(tmp_path_factory.mktemp("fmu") / "pendulum.fmu", runtime="python")


@pytest.fixture(scope="module")
def facts(pendulum: Path) -> Any:
    return mbd.fmu.info(pendulum)


def xml_of(path: Path) -> etree._Element:
    with zipfile.ZipFile(path) as archive:
        return etree.fromstring(archive.read("modelDescription.xml"))


class FMU2Named(FMU2Slave):  # type: ignore[misc]
    """An instance with names instead of references, and what it logged; fmpy wants the class to be called FMU2..."""

    facts: Any
    said: list[str]

    def put(self, name: str, value: float | str) -> None:
        setter = self.setString if isinstance(value, str) else self.setReal
        setter([self.facts.variable(name).reference], [value])

    def look(self, *names: str) -> list[float]:
        return self.getReal([self.facts.variable(name).reference for name in names])

    def begin(self, tolerance: float | None = None, **values: float | str) -> None:
        self.setupExperiment(startTime=0.0, tolerance=tolerance)
        for name, value in values.items():
            self.put(name, value)
        self.enterInitializationMode()
        self.exitInitializationMode()

    def run(self, begin: int, end: int, size: float = STEP) -> list[float]:
        for k in range(begin, end):
            self.doStep(k * size, (k + 1) * size - k * size)
        return self.look("time", "angle", "speed", "pull")


@contextmanager
def opened(path: Path) -> Iterator[FMU2Named]:
    with tempfile.TemporaryDirectory() as folder:
        fmpy.extract(str(path), folder)
        description = fmpy.read_model_description(folder)
        names = {"modelIdentifier": description.coSimulation.modelIdentifier, "unzipDirectory": folder}
        fmu = FMU2Named(guid=description.guid, instanceName="test", **names)
        said: list[str] = []
        callbacks = fmpy.fmi2.fmi2CallbackFunctions()
        log = fmpy.fmi2.fmi2CallbackLoggerTYPE(lambda e, i, status, c, message: said.append(message.decode()))
        callbacks.logger = log
        callbacks.allocateMemory = fmpy.fmi2.fmi2CallbackAllocateMemoryTYPE(fmpy.calloc)
        callbacks.freeMemory = fmpy.fmi2.fmi2CallbackFreeMemoryTYPE(fmpy.free)
        fmpy.fmi2.addLoggerProxy(fmpy.fmi2.byref(callbacks))
        fmu.instantiate(callbacks=callbacks, loggingOn=True)
        fmu.facts, fmu.said = mbd.fmu.info(path), said
        try:
            yield fmu
        finally:
            fmu.freeInstance()


def in_new_process(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


# ---------------------------------------------------------------- the start


@pytest.mark.parametrize("name", [*mbd.models.names(), "own_coordinates"])
def test_start_values_are_what_initialisation_reads(name: str, tmp_path: Path) -> None:
    model = user_coordinates() if name == "own_coordinates" else shipped(name)
    started = model.start()
    with opened(model.export_fmu(tmp_path / "x.fmu", runtime="python")) as fmu:
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


# ---------------------------------------------------------------- the archive


def test_date_is_that_of_source_date_epoch(facts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts.generation_date == "1980-01-01T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    path = mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", runtime="python")
    assert mbd.fmu.info(path).generation_date == "2026-09-21T14:13:20Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(mbd.ModelError, match="SOURCE_DATE_EPOCH must be a whole number"):
        mbd.models.load("pendulum").export_fmu(path, runtime="python")


def test_export_leaves_no_trace_in_the_process(tmp_path: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", runtime="python")
    assert sys.path == path
    assert not [m for m in set(sys.modules) - modules if m.startswith("m_")]


def test_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.fmu"
    path.write_text("old")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    with pytest.raises(mbd.ModelError):
        mbd.models.load("pendulum").export_fmu(path, runtime="python")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- equal to the model


def held_torque() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """One value for each communication step; it begins at the input's start value, 0."""
    times = np.arange(101) * STEP
    return times, np.round(3 * np.sin(5 * times), 1)


def first_rows(result: mbd.Result) -> np.ndarray[Any, Any]:
    """The rows before jumps: an FMU is asked once at each communication point."""
    return np.unique(result.time, return_index=True)[1]


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


def test_harness_gives_bitwise_what_the_model_gives(pendulum: Path) -> None:
    model = mbd.models.load("pendulum")
    arguments: dict[str, Any] = {
        "inputs": {"torque": held_torque()},
        "interpolation": "hold",
        "parameters": {"length": 0.7},
    }
    expected, got = model.simulate(1.0, STEP, **arguments), mbd.fmu.simulate(pendulum, 1.0, STEP, **arguments)
    rows = first_rows(expected)  # outputs of an FMU change with the next step: it has no second row at a jump
    assert np.array_equal(got.time, expected.time[rows])
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name][rows]), name
    assert got.units == {name: expected.unit(name) for name in got.columns}
    assert got.complete


def test_start_values_are_kept_by_assembly_as_in_the_model(tmp_path: Path) -> None:
    model = mbd.models.load("slider_crank")
    crank = next(s.name.removesuffix(".start") for s in model.signals("*.phi.start") if s.causality == "parameter")
    path = model.export_fmu(tmp_path / "x.fmu", runtime="python")
    expected = model.simulate(0.2, STEP, start={crank: 0.3})
    got = mbd.fmu.simulate(path, 0.2, STEP, start={crank: 0.3})
    assert got[crank][0] == 0.3
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name]), name


def test_start_rate_of_an_own_coordinate(tmp_path: Path) -> None:
    model = user_coordinates()
    path = model.export_fmu(tmp_path / "x.fmu", runtime="python")
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
        ({"solver.options.estimate": "sharp"}, {"options": {"estimate": "sharp"}}),
        ({"solver.options.max_iterations": 3}, {"options": {"max_iterations": 3}}),
    ],
)
def test_solver_parameters_act_as_settings(given: dict[str, Any], settings: dict[str, Any], pendulum: Path) -> None:
    expected = mbd.models.load("pendulum").simulate(0.5, STEP, **settings)
    got = mbd.fmu.simulate(pendulum, 0.5, STEP, parameters=given)
    assert np.array_equal(got["angle"], expected["angle"])


def test_tolerance_of_the_experiment_yields_to_the_parameter(pendulum: Path) -> None:
    by_experiment = mbd.fmu.simulate(pendulum, 0.5, STEP, tolerance=1e-3)
    by_both = mbd.fmu.simulate(pendulum, 0.5, STEP, tolerance=1e-3, parameters={"solver.tolerance": 1e-5})
    model = mbd.models.load("pendulum")
    assert np.array_equal(by_experiment["angle"], model.simulate(0.5, STEP, tolerance=1e-3)["angle"])
    assert np.array_equal(by_both["angle"], model.simulate(0.5, STEP, tolerance=1e-5)["angle"])


# ---------------------------------------------------------------- life of an instance


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


def test_inputs_act_from_the_next_step_on(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.doStep(0.0, STEP)
        before = fmu.look("pull", "bar.alpha")
        fmu.put("torque", 5.0)
        assert fmu.look("pull", "bar.alpha") == before  # as the empty dependencies of the outputs promise
        assert fmu.look("torque") == [5.0]
        fmu.doStep(STEP, STEP)
        assert fmu.look("motor.torque") == [5.0]


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


def test_state_restores_bit_for_bit(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.run(0, 30)
        fmu.put("torque", 4.0)  # a jump that waits for the next step
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


def test_state_continues_in_another_instance(pendulum: Path) -> None:
    with opened(pendulum) as fmu, opened(pendulum) as other:
        fmu.begin(length=2.0)
        fmu.run(0, 10)
        state = fmu.getFMUState()
        other.setFMUState(state)
        assert other.run(10, 30) == fmu.run(10, 30)
        fmu.freeFMUState(state)


def test_reset_gives_the_first_run_again(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(length=2.0)
        first = fmu.run(0, 50)
        for _ in range(20):
            fmu.reset()
            fmu.begin(length=2.0)
            assert fmu.run(0, 50) == first


def test_two_fmus_in_one_process(pendulum: Path, tmp_path: Path) -> None:
    slider = mbd.models.load("slider_crank")
    path = slider.export_fmu(tmp_path / "slider.fmu", runtime="python")
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


def test_statistics_are_logged_at_the_end(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.run(0, 3)
        fmu.terminate()
        assert "steps" in fmu.said[-1]


# ---------------------------------------------------------------- failures


def refuse_parameter(fmu: FMU2Named) -> None:
    fmu.begin(length=-1.0)


def refuse_nan(fmu: FMU2Named) -> None:
    fmu.begin(torque=float("nan"))


def refuse_start_time(fmu: FMU2Named) -> None:
    fmu.setupExperiment(startTime=5.0)


def refuse_late_parameter(fmu: FMU2Named) -> None:
    fmu.begin()
    fmu.put("length", 2.0)


def refuse_computed(fmu: FMU2Named) -> None:
    fmu.begin()
    fmu.put("bar.x", 2.0)


def refuse_early_step(fmu: FMU2Named) -> None:
    fmu.setupExperiment(startTime=0.0)


FAILURES: list[tuple[Callable[[FMU2Named], None], str]] = [
    (refuse_parameter, "parameter 'length' must lie in [0.001, inf], found -1"),
    (refuse_nan, "input 'torque' must be a finite number"),
    (refuse_start_time, "models begin at t = 0 s, found a start time of 5 s"),
    (refuse_late_parameter, "parameter 'length' is fixed once the initialisation has ended"),
    (refuse_computed, "'bar.x' is computed by the model"),
    (refuse_early_step, "a step was asked for before the initialisation has ended"),
]


@pytest.mark.parametrize(("fail", "message"), FAILURES)
def test_failures_end_with_a_message(fail: Callable[[FMU2Named], None], message: str, pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fail(fmu)
        with pytest.raises(FMICallException) as refused:
            fmu.doStep(0.0, STEP)
        assert refused.value.status == fmi2Discard
        assert fmu.getBooleanStatus(3)  # fmi2Terminated
        assert message in "\n".join(fmu.said)
        fmu.look("angle", "pull")  # of a failed instance: no error, no crash


@pytest.mark.parametrize(
    ("time", "size"), [(0.0, 0.0), (0.0, -0.1), (0.5, 0.1), (0.0, float("nan")), (float("nan"), 0.1)]
)
def test_impossible_steps_are_refused(time: float, size: float, pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        with pytest.raises(FMICallException):
            fmu.doStep(time, size)
        assert fmu.look("time") == [0.0]


def test_values_are_nan_where_there_was_no_start_and_the_last_good_ones_otherwise(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin(length=-1.0)
        assert np.isnan(fmu.look("angle", "pull")).all()
        assert fmu.look("length") == [1.0] or np.isnan(fmu.look("length")[0])
    with opened(pendulum) as fmu:
        fmu.begin()
        good = fmu.run(0, 10)
        fmu.put("torque", float("inf"))
        with pytest.raises(FMICallException):
            fmu.doStep(10 * STEP, STEP)
        assert fmu.look("time", "angle", "speed", "pull") == good


def test_a_restored_state_ends_the_failure(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        fmu.run(0, 5)
        state = fmu.getFMUState()
        expected = fmu.run(5, 10)
        fmu.put("torque", float("nan"))
        with pytest.raises(FMICallException):
            fmu.doStep(10 * STEP, STEP)
        fmu.setFMUState(state)
        assert fmu.run(5, 10) == expected
        fmu.freeFMUState(state)


def test_fifty_failures_and_restarts_do_not_crash(pendulum: Path) -> None:
    code = """
import gc, sys, fmpy, mbdfmu
for k in range(50):
    try:
        mbdfmu.fmu.simulate(sys.argv[1], 1, 0.1, parameters={"length": -1})
    except mbdfmu.ModelError as error:
        assert "parameter 'length' must lie in" in str(error), error
    result = fmpy.simulate_fmu(sys.argv[1], start_values={"length": -1.0}, stop_time=1.0)
    assert result["time"][-1] < 1, "the failure went unnoticed"
    gc.collect()
result = mbdfmu.fmu.simulate(sys.argv[1], 1, 0.1)
assert result.complete
print("alive")
"""
    done = in_new_process(code, pendulum)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
    assert done.stderr.count("parameter 'length' must lie in") == 50  # told where the host shows no FMI log, once


def test_two_hundred_instances_in_a_row_do_not_crash(pendulum: Path, tmp_path: Path) -> None:
    code = """
import gc, sys, fmpy
from fmpy.fmi2 import FMU2Slave
folder = fmpy.extract(sys.argv[1], sys.argv[2])
guid = fmpy.read_model_description(folder).guid
for k in range(200):
    fmu = FMU2Slave(guid=guid, unzipDirectory=folder, modelIdentifier="pendulum")
    fmu.instantiate()
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    fmu.doStep(0.0, 0.1)
    fmu.freeInstance()
    gc.collect()
assert len([p for p in sys.path if p.endswith("resources")]) == 1
print("alive")
"""
    done = in_new_process(code, pendulum, tmp_path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


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


def test_an_fmu_of_another_format_says_so(pendulum: Path, tmp_path: Path) -> None:
    changed = tmp_path / "x.fmu"
    with zipfile.ZipFile(pendulum) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"format":2', b'"format":7') if name.endswith(".json") else content)
    with pytest.raises(mbd.ModelError, match="exported in format 7, this mbdfmu reads format 2"):
        mbd.fmu.simulate(changed, 1.0, 0.1)


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


def test_the_path_of_the_fmu_itself_may_hold_anything(pendulum: Path, tmp_path: Path) -> None:
    odd = tmp_path / "50% (größer) #1.fmu"
    odd.write_bytes(pendulum.read_bytes())
    assert mbd.fmu.simulate(odd, 0.1, 0.1).complete


# ---------------------------------------------------------------- the harness


def test_inputs_of_the_harness_follow_a_curve_step_by_step(pendulum: Path) -> None:
    t, u = np.array([0.0, 1.0]), np.array([0.0, 3.0])
    got = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs={"torque": (t, u)})
    assert got["torque"] == pytest.approx(3.0 * got.time)  # what was asked for
    held = mbd.models.load("pendulum").simulate(
        1.0, 0.1, inputs={"torque": (got.time, 3.0 * got.time)}, interpolation="hold"
    )
    assert got["angle"] == pytest.approx(held["angle"][first_rows(held)], abs=1e-12)


def test_inputs_of_the_harness_come_from_files_and_functions(pendulum: Path, tmp_path: Path) -> None:
    file = tmp_path / "u.csv"
    file.write_text("time,torque [N.m]\n0,0\n1,3\n")
    by_file = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs=file)
    by_function = mbd.fmu.simulate(pendulum, 1.0, 0.1, inputs=lambda t: {"torque": 3.0 * t})
    assert by_function["angle"] == pytest.approx(by_file["angle"], abs=1e-12)


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
        ({"t_end": -1.0}, "t_end must be a positive number"),
    ],
)
def test_the_harness_refuses(arguments: dict[str, Any], message: str, pendulum: Path) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        mbd.fmu.simulate(pendulum, **{"t_end": 1.0, **arguments})


def test_a_failing_run_keeps_what_there_is(tmp_path: Path) -> None:
    model = mbd.Model("blow_up")
    model.add("x", mbd.Coordinate(start=1.0, velocity=1.0, unit="m", force="x^3"))
    model.add_mass("x", 1.0)
    path = model.export_fmu(tmp_path / "x.fmu", runtime="python")
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


def test_info_tells_what_is_in_the_file(facts: Any) -> None:
    assert (facts.name, facts.fmi_version, facts.kinds, facts.runtime) == (
        "pendulum",
        "2.0",
        ("co-simulation",),
        "python",
    )
    assert {"linux64", "win64"} <= set(facts.platforms)
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
