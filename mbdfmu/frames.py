"""Constraint rows, measures and loads in symbolic form: the words in which joints and forces are written.

Only values are written here: rows, derivatives, rates and accelerations follow by exact differentiation (T3). A
primitive may name a native kernel that computes the same faster; tests hold the two against each other. This module
must not know joints, forces or indices; planar.py and spatial.py hold what is different in the plane and in space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from mbdfmu.expressions import Node, sqrt

Level = Literal["position", "velocity", "acceleration"]


class Placed(Protocol):
    """A frame fixed to a body, in the plane or in space."""

    @property
    def body(self) -> str: ...

    @property
    def origin(self) -> tuple[Node, ...]:
        """m, ground axes."""

    @property
    def arm(self) -> tuple[Node, ...]:
        """The origin in body axes, from the centre of mass (m)."""

    @property
    def fixed(self) -> tuple[Node, ...]:
        """Everything that fixes the frame in its body."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One constraint equation `value` = 0; `direction` names it in messages, `reaction` names lambda in signals.

    A row at velocity level is linear in velocities, one at acceleration level in accelerations. Its generalised force
    on a coordinate is -lambda d(value)/d(coordinate), where the coordinate stands for its velocity or acceleration.
    """

    direction: str
    value: Node
    unit: str  # "m" or "rad": of the value, or of what it is the rate of
    reaction: str = ""  # empty where the joint's force and torque say it all
    sign: float = -1.0  # the reaction is sign * lambda; -1 gives the force on the end j
    text: str = "on the end j"
    level: Level = "position"
    periodic: bool = False  # full turns more, as the start may have them, are the same


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Native code that computes the same: a table of the solver and the constants of one entry."""

    table: str
    constants: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Side:
    """A node that must be positive once a model is assembled: rows alone hold for opposed axes too."""

    label: str
    node: Node
    meets: bool = False  # whether the motion can come to where the node is zero, and go over to the other branch there


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """Constraint rows that belong together."""

    rows: tuple[Row, ...]
    kernel: Kernel | None = None
    sides: tuple[Side, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A scalar that a joint leaves free or that a force acts along."""

    value: Node
    unit: str
    text: str
    counts: bool = False  # an angle between -pi and pi, whose turns remain to be counted


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a joint is made of: what it holds, and the coordinates of the motions left free."""

    primitives: tuple[Primitive, ...]
    free: Mapping[str, Measure] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Joined:
    """A joint as forces see it, that act in it."""

    name: str
    type: str
    ends: tuple[Any, ...] = ()  # frames i and j
    free: Mapping[str, Measure] = field(default_factory=dict)
    axis: tuple[Node, ...] = ()  # in frame i, where the type has one; of any length

    @property
    def dimensions(self) -> int:
        """Of the model."""
        return len(self.ends[0].origin)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """A force or torque along a rate: its power is effort rate, its generalised force effort d(rate)/dv (T4.0)."""

    rate: Node  # m/s or rad/s, linear in velocities
    effort: Node  # N or N.m


@dataclass(frozen=True, kw_only=True)
class Share:
    """Efforts that belong together, with the kernel that computes the same where its constants and frames are fixed."""

    efforts: tuple[Effort, ...]
    kernel: Kernel | None = None


@dataclass(frozen=True, kw_only=True)
class Load:
    """What a force element does; the generalised force is the sum over all efforts."""

    shares: tuple[Share, ...]
    energy: Node  # J, stored
    beyond: tuple[Node, ...] = ()  # forces that are given; what they store, if anything, is not in the energy

    @property
    def efforts(self) -> tuple[Effort, ...]:
        return tuple(effort for share in self.shares for effort in share.efforts)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A distance (m) from which on an element acts once it is negative (T9.9).

    Where something ends behind its surface, a body that is `extent` deep is as near to another side; `speed` is how
    fast (m/s) the bodies move against each other then, in any direction.
    """

    value: Node
    rate: Node  # m/s
    extent: Node | None = None
    speed: Node | None = None
    rigid: bool = False  # nothing yields: an impact, which has to be met while the gap is closing
    last_push: bool = False  # negative where the gap registered before, which is opening, pushes once more

    @property
    def nodes(self) -> tuple[Node, Node, Node]:
        """What the solver looks at."""
        return self.value, self.rate, self.rate if self.speed is None else self.speed


@dataclass(frozen=True, kw_only=True)
class Law:
    """A force along one measure: positive acts towards a larger measure."""

    spring: Node  # N or N.m
    actuator: Node
    energy: Node  # J, stored in the spring
    kernel: Kernel | None = None  # computes the spring's part


class Rates(Protocol):
    """What knows how everything moves."""

    def rate(self, node: Node) -> Node:
        """The time derivative of a node."""


class Resolve(Rates, Protocol):
    """What a joint or force may ask of its model while it is written down."""

    def __call__(self, value: Any) -> Any:
        """The node of a value, or the nodes of a point or direction."""

    def counted(self, key: str, measure: Measure) -> Measure:
        """The free coordinate `key` with its full turns counted; any other measure as it is."""

    def locate(self, key: str, node: Node) -> None:
        """Hit every change of the node's sign in time, as where a contact begins, and start anew there."""

    def gap(self, key: str, gap: Gap) -> None:
        """No step may pass over the place where this gap is closed."""

    def joint(self, name: str) -> Joined:
        """A joint of the model."""

    def table(self, name: str) -> Callable[[Node], Node]:
        """The function that a table of the model is."""

    def integral(self, name: str) -> Callable[[Node], Node]:
        """Its integral from 0 on."""

    def unit(self, expression: str) -> str:
        """The unit of a signal; empty (and a finding) where it is not known."""

    def force(self, key: str, value: Node, unit: str, text: str) -> Node:
        """Makes a force or torque the signal `key` of the element; returns what to use in its place.

        That is the value itself, or an unknown where other expressions need the force before it is known.
        """

    def show(self, key: str, value: Node, unit: str, text: str) -> None:
        """Makes a value the signal `key` of the element."""

    def state(self, key: str, start: Any, unit: str, text: str, nominal: float = 1.0) -> Node:
        """A differential state `key` of the element; `define` says how it moves."""

    def define(self, state: Node, rate: Node) -> None:
        """The time derivative of a state of the element."""


def distance(i: Placed, j: Placed) -> Measure:
    """Distance of the origins."""
    steps = [b - a for a, b in zip(i.origin, j.origin, strict=True)]
    square = steps[0].graph.sum(step * step for step in steps)
    return Measure(value=sqrt(square), unit="m", text="distance of the ends")


def fixed_distance(i: Placed, j: Placed, length: Node) -> Primitive:
    """The origins keep a distance (T3.4)."""
    value = distance(i, j).value - length
    row = Row(direction="length", value=value, unit="m", reaction="pull", sign=1.0, text="tension of the rod")
    return Primitive(rows=(row,))
