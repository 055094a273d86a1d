"""What a block is: outputs computed from inputs by means of states; must not know any block or index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from mbdfmu.blocks.linear import Linear
from mbdfmu.description import Block, PositiveNumber, UnitText, Value
from mbdfmu.expressions import Node
from mbdfmu.frames import Resolve


class Port(NamedTuple):
    """One output: what it is, and how often it is differentiated by time against the block's unit."""

    text: str
    order: int = 0


class BlockElement(Block):
    """Base of the blocks: a member says what it gives, where its states begin and how they move.

    `fixed` resolves what depends on parameters only, `moving` whatever may be a signal. An output that asks `moving`
    for nothing depends on states alone and closes no algebraic loop.
    """

    modelica: ClassVar[str] = ""  # the component of the Modelica Standard Library that does the same

    in_unit: ClassVar[tuple[str, ...]] = ("start",)  # the fields that are in the unit of the output

    unit: UnitText = ""  # of the output
    nominal: PositiveNumber = 1.0  # the size of its states from which on errors count in proportion

    @property
    def order(self) -> int:
        """The number of states `x[1]`, `x[2]`, .."""
        raise TypeError(f"block type '{self.type_name}' does not count its states")

    def state_units(self) -> tuple[str, ...]:
        """Of the states, as far as the unit of the output tells."""
        return ("",) * self.order

    def ports(self) -> Mapping[str, Port]:
        """The outputs by name: `y`, or `y[1]`, `y[2]`, ..; `der(y)` for a rate."""
        return {"y": Port("output")}

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        """Start values of the states."""
        raise TypeError(f"block type '{self.type_name}' has no start values")

    def value(self, port: str, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> Node:
        """An output."""
        raise TypeError(f"block type '{self.type_name}' gives no output")

    def rates(self, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> tuple[Node, ...]:
        """The time derivatives of the states."""
        raise TypeError(f"block type '{self.type_name}' has no rates")


class LinearBlock(BlockElement):
    """Base of the blocks that are linear systems: a member gives the matrices and the inputs."""

    def system(self, fixed: Resolve) -> Linear:
        """The matrices."""
        raise TypeError(f"block type '{self.type_name}' has no matrices")

    def fed(self) -> tuple[Value, ...]:
        """The inputs."""
        raise TypeError(f"block type '{self.type_name}' has no inputs")

    def value(self, port: str, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> Node:
        system, row = self.system(fixed), list(self.ports()).index(port)
        return self._combined(system.C[row], x, system.D[row], moving)

    def rates(self, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> tuple[Node, ...]:
        system = self.system(fixed)
        return tuple(self._combined(a, x, b, moving) for a, b in zip(system.A, system.B, strict=True))

    def _combined(self, row: tuple[Node, ...], x: tuple[Node, ...], through: tuple[Node, ...], moving: Resolve) -> Node:
        """row x + through u; inputs that count nothing are not asked for."""
        graph = through[0].graph
        fed = [(b, value) for b, value in zip(through, self.fed(), strict=True) if b is not graph.zero]
        inputs: list[Any] = [b * moving(value) for b, value in fed]
        return graph.sum([*(a * one for a, one in zip(row, x, strict=True)), *inputs])
