"""Options of Newmark's scheme; the scheme itself is solver/schemes/newmark.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes import corrector
from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class Newmark(Scheme, name="newmark"):
    """Newmark, stabilised of index 2; second order and undamped for gamma = 1/2, above that first order and damped."""

    number: ClassVar[int] = 11
    order: ClassVar[int] = 2

    gamma: float = option(
        0.5, "weight of the new acceleration in velocities; above 1/2 it damps, at first order", low=0.5, high=1.5
    )
    beta: float = option(
        0.25, "weight of the new acceleration in positions; below gamma/2 for small steps without joints only",
        low=0.08, high=1.0,
    )  # fmt: skip
    weights: str = corrector.weights()
    index: int = corrector.index(2)
    stop_ratio: float = corrector.stop_ratio()
    max_iterations: int = corrector.max_iterations()
    constraint_tolerance: float = corrector.constraint_tolerance()

    @property
    def order_with_options(self) -> int:
        return 2 if self.gamma == 0.5 else 1
