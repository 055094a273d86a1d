"""The scheme of Dormand and Prince of order 8, which has no options; it is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme


@dataclass(frozen=True, kw_only=True)
class Dop853(Scheme, name="dop853"):
    """Dormand and Prince 8(5,3) on the accelerations, each step projected onto the joints; for tight tolerances."""

    number: ClassVar[int] = 3
    order: ClassVar[int] = 8
