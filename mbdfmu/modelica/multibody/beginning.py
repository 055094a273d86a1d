"""Start values of the joints' coordinates as expressions; must not know Modelica's text.

They follow from the model's own expressions, so that they change with parameters, unless assembly has moved the model.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from mbdfmu import spatial
from mbdfmu.coordinates import QUATERNION, Matrix, Vector
from mbdfmu.expressions import Node, atan2, evaluate, sqrt
from mbdfmu.frames import Resolve
from mbdfmu.modelica.balances import is_rotation, rotation_matrix
from mbdfmu.modelica.start import Start
from mbdfmu.signals import SymbolicModel
from mbdfmu.vectors import turned

_MET = 1e-6  # of a start that is said, where assembly has moved the model there
TURN = "turn "  # begins the keys of the three coordinates of what turns freely
_NEARLY_LOCKED = 0.3  # the cosine of the middle angle below which the other sequence is better: its own is larger then


class Turn(NamedTuple):
    """Three angles about axes 1 to 3, and the angular velocity in the axes that they are seen from, at any time.

    They are the coordinates of what turns freely, the last one about the axis of its spin. Rejected: quaternions, whose
    four components need states that are selected anew while they turn; rumoca stops where the fixed choice ends.
    """

    sequence: tuple[int, int, int]
    angles: list[Node]
    spin: list[Node]


class Beginning:
    """What every coordinate starts from; coordinates of `dependent`, and their `rates`, follow from the others."""

    def __init__(
        self, model: SymbolicModel, start: Start, dependent: Collection[tuple[str, str]] = (),
        rates: Collection[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        self._m, self._dependent, self._rates = model, dependent, rates
        self.given = dict(_given(model, start))
        self._numbers = {s.node: start.values[s.name] for s in model.parameters}

    def is_fixed(self, owner: str, key: str, *, rate: bool) -> bool:
        """Whether the coordinate of a joint (or of `BODY free`), or its rate, starts exactly there."""
        return (owner, key) not in (self._rates if rate else self._dependent)

    def is_met(self, said: Node, found: Node) -> bool:
        """Whether a node begins where it is said to."""
        said_at, found_at = (float(x) for x in evaluate([said, self(found)], self._numbers))
        return abs(said_at - found_at) <= _MET * max(1.0, abs(said_at))

    def __call__(self, node: Node) -> Node:
        """A node at the start."""
        found = {s: self.given[s] for s in node.support if s in self.given}
        return self._m.graph.substitute([node], found)[0]

    def turned(self, body: str) -> Turn:
        """The orientation of a body."""
        symbol = self._m.graph.symbol
        a, b, c = (tuple(symbol("r", f"{body}.r{i}{j}") for j in range(3)) for i in range(3))
        axes: Matrix = (a, b, c)  # type: ignore[assignment]
        x, y, z = (symbol("v", f"{body}.theta_{k}") for k in "xyz")
        return self._turn(axes, (x, y, z), turned(axes, (x, y, z)))

    def between(self, joint: str) -> Turn:
        """The orientation of j in i."""
        i, j = self._m.joined[joint].ends
        spin: Vector = spatial.relative_spin(i, j, cast(Resolve, self._m))
        return self._turn(spatial.relative_rotation(i, j), j.components(spin), i.components(spin))

    def _turn(self, axes: Matrix, own: Vector, seen: Vector) -> Turn:
        speeds = [abs(float(w)) for w in evaluate(list(map(self, own)), self._numbers)]
        last = int(np.argmax(speeds)) if max(speeds) else 2
        a, b, c = (last + 1) % 3, (last + 2) % 3, last
        if evaluate([self(_level(axes, a, b))], self._numbers)[0] < _NEARLY_LOCKED:
            a, b = b, a
        return Turn((a + 1, b + 1, c + 1), _angles(axes, a, b, c), list(seen))


def _angles(r: Matrix, a: int, b: int, c: int) -> list[Node]:
    """Of turns about the axes a, b, c in turn."""
    sign = 1.0 if (a + 1) % 3 == b else -1.0
    middle = atan2(sign * r[a][c], _level(r, a, b))
    return [atan2(-sign * r[b][c], r[c][c]), middle, atan2(-sign * r[a][b], r[a][a])]


def _level(r: Matrix, a: int, b: int) -> Node:
    """The cosine of the middle angle, up to its sign."""
    return sqrt(r[a][a] * r[a][a] + r[a][b] * r[a][b])


def _given(model: SymbolicModel, start: Start) -> dict[Node, Node]:
    """The symbols of coordinates, velocities and counted turns at the start."""
    symbol, const = model.graph.symbol, model.graph.const
    found: dict[Node, Node] = {}
    for c, place, speed in zip(model.coordinates, model.position_starts, model.velocity_starts, strict=True):
        if not is_rotation(c):
            found[symbol("q", c.name)] = place
        found[symbol("v", c.name)] = speed
    bodies = model.bodies if model.dimensions == 3 else []
    turns = [symbol("q", f"{b.name}.{e}") for b in bodies for e in QUATERNION]
    found |= dict(zip(turns, model.orientation_starts, strict=True))
    found |= {symbol("turn", w.name): w.start for w in model.windings}
    for space in {s.value[0] for s in start.moved}:  # angles of joints are those of all bodies' places together
        for s in model.signals.values():
            if s.node.support == {s.node} and s.node.value[0] == space:
                found[s.node] = const(start.values[s.name])
        names = [w.name for w in model.windings if space == "q" and w.name in start.values]
        found |= {symbol("turn", name): const(start.values[name]) for name in names}
    found[symbol("t", "time")] = model.graph.zero
    found[model.motion.pace] = model.graph.one
    if model.dimensions == 3:
        for body in model.bodies:
            own = {e: found[e] for e in map(partial(symbol, "q"), (f"{body.name}.{k}" for k in QUATERNION))}
            matrix = rotation_matrix(model, body.name)
            found |= dict(zip(matrix, model.graph.substitute(list(matrix.values()), own), strict=True))
    return found


