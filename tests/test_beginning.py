"""What is odd about the forces and steps with which a run begins is told in its notes."""

import pytest

import mbdfmu as mbd
from mbdfmu.forces import Friction, SpherePlane
from mbdfmu.joints import Prismatic

GROUND = {"body": "ground"}
RADIUS = 0.1


def sliding(coefficient: float | str = 0.2, plane: bool = False) -> mbd.Model:
    """A block that slides on bristles at 1 m/s from the start."""
    model = mbd.Model("sliding", dimensions=3 if plane else 2)
    model.add("mu", 0.2)
    law = {"normal_force": 10, "law": "lugre", "coefficient": coefficient}
    if plane:
        model.add("block", mbd.Body(mass=1, inertia=(1, 1, 1), velocity=(1, 0, 0), free=True))
        model.add("rub", Friction(i=GROUND, j={"body": "block"}, plane=(0, 0, 1), **law))
    else:
        model.add("block", mbd.Body(mass=1, inertia=1, position=(0, 0), velocity=(1, 0)))
        model.add("rail", Prismatic(i=GROUND, j={"body": "block"}, axis=(1, 0)))
        model.add("rub", Friction(i=GROUND, j={"body": "block"}, **law))
    return model


@pytest.mark.parametrize("coefficient", [0.2, "mu"])
def test_bristles_that_do_not_fit_the_slip_are_told_with_their_cure(coefficient: float | str) -> None:
    """The damping of straight bristles is 250 times the friction of sliding."""
    result = sliding(coefficient).simulate(0.2, 0.1)
    (note,) = result.notes
    assert "friction 'rub' begins at 1 m/s with straight bristles, and a force of 500 N" in note
    assert note.endswith("where sliding allows 2 N: give rub.bristle the start 0.2")


def test_the_cure_for_bristles_holds() -> None:
    result = sliding().simulate(0.2, 0.1, start={"rub.bristle": 0.2})
    assert not result.notes
    assert abs(result["rub.friction"]).max() == pytest.approx(2, rel=1e-6)


def test_a_shipped_belt_that_starts_is_not_told() -> None:
    """Its bristles give five times the friction for less than a millisecond."""
    assert not mbd.models.load("stick_slip").start().notes


def test_bristles_on_a_plane_are_told_too() -> None:
    (note,) = sliding(plane=True).simulate(0.01, 0.01).notes
    assert "a force of 500 N where sliding allows 2 N: give rub.bristle_1, .. a start" in note


def falling(inside: float, stiffness: float = 1e6) -> mbd.Model:
    model = mbd.Model("falling", gravity=(0, -9.81), length=1.0)
    model.add("ball", mbd.Body(mass=1, inertia=0.1, position=(0, RADIUS - inside), free=True))
    model.add("table", SpherePlane(i=GROUND, j={"body": "ball"}, radius=RADIUS, stiffness=stiffness))
    return model


@pytest.mark.parametrize(("inside", "stiffness"), [(0.06, 1e3), (0.02, 1e7)])
def test_a_contact_that_begins_deep_or_hard_is_told(inside: float, stiffness: float) -> None:
    """Deep against the model, or with a force that throws the ball away."""
    (note,) = falling(inside, stiffness).simulate(1e-3, 1e-3).notes
    force = stiffness * inside**1.5
    assert f"contact 'table' begins {inside:g} m inside with a force of {force:.3g} N" in note
    assert f"throws bodies apart at {force - 9.81:.3g} m/s2" in note


def test_a_contact_that_carries_its_weight_is_not_told() -> None:
    """Soft as it is, from the equilibrium nothing is thrown."""
    soft = falling(0.0, stiffness=500.0)
    rest = soft.equilibrium()
    assert rest["table.gap"] < -0.05
    assert not soft.simulate(0.1, 0.1, start=rest).notes
    assert not falling(1e-4).simulate(0.1, 0.1).notes


@pytest.mark.parametrize(
    ("step", "interval", "taken"), [(0.03, 0.1, 0.025), (0.5, 0.1, 0.1), (0.02, 0.1, None), (0.1 / 3, 0.1, None)]
)
def test_a_fixed_step_that_is_not_the_given_one_is_told(step: float, interval: float, taken: float | None) -> None:
    result = mbd.models.load("pendulum").simulate(0.4, interval, step=step)
    told = [note for note in result.notes if "fixed steps" in note]
    assert len(told) == (taken is not None)
    if taken is not None:
        assert told[0].startswith(f"fixed steps of {taken:g} s are taken, not {step:g} s: outputs are {interval:g} s")
        assert result.statistics["steps"] == pytest.approx(0.4 / taken)
