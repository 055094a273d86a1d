"""Curves over two logarithmic axes as a small SVG, the same text for the same points; must not know what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 860, 470
LEFT, RIGHT, TOP, BOTTOM = 62, 610, 34, 426  # of the axes
COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79", "#637939",
    "#8c6d31", "#843c39", "#7b4173", "#3182bd", "#e6550d", "#31a354", "#756bb1", "#d6616b", "#b5cf6b", "#ce6dbd",
)  # fmt: skip
DARK = ("#d00", "#f60", "#a0522d", "#c09", "#888", "#444", "#000", "#060", "#006")
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points in the order in which they are joined; an emphasised curve is thick and broken."""

    name: str
    points: Sequence[Point]
    emphasised: bool = False


@dataclass(frozen=True)
class _Axis:
    """Decades between two places of the picture."""

    low: int
    high: int
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (math.log10(value) - self.low) / (self.high - self.low)


def picture(title: str, labels: tuple[str, str], curves: Sequence[Curve], window: tuple[Point, Point]) -> str:
    """The SVG; `labels` are of the axes, `window` bounds x and y by powers of ten."""
    x, y = (_Axis(*map(round, map(math.log10, bounds)), *ends)
            for bounds, ends in zip(window, ((LEFT, RIGHT), (BOTTOM, TOP)), strict=True))  # fmt: skip
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="11" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<clipPath id="frame"><rect x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/></clipPath>',
        *_frame(title, labels, x, y),
        *_drawn(curves, x, y),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _frame(title: str, labels: tuple[str, str], x: _Axis, y: _Axis) -> Iterator[str]:
    yield f'<text x="{(LEFT + RIGHT) / 2:g}" y="20" font-size="14" text-anchor="middle">{escape(title)}</text>'
    yield '<g stroke="#ddd">'
    for k in range(x.low, x.high + 1):
        yield f'<path d="M{x.at(10.0**k):.1f} {TOP} V{BOTTOM}"/>'
    for k in range(y.low, y.high + 1):
        yield f'<path d="M{LEFT} {y.at(10.0**k):.1f} H{RIGHT}"/>'
    yield "</g>"
    for k in range(x.low, x.high + 1):
        yield f'<text x="{x.at(10.0**k):.1f}" y="{BOTTOM + 16}" text-anchor="middle">1e{k}</text>'
    for k in range(y.low, y.high + 1):
        yield f'<text x="{LEFT - 6}" y="{y.at(10.0**k) + 4:.1f}" text-anchor="end">1e{k}</text>'
    yield f'<text x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 10}" text-anchor="middle">{escape(labels[0])}</text>'
    middle = (TOP + BOTTOM) / 2
    yield f'<text transform="rotate(-90 14 {middle:g})" x="14" y="{middle:g}" text-anchor="middle">{labels[1]}</text>'


def _drawn(curves: Sequence[Curve], x: _Axis, y: _Axis) -> Iterator[str]:
    counts = {True: 0, False: 0}
    row = min(16.0, (BOTTOM - TOP) / max(1, len(curves)))
    for n, curve in enumerate(curves):
        colours = DARK if curve.emphasised else COLOURS
        colour = colours[counts[curve.emphasised] % len(colours)]
        counts[curve.emphasised] += 1
        style = f'stroke="{colour}" fill="none" ' + (
            'stroke-width="2" stroke-dasharray="6 3"' if curve.emphasised else 'stroke-width="1.3"'
        )
        places = [f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in curve.points]
        dots = "".join(f"M{place}h.01" for place in places)
        height = TOP + 6 + n * row
        yield f'<path clip-path="url(#frame)" {style} d="M{"L".join(places)}"/>'
        yield (f'<path clip-path="url(#frame)" stroke="{colour}" stroke-width="5" stroke-linecap="round" d="{dots}"/>')
        yield f'<path {style} d="M{RIGHT + 14} {height:.1f}h26"/>'
        yield f'<text x="{RIGHT + 46}" y="{height + 4:.1f}">{escape(curve.name)}</text>'


def decades(values: Iterable[float]) -> Point:
    """The powers of ten that hold all values."""
    logs = [math.log10(value) for value in values]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return 10.0**low, 10.0 ** max(high, low + 1)
