"""Anti-lock brake as production cars have it: phases of building up, holding and releasing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mbdfmu.controllers import (
    Controller,
    Law,
    Memory,
    Port,
    both,
    either,
    equal,
    fixed,
    maximum,
    minimum,
    structural,
    tunable,
    unknown_wheels,
    wheel_names,
    where,
)

FREE, RELEASE, HOLD, BUILD = 1.0, 2.0, 3.0, 4.0
PHASES = (
    ("free", "the driver has the brake alone"),
    ("release", "the torque falls, since the wheel slips too much"),
    ("hold", "the torque stays while the wheel regains speed"),
    ("build", "the torque rises towards what the driver demands"),
)


@dataclass(frozen=True, kw_only=True)
class AbsThreshold(Controller, name="abs_threshold"):
    """Anti-lock brake by slip thresholds with hysteresis: release above the upper one, hold, build below the lower.

    The torque falls until the wheel regains speed, and is held until its slip is below the lower threshold; it falls
    and rises at given rates and never exceeds what the driver demands. Below the cut-out speed the
    driver has the brake alone.
    """

    lock_limit: ClassVar[float] = 0.1  # s that a wheel is locked at most above 15 km/h, as tests hold it to

    wheels: int = structural(1, "1, or 4: front left, front right, rear left, rear right")
    sample_time: float = fixed(0.002, "s", "between two samples", low=1e-6)
    upper: float = tunable(0.16, "1", "slip above which the torque falls", low=0.01, high=0.95)
    lower: float = tunable(0.12, "1", "slip below which it rises", low=0.001, high=0.95)
    regain_rate: float = tunable(0.3, "1/s", "fall of slip at which the wheel regains speed, no release then", low=0.0)
    release_rate: float = tunable(40000.0, "N.m/s", "at which the torque falls", low=0.0)
    build_rate: float = tunable(3000.0, "N.m/s", "at which the torque rises", low=0.0)
    cut_out: float = tunable(2.0, "m/s", "speed below which the driver has the brake alone", low=0.0)

    @property
    def _wheels(self) -> tuple[str, ...]:
        return wheel_names(self.wheels)

    @property
    def inputs(self) -> Mapping[str, Port]:
        ports = {f"slip{w}": Port(unit="1", text="of the wheel, -1 where it is locked", low=-1.0) for w in self._wheels}
        demand = Port(unit="N.m", text="brake torque of each wheel that the driver wants", low=0.0)
        return {**ports, "demand": demand, "speed": Port(unit="m/s", text="of the car")}

    @property
    def outputs(self) -> Mapping[str, Port]:
        return {f"torque{w}": Port(unit="N.m", text="of the brake", low=0.0) for w in self._wheels}

    @property
    def memory(self) -> Mapping[str, Memory]:
        phases = {f"phase{w}": Memory(text="what the brake does", start=FREE, phases=PHASES) for w in self._wheels}
        torques = {f"last{w}": Memory(unit="N.m", text="torque of the last sample") for w in self._wheels}
        return phases | torques | {f"seen{w}": Memory(unit="1", text="slip at the last sample") for w in self._wheels}

    def problems(self) -> Iterator[str]:
        yield from unknown_wheels(self.wheels)
        if self.lower >= self.upper:
            yield f"lower must be below upper, found {self.lower:g} and {self.upper:g}"

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        outputs: dict[str, Any] = {}
        memory: dict[str, Any] = {}
        demand = maximum(u["demand"], 0.0)
        for w in self._wheels:
            slip, last = u[f"slip{w}"], x[f"last{w}"]
            phase = self._phase(x[f"phase{w}"], -slip, -x[f"seen{w}"], u["speed"])
            fallen = maximum(last - self.release_rate * self.sample_time, 0.0)
            risen = last + self.build_rate * self.sample_time
            kept = where(equal(phase, HOLD), last, where(equal(phase, RELEASE), fallen, risen))
            torque = where(equal(phase, FREE), demand, minimum(kept, demand))
            reached = both(equal(phase, BUILD), torque >= demand)
            memory[f"phase{w}"] = where(reached, FREE, phase)
            memory[f"last{w}"] = outputs[f"torque{w}"] = torque
            memory[f"seen{w}"] = slip
        return Law(outputs, {}, memory)

    def _phase(self, before: Any, slip: Any, seen: Any, speed: Any) -> Any:
        """The next phase; a wheel that regains speed needs no further release, and waits for the lower threshold."""
        regains = slip < seen - self.regain_rate * self.sample_time
        waits = both(either(equal(before, RELEASE), equal(before, HOLD)), slip > self.lower)
        calm = where(equal(before, FREE), FREE, where(waits, HOLD, BUILD))
        in_order = where(slip > self.upper, where(regains, HOLD, RELEASE), calm)
        return where(speed > self.cut_out, in_order, FREE)
