"""The controller of industry."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Self

from pydantic import model_validator

from mbdfmu.blocks.base import BlockElement
from mbdfmu.description import In, Positive, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, maximum, minimum
from mbdfmu.frames import Resolve


class Pid(BlockElement, name="pid"):
    """PID controller: y = kp e + ki integral(e) + kd de/dt of the input e, between limits, with anti-windup.

    The derivative is that of e behind a lag, or is given. At a limit the integral is led back (T8.7).
    """

    modelica = "Modelica.Blocks.Continuous.LimPID"
    in_unit = ("min", "max", "start")
    ascending: ClassVar = (("min", "max"),)

    input: Value  # the error e
    kp: Value = 0.0
    ki: Value = 0.0
    kd: Value = 0.0
    filter_time: Annotated[Positive | None, In("s")] = None  # time constant of the lag before the derivative
    rate: Value | None = None  # de/dt where it is known
    min: Value | None = None  # limits of the output
    max: Value | None = None
    tracking_time: Annotated[Positive | None, In("s")] = None  # in which the integral is led back; kp/ki if not given
    start: Value = 0.0  # of the integral's share of the output

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if problems := list(self._gaps()):
            raise ModelError(problems)
        return self

    def _gaps(self) -> Iterator[str]:
        if self.kp == self.ki == self.kd == 0:
            yield "gives nothing; give at least one of kp, ki, kd"
        if self.kd != 0 and (self.filter_time is None) == (self.rate is None):
            found = "neither" if self.rate is None else "both"
            yield f'kd needs either "filter_time" or "rate" (the derivative of the input), found {found}'
        if isinstance(self.min, float) and isinstance(self.max, float) and self.min >= self.max:
            yield f"min must be below max, found min {self.min!r} and max {self.max!r}"
        if self._limited and self.ki != 0 and self.kp == 0 and self.tracking_time is None:
            yield 'limits with kp = 0 need "tracking_time", in which the integral is led back'

    @property
    def _limited(self) -> bool:
        return self.min is not None or self.max is not None

    @property
    def _filtered(self) -> bool:
        return self.kd != 0 and self.filter_time is not None

    @property
    def order(self) -> int:
        """The integral's share, then the input behind the lag; whichever there is."""
        return (self.ki != 0) + self._filtered

    def state_units(self) -> tuple[str, ...]:
        integral = (self.unit,) if self.ki != 0 else ()
        return (*integral, "") if self._filtered else integral

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        start = fixed(self.start)
        integral = (start,) if self.ki != 0 else ()
        return (*integral, start.graph.zero) if self._filtered else integral

    def value(self, port: str, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> Node:
        y = self._unlimited(x, fixed, moving)
        if self.max is not None:
            y = minimum(y, fixed(self.max))
        return y if self.min is None else maximum(y, fixed(self.min))

    def _unlimited(self, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> Node:
        error: Node = moving(self.input)
        y: Node = fixed(self.kp) * error + (x[0] if self.ki != 0 else 0.0)
        if self.rate is not None:
            y += fixed(self.kd) * moving(self.rate)
        elif self._filtered:
            y += fixed(self.kd) * self._slope(error, x, fixed)
        return y

    def _slope(self, error: Node, x: tuple[Node, ...], fixed: Resolve) -> Node:
        slope: Node = (error - x[-1]) / fixed(self.filter_time)
        return slope

    def rates(self, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> tuple[Node, ...]:
        error = moving(self.input)
        integral = (self._integrated(error, x, fixed, moving),) if self.ki != 0 else ()
        return (*integral, self._slope(error, x, fixed)) if self._filtered else integral

    def _integrated(self, error: Node, x: tuple[Node, ...], fixed: Resolve, moving: Resolve) -> Node:
        rate: Node = fixed(self.ki) * error
        if not self._limited:
            return rate
        given = self.tracking_time
        time = fixed(self.kp) / fixed(self.ki) if given is None else fixed(given)
        excess = self.value("y", x, fixed, moving) - self._unlimited(x, fixed, moving)
        rate += excess / time
        return rate
