"""Anti-lock brake that keeps the slip of the wheel where the tyre brakes best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mbdfmu.controllers import (
    Controller,
    Law,
    Port,
    State,
    fixed,
    limited,
    maximum,
    minimum,
    structural,
    tunable,
    unknown_wheels,
    wheel_names,
)


@dataclass(frozen=True, kw_only=True)
class AbsSlip(Controller, name="abs_slip"):
    """Anti-lock brake by slip control: takes away from the torque that the driver demands what locks the wheel.

    A PI controller of slip gives the torque that is taken away, between 0 and the demand; at these limits its integral
    is led back. Its gains grow with speed, as the inertia of the wheel against slip does, so that the loop is as fast
    at any speed. From one and a half times the cut-out speed on it gives way, and below that speed the driver has the
    brake alone. The hydraulics may lag behind.
    """

    lock_limit: ClassVar[float] = 0.1  # s that a wheel is locked at most above 15 km/h, as tests hold it to

    wheels: int = structural(1, "1, or 4: front left, front right, rear left, rear right")
    set_slip: float = tunable(0.1, "1", "to be kept, from 0 to 1 where the wheel is locked", low=0.01, high=0.9)
    gain: float = tunable(200.0, "N.s", "torque for each unit of slip and of speed", low=0.0)
    integral_gain: float = tunable(2000.0, "N", "the same for the integral of slip", low=0.0)
    tracking_time: float = tunable(0.05, "s", "in which the integral is led back at a limit", low=1e-3)
    cut_out: float = tunable(2.0, "m/s", "speed below which the driver has the brake alone", low=0.0)
    lag: float | None = fixed(0.01, "s", "time constant of the hydraulics", low=1e-6)

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
    def states(self) -> Mapping[str, State]:
        found = {f"integral{w}": State(unit="N.m", text="its share of what is taken away") for w in self._wheels}
        if self.lag is not None:
            found |= {f"pressed{w}": State(unit="N.m", text="torque that the hydraulics give") for w in self._wheels}
        return found

    def problems(self) -> Iterator[str]:
        yield from unknown_wheels(self.wheels)

    def time_constants(self) -> Iterable[float]:
        return (self.tracking_time,) if self.lag is None else (self.tracking_time, self.lag)

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        outputs: dict[str, Any] = {}
        rates: dict[str, Any] = {}
        speed, demand = maximum(u["speed"], 0.0), maximum(u["demand"], 0.0)
        # Without a jump, which no integrator with a tight tolerance would pass.
        share = limited(2.0 * (speed / maximum(self.cut_out, 1e-3) - 1.0), 0.0, 1.0)
        for w in self._wheels:
            excess = -u[f"slip{w}"] - self.set_slip
            wanted = self.gain * speed * excess + x[f"integral{w}"]
            taken = limited(wanted, 0.0, demand)
            led_back = (taken - wanted) / self.tracking_time
            rates[f"integral{w}"] = self.integral_gain * speed * excess + led_back
            torque = demand - share * taken
            if self.lag is not None:
                rates[f"pressed{w}"] = (torque - x[f"pressed{w}"]) / self.lag
                torque = minimum(x[f"pressed{w}"], demand)
            outputs[f"torque{w}"] = torque
        return Law(outputs, rates)
