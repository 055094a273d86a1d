"""The scheme of Dormand and Prince of order 5, which has no options; it is solver/schemes/explicit.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme


@dataclass(frozen=True, kw_only=True)
class Dopri5(Scheme, name="dopri5"):
    """Dormand and Prince 5(4) on the accelerations, each step projected onto the constraints; for smooth motion."""

    number: ClassVar[int] = 4
    order: ClassVar[int] = 5
