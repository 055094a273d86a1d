"""Parts that are turned, mirrored and moved, in one another, some on a body of the model around.

The oracle is that of a mirror: where the model moves by p, R, v, omega (in axes of the body), its image moves by
o + Q S p, Q S R S, Q S v and -S omega (omega where nothing is mirrored), under the gravity Q S g. States of elements
may have either sign in a mirror, as the slip of a tyre: what they do to the motion tells.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from reference.spatial_joints import Array, Vector, matrix

from search.drawing import Draw, angle_of, numbers, turn_of
from search.generate import NUDGE
from search.motion import Motion
from search.sketch import GROUND, Sample

PART = "part"
FAR = 2.0  # m
DEEPER = 0.3  # share of parts that stand in another part
ATTACHED = 0.5  # of those on a body around


@dataclass(frozen=True)
class Place:
    """Of a part in the model around."""

    origin: Vector
    turn: Vector  # Q
    mirror: str | None = None

    @classmethod
    def drawn(cls, draw: Draw, dimensions: int, mirrors: bool) -> Place:
        mirror = draw.pick((None, *"xyz"[:dimensions])) if mirrors else None
        rotation = draw.rotation(dimensions) if draw.chance(0.8) else np.eye(3)
        return cls(draw.point(dimensions, FAR), rotation, mirror)

    @property
    def signs(self) -> Vector:  # S
        return np.diag([-1.0 if axis == self.mirror else 1.0 for axis in "xyz"])

    def said(self, dimensions: int) -> dict[str, Any]:
        """The fields of a sub-model."""
        mirror = {} if self.mirror is None else {"mirror": self.mirror}
        return {"position": numbers(self.origin)[:dimensions], **turn_of(self.turn, dimensions), **mirror}

    def direction(self, v: Array) -> Array:
        """One, or rows of them."""
        return np.asarray(v @ (self.turn @ self.signs).T)

    def point(self, p: Array) -> Array:
        return np.asarray(self.origin + self.direction(p))

    def axes(self, R: Array) -> Array:
        return np.asarray(self.turn @ self.signs @ R @ self.signs)

    def spin(self, omega: Array) -> Array:
        return np.asarray(omega if self.mirror is None else -omega @ self.signs)

    def image(self, run: Motion) -> Motion:
        bodies = {
            name: {"place": self.point(body["place"]), "turn": self.axes(body["turn"]),
                   "speed": self.direction(body["speed"]), "spin": self.spin(body["spin"])}
            for name, body in run.bodies.items()
        }  # fmt: skip
        own = {name: values for name, values in run.states.items() if self.mirror is None or "." not in name}
        return replace(run, bodies=bodies, states=own)


def placed(sample: Sample, mirrors: bool = True) -> tuple[Sample, list[Place], str]:
    """The model as a part, the places from the innermost on, and what its elements are called by."""
    draw, d = Draw(sample.seed, 6), sample.dimensions
    inner, around = copy.deepcopy(sample.data), {}
    place = Place.drawn(draw, d, mirrors)
    body = _shared(sample, draw)
    if body is not None:
        around = {body: _image(place, inner["bodies"][body], d)}
        _attach(inner, body, d)
    places, prefix = [place], ""
    data = _within(inner, place, around)
    if body is None and draw.chance(DEEPER):
        places.append(Place.drawn(draw, d, mirrors))
        data, prefix = _within(data, places[-1], {}), f"{PART}."
    prefix += f"{PART}."
    inputs = {f"{prefix}{name}": points for name, points in sample.inputs.items()}
    return replace(sample, data=data, inputs=inputs), places, prefix


def _within(inner: dict[str, Any], place: Place, bodies: dict[str, Any]) -> dict[str, Any]:
    d = inner["dimensions"]
    gravity = numbers(place.direction(_three(inner["gravity"])))[:d]
    part: dict[str, Any] = {"model": {**inner, "name": "inside"}, "parameters": {NUDGE: NUDGE}, **place.said(d)}
    if bodies:
        part["attach"] = {name: name for name in bodies}
    return {"format_version": 1, "name": "around", "dimensions": d, "gravity": gravity, "parameters": {NUDGE: 0.0},
            "bodies": bodies, "submodels": {PART: part}}  # fmt: skip


def _three(values: Sequence[float]) -> Vector:
    return np.array([*values, 0.0][:3])


# ---------------------------------------------------------------- a body of the model around


def _shared(sample: Sample, draw: Draw) -> str | None:
    """A body that something stands on and no expression names: inside, its signals are not known."""
    if not draw.chance(ATTACHED):
        return None
    text = json.dumps({k: v for k, v in sample.data.items() if k != "bodies"})
    markers = r'"body": "(\w+)"'
    held, said = set(re.findall(markers, text)), re.sub(markers, "", text)
    known = [name for name in sample.data["bodies"] if name in held and not re.search(rf"\b{name}\b", said)]
    return draw.pick(known) if known else None


def _start(values: Any) -> Any:
    """Without what nudges it."""
    if isinstance(values, list):
        return [_start(value) for value in values]
    return float(str(values).split(" + ")[0])


def _pose(body: dict[str, Any], dimensions: int) -> tuple[Vector, Vector]:
    if dimensions == 3:
        return _three(_start(body["position"])), np.asarray(matrix(np.array(body["orientation"]["quaternion"])))
    return _three(_start(body["position"])), _about_z(_start(body["angle"]))


def _about_z(angle: float) -> Vector:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _image(place: Place, body: dict[str, Any], dimensions: int) -> dict[str, Any]:
    """The body in the mirror, written down with numbers."""
    origin, axes = _pose(body, dimensions)
    moving = {"position": place.point(origin), "velocity": place.direction(_three(_start(body["velocity"])))}
    found = body | {key: numbers(value)[:dimensions] for key, value in moving.items()}
    if dimensions == 2:
        sign = 1.0 if place.mirror is None else -1.0
        return found | {"omega": sign * _start(body["omega"]), "angle": angle_of(place.axes(axes))}
    xx, yy, zz, xy, xz, yz = body["inertia"]
    tensor = place.signs @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ place.signs
    inertia = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    own = {"inertia": numbers(inertia), "center": numbers(place.signs @ np.array(body["center"])),
           "omega": numbers(place.spin(np.array(_start(body["omega"]))))}  # fmt: skip
    return found | own | turn_of(place.axes(axes), 3)


def _attach(data: dict[str, Any], body: str, dimensions: int) -> None:
    """What stands on the body is told from where the part stands."""
    origin, axes = _pose(data["bodies"][body], dimensions)
    data["bodies"][body] = {"external": True}
    for section in ("joints", "forces"):
        for entry in data.get(section, {}).values():
            for key, marker in entry.items():
                if isinstance(marker, dict) and marker.get("body") == body != GROUND:
                    entry[key] = _told(marker, origin, axes, dimensions)


def _told(marker: dict[str, Any], origin: Vector, axes: Vector, dimensions: int) -> dict[str, Any]:
    if dimensions == 2:
        own = _about_z(marker.get("angle", 0.0))
    else:
        turned = marker.get("orientation", {"quaternion": [1.0, 0.0, 0.0, 0.0]})
        own = np.asarray(matrix(np.array(turned["quaternion"])))
    at = origin + axes @ _three(marker.get("at", [0.0] * dimensions))
    return {"body": marker["body"], "at": numbers(at)[:dimensions], **turn_of(axes @ own, dimensions)}
