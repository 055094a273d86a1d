"""What a tolerance costs and what it buys, with error-controlled steps; must not know how steps are chosen."""

from __future__ import annotations

import numpy as np
from cases import CASES, Case, Ours, error
from timing import Record

MODELS = ("chain:N=2", "slider_crank", "andrews")
TOLERANCES = tuple(float(10.0**-k) for k in range(4, 10))
TITLE = "error and work against tolerance (default scheme, error-controlled)"


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    cases = [case for case in CASES if case.model in MODELS]
    if smallest:
        return {TITLE: [_record(Ours(cases[0].model), cases[0], TOLERANCES[0], 1)]}
    return {TITLE: [record for case in cases for record in _work_precision(case)]}


def _work_precision(case: Case) -> list[Record]:
    ours = Ours(case.model)
    records = [_record(ours, case, tolerance, 5) for tolerance in TOLERANCES]
    logarithm = np.log10(TOLERANCES)

    def slope(column: str) -> float:
        return float(np.polyfit(logarithm, np.log10([record[column] for record in records]), 1)[0])

    return [*records, {"model": f"{case.model}, exponent", **{c: slope(c) for c in ("steps", "CPU ms", "error")}}]


def _record(ours: Ours, case: Case, tolerance: float, repeats: int) -> Record:
    runs = [ours.run(case.t_end, tolerance=tolerance) for _ in range(repeats)]
    s = runs[0].statistics
    return {
        "model": case.model,
        "tolerance": tolerance,
        "steps": s["steps"],
        "rejected": s["rejected"],
        "iterations": s["iterations"],
        "matrices": s["factorisations"],
        "CPU ms": 1e3 * min(run.cpu for run in runs),
        "error": error(runs[0], case),
    }
