"""Which inputs a signal answers to at once, at fixed time and state; must not know XML, types or settings.

Positions and states stay when an input jumps. Accelerations, reactions, rates of states and algebraic variables are
solved for, each by an equation (a force balance, a constraint, its own): an input reaches an unknown along the
equations that hold each other's unknowns. So do velocities, which are reported on the constraints, by the impulses that
bring them there. That is sharp for bodies that only springs connect, and never claims less than there is: on the
diagonal of the system every unknown counts as being in its own equation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from mbdfmu.coordinates import ROTATIONS
from mbdfmu.expressions import Node
from mbdfmu.lowering import Lowered
from mbdfmu.signals import Constraint

_GIVEN = frozenset(["u", "ud"])
_SOLVED = frozenset(["a", "lam", "xd", "y", "ext", "v", "impulse"])
_VELOCITIES = frozenset(["v", "impulse"])
_OF_LEVEL = {"velocity": "v", "acceleration": "a"}
Unknown = tuple[str, str]  # space and name of its symbol


class Dependencies:
    """Answers for every signal of one model."""

    def __init__(self, lowered: Lowered) -> None:
        self._model = lowered.model
        self._equations: dict[Unknown, set[Unknown]] = {}  # of every unknown: the symbols in its equation
        self._collect()
        self._reached: dict[Unknown, frozenset[str]] = {}

    def inputs_of(self, node: Node) -> set[str]:
        """Names of the inputs that move the value at fixed time and state."""
        symbols = {s.value for s in node.support}
        found = {name for space, name in symbols if space in _GIVEN}
        for unknown in symbols:
            if unknown[0] in _SOLVED:
                found |= self.inputs_reaching(unknown)
        return found

    def at_start(self, node: Node) -> set[str]:
        """Names of the parameters and inputs that the value at the start follows from."""
        symbols = {s.value for s in node.support}
        found = {name for space, name in symbols if space == "p"} | self.inputs_of(node)
        if any(space not in ("p", "u", "ud", "t") for space, _ in symbols):  # assembly and masses: all parameters
            found |= {s.name for s in self._model.parameters} | self._in_constraints()
        return found

    def inputs_reaching(self, unknown: Unknown) -> frozenset[str]:
        """Names of the inputs in all the equations that an unknown follows from."""
        if unknown not in self._reached:
            self._reached[unknown] = frozenset(name for space, name in self.reached([unknown]) if space in _GIVEN)
        return self._reached[unknown]

    def inputs_whose_rate_is_felt(self) -> frozenset[str]:
        """Names of the inputs on whose speed anything depends: forces, rows of positions and velocities, signals."""
        equations = chain.from_iterable(self._equations.values())
        signals = chain.from_iterable(_symbols(s.node) for s in self._model.signals.values())
        return self._in_constraints() | {name for space, name in chain(equations, signals) if space == "ud"}

    def reached(self, symbols: Iterable[Unknown], *, given_velocities: bool = False) -> set[Unknown]:
        """The symbols themselves, and those in the equations that have to be solved for them.

        `given_velocities`: these are not brought onto the constraints, but as they are set (model exchange).
        """
        solved = _SOLVED - _VELOCITIES if given_velocities else _SOLVED
        seen = set(symbols)
        waiting = [symbol for symbol in seen if symbol[0] in solved]
        while waiting:
            new = self._equations.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += [symbol for symbol in new if symbol[0] in solved]
        return seen

    # ---- equations

    def _collect(self) -> None:
        self._collect_masses()
        self._collect_forces()
        for constraint in self._model.constraints:
            self._add_constraint(constraint)
        for state in self._model.states:
            self._add(("xd", state.name), _symbols(state.equation))
        for unknown in self._model.unknowns:
            self._add(("y", unknown.name), _symbols(unknown.equation))
        for function in self._model.functions:
            inside = {symbol for node in function.inputs for symbol in _symbols(node)}
            for value in function.symbols:
                self._add(("ext", value), inside)

    def _collect_masses(self) -> None:
        spatial = self._model.bodies if self._model.dimensions == 3 else []
        coupled = [[f"{body.name}.{rotation}" for rotation in ROTATIONS] for body in spatial]  # products of inertia
        for names in (*coupled, *self._model.mass_matrix):
            for one in names:
                self._add(("a", one), [(space, other) for other in names for space in "av"])
                self._add(("v", one), [("v", other) for other in names])

    def _collect_forces(self) -> None:
        for coordinate, force in self._model.generalized_forces.items():
            self._add(("a", coordinate), _symbols(force))
        shares = (share for term in self._model.forces for share in term.load.shares)
        for effort in (effort for share in shares for effort in share.efforts):
            inside = [*_symbols(effort.effort), *(s for s in _symbols(effort.rate) if s[0] in _GIVEN)]
            for space, name in _symbols(effort.rate):
                if space == "v":
                    self._add(("a", name), inside)

    def _add_constraint(self, constraint: Constraint) -> None:
        """A row G a = gamma holds accelerations and inputs, and its reaction pushes what it holds."""
        for row in (row for primitive in constraint.primitives for row in primitive.rows):
            name, symbols = f"{constraint.label} ({row.direction})", list(_symbols(row.value))
            if row.level == "position":
                held = list(self._model.motion.of(row.value))
            else:
                held = [name for space, name in symbols if space == _OF_LEVEL[row.level]]
            given = [symbol for symbol in symbols if symbol[0] in _GIVEN]
            speeds = [("v", other) for other in held]
            self._add(("lam", name), [*symbols, *speeds, *(("a", other) for other in held)])
            self._add(("impulse", name), [*given, *speeds] if row.level != "acceleration" else [])
            for other in held:  # the direction of the reaction may be an input's too
                self._add(("a", other), [("lam", name), *given])
                self._add(("v", other), [("impulse", name)])

    def _add(self, unknown: Unknown, symbols: Iterable[Unknown]) -> None:
        self._equations.setdefault(unknown, set()).update(symbols)

    def _in_constraints(self) -> frozenset[str]:
        rows = (row for c in self._model.constraints for p in c.primitives for row in p.rows)
        return frozenset(name for row in rows if row.level != "acceleration"
                         for space, name in _symbols(row.value) if space in _GIVEN)  # fmt: skip


def _symbols(node: Node) -> Iterator[Unknown]:
    return (symbol.value for symbol in node.support)
