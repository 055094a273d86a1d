"""A signal, its reference and the tube as a picture in SVG; must not know verdicts or pages.

The tube is often narrower than a line, so a strip below the curves shows the place of the result within it: 0 is its
middle, -1 and 1 are its edges.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mbdfmu.regression.comparator import Deviation
from mbdfmu.regression.tube import Tube
from mbdfmu.tabular import Array

WIDTH, HEIGHT = 560.0, 210.0  # without the strip
STRIP = 58.0  # height of the strip
FAR = 2.0  # in half-widths of the tube; what is farther out is drawn there
LEFT, RIGHT, TOP, BOTTOM = 66.0, 12.0, 12.0, 26.0
COLUMNS = 400  # of the picture, about; more points than two a column show nothing more
TICKS = 5  # about, on an axis
MINUS = "\u2212"
MARGIN = 0.06  # of the height, above and below the curves


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values over time."""

    time: Array
    values: Array


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """From values to places in the picture."""

    t0: float
    t1: float
    y0: float
    y1: float

    def across(self, t: Array | float) -> Array | float:
        return LEFT + (t - self.t0) / (self.t1 - self.t0) * (WIDTH - LEFT - RIGHT)

    def down(self, y: Array | float) -> Array | float:
        return TOP + (self.y1 - y) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM)

    def points(self, t: Array, y: Array) -> Array:
        """Places, clipped to the picture: a value of 1e300 must not stretch it."""
        room = 2 * HEIGHT
        return np.column_stack([self.across(t), np.clip(self.down(y), -room, HEIGHT + room)])


def picture(result: Curve, reference: Curve, allowed: float, reach: float, worst: Deviation) -> str:
    """An SVG element; `reach` and `allowed` are the half-widths of the tube."""
    edges = _edges(reference, allowed, reach)
    frame = _frame(result, reference, edges)
    band = _band(frame, edges) if edges else ""
    lines = _line(frame, reference, "ref") + _line(frame, result, "res")
    strip = _strip(frame, _within(result, reference, allowed, reach)) if edges else ""
    size = f"{WIDTH:g} {HEIGHT + (STRIP if edges else 0):g}"
    head = f'<svg class="plot" viewBox="0 0 {size}" role="img" aria-label="{html.escape(worst.name)}">'
    return f"{head}{''.join(_grid(frame))}{band}{lines}{strip}{_mark(frame, worst)}</svg>"


def _edges(reference: Curve, allowed: float, reach: float) -> tuple[Array, Array, Array] | None:
    """Times and both edges of the tube, with its jumps; none around what is not finite."""
    if not np.isfinite(reference.values).all():
        return None
    grid = np.linspace(reference.time[0], reference.time[-1], COLUMNS)
    at = np.union1d(grid, reference.time[:: max(1, len(reference.time) // COLUMNS)])
    return at, *Tube(reference.time, at, reach).edges(reference.values, allowed)


def _within(result: Curve, reference: Curve, allowed: float, reach: float) -> Curve:
    """The place of each sample of the result within the tube, as far as there is one."""
    rows = slice(*np.searchsorted(result.time, reference.time[[0, -1]] + [-reach, reach]).tolist())
    low, high = Tube(reference.time, result.time[rows], reach).edges(reference.values, allowed)
    middle, half = (low + high) / 2, (high - low) / 2
    off = result.values[rows] - middle
    place = np.divide(off, half, out=np.sign(off) * FAR, where=half > 0)
    return Curve(time=result.time[rows], values=np.clip(place, -FAR, FAR))


def _frame(result: Curve, reference: Curve, edges: tuple[Array, Array, Array] | None) -> _Frame:
    """What there is to see: the reference, its tube, and the result as far as it is not absurd."""
    values = [reference.values, *(edges[1:] if edges else ())]
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    shown = result.values[np.isfinite(result.values)]
    if len(shown):  # a result that runs away must not flatten the reference to a line
        far = 3 * (high - low) or math.inf
        low = max(min(low, float(shown.min())), low - far)
        high = min(max(high, float(shown.max())), high + far)
    margin = MARGIN * (high - low) or max(1e-9 * abs(high), 1e-12)
    t0, t1 = float(reference.time[0]), float(reference.time[-1])
    return _Frame(t0=t0, t1=t1 if t1 > t0 else t0 + 1.0, y0=low - margin, y1=high + margin)


def _grid(frame: _Frame) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    yield f'<rect class="field" x="{LEFT:g}" y="{TOP:g}" width="{WIDTH - LEFT - RIGHT:g}" height="{bottom - TOP:g}"/>'
    for t, text in ticks(frame.t0, frame.t1):
        x = frame.across(t)
        yield f'<path class="rule" d="M{x:.1f} {TOP:g}V{bottom:g}"/><text x="{x:.1f}" y="{bottom + 15:g}">{text}</text>'
    for y, text in ticks(frame.y0, frame.y1):
        at = frame.down(y)
        yield f'<path class="rule" d="M{LEFT:g} {at:.1f}H{WIDTH - RIGHT:g}"/>'
        yield f'<text class="y" x="{LEFT - 6:g}" y="{at + 3.5:.1f}">{text}</text>'


def _strip(frame: _Frame, place: Curve) -> str:
    if not len(place.time):
        return ""
    top, room = HEIGHT + 2, STRIP - 10
    scale = room / (2 * FAR)
    middle = top + room / 2
    width = WIDTH - LEFT - RIGHT
    t, y = thinned(place.time, place.values)
    finite = np.isfinite(y)
    points = np.column_stack([frame.across(t[finite]), middle - scale * y[finite]])
    edges = "".join(
        f'<text class="y" x="{LEFT - 6:g}" y="{middle - scale * edge + 3.5:.1f}">{text}</text>'
        for edge, text in ((1, "+1"), (-1, f"{MINUS}1"))
    )
    return (
        f'<rect class="field" x="{LEFT:g}" y="{top:g}" width="{width:g}" height="{room:g}"/>'
        f'<path class="tube" d="M{LEFT:g} {middle - scale:.1f}h{width:g}v{2 * scale:.1f}h{-width:g}Z"/>'
        f'{edges}<path class="ref" d="M{LEFT:g} {middle:.1f}h{width:g}"/>'
        + (f'<path class="res" d="{_path(points)}"/>' if len(points) else "")
    )


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round values between two others, with texts that tell them apart."""
    raw = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [k * step for k in range(first, last + 1)]
    largest = max(map(abs, values), default=0.0)
    digits = max(1, math.ceil(math.log10(largest / step) + 1e-9) + 1) if largest else 1
    return [(value, f"{value:.{digits}g}".replace("-", MINUS)) for value in values]


def _line(frame: _Frame, curve: Curve, kind: str) -> str:
    t, y = thinned(curve.time, curve.values)
    finite = np.isfinite(y)
    pieces = np.split(np.arange(len(y)), np.flatnonzero(np.diff(finite)) + 1)
    paths = [_path(frame.points(t[piece], y[piece])) for piece in pieces if len(piece) and finite[piece[0]]]
    return f'<path class="{kind}" d="{"".join(paths)}"/>'


def _band(frame: _Frame, edges: tuple[Array, Array, Array]) -> str:
    t, low, high = edges
    outline = np.concatenate([frame.points(t, high), frame.points(t, low)[::-1]])
    return f'<path class="tube" d="{_path(outline)}Z"/>'


def _mark(frame: _Frame, worst: Deviation) -> str:
    """Where the signal is nearest to its limit or farthest beyond it; nothing where there is no deviation."""
    if worst.deviation == 0:
        return ""
    x = frame.across(worst.time)
    value = worst.value if math.isfinite(worst.value) else worst.reference
    y = float(np.clip(frame.down(value), TOP, HEIGHT - BOTTOM)) if math.isfinite(value) else TOP
    kind = "near" if worst.passed else "worst"
    line = f'<path class="{kind}" d="M{x:.1f} {TOP:g}V{HEIGHT - BOTTOM:g}"/>'
    return f'{line}<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _path(points: Iterable[Iterable[float]]) -> str:
    places = [f"{x:.1f} {y:.1f}" for x, y in points]
    return f"M{'L'.join(places)}" if len(places) > 1 else f"M{places[0]}h.1"


def thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """At most four points for each column of the picture, its ends and extremes: no spike is lost."""
    if len(time) <= 4 * COLUMNS:
        return time, values
    borders = np.linspace(0, len(time), COLUMNS + 1).astype(int)
    kept: set[int] = set()
    for first, last in pairwise(borders.tolist()):
        piece = values[first:last]
        wild = np.flatnonzero(~np.isfinite(piece))
        places = [0, len(piece) - 1, *wild[:1]]
        if len(wild) < len(piece):
            places += [int(np.nanargmin(piece)), int(np.nanargmax(piece))]
        kept.update(first + place for place in places)
    rows = np.array(sorted(kept))
    return time[rows], values[rows]
