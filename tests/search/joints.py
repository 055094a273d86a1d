"""Bodies and the joints between them: trees, loops, joints held twice, gears and couplers."""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.spatial_joints import Vector
from reference.spatial_reading import COORDINATE

from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.joints import JointElement, Relation
from search.drawing import numbers, turn_of
from search.fields import drawn
from search.sketch import GROUND, Sketch

DRIVEN = ("revolute", "cylindrical", "prismatic", "screw")  # joints whose coordinates have one wrench that moves them

ARM = 0.4  # m: how far the frames of joints are from those of their bodies
ABOUT = 0.2, 0.5  # m, rad: how far the frames of a joint are from each other before assembly
RANK = 1e-6  # of the largest singular value: rows below repeat others


def kinds(dimensions: int) -> list[str]:
    """Joints that have ends."""
    members = JointElement.members().items()
    return [
        name
        for name, member in members
        if not issubclass(member, Relation) and member.freedoms.of(dimensions) is not None
    ]


def skeleton(sketch: Sketch) -> None:
    """Bodies on a tree of joints, then what closes loops or repeats rows, as long as something can move."""
    draw = sketch.draw
    sketch.parallel = sketch.dimensions == 2 or draw.chance(0.35)
    for _ in range(draw.count(1, 4)):
        _hung(sketch)
    sketch.settle()
    for _ in range(draw.pick((0, 0, 1, 1, 2))):
        _tried(sketch, closed)
    for _ in range(draw.pick((0, 0, 1))):
        _tried(sketch, related)


def _tried(sketch: Sketch, ingredient: Any) -> None:
    """Something is added, if it leaves a freedom."""
    before = dict(sketch.section("joints"))
    try:
        ingredient(sketch)
        if freedoms(sketch) >= 1:
            sketch.settle()
            return
    except (ModelError, StepFailed):
        pass
    sketch.data["joints"] = before


def freedoms(sketch: Sketch) -> int:
    """Velocities less independent rows."""
    system = sketch.mechanism().compile()
    q = system.start(assemble=True)[0]
    if not system.nc:
        return int(system.nv)
    matrix = system.jacobian(0.0, q, np.zeros(system.nv), np.zeros(system.nv), np.zeros(system.nc)).toarray()
    values = np.linalg.svd(matrix[system.nv :, : system.nv], compute_uv=False)
    return int(system.nv - np.sum(values > RANK * values[0]))


def body(sketch: Sketch) -> dict[str, Any]:
    """Mass, inertia and a motion."""
    draw, spatial = sketch.draw, sketch.dimensions == 3
    found: dict[str, Any] = {
        "mass": draw.size("kg"),
        "free": True,
        "velocity": sketch.vector(draw.point(sketch.dimensions, 1.0)),
    }
    if not spatial:
        return found | {"inertia": draw.number(0.05, 0.3), "omega": draw.signed(0.0, 3.0)}
    root = 0.15 * draw.rng.normal(size=(3, 3)) + 0.4 * np.eye(3)
    points = root @ root.T  # of mass; J = trace(points) 1 - points obeys the triangle inequalities
    J = np.trace(points) * np.eye(3) - points
    tensor = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    centre = draw.point(3, 0.2) if draw.chance(0.5) else np.zeros(3)
    return found | {"inertia": numbers(tensor), "center": numbers(centre), "omega": numbers(draw.point(3, 2.0))}


def _hung(sketch: Sketch) -> None:
    """A body on a joint to the ground or to a body before, or free."""
    draw, d = sketch.draw, sketch.dimensions
    parent = draw.pick([GROUND, *sketch.bodies])
    origin, axes = sketch.pose(parent)
    frame = origin + axes @ draw.point(d, ARM), axes if sketch.parallel and d == 3 else axes @ draw.rotation(d)
    name = sketch.add("bodies", "b", body(sketch))
    if draw.chance(0.12):
        _put(sketch, name, frame[0] + draw.point(d, 0.5), frame[1])
        return
    kind = draw.pick(kinds(d))
    fields = _fields(sketch, kind)
    reach, turn = ABOUT
    place = frame[0] + draw.point(d, reach)
    rotation = frame[1] @ (_about_z(draw.number(-turn, turn)) if sketch.parallel else draw.rotation(d, turn))
    own = np.eye(3) if sketch.parallel and d == 3 else draw.rotation(d)
    _put(sketch, name, place - rotation @ own.T @ (at := draw.point(d, ARM)), rotation @ own.T)
    j = {"body": name, "at": sketch.vector(at), **(turn_of(own, d) if not np.array_equal(own, np.eye(3)) else {})}
    sketch.add("joints", "j", {"type": kind, "i": sketch.marker(parent, *frame), "j": j, **fields})


def _about_z(angle: float) -> Vector:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _fields(sketch: Sketch, kind: str) -> dict[str, Any]:
    member = JointElement.named(kind)
    axes = [name for name, info in member.model_fields.items() if "axis" in name or name == "normal"]
    return drawn(member, sketch, left_out=axes if sketch.parallel and sketch.dimensions == 3 else ())


def _put(sketch: Sketch, name: str, place: Vector, rotation: Vector) -> None:
    sketch.poses[name] = place, rotation
    sketch.section("bodies")[name] |= {"position": sketch.vector(place), **turn_of(rotation, sketch.dimensions)}


def closed(sketch: Sketch) -> None:
    """A joint between two frames that coincide now: it closes a loop, or repeats what others hold."""
    draw, d = sketch.draw, sketch.dimensions
    i, j = _pair(sketch)
    origin, axes = sketch.pose(j)
    rotation = np.eye(3) if sketch.parallel and d == 3 else axes @ draw.rotation(d)
    place = origin + axes @ draw.point(d, ARM)
    hung = [joint for joint in sketch.section("joints").values() if {joint["i"]["body"], joint["j"]["body"]} == {i, j}]
    if hung and draw.chance(0.6):  # about the line of one that is there
        frame, there = draw.pick(hung)["i"], sketch.pose(i)
        at = np.array([*frame["at"], 0.0][:3])
        along = there[1][:, 2] * draw.number(-ARM, ARM) if d == 3 else np.zeros(3)
        place = there[0] + there[1] @ at + along
    kind = draw.pick(kinds(d))
    ends = {"i": sketch.marker(i, place, rotation), "j": sketch.marker(j, place, rotation)}
    sketch.add("joints", "j", {"type": kind, **ends, **_fields(sketch, kind)})


def _pair(sketch: Sketch) -> tuple[str, str]:
    """Two that a joint may connect, the second a body."""
    j = sketch.draw.pick(sketch.bodies)
    return sketch.draw.pick([other for other in (GROUND, *sketch.bodies) if other != j]), j


def coordinates(sketch: Sketch) -> list[str]:
    """What joints leave free, in the words of expressions."""
    signals = sketch.mechanism().symbolic.signals
    joints = tuple(f"{name}." for name in sketch.section("joints"))
    found = [name for name in signals if name.startswith(joints) and f"{name}_rate" in signals]
    return [name for name in found if drivable(sketch.section("joints"), name)] if sketch.plain else found


def drivable(entries: dict[str, Any], coordinate: str) -> bool:
    """Whether the independent equations know the coordinate."""
    name, _, key = coordinate.rpartition(".")
    return key in COORDINATE and entries[name]["type"] in DRIVEN


def related(sketch: Sketch) -> None:
    """A gear or coupler, with the constant that fits the present pose."""
    draw = sketch.draw
    free = coordinates(sketch)
    if len(free) < 2:
        return
    first, second = (free[int(k)] for k in draw.rng.choice(len(free), 2, replace=False))
    now = sketch.now()
    ratio = draw.signed(0.3, 2.0)
    if draw.chance(0.5):
        relation = {
            "type": "gear",
            "first": first,
            "second": second,
            "ratio": ratio,
            "offset": now[first] - ratio * now[second],
        }
    else:
        relation = {
            "type": "coupler",
            "terms": {first: 1.0, second: ratio},
            "constant": now[first] + ratio * now[second],
        }
    sketch.add("joints", "j", relation)
