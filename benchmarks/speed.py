"""Time per step of mbdfmu and of a peer, measured in turns in one run; must not know how either solves.

Two ratios: at the same step, and at equal or smaller error, where our step is shortened until our final error is not
larger than the peer's. The peer runs at several settings and is taken at its fastest, and once more at the fastest
whose Newton iteration converges, because stopping early changes the error: now for the better, now for the worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cases import CASES, SMALLEST, Case, Ours, Run, error
from mbdfmu._solver import NativeStepFailed
from timing import Record, interleaved

PEER = "exudyn"
ALPHAS = (-0.3, -0.05)  # the default, and the least damping in common use
SECONDS = 6.0  # for the timing of one case


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A peer's setting on one case, and a first run of it."""

    setting: Any
    run: Callable[[], Run]
    sample: Run

    @property
    def name(self) -> str:
        return str(self.setting.name)


def measure(smallest: bool, peer: Any = None) -> dict[str, list[Record]]:
    """Tables by title; `peer` is a module such as exudyn_models, or None."""
    cases = (SMALLEST,) if smallest else CASES
    if peer is None:
        return {"mbdfmu alone": [_alone(case, alpha) for case in cases for alpha in ALPHAS]}
    tables: dict[str, list[Record]] = {}
    for case in cases:
        for title, records in _side_by_side(case, peer).items():
            tables.setdefault(title, []).extend(records)
    return tables


def _alone(case: Case, alpha: float) -> Record:
    ours = Ours(case.model)
    run = partial(ours.run, case.t_end, alpha=alpha, step=case.step)
    sample = run()
    best = interleaved({alpha: lambda: run().cpu}, SECONDS / 10)[alpha]
    work = _work(case, ours, replace(sample, cpu=best))
    return {"model": case.model, "step": case.step, "alpha": alpha, **work}


def _work(case: Case, ours: Ours, run: Run) -> Record:
    counts = run.statistics
    return {
        "us/step": 1e6 * run.step_time,
        "iterations": counts["iterations"] / run.steps,
        "matrices": counts["factorisations"] / run.steps,
        "error": error(run, case),
        "joints open": ours.opening(run, case.t_end),
    }


def _side_by_side(case: Case, peer: Any) -> dict[str, list[Record]]:
    ours = Ours(case.model)
    rivals = list(_rivals(case, peer))
    chosen = {
        "its fastest setting": min(rivals, key=_pace_of),
        "its fastest converged setting": min((r for r in rivals if r.setting.converged), key=_pace_of),
    }
    comparison = _Comparison(case, ours, chosen)
    settings = [
        {"model": case.model, "step": case.step, "setting": r.name, **_work(case, ours, r.sample)} for r in rivals
    ]
    return {
        f"{peer.NAME}, all settings": settings,
        **{f"mbdfmu against {peer.NAME}, {what}": comparison.records(rival) for what, rival in chosen.items()},
    }


def _pace_of(rival: Rival) -> float:
    return rival.sample.cpu


def _rivals(case: Case, peer: Any) -> Iterable[Rival]:
    """All settings of the peer that arrive."""
    system = peer.Peer(case.model)
    for setting in system.settings():
        run = partial(system.run, case.t_end, case.step, setting)
        samples = [sample for sample in (run(), run()) if sample is not None]
        if samples:
            yield Rival(setting=setting, run=run, sample=min(samples, key=lambda s: s.cpu))


class _Comparison:
    """Ours against some settings of the peer, everything timed in turns."""

    def __init__(self, case: Case, ours: Ours, chosen: dict[str, Rival]) -> None:
        self.case, self.ours = case, ours
        self.failures = 0  # of our runs, in search of a fitting step
        rivals = {rival.name: rival for rival in chosen.values()}
        self.errors = {name: error(rival.sample, case) for name, rival in rivals.items()}
        self.fitting = {(alpha, name): self._fitting(alpha, self.errors[name]) for alpha in ALPHAS for name in rivals}
        tasks: dict[Any, Callable[[], float]] = {name: partial(_cpu, rival.run) for name, rival in rivals.items()}
        for alpha in ALPHAS:
            tasks[alpha] = partial(_cpu, self._run(alpha, case.step))
        for (alpha, name), step in self.fitting.items():
            tasks[alpha, name] = partial(_cpu, self._run(alpha, step))
        self.times = interleaved(tasks, SECONDS)  # CPU seconds for the whole case

    def _run(self, alpha: float, step: float) -> Callable[[], Run]:
        return partial(self.ours.run, self.case.t_end, alpha=alpha, step=step)

    def records(self, rival: Rival) -> list[Record]:
        return [self._record(rival.name, alpha) for alpha in ALPHAS]

    def _record(self, name: str, alpha: float) -> Record:
        steps = round(self.case.t_end / self.case.step)
        theirs, same, fitting = self.times[name], self.times[alpha], self.times[alpha, name]
        return {
            "model": self.case.model,
            "step": self.case.step,
            "its us/step": 1e6 * theirs / steps,
            "its error": self.errors[name],
            "alpha": alpha,
            "our us/step": 1e6 * same / steps,
            "our error": error(self._run(alpha, self.case.step)(), self.case),
            "ratio, same step": theirs / same,
            "our step for its error": self.fitting[alpha, name],
            "ratio, equal error": theirs / fitting,
            "failed": self.failures,
        }

    def _fitting(self, alpha: float, target: float) -> float:
        """A step, at most the case's and about as long as may be, whose final error is not larger than the target."""
        count = round(self.case.t_end / self.case.step)
        for _ in range(30):
            step = self.case.t_end / count
            try:
                found = error(self._run(alpha, step)(), self.case)
            except NativeStepFailed:
                self.failures += 1  # shown in the table
                found = 0.0
            else:
                if not found > target:  # also where there is nothing to compare with
                    return step
            count = math.ceil(count * min(2.0, max(1.02, math.sqrt(found / target))))
        raise RuntimeError(f"{self.case.model}: no step reaches an error of {target:.1e}")


def _cpu(run: Callable[[], Run]) -> float:
    return run().cpu
