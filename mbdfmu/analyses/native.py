"""Calls into the native core with its errors turned into ours; must not know what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mbdfmu.errors import ModelError, StepFailed

try:
    _solver: Any = import_module("mbdfmu._solver")
except ImportError as missing:
    raise ImportError("the compiled part of mbdfmu is missing; run `pip install .` in the source folder") from missing

__all__ = ["_solver", "translated"]


@contextmanager
def translated(prefix: str = "") -> Iterator[None]:
    """Turn the core's exceptions into ModelError and StepFailed."""
    try:
        yield
    except _solver.NativeModelError as error:
        raise ModelError(f"{prefix}{error}") from None
    except _solver.NativeStepFailed as error:
        raise StepFailed(f"{prefix}{error}") from None
