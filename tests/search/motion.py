"""What a model did: places, turns and velocities of bodies, and states, over time; and how far two runs are apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reference.spatial_joints import matrix

import mbdfmu as mbd

Array = NDArray[np.float64]
GROUPS = ("place", "turn", "speed", "spin")
SIZE = 1.0  # m, m/s, rad/s: the drawn models are of that size, so what is smaller counts as that
WINDOW = 1e-6  # s: about an event, on whose sides two runs may be

_SIGNALS = {
    2: ("x", "y", "phi", "vx", "vy", "omega"),
    3: ("x", "y", "z", "e0", "e1", "e2", "e3", "vx", "vy", "vz", "omega_x", "omega_y", "omega_z"),
}  # fmt: skip


@dataclass(frozen=True)
class Motion:
    """One row for each time; bodies and states by name."""

    times: Array
    bodies: Mapping[str, Mapping[str, Array]]  # by group
    states: Mapping[str, Array]
    events: tuple[tuple[float, str], ...] = ()
    steps: int = 0  # that the solver has taken, where that is known


def recorded(model: mbd.Model) -> list[str]:
    """The signals that make a motion."""
    d = model.description
    return [f"{body}.{key}" for body in bodies(model) for key in _SIGNALS[d.dimensions]] + states(model)


def bodies(model: mbd.Model) -> list[str]:
    return [body.name for body in model.symbolic.bodies]


def states(model: mbd.Model) -> list[str]:
    """Differential states and coordinates of the user's."""
    return [state.name for state in model.symbolic.states] + list(model.symbolic.description.coordinates)


def motion(model: mbd.Model, columns: Any, times: Iterable[float], grid: Array, events: Any = ()) -> Motion:
    """From columns over times; of two rows at one time the last counts."""
    at = np.asarray(list(times))
    rows = np.searchsorted(at, grid + 1e-9 * grid[-1], side="right") - 1

    def column(name: str) -> Array:
        return np.asarray(columns[name], dtype=float)[rows]

    found = {body: _body(body, column, model.description.dimensions) for body in bodies(model)}
    return Motion(grid, found, {name: column(name) for name in states(model)}, tuple(events))


def _body(name: str, column: Any, dimensions: int) -> dict[str, Array]:
    values = [column(f"{name}.{key}") for key in _SIGNALS[dimensions]]
    zero = 0 * values[0]
    if dimensions == 2:
        x, y, phi, vx, vy, omega = values
        c, s, one = np.cos(phi), np.sin(phi), zero + 1
        turn = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]), 2, 0)
        return {
            "place": _rows(x, y, zero),
            "turn": turn,
            "speed": _rows(vx, vy, zero),
            "spin": _rows(zero, zero, omega),
        }
    turn = np.array([matrix(e) for e in _rows(*values[3:7])])
    return {"place": _rows(*values[:3]), "turn": turn, "speed": _rows(*values[7:10]), "spin": _rows(*values[10:])}


def _rows(*columns: Array) -> Array:
    return np.stack(columns, axis=-1)


def apart(one: Motion, other: Motion) -> float:
    """The largest difference, in parts of the size of what differs; not at the very times of events."""
    return max((float(np.max(row, initial=0.0)) for row in _differences(one, other).values()), default=0.0)


def worst(one: Motion, other: Motion) -> tuple[str, float, float]:
    """What differs most, by how much and at which time."""
    rows = _differences(one, other)
    name = max(rows, key=lambda key: float(np.max(rows[key])))
    at = int(np.argmax(rows[name]))
    return name, float(rows[name][at]), float(one.times[at])


def _away(run: Motion) -> NDArray[np.bool_]:
    keep = np.ones(len(run.times), dtype=bool)
    for time, _ in run.events:
        keep &= np.abs(run.times - time) > WINDOW
    return keep


def _differences(one: Motion, other: Motion) -> dict[str, Array]:
    """By quantity, over the times of the first; nan counts as infinite."""
    common = np.isclose(one.times[:, None], other.times[None, :], rtol=0, atol=1e-9 * one.times[-1])
    rows, there = common.any(axis=1) & _away(one), common.argmax(axis=1)
    rows &= _away(other)[there]

    def difference(a: Array, b: Array, size: float) -> Array:
        found = np.abs(a - b[there]).reshape(len(one.times), -1).max(axis=1) / size
        return np.where(rows, np.nan_to_num(found, nan=np.inf), 0.0)

    found: dict[str, Array] = {}
    for group in GROUPS:
        named = [
            (body, groups[group], other.bodies[body][group])
            for body, groups in one.bodies.items()
            if body in other.bodies
        ]
        size = max([SIZE, *(float(np.max(np.abs(a))) for _, a, _ in named)])
        found |= {f"{body}.{group}": difference(a, b, size) for body, a, b in named}
    for name in one.states.keys() & other.states.keys():
        a = one.states[name]
        found[name] = difference(a, other.states[name], max(SIZE, float(np.max(np.abs(a)))))
    return found
