"""What a user gets wrong at the start is named: joints that do not close, repeated constraints, impossible values."""

import re

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.forces import Rotational
from mbdfmu.joints import Distance, Fixed, PointOnLine, Prismatic, Revolute

GROUND = {"body": "ground"}


def four_bar(*, gap: float = 0.0, speed: float = 0.0) -> mbd.Model:
    """A square of three bars; `gap` lifts the coupler off its hinges, `speed` moves one bar alone."""
    model = mbd.Model("square", gravity=(0, -9.81))
    model.add("left", mbd.Body(mass=1, inertia=0.1, position=(0, 0.5), angle="90*deg", velocity=(speed, 0)))
    model.add("top", mbd.Body(mass=1, inertia=0.1, position=(0.5, 1 + gap)))
    model.add("right", mbd.Body(mass=1, inertia=0.1, position=(1, 0.5), angle="90*deg"))
    model.add("foot", Revolute(i=GROUND, j={"body": "left", "at": (-0.5, 0)}))
    model.add("corner", Revolute(i={"body": "left", "at": (0.5, 0)}, j={"body": "top", "at": (-0.5, 0)}))
    model.add("other_corner", Revolute(i={"body": "top", "at": (0.5, 0)}, j={"body": "right", "at": (0.5, 0)}))
    model.add("other_foot", Revolute(i={"body": "right", "at": (-0.5, 0)}, j={"body": "ground", "at": (1, 0)}))
    return model


def test_gap_is_refused_naming_the_joint() -> None:
    named = r"joint '(corner|other_corner)' \(y\) is off by 0\.001 m; .*assemble=True"
    with pytest.raises(mbd.ModelError, match=named):
        four_bar(gap=1e-3).simulate(0.01)


def test_gap_is_closed_if_asked() -> None:
    result = four_bar(gap=1e-3).simulate(0.01, assemble=True)
    assert result.statistics["worst_position_violation"] < 1e-9


def test_speed_against_a_joint_is_refused_naming_it() -> None:
    with pytest.raises(mbd.ModelError, match=r"joint 'foot' \(x\) opens with 1 m/s"):
        four_bar(speed=1.0).simulate(0.01)


def test_given_start_values_are_kept_and_the_rest_follows() -> None:
    simulation = four_bar().start(start={"left.phi": 1.4, "left.omega": -2.0})
    assert simulation["left.phi"] == pytest.approx(1.4, abs=1e-12)
    assert simulation["left.omega"] == pytest.approx(-2.0, abs=1e-12)
    assert simulation["right.phi"] == pytest.approx(1.4, abs=1e-9)  # a parallelogram
    assert simulation["right.omega"] == pytest.approx(-2.0, abs=1e-9)


def test_contradicting_start_values_are_named() -> None:
    with pytest.raises(mbd.ModelError, match="body 'left' phi, body 'right' phi cannot all be kept"):
        four_bar().start(start={"left.phi": 1.4, "right.phi": 1.2})


def test_impossible_assembly_names_the_worst_joint() -> None:
    model = mbd.Model("short", length=1.0)
    model.add("bar", mbd.Body(mass=1, inertia=1, position=(0.5, 0)))
    model.add("foot", Revolute(i=GROUND, j={"body": "bar", "at": (-0.5, 0)}))
    model.add("far", Distance(i={"body": "ground", "at": (9, 0)}, j={"body": "bar", "at": (0.5, 0)}, length=1))
    with pytest.raises((mbd.StepFailed, mbd.ModelError), match=r"joint '(far|foot)'"):
        model.start(assemble=True)


@pytest.mark.parametrize(
    ("name", "extra", "direction"),
    [
        ("rod", Distance(i=GROUND, j={"body": "left", "at": (0.5, 0)}, length=1), "length"),
        ("slot", PointOnLine(i=GROUND, j={"body": "left", "at": (-0.5, 0)}), "normal"),
        ("twin", Revolute(i=GROUND, j={"body": "left", "at": (-0.5, 0)}), "[xy]"),
    ],
)
def test_redundant_constraints_are_named_and_left_out_of_the_motion(
    name: str, extra: mbd.Model, direction: str
) -> None:
    model = four_bar()
    model.add(name, extra)
    simulation = model.start(start={"left.omega": 1.0})
    found = simulation.redundancies
    assert all(re.match(rf"joint '{name}' \({direction}\)", row.label) for row in found)
    assert found[0].repeats and set(found[0].repeats) <= set(model.compile().constraint_labels)
    alone = four_bar().start(start={"left.omega": 1.0})
    for sim in (simulation, alone):
        sim.advance(0.5)
    assert simulation["left.phi"] == pytest.approx(alone["left.phi"], abs=1e-6)


def test_reactions_of_redundant_joints_are_the_smallest() -> None:
    model = four_bar()
    model.add("twin", Revolute(i=GROUND, j={"body": "left", "at": (-0.5, 0)}))
    simulation, alone = model.start(start={"left.omega": 1.0}), four_bar().start(start={"left.omega": 1.0})
    for axis in "xy":  # two equal hinges share the load alike
        assert simulation[f"foot.reaction.{axis}"] == pytest.approx(alone[f"foot.reaction.{axis}"] / 2, abs=1e-9)
        assert simulation[f"twin.reaction.{axis}"] == pytest.approx(alone[f"foot.reaction.{axis}"] / 2, abs=1e-9)


@pytest.mark.parametrize("settings", [{}, {"step": 1e-3}])
def test_dead_point_is_named(settings: dict) -> None:
    """A slider pulled farther than crank and rod reach."""
    model = mbd.Model("toggle")
    start, rod = np.radians(60), 2.0
    low = np.arcsin(np.sin(start) / rod)
    reach = np.cos(start) + rod * np.cos(low)
    model.add("crank", mbd.Body(mass=1, inertia=0.1, position=(np.cos(start) / 2, np.sin(start) / 2), angle=start))
    place = (np.cos(start) + np.cos(low), np.sin(start) - np.sin(low))
    model.add("rod", mbd.Body(mass=1, inertia=0.1, position=place, angle=-low))
    model.add("slider", mbd.Body(mass=1, inertia=0.1, position=(reach, 0)))
    model.add("foot", Revolute(i=GROUND, j={"body": "crank", "at": (-0.5, 0)}))
    model.add("knee", Revolute(i={"body": "crank", "at": (0.5, 0)}, j={"body": "rod", "at": (-1, 0)}))
    model.add("pin", Revolute(i={"body": "rod", "at": (1, 0)}, j={"body": "slider"}))
    model.add("rail", Prismatic(i=GROUND, j={"body": "slider"}))
    model.add("drive", mbd.Motion(of="rail.displacement", value=f"{reach} + 0.3*time"))
    with pytest.raises(mbd.StepFailed, match=r"dead point at .*'drive' .*, t = 2\.32"):
        model.simulate(3, 0.1, assemble=True, **settings)


def test_mass_that_a_parameter_makes_negative_is_named() -> None:
    model = mbd.Model("light")
    model.add("m", 1.0)
    model.add("ball", mbd.Body(mass="m - 2", inertia=1, free=True))
    with pytest.raises(mbd.ModelError, match="body 'ball': mass must be positive, found -1"):
        model.start()


def test_computed_parameter_says_what_to_set() -> None:
    model = mbd.models.load("pendulum")
    with pytest.raises(mbd.ModelError, match=r"'bar\.phi\.start' is computed from phi0; set that instead"):
        model.start(parameters={"bar.phi.start": 0.1})


def test_start_value_overrides_what_the_model_computes() -> None:
    simulation = mbd.models.load("pendulum").start(start={"bar.phi": 0.1})
    assert simulation["bar.phi"] == pytest.approx(0.1, abs=1e-12)
    assert simulation["bar.x"] == pytest.approx(np.cos(0.1) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"parameters": {"lenght": 2.0}}, "no parameter is called 'lenght'; did you mean 'length'"),
        ({"parameters": {"length": -2.0}}, r"'length' must lie in \[0.001, inf\], found -2"),
        ({"parameters": {"length": float("nan")}}, "'length' must be a finite number"),
        ({"tolerance": -1}, "tolerance must be a positive number, found -1"),
        ({"step": 0}, "step must be a positive number, found 0"),
        ({"options": {"alfa": 0}}, "no option 'alfa'; did you mean 'alpha'"),
        ({"options": {"alpha": 0.5}}, r"option alpha must lie in \[-0.333333, 0\], found 0.5"),
        (
            {"scheme": "baumgarte", "options": {"alpha": float("inf")}},
            "option alpha must be a finite number from 0 on, found inf",
        ),
        ({"options": {"form": "new"}}, "option form must be one of corrected, printed, found 'new'"),
        ({"scheme": "hhtt"}, "unknown scheme type 'hhtt'; did you mean 'hht'"),
    ],
)
def test_wrong_settings(call: dict, message: str) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        mbd.models.load("pendulum").start(**call)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("2*(3+", r"\^"),
        ("1e5*pahse", "nothing is called 'pahse'"),
        ("sine(time)", "did you mean 'sin'"),
        ("bar.fi", "nothing is called 'bar.fi'; did you mean 'bar.phi'"),
    ],
)
def test_wrong_expressions_show_the_place(expression: str, message: str) -> None:
    with pytest.raises(mbd.ModelError, match=message) as caught:
        model = mbd.Model("wrong")
        model.add("bar", mbd.Body(mass=1, inertia=1))
        model.add("motor", Rotational(i=GROUND, j={"body": "bar"}, torque=expression))
        model.start()
    assert "^" in str(caught.value)


def test_constraint_on_inputs_is_refused() -> None:
    model = mbd.Model("driven")
    model.add("u", mbd.Input(unit="rad"))
    model.add("bar", mbd.Body(mass=1, inertia=1))
    model.add("drive", mbd.Motion(of="bar.phi", value="u"))
    with pytest.raises(mbd.ModelError, match=r"motions.drive.value: may depend on parameters, time only, found 'u'"):
        model.start()


def test_all_unresolved_names_are_reported_at_once() -> None:
    model = mbd.Model("many")
    model.add("bar", mbd.Body(mass="m1", inertia="j1"))
    model.add("slide", Prismatic(i=GROUND, j={"body": "bar"}))
    model.add("weld", Fixed(i=GROUND, j={"body": "bar", "at": ("s", 0)}))
    with pytest.raises(mbd.ModelError) as caught:
        model.start()
    assert len(caught.value.problems) == 3


def test_a_motion_of_a_rate_says_how_to_write_it() -> None:
    model = mbd.Model("rate", gravity=(0, 0))
    model.add("bar", mbd.Body(mass=1, inertia=1, free=True))
    model.add("drive", mbd.Motion(of="bar.omega", value=1, level="velocity"))
    with pytest.raises(mbd.ModelError, match=r'found .*; "of" names the coordinate, "level" says how often'):
        model.start()


# ---------------------------------------------------------------- joints that stay open


def test_an_open_start_is_kept_if_asked_and_closed_by_hht() -> None:
    """The four digits of [Welch07] eq. 75 are open by 4e-5 m."""
    model = mbd.models.load("slider_crank_coordinates")
    given = {"theta": 0.9851, "phi": -0.5236, "x": 0.4256, "y": 0.1}
    simulation = model.start(start=given, assemble="open", step=0.01)
    assert [simulation[name] for name in given] == list(given.values())
    phi = model.compile().constraints
    assert np.linalg.norm(phi(0.0, simulation.save().q)) == pytest.approx(4.1427e-5, rel=1e-4)
    simulation.advance(0.01)
    assert np.linalg.norm(phi(0.01, simulation.save().q)) < 1e-9


def test_only_small_gaps_may_stay_open() -> None:
    with pytest.raises(mbd.ModelError, match=r"'pin_x'.* is off by"):
        mbd.models.load("slider_crank_coordinates").start(start={"x": 0.45}, assemble="open")


def test_other_words_for_assembly_are_refused() -> None:
    with pytest.raises(mbd.ModelError, match="assemble must be true, false or \"open\", found 'never'"):
        mbd.models.load("pendulum").start(assemble="never")  # type: ignore[arg-type]
