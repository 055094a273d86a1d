"""Elements that exist in the plane and in space do the same at every angle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbdfmu as mbd
from mbdfmu.description import Description

ANGLES = np.linspace(-3.1, 3.1, 32)  # rad, to just below half a turn either way
PLACE = np.array([0.7, 0.1, 0.2])  # m, from end to end of a beam
I_Z, INERTIA = 0.02, [0.01, 0.015, 0.02]
BODIES = ("base", "tip")


def model(dimensions: int, force: dict[str, Any], **more: Any) -> mbd.Model:
    """Two free bodies, whose poses are parameters, and one element between them."""
    parameters, bodies = {}, {}
    for name in BODIES:
        own = {f"{name}_{k}": {"value": 0.0, "unit": u} for k, u in (("x", "m"), ("y", "m"), ("a", "rad"))}
        parameters |= own
        x, y, angle = own
        body: dict[str, Any] = {"mass": 1.0, "free": True}
        if dimensions == 2:
            body |= {"inertia": I_Z, "position": [x, y], "angle": angle}
        else:
            turn = {"axis": [0, 0, 1], "angle": angle}
            body |= {"inertia": INERTIA, "position": [x, y, 0], "orientation": turn}
        bodies[name] = body
    force = {"i": {"body": "base"}, "j": {"body": "tip"}, **force}
    data = {"format_version": 1, "name": "both", "dimensions": dimensions, **more}
    return mbd.Model.from_description(
        Description(**data, length=1, parameters=parameters, bodies=bodies, forces={"it": force})
    )


def motion(dimensions: int, speeds: np.ndarray) -> dict[str, float]:
    """Velocities of both bodies by name: vx, vy, omega each."""
    names = ("vx", "vy", "omega" if dimensions == 2 else "omega_z")
    keys = (f"{body}.{name}" for body in BODIES for name in names)
    return {key: float(value) for key, value in zip(keys, speeds, strict=True)}


def accelerations(built: mbd.Model, dimensions: int, pose: dict[str, float], speeds: np.ndarray) -> np.ndarray:
    """Of both bodies, with the stored energy."""
    run = built.start(parameters=pose, start=motion(dimensions, speeds))
    turning = "alpha" if dimensions == 2 else "alpha_z"
    names = [f"{body}.{name}" for body in BODIES for name in ("ax", "ay", turning)]
    found = [run[name] for name in names]
    if dimensions == 3:  # and none out of the plane
        rest = [run[f"{body}.{name}"] for body in BODIES for name in ("az", "alpha_x", "alpha_y")]
        assert np.max(np.abs(rest)) < 1e-9 * max(1.0, np.max(np.abs(found)))
    return np.array([*found, run["it.energy"]])


BEAM = {"type": "beam", "length": 0.8, "elastic_modulus": 1e6, "area": 1e-3, "damping": 0.01}
SPRING = {"type": "translational", "stiffness": 40, "damping": 3, "free_length": 0.5}
CONTACT = {"stiffness": 1e4, "dissipation": 0.2, "coefficient": 0.3}
FORCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bushing": (
        {"type": "bushing", "stiffness": [3e2, 5e2], "damping": [2, 1], "torsional_stiffness": 7,
         "torsional_damping": 0.2},
        {"type": "bushing", "stiffness": [3e2, 5e2, 4e2], "damping": [2, 1, 3], "torsional_stiffness": [3, 4, 7],
         "torsional_damping": [0.1, 0.1, 0.2]},
    ),
    "beam": (
        {**BEAM, "second_moment": 1e-6},
        {**BEAM, "second_moment": [3e-6, 2e-6, 1e-6], "shear_modulus": 4e5},
    ),
    "friction": (
        {"type": "friction", "normal_force": 30, "coefficient": 0.3, "viscous": 2, "axis": [0.6, 0.8]},
        {"type": "friction", "normal_force": 30, "coefficient": 0.3, "viscous": 2, "axis": [0.6, 0.8, 0]},
    ),
    "friction on a plane": (
        {"type": "friction", "normal_force": 30, "coefficient": 0.3, "static_coefficient": 0.4, "stribeck_speed": 1},
        {"type": "friction", "normal_force": 30, "coefficient": 0.3, "static_coefficient": 0.4, "stribeck_speed": 1,
         "plane": [0, 1, 0]},
    ),
    "translational": ({**SPRING, "axis": [0.6, 0.8]}, {**SPRING, "axis": [0.6, 0.8, 0]}),
    "rotational": ({"type": "rotational", "stiffness": 5, "damping": 0.1},) * 2,
    "drag": ({"type": "drag", "area": 0.2, "coefficient": 1, "wind": [2, -1]},
             {"type": "drag", "area": 0.2, "coefficient": 1, "wind": [2, -1, 0]}),
    "sphere_plane": ({**CONTACT, "type": "sphere_plane", "radius": 0.8, "axis": [0.6, 0.8]},
                     {**CONTACT, "type": "sphere_plane", "radius": 0.8, "axis": [0.6, 0.8, 0]}),
    "sphere_sphere": ({**CONTACT, "type": "sphere_sphere", "radius_i": 0.5, "radius_j": 0.3},) * 2,
    "sphere_box": ({**CONTACT, "type": "sphere_box", "radius": 0.3, "size": [1.0, 0.9]},
                   {**CONTACT, "type": "sphere_box", "radius": 0.3, "size": [1.0, 0.9, 7.0]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORCES)
def test_the_plane_is_space_seen_from_above_at_every_angle(kind: str) -> None:
    flat, deep = (model(n, force) for n, force in zip((2, 3), FORCES[kind], strict=True))
    rng = np.random.default_rng(4)
    for angle in ANGLES:
        lean, speeds = rng.uniform(-0.5, 0.5), rng.normal(size=6)
        pose = {"base_a": lean, "tip_a": lean + angle, "tip_x": 0.7 * np.cos(lean), "tip_y": 0.7 * np.sin(lean)}
        pose = {key: float(value) for key, value in pose.items()}
        one, other = (accelerations(m, n, pose, speeds) for m, n in ((flat, 2), (deep, 3)))
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.max(np.abs(one)), err_msg=f"at {angle}")


def test_both_ends_of_a_beam_may_turn_away_from_each_other() -> None:
    """By more than half a turn from end to end: a ring. The energy is that of the plane, without a jump."""
    flat, deep = (model(n, force) for n, force in zip((2, 3), FORCES["beam"], strict=True))
    for angle in np.linspace(0.1, 3.0, 12):
        pose = {"base_a": float(-angle), "tip_a": float(angle), "tip_x": 0.7}
        one, other = (accelerations(m, n, pose, np.zeros(6)) for m, n in ((flat, 2), (deep, 3)))
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.max(np.abs(one)))


def stored(places: np.ndarray, turns: tuple[Rotation, Rotation]) -> float:
    """Energy of the beam above, by other means: shortest turns to the chord, twist between what they carry."""
    chord = places[1] - places[0]
    size = np.linalg.norm(chord)
    slopes, sides = [], []
    for turn in turns:
        x = turn.apply([1.0, 0, 0])
        axis = np.cross(x, chord / size)
        angle = np.arctan2(np.linalg.norm(axis), x @ chord / size)
        vector = axis / max(np.linalg.norm(axis), 1e-300) * angle
        slopes.append(turn.inv().apply(vector)[1:])
        sides.append(Rotation.from_rotvec(vector).apply(turn.apply([0, 1.0, 0])))
    twist = np.arctan2(np.cross(*sides) @ chord / size, sides[0] @ sides[1])
    middle = [complex(*slope) * np.exp(sign * -0.5j * twist) for slope, sign in zip(slopes, (1, -1), strict=True)]
    length, bent = 0.8, 0.0
    for moment, (a, b) in zip((2.0, 1.0), zip(*((s.real, s.imag) for s in middle), strict=True), strict=True):
        bent += 0.5 * moment / length * (4 * a * a + 4 * a * b + 4 * b * b)  # E I = 2, 1
    return float(0.5 * 1e3 / length * (size - length) ** 2 + 0.5 * 4e5 * 3e-6 / length * twist**2 + bent)


def test_the_energy_of_a_beam_is_that_of_shortest_turns() -> None:
    """Against rotations of another library, at slopes to 150 degrees in all directions."""
    rng = np.random.default_rng(7)
    axes = {f"{body}_{k}": 0.0 for body in BODIES for k in ("ax", "ay", "az")} | {"an": 1.0}
    turns = [{"axis": [f"{body}_a{k}" for k in "xyz"], "angle": f"{body}_an"} for body in BODIES]
    parameters = axes | {f"{body}_an": {"value": 0.0, "unit": "rad"} for body in BODIES}
    bodies = {
        body: {
            "mass": 1,
            "inertia": INERTIA,
            "free": True,
            "orientation": turn,
            "position": list(n * PLACE),
        }
        for n, (body, turn) in enumerate(zip(BODIES, turns, strict=True))
    }
    beam = {"i": {"body": "base"}, "j": {"body": "tip"}, **FORCES["beam"][1]}
    data = {"format_version": 1, "name": "bent", "dimensions": 3, "length": 1}
    built = mbd.Model.from_description(Description(**data, parameters=parameters, bodies=bodies, forces={"it": beam}))
    places = np.array([np.zeros(3), PLACE])
    for _ in range(20):
        vectors = [v / np.linalg.norm(v) for v in rng.normal(size=(2, 3))]
        angles = rng.uniform(0, 2.2, 2)
        values = {"an": 1.0}
        for body, vector, angle in zip(BODIES, vectors, angles, strict=True):
            values |= dict(zip((f"{body}_ax", f"{body}_ay", f"{body}_az", f"{body}_an"), (*vector, angle), strict=True))
        found = built.start(parameters={k: float(v) for k, v in values.items()})["it.energy"]
        pair = tuple(Rotation.from_rotvec(v * a) for v, a in zip(vectors, angles, strict=True))
        assert found == pytest.approx(stored(places, pair), rel=1e-9)  # type: ignore[arg-type]


def test_a_beam_that_bends_beyond_a_right_angle_keeps_its_energy() -> None:
    """Thrown so that the tip turns by more than 90 degrees from the chord, about one axis and about all."""
    for spin in ([0, 0, 45.0], [9.0, 20.0, 40.0]):
        bodies = {
            "base": {"mass": 1, "inertia": INERTIA, "free": True},
            "tip": {"mass": 1, "inertia": INERTIA, "free": True, "position": [0.8, 0, 0], "omega": spin},
        }
        beam = {"i": {"body": "base"}, "j": {"body": "tip"}, **FORCES["beam"][1], "damping": 0}
        data = {"format_version": 1, "name": "thrown", "dimensions": 3, "bodies": bodies, "forces": {"it": beam}}
        result = mbd.Model.from_description(Description(**data)).simulate(0.5, 0.005, tolerance=1e-9)
        total = result["energy.kinetic"] + result["energy.potential"]
        chord = np.array([result[f"tip.{k}"] - result[f"base.{k}"] for k in "xyz"])
        turn = Rotation.from_quat(np.array([result[f"tip.e{k}"] for k in (1, 2, 3, 0)]).T)
        along = np.sum(turn.apply([1.0, 0, 0]).T * chord, axis=0) / np.linalg.norm(chord, axis=0)
        assert along.min() < -0.2, "it has bent beyond a right angle"
        np.testing.assert_allclose(total, total[0], rtol=1e-4)
