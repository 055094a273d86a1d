"""Assembly: from a rough guess to a closed mechanism, keeping what the user holds, or a refusal that names a joint."""

from collections.abc import Callable

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel
from mbdfmu.joints import Prismatic, Revolute, Spherical

GROUND = {"body": "ground"}


def perturbed(compiled: CompiledModel, q: np.ndarray, size: float, rng: np.random.Generator) -> np.ndarray:
    """The positions moved by up to `size` metres, and turned by as much over the model's length."""
    angular = np.array([c.unit == "rad" for c in compiled.lowered.model.coordinates])
    d = rng.uniform(-size, size, compiled.nv)
    d[angular] /= compiled.length
    return compiled.moved(q, d)


@pytest.mark.parametrize("name", mbd.models.names())
def test_perturbed_models_are_assembled_or_refused_naming_a_joint(name: str, counts: Callable[..., int]) -> None:
    """Of 500 perturbations of 1 mm to 10 cm over all models, each ends closed or with the name of an element."""
    compiled = mbd.models.load(name).compile()
    q0 = compiled.start(assemble=True)[0]
    rng = np.random.default_rng(500)
    for _ in range(counts(25, 0.2)):
        guess = perturbed(compiled, q0, 10 ** rng.uniform(-3, -1), rng)
        try:
            q = compiled.start(assemble=True, positions=guess)[0]
        except (mbd.StepFailed, mbd.ModelError) as error:
            assert any(f"'{c.name}'" in str(error) for c in compiled.lowered.model.constraints), error
        else:
            open_by = np.abs(compiled.constraints(0.0, q)[compiled.holding])
            assert open_by.max(initial=0) <= 1e-10 * max(1.0, compiled.length)


def arm(**hinge: object) -> mbd.Model:
    """Two links in space: a hinge about z at the ground, a ball between them."""
    model = mbd.Model("arm", dimensions=3, gravity=(0, 0, -9.81))
    inertia = (0.01, 0.1, 0.1)
    model.add("upper", mbd.Body(mass=1, inertia=inertia, position=(0.5, 0.1, 0)))
    model.add("lower", mbd.Body(mass=1, inertia=inertia, position=(1.5, 0, 0.2)))
    model.add("shoulder", Revolute(i=GROUND, j={"body": "upper", "at": (-0.5, 0, 0)}, **hinge))
    model.add("elbow", Spherical(i={"body": "upper", "at": (0.5, 0, 0)}, j={"body": "lower", "at": (-0.5, 0, 0)}))
    return model


def test_joint_coordinate_and_rate_are_met() -> None:
    simulation = arm(start={"angle": "30*deg", "angle_rate": 2.0}).start()
    assert simulation["shoulder.angle"] == pytest.approx(np.pi / 6, abs=1e-10)
    assert simulation["shoulder.angle_rate"] == pytest.approx(2.0, abs=1e-10)
    assert simulation["upper.omega_z"] == pytest.approx(2.0, abs=1e-10)
    assert simulation["upper.x"] == pytest.approx(0.5 * np.cos(np.pi / 6), abs=1e-10)


def test_start_angle_counts_its_turns() -> None:
    simulation = arm(start={"angle": "750*deg"}).start()
    assert simulation["shoulder.angle"] == pytest.approx(750 * np.pi / 180, abs=1e-9)


def test_joint_start_values_can_be_given_at_the_start() -> None:
    simulation = arm(start={"angle": 0.1}).start(start={"shoulder.angle": 0.7})
    assert simulation["shoulder.angle"] == pytest.approx(0.7, abs=1e-10)


def test_guess_gives_way_to_what_must_hold() -> None:
    model = arm(start={"angle": {"value": 0.4, "priority": "guess"}})
    assert model.start()["shoulder.angle"] == pytest.approx(0.4, abs=1e-10)
    held = arm(start={"angle": {"value": 0.4, "priority": "guess"}})
    held.add("drive", mbd.Motion(of="shoulder.angle", value="0.3 + time"))
    assert held.start()["shoulder.angle"] == pytest.approx(0.3, abs=1e-10)


def test_guesses_give_way_one_by_one() -> None:
    model = arm(start={"angle": {"value": 0.4, "priority": "guess"}, "angle_rate": {"value": 7, "priority": "guess"}})
    model.add("drive", mbd.Motion(of="shoulder.angle", value="0.4 + time"))
    simulation = model.start()
    assert (simulation["shoulder.angle"], simulation["shoulder.angle_rate"]) == pytest.approx((0.4, 1.0), abs=1e-9)
    assert simulation.notes == ["start of shoulder.angle_rate was a guess and is given up: the joints do not admit it"]


def test_start_value_that_must_hold_and_cannot_is_named() -> None:
    model = arm(start={"angle": 0.4})
    model.add("drive", mbd.Motion(of="shoulder.angle", value="0.3 + time"))
    with pytest.raises(mbd.StepFailed, match=r"start of shoulder\.angle|'drive'"):
        model.start()


def test_held_body_stays_and_the_others_come_to_it() -> None:
    model = mbd.Model("held", dimensions=3)
    model.add("table", mbd.Body(mass=1, inertia=(1, 1, 1), position=(1, 2, 3), held=True, free=True))
    model.add("leg", mbd.Body(mass=50, inertia=(1, 1, 1), position=(1.3, 2.2, 2.1)))
    ends = {"i": {"body": "table", "at": (0.5, 0, 0)}, "j": {"body": "leg", "at": (0, 0, 1)}}
    model.add("joint", Spherical(**ends))
    simulation = model.start(assemble=True)
    assert [simulation[f"table.{c}"] for c in "xyz"] == [1, 2, 3]
    assert [simulation[f"table.e{k}"] for k in range(4)] == [1, 0, 0, 0]


def test_velocities_are_found_over_a_long_lever() -> None:
    """A scissor lift of ten stages, its foot driven from the start."""
    stages, angle = 10, np.radians(20)
    c, s = np.cos(angle), np.sin(angle)
    model = mbd.Model("lift", gravity=(0, -9.81))
    ends = {"left": {"body": "ground"}, "right": {"body": "slide"}}
    model.add("slide", mbd.Body(mass=1, inertia=1, position=(2 * c, 0)))
    model.add("rail", Prismatic(i=GROUND, j={"body": "slide"}))
    for k in range(stages):
        for side, sign in (("left", 1), ("right", -1)):
            place = (c, (2 * k + 1) * s)
            model.add(f"{side}{k}", mbd.Body(mass=1, inertia=1, position=place, angle=sign * angle))
            low = {"body": f"{side}{k}", "at": (-sign, 0)}
            model.add(f"low_{side}{k}", Revolute(i=ends[side], j=low))
        model.add(f"pin{k}", Revolute(i={"body": f"left{k}"}, j={"body": f"right{k}"}))
        ends = {"left": {"body": f"right{k}", "at": (-1, 0)}, "right": {"body": f"left{k}", "at": (1, 0)}}
    model.add("drive", mbd.Motion(of="rail.displacement", value=f"{2 * c} - 0.6*time"))
    simulation = model.start(assemble=True)
    top = simulation[f"left{stages - 1}.vy"]  # of its middle, (2 stages - 1) sin(angle)
    assert top == pytest.approx((2 * stages - 1) * 0.3 * c / s, rel=1e-9)


def test_assembly_moves_as_little_as_it_can() -> None:
    """A light ball goes to the heavy one, not the other way round."""
    model = mbd.Model("pair", dimensions=3)
    for name, mass, x in (("heavy", 1000, 0), ("light", 1, 0.3)):
        model.add(name, mbd.Body(mass=mass, inertia=(mass, mass, mass), position=(x, 0, 0), free=True))
    model.add("ball", Spherical(i={"body": "heavy"}, j={"body": "light"}))
    simulation = model.start(assemble=True)
    assert simulation["heavy.x"] == pytest.approx(0.3 / 1001, rel=1e-6)
