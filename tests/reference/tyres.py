"""Steady-state tyre forces by published formulas and coefficient sets, in plain NumPy; must not import the package.

Two generations: `delft` is the Magic Formula of 1996/97 with dimensionless coefficients and combined slip by cosine
weighting, `bakker` the one of 1987 with loads in kN, angles in degrees and slips in per cent.

[Pacejka02] H. B. Pacejka, Tyre and Vehicle Dynamics, 2002: eqs. 4.E1-4.E78 and Table A3.1, which gives the set A_TYRE.
[Bakker87] E. Bakker, L. Nyborg, H. B. Pacejka, Tyre modelling for use in vehicle dynamics studies, SAE 870421.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numpy import arctan, cos, exp, float64, minimum, pi, sign, sin, sqrt, tan
from numpy.typing import NDArray

Value = float | NDArray[float64]

# 205/60R15 91V at 2.2 bar, forces on the wheel in ISO axes
A_TYRE: dict[str, float] = {
    "fz0": 4000.0, "radius": 0.313,
    "pcx1": 1.685, "pdx1": 1.210, "pdx2": -0.037, "pex1": 0.344, "pex2": 0.095, "pex3": -0.020, "pex4": 0.0,
    "pkx1": 21.51, "pkx2": -0.163, "pkx3": 0.245, "phx1": -0.002, "phx2": 0.002, "pvx1": 0.0, "pvx2": 0.0,
    "rbx1": 12.35, "rbx2": -10.77, "rcx1": 1.092, "rex1": 0.0, "rex2": 0.0, "rhx1": 0.007,
    "pcy1": 1.193, "pdy1": -0.990, "pdy2": 0.145, "pdy3": -11.23,
    "pey1": -1.003, "pey2": -0.537, "pey3": -0.083, "pey4": -4.787,
    "pky1": -14.95, "pky2": 2.130, "pky3": -0.028, "phy1": 0.003, "phy2": -0.001, "phy3": 0.075,
    "pvy1": 0.045, "pvy2": -0.024, "pvy3": -0.532, "pvy4": 0.039,
    "rby1": 6.461, "rby2": 4.196, "rby3": -0.015, "rcy1": 1.081, "rey1": 0.0, "rey2": 0.0,
    "rhy1": 0.009, "rhy2": 0.0,
    "rvy1": 0.053, "rvy2": -0.073, "rvy3": 0.517, "rvy4": 35.44, "rvy5": 1.9, "rvy6": -10.71,
    "qbz1": 8.964, "qbz2": -1.106, "qbz3": -0.842, "qbz4": 0.0, "qbz5": -0.227, "qbz9": 18.47, "qbz10": 0.0,
    "qcz1": 1.180, "qdz1": 0.100, "qdz2": -0.001, "qdz3": 0.007, "qdz4": 13.05,
    "qdz6": -0.008, "qdz7": 0.0, "qdz8": -0.296, "qdz9": -0.009,
    "qez1": -1.609, "qez2": -0.359, "qez3": 0.0, "qez4": 0.174, "qez5": -0.896,
    "qhz1": 0.007, "qhz2": -0.002, "qhz3": 0.147, "qhz4": 0.004,
    "ssz1": 0.043, "ssz2": 0.001, "ssz3": 0.731, "ssz4": -0.238,
}  # fmt: skip


class Slip(NamedTuple):
    """kappa = -Vsx/Vx is positive when driving, alpha = Vsy/Vx in rad, load in N, camber in rad."""

    kappa: Value
    alpha: Value
    load: Value
    camber: Value = 0.0


class Shape(NamedTuple):
    """The factors of one curve."""

    B: Value
    C: Value
    D: Value
    E: Value
    H: Value
    V: Value


def magic(x: Value, s: Shape) -> Value:
    """y(x) = D sin(C arctan(B x - E (B x - arctan B x))) + V, with x moved by H."""
    bx = s.B * (x + s.H)
    return s.D * sin(s.C * arctan(bx - s.E * (bx - arctan(bx)))) + s.V


def weight(x: Value, B: Value, C: Value, E: Value, H: Value) -> Value:
    """The cosine function of combined slip, 1 at x = 0."""
    E = minimum(E, 1)

    def curve(x: Value) -> Value:
        return cos(C * arctan(B * x - E * (B * x - arctan(B * x))))

    return curve(x + H) / curve(H)


def longitudinal(p: Mapping[str, float], slip: Slip) -> Shape:
    """4.E9-4.E18."""
    df = (slip.load - p["fz0"]) / p["fz0"]
    D = (p["pdx1"] + p["pdx2"] * df) * slip.load
    H = p["phx1"] + p["phx2"] * df
    E = (p["pex1"] + p["pex2"] * df + p["pex3"] * df**2) * (1 - p["pex4"] * sign(slip.kappa + H))
    E = minimum(E, 1)
    K = slip.load * (p["pkx1"] + p["pkx2"] * df) * exp(p["pkx3"] * df)
    return Shape(B=K / (p["pcx1"] * D), C=p["pcx1"], D=D, E=E, H=H, V=slip.load * (p["pvx1"] + p["pvx2"] * df))


def friction_y(p: Mapping[str, float], slip: Slip) -> Value:
    """4.E23."""
    df = (slip.load - p["fz0"]) / p["fz0"]
    return (p["pdy1"] + p["pdy2"] * df) * (1 - p["pdy3"] * slip.camber**2)


def lateral(p: Mapping[str, float], slip: Slip) -> Shape:
    """4.E19-4.E30."""
    df, g = (slip.load - p["fz0"]) / p["fz0"], slip.camber
    D = friction_y(p, slip) * slip.load
    H = p["phy1"] + p["phy2"] * df + p["phy3"] * g
    E = (p["pey1"] + p["pey2"] * df) * (1 - (p["pey3"] + p["pey4"] * g) * sign(slip.alpha + H))
    E = minimum(E, 1)
    K = p["pky1"] * p["fz0"] * sin(2 * arctan(slip.load / (p["pky2"] * p["fz0"]))) * (1 - p["pky3"] * abs(g))
    V = slip.load * (p["pvy1"] + p["pvy2"] * df + (p["pvy3"] + p["pvy4"] * df) * g)
    return Shape(B=K / (p["pcy1"] * D), C=p["pcy1"], D=D, E=E, H=H, V=V)


def delft_pure(p: Mapping[str, float], slip: Slip) -> tuple[Value, Value]:
    """Fx of kappa alone and Fy of alpha alone, N."""
    return magic(slip.kappa, longitudinal(p, slip)), magic(slip.alpha, lateral(p, slip))


def delft_combined(p: Mapping[str, float], slip: Slip) -> tuple[Value, Value]:
    """Fx and Fy of both, by cosine weighting: 4.E50-4.E67."""
    df = (slip.load - p["fz0"]) / p["fz0"]
    pure_x, pure_y = delft_pure(p, slip)
    Bx = p["rbx1"] * cos(arctan(p["rbx2"] * slip.kappa))
    By = p["rby1"] * cos(arctan(p["rby2"] * (slip.alpha - p["rby3"])))
    Gx = weight(slip.alpha, Bx, p["rcx1"], p["rex1"] + p["rex2"] * df, p["rhx1"])
    Gy = weight(slip.kappa, By, p["rcy1"], p["rey1"] + p["rey2"] * df, p["rhy1"] + p["rhy2"] * df)
    return Gx * pure_x, Gy * pure_y + induced(p, slip)


def induced(p: Mapping[str, float], slip: Slip) -> Value:
    """The side force that slip along brings about: 4.E65-4.E67."""
    df = (slip.load - p["fz0"]) / p["fz0"]
    D = friction_y(p, slip) * slip.load * (p["rvy1"] + p["rvy2"] * df + p["rvy3"] * slip.camber)
    return D * cos(arctan(p["rvy4"] * slip.alpha)) * sin(p["rvy5"] * arctan(p["rvy6"] * slip.kappa))


def delft_aligning(p: Mapping[str, float], slip: Slip) -> Value:
    """Mz of both slips in N.m: 4.E31-4.E49 and 4.E71-4.E78; the trail times the force, a rest, the lever of Fx."""
    df, g, alpha = (slip.load - p["fz0"]) / p["fz0"], slip.camber, slip.alpha
    Fx, Fy = delft_combined(p, slip)
    x, y = longitudinal(p, slip), lateral(p, slip)
    ratio = (x.B * x.C * x.D) / (y.B * y.C * y.D) * slip.kappa  # K_x/K_y kappa

    def equivalent(a: Value) -> Value:
        return arctan(sqrt(tan(a) ** 2 + ratio**2)) * sign(a)

    a_t = alpha + p["qhz1"] + p["qhz2"] * df + (p["qhz3"] + p["qhz4"] * df) * g
    B = (p["qbz1"] + p["qbz2"] * df + p["qbz3"] * df**2) * (1 + p["qbz4"] * g + p["qbz5"] * abs(g))
    C, D = p["qcz1"], slip.load * (p["qdz1"] + p["qdz2"] * df) * (1 + p["qdz3"] * g + p["qdz4"] * g**2)
    E = p["qez1"] + p["qez2"] * df + p["qez3"] * df**2
    E = minimum(E * (1 + (p["qez4"] + p["qez5"] * g) * 2 / pi * arctan(B * C * a_t)), 1)
    bx = B * equivalent(a_t)
    trail = D * p["radius"] / p["fz0"] * cos(C * arctan(bx - E * (bx - arctan(bx)))) * cos(alpha)

    a_r = alpha + y.H + y.V / (y.B * y.C * y.D)
    D_r = slip.load * p["radius"] * (p["qdz6"] + p["qdz7"] * df + (p["qdz8"] + p["qdz9"] * df) * g)
    rest = D_r * cos(arctan((p["qbz9"] + p["qbz10"] * y.B * y.C) * equivalent(a_r))) * cos(alpha)

    lever = p["radius"] * (p["ssz1"] + p["ssz2"] * Fy / p["fz0"] + (p["ssz3"] + p["ssz4"] * df) * g)
    return -trail * (Fy - induced(p, slip)) + rest + lever * Fx


def delft_backwards(p: Mapping[str, float], slip: Slip) -> tuple[Value, Value, Value]:
    """Fx, Fy and Mz of a wheel that rolls backwards, kappa = -Vsx/|Vx| and alpha = arctan(Vsy/|Vx|) in its own axes.

    In axes turned by half a turn about the normal of the road it rolls ahead: there both slips, the camber and both
    forces have the opposite sign, the torque has the same.
    """
    ahead = Slip(-slip.kappa, -slip.alpha, slip.load, -slip.camber)
    Fx, Fy = delft_combined(p, ahead)
    return -Fx, -Fy, delft_aligning(p, ahead)


# ---------------------------------------------------------------- 1987

# [Bakker87] Table 2; a1..a8 with C first
SIDE = (1.30, -22.1, 1011.0, 1078.0, 1.82, 0.208, 0.0, -0.354, 0.707)
BRAKE = (1.65, -21.3, 1144.0, 49.6, 226.0, 0.069, -0.006, 0.056, 0.486)
CAMBER = (0.028, 0.0, 14.8, 0.022)  # a9..a12: H, V and the loss of stiffness per degree


def bakker_side(alpha: Value, load: Value, camber: Value = 0.0) -> Value:
    """Side force in N; alpha and camber in degrees, load in kN, positive for positive alpha."""
    C, a1, a2, a3, a4, a5, a6, a7, a8 = SIDE
    a9, _, a11, a12 = CAMBER
    D = a1 * load**2 + a2 * load
    B = a3 * sin(a4 * arctan(a5 * load)) * (1 - a12 * abs(camber)) / (C * D)
    return magic(alpha, Shape(B, C, D, a6 * load**2 + a7 * load + a8, a9 * camber, a11 * load * camber))


def bakker_brake(kappa: Value, load: Value) -> Value:
    """Longitudinal force in N; kappa in per cent, load in kN."""
    C, a1, a2, a3, a4, a5, a6, a7, a8 = BRAKE
    D = a1 * load**2 + a2 * load
    B = (a3 * load**2 + a4 * load) / exp(a5 * load) / (C * D)
    return magic(kappa, Shape(B, C, D, a6 * load**2 + a7 * load + a8, 0.0, 0.0))


def similar(kappa: float, alpha: float, pure_x: Value, pure_y: Value) -> tuple[float, float]:
    """Combined slip by similarity: pure curves Fx(s), Fy(s) of the whole slip s, each in the direction of its part.

    s = sqrt(kappa^2 + alpha^2), Fx = kappa/s Fx0(s), Fy = alpha/s Fy0(s); `pure_x` and `pure_y` are those at s.
    """
    s = (kappa**2 + alpha**2) ** 0.5
    return (0.0, 0.0) if s == 0 else (float(kappa / s * pure_x), float(alpha / s * pure_y))
