"""Inputs over time as pieces of straight lines, from tables or functions; must not know files or the solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.tabular import Table

INTERPOLATIONS = ("linear", "hold")
Function = Callable[[float], Mapping[str, float]]


@dataclass(frozen=True)
class _Curve:
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    hold: bool

    def jumps(self) -> list[float]:
        """Times at which the value jumps."""
        change = np.diff(self.values) != 0
        return [float(t) for t in self.times[1:][change if self.hold else change & (np.diff(self.times) == 0)]]

    def has_slopes(self) -> bool:
        """Whether it changes between times at which it jumps."""
        return not self.hold and bool(np.any((np.diff(self.values) != 0) & (np.diff(self.times) > 0)))

    def piece(self, t: float) -> tuple[float, float]:
        """Value and slope from t on (after a jump at t)."""
        k = int(np.searchsorted(self.times, t, side="right")) - 1
        if k < 0 or k + 1 == len(self.times):
            return float(self.values[max(k, 0)]), 0.0
        if self.hold:
            return float(self.values[k]), 0.0
        slope = (self.values[k + 1] - self.values[k]) / (self.times[k + 1] - self.times[k])
        return float(self.values[k] + slope * (t - self.times[k])), float(slope)


@dataclass(frozen=True)
class InputSchedule:
    """What every input does over time; `at(t, t_next)` gives value and slope of each for the interval that begins."""

    curves: Mapping[str, _Curve]
    function: Function | None = None

    @classmethod
    def make(
        cls, inputs: Any, known: Iterable[str], interpolation: str = "linear", held: Iterable[str] = ()
    ) -> InputSchedule:
        """From None, a table or mapping name -> (times, values), or a function t -> {name: value}.

        Inputs in `held` keep each value until the next time, whatever the interpolation.
        """
        if interpolation not in INTERPOLATIONS:
            raise ModelError(f"interpolation must be one of {', '.join(INTERPOLATIONS)}, found {interpolation!r}")
        names = list(known)
        if inputs is None:
            return cls({})
        if isinstance(inputs, Table):
            inputs = {name: (inputs.time, inputs[name]) for name in inputs.columns}
        if callable(inputs):
            return cls({}, _checked_function(inputs, names))
        if not isinstance(inputs, Mapping):
            raise ModelError(
                f"inputs must be a file, a mapping name -> (times, values) or a function, found {type(inputs).__name__}"
            )
        _check_names(inputs, names)
        steps = set(inputs if interpolation == "hold" else held)
        return cls({name: _curve(name, pair, name in steps) for name, pair in inputs.items()})

    def knots(self) -> NDArray[np.float64]:
        """Times at which some input changes its slope or jumps."""
        return np.unique(np.concatenate([c.times for c in self.curves.values()])) if self.curves else np.array([])

    def jumps(self, t: float) -> bool:
        """Whether some input jumps at t."""
        return t in self._jumps

    @cached_property
    def _jumps(self) -> frozenset[float]:
        """Times given twice with two values, and changes of an input that is held."""
        return frozenset(t for c in self.curves.values() for t in c.jumps())

    @cached_property
    def has_slopes(self) -> bool:
        """Whether some input may change between its jumps."""
        return self.function is not None or any(curve.has_slopes() for curve in self.curves.values())

    def first(self) -> dict[str, float]:
        """The values at t = 0."""
        if self.function is not None:
            return dict(self.function(0.0))
        return {name: curve.piece(0.0)[0] for name, curve in self.curves.items()}

    def at(self, t: float, t_next: float) -> dict[str, tuple[float, float]]:
        """Value and slope of every input over [t, t_next]."""
        if self.function is not None:
            now, then = self.function(t), self.function(t_next)
            if now.keys() != then.keys():
                before, after = (", ".join(names) or "nothing" for names in (now, then))
                raise ModelError(
                    f"the input function gives {before} at t = {t:g} s and {after} at {t_next:g} s; "
                    "give the same inputs at all times"
                )
            return {name: (value, (then[name] - value) / (t_next - t)) for name, value in now.items()}
        return {name: curve.piece(t) for name, curve in self.curves.items()}

    def over(self, times: NDArray[np.float64]) -> Table:
        """The inputs from the first to the last of these times as lines between rows, two rows where one jumps."""
        begin, end = float(times[0]), float(times[-1])
        inside = times if self.function is not None else self.knots()
        points = np.union1d([begin, end], inside[(inside > begin) & (inside < end)])
        rows: list[tuple[float, dict[str, float]]] = []
        for t, t_next in pairwise(points.tolist()):
            pieces = self.at(t, t_next)
            rows.append((t, {name: value for name, (value, _) in pieces.items()}))
            rows.append((t_next, {name: value + slope * (t_next - t) for name, (value, slope) in pieces.items()}))
        rows = [row for k, row in enumerate(rows) if k == 0 or k % 2 or not _continues(rows[k - 1][1], row[1])]
        return Table(np.array([t for t, _ in rows]), {n: np.array([v[n] for _, v in rows]) for n in rows[0][1]})


def _continues(before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    """Whether nothing jumps beyond the rounding of a line's end."""
    return all(math.isclose(before[name], value, rel_tol=1e-12, abs_tol=1e-15) for name, value in after.items())


def _check_names(given: Iterable[str], known: list[str]) -> None:
    problems = [f"the model has no input {name!r}{did_you_mean(name, known)}; known: {', '.join(known) or 'none'}"
                for name in given if name not in known]  # fmt: skip
    if problems:
        raise ModelError(problems)


def _checked_function(function: Function, known: list[str]) -> Function:
    def checked(t: float) -> Mapping[str, float]:
        try:
            values = function(t)
        except Exception as error:
            raise ModelError(f"the input function raised {type(error).__name__} at t = {t:g} s: {error}") from error
        if not isinstance(values, Mapping):
            raise ModelError(f"the input function must return a mapping name -> value, found {type(values).__name__}")
        _check_names(values, known)
        for name, value in values.items():
            if not (isinstance(value, Real) and math.isfinite(value)):
                raise ModelError(
                    f"the input function gives {value!r} for '{name}' at t = {t:g} s; it must be a finite number"
                )
        return {name: float(value) for name, value in values.items()}

    return checked


def _curve(name: str, pair: Any, hold: bool) -> _Curve:
    try:
        times, values = (np.asarray(column, dtype=float) for column in pair)
    except (TypeError, ValueError):
        raise ModelError(f"input {name!r} must be a pair (times, values) of numbers") from None
    if times.ndim != 1 or times.shape != values.shape or times.size == 0:
        raise ModelError(
            f"input {name!r}: times and values must be lists of one length, found {times.shape} and {values.shape}"
        )
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise ModelError(f"input {name!r} holds a number that is not finite")
    if (np.diff(times) < 0).any():
        raise ModelError(
            f"input {name!r}: times must not decrease, found {times[np.argmin(np.diff(times)) + 1]:g} s again"
        )
    return _Curve(times, values, hold)
