"""Functions in Python inside a model: values, derivatives, failures, files, FMUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.description import Callback, Description
from mbdfmu.errors import ModelError, StepFailed

LAWS = """
def spring(t, y, p):
    return -p[0] * y[0] - 0.5 * y[1]


def exact(t, y, p):
    x, v = y
    return [-p[0] * x - 0.5 * v, x * v], [[-p[0], -0.5], [v, x]]


def wrong_size(t, y, p):
    return [1.0, 2.0]


def wrong_slopes(t, y, p):
    return 1.0, [1.0]


def two(t, y, p):
    return -p[0] * y[0] - 0.5 * y[1], y[0] * y[1]


def endless(t, y, p):
    return float("nan") if t > 0.3 else 0.0


def late(t, y, p):
    if t > 0.3:
        raise ValueError("too late")
    return 0.0


class Laws:
    @staticmethod
    def inside(t, y, p):
        return spring(t, y, p)


number = 3
"""


def block(python: Any, outputs: int = 1, **more: Any) -> dict[str, Any]:
    """A mass of 1 kg on a rail, pushed by the callback."""
    law = {"python": python, "inputs": ["rail.displacement", "rail.displacement_rate"], "parameters": ["k"], **more}
    force = {"type": "translational", "axis": [1, 0], "i": {"body": "ground"}, "j": {"body": "block"}}
    return {
        "format_version": 1, "name": "block", "parameters": {"k": {"value": 20, "tunable": True}},
        "bodies": {"block": {"mass": 1, "inertia": 1, "position": [1, 0]}},
        "joints": {"rail": {"type": "prismatic", "i": {"body": "ground"}, "j": {"body": "block"}}},
        "callbacks": {"law": law | {"outputs": outputs}},
        "forces": {"push": force | {"force": "law" if outputs == 1 else "law[1]"}},
    }  # fmt: skip


def exact(t: float) -> float:
    w = np.sqrt(20 - 1 / 16)
    return float(np.exp(-t / 4) * (np.cos(w * t) + 0.25 / w * np.sin(w * t)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "laws.py").write_text(LAWS)
    return tmp_path / "block.json"


def load(file: Path, python: str, outputs: int = 1, **more: Any) -> mbd.Model:
    file.write_text(json.dumps(block(python, outputs, **more)))
    return mbd.Model.load(file, allow_python=True)


@pytest.mark.parametrize(
    ("python", "outputs"), [("laws:spring", 1), ("laws:exact", 2), ("laws:two", 2), ("laws:Laws.inside", 1)]
)
def test_a_law_in_python_moves_as_the_exact_solution(file: Path, python: str, outputs: int) -> None:
    result = load(file, python, outputs).simulate(1.0, 0.1, tolerance=1e-9)
    np.testing.assert_allclose(result["block.x"], [exact(t) for t in result.time], atol=2e-5)
    if outputs == 2:
        np.testing.assert_allclose(result["law[2]"], result["block.x"] * result["block.vx"], atol=1e-12)


def test_given_derivatives_and_differences_make_the_same_steps(file: Path) -> None:
    counts = [load(file, f"laws:{name}", n).simulate(1.0, 0.1).statistics for name, n in (("spring", 1), ("exact", 2))]
    assert counts[0]["steps"] == counts[1]["steps"]
    assert counts[0]["iterations"] == counts[1]["iterations"]


def test_a_function_given_in_python_needs_no_permission() -> None:
    model = mbd.Model.from_description(Description(**block(lambda t, y, p: -p[0] * y[0] - 0.5 * y[1])))
    result = model.simulate(1.0, 0.5, tolerance=1e-9, parameters={"k": 20})
    assert result["block.x"][-1] == pytest.approx(exact(1.0), abs=2e-5)
    with pytest.raises(ModelError, match=r"callbacks\.law: a file cannot name .*lambda"):
        model.save("block.json")


def test_one_may_use_the_values_of_another() -> None:
    data = block(lambda t, y, p: -p[0] * y[0] - 0.5 * y[1])
    data["callbacks"]["twice"] = {"python": lambda t, y, p: 2 * y[0], "inputs": ["law"]}
    result = mbd.Model.from_description(Description(**data)).simulate(0.5, 0.1)
    np.testing.assert_allclose(result["twice"], 2 * result["law"], rtol=1e-9)


def test_files_are_asked_for_permission(file: Path) -> None:
    load(file, "laws:spring")
    with pytest.raises(ModelError, match=r"callbacks\.law: calls Python code, 'laws:spring'.*allow_python"):
        mbd.Model.load(file).simulate(1.0, 0.1)
    with pytest.raises(SystemExit, match="2"):
        main(["simulate", str(file), "-t", "1"])
    with pytest.raises(SystemExit, match="0"):
        main(["simulate", str(file), "-t", "1", "--allow-python", "-o", str(file.with_suffix(".csv"))])
    with pytest.raises(SystemExit, match="0"):
        main(["equilibrium", str(file), "--allow-python"])


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("laws:nothing", "module 'laws' has no 'nothing'"),
        ("laws:sprong", "module 'laws' has no 'sprong'; did you mean 'spring'"),
        ("laws:number", "must be a function, found int"),
        ("no_such_module:f", "module 'no_such_module' cannot be imported: ModuleNotFoundError"),
    ],
)
def test_what_is_not_there_is_named(file: Path, python: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(file, python).simulate(1.0, 0.1)


def test_what_is_no_name_of_a_function_is_refused() -> None:
    with pytest.raises(ModelError, match=r"callbacks\.law\.python: must be a function as"):
        Description(**block("laws.spring"))


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("laws:wrong_size", r"callback 'law' at t = 0 s: must return 1 value\(s\), found an array of shape \(2,\)"),
        ("laws:wrong_slopes", r"the derivatives must have shape \(1, 2\), found \(1,\)"),
        ("laws:endless", r"callback 'law' at t = 0.3.* s: must return finite values, found \[nan\]"),
        ("laws:late", "callback 'law' at t = 0.3.* s: ValueError: too late"),
    ],
)
def test_failures_name_the_callback(file: Path, python: str, message: str) -> None:
    with pytest.raises(StepFailed, match=message) as failed:
        load(file, python).simulate(1.0, 0.1)
    assert failed.value.__cause__ is not None


def test_what_keeps_a_model_from_settling_is_named() -> None:
    def law(t: float, y: np.ndarray, p: np.ndarray) -> float:
        if y[0] < 0.9:
            raise ValueError("too low")
        return -1.0

    states = {"level": {"rate": "law", "start": 1}}
    callbacks = {"law": {"python": law, "inputs": ["level"]}}
    tank = Description(format_version=1, name="tank", states=states, callbacks=callbacks)
    with pytest.raises(StepFailed, match=r"settling is stuck.*callback 'law' at t = 0 s: ValueError: too low"):
        mbd.Model.from_description(tank).equilibrium()


def test_an_exception_leaves_the_last_good_state(file: Path) -> None:
    simulation = load(file, "laws:late").start()
    simulation.step(0.2)
    before = simulation.save()
    with pytest.raises(StepFailed):
        simulation.step(0.5)
    assert 0.2 <= simulation.time <= 0.31
    simulation.restore(before)
    simulation.step(0.05)
    assert simulation.time == pytest.approx(0.25)


def test_ctrl_c_inside_a_callback_ends_the_run() -> None:
    def stop(t: float, y: Any, p: Any) -> float:
        if t > 0.2:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(KeyboardInterrupt):
        mbd.Model.from_description(Description(**block(stop))).start().step(1.0)


def test_an_fmu_carries_the_source(file: Path, tmp_path: Path) -> None:
    model = load(file, "laws:spring")
    wanted = model.simulate(1.0, 0.1)
    fmu = model.export_fmu(tmp_path / "block.fmu")
    (file.parent / "laws.py").unlink()
    np.testing.assert_array_equal(mbd.fmu.simulate(fmu, 1.0, 0.1)["block.x"], wanted["block.x"])


def test_what_an_fmu_cannot_carry_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no Python, which callback 'law' needs"):
        load(file, "laws:spring").export_fmu(tmp_path / "block.fmu", runtime="native")
    model = mbd.Model("own")
    model.add("x", mbd.State(rate="f"))
    model.add("f", Callback(python=lambda t, y, p: y[0], inputs=("time",)))
    with pytest.raises(ModelError, match=r"callbacks\.f: the source of .* cannot be packed"):
        model.export_fmu(tmp_path / "own.fmu")


def test_a_model_of_states_alone_runs() -> None:
    model = mbd.Model("own")
    model.add("x", mbd.State(rate="f"))
    model.add("f", Callback(python=lambda t, y, p: np.cos(y[0]), inputs=("time",)))
    assert model.simulate(1.0, 0.5, tolerance=1e-8)["x"][-1] == pytest.approx(np.sin(1.0), abs=1e-5)
