"""A motion given over time: positions, and the rates that its table has or that splines give (T18.8).

It must not know forces, nor whether the joints admit the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.closure import listed
from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.equilibrium import position_names
from mbdfmu.analyses.given_signals import POSITIONS
from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.expressions import Node
from mbdfmu.signals import SymbolicModel
from mbdfmu.tabular import Table, differ, unknown

Matrix = NDArray[np.float64]
SPLINES = {"quintic": 5, "cubic": 3}  # by the degree of their pieces


@dataclass(frozen=True, kw_only=True)
class GivenMotion:
    """Rows over time; what is None is not in the table and follows from the rest."""

    time: Vector
    signals: Sequence[str]  # whose positions are given
    values: Matrix  # of these, with rates and second derivatives
    rates: Matrix
    seconds: Matrix
    positions: Matrix | None  # q, where all are in the table
    velocities: Matrix | None
    accelerations: Matrix | None
    states: Matrix
    turns: Matrix | None
    inputs: dict[str, Vector]
    notes: tuple[str, ...] = ()


class MotionReader:
    """Finds in a table what says how a model moves."""

    def __init__(self, model: SymbolicModel, table: Table, spline: str) -> None:
        if spline not in SPLINES:
            raise ModelError(f"spline must be one of {', '.join(SPLINES)}, found {spline!r}")
        self.model, self.table, self.spline = model, table, spline
        self.splined: list[str] = []
        self._columns = {name: np.asarray(values) for name, values in table.columns.items() if name in model.signals}
        self._named: dict[Node, str] = {}  # the first column of every signal that is there
        for name in self._columns:
            self._named.setdefault(model.signals[name].node, name)
        if not len(table.time):
            raise ModelError("the motion has no rows; give at least one time")

    # ---------------------------------------------------------------- what is there

    def candidates(self) -> list[list[str]]:
        """Columns that may say where the model is, the best first: coordinates, then all signals of positions."""
        coordinates = [name for name in position_names(self.model) if name in self._columns]
        others = [name for node, name in self._named.items() if _spaces(node) <= POSITIONS and _moves(node)]
        return [coordinates, list(dict.fromkeys([*coordinates, *others]))]

    @property
    def complete(self) -> bool:
        """Whether all positions are there."""
        return all(name in self._columns for name in position_names(self.model) if name)

    def chosen(self, names: Iterable[str]) -> list[str]:
        """The names given by the user, checked."""
        problems, found = [], list(dict.fromkeys(names))
        for name in found:
            if name not in self.model.signals:
                problems.append(f"coordinates: {unknown('signal', name, self.model.signals)}")
            elif name not in self.table.columns:
                problems.append(f"coordinates: the motion has no column '{name}'; {self._there()}")
            elif not _spaces(self.model.signals[name].node) <= POSITIONS:
                problems.append(f"coordinates: '{name}' is no position; give what depends on positions only")
        if problems:
            raise ModelError(problems)
        return found

    def _there(self) -> str:
        return f"its columns: {listed(list(self.table.columns)) or 'none'}"

    def strangers(self) -> str:
        """Columns that are no signals of the model, as a hint."""
        strange = [name for name in self.table.columns if name not in self.model.signals]
        if not strange:
            return ""
        hint = did_you_mean(strange[0], self.model.signals)
        return f"; no signals of the model: {listed(strange)}{hint}"

    # ---------------------------------------------------------------- reading

    def read(self, signals: Sequence[str], *, whole: bool) -> GivenMotion:
        """The motion by these signals; `whole`: with positions, velocities and accelerations of the table itself."""
        velocities = self._whole(c.rate for c in self.model.coordinates) if whole else None
        accelerations = self._whole(self._acceleration_names()) if whole and velocities is not None else None
        if velocities is not None and accelerations is None:
            rates = [c.rate for c in self.model.coordinates]
            accelerations = self._filled(rates, lambda name: self._derivative(name, 1))
        if accelerations is None:
            triples = [self._with_rates(name) for name in signals]
        else:  # then nobody asks for the rates of the signals
            triples = [(self._column(name), self._nothing(), self._nothing()) for name in signals]
        values, rates_, seconds = (
            np.column_stack([t[k] for t in triples]) if triples else np.zeros((len(self.table.time), 0))
            for k in range(3)
        )
        return GivenMotion(
            time=self.table.time,
            signals=signals,
            values=values,
            rates=rates_,
            seconds=seconds,
            positions=self._positions() if whole else None,
            velocities=velocities,
            accelerations=accelerations,
            states=self._states(),
            turns=self._whole(w.name for w in self.model.windings),
            inputs={s.name: self._column(s.name) for s in self.model.inputs if s.name in self._columns},
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.splined:
            yield f"rates of {listed(list(dict.fromkeys(self.splined)))} come from {self.spline} splines"

    def _nothing(self) -> Vector:
        return np.zeros(len(self.table.time))

    def _acceleration_names(self) -> list[str]:
        symbols = {s.node.value[1]: name for name, s in self.model.signals.items() if _is_symbol(s.node, "a")}
        return [symbols.get(name, "") for name in self.model.motion.names]

    def _whole(self, names: Iterable[str]) -> Matrix | None:
        """All these columns, or None where one is missing."""
        names = list(names)
        if not all(name in self._columns for name in names):
            return None
        return self._filled(names, self._column)

    def _filled(self, names: Sequence[str], column: Callable[[str], Vector]) -> Matrix:
        return np.column_stack([column(name) for name in names]) if names else np.zeros((len(self.table.time), 0))

    def _positions(self) -> Matrix | None:
        """q of every row; rotations of spatial bodies stand in their quaternions."""
        if not self.complete:
            return None
        return self._filled(position_names(self.model), lambda name: self._column(name) if name else self._nothing())

    def _states(self) -> Matrix:
        missing = [s.label for s in self.model.states if s.name not in self._columns]
        if missing:
            raise ModelError(
                f"the motion has no column for {listed(missing)}, on which forces may depend; record differential "
                "states together with the motion"
            )
        return self._filled([s.name for s in self.model.states], self._column)

    def _column(self, name: str) -> Vector:
        """The values of a column, in the model's unit and finite."""
        values, unit, wanted = self._columns[name], self.table.unit(name), self.model.signals[name].unit
        if differ(unit, wanted):
            raise ModelError(f"the motion has '{name}' in '{unit}', the model in '{wanted}'; convert the numbers")
        wild = np.flatnonzero(~np.isfinite(values))
        if len(wild):
            raise ModelError(
                f"the motion's column '{name}' holds {values[wild[0]]} at t = {self.table.time[wild[0]]:g} s; "
                "give finite numbers, or leave these rows out"
            )
        return self._continuous(name, values)

    def _continuous(self, name: str, values: Vector) -> Vector:
        """A quaternion and its negative are one orientation: the sign that follows on."""
        body, _, part = name.rpartition(".")
        parts = [f"{body}.{e}" for e in QUATERNION]
        if part not in QUATERNION or not all(p in self._columns for p in parts):
            return values
        e = np.column_stack([self._columns[p] for p in parts])
        flips = np.where((e[1:] * e[:-1]).sum(axis=1) < 0, -1.0, 1.0)
        return np.asarray(values * np.concatenate([[1.0], np.cumprod(flips)]))

    # ---------------------------------------------------------------- rates

    def _with_rates(self, name: str) -> tuple[Vector, Vector, Vector]:
        """A signal with its first and second derivative: columns where they are there, else splines."""
        rate = self.model.motion.rate(self.model.signals[name].node)
        second = self.model.motion.rate(rate)
        values, found = self._column(name), self._named.get(rate)
        rates = self._column(found) if found else self._derivative(name, 1)
        if further := self._named.get(second):
            return values, rates, self._column(further)
        return values, rates, self._derivative(found, 1) if found else self._derivative(name, 2)

    def _derivative(self, name: str, order: int) -> Vector:
        from scipy.interpolate import make_interp_spline

        degree, time = SPLINES[self.spline], self.table.time
        if len(time) <= degree:
            raise ModelError(
                f"a {self.spline} spline of '{name}' needs {degree + 1} points, found {len(time)}; give more, or the "
                "velocities and accelerations too"
            )
        again = np.flatnonzero(np.diff(time) == 0)
        if len(again):
            raise ModelError(
                f"the motion has t = {time[again[0]]:g} s twice, a jump that no spline of '{name}' follows; give "
                "velocities and accelerations too, or the pieces on their own"
            )
        self.splined.append(name)
        return np.asarray(make_interp_spline(time, self._column(name), k=degree)(time, order))


def _spaces(node: Node) -> set[str]:
    return {symbol.value[0] for symbol in node.support}


def _moves(node: Node) -> bool:
    return bool(_spaces(node) & {"q", "r"})


def _is_symbol(node: Node, space: str) -> bool:
    return isinstance(node.value, tuple) and node.value[0] == space
