"""What it saves to put forces into the equations of motion instead of solving for them; must not know how that is done.

Bodies in a row, neighbours on forces whose components are expressions, and the first one on the ground: the same model
is lowered with its forces eliminated, and with every component among the unknowns as [Negrut05] eq. 12 has it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from timing import Record, interleaved

from mbdfmu import Body, Marker, Model, Parameter, _solver
from mbdfmu.analyses.settings import Settings
from mbdfmu.forces import VectorForce
from mbdfmu.lowering import lower

SIZES = (100, 200, 400)
T_END, STEP = 0.2, 1e-3  # s
SECONDS = 3.0  # for the timing of one size
ROUNDING = 1e-13  # as a tolerance, lets the corrector go as far as it can
TITLE = "vector forces by expressions, eliminated and among the unknowns"


def build(count: int) -> Model:
    """As many planar bodies as forces."""
    model = Model("row", gravity=[0, -9.81])
    model.add("k", Parameter(value=5e3, unit="N/m"))
    model.add("c", Parameter(value=2.0, unit="N.s/m"))
    ground = Marker(body="ground")
    before = "ground"
    for n in range(1, count + 1):
        body = f"b{n}"
        model.add(body, Body(mass=0.1, inertia=1e-4, position=(0.1 * n, 0)))
        stretch = [f"({body}.x - {_of(before, 'x')} - 0.1)", f"({body}.y - {_of(before, 'y')})"]
        rates = [f"({body}.v{axis} - {_of(before, f'v{axis}')})" for axis in "xy"]
        law = tuple(f"-k*{s}*(1 + 20*{s}^2) - c*{v}" for s, v in zip(stretch, rates, strict=True))
        model.add(f"f{n}", VectorForce(i=Marker(body=before), j=Marker(body=body), frame=ground, force=law))
        before = body
    return model


def _of(body: str, signal: str) -> str:
    return "0" if body == "ground" else f"{body}.{signal}"


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    return {TITLE: [_record(10, 0.1)] if smallest else [_record(count, SECONDS) for count in SIZES]}


def _record(count: int, seconds: float) -> Record:
    description = build(count).description
    systems = {kept: _solver.System(lower(description, eliminate=not kept).blob) for kept in (False, True)}
    times = interleaved({kept: lambda s=s: _run(s)[0] for kept, s in systems.items()}, seconds)
    ends = [_run(system, ROUNDING)[1] for system in systems.values()]
    steps = round(T_END / STEP)
    return {
        "forces": count,
        "unknowns": systems[False].n,
        "all unknowns": systems[True].n,
        "us/step": 1e6 * times[False] / steps,
        "all us/step": 1e6 * times[True] / steps,
        "ratio": times[True] / times[False],
        "difference": float(np.max(np.abs(ends[0] - ends[1]))),
    }


def _run(system: Any, tolerance: float = 1e-6) -> tuple[float, Any]:
    """CPU seconds of one simulation, and the coordinates at its end."""
    simulation = _solver.Simulation(system, *Settings(tolerance=tolerance, step=STEP).native())
    simulation.start()
    begin = time.process_time()
    simulation.advance(T_END)
    return time.process_time() - begin, simulation.save().q
