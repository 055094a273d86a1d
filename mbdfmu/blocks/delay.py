"""The delay as a transfer function."""

from math import comb, factorial
from typing import Annotated

from pydantic import AfterValidator

from mbdfmu.blocks.base import LinearBlock
from mbdfmu.blocks.linear import Linear, companion
from mbdfmu.blocks.transfer_function import resting
from mbdfmu.description import In, Number, Positive, Value
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.frames import Resolve

HIGHEST = 10  # beyond, the coefficients differ by more than 1e10 and the answer to a step rings


def _count(value: float) -> float:
    if value not in range(1, HIGHEST + 1):
        raise ModelError(f"must be a whole number from 1 to {HIGHEST}, found {value:g}")
    return value


class Delay(LinearBlock, name="delay"):
    """Delay by Pade's approximation of exp(-T s), of degree n - 1 over n: smooth inputs come out T later."""

    modelica = "Modelica.Blocks.Nonlinear.PadeDelay"
    in_unit = ("input", "start")

    input: Value
    delay: Annotated[Positive, In("s")]
    degree: Annotated[Number, AfterValidator(_count)] = 4.0  # n
    start: Value = 0.0  # of the output, at rest

    @property
    def order(self) -> int:
        return int(self.degree)

    def state_units(self) -> tuple[str, ...]:
        return (self.unit,) * self.order

    def fed(self) -> tuple[Value, ...]:
        return (self.input,)

    def system(self, fixed: Resolve) -> Linear:
        """Degree n - 1 over n rejects n over n, whose output jumps with the input."""
        n, delay = self.order, fixed(self.delay)
        over = [(-1) ** k * _pade(k, n - 1, n) * delay**k for k in range(n)]
        below = [_pade(k, n, n - 1) * delay**k for k in range(n + 1)]
        return companion(over[::-1], below[::-1])

    def starts(self, fixed: Resolve) -> tuple[Node, ...]:
        return resting(self.system(fixed), fixed(self.start))


def _pade(k: int, own: int, other: int) -> float:
    """Coefficient k of the polynomial of degree `own` in Pade's quotient (T8.8)."""
    return comb(own, k) * factorial(own + other - k) / factorial(own + other)
