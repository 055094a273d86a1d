"""Description -> blob: names end here, indices begin.

Everything that has no native kernel becomes expression rows; their derivatives are taken here, exactly, and travel as
programs. The layout of the blob is that of solver/blob.hpp and solver/system.cpp. This module must not know any joint
or force by name, and nothing of time stepping.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mbdfmu.blob import doubles, ints, lines, pack, text
from mbdfmu.collecting import without_collection
from mbdfmu.coordinates import QUATERNION, ROTATIONS, SOLVED
from mbdfmu.description import GROUND, Description
from mbdfmu.expressions import Curve, Graph, Node, compile_tape, postorder, sign, switching
from mbdfmu.expressions.opcodes import ADD, AND, DIV, LOAD, MUL, NEG, OR, SELECT, SUB
from mbdfmu.frames import Kernel, Row
from mbdfmu.resolution import Written
from mbdfmu.signals import Constraint, Crossing, Event, ForceTerm, Impact, Setting, SymbolicModel, tabulate

# Shared with `Space` of solver/tape.hpp.
SPACES = {
    "t": 0, "u": 1, "ud": 2, "p": 3, "q": 4, "v": 5, "a": 6, "lam": 7, "x": 8, "xd": 9, "c": 10, "r": 11, "turn": 12,
    "y": 13, "ext": 14, "computed": 15,
}  # fmt: skip
# Derivative kinds shared with `Kind` of solver/system.hpp.
BY_A, BY_V, BY_Q, BY_X, PLAIN = range(5)
_KIND = {"a": BY_A, "v": BY_V, "x": BY_X, "lam": PLAIN, "xd": PLAIN, "y": PLAIN}
_GIVEN = frozenset(SPACES) - SOLVED
# Programs in which what switches by time is met by the end of a step.
_MOVING = ("resid", "rates", "inputs")
# Kinds of what is watched, shared with solver/switches.hpp.
EVENT, CROSSING, IMPACT = range(3)
_LEVELS = ("position", "velocity", "acceleration")
_OF_LEVEL = dict(zip(_LEVELS, ("q", "v", "a"), strict=True))  # whose derivatives give the row of G
# Native element tables of solver/elements.hpp and solver/spatial.hpp.
TABLES = ("coincid", "angle", "inline", "transl", "rotat", "bushing", "coinci3", "perpend", "inplane", "bushin3")


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """A compiled model: the blob, and what Python needs to speak of it by name."""

    blob: bytes
    model: SymbolicModel = field(repr=False)
    parameters: Mapping[str, int]
    inputs: Mapping[str, int]
    coordinates: Mapping[str, int]
    signals: Sequence[str]  # in the order in which the solver reports them
    # What analyses differentiate themselves: where the solver keeps the symbols of each space, and what expressions
    # add to each equation (forces and constraints of native kernels are not among them).
    places: Mapping[str, Mapping[str, int]] = field(repr=False)
    equations: Mapping[int, Node] = field(repr=False)
    # The user's expressions that switch by time at times that no step is sure to meet.
    unmet: Sequence[str] = ()


@without_collection()
def lower(description: Description, *, kernels: bool = True, eliminate: bool = True) -> Lowered:
    """Compile a description; `kernels=False` uses expression programs only (for tests of the kernels).

    `eliminate=False` solves for every variable and force as [Negrut05] eq. 12 does, slowly (for comparison).
    """
    return _Lowering(tabulate(description, eliminate=eliminate), kernels).lower()


class _Constants:
    """The constants of an Instance: every distinct node once more, in blocks that kernels can index."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.names: list[str] = []  # what an error calls them
        self.anonymous: dict[Node, int] = {}  # places of those that belong to no field

    def block(self, nodes: Iterable[Node], *names: str) -> int:
        """Append a block; returns its first place. One name may stand for all."""
        at = len(self.nodes)
        self.nodes.extend(nodes)
        added = len(self.nodes) - at
        self.names.extend(names * added if len(names) == 1 else names)
        return at

    def symbol(self, node: Node) -> Node:
        """The constant that holds a parameter-only node."""
        if node not in self.anonymous:
            self.anonymous[node] = self.block([node], "an expression of parameters")
        return self.graph.symbol("c", str(self.anonymous[node]))


def _as_written(w: Written) -> str:
    return f"{w.path}: {' '.join(w.text.split())}"


def _only(node: Node, spaces: frozenset[str]) -> bool:
    return all(s.value[0] in spaces for s in node.support)


_P = frozenset({"p"})
_NO_LIMIT = 1e300


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
        self.motion = model.motion
        self.kernels = kernels
        self.constants = _Constants(model.graph)
        self.tables: dict[str, list[int]] = {table: [] for table in TABLES}
        self.elements: dict[str, list[str]] = {table: [] for table in TABLES}  # what an error calls them
        self.efforts: list[tuple[str, Node]] = []  # of the other forces, and the rates that they act along
        self.spatial = [b.name for b in model.bodies] if model.dimensions == 3 else []
        self.body = {b.name: k for k, b in enumerate(model.bodies)} | {GROUND: -1}
        self.q = {c.name: k for k, c in enumerate(model.coordinates)}
        self.rows = [(c, row) for c in model.constraints for p in c.primitives for row in p.rows]
        self.lam = {f"{c.label} ({row.direction})": k for k, (c, row) in enumerate(self.rows)}
        self.x = {s.name: k for k, s in enumerate(model.states)}
        self.y = {s.name: k for k, s in enumerate(model.unknowns)}
        self.p = {s.name: k for k, s in enumerate(model.parameters)}
        self.settable = frozenset(s.node for s in model.parameters)
        self.u = {s.name: k for k, s in enumerate(model.inputs)}
        places = {f"{b}.{e}": self.nv + 4 * n + k for n, b in enumerate(self.spatial) for k, e in enumerate(QUATERNION)}
        self.places: dict[str, dict[str, int]] = {  # of symbols by space
            "u": self.u, "ud": self.u, "p": self.p, "lam": self.lam, "q": self.q | places, "v": self.q, "a": self.q,
            "x": self.x, "xd": self.x, "y": self.y,
            "r": {f"{b}.r{i}{j}": 9 * n + 3 * i + j
                  for n, b in enumerate(self.spatial) for i in range(3) for j in range(3)},
            "turn": {w.name: k for k, w in enumerate(model.windings)},
            "ext": {name: k for k, name in enumerate(name for f in model.functions for name in f.symbols)},
        }  # fmt: skip
        states = self.nv + len(self.rows)
        self.first = {"v": 0, "a": 0, "lam": self.nv, "x": states, "xd": states, "y": states + len(self.x)}  # columns
        self.force_rows: dict[int, list[Node]] = {}  # expression parts of M a + G^T lambda - Q
        self.phi_rows: dict[int, Node] = {}
        self.curves: dict[Curve, int] = {}  # that programs read

    @property
    def nv(self) -> int:
        return len(self.q)

    def lower(self) -> Lowered:
        m = self.m
        self._computed_parameters()
        at = self._constants()
        self._times()
        self._constraints()
        self._forces()
        self._user_coordinates()
        bounds = self._bounds()
        sections = self._programs() | bounds
        planar = 0 if self.spatial else len(m.bodies)
        counts = [self.nv, len(self.rows), len(self.x), len(self.y), len(self.u), len(self.p)]
        counts += [len(self.constants.nodes), planar, len(self.spatial), *at]
        counts += [len(m.windings), len(m.sides), self._linear, self._accelerating()]
        sections |= {name: ints(table) for name, table in self.tables.items()}
        sections["counts"] = ints(counts)
        sections["params"] = doubles(s.start for s in m.parameters)
        sections["nominal"] = doubles(s.nominal for s in m.states)
        sections |= self._names()
        sections |= self._switches()
        return Lowered(
            blob=pack(sections), model=m, parameters=self.p, inputs=self.u, coordinates=self.q, signals=list(m.signals),
            places=self.places, equations=self._equations, unmet=self.unmet,
        )  # fmt: skip

    def _computed_parameters(self) -> None:
        """Those that follow from others: looked at before what is made of them, whether used or not."""
        for name in self.m.description.parameters:
            signal = self.m.signals[name]
            if signal.causality == "calculatedParameter":
                self.constants.block([signal.node], f"parameter '{name}'")

    def _constants(self) -> tuple[int, int, int, int]:
        """The blocks that the solver reads by their place: bodies, gravity, start values, length."""
        m, zero = self.m, self.graph.zero
        masses = [(f"mass of body '{b.name}'", b.mass, f"inertia of body '{b.name}'", b.inertia) for b in m.bodies]
        body_at = self.constants.block(
            [node for _, mass, _, inertia in masses for node in (mass, *inertia)],
            *(name for mass, _, whole, inertia in masses for name in (mass, *[whole] * len(inertia))),
        )
        gravity_at = self.constants.block([*m.gravity, *[zero] * (3 - len(m.gravity))], "gravity")
        names = [f"start value of {c.label}" for c in m.coordinates]
        turned = [f"start orientation of body '{b}'" for b in self.spatial for _ in QUATERNION]
        inputs = {
            f"start value of input '{one}'": self.graph.const(value)
            for name, given in m.description.inputs.items()
            for one, value in given.starts(name).items()
        }
        turns = {f"start value of '{w.name}'": w.start for w in m.windings}
        states = {f"start value of {s.label}": s.start for s in m.states}
        unknowns = {f"start value of {y.label}": y.start for y in m.unknowns}
        parts = [states, inputs, turns, unknowns]
        starts = [*m.position_starts, *m.orientation_starts, *m.velocity_starts]
        start_at = self.constants.block(
            [*starts, *(node for part in parts for node in part.values())],
            *names, *turned, *names, *(name for part in parts for name in part),
        )  # fmt: skip
        return body_at, gravity_at, start_at, self.constants.block([m.length], "the model's length")

    def _times(self) -> None:
        """What gaps, events and impacts need of parameters."""
        block = self.constants.block
        names = [(f"restitution of impact '{i.name}'", f"rest speed of impact '{i.name}'") for i in self.m.impacts]
        pairs = zip(self.m.impacts, names, strict=True)
        self.extent_at = [
            -1 if gap.extent is None else block([gap.extent], f"extent of {name}") for name, gap in self.m.gaps.items()
        ]
        self.impact_at = [block([i.restitution, i.rest_speed], *texts) for i, texts in pairs]

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
        if not self.kernels or kernel is None or constraint.ends is None:
            return False
        if not all(_only(c, _P) for c in kernel.constants):
            return False
        i, j = (self.body[end] for end in constraint.ends)
        at = self.constants.block(kernel.constants, f"a dimension of {constraint.label}")
        self.tables[kernel.table] += [i, j, row, at]
        self.elements[kernel.table].append(constraint.label)
        return True

    def _expression_row(self, constraint: Constraint, row: Row, index: int) -> None:
        """The row's value and its share of G^T lambda; the derivatives of both follow in `_entries`."""
        self.phi_rows[index] = row.value
        lam = self.graph.symbol("lam", f"{constraint.label} ({row.direction})")
        for name, entry in self._gradient(row.value, row.level):
            self._add_force(name, lam * entry)

    def _gradient(self, value: Node, level: str) -> list[tuple[str, Node]]:
        """The row of G of a value at a level: coordinates and entries."""
        if level == "position":
            return [(name, self.motion.diff(value, name)) for name in self.motion.of(value)]
        symbols = self._symbols(value, _OF_LEVEL[level])
        return [(s.value[1], self.graph.diff(value, s)) for s in symbols]

    def _forces(self) -> None:
        for force in self.m.forces:
            for share in force.load.shares:
                if not self._kernel_force(force, share.kernel):
                    for effort in share.efforts:
                        self.efforts += [(f"force '{force.name}'", node) for node in (effort.effort, effort.rate)]
                        for v in self._symbols(effort.rate, "v"):
                            self._add_force(v.value[1], -effort.effort * self.graph.diff(effort.rate, v))

    def _kernel_force(self, force: ForceTerm, kernel: Kernel | None) -> bool:
        if not self.kernels or kernel is None or not all(_only(c, _P) for c in kernel.constants):
            return False
        if not all(_only(n, _P) for frame in force.ends for n in frame.fixed):
            return False
        i, j = (self.body[frame.body] for frame in force.ends)
        at = self.constants.block(kernel.constants, f"a value of force '{force.name}'")
        self.tables[kernel.table] += [i, j, 0, at]
        self.elements[kernel.table].append(f"force '{force.name}'")
        return True

    def _bounds(self) -> dict[str, bytes]:
        """Constants with a least and a largest value: places, whether the least itself is not allowed, limits."""
        places = [self.constants.block([b.node], b.label) for b in self.m.bounds]
        bounds = [b.bound for b in self.m.bounds]
        return {
            "bounds": ints(n for at, b in zip(places, bounds, strict=True) for n in (at, b.positive)),
            "limits": doubles(x for b in bounds for x in (b.least, min(b.most, _NO_LIMIT))),
        }

    def _accelerating(self) -> bool:
        """Whether forces, states or variables see accelerations."""
        m = self.m
        seen = [e.effort for f in m.forces for e in f.load.efforts] + list(m.generalized_forces.values())
        seen += [s.equation for s in m.states] + [y.equation for y in m.unknowns]
        return any(s.value[0] == "a" for node in seen for s in node.support)

    def _user_coordinates(self) -> None:
        """M(q) a, the velocity terms that follow from it (T2.5) and the forces."""
        g, m = self.graph, self.m
        full = {**m.mass_matrix, **{(b, a): n for (a, b), n in m.mass_matrix.items()}}
        for (a, b), entry in full.items():
            self._add_force(a, entry * g.symbol("a", b))
            if m.description.velocity_terms == "derived":
                vb = g.symbol("v", b)
                for c in self.motion.of(entry):
                    d, vc = self.motion.diff(entry, c), g.symbol("v", c)
                    self._add_force(a, d * vc * vb)
                    self._add_force(c, -0.5 * d * g.symbol("v", a) * vb)
        for name, force in m.generalized_forces.items():
            self._add_force(name, -force)

    def _add_force(self, coordinate: str, term: Node) -> None:
        if term is not self.graph.zero:
            self.force_rows.setdefault(self.q[coordinate], []).append(term)

    def _symbols(self, node: Node, space: str) -> list[Node]:
        return sorted((s for s in node.support if s.value[0] == space), key=lambda s: s.index)

    # ---- programs

    @cached_property
    def _equations(self) -> dict[int, Node]:
        """What expressions add to the residual, by its rows: forces, constraints, states and unknowns."""
        force = {row: self.graph.sum(terms) for row, terms in sorted(self.force_rows.items())}
        phi = {self.nv + row: node for row, node in sorted(self.phi_rows.items())}
        equations = [s.equation for s in self.m.states] + [y.equation for y in self.m.unknowns]
        return {**force, **phi, **dict(enumerate(equations, self.nv + len(self.rows)))}

    def _programs(self) -> dict[str, bytes]:
        values = self._equations
        first = self.nv + len(self.rows)
        dynamic = [node for row, node in values.items() if not self.nv <= row < first]
        phi = dict(sorted(self.phi_rows.items()))
        entries = [entry for row, node in values.items() for entry in self._derivatives(row, node)]
        given = [node for f in self.m.functions for node in f.inputs]
        self._linear = all(_affine(node, SOLVED) for node in dynamic)
        self._linear = self._linear and all(_only(node, _GIVEN) for node in given)
        levels = [_LEVELS.index(self.rows[row][1].level) for row in phi]
        rates = [self._rates(node, level) for node, level in zip(phi.values(), levels, strict=True)]
        bends = dict(self._bends(phi, levels, rates))
        positions = {row: node for (row, node), level in zip(phi.items(), levels, strict=True) if level == 0}
        computed = [s.node for s in self.m.signals.values() if s.node.op != LOAD]
        conditions, condition_entries = self._conditions()
        programs = {
            "resid": list(values.values()),
            "deriv": [*values.values(), *(e[3] for e in entries)],
            "phi": list(positions.values()),
            "rates": [speed for speed, _ in rates] + [gamma for _, gamma in rates] + list(bends.values()),
            "monitor": [w.node for w in self.m.windings] + [side.node for side in self.m.sides],
            "cond": [*conditions, *(e[2] for e in condition_entries)],
            "signal": computed,
            "inputs": [node for f in self.m.functions for node in (*f.inputs, *f.parameters)],
            "gaps": [node for part in zip(*(gap.nodes for gap in self.m.gaps.values()), strict=True) for node in part],
            "events": [e.indicator for e in self._indicators] + [i.ends for i in self.m.impacts],
            "written": [w.node for w in self._written],
            "efforts": [effort for _, effort in self.efforts],
            "set": [setting.value for _, setting in self._settings],
        }
        programs["breaks"] = self._breaks([node for name in _MOVING for node in programs[name]], programs["events"])
        sections: dict[str, bytes] = {}
        for name, nodes in programs.items():
            sections |= self._program(name, self._hoisted(nodes))
        sections |= self._program("param", self.constants.nodes)
        sections |= self._curves()
        sections["functions"] = ints(
            n for f in self.m.functions for n in (len(f.inputs), len(f.parameters), len(f.values))
        )
        sections["rrows"] = ints(values)
        sections["crows"] = ints(positions)
        sections["raterows"] = ints(phi)
        sections["bendrows"] = ints(bends)
        sections["centries"] = ints(n for e in condition_entries for n in e[:2])
        sections["entries"] = ints(n for e in entries for n in e[:3])
        sections["address"] = ints(self._addresses())
        return sections

    def _breaks(self, nodes: Sequence[Node], indicators: Sequence[Node]) -> list[Node]:
        """When the equations of motion may jump: first times, periods, and how well these are known.

        Indicators are looked at after every step, and none that changes its sign once is overlooked. Of those that do
        so again and again these times count too, and those at which they are largest: at a zero rounding hides them.
        """
        symbol = self.graph.symbol
        held = frozenset(symbol("x", s.name) for s in self.m.states if s.equation is symbol("xd", s.name))  # of rate 0
        time = symbol("t", "time")
        signs = [sign(indicator) for indicator in indicators]
        slopes = [sign(self.graph.diff(indicator, time)) for indicator in indicators]
        moving = switching([*nodes, *indicators], time, _P, held)
        watched = switching(signs, time, _P, held)
        recurring = [*watched.times, *switching(slopes, time, _P, held).times]
        again = [at for at in recurring if at.period is not self.graph.zero]
        missed = {*moving.missed, *watched.missed}
        written = [w for w in self._written if missed and any(n in missed for n in postorder([w.node]))]
        names = [f"event '{one.name}'" for one, at in zip(self._indicators, signs, strict=False) if at in missed]
        self.unmet = list(dict.fromkeys([*map(_as_written, written), *names]))
        return [node for times in dict.fromkeys([*moving.times, *again]) for node in times]

    def _rates(self, value: Node, level: int) -> tuple[Node, Node]:
        """What a row makes of velocities, G v + .., and gamma with G a = gamma."""
        if level == 2:
            still: dict[Node, Node | float] = dict.fromkeys(self._symbols(value, "a"), 0.0)
            return self.graph.zero, -self.graph.substitute([value], still)[0]
        speed = value if level == 1 else self.motion.rate(value, accelerations=False)
        return speed, -self.motion.rate(speed, accelerations=False)

    def _bends(
        self, phi: Mapping[int, Node], levels: Iterable[int], rates: Iterable[tuple[Node, Node]]
    ) -> Iterable[tuple[int, Node]]:
        """G a - gamma of the rows for which it does not follow from the rates, at the velocities and at a (T14.4)."""
        for (row, value), level, (speed, _) in zip(phi.items(), levels, rates, strict=True):
            if level == 2:
                yield row, value
            elif self._symbols(speed, "x") or not _affine(speed, frozenset("v")):
                yield row, self.motion.rate(speed)

    def _derivatives(self, row: int, node: Node) -> Iterable[tuple[int, int, int, Node]]:
        """Derivatives of an expression row by every unknown that it holds: (row, column, kind, value)."""
        yield from self._own_derivatives(row, node)
        for value in self._symbols(node, "ext"):
            slope = self.graph.diff(node, value)
            for by_input, given in self._outer[value.value[1]]:
                for _, column, kind, inner in self._own_derivatives(row, given):
                    yield row, column, kind, slope * self.graph.symbol("ext", by_input) * inner

    @cached_property
    def _outer(self) -> dict[str, list[tuple[str, Node]]]:
        """By value of a function outside: the names of its derivatives, and the inputs they are by."""
        functions = self.m.functions
        return {value: list(zip(f.slopes(value), f.inputs, strict=True)) for f in functions for value in f.values}

    def _own_derivatives(self, row: int, node: Node) -> Iterable[tuple[int, int, int, Node]]:
        for name in self.motion.of(node):
            yield row, self.q[name], BY_Q, self.motion.diff(node, name)
        for s in self._with_whole_rotations(node):
            space, name = s.value
            yield row, self.first[space] + self.places[space][name], _KIND[space], self.graph.diff(node, s)

    def _with_whole_rotations(self, node: Node) -> list[Node]:
        """The unknowns in a node; of a body's three rotational rates all or none, in a row, as the solver wants it."""
        unknowns = sorted((s for s in node.support if s.value[0] in _KIND), key=lambda s: s.index)
        found: dict[Node, None] = {}
        for s in unknowns:
            space, name = s.value
            body, _, part = name.rpartition(".")
            whole = space in "va" and part in ROTATIONS and body in self.body
            found |= dict.fromkeys([self.graph.symbol(space, f"{body}.{r}") for r in ROTATIONS] if whole else [s])
        return list(found)

    def _conditions(self) -> tuple[list[Node], list[tuple[int, int, Node]]]:
        """What joints want of the start, and its derivatives: (condition, column, value)."""
        values = [i.value for i in self.m.initials]
        entries = [
            (k, self.q[name], entry)
            for k, i in enumerate(self.m.initials)
            for name, entry in self._gradient(i.value, i.level)
        ]
        return values, entries

    def _hoisted(self, nodes: Sequence[Node]) -> list[Node]:
        """The same with what depends on parameters only replaced by constants of the Instance.

        Nothing is lifted out of the branches of a select: 1/k may stand in the one that is never taken; nor out of
        what "and" and "or" need only where what stands before them does not decide.
        """
        mapping: dict[Node, Node] = {}
        untouched = self.settable.isdisjoint
        waiting, seen = [n for n in nodes if not untouched(n.support)], set(nodes)
        while waiting:
            node = waiting.pop()
            if _only(node, _P):
                mapping[node] = self.constants.symbol(node)
                continue
            inside = node.args[:1] if node.op in (SELECT, AND, OR) else node.args
            waiting += [a for a in inside if a not in seen and not untouched(a.support)]
            seen.update(inside)
        ordered = {node: mapping[node] for node in sorted(mapping, key=lambda n: n.index)}
        return self.graph.substitute(nodes, ordered) if ordered else list(nodes)

    def _program(self, name: str, nodes: Sequence[Node]) -> dict[str, bytes]:
        tape = compile_tape(nodes, self._address, self.curves)
        return {
            f"{name}.ops": ints(tape.code.ravel()),
            f"{name}.num": doubles(tape.constants),
            f"{name}.out": ints(tape.outputs),
        }

    def _curves(self) -> dict[str, bytes]:
        """Knots and pieces of the curves, and where each begins: solver/curves.hpp."""
        numbers = [np.concatenate([curve.knots, curve.pieces.ravel()]) for curve in self.curves]
        starts = np.cumsum([0, *map(len, numbers)])
        places = [n for curve, at in zip(self.curves, starts, strict=False) for n in (at, len(curve.knots))]
        return {"curves": ints(places), "curves.num": doubles(np.concatenate([[], *numbers]))}

    def _address(self, symbol: Node) -> tuple[int, int]:
        space, name = symbol.value
        if space == "t":
            return SPACES["t"], int(name == "pace")
        if space == "c":
            return SPACES["c"], int(name)
        return SPACES[space], self.places[space][name]

    def _addresses(self) -> Iterable[int]:
        computed = 0
        for s in self.m.signals.values():
            if s.node.op == LOAD:
                yield from self._address(s.node)
            else:
                yield from (SPACES["computed"], computed)
                computed += 1

    # ---- names and structure

    @cached_property
    def _written(self) -> list[Written]:
        """The user's own expressions that change in time; a value that is not finite is traced back to them."""
        return [w for w in self.m.written if not _only(w.node, _P)]

    def _constant_names(self) -> list[str]:
        """Those of expressions of parameters bear the text of the user's that they are, or stand in."""
        places, names = self.constants.anonymous, list(self.constants.names)
        seen: set[Node] = set()
        for w in self.m.written if places else ():
            waiting = [w.node]
            while waiting:
                node = waiting.pop()
                if node in places and node not in seen:
                    names[places[node]] = _as_written(w)
                waiting += [a for a in node.args if a not in seen]
                seen.add(node)
        whole: dict[Node, Written] = {}
        for w in self.m.written:
            known = whole.get(w.node)
            if w.node.args and (known is None or w.path.startswith(f"{known.path.partition('[')[0]}.")):
                whole[w.node] = w  # with its field, where that comes later
        named = zip(self.constants.nodes, names, strict=True)
        return [_as_written(whole[node]) if node in whole else name for node, name in named]

    def _rows_with_sides(self) -> Iterator[int]:
        """For each side whose branches meet the first row of the primitive that has it, else -1."""
        first = 0
        for constraint in self.m.constraints:
            for primitive in constraint.primitives:
                yield from (first if side.meets else -1 for side in primitive.sides if constraint.active)
                first += len(primitive.rows)

    def _names(self) -> dict[str, bytes]:
        solved = [s.label for s in self.m.states] + [y.label for y in self.m.unknowns]
        labels = [*(c.label for c in self.m.coordinates), *self.lam, *solved]
        groups = [*(c.node for c in self.m.coordinates), *(c.label for c, _ in self.rows), *solved]
        numbers: dict[str, int] = {}
        for group in groups:
            numbers.setdefault(group, len(numbers))
        rotational = [c.unit == "rad" for c in self.m.coordinates] + [row.unit == "rad" for _, row in self.rows]
        rotational += [False] * len(solved)
        bodies = self.m.description.bodies
        held = [c.node in bodies and bodies[c.node].held for c in self.m.coordinates]
        kinds = [(i.level == "velocity", i.required, i.unit.startswith("rad")) for i in self.m.initials]
        return {
            "levels": ints(_LEVELS.index(row.level) for _, row in self.rows),
            "held": ints(held),
            "drives": ints(c.drives for c, _ in self.rows),
            "periodic": ints(k for k, (_, row) in enumerate(self.rows) if row.periodic),
            "sides": lines(side.label for side in self.m.sides),
            "siderows": ints(self._rows_with_sides()),
            "clabels": lines(i.label for i in self.m.initials),
            "ckinds": ints(k for kind in kinds for k in kind),
            "cnames": lines(self._constant_names()),
            "enames": lines(name for table in TABLES for name in self.elements[table]),
            "wlabels": lines(map(_as_written, self._written)),
            "elabels": lines(label for label, _ in self.efforts),
            "labels": lines(labels),
            "nodes": ints(numbers[group] for group in groups),
            "scales": ints(rotational),
            "signals": text(json.dumps(self._signal_table(), separators=(",", ":"))),
        }

    @property
    def _indicators(self) -> list[Event | Crossing | Impact]:
        return [*self.m.events, *self.m.crossings, *self.m.impacts]

    @property
    def _settings(self) -> list[tuple[int, Setting]]:
        """What events set, event by event."""
        return [(k, setting) for k, e in enumerate(self.m.events) for setting in e.settings]

    def _switches(self) -> dict[str, bytes]:
        """Rows that are off at the start, what is watched, and what events switch and set."""
        rows: dict[str, list[int]] = {}
        for k, (c, _) in enumerate(self.rows):
            rows.setdefault(c.label, []).append(k)
        kinds = [EVENT] * len(self.m.events) + [CROSSING] * len(self.m.crossings) + [IMPACT] * len(self.m.impacts)
        places = [(0, 0)] * (len(kinds) - len(self.m.impacts))
        places += [(rows[i.label][0], at) for i, at in zip(self.m.impacts, self.impact_at, strict=True)]
        consistent = SOLVED | {"v"} if self.rows else SOLVED
        table = [
            (kind, kind != IMPACT and any(s.value[0] in consistent for s in one.indicator.support), *place)
            for kind, one, place in zip(kinds, self._indicators, places, strict=True)
        ]
        actions = [(k, row, on) for k, e in enumerate(self.m.events) for label, on in e.actions for row in rows[label]]
        return {
            "inactive": ints(k for k, (c, _) in enumerate(self.rows) if not c.active),
            "gapnames": lines(self.m.gaps),
            "gaptable": ints(
                n
                for at, gap in zip(self.extent_at, self.m.gaps.values(), strict=True)
                for n in (at, gap.rigid, gap.last_push)
            ),
            "evnames": lines(one.name for one in self._indicators),
            "evtable": ints(n for row in table for n in row),
            "actions": ints(n for action in actions for n in action),
            "setstates": ints(n for k, setting in self._settings for n in (k, self.x[setting.state])),
            "setlabels": lines(setting.label for _, setting in self._settings),
        }

    def _signal_table(self) -> dict[str, Any]:
        """The signal table as data, for hosts that have only the blob."""
        d = self.m.description
        keys = ("name", "unit", "causality", "variability", "start", "minimum", "maximum", "text")
        rows = [{k: v for k in keys if (v := getattr(s, k)) not in (None, "")} for s in self.m.signals.values()]
        return {"name": d.name, "text": d.text, "signals": rows}
