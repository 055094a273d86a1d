"""Options of the generalised-alpha scheme; the scheme itself is solver/schemes/newmark.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes import corrector
from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class GeneralisedAlpha(Scheme, name="generalised-alpha"):
    """Generalised-alpha of Chung and Hulbert on the index-3 equations, after Arnold and Bruels; second order."""

    number: ClassVar[int] = 8
    order: ClassVar[int] = 2

    rho: float = option(
        0.5, "what a step leaves of the highest frequencies: 0 (nothing) to 1 (all: reactions grow)", low=0.0, high=1.0
    )
    estimate: str = option("safe", "error estimate: safe from the first step on, or sharp in steady motion",
                           choices=("safe", "sharp"))  # fmt: skip
    weights: str = corrector.weights()
    index: int = corrector.index()
    stop_ratio: float = corrector.stop_ratio()
    max_iterations: int = corrector.max_iterations()
    constraint_tolerance: float = corrector.constraint_tolerance()
