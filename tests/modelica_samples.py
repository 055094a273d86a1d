"""Small models that move, one around every joint and every force, in the plane and in space where they exist there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mbdfmu import Model
from mbdfmu.description import Description
from mbdfmu.forces import ForceElement
from mbdfmu.joints import JointElement, Relation

# What joints are given besides their ends, and where the end on j is seen from i at the start.
JOINTS: dict[str, dict[str, Any]] = {
    "distance": {"length": 0.4},
    "screw": {"pitch": 0.2, "axis": [1, 0, 0]},
    "gear": {"first": "ELEMENT_HINGE.angle", "second": "HINGE.angle", "ratio": 0.5},
    "coupler": {"terms": {"HINGE.angle": 1, "ELEMENT_HINGE.angle": 2}, "constant": 0},
    "rolling_disc": {"radius": 0.3},
    "cylindrical": {"axis": [1, 1, 0]},
    "universal": {"axis_i": [1, 0, 0], "axis_j": [0.3, 1, 0]},
    "planar": {"axis": [0, 1, 1]},
    "prismatic": {"axis": [1, 1]},
}
GAPS = {"distance": 0.4}
# What forces are given besides their ends.
_CONTACT = {"stiffness": 1e4, "dissipation": 0.5, "coefficient": 0.2}
FORCES: dict[str, dict[str, Any]] = {
    "translational": {"stiffness": 100, "damping": 1, "free_length": 0.3},
    "rotational": {"stiffness": 5, "damping": 0.1, "free_angle": 0.2},
    "bushing": {"stiffness": [200, 300], "damping": [1, 2], "torsional_stiffness": 4, "torsional_damping": 0.1},
    "single": {"force": "3*sin(4*time)"},
    "vector": {"force": [1, "2*cos(3*time)"]},
    "general": {"force": [1, "2*cos(3*time)"], "torque": "0.5*time"},
    "drag": {"area": 1, "coefficient": 1.2},
    "gravitation": {"mass_i": 5, "mass_j": 6, "constant": 0.1},
    "bump_stop": {"stiffness": 1e3, "exponent": 1.5, "upper": 0.2},
    "beam": {"length": 0.5, "elastic_modulus": 1e6, "area": 1e-3, "second_moment": 1e-5, "damping": 0.01},
    "friction": {"normal_force": 5, "coefficient": 0.3, "law": "lugre"},
    "joint_friction": {"joint": "HINGE", "radius": 0.1, "coefficient": 0.3, "preload": 2},
    "point_plane": _CONTACT,
    "sphere_plane": {**_CONTACT, "radius": 0.25},
    "sphere_sphere": {**_CONTACT, "radius_i": 0.3, "radius_j": 0.22},
    "sphere_box": {**_CONTACT, "radius": 0.2, "size": [0.62, 0.5]},
    "cylinder_box": {**_CONTACT, "radius": 0.2, "length": 0.4, "size": [0.62, 0.5, 0.5]},
    "wheel_road": {**_CONTACT, "radius": 0.55},
    "tyre": {"stiffness": 2e3, "damping": 10, "radius": 0.55},
}
SPACE: dict[str, dict[str, Any]] = {
    "bushing": {"stiffness": [200, 300, 250], "damping": [1, 2, 1], "torsional_stiffness": [4, 5, 6],
                "torsional_damping": [0.1, 0.2, 0.1]},
    "vector": {"force": [1, "2*cos(3*time)", 0.5]},
    "general": {"force": [1, "2*cos(3*time)", 0], "torque": ["0.5*time", 0, 0.2]},
    "beam": {"second_moment": [2e-5, 1e-5, 1e-5], "shear_modulus": 4e5},
    "sphere_box": {"size": [0.62, 0.5, 0.5]},
    "prismatic": {"axis": [1, 1, 0.5]},
    "friction": {"law": "regularised", "axis": [1, 0, 0]},
}  # fmt: skip


def cases() -> Iterator[tuple[str, str, int]]:
    """Section, type and dimensions of everything that is registered and can be written."""
    for name, joint in JointElement.members().items():
        for dimensions in (2, 3):
            if issubclass(joint, Relation) or joint.freedoms.of(dimensions) is not None:
                yield "joints", name, dimensions
    for name, force in ForceElement.members().items():
        for dimensions in force.dimensions:
            yield "forces", name, dimensions


def sample(section: str, name: str, dimensions: int) -> Model:
    """A bar on a hinge, and a body that the element connects with it; the element is called ELEMENT."""
    relation = name in ("gear", "coupler")
    more = SPACE.get(name, {}) if dimensions == 3 else {}
    fields = (JOINTS if section == "joints" else FORCES).get(name, {}) | more
    i, j = {"body": "BAR", "at": _point(0.5, dimensions)}, {"body": "BODY", "at": _point(-0.25, dimensions)}
    data: dict[str, Any] = {
        "format_version": 1, "name": f"sample_{name}", "dimensions": dimensions,
        "gravity": [0, -9.81, 0][:dimensions], "bodies": {}, "joints": {}, "forces": {},
    }  # fmt: skip
    gap = GAPS.get(name, 0.0) if section == "joints" else 0.5
    data["bodies"]["BAR"] = _body(0.5, dimensions)
    data["bodies"]["BODY"] = _body(1.25 + gap, dimensions)
    hung = {"body": "BAR", "at": _point(-0.5, dimensions)}
    data["joints"]["HINGE"] = {"type": "revolute", "i": {"body": "ground"}, "j": hung}
    if name == "rolling_disc":
        data["bodies"]["BODY"] |= {"position": [0, 0, 0.3], "orientation": {"axis": [0, 1, 0], "angle": "90*deg"},
                                   "velocity": [0, -0.6, 0], "omega": [0, 0, 2]}  # fmt: skip
        i, j, data["gravity"] = {"body": "ground"}, {"body": "BODY"}, [0, 0, -9.81]
    if name in ("tyre", "wheel_road", "sphere_plane", "point_plane"):  # on the ground, and over it
        i, j = {"body": "ground", "at": _point(0, dimensions)}, {"body": "BODY"}
        data["bodies"]["BODY"] |= {"position": [1, 0.5] if dimensions == 2 else [1, 0, 0.5]}
        data["gravity"] = [0, -9.81] if dimensions == 2 else [0, 0, -9.81]
    element = {"type": name, **fields}
    if relation:
        data["joints"]["ELEMENT_HINGE"] = {"type": "revolute", "i": i, "j": j}
    elif name != "joint_friction":
        element |= {"i": i, "j": j}
    data[section]["ELEMENT"] = element
    return Model.from_description(Description(**data))


def _point(x: float, dimensions: int) -> list[float]:
    return [x, 0.0, 0.0][:dimensions]


def _body(x: float, dimensions: int) -> dict[str, Any]:
    inertia = 0.1 if dimensions == 2 else [0.05, 0.1, 0.12]
    return {"mass": 1.2, "inertia": inertia, "position": _point(x, dimensions), "free": True}
