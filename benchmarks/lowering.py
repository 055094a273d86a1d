"""How long a description takes to become a system, stage by stage and by size; must not know what lowering does."""

from __future__ import annotations

from timing import Record, exponent, fastest

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.lowering import lower

MODELS = ("pendulum", "slider_crank", "andrews", "andrews_angles", "chain:N=100", "chain:N=1000")
STAGES = ("load ms", "lower ms", "read ms")
TITLE = "from description to system"


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    if smallest:
        return {TITLE: [_record("pendulum", 1)]}
    records = {model: _record(model, 3 if "1000" in model else 10) for model in MODELS}
    small, large = records["chain:N=100"], records["chain:N=1000"]
    exponents = {column: exponent(small[column], large[column], 10) for column in (*STAGES, "blob kB")}
    return {TITLE: [*records.values(), {"model": "exponent, chain 100 to 1000", **exponents}]}


def _record(model: str, repeats: int) -> Record:
    """Loading builds and checks the description; lowering makes the blob; the solver reads it."""
    description = mbd.models.load(model).description
    blob = lower(description).blob
    times = (
        fastest(lambda: mbd.models.load(model).description, repeats),
        fastest(lambda: lower(description), repeats),
        fastest(lambda: _solver.System(blob), repeats),
    )
    stages = {stage: 1e3 * seconds for stage, seconds in zip(STAGES, times, strict=True)}
    return {"model": model, **stages, "blob kB": len(blob) / 1024}
