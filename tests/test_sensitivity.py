"""Derivatives of all that is reported at fixed t, q, v, X, against the linear model, fresh evaluations and motions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mbdfmu as mbd
from mbdfmu.description import Description

Vector = NDArray[np.float64]
MODELS = [name for name in mbd.models.names() if name != "full_vehicle"]  # which takes seconds to compile
PLANAR = [name for name in MODELS if mbd.models.load(name).description.dimensions == 2]
INPUTS = [name for name in MODELS if mbd.models.load(name).description.inputs]
SPACES = ("q", "v", "x", "u", "udot", "p")
RESOLVED = 1e-3  # of a signal's size: slopes below that are compared with it, as differences resolve no more


class Run:
    """A simulation after some motion, and what it reports there."""

    def __init__(self, model: str | mbd.Model, time: float = 0.07, **settings: Any) -> None:
        self.model = mbd.models.load(model) if isinstance(model, str) else model
        self.simulation = self.model.start(**{"tolerance": 1e-8, **settings})
        self.native = self.simulation._native
        for k, given in enumerate(self.simulation._lowered.inputs):
            self.simulation.set_input(given, 0.02 * (k + 1))
        self.native.advance(time)
        self.native.report()
        self.signals = np.array(self.native.signals())
        # a sum of powers that is zero always: its slope is their rounding
        self.balances = np.array([name == "power.balance" for name in self.simulation.names])
        s = self.native.system
        self.sizes = {"q": s.nv, "v": s.nv, "x": s.nx, "u": s.nu, "udot": s.nu, "p": s.np}

    def all_along(self, t: float = 0.0, gain: float = 0.0, **directions: Vector) -> tuple[Vector, ...]:
        parts = {space: np.zeros(size) for space, size in self.sizes.items()} | directions
        return tuple(map(np.asarray, self.native.sensitivity(t, *(parts[space] for space in SPACES), gain)))

    def along(self, t: float = 0.0, **directions: Vector) -> Vector:
        return self.all_along(t, 0.0, **directions)[0]

    def close(self, found: Vector, wanted: Vector, limit: float = 1e-6, resolved: float = RESOLVED) -> None:
        size = np.maximum(np.abs(wanted), resolved * np.maximum(np.abs(self.signals), 1.0))
        off = np.where(self.balances, 0.0, np.abs(found - wanted) / size)
        worst = int(np.argmax(off))
        assert off[worst] <= limit, (self.simulation.names[worst], found[worst], wanted[worst])


# ---------------------------------------------------------------- against the linear model, whose derivatives are exact


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_act_as_in_the_linear_model(name: str) -> None:
    run = Run(name)
    names, inputs = run.simulation.names, list(run.simulation._lowered.inputs)
    D = run.model.linearize(at=run.simulation, inputs=inputs, outputs=names).D
    for k in range(len(inputs)):
        direction = np.eye(len(inputs))[k]
        run.close(run.along(u=direction), D[:, k])


@pytest.mark.parametrize("name", PLANAR)
def test_motions_that_joints_allow_act_as_in_the_linear_model(name: str) -> None:
    run = Run(name)
    if not run.sizes["q"] + run.sizes["x"]:
        return
    names = run.simulation.names
    C = run.model.linearize(at=run.simulation, outputs=names).C
    coordinates = [c.name for c in run.model.symbolic.coordinates]
    speeds = [run.model.symbolic.coordinates[k].rate for k in range(len(coordinates))]
    places = {"q": coordinates, "v": speeds, "x": [s.name for s in run.model.symbolic.states]}
    rows = {space: [names.index(n) for n in these] for space, these in places.items()}
    for column in C.T:
        run.close(run.along(0.0, **{space: np.ascontiguousarray(column[at]) for space, at in rows.items()}), column)


# ---------------------------------------------------------------- inputs, as an environment sees them


def driven() -> mbd.Model:
    """Rows of velocities that an input and a parameter drive, beside a joint and a state."""
    return mbd.Model.from_description(Description.model_validate({
        "format_version": 1, "name": "driven", "length": 1.0,
        "parameters": {"way": {"value": 0.7, "unit": "1"}},
        "inputs": {"speed": {"unit": "m/s"}, "push": {"unit": "N"}},
        "bodies": {"cart": {"mass": 1.0, "inertia": 0.1}, "bob": {"mass": 2.0, "inertia": 0.1, "position": [0, -1]}},
        "joints": {"rail": {"type": "prismatic", "i": {"body": "ground"}, "j": {"body": "cart"}},
                   "hinge": {"type": "revolute", "i": {"body": "cart"}, "j": {"body": "bob", "at": [0, 1]}}},
        "motions": {"drive": {"of": "cart.x", "unit": "m", "level": "velocity", "value": "way*speed + sin(bob.phi)"}},
        "forces": {"load": {"type": "vector", "i": {"body": "ground"}, "j": {"body": "bob"}, "force": ["push", 0]}},
    }))  # fmt: skip


@pytest.mark.parametrize("name", ["driven", *INPUTS])
def test_inputs_act_as_a_change_of_them_does(name: str) -> None:
    """All that is reported after an input has been set, velocities too where inputs drive them."""
    run = Run(driven() if name == "driven" else name)
    native, state = run.native, run.native.save()

    def changed(k: int, change: float) -> Vector:
        native.restore(state)
        native.set_input(k, state.u[k] + change, 0.0)
        native.report()
        return np.asarray(native.signals())

    for k in range(run.sizes["u"]):
        wanted = (changed(k, 1e-4) - changed(k, -1e-4)) / 2e-4
        native.restore(state)
        run.close(run.along(u=np.eye(run.sizes["u"])[k]), wanted, resolved=0.1)


def test_parameters_that_drive_velocities_act_too() -> None:
    run = Run(driven())
    found = dict(zip(run.simulation.names, run.along(p=np.ones(run.sizes["p"]) * 0), strict=True))
    assert not any(found.values())
    at = run.simulation._lowered.parameters["way"]
    found = dict(zip(run.simulation.names, run.along(p=np.eye(run.sizes["p"])[at]), strict=True))
    assert found["cart.vx"] == pytest.approx(0.02, rel=1e-9)  # the present speed
    assert (found["cart.x"], found["bob.phi"]) == (0, 0)


# ---------------------------------------------------------------- any direction, in space too: what has to stay zero


@pytest.mark.parametrize("gain", [0.0, 5.0], ids=["", "with feedback"])
@pytest.mark.parametrize("name", MODELS)
def test_the_equations_hold_along_any_direction(name: str, gain: float) -> None:
    """Rows of motion, states and variables, and Phi'' = G a - gamma, do not change along (dw, dz) to first order."""
    run = Run(name, time=0.02)
    native, s = run.native, run.native.system
    native.adopt()  # reactions that are zero in rows left out, as the equations want them
    native.report()
    state, draw = native.save(), np.random.default_rng(3)
    dq, dv, dx = (draw.uniform(-1, 1, run.sizes[space]) for space in ("q", "v", "x"))
    _, da, dlam, dxdot, dy = run.all_along(t=1.0, gain=gain, q=dq, v=dv, x=dx)
    at = slice(s.nv, s.nv + s.nc)
    held = np.setdiff1d(np.arange(s.n), state.dropped)

    def rows(h: float) -> Vector:
        q, v, x = s.moved(state.q, h * dq), native.v + h * dv, state.x + h * dx
        a, xdot, y = native.a + h * da, native.xdot + h * dxdot, native.y + h * dy
        lam = state.lam + h * dlam
        r = native.residual(state.t + h, q, v, a, lam, x, xdot, y)
        entries = native.derivative(state.t + h, q, v, a, lam, x, xdot, y, 1, 0, 0, 0)
        second = np.zeros((s.nc, s.nv))
        mine = (s.rows >= s.nv) & (s.rows < s.nv + s.nc) & (s.cols < s.nv)
        np.add.at(second, (s.rows[mine] - s.nv, s.cols[mine]), entries[mine])
        speed, gamma = native.rates(state.t + h, q, v)
        phi = native.constraints(state.t + h, q)
        fed_back = [2 * gain * speed + gain**2 * phi, gain * speed, 0 * speed]  # of rows by their level (T20.11)
        r[at] = second @ a - gamma + (np.choose(s.levels, fed_back) if s.nc else 0)
        found: Vector = np.asarray(r)[held]
        return found

    h = 1e-5
    slopes = (rows(h) - rows(-h)) / (2 * h)
    size = max(1.0, float(np.max(np.abs(dlam), initial=0.0)), float(np.max(np.abs(da), initial=0.0)))
    assert np.max(np.abs(slopes), initial=0.0) <= 1e-6 * size


# ---------------------------------------------------------------- parameters, by changing them


@pytest.mark.parametrize("name", MODELS)
def test_parameters_act_as_a_change_of_them_does(name: str) -> None:
    """Those that open no joint and move no velocity: others are what the derivative holds fixed."""
    run = Run(name, time=0.02)
    native, values = run.native, run.native.save().parameters
    state, velocities = native.save(), native.v.copy()
    draw, seen = np.random.default_rng(5), 0

    def changed(k: int, value: float) -> Vector:
        native.restore(state)
        native.change_parameter(k, value)
        native.report()
        assert np.allclose(native.v, velocities, rtol=0, atol=1e-12)
        return np.asarray(native.signals())

    for k in draw.permutation(run.sizes["p"])[:12]:
        scale = abs(values[k]) or 1.0
        h = 1e-4 * scale  # three points miss 1e-8 of what is smooth, rounding leaves 1e-12 of signals over it
        try:
            wanted = (changed(k, values[k] + h) - changed(k, values[k] - h)) / 2e-4
        except (ValueError, AssertionError):  # of a joint, or at its bound
            continue
        finally:
            native.restore(state)
        # velocities are projected anew at every value, which moves them by 1e-13: 1e-9 of them over a step of 1e-4
        run.close(run.along(p=scale * np.eye(run.sizes["p"])[k]), wanted, resolved=0.1)
        seen += 1
    assert seen > 0


# ---------------------------------------------------------------- rates along the motion


# What is left out there: springs and loops that make rounding of positions (1e-16) accelerations of 1e-4 over h.
@pytest.mark.parametrize("name", sorted({*MODELS} - {"andrews_stiff", "ring"}))
def test_rates_are_those_of_the_motion(name: str) -> None:
    """Against differences of fourth order to one side, of steps that end there (within steps errors are larger)."""
    h, run = 1e-5, Run(name, time=0.05, scheme="dop853", tolerance=1e-12)
    rates, at = run.native.signal_rates(), []
    native = run.model.start(scheme="dop853", step=h)._native
    native.restore(run.native.save())
    for k in range(5):
        native.advance(0.05 + k * h)
        native.report()
        at.append(np.asarray(native.signals()))
    leaps = np.max(np.abs(np.diff(at, axis=0)), axis=0) > 3  # angles that count no turns
    wanted = (-25 / 12 * at[0] + 4 * at[1] - 3 * at[2] + 4 / 3 * at[3] - at[4] / 4) / h
    run.close(np.where(leaps, wanted, rates), wanted, limit=1e-4, resolved=0.1)


def test_rates_where_a_force_jumps_are_those_ahead() -> None:
    data = {
        "format_version": 1, "name": "pushed", "length": 1.0,
        "bodies": {"a": {"mass": 2.0, "inertia": 0.1}},
        "forces": {"push": {"type": "vector", "i": {"body": "ground"}, "j": {"body": "a"},
                            "force": ["if(time > 0.25, 8 + 3*(time - 0.25), time)", 0]}},
    }  # fmt: skip
    model = mbd.Model.from_description(Description.model_validate(data))
    run = Run(model, time=0.25)
    rates = dict(zip(run.simulation.names, run.native.signal_rates(), strict=True))
    assert rates["a.ax"] == pytest.approx(1.5, rel=1e-6)  # 3 N/s over 2 kg: not (8 - 0.25) N over a step
    assert rates["time"] == pytest.approx(1.0, rel=1e-9)


# ---------------------------------------------------------------- what is left as it was


@pytest.mark.parametrize("name", ["slider_crank", "bricard", "cart_pendulum"])
def test_the_simulation_keeps_its_last_bit(name: str) -> None:
    run, other = Run(name), Run(name)
    saved, before = run.native.save().to_bytes(), run.native.signals().tobytes()
    run.native.signal_rates()
    run.along(p=np.ones(run.sizes["p"]), u=np.ones(run.sizes["u"]))
    assert run.native.save().to_bytes() == saved
    assert run.native.signals().tobytes() == before
    run.native.advance(0.3), other.native.advance(0.3)
    assert run.native.save().to_bytes() == other.native.save().to_bytes()


def test_the_same_derivative_comes_out_whatever_was_asked_before() -> None:
    run = Run("slider_crank")
    first = run.along(u=np.ones(1))
    run.along(p=np.ones(run.sizes["p"]))
    np.testing.assert_array_equal(run.along(u=np.ones(1)), first)
    assert not run.along().any()
