"""The animation as one web page that needs nothing but itself; must not know how the scene was made."""

from __future__ import annotations

import base64
import html
import json
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from mbdfmu.animation.meshes import unit_meshes
from mbdfmu.animation.motion import Motion
from mbdfmu.animation.rotations import NO_TURN, Array, matrix, moved
from mbdfmu.animation.scene import Node, Part, Scene

CELLS = 16  # of the grid, about, across the whole motion
TRIAD = 1.2  # length of a body's axes, in typical sizes of a body


def page(scene: Scene, motion: Motion) -> str:
    """The text of the page."""
    room = files(__package__)
    data = json.dumps(_content(scene, motion), separators=(",", ":"))
    return Template(room.joinpath("viewer.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(scene.name),
        scene=data.replace("<", "\\u003c"),  # no text of a model may end the element
        script=room.joinpath("viewer.js").read_text(encoding="utf-8"),
    )


def _content(scene: Scene, motion: Motion) -> dict[str, Any]:
    low, high = bounds(scene, motion)
    axis = 2 if scene.planar else scene.up
    return {
        "planar": scene.planar,
        "up": scene.up,
        "low": low.tolist(),
        "high": high.tolist(),
        "floor": {"axis": axis, "level": _floor(scene, low[axis], high[axis])},
        "cell": _cell(float(np.max(high - low))),
        "triad": TRIAD * scene.scale,
        "meshes": {
            name: {"positions": _packed(m.positions), "normals": _packed(m.normals), "indices": _packed(m.indices)}
            for name, m in unit_meshes().items()
        },
        "nodes": [_node(node, moving=k > 0) for k, node in enumerate(scene.nodes)],
        "links": [
            {
                "color": link.color,
                "radius": link.radius,
                "nodes": link.nodes,
                "points": [p.tolist() for p in link.points],
            }
            for link in scene.links
        ],
        "times": _packed(motion.times.astype("<f8")),
        "poses": _packed(motion.poses.astype("<f4")),
    }


def _node(node: Node, *, moving: bool) -> dict[str, Any]:
    return {"name": node.name, "color": node.color, "moving": moving, "parts": [_part(part) for part in node.parts]}


def _part(part: Part) -> dict[str, Any]:
    columns = matrix(part.turn) * part.size
    return {"mesh": part.mesh, "color": part.color, "at": _short(part.at), "columns": [_short(c) for c in columns.T]}


def _short(values: Array) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _packed(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def bounds(scene: Scene, motion: Motion) -> tuple[Array, Array]:
    """Lowest and highest coordinates that any part reaches, whatever the time."""
    still = np.concatenate([np.zeros(3), NO_TURN])
    reached = [_reach(scene.nodes[0], still)] if scene.nodes[0].parts else []
    reached += [_reach(node, motion.poses[:, k]) for k, node in enumerate(scene.nodes[1:])]
    return np.min([low for low, _ in reached], axis=0), np.max([high for _, high in reached], axis=0)


def _reach(node: Node, pose: Array) -> tuple[Array, Array]:
    points = moved(pose, np.concatenate([_corners(part) for part in node.parts])).reshape(-1, 3)
    return points.min(axis=0), points.max(axis=0)


def _corners(part: Part) -> Array:
    """Of the box around a part, in the axes of its body."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    pose = np.concatenate([part.at, part.turn])
    return moved(pose, signs * part.size * unit_meshes()[part.mesh].half)


def _floor(scene: Scene, low: float, high: float) -> float:
    """Where the grid lies: behind a planar model; else below the motion, in the plane through the origin if near."""
    height = high - low
    if scene.planar or not -0.01 * height <= low <= 0.5 * height:
        return float(low - 0.02 * height)
    return min(0.0, low)


def _cell(extent: float) -> float:
    """A round length, 1, 2 or 5 times a power of ten, that fits about CELLS times into the motion."""
    power = 10.0 ** np.floor(np.log10(extent / CELLS))
    return float(f"{next(power * k for k in (1, 2, 5, 10) if power * k * CELLS >= extent * (1 - 1e-9)):.6g}")
