"""How to integrate: scheme and step control, checked once for simulate, stepping and FMU; must not know models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from mbdfmu.errors import ModelError
from mbdfmu.schemes import Scheme


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

    def __post_init__(self) -> None:
        problems = []
        for name in ("tolerance", "step", "first_step", "largest_step", "smallest_step"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and 0 < float(value) < math.inf):
                problems.append(f"{name} must be a positive number, found {value!r}")
        if problems:
            raise ModelError(problems)

    def native(self) -> tuple[Any, ...]:
        """The arguments of the native Simulation after the system."""
        chosen = Scheme.named(self.scheme).from_options(self.options)
        steps = (self.step or 0.0, self.first_step or 0.0, self.largest_step or 0.0, self.smallest_step)
        return (self.scheme, chosen.native(), float(self.tolerance), *map(float, steps))
