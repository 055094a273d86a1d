"""Decides which links have the mass and inertia of a body, and adds up those that go with it; must not know names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbdfmu.description.messages import listed
from mbdfmu.importers.poses import Array, Pose
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.robot import Inertial, Joint, Link, Robot

_ROUNDING = 1e-9  # of the largest moment; files are written by hand and by programs that round


@dataclass(frozen=True, kw_only=True, eq=False)
class Weight:
    """Mass, centre and the tensor about it, in the frame of a link."""

    mass: float  # kg
    center: Array  # m
    inertia: Array  # kg.m2


def is_body(link: Link) -> bool:
    """Whether a motion can be computed for the link alone. One with a broken number counts, it is a finding already."""
    inertial = link.inertial
    if inertial is None:
        return False
    return not inertial.is_readable or (inertial.mass > 0 and _is_definite(inertial.inertia))


def stands(root: Link, base: str) -> bool:
    """Whether the root is the ground or fixed to it."""
    weightless = root.inertial is None or root.inertial.mass == 0
    return base == "fixed" or (base == "auto" and weightless)


def weigh(parts: Iterable[tuple[Pose, Inertial]]) -> Weight:
    """The sum of inertials, each given with the pose of its link, by parallel axes."""
    placed = [(pose @ part.pose, part) for pose, part in parts]
    mass = sum(part.mass for _, part in placed)
    center = sum((part.mass * pose.position for pose, part in placed), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for pose, part in placed:
        arm = pose.position - center
        inertia += pose.rotation @ part.inertia @ pose.rotation.T
        inertia += part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Weight(mass=mass, center=center, inertia=inertia)


def check_weight(link: Link, weight: Weight, findings: Findings) -> None:
    """Find a sum that is no body's, which takes a part with negative moments, and note what no real body has."""
    small, middle, large = _moments(weight.inertia)
    if not _is_definite(weight.inertia):
        findings.problem(link.line, f"link '{link.name}', with what is fixed to it: {_wrong_inertia(weight.inertia)}")
    elif small + middle < (1 - _ROUNDING) * large:
        findings.note("no real body has this inertia, a moment exceeds the sum of the other two", link.name)


def check_masses(robot: Robot, base: str, findings: Findings) -> None:
    """Find the links that move and neither are bodies nor fixed to one; the joints need not make sense for that."""
    children = {joint.child for joint in robot.joints}
    for link in robot.links:
        if link.inertial and link.inertial.mass < 0:
            text = f"link '{link.name}': mass must be zero or positive, found {link.inertial.mass:g}"
            findings.problem(link.inertial.line, f"{text}; with zero the link is a mere frame")
    loose = []
    for group in _welded(robot.links, robot.joints):
        on_ground = any(stands(link, base) for link in group if link.name not in children)
        if not on_ground and not any(is_body(link) for link in group):
            loose.append(group)
    for group in loose:
        _explain(group, findings)
    if robot.links and not loose and not any(is_body(link) for link in robot.links):
        findings.problem(robot.links[0].line, "no link has mass and inertia of a body; there is nothing to simulate")


def _welded(links: Iterable[Link], joints: Iterable[Joint]) -> list[list[Link]]:
    """The links in groups that fixed joints connect."""
    group = {link.name: [link] for link in links}
    for joint in joints:
        one, other = group.get(joint.parent), group.get(joint.child)
        if joint.type == "fixed" and one is not None and other is not None and one is not other:
            small, large = sorted((one, other), key=len)  # the smaller moves, so that a link moves log2(n) times
            large += small
            group.update((link.name, large) for link in small)
    return list({id(members): members for members in group.values()}.values())


def _explain(group: list[Link], findings: Findings) -> None:
    """Say why none of these links can be a body."""
    weighty = [(link.name, link.inertial) for link in group if link.inertial and link.inertial.mass != 0]
    for name, inertial in weighty:
        if inertial.mass > 0:  # else a finding already
            findings.problem(inertial.line, f"link '{name}': {_wrong_inertia(inertial.inertia)}")
    if not weighty:
        names = listed(f"'{link.name}'" for link in group)
        what = f"link {names} moves" if len(group) == 1 else f"links {names} move together"
        cure = "give it an <inertial> with mass, or connect it by a fixed joint to a link that has one"
        findings.problem(group[0].line, f"{what} but without mass; {cure}")


def _wrong_inertia(inertia: Array) -> str:
    found = ", ".join(f"{moment:.4g}" for moment in _moments(inertia))
    cure = "correct it, or take that of a ball, 0.4 m r^2 for ixx, iyy and izz"
    return f"inertia must be positive definite, found principal moments {found} kg.m2; {cure}"


def _is_definite(inertia: Array) -> bool:
    small, _, large = _moments(inertia)
    return small > _ROUNDING * abs(large)


def _moments(inertia: Array) -> list[float]:
    moments: list[float] = np.linalg.eigvalsh(inertia).tolist()
    return moments
