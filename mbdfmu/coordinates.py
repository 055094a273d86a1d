"""How symbols move with the coordinates and with time; must not know what the symbols stand for.

A planar or user-written coordinate is a symbol of its own. The orientation of a spatial body is a unit quaternion and
its rotation matrix R; both move with three coordinates theta, rotations about the body's axes, whose rates are the
angular velocity in body axes. Derivatives by theta are taken in the tangent space: dR = R [dtheta]x (T7.2).
"""

from __future__ import annotations

from collections.abc import Iterable

from mbdfmu.expressions import Graph, Node

Vector = tuple[Node, Node, Node]
Matrix = tuple[Vector, Vector, Vector]  # rows

ROTATIONS = ("theta_x", "theta_y", "theta_z")
QUATERNION = ("e0", "e1", "e2", "e3")
_NEXT = {"v": "a", "u": "ud", "x": "xd"}  # the space that holds the time derivative
SOLVED = frozenset({"a", "lam", "xd", "y"})  # the spaces of what the equations are solved for, which have no rate


class Coordinates:
    """The coordinates of one model in order, and what each of them moves."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names: list[str] = []
        self._order: dict[str, int] = {}
        self._moves: dict[Node, dict[str, Node]] = {}  # of every symbol: its derivative by each coordinate
        self._moved: dict[str, dict[Node, Node]] = {}  # the same by coordinates
        self._rates: dict[Node, Node] = {}  # of these symbols, as far as they have been asked for

    @property
    def pace(self) -> Node:
        """The rate of time: 1, or 0 where an analysis holds the time and with it all that time alone drives."""
        return self.graph.symbol("t", "pace")

    def add_scalar(self, name: str) -> Node:
        """A coordinate that is a symbol of its own."""
        self._append(name)
        symbol = self.graph.symbol("q", name)
        self._move(symbol, {name: self.graph.one})
        return symbol

    def _move(self, symbol: Node, by: dict[str, Node]) -> None:
        self._moves[symbol] = by
        for name, slope in by.items():
            self._moved.setdefault(name, {})[symbol] = slope

    def add_orientation(self, body: str) -> tuple[tuple[Node, Node, Node, Node], Matrix]:
        """The quaternion and rotation matrix (body axes to ground axes) of a spatial body."""
        symbol = self.graph.symbol
        for theta in ROTATIONS:
            self._append(f"{body}.{theta}")
        e0, e1, e2, e3 = e = tuple(symbol("q", f"{body}.{k}") for k in QUATERNION)
        half = ((-e1, e0, e3, -e2), (-e2, -e3, e0, e1), (-e3, e2, -e1, e0))  # 2 de/dtheta_k
        for m, component in enumerate(e):
            self._move(component, {f"{body}.{t}": 0.5 * half[k][m] for k, t in enumerate(ROTATIONS)})
        rows = [[symbol("r", f"{body}.r{i}{j}") for j in range(3)] for i in range(3)]
        for row in rows:
            for m in range(3):  # row . (e_k x e_m)
                ahead, behind = ROTATIONS[(m + 1) % 3], ROTATIONS[(m + 2) % 3]
                self._move(row[m], {f"{body}.{ahead}": -row[(m + 2) % 3], f"{body}.{behind}": row[(m + 1) % 3]})
        a, b, c = (tuple(row) for row in rows)
        return (e0, e1, e2, e3), (a, b, c)  # type: ignore[return-value]

    def _append(self, name: str) -> None:
        self._order[name] = len(self.names)
        self.names.append(name)

    def of(self, node: Node) -> list[str]:
        """The coordinates that a node depends on, in the order of the model."""
        touched = {name for symbol in node.support for name in self._moves.get(symbol, ())}
        return sorted(touched, key=self._order.__getitem__)

    def diff(self, node: Node, coordinate: str) -> Node:
        """The derivative of a node by a coordinate."""
        return self.graph.along(node, self._moved[coordinate], coordinate)

    def rate(self, node: Node, *, accelerations: bool = True) -> Node:
        """The time derivative of a node; `accelerations=False` leaves out what index 1 solves for: those and dX/dt."""
        symbols = sorted(node.support, key=lambda s: s.index)  # rates are made in the same order every time
        return self.graph.rate(node, {s: r for s in symbols if (r := self._rate(s, accelerations)) is not None})

    def _rate(self, symbol: Node, accelerations: bool) -> Node | None:
        space, name = symbol.value
        if symbol in self._moves:
            if symbol not in self._rates:
                moves = self._moves[symbol].items()
                self._rates[symbol] = self.graph.sum(d * self.graph.symbol("v", c) for c, d in moves)
            return self._rates[symbol]
        if space == "t":
            return self.pace if name == "time" else None
        if space in SOLVED:
            raise TypeError(f"{name!r} is an unknown of the equations, whose time derivative is not known")
        if space not in _NEXT or (space in ("v", "x") and not accelerations):
            return None
        return self.graph.symbol(_NEXT[space], name)

    def velocities(self, names: Iterable[str]) -> list[Node]:
        """The velocity symbols of coordinates."""
        return [self.graph.symbol("v", name) for name in names]
