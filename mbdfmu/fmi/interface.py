"""interface.mbd, the variables of one FMU as the slave reads them; must not know XML, archives or slaves."""

from __future__ import annotations

import math
from dataclasses import Field, fields
from typing import Any

from mbdfmu.blob import doubles, ints, lines, pack, text
from mbdfmu.fmi.variables import ROLES, SPACES, TYPES, VARIABILITIES, Table, Variable
from mbdfmu.schemes import Scheme


def packed(table: Table, guid: str, tool: str) -> bytes:
    """`interface.mbd`: the table and the schemes with their options, as solver/interface.hpp reads them."""
    settable = [v for v in table.variables if v.settable]
    return pack(
        {
            "model": text(table.model),
            "guid": text(guid),
            "tool": text(tool),
            "kind": text("co-simulation" if table.event_indicators is None else "model exchange"),
            "variables": ints(n for v in table.variables for n in _row(v)),
            "names": lines(v.name for v in table.variables),
            "bounds": doubles(x for v in table.variables for x in _bounds(v.minimum, v.maximum)),
            "starts": doubles(start for v in settable for start in v.starts),
        }
        | _schemes()
    )


def _row(v: Variable) -> list[int]:
    kept = (SPACES[v.kept.space], v.kept.first, v.kept.count) if v.kept else (0, 0, 0)
    kinds = (TYPES.index(v.type), ROLES.index(v.role), VARIABILITIES.index(v.variability))
    return [v.reference, *kinds, v.index, v.size, *kept]


def _bounds(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else low, math.inf if high is None else high


def _schemes() -> dict[str, bytes]:
    """What may be chosen as scheme, and every option of every scheme; a choice stands for its place, from 0."""
    schemes = Scheme.numbered()
    options = [(k, f) for k, scheme in enumerate(schemes) for f in fields(scheme)]
    return {
        "schemes": lines(scheme.type_name for scheme in schemes),
        "options": ints(n for k, f in options for n in (k, isinstance(f.default, int))),
        "option.names": lines(f.name for _, f in options),
        "option.choices": lines("|".join(f.metadata["choices"]) for _, f in options),
        "option.num": doubles(x for _, f in options for x in _default_and_bounds(f)),
    }


def _default_and_bounds(f: Field[Any]) -> tuple[Any, ...]:
    choices = f.metadata["choices"]
    if choices:
        return choices.index(f.default), 0, len(choices) - 1
    return f.default, f.metadata["low"], f.metadata["high"]
