"""The interned graph of symbolic expressions and its exact derivatives; must not know text, models or native code.

Nothing here recurses: graphs of derived equations are deeper than any call stack.
Nodes are compared by identity; whoever iterates over a `support` and wants the same order every time sorts by `index`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from mbdfmu.expressions.curves import Curve
from mbdfmu.expressions.opcodes import ADD, BY_CODE, CONST, DIV, EXACT, LOAD, LOOKUP, MUL, NEG, POW, SUB
from mbdfmu.expressions.simplify import RULES

Operand: TypeAlias = "Node | float"  # what arithmetic takes: numbers become constants
Operator = Callable[["Node", Operand], "Node"]
_EMPTY: frozenset[Node] = frozenset()
_EVALUATE = {code: row.evaluate for code, row in BY_CODE.items()}
_TANGENT = {code: row.tangent for code, row in BY_CODE.items()}
_COMMUTES = frozenset(code for code, row in BY_CODE.items() if row.commutative)


def _operator(op: int, swapped: bool = False) -> Operator:
    """Make the method of a binary operator; numbers are promoted to constants."""

    def method(self: Node, other: Operand) -> Node:
        graph = self.graph
        if type(other) is not Node:
            if not isinstance(other, Real):
                return NotImplemented  # type: ignore[no-any-return]
            other = graph.const(float(other))
        return graph.apply(op, other, self) if swapped else graph.apply(op, self, other)

    return method


class Node:
    """One operation on other nodes, created only by its graph: equal expressions are the same object."""

    __slots__ = ("args", "graph", "index", "op", "support", "value")

    op: int  # see opcodes.py
    args: tuple[Node, ...]
    value: Any  # float for CONST, (space, name) for LOAD, (curve, order) for LOOKUP, else None
    index: int  # creation order
    graph: Graph
    support: frozenset[Node]  # the symbols it depends on

    def __init__(self, graph: Graph, op: int, args: tuple[Node, ...], value: Any, support: frozenset[Node]) -> None:
        self.graph = graph
        self.op = op
        self.args = args
        self.value = value
        self.support = support
        self.index = len(graph._nodes)

    __add__: Operator = _operator(ADD)
    __radd__: Operator = __add__
    __sub__: Operator = _operator(SUB)
    __rsub__: Operator = _operator(SUB, swapped=True)
    __mul__: Operator = _operator(MUL)
    __rmul__: Operator = __mul__
    __truediv__: Operator = _operator(DIV)
    __rtruediv__: Operator = _operator(DIV, swapped=True)
    __pow__: Operator = _operator(POW)
    __rpow__: Operator = _operator(POW, swapped=True)

    def __neg__(self) -> Node:
        return self.graph.apply(NEG, self)

    def __pos__(self) -> Node:
        return self

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is symbolic and has no truth value; use select(condition, a, b)")

    def __repr__(self) -> str:
        if self.op == CONST:
            return f"<{self.value!r}>"
        if self.op == LOAD:
            return f"<{self.value[0]}:{self.value[1]}>"
        return f"<#{self.index} {BY_CODE[self.op].name} {' '.join(f'#{a.index}' for a in self.args)}>"


class Graph:
    """Creates nodes, each distinct one once; owns the derivatives found so far."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self._supports: dict[frozenset[Node], frozenset[Node]] = {}
        self._derivatives: dict[Any, dict[Node, Node]] = {}  # by symbols, and by keys of directions
        self.zero: Node = self.const(0.0)
        self.one: Node = self.const(1.0)

    @property
    def size(self) -> int:
        """Number of nodes created."""
        return len(self._nodes)

    def const(self, value: float) -> Node:
        """The constant `value`, which must be finite."""
        value = float(value) + 0.0  # + 0.0 makes -0.0 the same node as 0.0
        node = self._nodes.get((CONST, value))
        if node is None:
            if not math.isfinite(value):
                raise ValueError(f"a constant must be finite, found {value}")
            node = self._nodes[CONST, value] = Node(self, CONST, (), value, _EMPTY)
        return node

    def symbol(self, space: str, name: str) -> Node:
        """The variable `name` of `space`, for example ("q", "crank.phi")."""
        node = self._nodes.get((LOAD, space, name))
        if node is None:
            node = self._nodes[LOAD, space, name] = Node(self, LOAD, (), (space, name), _EMPTY)
            node.support = frozenset((node,))
        return node

    def promote(self, value: Operand) -> Node:
        """`value` itself if it is a node of this graph, or the constant of that value."""
        if isinstance(value, Node):
            if value.graph is not self:
                raise ValueError(f"{value!r} belongs to another graph")
            return value
        if not isinstance(value, Real):
            raise TypeError(f"expected a node or a real number, found {type(value).__name__}")
        return self.const(float(value))

    def apply(self, op: int, *args: Node) -> Node:
        """The node `op(*args)`, simplified."""
        key = (op, *args)
        node = self._nodes.get(key)
        if node is not None:
            return node
        if op in _COMMUTES:
            a, b = args
            if b.op == CONST or (a.op != CONST and b.index < a.index):
                args, key = (b, a), (op, b, a)
                node = self._nodes.get(key)
        if node is not None:
            return node
        if args[-1].op == CONST and all(a.op == CONST for a in args):
            node = self._folded(op, args)
        if node is None and op in RULES:
            node = RULES[op](*args)
        if node is None:
            node = self._nodes[key] = Node(self, op, args, None, self._union(args))
        return node

    def lookup(self, curve: Curve, x: Operand, order: int = 0) -> Node:
        """The derivative of a curve at x; equal curves are one."""
        x = self.promote(x)
        if order > curve.degree:
            return self.zero
        if x.op == CONST:
            with np.errstate(all="ignore"):
                value = float(curve.value(x.value, order))
            if math.isfinite(value):
                return self.const(value)
        key = (LOOKUP, curve, order, x)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(self, LOOKUP, (x,), (curve, order), x.support)
        return node

    def remade(self, node: Node, args: Sequence[Node]) -> Node:
        """The operation of a node on other arguments."""
        return self.lookup(node.value[0], args[0], node.value[1]) if node.op == LOOKUP else self.apply(node.op, *args)

    def sum(self, terms: Iterable[Operand]) -> Node:
        """The sum as a balanced tree, so that its depth is the logarithm of its length."""
        row = [self.promote(term) for term in terms]
        while len(row) > 1:
            pairs = [a + b for a, b in zip(row[::2], row[1::2], strict=False)]
            row = pairs + row[len(pairs) * 2 :]
        return row[0] if row else self.zero

    def diff(self, node: Node, symbol: Node) -> Node:
        """The exact derivative of `node` by `symbol`; remembered for every node on the way."""
        if symbol.op != LOAD:
            raise ValueError(f"can differentiate by a symbol only, found {symbol!r}")
        memo = self._derivatives.setdefault(symbol, {symbol: self.one})
        zero = self.zero
        for y in postorder((node,), lambda n: symbol in n.support and n not in memo):
            memo[y] = _TANGENT[y.op](y, *[memo.get(a, zero) for a in y.args])  # type: ignore[misc]
        return memo.get(node, zero)

    def along(self, node: Node, seeds: Mapping[Node, Node], key: Any) -> Node:
        """The derivative of `node` where several symbols move at once, each as its seed; remembered under the key."""
        memo = self._derivatives.setdefault(key, dict(seeds))
        zero, moving = self.zero, frozenset(seeds)
        for y in postorder((node,), lambda n: n not in memo and not moving.isdisjoint(n.support)):
            memo[y] = _TANGENT[y.op](y, *[memo.get(a, zero) for a in y.args])  # type: ignore[misc]
        return memo.get(node, zero)

    def rate(self, node: Node, rates: Mapping[Node, Operand]) -> Node:
        """The total derivative: the sum of diff(node, s) * rates[s]; a symbol without a rate is constant.

        Rejected: one forward sweep with all rates. It is shorter for a single use, but shares nothing with the
        Jacobian, whose entries are needed anyway.
        """
        symbols = sorted((s for s in node.support if s in rates), key=lambda s: s.index)
        return self.sum(self.diff(node, s) * rates[s] for s in symbols)

    def substitute(self, nodes: Sequence[Node], mapping: Mapping[Node, Operand]) -> list[Node]:
        """Replace the keys of `mapping`, all at once, wherever they occur in `nodes`."""
        done = {old: self.promote(new) for old, new in mapping.items()}
        symbols = _EMPTY.union(*(old.support for old in done))
        anywhere = not all(old.support for old in done)  # a constant expression has no symbol to find it by

        def touched(node: Node) -> bool:
            return node not in done and (anywhere or not symbols.isdisjoint(node.support))

        for node in postorder(nodes, touched):
            args = [done.get(a, a) for a in node.args]
            done[node] = self.remade(node, args) if args else node
        return [done.get(node, node) for node in nodes]

    def integral(self, curve: Curve, x: Node) -> Node:
        """The integral of a curve from 0 to x, exact: in a piece it follows from the derivatives at x (T4.9)."""
        return self._sum_to(curve, x) - self._sum_to(curve, self.zero)

    def _sum_to(self, curve: Curve, x: Node) -> Node:
        begin, total = (self.lookup(steps, x) for steps in curve.sums())
        way, factor = x - begin, self.one
        for order in range(4):
            factor = factor * way / float(order + 1)
            total = total + (-1) ** order * factor * self.lookup(curve, x, order)
        return total

    def _folded(self, op: int, args: tuple[Node, ...]) -> Node | None:
        """The constant that an operation on constants gives."""
        exact = EXACT.get(op)
        if exact is not None:
            value = exact(*[a.value for a in args])
        else:
            with np.errstate(all="ignore"):
                value = float(_EVALUATE[op](*[np.float64(a.value) for a in args]))  # type: ignore[misc]
        return self.const(value) if math.isfinite(value) else None  # 1/0 may stand in a branch never taken

    def _union(self, args: tuple[Node, ...]) -> frozenset[Node]:
        """The support of a new node; equal sets are one object, because most nodes share that of an argument."""
        union = _EMPTY
        for a in args:
            if a.graph is not self:
                raise ValueError(f"{a!r} belongs to another graph")
            support = a.support
            if union is support or support <= union:
                continue
            union = support if union <= support else union | support
        return self._supports.setdefault(union, union)


def postorder(roots: Iterable[Node], wanted: Callable[[Node], bool] | None = None) -> list[Node]:
    """The wanted nodes below `roots`, arguments before users, depth first; nothing is sought below an unwanted node."""
    seen: set[Node] = set()
    order: list[Node] = []
    stack = [root for root in roots if wanted is None or wanted(root)][::-1]
    while stack:
        node = stack[-1]
        if node in seen:
            stack.pop()
            continue
        pending = [a for a in node.args if a not in seen and (wanted is None or wanted(a))]
        if pending:
            stack.extend(reversed(pending))
        else:
            seen.add(node)
            order.append(stack.pop())
    return order
