"""A still picture of a model, small enough for an icon: PNG and SVG; must not know how the pose was computed.

Parts become discs, strokes and faces, drawn from back to front: enough to recognise a mechanism at the size of a thumb.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbdfmu.animation.colors import GREY, body_color
from mbdfmu.animation.motion import PLANAR, SPATIAL, motion_from
from mbdfmu.animation.rotations import NO_TURN, Array, moved
from mbdfmu.animation.scene import Link, Part, Scene, scene_of
from mbdfmu.description import Description

SIZE = 256  # of the icon, pixels
_SHARPER = 2  # the icon is drawn so much larger and averaged
_MARGIN = 0.06  # of the picture, on every side
_THINNEST = 0.008  # half width of a stroke and radius of a disc, of the picture
_EDGE = 0.006  # of the darker outline, of the picture
_AZIMUTH, _ELEVATION = np.deg2rad(-35), np.deg2rad(25)  # from where spatial models are seen
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


@dataclass(frozen=True, eq=False)
class Shape:
    """A thick line, a disc (a line without length) or a face, with its distance from the eye."""

    points: Array  # (n, 2); of a picture of size 1, y upwards
    radius: float  # 0: the face between the points
    color: str
    depth: float


@dataclass(frozen=True)
class Picture:
    """What is to be drawn, from back to front."""

    shapes: tuple[Shape, ...]

    def png(self, size: int = SIZE) -> bytes:
        """The picture with a transparent ground; the same picture gives the same bytes."""
        wide = size * _SHARPER
        canvas = np.zeros((wide, wide, 4))
        x, y = np.meshgrid((np.arange(wide) + 0.5) / wide, 1 - (np.arange(wide) + 0.5) / wide)
        for shape in self.shapes:
            for grown, color in ((_EDGE, _darker(shape.color)), (0.0, shape.color)):
                _paint(canvas, x, y, shape, grown, color)
        mean = canvas.reshape(size, _SHARPER, size, _SHARPER, 4).mean(axis=(1, 3))
        alpha = mean[..., 3:]
        plain = np.divide(mean[..., :3], alpha, out=np.zeros_like(mean[..., :3]), where=alpha > 0)
        return _png(np.rint(np.concatenate([plain, alpha], axis=2) * 255).astype(np.uint8))

    def svg(self) -> str:
        """The same for a page."""
        body = "".join(_svg(shape) for shape in self.shapes)
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" width="360" height="360">{body}</svg>'


def still(description: Description, signals: Mapping[str, float]) -> Picture:
    """The model at these values of its signals; a curve where it has no bodies."""
    flat = description.flat()
    if not flat.bodies:
        return _curve()
    suffixes = PLANAR if flat.dimensions == 2 else SPATIAL
    given = {body: np.array([[signals[f"{body}.{s}"] for s in suffixes]]) for body in flat.bodies}
    motion = motion_from(description, [0.0], given)
    return picture(scene_of(description, extent=motion.extent), motion.poses[0])


def _curve() -> Picture:
    """A decaying oscillation over its axis."""
    x = np.linspace(0, 1, 41)
    points = np.stack([x, 0.4 * np.exp(-2 * x) * np.cos(14 * x)], axis=1)
    axis = Shape(points=np.array([[0.0, 0.0], [1.0, 0.0]]), radius=0.008, color=GREY, depth=1.0)
    pieces = (
        Shape(points=pair, radius=0.02, color=body_color(0), depth=0.0)
        for pair in np.stack([points[:-1], points[1:]], axis=1)
    )
    return Picture(tuple(_fitted([axis, *pieces])))


def picture(scene: Scene, poses: Array) -> Picture:
    """The scene with its bodies at these poses (body, x y z e0 e1 e2 e3)."""
    ground = np.concatenate([np.zeros(3), NO_TURN])
    placed = [ground, *poses]
    view = _view(scene)
    shapes = [s for node, pose in zip(scene.nodes, placed, strict=True) for part in node.parts
              for s in _shapes(part, pose, view)]  # fmt: skip
    shapes += [_line(link, placed, view) for link in scene.links]
    return Picture(tuple(_fitted(sorted(shapes, key=lambda shape: -shape.depth))))


def _view(scene: Scene) -> Array:
    """Rows: to the right, upwards, away from the eye."""
    if scene.planar:
        return np.diag([1.0, 1.0, -1.0])
    up = np.eye(3)[scene.up]
    side, front = np.eye(3)[(scene.up + 1) % 3], np.eye(3)[(scene.up + 2) % 3]
    right = np.cos(_AZIMUTH) * side + np.sin(_AZIMUTH) * front
    away = np.cos(_AZIMUTH) * front - np.sin(_AZIMUTH) * side
    return np.stack([right, np.cos(_ELEVATION) * up + np.sin(_ELEVATION) * away,
                     np.cos(_ELEVATION) * away - np.sin(_ELEVATION) * up])  # fmt: skip


def _shapes(part: Part, pose: Array, view: Array) -> Iterator[Shape]:
    inside = np.concatenate([part.at, part.turn])
    if part.mesh == "box":
        corners = moved(pose, moved(inside, _CORNERS * part.size)) @ view.T
        for face in _FACES:
            yield _shape(corners[list(face)], 0.0, part.color)
    elif part.mesh == "sphere":
        yield _shape(moved(pose, part.at[None]) @ view.T, float(part.size.max()), part.color)
    else:
        yield from _cylinder(part, pose, view)


def _cylinder(part: Part, pose: Array, view: Array) -> Iterator[Shape]:
    """A stroke where it is long, the outline of a disc where it is flat."""
    radius, _, length = part.size
    inside = np.concatenate([part.at, part.turn])
    if length > 2 * radius:
        ends = np.array([[0, 0, -0.5], [0, 0, 0.5]]) * length
        yield _shape(moved(pose, moved(inside, ends)) @ view.T, float(radius), part.color)
        return
    angle = np.linspace(0, 2 * np.pi, 33)[:-1]
    rim = radius * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    middle = np.array([0.0, 0.0, 0.5 * length])
    rims = np.concatenate([rim - middle, rim + middle])
    seen = moved(pose, moved(inside, rims)) @ view.T
    yield _shape(seen[_hull(seen[:, :2])], 0.0, part.color)


def _hull(points: Array) -> list[int]:
    """Indices of the convex outline, counter-clockwise."""
    order = np.lexsort((points[:, 1], points[:, 0])).tolist()
    chains = []
    for sequence in (order, order[::-1]):
        chain: list[int] = []
        for k in sequence:
            while len(chain) > 1 and _turn(points[chain[-2]], points[chain[-1]], points[k]) <= 0:
                chain.pop()
            chain.append(k)
        chains.append(chain[:-1])
    return [*chains[0], *chains[1]]


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _line(link: Link, placed: list[Array], view: Array) -> Shape:
    ends = [moved(placed[node], point[None])[0] for node, point in zip(link.nodes, link.points, strict=True)]
    return _shape(np.array(ends) @ view.T, link.radius, link.color)


def _shape(seen: Array, radius: float, color: str) -> Shape:
    return Shape(points=seen[:, :2], radius=radius, color=color, depth=float(seen[:, 2].mean()))


def _fitted(shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Moved and scaled into the picture."""
    known = list(shapes)
    low = np.min([s.points.min(axis=0) - s.radius for s in known], axis=0)
    high = np.max([s.points.max(axis=0) + s.radius for s in known], axis=0)
    scale = (1 - 2 * _MARGIN) / (float((high - low).max()) or 1.0)
    for s in known:
        radius = max(s.radius * scale, _THINNEST) if s.radius else 0.0
        yield Shape((s.points - 0.5 * (low + high)) * scale + 0.5, radius, s.color, s.depth)


# ---------------------------------------------------------------- drawing


def _paint(canvas: Array, x: Array, y: Array, shape: Shape, grown: float, color: str) -> None:
    """Cover the pixels of a shape, looking only where it can be."""
    reach = shape.radius + grown
    low, high = shape.points.min(axis=0) - reach, shape.points.max(axis=0) + reach
    n = len(canvas)
    columns = slice(max(int(low[0] * n), 0), int(high[0] * n) + 2)
    rows = slice(max(int((1 - high[1]) * n), 0), int((1 - low[1]) * n) + 2)
    here = np.stack([x[rows, columns], y[rows, columns]], axis=-1)
    covered = _distance(here, shape) <= reach
    canvas[rows, columns][covered] = [*_rgb(color), 1.0]


def _distance(at: Array, shape: Shape) -> Array:
    """From the line of a stroke; from a face 0 inside of it."""
    corners = shape.points
    if shape.radius:
        return _from_segment(at, corners[0], corners[-1])
    after = np.roll(corners, -1, axis=0)
    away = np.min([_from_segment(at, a, b) for a, b in zip(corners, after, strict=True)], axis=0)
    # Inside where a ray to the right meets an odd number of edges.
    crossings = np.zeros(at.shape[:2], dtype=int)
    for a, b in zip(corners, after, strict=True):
        spans = (a[1] > at[..., 1]) != (b[1] > at[..., 1])
        rise = b[1] - a[1]
        meets = a[0] + (at[..., 1] - a[1]) * (b[0] - a[0]) / (rise if rise else 1.0)
        crossings += spans & (at[..., 0] < meets)
    return np.where(crossings % 2 == 1, 0.0, away)


def _from_segment(at: Array, a: Array, b: Array) -> Array:
    along = b - a
    square = float(along @ along)
    share = np.clip((at - a) @ along / square, 0, 1) if square else np.zeros(at.shape[:2])
    distance: Array = np.linalg.norm(at - a - share[..., None] * along, axis=-1)
    return distance


def _svg(shape: Shape) -> str:
    points = " ".join(f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in shape.points)
    width, edge = 2000 * shape.radius, 1000 * _EDGE
    round_ = 'stroke-linecap="round" stroke-linejoin="round"'
    if not shape.radius:
        dark = _darker(shape.color)
        return f'<polygon points="{points}" fill="{shape.color}" stroke="{dark}" stroke-width="{edge:.1f}" {round_}/>'
    points += f" {points.split()[0]}" if len(shape.points) == 1 else ""
    return "".join(
        f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="{wide:.1f}" {round_}/>'
        for color, wide in ((_darker(shape.color), width + 2 * edge), (shape.color, width))
    )


def _rgb(color: str) -> list[float]:
    return [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def _darker(color: str) -> str:
    return "#" + "".join(f"{round(0.6 * 255 * share):02x}" for share in _rgb(color))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """PNG of red, green, blue and opacity (ISO/IEC 15948): every row after a zero, for "no filter"."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels.reshape(height, -1)], axis=1)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body
