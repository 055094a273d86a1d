"""Reads a spatial description into numbers for spatial.py; must not use the package's resolution of expressions.

Expressions are few and written by us, so Python itself evaluates them, after `^` and dotted names are spelt its way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mbdfmu.description import Description
from reference.spatial import Body, Mechanism, Relation, Spring
from reference.spatial_joints import SLIDE, End, Link, Vector, matrix, turning, unit

FUNCTIONS: dict[str, Any] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sqrt": np.sqrt, "exp": np.exp, "pi": np.pi, "deg": np.pi / 180,
}  # fmt: skip
START = re.compile(r"(\w+)\.(\w+)\.start")
STEP = 1e-4  # of central differences of what a complex step has differentiated once
TINY = 1e-30
SLIDING = ("prismatic", "point_on_line")  # their default axis is x; that of all others is z
COORDINATE = {"angle": "drive_angle", "displacement": "drive_displacement"}


class Numbers:
    """The values of a description."""

    def __init__(self, description: Description, parameters: Mapping[str, float] | None = None) -> None:
        self.d = description
        self.given = dict(parameters or {})

    def __call__(self, value: Any, time: complex = 0.0) -> Any:
        """Of a number or expression."""
        if not isinstance(value, str):
            return float(value)
        text = START.sub(lambda m: f"start({m[1]!r}, {m[2]!r})", value.replace("^", "**"))
        names = {name: self.named(name) for name in set(re.findall(r"[A-Za-z_]\w*", text)) if self.known(name)}
        code = compile(text, value, "eval")
        return eval(code, {"__builtins__": {}}, {**FUNCTIONS, **names, "start": self.start, "time": time})

    def known(self, name: str) -> bool:
        return name in self.d.parameters or name in self.d.inputs

    def named(self, name: str) -> Any:
        if name in self.given:
            return self.given[name]
        return self(self.d.parameters[name].value) if name in self.d.parameters else self.d.inputs[name].start

    def start(self, body: str, coordinate: str) -> float:
        return float(self.point(self.d.bodies[body].position)["xyz".index(coordinate)])

    def point(self, value: Any, time: complex = 0.0) -> Vector:
        """Three components; those left out are zero."""
        given = () if value is None else value if isinstance(value, Iterable) else (value,)
        numbers = [self(v, time) for v in given]
        return np.array(numbers + [0.0] * (3 - len(numbers)))

    def rotation(self, orientation: Any) -> Vector:
        """Own axes -> those it is given in."""
        o = orientation
        if o is None:
            return np.eye(3)
        if o.quaternion is not None:
            return np.asarray(matrix(np.array([self(v) for v in o.quaternion])))
        if o.axis is not None:
            return turning(self.point(o.axis), self(o.angle))
        if o.x is not None:
            x = unit(self.point(o.x))
            z = unit(np.cross(x, self.point(o.y)))
            return np.stack([x, np.cross(z, x), z], axis=1)
        a, b, c = self.point(o.angles)
        X, Y, Z = np.eye(3)
        turns = ((Z, a), (X, b), (Z, c)) if o.sequence == "313" else ((Z, c), (Y, b), (X, a))
        first, second, third = (turning(axis, angle) for axis, angle in turns)
        return np.asarray(first @ second @ third)


# ---------------------------------------------------------------- bodies


def box(n: Numbers, s: Any) -> tuple[float, Vector]:
    """Volume, and inertia per mass in own axes."""
    a, b, c = n.point(s.size)
    return a * b * c, np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 12


def cylinder(n: Numbers, s: Any) -> tuple[float, Vector]:
    r, h = n(s.radius), n(s.length)
    across = (3 * r * r + h * h) / 12
    return np.pi * r * r * h, np.diag([across, across, r * r / 2])


def sphere(n: Numbers, s: Any) -> tuple[float, Vector]:
    r = n(s.radius)
    return 4 / 3 * np.pi * r**3, 0.4 * r * r * np.eye(3)


def rod(n: Numbers, s: Any) -> tuple[float, Vector]:
    d, r = n.point(s.end) - n.point(s.start), 0.0 if s.radius is None else n(s.radius)
    length, u = np.sqrt(d @ d), unit(d)
    along = np.outer(u, u)
    across = np.eye(3) - along
    return np.pi * r * r * length, (length**2 / 12 + r * r / 4) * across + r * r / 2 * along


SHAPES: dict[str, Callable[[Numbers, Any], tuple[float, Vector]]] = {
    "box": box,
    "cylinder": cylinder,
    "sphere": sphere,
    "rod": rod,
}


def weighed(n: Numbers, shape: Any) -> tuple[float, Vector, Vector]:
    """Mass, centre and inertia about it, in the body's axes."""
    volume, tensor = SHAPES[shape.type_name](n, shape)
    mass = n(shape.mass) if shape.mass is not None else n(shape.density) * volume
    if shape.type_name == "rod":
        return mass, (n.point(shape.start) + n.point(shape.end)) / 2, mass * tensor
    R = n.rotation(shape.orientation)
    return mass, n.point(shape.at), mass * R @ tensor @ R.T


def weight(n: Numbers, body: Any) -> tuple[float, Vector, Vector]:
    """Mass, centre and inertia of a body."""
    if body.mass is not None:
        J = [n(v) for v in body.inertia]
        products = J[3:] or [0.0, 0.0, 0.0]
        xy, xz, yz = products
        return n(body.mass), n.point(body.center), np.array([[J[0], xy, xz], [xy, J[1], yz], [xz, yz, J[2]]])
    parts = [weighed(n, shape) for shape in body.shapes if shape.mass is not None or shape.density is not None]
    mass = sum(m for m, _, _ in parts)
    centre = sum((m * c for m, c, _ in parts), start=np.zeros(3)) / mass
    J = np.zeros((3, 3))
    for m, c, own in parts:
        d = c - centre
        J += own + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, centre, J


def body_of(n: Numbers, body: Any) -> Body:
    mass, centre, inertia = weight(n, body)
    return Body(
        mass=mass,
        inertia=inertia,
        centre=centre,
        position=n.point(body.position),
        rotation=n.rotation(body.orientation),
        velocity=n.point(body.velocity),
        omega=n.point(body.omega if isinstance(body.omega, tuple) else None),
    )


# ---------------------------------------------------------------- joints, drivers, relations


def end_of(n: Numbers, end: Any) -> End:
    marker = n.d.marker(end)
    return End(body=marker.body, at=n.point(marker.at), turn=n.rotation(marker.orientation))


def link_of(n: Numbers, joint: Any) -> Link:
    vectors = {
        k: n.point(v) for k in ("axis", "axis_i", "axis_j", "normal") if (v := getattr(joint, k, None)) is not None
    }
    numbers = {k: n(v) for k in ("length", "pitch", "radius") if (v := getattr(joint, k, None)) is not None}
    return Link(kind=joint.type_name, i=end_of(n, joint.i), j=end_of(n, joint.j), data={**vectors, **numbers})


def driver(n: Numbers, signal: str, **data: Any) -> Link:
    """What moves a free coordinate such as `hinge.angle`."""
    name, _, coordinate = signal.rpartition(".")
    joint = n.d.joints[name]
    link = link_of(n, joint)
    axis = link.data.get("axis", SLIDE if joint.type_name in SLIDING else (0, 0, 1))
    return Link(kind=COORDINATE[coordinate], i=link.i, j=link.j, data={"axis": axis, **data})


def course(n: Numbers, value: Any) -> Callable[[float], tuple[float, float, float]]:
    """A function of time with its derivatives."""

    def rate(t: float) -> float:
        return float(np.imag(n(value, t + 1j * TINY)) / TINY)

    def all_three(t: float) -> tuple[float, float, float]:
        near, far = rate(t + STEP) - rate(t - STEP), rate(t + 2 * STEP) - rate(t - 2 * STEP)
        return float(np.real(n(value, t))), rate(t), (8 * near - far) / (12 * STEP)

    return all_three


def relation(n: Numbers, joint: Any) -> Relation:
    if joint.type_name == "gear":
        return [(driver(n, joint.first), 1.0), (driver(n, joint.second), -n(joint.ratio))]
    return [(driver(n, signal), n(factor)) for signal, factor in joint.terms.items()]


def rates(n: Numbers) -> Relation:
    """Rates that joints ask for at the start."""
    asked = [(f"{name}.{key}", initial) for name, joint in n.d.joints.items() for key, initial in joint.start.items()]
    return [
        (driver(n, signal.removesuffix("_rate")), n(initial.value))
        for signal, initial in asked
        if signal.endswith("_rate") and initial.priority == "required"
    ]


def spring_of(n: Numbers, force: Any) -> Spring:
    if force.type_name != "translational" or n(force.force):
        raise TypeError("spatial.py knows springs and dampers between points only")
    constants = {k: n(getattr(force, k)) for k in ("stiffness", "damping", "free_length")}
    return Spring(i=end_of(n, force.i), j=end_of(n, force.j), **constants)


def mechanism(
    description: Description, parameters: Mapping[str, float] | None = None, length: float = 1.0
) -> Mechanism:
    """The description in numbers; motions become links, gears and couplers relations."""
    n = Numbers(description, parameters)
    joints = {k: j for k, j in description.joints.items() if j.type_name not in ("gear", "coupler")}
    drivers = {k: driver(n, m.of, course=course(n, m.value)) for k, m in description.motions.items()}
    return Mechanism(
        {name: body_of(n, body) for name, body in description.bodies.items()},
        {name: link_of(n, joint) for name, joint in joints.items()} | drivers,
        gravity=n.point(description.gravity),
        springs=[spring_of(n, force) for force in description.forces.values()],
        relations={k: relation(n, j) for k, j in description.joints.items() if k not in joints},
        rates=rates(n),
        length=length,
    )
