"""An FMU stepped from Python: the same face as a stepped model, and an orderly end whatever happens."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import fmpy
import numpy as np
import pytest

import mbdfmu as mbd

STEP = 0.01


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mbd.models.load("pendulum").export_fmu(tmp_path_factory.mktemp("fmu") / "pendulum.fmu")


@pytest.fixture
def running(pendulum: Path) -> Iterator[mbd.fmu.FmuSimulation]:
    with mbd.fmu.open(pendulum) as simulation:
        yield simulation


def test_it_steps_like_the_model(pendulum: Path) -> None:
    model = mbd.models.load("pendulum").start(parameters={"length": 2.0})
    with mbd.fmu.open(pendulum, parameters={"length": 2.0}) as fmu:
        for k in range(50):
            model["torque"] = fmu["torque"] = np.sin(0.1 * k)
            model.step(STEP)
            fmu.step(STEP)
        assert fmu.time == model.time
        # The same solver on the same numbers; only the internal steps may be cut differently.
        assert fmu["angle"] == pytest.approx(model["angle"], rel=1e-9)
        assert fmu.statistics == {"communication_steps": 50}


def test_saved_states_continue_to_the_bit(running: mbd.fmu.FmuSimulation) -> None:
    running["torque"] = 2.0
    running.step(STEP)
    state = running.save()

    def on() -> list[float]:
        running.step(STEP)
        return [running["angle"], running["speed"], running.time]

    first = on()
    running["torque"] = -5.0
    on()
    running.restore(state)
    assert on() == first


def test_values_have_their_types(running: mbd.fmu.FmuSimulation) -> None:
    assert isinstance(running["angle"], float)
    assert {type(running[name]) for name in ("solver.tolerance", "solver.scheme")} <= {float, int, str}


def test_what_cannot_be_set_is_refused_with_the_cure(running: mbd.fmu.FmuSimulation) -> None:
    for name, message in {
        "length": r"'length' is (fixed|tunable) parameter and cannot be set now; give it when the FMU is opened",
        "angle": "'angle' is continuous output and cannot be set now",
        "torqe": "no variable 'torqe'; did you mean 'torque'",
    }.items():
        with pytest.raises(mbd.ModelError, match=message):
            running[name] = 1.0
    with pytest.raises(mbd.ModelError, match="input 'torque' must be a number, found 'much'"):
        running["torque"] = "much"


@pytest.mark.parametrize("size", [0, -1.0, float("nan"), float("inf"), "1"])
def test_steps_are_positive_and_finite(running: mbd.fmu.FmuSimulation, size: float) -> None:
    with pytest.raises(mbd.ModelError, match="step must be a positive number of seconds"):
        running.step(size)


def test_only_own_states_are_restored(running: mbd.fmu.FmuSimulation, pendulum: Path) -> None:
    with mbd.fmu.open(pendulum) as other:
        stranger = other.save()
        with pytest.raises(mbd.ModelError, match=r"can restore what save\(\) of this simulation returned"):
            running.restore(stranger)


def test_inputs_at_the_start_are_there_at_the_start(pendulum: Path) -> None:
    with mbd.fmu.open(pendulum, inputs={"torque": 3.0}) as simulation:
        assert simulation["torque"] == 3.0
    with pytest.raises(mbd.ModelError, match="no input 'torqe'; did you mean 'torque'"):
        mbd.fmu.open(pendulum, inputs={"torqe": 3.0})


def test_a_closed_one_says_so(pendulum: Path) -> None:
    simulation = mbd.fmu.open(pendulum)
    state = simulation.save()
    simulation.close()
    simulation.close()
    assert "closed" in repr(simulation)
    for call in (lambda: simulation["angle"], lambda: simulation.step(STEP), simulation.save):
        with pytest.raises(mbd.ModelError, match="'pendulum' is closed; open it again"):
            call()
    del state  # its memory has gone with the instance


def test_one_that_is_forgotten_leaves_no_folder(
    pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    simulation = mbd.fmu.open(pendulum)
    assert len(list(tmp_path.iterdir())) == 1
    del simulation
    gc.collect()
    assert not list(tmp_path.iterdir())
    with pytest.raises(mbd.ModelError):
        mbd.fmu.open(pendulum, parameters={"lenght": 1.0})
    assert not list(tmp_path.iterdir())


def test_discrete_and_whole_inputs_are_held() -> None:
    from mbdfmu.analyses import InputSchedule

    table = {"gear": ([0.0, 1.0], [1.0, 2.0]), "torque": ([0.0, 1.0], [1.0, 2.0])}
    schedule = InputSchedule.make(table, table, "linear", held=["gear"])
    assert schedule.at(0.5, 0.6) == {"gear": (1.0, 0.0), "torque": (1.5, 1.0)}


def test_messages_are_heard_whoever_else_was_there(pendulum: Path) -> None:
    """fmpy keeps one logger for the process, that of the instance made last, which may be gone (a crash, once)."""
    with mbd.fmu.open(pendulum) as first:
        with mbd.fmu.open(pendulum) as second:
            second.step(0.01)
        fmpy.simulate_fmu(str(pendulum), stop_time=0.1, logger=lambda *_: None, debug_logging=True)
        del second
        gc.collect()
        with pytest.raises(mbd.StepFailed, match="no further than"):
            first.step(1e12)


def test_refused_values_are_named_and_change_nothing(running: mbd.fmu.FmuSimulation) -> None:
    running["torque"] = 2.0
    with pytest.raises(mbd.ModelError, match="refuses nan for 'torque': 'torque' must be a finite number"):
        running["torque"] = float("nan")
    assert running["torque"] == 2.0
