"""CPU time to reach an error on chains, of mbdfmu and of a peer in joint angles; must not know how either solves.

Peer and scheme differ in order, so a common step compares nothing: each takes the longest step that reaches the error.
Where that would take the peer minutes, its time is extrapolated from its order, and the table says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cases import CASES, Case, Ours, Run, error
from mbdfmu._solver import NativeStepFailed
from timing import Record, interleaved

PEER = "mujoco"
ERRORS = (1e-2, 1e-4, 1e-6)  # m, of a body's place; rad in the plane
FAMILIES = ("chain", "chain3d")
LARGEST = 100  # rods that a peer with a full mass matrix simulates in a sensible time
SAMPLE = 2  # steps that tell its time per step beyond
BUDGET = 5.0  # s for one run
SECONDS = 3.0  # for the timing of one case


@dataclass(frozen=True, kw_only=True)
class Method:
    """Something that simulates a case at a step."""

    name: str
    order: int
    run: Callable[[float, float], Run]  # of the end and the step


def measure(smallest: bool, peer: Any = None) -> dict[str, list[Record]]:
    """Tables by title; `peer` is a module such as mujoco_models, or None."""
    cases = [case for case in CASES if case.family in FAMILIES]
    if smallest:
        case = next(case for case in cases if case.family == "chain3d")
        return {"time per step": [_pace(case, _methods(case, peer), 5)]}
    paces, reached = [], []
    for case in cases:
        methods = _methods(case, peer)
        paces.append(_pace(case, methods, round(case.t_end / case.step)))
        if _bodies(case) <= LARGEST:
            reached += [_reached(case, methods, target) for target in ERRORS]
    return {"time per step": paces, "CPU time to reach an error": reached}


def _bodies(case: Case) -> int:
    return int(case.model.partition("=")[2])


def _methods(case: Case, peer: Any) -> list[Method]:
    ours = Ours(case.model)
    methods = [Method(name="mbdfmu", order=2, run=lambda t_end, step: ours.run(t_end, step=step))]
    if peer is not None:
        theirs = peer.Peer(case.model)
        for name, (_, order) in peer.INTEGRATORS.items():
            methods.append(Method(name=name, order=order, run=partial(theirs.run, integrator=name)))
    return methods


def _pace(case: Case, methods: list[Method], steps: int) -> Record:
    """Microseconds per step at the case's step, and the peer's over ours."""
    few = {m.name: steps if m.order == 2 or _bodies(case) <= LARGEST else SAMPLE for m in methods}
    tasks = {m.name: partial(_cpu, m, few[m.name] * case.step, case.step) for m in methods}
    times = interleaved(tasks, SECONDS)
    record: Record = {"model": case.model, "step": case.step}
    for method in methods:
        record[f"{method.name} us/step"] = 1e6 * times[method.name] / few[method.name]
    for method in methods[1:]:
        record[f"ratio, {method.name}"] = record[f"{method.name} us/step"] / record["mbdfmu us/step"]
    return record


def _cpu(method: Method, t_end: float, step: float) -> float:
    return method.run(t_end, step).cpu


def _reached(case: Case, methods: list[Method], target: float) -> Record:
    """CPU milliseconds to the error, and the peer's over ours."""
    record: Record = {"model": case.model, "error": target}
    for method in methods:
        count, cpu, measured = _longest_step(case, method, target)
        record[f"{method.name} step"] = case.t_end / count
        record[f"{method.name} ms"] = 1e3 * cpu
        if method is not methods[0]:
            record[f"ratio, {method.name}"] = 1e3 * cpu / record["mbdfmu ms"]
            record[f"{method.name} is"] = "measured" if measured else "extrapolated"
    return record


def _longest_step(case: Case, method: Method, target: float) -> tuple[float, float, bool]:
    """Number of steps, CPU time, and whether it was run."""
    count = round(case.t_end / 0.05)
    while True:
        found, cpu = _error(case, method, count)
        if found <= target:
            return count, min([cpu, *(_error(case, method, count)[1] for _ in range(3))]), True
        growth = (found / target) ** (1 / method.order)
        if cpu * growth > BUDGET and growth < 1e3:
            return count * growth, cpu * growth, False
        count = math.ceil(count * min(4.0, max(1.02, growth)))


def _error(case: Case, method: Method, count: int) -> tuple[float, float]:
    """Of one run, and its CPU time; infinite where the step is too long."""
    try:
        run = method.run(case.t_end, case.t_end / count)
    except NativeStepFailed:
        return math.inf, 0.0
    found = error(run, case)
    return (found if math.isfinite(found) else math.inf), run.cpu
