"""Shipped vehicles with shipped controllers: co-simulated against one model with the controllers in it.

The error falls with the communication step at the order that the master promises. Kinks cost no order up to the
second: limits of forces and torques, the begin of a bump, brakes that begin to control; two cases have them. Jumps do,
and leave it to chance where in a step they are: the cut-out of the brakes at low speed is left out. Motion begins with
start values; from rest Gauss-Seidel can be better by one order than it promises. Sampled controllers on the
communication grid have no coupling error at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.controllers import Controller
from mbdfmu.cosim import System

load = mbd.controllers.load
WHEELS = {"fl": "front_left", "fr": "front_right", "rl": "rear_left", "rr": "rear_right"}
WITHIN = 0.2  # of the order, as the last two halvings show it
MASTERS: dict[str, tuple[int, dict[str, Any]]] = {
    "jacobi": (1, {}),
    "jacobi, extrapolated": (2, {"extrapolation": 1}),
    "jacobi, iterated": (2, {"iterations": 30, "iteration_tolerance": 1e-10}),
    "gauss-seidel": (1, {"algorithm": "gauss-seidel"}),
    "gauss-seidel, extrapolated": (2, {"algorithm": "gauss-seidel", "extrapolation": 1}),
}


@dataclass(frozen=True)
class Case:
    """One plant with its controllers, and what to watch."""

    plant: str
    controllers: Callable[[], dict[str, Controller]]
    links: dict[str, Any]
    parameters: dict[str, float]  # of the plant, among them start values that set it in motion
    watched: tuple[str, ...]  # outputs of the plant
    bond: tuple[str, str]  # input and output of the plant
    end: float = 0.3
    steps: tuple[float, ...] = (4e-3, 2e-3, 1e-3, 5e-4)
    states: dict[str, float] = field(default_factory=dict)  # of controllers, at the start
    inputs: dict[str, float] = field(default_factory=dict)  # of controllers
    solver: dict[str, Any] = field(default_factory=lambda: {"scheme": "dop853", "tolerance": 1e-10})


def optimal() -> dict[str, Controller]:
    """Optimal feedback of body and wheels for the half car."""
    linear = mbd.models.load("half_car").linearize(inputs=["front_actuator", "rear_actuator"], outputs=list(MEASURED),
                                                   parameters={"bump": 0.0})  # fmt: skip
    gains = mbd.controllers.lqr_gains(linear, ["front_actuator", "rear_actuator"], MEASURED, Q=[1e5] * 8, R=[1e-2] * 2)
    units = ("m", "rad", "m/s", "rad/s", "m", "m", "m/s", "m/s")
    named = {"measured": MEASURED, "measured_units": units, "channels": ("front", "rear"), "channel_units": ("N", "N")}
    return {"lqr": load("lqr", gains=gains, **named)}


MEASURED = ("heave", "pitch", "heave_speed", "pitch_rate",
            "front_travel", "rear_travel", "front_travel_rate", "rear_travel_rate")  # fmt: skip
STATES = ("height_of_body", "body_speed", "height_of_wheel", "travel_rate")
QUARTER: dict[str, Any] = {
    "plant": "quarter_car", "parameters": {"bump": 0.0, "body.vy.start": 0.5}, "bond": ("actuator", "travel_rate"),
    "watched": ("height_of_body", "height_of_wheel", "body_speed", "travel_rate"),
}  # fmt: skip
HALF: dict[str, Any] = {
    "plant": "half_car", "parameters": {"bump": 0.0, "body.vy.start": 0.4, "body.omega.start": 0.2},
    "bond": ("front_actuator", "front_travel_rate"),
    "watched": ("heave", "pitch", "front_travel_rate", "rear_travel_rate"),
}  # fmt: skip


def hooked(kind: str, axle: str = "") -> dict[str, Any]:
    """What a controller of one suspension is connected to."""
    name = f"{axle}{kind}"
    return {f"plant.{axle}actuator": f"{name}.force"} | {
        f"{name}.{port}": f"plant.{axle}{port}" for port in ("body_speed", "travel_rate")
    }


def braked(factor: float | None = None) -> dict[str, Any]:
    """What anti-lock brakes of a car are connected to; the factor turns torques into pressures."""
    links: dict[str, Any] = {"abs.speed": "plant.speed_ahead"}
    for short, wheel in WHEELS.items():
        links[f"abs.slip_{short}"] = f"plant.{wheel}_slip"
        links[f"plant.{wheel}_pressure"] = {"from": f"abs.torque_{short}", "factor": factor}
    return links


# Brakes that begin within their limits: half of the demand is taken away, and little slip is wanted.
BRAKING = {"set_slip": 0.02, "gain": 200.0}
CASES = {
    "quarter car, skyhook": Case(
        **QUARTER, controllers=lambda: {"skyhook": load("skyhook")}, links=hooked("skyhook")),
    "quarter car, skyhook with lag": Case(
        **QUARTER, controllers=lambda: {"skyhook": load("skyhook", lag=0.02)}, links=hooked("skyhook")),
    "quarter car, groundhook": Case(
        **QUARTER, controllers=lambda: {"groundhook": load("groundhook")}, links=hooked("groundhook")),
    "quarter car, lqr": Case(
        **QUARTER, controllers=lambda: {"lqr": load("lqr")},
        links={"plant.actuator": "lqr.force"} | {f"lqr.{name}": f"plant.{name}" for name in STATES}),
    "quarter car, pid and a lag": Case(
        **QUARTER, controllers=lambda: {"pid": load("pid", kp=8e3, ki=2e4, kd=800.0, filter_time=0.02),
                                        "lag": load("state_space", A=[[-40.0]], B=[[40.0]])},
        links={"pid.measured": "plant.height_of_body", "lag.u1": "pid.y", "plant.actuator": "lag.y1"}),
    "half car, lqr": Case(
        **HALF, controllers=optimal,
        links={f"lqr.{name}": f"plant.{name}" for name in MEASURED} | {
            f"plant.{axle}_actuator": f"lqr.{axle}" for axle in ("front", "rear")
        }),
    "half car, two skyhooks": Case(
        **HALF, controllers=lambda: {f"{axle}_skyhook": load("skyhook", lag=0.01) for axle in ("front", "rear")},
        links=hooked("skyhook", "front_") | hooked("skyhook", "rear_")),
    "brake rig, abs": Case(
        plant="brake_rig", parameters={}, watched=("car_speed", "wheel_speed", "slip"), bond=("brake", "wheel_speed"),
        controllers=lambda: {"abs": load("abs_slip", **BRAKING)},
        links={"abs.slip": "plant.slip", "abs.speed": "plant.car_speed", "plant.brake": "abs.torque"},
        inputs={"abs.demand": 1500.0}, states={"abs.integral": 900.0, "abs.pressed": 500.0}),
    "quarter car, skyhook at its limit": Case(
        **{**QUARTER, "parameters": {"bump": 0.05, "bump_start": 0.5, "body.vy.start": 0.5}}, end=0.5,
        controllers=lambda: {"skyhook": load("skyhook", lag=0.02, limit=400.0)}, links=hooked("skyhook")),
    "brake rig, abs at its limits": Case(
        plant="brake_rig", parameters={}, watched=("car_speed", "wheel_speed", "slip"), bond=("brake", "wheel_speed"),
        controllers=lambda: {"abs": load("abs_slip")}, end=0.5,
        links={"abs.slip": "plant.slip", "abs.speed": "plant.car_speed", "plant.brake": "abs.torque"},
        inputs={"abs.demand": 3000.0}),
    "full vehicle, abs": Case(
        # Pressure times speed of rotation: 2e-4 m3 times it is a power.
        plant="full_vehicle", parameters={}, bond=("front_left_pressure", "front_left_wheel_speed"),
        watched=("speed_ahead", "front_left_slip", "rear_left_slip", "front_left_wheel_speed"),
        controllers=lambda: {"abs": load("abs_slip", wheels=4, **BRAKING)}, links=braked(1 / 2e-4),
        inputs={"abs.demand": 1500.0}, end=0.1, steps=(4e-3, 2e-3, 1e-3),
        states={f"abs.{name}_{w}": x for w in WHEELS for name, x in (("integral", 900.0), ("pressed", 500.0))}),
}  # fmt: skip
DAILY = [name for name, case in CASES.items() if case.plant != "full_vehicle"]
NAMES = [*DAILY, pytest.param("full vehicle, abs", marks=pytest.mark.nightly)]


# ---------------------------------------------------------------- both ways of running


@cache
def exact(name: str) -> np.ndarray:
    """What is watched at the finest communication points, from one model."""
    case = CASES[name]
    twin = mbd.controllers.inside(mbd.models.load(case.plant), case.controllers(), case.links)
    starts = {key.removesuffix(".start"): x for key, x in case.parameters.items() if key.endswith(".start")}
    starts |= {key.replace(".", "_"): x for key, x in case.states.items()}
    parameters = {key: x for key, x in case.parameters.items() if not key.endswith(".start")}
    result = twin.simulate(
        case.end, case.steps[-1], parameters=parameters, start=starts, record=list(case.watched),
        inputs={key.replace(".", "_"): ([0.0], [x]) for key, x in case.inputs.items()},
        **{**case.solver, "tolerance": case.solver["tolerance"] / 10},
    )  # fmt: skip
    return np.column_stack([result[watched] for watched in case.watched])


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Path]]:
    """Plant and controllers of a case as native FMUs with tight solvers."""
    folder = tmp_path_factory.mktemp("examples")

    @cache
    def plant(name: str) -> Path:
        return mbd.models.load(CASES[name].plant).export_fmu(
            folder / f"{CASES[name].plant}.fmu", signals=[], **CASES[name].solver
        )

    @cache
    def exported(name: str) -> dict[str, Path]:
        found = {"plant": plant(name)}
        for key, controller in CASES[name].controllers().items():
            path = folder / f"{name.replace(', ', '_').replace(' ', '_')}_{key}.fmu"
            found[key] = controller.model(key).export_fmu(path, scheme="dop853", tolerance=1e-11)
        return found

    return exported


def system(name: str, files: dict[str, Path], master: dict[str, Any]) -> System:
    """The same as FMUs; the plant is stepped first."""
    case, made = CASES[name], System(name.replace(", ", "_").replace(" ", "_"), master=master)
    for key, path in files.items():
        own = {x.partition(".")[2]: value for x, value in case.states.items() if x.startswith(f"{key}.")}
        inputs = {x.partition(".")[2]: value for x, value in case.inputs.items() if x.startswith(f"{key}.")}
        starts = case.parameters if key == "plant" else {f"{state}.start": value for state, value in own.items()}
        made.add(key, path, parameters=starts, inputs=inputs)
    for end, source in case.links.items():
        coupling = {"from": source} if isinstance(source, str) else dict(source)
        made.connect(end, coupling.pop("from"), **coupling)
    made.bond("power", effort=f"plant.{case.bond[0]}", flow=f"plant.{case.bond[1]}")
    return made


def run(name: str, files: dict[str, Path], master: dict[str, Any], step: float) -> tuple[float, float]:
    """The largest error of all that is watched, relative to its range, and the energy that is made up (J)."""
    case, wanted = CASES[name], exact(name)
    result = system(name, files, master).simulate(case.end, step, record=[f"plant.{x}" for x in case.watched])
    found = np.column_stack([result[f"plant.{x}"] for x in case.watched])
    on_grid = wanted[:: round(step / case.steps[-1])]
    return float(np.max(np.abs(found - on_grid) / np.ptp(wanted, axis=0))), result.statistics["power.residual_energy"]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("method", MASTERS)
@pytest.mark.parametrize("name", NAMES)
def test_co_simulation_comes_to_the_one_model_at_the_order_of_the_master(
    name: str, method: str, fmus: Callable[[str], dict[str, Path]]
) -> None:
    """Solvers are a hundred times and more below the errors of the coupling, or nothing would be shown."""
    order, master = MASTERS[method]
    runs = [run(name, fmus(name), master, step) for step in CASES[name].steps]
    errors = [error for error, _ in runs]
    assert min(errors) > 1e3 * CASES[name].solver["tolerance"]
    assert [np.log2(a / b) for a, b in pairwise(errors)][-2:] == pytest.approx([order] * 2, abs=WITHIN), errors
    if "iterated" in method:  # lines between values that both know: nothing is made up
        return
    made_up = [abs(energy) for _, energy in runs]
    assert np.log2(made_up[-2] / made_up[-1]) == pytest.approx(order, abs=2 * WITHIN), made_up


# ---------------------------------------------------------------- samples


@dataclass(frozen=True)
class Sampled:
    """A plant with one sampled controller; its samples are communication points."""

    plant: str
    controller: Controller
    inputs: dict[str, str]  # of the controller: outputs of the plant
    outputs: dict[str, str]  # inputs of the plant: outputs of the controller
    end: float
    given: dict[str, float] = field(default_factory=dict)  # inputs of the controller that nothing feeds

    @property
    def step(self) -> float:
        return self.controller.sample_time


ABS = {"inputs": {"slip": "slip", "speed": "car_speed"}, "outputs": {"brake": "torque"}, "given": {"demand": 3000.0}}
SUSPENSION = {"inputs": {"body_speed": "body_speed", "travel_rate": "travel_rate"}, "outputs": {"actuator": "force"}}
SAMPLED = {
    "skyhook": Sampled("quarter_car", load("skyhook", sample_time=0.005, lag=0.02), end=1.0, **SUSPENSION),
    "skyhook, late": Sampled("quarter_car", load("skyhook", sample_time=0.005, delay=0.005), end=1.0, **SUSPENSION),
    "pid": Sampled("quarter_car", load("pid", sample_time=0.005, kp=8e3, kd=800.0, filter_time=0.02), end=1.0,
                   inputs={"measured": "height_of_body"}, outputs={"actuator": "y"}),
    "abs_slip": Sampled("brake_rig", load("abs_slip", sample_time=0.005), end=1.0, **ABS),
    "abs_threshold": Sampled("brake_rig", load("abs_threshold", sample_time=0.005), end=1.0, **ABS),
}  # fmt: skip


def sampled_system(case: Sampled, folder: Path, runtime: str = "python", **solver: Any) -> System:
    system = System("sampled")
    plant = mbd.models.load(case.plant).export_fmu(folder / "plant.fmu", **solver)
    system.add("plant", plant)
    system.add("c", case.controller.export_fmu(folder / "c.fmu", runtime=runtime), inputs=case.given)
    for name, source in case.inputs.items():
        system.connect(f"c.{name}", f"plant.{source}")
    for name, source in case.outputs.items():
        system.connect(f"plant.{name}", f"c.{source}")
    return system


def in_process(case: Sampled) -> dict[str, np.ndarray]:
    """The loop that anyone would write."""
    plant, c = mbd.models.load(case.plant).start(tolerance=1e-6), case.controller.start()
    outputs = [s.name for s in mbd.models.load(case.plant).signals() if s.causality == "output"]
    for name, value in case.given.items():
        c[name] = value
    rows = []
    for k in range(round(case.end / case.step) + 1):
        for name, source in case.inputs.items():
            c[name] = plant[source]
        for name, source in case.outputs.items():
            plant[name] = c[source]
        rows.append([plant[name] for name in outputs])
        size = (k + 1) * case.step - plant.time  # communication points are multiples of the step, not sums of steps
        plant.step(size)
        c.step(size, to=(k + 1) * case.step)
    return dict(zip(outputs, np.array(rows).T, strict=True))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_controllers_on_the_grid_are_the_loop_in_one_process(name: str, tmp_path: Path) -> None:
    """To the last bit, whatever the master does to what is continuous: nothing is."""
    case = SAMPLED[name]
    wanted = in_process(case)
    system = sampled_system(case, tmp_path, tolerance=1e-6)
    for method, (_, master) in MASTERS.items():
        result = system.with_master(**master).simulate(case.end, case.step)
        for signal, values in wanted.items():
            assert np.array_equal(result[f"plant.{signal}"], values), (method, signal)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("runtime", ["python", "native"])
@pytest.mark.parametrize("name", SAMPLED)
def test_under_error_control_samples_are_communication_points(name: str, runtime: str, tmp_path: Path) -> None:
    """Steps grew to the end of the run: nothing that is extrapolated was ever wrong."""
    case = SAMPLED[name]
    system = sampled_system(case, tmp_path, runtime, scheme="dop853", tolerance=1e-9)
    watched = [f"plant.{source}" for source in case.inputs.values()]
    wanted = system.simulate(case.end, case.step, record=watched)
    found = system.with_master(tolerance=1e-6).simulate(case.end, record=watched)
    assert any("communication steps of" in note for note in found.notes)
    at = np.searchsorted(found.time, wanted.time - 1e-9)
    assert found.time[at] == pytest.approx(wanted.time, abs=1e-12)
    for signal in watched:
        assert found[signal][at] == pytest.approx(wanted[signal], abs=1e-6 * np.ptp(wanted[signal])), signal


@pytest.mark.by_day(1)
@pytest.mark.parametrize("runtime", ["python", "native"])
def test_masters_hold_what_samples_give(runtime: str, tmp_path: Path) -> None:
    """Lines through held outputs were off by 0.13 m where the native runtime had called them continuous."""
    case = SAMPLED["skyhook"]
    system = sampled_system(case, tmp_path, runtime, scheme="dop853", tolerance=1e-9)
    held, followed = (
        system.with_master(extrapolation=k).simulate(case.end, case.step, record=["plant.body_speed"]) for k in (0, 2)
    )
    assert np.array_equal(held["plant.body_speed"], followed["plant.body_speed"])


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", SAMPLED)
def test_what_is_sampled_does_not_change_with_smaller_communication_steps(name: str, tmp_path: Path) -> None:
    """Between samples outputs hold, so that smaller steps only cut the plant's way into other pieces."""
    case = SAMPLED[name]
    system = sampled_system(case, tmp_path, scheme="dop853", tolerance=1e-9)
    watched = [f"plant.{source}" for source in case.inputs.values()]
    coarse, *fine = (system.simulate(case.end, case.step / parts, record=watched) for parts in (1, 2, 5))
    for result, parts in zip(fine, (2, 5), strict=True):
        for signal in watched:
            size = np.ptp(coarse[signal])
            assert result[signal][::parts] == pytest.approx(coarse[signal], abs=1e-6 * size), signal
