"""Feedback of everything that is measured, with gains from a design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mbdfmu.controllers import Controller, Law, Port, limited, structural, tunable


@dataclass(frozen=True, kw_only=True)
class Lqr(Controller, name="lqr"):
    """Static state feedback, output = -gains times what is measured; `mbdfmu.controllers.lqr_gains` designs the gains.

    A row of gains for each channel, a column for each measurement. The defaults are an optimal design for the shipped
    quarter car: Q = 1e6, 1e5, 1e5, 1e4 for what is measured, R = 1e-3 for the force.
    """

    gains: tuple[tuple[float, ...], ...] = tunable(
        ((16522.7, 8251.08, -57537.7, 1713.71),), "", "of a measurement in a channel"
    )
    limit: float | None = tunable(None, "", "largest output either way; none: no limit", low=0.0)
    measured: tuple[str, ...] = structural(
        ("height_of_body", "body_speed", "height_of_wheel", "travel_rate"), "names of the inputs, one for each column"
    )
    channels: tuple[str, ...] = structural(("force",), "names of the outputs, one for each row of gains")
    measured_units: tuple[str, ...] = structural(("m", "m/s", "m", "m/s"), "units of the inputs; none: not said")
    channel_units: tuple[str, ...] = structural(("N",), "units of the outputs; none: not said")

    @property
    def inputs(self) -> Mapping[str, Port]:
        units = self.measured_units or ("",) * len(self.measured)
        ports = (Port(unit=unit, text="measured, from where it shall be") for unit in units)
        return dict(zip(self.measured, ports, strict=True))

    @property
    def outputs(self) -> Mapping[str, Port]:
        units = self.channel_units or ("",) * len(self.channels)
        return dict(zip(self.channels, (Port(unit=unit, text="fed back") for unit in units), strict=True))

    def problems(self) -> Iterator[str]:
        rows, columns = len(self.gains), len(self.gains[0]) if self.gains else 0
        if (rows, columns) != (len(self.channels), len(self.measured)):
            wanted = f"{len(self.channels)} rows (channels) of {len(self.measured)} numbers (measured)"
            yield f"gains must be {wanted}, found {rows} of {columns}"
        for units, names in (("measured_units", self.measured), ("channel_units", self.channels)):
            if len(getattr(self, units)) not in (0, len(names)):
                yield f"{units} must be none or as many as there are names, {len(names)}"

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        outputs = {}
        for channel, row in zip(self.channels, self.gains, strict=True):
            fed_back = -sum(gain * u[name] for gain, name in zip(row, self.measured, strict=True))
            outputs[channel] = fed_back if self.limit is None else limited(fed_back, -self.limit, self.limit)
        return Law(outputs)
