"""FMUs that run together: couplings, a master on fmpy, system files; must not load the FMI libraries before need."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {"System": "system", "SystemDescription": "description", "Running": "running"}

__all__ = ["Running", "System", "SystemDescription"]

if TYPE_CHECKING:
    from mbdfmu.cosim.description import SystemDescription
    from mbdfmu.cosim.running import Running
    from mbdfmu.cosim.system import System


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"mbdfmu.cosim.{_HOME[name]}"), name)
    raise AttributeError(f"module 'mbdfmu.cosim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
