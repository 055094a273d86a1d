"""Options of direct integration; the scheme itself is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.formulas import WithFormula


@dataclass(frozen=True, kw_only=True)
class Direct(WithFormula, name="direct"):
    """Accelerations integrated as they are, after [Haug89] 7.3; joints drift open, about quadratically in time."""

    number: ClassVar[int] = 2
