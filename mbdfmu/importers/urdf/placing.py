"""Decides which body carries each link and where all are at rest; must not know names nor formats of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mbdfmu.importers.poses import Pose
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.masses import Weight, check_weight, is_body, weigh
from mbdfmu.importers.urdf.robot import Joint
from mbdfmu.importers.urdf.tree import Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class Carried:
    """What a link is fixed to: the body of a link, None for the ground, and where it is there."""

    body: str | None
    pose: Pose  # of the link in the body's frame, which is that of the body's own link


@dataclass(frozen=True, kw_only=True, eq=False)
class Placed:
    """What becomes of a robot's links."""

    tree: Tree
    on_ground: bool  # whether the root is
    carried: dict[str, Carried]  # every link
    weights: dict[str, Weight]  # the links that are bodies, with what they carry
    world: dict[str, Pose]  # every link, at rest

    def joints(self) -> Iterator[Joint]:
        """The joints between two bodies, or a body and the ground."""
        for joint in self.tree.joints:
            if self.carried[joint.parent].body != self.carried[joint.child].body:
                yield joint


def place(tree: Tree, on_ground: bool, findings: Findings) -> Placed:
    """Links that can be bodies are; the others go with a link to which they are fixed."""
    carried = _carried(tree, on_ground)
    weights = _weights(tree, carried, findings)
    return Placed(tree=tree, on_ground=on_ground, carried=carried, weights=weights, world=_world(tree))


def _carried(tree: Tree, on_ground: bool) -> dict[str, Carried]:
    carried = {name: Carried(body=name, pose=Pose()) for name, link in tree.links.items() if is_body(link)}
    if on_ground:
        carried.setdefault(tree.root.name, Carried(body=None, pose=Pose()))
    welds = [joint for joint in tree.joints if joint.type == "fixed"]
    _carry_outwards(welds, carried)
    _carry_inwards(welds, carried)
    _carry_outwards(welds, carried)
    return carried


def _carry_outwards(welds: list[Joint], carried: dict[str, Carried]) -> None:
    """A frame goes with its parent."""
    for joint in welds:
        if joint.child not in carried and joint.parent in carried:
            parent = carried[joint.parent]
            carried[joint.child] = Carried(body=parent.body, pose=parent.pose @ joint.pose)


def _carry_inwards(welds: list[Joint], carried: dict[str, Carried]) -> None:
    """A frame whose parent moves against it goes with a child, as the flange before a gripper does."""
    for joint in reversed(welds):
        if joint.parent not in carried and joint.child in carried:
            child = carried[joint.child]
            carried[joint.parent] = Carried(body=child.body, pose=child.pose @ joint.pose.inverse())


def _weights(tree: Tree, carried: dict[str, Carried], findings: Findings) -> dict[str, Weight]:
    """The inertials that each body carries, added up."""
    parts = {name: [(Pose(), link.inertial)] for name, link in tree.links.items() if link.inertial and is_body(link)}
    for name, link in tree.links.items():
        body = carried[name].body
        if link.inertial and body != name:
            if link.inertial.mass == 0:
                findings.note("links with zero mass count as frames", name)
                continue
            findings.note("links whose inertia is no body's are part of what they are fixed to", name)
            if body is not None:
                parts[body].append((carried[name].pose, link.inertial))
    weights = {name: weigh(found) for name, found in parts.items()}
    for name, weight in weights.items():
        check_weight(tree.links[name], weight, findings)
    return weights


def _world(tree: Tree) -> dict[str, Pose]:
    """The links seen from the root, which stands in the ground's frame."""
    world = {tree.root.name: Pose()}
    for joint in tree.joints:
        world[joint.child] = world[joint.parent] @ joint.moved(tree.rest[joint.name])
    return world
