"""FMUs for model exchange among those that are coupled: integrated between communication points, with their events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from coupled_fmus import START, STIFFNESS, actuator, exact, export, mass
from numpy.typing import NDArray
from oscillator import build

import mbdfmu as mbd
from mbdfmu.cosim import System
from mbdfmu.errors import ModelError, StepFailed

RECORD = ["mass.place", "mass.speed", "actuator.force"]
PACE = np.sqrt(STIFFNESS)
CLOSE = 1e-6  # of CVode at the tolerance of the FMU, 1e-9, with a hundred new beginnings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an actuator for co-simulation, and the mass for both; `fmi2` and `fmi3` hold an oscillator like the mass."""
    path = tmp_path_factory.mktemp("pair")
    export(actuator(), path)
    export(mass(), path)
    for version in ("fmi2", "fmi3"):
        (path / version).mkdir()
        build(path / version, int(version[-1]))
    (path / "ours").mkdir()
    mass().export_fmu(path / "ours" / "Oscillator.fmu", interface="me2", tolerance=1e-9)
    return path


def pair(folder: Path, version: str, **master: object) -> System:
    system = System("pair", master=master)
    system.add("mass", folder / version / "Oscillator.fmu", tolerance=1e-9)
    system.add("actuator", folder / "actuator.fmu")
    system.connect("actuator.speed", "mass.speed")
    system.connect("mass.force", "actuator.force")
    return system


def alone(folder: Path, version: str, **parameters: float) -> System:
    system = System("alone")
    system.add("mass", folder / version / "Oscillator.fmu", parameters=parameters)
    return system


def free(time: NDArray[np.float64], place: float = START[0], speed: float = START[1]) -> NDArray[np.float64]:
    """Without a force."""
    found: NDArray[np.float64] = place * np.cos(PACE * time) + speed / PACE * np.sin(PACE * time)
    return found


def error(system: System, step: float) -> float:
    result = system.simulate(1.0, step, record=RECORD)
    return float(np.max(np.abs(np.column_stack([result[name] for name in RECORD]) - exact(result.time))))


ITERATED = {"iterations": 30, "iteration_tolerance": 1e-9}


@pytest.mark.parametrize("version", ["fmi2", "fmi3", "ours"])
@pytest.mark.parametrize(("order", "master"), [
    (1, {}), (2, {"extrapolation": 1}), (2, {"algorithm": "gauss-seidel", "extrapolation": 1}),
    pytest.param(2, ITERATED, marks=pytest.mark.nightly),
], ids=str)  # fmt: skip
def test_the_orders_of_the_master_are_those_of_co_simulation(
    order: int, master: dict[str, object], version: str, folder: Path
) -> None:
    errors = [error(pair(folder, version, **master), step) for step in (0.04, 0.02)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("master", [{}, {"extrapolation": 1}], ids=str)
def test_numbers_are_those_of_co_simulation(master: dict[str, object], folder: Path) -> None:
    both = pair(folder, "ours", **master)
    steps = System("steps", master=master)
    steps.add("mass", folder / "mass.fmu")
    steps.add("actuator", folder / "actuator.fmu")
    steps.connect("actuator.speed", "mass.speed")
    steps.connect("mass.force", "actuator.force")
    record = [*RECORD, "mass.acceleration"]  # which answers to the force at once
    one, other = (system.simulate(0.4, 0.02, record=record) for system in (both, steps))
    for name in record:
        assert one[name] == pytest.approx(other[name], abs=10 * CLOSE)  # stiffness 40


@pytest.mark.parametrize("version", ["fmi2", "fmi3"])
def test_steps_of_controlled_size_are_taken_back(version: str, folder: Path) -> None:
    result = pair(folder, version, tolerance=1e-3, extrapolation=1).simulate(0.5, 0.05, record=RECORD)
    assert result.statistics["rejected_steps"] > 0
    found = np.column_stack([result[name] for name in RECORD])
    assert found == pytest.approx(exact(result.time), abs=0.02)  # a few times the tolerance of inputs of size 5


@pytest.mark.parametrize(("step", "t_start"), [(1.0, 0.0), (0.05, 0.0), (0.05, -1.0)])
@pytest.mark.parametrize("version", ["fmi2", "fmi3"])
def test_events_are_met_inside_of_steps(version: str, step: float, t_start: float, folder: Path) -> None:
    result = alone(folder, version, wall=1).simulate(t_start + 1, step, t_start=t_start)
    time = result.time - t_start
    assert result["mass.place"] == pytest.approx(np.abs(free(time)), abs=CLOSE)
    result = alone(folder, version, kick=2).simulate(t_start + 1, step, t_start=t_start)
    h = 1e-6
    speed = (free(np.array(0.3 + h)) - free(np.array(0.3 - h))) / (2 * h) + 2
    after = free(time - 0.3, free(np.array(0.3)), speed)
    assert result["mass.place"] == pytest.approx(np.where(time < 0.3, free(time), after), abs=CLOSE)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("version", ["fmi2", "fmi3"])
@pytest.mark.parametrize(("ending", "end"), [("start", 0.0), ("event", 0.5), ("step", 0.5)])
def test_a_wish_to_end_ends_the_system(
    ending: str, end: float, version: str, isolate: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDING", ending)
    result = alone(folder, version).simulate(1.0, 0.1, isolate=isolate)
    assert result.complete and f"FMU 'mass' has ended the simulation at t = {end:g} s" in result.message
    assert result.time[-1] == pytest.approx(end)
    assert result["mass.place"][-1] == pytest.approx(free(np.array(end)), abs=CLOSE)


@pytest.mark.parametrize("version", ["fmi2", "fmi3"])
def test_which_are_integrated_is_noted_and_failures_bear_their_names(
    version: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = pair(folder, version)
    assert [note for note in system.simulate(0.02, 0.02).notes if note.startswith("mass: for model exchange")]
    monkeypatch.setenv("ENDING", "error")
    with pytest.raises(StepFailed, match=r"FMU 'mass' gave up at t = 0\.4 s: fmi.*Derivatives failed"):
        system.simulate(1.0, 0.2)


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_without_states_is_refused_where_steps_are_taken_back(
    version: int, folder: Path, tmp_path: Path
) -> None:
    build(tmp_path, version, {'canGetAndSetFMU' + ("state" if version == 2 else "State") + '="true"': ""})
    (tmp_path / "actuator.fmu").write_bytes((folder / "actuator.fmu").read_bytes())
    with pytest.raises(ModelError, match=r"master\.iterations: steps have to be taken back, which FMU 'mass' cannot"):
        pair(tmp_path, ".", iterations=3).simulate(0.1, 0.05)
    assert pair(tmp_path, ".").simulate(0.1, 0.05).complete


@pytest.mark.parametrize("algorithm", ["jacobi", "gauss-seidel"])
def test_events_at_communication_points_see_the_inputs_of_that_point(algorithm: str, tmp_path: Path) -> None:
    """A relay acted one step late, and a controller that takes samples at communication points one sample late."""
    relay = mbd.Model("relay")
    relay.add("u", mbd.Input())
    relay.add("on", mbd.State(rate="0", start=1))
    relay.add("up", mbd.Event(when="u > 0", set={"on": "1"}))
    relay.add("down", mbd.Event(when="u < 0", set={"on": "-1"}))
    relay.add("y", mbd.Output(value="on"))
    lag = mbd.Model("lag")
    lag.add("u", mbd.Input())
    lag.add("x", mbd.State(rate="-x/2 - u", start=0.55))
    lag.add("y", mbd.Output(value="x"))
    system = System("loop")
    system.add("relay", relay.export_fmu(tmp_path / "relay.fmu", interface="me2"))
    system.add("lag", lag.export_fmu(tmp_path / "lag.fmu"), tolerance=1e-10)
    system.connect("lag.u", "relay.y")
    system.connect("relay.u", "lag.y")
    result = system.with_master(algorithm=algorithm).simulate(t_end=3.0, step=0.1)
    x, decay = 0.55, np.exp(-0.05)
    for k in range(31):
        assert result["lag.y"][k] == pytest.approx(x, abs=1e-6) and result["relay.y"][k] == np.sign(x), k
        x = x * decay - 2 * np.sign(x) * (1 - decay)


@pytest.mark.parametrize("gain", [-0.5, -3.0])
def test_loops_over_model_exchange_are_solved(gain: float, tmp_path: Path) -> None:
    """y = 1 + gain z, z = y + x: passed on from FMU to FMU it would grow where the gain is large."""
    first = mbd.Model("first")
    first.add("z", mbd.Input())
    first.add("x", mbd.State(rate="-x", start=1))
    first.add("y", mbd.Output(value=f"1 + {gain}*z"))
    second = mbd.Model("second")
    second.add("y", mbd.Input())
    second.add("x", mbd.State(rate="-2*x", start=1))
    second.add("z", mbd.Output(value="y + x"))
    system = System("loop")
    system.add("first", first.export_fmu(tmp_path / "first.fmu", interface="me2"), tolerance=1e-9)
    system.add("second", second.export_fmu(tmp_path / "second.fmu"), tolerance=1e-9)
    system.connect("first.z", "second.z")
    system.connect("second.y", "first.y")
    result = system.with_master(iterations=20).simulate(t_end=1.0, step=0.1)
    x = np.exp(-2 * result.time)
    assert result["second.z"] == pytest.approx((1 + x) / (1 - gain), abs=1e-6)
