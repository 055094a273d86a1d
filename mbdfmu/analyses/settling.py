"""Equilibria by settling: a started simulation comes to rest; must not know files nor how simulations are started.

The steps are those of solver/settling.cpp (T10.1). Here stands what is done about a rest that is none: where a small
push would grow, the model is pushed that way and settles again.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.equilibrium import Equilibrium, named, position_names
from mbdfmu.analyses.native import translated
from mbdfmu.errors import ModelError
from mbdfmu.lowering import Lowered

Matrix = NDArray[np.float64]

TIGHTEST, LOOSEST = 1e-14, 1e-2  # of the tolerance: rounding, and where rest means little
MOST_STEPS = 10**9
PUSH = 0.05  # rad, or of the model's length: enough for the steps to see where it leads
MOST_PUSHES = 5
LARGEST = 600  # coordinates, above which stability is not examined: the cost grows with the cube
UNSTABLE = 1e-11  # of the stiffest direction
FITS = 1e-9  # of the largest part
TINY = 1e-300


def settle(native: Any, lowered: Lowered, velocities: Mapping[str, float], tolerance: float, limit: int) -> Equilibrium:
    """The rest that a started simulation comes to; KeyboardInterrupt where Ctrl-C ends the search."""
    _check(tolerance, limit)
    steps = iterations = 0
    notes: list[str] = []
    while True:
        with translated(f"model '{lowered.model.description.name}': "):
            arrived, more, work = native.settle(tolerance, limit)
        steps, iterations = steps + more, iterations + work
        if not arrived:
            raise KeyboardInterrupt
        way = _unstable_way(native, lowered) if len(lowered.coordinates) <= LARGEST else None
        if way is None or not way.any() or len(notes) == MOST_PUSHES:
            break
        notes.append(_pushed(native, lowered, way))
    stable = None if way is None else not way.any()
    if stable is False:
        notes.append("the equilibrium is not stable: what rests here leaves it when it is touched")
    return _at_rest(native, lowered, notes, velocities=velocities, steps=steps, iterations=iterations, stable=stable)


def _check(tolerance: float, limit: int) -> None:
    problems = []
    if not (isinstance(tolerance, Real) and TIGHTEST <= tolerance <= LOOSEST):
        problems.append(f"tolerance must lie in [{TIGHTEST:g}, {LOOSEST:g}], found {tolerance!r}")
    if not (isinstance(limit, int) and 0 < limit <= MOST_STEPS):
        problems.append(f"limit must be a number of steps from 1 to {MOST_STEPS:g}, found {limit!r}")
    if problems:
        raise ModelError(problems)


def _at_rest(native: Any, lowered: Lowered, notes: list[str], **facts: Any) -> Equilibrium:
    model, state = lowered.model, native.save()
    left = np.abs(native.a) / _units(native, lowered)
    worst = int(np.argmax(left)) if left.size else None  # a model may have states only
    return Equilibrium(
        model=model.description.name,
        method="settle",
        positions=named(position_names(model), state.q),
        states=named([s.name for s in model.states], state.x),
        turns=named([w.name for w in model.windings], state.turns),
        values=named(lowered.signals, native.signals()),
        units={name: signal.unit for name, signal in model.signals.items()},
        residual=0.0 if worst is None else float(abs(native.a[worst])),
        worst="" if worst is None else model.coordinates[worst].label,
        notes=tuple(notes),
        **facts,
    )


def _units(native: Any, lowered: Lowered) -> Vector:
    """What counts as much as a radian, of every coordinate."""
    return np.array([1.0 if c.unit == "rad" else native.length for c in lowered.model.coordinates])


# ---------------------------------------------------------------- stability


def _unstable_way(native: Any, lowered: Lowered) -> Vector | None:
    """The motion that a push makes grow fastest, of size PUSH; zero where every push is returned, None if unknown."""
    from scipy.linalg import eig, null_space

    scales = _units(native, lowered)
    found = _linearised(native, lowered)
    if found is None:
        return None
    mass, stiffness, rows = (matrix * scales for matrix in found)
    free = null_space(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))
    project = (free * scales[:, np.newaxis]).T  # (T10.2)
    values, vectors = eig(project @ stiffness @ free, project @ mass @ free)
    values = np.where(np.isfinite(values), values.real, 0.0)  # infinite: a coordinate without mass
    if not values.size or values.min() >= -UNSTABLE * np.abs(values).max():
        return np.zeros(len(scales))
    way = scales * (free @ vectors[:, np.argmin(values)].real)
    return np.asarray(way * PUSH / np.abs(way / scales).max())


def _linearised(native: Any, lowered: Lowered) -> tuple[Matrix, Matrix, Matrix] | None:
    """Mass, stiffness (states and variables following at once) and G at rest; None where no states would balance."""
    state, system = native.save(), native.system
    nv, nc, nx, n = system.nv, system.nc, system.nx, system.n
    still = np.zeros(nv)
    here = (state.t, state.q, still, still, native.lam, state.x, np.zeros(nx), native.y)

    def derivative(*weights: float) -> Matrix:
        matrix = np.zeros((n, n))
        np.add.at(matrix, (system.rows, system.cols), native.derivative(*here, *weights))
        return matrix

    by_others = derivative(0.0, 0.0, 0.0, 0.0)
    by_places = derivative(0.0, 0.0, 1.0, 1.0) - by_others
    mass = derivative(1.0, 0.0, 0.0, 0.0) - by_others
    others = slice(nv + nc, n)
    following = np.hstack([by_places[:, nv + nc : nv + nc + nx], by_others[:, nv + nc + nx :]])
    asked = by_places[others, :nv]
    answer = np.linalg.lstsq(following[others], asked, rcond=None)[0]  # states that nothing moves stay as they are
    if np.abs(following[others] @ answer - asked).max(initial=0.0) > FITS * np.abs(asked).max(initial=0.0):
        return None
    stiffness = by_places[:nv, :nv] - following[:nv] @ answer
    return mass[:nv, :nv], stiffness, by_others[nv : nv + nc, :nv]


def _pushed(native: Any, lowered: Lowered, way: Vector) -> str:
    """Move a little along the way, and say so."""
    state = native.save()
    with translated():
        native.place(native.system.moved(state.q, way), state.x, state.turns)
    farthest = lowered.model.coordinates[int(np.argmax(np.abs(way)))].label
    return f"left an equilibrium that is not stable ({farthest})"
