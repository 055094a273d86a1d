"""Descriptions of spatial mechanisms that the tests compare, consistent by construction; must not hold equations.

Every body has a centre of mass apart from its frame, a full tensor of inertia and a random pose and motion. The numbers
of a start are corrected by spatial.py, which also tells what follows from it.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np

import mbdfmu.forces  # noqa: F401  fills the family, so that descriptions can name its members
from mbdfmu.description import Description, Joint, Marker
from mbdfmu.joints import Relation
from reference.spatial_joints import Vector, X, matrix, quaternion, turning, unit
from reference.spatial_reading import Numbers, mechanism

ENDS = {"body-body": ("one", "two"), "ground-body": ("ground", "two"), "body-ground": ("one", "ground")}
JOINTS = [name for name, member in Joint.members().items() if member.freedoms.spatial is not None]
RELATIONS = [name for name, member in Joint.members().items() if issubclass(member, Relation)]
GRAVITY = [1.0, -2.0, -9.0]
FIELDS: dict[str, dict[str, Any]] = {
    "distance": {"length": 0.7},
    "screw": {"pitch": 0.3},
    "rolling_disc": {"radius": 0.4},
}
DIRECTIONS = ("axis", "axis_i", "axis_j", "normal")

# The 24 rotations of a cube: permutations of the axes with signs, of determinant 1.
CUBE = [
    Q
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(Q := np.diag(signs)[:, list(order)]) > 0
]


def numbers(vector: Any) -> list[float]:
    return [float(x) for x in vector]


def random_rotation(rng: np.random.Generator, largest: float = np.pi) -> Vector:
    return turning(rng.normal(size=3), rng.uniform(0, largest))


def random_body(rng: np.random.Generator) -> dict[str, Any]:
    """Some positive tensor of inertia, and a motion."""
    root = 0.2 * rng.normal(size=(3, 3)) + 0.4 * np.eye(3)
    points = root @ root.T  # of mass; J = trace(points) 1 - points obeys the triangle inequalities
    J = np.trace(points) * np.eye(3) - points
    tensor = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    return {
        "mass": float(rng.uniform(0.5, 2)),
        "inertia": numbers(tensor),
        "center": numbers(0.2 * rng.normal(size=3)),
        "velocity": numbers(0.5 * rng.normal(size=3)),
        "omega": numbers(rng.normal(size=3)),
        "free": True,
    }


def pose(place: Vector, rotation: Vector) -> dict[str, Any]:
    return {"position": numbers(place), "orientation": {"quaternion": numbers(quaternion(rotation))}}


def random_marker(rng: np.random.Generator, body: str) -> dict[str, Any]:
    return {
        "body": body,
        "at": numbers(0.5 * rng.normal(size=3)),
        "orientation": {"quaternion": numbers(quaternion(random_rotation(rng)))},
    }


def spring(i: dict[str, Any], j: dict[str, Any]) -> dict[str, Any]:
    return {"type": "translational", "i": i, "j": j, "stiffness": 20.0, "damping": 0.7, "free_length": 0.4}


def sampled(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """The fields of a joint of its own."""
    fields = Joint.named(kind).model_fields
    unknown = set(fields) - {"i", "j", "text", "start", "active", *DIRECTIONS, *FIELDS.get(kind, {})}
    assert not unknown, f"{kind}: teach sampled() a value for {', '.join(unknown)}"
    return FIELDS.get(kind, {}) | {name: numbers(rng.normal(size=3)) for name in DIRECTIONS if name in fields}


def between(kind: str, fields: dict[str, Any], rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Where about the frame j lies in the frame i, and how it is turned; the rest is corrected."""
    if kind == "rolling_disc":  # the disc stands upright, more or less
        normal, axis = unit(np.array(fields["normal"])), unit(np.array(fields["axis"]))
        upright = aligned(axis, unit(np.cross(normal, X)))
        return 0.9 * fields["radius"] * normal, turning(rng.normal(size=3), 0.3) @ upright
    offset = {
        "distance": fields.get("length", 0.0) * unit(rng.normal(size=3)),
        "screw": np.zeros(3),  # within half a turn, from which the angle is counted
    }.get(kind, 0.2 * rng.normal(size=3))
    return offset, random_rotation(rng, 0.5)


def aligned(a: Vector, b: Vector) -> Vector:
    """A rotation that takes a unit vector into another."""
    turn = np.cross(a, b)
    return turning(turn, float(np.arctan2(np.sqrt(turn @ turn), a @ b)))


def corrected(data: dict[str, Any]) -> Description:
    """The description with its start moved onto the joints."""
    bodies = data["bodies"]
    system = mechanism(Description(**data))
    start = system.sample(0.0, system.started())
    for k, name in enumerate(bodies):
        motion = {"velocity": numbers(start.velocity[k]), "omega": numbers(start.omega[k])}
        bodies[name] |= pose(start.position[k], matrix(start.quaternion[k])) | motion
    return Description(**data)


def joint_model(kind: str, ends: str = "body-body", seed: int = 0) -> Description:
    """Two bodies on springs and one joint between them, or between one of them and the ground."""
    rng = np.random.default_rng([seed, *(ord(c) for c in kind + ends)])
    fields, (first, second) = sampled(kind, rng), ENDS[ends]
    bodies = {name: random_body(rng) | pose(rng.normal(size=3), random_rotation(rng)) for name in ("one", "two")}
    i, j = random_marker(rng, first), random_marker(rng, second)
    data = {
        "format_version": 1, "name": "pair", "dimensions": 3, "gravity": GRAVITY, "length": 0.8, "bodies": bodies,
        "joints": {"joint": {"type": kind, "i": i, "j": j, **fields}},
        "forces": {"holder": spring(random_marker(rng, "ground"), random_marker(rng, "one")),
                   "tie": spring(random_marker(rng, "one"), random_marker(rng, "two"))},
    }  # fmt: skip
    offset, turn = between(kind, fields, rng)
    bring_together(data, i, j, offset, turn)
    return corrected(data)


def bring_together(data: dict[str, Any], i: dict[str, Any], j: dict[str, Any], offset: Vector, turn: Vector) -> None:
    """Moves the end j, a marker on the ground or a body with one, to a place and turn seen from the end i."""
    place, axes = seen(data, i)
    at, own = np.array(j["at"]), matrix(np.array(j["orientation"]["quaternion"]))
    if j["body"] == "ground":
        wanted = axes @ turn
        j.update(at=numbers(place + axes @ offset), orientation={"quaternion": numbers(quaternion(wanted))})
        return
    R = axes @ turn @ own.T
    data["bodies"][j["body"]] |= pose(place + axes @ offset - R @ at, R)


def seen(data: dict[str, Any], end: dict[str, Any]) -> tuple[Vector, Vector]:
    """Origin and axes of an end, in ground axes."""
    at, own = np.array(end["at"]), matrix(np.array(end["orientation"]["quaternion"]))
    if end["body"] == "ground":
        return at, own
    body = data["bodies"][end["body"]]
    R = matrix(np.array(body["orientation"]["quaternion"]))
    return np.array(body["position"]) + R @ at, R @ own


def relation_model(kind: str) -> Description:
    """A spinning wheel on a swinging arm, and a slider or a second wheel, coupled by an equation."""
    rng = np.random.default_rng([ord(c) for c in kind])
    joints: dict[str, Any] = {
        "swing": {"type": "revolute", "axis": [0.0, 1.0, 0.0]},
        "spin": {"type": "revolute", "axis": [1.0, 0.0, 0.0], "start": {"angle_rate": 9.0}},
        "slide": {"type": "prismatic", "axis": [1.0, 2.0, 0.5]},
        "other": {"type": "revolute", "axis": [0.3, 0.2, 1.0]},
    }
    ends = {"swing": ("ground", "arm"), "spin": ("arm", "wheel"), "slide": ("arm", "slider"), "other": ("arm", "disc")}
    bodies: dict[str, Any] = {}
    data = {"format_version": 1, "name": kind, "dimensions": 3, "gravity": GRAVITY, "length": 0.8, "bodies": bodies,
            "joints": joints}  # fmt: skip
    for name, (before, behind) in ends.items():
        bodies[behind] = random_body(rng) | pose(np.zeros(3), np.eye(3))
        i, j = random_marker(rng, before), random_marker(rng, behind)
        joints[name] |= {"i": i, "j": j}
        bring_together(data, i, j, np.zeros(3), np.eye(3))
    joints["relation"] = {
        "gear": {"type": "gear", "first": "other.angle", "second": "spin.angle", "ratio": -0.6},
        "coupler": {"type": "coupler", "terms": {"spin.angle": 0.1, "slide.displacement": 1.5, "other.angle": -0.4}},
    }[kind]
    return corrected(data)


def rotated(description: Description, Q: Vector) -> Description:
    """The whole model turned in the ground: gravity, start, and what is fixed to the ground."""
    n, data = Numbers(description), description.to_data()
    data["gravity"] = _turned(Q, data.get("gravity", []))
    for name, body in description.bodies.items():
        own = Q @ n.rotation(body.orientation)
        data["bodies"][name] |= {
            "position": _turned(Q, data["bodies"][name].get("position", [])),
            "velocity": _turned(Q, data["bodies"][name].get("velocity", [])),
            "orientation": {"quaternion": numbers(quaternion(own))},
        }
    for element in (*data.get("joints", {}).values(), *data.get("forces", {}).values()):
        for key in ("i", "j"):
            end = element.get(key)
            if isinstance(end, dict) and end["body"] == "ground":
                element[key] = _turned_marker(Q, n, end)
    return Description(**data)


def _turned_marker(Q: Vector, n: Numbers, marker: dict[str, Any]) -> dict[str, Any]:
    own = Q @ n.rotation(Marker(**marker).orientation)
    return marker | {"at": _turned(Q, marker.get("at", [])), "orientation": {"quaternion": numbers(quaternion(own))}}


def _turned(Q: Vector, vector: Any) -> list[Any]:
    """A vector of numbers or expressions, its components exchanged and their signs changed."""
    given = [*vector, 0.0, 0.0, 0.0][:3]
    where, signs = np.argmax(np.abs(Q), axis=1), np.sum(Q, axis=1)
    return [_signed(given[k], sign) for k, sign in zip(where, signs, strict=True)]


def _signed(value: float | str, sign: float) -> float | str:
    if isinstance(value, str):
        return value if sign > 0 else f"-({value})"
    return float(sign * value)
