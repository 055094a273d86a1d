"""Which start values are fixed, one for each freedom, while the others are guesses; must not know any text.

What holds at the start are the rows of the joints, the length of quaternions, and what joints are said to start with:
from each of these follows one coordinate, chosen where the model begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbdfmu.coordinates import QUATERNION, ROTATIONS
from mbdfmu.expressions import Node, evaluate
from mbdfmu.expressions.opcodes import CONST, LOAD
from mbdfmu.modelica.balances import gradient, is_rotation, slopes
from mbdfmu.modelica.start import Start, known_at
from mbdfmu.signals import Initial, SymbolicModel

_REPEATS = 1e-8  # what is left of a row that repeats others, of what it was
_SLIGHT = 1e-2  # of a row of length one: a coordinate that hardly closes it
_MET = 1e-6  # of the model's length or a radian (and per second): a wish that has been fulfilled
Array = npt.NDArray[Any]
Entries = list[tuple[str, Node]]
Slopes = dict[str, float]  # of a row, by coordinate
Numbers = Callable[[Sequence[Node]], list[float]]


@dataclass(frozen=True)
class Freedoms:
    """Coordinates and velocities (names of their symbols) that follow from the others, and the wishes that count."""

    places: frozenset[str]
    speeds: frozenset[str]
    wishes: tuple[Initial, ...]


def freedoms(model: SymbolicModel, start: Start, dropped: Collection[int]) -> Freedoms:
    """At the start, where rows numbered in `dropped` repeat others."""
    known = known_at(model, start.values)

    def numbers(nodes: Sequence[Node]) -> list[float]:
        missing = {s: 0.0 for node in nodes for s in node.support if s not in known}
        return [float(x) for x in evaluate(nodes, {**missing, **known})]

    turned = _Turned(model, numbers)
    speeds: list[Slopes] = []
    places = turned.lengths()
    rows = (row for c in model.constraints if c.active for p in c.primitives for row in p.rows)
    for row in (row for k, row in enumerate(rows) if k not in dropped and row.level != "acceleration"):
        found = _summed(gradient(model, row), numbers)
        speeds.append(found)
        if row.level == "position":
            places.append(turned.seen(found))
    met = [w for w in model.initials if abs(numbers([w.value])[0]) <= _MET * (start.length if "m" in w.unit else 1.0)]
    wished = [_summed(slopes(model, w.value), numbers) for w in met if w.level == "velocity"]
    wished_places = [turned.seen(_summed(_slopes_of_place(model, w), numbers)) for w in met if w.level == "position"]
    names = [c.name for c in model.coordinates]
    by_level = {
        "velocity": _dependent(speeds, wished, _given(names, model.velocity_starts, numbers)),
        "position": _dependent(places, wished_places, _given(names, model.position_starts, numbers)),
    }
    counted = {level: iter(kept) for level, (_, kept) in by_level.items()}
    wishes = tuple(w for w in met if next(counted[w.level]))
    return Freedoms(by_level["position"][0], by_level["velocity"][0], wishes)


def given(model: SymbolicModel, start: Start) -> dict[str, set[str]]:
    """Coordinates of which the model gives a number, by level: their places, and their velocities."""
    known = known_at(model, start.values)
    names = [c.name for c in model.coordinates]
    by_level = {"position": model.position_starts, "velocity": model.velocity_starts}
    return {
        level: _given(names, starts, lambda nodes: [float(x) for x in evaluate(nodes, known)])
        for level, starts in by_level.items()
    }


def _given(names: Iterable[str], starts: Sequence[Node], numbers: Numbers) -> set[str]:
    """Where a number is given, of which others may be formulas."""
    zeros = (n.op not in (LOAD, CONST) or value == 0 for n, value in zip(starts, numbers(starts), strict=True))
    return {name for name, zero in zip(names, zeros, strict=True) if not zero}


def _slopes_of_place(model: SymbolicModel, wish: Initial) -> Entries:
    return [(name, model.motion.diff(wish.value, name)) for name in model.motion.of(wish.value)]


def _summed(entries: Entries, numbers: Numbers) -> Slopes:
    found: Slopes = defaultdict(float)
    for (name, _), value in zip(entries, numbers([node for _, node in entries]), strict=True):
        found[name] += value
    return found


class _Turned:
    """Small rotations of spatial bodies as changes of quaternions (T20.14)."""

    def __init__(self, model: SymbolicModel, numbers: Numbers) -> None:
        bodies = {c.node for c in model.coordinates if is_rotation(c)}
        symbol = model.graph.symbol
        self._at = {b: np.array(numbers([symbol("q", f"{b}.{k}") for k in QUATERNION])) for b in sorted(bodies)}

    def lengths(self) -> list[Slopes]:
        """What holds the length of each."""
        return [dict(zip((f"{b}.{k}" for k in QUATERNION), e.tolist(), strict=True)) for b, e in self._at.items()]

    def seen(self, row: Slopes) -> Slopes:
        found: Slopes = defaultdict(float)
        for name, value in row.items():
            body, _, last = name.rpartition(".")
            if last not in ROTATIONS or body not in self._at:
                found[name] += value
                continue
            e0, e1, e2, e3 = self._at[body]
            by = {"theta_x": (-e1, e0, e3, -e2), "theta_y": (-e2, -e3, e0, e1), "theta_z": (-e3, e2, -e1, e0)}[last]
            for k, slope in zip(QUATERNION, by, strict=True):
                found[f"{body}.{k}"] += 2 * value * slope
        return found


# ---------------------------------------------------------------- the choice


def _dependent(rows: list[Slopes], wished: list[Slopes], given: Collection[str]) -> tuple[frozenset[str], list[bool]]:
    """A column for each row, those of `given` only where no others are left, and which wishes say something new.

    Bodies at the ends of trees come first: from as many rows as touch them and say something of them alone. What is
    left are loops.
    """
    every = dict(enumerate([*rows, *wished]))
    touching: dict[str, set[int]] = defaultdict(set)
    for k, row in every.items():
        for name, value in row.items():
            if value != 0:
                touching[_body(name)].add(k)
    found: set[str] = set()
    waiting = list(touching)
    while waiting:
        body = waiting.pop()
        own = sorted(touching[body])
        columns = sorted({n for k in own for n, x in every[k].items() if _body(n) == body and x != 0})
        chosen = _pivots(_matrix([every[k] for k in own], columns), columns, given) if own else []
        if not own or len(chosen) < len(own):
            continue
        found.update(chosen)
        for k in own:
            others = {_body(n) for n, x in every.pop(k).items() if x != 0}
            for other in others:
                touching[other].discard(k)
            waiting += others - {body}
    kept = _independent(every)
    loops = [every[k] for k in kept]
    columns = sorted({name for row in loops for name, x in row.items() if x != 0})
    found.update(_pivots(_matrix(loops, columns), columns, given, slight=_REPEATS))
    return frozenset(found), [k not in every or k in kept for k in range(len(rows), len(rows) + len(wished))]


def _body(coordinate: str) -> str:
    """Or the coordinate itself, which belongs to none."""
    return coordinate.rpartition(".")[0] or coordinate


def _matrix(rows: Sequence[Slopes], columns: Sequence[str]) -> Array:
    """Rows of length one in all of their columns."""
    found = np.array([[row.get(name, 0.0) for name in columns] for row in rows]).reshape(len(rows), len(columns))
    sizes = [np.linalg.norm(list(row.values())) for row in rows]
    return np.asarray(found / np.array([s or 1.0 for s in sizes]).reshape(-1, 1))


def _independent(rows: Mapping[int, Slopes]) -> list[int]:
    """Those that say something new, in order."""
    columns = sorted({name for row in rows.values() for name in row})
    basis = np.zeros((0, len(columns)))
    kept: list[int] = []
    for k, row in zip(rows, _matrix(list(rows.values()), columns), strict=True):
        apart = row - basis.T @ (basis @ row)
        apart -= basis.T @ (basis @ apart)
        if (size := float(np.linalg.norm(apart))) > _REPEATS:
            basis, kept = np.vstack((basis, apart / size)), [*kept, k]
    return kept


def _pivots(matrix: Array, columns: Sequence[str], given: Iterable[str], slight: float = _SLIGHT) -> list[str]:
    """As many columns as there are rows, each the longest of what the others leave; fewer where the rest is slight."""
    left, found, late = matrix.copy(), [], {*given}
    wanted = np.array([name not in late for name in columns])
    for _ in range(len(matrix)):
        lengths = np.linalg.norm(left, axis=0)
        first = np.where(wanted, lengths, 0.0)
        k = int(np.argmax(first if first.max(initial=0.0) > _SLIGHT else lengths))
        if not lengths[k] > slight:
            break
        found.append(columns[k])
        direction = left[:, k] / lengths[k]
        left -= np.outer(direction, direction @ left)
        left[:, k] = 0
    return found
