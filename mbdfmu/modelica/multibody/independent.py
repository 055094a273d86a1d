"""Which coordinates of the joints are free to start anywhere, and which rows repeat others; must not know any text.

Both follow from the rows of the loops at the start, seen from the tree: with the joints' coordinates c the velocities
are v = B dc/dt, where B solves the rows of the tree's joints beside those that measure its coordinates. What turns
freely has three angles for coordinates, and an angular velocity for their rates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbdfmu.description import GROUND
from mbdfmu.expressions import Node, evaluate
from mbdfmu.frames import Row
from mbdfmu.modelica.balances import gradient, is_rotation, slopes
from mbdfmu.modelica.freedoms import given
from mbdfmu.modelica.multibody.beginning import TURN, Beginning, Turn
from mbdfmu.modelica.multibody.tree import Tree
from mbdfmu.modelica.start import Start
from mbdfmu.signals import SymbolicModel

_SLIGHT = 1e-2  # of a row of length one: a coordinate that hardly closes it
_REPEATS = 1e-8  # what is left of a row that repeats others, of what it was
Entries = list[tuple[str, Node]]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Choice:
    """What the start decides.

    Coordinates, as (joint or `BODY free`, key), and their rates that follow from loops; rows that repeat others, and
    joints which cannot close a loop of the library since some of their rows do. `closes`: what is closed by
    accelerations is among the loops; else, in a pose in which that says nothing of some coordinate, all start as they
    are said to.
    """

    dependent: frozenset[tuple[str, str]]
    rates: frozenset[tuple[str, str]]
    closes: bool
    repeated: frozenset[int]
    written_out: frozenset[str]


def numbered(model: SymbolicModel) -> Iterator[tuple[int, str, Row, bool]]:
    """All constraint rows with the label of their element, and whether they are active."""
    rows = ((c.label, row, c.active) for c in model.constraints for p in c.primitives for row in p.rows)
    for k, (label, row, active) in enumerate(rows):
        yield k, label, row, active


def choose(model: SymbolicModel, tree: Tree, begin: Beginning, start: Start) -> Choice:
    """At the start, with the rows that the solver lets go there since they repeat others."""
    redundant = start.redundant
    carrying = labels(tree.joints)
    if not any(active and row.level != "acceleration" and label not in carrying
               for _, label, row, active in numbered(model)):  # fmt: skip
        return Choice(frozenset(), frozenset(), True, frozenset(), frozenset())
    names = {f"joint '{name}'": name for name in (*tree.joints, *tree.closing)}
    loops: dict[str, list[tuple[int, Row]]] = {name: [] for name in tree.closing}
    held: list[Row] = []
    own: list[tuple[int, Row]] = []
    speeds: list[tuple[int, Row]] = []
    for k, label, row, active in numbered(model):
        name = names.get(label, "")
        if name in loops:
            loops[name].append((k, row))
        elif name:
            held.append(row)
        elif active and row.level != "acceleration":
            (own if row.level == "position" else speeds).append((k, row))
    keys, *coordinates = _coordinates(model, tree, begin)
    jacobian = _Jacobian(model, begin, start)
    below = [gradient(model, row) for row in held]
    tangents = [_tangent(jacobian.of([*below, *rows]), len(held)) for rows in coordinates]

    def seen(rows: list[tuple[int, Row]], level: int = 0) -> Array:
        """Rows of length one, in coordinates of the tree (level 0) or their rates (1)."""
        found = jacobian.of([gradient(model, row) for _, row in rows])
        scaled: Array = found / np.linalg.norm(found, axis=1, keepdims=True) @ tangents[level]
        return scaled

    first, written_out = seen([]), set()
    for name, rows in loops.items():
        both = np.vstack((first, seen(rows)))
        if redundant and len(_pivots(both.T)) < len(both):
            written_out.add(name)
            own += rows
        else:
            first = both
    repeated = _repeated([k for k, _ in own], _without(seen(own), first), redundant) if redundant else frozenset()
    local = {f"joint '{name}'": name for name in tree.local}
    written_out |= {local[label] for k, label, *_ in numbered(model) if k in repeated and label in local}
    ranks = _ranks(model, tree, start, keys)
    closing = [one for one in own if one[0] not in repeated]
    places = np.vstack((first, seen(closing)))
    library = [one for name, rows in loops.items() if name not in written_out for one in rows]
    moved = [*library, *closing, *(one for one in speeds if one[0] not in repeated)]
    rates = seen(moved, 1)
    found = [_pivots(each, rank) for each, rank in zip((places, rates), ranks, strict=True)]
    closes = [len(f) for f in found] == [len(places), len(rates)]
    if not closes:
        found = [_pivots(first, rank) for rank in ranks]
    dependent, moving = (frozenset(keys[k] for k in each) for each in found)
    return Choice(dependent, moving, closes, repeated, frozenset(written_out))


def _ranks(model: SymbolicModel, tree: Tree, start: Start, keys: Sequence[tuple[str, str]]) -> tuple[Array, Array]:
    """How late coordinates, and rates, are to follow from others.

    Late are those that a start or a motion is given for, or of whose body a number is given; where the number is of
    the velocity, the rate is later. Last are those of what turns freely.
    """
    d = model.description
    driven = {motion.of for motion in d.motions.values()}

    def is_given(joint: str, key: str, numbers: set[str]) -> bool:
        if joint not in tree.joints:
            return key in numbers
        words = {key, f"{key}_rate"}
        bodies = [frame.body for frame in model.joined[joint].ends if frame.body != GROUND]
        turned = key == "angle" and all(f"{body}.phi" in numbers for body in bodies)
        return turned or bool(words & {*d.joints[joint].start}) or bool({f"{joint}.{word}" for word in words} & driven)

    by_level = given(model, start)
    places, speeds = (
        np.array([is_given(*key, by_level[level]) for key in keys], dtype=int) for level in ("position", "velocity")
    )
    last = 4 * np.array([key.startswith(TURN) for _, key in keys], dtype=int)
    return places + last, places + 2 * speeds + last


def _tangent(rows: Array, held: int) -> Array:
    """Of the velocities, by coordinate: the first rows hold, the others measure one each."""
    right = np.zeros((rows.shape[0], rows.shape[0] - held))
    right[held:] = np.eye(rows.shape[0] - held)
    found: Array = np.linalg.solve(rows, right)  # the rows of a tree are independent, as many as unknowns
    return found


def _repeated(numbers: Sequence[int], rows: Array, redundant: Collection[int]) -> frozenset[int]:
    """The numbers of rows that others make up: the solver's choice as far as these rows know of the same others."""
    kept: list[int] = []
    for late in (False, True):
        own = [n for n, k in enumerate(numbers) if (k in redundant) is late]
        kept += [own[n] for n in _pivots(_without(rows[own], rows[kept]).T)]
    return frozenset(k for n, k in enumerate(numbers) if n not in kept)


def _coordinates(
    model: SymbolicModel, tree: Tree, begin: Beginning
) -> tuple[list[tuple[str, str]], list[Entries], list[Entries]]:
    """The coordinates of the tree; how each of them, and how its rate, comes from the velocities of bodies."""
    keys: list[tuple[str, str]] = []
    places: list[Entries] = []
    rates: list[Entries] = []

    def turning(owner: str, turn: Turn) -> None:
        for k, (angle, spin) in enumerate(zip(turn.angles, turn.spin, strict=True)):
            keys.append((owner, f"{TURN}{k}"))
            places.append(slopes(model, model.rate(angle)))
            rates.append(slopes(model, spin))

    def moving(owner: str, key: str, entries: Entries) -> None:
        keys.append((owner, key))
        places.append(entries)
        rates.append(entries)

    for joint, fact in tree.joints.items():
        for key in fact.coordinates:
            moving(joint, key, slopes(model, model.signals[f"{joint}.{key}_rate"].node))
        if fact.turns:
            turning(joint, begin.between(joint))
    free, bodies = set(tree.free), model.description.bodies
    for c in model.coordinates:
        if (c.node in free or c.node not in bodies) and not is_rotation(c):
            moving(f"{c.node} free", c.name, [(c.name, model.graph.one)])
    for body in tree.free if model.dimensions == 3 else []:
        turning(f"{body} free", begin.turned(body))
    return keys, places, rates


class _Jacobian:
    def __init__(self, model: SymbolicModel, begin: Beginning, start: Start) -> None:
        self._columns = {c.name: k for k, c in enumerate(model.coordinates)}
        self._begin = begin
        self._numbers = {s.node: start.values[s.name] for s in (*model.parameters, *model.inputs)}

    def of(self, rows: Sequence[Entries]) -> Array:
        """The numbers at the start."""
        found = np.zeros((len(rows), len(self._columns)))
        places = [(k, self._columns[name], self._begin(node)) for k, row in enumerate(rows) for name, node in row]
        for (k, column, _), value in zip(places, evaluate([n for *_, n in places], self._numbers), strict=True):
            found[k, column] = value
        return found


def _pivots(matrix: Array, ranks: Array | None = None) -> list[int]:
    """As many columns as the rank, each the longest of what the others leave; rows were of length one.

    Columns of a higher rank are taken only where all others are slight.
    """
    left, found = matrix.astype(float).copy(), []
    ranks = np.zeros(matrix.shape[1]) if ranks is None else ranks
    for _ in range(min(matrix.shape)):
        lengths = np.linalg.norm(left, axis=0)
        if lengths.max(initial=0.0) <= _REPEATS:
            break
        heavy = np.where(lengths > _SLIGHT, ranks, np.inf)
        k = int(np.argmax(np.where(heavy == heavy.min(), lengths, 0.0)))
        found.append(k)
        direction = left[:, k] / lengths[k]
        left -= np.outer(direction, direction @ left)
    return found


def _without(rows: Array, others: Array) -> Array:
    """What rows are apart from others."""
    if not len(others) or not len(rows):
        return rows
    _, sizes, directions = np.linalg.svd(others, full_matrices=False)
    basis = directions[sizes > _REPEATS]
    apart: Array = rows - (rows @ basis.T) @ basis
    return apart


def labels(names: Iterable[str]) -> set[str]:
    """Of joints, as their constraints carry them."""
    return {f"joint '{name}'" for name in names}
