"""Options of generalized coordinate partitioning; the scheme itself is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.formulas import WithFormula


@dataclass(frozen=True, kw_only=True)
class Gcp(WithFormula, name="gcp"):
    """Partitioning, after [Haug89] 7.3: independent coordinates integrated, the others solved for."""

    number: ClassVar[int] = 5
