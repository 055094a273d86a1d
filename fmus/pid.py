"""The controller of industry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mbdfmu.controllers import Controller, Law, Port, State, fixed, limited, tunable


@dataclass(frozen=True, kw_only=True)
class Pid(Controller, name="pid"):
    """PID controller: kp e + ki integral(e) + kd de/dt of e = setpoint - measured, between limits, with anti-windup.

    The derivative is that of e behind a lag. At a limit the integral is led back within the tracking time (T8.7).
    """

    kp: float = tunable(1.0, "", "gain of the error")
    ki: float = tunable(0.0, "", "gain of its integral")
    kd: float = tunable(0.0, "", "gain of its derivative")
    filter_time: float = fixed(0.01, "s", "time constant of the lag before the derivative", low=1e-6)
    lowest: float | None = tunable(None, "", "limit of the output; none: no limit")
    highest: float | None = tunable(None, "", "limit of the output; none: no limit")
    tracking_time: float = tunable(1.0, "s", "in which the integral is led back at a limit", low=1e-6)

    inputs: ClassVar[Mapping[str, Port]] = {"setpoint": Port(text="what shall be"), "measured": Port(text="what is")}
    outputs: ClassVar[Mapping[str, Port]] = {"y": Port(text="output")}
    states: ClassVar[Mapping[str, State]] = {
        "integral": State(text="its share of the output"),
        "filtered": State(text="the error behind the lag"),
    }

    def problems(self) -> Iterator[str]:
        if self.lowest is not None and self.highest is not None and self.lowest >= self.highest:
            yield f"lowest must be below highest, found {self.lowest:g} and {self.highest:g}"

    def time_constants(self) -> Iterable[float]:
        return self.filter_time, self.tracking_time

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        error = u["setpoint"] - u["measured"]
        slope = (error - x["filtered"]) / self.filter_time
        wanted = self.kp * error + x["integral"] + self.kd * slope
        y = limited(wanted, self.lowest, self.highest)
        integrated = self.ki * error + (y - wanted) / self.tracking_time
        return Law({"y": y}, {"integral": integrated, "filtered": slope})
