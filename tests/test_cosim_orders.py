"""How the error of co-simulation falls with the communication step: against exact solutions of coupled FMUs."""

from __future__ import annotations

import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from coupled_fmus import START, STIFFNESS, actuator, exact, export, mass, pair

import mbdfmu as mbd
from mbdfmu.cosim import System
from mbdfmu.errors import ModelError

RECORD = ["mass.place", "mass.speed", "actuator.force"]
END, STEPS = 1.0, (0.04, 0.02, 0.01, 0.005)
WITHIN = 0.2  # of the order, as the last two halvings show it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pair")
    export(mass(), path)
    export(actuator(), path)
    return path


def error(system: System, step: float) -> float:
    result = system.simulate(END, step, record=RECORD)
    found = np.column_stack([result[name] for name in RECORD])
    return float(np.max(np.abs(found - exact(result.time))))


def orders(system: System) -> list[float]:
    errors = [error(system, step) for step in STEPS]
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


METHODS = [
    (1, {}),
    (2, {"extrapolation": 1}),
    (2, {"extrapolation": 2}),  # the first step knows one point: from a start in motion one more order is lost
    (1, {"algorithm": "gauss-seidel"}),
    (2, {"algorithm": "gauss-seidel", "extrapolation": 1}),
    (2, {"algorithm": "gauss-seidel", "extrapolation": 2}),
    (2, {"iterations": 30, "iteration_tolerance": 1e-9}),
    (2, {"iterations": 30, "iteration_tolerance": 1e-9, "algorithm": "gauss-seidel"}),
    (3, {"iterations": 30, "iteration_tolerance": 1e-9, "extrapolation": 2}),
]


@pytest.mark.parametrize(("order", "master"), METHODS, ids=lambda value: "-".join(map(str, value.values()))
                         if isinstance(value, dict) else str(value))  # fmt: skip
def test_errors_fall_at_the_order_of_the_method(order: int, master: dict[str, object], folder: Path) -> None:
    found = orders(pair(folder, **master))
    assert found[-2:] == pytest.approx([order, order], abs=WITHIN)


@pytest.mark.parametrize("interface", ["cs3", "python"])
def test_other_interfaces_reach_the_same_order(interface: str, folder: Path, tmp_path: Path) -> None:
    """pythonfmu holds inputs: the mean of the line keeps the second order (T21.4)."""
    choices = {"runtime": "python"} if interface == "python" else {"interface": interface}
    export(mass(), tmp_path, **choices)
    export(actuator(), tmp_path, **choices)
    assert orders(pair(tmp_path, extrapolation=1))[-1] == pytest.approx(2, abs=WITHIN)


def test_an_fmu_with_a_smaller_step_of_its_own_keeps_the_order_and_gains_accuracy(folder: Path) -> None:
    errors = [error(pair(folder, actuator_step=0.002, extrapolation=1), step) for step in STEPS]
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(2, abs=WITHIN)


def test_an_fmu_with_a_longer_step_communicates_at_its_own_times_only(folder: Path) -> None:
    result = pair(folder, actuator_step=0.04, extrapolation=1).simulate(END, 0.01, record=RECORD)
    held = result["actuator.force"][1:]
    assert all(len(set(held[k : k + 3])) == 1 for k in range(3, 92, 4)), "between its times an output stays"
    coarse = error(pair(folder, extrapolation=1), 0.04)
    on_grid = np.arange(0, len(result.time), 4)
    found = np.column_stack([result[name] for name in RECORD])[on_grid]
    assert np.max(np.abs(found - exact(result.time[on_grid]))) < coarse, "the fast one gains"


def test_iteration_leaves_alone_what_has_a_longer_step_of_its_own(folder: Path) -> None:
    """The actuator comes to its times only, so the sweeps over shorter steps have nothing to change of it."""
    master = {"iterations": 30, "iteration_tolerance": 1e-9}
    coarse = error(pair(folder, **master), 0.04)
    result = pair(folder, actuator_step=0.04, **master).simulate(END, 0.01, record=RECORD)
    on_grid = np.arange(0, len(result.time), 4)
    found = np.column_stack([result[name] for name in RECORD])[on_grid]
    assert np.max(np.abs(found - exact(result.time[on_grid]))) < 20 * coarse, "it is held, so of the first order"


@pytest.mark.by_day(1)
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_controlled_steps_are_as_exact_as_asked_for(extrapolation: int, folder: Path) -> None:
    errors, steps = [], []
    for tolerance in (3e-1, 3e-2, 3e-3) if extrapolation == 0 else (1e-2, 1e-3, 1e-4):
        system = pair(folder, extrapolation=extrapolation, tolerance=tolerance)
        result = system.simulate(END, 0.01, record=RECORD)
        found = np.column_stack([result[name] for name in RECORD])
        errors.append(np.max(np.abs(found - exact(result.time))))
        steps.append(result.statistics["communication_steps"])
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 10 * tolerance, "of a speed of 3 m/s and a force of 7 N"
    grown = [b / a for a, b in pairwise(steps)]
    expected = 10 ** (1 / (extrapolation + 1))
    assert grown == pytest.approx([expected, expected], rel=0.5), "steps shrink as the root of the tolerance"


def test_more_exact_masters_take_fewer_steps(folder: Path) -> None:
    counts = [
        pair(folder, extrapolation=order, tolerance=3e-3).simulate(END, 0.01).statistics["communication_steps"]
        for order in (0, 1, 2)
    ]
    assert counts[0] > 5 * counts[1] and counts[1] > counts[2]


@pytest.mark.parametrize("extrapolation", [0, 1])
def test_made_up_energy_is_that_of_what_an_fmu_was_told(extrapolation: int, folder: Path) -> None:
    """The mass moves first and is told the same by either algorithm, whatever the actuator finds afterwards."""
    residuals = []
    for algorithm in ("jacobi", "gauss-seidel"):
        system = pair(folder, algorithm=algorithm, extrapolation=extrapolation)
        system.bond("actuator", effort="mass.force", flow="mass.speed")
        residuals.append(system.simulate(END, 0.005)["actuator.residual_energy"][-1])
    assert residuals[1] == pytest.approx(residuals[0], rel=0.1) and abs(residuals[0]) > 1e-6


@pytest.mark.parametrize("slow", ["mass", "actuator"])
def test_energy_is_right_where_one_side_steps_less_often(slow: str, folder: Path) -> None:
    """Lines between the communication points of either side; taken as held they cost 4 % of the energy."""
    system = System("slow", master={"extrapolation": 1})
    for name in ("mass", "actuator"):
        system.add(name, folder / f"{name}.fmu", step=0.02 if name == slow else None)
    system.connect("actuator.speed", "mass.speed")
    system.connect("mass.force", "actuator.force")
    system.bond("bond", effort="mass.force", flow="mass.speed")
    result = system.simulate(1.0, 0.01)
    times = np.linspace(0, 1, 501)
    _, speed, force = exact(times).T
    assert result["bond.energy"][-1] == pytest.approx(np.trapezoid(force * speed, times), rel=3e-3)
    told = STIFFNESS / 2 * (result["mass.place"] ** 2 - START[0] ** 2) + (result["mass.speed"] ** 2 - START[1] ** 2) / 2
    assert (result["bond.energy"] + result["bond.residual_energy"])[-1] == pytest.approx(told[-1], rel=2e-3)


def test_the_energy_that_the_coupling_makes_up_falls_with_the_step(folder: Path) -> None:
    system = pair(folder)
    system.bond("actuator", effort="mass.force", flow="mass.speed")
    residuals = []
    for step in STEPS:
        result = system.simulate(END, step)
        residuals.append(abs(result["actuator.residual_energy"][-1]))
        assert result.unit("actuator.residual_energy") == "J"
    assert np.log2(residuals[-2] / residuals[-1]) == pytest.approx(1, abs=WITHIN)
    times = np.linspace(0, END, 2001)
    _place, speed, force = exact(times).T
    work = np.trapezoid(force * speed, times)
    assert result["actuator.energy"][-1] == pytest.approx(work, rel=2e-2), "first order, at 5 ms"




def pushed(name: str, speed: str = "m/s") -> mbd.Model:
    model = mbd.Model(name)
    model.add("force", mbd.Input(unit="N"))
    model.add("v", mbd.State(rate="force/2", start=1.0))
    model.add("speed", mbd.Output(value="v", unit=speed))
    return model


def renamed(fmu: Path, units: dict[str, str]) -> None:
    """As from a tool with other units: ours are those of SI."""
    with zipfile.ZipFile(fmu) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    text = files["modelDescription.xml"].decode()
    for old, new in units.items():
        for attribute in ("name", "unit"):
            text = text.replace(f'{attribute}="{old}"', f'{attribute}="{new}"')
    files["modelDescription.xml"] = text.encode()
    with zipfile.ZipFile(fmu, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def test_the_energy_of_a_bond_is_in_joules_whatever_its_units_are(tmp_path: Path) -> None:
    """kN times m/s was called J."""
    spring = mbd.Model("spring")
    spring.add("speed", mbd.Input(unit="m/s"))
    spring.add("f", mbd.State(rate="-4*speed", start=0.5))
    spring.add("force", mbd.Output(value="f", unit="N"))
    found = []
    for units in ({}, {"N": "kN", "m/s": "mm/s"}, {"N": "kN"}):
        for model in (pushed("mass"), spring):
            renamed(export(model, tmp_path), units)
        system = System("units", master={"extrapolation": 1})
        system.add("mass", tmp_path / "mass.fmu")
        system.add("spring", tmp_path / "spring.fmu")
        system.connect("mass.force", "spring.force")
        system.connect("spring.speed", "mass.speed")
        system.bond("bond", effort="mass.force", flow="mass.speed")
        found.append(system.simulate(0.5, 0.01)["bond.energy"][-1])
    assert abs(found[0]) > 0.01
    assert found[1:] == pytest.approx([found[0], 1000 * found[0]], rel=1e-9)


def test_a_bond_whose_product_is_no_power_is_refused(tmp_path: Path) -> None:
    export(pushed("odd", "m"), tmp_path)
    export(actuator(), tmp_path)
    system = System("odd")
    system.add("mass", tmp_path / "odd.fmu")
    system.add("actuator", tmp_path / "actuator.fmu")
    system.connect("mass.force", "actuator.force")
    system.bond("bond", effort="mass.force", flow="mass.speed")
    with pytest.raises(ModelError, match=r"bonds.bond: effort \[N\] times flow \[m\] is no power"):
        system.simulate(0.1, 0.01)
