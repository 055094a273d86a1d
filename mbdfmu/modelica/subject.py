"""What every style writes about; must not know any text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mbdfmu.analyses import Simulation
from mbdfmu.lowering import Lowered
from mbdfmu.modelica.start import Start
from mbdfmu.signals import Signal, SymbolicModel


@dataclass(frozen=True)
class Subject:
    """A compiled model, and what is wanted of it."""

    lowered: Lowered
    begin: Callable[[], Simulation]  # at the start
    wanted: Sequence[Signal]  # outputs, and signals that are variables beside them
    about: str  # who wrote the text

    @property
    def model(self) -> SymbolicModel:
        return self.lowered.model

    @cached_property
    def start(self) -> Start:
        """On the joints; looked for by those who need it."""
        return Start.of(self.model, self.begin())
