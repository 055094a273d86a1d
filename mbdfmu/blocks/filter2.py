"""The filter whose output has two smooth derivatives."""

from collections.abc import Mapping
from typing import Annotated

from mbdfmu.blocks.base import LinearBlock, Port
from mbdfmu.blocks.linear import Linear
from mbdfmu.description import In, NonNegative, Positive, Value
from mbdfmu.expressions import Node
from mbdfmu.frames import Resolve


class Filter2(LinearBlock, name="filter2"):
    """Second-order filter: follows its input with a continuous rate; gives the first and second derivative too."""

    modelica = "Modelica.Blocks.Continuous.SecondOrder"
    in_unit = ("input", "start")

    input: Value
    frequency: Annotated[Positive, In("rad/s")]  # undamped
    damping: Annotated[NonNegative, In("1")] = 1.0  # ratio
    start: Value = 0.0  # of the output, at rest

    @property
    def order(self) -> int:
        return 2

    def ports(self) -> Mapping[str, Port]:
        return {
            "y": Port("output"),
            "der(y)": Port("rate of the output", order=1),
            "der(y,2)": Port("second derivative of the output", order=2),
        }

    def state_units(self) -> tuple[str, ...]:
        return (self.unit,) * self.order

    def fed(self) -> tuple[Value, ...]:
        return (self.input,)

    def system(self, fixed: Resolve) -> Linear:
        """x_1 = y, x_2 = y'/w, so that both are of one size."""
        w = fixed(self.frequency)
        zero, one, friction = w.graph.zero, w.graph.one, 2 * fixed(self.damping) * w
        return Linear(
            A=((zero, w), (-w, -friction)),
            B=((zero,), (w,)),
            C=((one, zero), (zero, w), (-w * w, -friction * w)),
            D=((zero,), (zero,), (w * w,)),
        )

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        start = fixed(self.start)
        return start, start.graph.zero
