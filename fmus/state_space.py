"""Any linear controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbdfmu.controllers import Controller, Law, Port, State, tunable


@dataclass(frozen=True, kw_only=True)
class StateSpace(Controller, name="state_space"):
    """Linear system: der(x) = A x + B u, y = C x + D u; by default a lag of 0.1 s.

    With a sample time the states move by the forward rule: der(x) is what they change by in a second.
    """

    A: tuple[tuple[float, ...], ...] = tunable(((-10.0,),), "", "of the states in their rates")
    B: tuple[tuple[float, ...], ...] = tunable(((10.0,),), "", "of the inputs in the rates")
    C: tuple[tuple[float, ...], ...] = tunable(((1.0,),), "", "of the states in the outputs")
    D: tuple[tuple[float, ...], ...] = tunable(((0.0,),), "", "of the inputs in the outputs")

    @property
    def inputs(self) -> Mapping[str, Port]:
        return {f"u{k}": Port(text="input") for k in range(1, len(self.B[0]) + 1)}

    @property
    def outputs(self) -> Mapping[str, Port]:
        return {f"y{k}": Port(text="output") for k in range(1, len(self.C) + 1)}

    @property
    def states(self) -> Mapping[str, State]:
        return {f"x{k}": State(text="state") for k in range(1, len(self.A) + 1)}

    def time_constants(self) -> Sequence[float]:
        """No eigenvalue is faster than the largest sum of a row of A (Gershgorin)."""
        fastest = max((sum(map(abs, row)) for row in self.A), default=0.0)
        return (1.0 / fastest,) if fastest > 0 else ()

    def problems(self) -> Iterator[str]:
        n, inputs, outputs = len(self.A), len(self.B[0]) if self.B else 0, len(self.C)
        shapes = {"A": (n, n), "B": (n, inputs), "C": (outputs, n), "D": (outputs, inputs)}
        for name, (rows, columns) in shapes.items():
            matrix = getattr(self, name)
            found = (len(matrix), len(matrix[0]) if matrix else 0)
            if found != (rows, columns) or not rows or not columns:
                yield f"{name} must be {rows} rows of {columns}, found {found[0]} of {found[1]}"

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        states, inputs = [x[name] for name in self.states], [u[name] for name in self.inputs]
        outputs = _combined(self.C, states, self.D, inputs)
        rates = _combined(self.A, states, self.B, inputs)
        return Law(dict(zip(self.outputs, outputs, strict=True)), dict(zip(self.states, rates, strict=True)))


def _combined(left: Sequence[Any], x: Sequence[Any], right: Sequence[Any], u: Sequence[Any]) -> list[Any]:
    """left x + right u, row by row."""
    return [_dot(a, x) + _dot(b, u) for a, b in zip(left, right, strict=True)]


def _dot(row: Sequence[Any], values: Sequence[Any]) -> Any:
    first, *others = (a * value for a, value in zip(row, values, strict=True))
    return sum(others, first)
