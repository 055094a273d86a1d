"""How the bodies of a model move in a result: times and poses; must not know what the bodies look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbdfmu.animation.rotations import Array, about_z, steady, unit
from mbdfmu.description import Description
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.tabular import SHOWN, Table

FRAMES = 1001  # at most, where nothing is said: a thousand intervals
PLANAR = ("x", "y", "phi")
SPATIAL = ("x", "y", "z", "e0", "e1", "e2", "e3")


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """Increasing times and the poses of bodies (frame, body, x y z e0 e1 e2 e3); `notes` say what was left out."""

    times: Array
    poses: Array
    notes: tuple[str, ...] = ()

    @property
    def extent(self) -> float:
        """How far the places of bodies reach, whatever the time, in m."""
        return float(np.ptp(self.poses[..., :3], axis=(0, 1)).max())


def motion_of(result: Table, description: Description, frames: int = FRAMES) -> Motion:
    """The motion in the signals of a result, thinned out to at most so many frames."""
    flat = description.flat()
    suffixes = PLANAR if flat.dimensions == 2 else SPATIAL
    _check_signals(result, flat, suffixes)
    given = {body: np.stack([result[f"{body}.{s}"] for s in suffixes], axis=1) for body in flat.bodies}
    return motion_from(description, result.time, given, frames)


def motion_from(
    description: Description, times: ArrayLike, poses: Mapping[str, ArrayLike], frames: int = FRAMES
) -> Motion:
    """The motion given by hand: for each body a row for each time, x y z e0 e1 e2 e3, in the plane x y phi."""
    if frames < 2:
        raise ModelError(f"an animation needs 2 frames or more, found {frames}")
    time = np.asarray(times, dtype=np.float64)
    table = np.stack([_full(name, time, rows) for name, rows in _in_order(description, poses)], axis=1)
    usable = np.isfinite(table).all(axis=(1, 2)) & (np.linalg.norm(table[..., 3:], axis=-1) > 0).all(axis=1)
    usable[:-1] &= np.diff(time) > 0  # of times that appear twice the last one counts: positions do not jump
    if not usable.any():
        raise ModelError("there is no time at which all bodies have finite positions, so there is nothing to draw")
    kept = np.flatnonzero(usable)
    chosen = kept[np.unique(np.linspace(0, len(kept) - 1, min(frames, len(kept))).round().astype(int))]
    chosen_poses = table[chosen]
    for k in range(chosen_poses.shape[1]):
        chosen_poses[:, k, 3:] = steady(unit(chosen_poses[:, k, 3:]))
    return Motion(times=time[chosen], poses=chosen_poses, notes=tuple(_notes(table, len(kept), len(chosen))))


def _notes(table: Array, kept: int, chosen: int) -> Iterable[str]:
    broken = int(np.count_nonzero(~np.isfinite(table).all(axis=(1, 2))))
    if broken:
        yield f"{broken} of {len(table)} points have a position that is no finite number; they are left out"
    if chosen < kept:
        yield f"{chosen} of {kept} points are drawn, evenly chosen"


def _check_signals(result: Table, flat: Description, suffixes: Iterable[str]) -> None:
    missing = {
        body: lost for body in flat.bodies if (lost := [f"{body}.{s}" for s in suffixes if f"{body}.{s}" not in result])
    }
    if not missing:
        return
    found = any(f"{body}.x" in result for body in flat.bodies)
    cure = "record them (--record 'BODY.*'; without --record all are there)"
    cure = cure if found else f"is it a result of model '{flat.name}'? If so, {cure}"
    problems = [f"body '{body}': the result has no {', '.join(lost)}" for body, lost in missing.items()]
    more = [f"and so for {len(problems) - SHOWN} more bodies"] if len(problems) > SHOWN else []
    raise ModelError([*problems[:SHOWN], *more, f"the result cannot be drawn: {cure}"])


def _in_order(description: Description, poses: Mapping[str, ArrayLike]) -> list[tuple[str, ArrayLike]]:
    bodies = description.flat().bodies
    if not bodies:
        raise ModelError(f"model '{description.name}' has no bodies, so there is nothing to draw; plot its signals")
    problems = [f"no poses are given for body '{name}'" for name in bodies if name not in poses]
    problems += [f"no body is named '{name}'{did_you_mean(name, bodies)}" for name in poses if name not in bodies]
    if problems:
        raise ModelError(problems)
    return [(name, poses[name]) for name in bodies]


def _full(name: str, times: Array, rows: ArrayLike) -> Array:
    """Seven columns, whatever is given."""
    table = np.asarray(rows, dtype=np.float64)
    if times.ndim != 1 or table.shape not in ((len(times), len(PLANAR)), (len(times), len(SPATIAL))):
        raise ModelError(
            f"poses of body '{name}' have shape {table.shape}; give a row for each of the {times.size} times: "
            f"{' '.join(SPATIAL)} or, in the plane, {' '.join(PLANAR)}"
        )
    if table.shape[1] == len(SPATIAL):
        return table
    return np.concatenate([table[:, :2], np.zeros((len(table), 1)), about_z(table[:, 2])], axis=1)
