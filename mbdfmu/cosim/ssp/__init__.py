"""Systems as SSP, System Structure and Parameterization 1.0: packages with their FMUs; must not know how they run.

A package is a zip archive with `SystemStructure.ssd`, which is XML, and the FMUs and tables that it names in
`resources`. What SSP cannot say of a system stands in annotations of our own (`OURS`), which other tools pass over.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

PACKAGE, BARE = ".ssp", ".ssd"
SUFFIXES = (PACKAGE, BARE)

_HOME = {"load": "reading", "save": "writing", "settled": "writing"}  # lxml is loaded when one of them is asked for

__all__ = ["BARE", "PACKAGE", "SUFFIXES", "load", "save", "settled"]

if TYPE_CHECKING:
    from mbdfmu.cosim.ssp.reading import load
    from mbdfmu.cosim.ssp.writing import save, settled


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"mbdfmu.cosim.ssp.{_HOME[name]}"), name)
    raise AttributeError(f"module 'mbdfmu.cosim.ssp' has no attribute {name!r}")
