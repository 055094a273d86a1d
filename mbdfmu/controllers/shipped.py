"""The controllers that come with the package, a file each in the content folder `fmus`; must not know their laws."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mbdfmu.controllers.base import Controller
from mbdfmu.errors import ModelError, did_you_mean


def names() -> list[str]:
    """All shipped controllers."""
    return sorted(p.stem for p in _folder().iterdir() if p.suffix == ".py")


def kind(name: str) -> type[Controller]:
    """The class of a shipped controller, or of one that has been defined elsewhere."""
    file = _folder() / f"{name}.py"
    if name not in Controller.members() and name.isidentifier() and file.is_file():
        _imported(file)
    if name not in Controller.members():
        known = sorted({*names(), *Controller.names()})
        raise ModelError(f"no controller is called {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    return Controller.named(name)


def load(name: str, /, **parameters: Any) -> Controller:
    """A controller with these parameters: load("skyhook", gain=3000); load("abs_slip:wheels=4")."""
    if not isinstance(name, str):
        raise ModelError(f"a controller is loaded by its name, found {name!r}; known: {', '.join(names())}")
    name, _, given = name.partition(":")
    return kind(name).from_parameters({**_parsed(name, given), **parameters})


def members() -> Mapping[str, type[Controller]]:
    """Every shipped controller by name."""
    return {name: kind(name) for name in names()}


def _folder() -> Path:
    from mbdfmu.content import folder  # brings all that models need

    return folder("fmus")


def _imported(file: Path) -> None:
    name = f"mbdfmu_fmus_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)


def _parsed(name: str, text: str) -> dict[str, float]:
    parts = [part.partition("=") for part in text.split(",")] if text else []
    try:
        return {key.strip(): _number(value) for key, _, value in parts}
    except ValueError:
        raise ModelError(f"'{name}:{text}': must be names and numbers, as in {name}:sample_time=0.005") from None


def _number(text: str) -> float:
    return int(text) if text.strip().isdigit() else float(text)


def wheel_names(count: int) -> tuple[str, ...]:
    """What the names of ports end in: nothing for one wheel, _fl _fr _rl _rr for four."""
    return {1: ("",), 4: ("_fl", "_fr", "_rl", "_rr")}[count]


def unknown_wheels(count: object) -> Iterable[str]:
    """What there is to say about a number of wheels that no controller is made for."""
    return () if count in (1, 4) else (f"wheels must be 1 or 4, found {count!r}",)
