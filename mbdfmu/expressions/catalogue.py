"""The table of functions that a user may write; must not know the grammar, nor how they are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mbdfmu.expressions import adams
from mbdfmu.expressions import functions as fn
from mbdfmu.expressions.graph import Node


@dataclass(frozen=True)
class Function:
    """One function of the language of user equations."""

    call: str  # `step(x,x0,y0,x1,y1)`; one that ends in "..." takes as many more as there are
    text: str
    builder: Callable[..., Node]

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.call.partition("(")[0]

    @property
    def arity(self) -> int:
        """How many arguments it takes, at least."""
        return self.call.count(",") + (not self.variadic)

    @property
    def variadic(self) -> bool:
        """Whether it takes more."""
        return self.call.endswith(",...)")

    def misfit(self, count: int) -> str:
        """Why it does not take so many arguments; empty if it does."""
        if count == self.arity or (self.variadic and count > self.arity):
            return ""
        least = "at least " * self.variadic
        return f"{self.name} takes {least}{self.arity} argument(s), found {count}: {self.call}, {self.text}"


FUNCTIONS: dict[str, Function] = {
    row.name: row
    for row in (
        Function("sin(x)", "sine of an angle in rad", fn.sin),
        Function("cos(x)", "cosine of an angle in rad", fn.cos),
        Function("tan(x)", "tangent of an angle in rad", fn.tan),
        Function("asin(x)", "inverse sine, -pi/2 to pi/2", fn.asin),
        Function("acos(x)", "inverse cosine, 0 to pi", fn.acos),
        Function("atan(x)", "inverse tangent, -pi/2 to pi/2", fn.atan),
        Function("atan2(y,x)", "angle of the point (x, y), -pi to pi", fn.atan2),
        Function("sinh(x)", "hyperbolic sine", fn.sinh),
        Function("cosh(x)", "hyperbolic cosine", fn.cosh),
        Function("tanh(x)", "hyperbolic tangent", fn.tanh),
        Function("exp(x)", "exponential function", fn.exp),
        Function("log(x)", "natural logarithm", fn.log),
        Function("log10(x)", "logarithm to the base 10", fn.log10),
        Function("sqrt(x)", "square root", fn.sqrt),
        Function("hypot(a,b,...)", "square root of the sum of squares", fn.hypot),
        Function("abs(x)", "absolute value", fn.absolute),
        Function("sign(x)", "-1, 0 or 1", fn.sign),
        Function("min(a,b,...)", "the smallest", fn.smallest),
        Function("max(a,b,...)", "the largest", fn.largest),
        Function("clamp(x,low,high)", "x, held between two bounds", fn.clamp),
        Function("mod(x,y)", "remainder of x/y with the sign of y", fn.modulo),
        Function("floor(x)", "largest integer not above x", fn.floor),
        Function("ceil(x)", "smallest integer not below x", fn.ceiling),
        Function("round(x)", "nearest integer, upwards from the middle", fn.nearest),
        Function("if(c,a,b)", "a where c is true (not 0), else b", fn.select),
        Function("step(x,x0,y0,x1,y1)", "from y0 at x0 to y1 at x1 by a cubic, constant outside", fn.step),
        Function("step5(x,x0,y0,x1,y1)", "as step, by a quintic", fn.step5),
        Function("havsin(x,x0,y0,x1,y1)", "as step, by a haversine", fn.havsin),
        Function("shf(x,x0,a,w,phi,b)", "a sin(w (x - x0) - phi) + b", adams.shf),
        Function(
            "sweep(x,a,x0,f0,x1,f1,dx)",
            "sine of amplitude a, its frequency (cycles per unit of x) from f0 at x0 to f1 at x1; "
            "begins at x0, full from x0 + dx on",
            adams.sweep,
        ),
        Function("poly(x,x0,c0,...)", "c0 + c1 (x - x0) + c2 (x - x0)^2 + ...", adams.poly),
        Function("cheby(x,x0,a0,...)", "a0 T0(x - x0) + a1 T1(x - x0) + ..., Chebyshev polynomials", adams.cheby),
        Function("forcos(x,x0,w,a0,...)", "a0 + a1 cos(w (x - x0)) + a2 cos(2 w (x - x0)) + ...", adams.forcos),
        Function("forsin(x,x0,w,a0,...)", "a0 + a1 sin(w (x - x0)) + a2 sin(2 w (x - x0)) + ...", adams.forsin),
        Function(
            "impact(x,vx,x1,k,e,cmax,d)",
            "force of a stop: max(0, k (x1 - x)^e - c vx) below x1, else 0; "
            "c grows by a step from 0 at x1 to cmax at x1 - d",
            adams.impact,
        ),
        Function(
            "bistop(x,vx,x1,x2,k,e,cmax,d)", "force of two stops: as impact below x1, its mirror above x2", adams.bistop
        ),
    )
}
