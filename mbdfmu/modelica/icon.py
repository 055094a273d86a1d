"""The icon of a block: inputs on the left, outputs on the right; must not know what they are."""

from __future__ import annotations

from collections.abc import Sequence

_SPACING, _SIZE = 40, 20  # of connectors


def box(x: int, y: int, half: int = _SIZE // 2) -> str:
    """A square around a point."""
    return f"{{{{{x - half}, {y - half}}}, {{{x + half}, {y + half}}}}}"


def port_extent(causality: str, k: int, count: int) -> str:
    """Where the connector number k of so many inputs or outputs stands."""
    side = 100 + _SIZE // 2
    return box(-side if causality == "input" else side, round((count - 1) * _SPACING / 2 - k * _SPACING))


def icon(counts: Sequence[int]) -> str:
    """The annotation: a box with the name, as high as so many inputs and outputs want it."""
    half = max(100, _SPACING * max(counts) // 2 + _SIZE)
    frame = f"{{{{-100, -{half}}}, {{100, {half}}}}}"
    graphics = (
        f"Rectangle(extent={frame}, lineColor={{0, 0, 127}}, fillColor={{255, 255, 255}}, "
        "fillPattern=FillPattern.Solid), "
        f'Text(extent={{{{-100, 20}}, {{100, -20}}}}, textString="%name")'
    )
    return f"Icon(coordinateSystem(extent={frame}), graphics={{{graphics}}})"
