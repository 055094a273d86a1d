"""Runs of models with fixed steps: errors, orders of convergence, open joints; must not know any paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu import content
from mbdfmu.analyses import Simulation
from mbdfmu.analyses.stepping import Assembly
from mbdfmu.errors import StepFailed
from mbdfmu.facade import Model

Vector = NDArray[np.float64]
# Fixed steps have no error test; the tolerance only says how far correctors go, so it must not limit the error.
CORRECTOR = 1e-12
KINDS = ("q", "v", "lam")


@cache
def shipped(name: str) -> Model:
    """A model of the package; nobody changes it."""
    return content.load(name)


@dataclass(frozen=True)
class Case:
    """A model with other parameters and start values than its own."""

    model: Model
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    assemble: Assembly = None

    def begun(self, step: float, scheme: str, **options: Any) -> Simulation:
        """At its start, to be stepped with a fixed step."""
        settings: dict[str, Any] = {"scheme": scheme, "step": step, "tolerance": CORRECTOR, "options": options}
        return self.model.start(parameters=self.parameters, start=self.start, assemble=self.assemble, **settings)


def started(model: Model, step: float, scheme: str, **options: Any) -> Simulation:
    """At the model's own start, to be stepped with a fixed step."""
    return Case(model).begun(step, scheme, **options)


def ended(model: Model, end: float, count: int, scheme: str, **options: Any) -> Simulation:
    """After a number of equal steps."""
    simulation = started(model, end / count, scheme, **options)
    simulation.advance(end)
    return simulation


def parts(simulation: Simulation) -> dict[str, Vector]:
    """Positions, and velocities and reactions as reported."""
    values = dict(zip(simulation.names, simulation.values(), strict=True))
    reactions = [values[name] for name in values if ".reaction." in name]
    state = simulation.save()
    return {"q": np.append(state.q, state.x), "v": _velocities(values), "lam": np.array(reactions)}


def _velocities(values: Mapping[str, float]) -> Vector:
    rates = [v for name, v in values.items() if name.endswith((".vx", ".vy", ".vz", ".omega")) or _is_rate(name)]
    return np.array(rates)


def _is_rate(name: str) -> bool:
    return name.startswith("der(") and name.endswith(")") and "," not in name


def orders(model: Model, end: float, count: int, scheme: str, **options: Any) -> dict[str, float]:
    """Of each kind, from three runs whose steps halve: log2 |x_h - x_{h/2}| / |x_{h/2} - x_{h/4}|."""
    runs = [parts(ended(model, end, count * 2**k, scheme, **options)) for k in range(3)]
    return {kind: order(*(run[kind] for run in runs)) for kind in KINDS if runs[0][kind].size}


def order(coarse: Vector | float, middle: Vector | float, fine: Vector | float) -> float:
    """By which differences fall where steps halve."""
    first, second = (float(np.linalg.norm(np.subtract(a, b))) for a, b in ((coarse, middle), (middle, fine)))
    return float(np.log2(first / second))


def violations(case: Case, step: float, count: int, scheme: str, **options: Any) -> Vector:
    """|Phi|_2 after each of a number of steps; as far as it comes before it is infinite or a step fails."""
    compiled = case.model.compile()  # joints do not depend on the parameters that cases change
    simulation = case.begun(step, scheme, **options)
    found = []
    for k in range(count):
        try:
            simulation.advance((k + 1) * step)
        except StepFailed:
            break
        found.append(np.linalg.norm(compiled.constraints(simulation.time, simulation.save().q)))
    return np.array(found)


def history(simulation: Simulation, names: Sequence[str], step: float, count: int) -> Vector:
    """Signals after each of a number of steps; a row per step."""
    columns = [simulation.names.index(name) for name in names]
    found = np.empty((count, len(names)))
    for k in range(count):
        simulation.advance((k + 1) * step)
        found[k] = simulation.values(columns)
    return found
