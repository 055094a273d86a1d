"""Options of the Radau scheme; the scheme itself is solver/schemes/radau.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class Radau(Scheme, name="radau"):
    """Radau IIA of order 5 on stabilised equations of index 2; for stiff and damped models, and tight tolerances."""

    number: ClassVar[int] = 12
    order: ClassVar[int] = 5

    stop_ratio: float = option(
        3.0, "error left by Newton's iteration, over a low estimate of the method's own", low=1e-6, high=100.0
    )
    max_iterations: int = option(12, "Newton iterations before the step is cut", low=2, high=1000)
    constraint_tolerance: float = option(
        1e-10, "largest constraint violation, fraction of the model's length", low=1e-14, high=1.0
    )
