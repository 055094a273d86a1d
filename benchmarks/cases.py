"""The measured models, their converged states, and one run of them with mbdfmu; must not know peers."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import struck_wall
from numpy.typing import NDArray

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.analyses.settings import Settings
from mbdfmu.lowering import lower
from mbdfmu.schemes import Hht, Scheme

Vector = NDArray[np.float64]

REFERENCES = Path(__file__).parent / "data" / "references.json"
TOLERANCE = 1e-6  # the default; with fixed steps it only says how far the corrector goes


@dataclass(frozen=True, kw_only=True)
class Case:
    """A shipped model, run from 0 to `t_end` in steps of `step`."""

    model: str
    t_end: float  # s
    step: float  # s

    @property
    def family(self) -> str:
        return self.model.partition(":")[0]

    @property
    def spatial(self) -> bool:
        return self.family == "chain3d"


CASES = (
    Case(model="chain:N=2", t_end=5, step=1e-3),
    Case(model="chain:N=10", t_end=2, step=1e-3),
    Case(model="chain:N=100", t_end=1, step=1e-3),
    Case(model="chain:N=1000", t_end=1, step=1e-3),
    Case(model="chain3d:N=10", t_end=2, step=1e-3),
    Case(model="chain3d:N=100", t_end=1, step=1e-3),
    Case(model="chain3d:N=1000", t_end=0.1, step=1e-3),
    Case(model="slider_crank", t_end=10, step=1e-3),
    Case(model="four_bar:N=2", t_end=10, step=1e-3),
    Case(model="four_bar:N=40", t_end=10, step=1e-2),
    Case(model="andrews", t_end=0.03, step=1e-5),
    Case(model="ring:N=100", t_end=0.1, step=1e-3),
    Case(model="ring:N=100,cords=4", t_end=0.1, step=1e-3),
)
SMALLEST = Case(model="chain:N=2", t_end=0.05, step=1e-3)
SIX = (  # whose cost is measured over the error, for all schemes
    *(case for case in CASES if case.model in ("chain:N=10", "chain3d:N=10", "slider_crank", "andrews")),
    Case(model="stiff_double_pendulum", t_end=1, step=1e-3),
    Case(model="struck_wall", t_end=2, step=1e-4),
)
OWN = {"struck_wall": struck_wall.build}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one simulation took and where it ended."""

    cpu: float  # s, of the solve call alone
    statistics: dict[str, Any]
    q: Vector  # our coordinates; see `spatial_coordinates`
    v: Vector | None = None  # their rates, of planar models
    law: str = ""  # of a peer whose forces are defined otherwise than ours; its converged state is another

    @property
    def steps(self) -> int:
        return int(self.statistics["steps"])

    @property
    def step_time(self) -> float:
        """s."""
        return self.cpu / self.steps


def described(model: str | mbd.Model) -> mbd.Model:
    """A model, or the one of a name, ours here or shipped."""
    if isinstance(model, mbd.Model):
        return model
    return OWN[model]() if model in OWN else mbd.models.load(model)


class Ours:
    """A compiled model of mbdfmu, driven as the facade drives it."""

    def __init__(self, model: str | mbd.Model) -> None:
        self.system = _solver.System(lower(described(model).description).blob)

    def simulation(
        self, *, alpha: float = -0.3, scheme: Scheme | None = None, tolerance: float = TOLERANCE, step: float = 0.0
    ) -> Any:
        """A started simulation, by HHT unless a scheme is given; `step` 0 is error control."""
        chosen = scheme or Hht(alpha=alpha)
        _, _, *steps = Settings(tolerance=tolerance, step=step or None).native()
        simulation = _solver.Simulation(self.system, chosen.type_name, chosen.native(), *steps)
        simulation.start()
        return simulation

    def run(self, t_end: float, **settings: Any) -> Run:
        """One simulation without output."""
        simulation = self.simulation(**settings)
        begin = time.process_time()
        simulation.advance(t_end)
        cpu = time.process_time() - begin
        state = simulation.save()
        return Run(cpu=cpu, statistics=simulation.statistics, q=state.q, v=state.v)

    def opening(self, run: Run, t_end: float) -> float:
        """Largest violation of a constraint at the end of a run, ours or a peer's, m or rad."""
        return float(np.max(np.abs(self.simulation().constraints(t_end, run.q)), initial=0))


def spatial_coordinates(places: Vector, quaternions: Vector) -> Vector:
    """Our coordinates of spatial bodies: place and rotation since the last step of every body, then quaternions."""
    return np.concatenate([np.concatenate([places, np.zeros_like(places)], axis=1).ravel(), quaternions.ravel()])


def places(q: Vector) -> Vector:
    """Of the centres of mass of spatial bodies; ten numbers of `q` belong to each."""
    bodies = len(q) // 10
    return q[: 6 * bodies].reshape(-1, 6)[:, :3]


@cache
def references() -> dict[str, Any]:
    """The converged states by model: time, and angles or places of the bodies."""
    return dict(json.loads(REFERENCES.read_text(encoding="utf-8"))["states"])


def error(run: Run, case: Case) -> float:
    """Largest difference from the converged state: of a planar body's angle, rad, or of a spatial body's place, m.

    Either determines all of these models, up to a spin that stays zero. NaN where the case ends at another time.
    """
    state = references()[case.model + run.law]
    if case.t_end != state["time"]:
        return math.nan
    found = places(run.q).ravel() if case.spatial else run.q[2::3]
    return float(np.max(np.abs(found - np.array(state["places" if case.spatial else "angles"]))))
