"""A place where a model can stand still, as a value and as a file; must not know how it is found."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mbdfmu.analyses.compiled import Vector
from mbdfmu.coordinates import QUATERNION
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic
from mbdfmu.signals import SymbolicModel

METHODS = ("settle", "equations", "energy")
_PARTS = ("positions", "states", "turns", "velocities")


@dataclass(frozen=True, kw_only=True)
class Equilibrium:
    """Positions at which a model stands still; `simulate(start=...)` takes one, `equilibrium["spring.force"]` asks it.

    `values` are all signals at rest, with time held: what time alone drives stands still.
    """

    model: str
    method: str
    positions: Mapping[str, float]  # of the coordinates and quaternions
    states: Mapping[str, float] = field(default_factory=dict)
    turns: Mapping[str, float] = field(default_factory=dict)  # angles that count turns
    velocities: Mapping[str, float] = field(default_factory=dict)  # given, for the motion that starts here
    values: Mapping[str, float] = field(default_factory=dict, repr=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    residual: float = 0.0  # the largest acceleration left, m/s2 or rad/s2
    worst: str = ""  # whose it is
    steps: int = 0
    iterations: int = 0
    stable: bool | None = None  # whether no small push grows; None: not examined
    neutral: tuple[str, ...] = ()  # coordinates along which a small push is not returned either
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise ModelError(f"model '{self.model}' has no signal {name!r}{did_you_mean(name, self.values)}")
        return self.values[name]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, to start simulations from."""
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        with atomic(path) as file:
            file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Equilibrium:
        """What `write` has written."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            known = {f.name for f in fields(cls)}
            found = {key: value for key, value in content.items() if key in known}
            equilibrium = cls(**found | {key: tuple(found.get(key, ())) for key in ("neutral", "notes")})
            for part in _PARTS:
                _numbers(getattr(equilibrium, part))
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{os.fspath(path)}: is no equilibrium that mbdfmu has written ({error})") from None
        return equilibrium

    def arrays(self, model: SymbolicModel) -> tuple[list[float], list[float], list[float]]:
        """Positions, states and turns in the order of the solver; a ModelError names what does not fit the model."""
        wanted = (position_names(model), [s.name for s in model.states], [w.name for w in model.windings])
        given = (self.positions, self.states, self.turns)
        problems = [
            f"the equilibrium of '{self.model}' has no {what} {name!r}"
            for what, names, values in zip(("position", "state", "turn"), wanted, given, strict=True)
            for name in names
            if name and name not in values
        ]
        if problems:
            raise ModelError([*problems[:5], f"it does not belong to model '{model.description.name}'; find it anew"])
        q, x, turns = ([float(values.get(n, 0.0)) for n in names] for names, values in zip(wanted, given, strict=True))
        return q, x, turns


def position_names(model: SymbolicModel) -> list[str]:
    """Names in the order of q; empty for rotations, which are zero between steps: the quaternions follow."""
    turning = {b.name for b in model.bodies} if model.dimensions == 3 else set()
    rotations = {c.name for c in model.coordinates if c.unit == "rad" and c.node in turning}
    names = ["" if c.name in rotations else c.name for c in model.coordinates]
    return names + [f"{b.name}.{e}" for b in model.bodies if turning for e in QUATERNION]


def named(names: Iterable[str], values: Vector) -> dict[str, float]:
    """Values by name, but those without one."""
    return {name: float(value) for name, value in zip(names, values, strict=True) if name}


def _numbers(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if not math.isfinite(float(value)):
            raise ValueError(f"{name} is {value}")
