"""The quotient of two polynomials in s."""

from typing import Self

from pydantic import model_validator

from mbdfmu.blocks.base import LinearBlock
from mbdfmu.blocks.linear import Linear, companion
from mbdfmu.description import Series, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.frames import Resolve


class TransferFunction(LinearBlock, name="transfer_function"):
    """Transfer function: the output is numerator(s)/denominator(s) of the input; coefficients highest power first."""

    modelica = "Modelica.Blocks.Continuous.TransferFunction"

    input: Value
    numerator: Series
    denominator: Series
    start: Value = 0.0  # the output at which it rests before the start

    @model_validator(mode="after")
    def _proper(self) -> Self:
        over, below = len(_without_zeros(self.numerator)) - 1, len(self.denominator) - 1
        if self.denominator[0] == 0:
            raise ModelError(f"denominator[0] must not be 0, found {list(self.denominator)}; leave leading zeros out")
        if over > below:
            cure = "leave the higher powers out, or multiply the denominator by a fast lag (T s + 1)"
            raise ModelError(f"numerator must be of degree 0 to {below} as the denominator, found {over}; {cure}")
        if self.start != 0 and self.numerator[-1] == 0:
            raise ModelError(f"start must be 0 where numerator ends in 0, found {self.start!r}; it rests at 0 only")
        return self

    @property
    def order(self) -> int:
        return len(self.denominator) - 1

    def fed(self) -> tuple[Value, ...]:
        return (self.input,)

    def system(self, fixed: Resolve) -> Linear:
        return companion([fixed(b) for b in _without_zeros(self.numerator)], [fixed(a) for a in self.denominator])

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        return resting(self.system(fixed), fixed(self.start))


def resting(system: Linear, output: Node) -> tuple[Node, ...]:
    """The states of a canonical form whose output rests: x_1 alone, and u = alpha_n x_1 (T8.6)."""
    zero = output.graph.zero
    if output is zero or not system.A:
        return (zero,) * len(system.A)
    steady = -system.A[-1][0] / system.B[-1][0]  # u / x_1
    return output / (system.C[0][0] + system.D[0][0] * steady), *[zero] * (len(system.A) - 1)


def _without_zeros(coefficients: tuple[float | str, ...]) -> tuple[float | str, ...]:
    """Without the highest powers that are not there."""
    first = next((k for k, c in enumerate(coefficients) if c != 0), len(coefficients) - 1)
    return coefficients[first:]
