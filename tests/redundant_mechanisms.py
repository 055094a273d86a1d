"""Random mechanisms whose joints hold more than is needed, and the same without what repeats; turns follow turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mbdfmu as mbd
from mbdfmu import joints
from mbdfmu.forces import Rotational, Translational

Point = np.ndarray
PLANE, SPACE = 2, 3
CRANKS = ("one", "two", "three")


@dataclass
class Mechanism:
    """Bodies, and the joints between them twice: as they are listed, and without what repeats."""

    name: str
    dimensions: int
    gravity: float
    bodies: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Point] = field(default_factory=dict)
    listed: list[tuple[str, Any]] = field(default_factory=list)
    independent: list[tuple[str, Any]] = field(default_factory=list)
    forces: list[tuple[str, Any]] = field(default_factory=list)
    start: dict[str, float] = field(default_factory=dict)
    watched: list[str] = field(default_factory=list)
    built: dict[tuple[bool, bool], mbd.Model] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.places["ground"] = np.zeros(self.dimensions)

    def add_body(self, name: str, place: Point, mass: float) -> None:
        inertia = 0.1 * mass if self.dimensions == PLANE else tuple(mass * np.array([0.1, 0.12, 0.14]))
        self.places[name] = np.array(place, dtype=float)
        self.bodies[name] = mbd.Body(mass=mass, inertia=inertia, position=tuple(place))
        self.watched += [f"{name}.{x}" for x in "xyz"[: self.dimensions]]

    def joint(self, kind: str, i: str, j: str, at: Point, **options: Any) -> Any:
        """A joint of two bodies at a place of the ground frame; axes as there."""
        ends = {end: {"body": b, "at": tuple(np.asarray(at) - self.places[b])} for end, b in (("i", i), ("j", j))}
        return getattr(joints, kind)(**ends, **options)

    def hold(self, *elements: Any) -> None:
        self.listed += [(f"held{len(self.listed) + k}", e) for k, e in enumerate(elements)]

    def need(self, *elements: Any) -> None:
        self.independent += [(f"needed{len(self.independent) + k}", e) for k, e in enumerate(elements)]

    def both(self, element: Any) -> None:
        self.hold(element), self.need(element)

    def model(self, *, redundant: bool, backwards: bool = False) -> mbd.Model:
        """The same one where it is asked for again: compiling takes longer than many a run."""
        key = redundant, backwards
        if key not in self.built:
            self.built[key] = self._built(*key)
        return self.built[key]

    def _built(self, redundant: bool, backwards: bool) -> mbd.Model:
        gravity = (0, -self.gravity) if self.dimensions == PLANE else (0, -self.gravity, 0)
        model = mbd.Model("mechanism", dimensions=self.dimensions, gravity=gravity, length=1)
        elements = self.listed if redundant else self.independent
        for name, element in [*self.bodies.items(), *(elements[::-1] if backwards else elements), *self.forces]:
            model.add(name, element)
        return model


def direction(random: np.random.Generator, dimensions: int) -> Point:
    d = random.normal(size=dimensions)
    return d / np.linalg.norm(d)


def weld(m: Mechanism, random: np.random.Generator, i: str, j: str, at: Point) -> None:
    """Two joints that leave no motion together and hold some twice; without what repeats, a weld."""
    m.need(m.joint("Fixed", i, j, at))
    one, other = direction(random, m.dimensions), direction(random, m.dimensions)
    beside = at + 0.3 * direction(random, m.dimensions)
    slider, hinge = (lambda d, p=at: m.joint("Prismatic", i, j, p, axis=tuple(d))), (lambda p=at: hinged(m, i, j, p))
    choices = [
        lambda: (slider(one), hinge()),
        lambda: (hinge(), slider(one)),
        lambda: (slider(one), slider(other, beside)),
        lambda: (m.joint("Fixed", i, j, at), slider(one, beside)),
        lambda: (m.joint("Orientation", i, j, beside), slider(one), hinge(beside)),
    ]
    if m.dimensions == PLANE:
        choices += [lambda: (hinge(), hinge(beside)), lambda: (slider(one), hinge(beside), hinge())]
    else:
        screw = m.joint("Screw", i, j, at, axis=tuple(one), pitch=0.2)
        choices += [
            lambda: (screw, m.joint("Spherical", i, j, at)),
            lambda: (slider(one), m.joint("Spherical", i, j, at)),
            lambda: (hinge(), m.joint("Revolute", i, j, beside, axis=tuple(one))),
            lambda: (m.joint("Universal", i, j, at), m.joint("Orientation", i, j, at), slider(other)),
        ]
    m.hold(*choices[random.integers(len(choices))]())


def hinged(m: Mechanism, i: str, j: str, at: Point, **options: Any) -> Any:
    return m.joint("Revolute", i, j, at, **options)


def hinge_held_twice(m: Mechanism, random: np.random.Generator, i: str, j: str, at: Point) -> None:
    hinge = hinged(m, i, j, at)
    m.need(hinge)
    if m.dimensions == PLANE:
        line = m.joint("PointOnLine", i, j, at, axis=tuple(direction(random, PLANE)))
        seconds = [hinged(m, i, j, at), line]
    else:
        along = at + np.array([0, 0, 0.4])
        seconds = [
            hinged(m, i, j, along),
            m.joint("Cylindrical", i, j, along),
            m.joint("ParallelAxes", i, j, at),
            m.joint("Spherical", i, j, along),
        ]
    m.hold(hinge, seconds[random.integers(len(seconds))])


def rail_held_twice(m: Mechanism, random: np.random.Generator, i: str, j: str, at: Point) -> None:
    """A slider on two parallel rails, held back by a spring."""
    axis = tuple(direction(random, m.dimensions))
    rail = m.joint("Prismatic", i, j, at, axis=axis)
    m.need(rail)
    m.hold(rail, m.joint("Prismatic", i, j, at + 0.4 * direction(random, m.dimensions), axis=axis))
    far = at + 0.6 * np.array(axis)
    ends = {"i": {"body": i, "at": tuple(far - m.places[i])}, "j": {"body": j, "at": tuple(at - m.places[j])}}
    spring = Translational(**ends, stiffness=200 * m.bodies[j].mass, free_length=0.6, damping=1)
    m.forces.append((f"spring_{j}", spring))


def chain(random: np.random.Generator, dimensions: int) -> Mechanism:
    """A hinge that turns fast carries bodies that are welded, on rails, or (one of them) hinged, each held twice."""
    m = Mechanism("chain", dimensions, gravity=random.uniform(0, 3))
    kinds = [weld, *random.choice([weld, rail_held_twice, hinge_held_twice], size=random.integers(0, 3), replace=False)]
    if kinds.count(hinge_held_twice) > 1:
        kinds.remove(hinge_held_twice)
    random.shuffle(kinds)
    before, at = "ground", np.zeros(dimensions)
    for k, kind in enumerate([hinge_held_twice, *kinds]):
        name = f"b{k}"
        place = at + 0.4 * direction(random, dimensions) * ([1, 1] if dimensions == PLANE else [1, 1, 0.3])
        m.add_body(name, place, random.uniform(0.5, 2) * (4 if k == 0 else 1))
        kind(m, random, before, name, at)
        before, at = name, place + 0.3 * direction(random, dimensions)
    m.start = {"b0.omega" if dimensions == PLANE else "b0.omega_z": random.uniform(3, 6) * random.choice([-1, 1])}
    return m


def three_cranks(random: np.random.Generator, dimensions: int) -> Mechanism:
    """A plate on three equal cranks; any two of them have a dead point, three have none."""
    m = Mechanism("three_cranks", dimensions, gravity=random.uniform(0, 3))
    angle, radius = random.uniform(0, 2 * math.pi), random.uniform(0.2, 0.5)
    arm = radius * np.array([math.cos(angle), math.sin(angle), 0])[:dimensions]
    feet = []
    while len(feet) < len(CRANKS):
        foot = np.append(random.uniform(-1, 1, size=2), np.zeros(dimensions - 2))
        if all(np.linalg.norm(foot - f) > 0.5 for f in feet):
            feet.append(foot)
    m.add_body("plate", np.mean(feet, axis=0) + arm, random.uniform(1, 3))
    lock = m.joint("Orientation", "ground", "plate", m.places["plate"])
    if dimensions == PLANE:
        m.need(lock)
    for name, foot in zip(CRANKS, feet, strict=True):
        m.add_body(name, foot + arm / 2, random.uniform(0.5, 1))
        m.hold(hinged(m, "ground", name, foot), hinged(m, name, "plate", foot + arm))
    needed = [hinged(m, "ground", name, foot) for name, foot in zip(CRANKS, feet, strict=True)]
    first = len(m.independent)
    m.need(*needed)
    if dimensions == SPACE:
        m.need(lock)
        m.need(m.joint("PointOnLine", "one", "plate", feet[0] + arm, axis=(0, 0, 1)))
        m.need(m.joint("PointInPlane", "ground", "plate", m.places["plate"], axis=(0, 0, 1)))
    else:
        m.need(hinged(m, "one", "plate", feet[0] + arm))
    for other in (first + 1, first + 2):
        m.need(joints.Gear(first=f"needed{other}.angle", second=f"needed{first}.angle", ratio=1))
    m.start = {"one.omega" if dimensions == PLANE else "one.omega_z": random.uniform(4, 7) * random.choice([-1, 1])}
    return m


def four_bar(random: np.random.Generator, dimensions: int) -> Mechanism:
    """A crank and rocker on a slewing base, in space with parallel hinges, in the plane with hinges held twice."""
    m = Mechanism("four_bar", dimensions, gravity=random.uniform(0, 2))
    crank, coupler, rocker, base = random.uniform(0.2, 0.3), 1.0, random.uniform(0.7, 0.9), 0.95
    angle = random.uniform(0, 2 * math.pi)
    a, d = np.zeros(2), np.array([base, 0])
    b = crank * np.array([math.cos(angle), math.sin(angle)])
    span = d - b
    length = np.linalg.norm(span)
    along = (coupler**2 - rocker**2 + length**2) / (2 * length)
    c = b + along * span / length + math.sqrt(coupler**2 - along**2) * np.array([-span[1], span[0]]) / length
    a, b, c, d = (np.append(p, np.zeros(dimensions - 2)) for p in (a, b, c, d))
    frame = "ground"
    if dimensions == SPACE:
        frame = "base"
        m.add_body("base", np.array([0.5, -0.3, 0]), 5)
        m.both(m.joint("Revolute", "ground", "base", np.zeros(3), axis=tuple(direction(random, SPACE))))
    for name, p, q in (("crank", a, b), ("coupler", b, c), ("rocker", c, d)):
        m.add_body(name, (p + q) / 2, random.uniform(0.3, 1) * (4 if name == "crank" else 1))
    m.both(hinged(m, frame, "crank", a))
    m.both(hinged(m, "crank", "coupler", b))
    if dimensions == SPACE:
        m.hold(hinged(m, "coupler", "rocker", c), hinged(m, "rocker", frame, d))
        m.need(m.joint("Spherical", "coupler", "rocker", c), m.joint("Cylindrical", "rocker", frame, d))
        m.start = {"crank.omega_z": random.uniform(5, 7)}
    else:
        m.need(hinged(m, "coupler", "rocker", c), hinged(m, "rocker", frame, d))
        m.hold(hinged(m, "coupler", "rocker", c), hinged(m, "rocker", frame, d))
        m.hold(m.joint("PointOnLine", "coupler", "rocker", c, axis=tuple(direction(random, PLANE))))
        m.hold(hinged(m, "rocker", frame, d))
        m.start = {"crank.omega": random.uniform(5, 7)}
    return m


def with_an_arm(m: Mechanism, random: np.random.Generator) -> Mechanism:
    """The same with an arm on the last body, whose hinge is locked and freed, and driven to and fro by an event."""
    last = list(m.bodies)[-1]
    at = m.places[last] + 0.3 * direction(random, m.dimensions)
    m.add_body("arm", at + 0.3 * np.eye(m.dimensions)[0], 0.3)
    turn = {"axis": tuple(direction(random, SPACE))} if m.dimensions == SPACE else {}
    shoulder = m.joint("Revolute", last, "arm", at, **turn)
    torque = "0.2*side - 0.05*shoulder.angle_rate"
    m.forces += [
        ("shoulder", shoulder),
        ("side", mbd.State(rate=0, start=1)),
        ("count", mbd.State(rate=0)),
        ("drive", Rotational(i=shoulder.i, j=shoulder.j, torque=torque, **turn)),
        ("held", mbd.Event(when="time > 0.8", lock=["shoulder"])),
        ("freed", mbd.Event(when="time > 1.9", unlock=["shoulder"])),
        ("turned", mbd.Event(when="side*shoulder.angle > 0.7", set={"side": "-side", "count": "count + 1"})),
    ]
    m.watched += ["side", "count", "shoulder.angle"]
    return m


def first_hinge(m: Mechanism, *, redundant: bool) -> tuple[str, Any]:
    """The hinge of the body that turns at the start, and its name."""
    body = next(iter(m.start)).split(".")[0]
    elements = m.listed if redundant else m.independent
    return next((name, e) for name, e in elements if isinstance(e, joints.Revolute) and e.j.body == body)


def with_a_motor(m: Mechanism, **which: bool) -> mbd.Model:
    """The same with a torque T on the first hinge."""
    _, hinge = first_hinge(m, redundant=which["redundant"])
    turn = {"axis": hinge.axis} if m.dimensions == SPACE else {}
    model = m.model(**which)
    model.add("T", mbd.Input(unit="N.m"))
    model.add("motor", Rotational(i=hinge.i, j=hinge.j, torque="T", **turn))
    return model


def with_a_spring(m: Mechanism, **which: bool) -> mbd.Model:
    """The same with a spring that turns the first hinge."""
    _, hinge = first_hinge(m, redundant=which["redundant"])
    turn = {"axis": hinge.axis} if m.dimensions == SPACE else {}
    model = m.model(**which)
    model.add("spring", Rotational(i=hinge.i, j=hinge.j, stiffness=3, free_angle=5.0, damping=1, **turn))
    return model


def draw(seed: int) -> Mechanism:
    """In turn chains, three cranks and four-bars, in the plane and in space."""
    make = [chain, chain, three_cranks, four_bar][seed % 4]
    return make(np.random.default_rng(seed), [PLANE, SPACE][seed // 4 % 2])
