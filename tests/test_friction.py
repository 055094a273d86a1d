"""Dry friction in joints and between bodies: loads from reactions, sticking, jams, and what is refused.

Motions computed elsewhere are in test_friction_references.py, what every element has to keep in test_forces.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.states import reference

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.errors import ModelError, StepFailed

GROUND = {"body": "ground"}
DRY = {"coefficient": 0.2, "static_coefficient": 0.3, "stribeck_speed": 0.1}


def model(**sections: Any) -> mbd.Model:
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": "rubbing", "length": 1, **sections}))


def findings(**sections: Any) -> str:
    with pytest.raises(ModelError) as caught:
        model(**sections).compile()
    return str(caught.value)


# ---------------------------------------------------------------- an incline


def incline(angle: float, **law: Any) -> mbd.Model:
    """A block of 2 kg in a straight guide that falls by the angle."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    return model(
        gravity=[0, -9.81],
        bodies={"block": {"mass": 2, "inertia": 0.1}},
        joints={"guide": {"type": "prismatic", "i": GROUND, "j": {"body": "block"}, "axis": [c, -s]}},
        forces={"rub": {"type": "joint_friction", "joint": "guide", **law}},
    )


def test_a_block_slides_where_the_incline_is_steeper_than_friction_holds() -> None:
    angle = np.arctan(0.5)
    result = incline(angle, coefficient=0.2).simulate(1.0, 0.5, tolerance=1e-7)
    down = 9.81 * (np.sin(angle) - 0.2 * np.cos(angle))
    assert result["guide.displacement_rate"][-1] == pytest.approx(down, rel=1e-3)  # it creeps at first
    assert result["rub.load"][-1] == pytest.approx(2 * 9.81 * np.cos(angle))
    assert result["rub.friction"][-1] == pytest.approx(-0.2 * 2 * 9.81 * np.cos(angle))


def test_a_block_below_the_angle_of_friction_creeps_with_tanh_and_sticks_on_bristles() -> None:
    """(T4.21): at the speed vt atanh(tan(angle)/mu); (T4.22): displaced by tan(angle)/s0, and then at rest."""
    slope = 0.15
    creeping = incline(np.arctan(slope), coefficient=0.2, creep_speed=1e-3).simulate(2.0, 0.5, tolerance=1e-7)
    assert creeping["guide.displacement_rate"][-1] == pytest.approx(1e-3 * np.arctanh(slope / 0.2), rel=1e-6)
    sticking = incline(np.arctan(slope), coefficient=0.2, law="lugre").simulate(2.0, 0.5, tolerance=1e-9)
    assert sticking["guide.displacement_rate"][-1] == pytest.approx(0, abs=1e-9)
    assert sticking["rub.bristle"][-1] == pytest.approx(slope, rel=1e-6)
    assert 1 <= sticking["guide.displacement"][-1] / (slope / 1e4) < 10  # some slipping before it stands still


def test_the_shipped_block_sticks_and_slips_with_the_period_of_its_reference() -> None:
    simulation, tops = mbd.models.load("stick_slip").start(tolerance=1e-8), reference("stick_slip_lugre")
    stretch = []
    for time in tops["time"]:
        simulation.advance(time)
        stretch.append(simulation["stretch"])
        assert simulation["block.vx"] == pytest.approx(0, abs=2e-4)
    np.testing.assert_allclose(stretch, tops["signals"]["x"], rtol=1e-5)


# ---------------------------------------------------------------- loads


def test_a_torque_presses_the_pads_of_a_bearing() -> None:
    """A weight beside its vertical guide: no force across, two pads 0.2 m apart take 0.5 m of lever."""
    side = model(
        gravity=[0, -9.81],
        bodies={"lift": {"mass": 3, "inertia": 0.1, "position": [0.5, 0]}},
        joints={"guide": {"type": "prismatic", "i": GROUND, "j": {"body": "lift", "at": [-0.5, 0]}, "axis": [0, 1]}},
        forces={
            "rub": {"type": "joint_friction", "joint": "guide", "length": 0.2, "coefficient": 0.1, "preload": 4.0},
            "rope": {
                "type": "single",
                "i": GROUND,
                "j": {"body": "lift", "at": [-0.5, 0]},
                "axis": [0, 1],
                "force": 20,
            },
        },
    )
    simulation = side.start()
    simulation.advance(0.5)  # it falls while friction pulls it up along the guide, away from the centre of mass
    load = 4 + 2 * abs(simulation["guide.reaction.torque"]) / 0.2
    assert simulation["rub.load"] == pytest.approx(load, rel=1e-9)
    assert simulation["guide.reaction.torque"] == pytest.approx(0.5 * (20 + simulation["rub.friction"]), rel=1e-9)


def spinning(kind: str, joint: dict[str, Any], friction: dict[str, Any], force: list[float], at: list[float]) -> Any:
    """A body in space that turns about its joint under a force that is fixed in the ground's axes."""
    return model(
        dimensions=3,
        bodies={"top": {"mass": 2, "inertia": [0.1, 0.1, 0.1], "omega": [0, 0, 50]}},
        joints={"hinge": {"type": kind, "i": GROUND, "j": {"body": "top"}, **joint}},
        forces={
            "press": {"type": "vector", "i": GROUND, "j": {"body": "top", "at": at}, "force": force},
            "rub": {"type": "joint_friction", "joint": "hinge", "radius": 0.02, "coefficient": 0.1, **friction},
        },
    )


@pytest.mark.parametrize(
    ("kind", "friction", "force", "at", "load"),
    [
        ("revolute", {}, [30, 40, 0], [0, 0, 0], 50),
        ("revolute", {}, [30, 40, 20], [0, 0, 0], 70),  # a collar takes what acts along the axis
        ("revolute", {"length": 0.4}, [30, 0, 0], [0, 0, 0.4], 45 + 15),  # pads of -15 and 45 N
        ("cylindrical", {"length": 0.4}, [30, 0, 0], [0, 0, 0], 30),
        ("spherical", {}, [30, 40, 120], [0, 0, 0], 130),
    ],
)
def test_bearings_in_space_rub_with_their_load(
    kind: str, friction: dict[str, Any], force: list[float], at: list[float], load: float
) -> None:
    """The spin falls by radius mu N/J, whatever presses."""
    result = spinning(kind, {}, friction, force, at).simulate(0.01, 0.005, tolerance=1e-8)
    assert result["rub.load"][-1] == pytest.approx(load, rel=1e-4)
    assert result["top.omega_z"][-1] == pytest.approx(50 - 0.02 * 0.1 * load / 0.1 * 0.01, rel=1e-6)
    assert result["rub.power"][-1] == pytest.approx(-0.1 * load * 0.02 * 50, rel=1e-3)


@pytest.mark.parametrize("kind", ["prismatic", "cylindrical", "point_on_line", "point_in_plane", "planar"])
def test_what_slides_in_space_is_braked_by_its_weight(kind: str) -> None:
    """At 1 m/s along x, by mu g; the normal of a plane is z."""
    joint = {"axis": [0, 0, 1]} if "plan" in kind else {"axis": [1, 0, 0]}
    lever = {"radius": 0.1} if kind == "cylindrical" else {}
    puck = model(
        **{"dimensions": 3, "gravity": [0, 0, -10]},
        bodies={"puck": {"mass": 2, "inertia": [1, 1, 1], "velocity": [1, 0, 0]}},
        joints={"way": {"type": kind, "i": GROUND, "j": {"body": "puck"}, **joint}},
        forces={"rub": {"type": "joint_friction", "joint": "way", "coefficient": 0.2, **lever}},
    )
    result = puck.simulate(0.2, 0.1, tolerance=1e-8)
    np.testing.assert_allclose(result["puck.vx"], [1.0, 0.8, 0.6], atol=1e-6)
    np.testing.assert_allclose(result["rub.load"], 20)
    np.testing.assert_allclose(np.abs(result["rub.friction"]), 4)


def test_a_sleeve_rubs_against_the_direction_of_both_its_motions() -> None:
    """A body that is pressed on a turning shaft and slides along it: the force points against the surface's speed."""
    sleeve = model(
        dimensions=3,
        bodies={"nut": {"mass": 1, "inertia": [0.1, 0.1, 0.1], "omega": [0, 0, 30], "velocity": [0, 0, 0.4]}},
        joints={"shaft": {"type": "cylindrical", "i": GROUND, "j": {"body": "nut"}}},
        forces={"rub": {"type": "joint_friction", "joint": "shaft", "radius": 0.01, "coefficient": 0.1, "preload": 50}},
    )
    simulation = sleeve.start()
    simulation.advance(0.001)
    assert simulation["rub.slip"] == pytest.approx(0.5, rel=2e-2)
    assert simulation["nut.az"] == pytest.approx(-5 * 0.4 / 0.5, rel=1e-2)
    assert simulation["nut.alpha_z"] == pytest.approx(-5 * 0.3 / 0.5 * 0.01 / 0.1, rel=1e-2)


def test_on_a_plane_a_body_comes_to_rest_along_its_straight_way() -> None:
    """From 0.5 m/s in a slanted direction, v^2/(2 mu N/m) = 62.5 mm, with tanh a little further."""
    plate = model(
        dimensions=3,
        bodies={"puck": {"mass": 1, "inertia": [1, 1, 1], "velocity": [0.3, 0.4, 0], "free": True}},
        forces={
            "rub": {
                **{"type": "friction", "i": GROUND, "j": {"body": "puck"}, "plane": [0, 0, 1]},
                **{"normal_force": 10, "coefficient": 0.2, "creep_speed": 1e-4},
            }
        },
    )
    result = plate.simulate(0.4, 0.1, tolerance=1e-8)
    assert result["puck.x"][-1] / 3 == pytest.approx(result["puck.y"][-1] / 4, rel=1e-9)
    assert np.hypot(result["puck.x"][-1], result["puck.y"][-1]) == pytest.approx(0.0625, abs=1e-4)
    assert result["rub.slip"][-1] < 1e-6


# ---------------------------------------------------------------- jams


def crooked(coefficient: float) -> mbd.Model:
    """A slider whose mass and drive lie 0.5 m beside its guide, 0.4 m long: it jams from 0.4/(2 0.5) = 0.4 on."""
    return model(
        bodies={"slider": {"mass": 1, "inertia": 0.01, "position": [0, 0.5], "velocity": [1, 0]}},
        joints={"guide": {"type": "prismatic", "i": GROUND, "j": {"body": "slider", "at": [0, -0.5]}}},
        forces={
            "push": {"type": "vector", "i": GROUND, "j": {"body": "slider"}, "force": [-5, 0]},
            "rub": {"type": "joint_friction", "joint": "guide", "length": 0.4, "coefficient": coefficient},
        },
    )


def test_a_guide_that_jams_is_named() -> None:
    assert crooked(0.39).simulate(0.1, 0.1)["slider.ax"][0] == pytest.approx(-5, abs=1e-3)
    with pytest.raises(StepFailed, match=r"no solution near the last one: .* depend too strongly on reactions"):
        crooked(0.41).simulate(0.1, 0.1)


# ---------------------------------------------------------------- names


def hinged(kind: str = "revolute", **fields: Any) -> dict[str, Any]:
    return {
        "bodies": {"bar": {"mass": 1, "inertia": 1}},
        "joints": {"hinge": {"type": kind, "i": GROUND, "j": {"body": "bar"}}},
        "forces": {"rub": {"type": "joint_friction", "joint": "hinge", "coefficient": 0.1, **fields}},
    }


def test_findings_name_the_joint_and_what_is_allowed() -> None:
    assert "no joint is named 'hinges'; did you mean 'hinge'?" in findings(**hinged(joint="hinges", radius=1))
    assert "forces.rub: joint 'hinge' of type 'revolute' turns; give the radius" in findings(**hinged())
    assert "a length counts for nothing in the point_on_line joint 'hinge'" in findings(
        **hinged("point_on_line", length=1)
    )
    found = findings(**hinged("fixed"))
    assert "joint 'hinge' is of type 'fixed', whose friction is not known; known: revolute, prismatic" in found


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"bristle_damping": 1}, 'bristle_damping counts for nothing with "law": "regularised"'),
        ({"law": "lugre", "creep_speed": 1}, 'creep_speed counts for nothing with "law": "lugre"'),
        ({"law": "lugre", "coefficient": 0}, "bristles need a coefficient above 0"),
        ({"law": "lugr"}, "must be 'regularised' or 'lugre'"),
    ],
)
def test_fields_of_another_law_are_refused(fields: dict[str, Any], reason: str) -> None:
    assert reason in findings(**hinged(radius=0.1, **fields))


def test_friction_of_a_joint_works_in_a_mirrored_submodel() -> None:
    """Alone and as a part, the same motion; an expression around it may name its load."""
    part = {
        **{"format_version": 1, "name": "part", "gravity": [0, -9.81]},
        "bodies": {"bar": {"mass": 1, "inertia": 0.1, "position": [0.5, 0]}},
        "joints": {"hinge": {"type": "revolute", "i": GROUND, "j": {"body": "bar", "at": [-0.5, 0]}}},
        "forces": {"rub": {"type": "joint_friction", "joint": "hinge", "radius": 0.05, **DRY}},
    }
    alone = mbd.Model.from_description(Description(**part)).simulate(0.5, 0.5, tolerance=1e-8)
    whole = model(
        gravity=[0, -9.81],
        submodels={"left": {"model": part, "mirror": "x"}},
        variables={"half": "left.rub.load/2"},
    ).simulate(0.5, 0.5, tolerance=1e-8)
    assert whole["left.bar.x"][-1] == pytest.approx(-alone["bar.x"][-1], abs=1e-5)
    assert whole["half"][-1] == pytest.approx(alone["rub.load"][-1] / 2, rel=1e-5)


# ---------------------------------------------------------------- what torque presses, and what spins


def plate(**fields: Any) -> mbd.Model:
    return model(
        dimensions=3,
        gravity=[0, 0, -9.81],
        bodies={"plate": {"mass": 2, "inertia": [0.1, 0.1, 0.2], "omega": [0, 0, 5.0], "velocity": [0.3, 0, 0]}},
        joints={"table": {"type": "planar", "i": GROUND, "j": {"body": "plate"}}},
        forces={"rub": {"type": "joint_friction", "joint": "table", "coefficient": 0.1, **fields}},
    )


def test_a_spinning_plate_is_held_back_at_the_radius_that_is_given() -> None:
    """Against one vector of speeds (vx, vy, r omega), integrated here; without a radius the spin stays."""
    radius, load = 0.15, 2 * 9.81
    result = plate(radius=radius).simulate(0.4, 0.01, tolerance=1e-8)
    speed, spin, h = 0.3, 5.0, 1e-5
    for _ in range(round(0.4 / h)):
        size = np.hypot(speed, radius * spin)
        force = 0.1 * load * np.tanh(size / 1e-3) / size
        speed, spin = speed - h * force * speed / 2, spin - h * force * spin * radius**2 / 0.2
    assert result["plate.omega_z"][-1] == pytest.approx(spin, rel=1e-4)
    assert result["plate.vx"][-1] == pytest.approx(speed, rel=1e-3, abs=1e-6)
    free = plate().simulate(0.4, 0.1)
    assert free["plate.omega_z"][-1] == pytest.approx(5.0) and free["plate.vx"][-1] < 0.3
    assert np.all(result["rub.slip"] >= 0), "a length: there are three directions"


@pytest.mark.parametrize("turn", [0.0, 3.0, -3.0])
def test_torque_about_a_rail_presses_at_the_radius_that_is_given(turn: float) -> None:
    """N = |F across| + |T along|/r: a slide that is pushed along x, with its weight and a torque about x."""

    def slide(**fields: Any) -> mbd.Model:
        block = {"mass": 2, "inertia": [0.1, 0.1, 0.1], "velocity": [1.0, 0, 0]}
        wrench = {"type": "general", "i": GROUND, "j": {"body": "block"}, "force": [0, 0, 0], "torque": [turn, 0, 0]}
        rub = {"type": "joint_friction", "joint": "rail", "coefficient": 0.1, **fields}
        return model(
            dimensions=3,
            gravity=[0, 0, -9.81],
            bodies={"block": block},
            joints={"rail": {"type": "prismatic", "i": GROUND, "j": {"body": "block"}, "axis": [1, 0, 0]}},
            forces={"twist": wrench, "rub": rub},
        )

    weight = 2 * 9.81
    with_radius, without = slide(radius=0.05).start(), slide().start()
    assert with_radius["rub.load"] == pytest.approx(weight + abs(turn) / 0.05, rel=1e-6)
    assert with_radius["block.ax"] == pytest.approx(-0.1 * (weight + abs(turn) / 0.05) / 2, rel=1e-6)
    assert without["rub.load"] == pytest.approx(weight, rel=1e-6)


def test_in_the_plane_no_torque_is_about_a_rail() -> None:
    block = {"bodies": {"block": {"mass": 2, "inertia": 0.1}}}
    rail = {"joints": {"rail": {"type": "prismatic", "i": GROUND, "j": {"body": "block"}}}}
    rub = {"rub": {"type": "joint_friction", "joint": "rail", "coefficient": 0.1, "radius": 0.1}}
    found = findings(**block, **rail, forces=rub)
    assert "a radius counts for nothing in the prismatic joint 'rail'; leave it out" in found
