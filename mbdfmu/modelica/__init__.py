"""Models as text that Modelica tools accept: three styles, each in a file; must not know command lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from mbdfmu.analyses import Simulation
from mbdfmu.collecting import without_collection
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic, named_file
from mbdfmu.lowering import Lowered
from mbdfmu.modelica import equations, multibody, wrapper
from mbdfmu.modelica.subject import Subject
from mbdfmu.signals import Signal, SymbolicModel

__all__ = ["STYLES", "export"]

STYLES: dict[str, Callable[[Subject], str]] = {
    "multibody": multibody.written, "equations": equations.written, "wrapper": wrapper.written,
}  # fmt: skip


@without_collection()
def export(
    lowered: Lowered,
    begin: Callable[[], Simulation],
    path: str | os.PathLike[str],
    *,
    style: str,
    signals: Iterable[str],
) -> Path:
    """Write the model; `begin` gives a simulation at the start, `signals` are patterns beside the outputs."""
    target = named_file(path)
    problems = []
    if target.suffix != ".mo":
        problems.append(f"{os.fspath(path)}: the name of a Modelica file must end in .mo")
    if not isinstance(style, str) or style not in STYLES:
        problems.append(f"style must be one of {', '.join(STYLES)}, found {style!r}{did_you_mean(str(style), STYLES)}")
    wanted = _wanted(lowered.model, signals, problems)
    if problems:
        raise ModelError(problems)
    text = STYLES[style](Subject(lowered, begin, wanted, f"Exported by mbdfmu {version('mbdfmu')}, style {style}."))
    with atomic(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def _wanted(model: SymbolicModel, patterns: Iterable[str], problems: list[str]) -> list[Signal]:
    """Outputs, and what patterns name."""
    found = {s.name: s for s in model.signals.values() if s.causality == "output"}
    for pattern in patterns:
        matching = model.matching(pattern)
        if not matching:
            problems.append(f"no signal matches {pattern!r}{did_you_mean(pattern, model.signals)}")
        found |= {s.name: s for s in matching if s.causality == "local"}
    return list(found.values())
