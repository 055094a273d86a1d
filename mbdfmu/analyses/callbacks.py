"""Functions in Python that a model calls: found and checked, where that is allowed; must not know equations."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from mbdfmu.calling import Called, checked, function_of, source_module
from mbdfmu.description import Code
from mbdfmu.errors import ModelError
from mbdfmu.signals import Function


def called(functions: Sequence[Function], *, allowed: bool) -> list[Called]:
    """What the core calls, one for each function; a ModelError lists those that are not there or not allowed."""
    found, problems = [], []
    for function in functions:
        try:
            python = _loaded(function.python, allowed=allowed)
            found.append(checked(function.name, len(function.inputs), len(function.values), python))
        except ModelError as error:
            problems += [f"callbacks.{function.name}: {problem}" for problem in error.problems]
    if problems:
        raise ModelError(problems)
    return found


def _loaded(code: Code, *, allowed: bool) -> Callable[..., Any]:
    """The function itself; what a file names is imported only where that is allowed."""
    if code.function is not None:
        return code.function
    if not allowed:
        reason = f"calls Python code, {str(code)!r}, which would run with all your rights"
        raise ModelError(f"{reason}; look at it, then load the model with allow_python=True or --allow-python")
    module, _, path = code.partition(":")
    file = code.folder / f"{module.replace('.', '/')}.py" if code.folder is not None else None
    try:
        found = source_module(file) if file is not None and file.is_file() else importlib.import_module(module)
    except Exception as error:
        raise ModelError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    return function_of(found, path, module)
