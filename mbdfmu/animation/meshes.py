"""Unit bodies made of triangles, from which every shape is scaled; must not know what is drawn with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

AROUND = 32  # corners of a circle
RINGS = 16  # of a sphere, from pole to pole


@dataclass(frozen=True, eq=False)
class Mesh:
    """Vertices with normals, and three indices for each triangle, counter-clockwise seen from outside."""

    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    indices: NDArray[np.uint16]

    @property
    def half(self) -> NDArray[np.float32]:
        """Half sizes of the box around it; all meshes lie around the origin."""
        found: NDArray[np.float32] = self.positions.max(axis=0)
        return found


def _mesh(positions: NDArray[np.float64], normals: NDArray[np.float64], triangles: NDArray[np.int64]) -> Mesh:
    return Mesh(positions.astype("<f4"), normals.astype("<f4"), triangles.reshape(-1).astype("<u2"))


def _joined(*meshes: Mesh) -> Mesh:
    starts = np.cumsum([0, *(len(m.positions) for m in meshes[:-1])])
    return Mesh(
        np.concatenate([m.positions for m in meshes]),
        np.concatenate([m.normals for m in meshes]),
        np.concatenate([m.indices + start for m, start in zip(meshes, starts, strict=True)]).astype("<u2"),
    )


def _box() -> Mesh:
    """Edges of length 1."""
    face = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]]) / 2
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    faces = []
    for axis in range(3):
        for sign in (1, -1):
            turned = np.roll(face * [1, sign, sign], axis + 1, axis=1)  # z becomes x, y or z
            normal = np.zeros((4, 3))
            normal[:, axis] = sign
            faces.append(_mesh(turned, normal, triangles))
    return _joined(*faces)


def _circle() -> NDArray[np.float64]:
    angle = np.linspace(0, 2 * np.pi, AROUND + 1)
    return np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)


def _cylinder() -> Mesh:
    """Radius 1, length 1, along z."""
    ring, up = _circle(), np.array([0, 0, 0.5])
    k = np.arange(AROUND)
    low, high = k, k + AROUND + 1
    wall_triangles = np.concatenate([np.stack(t, axis=1) for t in ((low, low + 1, high + 1), (low, high + 1, high))])
    wall = _mesh(np.concatenate([ring - up, ring + up]), np.concatenate([ring, ring]), wall_triangles)
    fan = np.stack([np.zeros_like(k[1:-1]), k[1:-1], k[2:]], axis=1)
    top = _mesh(ring[:-1] + up, np.tile([0.0, 0.0, 1.0], (AROUND, 1)), fan)
    bottom = _mesh(ring[:-1] - up, np.tile([0.0, 0.0, -1.0], (AROUND, 1)), fan[:, ::-1])
    return _joined(wall, top, bottom)


def _sphere() -> Mesh:
    """Radius 1."""
    polar = np.linspace(0, np.pi, RINGS + 1)[:, None]
    ring = _circle()[None, :, :]
    points = np.sin(polar)[..., None] * ring + np.cos(polar)[..., None] * np.array([0.0, 0.0, 1.0])
    points = points.reshape(-1, 3)
    r, k = (grid.reshape(-1) for grid in np.meshgrid(np.arange(RINGS), np.arange(AROUND), indexing="ij"))
    a, width = r * (AROUND + 1) + k, AROUND + 1
    upper = np.stack([a, a + width, a + 1], axis=1)[r > 0]  # at the poles one of the two triangles has no area
    lower = np.stack([a + 1, a + width, a + width + 1], axis=1)[r < RINGS - 1]
    return _mesh(points, points, np.concatenate([upper, lower]))


@lru_cache(maxsize=1)
def unit_meshes() -> dict[str, Mesh]:
    """The meshes by name."""
    return {"box": _box(), "cylinder": _cylinder(), "sphere": _sphere()}
