"""FMUs: write one from a model, look into one, run one; must not load the FMI libraries before they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "export": "archive", "info": "reading", "FmuInfo": "reading", "simulate": "harness", "open": "harness",
    "FmuSimulation": "running",
}  # fmt: skip

__all__ = ["FmuInfo", "FmuSimulation", "export", "info", "open", "simulate"]

if TYPE_CHECKING:
    from mbdfmu.fmi.archive import export
    from mbdfmu.fmi.harness import open, simulate
    from mbdfmu.fmi.reading import FmuInfo, info
    from mbdfmu.fmi.running import FmuSimulation


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"mbdfmu.fmi.{_HOME[name]}"), name)
    raise AttributeError(f"module 'mbdfmu.fmi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
