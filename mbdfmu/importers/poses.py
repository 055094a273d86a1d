"""Placements in space as numbers: compose, invert, give angles; must not know what is placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

_UPRIGHT = 1e-3  # cosine of the pitch below which roll and yaw lose digits
_DIGITS = 15  # after the point, of lengths in m and angles in rad: hides the rounding of compositions


@dataclass(frozen=True, eq=False)
class Pose:
    """Where a frame is and how it is turned, seen from another one."""

    rotation: Array = field(default_factory=lambda: np.eye(3))  # from the own axes to those of the other frame
    position: Array = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def at(cls, xyz: Sequence[float], rpy: Sequence[float]) -> Pose:
        """A frame at a point, turned by roll, pitch and yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
        x, y, z = np.eye(3)
        roll, pitch, yaw = rpy
        return cls(about(z, yaw) @ about(y, pitch) @ about(x, roll), np.array(xyz, dtype=float))

    def __matmul__(self, inner: Pose) -> Pose:
        """A pose given in this frame, seen from outside."""
        return Pose(self.rotation @ inner.rotation, self.position + self.rotation @ inner.position)

    def inverse(self) -> Pose:
        """The outer frame seen from this one."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)


def about(axis: Array, angle: float) -> Array:
    """The rotation by an angle about a unit vector."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Array = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return turned


def placement(pose: Pose, point: str) -> dict[str, object]:
    """The entries of a model file for a pose, the position under the name `point`; what is zero is left out."""
    data: dict[str, object] = {}
    position = rounded(pose.position)
    if any(position):
        data[point] = position
    turn = _orientation(pose.rotation)
    if turn is not None:
        data["orientation"] = turn
    return data


def rounded(values: Array) -> list[float]:
    """Plain numbers for a file, without a negative zero."""
    return [round(float(value), _DIGITS) + 0.0 for value in values]


def _orientation(rotation: Array) -> dict[str, object] | None:
    """Roll, pitch and yaw, as people give them; two directions where the x axis is upright and these are not unique."""
    level = float(np.hypot(rotation[0, 0], rotation[1, 0]))
    if level < _UPRIGHT:
        return {"x": rounded(rotation[:, 0]), "y": rounded(rotation[:, 1])}
    roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    angles = rounded(np.array([roll, np.arctan2(-rotation[2, 0], level), yaw]))
    return {"angles": angles, "sequence": "rpy"} if any(angles) else None
