"""The energy that passes where force meets speed, and how much of it the coupling has made up; must not know FMUs.

An FMU is given the power effort * flow. It takes the effort as it was told for the step, so the difference to the
effort that its partner has computed, times the flow, is energy that neither side knows of (T21.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mbdfmu.cosim.description import SystemDescription, split
from mbdfmu.cosim.master import Coupled
from mbdfmu.cosim.slave import Slave, Told
from mbdfmu.cosim.wiring import Wiring, watts

Point = tuple[float, float]  # time and value


@dataclass
class Account:
    """The energy of one bond since the start, J.

    Effort and flow are lines between the communication points of the FMUs that they come from, whose steps may be
    longer than those of others; so the energy is known up to the last point that both have met.
    """

    name: str
    slave: Slave
    partner: Slave  # where the effort comes from
    effort: int  # place in U
    flow: int  # place in Y
    watts: float = 1.0  # of effort times flow
    energy: float = 0.0  # given to the FMU, as its partner has meant it
    residual: float = 0.0  # given to it beyond that
    _efforts: list[Point] = field(default_factory=list, repr=False)
    _flows: list[Point] = field(default_factory=list, repr=False)
    _told: list[Told] = field(default_factory=list, repr=False)

    def open(self, coupled: Coupled) -> None:
        """At the start of a run."""
        self._efforts, self._flows = [self._meant(coupled)], [self._given(coupled)]

    def book(self, coupled: Coupled) -> None:
        """At the end of a step."""
        if self.partner.time == coupled.time:
            self._efforts.append(self._meant(coupled))
        if self.slave.time == coupled.time:
            self._flows.append(self._given(coupled))
            self._told += self.slave.told
        end = min(self._efforts[-1][0], self._flows[-1][0])
        if end > self._flows[0][0]:
            self._add(end)
            self._efforts, self._flows = _since(end, self._efforts), _since(end, self._flows)
            self._told = [told for told in self._told if told.end > end]

    def _add(self, end: float) -> None:
        """Simpson's rule from break to break, exact for lines times lines."""
        breaks = {time for time, _ in (*self._efforts, *self._flows)} | {told.begin for told in self._told}
        begin, place = self._flows[0][0], self.effort - self.slave.inputs.start
        times = sorted(time for time in breaks | {end} if begin <= time <= end)
        pieces = iter(self._told)
        piece = next(pieces)
        for a, b in pairwise(times):
            while piece.end <= a:
                piece = next(pieces)
            now = [a, (a + b) / 2, b]
            meant, flows = _lines(now, self._efforts), _lines(now, self._flows)
            told = [float(piece.values[place] + piece.slopes[place] * (t - piece.begin)) for t in now]
            beyond = [x - y for x, y in zip(told, meant, strict=True)]
            self.energy += self.watts * _simpson(b - a, meant, flows)
            self.residual += self.watts * _simpson(b - a, beyond, flows)

    def _meant(self, coupled: Coupled) -> Point:
        return coupled.time, float(coupled.exchange.at(self.effort))

    def _given(self, coupled: Coupled) -> Point:
        return coupled.time, float(coupled.exchange.Y[self.flow])


def _lines(times: Sequence[float], points: Sequence[Point]) -> list[float]:
    known = np.array(points)
    found: list[float] = np.interp(np.array(times), known[:, 0], known[:, 1]).tolist()
    return found


def _since(time: float, points: Sequence[Point]) -> list[Point]:
    """The rest of the lines, from that time on."""
    return [(time, _lines([time], points)[0]), *(point for point in points if point[0] > time)]


def _simpson(size: float, efforts: Sequence[float], flows: Sequence[float]) -> float:
    return float(sum(w * e * f for w, e, f in zip((1, 4, 1), efforts, flows, strict=True)) * size / 6)


def accounts(description: SystemDescription, wiring: Wiring, slaves: Sequence[Slave]) -> list[Account]:
    """One for each bond."""
    bonds, couplings = description.bonds, description.couplings
    of_name = {slave.name: slave for slave in slaves}
    efforts = {link.target: k for k, link in enumerate(wiring.links)}
    flows = {place: k for k, place in enumerate(wiring.sources)}
    return [
        Account(name=name, slave=of_name[split(bond.effort)[0]], effort=efforts[split(bond.effort)],
                partner=of_name[split(couplings[bond.effort].source)[0]], flow=flows[split(bond.flow)],
                watts=watts(*(wiring.fmus[fmu].variable(one).unit for fmu, one in map(split, (bond.effort, bond.flow))))
                      or 1.0)
        for name, bond in bonds.items()
    ]  # fmt: skip
