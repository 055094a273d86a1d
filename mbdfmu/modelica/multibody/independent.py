"""Which coordinates of the joints are free to start anywhere, and which rows repeat others; must not know any text.

Both follow from the rows of the loops at the start, seen from the tree: with the joints' coordinates c the velocities
are v = B dc/dt, where B solves the rows of the tree's joints beside those that measure its coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbdfmu.description import GROUND
from mbdfmu.expressions import Node, evaluate
from mbdfmu.frames import Row
from mbdfmu.modelica.balances import gradient, slopes
from mbdfmu.modelica.freedoms import given_places
from mbdfmu.modelica.multibody.tree import Tree
from mbdfmu.modelica.start import Start
from mbdfmu.signals import SymbolicModel

_SLIGHT = 1e-2  # of a row of length one: a coordinate that hardly closes it
_REPEATS = 1e-8  # what is left of a row that repeats others, of what it was
Place = Callable[[Node], Node]  # a node at the start
Entries = list[tuple[str, Node]]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Choice:
    """What the start decides.

    Coordinates, as (joint or `BODY free`, key), and their rates that follow from loops; rows that repeat others, and
    joints which cannot close a loop of the library since some of their rows do. `closes`: what is closed by
    accelerations is among the loops; else one of its coordinates is an angle of a ball or of a body that is free in
    space, of which the library fixes all or none: then all start as they are said to.
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


def choose(model: SymbolicModel, tree: Tree, begin: Place, start: Start) -> Choice:
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
    keys, coordinates = _coordinates(model, tree)
    jacobian = _Jacobian(model, begin, start)
    rows = jacobian.of([*(gradient(model, row) for row in held), *coordinates])
    right = np.zeros((rows.shape[0], len(keys)))
    right[len(held) :] = np.eye(len(keys))
    tangent = np.linalg.solve(rows, right)  # the rows of a tree are independent, as many as unknowns

    def seen(given: list[tuple[int, Row]]) -> Array:
        """Rows of length one, in coordinates of the tree."""
        found = jacobian.of([gradient(model, row) for _, row in given])
        scaled: Array = found / np.linalg.norm(found, axis=1, keepdims=True) @ tangent
        return scaled

    first, written_out = seen([]), set()
    for name, given in loops.items():
        both = np.vstack((first, seen(given)))
        if redundant and len(_pivots(both.T)) < len(both):
            written_out.add(name)
            own += given
        else:
            first = both
    repeated = _repeated([k for k, _ in own], _without(seen(own), first), redundant) if redundant else frozenset()
    local = {f"joint '{name}'": name for name in tree.local}
    written_out |= {local[label] for k, label, *_ in numbered(model) if k in repeated and label in local}
    late, whole = _given(model, tree, start, keys), {k for k, key in enumerate(keys) if _is_of_three(model, key)}
    closing = [one for one in own if one[0] not in repeated]
    places = np.vstack((first, seen(closing)))
    rates = np.vstack((places, seen([one for one in speeds if one[0] not in repeated])))
    found = [_pivots(each, late, whole) for each in (places, rates)]
    closes = not whole & {*found[0], *found[1]} and [len(f) for f in found] == [len(places), len(rates)]
    if not closes:
        found = [_pivots(first, late)] * 2
    dependent, moving = (frozenset(keys[k] for k in each) for each in found)
    return Choice(dependent, moving, closes, repeated, frozenset(written_out))


def _given(model: SymbolicModel, tree: Tree, start: Start, keys: Sequence[tuple[str, str]]) -> set[int]:
    """Coordinates of joints that a start or a motion is given for, or whose body is given a number."""
    places, d = given_places(model, start), model.description
    driven = {motion.of for motion in d.motions.values()}

    def is_given(joint: str, key: str) -> bool:
        if joint not in tree.joints:
            return key in places
        words = {key, f"{key}_rate"}
        bodies = [frame.body for frame in model.joined[joint].ends if frame.body != GROUND]
        turned = key == "angle" and all(f"{body}.phi" in places for body in bodies)
        return turned or bool(words & {*d.joints[joint].start}) or bool({f"{joint}.{word}" for word in words} & driven)

    return {k for k, one in enumerate(keys) if is_given(*one)}


def _is_of_three(model: SymbolicModel, key: tuple[str, str]) -> bool:
    """Of a ball or of a body that is free in space: the library fixes the start of all three or of none."""
    owner, coordinate = key
    free = owner.endswith(" free") and owner.removesuffix(" free") in model.description.bodies
    return coordinate.startswith("turn ") or (free and model.dimensions == 3)


def _repeated(numbers: Sequence[int], rows: Array, redundant: Collection[int]) -> frozenset[int]:
    """The numbers of rows that others make up: the solver's choice as far as these rows know of the same others."""
    kept: list[int] = []
    for late in (False, True):
        own = [n for n, k in enumerate(numbers) if (k in redundant) is late]
        kept += [own[n] for n in _pivots(_without(rows[own], rows[kept]).T)]
    return frozenset(k for n, k in enumerate(numbers) if n not in kept)


def _coordinates(model: SymbolicModel, tree: Tree) -> tuple[list[tuple[str, str]], list[Entries]]:
    """The coordinates of the tree, and how each of them moves with the velocities of bodies."""
    keys: list[tuple[str, str]] = []
    rows: list[Entries] = []
    for joint, fact in tree.joints.items():
        for key in fact.coordinates:
            keys.append((joint, key))
            rows.append(slopes(model, model.signals[f"{joint}.{key}_rate"].node))
        if fact.turns:
            i, j = model.joined[joint].ends
            for k, entries in enumerate(_spins(model, i.body, j.body)):
                keys.append((joint, f"turn {k}"))
                rows.append(entries)
    free = set(tree.free)
    for c in model.coordinates:
        if c.node in free or c.node not in model.description.bodies:
            keys.append((f"{c.node} free", c.name))
            rows.append([(c.name, model.graph.one)])
    return keys, rows


def _spins(model: SymbolicModel, i: str, j: str) -> Iterator[Entries]:
    """Angular velocity of j less that of i, in ground axes."""
    symbol = model.graph.symbol
    bodies = [(body, sign) for body, sign in ((i, -1.0), (j, 1.0)) if body in model.description.bodies]
    for axis in range(3):
        yield [
            (f"{body}.theta_{k}", sign * symbol("r", f"{body}.r{axis}{n}"))
            for body, sign in bodies for n, k in enumerate("xyz")
        ]  # fmt: skip


class _Jacobian:
    def __init__(self, model: SymbolicModel, begin: Place, start: Start) -> None:
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


def _pivots(matrix: Array, late: Collection[int] = (), last: Collection[int] = ()) -> list[int]:
    """As many columns as the rank, each the longest of what the others leave; rows were of length one.

    Columns in `late`, and after them those in `last`, are taken only where all others are slight.
    """
    left, found = matrix.astype(float).copy(), []
    rank = np.array([(k in late) + 2 * (k in last) for k in range(matrix.shape[1])])
    for _ in range(min(matrix.shape)):
        lengths = np.linalg.norm(left, axis=0)
        if lengths.max(initial=0.0) <= _REPEATS:
            break
        heavy = np.where(lengths > _SLIGHT, rank, 4)
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
