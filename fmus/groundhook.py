"""Active suspension between the comfort of the body and the grip of the wheel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mbdfmu.controllers import Controller, Law, Port, State, fixed, limited, tunable


@dataclass(frozen=True, kw_only=True)
class Groundhook(Controller, name="groundhook"):
    """Hybrid of skyhook and groundhook: a damper that holds the body to the sky, and one that holds the wheel down.

    `share` weighs them: 1 is all for the body, 0 all for the wheel. The speed of the wheel is that of the body less the
    rate of travel. The actuator may lag behind and has a largest force.
    """

    gain: float = tunable(3000.0, "N.s/m", "of the damper to the sky", low=0.0)
    ground_gain: float = tunable(1500.0, "N.s/m", "of the damper between wheel and ground", low=0.0)
    share: float = tunable(0.5, "1", "of the sky, the rest is of the ground", low=0.0, high=1.0)
    limit: float | None = tunable(None, "N", "largest force either way; none: no limit", low=0.0)
    lag: float | None = fixed(None, "s", "time constant of the actuator; none: it follows at once", low=1e-6)

    inputs: ClassVar[Mapping[str, Port]] = {
        "body_speed": Port(unit="m/s", text="of the body, upwards"),
        "travel_rate": Port(unit="m/s", text="of the suspension, positive in rebound"),
    }
    outputs: ClassVar[Mapping[str, Port]] = {
        "force": Port(unit="N", text="of the actuator, positive pushes body and wheel apart"),
    }

    @property
    def states(self) -> Mapping[str, State]:
        return {} if self.lag is None else {"actuated": State(unit="N", text="force of the actuator")}

    def time_constants(self) -> Iterable[float]:
        return () if self.lag is None else (self.lag,)

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        wheel_speed = u["body_speed"] - u["travel_rate"]
        sky, ground = -self.gain * u["body_speed"], self.ground_gain * wheel_speed
        wanted = self.share * sky + (1.0 - self.share) * ground
        force = wanted if self.limit is None else limited(wanted, -self.limit, self.limit)
        if self.lag is None:
            return Law({"force": force})
        return Law({"force": x["actuated"]}, {"actuated": (force - x["actuated"]) / self.lag})
