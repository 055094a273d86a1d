"""Blocks become states, outputs and equations; must not know a block by name."""

from __future__ import annotations

from functools import partial

from mbdfmu.blocks import BlockElement
from mbdfmu.description import Block
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.resolution import ANY, PARAMETERS
from mbdfmu.signals.draft import Context, Draft
from mbdfmu.signals.table import Signal
from mbdfmu.units import differentiated


class Diagram:
    """The blocks of a description."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.blocks = {name: _member(name, block) for name, block in draft.d.blocks.items()}
        self.x: dict[str, tuple[Node, ...]] = {}

    def states(self) -> None:
        """The symbols of the states, which anything may use."""
        for name, block in self.blocks.items():
            keys = [f"x[{k}]" for k in range(1, block.order + 1)]
            self.x[name] = tuple(map(partial(self._state, name, block), keys, block.state_units()))
            starts = tuple(f"{name}.{key}.start" for key in keys)
            if keys:
                self.draft.names.postpone(starts, partial(self._starts, name, block, keys))

    def _state(self, name: str, block: BlockElement, key: str, unit: str) -> Node:
        return self.draft.state(f"{name}.{key}", label=f"block '{name}' {key}", unit=unit, nominal=block.nominal,
                                text="state of the block")  # fmt: skip

    def _starts(self, name: str, block: BlockElement, keys: list[str]) -> None:
        fixed = Context(self.draft, "blocks", name, PARAMETERS)
        for key, start, unit in zip(keys, block.starts(fixed), block.state_units(), strict=True):
            self.draft.start_at(f"{name}.{key}", start, unit)

    def outputs(self) -> None:
        """Outputs, which wait for whatever they are made of."""
        for name, block in self.blocks.items():
            for port in block.ports():
                self.draft.names.postpone(_signal(name, port), partial(self._output, name, block, port), loops=True)

    def _resolvers(self, name: str) -> tuple[Context, Context]:
        fixed, moving = (Context(self.draft, "blocks", name, allowed) for allowed in (PARAMETERS, ANY))
        return fixed, moving

    def _output(self, name: str, block: BlockElement, port: str) -> None:
        signal, what = _signal(name, port), block.ports()[port]
        value = block.value(port, self.x[name], *self._resolvers(name))
        node = self.draft.closed(signal, value, f"block '{name}' {port}", keep=True)
        unit = block.unit
        for _ in range(what.order):
            unit = differentiated(unit)
        self.draft.add(Signal(name=signal, unit=unit, node=node, text=what.text))

    def equations(self) -> None:
        """How the states move, once everything has its name."""
        for name, block in self.blocks.items():
            rates = block.rates(self.x[name], *self._resolvers(name)) if block.order else ()
            for k, rate in enumerate(rates, 1):
                state = f"{name}.x[{k}]"
                self.draft.holds(state, self.draft.graph.symbol("xd", state) - rate)


def _member(name: str, block: Block) -> BlockElement:
    if isinstance(block, BlockElement):
        return block
    raise ModelError(f"blocks.{name}: type '{block.type_name}' computes nothing; derive it from BlockElement")


def _signal(name: str, port: str) -> str:
    """`lag.y`, and `der(lag.y)` for `der(y)`."""
    inner = port.removeprefix("der(")
    return f"{port[: len(port) - len(inner)]}{name}.{inner}"
