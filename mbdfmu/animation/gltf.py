"""The animation as a glTF 2.0 scene for other programs; must not know how the scene was made.

A node for each body with channels for translation and rotation, below it a node for each part; a root node turns the
model's axis that points up into glTF's, which is y.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np

from mbdfmu.animation.colors import linear
from mbdfmu.animation.meshes import unit_meshes
from mbdfmu.animation.motion import Motion
from mbdfmu.animation.rotations import NO_TURN, Array, along, moved, steady
from mbdfmu.animation.scene import Link, Node, Part, Scene

FLOAT, SHORT = 5126, 5123  # component types
VERTICES, INDICES = 34962, 34963  # targets of buffer views
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
HALF = 0.5**0.5
UPRIGHT = {0: [0.0, 0.0, HALF, HALF], 1: [0.0, 0.0, 0.0, 1.0], 2: [-HALF, 0.0, 0.0, HALF]}  # quaternions x y z w
ROUGHNESS, METAL = 0.55, 0.05


def binary(scene: Scene, motion: Motion) -> bytes:
    """The scene as one binary file (.glb): a header and two chunks."""
    document, data = _build(scene, motion)
    document["buffers"] = [{"byteLength": len(data)}]
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + len(data)
    header = struct.pack("<4sII", b"glTF", 2, total)
    return header + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data


def embedded(scene: Scene, motion: Motion) -> str:
    """The scene as one text file (.gltf)."""
    document, data = _build(scene, motion)
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode("ascii")
    document["buffers"] = [{"byteLength": len(data), "uri": uri}]
    return json.dumps(document, separators=(",", ":"))


def _build(scene: Scene, motion: Motion) -> tuple[dict[str, Any], bytes]:
    builder = _Builder(motion)
    ground, *bodies = scene.nodes
    still = np.concatenate([np.zeros(3), NO_TURN])[None, :]
    tops = [builder.node(ground, still)]
    tops += [builder.node(body, motion.poses[builder.frames, k]) for k, body in enumerate(bodies)]
    tops += [builder.link(link, [still, *np.moveaxis(motion.poses[builder.frames], 1, 0)]) for link in scene.links]
    root = builder.append("nodes", {"name": scene.name, "rotation": UPRIGHT[scene.up], "children": tops})
    head = {"asset": {"version": "2.0", "generator": "mbdfmu"}, "scene": 0, "scenes": [{"nodes": [root]}]}
    return {**head, **builder.document()}, bytes(builder.data)


class _Builder:
    """Fills the lists of a glTF document and its buffer."""

    def __init__(self, motion: Motion) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.data = bytearray()
        self._known: dict[Any, int] = {}
        self._channels: list[dict[str, Any]] = []
        self._samplers: list[dict[str, Any]] = []
        times = (motion.times - min(0.0, motion.times[0])).astype("<f4")  # glTF knows no times below zero
        rising = np.diff(times) > 0  # as they must, also in single precision
        self.frames = np.flatnonzero(np.concatenate([rising, [True]]))
        self._times = self._accessor(times[self.frames], bounds=True)

    def document(self) -> dict[str, Any]:
        """The lists that are not empty."""
        animations = [{"channels": self._channels, "samplers": self._samplers}] if self._channels else []
        found = {**self.lists, "animations": animations}
        return {name: entries for name, entries in found.items() if entries}

    def append(self, name: str, entry: dict[str, Any]) -> int:
        """The index of a new entry of a list."""
        entries = self.lists.setdefault(name, [])
        entries.append(entry)
        return len(entries) - 1

    # ---- nodes

    def node(self, node: Node, poses: Array) -> int:
        """A body: its parts, and channels if it moves."""
        entry: dict[str, Any] = {"name": node.name, **_placed(poses[0, :3], poses[0, 3:])}
        if node.parts:
            entry["children"] = [self._part(part) for part in node.parts]
        index = self.append("nodes", entry)
        if len(poses) > 1:
            self._channel(index, "translation", poses[:, :3])
            self._channel(index, "rotation", _xyzw(poses[:, 3:]))
        return index

    def _part(self, part: Part) -> int:
        place = _placed(part.at, part.turn)
        return self.append("nodes", {"mesh": self._mesh(part.mesh, part.color), **place, "scale": part.size.tolist()})

    def link(self, link: Link, poses: list[Array]) -> int:
        """A cylinder that is moved, turned and stretched."""
        start, end = (moved(poses[n], p[None, :])[:, 0] for n, p in zip(link.nodes, link.points, strict=True))
        start, end = np.broadcast_arrays(start, end)
        length = np.linalg.norm(end - start, axis=1)
        scales = np.stack([np.full_like(length, link.radius)] * 2 + [np.maximum(length, 1e-3 * link.radius)], axis=1)
        turns = steady(along(end - start))
        entry = {"name": link.name, **_placed(0.5 * (start[0] + end[0]), turns[0]), "scale": scales[0].tolist()}
        index = self.append("nodes", {**entry, "mesh": self._mesh("cylinder", link.color)})
        if len(start) > 1:
            self._channel(index, "translation", 0.5 * (start + end))
            self._channel(index, "rotation", _xyzw(turns))
            self._channel(index, "scale", scales)
        return index

    def _channel(self, node: int, path: str, values: Array) -> None:
        output = self._accessor(values.astype("<f4"))
        self._samplers.append({"input": self._times, "output": output, "interpolation": "LINEAR"})
        self._channels.append({"sampler": len(self._samplers) - 1, "target": {"node": node, "path": path}})

    # ---- what parts share

    def _mesh(self, name: str, color: str) -> int:
        if (name, color) not in self._known:
            mesh = unit_meshes()[name]
            if name not in self._known:
                self._known[name] = self._accessor(mesh.positions, VERTICES, bounds=True)
                self._accessor(mesh.normals, VERTICES)
                self._accessor(mesh.indices, INDICES)
            first = self._known[name]
            attributes = {"POSITION": first, "NORMAL": first + 1}
            primitive = {"attributes": attributes, "indices": first + 2, "material": self._material(color)}
            self._known[name, color] = self.append("meshes", {"name": name, "primitives": [primitive]})
        return self._known[name, color]

    def _material(self, color: str) -> int:
        if color not in self._known:
            base = {"baseColorFactor": [*linear(color), 1.0], "metallicFactor": METAL, "roughnessFactor": ROUGHNESS}
            self._known[color] = self.append("materials", {"name": color, "pbrMetallicRoughness": base})
        return self._known[color]

    def _accessor(self, array: np.ndarray[Any, Any], target: int | None = None, *, bounds: bool = False) -> int:
        """Put an array into the buffer, and say what it is."""
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        if target is not None:
            view["target"] = target
        self.data += array.tobytes() + b"\0" * (-array.nbytes % 4)
        entry: dict[str, Any] = {
            "bufferView": self.append("bufferViews", view),
            "componentType": SHORT if array.dtype == np.uint16 else FLOAT,
            "count": len(array),
            "type": KINDS[array.shape[1] if array.ndim > 1 else 1],
        }
        if bounds:
            entry |= {key: np.atleast_1d(f(array, axis=0)).tolist() for key, f in (("min", np.min), ("max", np.max))}
        return self.append("accessors", entry)


def _xyzw(quaternions: Array) -> Array:
    return np.roll(quaternions, -1, axis=-1)


def _placed(at: Array, turn: Array) -> dict[str, Any]:
    return {"translation": at.tolist(), "rotation": _xyzw(turn).tolist()}
