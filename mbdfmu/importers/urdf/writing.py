"""A placed robot as the data of a model file; must not know XML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbdfmu.description import GROUND
from mbdfmu.importers.poses import Pose, placement, rounded
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.masses import Weight
from mbdfmu.importers.urdf.naming import Names
from mbdfmu.importers.urdf.placing import Placed
from mbdfmu.importers.urdf.robot import TURNING, Joint, Mimic, Solid

Data = dict[str, Any]
_TYPES = {**dict.fromkeys(TURNING, "revolute"), "prismatic": "prismatic", "planar": "planar", "fixed": "fixed"}
_COORDINATES = {**dict.fromkeys(TURNING, "angle"), "prismatic": "displacement"}
_DAMPERS = {**dict.fromkeys(TURNING, "rotational"), "prismatic": "translational"}
_ROUNDING = 1e-15  # of the largest moment: what rotating a tensor leaves of a product that is zero


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """All that the sections are written from."""

    placed: Placed
    links: dict[str, str]  # names in the model
    joints: dict[Joint, str]  # those that stay joints
    names: Names
    findings: Findings


def sections(placed: Placed, findings: Findings) -> Data:
    """The sections of the model file."""
    names = Names(findings)
    links = {name: names.give(name, "link") for name in placed.tree.links}
    joints = {joint: names.give(joint.name, "joint") for joint in placed.joints() if joint.type in _TYPES}
    plan = Plan(placed=placed, links=links, joints=joints, names=names, findings=findings)
    return {"markers": _markers(plan), "bodies": _bodies(plan), "joints": _joints(plan), "forces": _forces(plan)}


# ---------------------------------------------------------------- bodies and markers


def _bodies(plan: Plan) -> dict[str, Data]:
    free, shapes = _free(plan), _shapes(plan)
    bodies = {}
    for name, weight in plan.placed.weights.items():
        entries = {**_mass(weight), **placement(plan.placed.world[name], "position")}
        if name in free:
            entries["free"] = True
        bodies[plan.links[name]] = {**entries, "shapes": shapes.get(name, [])}
    return bodies


def _mass(weight: Weight) -> Data:
    moments, products = weight.inertia.diagonal(), weight.inertia[[0, 0, 1], [1, 2, 2]]
    products = np.where(abs(products) > _ROUNDING * moments.max(), products, 0.0)
    inertia = [*moments.tolist(), *(products.tolist() if products.any() else ())]
    return {"mass": weight.mass, "inertia": inertia, "center": rounded(weight.center)}


def _free(plan: Plan) -> set[str | None]:
    """The links whose bodies no joint needs to hold."""
    floating = [joint for joint in plan.placed.tree.joints if joint.type == "floating"]
    for joint in floating:
        plan.findings.note("joints of type floating become no joint, their links are free", joint.name)
    roots = [] if plan.placed.on_ground else [plan.placed.tree.root.name]
    return {plan.placed.carried[name].body for name in (*roots, *(joint.child for joint in floating))}


def _shapes(plan: Plan) -> dict[str, list[Data]]:
    """What each body looks like, with the links that it carries."""
    found: dict[str, list[Data]] = {}
    for name, link in plan.placed.tree.links.items():
        carried = plan.placed.carried[name]
        if carried.body is None and link.solids:
            plan.findings.note("the ground is not drawn, and so are links fixed to it", name)
        elif carried.body is not None:
            found.setdefault(carried.body, []).extend(_shape(carried.pose, solid) for solid in link.solids)
    return found


def _shape(link: Pose, solid: Solid) -> Data:
    color = {"color": solid.color} if solid.color else {}
    return {**solid.sizes, **placement(link @ solid.pose, "at"), **color}


def _markers(plan: Plan) -> dict[str, Data]:
    """The links that are no bodies, so that their place stays a signal."""
    carried = plan.placed.carried
    return {plan.links[name]: _end(plan, name) for name in plan.links if carried[name].body != name}


def _end(plan: Plan, link: str, pose: Pose | None = None) -> Data:
    """A frame given in a link, on the body that carries the link."""
    carried = plan.placed.carried[link]
    body = GROUND if carried.body is None else plan.links[carried.body]
    return {"body": body, **placement(carried.pose @ pose if pose else carried.pose, "at")}


# ---------------------------------------------------------------- joints and forces


def _joints(plan: Plan) -> dict[str, Data]:
    found = {name: _joint(plan, joint) for joint, name in plan.joints.items()}
    root = plan.placed.tree.root.name
    if plan.placed.on_ground and root in plan.placed.weights:
        name = plan.names.give(f"{plan.links[root]}_mount", "joint")
        found[name] = {"type": "fixed", "i": {"body": GROUND}, "j": {"body": plan.links[root]}}
    for joint, name in plan.joints.items():
        if joint.mimic:
            found[plan.names.give(f"{name}_mimic", "joint")] = _gear(plan, joint, joint.mimic)
    return found


def _gear(plan: Plan, joint: Joint, mimic: Mimic) -> Data:
    """Holds the coordinate of a joint to that of another one."""
    leader = next(other for other in plan.joints if other.name == mimic.joint)
    data = {"type": "gear", "first": _coordinate(plan, joint), "second": _coordinate(plan, leader)}
    return {**data, "ratio": mimic.multiplier, "offset": mimic.offset}


def _coordinate(plan: Plan, joint: Joint) -> str:
    return f"{plan.joints[joint]}.{_COORDINATES[joint.type]}"


def _joint(plan: Plan, joint: Joint) -> Data:
    data: Data = {"type": _TYPES[joint.type], **_ends(plan, joint)}
    if joint.type != "fixed":
        data["axis"] = rounded(joint.axis)
    if joint.limits:
        data["text"] = f"limits in the URDF file: {', '.join(joint.limits)}"
    return data


def _ends(plan: Plan, joint: Joint) -> Data:
    """Frames on both bodies that coincide where the joint's coordinate is zero."""
    return {"i": _end(plan, joint.parent, joint.pose), "j": _end(plan, joint.child)}


def _forces(plan: Plan) -> dict[str, Data]:
    """The damping of joints."""
    found = {}
    for joint, name in plan.joints.items():
        if joint.damping and joint.type in _DAMPERS:
            damper = {"type": _DAMPERS[joint.type], **_ends(plan, joint), "axis": rounded(joint.axis)}
            found[plan.names.give(f"{name}_damping", "force")] = {**damper, "damping": joint.damping}
        elif joint.damping:
            plan.findings.note(f"damping of joints of type {joint.type} is left out", joint.name)
    return found
