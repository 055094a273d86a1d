"""Options of the trapezoidal rule; the scheme itself is solver/schemes/newmark.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes import corrector
from mbdfmu.schemes.base import Scheme


@dataclass(frozen=True, kw_only=True)
class Trapezoidal(Scheme, name="trapezoidal"):
    """Trapezoidal rule, stabilised of index 2; second order, undamped."""

    number: ClassVar[int] = 13
    order: ClassVar[int] = 2

    weights: str = corrector.weights()
    index: int = corrector.index(2)
    stop_ratio: float = corrector.stop_ratio()
    max_iterations: int = corrector.max_iterations()
    constraint_tolerance: float = corrector.constraint_tolerance()
