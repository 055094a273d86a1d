"""Colours of bodies, as many as are asked for; must not know any body."""

from __future__ import annotations

import colorsys

GREY = "#8590a3"  # of what belongs to no body
_FIRST = (
    "#3b7dd8", "#e8823a", "#3fa66b", "#d1495b", "#8566c9", "#29a3b5", "#c9a227", "#d668a8", "#7a8f3c", "#a0684a",
    "#5867c4", "#57a639",
)  # fmt: skip
GOLDEN = 0.618034  # of the circle of hues: the next hue is far from all before it


def body_color(k: int) -> str:
    """The colour of body k, #rrggbb."""
    if k < len(_FIRST):
        return _FIRST[k]
    red, green, blue = colorsys.hls_to_rgb(GOLDEN * k % 1.0, 0.52 + 0.08 * (k % 3 - 1), 0.5)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def linear(color: str) -> list[float]:
    """Red, green and blue from 0 to 1, proportional to light, of #rrggbb."""
    shares = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
