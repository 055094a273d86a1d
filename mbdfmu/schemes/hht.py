"""Options of the HHT scheme; the scheme itself is solver/schemes/hht.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class Hht(Scheme, name="hht"):
    """Hilber-Hughes-Taylor on the index-3 equations, after [Negrut05]; second order, damps high frequencies."""

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
    weights: str = option("model", "floor of the error weights: the model's length scale, or 1 as in the paper",
                          choices=("model", "paper"))  # fmt: skip
    states: str = option(
        "corrected",
        "differential states: as velocities (second order) or by eq. 9a of the paper (first order)",
        choices=("corrected", "paper"),
    )
    rho: float = option(0.55, "weight of the new rate of states in eq. 9a", low=0.51, high=1.0)
    stop_ratio: float = option(
        1e-3, "corrector error as a fraction of the local error (c of eq. 45)", low=1e-12, high=1.0
    )
    max_iterations: int = option(10, "corrector iterations before the step is cut", low=2, high=1000)
    constraint_tolerance: float = option(
        1e-10, "largest constraint violation, fraction of the model's length", low=1e-14, high=1.0
    )
