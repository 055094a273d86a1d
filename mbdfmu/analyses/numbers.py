"""Values of symbolic expressions at one point of a simulation; must not know what is asked, nor how time is stepped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mbdfmu.analyses.compiled import Vector
from mbdfmu.calling import Called
from mbdfmu.expressions import Node, evaluate
from mbdfmu.lowering import Lowered


class Numbers:
    """What all symbols are at a point; `spaces` holds the numbers of q, v, a, lam, x, xd, y, u, ud, p, turn and t.

    Those of t are the time and its pace. Functions in Python are called where an expression asks for one.
    """

    def __init__(self, lowered: Lowered, functions: Sequence[Called], spaces: Mapping[str, Vector]) -> None:
        self._lowered, self._functions = lowered, functions
        self._spaces = {**spaces, "r": _rotations(spaces["q"], len(lowered.coordinates))}
        self._known: dict[Node, Any] = {}

    def of(self, nodes: Iterable[Node]) -> Vector:
        """The values of expressions; not finite where one is not defined."""
        nodes = list(nodes)
        values = {symbol: self._value(symbol) for node in nodes for symbol in node.support}
        return np.array([float(value) for value in evaluate(nodes, values)])

    def _value(self, symbol: Node) -> float:
        if symbol not in self._known:
            space, name = symbol.value
            if space == "t":
                self._known[symbol] = self._spaces["t"][int(name == "pace")]
            else:
                numbers = self._outside if space == "ext" else self._spaces[space]
                self._known[symbol] = float(numbers[self._lowered.places[space][name]])
        return float(self._known[symbol])

    @cached_property
    def _outside(self) -> Vector:
        """Values of functions in Python, each followed by its derivatives."""
        found: list[float] = []
        time = float(self._spaces["t"][0])
        for function, call in zip(self._lowered.model.functions, self._functions, strict=True):
            values, slopes = call(time, self.of(function.inputs), self.of(function.parameters), True)
            found += [*values, *slopes]
        return np.array(found)


def _rotations(q: Vector, nv: int) -> Vector:
    """Rotation matrices of the spatial bodies, row by row."""
    e0, e1, e2, e3 = q[nv:].reshape(-1, 4).T
    rows = [
        [e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
        [2 * (e1 * e2 + e0 * e3), e0 * e0 - e1 * e1 + e2 * e2 - e3 * e3, 2 * (e2 * e3 - e0 * e1)],
        [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3],
    ]
    return np.array(rows).transpose(2, 0, 1).reshape(-1)


def at_state(native: Any, lowered: Lowered, functions: Sequence[Called], pace: float = 1.0) -> Numbers:
    """What all symbols are where a simulation is, with what it reports."""
    s = native.save()
    u = s.u + s.udot * (s.t - s.t_input)
    spaces = {
        "t": np.array([s.t, pace]), "q": s.q, "v": native.v, "a": native.a, "lam": native.lam, "x": s.x,
        "xd": native.xdot, "y": native.y, "u": u, "ud": s.udot, "p": s.parameters, "turn": s.turns,
    }  # fmt: skip
    return Numbers(lowered, functions, spaces)
