"""Models as parts of others: names, parameters, placement, mirror images, attachment, files.

Nothing is simulated here: the flattened numbers are held against the definition of a placement, p -> P + Q S p.
"""

import json
import math
import re
from typing import Annotated, ClassVar

import numpy as np
import pytest
from reference.force_examples import EXAMPLES
from scipy.spatial.transform import Rotation

from mbdfmu.description import (
    Body,
    Description,
    Direction,
    Force,
    In,
    Joint,
    Marker,
    MarkerRef,
    Mirrored,
    Motion,
    Only,
    Orientation,
    Sphere,
    Submodel,
    Value,
    schema,
)
from mbdfmu.description.placement import Placement, matrix
from mbdfmu.description.seen import Seen
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Graph, build, evaluate, parse
from mbdfmu.facade import Model
from mbdfmu.forces import ForceElement
from mbdfmu.joints import JointElement, Relation
from mbdfmu.lowering import lower
from mbdfmu.signals import tabulate

Z = (0.0, 0.0, 1.0)
P = {"a": 0.3, "b": -1.7, "w": 1.2}  # parameters of the outer model, by which expressions are evaluated


class Hinge(Joint, name="hinge_of_a_test"):
    """An axis about which something turns, and one along which it moves."""

    parity: ClassVar = {2: {"angle": "odd", "way": "even"}, 3: {"angle": "even", "way": "even", "aside": "y"}}

    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z
    along: Annotated[Direction, In("1")] = (1.0, 0.0, 0.0)
    pitch: Annotated[Value, In("m"), Mirrored("odd")] = 0.0
    twist: Annotated[Value, In("rad"), Mirrored("odd", dimensions=2)] = 0.0


class Spring(Force, name="spring_of_a_test"):
    i: MarkerRef
    j: MarkerRef
    stiffness: Value = 0.0


DUMMIES = [(cls, cls._table.pop(cls.type_name)) for cls in (Hinge, Spring)]


@pytest.fixture(autouse=True)
def _dummies_are_known_here_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for family, member in DUMMIES:
        monkeypatch.setitem(family._table, member.type_name, member)


def number(value, values=P) -> float:
    graph = Graph()
    symbols = {name: graph.symbol("p", name) for name in values}
    node = build(parse(value), graph, symbols.__getitem__) if isinstance(value, str) else graph.const(value)
    return float(evaluate([node], {symbols[name]: value for name, value in values.items()})[0])


def numbers(values, at=P) -> np.ndarray:
    return np.array([number(value, at) for value in values])


def rotation(orientation) -> np.ndarray:
    """The matrix, by numbers."""
    return np.array(matrix(resolved(orientation)))


def resolved(item, values=P):
    """An orientation with numbers in place of expressions."""
    if isinstance(item, Orientation):
        return Orientation(**{name: resolved(value, values) for name, value in item})
    if isinstance(item, tuple):
        return tuple(numbers(item, values))
    return number(item, values) if isinstance(item, str) and item not in ("313", "rpy") else item


def model(**sections) -> dict:
    return {"format_version": 1, "name": "inner", **sections}


def spatial(**sections) -> dict:
    return model(dimensions=3, **sections)


def free(**entries) -> dict:
    return {"mass": 1, "inertia": 1, "free": True, **entries}


def solid(**entries) -> dict:
    return {"mass": 1, "inertia": [1, 2, 3], "free": True, **entries}


def placed(inner: dict, outer: dict | None = None, **entry) -> Description:
    """The flattened model that has `inner` as its only part, called `part`."""
    around = {"format_version": 1, "name": "outer", "dimensions": inner.get("dimensions", 2), **(outer or {})}
    around["parameters"] = {name: {"value": value} for name, value in P.items()}
    return Description(**around, submodels={"part": {"model": inner, **entry}}).flat()


def problems_of(inner: dict, outer: dict | None = None, **entry) -> list[str]:
    with pytest.raises(ModelError) as caught:
        placed(inner, outer, **entry)
    return caught.value.problems


# Names ----------------------------------------------------------------------------------------------------------------

INNER = model(
    parameters={"k": {"value": 2}, "k2": {"value": "k*k"}},
    inputs={"road": {"unit": "m"}},
    bodies={"wheel": free(), "rim": free(position=["k", "wheel.x.start"])},
    markers={"hub": {"body": "wheel", "at": ["k", "road"]}},
    joints={"pin": {"type": "hinge_of_a_test", "i": "hub", "j": {"body": "rim", "at": [0, "k"]}}},
    forces={"f": {"type": "spring_of_a_test", "i": {"body": "ground"}, "j": "hub", "stiffness": "k + pin.angle^2"}},
    coordinates={"q": {"force": "-k*q - der( q ) + sin(pi*time)*der(q , 2) + k2.k + solver.step"}, "r": {}},
    mass={"q": "k", "q,r": 1},
    constraints={"close": "q - if(r > 0, wheel.x, -wheel.x)"},
    motions={"drive": {"of": "pin.angle", "value": "k*time"}},
    outputs={"height": "wheel.y", "power": {"value": "f.power", "unit": "W"}},
)


def test_every_name_of_a_part_gets_the_name_of_the_part_before_it():
    flat = placed(INNER)
    named = {(section, name) for section, name, _ in flat.elements() if "." in name}
    sections = [section for section, entries in INNER.items() if isinstance(entries, dict) and section != "mass"]
    assert named == {(section, f"part.{name}") for section in sections for name in INNER[section]}
    assert flat.mass == {"part.q": "part.k", "part.q,part.r": 1} and flat.submodels == {}
    assert flat.markers["part.hub"] == Marker(body="part.wheel", at=("part.k", "part.road"))
    assert flat.joints["part.pin"].i == "part.hub" and flat.joints["part.pin"].j.body == "part.rim"
    assert flat.element("part.f").i.body == "ground"


def test_expressions_name_what_they_did():
    flat = placed(INNER)
    force = "-part.k*part.q - der( part.q ) + sin(pi*time)*der(part.q , 2) + part.k2.k + solver.step"
    assert flat.coordinates["part.q"].force == force
    assert flat.constraints["part.close"].value == "part.q - if(part.r > 0, part.wheel.x, -part.wheel.x)"
    assert flat.bodies["part.rim"].position == ("part.k", "part.wheel.x.start")
    assert flat.forces["part.f"].stiffness == "part.k + part.pin.angle^2"
    assert flat.outputs["part.height"].value == "part.wheel.y" and flat.outputs["part.height"].unit is None
    assert flat.motions["part.drive"].of == "part.pin.angle"


def test_parts_of_parts_have_names_with_two_dots():
    middle = model(submodels={"left": {"model": INNER, "position": [0, 1]}}, outputs={"h": "left.height"},
                   markers={"m": {"body": "left.wheel"}})  # fmt: skip
    flat = placed(middle, position=[2, 0])
    assert flat.bodies["part.left.wheel"].position == (2.0, 1.0)
    assert flat.markers["part.m"].body == "part.left.wheel"
    assert flat.outputs["part.h"].value == "part.left.height"
    assert flat.coordinates["part.left.q"].force.startswith("-part.left.k*part.left.q")


def test_the_outer_model_may_name_what_is_inside():
    outer = {
        "bodies": {"car": free()},
        "joints": {"tie": {"type": "hinge_of_a_test", "i": "part.hub", "j": {"body": "car"}}},
        "forces": {"f": {"type": "spring_of_a_test", "i": {"body": "part.rim"}, "j": {"body": "car"}}},
        "coordinates": {"s": {}},
        "mass": {"s": 1, "part.q,s": 2},
        "outputs": {"y": "part.wheel.y"},
    }
    flat = placed(INNER, outer)
    assert flat.joints["tie"].i == "part.hub" and flat.forces["f"].i.body == "part.rim"
    assert flat.mass["part.q,s"] == 2 and flat.outputs["y"].value == "part.wheel.y"


def test_a_name_that_is_not_inside_is_refused_with_a_hint():
    outer = {"bodies": {"car": free()}, "coordinates": {"s": {}}, "mass": {"part.pq,s": 1},
             "joints": {"tie": {"type": "hinge_of_a_test", "i": "part.hob", "j": {"body": "part.weel"}}}}  # fmt: skip
    first, second, third = problems_of(INNER, outer)
    assert first.startswith("joints.tie.i: no marker is named 'part.hob'; did you mean 'part.hub'?; known: part.hub")
    assert second.startswith("joints.tie.j.body: no body is named 'part.weel'; did you mean 'part.wheel'?")
    assert third.startswith("mass.'part.pq,s': no coordinate is named 'part.pq'; did you mean 'part.q'?")


def test_both_ends_inside_on_one_body_are_refused():
    outer = {"joints": {"tie": {"type": "hinge_of_a_test", "i": "part.hub", "j": {"body": "part.wheel"}}}}
    assert problems_of(INNER, outer)[0].startswith("joints.tie: both ends are on body 'part.wheel'")


def test_names_in_files_have_no_dots():
    with pytest.raises(ModelError, match=r"bodies\.part\.wheel: must be a name of letters"):
        placed(INNER, {"bodies": {"part.wheel": free()}})


def test_a_model_without_parts_is_flat_already():
    description = Description(**INNER)
    assert description.flat() is description


# Parameters -----------------------------------------------------------------------------------------------------------


def test_parameters_are_replaced_by_numbers_and_outer_expressions():
    flat = placed(INNER, parameters={"k": "2*a"})
    assert flat.parameters["part.k"].value == "2*a" and flat.parameters["part.k2"].value == "part.k*part.k"
    assert placed(INNER, parameters={"k": 7}).parameters["part.k"].value == 7
    middle = model(submodels={"left": {"model": INNER}})
    assert placed(middle, parameters={"left.k": "w"}).parameters["part.left.k"].value == "w"


def test_an_unknown_parameter_and_one_out_of_bounds_are_refused():
    assert problems_of(INNER, parameters={"kk": 1}) == [
        "submodels.part.parameters: no parameter is named 'kk'; did you mean 'k'?; known: k, k2"
    ]
    bounded = model(parameters={"k": {"value": 2, "max": 3}}, bodies={"b": free()})
    (problem,) = problems_of(bounded, parameters={"k": 4})
    assert problem == "submodels.part: parameters.k: value must lie within min and max, found 4.0 in [None, 3.0]"


# Placement in the plane -----------------------------------------------------------------------------------------------

FLAT = model(
    bodies={"b": free(position=[1, 2], angle=0.3, velocity=[3, 4], omega=5)},
    markers={"wall": {"body": "ground", "at": [1, 1], "angle": 0.1}, "tip": {"body": "b", "at": [1, 2], "angle": 0.2}},
)


@pytest.mark.parametrize("mirror", [None, "x", "y"])
def test_planar_parts_are_turned_moved_and_mirrored(mirror):
    flat = placed(FLAT, position=["w", 5], angle=0.7, mirror=mirror)
    s, sign = np.diag([-1.0 if mirror == k else 1.0 for k in "xy"]), -1 if mirror else 1
    q = np.array([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
    body, wall, tip = flat.bodies["part.b"], flat.markers["part.wall"], flat.markers["part.tip"]
    assert numbers(body.position) == pytest.approx([P["w"], 5] + q @ s @ [1, 2])
    assert numbers(body.velocity) == pytest.approx(q @ s @ [3, 4])
    assert number(body.angle) == pytest.approx(0.7 + sign * 0.3) and number(body.omega) == sign * 5
    assert numbers(wall.at) == pytest.approx([P["w"], 5] + q @ s @ [1, 1])
    assert number(wall.angle) == pytest.approx(0.7 + sign * 0.1)
    assert numbers(tip.at) == pytest.approx(s @ [1, 2]) and number(tip.angle) == pytest.approx(sign * 0.2)


def test_a_part_without_placement_is_as_it_is_alone():
    alone, flat = Description(**FLAT), placed(FLAT)
    assert flat.bodies["part.b"] == alone.bodies["b"] and flat.markers["part.wall"] == alone.markers["wall"]


# Placement in space ---------------------------------------------------------------------------------------------------


def orientations(seed: int) -> list[Orientation]:
    """Every form, by numbers and by expressions."""
    rng = np.random.default_rng(seed)
    q, axis, x, y = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    return [
        Orientation(quaternion=q),
        Orientation(axis=axis, angle=rng.uniform(-3, 3)),
        Orientation(axis=("a", "b", 1), angle="a+b"),
        Orientation(quaternion=("a", "b", 1, "a*b")),
        Orientation(angles=rng.uniform(-3, 3, 3), sequence="313"),
        Orientation(angles=("a", "b", "w"), sequence="rpy"),
        Orientation(x=x, y=y),
        Orientation(x=("a", "b", 0), y=(0, "w", "b")),
    ]


def test_the_matrix_of_an_orientation_is_that_of_scipy():
    rng = np.random.default_rng(0)
    q, axis, angles = rng.normal(size=4), rng.normal(size=3), rng.uniform(-3, 3, 3)
    turn = Rotation.from_rotvec(axis / np.linalg.norm(axis) * 0.4)
    for given, expected in (
        (Orientation(quaternion=q), Rotation.from_quat(np.roll(q, -1))),
        (Orientation(axis=axis, angle=0.4), turn),
        (Orientation(angles=angles, sequence="313"), Rotation.from_euler("ZXZ", angles)),
        (Orientation(angles=angles, sequence="rpy"), Rotation.from_euler("xyz", angles)),
        (Orientation(x=turn.apply([2, 0, 0]), y=turn.apply([1, 3, 0])), turn),
    ):
        assert rotation(given) == pytest.approx(expected.as_matrix(), abs=1e-14)


def reflection(mirror) -> np.ndarray:
    return np.diag([-1.0 if mirror == k else 1.0 for k in "xyz"])


@pytest.mark.parametrize("mirror", [None, "x", "y", "z"])
@pytest.mark.parametrize("form", range(8))
def test_spatial_parts_are_turned_moved_and_mirrored(mirror, form):
    own, around = orientations(1)[form], orientations(2)[-1 - form]
    turn = resolved(own).to_data()  # by numbers: inside the part the parameters of the outer model are not known
    inertia = [4, 5, 6, 0.1, 0.2, "part_less"]
    inner = spatial(
        parameters={"part_less": {"value": 0.3}},
        bodies={"b": solid(position=[1, 2, 3], orientation=turn, velocity=[1, -1, 2], omega=[0.1, 0.2, 0.3],
                           inertia=inertia, center=[0.1, 0.2, 0.3])},
        markers={"wall": {"body": "ground", "at": [3, 2, 1], "orientation": turn},
                 "tip": {"body": "b", "at": [1, 2, 3], "orientation": turn}},
    )  # fmt: skip
    flat = placed(inner, position=[1, "w", 0], orientation=around.to_data(), mirror=mirror)
    s, q, r = reflection(mirror), rotation(around), rotation(own)
    det = np.linalg.det(s)
    body, wall, tip = flat.bodies["part.b"], flat.markers["part.wall"], flat.markers["part.tip"]
    origin = np.array([1, P["w"], 0])
    values = {**P, "part.part_less": 0.3}
    assert numbers(body.position) == pytest.approx(origin + q @ s @ [1, 2, 3])
    assert rotation(body.orientation) == pytest.approx(q @ s @ r @ s, abs=1e-13)
    assert numbers(body.velocity) == pytest.approx(q @ s @ [1, -1, 2])
    assert numbers(body.omega) == pytest.approx(det * s @ [0.1, 0.2, 0.3])
    assert numbers(body.center) == pytest.approx(s @ [0.1, 0.2, 0.3])
    assert tensor(numbers(body.inertia, values)) == pytest.approx(s @ tensor([4, 5, 6, 0.1, 0.2, 0.3]) @ s)
    assert numbers(wall.at) == pytest.approx(origin + q @ s @ [3, 2, 1])
    assert rotation(wall.orientation) == pytest.approx(q @ s @ r @ s, abs=1e-13)
    assert numbers(tip.at) == pytest.approx(s @ [1, 2, 3])
    assert rotation(tip.orientation) == pytest.approx(s @ r @ s, abs=1e-13)


@pytest.mark.parametrize("mirrors", [("x", "y"), (None, "z"), ("y", None)])
def test_turned_parts_of_mirrored_parts_are_reflected_once(mirrors):
    own, inner, outer = orientations(1)[0], orientations(2)[1], orientations(3)[4]
    turn = own.to_data()
    part = spatial(bodies={"b": solid(orientation=turn)}, markers={"tip": {"body": "b", "orientation": turn}})
    once = {"model": part, "position": [1, 2, 3], "orientation": inner.to_data()} | mirrored(mirrors[0])
    around = spatial(submodels={"half": once})
    flat = placed(around, position=[0, 0, 1], orientation=outer.to_data(), **mirrored(mirrors[1]))
    (s1, q1), (s2, q2) = ((reflection(m), rotation(turn)) for m, turn in zip(mirrors, (inner, outer), strict=True))
    wanted = q2 @ s2 @ q1 @ s1 @ rotation(own) @ s1 @ s2
    assert rotation(flat.bodies["part.half.b"].orientation) == pytest.approx(wanted, abs=1e-13)
    assert rotation(flat.markers["part.half.tip"].orientation) == pytest.approx(
        s2 @ s1 @ rotation(own) @ s1 @ s2, abs=1e-13
    )


def mirrored(mirror) -> dict[str, str]:
    return {} if mirror is None else {"mirror": mirror}


def tensor(entries) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("mirror", "xyz")
def test_expressions_inside_keep_their_form_in_a_mirror(mirror):
    inner = spatial(
        parameters={"a": {"value": 0.3}},
        bodies={"b": solid(position=["a", "2*a", "a^2"], orientation={"axis": [0, "a", 1], "angle": "a"},
                           omega=["a", "a", "a"])},
    )  # fmt: skip
    body, s = placed(inner, mirror=mirror).bodies["part.b"], reflection(mirror)
    values = {"part.a": 0.3}
    assert numbers(body.position, values) == pytest.approx(s @ [0.3, 0.6, 0.09])
    assert numbers(body.omega, values) == pytest.approx(-s @ [0.3, 0.3, 0.3])
    assert numbers(body.orientation.axis, values) == pytest.approx(-s @ [0, 0.3, 1])
    assert body.orientation.angle == "part.a"


def test_shapes_are_mirrored_with_their_body():
    shapes = [
        {"type": "box", "size": [1, 2, 3], "at": [1, 2, 3], "orientation": {"axis": [1, 1, 0], "angle": 0.3}},
        {"type": "rod", "from": [1, 2, 3], "to": [0, "w2", 1]},
        {"type": "sphere", "radius": 1, "mass": 2},
    ]
    inner = spatial(parameters={"w2": {"value": 2}}, bodies={"b": {"shapes": shapes, "free": True}})
    box, rod, ball = placed(inner, mirror="y").bodies["part.b"].shapes
    assert box.at == (1, -2, 3) and box.orientation == Orientation(axis=(-1, 1, 0), angle=0.3) and box.size == (1, 2, 3)
    assert rod.start == (1, -2, 3) and rod.end == (0, "-part.w2", 1) and ball == Sphere(radius=1, mass=2)


def test_axes_numbers_and_starts_of_joints_follow_what_the_joint_says():
    ends = {"i": {"body": "ground"}, "j": {"body": "b"}}
    joint = {"type": "hinge_of_a_test", **ends, "axis": [1, 2, 3], "along": [1, 2, 3], "pitch": 0.5, "twist": 2,
             "start": {"angle": 0.3, "way": 1, "aside_rate": {"value": "time", "priority": "guess"}}}  # fmt: skip
    mirrored = placed(spatial(bodies={"b": solid()}, joints={"j": joint}), mirror="y").joints["part.j"]
    assert mirrored.axis == (-1, 2, -3) and mirrored.along == (1, -2, 3)
    assert mirrored.pitch == -0.5 and mirrored.twist == 2
    assert (mirrored.start["angle"].value, mirrored.start["way"].value) == (0.3, 1)
    assert mirrored.start["aside_rate"].value == "-time" and mirrored.start["aside_rate"].priority == "guess"
    flat = {**joint, "axis": [0, 1], "along": [1, 2], "start": {"angle": 0.3}}
    mirrored = placed(model(bodies={"b": free()}, joints={"j": flat}), mirror="x").joints["part.j"]
    assert mirrored.along == (-1, 2) and mirrored.twist == -2 and mirrored.start["angle"].value == -0.3
    default = placed(spatial(bodies={"b": solid()}, joints={"j": {"type": "hinge_of_a_test", **ends}}), mirror="x")
    assert default.joints["part.j"].axis == (0, 0, -1) and default.joints["part.j"].along == (-1, 0, 0)


# What expressions see -------------------------------------------------------------------------------------------------


def state(seed: int, place, signs: np.ndarray, turn: np.ndarray, origin: np.ndarray):
    """The signals of a body in its own model, and those of the placed body in the model around."""
    rng = np.random.default_rng(seed)
    p, v, a, omega, alpha = rng.normal(size=(5, 3))
    r = Rotation.random(random_state=seed).as_matrix()
    det = np.linalg.det(signs)
    outer = (origin + turn @ signs @ p, turn @ signs @ v, turn @ signs @ a, det * signs @ omega, det * signs @ alpha)
    return signals(p, v, a, omega, alpha, r), signals(*outer, turn @ signs @ r @ signs)


def signals(p, v, a, omega, alpha, r) -> dict[str, float]:
    found = {f"{kind}{k}": value for kind, vector in (("", p), ("v", v), ("a", a), ("omega_", omega), ("alpha_", alpha))
             for k, value in zip("xyz", vector, strict=True)}  # fmt: skip
    quaternion = np.roll(Rotation.from_matrix(r).as_quat(canonical=True), 1)
    found |= {f"e{k}": value for k, value in enumerate(quaternion)}
    return found | dict(zip(("roll", "pitch", "yaw"), Rotation.from_matrix(r).as_euler("xyz"), strict=True))


TURN = Orientation(angles=(0.3, -0.8, 1.9), sequence="rpy")


@pytest.mark.parametrize("mirror", [None, "x", "y", "z"])
@pytest.mark.parametrize("turn", [None, TURN])
def test_expressions_of_a_spatial_part_see_what_they_see_alone(mirror, turn):
    place = Placement.of((1.0, 2.0, -3.0), 0.0, turn, mirror)
    seen = Seen("part", {"b": Body(mass=1, inertia=(1, 1, 1))}, place, 3)
    alone, around = state(3, place, reflection(mirror), rotation(turn), np.array([1.0, 2.0, -3.0]))
    values = {f"part.b.{name}": value for name, value in around.items()}
    for name, value in alone.items():
        if turn is not None and name[0] in "erpy" and name != "y":
            with pytest.raises(ModelError, match=f"such as 'b.{name}' have no simple meaning in a turned or mirrored"):
                seen.formula(f"b.{name}")
        else:
            assert number(seen.formula(f"1 - 2*b.{name}^3"), values) == pytest.approx(1 - 2 * value**3), name


@pytest.mark.parametrize("mirror", [None, "x", "y"])
def test_expressions_of_a_planar_part_see_what_they_see_alone(mirror):
    place = Placement.of((1.0, 2.0), "a", None, mirror)
    seen = Seen("part", {"b": Body(mass=1, inertia=1)}, place, 2)
    s, sign = np.diag([-1.0 if mirror == k else 1.0 for k in "xy"]), -1.0 if mirror else 1.0
    c = np.cos(P["a"]), np.sin(P["a"])
    q = np.array([[c[0], -c[1]], [c[1], c[0]]])
    p, v, a = np.random.default_rng(4).normal(size=(3, 2))
    outer = dict(zip(("x", "y"), [1, 2] + q @ s @ p, strict=True)) | dict(zip(("vx", "vy"), q @ s @ v, strict=True))
    outer |= dict(zip(("ax", "ay"), q @ s @ a, strict=True)) | {"phi": P["a"] + sign * 0.4, "omega": 2, "alpha": 3}
    values = {**P, **{f"part.b.{name}{end}": value for name, value in outer.items() for end in ("", ".start")}}
    expected = {"x": p[0], "y": p[1], "vx": v[0], "vy": v[1], "ax": a[0], "ay": a[1], "phi": 0.4, "omega": 2 * sign}
    for name, value in {**expected, "alpha": 3 * sign}.items():
        for end in ("", ".start"):
            assert number(seen.formula(f"2*b.{name}{end}"), values) == pytest.approx(2 * value), name


def test_coordinates_of_joints_keep_their_meaning_in_a_mirror():
    ends = {"i": {"body": "ground"}, "j": {"body": "b"}}
    inner = model(
        bodies={"b": free()}, joints={"h": {"type": "hinge_of_a_test", **ends}},
        motions={"drive": {"of": "h.angle", "value": "time", "unit": "rad"}, "lift": {"of": "b.phi", "value": "1"}},
        outputs={"turned": "h.angle", "turning": "2*h.angle_rate", "moved": "h.way"},
    )  # fmt: skip
    flat = placed(inner, mirror="x")
    assert (flat.motions["part.drive"].of, flat.motions["part.drive"].value) == ("(-part.h.angle)", "time")
    assert flat.motions["part.lift"] == Motion(of="(-part.b.phi)", value="1", unit="rad")
    assert flat.outputs["part.turned"].value == "(-part.h.angle)" and flat.outputs["part.turned"].unit == "rad"
    assert flat.outputs["part.turning"].value == "2*(-part.h.angle_rate)" and flat.outputs["part.turning"].unit is None
    assert flat.outputs["part.moved"].value == "part.h.way"
    moved = placed(model(bodies={"b": free()}, motions={"lift": {"of": "b.y", "value": 1}}), position=[0, 2])
    assert moved.motions["part.lift"].of == "(-2.0 + (part.b.y))" and moved.motions["part.lift"].unit == "m"


def test_signals_whose_sign_is_not_known_are_refused_in_a_mirror():
    inner = model(bodies={"b": free()}, outputs={"o": "1 + h.reaction.x"},
                  joints={"h": {"type": "hinge_of_a_test", "i": {"body": "ground"}, "j": {"body": "b"}}})  # fmt: skip
    assert placed(inner, position=[1, 2], angle=1).outputs["part.o"].value == "1 + part.h.reaction.x"
    (problem,) = problems_of(inner, mirror="x")
    first, text, caret = problem.splitlines()
    assert first == (
        "submodels.part: outputs.o: signals such as 'h.reaction.x' have no known sign in a mirrored sub-model; "
        "leave them out"
    )
    assert text == "  1 + h.reaction.x" and caret == "      ^"


def test_reactions_of_spatial_joints_keep_their_meaning_in_a_mirror():
    seen = Seen("part", {"h": Hinge(i="a", j="b")}, Placement.of((0.0, 0.0, 0.0), 0.0, None, "y"), 3)
    found = [seen.formula(f"h.{kind}.{k}") for kind in ("force", "torque") for k in "xyz"]
    assert found == [
        "part.h.force.x", "(-part.h.force.y)", "part.h.force.z",
        "(-part.h.torque.x)", "part.h.torque.y", "(-part.h.torque.z)",
    ]  # fmt: skip


# Attachment -----------------------------------------------------------------------------------------------------------

HUNG = model(
    bodies={"frame": {"external": True}, "arm": free(position=[0.5, 0])},
    markers={"top": {"body": "frame", "at": [0.2, 0.1], "angle": 0.3}},
    joints={"pin": {"type": "hinge_of_a_test", "i": "top", "j": {"body": "arm"}}},
)


def test_an_external_body_is_the_one_that_the_outer_model_names():
    flat = placed(HUNG, {"bodies": {"car": free()}}, attach={"frame": "car"}, position=[3, 4])
    assert set(flat.bodies) == {"car", "part.arm"}
    assert flat.markers["part.top"].body == "car" and flat.markers["part.top"].at == pytest.approx((3.2, 4.1))


def test_markers_on_an_attached_body_lie_where_the_part_stands_at_the_start():
    flat = placed(HUNG, {"bodies": {"car": free(position=[1, "w"], angle=0.4)}}, attach={"frame": "car"},
                  position=[3, 4], angle=0.9, mirror="y")  # fmt: skip
    top, turn = flat.markers["part.top"], Rotation.from_rotvec([0, 0, 0.9])
    on_ground = np.array([3, 4]) + turn.apply([0.2, -0.1, 0])[:2]
    in_car = Rotation.from_rotvec([0, 0, -0.4]).apply([*(on_ground - [1, P["w"]]), 0])[:2]
    assert numbers(top.at) == pytest.approx(in_car) and number(top.angle) == pytest.approx(0.9 - 0.3 - 0.4)


def test_markers_on_an_attached_body_in_space():
    top = {"body": "frame", "at": [0.2, 0.1, 0.3], "orientation": TURN.to_data()}
    hung = spatial(bodies={"frame": {"external": True}, "arm": solid()}, markers={"top": top})
    car = Orientation(axis=("a", 1, "b"), angle=0.7)
    outer = {"bodies": {"car": solid(position=[1, 2, "w"], orientation=car.to_data())}}
    flat = placed(
        hung, outer, attach={"frame": "car"}, position=[3, 4, 5], orientation=resolved(car).to_data(), mirror="z"
    )
    top, r, s, q = flat.markers["part.top"], rotation(car), reflection("z"), rotation(car)
    assert numbers(top.at) == pytest.approx(r.T @ ([3, 4, 5] + q @ s @ [0.2, 0.1, 0.3] - [1, 2, P["w"]]))
    assert rotation(top.orientation) == pytest.approx(r.T @ q @ s @ rotation(TURN) @ s, abs=1e-13)


def test_parts_may_be_attached_to_parts_in_any_order():
    link = {"model": HUNG, "attach": {"frame": "second.arm"}}
    both = {"first": link, "second": {"model": HUNG, "attach": {"frame": "ground"}, "position": [1, 0]}}
    flat = Description(format_version=1, name="chain", submodels=both).flat()
    assert flat.markers["first.top"].body == "second.arm" and flat.markers["second.top"].body == "ground"
    assert flat.markers["first.top"].at == pytest.approx((0.2 - 1.5, 0.1))
    circle = {"first": link, "second": {"model": HUNG, "attach": {"frame": "first.arm"}}}
    with pytest.raises(
        ModelError, match=r"submodels\.first\.attach: sub-models are attached to each other in a circle"
    ):
        Description(format_version=1, name="circle", submodels=circle)


def test_an_attached_body_may_be_external_one_level_higher():
    middle = model(bodies={"chassis": {"external": True}}, submodels={"left": {"model": HUNG, "position": [0, 1],
                   "attach": {"frame": "chassis"}}})  # fmt: skip
    flat = placed(middle, {"bodies": {"car": free()}}, attach={"chassis": "car"}, position=[2, 0])
    assert flat.markers["part.left.top"].body == "car" and flat.markers["part.left.top"].at == pytest.approx((2.2, 1.1))
    assert set(flat.bodies) == {"car", "part.left.arm"}


def test_what_is_attached_must_be_external_and_everything_external_attached():
    outer = {"bodies": {"car": free()}}
    assert problems_of(HUNG, outer) == [
        'submodels.part: body \'frame\' is external; give "attach": {"frame": a body of this model}'
    ]
    first, second = problems_of(HUNG, outer, attach={"frame": "ca", "arm": "car"})
    assert first.startswith("submodels.part.attach.frame: no body is named 'ca'; did you mean 'car'?")
    assert second == "submodels.part.attach: no external body is named 'arm'; did you mean 'frame'?; known: frame" or (
        second == "submodels.part.attach: no external body is named 'arm'; known: frame"
    )
    with pytest.raises(ModelError, match=r"bodies\.frame: is external, so this model is a part of others; give"):
        Description(**HUNG).flat()
    with pytest.raises(ModelError, match="an external body has no entries of its own, found mass; leave them out"):
        Body(external=True, mass=1)
    inner = model(bodies={"frame": {"external": True}, "b": free()}, outputs={"o": "frame.x"})
    (problem,) = problems_of(inner, outer, attach={"frame": "car"})
    assert "signals such as 'frame.x' of an external body have no place of their own; use a marker on it" in problem


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """car.json has a part in parts/axle.json, which has one in parts/wheel.json."""
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "wheel.json", {**FLAT, "name": "wheel"})
    write(tmp_path / "parts" / "axle.json", model(submodels={"left": {"file": "wheel.json", "position": [0, 1]}}))
    write(tmp_path / "car.json", model(submodels={"front": {"file": "parts/axle.json"}, "rear": {"model": HUNG,
          "attach": {"frame": "front.left.b"}}}))  # fmt: skip
    return tmp_path


def write(path, data) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


def test_files_are_relative_to_the_file_that_names_them(folder, monkeypatch):
    description = Description.load(folder / "car.json")
    assert description.flat().bodies["front.left.b"].position == (1.0, 3.0)
    monkeypatch.chdir(folder)
    assert Description.load("car.json") == Description.from_json((folder / "car.json").read_text()) == description


def test_writing_keeps_the_section_and_whole_writes_the_files_into_it(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    description = Description.load("car.json")
    assert '"front": {"file": "parts/axle.json"}' in description.to_json()
    assert Description.from_json(description.to_json()) == description
    monkeypatch.chdir(folder / "parts")
    whole = Description.from_json(description.whole().to_json())
    assert whole.flat() == description.flat() and "axle.json" not in whole.to_json()


def test_inputs_of_parts_are_driven_by_their_full_names(folder):
    driven = model(inputs={"u": {"unit": "N"}}, coordinates={"z": {"unit": "m", "force": "u"}}, mass={"z": 1})
    write(folder / "car.json", model(submodels={"left": {"model": driven}, "right": {"model": driven}}))
    car, table = Model.load(folder / "car.json"), folder / "u.csv"
    table.write_text("time [s],left.u [N]\n0,2\n1,2\n", encoding="utf-8")
    for inputs in ({"left.u": ([0, 1], [2, 2])}, table):
        result = car.simulate(1, 0.5, inputs=inputs)
        assert result["left.z"][-1] == pytest.approx(1, rel=1e-6) and result["right.z"][-1] == 0
    with pytest.raises(ModelError, match=r"'u'.*left\.u"):
        car.simulate(1, inputs={"u": ([0, 1], [2, 2])})


def test_a_model_built_in_python_keeps_its_parts(folder):
    built = Model.load(folder / "car.json")
    built.add("more", Submodel(model=FLAT, position=(5, 5)))
    built.add("other", Submodel(file=str(folder / "parts" / "wheel.json"), mirror="x"))
    flat = built.description.flat()
    assert {"front.left.b", "rear.arm", "more.b", "other.b"} == set(flat.bodies)
    assert flat.bodies["other.b"].position == (-1.0, 2.0)


def test_errors_inside_a_file_name_the_file_and_the_place(folder):
    write(folder / "parts" / "wheel.json", {**FLAT, "bodies": {"b": free(mass=-1), "c": 3}})
    with pytest.raises(ModelError) as caught:
        Description.load(folder / "car.json")
    inner, outer, middle = folder / "parts" / "wheel.json", folder / "car.json", folder / "parts" / "axle.json"
    start = f"{outer}: submodels.front.file: {middle}: submodels.left.file: {inner}: "
    assert caught.value.problems == [
        f"{start}bodies.b.mass: must be positive, found -1.0",
        f"{start}bodies.c: must be an object {{...}}, found 3",
    ]


def test_a_missing_file_and_a_file_that_holds_itself_are_refused(folder):
    write(folder / "car.json", model(submodels={"front": {"file": "none.json"}}))
    with pytest.raises(ModelError, match=r"submodels\.front\.file: .*none\.json: cannot be read: No such file"):
        Description.load(folder / "car.json")
    write(folder / "parts" / "wheel.json", model(submodels={"again": {"file": "../parts/axle.json"}}))
    with pytest.raises(ModelError) as caught:
        Description.load(folder / "parts" / "axle.json")
    (problem,) = caught.value.problems
    assert problem.endswith("a model must not be a part of itself: axle.json -> wheel.json -> axle.json")


def test_a_broken_part_causes_no_second_finding():
    outer = {"bodies": {"car": free()}, "forces": {"f": {"type": "spring_of_a_test", "i": {"body": "part.b"}, "j":
             {"body": "car"}}}}  # fmt: skip
    (problem,) = problems_of(model(bodies={"b": 3}), outer)
    assert problem == "submodels.part.model: bodies.b: must be an object {...}, found 3"


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, 'submodels.part: must have either a "file" or a "model"'),
        ({"model": FLAT, "file": "x.json"}, 'submodels.part: must have either a "file" or a "model"'),
        ({"model": 3}, "submodels.part.model: must be a model {...}, found 3"),
        ({"model": FLAT, "mirror": "z"}, "submodels.part.mirror: must be 'x' or 'y' in a planar model, found 'z'"),
        ({"model": FLAT, "mirror": "xy"}, "submodels.part.mirror: must be 'x', 'y' or 'z', found 'xy'"),
        ({"model": FLAT, "position": [1, 2, 3]}, "submodels.part.position: must be [x, y] in a planar model"),
        ({"model": FLAT, "orientation": {"axis": [1, 0, 0], "angle": 1}}, "submodels.part.orientation: belongs to"),
        ({"model": spatial(bodies={"b": solid()})}, "submodels.part: the model 'inner' has \"dimensions\": 3, this"),
        ({"model": model(coordinates={"q": {}}, mass={"q": 1}, velocity_terms="given")},
         "submodels.part: velocity_terms of the model 'inner' must be 'derived' as in this one"),
        ({"model": FLAT, "paramters": {}}, "submodels.part: unknown entry 'paramters'; did you mean 'parameters'?"),
    ],
)  # fmt: skip
def test_an_entry_that_does_not_fit_is_refused(entry, reason):
    with pytest.raises(ModelError) as caught:
        Description(format_version=1, name="outer", submodels={"part": entry})
    (problem,) = caught.value.problems
    assert problem.startswith(reason)


@pytest.mark.nightly
def test_the_schema_knows_models_inside_models():
    jsonschema = pytest.importorskip("jsonschema")
    data = model(submodels={"part": {"model": FLAT, "position": [1, 2], "parameters": {"left.k": "2*w"}}})
    jsonschema.validate(data, schema())
    data["submodels"]["part"]["model"] = {"name": "no version"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema())


# All joints and forces ------------------------------------------------------------------------------------------------

UNSAID = {  # signs that depend on which directions a joint picks in its plane
    ("planar", "displacement_x"), ("planar", "displacement_y"),
    ("point_in_plane", "displacement_x"), ("point_in_plane", "displacement_y"),
}  # fmt: skip
NEEDED = {  # fields without default
    "length": 0.7, "radius": 0.4, "pitch": 0.2, "coefficient": 0.3, "normal_force": 5.0, "stiffness": 1e3,
    "radius_i": 0.4, "radius_j": 0.6, "size": [0.5, 0.7, 0.6],
}  # fmt: skip


def kinds() -> list:
    """Every joint and force, in the plane and in space, with every mirror that there is."""
    joints = [kind for kind in JointElement.members().values() if not issubclass(kind, Relation)]
    found = [(kind, d) for kind in joints for d in (2, 3) if kind.freedoms.of(d) is not None]
    forces = [kind for kind in ForceElement.members().values() if {"i", "j"} <= kind.model_fields.keys()]
    found += [(kind, d) for kind in forces for d in kind.dimensions]
    return [pytest.param(k, d, m, id=f"{k.type_name}-{d}-{m}") for k, d in found for m in "xyz"[:d]]


def sample(kind, dimensions: int) -> dict:
    """Fields of an example that names nothing."""
    for example in EXAMPLES.get(kind.type_name, ()):
        fields = example.of(dimensions)
        if fields and "'" not in str(list(fields.values())):  # text: an expression, or the name of a body
            return dict(fields)
    return {}


def random_element(kind, dimensions: int, rng) -> dict:
    """Everything at random that a mirror must change, directions and ends; the rest as in the examples of forces."""
    given = {"type": kind.type_name, **sample(kind, dimensions)}
    for end in "ij":
        turn = {"orientation": {"quaternion": list(rng.normal(size=4))}} if dimensions == 3 else {"angle": rng.normal()}
        given[end] = {"body": end, "at": list(rng.normal(size=dimensions)), **turn}
    for name, info in kind.model_fields.items():
        is_direction = name == "axis" or (isinstance(info.default, tuple) and len(info.default) == 3)
        elsewhere = any(isinstance(mark, Only) and mark.dimensions != dimensions for mark in info.metadata)
        if is_direction and not elsewhere and (dimensions == 3 or info.default != Z):
            given[name] = list(rng.normal(size=dimensions))
        elif info.is_required() and name in NEEDED:
            needed = NEEDED[name]
            given[name] = needed[:dimensions] if isinstance(needed, list) else needed
    return given


def pose(dimensions: int, body: str, p, turn) -> dict:
    """The values of the symbols of one body: its place and its rotation vector or angle."""
    if dimensions == 2:
        return {f"{body}.x": p[0], f"{body}.y": p[1], f"{body}.phi": turn}
    r, q = turn.as_matrix(), np.roll(turn.as_quat(), 1)
    values = dict(zip((f"{body}.{k}" for k in "xyz"), p, strict=True))
    values |= {f"{body}.e{k}": q[k] for k in range(4)}
    return values | {f"{body}.r{i}{j}": r[i, j] for i in range(3) for j in range(3)}


def evaluated(nodes, values: dict) -> np.ndarray:
    """Symbols that are not given are velocities and counted turns, which are zero."""
    symbols = {symbol for node in nodes for symbol in node.support}
    return np.array(evaluate(list(nodes), {s: values.get(s.value[1], 0.0) for s in symbols}), dtype=float)


@pytest.mark.parametrize(("kind", "dimensions", "mirror"), kinds())
def test_every_joint_and_force_is_its_mirror_image(kind, dimensions, mirror):
    rng = np.random.default_rng(5)
    body = free() if dimensions == 2 else solid()
    section = "joints" if issubclass(kind, JointElement) else "forces"
    element = random_element(kind, dimensions, rng)
    inner = model(dimensions=dimensions, bodies={"i": body, "j": body}, **{section: {"e": element}})
    s, alone, image = reflection(mirror)[:dimensions, :dimensions], {}, {}
    for end in "ij":
        p, turn = rng.normal(size=dimensions), rng.normal(size=3)
        back = -turn[0] if dimensions == 2 else Rotation.from_rotvec(-s @ turn)
        alone |= pose(dimensions, f"part.{end}", p, turn[0] if dimensions == 2 else Rotation.from_rotvec(turn))
        image |= pose(dimensions, f"part.{end}", s @ p, back)
    place = Placement.of((0.0,) * dimensions, 0.0, None, mirror)
    seen = Seen("part", {"e": Description(**inner).element("e")}, place, dimensions)
    original, mirrored = (tabulate(placed(inner, mirror=m)) for m in (None, mirror))
    for name in free_coordinates(original):
        if (kind.type_name, name) in UNSAID:
            with pytest.raises(ModelError, match="no known sign"):
                seen.sign("e", name)
            continue
        (one,) = evaluated([original.signals[f"part.e.{name}"].node], alone)
        (other,) = evaluated([mirrored.signals[f"part.e.{name}"].node], image)
        assert other == pytest.approx(seen.sign("e", name) * one, abs=1e-12), name
    rows = [[row.value for c in m.constraints for p in c.primitives for row in p.rows if row.level == "position"]
            for m in (original, mirrored)]  # fmt: skip
    assert np.linalg.norm(evaluated(rows[0], alone)) == pytest.approx(np.linalg.norm(evaluated(rows[1], image)))


def free_coordinates(symbolic) -> list[str]:
    found = (re.fullmatch(r"part\.e\.(\w+)_rate", name) for name in symbolic.signals)
    return [match[1] for match in found if match]


# Units of outputs that are not given ----------------------------------------------------------------------------------

MOUNTED = {
    2: ("bushing", ("displacement_x", "displacement_x_rate", "displacement_y_rate", "angle", "angle_rate", "force.x",
                    "force.y", "torque", "power", "energy")),
    3: ("bushing", ("displacement_x_rate", "displacement_y_rate", "displacement_z_rate", "rotation_x", "force.y",
                    "torque.z", "power")),
}  # fmt: skip


@pytest.mark.parametrize("mirror", ["x", "y"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_outputs_of_a_mirrored_part_keep_their_units(dimensions, mirror):
    """Of what an element measures, its rates, forces and torques, and of joints and bodies."""
    kind, measured = MOUNTED[dimensions]
    deep = dimensions == 3
    inertia = [1, 1, 1] if deep else 1
    bodies = {"b": {"mass": 1, "inertia": inertia, "free": True}, "c": {"mass": 1, "inertia": inertia}}
    ends = {"i": {"body": "ground"}, "j": {"body": "b"}}
    names = [f"m.{name}" for name in measured] + ["p.displacement", "p.displacement_rate", "b.x", "b.vy", "b.ax"]
    inner = {
        "format_version": 1, "name": "part", "dimensions": dimensions, "bodies": bodies,
        "joints": {"p": {"type": "prismatic", "i": {"body": "ground"}, "j": {"body": "c"}}},
        "forces": {"m": {"type": kind, **ends, "stiffness": [1] * dimensions, "torsional_stiffness": inertia}},
        "outputs": {name.replace(".", "_"): {"value": name} for name in names},
    }  # fmt: skip
    units = []
    for more in ({}, {"mirror": mirror}):
        data = {
            "format_version": 1,
            "name": "all",
            "dimensions": dimensions,
            "submodels": {"s": {"model": inner, **more}},
        }
        signals = lower(Description(**data)).model.signals
        units.append({name: s.unit for name, s in signals.items() if s.causality == "output"})
    assert len(units[0]) == len(names) and all(units[0].values())
    assert units[1] == units[0]
