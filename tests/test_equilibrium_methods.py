"""Three ways to an equilibrium, held against each other, against a reference and against closed forms."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from redundant_mechanisms import draw, first_hinge, with_a_spring
from test_equilibrium import GROUND, REFERENCE, G, hung, slider_crank

import mbdfmu as mbd
from mbdfmu.analyses.minimising import _Descent
from mbdfmu.analyses.standing import Standing
from mbdfmu.cli import main
from mbdfmu.forces import Bushing, General, Rotational, SpherePlane, Translational
from mbdfmu.joints import Fixed, PointOnLine, Prismatic, Revolute

METHODS = ("settle", "equations", "energy")
NAMES = [f"{body}.{k}" for body in ("crank", "rod") for k in ("x", "y", "phi")]


def references() -> list[list[float]]:
    """Two stable equilibria of the slider-crank, then two that are not."""
    return [e["q"] for e in json.loads(REFERENCE.read_text(encoding="utf-8"))["equilibria"]]


def near(q: list[float], off: float = 0.0) -> mbd.Model:
    """The slider-crank near one of them."""
    return slider_crank(q[2] + off, ahead=math.cos(q[5]) > 0)


def with_state() -> mbd.Model:
    """A state that follows the load and moves nothing."""
    model = hung(states={"seen": {"rate": "load.y - seen", "start": 0}})
    model.add("soft", Rotational(i=GROUND, j={"body": "load"}, stiffness=3))
    return model


def looped() -> mbd.Model:
    """A spring whose force solves an equation of its own: F + F^3/1e4 = 400 stretch."""
    model = mbd.Model("looped", gravity=(0, -G))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, -1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    model.add("pull", mbd.Variable(value="400*(-load.y - 1) - pull^3/1e4"))
    model.add("spring", Translational(i={"body": "ground", "at": (0, 5)}, j={"body": "load"}, force="-pull"))
    return model


def slotted() -> mbd.Model:
    """A bar and a bead held by a slot and a pin: which of their rows repeats others turns with the bar."""
    model = mbd.Model("slotted", gravity=(0, -G))
    model.add("bar", mbd.Body(mass=1, inertia=0.1, angle=-0.3))
    at = (0.5 * math.cos(0.3), -0.5 * math.sin(0.3))
    model.add("bead", mbd.Body(mass=1, inertia=0.1, position=at, angle=-0.3))
    model.add("hinge", Revolute(i=GROUND, j={"body": "bar"}))
    for name, joint in (("slot", Prismatic), ("pin", Revolute)):
        model.add(name, joint(i={"body": "bar", "at": (0.5, 0)}, j={"body": "bead"}))
    return model


def shipped(name: str) -> Callable[[], mbd.Model]:
    return lambda: mbd.models.load(name)


MODELS: dict[str, Callable[[], mbd.Model]] = {
    "hung": hung,
    "with_state": with_state,
    "looped": looped,
    "slotted": slotted,
    **{name: shipped(name) for name in ("pendulum", "ring", "stiff_double_pendulum", "bricard", "stewart")},
}


@pytest.mark.parametrize("name", MODELS)
def test_the_three_methods_agree(name: str) -> None:
    """To 1e-8 in every coordinate, quaternions and states included; planar, spatial, with a redundant row (bricard)."""
    first, *others = (MODELS[name]().equilibrium(method=method) for method in METHODS)
    for found in others:
        assert found.positions == pytest.approx(first.positions, abs=1e-8)
        assert found.states == pytest.approx(first.states, abs=1e-8)
        assert found.stable and found.residual < 1e-6
    assert [e.method for e in (first, *others)] == list(METHODS)


# ---------------------------------------------------------------- the slider-crank with four equilibria


@pytest.mark.parametrize("k", range(4))
def test_the_equations_find_what_is_near_and_say_whether_it_is_stable(k: int) -> None:
    q = references()[k]
    found = near(q, 0.02).equilibrium(method="equations")
    assert [found[name] for name in NAMES] == pytest.approx(q, abs=1e-11)  # the reference's digits
    assert found.stable is (k < 2)
    assert bool(found.notes) is (k >= 2)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("off", [0.0, 0.02, -0.02])
def test_the_energy_method_leaves_an_unstable_equilibrium(k: int, off: float) -> None:
    """Even where it starts right on it: the Hessian bends down, so the energy falls to one of the stable ones."""
    stable = references()[:2]
    found = near(references()[k], off).equilibrium(method="energy")
    turn = 2 * math.pi
    wanted = [q[2] % turn for q in stable]
    assert min(abs(found["crank.phi"] % turn - angle) for angle in wanted) < 1e-9
    assert found.stable


def test_the_least_energy_is_that_of_the_reference() -> None:
    found = slider_crank().equilibrium(method="energy")
    assert found["crank.phi"] == pytest.approx(4.280749107710, abs=1e-11)
    assert found["energy.potential"] == pytest.approx(-29.9847205266, abs=1e-9)


@pytest.mark.parametrize("make", [slider_crank, shipped("bricard"), shipped("double_wishbone"), shipped("ring")])
def test_the_gradient_is_that_of_the_energy(make: Any) -> None:
    """[Haug89] eq. 7.5.24 against central differences of the stored energy along the independent coordinates."""
    simulation = make().start()
    descent = _Descent(Standing(simulation._native, simulation._lowered), simulation._functions)
    point = descent._at(descent.standing.here, None)
    h = 1e-5  # error h^2: 1e-10 of the third derivative; rounding 1e-16/1e-5 of the energy

    def energy(step: np.ndarray) -> float:
        place = descent._moved(point, step)
        assert place is not None
        descent.standing.stand(place)
        names = list(simulation.names)
        return float(simulation._native.signals()[names.index("energy.potential")])

    steps = np.eye(point.part.free) * h
    found = [(energy(step) - energy(-step)) / (2 * h) for step in steps]
    scale = max(np.abs(point.gradient).max(), np.abs(point.hessian).max())
    assert found == pytest.approx(point.gradient, abs=1e-8 * scale)


# ---------------------------------------------------------------- bad places to begin, and what has no rest


def test_a_singular_start_is_left_along_the_forces() -> None:
    """The horizontal pendulum: no correction meets its equations, since nothing changes the moment of its weight."""
    found = mbd.models.load("pendulum").equilibrium(method="equations", parameters={"phi0": 0.0})
    assert math.sin(found["bar.phi"]) == pytest.approx(-1, abs=1e-12)


def test_a_singular_start_with_weights_in_hinges_is_left() -> None:
    """A mass on a drum, level with its shaft, in a tub on springs: the mass turns down once reactions carry weights."""
    model = mbd.Model("washer", gravity=(0, -G))
    model.add("tub", mbd.Body(mass=40, inertia=3))
    model.add("drum", mbd.Body(mass=20, inertia=1))
    model.add("load", mbd.Body(mass=2, inertia=0.01, position=(0.25, 0)))
    model.add("shaft", Revolute(i={"body": "tub"}, j={"body": "drum"}))
    model.add("stuck", Fixed(i={"body": "drum", "at": (0.25, 0)}, j={"body": "load"}))
    springs = {"stiffness": (1e4, 2e4), "torsional_stiffness": 500}
    model.add("mount", Bushing(i={"body": "ground"}, j={"body": "tub"}, **springs))
    found = model.equilibrium(method="equations")
    assert math.sin(found["drum.phi"]) == pytest.approx(-1, abs=1e-12) and found.stable
    assert found["tub.y"] == pytest.approx(-62 * G / 2e4, rel=1e-12)


def test_an_upright_pendulum_is_told_to_be_unstable_or_left() -> None:
    model = mbd.models.load("pendulum")
    above = model.equilibrium(method="equations", parameters={"phi0": math.pi / 2})
    assert above.stable is False and "not stable" in above.notes[0]
    below = model.equilibrium(method="energy", parameters={"phi0": math.pi / 2})
    assert math.sin(below["bar.phi"]) == pytest.approx(-1, abs=1e-12)
    assert "left an equilibrium that is not stable" in below.notes[0]


@pytest.mark.parametrize("method", ["equations", "energy"])
def test_free_fall_is_refused_by_name(method: str) -> None:
    model = mbd.Model("ball", gravity=(0, -G))
    model.add("ball", mbd.Body(mass=1, inertia=1, free=True))
    with pytest.raises(mbd.StepFailed, match=r"there is no rest: .*body 'ball' y"):
        model.equilibrium(method=method)


@pytest.mark.parametrize("method", ["equations", "energy"])
def test_a_soft_spring_may_be_far_away(method: str) -> None:
    found = hung(stiffness=0.5).equilibrium(method=method)
    assert found["load.y"] == pytest.approx(-1 - 2 * G / 0.5, rel=1e-12)


def test_states_that_act_have_no_potential() -> None:
    with pytest.raises(mbd.ModelError, match=r"forces depend on state 'actuator'.*method='settle'"):
        mbd.models.load("cart_pendulum").equilibrium(method="energy")


def test_forces_that_follow_a_body_have_no_potential() -> None:
    """A rocket on springs: the thrust turns with the body, so its work depends on the way."""
    model = mbd.Model("rocket", gravity=(0, -G))
    model.add("rocket", mbd.Body(mass=2, inertia=0.1, position=(0, 0), free=True))
    for x in (-1, 1):
        ends = {"i": {"body": "ground", "at": (x, 1)}, "j": {"body": "rocket", "at": (0.2 * x, 0.3)}}
        model.add(f"spring{x + 1}", Translational(stiffness=100, free_length=0.5, **ends))
    thrust = ("-12*sin(rocket.phi)", "12*cos(rocket.phi)")
    model.add("thrust", General(i=GROUND, j={"body": "rocket", "at": (0, -0.5)}, force=thrust, torque=0))
    with pytest.raises(mbd.ModelError, match=r"have no potential; not known to have one: force 'thrust'"):
        model.equilibrium(method="energy")
    settled, solved = (model.equilibrium(method=method) for method in ("settle", "equations"))
    assert solved.positions == pytest.approx(settled.positions, abs=1e-8)


def test_a_constant_load_has_a_potential_though_no_element_stores_it() -> None:
    model = hung()
    model.add("push", mbd.Input(unit="N"))
    model.add("hand", Translational(i={"body": "ground", "at": (0, 5)}, j={"body": "load"}, force="push"))
    found = model.equilibrium(method="energy", inputs={"push": 40.0})
    assert found["load.y"] == pytest.approx(-1 - (2 * G + 40) / 400, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_what_time_drives_stands_still(method: str) -> None:
    model = hung()
    model.add("wheel", mbd.Body(mass=1, inertia=1, position=(1, 0)))
    model.add("axle", Revolute(i={"body": "ground", "at": (1, 0)}, j={"body": "wheel"}))
    model.add("spin", mbd.Motion(of="wheel.phi", value="50", level="velocity"))
    found = model.equilibrium(method=method, assemble=True)
    assert found["wheel.phi"] == found["wheel.omega"] == 0
    assert found["load.y"] == pytest.approx(-1 - 2 * G / 400, rel=1e-12)


def test_a_servo_is_an_equation_and_no_potential() -> None:
    """A motion that closes an error: at rest the error is zero; the work of a servo depends on the way."""
    model = mbd.Model("servo", gravity=(0, -G))
    model.add("slide", mbd.Body(mass=1, inertia=1, position=(0, 0)))
    model.add("rail", Prismatic(i=GROUND, j={"body": "slide"}, axis=(1, 0)))
    model.add("drive", mbd.Motion(of="slide.x", value="2*(0.7 - slide.x)", level="velocity"))
    assert model.equilibrium(method="equations", assemble=True)["slide.x"] == pytest.approx(0.7, abs=1e-12)
    with pytest.raises(mbd.ModelError, match=r"motion 'drive'.* moves by a law of positions"):
        model.equilibrium(method="energy", assemble=True)


def test_an_impact_that_would_have_to_carry_is_told() -> None:
    model = mbd.Model("stop", gravity=(0, -G))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, 0)))
    model.add("line", PointOnLine(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    model.add("hold", Rotational(i=GROUND, j={"body": "load"}, stiffness=1))
    model.add(
        "spring", Translational(i={"body": "ground", "at": (0, 1)}, j={"body": "load"}, stiffness=10, free_length=1)
    )
    model.add("table", mbd.Impact(gap="load.y + 0.5", restitution=0.5))
    for method in METHODS:
        notes = model.equilibrium(method=method).notes
        assert any("impact 'table' is 1.46 m inside" in note for note in notes)


def test_simulations_start_from_any_of_them(tmp_path: Any) -> None:
    path = str(tmp_path / "rest.json")
    done = CliRunner().invoke(main, ["equilibrium", "pendulum", "--method", "energy", "-o", path])
    assert done.exit_code == 0 and "at rest after" in done.output
    result = mbd.models.load("pendulum").simulate(1.0, 0.1, start=mbd.Equilibrium.read(path))
    assert np.ptp(result["bar.phi"]) < 1e-9
    done = CliRunner().invoke(main, ["equilibrium", "pendulum", "--method", "enrgy"])
    assert done.exit_code == 2 and "did you mean 'energy'" in done.output


# ---------------------------------------------------------------- rows that repeat others


@pytest.mark.by_day(1)
@pytest.mark.parametrize("method", ["settle", "equations", "energy"])
def test_what_rests_with_rows_twice_rests_without_them(method: str, counts: Callable[..., int]) -> None:
    """Which of several rests is found depends on the way, and so on the rows; that it is one does not."""
    found = 0
    for seed in (4, 13, 41, *range(counts(60, fraction=0.1))):
        m = draw(seed)
        try:
            rest = with_a_spring(m, redundant=True).equilibrium(method=method)
        except mbd.StepFailed as failure:  # the equations need a start near to rest, the energy may have no bound
            known = {"equations": "begin nearer to rest", "energy": "the energy falls without end"}
            assert method in known and known[method] in str(failure), seed
            continue
        if rest.stable is False:  # a spring of no length pushes anywhere
            continue
        other = with_a_spring(m, redundant=False)
        hinges = [f"{first_hinge(m, redundant=redundant)[0]}.angle" for redundant in (True, False)]
        turns = dict.fromkeys(other.equilibrium().turns, 0.0)
        if hinges[1] in turns:
            equal = turns if m.name == "three_cranks" else hinges[1:]  # gears hold all cranks at one angle
            turns |= dict.fromkeys(equal, rest.turns[hinges[0]])
        simulation = other.start(start=replace(rest, turns=turns))
        still = [name for name in simulation.names if name.split(".")[0] in m.bodies and ".a" in name]
        assert still and max(abs(simulation[name]) for name in still) < 1e-7, seed
        found += 1
    assert found > 2


# ---------------------------------------------------------------- neutral equilibria


def lying_ball() -> mbd.Model:
    model = mbd.Model("ball", dimensions=3, gravity=(0, 0, -9.81))
    model.add("ball", mbd.Body(mass=1, inertia=(0.1, 0.1, 0.1), position=(0, 0, 0.1), free=True))
    law = {"radius": 0.1, "stiffness": 1e6, "normal": "linear", "damping": 1e3}
    model.add("rests", SpherePlane(i={"body": "ground"}, j={"body": "ball"}, **law))
    return model


def door() -> mbd.Model:
    """A pendulum about a vertical axis."""
    model = mbd.Model("door", dimensions=3, gravity=(0, 0, -9.81))
    model.add("leaf", mbd.Body(mass=1, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0)))
    model.add("hinge", Revolute(i={"body": "ground"}, j={"body": "leaf", "at": (-1, 0, 0)}))
    return model


NEUTRAL = [
    (lying_ball, [f"body 'ball' {k}" for k in ("x", "y", "theta_x", "theta_y", "theta_z")]),
    (door, ["body 'leaf' theta_z"]),
    (lambda: mbd.models.load("pendulum"), []),
]


@pytest.mark.parametrize("method", ["settle", "equations", "energy"])
@pytest.mark.parametrize(("model", "along"), NEUTRAL)
def test_directions_in_which_a_rest_is_neutral_are_named(model, along: list[str], method: str, tmp_path: Path) -> None:
    """A small push along them is not returned; it was told that every push is."""
    rest = model().equilibrium(method=method)
    assert rest.stable and list(rest.neutral) == along
    rest.write(tmp_path / "rest.json")
    assert mbd.Equilibrium.read(tmp_path / "rest.json").neutral == rest.neutral


def test_the_command_line_says_that_a_rest_is_neutral(tmp_path: Path) -> None:
    door().save(tmp_path / "door.json")
    told = CliRunner().invoke(main, ["equilibrium", str(tmp_path / "door.json")], prog_name="mbdfmu").output
    assert "neutral: a small push along body 'leaf' theta_z is neither returned nor grows" in told
    assert "a small push is returned" not in told
