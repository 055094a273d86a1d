"""Results and FMUs against references; must not load numerical and FMI libraries before they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Comparison": "comparator", "Deviation": "comparator", "compare": "comparator",
    "Case": "judging", "Terms": "judging", "Verdict": "judging", "cases": "judging", "judge": "judging",
    "Reference": "references", "record": "recording", "write_report": "report",
}  # fmt: skip

__all__ = [
    "Case", "Comparison", "Deviation", "Reference", "Terms", "Verdict", "cases", "compare", "judge", "record",
    "write_report",
]  # fmt: skip

if TYPE_CHECKING:
    from .comparator import Comparison, Deviation, compare
    from .judging import Case, Terms, Verdict, cases, judge
    from .recording import record
    from .references import Reference
    from .report import write_report


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"mbdfmu.regression.{_HOME[name]}"), name)
    raise AttributeError(f"module 'mbdfmu.regression' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
