"""Which forces at rest are the slope of an energy that their element knows; must not know how rest is sought."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mbdfmu.analyses.numbers import Numbers
from mbdfmu.expressions import Node
from mbdfmu.lowering import Lowered
from mbdfmu.signals import ForceTerm, SymbolicModel

SAME = 1e-9  # of the largest part


def without_potential(lowered: Lowered, numbers: Numbers) -> list[str]:
    """The elements whose force is another than the slope of what they store, where the simulation stands."""
    model = lowered.model
    named = [f"force '{f.name}'" for f in model.forces if not _stores(model, f, numbers)]
    return named + [f"the force on coordinate '{name}'" for name in model.generalized_forces]


def _stores(model: SymbolicModel, force: ForceTerm, numbers: Numbers) -> bool:
    pairs = list(_against_slopes(model, force))
    if not pairs:
        return True
    does, stored = numbers.of([node for pair in pairs for node in pair]).reshape(-1, 2).T
    return bool(np.abs(does + stored).max() <= SAME * max(np.abs(does).max(), np.abs(stored).max()))


def _against_slopes(model: SymbolicModel, force: ForceTerm) -> Iterator[tuple[Node, Node]]:
    """By coordinate, the generalised force and the slope of the energy."""
    graph, motion = model.graph, model.motion
    shares: dict[str, list[Node]] = {}
    for effort in force.load.efforts:
        for s in effort.rate.support:
            if s.value[0] == "v":
                shares.setdefault(s.value[1], []).append(effort.effort * graph.diff(effort.rate, s))
    for name in sorted({*shares, *motion.of(force.load.energy)}):
        yield graph.sum(shares.get(name, [])), motion.diff(force.load.energy, name)
