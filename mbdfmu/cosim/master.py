"""Communication steps of coupled FMUs: Jacobi, Gauss-Seidel, iteration, steps of their own; must not know files.

docs/theory.md, chapter 21, has the methods and their orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mbdfmu.cosim.description import Master
from mbdfmu.cosim.exchange import Exchange
from mbdfmu.cosim.signals import History, Matrix, Vector, shifted, value
from mbdfmu.cosim.slave import LAST, Final, Slave, SlaveState
from mbdfmu.cosim.wiring import Wiring
from mbdfmu.errors import StepFailed

NEAR = 1e-9  # of a step; nearer, two times mean the same
MOST = 1e6  # steps of an FMU within one of the others: more is a mistake
ROUNDED = 4  # units in the last place: so near, too, where times are large against steps
Outside = Callable[[float, float], Matrix]  # inputs from outside as polynomials about a time, for the step to another
_Kept = tuple[float, list[SlaveState], Vector, Vector]  # time, states, Y and U


class Coupled:
    """FMUs that are stepped together; `time` is the last communication point."""

    def __init__(
        self, wiring: Wiring, slaves: Sequence[Slave], settings: Master, outside: Outside, *, watched: bool = False
    ) -> None:
        """`watched`: every FMU shall say what it was told of its inputs in its last step."""
        self.settings, self.slaves = settings, self._in_order(slaves, settings.order)
        self.exchange = Exchange(wiring, slaves)
        self.time = self._start = 0.0
        self.counts = {"communication_steps": 0, "rejected_steps": 0, "iterations": 0}
        self.worst = ""  # the input that was extrapolated worst in the last step
        self._outside = outside
        self._repeats = settings.iterations > 1 or settings.tolerance is not None
        self._moving = np.array([link.continuous for link in wiring.links], dtype=bool)
        inner = self.exchange.source < len(wiring.sources)
        self._coupled = np.flatnonzero(self._moving & inner)
        self._judged = np.flatnonzero(np.array([link.moving for link in wiring.links], dtype=bool) & inner)
        self._fed = {slave: self._fed_by(slave) for slave in slaves}
        # Between the ends of a step that is repeated, values are interpolated by lines at least (chapter 21).
        self._inner = max(settings.extrapolation, 1) if settings.iterations > 1 else settings.extrapolation
        self._histories = {slave: History(self._inner + 1) for slave in slaves}
        holds = settings.algorithm == "jacobi" and self._inner == 0
        self._is_plain = holds and not (self._repeats or watched or len(self.exchange.external))

    @staticmethod
    def _in_order(slaves: Sequence[Slave], names: Sequence[str]) -> list[Slave]:
        first = [slave for name in names for slave in slaves if slave.name == name]
        return [*first, *(slave for slave in slaves if slave not in first)]

    def _fed_by(self, slave: Slave) -> NDArray[np.int_]:
        """Where in U its outputs go, as far as these may be followed between communication points."""
        source = self.exchange.source
        own = (source >= slave.outputs.start) & (source < slave.outputs.stop)
        return self._coupled[own[self._coupled]]

    # ---- start

    def settle(self, time: float) -> None:
        """While the FMUs are initialised."""
        self.time = self._start = time
        self._give()
        self.exchange.settle(time)

    def start(self) -> None:
        """The first communication point, when all are initialised."""
        self.exchange.late[:] = self.exchange.Y
        self.exchange.run(self.time)
        self._remember()

    def _give(self) -> None:
        if len(self.exchange.external):
            self.exchange.given[:] = self._outside(self.time, math.inf)[0]

    def _remember(self) -> None:
        if self._is_plain:
            return
        e = self.exchange
        e.measure()
        for slave in self.slaves:
            if slave.time == self.time:
                slave.began = e.U[slave.inputs].copy()
                self._histories[slave].add(self.time, e.at(self._fed[slave]))

    # ---- steps

    def step(self, end: float) -> float:
        """One communication step to `end`; returns the error of the extrapolation over what is allowed.

        StepFailed where an FMU makes no step or the iteration does not end. Then, and where the error is above 1, the
        FMUs are where they were, if they can go back.
        """
        self.exchange.late[:] = self.exchange.Y
        if self._is_plain:
            for slave in self.slaves:
                if self._is_due(slave, end):
                    self._advance(slave, end)
            self._arrive(end)
            error = 0.0
        else:
            error = self._carefully(end)
        if error <= 1.0:
            self._remember()
            self.counts["communication_steps"] += 1
        return error

    def _advance(self, slave: Slave, end: float) -> None:
        for to in self._parts(slave, end):
            slave.advance(to)

    def _arrive(self, end: float, expected: Matrix | None = None) -> None:
        """Values pass at the end; what comes from FMUs that are not there is as expected."""
        if expected is not None:
            away = [fed for slave, fed in self._fed.items() if len(fed) and slave.time < end]
            self.exchange.assume(away, expected, end - self.time)
        self.time = end
        self._give()
        self.exchange.run(end)

    def _carefully(self, end: float) -> float:
        """A step with polynomials, iteration and a way back, as far as they are asked for."""
        time, kept = self.time, self._save() if self._repeats else None
        predicted = self._ahead(end)
        try:
            self._iterate(predicted, kept, end)
            error = self._error(predicted, end - time)
        except LAST:
            raise
        except StepFailed:
            self._restore(kept)
            raise
        if error > 1.0:
            self._restore(kept)
            self.counts["rejected_steps"] += 1
        return error

    def _iterate(self, predicted: Matrix, kept: _Kept | None, end: float) -> None:
        """Sweeps over the same step until what is coupled stays; one without iteration."""
        time, begin, polynomials, change = self.time, self.exchange.U.copy(), predicted.copy(), np.inf
        for k in range(self.settings.iterations):
            if k:
                before = self.exchange.at(self._coupled)
                polynomials = self._towards(begin, end, time)
                self._restore(kept)
                self.counts["iterations"] += 1
            self._sweep(polynomials, end)
            self._arrive(end, polynomials)
            change = self._change(before) if k else np.inf
            if change <= self.settings.iteration_tolerance:
                break
        if self.settings.iterations > 1 and change > self.settings.iteration_tolerance:
            raise StepFailed(self._divergence(before))

    def _sweep(self, polynomials: Matrix, end: float) -> None:
        """All FMUs that are due, once; with Gauss-Seidel those that follow know what the former have found."""
        in_turn = self.settings.algorithm == "gauss-seidel"
        self.exchange.assume([])
        for slave in self.slaves:
            if self._is_due(slave, end):
                self._move(slave, polynomials, end)
                if in_turn and len(self._fed[slave]):
                    self._tell(slave, polynomials, end)

    def _move(self, slave: Slave, polynomials: Matrix, end: float) -> None:
        """The step of one FMU, in parts where its own communication step is smaller."""
        own = polynomials[:, slave.inputs]
        if slave.time < self.time:  # its own step is longer: lines between what is known at both ends
            last, size = value(own, end - self.time), end - slave.time
            slope = np.where(self._moving[slave.inputs], (last - slave.began) / size, 0.0)
            own = np.array([slave.began, slope, np.zeros_like(slope)])
        begin, slave.told = min(slave.time, self.time), []
        for to in self._parts(slave, end):
            slave.feed(shifted(own, slave.time - begin), to)
            slave.advance(to)

    def _tell(self, slave: Slave, polynomials: Matrix, end: float) -> None:
        """What this FMU has come to is known to those that step after it."""
        fed = self._fed[slave]
        slave.write(value(polynomials[:, slave.inputs], end - self.time))
        slave.read()
        polynomials[:, fed] = self._histories[slave].towards(end, self.exchange.at(fed), self.time, self._inner)

    # ---- when

    def _is_due(self, slave: Slave, end: float) -> bool:
        """Whether a communication point of the FMU is at the end of the step, or has been passed."""
        own, near = slave.own_step, self._near(slave, end)
        if own is None or end - slave.time > own + near:
            return True
        since = end - self._start
        return abs(since - round(since / own) * own) <= near

    def _parts(self, slave: Slave, end: float) -> list[float]:
        """The ends of the steps that bring an FMU to `end`."""
        if slave.own_step is None:
            return [end]
        size = end - slave.time
        if size > MOST * slave.own_step:
            raise Final(f"fmus.{slave.name}.step: {slave.own_step:g} s makes more than {MOST:g} steps of one of "
                        f"{size:g} s at t = {self.time:g} s; choose a longer one")  # fmt: skip
        count = max(1, math.ceil((size - self._near(slave, end)) / slave.own_step))
        return [*(slave.time + k * size / count for k in range(1, count)), end]

    def _near(self, slave: Slave, time: float) -> float:
        """How far from a communication point of its own an FMU is at it: steps add up, times are rounded."""
        return NEAR * max(slave.own_step or 0.0, time - self._start) + ROUNDED * math.ulp(time)

    def bounded(self, end: float) -> float:
        """No later than the next communication point of an FMU that leads, or has a longer step of its own."""
        for slave in self.slaves:
            h = slave.own_step
            if h is not None and (slave.leads or h > (end - self.time) * (1 + NEAR)):
                passed = math.floor((self.time - self._start + self._near(slave, self.time)) / h)
                due = self._start + (passed + 1) * h
                end = due if due < end - self._near(slave, end) else end  # else no tiny step would be left over
        return end

    # ---- polynomials

    def _held(self) -> Matrix:
        found = np.zeros((3, len(self.exchange.U)))
        found[0] = self.exchange.U
        return found

    def _ahead(self, end: float) -> Matrix:
        """What the inputs will do, from what is known so far."""
        found = self._held()
        if self.settings.extrapolation:
            for slave, fed in self._fed.items():
                if len(fed):
                    found[:, fed] = self._histories[slave].ahead(self.time, self.settings.extrapolation)
        self._add_given(found, self.time, end)
        return found

    def _towards(self, begin: Vector, end: float, time: float) -> Matrix:
        """What the inputs have done, when the end of the step is known."""
        found = np.zeros((3, len(begin)))
        found[0] = begin
        for slave, fed in self._fed.items():
            if len(fed) and slave.time == end:
                found[:, fed] = self._histories[slave].towards(end, self.exchange.at(fed), time, self._inner)
            elif len(fed):  # its own step is longer
                found[:, fed] = self._histories[slave].ahead(time, self.settings.extrapolation)
        self._add_given(found, time, end)
        return found

    def _add_given(self, found: Matrix, time: float, end: float) -> None:
        external = self.exchange.external
        if len(external):
            given = self._outside(time, end)
            given[1:, ~self._moving[external]] = 0.0
            found[:, external] = given

    # ---- errors

    def _change(self, before: Vector) -> float:
        """Of what is coupled between two sweeps, relative to its size."""
        return float(self._relative(self._coupled, before).max(initial=0.0))

    def _error(self, predicted: Matrix, size: float) -> float:
        """Of the extrapolation at the end of the step, and of what is delayed, over what is allowed (T21.6)."""
        if self.settings.tolerance is None:
            return 0.0
        self.exchange.measure()
        errors = self._relative(self._judged, value(predicted, size)[self._judged])
        if not len(errors):
            return 0.0
        worst = int(errors.argmax())
        self.worst = ".".join(self.exchange.links[self._judged[worst]].target)
        return float(errors[worst] / self.settings.tolerance)

    def _relative(self, inputs: NDArray[np.int_], other: Vector) -> Vector:
        """How far these inputs are from other values, in terms of their size."""
        now, size = self.exchange.at(inputs), self.exchange.size[inputs]
        found: Vector = np.abs(now - other) / np.maximum(size, np.abs(now))
        return found

    def _divergence(self, before: Vector) -> str:
        change = self._relative(self._coupled, before)
        worst = self.exchange.links[self._coupled[int(change.argmax())]]
        return (
            f"the iteration has not settled after {self.settings.iterations} sweeps at t = {self.time:g} s: "
            f"{'.'.join(worst.target)} still changes by {change.max():.1e} of its size; "
            "take smaller steps or more iterations"
        )

    # ---- going back

    def _save(self) -> _Kept:
        states = [slave.save() for slave in self.slaves]
        return self.time, states, self.exchange.Y.copy(), self.exchange.U.copy()

    def _restore(self, kept: _Kept | None) -> None:
        if kept is not None:
            self.time = kept[0]
            for slave, state in zip(self.slaves, kept[1], strict=True):
                slave.restore(state)
            self.exchange.Y[:], self.exchange.U[:] = kept[2:]
