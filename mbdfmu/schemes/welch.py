"""Options of Welch's schemes; the schemes themselves are solver/schemes/welch.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme, option


@dataclass(frozen=True, kw_only=True)
class Welch1(Scheme, name="welch1"):
    """Constraints closed to first order at every step, after [Welch07] eqs. 43a and 44a; one linear solve a step."""

    number: ClassVar[int] = 14
    order: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Welch2(Scheme, name="welch2"):
    """Constraints closed to second order at every step, after [Welch07] eqs. 43 and 44; no iteration, no parameter."""

    number: ClassVar[int] = 15
    order: ClassVar[int] = 2

    form: str = option(
        "corrected",
        "corrector: repeated once (second order), or as printed, once (first order where forces see velocities)",
        choices=("corrected", "printed"),
    )

    @property
    def order_with_options(self) -> int:
        """The printed form loses one where forces see velocities."""
        return 1 if self.form == "printed" else self.order
