"""Steady-state tyre forces by the Magic Formula of 1996/97 (4.E9-4.E78 of [Pacejka02]); must not know bodies or frames.

Slip angle and camber enter as angles, as in the programs that go with files of coefficients; docs/theory.md says where
the book differs. Signs are those of the axes of ISO 8855: the force across is negative for a positive slip angle.
Coefficients of terms that make a tyre differ from its mirror image are multiplied by `side`, those that make a tyre
that rolls backwards differ from one that rolls ahead by `travel`. Not held: the overturning moment, and turn slip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from mbdfmu.description import Element, In, Positive, Value
from mbdfmu.expressions import Node, absolute, atan, cos, exp, minimum, sign, sin, sqrt, tan

_TINY = 1e-18  # (rad)2; keeps the derivative of a square root finite
_HEAVIEST = 3.5  # nominal loads: beyond, friction and shape stay as they are; polynomials in the load end anywhere


class MagicFormula(Element):
    """Coefficients without dimension; what is not given is that of a tyre 205/60R15 91V at 2.2 bar.

    [Pacejka02] Table A3.1, where `hx` and `vx` of a tyre that rolls freely are -0.002, 0.002 and 0; here they are 0.
    """

    nominal_load: Annotated[Positive, In("N")] = 4000.0
    # along: shape, peak, curvature, stiffness, shifts
    pcx1: Value = 1.685
    pdx1: Value = 1.210
    pdx2: Value = -0.037
    pex1: Value = 0.344
    pex2: Value = 0.095
    pex3: Value = -0.020
    pex4: Value = 0.0
    pkx1: Value = 21.51
    pkx2: Value = -0.163
    pkx3: Value = 0.245
    phx1: Value = 0.0
    phx2: Value = 0.0
    pvx1: Value = 0.0
    pvx2: Value = 0.0
    # along, in combined slip
    rbx1: Value = 12.35
    rbx2: Value = -10.77
    rcx1: Value = 1.092
    rex1: Value = 0.0
    rex2: Value = 0.0
    rhx1: Value = 0.007
    # across
    pcy1: Value = 1.193
    pdy1: Value = -0.990
    pdy2: Value = 0.145
    pdy3: Value = -11.23
    pey1: Value = -1.003
    pey2: Value = -0.537
    pey3: Value = -0.083
    pey4: Value = -4.787
    pky1: Value = -14.95
    pky2: Value = 2.130
    pky3: Value = -0.028
    phy1: Value = 0.003
    phy2: Value = -0.001
    phy3: Value = 0.075
    pvy1: Value = 0.045
    pvy2: Value = -0.024
    pvy3: Value = -0.532
    pvy4: Value = 0.039
    # across, in combined slip
    rby1: Value = 6.461
    rby2: Value = 4.196
    rby3: Value = -0.015
    rcy1: Value = 1.081
    rey1: Value = 0.0
    rey2: Value = 0.0
    rhy1: Value = 0.009
    rhy2: Value = 0.0
    rvy1: Value = 0.053
    rvy2: Value = -0.073
    rvy3: Value = 0.517
    rvy4: Value = 35.44
    rvy5: Value = 1.9
    rvy6: Value = -10.71
    # aligning torque: trail, residual torque, lever of the force along
    qbz1: Value = 8.964
    qbz2: Value = -1.106
    qbz3: Value = -0.842
    qbz4: Value = 0.0
    qbz5: Value = -0.227
    qbz9: Value = 18.47
    qbz10: Value = 0.0
    qcz1: Value = 1.180
    qdz1: Value = 0.100
    qdz2: Value = -0.001
    qdz3: Value = 0.007
    qdz4: Value = 13.05
    qdz6: Value = -0.008
    qdz7: Value = 0.0
    qdz8: Value = -0.296
    qdz9: Value = -0.009
    qez1: Value = -1.609
    qez2: Value = -0.359
    qez3: Value = 0.0
    qez4: Value = 0.174
    qez5: Value = -0.896
    qhz1: Value = 0.007
    qhz2: Value = -0.002
    qhz3: Value = 0.147
    qhz4: Value = 0.004
    ssz1: Value = 0.043
    ssz2: Value = 0.001
    ssz3: Value = 0.731
    ssz4: Value = -0.238


# They change their sign where a tyre is replaced by its mirror image: kappa, -alpha, -camber give Fx, -Fy, -Mz.
MIRRORED = frozenset((
    "pey3", "rhx1", "phy1", "phy2", "pvy1", "pvy2", "rby3", "rvy1", "rvy2", "qbz4", "qdz3", "qdz6", "qdz7", "qez4",
    "qhz1", "qhz2", "ssz1",
))  # fmt: skip
# They do where it is turned by half a turn about the normal: -kappa, -alpha, -camber give -Fx, -Fy, Mz (T4.49).
TURNED = frozenset((
    "phx1", "phx2", "pvx1", "pvx2", "pex4", "rhx1", "phy1", "phy2", "pvy1", "pvy2", "pey3", "rby3", "rhy1", "rhy2",
    "rvy3", "qbz4", "qdz1", "qdz2", "qdz3", "qdz8", "qdz9", "qez4", "qhz1", "qhz2", "ssz1",
))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Point:
    """Where the formula is evaluated."""

    load: Node  # N
    camber: Node  # rad
    friction: Node  # factor of both peaks
    radius: Node  # m, of the unloaded tyre
    travel: Node  # 1 where the wheel rolls ahead, -1 where it rolls backwards


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The factors of y = D sin(C arctan(B x - E (B x - arctan B x))) + V, x moved by H."""

    B: Node
    C: Node
    D: Node
    E: Node
    H: Node
    V: Node

    def at(self, x: Node) -> Node:
        return self.D * sin(self.C * atan(_bent(self.B * (x + self.H), self.E))) + self.V

    @property
    def bend(self) -> Node:
        """The slip at which the tangent at the origin reaches the peak."""
        return 1 / absolute(self.B * self.C)


class Tyre:
    """The formula with its coefficients, for one load, camber, friction and sense of travel (T4.47)."""

    def __init__(self, coefficients: dict[str, Node], side: Node, point: Point) -> None:
        self.p = {name: _signed(name, node, side, point.travel) for name, node in coefficients.items()}
        self.at = point
        self.nominal = coefficients["nominal_load"]
        self.df = minimum(point.load / self.nominal, _HEAVIEST) - 1

    def _linear(self, name: str) -> Node:
        """p1 + p2 df"""
        return self.p[f"{name}1"] + self.p[f"{name}2"] * self.df

    @property
    def stiffness_along(self) -> Node:
        """4.E15 over the load."""
        return self._linear("pkx") * exp(self.p["pkx3"] * self.df)

    @property
    def along(self) -> Curve:
        """4.E9-4.E18; the load is cancelled from B, so that a lifted tyre has one too."""
        p, load, factor = self.p, self.at.load, self.at.friction
        peak = self._linear("pdx") * factor
        shift = self._linear("phx")
        curvature = self._linear("pex") + p["pex3"] * self.df * self.df
        return Curve(B=self.stiffness_along / (p["pcx1"] * peak), C=p["pcx1"], D=peak * load, E=curvature, H=shift,
                     V=load * factor * self._linear("pvx"))  # fmt: skip

    @property
    def peak_across(self) -> Node:
        """4.E23"""
        camber = self.at.camber
        return self._linear("pdy") * (1 - self.p["pdy3"] * camber * camber) * self.at.friction

    @property
    def stiffness_across(self) -> Node:
        """4.E25 over the load: sin(2 arctan z) = 2 z/(1 + z^2)."""
        p, z = self.p, self.at.load / (self.p["pky2"] * self.nominal)
        return 2 * p["pky1"] / (p["pky2"] * (1 + z * z)) * (1 - p["pky3"] * absolute(self.at.camber))

    @property
    def across(self) -> Curve:
        """4.E19-4.E30 without the sign of the slip in E."""
        p, camber, load = self.p, self.at.camber, self.at.load
        return Curve(B=self.stiffness_across / (p["pcy1"] * self.peak_across), C=p["pcy1"], D=self.peak_across * load,
                     E=self._linear("pey"), H=self._linear("phy") + p["phy3"] * camber,
                     V=self.lift_across * load)  # fmt: skip

    @property
    def lift_across(self) -> Node:
        """4.E29 over the load."""
        p = self.p
        return self.at.friction * (self._linear("pvy") + (p["pvy3"] + p["pvy4"] * self.df) * self.at.camber)

    def pure_along(self, kappa: Node) -> Node:
        """Force along at no slip across."""
        curve = self.along
        return _skewed(curve, 1 - self.p["pex4"] * sign(kappa + curve.H)).at(kappa)

    def pure_across(self, alpha: Node) -> Node:
        """Force across at no slip along."""
        curve = self.across
        skew = self.p["pey3"] + self.p["pey4"] * self.at.camber
        return _skewed(curve, 1 - skew * sign(alpha + curve.H)).at(alpha)

    # ---- combined slip, by cosine weighting

    def force_along(self, kappa: Node, alpha: Node) -> Node:
        """4.E50-4.E57"""
        p = self.p
        B = p["rbx1"] * cos(atan(p["rbx2"] * kappa))
        return _weight(alpha, p["rhx1"], B, p["rcx1"], self._linear("rex")) * self.pure_along(kappa)

    def force_across(self, kappa: Node, alpha: Node) -> tuple[Node, Node]:
        """4.E58-4.E67: the force, and the part of it that slip along induces."""
        p = self.p
        B = p["rby1"] * cos(atan(p["rby2"] * (alpha - p["rby3"])))
        weight = _weight(kappa, self._linear("rhy"), B, p["rcy1"], self._linear("rey"))
        induced = self.peak_across * self.at.load * (self._linear("rvy") + p["rvy3"] * self.at.camber)
        induced = induced * cos(atan(p["rvy4"] * alpha)) * sin(p["rvy5"] * atan(p["rvy6"] * kappa))
        return weight * self.pure_across(alpha) + induced, induced

    # ---- aligning torque

    def aligning(self, kappa: Node, alpha: Node, along: Node, across: tuple[Node, Node]) -> Node:
        """4.E31-4.E49, 4.E71-4.E78, from the forces of combined slip."""
        p, camber, radius = self.p, self.at.camber, self.at.radius
        lever = radius * (p["ssz1"] + p["ssz2"] * across[0] / self.nominal + (p["ssz3"] + p["ssz4"] * self.df) * camber)
        ratio = self.stiffness_along / self.stiffness_across * kappa
        trail, residual = self._trail(alpha, ratio), self._residual(alpha, ratio)
        return cos(alpha) * (residual - trail * (across[0] - across[1])) + lever * along

    def _trail(self, alpha: Node, ratio: Node) -> Node:
        """Without the factor cos(alpha)."""
        p, df, camber = self.p, self.df, self.at.camber
        slip = alpha + self._linear("qhz") + (p["qhz3"] + p["qhz4"] * df) * camber
        B = self._linear("qbz") + p["qbz3"] * df * df
        B = B * (1 + p["qbz4"] * camber + p["qbz5"] * absolute(camber)) / self.at.friction
        skew = (p["qez4"] + p["qez5"] * camber) * (2 / math.pi) * atan(B * p["qcz1"] * slip)
        E = _limited((self._linear("qez") + p["qez3"] * df * df) * (1 + skew))
        D = self.at.load / self.nominal * self.at.radius * self._linear("qdz")
        D = D * (1 + p["qdz3"] * camber + p["qdz4"] * camber * camber)
        return D * cos(p["qcz1"] * atan(_bent(B * _equivalent(slip, ratio), E)))

    def _residual(self, alpha: Node, ratio: Node) -> Node:
        p, df, curve = self.p, self.df, self.across
        slip = alpha + curve.H + self.lift_across / self.stiffness_across
        B = p["qbz9"] / self.at.friction + p["qbz10"] * curve.B * curve.C
        D = p["qdz6"] + p["qdz7"] * df + (p["qdz8"] + p["qdz9"] * df) * self.at.camber
        return self.at.load * self.at.radius * self.at.friction * D * cos(atan(B * _equivalent(slip, ratio)))


def _signed(name: str, node: Node, side: Node, travel: Node) -> Node:
    if name in MIRRORED:
        node = side * node
    return travel * node if name in TURNED else node


def _limited(E: Node) -> Node:
    """Above 1 the argument of the arctangent would turn round, and with it the force."""
    return minimum(E, 1.0)


def _bent(x: Node, E: Node) -> Node:
    return x - E * (x - atan(x))


def _skewed(curve: Curve, factor: Node) -> Curve:
    return Curve(B=curve.B, C=curve.C, D=curve.D, E=_limited(curve.E * factor), H=curve.H, V=curve.V)


def _weight(x: Node, shift: Node, B: Node, C: Node, E: Node) -> Node:
    """The cosine function of combined slip, 1 at x = 0."""
    E = _limited(E)
    return cos(C * atan(_bent(B * (x + shift), E))) / cos(C * atan(_bent(B * shift, E)))


def _equivalent(slip: Node, ratio: Node) -> Node:
    """The slip angle that stands for both slips in the aligning torque."""
    across = tan(slip)
    return atan(sqrt(across * across + ratio * ratio + _TINY)) * sign(slip)
