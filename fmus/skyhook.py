"""Active suspension as if a damper held the car's body to the sky."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mbdfmu.controllers import Controller, Law, Port, State, fixed, limited, tunable


@dataclass(frozen=True, kw_only=True)
class Skyhook(Controller, name="skyhook"):
    """Skyhook damping: force against the speed of the body, as if a damper held it to the sky.

    What the built-in damper does to body and wheel is taken back by `replaced` times the rate of travel. The actuator
    may lag behind and has a largest force.
    """

    gain: float = tunable(3000.0, "N.s/m", "of the damper to the sky", low=0.0)
    replaced: float = tunable(0.0, "N.s/m", "damping of the suspension that the actuator takes back", low=0.0)
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
        wanted = self.replaced * u["travel_rate"] - self.gain * u["body_speed"]
        force = wanted if self.limit is None else limited(wanted, -self.limit, self.limit)
        if self.lag is None:
            return Law({"force": force})
        return Law({"force": x["actuated"]}, {"actuated": (force - x["actuated"]) / self.lag})
