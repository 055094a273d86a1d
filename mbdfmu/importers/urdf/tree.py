"""Checks how links and joints hang together and orders the joints from the root on; must not know masses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from mbdfmu.description.messages import listed
from mbdfmu.errors import did_you_mean
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.robot import TURNING, TYPES, Joint, Link, Robot

T = TypeVar("T", Link, Joint)
_ONE_COORDINATE = (*TURNING, "prismatic")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A robot without contradictions."""

    root: Link
    links: dict[str, Link]
    joints: tuple[Joint, ...]  # each after the one that leads to its parent
    rest: dict[str, float]  # the coordinate of each joint where all that are free are zero


def arrange(robot: Robot, findings: Findings) -> Tree:
    """The robot in order; a ModelError lists everything found until now."""
    links, joints = _by_name(robot.links, findings), _by_name(robot.joints, findings)
    sound = [_check_ends(joint, links, findings) for joint in robot.joints]
    for joint in robot.joints:
        _check_mimic(joint, joints, findings)
    leading = _leading(robot.joints, findings)
    roots = [link for name, link in links.items() if name not in leading]
    ordered = _ordered([link.name for link in roots], leading)
    if all(sound):  # else some links are roots only because of that
        _check_roots(links, roots, ordered, findings)
    findings.end_if_wrong()
    return Tree(root=roots[0], links=links, joints=ordered, rest={name: _rest(j, joints) for name, j in joints.items()})


def _by_name(parts: Iterable[T], findings: Findings) -> dict[str, T]:
    found: dict[str, T] = {}
    for part in parts:
        first = found.setdefault(part.name, part)
        if first is not part and part.name:
            kind = type(part).__name__.lower()
            findings.problem(part.line, f"{kind} '{part.name}' is given twice, first on line {first.line}; rename one")
    return found


def _check_ends(joint: Joint, links: dict[str, Link], findings: Findings) -> bool:
    """Whether a joint connects two links."""
    for end, name in (("parent", joint.parent), ("child", joint.child)):
        if name and name not in links:
            hint = did_you_mean(name, links)
            text = f"joint '{joint.name}': no {end} link is named {name!r}{hint}; known: {listed(links)}"
            findings.problem(joint.line, text)
    if joint.parent and joint.parent == joint.child:
        text = f"joint '{joint.name}': parent and child are both link '{joint.child}'; they must be two links"
        findings.problem(joint.line, text)
    return joint.parent != joint.child and joint.parent in links and joint.child in links


def _leading(joints: Iterable[Joint], findings: Findings) -> dict[str, Joint]:
    """The joint that leads to each link."""
    found: dict[str, Joint] = {}
    for joint in joints:
        first = found.setdefault(joint.child, joint)
        if first is not joint and joint.child != joint.parent and first.name != joint.name:
            text = f"joint '{joint.name}': link '{joint.child}' is the child of joint '{first.name}' already"
            cure = "URDF holds trees; close loops in the model file after the import"
            findings.problem(joint.line, f"{text} (line {first.line}); {cure}")
    return found


def _ordered(starts: list[str], leading: dict[str, Joint]) -> tuple[Joint, ...]:
    """The joints that can be reached from some links, level by level."""
    leaving: dict[str, list[Joint]] = {}
    for joint in leading.values():
        leaving.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    while starts:
        level = [joint for name in starts for joint in leaving.get(name, ())]
        ordered += level
        starts = [joint.child for joint in level]
    return tuple(ordered)


def _check_roots(links: dict[str, Link], roots: list[Link], ordered: Iterable[Joint], findings: Findings) -> None:
    if not links:
        findings.problem(1, "the robot has no <link>; there is nothing to import")
    if len(roots) > 1:
        names = listed(link.name for link in roots)
        text = f"{len(roots)} links are the child of no joint: {names}; join all but one to another link"
        findings.problem(roots[1].line, text)
    reached = {joint.child for joint in ordered} | {link.name for link in roots}
    circling = [link for name, link in links.items() if name not in reached]
    if circling:
        names = listed(link.name for link in circling)
        text = f"no root leads to the links {names}, their joints run in a circle; remove the joint that closes it"
        findings.problem(circling[0].line, text)


# ---------------------------------------------------------------- mimic


def _check_mimic(joint: Joint, joints: dict[str, Joint], findings: Findings) -> None:
    if joint.mimic is None:
        return
    reason = _wrong_mimic(joint, joint.mimic.joint, joints)
    if reason:
        findings.problem(joint.mimic.line, f"joint '{joint.name}': <mimic> {reason}")


def _wrong_mimic(joint: Joint, name: str, joints: dict[str, Joint]) -> str:
    if name and name not in joints:
        return f"names joint {name!r}, which is not there{did_you_mean(name, joints)}; known: {listed(joints)}"
    for end in (joint, *filter(None, [joints.get(name)])):
        if end.type in TYPES and end.type not in _ONE_COORDINATE:
            allowed = ", ".join(_ONE_COORDINATE)
            return f"needs two joints with one coordinate ({allowed}), found '{end.name}' of type {end.type}"
    return "leads back to the joint itself; remove one of those on the way" if _circles(joint, joints) else ""


def _circles(joint: Joint, joints: dict[str, Joint]) -> bool:
    """Whether the joints that are followed come back to this one."""
    seen: set[str] = set()
    following: Joint | None = joint
    while following is not None and following.mimic is not None and following.name not in seen:
        seen.add(following.name)
        following = joints.get(following.mimic.joint)
    return following is not None and following.name == joint.name and joint.mimic is not None


def _rest(joint: Joint, joints: dict[str, Joint]) -> float:
    """The coordinate where every joint that follows no other is at zero."""
    value, factor = 0.0, 1.0
    while joint.mimic is not None:
        value += factor * joint.mimic.offset
        factor *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return value
