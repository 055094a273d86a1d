"""Names in expressions become nodes: what is defined, what waits for its definition, what may not be used where.

Findings are collected, so that a user sees all of them at once. This module must not know what is being named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from mbdfmu.errors import ExpressionError, did_you_mean
from mbdfmu.expressions import Graph, Node, Tree, build, names, parse

# What an expression may depend on, by the spaces of its symbols.
PARAMETERS = frozenset({"p"})
TIME = PARAMETERS | {"t"}
POSITION = TIME | {"q", "r", "turn"}  # coordinates, the rotation matrices they move, the turns that angles have counted
PLACES = TIME | {"u"}  # of markers that forces act on
SPEED = POSITION | {"u", "x"}  # of motions that prescribe a velocity
ACCELERATION = SPEED | {"v"}
ANY = ACCELERATION | {"ud", "a", "lam", "xd"}
_WORDS = {"p": "parameters", "t": "time", "q": "positions", "v": "velocities", "u": "inputs"}
DEEPEST = 40  # definitions that wait for each other


class _AlreadyReported(ExpressionError):
    """The name's own definition has been reported."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not defined", "", 0)


class Names:
    """The names of one model; those that begin with a `lost` element have been reported as that."""

    def __init__(self, lost: frozenset[str] = frozenset()) -> None:
        self.graph = Graph()
        self.nodes: dict[str, Node] = {}
        self.problems: list[str] = []
        self.unresolved = 0  # values that stand as zero
        self._lost = lost
        self._pending: dict[str, Callable[[], None]] = {}
        self._defining: list[str] = []
        self._undefined: set[str] = set()

    def define(self, name: str, node: Node) -> None:
        """Give a name its meaning; the first one counts."""
        self.nodes.setdefault(name, node)

    def postpone(self, name: str, definition: Callable[[], None]) -> None:
        """Define a name when it is first asked for, so that one may use another in any order."""
        self._pending[name] = definition

    def settle(self) -> None:
        """Define whatever still waits."""
        while self._pending:
            self._run(next(iter(self._pending)))

    def resolve(self, name: str) -> Node:
        """The node of a name."""
        if name in self._pending:
            if len(self._defining) >= DEEPEST:
                raise ExpressionError(f"{name!r} waits for more than {DEEPEST} others; define what is used first")
            self._run(name)
        if name in self.nodes:
            return self.nodes[name]
        if name in self._defining:
            raise ExpressionError(f"{name!r} depends on itself: {' -> '.join([*self._defining, name])}")
        if name in self._undefined or _element(name) in self._lost:
            raise _AlreadyReported(name)
        raise ExpressionError(f"nothing is called {name!r}{did_you_mean(name, [*self.nodes, *self._pending])}")

    def _run(self, name: str) -> None:
        definition, before = self._pending.pop(name), len(self.problems)
        self._defining.append(name)
        definition()
        self._defining.pop()
        if len(self.problems) > before:
            self._undefined.add(name)
            self.nodes.pop(name, None)

    def value(self, path: str, value: float | str, allowed: frozenset[str], cure: str = "") -> Node:
        """The node of a number or expression; zero (and a finding) where it cannot be resolved.

        `cure` ends the finding that it depends on what is not allowed.
        """
        if not isinstance(value, str):
            return self.graph.const(value)
        try:
            tree = parse(value)
            node = build(tree, self.graph, self.resolve)
            self._check_spaces(tree, allowed, cure)
            return node
        except ExpressionError as error:
            self.unresolved += 1
            problem = f"{path}: {error}"
            if not isinstance(error, _AlreadyReported) and problem not in self.problems:
                self.problems.append(problem)
            return self.graph.zero

    def _check_spaces(self, tree: Tree, allowed: frozenset[str], cure: str) -> None:
        for name, position in names(tree):
            if any(symbol.value[0] not in allowed for symbol in self.nodes[name].support):
                words = ", ".join(word for key, word in _WORDS.items() if key in allowed)
                raise ExpressionError(f"may depend on {words} only, found {name!r}{cure}", tree.text, position)

    def point(self, path: str, point: Iterable[float | str], allowed: frozenset[str]) -> tuple[Node, ...]:
        """The nodes of the components of a point or direction."""
        return tuple(self.value(f"{path}[{k}]", component, allowed) for k, component in enumerate(point))


def _element(name: str) -> str:
    """`crank` of `crank.phi`, of `crank[1]` and of `der(crank,2)`."""
    return re.split(r"[.,)[]", name.removeprefix("der("), maxsplit=1)[0]
