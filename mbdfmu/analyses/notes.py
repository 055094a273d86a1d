"""What is odd about a model although it can be computed; must not know how this is shown."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import numpy as np

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.redundancy import Redundancy
from mbdfmu.description.parts import Element
from mbdfmu.expressions import OPCODES, Node
from mbdfmu.signals import SymbolicModel

ROUNDING = 1e-6  # of the sum of the other two: what a flat body's inertia may be off by
FEWEST_TRIES, MANY, MOST_NAMED = 20, 0.25, 4  # of tries that fail: from which on it is said; of names
KINKS = {OPCODES[name] for name in ("ABS", "MIN", "MAX", "SIGN", "SELECT", "FLOOR", "LOOKUP")}
SAME = 1e-9  # of a number of steps, as in solver/driver.cpp
ALIGNED = 1e-9  # of the largest moment: products below it turn no axis


def unreal_inertias(model: SymbolicModel, tensors: Vector) -> Iterator[str]:
    """Moments of spatial bodies (rows xx yy zz xy xz yz) of which one exceeds the sum of the other two."""
    real = [(body, row) for body, row in zip(model.bodies, tensors, strict=True) if np.isfinite(row).all()]
    for body, (xx, yy, zz, xy, xz, yz) in real:
        moments, names = np.array([xx, yy, zz]), [f"inertia {{:g}} about {axis}" for axis in "xyz"]
        if np.abs([xy, xz, yz]).max() > ALIGNED * np.abs(moments).max():
            moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            names = ["principal moment of inertia {:g}"] * 3
        k = int(np.argmax(moments))
        a, b = np.delete(moments, k)
        if moments[k] > (a + b) * (1 + ROUNDING):
            what = names[k].format(moments[k])
            yield f"body '{body.name}': {what} exceeds the sum of the others ({a:g} + {b:g}): no rigid body has that"


def large_angles(element: Element, path: str = "") -> Iterator[str]:
    """Numbers beyond a full turn where a file wants rad: degrees, most likely."""
    angles = {name for name, unit in element.units().items() if unit == "rad"}
    for name in type(element).model_fields:
        for where, value in _leaves(f"{path}{name}", getattr(element, name)):
            if isinstance(value, Element):
                yield from large_angles(value, f"{where}.")
            elif name in angles and isinstance(value, float | int) and abs(value) > 2 * math.pi:
                yield f'{where} is {value:g} rad, more than a full turn; degrees are written "{value:g}*deg"'


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """What mappings and lists hold, with its place."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{path}.{key}", one)
    elif isinstance(value, tuple | list):
        for k, one in enumerate(value):
            yield from _leaves(f"{path}[{k}]", one)
    else:
        yield path, value


class HalfTurns:
    """Which bushings in space have turned beyond half a turn, where their rotation vectors jump (T4.11)."""

    def __init__(self, index: Mapping[str, int], model: SymbolicModel) -> None:
        held = [name for name, force in model.description.forces.items() if force.type_name == "bushing"]
        shown = {name: [f"{name}.rotation_{k}" for k in "xyz"] for name in held}
        self._columns = {name: [index[k] for k in keys] for name, keys in shown.items() if keys[0] in index}
        self._before: dict[str, Vector] = {}
        self._first: dict[str, float] = {}  # when each was found beyond

    def __bool__(self) -> bool:
        return bool(self._columns)

    def see(self, time: float, values: Vector) -> None:
        """The values of all signals, one point after the other."""
        for name, columns in self._columns.items():
            now, before = values[columns], self._before.get(name)
            if before is not None and now @ before < 0 and min(now @ now, before @ before) > (0.5 * np.pi) ** 2:
                self._first.setdefault(name, time)
            self._before[name] = now

    def notes(self) -> Iterator[str]:
        """One for each that did."""
        for name, time in self._first.items():
            yield (
                f"bushing '{name}' passed half a turn before t = {time:.6g} s, where its rotation vector jumps to the "
                "other side and its torque with it; for turns that count use a joint with a rotational spring"
            )


def assembled(model: SymbolicModel, written: Vector, start: Vector, closed: float) -> str:
    """How far the start had to be moved from what is written; `closed` (m or rad) counts as nothing."""
    farthest = moved(model, written, start, closed)
    how = f"farthest, {farthest}" if farthest else "nothing has to move for that"
    return f"joints give start values, so the start is assembled: {how}"


def moved(model: SymbolicModel, written: Vector, start: Vector, closed: float) -> str:
    """What moves and turns farthest from where it is written."""
    return ", ".join(
        f"{max(moves, key=moves.__getitem__)} {word} {max(moves.values()):.3g} {unit}"
        for word, unit, moves in (
            ("moves by", "m", _moves(model, written, start, "m")),
            ("turns by", "rad", _moves(model, written, start, "rad") | _turns(model, written, start)),
        )
        if moves and max(moves.values()) > closed
    )


def _moves(model: SymbolicModel, written: Vector, start: Vector, unit: str) -> dict[str, float]:
    """By element, how far its coordinates of a unit move together."""
    squares: dict[str, float] = {}
    for k, c in enumerate(model.coordinates):
        if c.unit == unit:
            element = f"body '{c.node}'" if c.node in model.description.bodies else f"coordinate '{c.node}'"
            squares[element] = squares.get(element, 0.0) + float(start[k] - written[k]) ** 2
    return {element: square**0.5 for element, square in squares.items()}


def _turns(model: SymbolicModel, written: Vector, start: Vector) -> dict[str, float]:
    """By spatial body, the angle between its two orientations."""
    before, after = (q[len(model.coordinates) :].reshape(-1, 4) for q in (written, start))
    turns = {}
    for body, a, b in zip(model.bodies, before, after, strict=False):  # planar bodies have no quaternion
        chord = min(float(np.linalg.norm(b - a)), float(np.linalg.norm(b + a)))  # e and -e are one orientation
        turns[f"body '{body.name}'"] = 4 * math.asin(min(1.0, chord / 2))
    return turns


def shared_reactions(found: Sequence[Redundancy], model: SymbolicModel) -> list[str]:
    """What a reader of the reactions has to know where rows repeat others."""
    if not found:
        return []
    rows = dict.fromkeys(row for r in found for row in (r.label, *r.repeats))
    elements = list(dict.fromkeys(row.rpartition(" (")[0] for row in rows))
    laws = {f"force '{f.name}'": [e.effort for e in f.load.efforts] for f in model.forces}
    laws |= {f"coordinate '{name}'": [force] for name, force in model.generalized_forces.items()}
    laws |= {s.label: [s.equation] for s in model.states} | {y.label: [y.equation] for y in model.unknowns}
    readers = [name for name, nodes in laws.items() if any(_reads(node, rows) for node in nodes)]
    return [
        *(f"redundant: {r}" for r in found),
        f"reactions of {', '.join(elements)} are not unique; the smallest possible are reported",
        *(f"{name} depends on reactions that are not unique; so does the motion" for name in readers),
    ]


def failing(statistics: Mapping[str, float], at: int, model: SymbolicModel) -> list[str]:
    """Where many tries of a step failed at first: forces with kinks, of what the unknown `at` belongs to."""
    failed, tries = statistics["failed_iterations"], statistics["steps"] + statistics["rejected"]
    if tries < FEWEST_TRIES or failed < MANY * tries or at >= len(model.coordinates):
        return []
    kinked = _kinked(at, model)
    return [
        f"Newton's iteration failed at first in {failed} of {tries} tries of a step, most often at "
        f"{model.coordinates[at].label}"
        + (f", where forces have kinks: {kinked}; smooth them, or bound the steps by largest_step" if kinked else "")
    ]


def unfollowed_blow(note: str, at: int, model: SymbolicModel) -> list[str]:
    """A blow against the coordinate `at`, with the forces that it may be due to."""
    kinked = _kinked(at, model) if note else ""
    return [f"{note} (forces with kinks there: {kinked})" if kinked else note] if note else []


def _kinked(at: int, model: SymbolicModel) -> str:
    """Forces with kinks of what a coordinate belongs to."""
    moved = {c.name for c in model.coordinates if c.node == model.coordinates[at].node}
    kinked = [f"'{f.name}'" for f in model.forces if any(_has_kink(e.effort, moved) for e in f.load.efforts)]
    return ", ".join(kinked[:MOST_NAMED]) + (", .." if len(kinked) > MOST_NAMED else "")


def _has_kink(node: Node, moved: Container[str]) -> bool:
    """Whether an expression switches or bends by the motion of these coordinates."""
    seen, todo = set(), [node]
    while todo:
        one = todo.pop()
        if one.index in seen:
            continue
        seen.add(one.index)
        if one.op in KINKS and any(s.value[0] in ("q", "v") and s.value[1] in moved for s in one.support):
            return True
        todo += one.args
    return False


def unmet_switches(expressions: Iterable[str]) -> list[str]:
    """What may be passed over where an expression switches by time."""
    return [
        f"{expression} switches at times that cannot be found beforehand: a step may pass over what lasts shorter than "
        "it does; bound the steps by largest_step"
        for expression in expressions
    ]


def other_steps(wanted: float | None, interval: float) -> list[str]:
    """Where fixed steps are not those asked for: an output interval holds a whole number of them."""
    if not wanted or not interval > 0:
        return []
    taken = interval / max(1, math.ceil(interval / wanted * (1 - SAME)))
    if abs(taken - wanted) <= 1e-6 * wanted:
        return []
    cure = "choose an interval that is a multiple of the step"
    return [f"fixed steps of {taken:.6g} s are taken, not {wanted:g} s: outputs are {interval:g} s apart; {cure}"]


def silent_events(model: SymbolicModel, analysis: str) -> list[str]:
    """A note that events and impacts do not occur, where there are any."""
    names = [*(e.name for e in model.events), *(i.name for i in model.impacts)]
    return [f"events and impacts do not occur in {analysis}: {', '.join(names)}"] if names else []


def _reads(node: Node, rows: Container[str]) -> bool:
    """Whether a node depends on the reaction of one of these rows."""
    return any(s.value[0] == "lam" and s.value[1] in rows for s in node.support)
