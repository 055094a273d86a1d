"""Moving pictures of a result, as a web page or a glTF scene; must not know how the motion was computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from mbdfmu.animation.gltf import binary, embedded
from mbdfmu.animation.motion import FRAMES, Motion, motion_from, motion_of
from mbdfmu.animation.page import page
from mbdfmu.animation.scene import Scene, scene_of
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.files import atomic
from mbdfmu.results import Result

__all__ = ["FRAMES", "PAGES", "SCENES", "animate", "write_gltf", "write_html"]

PAGES = (".html", ".htm")
SCENES = (".glb", ".gltf")
Paths = str | os.PathLike[str]


def animate(
    result: Result,
    description: Description,
    *paths: Paths,
    frames: int = FRAMES,
    parameters: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """Write a result of the model into files: .html for a page, .glb or .gltf for a scene; returns notes for the user.

    `parameters` are those of the run where they differ from the model's; those that the result knows may be left out.
    """
    _check(paths)
    motion = motion_of(result, description, frames)
    scene = scene_of(description, _known(result, description) | dict(parameters or {}), extent=motion.extent)
    for path in paths:
        _write(scene, motion, path)
    return motion.notes


def _known(result: Result, description: Description) -> dict[str, float]:
    """The parameters of the run, as far as they are in the result: kept with it or recorded."""
    names = description.flat().parameters
    kept = {name: value for name, value in result.parameters.items() if name in names}
    return kept | {name: float(result[name][0]) for name in names if name in result and len(result.time)}


def write_html(description: Description, times: ArrayLike, poses: Mapping[str, ArrayLike], path: Paths) -> None:
    """Write a page from poses: for each body a row for each time, x y z e0 e1 e2 e3 or, in the plane, x y phi."""
    _write_poses(description, times, poses, path, PAGES)


def write_gltf(description: Description, times: ArrayLike, poses: Mapping[str, ArrayLike], path: Paths) -> None:
    """Write a glTF scene, .glb or .gltf, from the same."""
    _write_poses(description, times, poses, path, SCENES)


def _write_poses(
    description: Description, times: ArrayLike, poses: Mapping[str, ArrayLike], path: Paths, allowed: tuple[str, ...]
) -> None:
    _check([path], allowed)
    motion = motion_from(description, times, poses)
    _write(scene_of(description, extent=motion.extent), motion, path)


def _check(paths: Iterable[Paths], allowed: tuple[str, ...] = PAGES + SCENES) -> None:
    wrong = [path for path in paths if Path(path).suffix.lower() not in allowed]
    if wrong:
        raise ModelError(f"{path}: the suffix names no format; allowed: {', '.join(allowed)}" for path in wrong)


def _write(scene: Scene, motion: Motion, path: Paths) -> None:
    suffix = Path(path).suffix.lower()
    if suffix == ".glb":
        with atomic(path) as temporary:
            temporary.write_bytes(binary(scene, motion))
    else:
        _write_text(embedded(scene, motion) if suffix == ".gltf" else page(scene, motion), path)


def _write_text(text: str, path: Paths) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
