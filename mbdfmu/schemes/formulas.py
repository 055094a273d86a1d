"""Formulas for ordinary differential equations, as an option of schemes that integrate accelerations.

They are computed in solver/integrators/; the order of FORMULAS is that of solver/integrators/table.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mbdfmu.schemes.base import Scheme, option

_ORDERS = range(1, 6)
FORMULAS: dict[str, int] = {  # name: order
    "euler": 1, "rk2": 2, "midpoint": 2, "rk4": 4, "rkf45": 5, "dopri5": 5, "dop853": 8,
    "adams": 12,
    **{f"ab{k}": k for k in _ORDERS},
    **{f"abm{k}": max(k, 1) for k in _ORDERS},
    **{f"mampc{k}": k + 1 for k in _ORDERS},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WithFormula(Scheme):
    """Base of the schemes that integrate accelerations by a formula chosen by name."""

    order: ClassVar[int] = 5

    formula: str = option(
        "dopri5",
        "integration formula: Runge-Kutta (rk2 is Heun's), adams (order 1 to 12 as the error asks for), "
        "Adams-Bashforth ab1..5, predictor-corrector abm1..5 (Adams-Moulton of the same order), mampc1..5 (of the next "
        "order)",
        choices=tuple(FORMULAS),
    )
    start: str = option(
        "runge-kutta",
        "first steps of formulas of several steps: by a Runge-Kutta formula, or growing from order 1",
        choices=("runge-kutta", "growing"),
    )

    @property
    def order_with_options(self) -> int:
        return FORMULAS[self.formula]
