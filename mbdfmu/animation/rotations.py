"""Quaternions [e0, e1, e2, e3] in arrays, as far as pictures need them; must not know what is turned."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]

NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


def about_z(angle: ArrayLike) -> Array:
    """The quaternion of a turn about z, for each angle."""
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def along(direction: ArrayLike) -> Array:
    """The quaternion that turns z into each of the directions, on the shortest way; zero directions are not turned."""
    d = np.asarray(direction, dtype=np.float64)
    length = np.linalg.norm(d, axis=-1, keepdims=True)
    x, y, z = np.moveaxis(
        np.divide(d, length, out=np.broadcast_to([0.0, 0.0, 1.0], d.shape).copy(), where=length > 0), -1, 0
    )
    back = z < -1 + 1e-12  # any axis across serves
    q = np.stack([1 + z, np.where(back, 1.0, -y), x, np.zeros_like(z)], axis=-1)
    q[..., 0] = np.where(back, 0.0, q[..., 0])
    return unit(q)


def unit(quaternion: Array) -> Array:
    """With length 1."""
    normalised: Array = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return normalised


def matrix(quaternion: Array) -> Array:
    """Rotation matrices (own axes to outer axes) of unit quaternions."""
    e0, e1, e2, e3 = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (e2 * e2 + e3 * e3), 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
        [2 * (e1 * e2 + e0 * e3), 1 - 2 * (e1 * e1 + e3 * e3), 2 * (e2 * e3 - e0 * e1)],
        [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), 1 - 2 * (e1 * e1 + e2 * e2)],
    ]
    turned: Array = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    return turned


def steady(quaternions: Array) -> Array:
    """The same rotations with signs that do not jump from one to the next (q and -q turn alike)."""
    if len(quaternions) < 2:
        return quaternions
    flips = np.where(np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]) < 0, -1.0, 1.0)
    signs = np.concatenate([[1.0], np.cumprod(flips)])
    signed: Array = quaternions * signs[:, None]
    return signed


def moved(pose: Array, points: Array) -> Array:
    """Points given in own axes, seen from outside; for poses (..., 7) and points (k, 3) an array (..., k, 3)."""
    placed: Array = points @ np.swapaxes(matrix(pose[..., 3:]), -1, -2) + pose[..., None, :3]
    return placed
