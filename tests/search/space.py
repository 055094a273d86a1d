"""A planar model said anew in space: every body on a plate joint, axes out of the plane z.

What each field becomes follows from its schema, so that a new element needs no word here unless its
planar and spatial fields differ.
"""

from __future__ import annotations

import copy
import json
import math
import re
from typing import Any

from mbdfmu.description import Only
from mbdfmu.forces import ForceElement
from mbdfmu.joints import JointElement
from search.fields import properties

UP = {"axis": [0.0, 1.0, 0.0]}  # where the default is the last axis of the model
OTHERWISE = ("tyre",)  # what space adds to it moves out of the plane


class NotSaid(Exception):
    """A planar model that cannot be said in space: why."""


def in_space(planar: dict[str, Any]) -> dict[str, Any]:
    """The data of the same model with three dimensions."""
    data = copy.deepcopy(planar)
    data["dimensions"], data["gravity"] = 3, _three(data["gravity"])
    plates = {}
    for name, body in data["bodies"].items():
        data["bodies"][name] = _body(body)
        plates[f"plate_{name}"] = {"type": "planar", "i": {"body": "ground"}, "j": {"body": name}}
    for name, joint in data.get("joints", {}).items():
        data["joints"][name] = _joint(joint)
    for name, force in data.get("forces", {}).items():
        data["forces"][name] = _force(force)
    data["joints"] = {**data.get("joints", {}), **plates}
    return _angles(data, planar)


def _three(values: list[Any], last: float = 0.0) -> list[Any]:
    return [*values, last]


def _turned(entry: dict[str, Any]) -> dict[str, Any]:
    angle = entry.pop("angle", 0.0)
    return entry if angle == 0.0 else entry | {"orientation": {"axis": [0.0, 0.0, 1.0], "angle": angle}}


def _body(body: dict[str, Any]) -> dict[str, Any]:
    found = _turned(dict(body))
    anew = {"inertia": lambda value: [value] * 3, "omega": lambda value: [0.0, 0.0, value]}
    anew |= {"position": _three, "velocity": _three}
    return found | {key: say(body[key]) for key, say in anew.items() if key in body}


def _marker(marker: Any) -> Any:
    if not isinstance(marker, dict):
        return marker
    return _turned(marker | ({"at": _three(marker["at"])} if "at" in marker else {}))


def _joint(joint: dict[str, Any]) -> dict[str, Any]:
    member = JointElement.named(joint["type"])
    if "i" not in joint:
        return joint
    if member.freedoms.spatial is None:
        raise NotSaid(f"joint type '{joint['type']}' is planar")
    return {key: _marker(value) if key in ("i", "j") else _field(member, key, value) for key, value in joint.items()}


def _force(force: dict[str, Any]) -> dict[str, Any]:
    member, kind = ForceElement.named(force["type"]), force["type"]
    if 3 not in member.dimensions or kind in OTHERWISE:
        raise NotSaid(f"force type '{kind}' is another one in space")
    found = {}
    for key, value in force.items():
        info = member.model_fields.get(key)
        if info is not None and any(isinstance(m, Only) for m in info.metadata):
            raise NotSaid(f"'{key}' of force type '{kind}' is planar")
        found[key] = _marker(value) if isinstance(value, dict) else _field(member, key, value)
    if (
        "axis" in member.model_fields
        and "axis" not in force
        and "gap" in member(**_fields(force)).outputs(2)
        and kind != "cylinder_box"
    ):
        found |= UP
    if "spin_axis" in member.model_fields:
        found["spin_axis"] = [0.0, 0.0, 1.0]
    if "second_moment" in found and "shear_modulus" not in found:
        found["shear_modulus"] = found["elastic_modulus"]
    return found


def _fields(element: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in element.items() if key != "type"}


def _field(member: Any, key: str, value: Any) -> Any:
    schema = properties(member).get(key)
    text = json.dumps(schema)
    if isinstance(value, list) and '"maxItems": 3, "minItems": 2' in text:
        return _three(value, 1.0 if "xclusiveMinimum" in text else 0.0)
    if not isinstance(value, list) and '"array"' in text and schema is not None:
        about = schema.get("unit", "")
        return [value] * (2 if '"minItems": 1' in text else 3) if about in ("m4", "1") else [0.0, 0.0, value]
    return value


def _angles(data: dict[str, Any], planar: dict[str, Any]) -> dict[str, Any]:
    """Refuses angles that only planar joints tell, and those that space counts from elsewhere."""
    joints = {name: joint for name, joint in planar.get("joints", {}).items() if "i" in joint}
    missing = [f"{name}.angle" for name, joint in joints.items() if joint["type"] in ("point_on_line", "distance")]
    text = json.dumps({key: value for key, value in data.items() if key != "bodies"})
    if any(re.search(rf"\b{re.escape(name)}", text) for name in missing):
        raise NotSaid("an angle that is planar is used")
    locked = {name for event in planar.get("events", {}).values() for name in event.get("lock", ())}
    if any(f"{name}.angle" in missing for name in locked):
        raise NotSaid("a lock holds an angle that is planar")
    forces = [force for force in planar.get("forces", {}).values() if "i" in force]
    if any(
        abs(_angle(planar, pair["j"]) - _angle(planar, pair["i"])) > math.pi for pair in [*joints.values(), *forces]
    ):
        raise NotSaid("two ends are turned against each other by more than half a turn")
    return data


def _angle(planar: dict[str, Any], marker: dict[str, Any]) -> float:
    """Of a marker at the start."""
    body = planar["bodies"].get(marker["body"], {})
    return float(str(body.get("angle", 0.0)).split(" + ")[0]) + float(marker.get("angle", 0.0))
