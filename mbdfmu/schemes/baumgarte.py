"""Options of Baumgarte's stabilisation; the scheme itself is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import option
from mbdfmu.schemes.formulas import WithFormula


@dataclass(frozen=True, kw_only=True)
class Feedback(WithFormula):
    """Base of the schemes that feed gaps of joints back."""

    alpha: float = option(10.0, "damping of gaps, 1/s", low=0.0)
    beta: float = option(0.0, "stiffness of gaps, 1/s; 0 is critical damping: beta = alpha", low=0.0)
    gains: str = option(
        "fixed",
        "fixed: alpha and beta as given; adaptive: a fraction of the formula's stability limit over the largest step",
        choices=("fixed", "adaptive"),
    )
    fraction: float = option(0.5, "of the stability limit, for adaptive gains", low=1e-3, high=1.0)


@dataclass(frozen=True, kw_only=True)
class Baumgarte(Feedback, name="baumgarte"):
    """Accelerations integrated with gaps of joints fed back as by springs and dampers, after [Haug89] 7.3, [Wu00]."""

    number: ClassVar[int] = 1
