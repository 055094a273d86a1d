"""Rows that repeat others, exactly or but for rounded numbers: the motion goes on, contradictions are named."""

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.forces import Translational
from mbdfmu.joints import Prismatic, Revolute

GROUND = {"body": "ground"}


def rails(misfit: float) -> mbd.Model:
    """A body on two parallel rails, the second off by the misfit."""
    model = mbd.Model("rails", gravity=(0, -9.81), length=1)
    model.add("car", mbd.Body(mass=1, inertia=0.1))
    model.add("rail", Prismatic(i=GROUND, j={"body": "car"}, axis=(1, 1)))
    ends = {"i": {"body": "ground", "at": (0, 1 + misfit)}, "j": {"body": "car", "at": (0, 1)}}
    model.add("other", Prismatic(**ends, axis=(1, 1)))
    return model


def four_bar(tilt: float) -> mbd.Model:
    """A planar four-bar in space, three rows of which repeat others; one axis tilted."""
    model = mbd.Model("four_bar", dimensions=3, gravity=(0, -9.81, 0))
    for name, place in (("left", (0, 0.5, 0)), ("top", (0.5, 1, 0)), ("right", (1, 0.5, 0))):
        model.add(name, mbd.Body(mass=1, inertia=(0.1, 0.1, 0.1), position=place))
    model.add("foot", Revolute(i=GROUND, j={"body": "left", "at": (0, -0.5, 0)}))
    model.add("corner", Revolute(i={"body": "left", "at": (0, 0.5, 0)}, j={"body": "top", "at": (-0.5, 0, 0)}))
    model.add("other_corner", Revolute(i={"body": "top", "at": (0.5, 0, 0)}, j={"body": "right", "at": (0, 0.5, 0)}))
    tilted = {"body": "right", "at": (0, -0.5, 0), "orientation": {"axis": [1, 0, 0], "angle": tilt}}
    model.add("other_foot", Revolute(i=tilted, j={"body": "ground", "at": (1, 0, 0)}))
    return model


@pytest.mark.parametrize("misfit", [0, 1e-14, 1e-13, 1e-11, 1e-9, 1e-7])
def test_rounded_numbers_in_repeating_joints_do_no_harm(misfit: float) -> None:
    assert rails(misfit).simulate(1, 0.1)["car.x"][-1] == pytest.approx(-9.81 / 4, rel=1e-9)


@pytest.mark.parametrize("tilt", [0, 1e-13, 1e-10, 1e-8])
def test_rounded_axes_leave_a_mechanism_its_freedom(tilt: float) -> None:
    simulation = four_bar(tilt).start(start={"left.omega_z": 1.0})
    assert len(simulation.redundancies) == 3
    simulation.advance(1.0)
    turned = four_bar(0).start(start={"left.omega_z": 1.0})
    turned.advance(1.0)
    assert simulation["foot.angle"] == pytest.approx(turned["foot.angle"], abs=1e-5 + 1e3 * tilt)


def test_repeating_joints_that_do_not_fit_are_named() -> None:
    with pytest.raises(mbd.StepFailed, match=r"hold the same do not fit each other; worst: joint '\w+' .*correct"):
        four_bar(1e-2).start(assemble=True)


def test_law_that_reads_a_reaction_that_is_not_unique_is_noted() -> None:
    model = rails(0)
    model.add(
        "drag", Translational(i={"body": "ground", "at": (9, 9)}, j={"body": "car"}, force="0.1*rail.reaction.normal")
    )
    assert any(note.startswith("force 'drag' depends on reactions") for note in model.start().notes)


@pytest.mark.parametrize(("level", "value"), [("velocity", "1 + time"), ("acceleration", "3")])
def test_drives_that_contradict_each_other_are_named(level: str, value: str) -> None:
    model = mbd.Model("drives", dimensions=3)
    model.add("arm", mbd.Body(mass=1, inertia=(1, 1, 1)))
    model.add("hinge", Revolute(i=GROUND, j={"body": "arm"}))
    model.add("one", mbd.Motion(of="hinge.angle", value="time"))
    model.add("two", mbd.Motion(of="hinge.angle", value=value, level=level))
    with pytest.raises(mbd.StepFailed, match=r"'two' .* asks for another rate"):
        model.simulate(1, 0.1, assemble=True)


def flat() -> mbd.Model:
    """A parallelogram that starts stretched: one row repeats others there, and nowhere else."""
    model = mbd.Model("flat", gravity=(0, -9.81))
    for name, x in (("left", 0.5), ("right", 1.5)):
        model.add(name, mbd.Body(mass=1, inertia=0.1, position=(x, 0), velocity=(0, 1.5), omega=3))
    model.add("top", mbd.Body(mass=1, inertia=0.1, position=(1.5, 0), velocity=(0, 3)))
    model.add("foot", Revolute(i=GROUND, j={"body": "left", "at": (-0.5, 0)}))
    model.add("corner", Revolute(i={"body": "left", "at": (0.5, 0)}, j={"body": "top", "at": (-0.5, 0)}))
    model.add("other_corner", Revolute(i={"body": "top", "at": (0.5, 0)}, j={"body": "right", "at": (0.5, 0)}))
    model.add("other_foot", Revolute(i={"body": "right", "at": (-0.5, 0)}, j={"body": "ground", "at": (1, 0)}))
    return model


@pytest.mark.parametrize("settings", [{}, {"step": 1e-3}])
def test_motion_goes_on_from_a_singular_start(settings: dict) -> None:
    simulation = flat().start(**settings)
    assert len(simulation.redundancies) == 1
    simulation.advance(1.0)
    assert simulation.redundancies == []
    assert simulation["right.phi"] == pytest.approx(simulation["left.phi"], abs=1e-9)
    assert simulation["left.phi"] == pytest.approx(-2.231, abs=1e-3)
    assert simulation["top.phi"] == pytest.approx(0, abs=1e-9)


def test_restored_run_goes_on_bit_by_bit_across_a_new_choice_of_rows() -> None:
    simulation = flat().start()
    saved, found = simulation.save(), simulation.redundancies
    simulation.advance(0.5)
    first = simulation.values().copy()
    simulation.restore(saved)
    assert simulation.redundancies == found != []
    simulation.advance(0.5)
    assert np.array_equal(first, simulation.values())


# IFToMM benchmark A02: end of the first bar after 10 s, integrated in quadruple precision.
FOUR_BARS = {2: (0.3284581115408154, 0.944518538178601), 40: (0.1805122266867284, 0.9835727405823116)}


@pytest.mark.parametrize("step", [1e-3, 5e-4, 2.5e-4])
@pytest.mark.parametrize("count", FOUR_BARS)
def test_four_bars_pass_their_singular_pose_on_their_branch(count: int, step: float) -> None:
    simulation = mbd.models.load("four_bar", N=count).start(step=step)
    simulation.advance(10)
    angle = simulation["crank0.phi"]
    assert (np.cos(angle), np.sin(angle)) == pytest.approx(FOUR_BARS[count], abs=2e-4)
