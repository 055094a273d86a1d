"""A robot as its URDF file tells it, before anything is decided; must not know XML nor models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbdfmu.importers.poses import Array, Pose, about

TURNING = ("revolute", "continuous")
TYPES = (*TURNING, "prismatic", "fixed", "floating", "planar")


@dataclass(frozen=True, kw_only=True, eq=False)
class Inertial:
    """Mass and inertia of a link; a number that could not be read is nan."""

    line: int
    pose: Pose  # of the centre of mass and the axes of the tensor, in the link
    mass: float  # kg
    inertia: Array  # kg.m2, 3 x 3

    @property
    def is_readable(self) -> bool:
        """Whether all its numbers are there."""
        return math.isfinite(self.mass) and bool(np.isfinite(self.inertia).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid:
    """A simple geometry: type and sizes as a shape of a model has them."""

    pose: Pose  # in the link
    sizes: dict[str, Any]
    color: str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Link:
    """A rigid part, or a frame if it has no inertial."""

    name: str
    line: int
    inertial: Inertial | None
    solids: tuple[Solid, ...]


@dataclass(frozen=True, kw_only=True)
class Mimic:
    """The coordinate of a joint as a multiple of another joint's."""

    line: int
    joint: str
    multiplier: float
    offset: float  # rad or m


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """The connection of a link to its parent; the joint's frame is that of the child at rest."""

    name: str
    line: int
    type: str
    parent: str
    child: str
    pose: Pose  # in the parent
    axis: Array  # unit vector, in the joint's frame
    damping: float  # N.m.s/rad or N.s/m
    limits: tuple[str, ...]  # in words
    mimic: Mimic | None

    def moved(self, value: float) -> Pose:
        """The child seen from the parent, where the joint's coordinate has a value."""
        if self.type in TURNING:
            return self.pose @ Pose(rotation=about(self.axis, value))
        return self.pose @ Pose(position=value * self.axis)


@dataclass(frozen=True, kw_only=True, eq=False)
class Robot:
    """The whole file."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
