"""Masters and validators that others have written find nothing to complain of, and compute what the model computes.

Every shipped model is driven by inputs that move: an FMU at rest proves little. The host of tests/native and fmpy give
the same bits as `simulate`; libcosim and ecos count time in their own way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import masters
import numpy as np
import pytest
from fmi_host import Host, begin, native_host, unpacked
from numpy.typing import NDArray

import mbdfmu as mbd
from mbdfmu.fmi.reading import FmuInfo

STEPS = 50
CLOSE = 1e-8  # of the largest value: rounding decides where an iteration ends, for a thousandth of the tolerance
# Amplitudes that move a model of human size and break none.
AMPLITUDES = {"N": 20.0, "N.m": 5.0, "m": 0.02, "rad": 0.05}
SIZES: dict[str, dict[str, int]] = {"chain": {"N": 3}, "chain3d": {"N": 3}, "ring": {"N": 5}}
BY_DAY = ("slider_crank", "half_car", "bouncing_ball")
MODELS = [n if n in BY_DAY else pytest.param(n, marks=pytest.mark.nightly) for n in mbd.models.names()]
RUNTIMES = ("native", "python")


@dataclass(frozen=True)
class Case:
    """An exported model, what drives it and what it must give."""

    facts: FmuInfo
    times: NDArray[np.float64]
    inputs: dict[str, NDArray[np.float64]]  # a value for every step
    names: list[str]  # of what is compared
    expected: NDArray[np.float64]  # a row after every step
    model: mbd.Model

    @property
    def references(self) -> list[int]:
        return [self.facts.variable(name).reference for name in self.names]

    def job(self) -> dict[str, Any]:
        """For tests/masters.py."""
        inputs = [{**self._variable(n), "values": list(u)} for n, u in self.inputs.items()]
        return {"fmus": {"judged": str(self.facts.path)}, "connections": [], "inputs": inputs,
                "record": [self._variable(n) for n in self.names], "times": list(self.times),
                "tolerance": self.facts.tolerance}  # fmt: skip

    def _variable(self, name: str) -> dict[str, Any]:
        return {"fmu": "judged", "name": name, "reference": self.facts.variable(name).reference}


def excited(model: mbd.Model, step: float) -> dict[str, NDArray[np.float64]]:
    """Every input: a sine of its own phase about its start value, and a step in the middle."""
    k = np.arange(STEPS)
    inputs = {}
    for n, signal in enumerate(s for s in model.signals() if s.causality == "input"):
        size = AMPLITUDES.get(signal.unit, 1.0)
        start = signal.start if isinstance(signal.start, float) else 0.0
        inputs[signal.name] = start + size * np.sin(0.3 * k + n) + size * (k >= STEPS // 2)
    return inputs


def case_of(name: str, runtime: str, folder: Path) -> Case:
    model = mbd.models.load(name, **SIZES.get(name, {}))
    experiment = model.description.experiment
    step = experiment.step if experiment and experiment.step else 0.01
    facts = mbd.fmu.info(model.export_fmu(folder / "x.fmu", runtime=runtime))
    times = np.arange(STEPS + 1) * step
    inputs = excited(model, step)
    given = {n: (times[:-1], u) for n, u in inputs.items()}
    result = model.simulate(times[-1], step, inputs=given, interpolation="hold", record="*", tolerance=facts.tolerance)
    columns = set(result.columns)
    names = [v.name for v in facts.variables
             if v.name in columns and v.type == "Real" and v.causality in ("local", "output")]  # fmt: skip
    after = np.unique(result.time, return_index=True)[1][1:]  # at a jump the row before it, as a master reads it
    return Case(facts, times, inputs, names, np.column_stack([result[n][after] for n in names]), model)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return native_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return case_of(request.param, "native", tmp_path_factory.mktemp("masters"))


def close(got: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    return bool((np.abs(got - expected) <= CLOSE * np.maximum(1.0, np.abs(expected).max(axis=0))).all())


def worst(case: Case, got: NDArray[np.float64], expected: NDArray[np.float64]) -> str:
    """Which variable differs most, for messages."""
    off = np.abs(got - expected) / np.maximum(1.0, np.abs(expected).max(axis=0))
    row, column = np.unravel_index(np.nanargmax(off), off.shape)
    return f"{case.names[column]} after step {row}: {got[row, column]!r}, not {expected[row, column]!r}"


# ---------------------------------------------------------------- masters


def test_a_host_without_python_gives_the_same_bits(host: Host, case: Case, tmp_path: Path) -> None:
    look = "getreal " + " ".join(map(str, case.references))
    lines = begin(stop=float(case.times[-1]), tolerance=case.facts.tolerance or "-")
    for k in range(STEPS):
        pairs = " ".join(f"{case.facts.variable(n).reference} {float(u[k])!r}" for n, u in case.inputs.items())
        a, b = float(case.times[k]), float(case.times[k + 1])
        lines += [*([f"real {pairs}"] if pairs else []), f"step {a!r} {b - a!r}", look]
    got = np.array(host.play(unpacked(case.facts.path, tmp_path / "fmu"), [*lines, "terminate", "free"]).table)
    assert np.array_equal(got, case.expected), worst(case, got, case.expected)


def test_inputs_with_slopes_follow_lines(host: Host, case: Case, tmp_path: Path) -> None:
    if not case.inputs:
        pytest.skip("the model has no inputs")
    size, lines = float(case.times[1]), begin(tolerance=case.facts.tolerance or "-")
    corners = {n: np.append(u, u[-1]) for n, u in case.inputs.items()}
    for k in range(STEPS):
        references = {case.facts.variable(n).reference: u for n, u in corners.items()}
        lines.append("real " + " ".join(f"{r} {float(u[k])!r}" for r, u in references.items()))
        lines.append("slope 1 " + " ".join(f"{r} {float((u[k + 1] - u[k]) / size)!r}" for r, u in references.items()))
        a, b = float(case.times[k]), float(case.times[k + 1])
        lines += [f"step {a!r} {b - a!r}", "getreal " + " ".join(map(str, case.references))]
    got = np.array(host.play(unpacked(case.facts.path, tmp_path / "fmu"), lines).table)
    given = {n: (case.times, u) for n, u in corners.items()}
    result = case.model.simulate(case.times[-1], size, inputs=given, record=case.names, tolerance=case.facts.tolerance)
    expected = np.column_stack([result[n] for n in case.names])[1:]
    assert close(got, expected), worst(case, got, expected)


def test_fmpy_gives_the_same_bits(case: Case, tmp_path: Path) -> None:
    got = masters.run("fmpy", case.job(), tmp_path)
    assert np.array_equal(got, case.expected), worst(case, got, case.expected)


def stepped(case: Case, clock: Callable[[int, float], float]) -> NDArray[np.float64]:
    """What the model computes at the communication points of another clock.

    A last digit of a time can change the steps of the solver, and then results differ by its tolerance.
    """
    simulation = case.model.start(tolerance=case.facts.tolerance)
    size, rows = float(case.times[1]), []
    for k in range(STEPS):
        for name, values in case.inputs.items():
            simulation[name] = values[k]
        simulation.advance(clock(k + 1, size))
        rows.append([simulation[name] for name in case.names])
    return np.array(rows)


@pytest.mark.parametrize("master", list(masters.CLOCKS))
def test_other_masters_give_the_same(master: str, case: Case, tmp_path: Path) -> None:
    got, expected = masters.run(master, case.job(), tmp_path), stepped(case, masters.CLOCKS[master])
    assert close(got, expected), worst(case, got, expected)


@pytest.mark.parametrize("master", ["fmpy", "ecos"])  # libcosim knows FMI 1 and 2
def test_masters_of_fmi_3_give_the_same(master: str, case: Case, tmp_path: Path) -> None:
    exported = case.model.export_fmu(tmp_path / "x.fmu", runtime="native", interface="cs3")
    got = masters.run(master, replace(case, facts=mbd.fmu.info(exported)).job(), tmp_path)
    expected = stepped(case, masters.CLOCKS[master]) if master in masters.CLOCKS else case.expected
    assert close(got, expected), worst(case, got, expected)


# ---------------------------------------------------------------- validators; fmpy and the schema: test_fmi_description


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=MODELS)
def exported(request: pytest.FixtureRequest, runtime: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = mbd.models.load(request.param, **SIZES.get(request.param, {}))
    return model.export_fmu(tmp_path_factory.mktemp("valid") / f"{request.param}.fmu", runtime=runtime)


def test_fmutool_finds_nothing(exported: Path) -> None:
    tool = shutil.which("fmutool", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None:
        pytest.skip("fmutool (fmu-manipulation-toolbox) is not installed; the extra [judges] has it")
    done = subprocess.run([tool, "-input", str(exported), "-check"], capture_output=True, text=True, timeout=300)
    lines = (done.stdout + done.stderr).splitlines()
    assert done.returncode == 0, lines
    assert [line for line in lines if not line.startswith("INFO")] == []
    assert any("compliant with FMI-2.0" in line for line in lines)
