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
        raise StepFailed(f"{prefix}{_with_cause(error)}") from error.__cause__


def _with_cause(error: BaseException) -> str:
    """A function in Python that has raised an exception is what went wrong."""
    cause = error.__cause__
    return str(error) if cause is None else f"{error}; {cause}"
