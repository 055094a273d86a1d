"""Options of implicit generalized coordinate partitioning; the scheme itself is solver/schemes/gcp_implicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class GcpImplicit(Scheme, name="gcp-implicit"):
    """Newmark in the independent coordinates, after [Haug97]; constraints hold exactly, made for stiff models."""

    number: ClassVar[int] = 7
    order: ClassVar[int] = 2

    beta: float = option(
        0.25, "beta of Newmark's formulas; 1/4 with gamma 1/2 is the trapezoidal rule", low=0.05, high=1.0
    )
    gamma: float = option(
        0.5, "gamma of Newmark's formulas; above 1/2 it damps and is of first order", low=0.5, high=1.0
    )
    start: str = option(
        "last",
        "where Newton's iteration begins: the last accelerations, or the paper's explicit predictor",
        choices=("last", "explicit"),
    )
    newton_tolerance: float = option(1e-8, "last correction, as a fraction of the accelerations", low=1e-14, high=1e-2)
    max_iterations: int = option(25, "corrector iterations before the step is cut", low=2, high=1000)
    constraint_tolerance: float = option(
        1e-11, "largest constraint violation, fraction of the model's length", low=1e-14, high=1e-3
    )
    worst_condition: float = option(
        10.0,
        "how far a dependent coordinate may move with an independent one before others are chosen",
        low=2.0,
        high=1e12,
    )

    @property
    def order_with_options(self) -> int:
        return 2 if self.gamma == 0.5 else 1


@dataclass(frozen=True, kw_only=True)
class GcpFv(GcpImplicit, name="gcp-fv"):
    """As gcp-implicit, with the simplified iteration matrix of Fisette and Vaneghem ([Haug97] eq. 40), to compare."""

    number: ClassVar[int] = 6
