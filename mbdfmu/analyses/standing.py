"""The equations of a model that stands still: values and exact derivatives at any place (T19.1).

Time is held and velocities, accelerations and rates are zero. What is sought there, and how, this module must not know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.native import translated
from mbdfmu.lowering import Lowered

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

TINY = 1e-300
FITS = 1e-9  # of the largest part


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a model may stand, and what holds it there."""

    q: Vector
    lam: Vector  # of all constraint rows
    x: Vector
    y: Vector


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """Derivatives of the equations by rows (forces, constraints, others) and by q, lam, x, y.

    Rows of prescribed rates that depend on no place say that nothing moves along them: they hold their G.
    """

    by_q: Matrix
    by_lam: Matrix
    by_x: Matrix
    by_y: Matrix
    holding: Matrix  # G of the constraints


class Standing:
    """The equations of equilibrium of a started simulation, which stands still from now on."""

    def __init__(self, native: Any, lowered: Lowered) -> None:
        self.native, self.lowered = native, lowered
        with translated(f"model '{lowered.model.description.name}': "):
            native.stand_still()
        system = self.system = native.system
        self.nv, self.nc, self.nx = int(system.nv), int(system.nc), int(system.nx)
        self.n = int(system.n)
        self._keep_rows()
        self.levels = np.array(system.levels, dtype=int).reshape(-1)
        self.units = units(native, lowered)
        self.labels = list(system.labels)

    def _keep_rows(self) -> None:
        out = set(self.native.save().dropped)  # rows that are off, or repeat others (7.6)
        self.rows = np.array([k for k in range(self.nc) if self.nv + k not in out], dtype=np.intp)

    @property
    def here(self) -> Place:
        """Where the simulation stands."""
        state, lam = self.native.save(), np.zeros(self.nc)
        lam[self.rows] = self.native.lam[self.rows]
        return Place(q=state.q, lam=lam, x=state.x, y=self.native.y)

    def stand(self, place: Place) -> None:
        """Put the simulation there, angles with their turns."""
        turns = self.native.save().turns
        with translated():
            self.native.place(place.q, place.x, turns)

    def exchange_rows(self, place: Place) -> Place:
        """Put the simulation there; rows that turn dependent give way to some left out (T7.15), and reactions follow.

        The very same place where no row does.
        """
        self.stand(place)
        with translated():
            changed, lam = self.native.exchange_rows(place.lam)
        if not changed:
            return place
        self._keep_rows()
        return replace(place, lam=lam)

    def moved(self, place: Place, dq: Vector) -> Place:
        """The place after an increment of the coordinates."""
        return replace(place, q=np.asarray(self.system.moved(place.q, dq)))

    def sizes(self, place: Place) -> Vector:
        """What counts as much as a radian, of every state."""
        return np.maximum([s.nominal for s in self.lowered.model.states], np.abs(place.x))

    # ---- values

    def residual(self, place: Place) -> Vector:
        """Forces that are not balanced, constraints that are open, rates that are not zero; not finite outside."""
        return np.asarray(self.native.residual(*self._point(place)))

    def _point(self, place: Place) -> tuple[Any, ...]:
        still = np.zeros(self.nv)
        return (self._time, place.q, still, still, place.lam, place.x, np.zeros(self.nx), place.y)

    @cached_property
    def _time(self) -> float:
        return float(self.native.time)

    # ---- derivatives

    def slopes(self, place: Place) -> Slopes:
        """All derivatives at a place."""
        nv, nc, nx = self.nv, self.nc, self.nx
        plain = self._derivative(place, 0, 0, 0, 0)
        follow = self._derivative(place, 0, 0, 1, 1) - plain
        by_q, by_x = follow[:, :nv], follow[:, nv + nc : nv + nc + nx]
        holding = plain[nv : nv + nc, :nv]
        for level, weights in ((1, (0, 1)), (2, (1, 0))):
            rows = nv + np.flatnonzero(self.levels == level)
            if len(rows):
                change = self._derivative(place, *weights, 1, 1) - self._derivative(place, *weights, 0, 0)
                by_q[rows], by_x[rows] = change[rows, :nv], change[rows, nv + nc : nv + nc + nx]
        idle = [k for k in range(nc) if not (by_q[nv + k].any() or by_x[nv + k].any())]
        by_q[nv + np.array(idle, dtype=int)] = holding[idle]
        return Slopes(
            by_q=by_q, by_lam=plain[:, nv : nv + nc], by_x=by_x, by_y=plain[:, nv + nc + nx :], holding=holding
        )

    def _derivative(self, place: Place, *weights: float) -> Matrix:
        matrix = np.zeros((self.n, self.n))
        values = self.native.derivative(*self._point(place), *map(float, weights))
        np.add.at(matrix, (self.system.rows, self.system.cols), values)
        return matrix

    @property
    def kept(self) -> Indices:
        """All equations but those of constraints that are off or repeat others."""
        others = np.arange(self.nv + self.nc, self.n, dtype=np.intp)
        return np.concatenate([np.arange(self.nv, dtype=np.intp), self.nv + self.rows, others])

    def mass(self, place: Place) -> Matrix:
        """M, less what forces take from accelerations."""
        change = self._derivative(place, 1, 0, 0, 0) - self._derivative(place, 0, 0, 0, 0)
        return change[: self.nv, : self.nv]

    def following(self, slopes: Slopes) -> Matrix | None:
        """How states and variables change with the coordinates to keep their equations; None where they cannot."""
        others = slice(self.nv + self.nc, self.n)
        following, asked = np.hstack([slopes.by_x, slopes.by_y])[others], slopes.by_q[others]
        answer = np.linalg.lstsq(following, asked, rcond=None)[0]  # states that nothing moves stay as they are
        if np.abs(following @ answer - asked).max(initial=0.0) > FITS * np.abs(asked).max(initial=0.0):
            return None
        return np.asarray(answer)


def units(native: Any, lowered: Lowered) -> Vector:
    """What counts as much as a radian, of every coordinate."""
    return np.array([1.0 if c.unit == "rad" else native.length for c in lowered.model.coordinates])
