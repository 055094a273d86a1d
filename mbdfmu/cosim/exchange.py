"""How values pass between FMUs at one time: Y, what they give, and U, what they are given; must not know steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.cosim.acceleration import Anderson
from mbdfmu.cosim.signals import Matrix, Vector, value
from mbdfmu.cosim.slave import Slave
from mbdfmu.cosim.wiring import READ, Wiring
from mbdfmu.errors import StepFailed

Call = Callable[[], None]
ROUNDS = 100  # of the iteration where values depend on themselves
SETTLED = 1e-12  # relative to the size of values so far


class Exchange:
    """The passes of a communication point; only FMUs that are at its time take part."""

    def __init__(self, wiring: Wiring, slaves: Sequence[Slave]) -> None:
        self.links = wiring.links
        external = [k for k, link in enumerate(wiring.links) if link.source is None]
        self.Y = np.zeros(len(wiring.sources) + len(external))  # what is given from outside stands at the end
        self.U = np.zeros(len(wiring.links))
        self.size = np.array([link.nominal for link in wiring.links])  # of U so far, at least its nominal value
        self.external = np.array(external, dtype=int)  # in U
        self.given = self.Y[len(wiring.sources) :]
        self.late = self.Y.copy()  # what delayed couplings take their values from
        self._assumed = np.zeros(len(wiring.links))  # U, where it comes from an FMU that is not at this time
        self._away: NDArray[np.bool_] | None = None
        self._delays = wiring.delays
        self._torn = np.array(wiring.torn, dtype=int)
        self._has_events = any(slave.instance.facts.is_integrated for slave in slaves)
        of_name = {slave.name: slave for slave in slaves}
        self._owners = [of_name[link.target[0]] for link in wiring.links]
        self._lay(wiring)
        self._passes = list(self._connected(wiring, slaves))

    def _lay(self, wiring: Wiring) -> None:
        """Of every place in U: where in Y its value comes from, and how."""
        places = {place: k for k, place in enumerate(wiring.sources)}
        beyond = iter(range(len(wiring.sources), len(self.Y)))
        self.source = np.array([places[x.source] if x.source else next(beyond) for x in wiring.links], dtype=int)
        self._factor = np.array([link.factor for link in wiring.links])
        self._offset = np.array([link.offset for link in wiring.links])
        self._delayed = np.array([link.delayed for link in wiring.links], dtype=bool)

    def _connected(self, wiring: Wiring, slaves: Sequence[Slave]) -> list[tuple[Slave, Call]]:
        own = {slave: [one for one in wiring.passes if one.fmu == slave.name] for slave in slaves}
        calls = {slave: iter(slave.connect(own[slave], self.Y, self.U)) for slave in slaves}
        of_name = {slave.name: slave for slave in slaves}
        passes: list[tuple[Slave, Call]] = []
        for one in wiring.passes:
            slave = of_name[one.fmu]
            if one.kind != READ:
                passes.append((slave, self._route(slice(one.first, one.first + len(one.variables)))))
            passes.append((slave, next(calls[slave])))
        return passes

    def _route(self, part: slice) -> Call:
        """What fills a part of U from Y."""
        Y, U, late = self.Y, self.U[part], self.late
        source, factor, offset = self.source[part], self._factor[part], self._offset[part]
        delayed = np.flatnonzero(self._delayed[part])
        scaled = bool(np.any(factor != 1) or np.any(offset != 0))
        assumed = self._assumed[part]

        def route() -> None:
            Y.take(source, out=U, mode="clip")  # any other mode would make a copy first
            if delayed.size:
                U[delayed] = late[source[delayed]]
            if scaled:
                np.multiply(U, factor, out=U)
                np.add(U, offset, out=U)
            if self._away is not None:
                np.copyto(U, assumed, where=self._away[part])

        return route

    def assume(self, inputs: Sequence[NDArray[np.int_]], expected: Matrix | None = None, size: float = 0.0) -> None:
        """What these are as long as the FMUs that they come from have not arrived; else partners got old values."""
        self._away = None
        if inputs and expected is not None:
            self._away = np.zeros(len(self.U), dtype=bool)
            self._away[np.concatenate(inputs)] = True
            self._assumed[:] = value(expected, size)

    def measure(self) -> None:
        """How large the values are."""
        np.maximum(self.size, np.abs(self.U), out=self.size)

    def at(self, places: Any) -> Any:
        """What Y says that this place of U, or these places, are: written or not."""
        found = self._factor[places] * self.Y[self.source[places]] + self._offset[places]
        return found if self._away is None else np.where(self._away[places], self._assumed[places], found)

    def settle(self, time: float) -> None:
        """While the FMUs are initialised: values pass until they stay."""
        places = self._sources_of(range(len(self.links)))
        solver = Anderson(self._sizes_of(places))
        passing = max(2, self._delays + 1)  # rounds until what is late or torn is given what has been said
        for k in range(passing + ROUNDS):
            before, given = self.U.copy(), self.Y[places]
            if k < passing:  # what is delayed is to stay then, or its loop would have to settle
                self.late[:] = self.Y
            self._pass(time)
            change = np.abs(self.U - before)
            if k < passing:  # values may only be on their way
                continue
            if np.all(change <= SETTLED * np.maximum(self.size, np.abs(self.U))):
                self.measure()
                return
            self.Y[places] = solver.next(given, self.Y[places])
        raise StepFailed(self._restless("the initial value", change, time, solver.gain))

    def run(self, time: float) -> None:
        """Values pass between the FMUs that are at this time, until no event of theirs changes them any more."""
        self._exchange(time)
        if self._has_events:
            self._settle_events(time)

    def _exchange(self, time: float) -> None:
        """Once; a loop over an FMU that is not at this time is none."""
        torn = [k for k in self._torn if self._owners[k].instance.time == time]
        if torn:
            self._solve_loops(time, np.array(torn))
        else:
            self._pass(time)

    def _settle_events(self, time: float) -> None:
        """FMUs for model exchange have their events when inputs have been set; that may change what has been read."""
        for _ in range(ROUNDS):
            before = self.U.copy()
            self._exchange(time)
            change = np.abs(self.U - before)
            if np.all(change <= SETTLED * np.maximum(self.size, np.abs(self.U))):
                return
        raise StepFailed(self._restless("by events the input", change, time, 0.0))

    def _pass(self, time: float) -> None:
        for slave, call in self._passes:
            if slave.instance.time == time:
                call()

    def _solve_loops(self, time: float, torn: NDArray[np.int_]) -> None:
        """Accelerated fixed-point iteration of what depends on itself at once (docs/theory.md, T21.8)."""
        places = self._sources_of(torn)
        solver = Anderson(self._sizes_of(places))
        change = np.zeros(len(self.U))
        for _ in range(ROUNDS):
            given = self.Y[places]
            self._pass(time)
            found = self.at(torn)
            change[torn] = np.abs(found - self.U[torn])
            if np.all(change[torn] <= SETTLED * np.maximum(np.abs(found), self.size[torn])):
                return
            self.Y[places] = solver.next(given, self.Y[places])
        raise StepFailed(self._restless("the algebraic loop", change, time, solver.gain))

    def _sources_of(self, inputs: Iterable[int]) -> NDArray[np.int_]:
        """Where in Y these inputs come from, as far as they may take any value."""
        found = {int(self.source[k]) for k in inputs if self.links[k].source and self.links[k].continuous}
        return np.array(sorted(found), dtype=int)

    def _sizes_of(self, places: NDArray[np.int_]) -> Vector:
        """Usual sizes of what stands at these places of Y."""
        size = np.zeros(len(self.Y))
        np.maximum.at(size, self.source, self.size / np.where(self._factor == 0, 1, np.abs(self._factor)))
        return size[places]

    def _restless(self, what: str, change: Vector, time: float, gain: float) -> str:
        link = self.links[int(np.argmax(np.where(np.isfinite(change), change, np.inf)))]
        cure = 'give one of the couplings around it "delayed": true'
        if gain >= 1:
            cure = (f"its gain is about {gain:.2g}, so that with a delayed coupling it would grow from point to point; "
                    "look for a wrong sign, factor or unit, or close the loop inside of one FMU")  # fmt: skip
        return f"{what} of {'.'.join(link.target)} does not settle in {ROUNDS} rounds at t = {time:g} s; {cure}"
