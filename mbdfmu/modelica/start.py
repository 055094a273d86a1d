"""Where a model begins, as it is written into Modelica; must not know any text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from mbdfmu.analyses import Simulation
from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.expressions import Node, evaluate
from mbdfmu.expressions.opcodes import LOAD
from mbdfmu.modelica.balances import is_rotation, rotation_matrix
from mbdfmu.signals import Signal, SymbolicModel

_MOMENTS = (1e-3, 1e-2, 1e-1)  # s: after which rows that repeat others still do, unless the start is a singular pose
_SINGULAR = (
    "at the start, but not a moment later: equations that stay the same cannot leave it out; begin elsewhere "
    "(--start), or export an FMU, which passes such poses"
)
_SAME = 1e-10  # of the largest start value: what the rounding of expressions differs by


@dataclass(frozen=True, kw_only=True)
class Start:
    """The signals at the start, on the joints, and constraint rows that repeat others there."""

    values: Mapping[str, float]
    redundant: Mapping[int, str]  # by the number of the row, in words
    length: float  # m, of the model
    moved: frozenset[Node]  # positions and velocities that joints have moved from what the model's own expressions say
    rounds: int  # of events at the start, each made true by those before: at most so many, at least one

    @classmethod
    def of(cls, model: SymbolicModel, begun: Simulation) -> Start:
        """Of a simulation of the model that has not made a step; it may make some."""
        values = dict(zip(begun.names, map(float, begun.values()), strict=True))
        redundant = {r.row: str(r) for r in begun.redundancies}
        if redundant:
            for moment in _MOMENTS:
                begun.step(moment)
                if len(begun.redundancies) < len(redundant):
                    raise ModelError(f"{text} {_SINGULAR}" for text in redundant.values())
        rounds = _rounds(begun) if model.events else 1
        moved = _moved(model, values)
        return cls(values=values, redundant=redundant, length=begun.length, moved=moved, rounds=rounds)


def _rounds(begun: Simulation) -> int:
    """No more than events at the start; the text looks whether others follow."""
    at = begun.time
    with suppress(StepFailed):  # what occurred before that is listed, and an export needs no more of the motion
        begun.step(_MOMENTS[0])
    return max(1, sum(time == at for time, _ in begun.events))


def start_values(model: SymbolicModel) -> dict[str, Signal]:
    """The signals that are start values and nothing else, numbers or calculated.

    Parameters of the model file are not among them, nor those of states that events may have set at the start.
    """
    own = {*model.description.parameters, *(f"{s.state}.start" for event in model.events for s in event.settings)}
    kinds = "parameter", "calculatedParameter"
    return {n: s for n, s in model.signals.items() if n.endswith(".start") and s.causality in kinds and n not in own}


def known_at(model: SymbolicModel, values: Mapping[str, float]) -> dict[Node, float]:
    """The values of symbols where signals have these."""
    symbol = model.graph.symbol
    known = {s.node: values[s.name] for s in model.signals.values() if s.node.op == LOAD}
    known |= {symbol("turn", w.name): values[w.name] for w in model.windings if w.name in values}
    for body in model.bodies if model.dimensions == 3 else []:
        matrix = rotation_matrix(model, body.name)
        known |= dict(zip(matrix, map(float, evaluate(list(matrix.values()), known)), strict=True))
    return known | {model.motion.pace: 1.0}


def _moved(model: SymbolicModel, values: Mapping[str, float]) -> frozenset[Node]:
    given = {s.node: values[s.name] for s in model.parameters}
    said = dict(_said(model))
    expected = evaluate(list(said.values()), given)
    shown = {s.node: values[name] for name, s in model.signals.items()}
    found = {symbol: shown[symbol] for symbol in said}
    size = max([1.0, *map(abs, found.values())])
    return frozenset(s for s, e in zip(said, expected, strict=True) if not abs(e - found[s]) <= _SAME * size)


def _said(model: SymbolicModel) -> Iterator[tuple[Node, Node]]:
    """What the model itself says of the start of every position and velocity."""
    symbol = model.graph.symbol
    for c, place, speed in zip(model.coordinates, model.position_starts, model.velocity_starts, strict=True):
        if not is_rotation(c):
            yield symbol("q", c.name), place
        yield symbol("v", c.name), speed
    names = [f"{body.name}.{e}" for body in model.bodies for e in QUATERNION] if model.dimensions == 3 else []
    for name, start in zip(names, model.orientation_starts, strict=True):
        yield symbol("q", name), start
