"""Linear models: against differences of the nonlinear equations, closed forms, textbook modes, and in files."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from redundant_mechanisms import draw, with_a_spring
from test_equilibrium import slider_crank

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.forces import Translational
from mbdfmu.joints import Prismatic, Revolute

GROUND = {"body": "ground"}
G = 9.81


def oscillator(**header: Any) -> mbd.Model:
    """2 kg on 800 N/m and 8 N.s/m: 20 rad/s, damping ratio 0.1."""
    model = mbd.Model("oscillator", gravity=(0, 0), **header)
    model.add("load", mbd.Body(mass=2, inertia=0.1))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(1, 0)))
    model.add("push", mbd.Input(unit="N"))
    ends = {"i": {"body": "ground", "at": (-1, 0)}, "j": {"body": "load"}}
    model.add("spring", Translational(**ends, stiffness=800, damping=8, free_length=1, force="push"))
    model.add("x", mbd.Output(value="load.x"))
    model.add("ax", mbd.Output(value="load.ax"))
    return model


# ---------------------------------------------------------------- against differences of the nonlinear model


class Nonlinear:
    """Rates of the states and outputs of a simulation as functions of states and inputs, by index 1 alone."""

    def __init__(self, simulation: Any, linear: mbd.LinearModel, outputs: tuple[str, ...]) -> None:
        self.native, self.model = simulation._native, simulation._model
        self.begin = self.native.save()
        self.v, self.a, self.lam = self.native.v, self.native.a, self.native.lam
        names = [c.name for c in self.model.coordinates]
        rates = {c.rate: k for k, c in enumerate(self.model.coordinates)}
        self.places = [names.index(n) for n in linear.states if n in names]
        self.speeds = [rates[n] for n in linear.states if n in rates]
        self.inputs = simulation._lowered.inputs
        self.signals = [list(simulation.names).index(n) for n in outputs]
        system = self.native.system
        dropped = {k - system.nv for k in self.begin.dropped}
        self.levels = np.array(system.levels, dtype=int).reshape(-1)
        self.rows = np.array([k for k in range(system.nc) if k not in dropped], dtype=int)

    def __call__(self, change: np.ndarray, inputs: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        native, begin, np_, ns = self.native, self.begin, len(self.places), len(self.speeds)
        native.restore(begin)
        for name, value in inputs.items():
            k = self.inputs[name]
            native.set_input(k, float(begin.u[k]) + value, 0.0)
        q = self._closed(change[:np_])
        x = begin.x + change[np_ + ns :]
        v = self._fitting(q, self.v[self.speeds] + change[np_ : np_ + ns])
        native.pose(begin.t, q, v, x)
        native.report()
        turned = native.v.copy()
        if self.model.dimensions == 3:  # rotations are increments from where the body is without them
            turned -= self._turning(change[:np_], q)
        rates = np.concatenate([turned[self.places], native.a[self.speeds], native.xdot])
        return rates, native.signals()[self.signals]

    def _gradient(self, q: np.ndarray, rows: np.ndarray) -> np.ndarray:
        system, still = self.native.system, np.zeros(self.native.system.nv)
        point = (self.begin.t, q, still, still, self.lam, self.begin.x, np.zeros(system.nx), self.native.y)
        matrix = np.zeros((system.n, system.n))
        np.add.at(matrix, (system.rows, system.cols), self.native.derivative(*point, 1.0, 0.0, 0.0, 0.0))
        return matrix[system.nv + rows, : system.nv]

    def _closed(self, change: np.ndarray) -> np.ndarray:
        """The dependent coordinates follow; the increments of all are remembered."""
        system = self.native.system
        rows = self.rows[self.levels[self.rows] == 0]
        others = [k for k in range(system.nv) if k not in self.places]
        self.increment = np.zeros(system.nv)
        self.increment[self.places] = change
        for _ in range(20):
            q = system.moved(self.begin.q, self.increment)
            if not len(rows):
                break
            phi = self.native.constraints(self.begin.t, q)[rows]
            gradient = self._gradient(q, rows)
            step = np.linalg.lstsq(gradient[:, others], phi, rcond=1e-12)[0]
            self.increment[others] -= step  # as good as an increment after the others: they are small
            if np.abs(step).max() < 1e-15:
                break
        return np.asarray(q)

    def _fitting(self, q: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        rows = self.rows[self.levels[self.rows] < 2]
        v = np.zeros(self.native.system.nv)
        v[self.speeds] = speeds
        if len(rows):
            others = [k for k in range(len(v)) if k not in self.speeds]
            off = self.native.rates(self.begin.t, q, v)[0][rows]
            v[others] -= np.linalg.lstsq(self._gradient(q, rows)[:, others], off, rcond=1e-12)[0]
        return v

    def _turning(self, change: np.ndarray, q: np.ndarray) -> np.ndarray:
        """omega x theta at the point itself, as (T19.11) has it."""
        out = np.zeros(self.native.system.nv)
        for body in range(len(self.model.bodies)):
            k = slice(6 * body + 3, 6 * body + 6)
            out[k] = np.cross(self.v[k], self.increment[k])
        return out


def differences(f: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """Of fourth order, so that h may be large and rounding small."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def compared(model: mbd.Model, *, at: Any = "start", h: float = 1e-4, outputs: Any = None, **given: Any) -> None:
    """All four matrices to 1e-6 of the largest entry of their row."""
    simulation = model.start(**given)
    if at != "start":
        simulation.advance(at)
    simulation.values()
    linear = model.linearize(at=simulation, outputs=outputs)
    nonlinear = Nonlinear(simulation, linear, linear.outputs)
    n = len(linear.states)
    begin = simulation._native.save()
    for columns, (by_rates, by_outputs), move in (
        (range(n), (linear.A, linear.C), lambda k, d: nonlinear(d * np.eye(n)[k], {})),
        (
            [k for k, name in enumerate(linear.inputs) if not name.startswith("der(")],
            (linear.B, linear.D),
            lambda k, d: nonlinear(np.zeros(n), {linear.inputs[k]: d}),
        ),
    ):
        for k in columns:
            rates = differences(lambda d: move(k, d)[0], h)  # noqa: B023
            values = differences(lambda d: move(k, d)[1], h)  # noqa: B023
            for name, found, wanted_ in (("rates", rates, by_rates), ("outputs", values, by_outputs)):
                scale = np.abs(wanted_).max(axis=1, initial=1.0)
                off = np.abs(found - wanted_[:, k]) / scale
                assert off.max(initial=0.0) < 1e-6, (name, k, int(np.argmax(off)), found, wanted_[:, k])
    simulation._native.restore(begin)


def driven() -> mbd.Model:
    """An input turns an arm, at the level of accelerations; a pendulum hangs on it."""
    model = mbd.Model("driven", gravity=(0, -G))
    model.add("arm", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0), omega=0.3, velocity=(0, 0.15)))
    model.add("bob", mbd.Body(mass=1, inertia=0.1, position=(1, -0.4), velocity=(0, 0.3)))
    model.add("pin", Revolute(i=GROUND, j={"body": "arm", "at": (-0.5, 0)}))
    model.add("link", Revolute(i={"body": "arm", "at": (0.5, 0)}, j={"body": "bob", "at": (0, 0.4)}))
    model.add("turn", mbd.Input(unit="rad/s2"))
    model.add("drive", mbd.Motion(of="arm.phi", value="turn - 2*arm.omega", level="acceleration"))
    model.add("torque", mbd.Output(value="drive.reaction.force"))
    return model


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("cart_pendulum", {}),
        ("quarter_car", {"start": {"body.vy": 0.2}}),
        ("half_car", {}),
        ("andrews", {}),
        ("slider_crank", {}),
        ("slider_crank3d", {"at": 0.3}),
        ("pendulum3d", {"at": 0.2}),
        ("double_wishbone", {"at": 0.1}),
        ("top", {"at": 0.1}),
        ("gyroscope", {"at": 0.1}),
        ("bricard", {"at": 0.2}),
        ("slider_crank_coordinates", {"at": 0.3}),
        ("andrews_angles", {"at": 0.001}),
        ("rolling_disc", {}),
    ],
)
def test_the_matrices_are_those_of_differences(name: str, given: dict[str, Any]) -> None:
    compared(mbd.models.load(name), **given)


def test_accelerations_that_an_input_prescribes() -> None:
    compared(driven())
    compared(driven(), at=0.4)


def test_implicit_states_and_loops() -> None:
    states = {"flow": {"equation": "0.2*der(flow) + flow + flow^3 - load.vx", "start": 0.3}}
    model = oscillator(states=states)
    model.add("pull", mbd.Variable(value="3*flow - 0.2*pull^3 + 0.5*load.ax"))
    model.add("second", Translational(i=GROUND, j={"body": "load", "at": (2, 0)}, force="pull"))
    model.add("seen", mbd.Output(value="pull + load.x*flow + der(flow)"))
    compared(model, start={"load.vx": 0.4})


def test_functions_in_python_take_part() -> None:
    def law(t: float, y: Any, p: Any) -> tuple[float, Any]:
        return -100 * math.sin(y[0]) - 3 * y[1], [-100 * math.cos(y[0]), -3]

    model = oscillator(callbacks={"law": {"python": law, "inputs": ["load.x", "push"]}})
    model.add("second", Translational(i=GROUND, j={"body": "load", "at": (2, 0)}, force="law"))
    compared(model, start={"load.x": 0.2})


# ---------------------------------------------------------------- closed forms


def test_an_oscillator_is_what_the_textbook_says() -> None:
    linear = oscillator().linearize()
    assert linear.states == ("load.x", "load.vx") and linear.inputs == ("push",)
    assert pytest.approx(np.array([[0, 1], [-400, -4]]), rel=1e-12) == linear.A
    assert pytest.approx(np.array([[0], [0.5]]), rel=1e-12) == linear.B
    assert pytest.approx(np.array([[1, 0], [-400, -4]]), rel=1e-12) == linear.C
    assert pytest.approx(np.array([[0], [0.5]]), rel=1e-12) == linear.D
    (mode,) = linear.modes
    assert mode.frequency == pytest.approx(20 / (2 * math.pi), rel=1e-12)
    assert mode.damping == pytest.approx(0.1, rel=1e-12)
    assert mode.damped_frequency == pytest.approx(20 * math.sqrt(0.99) / (2 * math.pi), rel=1e-12)
    assert mode.time_constant == pytest.approx(0.5, rel=1e-12)
    assert mode.shape["load.x"] == pytest.approx(1) and mode.shape["load.vx"] == pytest.approx(mode.eigenvalue)
    assert linear.stable and linear.state_units == ("m", "m/s") and linear.input_units == ("N",)


def quarter_car_matrix(p: Any) -> np.ndarray:
    """Textbook: m1 x1'' = -k (x1 - x2) - c (x1' - x2'), m2 x2'' = ... - kt x2 - ct x2'."""
    m1, m2, k, c, kt, ct = p
    stiffness = np.array([[-k / m1, k / m1], [k / m2, -(k + kt) / m2]])
    damping = np.array([[-c / m1, c / m1], [c / m2, -(c + ct) / m2]])
    return np.block([[np.zeros((2, 2)), np.eye(2)], [stiffness, damping]])


def test_the_quarter_car_has_its_textbook_modes() -> None:
    p = (360, 40, 22000, 1600, 200000, 100)
    linear = mbd.models.load("quarter_car").linearize()
    matrix = quarter_car_matrix(p)
    assert linear.A[:4, :4] == pytest.approx(matrix, rel=1e-9, abs=1e-9)
    expected = np.linalg.eigvals(matrix)
    body, wheel = (m for m in linear.modes if m.oscillates)
    for mode, value in zip((body, wheel), sorted(expected[expected.imag > 0], key=abs), strict=True):
        assert mode.frequency == pytest.approx(abs(value) / (2 * math.pi), rel=1e-9)
        assert mode.damping == pytest.approx(-value.real / abs(value), rel=1e-9)
    assert abs(body.shape["body.y"]) == 1 and abs(wheel.shape["wheel.y"]) == 1
    assert linear.B[2:4, 1] == pytest.approx([1 / 360, -1 / 40], rel=1e-12)
    assert linear.B[2:4, 0] == pytest.approx([0, 200000 / 40], rel=1e-12)
    assert linear.inputs[2] == "der(road)" and linear.B[2:4, 2] == pytest.approx([0, 100 / 40], rel=1e-12)


def test_the_half_car_has_its_textbook_modes() -> None:
    m, inertia, mu, kf, kr, cf, cr, kt, ct, a, b = 700, 1150, 40, 24000, 22000, 1700, 1600, 2e5, 100, 1.2, 1.5
    jacobian = np.array([[1, a, -1, 0], [1, -b, 0, -1], [0, 0, 1, 0], [0, 0, 0, 1]])  # stretches by y, phi, front, rear
    mass = np.diag([m, inertia, mu, mu])
    stiffness = jacobian.T @ np.diag([kf, kr, kt, kt]) @ jacobian
    for load in (m * G * b / (a + b), m * G * a / (a + b)):  # the loaded struts act upright above or below the centre
        stiffness[1, 1] += load * (0.313 - (load + mu * G) / kt - 0.3)
    k = -np.linalg.solve(mass, stiffness)
    c = -np.linalg.solve(mass, jacobian.T @ np.diag([cf, cr, ct, ct]) @ jacobian)
    expected = np.linalg.eigvals(np.block([[np.zeros((4, 4)), np.eye(4)], [k, c]]))
    found = [m for m in mbd.models.load("half_car").linearize().modes if m.oscillates]
    wanted_ = sorted(expected[expected.imag > 0], key=abs)
    assert [m.frequency for m in found] == pytest.approx(np.abs(wanted_) / (2 * math.pi), rel=1e-9)
    assert [m.damping for m in found] == pytest.approx([-v.real / abs(v) for v in wanted_], rel=1e-9)


def test_a_chain_of_rods_has_its_exact_frequencies() -> None:
    """K x = w^2 M x of the hanging chain: uniform rods of 1 m and 1 kg, angles from the vertical."""
    n = 10
    k = np.arange(n)
    hung = n - 1 - k + 0.5  # rods that pull at each, half of its own
    tail = n - 1 - np.maximum.outer(k, k)
    mass = tail + 0.5 + np.diag(np.full(n, 1 / 3 - 0.5))
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(mass, np.diag(G * hung))).real)
    linear = mbd.models.load("chain").linearize()
    assert [m.frequency for m in linear.modes] == pytest.approx(np.sqrt(squares) / (2 * math.pi), rel=1e-8)
    assert [m.damping for m in linear.modes] == pytest.approx([0] * n, abs=1e-9)
    assert all(name.endswith((".phi", ".omega")) for name in linear.states)


def test_an_upright_pendulum_falls() -> None:
    model = mbd.models.load("pendulum")
    linear = model.linearize(method="equations", parameters={"phi0": math.pi / 2})
    assert sorted(linear.eigenvalues.real) == pytest.approx([-math.sqrt(1.5 * G), math.sqrt(1.5 * G)], rel=1e-9)
    assert not linear.stable and sorted(m.damping for m in linear.modes) == pytest.approx([-1, 1])
    assert model.linearize(at=model.equilibrium()).modes[0].frequency == pytest.approx(
        math.sqrt(1.5 * G) / (2 * math.pi), rel=1e-9
    )


def test_a_free_top_nutates_with_its_closed_form() -> None:
    """Free rotation about an axis of symmetry with w: body rates turn with (Jz/Jx - 1) w."""
    model = mbd.Model("free", dimensions=3, gravity=(0, 0, 0))
    model.add("top", mbd.Body(mass=1, inertia=(2, 2, 3), free=True, omega=(0, 0, 8)))
    found = [m.frequency for m in model.linearize(at="start").modes if m.frequency > 0.1]
    assert found == pytest.approx([4 / (2 * math.pi), 8 / (2 * math.pi)], rel=1e-9)


# ---------------------------------------------------------------- choices


def test_the_independent_coordinates_may_be_chosen() -> None:
    model = slider_crank()
    free, told = model.linearize(), model.linearize(states="rod.phi")
    assert told.states == ("rod.phi", "rod.omega") != free.states
    assert told.modes[0].frequency == pytest.approx(free.modes[0].frequency, rel=1e-9)  # at rest they are the motion's
    with pytest.raises(mbd.ModelError, match=r"1 coordinates are independent, found 2 \(crank.phi, rod.phi\)"):
        model.linearize(at="start", states=["crank.phi", "rod.phi"])
    with pytest.raises(mbd.ModelError, match="do not fix the other coordinates here; one choice is"):
        mbd.models.load("pendulum").linearize(states="bar.y")


@pytest.mark.parametrize("seed", [7, 15])
def test_rows_that_repeat_others_change_no_linear_model(seed: int) -> None:
    """In the same states it is the same along a motion; whatever the states, its modes are the same at rest."""
    m, moving, resting = draw(seed), [], []
    for which in ({"redundant": False}, {"redundant": True}, {"redundant": True, "backwards": True}):
        model = m.model(**which)
        simulation = model.start(start=m.start, scheme="radau", tolerance=1e-11)
        simulation.advance(2.3)
        moving.append(model.linearize(at=simulation, states=["crank.theta_z", "rocker.theta_y"]).A)
        sprung = with_a_spring(m, **which)
        rest = sprung.equilibrium()
        resting.append(np.sort_complex(sprung.linearize(at=rest).eigenvalues))
    for k in (1, 2):
        assert moving[k] == pytest.approx(moving[0], abs=1e-6)
        assert resting[k] == pytest.approx(resting[0], abs=1e-6)


def test_names_are_checked_all_at_once() -> None:
    with pytest.raises(mbd.ModelError) as found:
        oscillator().linearize(inputs="pusj", outputs=["load.xx", "nothing*"], states="laod.x")
    assert len(found.value.problems) == 4
    assert "did you mean 'push'" in str(found.value) and "did you mean 'load.x'" in str(found.value)
    with pytest.raises(mbd.ModelError, match=r"at must be 'equilibrium', 'start', .* did you mean 'start'"):
        oscillator().linearize(at="strat")
    with pytest.raises(mbd.ModelError, match="parameters: the simulation has its own"):
        model = oscillator()
        model.linearize(at=model.start(), parameters={"a": 1})


def test_patterns_and_values_of_inputs() -> None:
    linear = oscillator().linearize(outputs="load.[xy]", inputs=[], input_values={"push": 80.0})
    assert linear.outputs == ("load.x", "load.y") and linear.B.shape == (2, 0)
    assert linear.point["load.x"] == pytest.approx(0.1, rel=1e-9)


def test_a_running_simulation_stays_as_it_is() -> None:
    model = mbd.models.load("double_pendulum")
    plain, watched = model.start(), model.start()
    for simulation in (plain, watched):
        simulation.step(0.2)
    linear = model.linearize(at=watched)
    assert linear.at == "t = 0.2 s" and linear.time == pytest.approx(0.2)
    for simulation in (plain, watched):
        simulation.step(0.2)
    assert (plain.values() == watched.values()).all()


def test_reactions_that_are_not_unique_are_no_outputs() -> None:
    model = mbd.models.load("bricard")
    with pytest.raises(mbd.ModelError, match=r"output 'hinge1.torque.*' depends on reactions that are not unique"):
        model.linearize(outputs="hinge1.torque*")


def test_friction_at_rest_is_told_to_be_one_sided() -> None:
    model = oscillator()
    model.add("rub", _rubbing())
    assert not oscillator().linearize().notes
    assert any("those of one side" in note for note in model.linearize().notes)


def _rubbing() -> Any:
    return Translational(i=GROUND, j={"body": "load", "at": (3, 0)}, force="-5*load.vx*if(load.vx < 0, 1, 3)")


def test_a_velocity_that_an_input_prescribes_takes_its_slope_in() -> None:
    """A cart with the speed of an input drags a pendulum: its acceleration is the slope of the input."""
    model = mbd.Model("dragged", gravity=(0, -G))
    model.add("cart", mbd.Body(mass=1, inertia=1))
    model.add("bob", mbd.Body(mass=1, inertia=1, position=(0, -2)))
    model.add("rail", Prismatic(i=GROUND, j={"body": "cart"}, axis=(1, 0)))
    model.add("pin", Revolute(i={"body": "cart"}, j={"body": "bob", "at": (0, 2)}))
    model.add("speed", mbd.Input(unit="m/s"))
    model.add("drive", mbd.Motion(of="cart.x", value="speed", level="velocity"))
    linear = model.linearize(outputs="bob.phi", states=["cart.x", "bob.phi"])
    assert linear.inputs == ("speed", "der(speed)")
    assert "bob.omega" in linear.states and "cart.vx" not in linear.states and "cart.x" in linear.states
    k = linear.states.index("bob.omega")
    assert linear.B[k] == pytest.approx([0, -0.4], abs=1e-12)  # 5 phi'' = -2 (g phi + cart.ax)
    f = 0.7
    s = 2j * math.pi * f
    assert linear.response([f], "bob.phi", "speed") == pytest.approx([-0.4 * s / (s**2 + 0.4 * G)], rel=1e-12)
    proper = linear.without_slopes()
    assert proper.inputs == ("speed",)
    assert proper.response([f], "bob.phi", "speed") == pytest.approx([-0.4 * s / (s**2 + 0.4 * G)], rel=1e-12)


# ---------------------------------------------------------------- responses and files


def test_responses_are_those_of_the_oscillator() -> None:
    linear = oscillator().linearize()
    f = np.array([0.1, 3.0, 3.2, 10.0])
    s = 2j * math.pi * f
    assert linear.response(f, "x", "push") == pytest.approx(0.5 / (s**2 + 4 * s + 400), rel=1e-12)
    t = np.linspace(0, 1, 7)
    w = 20 * math.sqrt(0.99)
    exact = (1 - np.exp(-2 * t) * (np.cos(w * t) + 2 / w * np.sin(w * t))) / 800
    assert linear.step_response(t, "x", "push") == pytest.approx(exact, abs=1e-15)
    with pytest.raises(mbd.ModelError, match=r"has no output 'y'.*known: x, ax"):
        linear.response(f, "y", "push")


def test_a_small_step_of_the_nonlinear_model_follows_the_linear_one() -> None:
    """The actuator of the quarter car pushes: springs and tyre are linear as long as it touches."""
    model = mbd.models.load("quarter_car")
    linear = model.linearize(parameters={"bump": 0})
    pushed = {"actuator": ([0, 1], [500.0, 500.0])}
    result = model.simulate(1.0, 0.01, inputs=pushed, tolerance=1e-9, parameters={"bump": 0})
    moved = (result["height_of_body"] - result["height_of_body"][0]) / 500
    expected = linear.step_response(result.time, "height_of_body", "actuator")
    assert moved == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())  # what the tolerance lets grow


def test_outputs_that_jump_with_a_slope_are_named() -> None:
    linear = mbd.models.load("quarter_car").linearize()
    with pytest.raises(mbd.ModelError, match="wheel_load follow the slope of input 'road'"):
        linear.without_slopes()
    proper = mbd.models.load("quarter_car").linearize(outputs=["height_of_body", "acceleration"]).without_slopes()
    assert proper.inputs == ("road", "actuator") and "slopes of inputs" in proper.notes[-1]


def test_a_linear_model_travels_through_files(tmp_path: Path) -> None:
    from scipy.io import loadmat

    linear = oscillator().linearize()
    linear.write(tmp_path / "lin.json")
    again = mbd.LinearModel.read(tmp_path / "lin.json")
    for one, other in zip(linear.to_numpy(), again.to_numpy(), strict=True):
        assert (one == other).all()
    assert (again.states, again.point, again.at) == (linear.states, linear.point, "equilibrium")
    linear.write(tmp_path / "lin.mat")
    content = loadmat(tmp_path / "lin.mat")
    assert (content["A"] == linear.A).all() and [str(s[0]) for s in content["states"][0]] == list(linear.states)
    with pytest.raises(mbd.ModelError, match=r"allowed: \.json, \.mat"):
        linear.write(tmp_path / "lin.csv")
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(mbd.ModelError, match="is no linear model that mbdfmu has written"):
        mbd.LinearModel.read(tmp_path / "bad.json")


def test_python_control_gets_names_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    fake = SimpleNamespace(ss=lambda *matrices, **names: made.update(matrices=matrices, **names))
    monkeypatch.setitem(sys.modules, "control", fake)
    oscillator().linearize().to_control()
    assert made["states"] == ["load_x", "load_vx"] and made["name"] == "oscillator" and len(made["matrices"]) == 4
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ImportError, match="pip install control"):
        oscillator().linearize().to_control()


def test_a_bode_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = oscillator().linearize().plot_bode("x", "push", path=tmp_path / "bode.png")
    assert len(figure.axes) == 2 and (tmp_path / "bode.png").stat().st_size > 1000


def test_what_a_linear_model_cannot_answer_is_refused(tmp_path: Path) -> None:
    linear = oscillator().linearize()
    calls: dict[str, Callable[[], Any]] = {
        "frequencies must be finite and not negative, found nan": lambda: linear.response([math.nan], "x", "push"),
        "times must be finite and not negative, found -1": lambda: linear.step_response([-1.0], "x", "push"),
        "allowed: .png, .pdf, .svg": lambda: linear.plot_bode("x", "push", path=tmp_path / "bode.xyz"),
        "there is no such file": lambda: mbd.LinearModel.read(tmp_path / "none.json"),
        "read from .json only": lambda: mbd.LinearModel.read(tmp_path / "lin.mat"),
    }
    for message, call in calls.items():
        with pytest.raises(mbd.ModelError, match=message):
            call()


def test_a_slope_that_is_not_finite_names_the_equation() -> None:
    model = oscillator()
    model.add("root", Translational(i=GROUND, j={"body": "load", "at": (2, 0)}, force="sqrt(abs(load.x))"))
    with pytest.raises(mbd.StepFailed, match="a derivative in the equation of body 'load' x is not finite"):
        model.linearize(at="start")


# ---------------------------------------------------------------- from the command line


def told(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(arguments))
    return done.exit_code, done.output


def test_the_command_line_shows_modes_and_writes(tmp_path: Path) -> None:
    out = tmp_path / "lin.json"
    chosen = ("--input", "road", "--output", "acceleration")
    code, text = told("linearize", "quarter_car", *chosen, "-o", str(out))
    assert code == 0, text
    assert "1.19651" in text and "11.7022" in text and "Hz" in text and "body.y" in text
    assert mbd.LinearModel.read(out).outputs == ("acceleration",)
    code, text = told("linearize", "quarter_car", *chosen, "--plot", "-o", str(tmp_path / "lin.mat"))
    assert code == 0 and list(tmp_path.glob("*.png")), text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("quarter_car", "--at", "strat"), 2, "did you mean 'start'"),
        (("quarter_car", "--input", "rod"), 2, "did you mean 'road'"),
        (("quarter_car", "--state", "abc"), 2, "known: body.x, body.y"),
        (("quarter_car", "--output", "abc"), 2, "mbdfmu info MODEL --signals"),
        (("quarter_car", "--at", "0.1"), 0, "t = 0.1 s"),
        (("quarter_car", "--at", "start"), 0, "start"),
        (("bouncing_ball",), 1, "there is no rest"),
    ],
)
def test_wrong_words_end_with_a_hint(arguments: tuple[str, ...], code: int, message: str) -> None:
    found, text = told("linearize", *arguments)
    assert found == code and message in text, text
