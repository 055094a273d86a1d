"""The functions of markers that an expression may name, as ADAMS/Solver has them; must not know how they are computed.

`from`, `in` and `ref` may be left out from the right; they stand for the ground then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GROUND = "ground"
Kind = Literal["vector", "axial", "scalar", "sequence"]


@dataclass(frozen=True)
class MarkerFunction:
    """One function of markers."""

    call: str  # `dx(to,from,in)`
    unit: str
    text: str
    kind: Kind  # what a mirror does: a true vector, one of a rotation, nothing, or no simple change
    axis: str = ""  # of the component or of the angle
    planar: bool = True  # whether models in the plane have it

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.call.partition("(")[0]

    @property
    def arguments(self) -> list[str]:
        """What its arguments are."""
        return self.call.partition("(")[2].removesuffix(")").split(",")

    def complete(self, markers: list[str]) -> dict[str, str]:
        """Every argument by its name."""
        rest = [GROUND] * (len(self.arguments) - len(markers))
        return dict(zip(self.arguments, [*markers, *rest], strict=True))


def take_apart(name: str) -> tuple[MarkerFunction, list[str]] | None:
    """The function and the markers of a name such as `dx(a,b)`; None for any other name."""
    head, bracket, rest = name.partition("(")
    if not bracket or head not in MARKER_FUNCTIONS:
        return None
    return MARKER_FUNCTIONS[head], rest.removesuffix(")").split(",")


def _components(name: str, arguments: str, unit: str, text: str, kind: Kind) -> list[MarkerFunction]:
    """The functions of x, y and z."""
    out = {"vector": "z", "axial": "xy"}[kind]  # what has no component in the plane
    return [
        MarkerFunction(f"{name}{k}({arguments})", unit, f"{text}, component {k}", kind, k, k not in out) for k in "xyz"
    ]


def _magnitude(call: str, unit: str, text: str, *, planar: bool = True) -> MarkerFunction:
    return MarkerFunction(call, unit, text, "scalar", planar=planar)


_TURN = "angle of `to` about the axis {} of `from`, counts turns; exact where the other two axes do not turn"
_SEQUENCE = "angle of `to` from `from`: {} of R = {}"
_EULER, _CARDAN = "Rz(psi) Rx(theta) Rz(phi)", "Rz(yaw) Ry(pitch) Rx(roll)"

MARKER_FUNCTIONS: dict[str, MarkerFunction] = {
    row.name: row
    for row in (
        *_components("d", "to,from,in", "m", "from the origin of `from` to that of `to`, axes of `in`", "vector"),
        _magnitude("dm(to,from)", "m", "distance of the origins"),
        *_components(
            "v", "to,from,in,ref", "m/s", "velocity of `to` relative to `from` seen from `ref`, axes of `in`", "vector"
        ),
        _magnitude("vm(to,from,ref)", "m/s", "its magnitude"),
        _magnitude("vr(to,from,ref)", "m/s", "rate of the distance"),
        *_components(
            "acc", "to,from,in,ref", "m/s2", "acceleration of `to` relative to `from` seen from `ref`, axes of `in`",
            "vector",
        ),
        _magnitude("accm(to,from,ref)", "m/s2", "its magnitude"),
        *(MarkerFunction(f"a{k}(to,from)", "rad", _TURN.format(k), "axial", k, k == "z") for k in "xyz"),
        MarkerFunction("yaw(to,from)", "rad", _SEQUENCE.format("first", _CARDAN), "axial", "z", planar=False),
        MarkerFunction(
            "pitch(to,from)", "rad", _SEQUENCE.format("second", _CARDAN) + "; ADAMS gives its negative", "axial", "y",
            planar=False,
        ),
        MarkerFunction("roll(to,from)", "rad", _SEQUENCE.format("third", _CARDAN), "axial", "x", planar=False),
        MarkerFunction("psi(to,from)", "rad", _SEQUENCE.format("first", _EULER), "sequence", planar=False),
        MarkerFunction("theta(to,from)", "rad", _SEQUENCE.format("second", _EULER), "sequence", planar=False),
        MarkerFunction("phi(to,from)", "rad", _SEQUENCE.format("third", _EULER), "sequence", planar=False),
        *_components("w", "to,from,in", "rad/s", "angular velocity of `to` relative to `from`, axes of `in`", "axial"),
        _magnitude("wm(to,from)", "rad/s", "its magnitude", planar=False),
        *_components(
            "wdt", "to,from,in,ref", "rad/s2",
            "angular acceleration of `to` relative to `from` seen from `ref`, axes of `in`", "axial",
        ),
        _magnitude("wdtm(to,from,ref)", "rad/s2", "its magnitude", planar=False),
    )
}  # fmt: skip
