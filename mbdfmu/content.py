"""The models that come with the package: files, and families that a parameter builds; must not know what they hold."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.facade import Model

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parent


def folder(name: str) -> Path:
    """The `models` or `fmus` folder: inside the package in a wheel, beside it in a checkout."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() or not (_CHECKOUT / "pyproject.toml").is_file() else _CHECKOUT / name


def names() -> list[str]:
    """All shipped models and families."""
    return sorted(p.stem for p in folder("models").iterdir() if p.suffix in (".json", ".py"))


def path(name: str) -> Path:
    """The file of a shipped model or family."""
    for suffix in (".json", ".py"):
        candidate = folder("models") / f"{name}{suffix}"
        if name.isidentifier() and candidate.is_file():
            return candidate
    raise ModelError(f"no shipped model is called {name!r}{did_you_mean(name, names())}; known: {', '.join(names())}")


def summary(name: str) -> str:
    """One line about a shipped model."""
    file = path(name)
    if file.suffix == ".json":
        return Model.load(file).description.text
    build = _builder(file)
    arguments = ", ".join(f"{p.name}={p.default}" for p in inspect.signature(build).parameters.values())
    return f"{inspect.getdoc(build)} ({arguments})"


def load(name: str, **parameters: Any) -> Model:
    """A shipped model; families take parameters: load("chain", N=100), or load("chain:N=100")."""
    if not isinstance(name, str):
        raise ModelError(f"a shipped model is loaded by its name, found {name!r}; known: {', '.join(names())}")
    name, _, given = name.partition(":")
    file = path(name)
    if given:
        parameters = {**_parsed(name, given), **parameters}
    if file.suffix == ".json":
        if parameters:
            raise ModelError(f"model '{name}' is a file, not a family; it takes no {', '.join(parameters)}")
        return Model.load(file)
    build = _builder(file)
    known = inspect.signature(build).parameters
    for key, value in parameters.items():
        if key not in known:
            raise ModelError(
                f"family '{name}' has no parameter {key!r}{did_you_mean(key, known)}; known: {', '.join(known)}"
            )
        if isinstance(known[key].default, int) and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise ModelError(f"{name}: {key} must be a whole number, as in {key}={known[key].default}, found {value!r}")
    return build(**parameters)


def _builder(file: Path) -> Callable[..., Model]:
    spec = importlib.util.spec_from_file_location(f"mbdfmu_models_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build: Callable[..., Model] = module.build
    return build


def _parsed(name: str, text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        try:
            values[key.strip()] = int(value) if equals else None
        except ValueError:
            raise ModelError(
                f"'{name}:{text}': {part!r} must be a name and a whole number, as in {name}:N=100"
            ) from None
        if not equals:
            raise ModelError(f"'{name}:{text}': {part!r} must be a name and a whole number, as in {name}:N=100")
    return values
