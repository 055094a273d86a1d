"""Signals of positions as equations that coordinates have to meet; must not know what values they shall have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import Vector
from mbdfmu.coordinates import QUATERNION
from mbdfmu.expressions import Node, evaluate, postorder
from mbdfmu.lowering import Lowered
from mbdfmu.signals import SymbolicModel

POSITIONS = frozenset({"q", "r", "turn", "p", "t"})  # the spaces that positions consist of


class Given:
    """Signals c(q, t), how coordinates move them, and how they move by themselves."""

    def __init__(self, native: Any, lowered: Lowered, names: Sequence[str]) -> None:
        model = lowered.model
        self.names = list(names)
        self.sizes = np.array([size_of(model.signals[name].unit, native.length) for name in names])
        self._point = _Point(native, lowered)
        self._order, self._motion = lowered.coordinates, model.motion
        self._nodes = [model.signals[name].node for name in names]
        self._values = _Formulas(self._nodes)

    # What many motions do not need, and spatial signals have at a price.

    @cached_property
    def _slopes(self) -> tuple[list[int], list[int], _Formulas]:
        of, diff = self._motion.of, self._motion.diff
        found = [(k, c, diff(node, c)) for k, node in enumerate(self._nodes) for c in of(node)]
        return [k for k, _, _ in found], [self._order[c] for _, c, _ in found], _Formulas(s for _, _, s in found)

    @cached_property
    def _rates(self) -> _Formulas:
        return _Formulas(map(self._motion.rate, self._nodes))

    @cached_property
    def _seconds(self) -> _Formulas:
        return _Formulas(self._motion.rate(self._motion.rate(node)) for node in self._nodes)

    def values(self, t: float, q: Vector) -> Vector:
        """c(q, t)."""
        return self._values.at(self._point.moved(t, q))

    def gradient(self, t: float, q: Vector) -> NDArray[np.float64]:
        """dc/dq, in the tangent space of orientations."""
        rows, columns, slopes = self._slopes
        matrix = np.zeros((len(self.names), len(self._order)))
        matrix[rows, columns] = slopes.at(self._point.moved(t, q))
        return matrix

    def rates(self, t: float, q: Vector) -> Vector:
        """What of dc/dt comes from time alone."""
        return self._rates.at(self._point.moved(t, q))

    def seconds(self, t: float, q: Vector, v: Vector) -> Vector:
        """The second derivative of c without accelerations."""
        return self._seconds.at(self._point.moved(t, q, v))


class _Formulas:
    """Nodes that are evaluated many times."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = list(nodes)
        self._order = postorder(self._nodes)
        self._symbols = sorted({s for node in self._nodes for s in node.support}, key=lambda s: s.index)

    def at(self, value: Callable[[str, str], float]) -> Vector:
        """The values where a symbol has `value(space, name)`."""
        values = {symbol: value(*symbol.value) for symbol in self._symbols}
        return np.array([float(x) for x in evaluate(self._nodes, values, self._order)])


class _Point:
    """The values of symbols where a simulation stands, but for time, positions and velocities that are moved."""

    def __init__(self, native: Any, lowered: Lowered) -> None:
        self._native = native
        self._parameters = dict(zip(lowered.signals, native.signals().tolist(), strict=True))
        self._places = _places(lowered.model)
        self._velocities = lowered.coordinates
        self._windings = {w.name: k for k, w in enumerate(lowered.model.windings)}

    def moved(self, t: float, q: Vector, v: Vector | None = None) -> Callable[[str, str], float]:
        """What a symbol is there; velocities that are not given, and accelerations, are zero."""
        readers: dict[str, Callable[[str], float]] = {
            "t": lambda name: t if name == "time" else 1.0,
            "p": lambda name: self._parameters[name],
            "q": lambda name: float(q[self._places[name]]),
            "r": lambda name: self._rotation(q, name),
            "turn": lambda name: float(self._native.save().turns[self._windings[name]]),
            "v": lambda name: 0.0 if v is None else float(v[self._velocities[name]]),
            "a": lambda name: 0.0,
        }
        return lambda space, name: readers[space](name)

    def _rotation(self, q: Vector, name: str) -> float:
        body, _, entry = name.rpartition(".r")
        first = self._places[f"{body}.{QUATERNION[0]}"]
        return _rotation(q[first : first + 4].tolist(), int(entry[0]), int(entry[1]))


def _places(model: SymbolicModel) -> dict[str, int]:
    """Where in q the symbols of positions stand."""
    spatial = model.bodies if model.dimensions == 3 else []
    names = [*model.motion.names, *(f"{body.name}.{e}" for body in spatial for e in QUATERNION)]
    return {name: k for k, name in enumerate(names)}


def _rotation(e: list[float], i: int, j: int) -> float:
    """An entry of the rotation matrix of a unit quaternion."""
    e0, u = e[0], e[1:]
    if i == j:
        return 2 * (e0 * e0 + u[i] * u[i]) - 1
    sign = 1.0 if (j - i) % 3 == 2 else -1.0
    return 2 * (u[i] * u[j] + sign * e0 * u[3 - i - j])


def size_of(unit: str, length: float) -> float:
    """What counts as much as a radian."""
    return length if unit.startswith("m") else 1.0
