"""Blocks against SciPy: answers to steps and sines, algebraic loops, start values; and what users get wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coupled_models import model, swinging, torque
from fmpy.validation import validate_fmu
from numpy.typing import NDArray
from scipy import signal
from scipy.integrate import solve_ivp

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel
from mbdfmu.blocks import BlockElement
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.expressions import evaluate
from mbdfmu.lowering import lower

Vector = NDArray[np.float64]


def of_blocks(**sections: Any) -> mbd.Model:
    """A model without bodies."""
    return model(Description(**{"format_version": 1, "name": "blocks", "length": 1, **sections}))


def transfer_function(numerator: list[Any], denominator: list[Any], input: Any = 1, **more: Any) -> dict[str, Any]:
    return {"type": "transfer_function", "input": input, "numerator": numerator, "denominator": denominator, **more}


SYSTEMS: dict[str, dict[str, Any]] = {
    "lag": transfer_function([2], [0.5, 1]),
    "integrator": transfer_function([3], [1, 0]),
    "two integrators": transfer_function([1, 2], [1, 0, 0]),
    "lead": transfer_function([1.5, 1], [0.2, 1]),
    "oscillator": transfer_function([2, 1], [1, 0.7, 4]),
    "notch": transfer_function([1, 0.1, 30], [1, 8, 30]),
    "of fourth order": transfer_function([1, 2], [1, 10, 35, 50, 24]),
    "with zeros in front": transfer_function([0, 0, 5], [2, 3, 5]),
    "state_space": {
        "type": "state_space", "inputs": [1], "A": [[-1, 2], [-3, -0.5]], "B": [[0], [1]], "C": [[1, 1]], "D": [[0.3]],
    },
    "filter2": {"type": "filter2", "input": 1, "frequency": 5, "damping": 0.4},
    "delay": {"type": "delay", "input": 1, "delay": 0.3, "degree": 3},
}  # fmt: skip
every_system = pytest.mark.parametrize("name", SYSTEMS)
STATES_OF = {"state_space": lambda b: signal.StateSpace(*(np.array(b[k], dtype=float) for k in "ABCD"))}


def scipy_system(name: str) -> Any:
    """The same by its definition."""
    b = SYSTEMS[name]
    if b["type"] == "transfer_function":
        return signal.StateSpace(*signal.tf2ss(np.trim_zeros(b["numerator"], "f"), b["denominator"]))
    if b["type"] == "filter2":
        w, d = b["frequency"], b["damping"]
        return signal.TransferFunction([w**2], [1, 2 * d * w, w**2]).to_ss()
    if b["type"] == "delay":  # Pade 2 over 3 of exp(-x): (1 - 2/5 x + 1/20 x^2)/(1 + 3/5 x + 3/20 x^2 + 1/60 x^3)
        x = b["delay"]
        return signal.TransferFunction(
            [x**2 / 20, -2 / 5 * x, 1], [x**3 / 60, 3 / 20 * x**2, 3 / 5 * x, 1]
        ).to_ss()  # fmt: skip
    return STATES_OF[b["type"]](b)


# ---------------------------------------------------------------- linear systems


@every_system
def test_answers_to_a_step_are_of_second_order(name: str) -> None:
    _, expected = signal.step(scipy_system(name), T=np.array([0.0, 1.0]))
    found = []
    for count in (200, 400, 800):
        simulation = of_blocks(blocks={"g": SYSTEMS[name]}).start(step=1 / count)
        simulation.advance(1.0)
        found.append(abs(simulation["g.y"] - expected[-1]))
    if found[0] > 1e-12:  # straight lines and parabolas are exact
        assert np.log2(found[0] / found[-1]) / 2 == pytest.approx(2.0, abs=0.1)


@every_system
def test_answers_at_a_tight_tolerance_are_those_of_scipy(name: str) -> None:
    simulation = of_blocks(blocks={"g": SYSTEMS[name]}).start(step=2e-5)
    simulation.advance(0.4)
    _, expected = signal.step(scipy_system(name), T=np.array([0.0, 0.4]))
    assert simulation["g.y"] == pytest.approx(expected[-1], abs=1e-8)


def matrices(name: str) -> tuple[Vector, ...]:
    """A, B, C, D as the compiled model has them, with the input as the model's input u."""
    block = dict(SYSTEMS[name])
    block["inputs" if "inputs" in block else "input"] = ["u"] if "inputs" in block else "u"
    symbolic = lower(Description(format_version=1, name="m", length=1, inputs={"u": {}}, blocks={"g": block})).model
    g, n = symbolic.graph, len(symbolic.states)
    x = [g.symbol("x", s.name) for s in symbolic.states]
    rates = [g.symbol("xd", s.name) - s.equation for s in symbolic.states]
    symbols = [*x, g.symbol("u", "u")]
    rows = [g.diff(row, s) for row in [*rates, symbolic.signals["g.y"].node] for s in symbols]
    values = np.array([float(v) for v in evaluate(rows, {})]).reshape(n + 1, n + 1)
    return values[:n, :n], values[:n, n:], values[n:, :n], values[n:, n:]


@every_system
def test_frequency_responses_are_those_of_scipy(name: str) -> None:
    w = np.array([0.01, 0.3, 1.0, 3.0, 20.0, 500.0])
    A, B, C, D = matrices(name)
    mine = [(C @ np.linalg.solve(1j * one * np.eye(len(A)) - A, B) + D)[0, 0] for one in w]
    _, theirs = signal.freqresp(scipy_system(name), w)
    np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-14)


def test_states_are_of_one_size_however_fast_the_system_is() -> None:
    """Entries of A over the largest one, for a filter at 1e4 rad/s."""
    w = 1e4
    block = transfer_function([1], [1 / w**4, 4 / w**3, 6 / w**2, 4 / w, 1], "u")
    symbolic = of_blocks(inputs={"u": {}}, blocks={"g": block}).symbolic
    g = symbolic.graph
    slopes = [g.diff(s.equation, g.symbol("x", t.name)) for s in symbolic.states for t in symbolic.states]
    sizes = [abs(float(v)) for v in evaluate([s for s in slopes if s is not g.zero], {})]
    assert max(sizes) / min(sizes) < 1e3
    assert max(sizes) < 10 * w


def test_a_transfer_function_may_be_a_factor_only() -> None:
    own = model(swinging(blocks={"g": transfer_function([3], ["2"], "bar.phi")}, outputs={"o": "g.y/bar.phi"}))
    assert not own.symbolic.states
    assert own.start()["o"] == pytest.approx(1.5, rel=1e-15)


def test_coefficients_may_be_parameters() -> None:
    blocks = {"g": transfer_function(["gain"], ["T^2", "2*T", 1])}
    own = of_blocks(blocks=blocks, parameters={"gain": {"value": 2}, "T": {"value": 0.1}})
    for gain, T in ((2, 0.1), (3, 0.4)):
        simulation = own.start(parameters={"gain": gain, "T": T}, tolerance=1e-7)
        simulation.advance(0.5)
        expected = gain * (1 - (1 + 0.5 / T) * np.exp(-0.5 / T))
        assert simulation["g.y"] == pytest.approx(expected, abs=1e-4)


def test_a_filter_gives_the_derivatives_of_its_output() -> None:
    """By five points of its own answer."""
    own = of_blocks(blocks={"f": {"type": "filter2", "input": "sin(2*time) + if(time < 0.5, 0, 1)", "frequency": 8}})
    simulation, h = own.start(step=1e-3), 1e-3
    y = {}
    for k in range(1, 1001):
        simulation.advance(k * h)
        y[k] = [simulation[name] for name in ("f.y", "der(f.y)", "der(f.y,2)")]
    for k in (300, 700, 900):
        for n in (0, 1):
            slope = (8 * (y[k + 1][n] - y[k - 1][n]) - (y[k + 2][n] - y[k - 2][n])) / (12 * h)
            assert y[k][n + 1] == pytest.approx(slope, abs=5e-4 * max(1.0, abs(slope)))
    assert [s.unit for s in own.signals("*f.y*")] == ["", "1/s", "1/s2"]


def test_a_delay_repeats_a_smooth_input_later() -> None:
    own = of_blocks(blocks={"d": {"type": "delay", "input": "sin(3*time)", "delay": "0.5", "degree": 5, "unit": "m"}})
    result = own.simulate(3.0, 0.1, tolerance=1e-7)
    late = result.time > 1.5
    np.testing.assert_allclose(result["d.y"][late], np.sin(3 * (result.time[late] - 0.5)), atol=2e-4)
    assert result["d.y"][0] == 0  # no direct feedthrough
    assert result.unit("d.y") == "m"


@pytest.mark.parametrize(
    "block",
    [
        transfer_function([2], [1, 3, 4], 3.0, start=1.5),
        transfer_function([1, 2], [1, 4], 3.0, start=1.5),
        {"type": "filter2", "input": 1.5, "frequency": 4, "start": 1.5},
        {"type": "delay", "input": 1.5, "delay": 0.2, "start": 1.5},
    ],
    ids=lambda block: block["type"],
)
def test_a_block_that_starts_at_rest_stays_there(block: dict[str, Any]) -> None:
    result = of_blocks(blocks={"g": block}).simulate(1.0, 0.1)
    np.testing.assert_allclose(result["g.y"], 1.5, atol=1e-9)


# ---------------------------------------------------------------- loops


def test_feedback_through_an_integrator_is_no_algebraic_loop() -> None:
    """y = 1/(s + 1) by u = 1 - y around an integrator."""
    own = of_blocks(blocks={"g": transfer_function([1], [1, 0], "1 - g.y")})
    assert not own.symbolic.unknowns
    simulation = own.start(tolerance=1e-7)
    simulation.advance(1.0)
    assert simulation["g.y"] == pytest.approx(1 - np.exp(-1), abs=1e-4)


def test_feedback_through_a_feedthrough_is_solved_for() -> None:
    """y = G (1 - y), G = (s + 2)/(s + 1): y = G/(1 + G) = (s + 2)/(2 s + 3)."""
    own = of_blocks(blocks={"g": transfer_function([1, 2], [1, 1], "1 - g.y")})
    assert [y.name for y in own.symbolic.unknowns] == ["g.y"]
    simulation = own.start(step=1e-3)
    assert simulation["g.y"] == pytest.approx(0.5, abs=1e-12)
    simulation.advance(1.0)
    _, expected = signal.step(([1, 2], [2, 3]), T=np.array([0.0, 1.0]))
    assert simulation["g.y"] == pytest.approx(expected[-1], abs=1e-6)


def test_two_state_spaces_may_feed_each_other() -> None:
    blocks = {
        "one": {"type": "state_space", "inputs": ["sin(time)", "two.y"], "A": [[-1]], "B": [[1, 0.5]], "C": [[1]],
                "D": [[0, 0.4]], "start": 0.2},
        "two": {"type": "state_space", "inputs": ["one.y"], "A": [[-2, 1], [0, -3]], "B": [[0], [1]], "C": [[1, 0]],
                "D": [[-0.7]], "start": [0.1, 0]},
    }  # fmt: skip
    simulation = of_blocks(blocks=blocks).start(step=5e-4)
    simulation.advance(1.0)

    def rate(t: float, x: Vector) -> Vector:
        y1 = (x[0] + 0.4 * x[1]) / 1.28
        y2 = x[1] - 0.7 * y1
        return np.array([-x[0] + np.sin(t) + 0.5 * y2, -2 * x[1] + x[2], -3 * x[2] + y1])

    expected = solve_ivp(rate, (0, 1), [0.2, 0.1, 0], rtol=1e-11, atol=1e-12).y[:, -1]
    found = [simulation[name] for name in ("one.x[1]", "two.x[1]", "two.x[2]")]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("eliminate", [True, False])
def test_a_controlled_body_has_an_exact_jacobian(eliminate: bool) -> None:
    blocks = {
        "control": {"type": "pid", "input": "0.3 - pin.angle", "kp": 4, "ki": 2, "kd": 0.5, "filter_time": 0.1,
                    "min": -30, "max": 30},
        "lag": transfer_function([0.2, 1], [0.05, 1], "control.y - 0.1*lag.y"),
    }  # fmt: skip
    m = CompiledModel(lower(swinging(blocks=blocks, forces=torque("lag.y")), eliminate=eliminate))
    m.start(assemble=True)
    rng, s = np.random.default_rng(1), m.system
    state = {k: rng.uniform(-1, 1, n) for k, n in
             (("q", 3), ("v", 3), ("a", 3), ("lam", 2), ("x", s.nx), ("xdot", s.nx), ("y", s.ny))}  # fmt: skip
    weights = (0.7, 0.6, 0.5, 0.4)
    found = m.jacobian(0.2, **state, weights=weights).toarray()
    for k, first in enumerate((0, 1, 2)):
        moved = {key: np.eye(3)[first] * w for key, w in zip("avq", weights, strict=False)}
        check_column(m, state, moved, found[:, k])
    for k in range(s.nx):
        unit = np.eye(s.nx)[k]
        check_column(m, state, {"xdot": unit, "x": 0.4 * unit}, found[:, 5 + k])


def check_column(m: CompiledModel, state: dict[str, Vector], moved: dict[str, Vector], found: Vector) -> None:
    def at(h: float) -> Vector:
        return m.residual(0.2, **{k: v + h * moved[k] if k in moved else v for k, v in state.items()})

    h = 1e-3
    wanted = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    rows = [0, 1, 2, *range(5, m.system.n)]  # without constraints, which are scaled
    np.testing.assert_allclose(found[rows], wanted[rows], atol=1e-7 * max(1.0, np.max(np.abs(wanted))))


# ---------------------------------------------------------------- PID


def closed_loop(t_end: float = 6.0, **pid: Any) -> mbd.Result:
    """A plant 1/(s + 1)^2 that a controller brings to 1."""
    controller = {"type": "pid", "input": "1 - plant.y", "kp": 3, "ki": 1.5, "kd": 1, "filter_time": 0.05, **pid}
    blocks = {"control": controller, "plant": transfer_function([1], [1, 2, 1], "control.y")}
    return of_blocks(blocks=blocks).simulate(t_end, 0.05, tolerance=1e-6)


def test_pid_without_limits_is_its_transfer_function() -> None:
    """C = kp + ki/s + kd s/(T s + 1); the loop is C G/(1 + C G)."""
    kp, ki, kd, T = 3, 1.5, 1, 0.05
    over, below = np.array([kp * T + kd, kp + ki * T, ki]), np.array([T, 1, 0])
    loop = signal.TransferFunction(over, np.polyadd(np.polymul(below, [1, 2, 1]), over))
    result = closed_loop()
    _, expected = signal.step(loop, T=result.time)
    np.testing.assert_allclose(result["plant.y"], expected, atol=2e-4)


def test_pid_stays_within_its_limits_and_does_not_wind_up() -> None:
    """The integral alone would overshoot by far after the long way at the limit."""
    limits = {"min": 0.0, "max": "0.15 + 1", "kp": 2, "ki": 2, "kd": 0}
    held, wound = closed_loop(15, **limits), closed_loop(15, **limits, tracking_time=1e6)
    for result in (held, wound):
        assert np.max(result["control.y"]) <= 1.15 + 1e-12
        assert np.min(result["control.y"]) >= -1e-12
    assert np.max(held["plant.y"]) < 1.06 < np.max(wound["plant.y"])
    assert held["plant.y"][-1] == pytest.approx(1, abs=1e-3)


def test_pid_may_be_given_the_rate() -> None:
    found = closed_loop(filter_time=None, rate="-der(plant.x[1])*0.5")
    assert found.complete
    assert "control.x[2]" not in found.columns


# ---------------------------------------------------------------- in models


def test_outputs_move_bodies_and_bodies_move_blocks() -> None:
    """A motion at velocity level along the rate of a filter keeps the angle on the filter's output."""
    blocks = {"f": {"type": "filter2", "input": "if(time < 0.2, 0, 1)", "frequency": 20}}
    motions = {"drive": {"of": "pin.angle", "value": "der(f.y)", "level": "velocity"}}
    own = model(
        swinging(blocks=blocks, motions=motions, bodies={"bar": {"mass": 1, "inertia": 1, "position": [0.5, 0]}})
    )
    result = own.simulate(1.0, 0.05, tolerance=1e-7)
    np.testing.assert_allclose(result["pin.angle"], result["f.y"], atol=1e-5)
    np.testing.assert_allclose(result["bar.alpha"], result["der(f.y,2)"], atol=1e-6)


def test_blocks_of_sub_models_keep_their_meaning_in_a_mirror() -> None:
    part = swinging(blocks={"g": transfer_function([1], [0.1, 1], "pin.angle")}, forces=torque("-g.y - 0.2*g.x[1]"))
    whole = Description(
        format_version=1, name="pair", gravity=[0, -9.81],
        submodels={"a": {"model": part.to_data()}, "b": {"model": part.to_data(), "mirror": "x"}},
        outputs={"sum": "a.g.y - b.g.y"},
    )  # fmt: skip
    result = model(whole).simulate(0.5, 0.1, tolerance=1e-6)
    np.testing.assert_allclose(result["sum"], 0, atol=1e-10)
    np.testing.assert_allclose(result["a.bar.x"], -result["b.bar.x"], atol=1e-9)


def test_an_fmu_with_blocks_gives_bitwise_what_the_model_gives(tmp_path: Path) -> None:
    blocks = {
        "way": {"type": "filter2", "input": "u", "frequency": 9},
        "pid": {"type": "pid", "input": "way.y - pin.angle", "kp": 8, "ki": 3, "kd": 2,
                "rate": "der(way.y) - bar.omega", "min": -20, "max": 20},
        "late": {"type": "delay", "input": "pid.y", "delay": 0.02, "degree": 2},
    }  # fmt: skip
    own = model(swinging(inputs={"u": {"start": 0.3}}, blocks=blocks, forces=torque("late.y")))
    path = own.export_fmu(tmp_path / "model.fmu")
    assert not validate_fmu(str(path))
    got, expected = mbd.fmu.simulate(path, 0.2, 0.01), own.simulate(0.2, 0.01)
    for name in expected.columns:
        assert np.array_equal(got[name], expected[name]), name
    names = {"way.y", "der(way.y)", "der(way.y,2)", "pid.x[1]", "der(late.x[2])", "late.y"}
    assert names <= expected.columns.keys()


@pytest.mark.parametrize("name", SYSTEMS)
def test_blocks_continue_bit_for_bit(name: str) -> None:
    simulation = of_blocks(blocks={"g": SYSTEMS[name]}).start()
    simulation.advance(0.2)
    saved, runs = simulation.save(), []
    for _ in range(2):
        simulation.restore(saved)
        simulation.advance(0.5)
        runs.append(simulation["g.y"])
    assert runs[0] == runs[1]


def test_a_block_of_a_user_works_as_the_page_says(tmp_path: Path) -> None:
    """In a process of its own: the class stays in its family."""
    page = (Path(__file__).parents[1] / "docs" / "blocks.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    script = tmp_path / "lag.py"
    script.write_text(code + USE_OF_LAG, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(1 - np.exp(-2), abs=1e-4)


USE_OF_LAG = """
import mbdfmu as mbd

model = mbd.Model("one", length=1)
model.add("T", 0.5)
model.add("lag", Lag(input=1, time="T"))
print(model.simulate(1.0, 0.1, tolerance=1e-6)["lag.y"][-1])
"""


def test_every_block_is_described() -> None:
    for name, block in BlockElement.members().items():
        assert block.summary(), name


# ---------------------------------------------------------------- what users get wrong

WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an improper transfer function": (
        transfer_function([1, 0, 0], [1, 1]),
        ["blocks.g", "numerator must be of degree 0 to 1", "found 2", "multiply the denominator by a fast lag"],
    ),
    "a leading zero": (transfer_function([1], [0, 1]), ["denominator[0] must not be 0", "leave leading zeros out"]),
    "an empty numerator": (transfer_function([], [1, 1]), ["blocks.g.numerator", "list", "found []"]),
    "a number in place of a list": (transfer_function(2, [1, 1]), ["blocks.g.numerator", "list", "found 2"]),
    "rest where there is none": (
        transfer_function([1, 0], [1, 1], start=2),
        ["start must be 0 where numerator ends in 0", "found 2"],
    ),
    "an unknown name": (
        transfer_function([1], [1, 1], "tiem"),
        ["blocks.g", "nothing is called 'tiem'", "did you mean 'time'?"],
    ),
    "an unknown name in a coefficient": (transfer_function(["k"], [1, 1]), ["blocks.g", "nothing is called 'k'"]),
    "a coefficient that moves": (
        transfer_function(["time"], [1, 1]),
        ["blocks.g", "may depend on parameters only, found 'time'"],
    ),
    "sizes of matrices": (
        {"type": "state_space", "inputs": [1, 2], "A": [[1, 2]], "B": [[1]], "C": [[1, 2]], "D": [[1, 2, 3]]},
        ["A must have 1 rows of 1, found 1 of 2", "B must have 1 rows of 2", "C must have", "D must have 1 rows of 2"],
    ),
    "rows of different lengths": (
        {"type": "state_space", "inputs": [1], "A": [[1, 2], [3]], "B": [[1], [1]], "C": [[1, 1]]},
        ["blocks.g.A", "rows of one length", "rows of 2, 1"],
    ),
    "too many start values": (
        {"type": "state_space", "inputs": [1], "A": [[1]], "B": [[1]], "C": [[1]], "start": [1, 2]},
        ["start must be one value or a list of 1", "found a list of 2"],
    ),
    "a controller without gains": ({"type": "pid", "input": 1}, ["gives nothing", "kp, ki, kd"]),
    "a derivative without filter": ({"type": "pid", "input": 1, "kd": 1}, ['"filter_time" or "rate"', "found neither"]),
    "limits in disorder": ({"type": "pid", "input": 1, "kp": 1, "min": 2, "max": 1}, ["min must be below max"]),
    "a limited integral alone": ({"type": "pid", "input": 1, "ki": 1, "max": 1}, ['need "tracking_time"']),
    "a negative frequency": ({"type": "filter2", "input": 1, "frequency": -1}, ["blocks.g.frequency", "positive"]),
    "a degree of a half": ({"type": "delay", "input": 1, "delay": 1, "degree": 1.5}, ["degree", "whole number", "1.5"]),
    "an unknown type": ({"type": "transferfunction"}, ["unknown block type", "did you mean 'transfer_function'?"]),
    "an unknown field": (transfer_function([1], [1, 1], gain=2), ["unknown entry 'gain'", "known:"]),
    "a loop without solution": (transfer_function([1, 1], [1, 2], "g.y"), []),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_findings_name_place_cause_and_cure(what: str) -> None:
    block, words = WRONG[what]
    with pytest.raises((ModelError, mbd.StepFailed)) as caught:
        model(swinging(blocks={"g": block}, outputs={"o": "g.y"})).start()
    for word in words:
        assert word in str(caught.value), str(caught.value)
