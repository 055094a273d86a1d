"""Values of a description as plain numbers, for given parameters; must not know what they are for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mbdfmu.animation.rotations import NO_TURN, Array
from mbdfmu.description import Description, Orientation
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, evaluate
from mbdfmu.orientation import quaternion
from mbdfmu.resolution import PARAMETERS, Names
from mbdfmu.tabular import unknown


class Numbers:
    """The numbers of one model; findings are collected until `check`."""

    def __init__(self, description: Description, parameters: Mapping[str, float]) -> None:
        self._description = description
        self._names = Names(curves=description.curves)
        self.problems = self._names.problems
        known = description.parameters
        self.problems += [unknown("parameter", name, known) for name in parameters if name not in known]
        for name, value in _given(description).items():
            self._names.postpone(name, partial(self._define, name, parameters.get(name, value)))

    def _define(self, name: str, value: float | str) -> None:
        self._names.define(name, self._names.value(name, value, PARAMETERS))

    def number(self, path: str, value: float | str) -> float:
        """A number or expression."""
        return self._evaluated(path, [self._names.value(path, value, PARAMETERS)])[0]

    def size(self, path: str, value: float | str) -> float:
        """A number above zero."""
        found = self.number(path, value)
        if found <= 0:
            self.problems.append(f"{path}: must be positive, found {found:g} from {value!r}; change the parameters")
        return found

    def point(self, path: str, value: Any) -> Array:
        """A point in space; planar ones lie in the plane z = 0."""
        given = [self.number(f"{path}[{k}]", component) for k, component in enumerate(self._description.point(value))]
        return np.array([*given, 0.0])[:3]

    def turn(self, path: str, orientation: Orientation | None) -> Array:
        """The quaternion of an orientation."""
        if orientation is None:
            return NO_TURN

        def resolve(value: Any) -> Node:
            return self._names.value(path, value, PARAMETERS)

        return np.array(self._evaluated(path, list(quaternion(orientation, resolve, self._names.graph))))

    def _evaluated(self, path: str, nodes: list[Node]) -> list[float]:
        """Finite numbers; 1 (and a finding) in place of any other."""
        values = [float(value) for value in evaluate(nodes, {})]
        if not np.all(np.isfinite(values)):
            self.problems.append(f"{path}: is {', '.join(f'{v:g}' for v in values)}; it must be finite")
        return [value if np.isfinite(value) else 1.0 for value in values]

    def check(self) -> None:
        """Raise what was found."""
        if self.problems:
            raise ModelError(dict.fromkeys(self.problems))


def _given(description: Description) -> dict[str, float | str]:
    """What places and sizes may depend on: parameters and start values; inputs and time as they are at the start."""
    starts = {
        f"{name}.{axis}.start": value
        for name, body in description.bodies.items()
        for axis, value in zip("xyz", description.point(body.position), strict=False)
    }
    angles = {f"{name}.phi.start": body.angle for name, body in description.bodies.items()}
    inputs = {one: value for name, given in description.inputs.items() for one, value in given.starts(name).items()}
    return {"time": 0.0} | starts | angles | inputs | {name: p.value for name, p in description.parameters.items()}
