"""Energy and power of the whole model: exact rates, a balance that closes for every shipped model, and its sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.forces import Rotational, SpherePlane, Translational
from mbdfmu.joints import Prismatic, Revolute, Spherical

GROUND = {"body": "ground"}
TERMS = ("energy.kinetic", "energy.potential", "power.applied", "power.drives", "power.balance")


def shipped(name: str) -> mbd.Model:
    return mbd.models.load(name)


def summed(model: mbd.Model) -> mbd.Model:
    """The same with the power summed up."""
    data = {**model.description.to_data(), "energy_balance": True}
    return mbd.Model.from_description(mbd.Description(**data))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", mbd.models.names())
def test_the_power_balance_of_a_shipped_model_closes(name: str) -> None:
    """To rounding of the powers that make it up."""
    result = shipped(name).simulate(0.3, 0.05, tolerance=1e-4)
    parts = [np.abs(result[name]).max() for name in ("power.applied", "power.drives", "energy.kinetic")]
    assert np.abs(result["power.balance"]).max() < 1e-10 * max(1.0, *parts)
    total = result["energy.kinetic"] + result["energy.potential"]
    assert result["energy.total"] == pytest.approx(total, rel=1e-14)


def driven(**motion: Any) -> mbd.Model:
    """A trolley that is moved, with a pendulum and a damper on it."""
    model = mbd.Model("driven", gravity=(0, -9.81))
    model.add("trolley", mbd.Body(mass=3, inertia=1))
    model.add("bob", mbd.Body(mass=1, inertia=0.1, position=(0.3, -0.4)))
    model.add("rail", Prismatic(i=GROUND, j={"body": "trolley"}, axis=(1, 0)))
    model.add("pin", Revolute(i={"body": "trolley"}, j={"body": "bob", "at": (-0.3, 0.4)}))
    model.add("rub", Rotational(i={"body": "trolley"}, j={"body": "bob"}, damping=0.2))
    model.add("drive", mbd.Motion(of="trolley.x", unit="m", **motion))
    return model


LAWS = {
    "position": "0.1*sin(5*time)",
    "velocity": "0.5*cos(5*time) - 0.3*trolley.x",
    "acceleration": "-2.5*sin(5*time) - trolley.vx",
}


@pytest.mark.parametrize(("level", "law"), LAWS.items())
def test_what_drives_give_is_their_force_times_their_speed(level: str, law: str) -> None:
    result = driven(level=level, value=law).simulate(1.0, 0.02, assemble=True)
    given = result["drive.reaction.force"] * result["trolley.vx"]
    assert result["power.drives"] == pytest.approx(given, abs=1e-11)
    assert result["power.applied"] == pytest.approx(-0.2 * result["bob.omega"] ** 2, abs=1e-11)
    assert np.abs(result["power.balance"]).max() < 1e-11
    assert np.ptp(result["energy.total"]) > 0.1


def test_an_end_that_time_moves_does_work_from_outside() -> None:
    """The spring's own energy counts; what its moving foot gives is applied."""
    model = mbd.Model("shaken", gravity=(0, -9.81))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, 1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    foot = {"body": "ground", "at": (0, "0.1*sin(10*time)")}
    model.add("strut", Translational(i=foot, j={"body": "load"}, stiffness=400, damping=3, free_length=1))
    result = model.simulate(1.0, 0.02)
    given = result["strut.force"] * np.cos(10 * result.time)  # by the foot, on the strut
    lost = 3 * result["strut.length_rate"] ** 2
    assert result["power.applied"] == pytest.approx(given - lost, abs=1e-9)
    assert np.abs(result["power.balance"]).max() < 1e-10


def test_an_end_that_an_input_moves_does_work_from_outside() -> None:
    model = mbd.Model("pulled", gravity=(0, -9.81))
    model.add("pull", mbd.Input(unit="m"))
    model.add("load", mbd.Body(mass=2, inertia=0.1, position=(0, 1)))
    model.add("guide", Prismatic(i=GROUND, j={"body": "load"}, axis=(0, 1)))
    foot = {"body": "ground", "at": (0, "pull")}
    model.add("strut", Translational(i=foot, j={"body": "load"}, stiffness=400, free_length=1))
    result = model.simulate(1.0, 0.02, inputs={"pull": ([0, 1], [0, -0.2])})
    assert result["power.applied"] == pytest.approx(result["strut.force"] * -0.2, abs=1e-9)
    assert np.abs(result["power.balance"]).max() < 1e-10


@pytest.mark.parametrize("terms", ["derived", "given"])
def test_user_written_coordinates_balance_however_they_are_written(terms: str) -> None:
    """A pendulum of changing length in polar coordinates; its forces may hold the velocity terms."""
    swirl = {"derived": ("0", "0"), "given": ("-2*m*r*der(r)*der(phi)", "m*r*der(phi)^2")}[terms]
    model = mbd.Model("polar", velocity_terms=terms)
    model.add("m", 2.0)
    model.add("phi", mbd.Coordinate(start=0.5, velocity=1.0, force=f"-m*9.81*r*sin(phi) + {swirl[0]}"))
    model.add("r", mbd.Coordinate(start=1.0, unit="m", force=f"m*9.81*cos(phi) - 300*(r - 1) + {swirl[1]}"))
    model.add_mass("phi", "m*r^2")
    model.add_mass("r", "m")
    result = model.simulate(2.0, 0.05)
    pulls = -2 * 9.81 * result["r"] * np.sin(result["phi"]) * result["der(phi)"]
    pulls = pulls + (2 * 9.81 * np.cos(result["phi"]) - 300 * (result["r"] - 1)) * result["der(r)"]
    assert result["power.applied"] == pytest.approx(pulls, abs=1e-10)
    assert np.abs(result["power.balance"]).max() < 1e-10


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_rate_of_a_body_is_that_of_its_energies(dimensions: int) -> None:
    """The short formula against differentiation of the energies (a - g and gyroscopic terms included)."""
    spatial = dimensions == 3
    gravity = (1.0, -2.0, 9.0)[:dimensions]
    inertia = (0.3, 0.4, 0.5, 0.02, -0.01, 0.03) if spatial else 0.3
    extra = {"center": (0.1, -0.2, 0.05)} if spatial else {}
    model = mbd.Model("body", dimensions=dimensions, gravity=gravity)
    model.add("brick", mbd.Body(mass=2, inertia=inertia, free=True, velocity=(1, 2, 3)[:dimensions], **extra))
    hold = Spherical if spatial else Revolute
    model.add("pin", hold(i=GROUND, j={"body": "brick", "at": (0.5, 0, 0)[:dimensions]}))
    symbolic = model.symbolic
    total = symbolic.signals["energy.total"].node
    model.add("change", "power.balance + power.applied + power.drives")
    lowered = model.symbolic.signals["change"].node
    assert {s.value for s in symbolic.rate(total).support} >= {s.value for s in lowered.support if s.value[0] == "a"}
    result = model.simulate(0.5, 0.01, assemble=True, tolerance=1e-9)
    assert result["change"] == pytest.approx(0, abs=1e-10)
    assert np.ptp(result["energy.total"]) < 1e-4


# ---------------------------------------------------------------- summed up


@pytest.mark.parametrize("name", ["double_wishbone", "stewart", "crane", "stiff_double_pendulum", "cart_pendulum"])
def test_what_is_supplied_and_what_there_is_differ_by_a_constant(name: str) -> None:
    """By the error of the scheme: it falls with the tolerance to the power 2/3, 4.6 times for ten."""
    model = summed(shipped(name))
    changes = []
    for tolerance in (1e-5, 1e-7):
        result = model.simulate(0.5, 0.05, tolerance=tolerance)
        changes.append(np.ptp(result["energy.balance"]))
        assert np.ptp(result["energy.total"]) > 10 * changes[-1]
    assert changes[1] < changes[0] / 8


def test_the_sum_changes_no_step() -> None:
    plain, with_sum = shipped("double_wishbone").simulate(0.3), summed(shipped("double_wishbone")).simulate(0.3)
    assert with_sum.statistics["steps"] == plain.statistics["steps"]
    assert with_sum["travel"] == pytest.approx(plain["travel"], abs=1e-9)


def test_impacts_take_energy_that_the_balance_shows() -> None:
    result = summed(shipped("bouncing_ball")).simulate(2.0, 0.01)
    assert np.abs(result["power.balance"]).max() < 1e-10
    assert result["energy.balance"] == pytest.approx(result["energy.total"], abs=1e-12)


@pytest.mark.parametrize("normal", ["linear", "hertz", "hunt_crossley"])
def test_a_contact_that_is_still_open_is_summed_up(normal: str) -> None:
    """What it stores has two finite derivatives where nothing touches; elastic ones keep all there is."""
    model = mbd.Model("falling", gravity=(0, -9.81), energy_balance=True)
    model.add("ball", mbd.Body(mass=0.5, inertia=0.001, position=(0, 0.3)))
    model.add("pad", SpherePlane(i=GROUND, j={"body": "ball"}, radius=0.1, stiffness=1e5, normal=normal, locate=True))
    result = model.simulate(0.5, 0.002, tolerance=1e-8)
    assert result["pad.force"].max() > 50
    assert np.ptp(result["energy.supplied"]) < 1e-9
    assert np.ptp(result["energy.balance"]) < 1e-3


def test_nothing_is_summed_up_unasked() -> None:
    assert "energy.supplied" not in shipped("pendulum").symbolic.signals
    assert set(TERMS) <= set(shipped("pendulum").symbolic.signals)


def test_an_element_with_the_name_of_a_whole_is_named() -> None:
    part = mbd.Model("part")
    part.add("bar", mbd.Body(mass=1, inertia=1, free=True))
    part.add("applied", "bar.x")
    model = mbd.Model("whole")
    model.add("power", mbd.Submodel(model=part.description))
    with pytest.raises(mbd.ModelError, match=r"outputs.applied has the name of a signal of the whole model"):
        model.simulate(0.1)


# ---------------------------------------------------------------- forces by expressions


def pulled(force: dict[str, Any], dimensions: int = 2) -> mbd.Model:
    """A free body that a force by an expression ties to the ground."""
    deep = dimensions == 3
    body = {"mass": 1, "inertia": [0.1, 0.2, 0.3] if deep else 0.1, "free": True,
            "position": [1.0, 0.5, 0.2] if deep else [1.0, 0.5],
            "velocity": [0, 1, 0.3] if deep else [0, 1], "omega": [0, 0, 2.0] if deep else 2.0}  # fmt: skip
    data = {"format_version": 1, "name": "pulled", "dimensions": dimensions, "parameters": {"k": 30.0}}
    forces = {"s": {"i": GROUND, "j": {"body": "b"}, **force}}
    return mbd.Model.from_description(mbd.Description(**data, bodies={"b": body}, forces=forces))


STORED = [
    ({"type": "translational", "force": "-k*(s.length - 0.5)"}, 2),
    ({"type": "translational", "force": "-k*(s.length - 0.5)^3 + 2*s.length"}, 3),
    ({"type": "translational", "stiffness": 10, "force": "-k*s.length^5", "axis": [1, 0]}, 2),
    ({"type": "rotational", "torque": "-k*s.angle^3 - s.angle/4"}, 2),
    ({"type": "single", "force": "-k*sqrt(b.x^2 + b.y^2)"}, 2),
]


@pytest.mark.parametrize(("force", "dimensions"), STORED)
def test_a_force_by_a_polynomial_of_its_measure_has_a_potential(force: dict[str, Any], dimensions: int) -> None:
    result = pulled(force, dimensions).simulate(1.0, 0.02, tolerance=1e-9)
    moving = result["energy.kinetic"]
    assert np.ptp(moving) > 0.1
    np.testing.assert_allclose(result["energy.total"], result["energy.total"][0], atol=1e-4)
    assert np.abs(result["power.applied"]).max() < 1e-9 and np.abs(result["power.balance"]).max() < 1e-9
    assert "'s'" not in pulled(force, dimensions).symbolic.signals["energy.potential"].text


def test_what_a_force_gives_beside_its_potential_is_applied() -> None:
    """A damper in the expression takes what is lost; a constant force does work from outside."""
    damped = pulled({"type": "translational", "force": "-k*s.length - 0.5*s.length_rate"})
    result = damped.simulate(1.0, 0.02, tolerance=1e-9)
    assert result["power.applied"] == pytest.approx(-0.5 * result["s.length_rate"] ** 2, abs=1e-9)
    steady = pulled({"type": "translational", "force": "5"}).simulate(0.1, 0.02)
    assert result["energy.potential"][0] == pytest.approx(15 * result["s.length"][0] ** 2)
    assert np.all(steady["energy.potential"] == 0)
    assert steady["power.applied"] == pytest.approx(5 * steady["s.length_rate"], abs=1e-12)


@pytest.mark.parametrize(
    "force",
    [
        {"type": "translational", "force": "-k*abs(s.length - 0.7)"},
        {"type": "translational", "force": "-k*s.length*time"},
        {"type": "translational", "force": "-k*sin(3*s.length)"},
        {"type": "vector", "force": ["-k*b.x", 0]},
        {"type": "general", "force": [0, 0], "torque": "-k*b.phi"},
        {"type": "bushing", "force": [0, "-k*b.y"]},
    ],
)
def test_what_cannot_be_counted_is_named(force: dict[str, Any]) -> None:
    model = pulled(force)
    text = model.symbolic.signals["energy.potential"].text
    assert text.endswith("known potential, nor has what is given by expressions of places in 's'")
    assert np.abs(model.simulate(0.2, 0.02)["power.balance"]).max() < 1e-9
