"""libcosim and ecos step coupled FMUs as our master does, where it is told to pass values as they do.

Both hold inputs during a step, read every output once when the steps are made and write all inputs only then: what
answers to an input at once still shows the one of the step before. With us such values pass through at the
communication point, so a coupling into an FMU without states is `delayed` there. Models are driven hard enough that
one step of delay more or less shows in the second digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import masters
import numpy as np
import pytest
from masters import CLOCKS
from numpy.typing import NDArray

import mbdfmu as mbd
from mbdfmu.cosim import System
from mbdfmu.cosim.description import split
from mbdfmu.fmi.reading import FmuInfo

CLOSE = 1e-9  # of the range of a variable; so far it is nothing, as clocks are those that are assumed
OSP = "http://opensimulationplatform.com/MSMI/OSPSystemStructure"
Export = Callable[[Path], Path]
Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Coupled FMUs: how they are made, how they are coupled, and which couplings are delayed where we run them."""

    fmus: dict[str, Export]
    couplings: dict[str, str]
    step: float
    steps: int
    inputs: dict[str, float] = field(default_factory=dict)
    late: tuple[str, ...] = ()


def controller(name: str, runtime: str = "native", **parameters: Any) -> Export:
    made = mbd.controllers.load(name, **parameters)
    return lambda folder: made.export_fmu(folder / f"{name}.fmu", runtime=runtime)


def plant(name: str) -> Export:
    return lambda folder: mbd.models.load(name).export_fmu(folder / f"{name}.fmu", runtime="native")


HEARD = {"sky.body_speed": "car.body_speed", "sky.travel_rate": "car.travel_rate"}
QUARTER_CAR = Case(
    fmus={"car": plant("quarter_car"), "sky": controller("skyhook", gain=2500.0, limit=1500.0)},
    couplings={**HEARD, "car.actuator": "sky.force"}, late=tuple(HEARD), step=5e-3, steps=160,
)  # fmt: skip
BRAKES = Case(
    fmus={"rig": plant("brake_rig"), "abs": controller("abs_slip")}, inputs={"abs.demand": 3000.0},
    couplings={"abs.slip": "rig.slip", "abs.speed": "rig.car_speed", "rig.brake": "abs.torque"}, step=2e-3, steps=150,
)  # fmt: skip
LAGGING = replace(
    QUARTER_CAR, fmus={**QUARTER_CAR.fmus, "sky": controller("skyhook", gain=2500.0, limit=1500.0, lag=0.02)}, late=()
)
IN_PYTHON = replace(QUARTER_CAR, fmus={**QUARTER_CAR.fmus, "sky": controller("skyhook", "python", gain=2500.0)})
SAMPLED = replace(
    BRAKES, fmus={**BRAKES.fmus, "abs": controller("abs_threshold", "python", sample_time=0.004, delay=0.002)}
)
CASES = {"quarter_car": QUARTER_CAR, "brakes": BRAKES, "lagging": LAGGING, "in_python": IN_PYTHON, "sampled": SAMPLED}
BY_DAY = ("quarter_car", "brakes")
EACH = [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.nightly) for name in CASES]


@dataclass(frozen=True)
class Exported:
    """A case whose FMUs stand in a folder."""

    case: Case
    facts: dict[str, FmuInfo]

    @property
    def outputs(self) -> list[str]:
        return [f"{name}.{v.name}" for name, facts in self.facts.items() for v in facts.variables
                if v.causality == "output"]  # fmt: skip

    def answers(self, output: str) -> bool:
        """Whether an output depends at once on an input that is coupled."""
        fmu, name = split(output)
        coupled = {split(target)[1] for target in self.case.couplings if split(target)[0] == fmu}
        return bool(self.facts[fmu].dependencies[name] & coupled)

    def job(self) -> dict[str, Any]:
        """For tests/masters.py."""
        case = self.case
        return {
            "fmus": {name: str(facts.path) for name, facts in self.facts.items()},
            "connections": [[self._variable(s), self._variable(t)] for t, s in case.couplings.items()],
            "inputs": [{**self._variable(n), "values": [u] * case.steps} for n, u in case.inputs.items()],
            "record": [self._variable(output) for output in self.outputs],
            "times": [k * case.step for k in range(case.steps + 1)],
        }

    def _variable(self, variable: str) -> dict[str, Any]:
        fmu, name = split(variable)
        return {"fmu": fmu, "name": name, "reference": self.facts[fmu].variable(name).reference}

    def system(self, late: Iterable[str]) -> System:
        """The same for our master."""
        system = System("coupled")
        for name, facts in self.facts.items():
            inputs = {split(i)[1]: u for i, u in self.case.inputs.items() if split(i)[0] == name}
            system.add(name, facts.path, inputs=inputs)
        for target, source in self.case.couplings.items():
            system.connect(target, source, delayed=target in late)
        return system


def exported(case: Case, folder: Path) -> Exported:
    return Exported(case, {name: mbd.fmu.info(export(folder)) for name, export in case.fmus.items()})


@pytest.fixture(scope="module", params=EACH)
def coupled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported(CASES[request.param], tmp_path_factory.mktemp("coupled"))


@pytest.fixture(scope="module")
def quarter_car(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported(QUARTER_CAR, tmp_path_factory.mktemp("quarter_car"))


def foreign(master: str, coupled: Exported, folder: Path, **more: Any) -> dict[str, Vector]:
    """A row after every step."""
    values = masters.run(master, {**coupled.job(), **more}, folder)
    return dict(zip(coupled.outputs, values.T, strict=True))


def ours(coupled: Exported, master: str, late: Iterable[str] | None = None) -> dict[str, Vector]:
    """The same of our master, at the communication points of the other one's clock."""
    case, rows = coupled.case, []
    with coupled.system(case.late if late is None else late).start() as run:
        for k in range(case.steps):
            run.advance(CLOCKS[master](k + 1, case.step))
            rows.append(run.values())
        return dict(zip(run.names, np.array(rows).T, strict=True))


def apart(got: Vector, expected: Vector) -> float:
    """The largest difference, in terms of the range."""
    return float(np.max(np.abs(got - expected)) / np.ptp(expected))


def structure_file(coupled: Exported, folder: Path) -> Path:
    """The system for tools of OSP."""
    root = ET.Element("OspSystemStructure", xmlns=OSP, version="0.1")
    ET.SubElement(root, "BaseStepSize").text = repr(coupled.case.step)
    ET.SubElement(root, "Algorithm").text = "fixedStep"  # the default by the schema, and yet it must be there
    simulators, connections = ET.SubElement(root, "Simulators"), ET.SubElement(root, "Connections")
    for name, facts in coupled.facts.items():
        ET.SubElement(simulators, "Simulator", name=name, source=str(facts.path))
    for target, source in coupled.case.couplings.items():
        connection = ET.SubElement(connections, "VariableConnection")
        for simulator, variable in (split(source), split(target)):
            ET.SubElement(connection, "Variable", simulator=simulator, name=variable)
    path = folder / "OspSystemStructure.xml"
    ET.ElementTree(root).write(path, encoding="UTF-8", xml_declaration=True)
    return path


# ---------------------------------------------------------------- the same numbers


@pytest.mark.by_day(1)
@pytest.mark.parametrize("master", list(CLOCKS))
def test_they_step_as_our_master_does(master: str, coupled: Exported, tmp_path: Path) -> None:
    got, expected = foreign(master, coupled, tmp_path), ours(coupled, master)
    compared = [output for output in coupled.outputs if not coupled.answers(output)]
    assert len(compared) >= 6, "all that the motion depends on"
    assert {output: apart(got[output], expected[output]) for output in compared} == pytest.approx(
        dict.fromkeys(compared, 0.0), abs=CLOSE
    )


def test_libcosim_takes_the_system_from_a_file_of_osp(quarter_car: Exported, tmp_path: Path) -> None:
    file = structure_file(quarter_car, tmp_path)
    got, expected = foreign("libcosim", quarter_car, tmp_path, structure=str(file)), ours(quarter_car, "libcosim")
    assert apart(got["car.height_of_body"], expected["car.height_of_body"]) < CLOSE
    assert apart(got["sky.force"], expected["sky.force"]) < CLOSE


# ---------------------------------------------------------------- what they show of outputs that answer at once


def test_libcosim_shows_what_it_read_before_it_set_inputs(quarter_car: Exported, tmp_path: Path) -> None:
    """So the acceleration still is that under the force of the step before."""
    got, expected = foreign("libcosim", quarter_car, tmp_path), ours(quarter_car, "libcosim")
    assert apart(got["sky.force"], expected["sky.force"]) < CLOSE
    mass = quarter_car.facts["car"].variable("sprung_mass").start
    lacking = np.diff(expected["sky.force"]) / mass
    assert np.max(np.abs(lacking)) > 0.1, "m/s2: there is something to be seen"
    assert apart(got["car.acceleration"][1:] + lacking, expected["car.acceleration"][1:]) < CLOSE


def test_ecos_reads_outputs_again_when_inputs_are_set(quarter_car: Exported, tmp_path: Path) -> None:
    """So it shows a force that it passes on one step later."""
    got, expected = foreign("ecos", quarter_car, tmp_path), ours(quarter_car, "ecos")
    assert apart(got["car.acceleration"], expected["car.acceleration"]) < CLOSE
    assert apart(got["sky.force"][:-1], expected["sky.force"][1:]) < CLOSE


# ---------------------------------------------------------------- what is not the same


def halvings(case: Case, late: Iterable[str], folder: Path) -> list[float]:
    """How far libcosim is from our master, at the step and at half of it."""
    found = []
    for factor in (1, 2):
        made = exported(replace(case, step=case.step / factor, steps=case.steps * factor), folder)
        got, expected = foreign("libcosim", made, folder), ours(made, "libcosim", late)
        found.append(apart(got["car.height_of_body"], expected["car.height_of_body"]))
    return found


@pytest.mark.nightly
def test_without_the_delay_the_difference_falls_with_the_step(tmp_path: Path) -> None:
    coarse, fine = halvings(QUARTER_CAR, (), tmp_path)
    assert coarse > 5e-3
    assert coarse / fine == pytest.approx(2, rel=0.1), "first order, as the error of both"


@pytest.mark.nightly
@pytest.mark.parametrize("late", [(), ("pid.measured",)])
def test_states_behind_inputs_answered_at_once_have_no_counterpart(late: Iterable[str], tmp_path: Path) -> None:
    """With the delay its states see inputs a step late too, which they do not in libcosim."""
    fmus = {"car": plant("quarter_car"), "pid": controller("pid", kp=1000.0, ki=500.0, kd=10.0)}
    case = replace(QUARTER_CAR, fmus=fmus, couplings={"pid.measured": "car.body_speed", "car.actuator": "pid.y"})
    coarse, fine = halvings(case, late, tmp_path)
    assert coarse > 5e-3
    assert coarse / fine == pytest.approx(2, rel=0.1)
