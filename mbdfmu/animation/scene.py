"""What is drawn of a model: solid parts of bodies, links between bodies; must not know how they are shown or move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbdfmu.animation.colors import GREY, body_color
from mbdfmu.animation.numbers import Numbers
from mbdfmu.animation.rotations import NO_TURN, Array, along
from mbdfmu.description import GROUND, Body, Box, Cylinder, Description, Force, Joint, Placed, Rod, Shape, Sphere
from mbdfmu.errors import ModelError

THICKNESS, THICKEST = 0.04, 0.15  # radius of a default rod, as a part of the typical size of a body
SLIM = 0.0035  # radius of a default rod, at least, as a part of the whole motion; long chains would be invisible
BALL, PIN, LINE, CROSS = 2.2, 1.3, 0.5, 2.5  # other sizes, as parts of that radius
UNEQUAL = (0.0, 0.1, 0.2, 0.3)  # added to the size of pins: two of one size at one place would flicker
LINKS = ("distance", "translational")  # joints and forces that act between two points and are drawn as a line


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A unit mesh, scaled by `size` along its own axes, turned and put at a point of its body."""

    mesh: str
    at: Array  # m
    turn: Array  # quaternion
    size: Array  # m
    color: str  # #rrggbb


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """What moves as one: a body, or the ground."""

    name: str
    color: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Link:
    """A line between two points of different nodes."""

    name: str
    color: str
    radius: float  # m
    nodes: tuple[int, int]
    points: tuple[Array, Array]  # m, in the axes of the nodes


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Everything that is drawn; the first node is the ground, the others are the bodies in order."""

    name: str
    planar: bool
    up: int  # the axis that points up on the screen
    scale: float  # m, typical size of a body
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]


def scene_of(description: Description, parameters: Mapping[str, float] | None = None, *, extent: float = 0.0) -> Scene:
    """What is drawn of a model that moves across `extent` (m), with its own parameters where none are given."""
    return _Builder(description.flat(), parameters or {}, extent).build()


class _Builder:
    """Draws one flat description; findings are collected until the end."""

    def __init__(self, description: Description, parameters: Mapping[str, float], extent: float) -> None:
        self.d = description
        self.numbers = Numbers(description, parameters)
        self.ends = self._ends()
        self.scale = self._scale()
        self.radius = min(max(THICKNESS * self.scale, SLIM * extent), THICKEST * self.scale)

    def build(self) -> Scene:
        if not self.d.bodies:
            raise ModelError(f"model '{self.d.name}' has no bodies, so there is nothing to draw; plot its signals")
        ground = Node(name=GROUND, color=GREY, parts=tuple(self._crosses()))
        bodies = [self._node(k, name, body) for k, (name, body) in enumerate(self.d.bodies.items())]
        scene = Scene(
            name=self.d.name, planar=self.d.dimensions == 2, up=self._up(), scale=self.scale, nodes=(ground, *bodies),
            links=tuple(self._links()),
        )  # fmt: skip
        self.numbers.check()
        return scene

    # ---- where things are held

    def _elements(self) -> Iterator[tuple[str, Joint | Force]]:
        """What holds at two places; gears and friction in a joint have none of their own."""
        for section, elements in (("joints", self.d.joints), ("forces", self.d.forces)):
            for name, element in elements.items():
                if getattr(element, "i", None) is not None:
                    yield f"{section}.{name}", element

    def _end(self, path: str, end: Any) -> tuple[str, Array]:
        marker = self.d.marker(end)
        return str(marker.body), self.numbers.point(f"{path}.at", marker.at)

    def _ends(self) -> dict[str, list[Array]]:
        """The places on each body at which joints and forces act, each once."""
        found: dict[str, list[Array]] = defaultdict(list)
        for path, element in self._elements():
            for side in ("i", "j"):
                body, point = self._end(f"{path}.{side}", getattr(element, side))
                if not any(np.array_equal(point, known) for known in found[body]):
                    found[body].append(point)
        return found

    def _scale(self) -> float:
        """A typical size of a body: the median of arms or shapes, or the model's length, or a distance, or 1 m."""
        arms = [float(np.linalg.norm(p)) for body, points in self.ends.items() if body != GROUND for p in points]
        for sizes in (arms, list(self._sizes())):
            if any(sizes):
                return float(np.median([size for size in sizes if size > 0]))
        if self.d.length is not None:
            return self.numbers.size("length", self.d.length)
        starts = [self.numbers.point(f"bodies.{name}.position", body.position) for name, body in self.d.bodies.items()]
        return max((float(np.linalg.norm(start)) for start in starts), default=0.0) or 1.0

    def _sizes(self) -> Iterator[float]:
        """Of all shapes that have one."""
        for name, body in self.d.bodies.items():
            for n, shape in enumerate(body.shapes):
                path = f"bodies.{name}.shapes[{n}]"
                if isinstance(shape, Rod):
                    yield float(np.linalg.norm(np.subtract(*self._rod_ends(path, shape))))
                elif isinstance(shape, Placed):
                    yield max(self._size(path, shape))

    def _up(self) -> int:
        """Against gravity where it acts along an axis of space, else z; in the plane y."""
        if self.d.dimensions == 2:
            return 1
        gravity = self.numbers.point("gravity", self.d.gravity)
        axis = int(np.argmin(gravity))
        return axis if gravity[axis] < 0 and np.count_nonzero(gravity) == 1 else 2

    # ---- parts

    def _node(self, k: int, name: str, body: Body) -> Node:
        color = next((shape.color for shape in body.shapes if shape.color), None) or body_color(k)
        shapes = [self._shape(f"bodies.{name}.shapes[{n}]", s, s.color or color) for n, s in enumerate(body.shapes)]
        return Node(name=name, color=color, parts=tuple(shapes or self._default(k, name, body, color)))

    def _shape(self, path: str, shape: Shape, color: str) -> Part:
        if isinstance(shape, Rod):
            return self._rod(path, shape, color)
        assert isinstance(shape, Placed), f"shape type '{shape.type_name}' cannot be drawn"
        return Part(
            mesh=shape.type_name,
            at=self.numbers.point(f"{path}.at", shape.at),
            turn=self.numbers.turn(f"{path}.orientation", shape.orientation),
            size=np.array(self._size(path, shape)),
            color=color,
        )

    def _size(self, path: str, shape: Placed) -> list[float]:
        if isinstance(shape, Box):
            return [self.numbers.size(f"{path}.size[{k}]", size) for k, size in enumerate(shape.size)]
        if isinstance(shape, Sphere):
            return 3 * [self.numbers.size(f"{path}.radius", shape.radius)]
        assert isinstance(shape, Cylinder), f"shape type '{shape.type_name}' cannot be drawn"
        radius = self.numbers.size(f"{path}.radius", shape.radius)
        return [radius, radius, self.numbers.size(f"{path}.length", shape.length)]

    def _rod(self, path: str, rod: Rod, color: str) -> Part:
        thin = LINE * self.radius
        radius = thin if rod.radius is None else self.numbers.size(f"{path}.radius", rod.radius)
        return bar(*self._rod_ends(path, rod), radius, color)

    def _rod_ends(self, path: str, rod: Rod) -> tuple[Array, Array]:
        return self.numbers.point(f"{path}.from", rod.start), self.numbers.point(f"{path}.to", rod.end)

    def _default(self, k: int, name: str, body: Body, color: str) -> Iterator[Part]:
        """A ball in the centre of mass, and a rod with a pin to each joint."""
        center = self.numbers.point(f"bodies.{name}.center", body.center)
        yield self._ball(center, BALL, color)
        for point in self.ends.get(name, ()):
            if not np.array_equal(point, center):
                yield bar(center, point, self.radius, color)
                yield self._ball(point, PIN + UNEQUAL[k % len(UNEQUAL)], color)

    def _ball(self, at: Array, size: float, color: str) -> Part:
        return Part(mesh="sphere", at=at, turn=NO_TURN, size=np.full(3, size * self.radius), color=color)

    def _crosses(self) -> Iterator[Part]:
        """One at each place of the ground at which something is held."""
        thin, long = 0.4 * self.radius, 2 * CROSS * self.radius
        for point in self.ends.get(GROUND, ()):
            for axis in range(self.d.dimensions):
                size = np.full(3, thin)
                size[axis] = long
                yield Part(mesh="box", at=point, turn=NO_TURN, size=size, color=GREY)

    # ---- links

    def _links(self) -> Iterator[Link]:
        order = {name: k for k, name in enumerate((GROUND, *self.d.bodies))}
        for path, element in self._elements():
            if element.type_name in LINKS:
                (i, at_i), (j, at_j) = (self._end(f"{path}.{side}", getattr(element, side)) for side in ("i", "j"))
                yield Link(
                    name=path.partition(".")[2], color=GREY, radius=LINE * self.radius, nodes=(order[i], order[j]),
                    points=(at_i, at_j),
                )  # fmt: skip


def bar(start: Array, end: Array, radius: float, color: str) -> Part:
    """A cylinder from one point to another."""
    length = float(np.linalg.norm(end - start))
    # Where both ends are one point there is a disc so thin that nobody sees it, in place of a division by zero.
    size = np.array([radius, radius, max(length, 1e-3 * radius)])
    return Part(mesh="cylinder", at=0.5 * (start + end), turn=along(end - start), size=size, color=color)
