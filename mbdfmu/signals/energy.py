"""Energy and power of the whole model as signals; must not know any element by name.

The balance (T10.3) is a check of everything that the equations are made of: it is formed from energies, efforts and
constraint rows, not from the equations, and is zero where accelerations and reactions solve these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mbdfmu.coordinates import SOLVED
from mbdfmu.expressions import Node
from mbdfmu.expressions.graph import postorder
from mbdfmu.expressions.opcodes import ADD, DIV, LOAD, MUL, NEG, SUB
from mbdfmu.frames import Row
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.table import Signal

WHOLE = "has the name of a signal of the whole model; call it otherwise"
_SUMS = frozenset({ADD, SUB, NEG})
_SUPPLIED = "energy.supplied"
_NEVER = 1e100  # J, from which on its error counts: no step depends on it
_SWEEP = ("energy", "rate")  # under which derivatives along the motion are remembered


@dataclass(frozen=True, kw_only=True)
class Energies:
    """The terms of the energies (J), and the rates of those of bodies (W)."""

    kinetic: list[Node]  # of bodies
    gravity: list[Node]
    changes: list[Node]  # of both
    written: list[Node]  # of user-written coordinates


def add_energies(draft: Draft, energies: Energies, loads: Mapping[str, Node]) -> None:
    """The signals `energy.*` and `power.*`; `loads` are the forces on user-written coordinates."""
    graph = draft.graph
    moving = graph.sum([*energies.kinetic, *energies.written])
    stored = graph.sum([*(f.load.energy for f in draft.forces), *energies.gravity])
    _add(draft, "energy.kinetic", "J", moving, "of all bodies and coordinates")
    _add(draft, "energy.potential", "J", stored, _counted(draft))
    _add(draft, "energy.total", "J", moving + stored, "kinetic and potential")
    drives = graph.sum(_drives(draft))
    _add(draft, "power.drives", "W", drives, "of motions and of constraints that move with time")
    unknown = [f.name for f in draft.forces if any(s.value[0] in SOLVED for s in f.load.energy.support)]
    if not unknown:
        supplied = _add_balance(draft, energies, loads, drives)
        if draft.d.energy_balance:
            _add_sum(draft, moving + stored, supplied)
    elif draft.d.energy_balance:
        problem = f"the energy of force '{unknown[0]}' depends on an unknown, whose rate nobody knows; leave it out"
        draft.problems.append(f"energy_balance: {problem}")


def _counted(draft: Draft) -> str:
    """What the potential energy holds, and which given forces may have one that nobody knows."""
    text = "gravity on bodies and springs; forces on user-written coordinates have no known potential"
    placed = [f.name for f in draft.forces if any(s.value[0] == "q" for node in f.load.beyond for s in node.support)]
    if not placed:
        return text
    names = ", ".join(f"'{name}'" for name in placed)
    return f"{text}, nor has what is given by expressions of places in {names}"


def _add_sum(draft: Draft, total: Node, power: Node) -> None:
    """The state that sums up the power, and what is left of the energy without it."""
    text = "what power.applied and power.drives have given since the start; its error is not controlled"
    label = f"state '{_SUPPLIED}'"
    supplied = draft.state(_SUPPLIED, label=label, unit="J", text=text, nominal=_NEVER)
    draft.holds(_SUPPLIED, draft.graph.symbol("xd", _SUPPLIED) - power)
    _add(draft, "energy.balance", "J", total - supplied, f"energy.total less {_SUPPLIED}, which stays as it is")


def _add_balance(draft: Draft, energies: Energies, loads: Mapping[str, Node], drives: Node) -> Node:
    """The power from outside, as signals and whole."""
    graph = draft.graph
    efforts = graph.sum([*_efforts(draft), *_on_coordinates(draft, energies.written, loads)])
    springs = graph.sum(_rates(draft, [f.load.energy for f in draft.forces]))
    changes = graph.sum([*energies.changes, *map(draft.motion.rate, energies.written)])
    text = "of all forces beyond what their elements give from their stored energy"
    _add(draft, "power.applied", "W", efforts + springs, text)
    text = "change of energy.total less power.applied and power.drives; zero but for rounding"
    _add(draft, "power.balance", "W", changes - efforts - drives, text)
    return efforts + springs + drives


def _add(draft: Draft, name: str, unit: str, node: Node, text: str) -> None:
    if name in draft.signals:
        draft.problems.append(f"{name} {WHOLE}")
    draft.add(Signal(name=name, unit=unit, node=node, text=text))


def _rates(draft: Draft, stored: list[Node]) -> Iterator[Node]:
    """Time derivatives by one forward sweep, the shorter form where the Jacobian asks for no part of them."""
    symbols = sorted({s for node in stored for s in node.support}, key=lambda s: s.index)
    rates = {s: rate for s in symbols if (rate := draft.motion.rate(s)) is not draft.graph.zero}
    return (draft.graph.along(node, rates, _SWEEP) for node in stored)


def _efforts(draft: Draft) -> Iterator[Node]:
    """What the forces do on coordinates: what moves an end or a surface without any does work from outside."""
    efforts = [effort for force in draft.forces for effort in force.load.efforts]
    degrees = _degrees(effort.rate for effort in efforts)
    for effort in efforts:
        if degrees[effort.rate] == 1:
            yield effort.effort * effort.rate
        else:
            speeds = [s for s in effort.rate.support if s.value[0] == "v"]
            yield effort.effort * (effort.rate - _without(effort.rate, speeds))


def _degrees(nodes: Iterable[Node]) -> dict[Node, int | None]:
    """The degree in velocities of all nodes below: 0, 1, or None for what is of no or another degree.

    A look at every node is cheaper than setting the velocities to zero in all rates to find that nothing is left.
    """
    found: dict[Node, int | None] = {}
    for node in postorder(nodes):
        of = [found[a] for a in node.args]
        if node.op == LOAD:
            found[node] = int(node.value[0] == "v")
        elif node.op in _SUMS:
            found[node] = of[0] if of.count(of[0]) == len(of) else None
        elif node.op == MUL and None not in of:
            found[node] = sum(of) if sum(of) < 2 else None  # type: ignore[arg-type]
        elif node.op == DIV and of[1] == 0:
            found[node] = of[0]
        else:
            found[node] = None if any(d != 0 for d in of) else 0
    return found


def _without(node: Node, symbols: Iterable[Node]) -> Node:
    """The node where some symbols are zero."""
    zero: dict[Node, Node | float] = dict.fromkeys(sorted(symbols, key=lambda s: s.index), 0.0)
    return node.graph.substitute([node], zero)[0] if zero else node


def _on_coordinates(draft: Draft, written: Iterable[Node], loads: Mapping[str, Node]) -> Iterator[Node]:
    """Of forces on user-written coordinates; they may contain the velocity terms of the mass matrix (T2.5)."""
    for name, load in loads.items():
        yield load * draft.graph.symbol("v", name)
    if draft.d.velocity_terms == "given":
        for term in written:
            yield draft.motion.rate(term, accelerations=False)


def _drives(draft: Draft) -> Iterator[Node]:
    """What constraint rows do: -lambda times what their gradient makes of the velocities."""
    for constraint in draft.constraints:
        for row in (row for primitive in constraint.primitives for row in primitive.rows):
            speed = _speed(draft, row)
            if speed is not draft.graph.zero:
                yield -draft.graph.symbol("lam", f"{constraint.label} ({row.direction})") * speed


def _speed(draft: Draft, row: Row) -> Node:
    """G v of a row that holds, by what moves it: rows of position say -Phi_t, rows of velocity -b."""
    graph, moving = draft.graph, {"velocity": "v", "acceleration": "a"}.get(row.level)
    symbols = sorted((s for s in row.value.support if s.value[0] == moving), key=lambda s: s.index)
    if row.level == "position":
        return -graph.rate(row.value, {graph.symbol("t", "time"): draft.motion.pace})
    if row.level == "velocity":
        return -_without(row.value, symbols)
    return graph.sum(graph.diff(row.value, s) * graph.symbol("v", s.value[1]) for s in symbols)
