"""The motion of a drawn model by other equations, integrated by another program: shares none with the package.

Absolute coordinates and the wrenches of joints from tests/reference, forces by the formulas of docs/theory.md,
accelerations by the index-1 system, projection where pieces end, DOP853 of SciPy, started anew at every break of time.
A planar model is taken as it is said in space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from reference.spatial import TINY, Link, Mechanism, State
from reference.spatial_joints import Array, Vector, angle, unit
from reference.spatial_reading import Numbers, body_of, course, driver, end_of, link_of, relation
from scipy.integrate import solve_ivp

from mbdfmu.description import Description, Marker
from search.joints import drivable
from search.motion import Motion
from search.sketch import Sample
from search.space import NotSaid, in_space

TOLERANCE = 1e-11
EDGE = 1e-12  # s: how near a break switches are looked at
COVERED = (
    "bodies",
    "joints",
    "motions",
    "forces",
    "states",
    "variables",
    "inputs",
    "tables",
    "parameters",
    "coordinates",
    "mass",
)


class NotCovered(Exception):
    """A model that these equations do not know: why."""


def independent(sample: Sample, grid: Vector) -> Motion:
    """At the times of the grid."""
    try:
        data = sample.data if sample.dimensions == 3 else in_space(sample.data)
    except NotSaid as why:
        raise NotCovered(str(why)) from None
    return Moving(data, sample).motion(grid)


# ---------------------------------------------------------------- expressions


def _if(condition: Any, one: Any, other: Any) -> Any:
    return one if condition else other


def _step(x: float, x0: float, y0: float, x1: float, y1: float) -> float:
    s = min(max((x - x0) / (x1 - x0), 0.0), 1.0)
    return y0 + (y1 - y0) * s * s * (3 - 2 * s)


FUNCTIONS: dict[str, Any] = {
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "sqrt": np.sqrt, "abs": abs, "max": max, "min": min, "sign": np.sign,
    "mod": lambda x, y: x - y * np.floor(x / y), "floor": np.floor, "if_": _if, "step": _step,
}  # fmt: skip


def python(text: str) -> str:
    """An expression in Python's words; `j1.angle` becomes signal("j1", "angle")."""
    text = re.sub(r"\bif\(", "if_(", text.replace("^", "**"))
    text = re.sub(r"\b([A-Za-z_]\w*)\.([A-Za-z_]\w*)", r"signal('\1', '\2')", text)
    text = re.sub(r"\bder\((\w+)\)", r"der('\1')", text)
    text = re.sub(r"\blookup\((\w+),", r"lookup('\1',", text)
    return re.sub(
        r"\b([dv])([xyz])\((\w+)\)", r"seen('\1', '\2', '\3')", re.sub(r"\bwz\((\w+)\)", r"seen('w', 'z', '\1')", text)
    )


class Now:
    """All that an expression may name, at one time and state."""

    def __init__(self, model: Moving, t: float, state: State, x: Mapping[str, float]) -> None:
        self.model, self.t, self.state, self.x = model, t, state, dict(x)
        self.rates: dict[str, float] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self(item) for item in value]
        return eval(self.model.code(value), self.names) if isinstance(value, str) else float(value)

    @cached_property
    def names(self) -> dict[str, Any]:
        inputs = {name: float(np.interp(self.t, *pair)) for name, pair in self.model.inputs.items()}
        own = {
            "time": self.t,
            "signal": self.signal,
            "seen": self.seen,
            "lookup": self.lookup,
            "der": self.rates.__getitem__,
        }
        return {"__builtins__": {}, **FUNCTIONS, **self.model.parameters, **inputs, **self.x, **own}

    def seen(self, what: str, axis: str, body: str) -> float:
        k, column = self.model.index[body], "xyz".index(axis)
        R, w = self.state.R[k], self.state.V[6 * k + 3 : 6 * k + 6]
        arm = -self.model.parts[k].centre
        if what == "d":
            return float((self.state.r[k] + R @ arm)[column])
        if what == "v":
            return float((self.state.V[6 * k : 6 * k + 3] + R @ np.cross(w, arm))[column])
        return float((R @ w)[column])

    def signal(self, name: str, key: str) -> float:
        """A coordinate of a joint, or its rate; the place or speed of a body."""
        if name in self.model.index:
            return self.seen("d" if len(key) == 1 else "v", key[-1], name)
        link = self.model.free(f"{name}.{key.removesuffix('_rate')}")
        pair = self.model.pair(self.state, link)
        if key.endswith("_rate"):
            return float(self.model.block(self.state, link, self.model.wrenches(self.state, link))[0] @ self.state.V)
        if link.kind == "drive_angle":
            return self.model.counted(f"{name}.{key}", angle(pair))
        return float(pair.axis("axis", (1, 0, 0))[0] @ pair.between)

    def lookup(self, table: str, x: float) -> float:
        found = self.model.d.tables[table]
        if found.method != "linear":
            raise NotCovered("Akima's tables")
        places, values = found.x, found.y
        if found.extrapolate == "linear" and not places[0] <= x <= places[-1]:
            k = 0 if x < places[0] else len(places) - 2
            slope = (values[k + 1] - values[k]) / (places[k + 1] - places[k])
            return float(values[k] + slope * (x - places[k]))
        return float(np.interp(x, places, values))


# ---------------------------------------------------------------- forces


class Pressed:
    """The ends of a force element at one time and state, in ground axes."""

    def __init__(self, now: Now, link: Link, fields: Mapping[str, Any]) -> None:
        self.now, self.fields = now, fields
        self.i, self.j = now.model.frame(now.state, link.i), now.model.frame(now.state, link.j)
        unity = now.model.block(now.state, link, np.eye(6)) @ now.state.V
        self.d, self.v, self.w = self.j.place - self.i.place, unity[:3], unity[3:]  # of j as seen from i

    def value(self, name: str, default: Any = 0.0) -> Any:
        found = self.fields.get(name)
        return self.now(default if found is None else found)

    def vector(self, name: str, default: Sequence[float] = (0, 0, 0)) -> Array:
        """In the axes of i."""
        return self.i.axes @ np.array(self.value(name, list(default)))

    def direction(self) -> tuple[Array, float, float]:
        """Along which it acts, how far j is along it, and how fast it gets farther."""
        if self.fields.get("axis") is None:
            e = unit(self.d)
            return e, float(np.sqrt(self.d @ self.d)), float(e @ self.v)
        e = unit(self.vector("axis"))
        return e, float(e @ self.d), float(e @ self.v)

    def frame(self) -> Array:
        marker = self.fields.get("frame")
        return (
            self.i.axes
            if marker is None
            else self.now.model.frame(self.now.state, end_of(self.now.model.n, _marker(marker))).axes
        )


Wrench = tuple[Array, Array]
NONE = np.zeros(3)


def translational(p: Pressed) -> Wrench:
    e, length, rate = p.direction()
    return e * (
        p.value("force") - p.value("stiffness") * (length - p.value("free_length")) - p.value("damping") * rate
    ), NONE


def rotational(p: Pressed) -> Wrench:
    axis = unit(p.vector("axis", (0, 0, 1)))
    turned = p.now.model.counted(p.fields["name"], _about(p))
    torque = (
        p.value("torque")
        - p.value("stiffness") * (turned - p.value("free_angle"))
        - p.value("damping") * float(axis @ p.w)
    )
    return NONE, axis * torque


def _about(p: Pressed) -> float:
    """The angle of j about an axis that both ends share to the last digit."""
    R = p.i.axes.T @ p.j.axes
    a = unit(np.array(p.value("axis", [0.0, 0.0, 1.0])))
    if np.abs(R @ a - a).max() > 1e-6:
        raise NotCovered("a rotational element whose ends share no axis")
    sine = a @ np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    return float(np.arctan2(sine, (np.trace(R) - 1) / 2))


def vector(p: Pressed) -> Wrench:
    return p.frame() @ np.array(p.value("force", [0.0] * 3)), NONE


def general(p: Pressed) -> Wrench:
    torque = p.value("torque", [0.0] * 3)
    return vector(p)[0], p.frame() @ np.array(torque if isinstance(torque, list) else [0.0] * 3)


def single(p: Pressed) -> Wrench:
    if p.fields.get("axis") is None:
        return unit(p.d) * p.value("force"), NONE
    return p.frame() @ unit(np.array(p.value("axis"))) * p.value("force"), NONE


def drag(p: Pressed) -> Wrench:
    flow = p.v - p.vector("wind")
    return -0.5 * p.value("density", 1.225) * p.value("coefficient") * p.value("area") * np.sqrt(
        flow @ flow
    ) * flow, NONE


def gravitation(p: Pressed) -> Wrench:
    square = p.d @ p.d
    return -unit(p.d) * p.value("constant", 6.6743e-11) * p.value("mass_i") * p.value("mass_j") / square, NONE


def bump_stop(p: Pressed) -> Wrench:
    e, length, rate = p.direction()
    total = 0.0
    for key, sign in (("lower", 1.0), ("upper", -1.0)):
        if p.fields.get(key) is not None and (depth := sign * (p.value(key) - length)) > 0:
            damping = p.value("damping") * _step(depth, 0.0, 0.0, p.value("damping_depth", 1.0), 1.0)
            total += sign * max(0.0, p.value("stiffness") * depth ** p.value("exponent", 1.0) - damping * sign * rate)
    return e * total, NONE


def bushing(p: Pressed) -> Wrench:
    if p.fields.get("torsional_stiffness") is not None:
        _about(p)  # refuses where the ends turn about more than one axis
    A = p.i.axes
    d, v, w = A.T @ p.d, A.T @ p.v, A.T @ p.w
    zero = [0.0] * 3
    F = np.array(p.value("force", zero)) - np.array(p.value("stiffness", zero)) * (
        d - p.value("free_displacement", zero)
    )
    F = F - np.array(p.value("damping", zero)) * v
    turned = (
        np.array([0.0, 0.0, p.now.model.counted(p.fields["name"], _about(p))])
        if p.fields.get("torsional_stiffness")
        else np.zeros(3)
    )
    M = np.array(p.value("torque", zero)) - np.array(p.value("torsional_stiffness", zero)) * (
        turned - p.value("free_rotation", zero)
    )
    return A @ F, A @ (M - np.array(p.value("torsional_damping", zero)) * w)


def touching(p: Pressed, gap: float, normal: Array, point: Array) -> Wrench:
    """Normal force and friction of a contact (T4.20, T4.21, T4.24 to T4.26)."""
    if gap >= 0:
        return NONE, NONE
    arm = point - p.j.place
    moving = p.v + np.cross(p.w, arm)
    depth, closing = -gap, -float(normal @ moving)
    force = _normal(p, depth, closing)
    slip = moving - (normal @ moving) * normal
    total = force * normal + _rubbing(p, slip, force)
    return total, np.cross(arm, total)


def _normal(p: Pressed, depth: float, closing: float) -> float:
    law, k = p.fields.get("normal", "hunt_crossley"), p.value("stiffness")
    if law == "linear":
        return max(k * depth + p.value("damping") * closing, 0.0)
    if law == "hertz":
        return float(k * depth**1.5)
    kept = p.fields.get("restitution")
    lost = p.value("dissipation") if kept is None else 1.5 * (1 - p.now(kept)) / (p.now(kept) * p.value("impact_speed"))
    return float(k * depth ** p.value("exponent", 1.5) * max(1 + lost * closing, 0.0))


def _rubbing(p: Pressed, slip: Array, load: float) -> Array:
    grip, static = p.value("coefficient"), p.fields.get("static_coefficient")
    speed = float(np.sqrt(slip @ slip))
    if static is not None:
        grip = grip + (p.now(static) - grip) * np.exp(-((speed / p.value("stribeck_speed", 1e-2)) ** 2))
    return -grip * load * np.tanh(speed / p.value("creep_speed", 1e-3)) * slip / speed if speed > 0 else NONE


def on_plane(p: Pressed) -> Wrench:
    normal = unit(p.vector("axis", (0, 0, 1)))
    radius = p.value("radius")
    return touching(p, float(normal @ p.d) - radius, normal, p.j.place - radius * normal)


def sphere_sphere(p: Pressed) -> Wrench:
    distance, normal = float(np.sqrt(p.d @ p.d)), unit(p.d)
    gap = distance - p.value("radius_i") - p.value("radius_j")
    return touching(p, gap, normal, p.i.place + (p.value("radius_i") + gap / 2) * normal)


FORCES: dict[str, Callable[[Pressed], Wrench]] = {
    "translational": translational, "rotational": rotational, "vector": vector, "general": general, "single": single,
    "drag": drag, "gravitation": gravitation, "bump_stop": bump_stop, "bushing": bushing, "point_plane": on_plane,
    "sphere_plane": on_plane, "sphere_sphere": sphere_sphere,
}  # fmt: skip
TABLES = ("spring_table", "damper_table")


# ---------------------------------------------------------------- the model


class Moving(Mechanism):
    """The mechanism with its forces and states; y holds 13 numbers of each body, then the states."""

    def __init__(self, data: dict[str, Any], sample: Sample) -> None:
        self.data, self.inputs, self.breaks = data, sample.inputs, sample.breaks
        self.d = Description(**data)
        self.n = Numbers(self.d)
        self._refuse()
        joints = {k: j for k, j in self.d.joints.items() if j.type_name not in ("gear", "coupler")}
        drivers = {k: driver(self.n, m.of, course=course(self.n, m.value)) for k, m in self.d.motions.items()}
        super().__init__(
            {name: body_of(self.n, body) for name, body in self.d.bodies.items()},
            {name: link_of(self.n, joint) for name, joint in joints.items()} | drivers,
            gravity=self.n.point(self.d.gravity),
            relations={k: relation(self.n, j) for k, j in self.d.joints.items() if k not in joints},
        )
        self.parameters = {name: self.n(p.value) for name, p in self.d.parameters.items()}
        self.forces = [
            (FORCES[f["type"]], self._link(f), {**f, "name": name}) for name, f in data.get("forces", {}).items()
        ]
        self.codes: dict[str, Any] = {}
        self.windings: dict[str, float] = {}
        self.piece = (0.0, sample.end)

    def _refuse(self) -> None:
        """What is not covered."""
        data = self.data
        other = [
            name for name, entries in data.items() if isinstance(entries, dict) and entries and name not in COVERED
        ]
        kinds = {f["type"] for f in data.get("forces", {}).values()} - FORCES.keys()
        tabled = [key for f in data.get("forces", {}).values() for key in TABLES if key in f]
        relations = [text for j in data.get("joints", {}).values() if "i" not in j for text in _named(j)]
        drives = [m for m in data.get("motions", {}).values() if m.get("level", "position") != "position"]
        relations += [m["of"] for m in data.get("motions", {}).values()]
        odd = [text for text in relations if not drivable(data["joints"], text)]
        found = [*other, *kinds, *tabled, *odd, *("drives" for _ in drives), *(c for c in data.get("coordinates", {}))]
        if found:
            raise NotCovered(", ".join(map(str, found)))

    def _link(self, force: dict[str, Any]) -> Link:
        return Link(kind="spherical", i=end_of(self.n, _marker(force["i"])), j=end_of(self.n, _marker(force["j"])))

    def free(self, coordinate: str) -> Link:
        if not drivable(self.data["joints"], coordinate):
            raise NotCovered(coordinate)
        return driver(self.n, coordinate)

    def code(self, text: str) -> Any:
        if text not in self.codes:
            self.codes[text] = compile(python(text), text, "eval")
        return self.codes[text]

    def counted(self, key: str, value: float) -> float:
        """The angle nearest to the last one that was asked for."""
        last = self.windings.get(key, value)
        self.windings[key] = value + 2 * np.pi * round((last - value) / (2 * np.pi))
        return self.windings[key]

    # ---- motion

    def rate(self, t: float, y: Vector) -> Vector:
        n = 13 * len(self.parts)
        state = self.unpacked(y[:n])
        now = self._now(t, state, dict(zip(self.d.states, y[n:], strict=True)))
        W, Q = self.rows(state), self.loads(state) + self._forces(now)
        turning = np.imag(self.rows(state.moved(1j * TINY, state.V)) @ state.V) / TINY
        free = np.linalg.solve(self.matrix, Q)
        mu = self.smallest(W, self.speeds(t, 2) - turning - W @ free)
        a = free + np.linalg.solve(self.matrix, W.T @ mu)
        return np.concatenate(
            [self.packed_rate(y[:n].reshape(-1, 13), state, a), [now.rates[name] for name in self.d.states]]
        )

    def _now(self, t: float, state: State, x: dict[str, float]) -> Now:
        """With variables and rates of states, in any order."""
        begin, end = self.piece
        now = Now(self, min(max(t, begin + EDGE), end - EDGE), state, x)
        for name, variable in self.d.variables.items():
            now.names[name] = self._variable(now, name, variable)
        for name, entry in self.d.states.items():
            now.rates[name] = now(entry.rate) if entry.rate is not None else self._implicit(now, name, entry.equation)
        return now

    @staticmethod
    def _variable(now: Now, name: str, variable: Any) -> float:
        if variable.value is not None:
            return float(now(variable.value))
        x = float(now(variable.start))
        for _ in range(50):
            now.names[name] = x
            here = now(variable.equation)
            now.names[name] = x + 1e-6
            step = here * 1e-6 / (now(variable.equation) - here)
            x -= step
            if abs(step) < 1e-14:
                break
        return x

    @staticmethod
    def _implicit(now: Now, name: str, equation: Any) -> float:
        """Linear in the rate."""
        now.rates[name] = 0.0
        at_none = now(equation)
        now.rates[name] = 1.0
        return float(-at_none / (now(equation) - at_none))

    def _forces(self, now: Now) -> Vector:
        Q = np.zeros(6 * len(self.parts))
        for law, link, fields in self.forces:
            F, M = law(Pressed(now, link, fields))
            Q = Q + self.block(now.state, link, np.array([np.concatenate([F, M])]))[0]
        return Q

    def motion(self, grid: Vector) -> Motion:
        """Integrated from break to break, corrected where a piece ends and at every time of the grid."""
        t, state = 0.0, self.started()
        x = np.array([float(self.n(entry.start)) for entry in self.d.states.values()])
        found = [self._row(state, x)]
        breaks = [b for b in self.breaks if 0 < b < grid[-1] and np.abs(grid - b).min() > 1e-12]  # 3 * 0.1 is not 0.3
        for end in sorted({*grid[1:].tolist(), *breaks}):
            n = 13 * len(self.parts)
            self.piece = (t, end)
            y = np.concatenate([self.packed(state), x])
            run = solve_ivp(self.rate, (t, end), y, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE / 10)
            if not run.success:
                raise NotCovered(f"DOP853 of SciPy: {run.message}")
            t, x = end, run.y[n:, -1]
            state = self.corrected(t, self.unpacked(run.y[:n, -1]))
            if np.isclose(grid, t, rtol=0, atol=1e-12).any():
                found.append(self._row(state, x))
        return self._joined(grid, found)

    def _row(self, state: State, x: Vector) -> tuple[Any, ...]:
        arms = np.array([-b.centre for b in self.parts])
        V = state.V.reshape(-1, 6)
        place = state.r + np.einsum("kij,kj->ki", state.R, arms)
        speed = V[:, :3] + np.einsum("kij,kj->ki", state.R, np.cross(V[:, 3:], arms))
        return place, state.R, speed, V[:, 3:], x

    def _joined(self, grid: Vector, rows: list[tuple[Any, ...]]) -> Motion:
        place, turn, speed, spin, x = (np.array(column) for column in zip(*rows, strict=True))
        bodies = {name: {"place": place[:, k], "turn": turn[:, k], "speed": speed[:, k], "spin": spin[:, k]}
                  for name, k in self.index.items()}  # fmt: skip
        return Motion(grid, bodies, {name: x[:, k] for k, name in enumerate(self.d.states)})


def _named(joint: dict[str, Any]) -> list[str]:
    return [*joint["terms"]] if "terms" in joint else [joint["first"], joint["second"]]


def _marker(marker: dict[str, Any]) -> Marker:
    return Marker(**marker)
