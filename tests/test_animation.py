"""Animations: what is drawn is where the result says, and a browser shows it moving; must not need any server."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import select
import shlex
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import mbdfmu.forces
import mbdfmu.joints  # noqa: F401  # with forces: fills the families
from mbdfmu.animation import animate, write_gltf, write_html
from mbdfmu.animation.colors import body_color
from mbdfmu.animation.meshes import unit_meshes
from mbdfmu.animation.motion import motion_from, motion_of
from mbdfmu.animation.page import bounds
from mbdfmu.animation.rotations import along, matrix, moved, steady
from mbdfmu.animation.scene import Part, scene_of
from mbdfmu.cli import main
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.results import Result

TIMES = np.linspace(0, 2, 21)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def planar(**changes: Any) -> Description:
    """A bar on a hinge, with a spring to the ground at its end."""
    hinge = {"type": "revolute", "i": {"body": "ground", "at": [0.2, 0]}, "j": {"body": "bar", "at": ["-arm", 0]}}
    tip = {"body": "bar", "at": ["arm", 0]}
    data = {
        "format_version": 1,
        "name": "swing",
        "parameters": {"arm": {"value": 0.5}},
        "bodies": {"bar": {"mass": 1, "inertia": 1}},
        "joints": {"hinge": hinge},
        "forces": {"spring": {"type": "translational", "i": {"body": "ground"}, "j": tip, "stiffness": 1}},
    }
    return Description(**{**data, **changes})


def spatial(**changes: Any) -> Description:
    """A wheel that lies on its side and a plain body, both free."""
    wheel = {"type": "cylinder", "radius": "r", "length": "r/5", "orientation": {"axis": [1, 0, 0], "angle": "90*deg"}}
    data = {
        "format_version": 1,
        "name": "wheels",
        "dimensions": 3,
        "gravity": [0, 0, -9.81],
        "parameters": {"r": {"value": 0.5}},
        "bodies": {
            "wheel": {"mass": 1, "inertia": [1, 1, 1], "free": True, "shapes": [{**wheel, "color": "#123456"}]},
            "ball": {"mass": 1, "inertia": [1, 1, 1], "free": True},
        },
    }
    return Description(**{**data, **changes})


def turning(speed: float, axis: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> np.ndarray:
    """Poses of a body that turns about an axis and moves along x."""
    half = 0.5 * speed * TIMES[:, None]
    place = np.stack([TIMES, 0 * TIMES, 1 + 0 * TIMES], axis=1)
    return np.concatenate([place, np.cos(half), np.sin(half) * np.array(axis)], axis=1)


def spatial_poses() -> dict[str, np.ndarray]:
    return {"wheel": turning(3.0, (0.0, 1.0, 0.0)), "ball": turning(1.0)}


def swing_result(**changes: Any) -> Result:
    phi = 0.8 * np.sin(2 * TIMES)
    columns = {"bar.x": 0.2 + 0.5 * np.cos(phi), "bar.y": 0.5 * np.sin(phi), "bar.phi": phi}
    return replace(Result(TIMES, columns, {"bar.x": "m", "bar.y": "m", "bar.phi": "rad"}), **changes)


def content(page: Path) -> dict[str, Any]:
    """The data in a page."""
    found = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def ends(part: Part) -> np.ndarray:
    """Both ends of a bar, in the axes of its body."""
    return moved(np.concatenate([part.at, part.turn]), np.array([[0, 0, -0.5], [0, 0, 0.5]]) * part.size)


# ---------------------------------------------------------------- geometry


@pytest.mark.parametrize("name", unit_meshes())
def test_meshes_are_closed_and_look_outwards(name: str) -> None:
    mesh = unit_meshes()[name]
    a, b, c = np.moveaxis(mesh.positions[mesh.indices.reshape(-1, 3)].astype(float), 1, 0)
    areas = np.cross(b - a, c - a)
    assert np.linalg.norm(areas, axis=1).min() > 1e-4
    assert np.abs(areas.sum(axis=0)).max() < 1e-6  # closed: the areas cancel
    volume = np.einsum("ij,ij->", a, areas) / 6
    assert volume == pytest.approx({"box": 1, "cylinder": np.pi, "sphere": 4 / 3 * np.pi}[name], rel=0.02)
    inner = mesh.normals[mesh.indices.reshape(-1, 3)].mean(axis=1)
    assert (np.einsum("ij,ij->i", inner, areas) > 0).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1)


def test_along_turns_z_into_any_direction() -> None:
    directions = np.array([[1, 0, 0], [0, -2, 0], [0, 0, 3], [0, 0, -1], [1, 2, -3], [0, 0, 0]], dtype=float)
    turned = matrix(along(directions))[:, :, 2]
    wanted = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    wanted[-1] = [0, 0, 1]
    assert np.allclose(turned, wanted)
    assert np.allclose(np.linalg.det(matrix(along(directions))), 1)


def test_signs_of_quaternions_do_not_jump() -> None:
    q = turning(9.0)[:, 3:]
    jumpy = q * np.where(np.arange(len(q)) % 3 == 1, -1, 1)[:, None]
    assert np.array_equal(steady(jumpy), q)


def test_colours_of_bodies_differ() -> None:
    colours = [body_color(k) for k in range(40)]
    assert len(set(colours)) == 40
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


# ---------------------------------------------------------------- what is drawn


def test_shapes_follow_parameters_and_orientation() -> None:
    part = scene_of(spatial(), {"r": 2.0}).nodes[1].parts[0]
    assert (part.mesh, part.color, part.size.tolist()) == ("cylinder", "#123456", [2.0, 2.0, 0.4])
    assert np.allclose(matrix(part.turn) @ [0, 0, 1], [0, -1, 0])


def test_all_shapes_are_drawn() -> None:
    shapes = [
        {"type": "box", "size": [1, 2, 3], "at": [1, 0, 0]},
        {"type": "sphere", "radius": 0.25, "color": "#ff0000"},
        {"type": "rod", "from": [0, 0, 0], "to": [0, 3, 4], "radius": 0.1},
        {"type": "rod", "from": [0, 0, 0], "to": [1, 0, 0]},
    ]
    body = {"mass": 1, "inertia": [1, 1, 1], "free": True, "shapes": shapes}
    box, ball, rod, line = scene_of(spatial(bodies={"body": body})).nodes[1].parts
    assert (box.size.tolist(), box.at.tolist(), ball.size.tolist()) == ([1, 2, 3], [1, 0, 0], [0.25, 0.25, 0.25])
    assert np.allclose(rod.size, [0.1, 0.1, 5])
    assert np.allclose(ends(rod), [[0, 0, 0], [0, 3, 4]])
    assert 0 < line.size[0] < 0.1
    assert (ball.color, box.color) == ("#ff0000", "#ff0000")  # a body has the first colour that it is given


def test_body_without_shapes_reaches_its_joints() -> None:
    scene = scene_of(planar(), {"arm": 0.7})
    bars = [part for part in scene.nodes[1].parts if part.mesh == "cylinder"]
    assert np.allclose([ends(bar)[1] for bar in bars], [[-0.7, 0, 0], [0.7, 0, 0]])
    assert np.allclose([ends(bar)[0] for bar in bars], 0)
    crosses = {tuple(part.at) for part in scene.nodes[0].parts}
    assert crosses == {(0.2, 0.0, 0.0), (0.0, 0.0, 0.0)}
    (link,) = scene.links
    assert (link.name, link.nodes) == ("spring", (0, 1))
    assert np.allclose(link.points, [[0, 0, 0], [0.7, 0, 0]])


def test_what_has_no_place_of_its_own_is_not_drawn() -> None:
    """Gears and couplers between coordinates, and friction in a joint."""
    data = planar().to_data()
    still = scene_of(Description(**data))
    data["joints"]["tie"] = {"type": "coupler", "terms": {"hinge.angle": 1, "bar.phi": -1}}
    data["forces"]["rub"] = {"type": "joint_friction", "joint": "hinge", "coefficient": 0.1, "radius": 0.02}
    drawn = scene_of(Description(**data))
    assert [len(node.parts) for node in drawn.nodes] == [len(node.parts) for node in still.nodes]
    assert [link.name for link in drawn.links] == ["spring"]


def test_parts_of_other_models_are_drawn_with_their_parameters() -> None:
    whole = {
        "format_version": 1,
        "name": "pair",
        "submodels": {"left": {"model": planar(), "parameters": {"arm": 0.9}}},
    }
    description = Description(**whole)
    scene = scene_of(description)
    assert [node.name for node in scene.nodes] == ["ground", "left.bar"]
    assert np.allclose(scene.links[0].points[1], [0.9, 0, 0])
    columns = {f"left.{name}": values for name, values in swing_result().columns.items()}
    assert motion_of(Result(TIMES, columns), description).poses.shape == (21, 1, 7)


def test_places_that_depend_on_inputs_are_those_of_the_start() -> None:
    tip = {"body": "bar", "at": ["arm", 0]}
    road = {"body": "ground", "at": ["bar.x.start", "road - time"]}
    spring = {"type": "translational", "i": road, "j": tip, "stiffness": 1}
    bar = {"mass": 1, "inertia": 1, "position": ["2*arm", 0]}
    description = planar(inputs={"road": {"start": -1}}, bodies={"bar": bar}, forces={"spring": spring})
    assert np.allclose(scene_of(description).links[0].points[0], [1, -1, 0])


def test_long_chains_are_thick_enough_to_be_seen() -> None:
    radii = [scene_of(planar(), extent=extent).nodes[1].parts[1].size[0] for extent in (0.0, 8.0, 1000.0)]
    assert np.allclose(radii, [0.02, 0.028, 0.075])


def test_gravity_says_what_is_up() -> None:
    ups = [scene_of(spatial(gravity=g)).up for g in ([0, 0, -9.81], [0, -9.81, 0], [-1, 0, 0], [0, 0, 0], [0, -1, -1])]
    assert ups == [2, 1, 0, 2, 2]
    assert scene_of(planar()).up == 1


def test_sizes_that_cannot_be_are_named_all_at_once() -> None:
    shapes = [{"type": "box", "size": ["r - 1", 1, 1]}, {"type": "sphere", "radius": "r/(r - 0.5)"}]
    body = {"mass": 1, "inertia": [1, 1, 1], "free": True, "shapes": shapes}
    with pytest.raises(ModelError) as caught:
        scene_of(spatial(bodies={"body": body}), {"q": 1})
    text = str(caught.value)
    assert "bodies.body.shapes[0].size[0]: must be positive, found -0.5 from 'r - 1'" in text
    assert "bodies.body.shapes[1].radius: is inf; it must be finite" in text
    assert "no parameter is named 'q'; known parameters: r" in text


def test_model_without_bodies_is_refused() -> None:
    d = Description(format_version=1, name="z", coordinates={"z": {}}, mass={"z": 1})
    with pytest.raises(ModelError, match="model 'z' has no bodies, so there is nothing to draw; plot its signals"):
        scene_of(d)
    with pytest.raises(ModelError, match="has no bodies"):
        motion_from(d, TIMES, {})


# ---------------------------------------------------------------- how it moves


def test_planar_bodies_turn_about_z() -> None:
    motion = motion_of(swing_result(), planar())
    tip = moved(motion.poses[:, 0], np.array([[0.5, 0, 0], [-0.5, 0, 0]]))
    phi = 0.8 * np.sin(2 * TIMES)
    assert np.allclose(tip[:, 0], np.stack([0.2 + np.cos(phi), np.sin(phi), 0 * phi], axis=1))
    assert np.allclose(tip[:, 1], [0.2, 0, 0])


def test_missing_signals_are_named_with_the_cure() -> None:
    result = swing_result()
    result.columns.pop("bar.phi")
    with pytest.raises(ModelError) as caught:
        motion_of(result, planar())
    assert caught.value.problems == [
        "body 'bar': the result has no bar.phi",
        "the result cannot be drawn: record them (--record 'BODY.*'; without --record all are there)",
    ]
    with pytest.raises(ModelError, match="is it a result of model 'wheels'"):
        motion_of(result, spatial())


def test_long_results_are_thinned_out_with_a_note() -> None:
    t = np.linspace(0, 1, 5001)
    motion = motion_from(planar(), t, {"bar": np.stack([t, t, t], axis=1)}, frames=101)
    assert len(motion.times) == 101
    assert motion.times[[0, -1]].tolist() == [0, 1]
    assert np.ptp(np.diff(motion.times)) < 1e-3
    assert motion.notes == ("101 of 5001 points are drawn, evenly chosen",)
    with pytest.raises(ModelError, match="needs 2 frames or more, found 1"):
        motion_from(planar(), t, {"bar": np.stack([t, t, t], axis=1)}, frames=1)


def test_jumps_and_broken_points_are_left_out() -> None:
    rows = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [np.nan, 0, 0], [4, 0, 0]])
    motion = motion_from(planar(), [0, 1, 1, 2, 3], {"bar": rows})
    assert motion.poses[:, 0, 0].tolist() == [0, 2, 4]
    assert motion.notes == ("1 of 5 points have a position that is no finite number; they are left out",)
    with pytest.raises(ModelError, match="no time at which all bodies have finite positions"):
        motion_from(planar(), [0], {"bar": [[np.nan, 0, 0]]})


def test_wrong_poses_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        motion_from(spatial(), TIMES, {"wheel": turning(1), "bal": turning(1)})
    assert caught.value.problems == [
        "no poses are given for body 'ball'",
        "no body is named 'bal'; did you mean 'ball'?",
    ]
    with pytest.raises(
        ModelError, match=r"poses of body 'bar' have shape \(2, 3\); give a row for each of the 21 times"
    ):
        motion_from(planar(), TIMES, {"bar": np.zeros((2, 3))})


def test_bounds_hold_the_whole_motion() -> None:
    scene, motion = scene_of(spatial()), motion_from(spatial(), TIMES, spatial_poses())
    low, high = bounds(scene, motion)
    assert low[0] <= -0.5 < 2.5 <= high[0]
    assert low[2] <= 0.5 < 1.5 <= high[2]
    assert (high - low < 4).all()


# ---------------------------------------------------------------- the page


def test_page_is_small_and_asks_nobody(tmp_path: Path) -> None:
    body = {"mass": 1, "inertia": [1, 1, 1], "free": True}
    description = spatial(bodies={f"b{k}": body for k in range(12)})
    t = np.linspace(0, 1, 200)
    rows = np.column_stack([np.random.default_rng(1).normal(size=(200, 7))])
    write_html(description, t, {f"b{k}": rows for k in range(12)}, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text("utf-8")
    assert len(text) < 250_000
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|<link[^>]*stylesheet|\ssrc=|url\(|import\(|fetch\(", text)
    assert not re.search(r"\$\w", text)  # every place of the template is filled


def test_page_holds_times_poses_and_shapes(tmp_path: Path) -> None:
    write_html(spatial(), TIMES, spatial_poses(), tmp_path / "a.html")
    data = content(tmp_path / "a.html")
    assert np.array_equal(np.frombuffer(base64.b64decode(data["times"]), "<f8"), TIMES)
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(len(TIMES), 2, 7)
    assert np.allclose(poses[:, 0], spatial_poses()["wheel"], atol=1e-6)
    assert [node["name"] for node in data["nodes"]] == ["ground", "wheel", "ball"]
    assert np.allclose(data["nodes"][1]["parts"][0]["columns"], [[0.5, 0, 0], [0, 0, 0.5], [0, -0.1, 0]])
    assert (data["up"], data["cell"]) == (2, 0.2)


def test_model_names_cannot_break_the_page(tmp_path: Path) -> None:
    """Names of elements are letters, but a program may make a scene of its own."""
    from mbdfmu.animation.page import page

    scene = replace(scene_of(planar()), name="</script>&<b>")
    scene = replace(scene, nodes=tuple(replace(node, name="</script>") for node in scene.nodes))
    (tmp_path / "a.html").write_text(page(scene, motion_of(swing_result(), planar())), "utf-8")
    assert content(tmp_path / "a.html")["nodes"][0]["name"] == "</script>"
    assert "<title>&lt;/script&gt;&amp;&lt;b&gt;</title>" in (tmp_path / "a.html").read_text("utf-8")


def test_nothing_is_left_of_a_failed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    for suffix in (".html", ".glb", ".gltf"):
        with pytest.raises(KeyboardInterrupt):
            animate(swing_result(), planar(), tmp_path / f"a{suffix}")
    assert not list(tmp_path.iterdir())


def test_unknown_suffixes_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"a\.avi: the suffix names no format; allowed: \.html, \.htm, \.glb, \.gltf"):
        animate(swing_result(), planar(), tmp_path / "a.html", tmp_path / "a.avi")
    with pytest.raises(ModelError, match=r"allowed: \.glb, \.gltf"):
        write_gltf(planar(), [0], {"bar": [[0, 0, 0]]}, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- glTF


class Scene3d:
    """A reader of glTF that knows what the standard asks for, and no more than these files use."""

    WIDTHS: ClassVar = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
    TYPES: ClassVar = {5126: "<f4", 5123: "<u2"}

    def __init__(self, path: Path) -> None:
        raw = path.read_bytes()
        if path.suffix == ".glb":
            self.document, self.data = self._chunks(raw)
        else:
            self.document = json.loads(raw)
            self.data = base64.b64decode(self.document["buffers"][0]["uri"].partition("base64,")[2])
        assert self.document["asset"]["version"] == "2.0"
        assert self.document["buffers"][0]["byteLength"] == len(self.data)
        self.arrays = [self._array(accessor) for accessor in self.document["accessors"]]
        self.nodes = self.document["nodes"]

    def _chunks(self, raw: bytes) -> tuple[dict[str, Any], bytes]:
        magic, version, total, length, kind = struct.unpack_from("<4sIII4s", raw)
        assert (magic, version, total, kind, length % 4) == (b"glTF", 2, len(raw), b"JSON", 0)
        size, kind = struct.unpack_from("<I4s", raw, 20 + length)
        assert (kind, size) == (b"BIN\0", len(raw) - 28 - length)
        return json.loads(raw[20 : 20 + length]), raw[28 + length :]

    def _array(self, accessor: dict[str, Any]) -> np.ndarray:
        view = self.document["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteOffset"] + view["byteLength"] <= len(self.data)
        raw = self.data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        array = np.frombuffer(raw, self.TYPES[accessor["componentType"]]).reshape(accessor["count"], -1)
        assert array.shape[1] == self.WIDTHS[accessor["type"]]
        for key, found in (("min", array.min(axis=0)), ("max", array.max(axis=0))):
            assert accessor.get(key, found.tolist()) == found.tolist()
        return array

    def index(self, name: str) -> int:
        return next(k for k, node in enumerate(self.nodes) if node.get("name") == name)

    def channels(self, node: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Times and values of what is animated at a node."""
        animation = self.document["animations"][0]
        found = {}
        for channel in animation["channels"]:
            if channel["target"]["node"] == node:
                sampler = animation["samplers"][channel["sampler"]]
                found[channel["target"]["path"]] = self.arrays[sampler["input"]][:, 0], self.arrays[sampler["output"]]
        return found

    def seen(self, node: int, point: tuple[float, float, float]) -> np.ndarray:
        """A point of a node at every time, in the axes of the file, which has its root above the node."""
        values = {path: values.astype(float) for path, (_, values) in self.channels(node).items()}
        turns = matrix(np.roll(values["rotation"], 1, axis=1))
        scaled = np.array(point) * values.get("scale", np.ones(3))
        outer = matrix(np.roll(self.nodes[self.document["scenes"][0]["nodes"][0]]["rotation"], 1))
        return ((turns @ np.broadcast_to(scaled, (len(turns), 3))[..., None])[..., 0] + values["translation"]) @ outer.T


def with_y_up(points: np.ndarray) -> np.ndarray:
    """Points of a model with z up in the axes of glTF."""
    return points[..., [0, 2, 1]] * [1, 1, -1]


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_gltf_moves_as_the_poses_say(tmp_path: Path, suffix: str) -> None:
    write_gltf(spatial(), TIMES, spatial_poses(), tmp_path / f"a{suffix}")
    file = Scene3d(tmp_path / f"a{suffix}")
    for name, poses in spatial_poses().items():
        node = file.index(name)
        wanted = with_y_up(moved(poses, np.array([[0.3, 0.2, 0.1]]))[:, 0])
        assert np.allclose(file.seen(node, (0.3, 0.2, 0.1)), wanted, atol=1e-6)
        times, turns = file.channels(node)["rotation"]
        assert np.array_equal(times, TIMES.astype("<f4"))
        assert np.allclose(np.linalg.norm(turns, axis=1), 1, atol=1e-6)
        assert np.allclose(file.nodes[node]["rotation"], turns[0])  # what a reader without animation shows
    part = file.nodes[file.nodes[file.index("wheel")]["children"][0]]
    assert part["scale"] == [0.5, 0.5, 0.1]


def test_gltf_has_the_meshes_and_colours(tmp_path: Path) -> None:
    write_gltf(spatial(), TIMES, spatial_poses(), tmp_path / "a.glb")
    document = Scene3d(tmp_path / "a.glb").document
    assert {mesh["name"] for mesh in document["meshes"]} == {"cylinder", "sphere"}
    assert {material["name"] for material in document["materials"]} == {"#123456", body_color(1)}
    for mesh in document["meshes"]:
        (primitive,) = mesh["primitives"]
        positions = document["accessors"][primitive["attributes"]["POSITION"]]
        assert {"min", "max"} <= positions.keys()
        assert document["accessors"][primitive["attributes"]["NORMAL"]]["count"] == positions["count"]


def test_links_stretch_from_marker_to_marker(tmp_path: Path) -> None:
    animate(swing_result(), planar(), tmp_path / "a.glb")
    file = Scene3d(tmp_path / "a.glb")
    phi = 0.8 * np.sin(2 * TIMES)
    tip = np.stack([0.2 + np.cos(phi), np.sin(phi), 0 * phi], axis=1)
    node = file.index("spring")
    assert np.allclose(file.seen(node, (0, 0, -0.5)), 0, atol=1e-6)
    assert np.allclose(file.seen(node, (0, 0, 0.5)), tip, atol=1e-6)


def test_times_of_gltf_rise_and_are_not_negative(tmp_path: Path) -> None:
    """Also those that differ in double precision only."""
    times = np.array([-1, 0, 1, 1 + 1e-12, 2])
    rows = np.stack([np.arange(5.0), np.zeros(5), np.zeros(5)], axis=1)
    write_gltf(planar(), times, {"bar": rows}, tmp_path / "a.glb")
    file = Scene3d(tmp_path / "a.glb")
    found, places = file.channels(file.index("bar"))["translation"]
    assert found.tolist() == [0, 1, 2, 3]
    assert places[:, 0].tolist() == [0, 1, 3, 4]


def test_one_point_makes_a_still_picture(tmp_path: Path) -> None:
    paths = [tmp_path / f"a{suffix}" for suffix in (".html", ".glb")]
    result = Result([0.0], {"bar.x": [0.5], "bar.y": [0.0], "bar.phi": [0.3]})
    animate(result, planar(), *paths)
    assert "animations" not in Scene3d(paths[1]).document
    assert len(content(paths[0])["poses"]) == 40  # seven numbers of four bytes


# ---------------------------------------------------------------- results that are read


@pytest.mark.parametrize("suffix", [".csv", ".h5", ".mat"])
def test_results_of_all_formats_can_be_drawn(tmp_path: Path, suffix: str) -> None:
    swing_result().write(tmp_path / f"r{suffix}")
    read = Result.read(tmp_path / f"r{suffix}")
    assert read.units == swing_result().units
    animate(read, planar(), tmp_path / "a.html")
    animate(swing_result(), planar(), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_hdf5_keeps_the_model_and_its_parameters(tmp_path: Path) -> None:
    text = planar().to_json() + 100_000 * " "  # more than an attribute can hold
    swing_result(description=text, parameters={"arm": 0.7, "bar.x.start": 1.0}).write(tmp_path / "r.h5")
    read = Result.read(tmp_path / "r.h5")
    assert (read.description, read.parameters) == (text, {"arm": 0.7, "bar.x.start": 1.0})
    assert list(read.columns) == ["bar.x", "bar.y", "bar.phi"]
    animate(read, planar(), tmp_path / "a.html")
    assert np.isclose(content(tmp_path / "a.html")["links"][0]["points"][1][0], 0.7)


def test_recorded_and_given_parameters_count(tmp_path: Path) -> None:
    result = swing_result()
    result.columns["arm"] = np.full(len(TIMES), 0.6)
    animate(result, planar(), tmp_path / "a.html")
    assert content(tmp_path / "a.html")["links"][0]["points"][1][0] == 0.6
    animate(result, planar(), tmp_path / "a.html", parameters={"arm": 0.9})
    assert content(tmp_path / "a.html")["links"][0]["points"][1][0] == 0.9


def test_names_survive_matlab(tmp_path: Path) -> None:
    result = Result([0.0, 1.0], {"a/b, c": [1, 2], "\u03a9.phi": [3, 4]}, {"a/b, c": "N.m"})
    result.write(tmp_path / "r.mat")
    read = Result.read(tmp_path / "r.mat")
    assert (read.units, read["\u03a9.phi"].tolist()) == (result.units, [3, 4])


def test_foreign_matlab_files_are_refused(tmp_path: Path) -> None:
    from scipy.io import savemat

    (tmp_path / "x.mat").write_text("not MATLAB " * 30)
    with pytest.raises(ModelError, match=r"x\.mat: cannot be read as a MATLAB file"):
        Result.read(tmp_path / "x.mat")
    savemat(tmp_path / "y.mat", {"x": [1.0]})
    with pytest.raises(ModelError, match=r"y\.mat: has no signal_names, signal_variables, signal_units"):
        Result.read(tmp_path / "y.mat")
    with pytest.raises(ModelError, match="there is no such file"):
        Result.read(tmp_path / "z.mat")


# ---------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with a model and its result."""
    monkeypatch.chdir(tmp_path)
    planar().save("swing.json")
    swing_result().write("out.csv")
    swing_result(description=planar().to_json()).write("out.h5")
    return tmp_path


def run(command: str, code: int) -> str:
    result = CliRunner().invoke(main, shlex.split(command), prog_name="mbdfmu", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def test_command_writes_page_and_scene(folder: Path) -> None:
    said = run("animate out.csv --model swing.json -o a.html --gltf a.glb --frames 11 --set arm=1/2", 0)
    assert re.findall(r"^.*$", said, re.MULTILINE)[0] == "note: 11 of 21 points are drawn, evenly chosen"
    assert re.findall(r"wrote (\S+) \(\d+ kB\)", said) == ["a.html", "a.glb"]
    file = Scene3d(folder / "a.glb")
    assert len(file.channels(file.index("bar"))["translation"][0]) == 11


def test_command_takes_the_model_of_an_hdf5_file(folder: Path) -> None:
    run("animate out.h5 -o a.html", 0)
    run("animate out.csv --model swing.json -o b.html", 0)
    assert (folder / "a.html").read_bytes() == (folder / "b.html").read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("animate out.csv -o a.html", "out.csv: does not say what was simulated; name the model: --model MODEL"),
        (
            "animate out.csv --model swing.json",
            "there is nothing to write; give -o FILE.html, or --gltf FILE.glb, or both",
        ),
        ("animate out.csv --model swing.json -o a.avi", "the suffix '.avi' names no format; allowed: .html, .htm"),
        ("animate no.csv --model swing.json -o a.html", "no.csv: there is no such file"),
        ("animate out.csv --model swing.json -o a.html --set ar=1", "no parameter is named 'ar'; did you mean 'arm'?"),
    ],
)
def test_command_says_what_is_missing(folder: Path, command: str, message: str) -> None:
    assert message in run(command, 2)
    assert not (folder / "a.html").exists()


# ---------------------------------------------------------------- a real browser

PATIENCE = 120.0  # s; a browser that does not answer must not stop the tests for ever
BALL, WHEEL = "#cc00cc", "#00a0a0"  # nothing else on the page has such a hue


class Browser:
    """Headless Chromium, driven through a pipe by its DevTools protocol."""

    def __init__(self, folder: Path) -> None:
        from_test, self._send = os.pipe()
        self._receive, to_test = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run", "--window-size=900,700"]
        script = f'exec "$@" 3<&{from_test} 4>&{to_test}'  # where Chromium looks for it; dash knows no number above 9
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", str(CHROMIUM), *options, "about:blank"],
            env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},  # our sanitizer is none of the browser's
            pass_fds=(from_test, to_test), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_test)
        os.close(to_test)
        self._count, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        os.close(self._send)  # Chromium ends with its pipe
        self._process.wait(30)
        os.close(self._receive)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._receive], [], [], PATIENCE)[0], "the browser does not answer"
            data = os.read(self._receive, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        request: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        request |= {"sessionId": self._session} if self._session else {}
        os.write(self._send, json.dumps(request).encode() + b"\0")
        while (answer := self._message()).get("id") != self._count:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def run(self, code: str) -> Any:
        """The value of JavaScript code, waited for if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, page: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        self.run("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        self.drawn()

    def drawn(self) -> None:
        """Wait until what was asked for is on the screen."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def picture(self) -> np.ndarray:
        """The pixels of the 3-D view, rows of red, green, blue from 0 to 1."""
        from matplotlib.image import imread

        self.drawn()
        box = self.run("(r => [r.x, r.y, r.width, r.height])(document.getElementById('view').getBoundingClientRect())")
        clip = {**dict(zip(("x", "y", "width", "height"), box, strict=True)), "scale": 1}
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip)["data"])
        pixels: np.ndarray = imread(io.BytesIO(data), format="png")[..., :3]
        return pixels

    def key(self, key: str, **more: Any) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def mouse(self, kind: str, x: int, y: int, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def complaints(self) -> list[str]:
        """Errors, warnings and requests other than for the page."""
        wrong = [
            e
            for e in self.events
            if e["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        ]
        requests = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [json.dumps(e)[:500] for e in wrong] + [
            url for url in requests if not re.match("file:.*html$|data:", url)
        ]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed here, so the page is not seen by a browser (apt install chromium)")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Browser]:
    """A browser that shows the page of two bodies, halted at the start; there must be nothing to complain about."""
    ball = {"type": "sphere", "radius": 0.15, "color": BALL}
    wheel = {"type": "cylinder", "radius": 0.5, "length": 0.1, "color": WHEEL}
    body = {"mass": 1, "inertia": [1, 1, 1], "free": True}
    bodies = {"wheel": {**body, "shapes": [wheel]}, "ball": {**body, "shapes": [ball]}}
    write_html(spatial(bodies=bodies), TIMES, spatial_poses(), tmp_path / "a.html")
    chromium.open(tmp_path / "a.html")
    chromium.run("document.getElementById('play').click(); document.getElementById('legend').open = false")
    chromium.key("Home")
    yield chromium
    assert not chromium.complaints()


def scrub(browser: Browser, time: float) -> None:
    code = "(s => { s.value = %r; s.dispatchEvent(new Event('input')); })(document.getElementById('scrub'))"
    browser.run(code % time)


def clock(browser: Browser) -> float:
    return float(browser.run("document.getElementById('clock').textContent").split(" / ")[0])


def near(pixels: np.ndarray, colour: str, within: float = 0.2) -> np.ndarray:
    """Whether pixels have the hue of a colour, lit or in shade."""
    wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)
    hue = pixels / np.maximum(np.linalg.norm(pixels, axis=-1, keepdims=True), 1e-9)
    return np.linalg.norm(hue - wanted / np.linalg.norm(wanted), axis=-1) < within


def test_browser_shows_the_bodies_where_they_are(page: Browser) -> None:
    """Both go along x, which the first view shows from left to right."""
    middle = []
    for time in (0.0, 1.0, 2.0):
        scrub(page, time)
        ball = near(page.picture(), BALL)
        assert ball.sum() > 20
        middle.append(np.argwhere(ball)[:, 1].mean())
    assert middle[0] + 20 < middle[1] < middle[2] - 20


def test_browser_plays(page: Browser) -> None:
    still = page.picture()
    assert np.array_equal(page.picture(), still)
    page.key(" ")
    page.run(
        "new Promise(done => { const wait = () => scrub.value > 0.2 ? done() : requestAnimationFrame(wait); wait(); })"
    )
    page.key(" ")
    halted = clock(page)
    assert halted > 0.2
    assert not np.array_equal(page.picture(), still)
    assert clock(page) == halted


def test_browser_obeys_keys(page: Browser) -> None:
    page.key("ArrowRight")
    page.key("ArrowRight")
    assert clock(page) == 0.2
    page.key("ArrowLeft")
    assert clock(page) == 0.1
    page.key("ArrowRight", modifiers=8)  # with shift ten frames
    assert clock(page) == 1.1
    page.key("End")
    assert clock(page) == 2
    scrub(page, 0.55)
    page.key("ArrowLeft")
    assert clock(page) == 0.5


@pytest.mark.by_day(1)
@pytest.mark.parametrize("button", ["left", "right", "wheel"])
def test_browser_turns_moves_and_zooms(page: Browser, button: str) -> None:
    before = page.picture()
    if button == "wheel":
        page.mouse("Wheel", 400, 300, deltaX=0, deltaY=-300)
    else:
        held = {"button": button, "buttons": {"left": 1, "right": 2}[button], "clickCount": 1}
        page.mouse("Pressed", 400, 300, **held)
        page.mouse("Moved", 460, 330, **held)
        page.mouse("Released", 460, 330, **{**held, "buttons": 0})
    assert not np.array_equal(page.picture(), before)
    page.mouse("Moved", 5, 5)
    page.key("f")
    assert np.array_equal(page.picture(), before)


def test_browser_pinches(page: Browser) -> None:
    before = near(page.picture(), WHEEL).sum()
    for kind, apart in (("touchStart", 30), ("touchMove", 45), ("touchMove", 60), ("touchEnd", None)):
        points = [{"x": 400 + side * apart, "y": 300, "id": side} for side in (-1, 1)] if apart else []
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    assert near(page.picture(), WHEEL).sum() > 2 * before


def test_browser_names_what_is_below_the_pointer(page: Browser) -> None:
    rows, columns = np.nonzero(near(page.picture(), BALL))
    page.mouse("Moved", int(np.median(columns)), int(np.median(rows)))
    page.drawn()
    assert page.run("(t => t.hidden || t.textContent)(document.getElementById('tip'))") == "ball"
    page.mouse("Moved", 5, 5)
    assert page.run("document.getElementById('tip').hidden") is True


def test_browser_hides_bodies_and_switches_grid_axes_and_theme(page: Browser) -> None:
    page.run("document.querySelectorAll('#bodies button')[2].click()")
    assert near(page.picture(), BALL).sum() < 20
    seen = [page.picture()]
    for key in "gad":
        page.key(key)
        seen.append(page.picture())
    assert all(not np.array_equal(a, b) for a, b in pairwise(seen))
    assert seen[-1][2, 300].mean() < 0.2 < 0.8 < seen[0][2, 300].mean()  # the paper, dark and light


def test_browser_fits_the_view_to_its_window(page: Browser) -> None:
    size = {"deviceScaleFactor": 1, "mobile": False}
    for width, height in ((1000, 400), (420, 800)):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, **size)
        page.drawn()
        assert page.run("document.documentElement.scrollWidth <= innerWidth") is True
        picture = page.picture()
        assert picture.shape[1] == width
        for time in (0.0, 2.0):
            scrub(page, time)
            wheel = near(page.picture(), WHEEL)
            assert wheel.sum() > 50
            assert not (wheel[0].any() or wheel[-1].any() or wheel[:, 0].any() or wheel[:, -1].any())
    page.call("Emulation.clearDeviceMetricsOverride")


def test_browser_without_webgl_is_told(chromium: Browser, tmp_path: Path) -> None:
    write_html(spatial(), TIMES, spatial_poses(), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text("utf-8").replace('getContext("webgl2"', 'getContext("webgl9"')
    (tmp_path / "a.html").write_text(text, "utf-8")
    chromium.open(tmp_path / "a.html")
    assert "offers no WebGL 2" in chromium.run("document.getElementById('fault').textContent")
    assert not chromium.complaints()
