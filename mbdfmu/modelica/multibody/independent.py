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

from mbdfmu.expressions import Node, evaluate
from mbdfmu.frames import Row
from mbdfmu.modelica.balances import gradient, slopes
from mbdfmu.modelica.multibody.tree import Tree
from mbdfmu.modelica.start import Start
from mbdfmu.signals import SymbolicModel

_REPEATS = 1e-8  # what is left of a row that repeats others, of what it was
Place = Callable[[Node], Node]  # a node at the start
Entries = list[tuple[str, Node]]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Choice:
    """What the start decides.

    Coordinates, as (joint or `BODY free`, key), that follow from loops of the library; rows that repeat others, and
    joints which cannot close a loop of the library since some of their rows do.
    """

    dependent: frozenset[tuple[str, str]]
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
    if not (tree.closing or redundant):
        return Choice(frozenset(), frozenset(), frozenset())
    names = {f"joint '{name}'": name for name in (*tree.joints, *tree.closing)}
    loops: dict[str, list[tuple[int, Row]]] = {name: [] for name in tree.closing}
    held, own = [], []
    for k, label, row, active in numbered(model):
        name = names.get(label, "")
        if name in loops:
            loops[name].append((k, row))
        elif name:
            held.append(row)
        elif active and row.level == "position":
            own.append((k, row))
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
    dependent = {keys[k] for k in _pivots(first)}
    repeated = _repeated([k for k, _ in own], _without(seen(own), first), redundant) if redundant else frozenset()
    local = {f"joint '{name}'": name for name in tree.local}
    written_out |= {local[label] for k, label, *_ in numbered(model) if k in repeated and label in local}
    return Choice(frozenset(dependent), repeated, frozenset(written_out))


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


def _pivots(matrix: Array) -> list[int]:
    """As many columns as the rank, each the longest of what the others leave; rows were of length one."""
    left, found = matrix.astype(float).copy(), []
    for _ in range(min(matrix.shape)):
        lengths = np.linalg.norm(left, axis=0)
        k = int(np.argmax(lengths))
        if lengths[k] <= _REPEATS:
            break
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
