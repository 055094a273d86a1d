"""Options of the hybrid of stabilisation and partitioning; the scheme itself is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import option
from mbdfmu.schemes.baumgarte import Feedback


@dataclass(frozen=True, kw_only=True)
class Hybrid(Feedback, name="hybrid"):
    """Baumgarte's feedback, corrected by partitioning where gaps pass a limit or a position is nearly singular."""

    number: ClassVar[int] = 10

    most_open: float = option(
        1e-5, "gap of a joint from which on it is closed, fraction of the model's length", low=1e-14, high=1.0
    )
    most_condition: float = option(
        1e4, "condition of the dependent coordinates from which on there is only partitioning", low=1.0
    )
