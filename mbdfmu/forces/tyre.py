"""The tyre of a wheel on a road."""

import math
from typing import Annotated, Any, ClassVar

from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored, NonNegative, Only, Positive, Value
from mbdfmu.expressions import Node, absolute, atan, cos, less, maximum, select, sin, tanh
from mbdfmu.expressions.functions import clamp, step
from mbdfmu.forces import magic_formula
from mbdfmu.forces.base import Ends, ForceBetween
from mbdfmu.forces.magic_formula import MagicFormula, Point
from mbdfmu.forces.tyre_contact import Patch, in_plane, in_space, place_in_plane, places_in_space
from mbdfmu.frames import Effort, Gap, Load, Measure, Resolve, Share
from mbdfmu.planar import Frame, unit_vector
from mbdfmu.vectors import unit

_ONSET = 0.002  # m, of deflection, over which the stiffness sets in
_GRIP = 20.0  # how hard slips beyond the peak are held back at low speed, in relaxation lengths (T4.44)
_LEAST_FRICTION = 1e-3
_PLANAR = ("force.x", "force.z", "torque.y", "slip.kappa", "radius", "deflection", "friction_factor")
_SPATIAL = (*_PLANAR, "force.y", "torque.z", "slip.tan_alpha", "slip.alpha", "camber")


class Tyre(ForceBetween, name="tyre"):
    """Tyre of the wheel at j on the road at i: vertical spring, slip with relaxation, Magic Formula (T4.40-T4.48).

    The road is the plane x-y of frame i (in the plane: the line y = 0) unless `normal` or `up` say else, or a height
    above it. The wheel is round about `axis` through the origin of j; it rolls ahead where it turns positively about
    that axis, in the plane clockwise.
    """

    modelica = Equations()
    parity: ClassVar = {
        2: dict.fromkeys(_PLANAR, "even") | dict.fromkeys(("force.x", "torque.y", "slip.kappa"), "odd") | {"x": "x"},
        3: dict.fromkeys(_SPATIAL, "even") | dict.fromkeys(
            ("force.y", "torque.z", "slip.tan_alpha", "slip.alpha", "camber"), "odd"
        ) | {"x": "even", "y": "odd"},
    }  # fmt: skip

    # of the wheel, in frame j; to its left
    axis: Annotated[Direction, In("1"), Mirrored("axial"), Only(3, "leave it out")] = (0.0, 1.0, 0.0)
    normal: Annotated[Direction, In("1"), Only(3, "leave it out")] = (0.0, 0.0, 1.0)  # of the road, in frame i
    up: Annotated[Direction, In("1"), Only(2, "give normal")] = (0.0, 1.0)  # the same in the plane
    ahead: Annotated[Direction, In("1"), Only(3, "leave it out")] = (1.0, 0.0, 0.0)  # of the signal `x`, in frame i
    height: Annotated[Value, In("m")] = 0.0  # of the road, of the tyre's own signals `x` and `y`, time, inputs
    friction: Annotated[Value, In("1")] = 1.0  # factor of the friction, of place or time
    radius: Annotated[Positive, In("m")] = 0.313  # unloaded
    stiffness: Annotated[Positive, In("N/m")] = 200e3  # vertical
    damping: Annotated[NonNegative, In("N.s/m")] = 300.0
    rolling_share: Annotated[NonNegative, In("1")] = 1 / 3  # of the deflection, by which the rolling radius is less
    rolling_resistance: Annotated[NonNegative, In("1")] = 0.01
    relaxation_along: Annotated[Positive, In("m")] = 0.3
    relaxation_across: Annotated[Positive, In("m")] = 0.5
    low_speed: Annotated[Positive, In("m/s")] = 2.0  # below, slip is held near its peak and damped
    low_speed_damping: Annotated[NonNegative, In("s")] = 0.04  # over stiffness
    # 1: as measured, -1: its mirror image, 0: symmetric
    side: Annotated[Value, In("1"), Mirrored("odd")] = 0.0
    coefficients: MagicFormula | None = None  # those that differ from the default set

    def measures(self, ends: Ends, resolve: Resolve) -> dict[str, Measure]:
        i, j = ends["i"], ends["j"]
        if isinstance(i, Frame):
            places: tuple[Node, ...] = (place_in_plane(i, j),)
        else:
            places = places_in_space(i, j, unit(resolve(self.normal)), unit(resolve(self.ahead)))
        text = "of the wheel over the road"
        return {key: Measure(value=node, unit="m", text=text) for key, node in zip("xy", places, strict=False)}

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return _PLANAR if dimensions == 2 else _SPATIAL

    def load(self, ends: Ends, measures: Any, resolve: Resolve) -> Load:
        i, j = ends["i"], ends["j"]
        height = resolve(self.height)
        if isinstance(i, Frame):
            return _Written(self, resolve, in_plane(i, j, unit_vector(resolve(self.up)), height, resolve)).load()
        directions = unit(resolve(self.normal)), unit(resolve(self.axis))
        return _Written(self, resolve, in_space(i, j, directions, height, resolve), spatial=True).load()


class _Written:
    """One tyre while its law is written down."""

    def __init__(self, tyre: Tyre, resolve: Resolve, patch: Patch, *, spatial: bool = False) -> None:
        self.tyre, self.resolve, self.patch, self.spatial = tyre, resolve, patch, spatial
        self.unloaded = resolve(tyre.radius)
        self.deflection = self.unloaded - patch.radius
        self.low = resolve(tyre.low_speed)
        slowness = absolute(patch.speed) / self.low
        self.slow = select(less(slowness, 1.0), 0.5 * (1 + cos(math.pi * slowness)), 0.0)  # (T4.45)

    def load(self) -> Load:
        vertical, energy = self._vertical()
        friction = maximum(self.resolve(self.tyre.friction), _LEAST_FRICTION)
        self._show("friction_factor", friction, "1", "of both peaks, as used")
        formula = self._formula(vertical, friction)
        rolling = self.unloaded - self.resolve(self.tyre.rolling_share) * maximum(self.deflection, 0.0)
        efforts = [Effort(rate=self.patch.approach, effort=vertical)]
        efforts += self._rolling(vertical, rolling)
        efforts += self._slipping(formula, self.patch.speed - rolling * self.patch.spin)
        self._show("radius", self.patch.radius, "m", "from the wheel's centre to the road")
        self.resolve.gap("deflection", Gap(value=-self.deflection, rate=self.patch.approach / self.patch.upright))
        self._show("deflection", self.deflection, "m", "negative where the wheel is off the road")
        return Load(shares=(Share(efforts=tuple(efforts)),), energy=energy)

    def _show(self, key: str, value: Node, unit: str, text: str) -> None:
        self.resolve.show(key, value, unit, text)

    def _vertical(self) -> tuple[Node, Node]:
        """Force along the normal and stored energy (T4.42)."""
        k, d = self.resolve(self.tyre.stiffness), self.deflection
        pressing = -self.patch.approach / self.patch.upright
        spring = k * d + self.resolve(self.tyre.damping) * pressing
        force = maximum(spring, 0.0) * step(d, 0.0, 0.0, _ONSET, 1.0) / self.patch.upright
        s = clamp(d / _ONSET, 0.0, 1.0)  # the integral of k d (3 s^2 - 2 s^3)
        onset = k * _ONSET**2 * s * s * s * s * (0.75 - 0.4 * s)
        energy = onset + 0.5 * k * (maximum(d, _ONSET) * maximum(d, _ONSET) - _ONSET**2)
        return self.resolve.force("force.z", force, "N", "along the normal of the road"), energy

    def _formula(self, load: Node, friction: Node) -> magic_formula.Tyre:
        given = self.tyre.coefficients or MagicFormula()
        coefficients = {name: self.resolve(getattr(given, name)) for name in type(given).model_fields}
        ahead = sin(0.5 * math.pi * clamp(self.patch.speed / self.low, -1.0, 1.0))  # (T4.49)
        point = Point(load=load, camber=self.patch.camber, friction=friction, radius=self.unloaded, travel=ahead)
        return magic_formula.Tyre(coefficients, self.resolve(self.tyre.side), point)

    def _rolling(self, load: Node, rolling: Node) -> list[Effort]:
        """Rolling resistance (T4.48)."""
        resistance = self.resolve(self.tyre.rolling_resistance) * self.unloaded
        torque = -resistance * load * tanh(rolling * self.patch.spin / self.low)
        torque = self.resolve.force("torque.y", torque, "N.m", "of the rolling resistance about the wheel's axis")
        return [Effort(rate=self.patch.spin, effort=torque)]

    def _slipping(self, formula: magic_formula.Tyre, sliding: Node) -> list[Effort]:
        """The forces in the plane of the road, from slips that lag behind (T4.44-T4.47)."""
        length = self.resolve(self.tyre.relaxation_along)
        kappa = self._slip("slip.kappa", sliding, length, formula.along.bend, "positive where the wheel drives")
        text = "along the contact patch, positive ahead"
        if not self.spatial:
            along = self.resolve.force("force.x", formula.pure_along(kappa), "N", text)
            return [Effort(rate=sliding, effort=along)]
        length = self.resolve(self.tyre.relaxation_across)
        lateral = self._slip("slip.tan_alpha", -self.patch.across, length, formula.across.bend, "of the slip angle")
        alpha = atan(lateral)
        self._show("slip.alpha", alpha, "rad", "slip angle, positive where the patch moves to the left")
        self._show("camber", self.patch.camber, "rad", "positive where the wheel leans to its right")
        along = self.resolve.force("force.x", formula.force_along(kappa, alpha), "N", text)
        total, induced = formula.force_across(kappa, alpha)
        across = self.resolve.force("force.y", total, "N", "across the contact patch, positive to the left")
        turning = formula.aligning(kappa, alpha, along, (across, induced))
        torque = self.resolve.force("torque.z", turning, "N.m", "aligning torque about the normal")
        return [
            Effort(rate=sliding, effort=along),
            Effort(rate=self.patch.across, effort=across),
            Effort(rate=self.patch.turning, effort=torque),
        ]

    def _slip(self, key: str, sliding: Node, length: Node, peak: Node, text: str) -> Node:
        """A slip that follows -sliding/|speed| over the relaxation length; what the forces see (T4.44, T4.46).

        At standstill it is a deflection over that length: a spring, with a damper beside it.
        """
        text = f"slip, {text}; below low_speed a deflection over the relaxation length"
        slip: Node = self.resolve.state(key, 0.0, "1", text, nominal=0.1)
        excess = slip - clamp(slip, -peak, peak)
        held = absolute(self.patch.speed) * slip + self.slow * _GRIP * absolute(sliding) * excess
        self.resolve.define(slip, -(sliding + held) / length)
        damping: Node = self.resolve(self.tyre.low_speed_damping)
        return slip - self.slow * damping / length * sliding
