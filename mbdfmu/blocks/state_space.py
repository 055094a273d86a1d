"""The linear system with any number of inputs and outputs."""

from collections.abc import Iterator, Mapping
from typing import Self

from pydantic import model_validator

from mbdfmu.blocks.base import LinearBlock, Port
from mbdfmu.blocks.linear import Linear, Row
from mbdfmu.description import Matrix, Series, Several, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.frames import Resolve


class StateSpace(LinearBlock, name="state_space"):
    """State space: x' = A x + B u, y = C x + D u."""

    modelica = "Modelica.Blocks.Continuous.StateSpace"
    in_unit = ()

    inputs: Series
    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix | None = None  # zero
    start: Several = 0.0  # of the states

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if problems := list(self._misfits()):
            raise ModelError(problems)
        return self

    def _misfits(self) -> Iterator[str]:
        n, m, p = len(self.A), len(self.inputs), len(self.C)
        sizes = {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}
        why = f"{n} rows of A are {n} states, {m} inputs, {p} rows of C are {p} outputs"
        for key, (rows, columns) in sizes.items():
            matrix = getattr(self, key)
            found = () if matrix is None else (len(matrix), len(matrix[0]))
            if found and found != (rows, columns):
                yield f"{key} must have {rows} rows of {columns}, found {found[0]} of {found[1]} ({why})"
        if isinstance(self.start, tuple) and len(self.start) != n:
            yield f"start must be one value or a list of {n} as A has rows, found a list of {len(self.start)}"

    @property
    def order(self) -> int:
        return len(self.A)

    def ports(self) -> Mapping[str, Port]:
        if len(self.C) == 1:
            return super().ports()
        return {f"y[{k}]": Port(f"output {k}") for k in range(1, len(self.C) + 1)}

    def fed(self) -> tuple[Value, ...]:
        return self.inputs

    def system(self, fixed: Resolve) -> Linear:
        def rows(matrix: Matrix) -> tuple[Row, ...]:
            return tuple(tuple(map(fixed, row)) for row in matrix)

        nothing = ((0.0,) * len(self.inputs),) * len(self.C)
        through = nothing if self.D is None else self.D
        return Linear(A=rows(self.A), B=rows(self.B), C=rows(self.C), D=rows(through))

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        given = self.start if isinstance(self.start, tuple) else (self.start,) * self.order
        return tuple(map(fixed, given))
