"""Options of the HHT scheme; the scheme itself is solver/schemes/newmark.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes import corrector
from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class Hht(Scheme, name="hht"):
    """Hilber-Hughes-Taylor on the index-3 equations, after [Negrut05]; second order, damps high frequencies."""

    number: ClassVar[int] = 9
    order: ClassVar[int] = 2

    alpha: float = option(
        -0.3,
        "numerical damping, from -1/3 (most) to 0 (none: reactions of closed mechanisms grow, use -0.05)",
        low=-1 / 3,
        high=0.0,
    )
    form: str = option(
        "corrected",
        "equations of motion: corrected (second order) or as printed, eq. 11a",
        choices=("corrected", "printed"),
    )
    estimate: str = option("paper", "error estimate: eq. 25 of the paper (safe) or sharp in steady motion",
                           choices=("paper", "sharp"))  # fmt: skip
    states: str = option(
        "corrected",
        "differential states: as velocities (second order) or by eq. 9a of the paper (first order)",
        choices=("corrected", "paper"),
    )
    rho: float = option(0.55, "weight of the new rate of states in eq. 9a", low=0.51, high=1.0)
    weights: str = corrector.weights()
    index: int = corrector.index()
    stop_ratio: float = corrector.stop_ratio()
    max_iterations: int = corrector.max_iterations()
    constraint_tolerance: float = corrector.constraint_tolerance()

    @property
    def order_with_options(self) -> int:
        return 1 if self.form == "printed" or self.states == "paper" else 2
