"""Bushings and beams against closed forms: oscillations, cantilevers with shear, large deflections.

Statics are solved by Newton's method on the compiled equations at rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.beams import Beam, elastica_tip
from reference.linear import Bushing
from reference.spatial_joints import quaternion, turning
from scipy.spatial.transform import Rotation

import mbdfmu as mbd
import mbdfmu.forces
from mbdfmu.analyses import CompiledModel
from mbdfmu.description import Description
from mbdfmu.lowering import lower

GROUND = {"body": "ground"}
BAR = Beam()


def described(dimensions: int, bodies: dict[str, Any], forces: dict[str, Any], **sections: Any) -> Description:
    return Description(
        format_version=1, name="sample", dimensions=dimensions, bodies=bodies, forces=forces, **sections
    )  # fmt: skip


def body(*position: float, **more: Any) -> dict[str, Any]:
    spatial = len(position) == 3
    inertia = [0.3, 0.3, 0.3] if spatial else 0.3
    return {"mass": 2.0, "inertia": inertia, "position": list(position), "free": True, **more}


def at_rest(m: CompiledModel, t: float = 0.0, q: np.ndarray | None = None) -> np.ndarray:
    """The positions where all forces balance, from those of the start or others."""
    zero, none = np.zeros(m.nv), np.zeros(0)
    q = m.start()[0] if q is None else q
    for _ in range(30):
        step = np.linalg.solve(
            m.jacobian(t, q, zero, zero, none, (0, 0, 1, 0)).toarray(), -m.residual(t, q, zero, zero, none)
        )
        q = m.moved(q, step)
        if np.max(np.abs(step)) < 1e-13:
            return q
    raise AssertionError("no equilibrium was found")


# ---------------------------------------------------------------- bushings


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("turning", [False, True], ids=["along", "about"])
def test_a_bushing_oscillates_as_its_closed_form(dimensions: int, turning: bool) -> None:
    """Along an axis, and about one with an amplitude of 115 degrees, where the law is still linear."""
    k, c, far = 30.0, 0.4, 2.0 if turning else 0.5
    zeros = [0.0] * (dimensions - 2)
    two = body(0.0 if turning else far, 0.0, *zeros)
    if turning:
        two |= {"angle": far} if dimensions == 2 else {"orientation": {"axis": [0, 0, 1], "angle": far}}
    spring = {"stiffness": [k, 20.0, 10.0][:dimensions], "damping": [c, 0.1, 0.1][:dimensions]}
    spring |= {
        "torsional_stiffness": k if dimensions == 2 else [1.0, 2.0, k],
        "torsional_damping": c if dimensions == 2 else [0.1, 0.1, c],
    }
    bushing = {"type": "bushing", "i": {"body": "one"}, "j": {"body": "two"}, **spring}
    d = described(dimensions, {"one": body(0.0, 0.0, *zeros), "two": two}, {"f": bushing})
    result = mbd.Model.from_description(d).simulate(1.0, 0.1, tolerance=1e-9)
    name = ("phi" if dimensions == 2 else "yaw") if turning else "x"
    inertia = 0.3 if turning else 2.0
    exact = Bushing(inertia, inertia, k, c)
    found = result[f"two.{name}"] - result[f"one.{name}"]
    np.testing.assert_allclose(found, [exact.difference(t, far, 0.0) for t in result.time], atol=2e-5)


def bushing_in_space(angle: float, axis: list[float]) -> tuple[CompiledModel, np.ndarray]:
    k = {"stiffness": [3.0, 4.0, 5.0], "torsional_stiffness": [1.0, 2.0, 3.0]}
    two = body(0.0, 0.0, 0.0, orientation={"quaternion": [float(e) for e in quaternion(turning(axis, angle))]})
    d = described(3, {"two": two}, {"f": {"type": "bushing", "i": GROUND, "j": {"body": "two"}, **k}})
    m = CompiledModel(lower(d))
    q = m.start()[0]
    return m, q


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.19, 0.21, 1.5, 3.1])
def test_the_torque_about_one_axis_is_linear_up_to_a_half_turn(angle: float) -> None:
    """On both sides of 0.2 rad, where a series ends."""
    for axis, stiffness in zip(np.eye(3), (1.0, 2.0, 3.0), strict=True):
        m, q = bushing_in_space(angle, list(axis))
        zero = np.zeros(6)
        torque = m.residual(0.0, q, zero, zero, np.zeros(0))[3:]
        np.testing.assert_allclose(torque, stiffness * angle * axis, rtol=1e-12, atol=1e-14)


def test_without_rotation_the_bushing_is_the_linear_one() -> None:
    m, q = bushing_in_space(0.0, [1.0, 0.0, 0.0])
    zero = np.zeros(6)
    K = m.jacobian(0.0, q, zero, zero, np.zeros(0), (0, 0, 1, 0)).toarray()
    np.testing.assert_allclose(K, np.diag([3.0, 4.0, 5.0, 1.0, 2.0, 3.0]), atol=1e-14)


def test_a_bushing_in_the_plane_counts_turns() -> None:
    spring = {"type": "bushing", "i": GROUND, "j": {"body": "two"}, "torsional_stiffness": 2.0}
    m = CompiledModel(lower(described(2, {"two": body(0.0, 0.0, angle=7.0)}, {"f": spring})))
    q, zero = m.start()[0], np.zeros(3)
    np.testing.assert_allclose(m.residual(0.0, q, zero, zero, np.zeros(0)), [0.0, 0.0, 14.0])


# ---------------------------------------------------------------- beams


def section(dimensions: int, length: float, **others: Any) -> dict[str, Any]:
    Iy, Iz = BAR.second_moments
    fields: dict[str, Any] = {"type": "beam", "length": length, "elastic_modulus": BAR.young, "area": BAR.area}
    fields["second_moment"] = Iz if dimensions == 2 else [BAR.torsion, Iy, Iz]
    return fields | {"shear_modulus": BAR.shear_modulus, "shear_factor": BAR.shear} | others


def cantilever(dimensions: int, count: int, load: dict[str, Any], **others: Any) -> CompiledModel:
    """Elements from the wall to nodes in a row, the last one loaded."""
    length, zeros = BAR.length / count, [0.0] * (dimensions - 1)
    bodies = {f"b{k}": body(length * k, *zeros) for k in range(1, count + 1)}
    ends = [GROUND, *({"body": name} for name in bodies)]
    beams = {
        f"beam{k}": {**section(dimensions, length, **others), "i": ends[k], "j": ends[k + 1]} for k in range(count)
    }
    tip = {"type": "general", "i": GROUND, "j": ends[-1], **load}
    return CompiledModel(lower(described(dimensions, bodies, {**beams, "tip": tip})))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("n", range(6))
def test_the_tip_of_a_cantilever_goes_where_timoshenko_says(count: int, n: int) -> None:
    """Each force and torque at the tip, small: exact for any number of elements."""
    load = np.zeros(6)
    load[n] = 1e2 if n == 0 else 1e-3
    m = cantilever(3, count, {"force": list(load[:3]), "torque": list(load[3:])})
    q = at_rest(m)
    e0, *e = q[-4:]
    found = [q[m.nv - 6] - BAR.length, *q[m.nv - 5 : m.nv - 3], *(2.0 * np.array(e) / e0)]
    exact = BAR.deflection(load)
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.max(np.abs(exact)))


@pytest.mark.parametrize("shear", [True, False])
def test_a_cantilever_in_the_plane_bends_and_shears(shear: bool) -> None:
    """w = F L^3/(3 E I) + F L/(kappa G A), slope F L^2/(2 E I)."""
    force, L, Iz = 1e-3, BAR.length, BAR.second_moments[1]
    others = {} if shear else {"shear_factor": None}
    q = at_rest(cantilever(2, 2, {"force": [0.0, force]}, **others))
    deflection = force * L**3 / (3 * BAR.young * Iz)
    deflection += force * L / (BAR.shear * BAR.shear_modulus * BAR.area) if shear else 0.0
    np.testing.assert_allclose(q[-2:], [deflection, force * L**2 / (2 * BAR.young * Iz)], rtol=1e-6)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_chains_of_beams_converge_to_the_elastica(dimensions: int) -> None:
    """The tip bends by half its length; twice as many elements leave a quarter of the error."""
    stiffness = BAR.young * BAR.second_moments[1 if dimensions == 2 else 0]
    force = 3.0 * stiffness / BAR.length**2
    if dimensions == 2:  # about z, where the reference bends about y
        flat = Beam(width=BAR.height, height=BAR.width)
        exact = elastica_tip(flat, force)
    else:
        exact = elastica_tip(BAR, force)
    errors = []
    for count in (4, 8, 16):
        load = [0.0, force] if dimensions == 2 else [0.0, 0.0, force]
        m = cantilever(dimensions, count, {"force": load}, shear_factor=None, area=1e5 * BAR.area)  # inextensible
        q = at_rest(m)[: m.nv]
        place = q[-3:-1] if dimensions == 2 else q[[-6, -4]]
        errors.append(np.linalg.norm(place - exact))
    assert exact[1] > 0.5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.15)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.15)
    assert errors[-1] < 2e-3 * BAR.length


def test_a_bend_of_45_degrees_is_lifted_out_of_its_plane() -> None:
    """The example of Bathe and Bolourchi (1979), where bending and torsion go together at large rotations.

    Published places of the tip differ by 0.3: (15.9, 47.2, 53.4), (15.7, 47.2, 53.4), (15.55, 47.04, 53.50).
    """
    count, radius = 12, 100.0
    angles = np.linspace(0.0, np.pi / 4, count + 1)
    nodes = [(radius * (1 - np.cos(a)), radius * np.sin(a), 0.0) for a in angles]
    places = [{"body": "ground"}, *({"body": f"b{k}"} for k in range(1, count + 1))]
    section = {"elastic_modulus": 1e7, "shear_modulus": 5e6, "area": 1.0, "second_moment": [1 / 6, 1 / 12, 1 / 12]}
    beams = {}
    for k in range(count):
        chord = np.subtract(nodes[k + 1], nodes[k])
        heading = {"orientation": {"axis": [0, 0, 1], "angle": float(np.arctan2(chord[1], chord[0]))}}
        ends = {"i": places[k] | heading, "j": places[k + 1] | heading}
        beams[f"beam{k}"] = {"type": "beam", "length": float(np.linalg.norm(chord)), **section, **ends}
    load = {"type": "vector", "i": {"body": "ground"}, "j": places[-1], "force": [0.0, 0.0, "600*time"]}
    bodies = {f"b{k}": body(*map(float, nodes[k])) for k in range(1, count + 1)}
    m = CompiledModel(lower(described(3, bodies, {**beams, "load": load})))
    q = m.start()[0]
    for t in np.linspace(0.1, 1.0, 10):
        q = at_rest(m, float(t), q)
    np.testing.assert_allclose(q[m.nv - 6 : m.nv - 3], [15.7, 47.2, 53.45], atol=0.25)


def test_what_a_beam_lacks_is_named() -> None:
    fields = section(2, 1.0) | {"i": GROUND, "j": {"body": "b"}}
    for change, message in (
        ({"shear_modulus": None}, "needs a shear_modulus"),
        ({"shear_factor": -1.0}, "shear_factor must be a positive number"),
        ({"shear_factor": [0.8, 0.7]}, "must be a number in a planar model"),
        ({"second_moment": [1.0, 1.0, 1.0]}, "must be a number Iz in a planar model"),
    ):
        given = {key: value for key, value in (fields | change).items() if value is not None}
        with pytest.raises(mbd.ModelError, match=message):
            lower(described(2, {"b": body(1.0, 0.0)}, {"beam": given}))


# ---------------------------------------------------------------- half a turn


def turned(angle: float, axis: list[float], free: float = 0.0, speed: float = 0.0) -> mbd.Model:
    bushing = {"type": "bushing", "i": {"body": "ground"}, "j": {"body": "b"}, "torsional_stiffness": [5, 7, 9],
               "free_rotation": [0, 0, free]}  # fmt: skip
    body = {"mass": 1, "inertia": [0.1, 0.12, 0.15], "omega": [0, 0, speed], "free": True,
            "orientation": {"axis": axis, "angle": angle}}  # fmt: skip
    data = {"format_version": 1, "name": "turned", "dimensions": 3, "length": 1}
    return mbd.Model.from_description(mbd.Description(**data, bodies={"b": body}, forces={"mount": bushing}))


@pytest.mark.parametrize("short", [1.0, 0.1, 1e-3, 1e-6, 1e-9, 0.0])
def test_up_to_half_a_turn_the_torque_is_the_derivative_of_the_energy(short: float) -> None:
    """B^T k theta, with B^T from the closed form in the angle; at half a turn of either of the two axes."""
    for axis in ([0, 0, 1.0], [1.0, 0, 0], [0.6, 0.0, -0.8], [-2 / 3, 1 / 3, 2 / 3]):
        angle = np.pi - short
        run = turned(angle, axis).start()
        found = np.array([run[f"mount.rotation_{k}"] for k in "xyz"])
        theta = angle * np.array(axis)
        theta *= np.sign(theta @ found) if short == 0 else 1.0
        assert found == pytest.approx(theta, abs=1e-7 if short else 1e-15)
        moment = np.array([5, 7, 9]) * theta
        bend = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
        inner = np.cross(theta, moment)
        torque = -(moment + 0.5 * inner + bend * np.cross(theta, inner))
        assert [run[f"mount.torque.{k}"] for k in "xyz"] == pytest.approx(torque, abs=1e-5)
        seen = Rotation.from_rotvec(theta).inv().apply(torque)  # in body axes, from the native kernel
        assert [run[f"b.alpha_{k}"] for k in "xyz"] == pytest.approx(seen / [0.1, 0.12, 0.15], abs=1e-4)


def test_a_run_that_passes_half_a_turn_says_so() -> None:
    swinging = turned(3.0, [0, 0, 1.0]).simulate(2.0, 0.01)
    assert np.max(np.abs(swinging["mount.rotation_z"])) > 2.9 and not swinging.notes
    passing = turned(3.0, [0, 0, 1.0], free=3.0, speed=2.0).simulate(0.2, 0.01)
    assert "bushing 'mount' passed half a turn before t = 0.08 s" in passing.notes[0]
