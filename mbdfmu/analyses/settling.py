"""Equilibria by settling: a started simulation comes to rest; must not know files nor how simulations are started.

The steps are those of solver/settling.cpp (T10.1). Here stands what is done about a rest that is none: where a small
push would grow, the model is pushed that way and settles again.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from mbdfmu.analyses.equilibrium import Equilibrium
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.rest import LARGEST, at_rest, pushed, stability
from mbdfmu.errors import ModelError
from mbdfmu.lowering import Lowered

TIGHTEST, LOOSEST = 1e-14, 1e-2  # of the tolerance: rounding, and where rest means little
MOST_STEPS = 10**9
MOST_PUSHES = 5


def settle(native: Any, lowered: Lowered, velocities: Mapping[str, float], tolerance: float, limit: int) -> Equilibrium:
    """The rest that a started simulation comes to; KeyboardInterrupt where Ctrl-C ends the search."""
    steps = iterations = 0
    notes: list[str] = []
    while True:
        with translated(f"model '{lowered.model.description.name}': "):
            arrived, more, work = native.settle(tolerance, limit)
        steps, iterations = steps + more, iterations + work
        if not arrived:
            raise KeyboardInterrupt
        pushes = stability(native, lowered) if len(lowered.coordinates) <= LARGEST else None
        if pushes is None or pushes.holds or len(notes) == MOST_PUSHES:
            break
        notes.append(pushed(native, lowered, pushes.way))
    facts: dict[str, Any] = {"velocities": velocities, "steps": steps, "iterations": iterations}
    return at_rest(native, lowered, "settle", notes, pushes=pushes, **facts)


def check_search(tolerance: float, limit: int) -> None:
    """Refuse numbers with which no search makes sense."""
    problems = []
    if not (isinstance(tolerance, Real) and TIGHTEST <= tolerance <= LOOSEST):
        problems.append(f"tolerance must lie in [{TIGHTEST:g}, {LOOSEST:g}], found {tolerance!r}")
    if not (isinstance(limit, int) and 0 < limit <= MOST_STEPS):
        problems.append(f"limit must be a number of steps from 1 to {MOST_STEPS:g}, found {limit!r}")
    if problems:
        raise ModelError(problems)
