"""How the core calls a function in Python: shapes checked, missing derivatives by differences; must not know models.

It needs NumPy only, since Python FMUs do without the rest of the package.
"""

from __future__ import annotations

import importlib.util
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, did_you_mean

Vector = NDArray[np.float64]
# (time, inputs, parameters, whether derivatives are wanted) -> values, derivatives row by row
Called = Callable[[float, Vector, Vector, bool], tuple[Vector, Vector]]
_STEP = float(np.finfo(float).eps) ** (1 / 3)  # of central differences, relative


def checked(name: str, inputs: int, values: int, function: Callable[..., Any]) -> Called:
    """What the core calls for a user's `function(t, inputs, parameters)`."""

    def run(t: float, y: Vector, p: Vector) -> tuple[Vector, Vector | None]:
        try:
            return _returned((values, inputs), function(t, y.copy(), p))
        except Exception as error:
            problem = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
            raise ModelError(f"callback {name!r} at t = {t:.6g} s: {problem}") from error

    def call(t: float, y: Vector, p: Vector, wanted: bool) -> tuple[Vector, Vector]:
        found, slopes = run(t, y, p)
        if not wanted:
            return found, np.zeros(0)
        if slopes is None:
            slopes = _differences(lambda x: run(t, x, p)[0], y, values)
        return found, np.ascontiguousarray(slopes).reshape(-1)

    return call


def _returned(shape: tuple[int, int], returned: Any) -> tuple[Vector, Vector | None]:
    """Values and, where given, their derivatives by the inputs; two numbers are two values."""
    two_parts = isinstance(returned, tuple) and len(returned) == 2
    pair = two_parts and (shape[0] == 1 or np.ndim(returned[0]) > 0)
    given, slopes = returned if pair else (returned, None)
    found = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if found.shape != shape[:1]:
        raise ModelError(f"must return {shape[0]} value(s), found an array of shape {found.shape}")
    if not np.isfinite(found).all():
        raise ModelError(f"must return finite values, found {found.tolist()}")
    if slopes is None:
        return found, None
    matrix = np.asarray(slopes, dtype=np.float64)
    if matrix.size != shape[0] * shape[1]:
        raise ModelError(f"the derivatives must have shape {shape}, found {matrix.shape}")
    return found, matrix


def _differences(f: Callable[[Vector], Vector], y: Vector, values: int) -> Vector:
    slopes = np.empty((values, len(y)))
    for k in range(len(y)):
        step = _STEP * max(1.0, abs(y[k]))
        ahead, back = y.copy(), y.copy()
        ahead[k] += step
        back[k] -= step
        slopes[:, k] = (f(ahead) - f(back)) / (2 * step)
    return slopes


def source_module(file: Path) -> ModuleType:
    """The module of a file, under a name that no other file has."""
    name = f"_mbdfmu_{file.stem}_{zlib.crc32(str(file.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ModelError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def function_of(module: ModuleType, path: str, name: str) -> Callable[..., Any]:
    """`path` in a module, with dots for what is inside a class; `name` is what the user calls the module."""
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise ModelError(f"module {name!r} has no {path!r}{did_you_mean(part, dir(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise ModelError(f"{path!r} of module {name!r} must be a function, found {type(found).__name__}")
    function: Callable[..., Any] = found
    return function
