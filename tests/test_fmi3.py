"""FMUs of FMI 3.0: the same numbers as FMI 2.0, arrays, steps that pause, events in their mode, what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_bool, c_char_p, c_double
from pathlib import Path
from typing import Any, ClassVar

import fmpy
import masters
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from lxml import etree

import mbdfmu as mbd

STEP = 0.01  # communication step, s
FAMILIES = {"chain": {"N": 3}, "chain3d": {"N": 3}, "ring": {"N": 5}}
BY_DAY = ("slider_crank", "bouncing_ball", "pendulum3d", "stick_slip", "brake_rig")
MODELS = [n if n in BY_DAY else pytest.param(n, marks=pytest.mark.nightly) for n in mbd.models.names()]
SCHEMA = Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3ModelDescription.xsd"
DISCARD, ERROR = 2, 3  # fmi3Status


def shipped(name: str) -> mbd.Model:
    return mbd.models.load(name, **FAMILIES.get(name, {}))


def pushed() -> mbd.Model:
    """A mass under an array of three forces."""
    model = mbd.Model("pushed")
    model.add("u", mbd.Input(start=[0.5, 0, 1], unit="N", text="forces"))
    model.add("m", mbd.Parameter(value=2, unit="kg", min=0.1, tunable=True))
    model.add("x", mbd.Coordinate(force="u[1] - u[2] + 2*u[3]", unit="m"))
    model.add_mass("x", "m")
    model.add("place", "x")
    model.add("pace", "der(x,2)")
    return model


def driven() -> mbd.Model:
    """An oscillator under a force that comes from outside."""
    model = mbd.Model("driven")
    model.add("f", mbd.Input(unit="N"))
    model.add("x", mbd.Coordinate(force="f - 4*x - 0.4*der(x)", unit="m"))
    model.add_mass("x", 1.0)
    model.add("place", "x")
    return model


def hopping() -> mbd.Model:
    """A point mass that falls, bounces and is pushed."""
    model = mbd.Model("hopping")
    model.add("push", mbd.Input(unit="N"))
    model.add("y", mbd.Coordinate(start=0.1, force="push - 9.81", unit="m"))
    model.add_mass("y", 1.0)
    model.add("hit", mbd.Impact(gap="y", restitution=0.7))
    model.add("up", "y")
    model.add("lift", "der(y,2)")
    return model


class FMU3Named(FMU3Slave):  # type: ignore[misc]
    """An instance with names instead of references, and what it logged; fmpy wants the class to be called FMU3..."""

    facts: Any
    said: list[tuple[int, str]]

    def reference(self, name: str) -> int:
        return int(self.facts.variable(name).reference)

    def put(self, **values: float) -> None:
        for name, value in values.items():
            self.setFloat64([self.reference(name)], [value])

    def look(self, *names: str) -> list[float]:
        return self.getFloat64([self.reference(name) for name in names])

    def begin(self, **values: float) -> None:
        self.put(**values)
        self.enterInitializationMode(startTime=0.0)
        self.exitInitializationMode()

    def happen(self) -> None:
        """Through the event mode."""
        self.enterEventMode()
        assert not self.updateDiscreteStates()[0]
        self.enterStepMode()


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[FMU3Named]:
    with tempfile.TemporaryDirectory() as folder:
        fmpy.extract(str(path), folder)
        description = fmpy.read_model_description(folder)
        token = options.pop("token", description.guid)
        names = {"modelIdentifier": description.coSimulation.modelIdentifier, "unzipDirectory": folder}
        fmu = FMU3Named(guid=token, instanceName="test", **names)
        fmu.facts, fmu.said = mbd.fmu.info(path), []
        logging = options.pop("logging", True)

        def log(environment: object, status: int, category: bytes, message: bytes) -> None:
            fmu.said.append((status, message.decode()))

        fmu.instantiate(loggingOn=logging, logMessage=log, **options)
        try:
            yield fmu
        finally:
            fmu.freeInstance()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fmi3")


@pytest.fixture(scope="module")
def pendulum(folder: Path) -> Path:
    return shipped("pendulum").export_fmu(folder / "pendulum.fmu", interface="cs3")


@pytest.fixture(scope="module")
def ball(folder: Path) -> Path:
    return shipped("bouncing_ball").export_fmu(folder / "ball.fmu", interface="cs3")


@pytest.fixture(scope="module")
def forces(folder: Path) -> Path:
    return pushed().export_fmu(folder / "pushed.fmu", interface="cs3")


@pytest.fixture(scope="module")
def oscillator(folder: Path) -> Path:
    return driven().export_fmu(folder / "driven.fmu", interface="cs3")


def xml_of(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return etree.fromstring(archive.read("modelDescription.xml"))


# ---------------------------------------------------------------- the file


@pytest.mark.parametrize("name", mbd.models.names())
def test_every_model_gives_a_valid_fmu(name: str, tmp_path: Path) -> None:
    path = shipped(name).export_fmu(tmp_path / "x.fmu", interface="cs3")
    assert validate_fmu(str(path)) == []
    etree.XMLSchema(etree.parse(SCHEMA)).assertValid(xml_of(path))


def test_files_stand_where_fmi_3_wants_them(pendulum: Path) -> None:
    with zipfile.ZipFile(pendulum) as archive:
        names = set(archive.namelist())
    assert {"binaries/x86_64-linux/pendulum.so"} <= names or mbd.fmu.info(pendulum).platforms != ("x86_64-linux",)
    assert {"documentation/index.html", "terminalsAndIcons/icon.png", "documentation/diagram.png"} <= names
    assert "model.png" not in names


def test_python_has_no_fmi_3(tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match="interface 'cs3' is not offered by runtime 'python', but by native"):
        shipped("pendulum").export_fmu(tmp_path / "x.fmu", interface="cs3", runtime="python")


def test_elements_of_an_array_are_one_variable(forces: Path) -> None:
    array = xml_of(forces).find("ModelVariables/Float64[@name='u']")
    assert (array.get("start"), array.get("causality"), array.get("unit")) == ("0.5 0.0 1.0", "input", "N")
    assert [d.get("start") for d in array.iterfind("Dimension")] == ["3"]
    names = {output.get("name"): output.get("valueReference") for output in xml_of(forces).iter("Float64")}
    structure = xml_of(forces).find("ModelStructure")
    answers = {o.get("valueReference"): o.get("dependencies").split() for o in structure.iterfind("Output")}
    assert answers[names["pace"]] == sorted([names["u"], names["m"]], key=int)
    assert names["u"] not in answers[names["place"]]


# ---------------------------------------------------------------- the same numbers


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_those_of_the_model_to_the_bit(name: str, tmp_path: Path) -> None:
    model = shipped(name)
    three = mbd.fmu.simulate(model.export_fmu(tmp_path / "3.fmu", interface="cs3"), 0.5, STEP)
    two = mbd.fmu.simulate(model.export_fmu(tmp_path / "2.fmu", runtime="native"), 0.5, STEP)
    plain = model.simulate(0.5, STEP)
    for signal in plain.columns:
        np.testing.assert_array_equal(three[signal], plain[signal], err_msg=signal)
        np.testing.assert_array_equal(three[signal], two[signal], err_msg=signal)


def test_fmpy_runs_it_as_we_do(oscillator: Path) -> None:
    times = np.linspace(0, 1, 101)
    signals = np.array([(t, np.sin(5 * t)) for t in times], dtype=[("time", float), ("f", float)])
    theirs = fmpy.simulate_fmu(str(oscillator), stop_time=1.0, output_interval=STEP, input=signals, output=["place"])
    ours = mbd.fmu.simulate(oscillator, 1.0, STEP, inputs={"f": (times, np.sin(5 * times))}, interpolation="hold")
    np.testing.assert_allclose(theirs["place"], ours["place"], rtol=0, atol=1e-12)  # times differ by rounding


def test_events_and_early_return_suit_fmpy(ball: Path) -> None:
    for options in ({}, {"early_return_allowed": True}, {"early_return_allowed": True, "use_event_mode": True}):
        run = fmpy.simulate_fmu(str(ball), stop_time=1.0, output_interval=STEP, output=["ball.y"], **options)
        assert run["time"][-1] == pytest.approx(1.0)
        assert run["ball.y"][-1] == pytest.approx(shipped("bouncing_ball").simulate(1.0, STEP)["ball.y"][-1], abs=1e-9)


def test_harness_follows_slopes_by_intermediate_updates(oscillator: Path) -> None:
    times = np.linspace(0, 2, 21)
    inputs = {"f": (times, np.sin(3 * times))}
    ours = driven().simulate(2, 0.1, inputs=inputs, tolerance=1e-8)
    three = mbd.fmu.simulate(oscillator, 2, 0.1, inputs=inputs, tolerance=1e-8)
    held = mbd.fmu.simulate(oscillator, 2, 0.1, inputs=inputs, tolerance=1e-8, interpolation="hold")
    # The steps differ, each within the tolerance; an input that is held lags by half a communication step.
    np.testing.assert_allclose(three["x"], ours["x"], rtol=0, atol=1e-6)
    assert np.abs(held["x"] - ours["x"]).max() > 1e-3


def test_threads_do_not_disturb_each_other(pendulum: Path) -> None:
    alone, folder = mbd.fmu.simulate(pendulum, 1, STEP)["bar.phi"], Path.cwd()
    found: list[np.ndarray] = []

    def simulated() -> None:
        found.append(mbd.fmu.simulate(pendulum, 1, STEP)["bar.phi"])

    runs = [threading.Thread(target=simulated) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(found) == 4 and Path.cwd() == folder
    for one in found:
        np.testing.assert_array_equal(one, alone)


# ---------------------------------------------------------------- arrays and derivatives


def test_arrays_are_set_and_read_as_a_whole(forces: Path) -> None:
    with opened(forces) as fmu:
        u = fmu.reference("u[1]")
        assert u == fmu.reference("u[3]")
        assert fmu.getFloat64([u], nValues=3) == [0.5, 0, 1]  # start values before the initialization
        fmu.begin()
        fmu.setFloat64([u], [1, 2, 3])
        assert fmu.getFloat64([u, fmu.reference("pace")], nValues=4) == [1, 2, 3, (1 - 2 + 6) / 2]
        with pytest.raises(FMICallException):
            fmu.setFloat64([u], [1, 2])
        assert "hold 3 values" in fmu.said[-1][1]
        assert fmu.getFloat64([u], nValues=3) == [1, 2, 3]


def test_elements_have_names_in_the_harness(forces: Path) -> None:
    with mbd.fmu.open(forces, inputs={"u[2]": 4.0}) as sim:
        assert (sim["u[1]"], sim["u[2]"], sim["u[3]"]) == (0.5, 4.0, 1.0)
        sim["u[3]"] = 0.0
        assert sim["pace"] == (0.5 - 4.0) / 2
        saved = sim.save()
        sim.step(0.5)
        after = sim["place"]
        sim.restore(saved)
        sim.step(0.5)
        assert sim["place"] == after


def test_derivatives_along_and_against(forces: Path) -> None:
    with opened(forces) as fmu:
        fmu.begin()
        u, pace, mass = (fmu.reference(name) for name in ("u[1]", "pace", "m"))
        assert fmu.getDirectionalDerivative([pace], [u], [1, 10, 100], 1) == pytest.approx([(1 - 10 + 200) / 2])
        # d pace / d u = (1, -1, 2)/m, d pace / d m = -pace/m
        found = fmu.getAdjointDerivative([pace], [u, mass], [3.0], 4)
        assert found == pytest.approx([1.5, -1.5, 3.0, -3 * 2.5 / 2 / 2])
        assert fmu.getOutputDerivatives([fmu.reference("place")], [1]) == pytest.approx(fmu.look("der(x)"))


# ---------------------------------------------------------------- states


def test_states_continue_bit_for_bit_in_another_instance(ball: Path) -> None:
    with opened(ball) as fmu, opened(ball) as other:
        fmu.begin()
        for k in range(30):
            fmu.doStep(k * STEP, STEP)
        state = fmu.getFMUState()
        packed = fmu.serializeFMUState(state)
        for k in range(30, 100):
            fmu.doStep(k * STEP, STEP)
        wanted = fmu.look("ball.y", "ball.vy")
        fmu.setFMUState(state)
        for k in range(30, 100):
            fmu.doStep(k * STEP, STEP)
        assert fmu.look("ball.y", "ball.vy") == wanted
        fmu.freeFMUState(state)
        fresh = other.deserializeFMUState(packed)
        other.setFMUState(fresh)
        for k in range(30, 100):
            other.doStep(k * STEP, STEP)
        assert other.look("ball.y", "ball.vy") == wanted
        other.freeFMUState(fresh)


def test_reset_begins_anew(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        found = []
        for _ in range(2):
            fmu.begin()
            fmu.doStep(0, 1.0)
            found.append(fmu.look("bar.phi"))
            fmu.reset()
        assert found[0] == found[1]


# ---------------------------------------------------------------- steps that pause


def test_step_ends_early_where_an_event_is(ball: Path) -> None:
    with opened(ball, earlyReturnAllowed=True) as fmu:
        fmu.begin()
        waits, ends, early, reached = fmu.doStep(0.0, 2.0)
        assert (waits, ends, early) == (False, False, True)
        assert 0 < reached < 2 and fmu.look("ball.vy")[0] > 0  # it has happened already
        again = fmu.doStep(reached, 2.0 - reached)
        assert again[3] > reached


def test_without_permission_steps_end_where_they_should(ball: Path) -> None:
    for options in ({}, {"eventModeUsed": True}):
        with opened(ball, **options) as fmu:
            fmu.begin()
            if options:
                fmu.updateDiscreteStates()
                fmu.enterStepMode()
            assert fmu.doStep(0.0, 2.0) == (False, False, False, 2.0)


def test_event_happens_in_the_event_mode(ball: Path) -> None:
    with opened(ball, earlyReturnAllowed=True, eventModeUsed=True) as fmu:
        fmu.begin()
        assert not fmu.updateDiscreteStates()[0]
        fmu.enterStepMode()
        waits, _, early, reached = fmu.doStep(0.0, 2.0)
        assert waits and early
        before = fmu.look("ball.vy")[0]
        with pytest.raises(FMICallException):
            fmu.doStep(reached, 0.1)
        assert "while an event waits" in fmu.said[-1][1]
        fmu.enterEventMode()
        assert fmu.look("ball.vy")[0] == before < 0
        with pytest.raises(FMICallException):
            fmu.enterStepMode()
        fmu.updateDiscreteStates()
        assert fmu.look("ball.vy")[0] > 0
        fmu.enterStepMode()
        assert fmu.doStep(reached, 0.01)[3] == reached + 0.01


def test_event_waits_in_saved_states_too(ball: Path) -> None:
    with opened(ball, earlyReturnAllowed=True, eventModeUsed=True) as fmu:
        fmu.begin()
        fmu.updateDiscreteStates()
        fmu.enterStepMode()
        assert fmu.doStep(0.0, 2.0)[0]
        reached = fmu.look("time")[0]
        state = fmu.getFMUState()
        fmu.happen()
        after = fmu.look("ball.vy")
        fmu.setFMUState(state)
        assert fmu.doStep(reached, 0.1) == (True, False, True, reached)  # found again, no time has passed
        fmu.happen()
        assert fmu.look("ball.vy") == after
        fmu.freeFMUState(state)


def test_pauses_at_events_change_no_number(ball: Path) -> None:
    """Fixed points of communication, events within: left to the FMU, announced, or handled in their mode."""
    found = []
    for options in ({}, {"earlyReturnAllowed": True}, {"earlyReturnAllowed": True, "eventModeUsed": True}):
        with opened(ball, **options) as fmu:
            fmu.begin()
            if "eventModeUsed" in options:
                fmu.updateDiscreteStates()
                fmu.enterStepMode()
            t = 0.0
            while t < 2.0:
                waits, _, _, t = fmu.doStep(t, 2.0 - t)
                if waits:
                    fmu.happen()
            found.append(fmu.look("ball.y", "ball.vy"))
    assert found[0] == found[1] == found[2]


class Updates:
    """An importer that hears of internal steps: what it was told, and what it does then."""

    def __init__(self) -> None:
        self.fmu: Any = None
        self.heard: list[tuple[float, bool, bool, bool]] = []
        self.values: list[float] = []
        self.end: float | None = None
        self.course: Any = None  # of the input f
        self.refused: list[str] = []

    def __call__(self, _: object, t: float, set_: bool, get: bool, done: bool, may: bool, ask: Any, when: Any) -> None:
        self.heard.append((t, set_, get, done))
        if set_ and self.course:
            self.fmu.put(f=self.course(t))
        if get:
            self.values.append(self.fmu.look("place")[0])
        if self.end is not None and may and t >= self.end:
            ask[0], when[0] = True, t


def within(oscillator: Path, *names: str, **options: Any) -> Any:
    facts = mbd.fmu.info(oscillator)
    return {"requiredIntermediateVariables": [facts.variable(name).reference for name in names], **options}


def test_internal_steps_are_told_and_can_be_read(oscillator: Path) -> None:
    updates = Updates()
    with opened(oscillator, intermediateUpdate=updates, **within(oscillator, "place")) as fmu:
        updates.fmu = fmu
        fmu.begin(f=1.0)
        fmu.doStep(0.0, 0.5)
        assert updates.heard[-1] == (0.5, False, True, True)
        assert [h[0] for h in updates.heard] == sorted(h[0] for h in updates.heard)
        assert len(updates.heard) > 3
        assert all(not set_ and get and done for _, set_, get, done in updates.heard)
        assert updates.values[-1] == fmu.look("place")[0]


def test_inputs_follow_a_course_within_steps(oscillator: Path) -> None:
    fine = np.linspace(0, 1, 4001)
    wanted = driven().simulate(1.0, 1.0, inputs={"f": (fine, np.sin(9 * fine))}, tolerance=1e-9)["x"][-1]
    updates = Updates()
    updates.course = lambda t: np.sin(9 * t)
    with opened(oscillator, intermediateUpdate=updates, **within(oscillator, "f", "place")) as fmu:
        updates.fmu = fmu
        fmu.enterInitializationMode(startTime=0.0, tolerance=1e-8)
        fmu.exitInitializationMode()
        fmu.doStep(0.0, 1.0)
        # Straight lines between internal steps, which are short at this tolerance.
        assert fmu.look("x")[0] == pytest.approx(wanted, abs=1e-4)
        assert fmu.look("f")[0] == pytest.approx(np.sin(9))
        asked = [t for t, set_, _, _ in updates.heard if set_]
        assert len(asked) > 3 and asked[-1] == 1.0


def test_a_step_taken_back_takes_its_updates_back(folder: Path) -> None:
    model = mbd.Model("pole")
    model.add("f", mbd.Input(unit="N"))
    model.add("x", mbd.Coordinate(velocity=1.0, force="f + 1/(0.5 - x)^3", unit="m"))
    model.add_mass("x", 1.0)
    model.add("place", "x")
    path = model.export_fmu(folder / "pole.fmu", interface="cs3")
    updates = Updates()
    updates.course = lambda t: np.sin(9 * t)
    with opened(path, intermediateUpdate=updates, **within(path, "f", "place")) as fmu:
        updates.fmu = fmu
        fmu.begin()
        fmu.doStep(0.0, 0.1)
        before = fmu.look("f", "x", "der(x)", "der(x,2)")
        refused(fmu, DISCARD, fmu.doStep, 0.1, 10.0)
        assert fmu.look("f", "x", "der(x)", "der(x,2)") == before
        fmu.doStep(0.1, 0.01)
        assert fmu.look("f")[0] == pytest.approx(np.sin(9 * 0.11))


def test_importer_may_end_a_step(oscillator: Path) -> None:
    updates = Updates()
    updates.end = 0.2
    options = within(oscillator, "place", earlyReturnAllowed=True)
    with opened(oscillator, intermediateUpdate=updates, **options) as fmu:
        updates.fmu = fmu
        fmu.begin(f=1.0)
        waits, _, early, reached = fmu.doStep(0.0, 1.0)
        assert (waits, early) == (False, True)
        assert 0.2 <= reached == updates.heard[-1][0] < 1.0


def test_only_what_was_registered_is_touched_within_steps(oscillator: Path) -> None:
    said: list[str] = []

    def update(_: object, t: float, set_: bool, get: bool, *rest: Any) -> None:
        for name, call in (("x", fmu.look), ("f", lambda n: fmu.put(**{n: 1.0})), ("place", fmu.look)):
            try:
                call(name)
                said.append(f"{name}: ok")
            except FMICallException:
                said.append(f"{name}: {fmu.said[-1][1]}")
        for call in (lambda: fmu.doStep(t, 0.1), fmu.terminate, fmu.reset, fmu.getFMUState):
            with pytest.raises(FMICallException):
                call()
        fmu.fmi3FreeInstance(fmu.component)  # refused: it is in use

    with opened(oscillator, intermediateUpdate=update, **within(oscillator, "place")) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.01)
        assert {s.split(":")[0] for s in said if s.endswith("ok")} == {"place"}
        assert any("requiredIntermediateVariables" in s for s in said)
        assert fmu.look("place") is not None


def test_variables_without_intermediate_update_cannot_be_registered(forces: Path) -> None:
    with pytest.raises(Exception, match="Failed to instantiate"), opened(forces, **within(forces, "m")):
        pass


# ---------------------------------------------------------------- what is refused


def test_wrong_token_is_refused(pendulum: Path) -> None:
    with pytest.raises(Exception, match="Failed to instantiate"), opened(pendulum, token="other"):
        pass


def refused(fmu: FMU3Named, status: int, call: Any, *arguments: Any) -> str:
    with pytest.raises(FMICallException) as caught:
        call(*arguments)
    assert caught.value.status == status
    assert fmu.said[-1][0] == status
    return fmu.said[-1][1]


def test_calls_in_the_wrong_mode_are_refused_and_change_nothing(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        assert "making a step is not possible" in refused(fmu, ERROR, fmu.doStep, 0.0, STEP)
        assert "configuration mode" in refused(fmu, ERROR, fmu.enterConfigurationMode)
        assert "structural" in refused(fmu, ERROR, fmu.exitConfigurationMode)
        fmu.begin()
        assert "made without it" in refused(fmu, ERROR, fmu.enterEventMode)
        assert "event" in refused(fmu, ERROR, fmu.updateDiscreteStates)
        assert "step mode" in refused(fmu, ERROR, fmu.enterStepMode)
        before = fmu.look("bar.phi")
        for time, size in ((0.0, 0.0), (0.0, -1.0), (0.0, float("nan")), (1.0, STEP), (0.0, float("inf"))):
            refused(fmu, ERROR, fmu.doStep, time, size)
        assert fmu.look("bar.phi") == before
        fmu.doStep(0.0, STEP)
        fmu.terminate()
        assert "terminated" in refused(fmu, ERROR, fmu.doStep, STEP, STEP)


def test_functions_that_no_fmu_of_ours_needs_say_so(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        for call, what in (
            (lambda: fmu.getFloat32([0]), "type Float32"),
            (lambda: fmu.setUInt8([0], [1]), "type UInt8"),
            (lambda: fmu.getBinary([0]), "type Binary"),
            (lambda: fmu.fmi3GetClock(fmu.component, None, 0, None), "no clocks"),
            (lambda: fmu.fmi3SetClock(fmu.component, None, 0, None), "no clocks"),
            (lambda: fmu.fmi3GetNumberOfVariableDependencies(fmu.component, 0, None), "no dependencies by element"),
            (lambda: fmu.fmi3EvaluateDiscreteStates(fmu.component), "no discrete states"),
            (lambda: fmu.fmi3GetShiftDecimal(fmu.component, None, 0, None), "no clocks"),
        ):
            assert what in refused(fmu, ERROR, call)


def test_the_type_chooses_the_function(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        scheme = fmu.reference("solver.scheme")
        assert fmu.getInt64([scheme]) == [fmu.facts.variable("solver.scheme").start]
        assert "another type" in refused(fmu, ERROR, fmu.getInt32, [scheme])
        assert "another type" in refused(fmu, ERROR, fmu.getFloat64, [scheme])
        assert "no variable" in refused(fmu, ERROR, fmu.getFloat64, [999_999])
        fmu.begin()
        assert fmu.getString([fmu.reference("solver.version")])[0].startswith("mbdfmu")


def test_start_values_can_be_read_before_anything_is_computed(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        settable = [v for v in fmu.facts.variables if v.settable and v.type == "Float64"]
        assert fmu.getFloat64([v.reference for v in settable]) == [v.start for v in settable]
        assert "has no start value" in refused(fmu, ERROR, fmu.look, "bar.phi")


def test_a_step_that_cannot_be_made_is_taken_back(folder: Path) -> None:
    model = mbd.Model("wall")
    model.add("x", mbd.Coordinate(velocity=1.0, force="1/(0.5 - x)^3", unit="m"))
    model.add_mass("x", 1.0)
    model.add("place", "x")
    path = model.export_fmu(folder / "wall.fmu", interface="cs3")
    with opened(path) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.1)
        before = fmu.look("x")
        refused(fmu, DISCARD, fmu.doStep, 0.1, 10.0)
        assert fmu.look("x") == before
        fmu.doStep(0.1, 0.01)


def test_messages_are_heard_as_asked(folder: Path) -> None:
    with opened(shipped("bouncing_ball").export_fmu(folder / "b.fmu", interface="cs3"), logging=False) as fmu:
        fmu.begin()
        fmu.doStep(0.0, 2.0)
        assert fmu.said == []
        refused(fmu, ERROR, fmu.doStep, 0.0, 1.0)  # errors always
        fmu.said.clear()
        fmu.setDebugLogging(True, ["logEvents"])
        fmu.doStep(2.0, 2.0)
        assert fmu.said and all("at t =" in text for _, text in fmu.said)
        assert "no log category" in refused(fmu, ERROR, fmu.setDebugLogging, True, ["everything"])
        nothing = (c_char_p * 1)(None)
        assert "missing" in refused(fmu, ERROR, fmu.fmi3SetDebugLogging, fmu.component, True, 1, nothing)


def test_room_that_is_missing_is_refused(pendulum: Path) -> None:
    with opened(pendulum) as fmu:
        fmu.begin()
        flag, time = c_bool(), c_double()
        arguments = (fmu.component, 0.0, STEP, True, byref(flag), byref(flag), byref(flag))
        assert "room for results" in refused(fmu, ERROR, fmu.fmi3DoStep, *arguments, None)
        fmu.fmi3DoStep(*arguments, byref(time))
        assert time.value == STEP


# ---------------------------------------------------------------- other masters, and calls in any order


def test_ecos_computes_what_the_model_computes(tmp_path: Path) -> None:
    model = shipped("slider_crank")
    torque = [5 * np.sin(3 * k * STEP) for k in range(51)]
    names = ["angle", "speed", "side_force"]
    job = {
        "fmus": {"x": str(model.export_fmu(tmp_path / "x.fmu", interface="cs3"))}, "connections": [],
        "inputs": [{"fmu": "x", "name": "torque", "values": torque}], "times": [k * STEP for k in range(51)],
        "record": [{"fmu": "x", "name": name} for name in names],
    }  # fmt: skip
    got = masters.run("ecos", job, tmp_path)
    sim, time, rows = model.start(), 0.0, []
    for k in range(50):
        sim["torque"] = torque[k]
        time += STEP  # ecos adds up
        sim.advance(time)
        rows.append([sim[name] for name in names])
    np.testing.assert_array_equal(got, rows)


class Oracle:
    """What FMI 3.0 allows where (2.3, 4.2), and how far an instance has come."""

    ALLOWED: ClassVar[dict[str, set[str]]] = {
        "enter": {"instantiated"}, "leave": {"initialization"}, "step": {"step"}, "interrupt": {"step"},
        "update": {"event"}, "resume": {"event"}, "terminate": {"step", "event"}, "configure": set(),
        "reset": {"instantiated", "initialization", "step", "event", "terminated"},
        "read": {"initialization", "step", "event", "terminated"}, "starts": {"instantiated"},
        "set": {"instantiated", "initialization", "step", "event"}, "rates": {"step", "terminated"},
        "derive": {"initialization", "step", "event", "terminated"},
        "save": {"instantiated", "initialization", "step", "event", "terminated"},
        "restore": {"instantiated", "initialization", "step", "event", "terminated"},
        "odd": set(),
    }  # fmt: skip

    def __init__(self, events: bool) -> None:
        self.events, self.mode, self.waiting = events, "instantiated", False

    def allows(self, call: str) -> bool:
        if call in ("step", "resume") and self.waiting:
            return False
        return self.mode in self.ALLOWED[call] and (call != "interrupt" or self.events)

    def follow(self, call: str) -> None:
        running = "event" if self.events else "step"
        modes = {"enter": "initialization", "leave": running, "interrupt": "event", "resume": "step",
                 "terminate": "terminated", "reset": "instantiated"}  # fmt: skip
        self.mode = modes.get(call, self.mode)
        if call in ("update", "reset"):
            self.waiting = False


class Player:
    """One instance and its oracle; `play` makes a call and compares."""

    def __init__(self, fmu: FMU3Named, events: bool, rng: np.random.Generator) -> None:
        self.fmu, self.oracle, self.rng, self.time = fmu, Oracle(events), rng, 0.0
        self.saved: tuple[Any, str, float] | None = None

    def play(self, call: str) -> None:
        allowed = self.oracle.allows(call) and (call != "restore" or self.saved is not None)
        before = len(self.fmu.said)
        try:
            getattr(self, f"_{call}")()
        except FMICallException as error:
            assert not allowed, (call, self.oracle.mode, self.fmu.said[-1])
            assert error.status == ERROR
            assert len(self.fmu.said) > before
            return
        assert allowed, (call, self.oracle.mode)
        self.oracle.follow(call)

    def _enter(self) -> None:
        self.fmu.enterInitializationMode(startTime=0.0)
        self.time = 0.0

    def _leave(self) -> None:
        self.fmu.exitInitializationMode()

    def _step(self) -> None:
        waits, _, early, reached = self.fmu.doStep(self.time, size := float(self.rng.choice([0.01, 0.3])))
        assert early == (reached < self.time + size)
        assert self.oracle.events or not waits
        self.time, self.oracle.waiting = reached, waits

    def _odd(self) -> None:
        odd = [(self.time, 0.0), (self.time, -0.1), (self.time + 0.5, 0.1), (self.time, float("nan"))]
        self.fmu.doStep(*odd[self.rng.integers(len(odd))])

    def _interrupt(self) -> None:
        self.fmu.enterEventMode()

    def _update(self) -> None:
        self.fmu.updateDiscreteStates()

    def _resume(self) -> None:
        self.fmu.enterStepMode()

    def _terminate(self) -> None:
        self.fmu.terminate()

    def _reset(self) -> None:
        self.fmu.reset()

    def _configure(self) -> None:
        self.fmu.enterConfigurationMode()

    def _read(self) -> None:
        assert np.isfinite(self.fmu.look("y", "lift")).all()

    def _starts(self) -> None:
        if self.oracle.mode != "instantiated":  # elsewhere values can be read
            self.fmu.getFloat32([0])
        assert np.isfinite(self.fmu.look("push")).all()

    def _set(self) -> None:
        self.fmu.put(push=float(self.rng.normal()))

    def _rates(self) -> None:
        self.fmu.getOutputDerivatives([self.fmu.reference("up")], [1])

    def _derive(self) -> None:
        self.fmu.getDirectionalDerivative([self.fmu.reference("lift")], [self.fmu.reference("push")], [1.0], 1)

    def _save(self) -> None:
        state = self.fmu.getFMUState()
        if self.saved is not None:
            self.fmu.freeFMUState(self.saved[0])
        self.saved = state, self.oracle.mode, self.time

    def _restore(self) -> None:
        if self.saved is None:
            self.fmu.fmi3SetFMUState(self.fmu.component, None)
        else:
            self.fmu.setFMUState(self.saved[0])
            self.oracle.mode, self.time, self.oracle.waiting = self.saved[1], self.saved[2], False


def test_calls_in_any_order_answer_as_the_standard_says(folder: Path, counts: Callable[..., int]) -> None:
    """Steps that wait for an event are let happen or found again, so a restored state counts as not waiting."""
    path = hopping().export_fmu(folder / "hopping.fmu", interface="cs3")
    rng = np.random.default_rng(63)
    calls = [*Oracle.ALLOWED, "enter", "leave", "step", "step", "step", "update", "resume"]
    for events in (False, True):
        with opened(path, earlyReturnAllowed=True, eventModeUsed=events) as fmu:
            for _ in range(counts(5000, 0.02)):
                player = Player(fmu, events, rng)
                for call in rng.choice(calls, size=40):
                    player.play(str(call))
                if player.saved is not None:
                    fmu.freeFMUState(player.saved[0])
                fmu.reset()
                fmu.said.clear()


@pytest.mark.parametrize("events", [0, 1])
def test_a_host_in_c_computes_what_the_model_computes(ball: Path, events: int, tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler and dlopen")
    host = tmp_path / "host3"
    source = Path(__file__).parent / "native" / "host3.c"
    subprocess.run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, "-o", host, "-ldl"], check=True)
    facts, place = mbd.fmu.info(ball), tmp_path / "ü #%20 fmu"  # a folder that is no URI
    fmpy.extract(str(ball), str(place))
    library = place / "binaries" / fmpy.platform_tuple / f"{facts.name}{fmpy.sharedLibraryExtension}"
    references = [str(facts.variable(name).reference) for name in ("time", "ball.y", "ball.vy")]
    command = [host, library, f"{place / 'resources'}/", facts.guid, str(events), "0.01", "100", *references]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    sim, rows = shipped("bouncing_ball").start(), []
    for k in range(1, 101):
        sim.advance(k * 0.01)
        rows.append([sim["time"], sim["ball.y"], sim["ball.vy"]])
    found = [[float(x) for x in line.split(",")] for line in done.stdout.splitlines()]
    np.testing.assert_array_equal(found, rows)
