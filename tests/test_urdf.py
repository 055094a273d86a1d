"""URDF files become models that stand and move as the robot does; what is wrong and what is lost is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mbdfmu as mbd
from mbdfmu.cli.verbs.import_ import command
from mbdfmu.description import Body, Description, Marker
from mbdfmu.importers import Imported, read_urdf

ROUNDING = 1e-13  # m and rad, of a few compositions of poses of some metres
BALL = 'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"'
MASS = f'<inertial><mass value="1"/><inertia {BALL}/></inertial>'


# ---------------------------------------------------------------- robots


def link(name: str, mass: float = 1.0, center: str = "0 0 0", rpy: str = "0 0 0", moments: str = BALL) -> str:
    place = f'<origin xyz="{center}" rpy="{rpy}"/>'
    return f'<link name="{name}"><inertial>{place}<mass value="{mass}"/><inertia {moments}/></inertial></link>\n'


def frame(name: str) -> str:
    return f'<link name="{name}"/>\n'


def joint(
    name: str, kind: str, ends: str, xyz: str = "0 0 0", rpy: str = "0 0 0", axis: str = "", more: str = ""
) -> str:
    """`ends` as in "base arm": parent and child."""
    parent, child = ends.split()
    turning = f'<axis xyz="{axis}"/>' if axis else ""
    place = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}" rpy="{rpy}"/>'
    return f'<joint name="{name}" type="{kind}">{place}{turning}{more}</joint>\n'


def robot(*parts: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="robot">\n{"".join(parts)}</robot>\n'


def tensor(xx: float, yy: float, zz: float, xy: float = 0.0, xz: float = 0.0, yz: float = 0.0) -> str:
    return f'ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"'


DAMPED = '<dynamics damping="0.4" friction="0"/>'
ROD = tensor(1e-3, 0.08, 0.08)
DOUBLE_PENDULUM = robot(
    frame("world"),
    link("upper", 1.0, "0.5 0 0", moments=ROD),
    link("lower", 2.0, "0.4 0 0", moments=ROD),
    joint("shoulder", "continuous", "world upper", axis="0 1 0"),
    joint("elbow", "continuous", "upper lower", "1 0 0", axis="0 1 0"),
)
SIX_AXIS_ARM = robot(
    link("base", 8.0, "0 0 0.05"),
    link("turret", 5.0, "0.02 0.01 0.1", "0.1 0.2 0.3", tensor(0.05, 0.06, 0.04, 0.002, -0.003, 0.001)),
    link("upper", 4.0, "0 0 0.2", "0 0 0.4", tensor(0.08, 0.09, 0.02, 0.001)),
    link("fore", 3.0, "0.1 0 0.03", "0.5 0 0", tensor(0.01, 0.05, 0.05, 0, 0.002)),
    link("roll", 1.0, "0.1 0.005 0", "0 0.7 0", tensor(0.003, 0.005, 0.004)),
    link("pitch", 0.7, "0.03 0 0", "0 0 0", tensor(0.001, 0.002, 0.0015)),
    link("flange", 0.2, "0.01 0 0.002", "0.3 0.3 0.3", tensor(2e-4, 3e-4, 2.5e-4, 1e-5, 2e-5, -1e-5)),
    frame("tool0"),
    joint("j1", "revolute", "base turret", "0 0 0.2", axis="0 0 1", more='<limit lower="-3" upper="3"/>'),
    joint("j2", "revolute", "turret upper", "0.05 0.02 0.15", "1.5708 0 0", "0 0 1"),
    joint("j3", "revolute", "upper fore", "0 0.4 0", "0 0 1.2", "0 0 -1"),
    joint("j4", "continuous", "fore roll", "0.15 0 0.03", "0 1.5707963267948966 0", "0 0 2", DAMPED),
    joint("j5", "revolute", "roll pitch", "0.2 0 0", "0.3 -0.4 0.5", "0 1 1"),
    joint("j6", "continuous", "pitch flange", "0.06 0 0", axis="1 0 0"),
    joint("to_tool", "fixed", "flange tool0", "0.02 0 0", "0 1.5707963267948966 0"),
)
WHEEL = tensor(0.002, 0.003, 0.002)
MOBILE_BASE = robot(
    frame("base_footprint"),
    link("chassis", 12.0, "0.01 0 0.05", moments=tensor(0.2, 0.3, 0.4, 0.01)),
    link("left-wheel", 0.8, moments=WHEEL),
    link("right-wheel", 0.8, moments=WHEEL),
    link("mast", 1.5, "0 0 0.3", moments=tensor(0.05, 0.05, 0.002)),
    frame("camera_frame"),
    joint("raised", "fixed", "base_footprint chassis", "0 0 0.1"),
    joint("left", "continuous", "chassis left-wheel", "0 0.2 0", axis="0 1 0"),
    joint("right", "continuous", "chassis right-wheel", "0 -0.2 0", axis="0 1 0"),
    joint("lift", "prismatic", "chassis mast", "0.1 0 0.1", "0 0.1 0", "0 0 1", DAMPED),
    joint("camera", "fixed", "mast camera_frame", "0.05 0 0.5", "-1.57 0 -1.57"),
)
ROBOTS = {"double pendulum": DOUBLE_PENDULUM, "six-axis arm": SIX_AXIS_ARM, "mobile base": MOBILE_BASE}


@pytest.fixture(params=ROBOTS)
def any_robot(request: pytest.FixtureRequest) -> str:
    return ROBOTS[request.param]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(text: str, **options: Any) -> Imported:
    Path("robot.urdf").write_text(text, encoding="utf-8")
    return read_urdf("robot.urdf", **options)


def problems(text: str | bytes, **options: Any) -> str:
    """All that is said about a file that is refused, without its name."""
    Path("robot.urdf").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(mbd.ModelError) as caught:
        read_urdf("robot.urdf", **options)
    assert all(problem.startswith("robot.urdf: ") for problem in caught.value.problems)
    return "\n".join(problem.removeprefix("robot.urdf: ") for problem in caught.value.problems)


# ---------------------------------------------------------------- where things are


Placement = tuple[np.ndarray, np.ndarray]


def placement(element: Body | Marker) -> Placement:
    """Rotation and position of a body or marker; written anew, not with the importer's means."""
    turn = element.orientation
    if turn is None:
        rotation = np.eye(3)
    elif turn.angles is not None:
        rotation = Rotation.from_euler("xyz", np.array(turn.angles, dtype=float)).as_matrix()
    else:
        rotation = np.column_stack([turn.x, turn.y, np.cross(turn.x, turn.y)])  # type: ignore[arg-type]
    point = element.at if isinstance(element, Marker) else element.position
    return rotation, np.array((*point, 0.0)[:3], dtype=float)


def in_ground(model: Description, marker: Marker) -> Placement:
    inner_rotation, inner = placement(marker)
    if marker.body == "ground":
        return inner_rotation, inner
    rotation, position = placement(model.bodies[marker.body])
    return rotation @ inner_rotation, position + rotation @ inner


def test_the_joints_are_closed_at_the_start(any_robot: str) -> None:
    model = load(any_robot).description
    assert model.joints
    for element in model.joints.values():
        (rotation_i, position_i), (rotation_j, position_j) = (in_ground(model, end) for end in (element.i, element.j))
        assert position_j == pytest.approx(position_i, abs=ROUNDING)
        assert rotation_j == pytest.approx(rotation_i, abs=ROUNDING)


def test_a_frame_at_the_end_of_a_chain_is_where_the_file_puts_it() -> None:
    model = load(
        robot(
            frame("base"), link("a"), link("b"), frame("tip"),
            joint("p", "revolute", "base a", "1 2 3", "0.1 0.2 0.3", "0 0 1"),
            joint("q", "prismatic", "a b", "0 0 1", "0 0 0.4", "1 0 0"),
            joint("r", "fixed", "b tip", "0.5 0 0", "1 0 0"),
        )
    ).description  # fmt: skip
    first, second, third = (Rotation.from_euler("xyz", angles) for angles in ([0.1, 0.2, 0.3], [0, 0, 0.4], [1, 0, 0]))
    rotation, position = in_ground(model, model.markers["tip"])
    expected = np.array([1, 2, 3]) + first.apply([0, 0, 1]) + (first * second).apply([0.5, 0, 0])
    assert position == pytest.approx(expected, abs=ROUNDING)
    assert rotation == pytest.approx((first * second * third).as_matrix(), abs=ROUNDING)


def test_the_tensor_is_turned_into_the_axes_of_the_link() -> None:
    body = load(SIX_AXIS_ARM).description.bodies["turret"]
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    given = np.array([[0.05, 0.002, -0.003], [0.002, 0.06, 0.001], [-0.003, 0.001, 0.04]])
    expected = turn @ given @ turn.T
    assert body.inertia == pytest.approx([expected[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])
    assert body.center == (0.02, 0.01, 0.1)
    assert body.mass == 5.0


@pytest.mark.parametrize("pitch", [0.0, 1.2, np.pi / 2, -np.pi / 2, 1.5707, 1.5698])
def test_no_orientation_is_singular(pitch: float) -> None:
    model = load(
        robot(frame("base"), link("arm"), joint("j", "revolute", "base arm", rpy=f"0.4 {pitch!r} -0.7", axis="0 0 1"))
    ).description
    rotation, _ = placement(model.bodies["arm"])
    assert rotation == pytest.approx(Rotation.from_euler("xyz", [0.4, pitch, -0.7]).as_matrix(), abs=1e-12)


def test_the_model_survives_its_file(any_robot: str) -> None:
    model = load(any_robot).description
    model.save("robot.json")
    assert Description.load("robot.json").to_data() == model.to_data()


# ---------------------------------------------------------------- joints


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("revolute", "revolute"), ("continuous", "revolute"), ("prismatic", "prismatic"), ("planar", "planar")],
)
def test_a_joint_keeps_its_kind_and_axis(kind: str, expected: str) -> None:
    joints = load(robot(frame("base"), link("a"), joint("j", kind, "base a", axis="0 3 4"))).description.joints
    assert joints["j"].type_name == expected
    assert joints["j"].axis == (0.0, 0.6, 0.8)  # type: ignore[attr-defined]


def test_an_axis_not_given_is_x() -> None:
    joints = load(robot(frame("base"), link("a"), joint("j", "revolute", "base a"))).description.joints
    assert joints["j"].axis == (1.0, 0.0, 0.0)  # type: ignore[attr-defined]


def test_links_with_mass_are_welded() -> None:
    model = load(robot(frame("base"), link("a"), link("b"), joint("j", "revolute", "base a", axis="0 0 1"),
                       joint("weld", "fixed", "a b", "1 0 0"))).description  # fmt: skip
    assert model.joints["weld"].type_name == "fixed"
    assert set(model.bodies) == {"a", "b"}


def test_a_floating_joint_leaves_its_link_free() -> None:
    model = load(robot(frame("world"), link("drone"), joint("j", "floating", "world drone", "0 0 2"))).description
    assert not model.joints
    assert model.bodies["drone"].free
    assert model.bodies["drone"].position == (0.0, 0.0, 2.0)


@pytest.mark.parametrize(("kind", "force"), [("continuous", "rotational"), ("prismatic", "translational")])
def test_damping_becomes_a_force(kind: str, force: str) -> None:
    damped = joint("j", kind, "base a", "0 0 1", axis="0 1 0", more='<dynamics damping="0.5"/>')
    data = load(robot(frame("base"), link("a"), damped)).description.to_data()
    held = data["joints"]["j"]
    assert data["forces"]["j_damping"] == {
        "type": force, "i": held["i"], "j": held["j"], "axis": [0.0, 1.0, 0.0], "damping": 0.5
    }  # fmt: skip


def test_limits_stay_readable() -> None:
    imported = load(SIX_AXIS_ARM)
    assert imported.description.joints["j1"].text == "limits in the URDF file: lower -3, upper 3"


FINGERS = robot(
    frame("palm"), link("left"), link("right"), link("thumb"),
    joint("open", "prismatic", "palm left", axis="0 1 0"),
    joint("close", "prismatic", "palm right", axis="0 1 0", more='<mimic joint="open" multiplier="-1" offset="0.1"/>'),
    joint("bend", "revolute", "palm thumb", axis="0 0 1", more='<mimic joint="close" multiplier="2" offset="0.3"/>'),
)  # fmt: skip


def test_a_joint_that_follows_another_is_geared_to_it() -> None:
    joints = load(FINGERS).description.to_data()["joints"]
    gear = {"type": "gear", "first": "close.displacement", "second": "open.displacement"}
    assert joints["close_mimic"] == {**gear, "ratio": -1.0, "offset": 0.1}
    assert joints["bend_mimic"]["first"] == "bend.angle"


def test_a_joint_that_follows_another_starts_where_that_puts_it() -> None:
    bodies = load(FINGERS).description.bodies
    assert bodies["left"].position == (0.0, 0.0)
    assert bodies["right"].position == (0.0, 0.1, 0.0)
    assert bodies["thumb"].orientation.angles == pytest.approx((0.0, 0.0, 2 * 0.1 + 0.3))  # type: ignore[union-attr]


# ---------------------------------------------------------------- links without mass


def test_a_frame_goes_with_its_parent() -> None:
    model = load(SIX_AXIS_ARM).description
    assert "tool0" not in model.bodies
    assert model.markers["tool0"].body == "flange"


def test_a_frame_that_moves_goes_with_its_child() -> None:
    """The joint then acts on the child, at the place of the frame."""
    moved = robot(
        frame("base"), frame("mount"), link("arm"),
        joint("j", "revolute", "base mount", "1 0 0", axis="0 0 1"),
        joint("weld", "fixed", "mount arm", "0 0 2", "0.5 0 0"),
    )  # fmt: skip
    model = load(moved).description
    assert set(model.joints) == {"j"}
    assert model.joints["j"].j.body == "arm"  # type: ignore[union-attr]
    _, position = in_ground(model, model.markers["mount"])
    assert position == pytest.approx([1, 0, 0], abs=ROUNDING)


def test_zero_mass_means_a_frame() -> None:
    zero = link("tip", 0.0)
    imported = load(
        robot(frame("base"), link("a"), zero, joint("j", "revolute", "base a"), joint("w", "fixed", "a tip"))
    )
    assert imported.description.markers["tip"].body == "a"
    assert "links with zero mass count as frames: tip" in imported.notes


def test_what_is_too_light_adds_to_the_body_that_it_is_fixed_to() -> None:
    """A point mass of 1 kg a metre from a ball of 3 kg: the centre moves by 1/4 m, 3/4 kg.m2 come on top."""
    point = link("sensor", 1.0, moments=tensor(0, 0, 0))
    weld = joint("w", "fixed", "a sensor", "1 0 0", "0.3 0.2 0.1")
    imported = load(robot(frame("base"), link("a", 3.0), point, joint("j", "revolute", "base a"), weld))
    body = imported.description.bodies["a"]
    assert body.mass == 4.0
    assert body.center == (0.25, 0.0, 0.0)
    assert body.inertia == pytest.approx((0.1, 0.85, 0.85))
    assert "links whose inertia is no body's are part of what they are fixed to: sensor" in imported.notes


def test_a_light_root_goes_with_what_it_carries() -> None:
    """Many legged robots have such a root, because other programs do not weigh it."""
    text = robot(
        link("base", 0.001, moments=tensor(0, 0, 0)), link("trunk", 3.0), joint("w", "fixed", "base trunk", "0 0 1")
    )
    model = load(text).description
    assert model.bodies["trunk"].free
    assert model.bodies["trunk"].mass == pytest.approx(3.001)
    assert model.markers["base"].at == (0.0, 0.0, -1.0)


def test_a_part_with_negative_moments_must_not_spoil_its_body() -> None:
    weld = joint("w", "fixed", "a b")
    text = robot(frame("base"), link("a"), link("b", moments=tensor(-1, 1, 1)), joint("j", "revolute", "base a"), weld)
    assert problems(text).startswith("line 4: link 'a', with what is fixed to it: inertia must be positive definite")


def test_a_link_that_moves_without_mass_is_named() -> None:
    text = robot(frame("base"), link("a"), frame("wheel"), joint("j", "revolute", "base a"),
                 joint("spin", "continuous", "a wheel"))  # fmt: skip
    found = problems(text)
    assert found.startswith("line 5: link 'wheel' moves but without mass; give it an <inertial>")


def test_a_file_for_looking_only_is_refused() -> None:
    assert "nothing to simulate" in problems(robot(frame("base"), frame("a"), joint("j", "fixed", "base a")))


# ---------------------------------------------------------------- the root


def test_a_root_without_mass_is_the_ground() -> None:
    imported = load(MOBILE_BASE)
    weld = imported.description.joints["raised"]
    assert (weld.type_name, weld.i.body) == ("fixed", "ground")  # type: ignore[union-attr]
    assert 'root link fixed to the ground, base="floating" (--floating) changes that: base_footprint' in imported.notes


def test_a_root_without_mass_may_float_with_what_is_fixed_to_it() -> None:
    model = load(MOBILE_BASE, base="floating").description
    assert model.bodies["chassis"].free
    assert model.markers["base_footprint"].body == "chassis"
    assert "raised" not in model.joints


def test_a_root_with_mass_floats_unless_told_otherwise() -> None:
    assert load(SIX_AXIS_ARM).description.bodies["base"].free
    model = load(SIX_AXIS_ARM, base="fixed").description
    assert not model.bodies["base"].free
    assert model.joints["base_mount"].type_name == "fixed"


def test_a_misspelt_choice_of_base_is_refused() -> None:
    with pytest.raises(mbd.ModelError, match="did you mean 'fixed'"):
        read_urdf("robot.urdf", base="fix")


# ---------------------------------------------------------------- shapes and colours


def drawn(inside: str, *more: str) -> Imported:
    arm = f'<link name="arm">{MASS}{inside}</link>'
    return load(robot(*more, frame("base"), arm, joint("j", "revolute", "base arm")))


def shapes(imported: Imported) -> list[dict[str, Any]]:
    return [shape.to_data() for shape in imported.description.bodies["arm"].shapes]


def test_simple_geometry_is_drawn() -> None:
    visual = '<visual><origin xyz="0 0 1"/><geometry>{}</geometry></visual>'
    forms = ('<box size="1 2 3"/>', '<cylinder radius="0.1" length="2"/>', '<sphere radius="0.3"/>')
    assert shapes(drawn("".join(visual.format(form) for form in forms))) == [
        {"type": "box", "size": [1.0, 2.0, 3.0], "at": [0.0, 0.0, 1.0]},
        {"type": "cylinder", "radius": 0.1, "length": 2.0, "at": [0.0, 0.0, 1.0]},
        {"type": "sphere", "radius": 0.3, "at": [0.0, 0.0, 1.0]},
    ]


SPHERE = '<geometry><sphere radius="1"/></geometry>'


@pytest.mark.parametrize(
    "inside", ['<material name="red"/>', '<material name="x"><color rgba="1 0 0.2 1"/></material>']
)
def test_colours_are_those_of_the_file(inside: str) -> None:
    red = '<material name="red"><color rgba="1 0 0.2 1"/></material>'
    assert shapes(drawn(f"<visual>{SPHERE}{inside}</visual>", red)) == [
        {"type": "sphere", "radius": 1.0, "color": "#ff0033"}
    ]


def test_the_geometry_of_a_link_without_mass_is_drawn_on_its_body() -> None:
    flange = f'<link name="flange"><visual><origin xyz="0 0 1"/>{SPHERE}</visual></link>'
    arm, weld = f'<link name="arm">{MASS}</link>', joint("w", "fixed", "arm flange", "1 0 0", "1.5707963267948966 0 0")
    imported = load(robot(frame("base"), arm, flange, joint("j", "revolute", "base arm"), weld))
    (shape,) = shapes(imported)
    assert shape["at"] == pytest.approx([1.0, -1.0, 0.0], abs=ROUNDING)


def test_collision_geometry_stands_in_for_missing_visuals() -> None:
    assert len(shapes(drawn(f"<collision>{SPHERE}</collision>"))) == 1
    assert len(shapes(drawn(f"<visual>{SPHERE}</visual><collision>{SPHERE}</collision>"))) == 1


# ---------------------------------------------------------------- what is said


def mimicking(more: str) -> str:
    return robot(frame("base"), link("a"), link("b"), joint("j", "revolute", "base a", axis="0 0 1"), more)


NOTES = {
    "geometry of type mesh is not drawn: arm": '<visual><geometry><mesh filename="a.stl"/></geometry></visual>',
    "geometry of type capsule is not drawn: arm": '<visual><geometry><capsule radius="1"/></geometry></visual>',
    "geometry without size is not drawn: arm": '<visual><geometry><sphere radius="0"/></geometry></visual>',
    "there is no contact, collision geometry is drawn if there is no other: arm": f"<collision>{SPHERE}</collision>",
    "materials have no colour: 'red'": f'<visual>{SPHERE}<material name="red"/></visual>',
    "textures are not drawn: arm": f'<visual>{SPHERE}<material name="w"><texture filename="w"/></material></visual>',
    "colours that shine through are drawn solid: arm": (
        f'<visual>{SPHERE}<material name="g"><color rgba="0 1 0 0.5"/></material></visual>'
    ),
    "tags that no model can hold are left out: <orgin> in <visual>; did you mean 'origin'?": (
        f"<visual><orgin/>{SPHERE}</visual>"
    ),
    "attributes that no model can hold are left out: xzy of <origin>; did you mean 'xyz'?": (
        f'<visual><origin xzy="0 0 1"/>{SPHERE}</visual>'
    ),
}


@pytest.mark.parametrize("note", NOTES)
def test_what_is_not_drawn_is_said(note: str) -> None:
    assert note in drawn(NOTES[note]).notes


JOINT_NOTES = {
    "limits are left out, nothing stops a joint at its end: j": ("revolute", '<limit effort="1" velocity="2"/>'),
    "dry friction is left out: j": ("revolute", '<dynamics friction="0.1"/>'),
    "damping of joints of type planar is left out: j": ("planar", '<dynamics damping="0.1"/>'),
    "<mimic> of a fixed joint is left out: j": ("fixed", '<mimic joint="j"/>'),
    "<calibration> is left out: j": ("revolute", '<calibration rising="0"/>'),
    "<safety_controller> is left out: j": ("revolute", '<safety_controller k_velocity="0"/>'),
    "joints of type floating become no joint, their links are free: j": ("floating", ""),
}


@pytest.mark.parametrize("note", JOINT_NOTES)
def test_what_a_joint_loses_is_said(note: str) -> None:
    kind, more = JOINT_NOTES[note]
    assert note in load(robot(frame("base"), link("a"), joint("j", kind, "base a", more=more))).notes


def test_tags_of_other_tools_are_said_once() -> None:
    text = robot(frame("b"), link("a"), joint("j", "revolute", "b a"), "<transmission/><gazebo/><gazebo/>")
    (note,) = [note for note in load(text).notes if "tags" in note]
    assert note == "tags that no model can hold are left out: <transmission> in <robot>, <gazebo> in <robot>"


def test_a_ground_with_shapes_is_said_to_be_invisible() -> None:
    base = f'<link name="base"><visual>{SPHERE}</visual></link>'
    assert any(
        "the ground is not drawn" in n for n in load(robot(base, link("a"), joint("j", "revolute", "base a"))).notes
    )


def test_an_inertia_that_no_real_body_has_is_said() -> None:
    thin = link("a", moments=tensor(1, 1, 3))
    notes = load(robot(frame("base"), thin, joint("j", "revolute", "base a"))).notes
    assert "no real body has this inertia, a moment exceeds the sum of the other two: a" in notes


def test_names_become_identifiers_and_that_is_said() -> None:
    children = {"j0": "1st-arm", "j1": "1st.arm", "j2": "time", "a": "a"}
    joints = [joint(name, "revolute", f"base-link {child}") for name, child in children.items()]
    text = robot(frame("base-link"), *map(link, children.values()), *joints)
    imported = load(text)
    assert set(imported.description.bodies) == {"_1st_arm", "_1st_arm_link", "time_link", "a"}
    assert set(imported.description.joints) == {"j0", "j1", "j2", "a_joint"}
    (note,) = [note for note in imported.notes if note.startswith("names changed")]
    assert "'time' to time_link" in note and "'a' to a_joint" in note


# ---------------------------------------------------------------- what is wrong


ONE = frame("base") + link("a")  # lines 3 and 4 of the file
TURNS = joint("j", "revolute", "base a", axis="0 0 1")
WRONG = {
    "mass zero": (
        frame("base") + link("a", 0.0) + TURNS + link("b") + joint("k", "revolute", "a b"),
        "line 4: link 'a' moves but without mass; give it an <inertial> with mass, or connect it by a fixed joint",
    ),
    "mass negative": (
        frame("base") + link("a", -1.0) + TURNS + link("b") + joint("k", "revolute", "a b"),
        "line 4: link 'a': mass must be zero or positive, found -1; with zero the link is a mere frame",
    ),
    "mass no number": (
        frame("base") + link("a").replace('value="1.0"', 'value="1 kg"') + TURNS,
        "line 4: link 'a': <mass> value must be a finite number, found '1 kg'",
    ),
    "mass not expanded": (
        frame("base") + link("a").replace('value="1.0"', 'value="${m}"') + TURNS,
        "line 4: link 'a': <mass> value must be a finite number, found '${m}'; expand the file with xacro first",
    ),
    "no mass": (
        frame("base") + f'<link name="a"><inertial><inertia {BALL}/></inertial></link>' + TURNS,
        "line 4: link 'a': <inertial> has no <mass>; add it",
    ),
    "inertia not positive": (
        frame("base") + link("a", moments=tensor(1, 1, 1, 2)) + TURNS,
        "line 4: link 'a': inertia must be positive definite, found principal moments -1, 1, 3 kg.m2; correct it",
    ),
    "inertia of a line": (
        frame("base") + link("a", moments=tensor(1, 1, 0)) + TURNS,
        "line 4: link 'a': inertia must be positive definite, found principal moments 0, 1, 1 kg.m2; correct it",
    ),
    "inertia incomplete": (
        frame("base") + link("a").replace('iyz="0"', "") + TURNS,
        "line 4: link 'a': <inertia> has no attribute 'iyz'; give it",
    ),
    "two inertials": (
        frame("base") + f'<link name="a">{MASS}\n{MASS}</link>' + TURNS,
        "line 5: link 'a': <inertial> is given twice, first on line 4; keep one",
    ),
    "origin too short": (
        ONE + joint("j", "revolute", "base a", "0 1"),
        "line 5: joint 'j': <origin> xyz must be 3 finite numbers with blanks between them, found '0 1'",
    ),
    "axis zero": (
        ONE + joint("j", "revolute", "base a", axis="0 0 0"),
        "line 5: joint 'j': <axis> xyz must not be 0 0 0; a direction needs a length, as 0 0 1",
    ),
    "axis infinite": (
        ONE + joint("j", "revolute", "base a", axis="0 0 inf"),
        "line 5: joint 'j': <axis> xyz must be 3 finite numbers with blanks between them, found '0 0 inf'",
    ),
    "damping negative": (
        ONE + joint("j", "revolute", "base a", more='<dynamics damping="-1"/>'),
        "line 5: joint 'j': <dynamics> damping must be zero or positive, found -1",
    ),
    "type": (
        ONE + joint("j", "revolut", "base a"),
        "line 5: joint 'j': <joint> type 'revolut' is not known; did you mean 'revolute'?; known: revolute, continuous",
    ),
    "no name": (ONE + TURNS.replace('name="j"', ""), "line 5: <joint> has no attribute 'name'; give it"),
    "no child": (ONE + TURNS.replace('<child link="a"/>', ""), "line 5: joint 'j': <joint> has no <child>; add it"),
    "link twice": (ONE + link("a") + TURNS, "line 5: link 'a' is given twice, first on line 4; rename one"),
    "joint twice": (
        ONE + link("b") + TURNS + joint("j", "revolute", "a b"),
        "line 7: joint 'j' is given twice, first on line 6; rename one",
    ),
    "unknown parent": (
        ONE + joint("j", "revolute", "basis a"),
        "line 5: joint 'j': no parent link is named 'basis'; did you mean 'base'?; known: base, a",
    ),
    "unknown child": (
        ONE + TURNS + joint("k", "revolute", "a z"),
        "line 6: joint 'k': no child link is named 'z'; known: base, a",
    ),
    "same ends": (
        ONE + TURNS + joint("k", "revolute", "a a"),
        "line 6: joint 'k': parent and child are both link 'a'; they must be two links",
    ),
    "two parents": (
        ONE + link("b") + TURNS + joint("k", "revolute", "base b") + joint("l", "revolute", "a b"),
        "line 8: joint 'l': link 'b' is the child of joint 'k' already (line 7); URDF holds trees; close loops",
    ),
    "two roots": (
        ONE + link("stray") + TURNS,
        "line 5: 2 links are the child of no joint: base, stray; join all but one to another link",
    ),
    "circle": (
        ONE + TURNS + link("b") + link("c") + joint("k", "revolute", "b c") + joint("l", "revolute", "c b"),
        "line 6: no root leads to the links b, c, their joints run in a circle; remove the joint that closes it",
    ),
    "no link": ("", "line 1: the robot has no <link>; there is nothing to import"),
    "mimic of nobody": (
        ONE + joint("j", "revolute", "base a", more='<mimic joint="k"/>'),
        "line 5: joint 'j': <mimic> names joint 'k', which is not there; known: j",
    ),
    "mimic of itself": (
        ONE + joint("j", "revolute", "base a", more='<mimic joint="j"/>'),
        "line 5: joint 'j': <mimic> leads back to the joint itself; remove one of those on the way",
    ),
    "mimic of a weld": (
        ONE + joint("j", "fixed", "base a") + link("b") + joint("k", "revolute", "a b", more='<mimic joint="j"/>'),
        "line 7: joint 'k': <mimic> needs two joints with one coordinate (revolute, continuous, prismatic), "
        "found 'j' of type fixed",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_once_with_its_line(case: str) -> None:
    inside, message = WRONG[case]
    found = problems(robot(inside))
    assert found.startswith(message), found
    assert "\n" not in found


def test_everything_wrong_is_said_at_once_in_the_order_of_the_file() -> None:
    text = robot(frame("base"), link("a", -1.0), link("b", moments=tensor(1, 1, 0)), joint("j", "revolute", "base x"),
                 joint("k", "hinge", "a b"))  # fmt: skip
    lines = [line.partition(":")[0] for line in problems(text).splitlines()]
    assert lines == ["line 4", "line 5", "line 6", "line 7"]


# ---------------------------------------------------------------- files that are no robots


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<robot name='a'>\n<link", "line 2: not XML, "),
        ("", "line 1: not XML, "),
        ("<sdf version='1.9'/>", "line 1: the outermost tag must be <robot>, found <sdf>; give a URDF file"),
        (
            "<robot name='a' xmlns:xacro='http://www.ros.org/wiki/xacro'>\n<xacro:m/></robot>",
            "line 2: holds tags of xacro",
        ),
        ("<robot name='a'>\n<xacro:m/></robot>", "line 2: not XML, namespace prefix xacro"),
        (b"<robot name='a'>\n\xff</robot>", "line 2: not UTF-8 text at byte 17; save the file as UTF-8"),
        ("<robot name='a'>" + "<link>" * 5000, "line 1: not XML, "),
    ],
)
def test_another_file_is_refused(content: str | bytes, message: str) -> None:
    assert problems(content).startswith(message)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(mbd.ModelError, match=r"none\.urdf: cannot be read: No such file"):
        read_urdf("none.urdf")


DOCTYPES = {
    "outside file": '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>',
    "outside address": '<!DOCTYPE robot SYSTEM "http://localhost:1/robot.dtd"><robot name="a"/>',
    "growth": '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + ']><robot name="&i;"/>',
    "behind a comment": '<!-- <robot> --><?x <!-- ?><!DOCTYPE robot><robot name="a"/><!-- -->',
    "behind a mark": '\ufeff<!DOCTYPE robot><robot name="a"/>',
}


@pytest.mark.parametrize("case", DOCTYPES)
def test_a_file_cannot_pull_in_other_text(case: str) -> None:
    assert problems(DOCTYPES[case]) == (
        "line 1: has a DOCTYPE, which is not read since it may pull in other text; remove it"
    )


def test_the_encoding_that_a_file_claims_does_not_matter() -> None:
    hidden = '<?xml version="1.0" encoding="utf-7"?>+ADw-!DOCTYPE robot+AD4-<robot name="a"/>'
    assert problems(hidden).startswith("line 1: not XML")


def test_a_long_chain_is_no_trouble() -> None:
    """Poses and order come from loops; Python would not call itself 3,000 times."""
    count = 3000
    parts = [frame("l0"), *(link(f"l{k}") for k in range(1, count))]
    parts += [joint(f"j{k}", "revolute", f"l{k - 1} l{k}", "0 0 0.1", axis="0 1 0") for k in range(1, count)]
    model = load(robot(*parts)).description
    assert model.bodies[f"l{count - 1}"].position == pytest.approx((0, 0, 0.1 * (count - 1)))


# ---------------------------------------------------------------- masses and motion


def mass_matrix(model: Description, names: list[str]) -> np.ndarray:
    """That of the coordinates of some joints of a tree, at rest: sum of m Jv^T Jv + Jw^T J Jw over the bodies."""
    held = {name: joint for name, joint in model.joints.items() if joint.type_name != "gear"}
    above = {joint.j.body: (name, joint.i.body) for name, joint in held.items()}  # type: ignore[union-attr]
    total = np.zeros((len(names), len(names)))
    for name, body in model.bodies.items():
        rotation, position = placement(body)
        xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]  # type: ignore[misc]
        inertia = rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ rotation.T
        center = position + rotation @ np.array((*body.center, 0.0)[:3])
        shift, turn = np.zeros((3, len(names))), np.zeros((3, len(names)))
        while name in above:
            leading, name = above[name]
            if leading in names:
                column = names.index(leading)
                shift[:, column], turn[:, column] = moved(model, leading, center)
        total += body.mass * shift.T @ shift + turn.T @ inertia @ turn
    return total


def moved(model: Description, name: str, point: np.ndarray) -> Placement:
    """Velocity of a point and angular velocity where a joint moves at unit rate."""
    element = model.joints[name]
    rotation, position = in_ground(model, element.i)  # type: ignore[arg-type]
    axis = rotation @ np.array(element.axis)  # type: ignore[attr-defined]
    if element.type_name == "prismatic":
        return axis, np.zeros(3)
    return np.cross(axis, point - position), axis


def peer(text: str) -> Any:
    """The robot in MuJoCo, which reads URDF by itself and fixes the root to the ground."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo, the second opinion, is not installed: pip install mujoco")
    return mujoco, mujoco.MjModel.from_xml_string(text)


def test_masses_and_axes_are_those_that_another_program_reads(any_robot: str) -> None:
    mujoco, other = peer(any_robot)
    data = mujoco.MjData(other)
    mujoco.mj_forward(other, data)
    expected = np.zeros((other.nv, other.nv))
    mujoco.mj_fullM(other, data, expected)
    names = [other.joint(k).name for k in range(other.njnt)]
    found = mass_matrix(load(any_robot, base="fixed").description, [name.replace("-", "_") for name in names])
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def falling(t_end: float) -> np.ndarray:
    """Angles of the double pendulum, let go while level: the textbook's two equations, angles from the ground."""
    m1, m2, l1, c1, c2, j1, j2, g = 1.0, 2.0, 1.0, 0.5, 0.4, 0.08, 0.08, 9.81
    coupling = m2 * l1 * c2

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        a, b, va, vb = y  # both turn downwards about y where they are positive
        c, s = np.cos(a - b), np.sin(a - b)
        mass = np.array([[j1 + m1 * c1**2 + m2 * l1**2, coupling * c], [coupling * c, j2 + m2 * c2**2]])
        weight = g * np.array([(m1 * c1 + m2 * l1) * np.cos(a), m2 * c2 * np.cos(b)])
        return np.array([va, vb, *np.linalg.solve(mass, weight + coupling * s * np.array([-(vb**2), va**2]))])

    return solve_ivp(rates, (0, t_end), np.zeros(4), rtol=1e-11, atol=1e-12).y[:2, -1]  # type: ignore[no-any-return]


def test_a_double_pendulum_moves_as_the_textbook_says() -> None:
    result = mbd.Model.from_description(load(DOUBLE_PENDULUM).description).simulate(1.0, 0.1, tolerance=1e-9)
    a, b = falling(1.0)
    assert result["shoulder.angle"][-1] == pytest.approx(a, abs=1e-5)  # the error of the steps
    assert result["elbow.angle"][-1] == pytest.approx(b - a, abs=1e-5)


def test_robots_fall_as_in_another_program(any_robot: str) -> None:
    mujoco, other = peer(any_robot)
    other.opt.timestep, other.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    other.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(other)
    for _ in range(3000):
        mujoco.mj_step(other, data)
    result = mbd.Model.from_description(load(any_robot, base="fixed").description).simulate(0.3, 0.1, tolerance=1e-9)
    for k in range(other.njnt):
        name = other.joint(k).name
        coordinate = f"{name}.displacement" if name == "lift" else f"{name}.angle"
        assert result[coordinate][-1] == pytest.approx(data.qpos[k], abs=1e-5)


def test_a_damped_slider_falls_as_the_law_says() -> None:
    """Under g = 1 m/s2 a mass of 1 kg with 0.5 N.s/m falls at (1 - exp(-0.5 t)) / 0.5."""
    damped = joint("j", "prismatic", "base a", axis="0 0 1", more='<dynamics damping="0.5"/>')
    model = mbd.Model.from_description(load(robot(frame("base"), link("a"), damped), gravity=(0, 0, -1)).description)
    result = model.simulate(1.0, 0.1, tolerance=1e-8)
    assert result["j.displacement_rate"][-1] == pytest.approx(-(1 - np.exp(-0.5)) / 0.5, abs=1e-6)


def test_a_joint_that_follows_another_moves_with_it() -> None:
    """Two masses of 1 kg on upright sliders with z2 = 0.1 - 2 z1: (1 + 4) d2z1/dt2 = -g (1 - 2)."""
    second = joint("s2", "prismatic", "base b", axis="0 0 1", more='<mimic joint="s1" multiplier="-2" offset="0.1"/>')
    text = robot(frame("base"), link("a"), link("b"), joint("s1", "prismatic", "base a", axis="0 0 1"), second)
    result = mbd.Model.from_description(load(text).description).simulate(0.5, 0.1, tolerance=1e-8)
    assert result["s1.displacement"] == pytest.approx(0.5 * 9.81 / 5 * result.time**2, abs=1e-6)
    assert result["s2.displacement"] == pytest.approx(0.1 - 2 * result["s1.displacement"], abs=1e-9)


def test_a_robot_in_free_fall_keeps_its_shape() -> None:
    model = mbd.Model.from_description(load(MOBILE_BASE, base="floating").description)
    result = model.simulate(0.5, 0.1)
    assert result["chassis.z"][-1] == pytest.approx(0.1 - 0.5 * 9.81 * 0.5**2, abs=1e-6)
    assert abs(result["lift.displacement"]).max() < 1e-6


# ---------------------------------------------------------------- the command line


def run(*arguments: str) -> Result:
    """Run `mbdfmu import` with the arguments."""

    @click.group()
    def main() -> None: ...

    main.add_command(command)
    return CliRunner().invoke(main, ["import", *arguments], catch_exceptions=False)


def test_the_command_writes_a_model_and_says_what_it_lacks() -> None:
    Path("arm.urdf").write_text(SIX_AXIS_ARM, encoding="utf-8")
    done = run("arm.urdf", "-o", "arm.json", "--fixed-base", "--name", "arm", "--gravity", "0,0,-1.62")
    assert done.exit_code == 0, done.output
    assert "wrote arm.json: 7 bodies, 7 joints, 1 force, 1 marker" in done.output
    assert "limits are left out, nothing stops a joint at its end: j1" in done.output
    model = Description.load("arm.json")
    assert (model.name, model.gravity) == ("arm", (0.0, 0.0, -1.62))
    assert "base_mount" in model.joints


def test_the_command_names_the_file_after_the_robot() -> None:
    Path("arm.urdf").write_text(SIX_AXIS_ARM, encoding="utf-8")
    assert "wrote robot.json" in run("arm.urdf", "--floating").output
    assert Description.load("robot.json").bodies["base"].free


@pytest.mark.parametrize("gravity", ["-9.81", "0,0", "0,0,down", "1,2,3,4"])
def test_the_command_refuses_other_gravities(gravity: str) -> None:
    assert run("arm.urdf", "--gravity", gravity).exit_code == 2


def test_the_command_writes_nothing_of_a_file_that_is_wrong() -> None:
    Path("wrong.urdf").write_text(robot(frame("base")), encoding="utf-8")
    with pytest.raises(mbd.ModelError):
        run("wrong.urdf", "-o", "wrong.json")
    assert not Path("wrong.json").exists()
