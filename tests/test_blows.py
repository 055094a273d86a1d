"""Hard dampers that begin, end and let go within a step: followed by error control, or told in the notes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbdfmu as mbd
from mbdfmu.forces import PointPlane, Translational
from mbdfmu.forces.bump_stop import BumpStop
from mbdfmu.forces.vector import VectorForce

HEIGHT = 1.0  # m
FALLEN = 46  # rows of 0.01 s


def ends(body: str = "ball") -> dict[str, mbd.Marker]:
    return {"i": mbd.Marker(body="ground"), "j": mbd.Marker(body=body)}


def dropped(**law: object) -> mbd.Model:
    m = mbd.Model("dropped", gravity=(0, -9.81))
    m.add("ball", mbd.Body(mass=1, inertia=0.01, position=(0, HEIGHT), free=True))
    m.add("table", PointPlane(**ends(), **law))
    return m


def told(run: mbd.Result) -> bool:
    return any("within one step" in note for note in run.notes)


@pytest.mark.parametrize("scheme", ["dopri5", "gcp", "dop853", "direct", "baumgarte", "welch2", "radau"])
def test_no_scheme_throws_a_ball_off_a_hard_damped_contact(scheme: str) -> None:
    """The contact's own acceleration counted as the pace of the motion: 176 m at 1e-2, 89 m at 1e-3 in dopri5."""
    heights = []
    for tolerance in (1e-2, 1e-3, 2e-4):
        ball = dropped(stiffness=1e7, exponent=1.0, dissipation=1e4)
        run = ball.simulate(2, 0.01, scheme=scheme, tolerance=tolerance)
        heights.append(run["ball.y"][FALLEN:].max())
    assert max(heights) < 0.04


@pytest.mark.parametrize("scheme", ["hht", "generalised-alpha", "newmark", "gcp-implicit"])
@pytest.mark.parametrize("locate", [False, True])
def test_a_ball_that_is_thrown_up_is_told_where_steps_begin_in_the_contact_too(scheme: str, locate: bool) -> None:
    """With the first touch located the step begins with the damper: a bounce to the full height was silent."""
    for stiffness, damping in ((1e9, 1e7), (1e7, 1e6)):
        for tolerance in (1e-3, 1e-5):
            ball = dropped(stiffness=stiffness, normal="linear", damping=damping, locate=locate)
            run = ball.simulate(1.5, 0.01, scheme=scheme, tolerance=tolerance)
            assert run["ball.y"][FALLEN:].max() < 0.03 or told(run)


@pytest.mark.parametrize("scheme", ["hht", "generalised-alpha", "newmark", "trapezoidal", "gcp-implicit"])
def test_a_hard_damper_that_an_input_switches_on_is_told_in_fixed_steps(scheme: str) -> None:
    m = mbd.Model("coupled", gravity=(0, 0))
    m.add("u", mbd.Input())
    m.add("first", mbd.Body(mass=1, inertia=0.1, velocity=(1, 0), free=True))
    m.add("second", mbd.Body(mass=1, inertia=0.1, position=(0.5, 0), free=True))
    markers = {"i": mbd.Marker(body="first"), "j": mbd.Marker(body="second")}
    m.add("damper", VectorForce(**markers, force=("1e7*u*(first.vx - second.vx)", "0")))
    run = m.start(scheme=scheme, step=2e-3)
    run.advance(0.5)
    assert not run.notes
    run.set_input("u", 1.0)
    run.advance(1.0)
    assert any("within one step from t = 0.5 s" in note for note in run.notes)


@pytest.mark.parametrize(
    "fade, tolerance, allowed",
    [("exp(-60*key.x)", 1e-5, 1e-4), ("(1 - tanh(300*(key.x - 0.5)))/2", 1e-4, 1e-2)],
    ids=["exponential", "sudden"],
)
def test_a_hard_damper_that_fades_lets_its_body_go(fade: str, tolerance: float, allowed: float) -> None:
    """radau believed the matrix of a damper that had gone: 4.5e-3 and 0.11 m off."""
    m = mbd.Model("fading", gravity=(0, 0))
    for name, at, speed in (("held", (0, 0), 0), ("key", (0, 1), 1), ("weight", (1, 3), 0)):
        m.add(name, mbd.Body(mass=1, inertia=0.1, position=at, velocity=(speed, 0), free=True))
    m.add("damper", VectorForce(**ends("held"), force=(f"2 - 1e5*held.vx*{fade}", "0")))
    high, weight = mbd.Marker(body="ground", at=(0, 3)), mbd.Marker(body="weight")
    m.add("spring", Translational(i=high, j=weight, stiffness=1e5, free_length=0.5))
    end = 1.5

    def pull(t: float, y: np.ndarray) -> list[float]:
        left = np.exp(-60 * t) if fade.startswith("exp") else (1 - np.tanh(300 * (t - 0.5))) / 2
        return [y[1], 2 - 1e5 * left * y[1]]

    wanted = solve_ivp(pull, (0, end), [0, 0], method="Radau", rtol=1e-10, atol=1e-12, max_step=2e-3).y[0, -1]
    found = m.simulate(end, 0.01, scheme="radau", tolerance=tolerance)["held.x"][-1]
    assert found == pytest.approx(wanted, abs=allowed)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_the_last_push_of_a_damped_stop_is_not_stepped_over(side: str) -> None:
    """Its damping goes to zero faster than its spring: right before the end the stop pushes once more (T9.13)."""
    mass, speed, k, c, full, bound = 2.0, 2.0, 2e4, 100.0, 5e-3, 0.1
    sign = 1.0 if side == "upper" else -1.0
    m = mbd.Model("stopped", gravity=(0, 0))
    m.add("ball", mbd.Body(mass=mass, inertia=0.1, velocity=(sign * speed, 0), free=True))
    law = {"stiffness": k, "damping": c, "damping_depth": full, "axis": (1, 0), side: sign * bound}
    m.add("stop", BumpStop(**ends(), **law))

    def push(t: float, y: np.ndarray) -> list[float]:
        depth = y[0] - bound
        part = min(max(depth / full, 0.0), 1.0)
        force = max(0.0, k * depth + c * part**2 * (3 - 2 * part) * y[1]) if depth > 0 else 0.0
        return [y[1], -force / mass]

    wanted = sign * solve_ivp(push, (0, 0.3), [0, speed], rtol=1e-9, atol=1e-12, max_step=2e-5).y[1, -1]
    for scheme in ("hht", "radau", "dopri5", "dop853", "welch2"):
        for tolerance in (1e-7, 1e-8):
            found = m.simulate(0.3, 0.1, scheme=scheme, tolerance=tolerance)["ball.vx"][-1]
            assert found == pytest.approx(wanted, abs=2e-4)
