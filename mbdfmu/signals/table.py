"""What a resolved model consists of, still by name; must not know how it was resolved, nor indices."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field

from mbdfmu.coordinates import Coordinates
from mbdfmu.description import Bound, Code, Description
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.expressions import Graph, Node
from mbdfmu.frames import Gap, Joined, Level, Load, Placed, Primitive, Side
from mbdfmu.resolution import Written


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One variable of the model."""

    name: str
    unit: str
    node: Node = field(repr=False)
    causality: str = "local"  # parameter, calculatedParameter, input, output, local, independent (as in FMI)
    variability: str = "continuous"  # fixed, tunable, continuous, discrete
    start: float | None = None  # of parameters and inputs
    minimum: float | None = None
    maximum: float | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One scalar coordinate; rotations of spatial bodies are small ones about the body's axes, from the quaternion."""

    name: str  # `crank.phi`; of its signal, except for rotations of spatial bodies
    label: str  # in messages, `body 'crank' phi`
    node: str  # what is eliminated together: the body
    unit: str
    rate: str  # name of the velocity's signal


@dataclass(frozen=True, kw_only=True)
class RigidBody:
    """Mass and inertia about the centre of mass."""

    name: str
    mass: Node
    inertia: tuple[Node, ...]  # planar: one; spatial, in body axes: xx yy zz xy xz yz


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Constraint rows of one element, with what the solver needs to find a native kernel for them."""

    label: str  # `joint 'hinge'`
    name: str
    primitives: tuple[Primitive, ...]
    ends: tuple[str, str] | None = None  # bodies of a joint
    active: bool = True  # from the start
    drives: bool = False  # a motion, which sets at the start what it drives


@dataclass(frozen=True, kw_only=True)
class ForceTerm:
    """One force element: its load and ends."""

    name: str
    load: Load
    ends: tuple[Placed, ...]


@dataclass(frozen=True, kw_only=True)
class State:
    """One differential state, the symbol ("x", name); its equation has to be zero."""

    name: str
    label: str  # in messages, `state 'speed'`
    unit: str
    equation: Node
    start: Node
    nominal: float  # the size from which on its error counts in proportion


@dataclass(frozen=True, kw_only=True)
class Algebraic:
    """One unknown without a rate, the symbol ("y", name); its equation has to be zero."""

    name: str
    label: str
    equation: Node
    start: Node  # where the search for the first solution begins


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function outside the core: its values and their derivatives are symbols ("ext", name)."""

    name: str
    python: Code
    inputs: tuple[Node, ...]
    parameters: tuple[Node, ...]
    values: tuple[str, ...]

    def slopes(self, value: str) -> list[str]:
        """The derivatives of one value by the inputs."""
        return [f"der({value}, {k})" for k in range(1, len(self.inputs) + 1)]

    @property
    def symbols(self) -> list[str]:
        """Values, then derivatives row by row, as the solver keeps them."""
        return [*self.values, *(name for value in self.values for name in self.slopes(value))]


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """A field that only parameters decide."""

    label: str  # `radius of force 'contact'`
    node: Node
    bound: Bound


@dataclass(frozen=True, kw_only=True)
class Winding:
    """An angle that counts turns: the symbol ("turn", name) holds its last value, and `start` at the start."""

    name: str
    node: Node
    start: Node


@dataclass(frozen=True, kw_only=True)
class Initial:
    """A wish for the start: the value is zero where it is fulfilled; one that is not required gives way."""

    label: str
    value: Node
    level: Level
    required: bool
    unit: str  # of the value


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What an event makes of a differential state."""

    state: str
    value: Node  # of what is there just before
    label: str  # in messages: where it stands, and its text


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that occurs when its indicator becomes positive, and what it switches on or off and sets."""

    name: str
    condition: Node  # which the indicator says as a number
    indicator: Node
    actions: tuple[tuple[str, bool], ...]  # labels of constraints
    settings: tuple[Setting, ...]  # all at once


@dataclass(frozen=True, kw_only=True)
class Impact:
    """A gap, whose constraint is off but while contact rests; the indicator is positive where it is hit."""

    name: str
    label: str  # of the constraint
    indicator: Node
    ends: Node  # positive where contact at rest has nothing to rest on
    restitution: Node
    rest_speed: Node


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """An indicator whose change of sign is located, after which the motion starts anew: a contact that begins."""

    name: str
    indicator: Node


@dataclass(kw_only=True)
class SymbolicModel:
    """A description with all names resolved."""

    description: Description
    graph: Graph
    motion: Coordinates
    signals: dict[str, Signal]
    coordinates: list[Coordinate]
    bodies: list[RigidBody]
    gravity: tuple[Node, ...]
    position_starts: list[Node]  # one per coordinate; zero for rotations of spatial bodies
    orientation_starts: list[Node]  # four per spatial body, a unit quaternion
    velocity_starts: list[Node]
    constraints: list[Constraint]
    joined: dict[str, Joined]  # by joint: its frames and free coordinates
    markers: dict[str, Placed]  # those with a name
    forces: list[ForceTerm]
    states: list[State]
    unknowns: list[Algebraic]
    functions: list[Function]
    bounds: list[Bounded]
    written: list[Written]
    windings: list[Winding]
    sides: list[Side]
    initials: list[Initial]
    crossings: list[Crossing]
    gaps: dict[str, Gap]  # by what an error calls them
    events: list[Event]
    impacts: list[Impact]
    generalized_forces: dict[str, Node]  # on user-written coordinates
    mass_matrix: dict[tuple[str, str], Node]
    length: Node

    @property
    def dimensions(self) -> int:
        """2 for planar models, 3 for spatial ones."""
        return self.description.dimensions

    @property
    def parameters(self) -> list[Signal]:
        """The parameters that an instance may change, in order."""
        return [s for s in self.signals.values() if s.causality == "parameter"]

    @property
    def inputs(self) -> list[Signal]:
        """The signals that come from outside, in order."""
        return [s for s in self.signals.values() if s.causality == "input"]

    def matching(self, pattern: str) -> list[Signal]:
        """Signals whose name fits a pattern such as `crank.*`; a full name, `r[1]` too, fits only itself."""
        if pattern in self.signals:
            return [self.signals[pattern]]
        return [s for s in self.signals.values() if fnmatch.fnmatchcase(s.name, pattern)]

    def signal(self, name: str) -> Signal:
        """The signal of that name; ModelError with the nearest one if there is none."""
        if name not in self.signals:
            raise ModelError(
                f"model '{self.description.name}' has no signal {name!r}{did_you_mean(name, self.signals)}"
            )
        return self.signals[name]

    def rate(self, node: Node) -> Node:
        """Time derivative of a node."""
        return self.motion.rate(node)
