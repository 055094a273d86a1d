"""Description -> blob: names end here, indices begin.

Everything that has no native kernel becomes expression rows; their derivatives are taken here, exactly, and travel as
programs. The layout of the blob is that of solver/blob.hpp and solver/system.cpp. This module must not know any joint
or force by name, and nothing of time stepping.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbdfmu.description import GROUND, Description
from mbdfmu.expressions import Graph, Node, compile_tape
from mbdfmu.expressions.opcodes import ADD, DIV, LOAD, MUL, NEG, SELECT, SUB
from mbdfmu.frames import Kernel, Row
from mbdfmu.signals import Constraint, ForceTerm, SymbolicModel, tabulate, velocities

BLOB_VERSION = 1
MAGIC = b"MBDFMU\r\n"

# Shared with `Space` of solver/tape.hpp.
SPACES = {"t": 0, "u": 1, "ud": 2, "p": 3, "q": 4, "v": 5, "a": 6, "lam": 7, "x": 8, "xd": 9, "c": 10, "computed": 11}
# Derivative kinds shared with `Kind` of solver/system.hpp.
BY_A, BY_V, BY_Q, BY_X, PLAIN = range(5)
_KIND = {"a": BY_A, "v": BY_V, "q": BY_Q, "x": BY_X, "lam": PLAIN, "xd": PLAIN}
# Native element tables of solver/elements.hpp.
TABLES = ("coincid", "angle", "inline", "transl", "rotat")


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """A compiled model: the blob, and what Python needs to speak of it by name."""

    blob: bytes
    model: SymbolicModel = field(repr=False)
    parameters: Mapping[str, int]
    inputs: Mapping[str, int]
    coordinates: Mapping[str, int]
    signals: Sequence[str]  # in the order in which the solver reports them


def lower(description: Description, *, kernels: bool = True) -> Lowered:
    """Compile a description; `kernels=False` uses expression programs only (for tests of the kernels)."""
    return _Lowering(tabulate(description), kernels).lower()


class _Constants:
    """The constants of an Instance: every distinct node once more, in blocks that kernels can index."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.names: list[str] = []  # what an error calls them
        self._places: dict[Node, int] = {}

    def block(self, nodes: Iterable[Node], *names: str) -> int:
        """Append a block; returns its first place. One name may stand for all."""
        at = len(self.nodes)
        self.nodes.extend(nodes)
        added = len(self.nodes) - at
        self.names.extend(names * added if len(names) == 1 else names)
        return at

    def symbol(self, node: Node) -> Node:
        """The constant that holds a parameter-only node."""
        if node not in self._places:
            self._places[node] = self.block([node], "an expression of parameters")
        return self.graph.symbol("c", str(self._places[node]))


def _only(node: Node, spaces: frozenset[str]) -> bool:
    return all(s.value[0] in spaces for s in node.support)


_INERTIAS = ("mass", "inertia")
_P = frozenset({"p"})


def _affine(root: Node, spaces: frozenset[str]) -> bool:
    """Whether a node is surely affine in the symbols of these spaces (a switch on them is not, whatever its slope)."""
    waiting, seen = [root], {root}
    while waiting:
        node = waiting.pop()
        inside = [a for a in node.args if not all(s.value[0] not in spaces for s in a.support)]
        allowed = {ADD: 2, SUB: 2, NEG: 1, MUL: 1, DIV: 1, SELECT: 2}.get(node.op, 0)
        if len(inside) > allowed or (node.op == DIV and node.args[1] in inside):
            return False
        if node.op == SELECT and node.args[0] in inside:
            return False
        waiting += [a for a in inside if a not in seen]
        seen.update(inside)
    return True


class _Lowering:
    def __init__(self, model: SymbolicModel, kernels: bool) -> None:
        self.m = model
        self.graph = model.graph
        self.kernels = kernels
        self.constants = _Constants(model.graph)
        self.tables: dict[str, list[int]] = {table: [] for table in TABLES}
        self.body = {name: k for k, (name, _, _) in enumerate(model.masses)} | {GROUND: -1}
        self.q = {c.name: k for k, c in enumerate(model.coordinates)}
        self.rows = [(c, row) for c in model.constraints for p in c.primitives for row in p.rows]
        self.lam = {f"{c.label} ({row.direction})": k for k, (c, row) in enumerate(self.rows)}
        self.p = {s.name: k for k, s in enumerate(model.parameters)}
        self.u = {name: k for k, name in enumerate(model.description.inputs)}
        self.force_rows: dict[int, list[Node]] = {}  # expression parts of M a + G^T lambda - Q
        self.phi_rows: dict[int, Node] = {}

    @property
    def nv(self) -> int:
        return len(self.q)

    def lower(self) -> Lowered:
        m = self.m
        masses = [(f"{what} of body '{b}'", n) for b, *two in m.masses for what, n in zip(_INERTIAS, two, strict=True)]
        body_at = self.constants.block([n for _, n in masses], *(name for name, _ in masses))
        gravity_at = self.constants.block(m.gravity, "gravity")
        starts = m.start_nodes(c.name for c in m.coordinates) + m.start_nodes(c.rate for c in m.coordinates)
        names = [f"start value of {c.label}" for c in m.coordinates]
        inputs = {f"start value of input '{n}'": self.graph.const(i.start) for n, i in m.description.inputs.items()}
        start_at = self.constants.block([*starts, *inputs.values()], *names, *names, *inputs)
        length_at = self.constants.block([m.length], "the model's length")
        self._constraints()
        self._forces()
        self._user_coordinates()
        sections = self._programs()
        at = [body_at, gravity_at, start_at, length_at]
        counts = [self.nv, len(self.rows), 0, len(self.u), len(self.p), len(self.constants.nodes), len(m.masses), *at]
        sections |= {name: _ints(table) for name, table in self.tables.items()}
        sections["counts"] = _ints([*counts, self._linear])
        sections["params"] = _doubles(s.start for s in m.parameters)
        sections |= self._names()
        return Lowered(
            blob=pack(sections), model=m, parameters=self.p, inputs=self.u, coordinates=self.q, signals=list(m.signals)
        )

    # ---- rows

    def _constraints(self) -> None:
        row = 0
        for constraint in self.m.constraints:
            for primitive in constraint.primitives:
                if not self._kernel_row(constraint, primitive.kernel, row):
                    for k, r in enumerate(primitive.rows):
                        self._expression_row(constraint, r, row + k)
                row += len(primitive.rows)

    def _kernel_row(self, constraint: Constraint, kernel: Kernel | None, row: int) -> bool:
        if (
            not self.kernels
            or kernel is None
            or constraint.ends is None
            or not all(_only(c, _P) for c in kernel.constants)
        ):
            return False
        i, j = (self.body[end] for end in constraint.ends)
        self.tables[kernel.table] += [
            i,
            j,
            row,
            self.constants.block(kernel.constants, f"a dimension of {constraint.label}"),
        ]
        return True

    def _expression_row(self, constraint: Constraint, row: Row, index: int) -> None:
        """Phi and its share of G^T lambda; the derivatives of both follow in `_entries`."""
        self.phi_rows[index] = row.value
        lam = self.graph.symbol("lam", f"{constraint.label} ({row.direction})")
        for q in self._symbols(row.value, "q"):
            self._add_force(q, lam * self.graph.diff(row.value, q))

    def _forces(self) -> None:
        for force in self.m.forces:
            native = self._kernel_force(force)
            generalized = force.load.actuator if native else force.load.spring + force.load.actuator
            for q in self._symbols(force.measure.value, "q"):
                self._add_force(q, -generalized * self.graph.diff(force.measure.value, q))

    def _kernel_force(self, force: ForceTerm) -> bool:
        kernel = force.load.kernel
        fixed = all(_only(n, _P) for frame in force.ends for n in (frame.sx, frame.sy, frame.turn))
        if not self.kernels or kernel is None or not fixed or not all(_only(c, _P) for c in kernel.constants):
            return False
        i, j = (self.body[frame.body] for frame in force.ends)
        self.tables[kernel.table] += [
            i,
            j,
            0,
            self.constants.block(kernel.constants, f"a value of force '{force.name}'"),
        ]
        return True

    def _user_coordinates(self) -> None:
        """M(q) a, the velocity terms that follow from it (T2.5) and the forces."""
        g, m = self.graph, self.m
        full = {**m.mass_matrix, **{(b, a): n for (a, b), n in m.mass_matrix.items()}}
        for (a, b), entry in full.items():
            self._add_force(g.symbol("q", a), entry * g.symbol("a", b))
            if m.description.velocity_terms == "derived":
                vb = g.symbol("v", b)
                for c in self._symbols(entry, "q"):
                    d, vc = g.diff(entry, c), g.symbol("v", c.value[1])
                    self._add_force(g.symbol("q", a), d * vc * vb)
                    self._add_force(c, -0.5 * d * g.symbol("v", a) * vb)
        for name, force in m.generalized_forces.items():
            self._add_force(g.symbol("q", name), -force)

    def _add_force(self, q: Node, term: Node) -> None:
        if term is not self.graph.zero:
            self.force_rows.setdefault(self.q[q.value[1]], []).append(term)

    def _symbols(self, node: Node, space: str) -> list[Node]:
        return sorted((s for s in node.support if s.value[0] == space), key=lambda s: s.index)

    # ---- programs

    def _programs(self) -> dict[str, bytes]:
        g = self.graph
        force = {row: g.sum(terms) for row, terms in sorted(self.force_rows.items())}
        phi = dict(sorted(self.phi_rows.items()))
        values = {**force, **{self.nv + row: node for row, node in phi.items()}}
        entries = list(self._entries(force, phi))
        self._linear = all(_affine(node, frozenset({"a", "lam"})) for node in force.values())
        speed = [self._speed(node) for node in phi.values()]
        gamma = [-self._speed(node) for node in speed]
        computed = [s.node for s in self.m.signals.values() if s.node.op != LOAD]
        programs = {
            "resid": list(values.values()),
            "deriv": [*values.values(), *(e[3] for e in entries)],
            "phi": list(phi.values()),
            "rates": speed + gamma,
            "signal": computed,
        }
        sections: dict[str, bytes] = {}
        for name, nodes in programs.items():
            sections |= self._program(name, self._hoisted(nodes))
        sections |= self._program("param", self.constants.nodes)
        sections["rrows"] = _ints(values)
        sections["crows"] = _ints(phi)
        sections["entries"] = _ints(n for e in entries for n in e[:3])
        sections["address"] = _ints(self._addresses())
        return sections

    def _speed(self, node: Node) -> Node:
        """d/dt with accelerations left out."""
        rates = {s: r for s, r in velocities(self.graph, node.support).items() if s.value[0] in "tq"}
        return self.graph.rate(node, rates)

    def _entries(self, force: Mapping[int, Node], phi: Mapping[int, Node]) -> Iterable[tuple[int, int, int, Node]]:
        """Derivatives of the expression rows by every unknown they hold: (row, column, kind, value)."""
        for row, node in force.items():
            for s in sorted(node.support, key=lambda s: s.index):
                space, name = s.value
                if space in _KIND:
                    column = self.nv + self.lam[name] if space == "lam" else self.q[name]
                    yield row, column, _KIND[space], self.graph.diff(node, s)
        for row, node in phi.items():
            for s in self._symbols(node, "q"):
                yield self.nv + row, self.q[s.value[1]], PLAIN, self.graph.diff(node, s)

    def _hoisted(self, nodes: Sequence[Node]) -> list[Node]:
        """The same with what depends on parameters only replaced by constants of the Instance.

        Nothing is lifted out of the branches of a select: 1/k may stand in the one that is never taken.
        """
        mapping: dict[Node, Node] = {}
        waiting, seen = list(nodes), set(nodes)
        while waiting:
            node = waiting.pop()
            if node.support and _only(node, _P):
                mapping[node] = self.constants.symbol(node)
                continue
            inside = node.args[:1] if node.op == SELECT else node.args
            waiting += [a for a in inside if a not in seen]
            seen.update(inside)
        ordered = {node: mapping[node] for node in sorted(mapping, key=lambda n: n.index)}
        return self.graph.substitute(nodes, ordered) if ordered else list(nodes)

    def _program(self, name: str, nodes: Sequence[Node]) -> dict[str, bytes]:
        tape = compile_tape(nodes, self._address)
        return {
            f"{name}.ops": _ints(tape.code.ravel()),
            f"{name}.num": _doubles(tape.constants),
            f"{name}.out": _ints(tape.outputs),
        }

    def _address(self, symbol: Node) -> tuple[int, int]:
        space, name = symbol.value
        if space == "t":
            return SPACES["t"], 0
        if space == "c":
            return SPACES["c"], int(name)
        index = {"u": self.u, "ud": self.u, "p": self.p, "lam": self.lam}.get(space, self.q)[name]
        return SPACES[space], index

    def _addresses(self) -> Iterable[int]:
        computed = 0
        for s in self.m.signals.values():
            if s.node.op == LOAD:
                yield from self._address(s.node)
            else:
                yield from (SPACES["computed"], computed)
                computed += 1

    # ---- names and structure

    def _names(self) -> dict[str, bytes]:
        labels = [c.label for c in self.m.coordinates] + list(self.lam)
        groups = [c.node for c in self.m.coordinates] + [c.label for c, _ in self.rows]
        numbers: dict[str, int] = {}
        for group in groups:
            numbers.setdefault(group, len(numbers))
        rotational = [c.unit == "rad" for c in self.m.coordinates] + [row.unit == "rad" for _, row in self.rows]
        return {
            "cnames": _text("".join(f"{name}\n" for name in self.constants.names)),
            "labels": _text("".join(f"{label}\n" for label in labels)),
            "nodes": _ints(numbers[group] for group in groups),
            "scales": _ints(rotational),
            "signals": _text(json.dumps(self._signal_table(), separators=(",", ":"))),
        }

    def _signal_table(self) -> dict[str, Any]:
        """The signal table as data, for hosts that have only the blob."""
        d = self.m.description
        keys = ("name", "unit", "causality", "variability", "start", "minimum", "maximum", "text")
        rows = [{k: v for k in keys if (v := getattr(s, k)) not in (None, "")} for s in self.m.signals.values()]
        return {"name": d.name, "text": d.text, "signals": rows}


# ---------------------------------------------------------------- the file


def pack(sections: Mapping[str, bytes]) -> bytes:
    """Sections (already encoded) with header and checksum; layout: solver/blob.hpp."""
    body = b"".join(_section(name, content) for name, content in sections.items())
    length = 32 + len(body)
    header = MAGIC + struct.pack("<IIQII", BLOB_VERSION, len(sections), length, zlib.crc32(body), 0)
    return header + body


def _section(name: str, content: bytes) -> bytes:
    kind, data = content[0], content[1:]
    count = len(data) // (4, 8, 1)[kind]
    return struct.pack("<16sIIQ", name.encode(), kind, 0, count) + data + b"\0" * (-len(data) % 8)


def _ints(values: Iterable[Any]) -> bytes:
    return b"\0" + np.fromiter((int(v) for v in values), dtype="<i4").tobytes()


def _doubles(values: Iterable[Any]) -> bytes:
    return b"\1" + np.fromiter((float(v) for v in values), dtype="<f8").tobytes()


def _text(text: str) -> bytes:
    return b"\2" + text.encode()
