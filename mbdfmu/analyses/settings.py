"""How to integrate: scheme and step control, checked once for simulate, stepping and FMU; must not know models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from mbdfmu.errors import ModelError
from mbdfmu.schemes import Scheme

MOST = 2**31  # what an Integer of FMI holds
TIGHTEST, LOOSEST = 1e-14, 0.1  # of the tolerance: rounding, and where an error estimate says nothing


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Scheme and step control."""

    scheme: str = "hht"
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-6  # of the local error, relative to the weights
    step: float | None = None  # s; None = error-controlled
    first_step: float | None = None  # s
    largest_step: float | None = None  # s
    smallest_step: float = 1e-10  # s
    most_steps: int = 1_000_000  # tries of a step in one advance, or in which laws only jump to and fro (T9.15)

    def __post_init__(self) -> None:
        problems = []
        for name in ("tolerance", "step", "first_step", "largest_step", "smallest_step"):
            value = getattr(self, name)
            if value is not None and not _is_positive(value):
                problems.append(f"{name} must be a positive number, found {value!r}")
        most = self.most_steps
        if not isinstance(most, Integral) or isinstance(most, bool) or not 0 < most < MOST:
            problems.append(f"most_steps must be a positive whole number below 2**31, found {most!r}")
        if not isinstance(self.options, Mapping):
            problems.append(f"options must be a mapping name -> value, found {type(self.options).__name__}")
        if problems:
            raise ModelError(problems)
        if not TIGHTEST <= self.tolerance <= LOOSEST:
            raise ModelError(f"tolerance must lie in [{TIGHTEST:g}, {LOOSEST:g}], found {self.tolerance:g}")
        for name in ("first_step", "largest_step"):
            value = getattr(self, name)
            if value is not None and value < self.smallest_step:
                found = f"found {value:g} s and {self.smallest_step:g} s"
                raise ModelError(f"{name} must not be below smallest_step, {found}")

    def native(self) -> tuple[Any, ...]:
        """The arguments of the native Simulation after the system."""
        chosen = Scheme.named(str(self.scheme)).from_options(self.options)
        sizes = (self.step or 0.0, self.first_step or 0.0, self.largest_step or 0.0, self.smallest_step)
        return (self.scheme, chosen.native(), float(self.tolerance), *map(float, sizes), float(self.most_steps))


def _is_positive(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf
