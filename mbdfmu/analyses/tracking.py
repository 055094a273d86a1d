"""The poses and rates of a model that moves as given: what the joints admit of it; must not know forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbdfmu.analyses.closure import LONGEST, Closure, Lost, listed
from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.given_motion import GivenMotion, MotionReader
from mbdfmu.analyses.given_signals import Given
from mbdfmu.analyses.native import translated
from mbdfmu.errors import ModelError
from mbdfmu.lowering import Lowered
from mbdfmu.units import differentiated

EXACT = 1e-9  # rad, or of the model's length: positions that close the joints so well are taken as they are
SHORTEST = 1e-4  # of the way between two rows
CURE = (
    "give the parameters of the motion, more digits, or as many positions as there are free motions (coordinates=[...])"
)


class Tracking:
    """Puts a started simulation where a motion has it, row by row."""

    def __init__(
        self, native: Any, lowered: Lowered, reader: MotionReader, coordinates: Sequence[str] | None, tolerance: float
    ) -> None:
        self._native, self._lowered, self._tolerance = native, lowered, tolerance
        self.closure = Closure(native, lowered)
        self.q: Vector = native.save().q
        self.motion = self._read(reader, coordinates)
        self._target = self.closure.given.values(0.0, self.q)
        self.worst_position = self.worst_misfit = 0.0

    def _read(self, reader: MotionReader, coordinates: Sequence[str] | None) -> GivenMotion:
        """By the coordinates named, or by the first choice that says where everything is."""
        if coordinates is not None:
            return self._by(reader, reader.chosen(coordinates))
        first, every = reader.candidates()
        self.closure.given = Given(self._native, self._lowered, first)
        if not reader.complete and self.closure.open_directions(0.0, self.q):
            return self._by(reader, every)
        return reader.read(first, whole=True)

    def _by(self, reader: MotionReader, names: Sequence[str]) -> GivenMotion:
        self.closure.given = Given(self._native, self._lowered, names)
        left = self.closure.open_directions(0.0, self.q)
        if left:
            raise ModelError(
                f"the motion ({listed(names) or 'no positions'}) leaves {len(left)} coordinate{'s' * (len(left) > 1)} "
                f"of model '{self._lowered.model.description.name}' open: {listed(left)}; give positions of these "
                f"too{reader.strangers()}"
            )
        return reader.read(names, whole=False)

    # ---------------------------------------------------------------- a row

    def place(self, row: int) -> tuple[Vector, Vector]:
        """Put the model there; its positions and velocities."""
        motion, closure, t = self.motion, self.closure, float(self.motion.time[row])
        q = self._position(row, t)
        v = motion.velocities[row] if motion.velocities is not None else closure.velocity(t, q, motion.rates[row])
        self._pose(row, t, q, v)
        self._check_velocities(t, q, v)
        return q, v

    def acceleration(self, row: int, q: Vector, v: Vector) -> Vector:
        """The accelerations wanted there."""
        if self.motion.accelerations is not None:
            return np.asarray(self.motion.accelerations[row])
        return self.closure.acceleration(float(self.motion.time[row]), q, v, self.motion.seconds[row])

    def _pose(self, row: int, t: float, q: Vector, v: Vector) -> None:
        states, turns = self.motion.states[row], self.motion.turns
        with translated(f"model '{self._lowered.model.description.name}': "):
            self._native.pose(t, q, v, states)
            if turns is not None:
                self._native.place(q, states, turns[row])

    # ---------------------------------------------------------------- positions

    def _position(self, row: int, t: float) -> Vector:
        q = self._given(row, t) if self.motion.positions is not None else self._found(row, t)
        self.worst_position = max(self.worst_position, self.closure.open(t, q))
        self.q, self._target = q, self.motion.values[row]
        return q

    def _given(self, row: int, t: float) -> Vector:
        """The positions of the table, closed where they have too few digits, by rows that are independent there."""
        assert self.motion.positions is not None
        q = np.asarray(self.motion.positions[row])
        self._stand(row, t, q)
        self.closure.exchange_rows()
        return self._closed(row, t, q) if self.closure.open(t, q) > EXACT else q

    def _found(self, row: int, t: float) -> Vector:
        """Where the given positions lead; where rows turn dependent, by those that are kept from here on."""
        q = self._closed(row, t, None)
        self._stand(row, t, q)
        return self._closed(row, t, q) if self.closure.exchange_rows() else q

    def _stand(self, row: int, t: float, q: Vector) -> None:
        """Put the model there without rates, which the turns that are counted do not need."""
        self._pose(row, t, q, np.zeros(len(self.closure.units)))

    def _closed(self, row: int, t: float, near: Vector | None) -> Vector:
        """The pose with the given positions; from the last one, unless there is a better guess."""
        wanted = self.motion.values[row]
        try:
            q = self._reached(row, t, wanted) if near is None else self.closure.closed(t, near, wanted)
        except Lost as lost:
            raise ModelError(
                f"the positions given at t = {t:g} s do not fit the joints: {lost.worst}; {CURE}"
            ) from None
        self._check_misfit(t, q, wanted)
        return q

    def _reached(self, row: int, t: float, wanted: Vector) -> Vector:
        """From the last pose, in as many steps as Newton's iteration needs; the first try goes on as fast."""
        q, begun, target = self.q, float(self._native.time), self._target
        try:
            return self.closure.closed(t, self._ahead(t - begun), wanted)
        except Lost:
            done, share = 0.0, 0.5
        while done < 1:
            s = min(1.0, done + share)
            now = begun + s * (t - begun)
            try:
                q = self.closure.closed(now, q, target + s * (wanted - target))
            except Lost:
                share /= 2
                if share < SHORTEST:
                    raise
            else:
                self._stand(row, now, q)
                self.closure.exchange_rows()
                done, share = s, 2 * share
        return q

    def _ahead(self, h: float) -> Vector:
        """Where the last rates lead; Lost where that is too far to count turns."""
        dq = h * self._native.v + h * h / 2 * self._native.a
        if not self.closure.share(dq) <= LONGEST:
            raise Lost(None)
        with translated():
            return np.asarray(self._native.system.moved(self.q, dq))

    # ---------------------------------------------------------------- findings

    def _check_misfit(self, t: float, q: Vector, wanted: Vector) -> None:
        given = self.closure.given
        found = given.values(t, q)
        misfit = np.abs(found - wanted) / given.sizes
        k = int(np.argmax(misfit))
        self.worst_misfit = max(self.worst_misfit, float(misfit[k]))
        if misfit[k] > self._tolerance:
            raise ModelError(
                f"the positions given at t = {t:g} s do not fit the joints: {given.names[k]} is {wanted[k]:g}, the "
                f"joints allow {found[k]:g} beside the others; {CURE}"
            )

    def _check_velocities(self, t: float, q: Vector, v: Vector) -> None:
        """What rounded numbers open is projected away when accelerations are asked for."""
        with translated():
            gaps = np.asarray(self._native.rates(t, q, v)[0]) / self.closure.row_sizes
        speed = max(1.0, float(np.abs(v / self.closure.units).max(initial=0.0)))
        worst = self.closure.worst(gaps)
        if worst is not None and np.abs(gaps[self.closure.rows]).max() > self._tolerance * speed:
            raise ModelError(
                f"the velocities given at t = {t:g} s do not fit the joints: {worst.label} opens with "
                f"{worst.value:.3g} {differentiated(worst.unit)}; {CURE}"
            )
