"""The energy that passes where force meets speed, and how much of it the coupling has made up; must not know FMUs.

An FMU is given the power effort * flow. It takes the effort as it was told for the step, so the difference to the
effort that its partner has computed, times the flow, is energy that neither side knows of (T21.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mbdfmu.cosim.description import Bond, split
from mbdfmu.cosim.master import Coupled
from mbdfmu.cosim.slave import Slave
from mbdfmu.cosim.wiring import Wiring

ENERGY, RESIDUAL = "energy", "residual_energy"


@dataclass
class Account:
    """The energy of one bond since the start, J (where effort times flow is a power)."""

    name: str
    slave: Slave
    effort: int  # place in U
    flow: int  # place in Y
    energy: float = 0.0  # given to the FMU, as its partner has meant it
    residual: float = 0.0  # given to it beyond that
    _before: tuple[float, float] = field(default=(0.0, 0.0), repr=False)

    def open(self, coupled: Coupled) -> None:
        """At the start of a step, or of a run."""
        self._before = self._now(coupled)

    def close(self, coupled: Coupled, size: float) -> None:
        """At the end of a step: Simpson's rule, exact for lines and parabolas times a line."""
        place = self.effort - self.slave.inputs.start
        value, slope = self.slave.shown(coupled.polynomials[:, self.slave.inputs], size)
        rise = slope if isinstance(slope, float) else float(slope[place])
        told = [float(value[place]) + rise * part * size for part in (0.0, 0.5, 1.0)]
        (effort, flow), (later, faster) = self._before, self._now(coupled)
        meant, flows = (effort, (effort + later) / 2, later), (flow, (flow + faster) / 2, faster)
        self.energy += _simpson(size, meant, flows)
        self.residual += _simpson(size, [a - b for a, b in zip(told, meant, strict=True)], flows)

    def _now(self, coupled: Coupled) -> tuple[float, float]:
        e = coupled.exchange
        return float(e.at(self.effort)), float(e.Y[self.flow])


def _simpson(size: float, efforts: Sequence[Any], flows: Sequence[Any]) -> float:
    return float(sum(w * e * f for w, e, f in zip((1, 4, 1), efforts, flows, strict=True)) * size / 6)


def accounts(bonds: dict[str, Bond], wiring: Wiring, slaves: Sequence[Slave]) -> list[Account]:
    """One for each bond."""
    of_name = {slave.name: slave for slave in slaves}
    efforts = {link.target: k for k, link in enumerate(wiring.links)}
    flows = {place: k for k, place in enumerate(wiring.sources)}
    return [
        Account(name=name, slave=of_name[split(bond.effort)[0]], effort=efforts[split(bond.effort)],
                flow=flows[split(bond.flow)])
        for name, bond in bonds.items()
    ]  # fmt: skip
