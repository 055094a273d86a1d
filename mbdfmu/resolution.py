"""Names in expressions become nodes: what is defined, what waits for its definition, what may not be used where.

Findings are collected, so that a user sees all of them at once. This module must not know what is being named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from mbdfmu.errors import ExpressionError, did_you_mean
from mbdfmu.expressions import Curve, Graph, MarkerFunction, Node, Tree, build, names, parse, take_apart

# What an expression may depend on, by the spaces of its symbols.
PARAMETERS = frozenset({"p"})
TIME = PARAMETERS | {"t"}
POSITION = TIME | {"q", "r", "turn"}  # coordinates, the rotation matrices they move, the turns that angles have counted
PLACES = TIME | {"u"}  # of markers that forces act on
SPEED = POSITION | {"u", "x"}  # of motions that prescribe a velocity
ACCELERATION = SPEED | {"v"}
ANY = ACCELERATION | {"ud", "a", "lam", "xd", "y"}
_WORDS = {"p": "parameters", "t": "time", "q": "positions", "v": "velocities", "u": "inputs", "x": "states"}
DEEPEST = 40  # definitions that wait for each other


class _AlreadyReported(ExpressionError):
    """The name's own definition has been reported."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not defined", "", 0)


def _at_rest(function: MarkerFunction, markers: list[str]) -> Node:
    raise ExpressionError(f"must not depend on where markers are, found {function.name}({','.join(markers)})")


class Written(NamedTuple):
    """One expression of the user."""

    path: str
    text: str
    node: Node


class _Definition(NamedTuple):
    """What defines some names at once; `loops`: one of them asked for meanwhile becomes an unknown."""

    names: tuple[str, ...]
    run: Callable[[], None]
    loops: bool


class Names:
    """The names of one model; those that begin with a `lost` element have been reported as that."""

    def __init__(self, lost: frozenset[str] = frozenset(), curves: Mapping[str, Curve] | None = None) -> None:
        self.graph = Graph()
        self.written: list[Written] = []
        self.unknowns: dict[str, str] = {}  # names that depend on themselves, and how
        self.nodes: dict[str, Node] = {}
        self.curves = curves or {}  # what tables of the model are
        self.between: Callable[[MarkerFunction, list[str]], Node] = _at_rest  # until there are markers
        self.problems: list[str] = []
        self.unresolved = 0  # values that stand as zero
        self._lost = lost
        self._trees: dict[str, Tree] = {}
        self._pending: dict[str, _Definition] = {}
        self._defining: list[_Definition] = []
        self._undefined: set[str] = set()
        self.outputs: Collection[str] = ()  # of the model: computed last, so that no expression may use them

    def define(self, name: str, node: Node) -> None:
        """Give a name its meaning; the first one counts."""
        self.nodes.setdefault(name, node)

    def postpone(self, names: str | tuple[str, ...], definition: Callable[[], None], *, loops: bool = False) -> None:
        """Define names when the first of them is asked for, so that one may use another in any order.

        Where `loops` allows it, what depends on itself becomes an unknown of the model.
        """
        names = (names,) if isinstance(names, str) else names
        self._pending |= dict.fromkeys(names, _Definition(names, definition, loops))

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
        if any(name in waiting.names for waiting in self._defining):
            return self._looped(name)
        if name in self._undefined or _element(name) in self._lost:
            raise _AlreadyReported(name)
        if found := take_apart(name):
            return self._between(name, *found)
        raise ExpressionError(f"nothing is called {name!r}{self._hint(name)}")

    def _hint(self, name: str) -> str:
        """What may have been meant: a part of an array, an output, or a name that is spelled alike."""
        if name in self.outputs:
            return "; an output of that name is computed last and cannot be used, make it a variable (variables)"
        known = [*self.nodes, *self._pending]
        parts = [part for part in (f"{name}[1]", f"{name}.y", f"{name}.y[1]") if part in known]
        return f"; did you mean {parts[0]!r}?" if parts else did_you_mean(name, known)

    def _looped(self, name: str) -> Node:
        """A name that is asked for while it is being defined."""
        begin = next(k for k, waiting in enumerate(self._defining) if name in waiting.names)
        loop = self._defining[begin:]
        if not all(waiting.loops for waiting in loop):
            raise ExpressionError(f"{name!r} depends on itself: {_chain(loop, name)}")
        self.unknowns.setdefault(name, _chain(loop, name))
        return self.unknown(name)

    def unknown(self, name: str) -> Node:
        """The symbol of a name that is an unknown of the model."""
        return self.graph.symbol("y", name)

    def _between(self, name: str, function: MarkerFunction, markers: list[str]) -> Node:
        """A function of markers, which is defined when it is first asked for."""
        if any(_element(marker) in self._lost for marker in markers):
            raise _AlreadyReported(name)
        self.define(name, self.between(function, markers))
        return self.nodes[name]

    def curve(self, name: str) -> Curve:
        """The table of that name."""
        if name in self.curves:
            return self.curves[name]
        if _element(name) in self._lost:
            raise _AlreadyReported(name)
        known = ", ".join(self.curves) or "none"
        raise ExpressionError(f"no table is called {name!r}{did_you_mean(name, self.curves)}; known: {known}")

    def is_lost(self, name: str) -> bool:
        """Whether the element that a name begins with has been reported already."""
        return _element(name) in self._lost

    def _run(self, name: str) -> None:
        definition, before = self._pending[name], len(self.problems)
        for one in definition.names:
            del self._pending[one]
        self._defining.append(definition)
        definition.run()
        self._defining.pop()
        if len(self.problems) > before:
            self._undefined.update(definition.names)
            for one in definition.names:
                self.nodes.pop(one, None)

    def tree(self, text: str) -> Tree:
        """The parsed expression; each text is read once."""
        if text not in self._trees:
            self._trees[text] = parse(text)
        return self._trees[text]

    def value(
        self, path: str, value: float | str, allowed: frozenset[str], cure: str = "", *, seldom: bool = False
    ) -> Node:
        """The node of a number or expression; zero (and a finding) where it cannot be resolved.

        `cure` ends the finding that it depends on what is not allowed. What counts `seldom` need not be finite between.
        """
        if not isinstance(value, str):
            return self.graph.const(value)
        try:
            tree = self.tree(value)
            node = build(tree, self.graph, self.resolve, self.curve)
            self._check_spaces(tree, allowed, cure)
            if not seldom:
                self.written.append(Written(path, value, node))
            return node
        except ExpressionError as error:
            self.report(path, error)
            return self.graph.zero

    def report(self, path: str, error: ExpressionError) -> None:
        """Keep a finding, unless it follows from one that is kept already."""
        self.unresolved += 1
        problem = f"{path}: {error}"
        if not isinstance(error, _AlreadyReported) and problem not in self.problems:
            self.problems.append(problem)

    def _check_spaces(self, tree: Tree, allowed: frozenset[str], cure: str) -> None:
        for name, position in names(tree):
            node = self.nodes.get(name, self.graph.zero)  # what depends on itself has none yet
            if any(symbol.value[0] not in allowed for symbol in node.support):
                words = ", ".join(word for key, word in _WORDS.items() if key in allowed)
                raise ExpressionError(f"may depend on {words} only, found {name!r}{cure}", tree.text, position)

    def point(self, path: str, point: Iterable[float | str], allowed: frozenset[str]) -> tuple[Node, ...]:
        """The nodes of the components of a point or direction."""
        return tuple(self.value(f"{path}[{k}]", component, allowed) for k, component in enumerate(point))


def _chain(loop: list[_Definition], name: str) -> str:
    """`a -> b -> a`"""
    return " -> ".join([name, *(waiting.names[0] for waiting in loop[1:]), name])


def _element(name: str) -> str:
    """`crank` of `crank.phi`, of `crank[1]` and of `der(crank,2)`."""
    return re.split(r"[.,)[]", name.removeprefix("der("), maxsplit=1)[0]
