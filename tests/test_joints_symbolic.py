"""Every joint as it is written, by NumPy alone: derivatives, rates, meaning, frame invariance; no native code.

The registry gives the list, so a new joint is tested by existing: with each combination of ends, with numbers, with
parameters, with a marker that moves in time, and with bodies whose centre of mass lies elsewhere. States are random and
need not satisfy the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.models import link, model
from scipy.spatial.transform import Rotation

from mbdfmu.description import Description, Joint
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node, evaluate
from mbdfmu.frames import Row
from mbdfmu.joints import JointElement, Relation
from mbdfmu.signals import Constraint, SymbolicModel, tabulate

Vector = NDArray[np.float64]

EXACT = 1e-12  # two ways to compute the same numbers of order 1 to 10
INVARIANT = 1e-10  # the same under a rotation of everything
BY_DIFFERENCES = 1e-7  # five points leave about 1e-10, near the poles of an angle 1e-8
STEP = 2e-4
T = 0.37  # any time

MEMBERS = [name for name, joint in Joint.members().items() if issubclass(joint, JointElement)]
RELATIONS = [name for name in MEMBERS if issubclass(Joint.named(name), Relation)]
SPATIAL = [name for name in MEMBERS if Joint.named(name).freedoms.spatial is not None]
PLANAR = [name for name in MEMBERS if Joint.named(name).freedoms.planar is not None]
ENDS = {"body-body": ("one", "two"), "ground-body": ("ground", "two"), "body-ground": ("one", "ground")}
STYLES = ("numbers", "parameters", "moving", "centres")

each_joint = pytest.mark.parametrize("kind", SPATIAL)
each_ends = pytest.mark.parametrize("ends", ENDS)
each_style = pytest.mark.parametrize("style", STYLES)


# ---------------------------------------------------------------- models


def fields_of(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """A value for every field of a joint's own; one that nobody has taught here must have a default."""
    known: dict[str, Any] = {
        "length": 0.8, "radius": 0.6, "pitch": 0.3, "ratio": 1.7, "offset": 0.2, "constant": 0.4,
        "first": "a.angle", "second": "b.displacement", "terms": {"a.angle": 1, "b.angle": -0.5},
    }  # fmt: skip
    fields = {}
    for name, info in Joint.named(kind).model_fields.items():
        if name in ("i", "j", "start", "text"):
            continue
        if name.startswith("axis") or name == "normal":
            fields[name] = [float(x) for x in rng.uniform(-1, 1, 3)]
        elif name in known:
            fields[name] = known[name]
        else:
            assert not info.is_required(), f"{kind}.{name}: teach fields_of() a value for this field"
    return fields


def turned_about(rng: np.random.Generator) -> dict[str, Any]:
    return {"axis": [float(x) for x in rng.uniform(-1, 1, 3)], "angle": float(rng.uniform(-2, 2))}


def on(body: str, rng: np.random.Generator) -> dict[str, Any]:
    return {"body": body, "at": [float(x) for x in rng.uniform(-1, 1, 3)], "orientation": turned_about(rng)}


def as_parameters(data: Any, parameters: dict[str, Any]) -> Any:
    """The same with every number moved into a parameter, inside an expression."""
    if isinstance(data, dict):
        return {k: as_parameters(v, parameters) for k, v in data.items()}
    if isinstance(data, list):
        return [as_parameters(v, parameters) for v in data]
    if not isinstance(data, float):
        return data
    name = f"p{len(parameters)}"
    parameters[name] = {"value": data / 2}
    return f"2*{name}"


def bodies(centres: bool = False) -> dict[str, Any]:
    """Two free bodies."""
    one: dict[str, Any] = {"mass": 1.3, "inertia": [0.4, 0.5, 0.6], "free": True}
    two: dict[str, Any] = {"mass": 0.7, "inertia": [0.2, 0.3, 0.25, 0.01, -0.02, 0.03], "free": True}
    if centres:
        one["center"], two["center"] = [0.1, -0.2, 0.3], [0.0, 0.2, 0.0]
    return {"one": one, "two": two}


def space(**sections: Any) -> Description:
    return model("space", **{"dimensions": 3, "gravity": [0.3, 0.1, -9.81], **sections})


def joint_model(kind: str, ends: str = "body-body", style: str = "numbers") -> Description:
    """Two free bodies and one joint."""
    rng = np.random.default_rng([ord(c) for c in kind + ends])
    i, j = (on(body, rng) for body in ENDS[ends])
    joint, parameters = link(kind, i, j, **fields_of(kind, rng)), dict[str, Any]()
    if style == "parameters":
        joint = as_parameters(joint, parameters)
    if style == "moving":
        i["at"] = ["0.3*sin(2*time)", "0.1 + 0.2*time^2", 0.4]
        j["orientation"]["angle"] = "0.4 + time"
    return space(bodies=bodies(style == "centres"), parameters=parameters, joints={"element": joint})


def relation_model(kind: str) -> Description:
    """Two joints that turn and slide, and an equation between their coordinates."""
    rng = np.random.default_rng(3)
    joints = {
        "a": link("revolute", on("ground", rng), on("one", rng)),
        "b": link("cylindrical", on("one", rng), on("two", rng)),
        "element": {"type": kind, **fields_of(kind, rng)},
    }
    return space(bodies=bodies(), joints=joints)


# ---------------------------------------------------------------- states


@dataclass(frozen=True)
class Body:
    """Place of the centre of mass, orientation, velocities and accelerations (angular ones in body axes)."""

    r: Vector
    R: Rotation
    v: Vector
    a: Vector

    def after(self, s: float) -> Body:
        """A smooth motion through this state, with the right velocity and acceleration at s = 0."""
        way = s * self.v + s * s / 2 * self.a
        return Body(self.r + way[:3], self.R * Rotation.from_rotvec(way[3:]), self.v + s * self.a, self.a)

    def shifted(self, step: Vector) -> Body:
        """Moved by a step in its six coordinates, at the same velocities."""
        return replace(self, r=self.r + step[:3], R=self.R * Rotation.from_rotvec(step[3:]))


State = dict[str, Body]
GROUND = {"ground": Body(np.zeros(3), Rotation.identity(), np.zeros(6), np.zeros(6))}


def random_state(seed: int = 1) -> State:
    rng = np.random.default_rng(seed)
    draw = lambda n: rng.uniform(-1, 1, n)  # noqa: E731
    return {name: Body(draw(3), Rotation.random(random_state=rng), draw(6), draw(6)) for name in ("one", "two")}


def names_of(m: SymbolicModel, body: str) -> list[str]:
    return [c.name for c in m.coordinates if c.node == body]


def symbols(m: SymbolicModel, state: State, t: float = T) -> dict[Node, float]:
    """What every symbol stands for."""
    s = m.graph.symbol
    values: dict[Node, Any] = {s("t", "time"): t, s("t", "pace"): 1.0, **{p.node: p.start for p in m.parameters}}
    for name, body in state.items():
        coordinates = names_of(m, name)
        for q, r in zip(coordinates[:3], body.r, strict=True):
            values[s("q", q)] = r
        for k, e in enumerate(np.roll(body.R.as_quat(), 1)):
            values[s("q", f"{name}.e{k}")] = e
        for (row, column), r in np.ndenumerate(body.R.as_matrix()):
            values[s("r", f"{name}.r{row}{column}")] = r
        for q, v, a in zip(coordinates, body.v, body.a, strict=True):
            values |= {s("v", q): v, s("a", q): a}
    for winding in m.windings:
        values.setdefault(s("turn", winding.name), 0.0)
    for k, (constraint, row) in enumerate(rows_of(m)):
        values[s("lam", f"{constraint.label} ({row.direction})")] = np.cos(1 + k)
    return values


def rows_of(m: SymbolicModel) -> Iterator[tuple[Constraint, Row]]:
    return ((c, row) for c in m.constraints for primitive in c.primitives for row in primitive.rows)


def element_rows(m: SymbolicModel) -> list[Row]:
    return [row for c, row in rows_of(m) if c.name == "element"]


def numbers(m: SymbolicModel, nodes: list[Node], state: State, t: float = T) -> Vector:
    return np.array(evaluate(nodes, symbols(m, state, t)), dtype=float)


def slope(f: Callable[[float], Vector]) -> Vector:
    """df/ds at s = 0 by five points."""
    return (8 * (f(STEP) - f(-STEP)) - (f(2 * STEP) - f(-2 * STEP))) / (12 * STEP)


def close(mine: Any, theirs: Any, tolerance: float) -> None:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    np.testing.assert_allclose(
        mine, theirs, rtol=0, atol=tolerance * max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    )


# ---------------------------------------------------------------- derivatives and rates


def check_derivatives(m: SymbolicModel, nodes: list[Node], state: State) -> None:
    for name in state:
        for unit, coordinate in zip(np.eye(6), names_of(m, name), strict=True):
            mine = numbers(m, [m.motion.diff(node, coordinate) for node in nodes], state)
            moved = lambda s, name=name, unit=unit: state | {name: state[name].shifted(s * unit)}  # noqa: E731
            close(mine, slope(lambda s, moved=moved: numbers(m, nodes, moved(s))), BY_DIFFERENCES)


def check_rates(m: SymbolicModel, nodes: list[Node], state: State) -> None:
    after = lambda s: {name: body.after(s) for name, body in state.items()}  # noqa: E731
    mine = numbers(m, [m.rate(node) for node in nodes], state)
    close(mine, slope(lambda s: numbers(m, nodes, after(s), T + s)), BY_DIFFERENCES)


@each_joint
@each_ends
@each_style
def test_derivatives_and_rates_of_a_joint_are_exact(kind: str, ends: str, style: str) -> None:
    m = tabulate(joint_model(kind, ends, style))
    rows = [row.value for row in element_rows(m)]
    free = [
        s.node for s in m.matching("element.*") if s.unit in ("m", "rad", "m/s", "rad/s") and s.causality == "local"
    ]
    state = random_state()
    check_derivatives(m, rows + free, state)
    check_rates(m, rows + free, state)
    positions = [row.value for row in element_rows(m) if row.level == "position"]
    check_rates(m, [m.rate(row) for row in positions], state)  # rates of accelerations are not known


@pytest.mark.parametrize("kind", RELATIONS)
def test_derivatives_and_rates_of_a_relation_are_exact(kind: str) -> None:
    m = tabulate(relation_model(kind))
    rows, state = [row.value for row in element_rows(m)], random_state()
    assert len(rows) == 1
    check_derivatives(m, rows, state)
    check_rates(m, [*rows, *map(m.rate, rows)], state)


@each_joint
def test_derivative_of_the_derivative_is_exact(kind: str) -> None:
    """Of G^T lambda, as the Newton matrix needs it."""
    m = tabulate(joint_model(kind, "body-body", "centres"))
    coordinates = [name for body in bodies() for name in names_of(m, body)]
    held = [row.value for row in element_rows(m) if row.level == "position"]
    weights = np.random.default_rng(2).uniform(-1, 1, len(held))
    pull = [m.graph.sum(w * m.motion.diff(row, c) for w, row in zip(weights, held, strict=True)) for c in coordinates]
    check_derivatives(m, pull, random_state())


# ---------------------------------------------------------------- counts, format, kernels


def gradient(m: SymbolicModel, state: State) -> Vector:
    """By velocities, of all rows of the joint."""
    coordinates = [name for body in state for name in names_of(m, body)]
    rows = [
        [
            m.motion.diff(row.value, c) if row.level == "position" else m.graph.diff(row.value, m.graph.symbol("v", c))
            for c in coordinates
        ]
        for row in element_rows(m)
    ]
    return np.array([numbers(m, row, state) for row in rows])


@each_joint
def test_rows_and_freedoms_make_six(kind: str) -> None:
    m = tabulate(joint_model(kind))
    rows = element_rows(m)
    assert len(rows) == 6 - Joint.named(kind).freedoms.spatial
    assert np.linalg.matrix_rank(gradient(m, random_state()), tol=1e-6) == len(rows)
    assert len({row.direction for row in rows}) == len(rows)


@pytest.mark.parametrize("kind", PLANAR)
def test_rows_and_freedoms_make_three(kind: str) -> None:
    rng = np.random.default_rng(1)
    flat = {"bodies": {"one": {"mass": 1, "inertia": 1}}}
    fields = {k: v[:2] if isinstance(v, list) else v for k, v in fields_of(kind, rng).items()}
    if kind == "revolute":
        fields = {}
    joint = link(kind, {"body": "ground"}, {"body": "one"}, **fields)
    m = tabulate(model("flat", **flat, joints={"element": joint}))
    assert len(element_rows(m)) == 3 - Joint.named(kind).freedoms.planar


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_joint_survives_its_file(kind: str) -> None:
    description = relation_model(kind) if kind in RELATIONS else joint_model(kind)
    again = Description.from_json(description.to_json())
    assert again == description
    assert [s.name for s in tabulate(again).signals.values()] == [
        s.name for s in tabulate(description).signals.values()
    ]


@pytest.mark.parametrize("kind", [k for k in MEMBERS if k not in PLANAR + RELATIONS])
def test_a_spatial_joint_in_the_plane_is_refused(kind: str) -> None:
    fields = {k: v for k, v in fields_of(kind, np.random.default_rng(1)).items() if not isinstance(v, list)}
    joint = link(kind, {"body": "ground"}, {"body": "one"}, **fields)
    with pytest.raises(ModelError, match=f"joints.element: type '{kind}' exists in spatial models only"):
        tabulate(model("flat", bodies={"one": {"mass": 1, "inertia": 1}}, joints={"element": joint}))


def by_kernel(table: str, constants: Vector, i: Body, j: Body) -> Vector:
    """What the native tables are said to compute."""
    if table == "perpend":
        return np.array([i.R.apply(constants[:3]) @ j.R.apply(constants[3:])])
    gap = j.r + j.R.apply(constants[3:6]) - i.r - i.R.apply(constants[:3])
    return gap if table == "coinci3" else np.array([i.R.apply(constants[6:]) @ gap])


@each_joint
@each_ends
def test_kernels_are_given_the_constants_of_their_rows(kind: str, ends: str) -> None:
    m, state = tabulate(joint_model(kind, ends, "centres")), random_state()
    i, j = ((state | GROUND)[end] for end in ENDS[ends])
    for primitive in (p for c in m.constraints for p in c.primitives if p.kernel):
        constants = numbers(m, list(primitive.kernel.constants), state)
        values = numbers(m, [row.value for row in primitive.rows], state)
        close(values, by_kernel(primitive.kernel.table, constants, i, j), EXACT)


# ---------------------------------------------------------------- invariance


def cube_rotations() -> list[Vector]:
    """The 24 that take a cube to itself."""
    matrices = [
        np.eye(3)[list(p)] * np.array(signs) for p in permutations(range(3)) for signs in product((1, -1), repeat=3)
    ]
    return [Q for Q in matrices if np.linalg.det(Q) > 0]


def sizes(m: SymbolicModel, state: State) -> Vector:
    """What no rotation of the axes changes: the size of every group of rows, and the free coordinates."""
    groups = [numbers(m, [row.value for row in p.rows], state) for c in m.constraints for p in c.primitives]
    free = numbers(
        m,
        [s.node for s in m.matching("element.*") if s.unit in ("m", "rad", "m/s", "rad/s") and s.causality == "local"],
        state,
    )
    return np.array([*(np.linalg.norm(group) for group in groups), *free])


def held_motions(m: SymbolicModel, state: State) -> Vector:
    """The projector onto what the joint holds."""
    G = gradient(m, state)
    return np.linalg.pinv(G) @ G


def ground_turned(description: Description, Q: Vector) -> Description:
    """The same with everything on the ground rotated."""
    data = description.to_data()
    for end in ("i", "j"):
        marker = data["joints"]["element"][end]
        if marker["body"] == "ground":
            given = marker["orientation"]
            R = Q @ about(given["axis"], given["angle"]).as_matrix()
            marker["at"] = list(Q @ marker["at"])
            marker["orientation"] = {"x": list(R[:, 0]), "y": list(R[:, 1])}
    return Description(**data)


def about(axis: Any, angle: float) -> Rotation:
    axis = np.asarray(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))


@each_joint
@each_ends
def test_nothing_depends_on_the_axes_of_the_ground(kind: str, ends: str) -> None:
    description, state = joint_model(kind, ends), random_state()
    m = tabulate(description)
    wanted, held = sizes(m, state), held_motions(m, state)
    for Q in cube_rotations():
        other = tabulate(ground_turned(description, Q)) if "ground" in ENDS[ends] else m
        turn = Rotation.from_matrix(Q)
        moved = {n: Body(Q @ b.r, turn * b.R, np.r_[Q @ b.v[:3], b.v[3:]], b.a) for n, b in state.items()}
        D = np.kron(np.diag([1, 0, 1, 0]), Q) + np.kron(np.diag([0, 1, 0, 1]), np.eye(3))
        close(sizes(other, moved), wanted, INVARIANT)
        close(held_motions(other, moved), D @ held @ D.T, INVARIANT)


@each_joint
def test_nothing_depends_on_the_axes_of_a_body(kind: str) -> None:
    description, state = joint_model(kind), random_state()
    m = tabulate(description)
    rows = [row.value for row in element_rows(m)]
    data = description.to_data()
    for Q in cube_rotations():
        turned = {end: dict(data["joints"]["element"][end]) for end in ("i", "j")}
        for marker in turned.values():
            R = Q @ about(**marker["orientation"]).as_matrix()
            marker["at"] = list(Q @ marker["at"])
            marker["orientation"] = {"x": list(R[:, 0]), "y": list(R[:, 1])}
        other = tabulate(Description(**{**data, "joints": {"element": {**data["joints"]["element"], **turned}}}))
        back = Rotation.from_matrix(Q.T)
        moved = {n: replace(b, R=b.R * back, v=np.r_[b.v[:3], Q @ b.v[3:]]) for n, b in state.items()}
        close(numbers(other, [row.value for row in element_rows(other)], moved), numbers(m, rows, state), INVARIANT)


# ---------------------------------------------------------------- meaning

Poses = Callable[[dict[str, Vector], Vector], tuple[Vector, Rotation]]  # from axes and free coordinates
AXIS = {"axis": [0.0, 0.0, 1.0]}


def unit(a: Any) -> Vector:
    return np.asarray(a, dtype=float) / np.linalg.norm(a)


def beside(a: Vector) -> tuple[Vector, Vector]:
    """What docs promise: for x they are y, z; for y: z, x."""
    x, y, z = np.abs(a)
    start = np.eye(3)[0 if z >= max(x, y) else 1 if x >= y else 2]
    u = unit(start - (start @ a) * a)
    return u, np.cross(a, u)


def cross_pose(a: Vector, b: Vector, first: float, second: float) -> Rotation:
    b = unit(b - (a @ b) * a)
    return about(a, first) * about(b, second)


# Where j stands in frame i when the free coordinates have the values c; what is free without a name is chosen anyhow.
TILTED = Rotation.from_rotvec([0.3, -0.5, 0.4])
POSES: dict[str, Callable[[dict[str, Vector], Any], tuple[Vector, Rotation]]] = {
    "fixed": lambda f, c: (np.zeros(3), Rotation.identity()),
    "revolute": lambda f, c: (np.zeros(3), about(f["axis"], c["angle"])),
    "prismatic": lambda f, c: (c["displacement"] * f["axis"], Rotation.identity()),
    "cylindrical": lambda f, c: (c["displacement"] * f["axis"], about(f["axis"], c["angle"])),
    "spherical": lambda f, c: (np.zeros(3), TILTED),
    "universal": lambda f, c: (np.zeros(3), cross_pose(f["axis_i"], f["axis_j"], c["angle_1"], c["angle_2"])),
    "perpendicular_axes": lambda f, c: (
        np.array([0.3, 0.2, 0.1]), cross_pose(f["axis_i"], f["axis_j"], c["angle_1"], c["angle_2"])
    ),
    "planar": lambda f, c: (
        c["displacement_x"] * beside(f["axis"])[0] + c["displacement_y"] * beside(f["axis"])[1],
        about(f["axis"], c["angle"]),
    ),
    "point_on_line": lambda f, c: (c["displacement"] * f["axis"], TILTED),
    "point_in_plane": lambda f, c: (
        c["displacement_x"] * beside(f["axis"])[0] + c["displacement_y"] * beside(f["axis"])[1], TILTED
    ),
    "parallel_axes": lambda f, c: (np.array([0.3, 0.2, 0.1]), about(f["axis"], c["angle"])),
    "orientation": lambda f, c: (
        np.array([c["displacement_x"], c["displacement_y"], c["displacement_z"]]), Rotation.identity()
    ),
    "distance": lambda f, c: (0.8 * unit([1.0, 2.0, 3.0]), TILTED),
    "constant_velocity": lambda f, c: (np.zeros(3), about(beside(f["axis"])[0] + 0.3 * beside(f["axis"])[1], 0.7)),
    "screw": lambda f, c: (0.3 * c["angle"] / (2 * np.pi) * f["axis"], about(f["axis"], c["angle"])),
    "rolling_disc": lambda f, c: rolling_pose(f, c["lean"]),
}  # fmt: skip


def rolling_pose(fields: dict[str, Vector], lean: float) -> tuple[Vector, Rotation]:
    """The axis of the disc leans out of the plane by an angle; the centre is as high as the rim allows."""
    n, a = fields["normal"], fields["axis"]
    u, v = beside(n)
    place = 0.4 * u - 0.3 * v + 0.6 * np.cos(lean) * n
    wanted = np.sin(lean) * n + np.cos(lean) * unit(u + v)
    turn, _ = Rotation.align_vectors([wanted], [a])
    return place, turn


def posed(m: SymbolicModel, description: Description, place: Vector, turn: Rotation) -> State:
    """The bodies so that frame j stands in frame i as given."""
    joint, state = description.joints["element"], random_state()
    i, j = (np.array(joint.i.at), frame_turn(joint.i)), (np.array(joint.j.at), frame_turn(joint.j))
    if joint.j.body == "ground":
        one = state["one"]
        R = j[1] * turn.inv() * i[1].inv()
        return state | {"one": replace(one, r=j[0] - (j[1] * turn.inv()).apply(place) - R.apply(i[0]), R=R)}
    one = (state | GROUND)[joint.i.body]
    R = one.R * i[1] * turn * j[1].inv()
    origin = one.r + one.R.apply(i[0] + i[1].apply(place))
    return state | {"two": replace(state["two"], r=origin - R.apply(j[0]), R=R)}


def frame_turn(marker: Any) -> Rotation:
    return about(marker.orientation.axis, marker.orientation.angle)


@each_joint
@pytest.mark.parametrize("axis", [None, [1, 0, 0], [0, -1, 0], [0, 0, 1], [1, 1, 0], [-1, 1, 1]], ids=str)
def test_rows_hold_and_coordinates_say_where(kind: str, axis: list[float] | None) -> None:
    """At poses written by hand; between -180 and 180 degrees nothing needs to be counted."""
    data = joint_model(kind).to_data()
    element = data["joints"]["element"]
    if axis and "axis" in element:
        element["axis"] = axis
    description = Description(**data)
    m, rng = tabulate(description), np.random.default_rng(5)
    joint = description.joints["element"]
    names = [n for n in type(joint).model_fields if n.startswith("axis") or n == "normal"]
    fields = {n: unit(getattr(joint, n)) for n in names}
    free = [s for s in m.matching("element.*") if s.unit in ("m", "rad") and s.causality == "local"]
    for _ in range(5):
        c = {s.name.removeprefix("element."): float(rng.uniform(-1.4, 1.4)) for s in free}
        if kind == "screw":
            c["displacement"] = 0.3 * c["angle"] / (2 * np.pi)
        state = posed(m, description, *POSES[kind](fields, c))
        rows = [row.value for row in element_rows(m) if row.level == "position"]
        close(numbers(m, rows, state), np.zeros(len(rows)), EXACT)
        close(numbers(m, [s.node for s in free], state), [c[s.name.removeprefix("element.")] for s in free], EXACT)
        assert all(numbers(m, [side.node for side in m.sides], state) > 0)


def test_every_joint_has_a_pose_by_hand() -> None:
    assert set(SPATIAL) == set(POSES)


@pytest.mark.parametrize(
    "kind", ["fixed", "revolute", "prismatic", "cylindrical", "planar", "parallel_axes", "orientation", "screw"]
)
def test_opposed_axes_are_on_the_wrong_side(kind: str) -> None:
    description = joint_model(kind)
    m, joint = tabulate(description), description.joints["element"]
    axis = unit(getattr(joint, "axis", [0, 0, 1]))
    state = posed(m, description, np.zeros(3), about(beside(axis)[0], np.pi))
    assert min(numbers(m, [side.node for side in m.sides], state)) < 0


def test_angles_count_turns() -> None:
    description = joint_model("revolute")
    m, axis = tabulate(description), unit(description.joints["element"].axis)
    (winding,) = m.windings
    last = 0.0
    for angle in np.arange(0.0, 40.0, 1.3):
        values = symbols(m, posed(m, description, np.zeros(3), about(axis, angle)))
        (last,) = evaluate([winding.node], values | {m.graph.symbol("turn", winding.name): last})
        assert last == pytest.approx(angle, abs=1e-9)


def test_a_screw_advances_turn_by_turn() -> None:
    description = joint_model("screw")
    m, axis = tabulate(description), unit(description.joints["element"].axis)
    state = posed(m, description, 0.3 * 7.3 / (2 * np.pi) * axis, about(axis, 7.3))
    values = symbols(m, state) | {m.graph.symbol("turn", "element.angle"): 7.0}
    close(evaluate([row.value for row in element_rows(m)], values), np.zeros(5), EXACT)


def test_a_disc_rolls_without_slipping() -> None:
    """Upright on the ground, about its axis y: it moves along x by radius times angular velocity."""
    disc = {"mass": 1, "inertia": [1, 1, 1]}
    joint = link("rolling_disc", {"body": "ground"}, {"body": "two"}, radius=0.5, axis=[0, 1, 0])
    m = tabulate(space(bodies={"two": disc}, joints={"element": joint}))
    spin = 3.0
    turn = Rotation.from_rotvec([0, 0.7, 0])
    state = {"two": Body(np.array([0.2, 0.1, 0.5]), turn, np.array([0.5 * spin, 0, 0, 0, spin, 0]), np.zeros(6))}
    close(numbers(m, [row.value for row in element_rows(m)], state), np.zeros(3), EXACT)
    ahead = {"two": replace(state["two"], v=np.array([1.0, 2.0, 0, 0, 0, 0]))}
    close(numbers(m, [row.value for row in element_rows(m)][1:], ahead), [1.0, 2.0], EXACT)


# ---------------------------------------------------------------- reactions


@each_joint
@each_ends
def test_force_and_torque_do_the_work_of_the_multipliers(kind: str, ends: str) -> None:
    """On the end j, at its origin, in the axes of i; what acts on i is the opposite at the same point."""
    description = joint_model(kind, ends)
    m, joint = tabulate(description), description.joints["element"]
    free = {s.name.removeprefix("element."): 0.3 for s in m.matching("element.*") if s.unit in ("m", "rad")}
    fields = {n: unit(getattr(joint, n)) for n in type(joint).model_fields if n.startswith("axis") or n == "normal"}
    state = posed(m, description, *POSES[kind](fields, free))
    values = symbols(m, state)
    wrench = [
        np.array(evaluate([m.signals[f"element.{word}.{k}"].node for k in "xyz"], values))
        for word in ("force", "torque")
    ]
    i, j = ((state | GROUND)[end] for end in ENDS[ends])
    force, torque = ((i.R * frame_turn(joint.i)).apply(part) for part in wrench)
    origin = j.r + j.R.apply(joint.j.at)
    lam = [values[m.graph.symbol("lam", f"joint 'element' ({row.direction})")] for row in element_rows(m)]
    generalized = -np.array(lam) @ gradient(m, state)
    for name, sign, body in ((ENDS[ends][0], -1, i), (ENDS[ends][1], 1, j)):
        if name != "ground":
            about_centre = body.R.inv().apply(torque + np.cross(origin - body.r, force))
            first = 6 * list(state).index(name)
            close(sign * np.r_[force, about_centre], generalized[first : first + 6], INVARIANT)


@pytest.mark.parametrize("kind", ["spherical", "universal", "revolute", "constant_velocity"])
def test_a_joint_that_only_holds_points_together_has_no_torque_to_round(kind: str) -> None:
    m = tabulate(joint_model(kind, "body-body", "centres"))
    torques = [m.signals[f"element.torque.{k}"].node for k in "xyz"]
    on_points = {m.graph.symbol("lam", f"joint 'element' ({k})") for k in "xyz"}
    assert not any(torque.support & on_points for torque in torques)


def test_a_rod_pulls() -> None:
    m = tabulate(joint_model("distance"))
    assert "element.reaction.pull" in m.signals


# ---------------------------------------------------------------- bodies


def test_frame_and_centre_of_mass_move_as_one() -> None:
    m, state = tabulate(space(bodies=bodies(centres=True))), random_state()
    body, c = state["one"], np.array([0.1, -0.2, 0.3])
    close(numbers(m, [m.signals[f"one.{k}"].node for k in "xyz"], state), body.r - body.R.apply(c), EXACT)
    omega, alpha = body.v[3:], body.a[3:]
    speed = body.v[:3] - body.R.apply(np.cross(omega, c))
    close(numbers(m, [m.signals[f"one.v{k}"].node for k in "xyz"], state), speed, EXACT)
    rise = body.a[:3] - body.R.apply(np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
    close(numbers(m, [m.signals[f"one.a{k}"].node for k in "xyz"], state), rise, EXACT)
    turn = [m.signals[f"one.{k}"].node for k in ("roll", "pitch", "yaw")]
    close(Rotation.from_euler("xyz", numbers(m, turn, state)).as_matrix(), body.R.as_matrix(), EXACT)


def test_energies_are_those_of_rigid_bodies() -> None:
    m, state = tabulate(space(bodies=bodies(centres=True))), random_state()
    J = np.array([[0.2, 0.01, -0.02], [0.01, 0.3, 0.03], [-0.02, 0.03, 0.25]])
    tensors = {"one": np.diag([0.4, 0.5, 0.6]), "two": J}
    kinetic = (
        sum(
            m_ * b.v[:3] @ b.v[:3] + b.v[3:] @ tensors[n] @ b.v[3:]
            for m_, (n, b) in zip((1.3, 0.7), state.items(), strict=True)
        )
        / 2
    )
    potential = -sum(m_ * np.array([0.3, 0.1, -9.81]) @ b.r for m_, b in zip((1.3, 0.7), state.values(), strict=True))
    found = numbers(m, [m.signals["energy.kinetic"].node, m.signals["energy.potential"].node], state)
    close(found, [kinetic, potential], EXACT)


ORIENTATIONS: dict[str, tuple[dict[str, Any] | None, Rotation, list[str]]] = {
    "none": (None, Rotation.identity(), ["roll", "pitch", "yaw"]),
    "quaternion": ({"quaternion": [2, 0, 0, 2]}, about([0, 0, 1], np.pi / 2), ["e0", "e1", "e2", "e3"]),
    "axis": ({"axis": [1, 2, 3], "angle": 0.7}, about([1, 2, 3], 0.7), ["angle"]),
    "rpy": (
        {"angles": [0.3, -0.4, 0.9], "sequence": "rpy"},
        Rotation.from_euler("xyz", [0.3, -0.4, 0.9]),
        ["roll", "pitch", "yaw"],
    ),
    "313": (
        {"angles": [0.3, 0.4, 0.9], "sequence": "313"},
        Rotation.from_euler("ZXZ", [0.3, 0.4, 0.9]),
        ["angle_1", "angle_2", "angle_3"],
    ),
    "x and y": ({"x": [0, 1, 0], "y": [-1, 0, 0]}, about([0, 0, 1], np.pi / 2), []),
}


@pytest.mark.parametrize("form", ORIENTATIONS)
def test_a_body_starts_where_its_file_says(form: str) -> None:
    """Start values are those of the frame, the coordinates those of the centre of mass."""
    given, R, names = ORIENTATIONS[form]
    c, r, v, omega = (
        np.array([0.1, -0.2, 0.3]),
        np.array([1.0, 2.0, 3.0]),
        np.array([0.4, 0.5, 0.6]),
        np.array([1.0, -2.0, 0.5]),
    )
    body = {
        "mass": 1,
        "inertia": [1, 1, 1],
        "center": list(c),
        "position": list(r),
        "velocity": list(v),
        "omega": list(omega),
        "free": True,
    }
    m = tabulate(space(bodies={"b": {**body, **({"orientation": given} if given else {})}}))
    values = {p.node: p.start for p in m.parameters}
    e = np.array(evaluate(m.orientation_starts, values), dtype=float)
    close(np.linalg.norm(e), 1.0, EXACT)
    close(Rotation.from_quat(np.roll(e, -1)).as_matrix(), R.as_matrix(), EXACT)
    close(np.array(evaluate(m.position_starts, values), dtype=float), np.r_[r + R.apply(c), 0, 0, 0], EXACT)
    close(
        np.array(evaluate(m.velocity_starts, values), dtype=float), np.r_[v + R.apply(np.cross(omega, c)), omega], EXACT
    )
    settable = {p.name for p in m.parameters}
    linear = [f"b.{k}.start" for k in ("x", "y", "z", "vx", "vy", "vz", "omega_x", "omega_y", "omega_z")]
    assert settable == {*linear, *(f"b.{name}.start" for name in names)}


# ---------------------------------------------------------------- start values, motions, forces


def hinged(**sections: Any) -> Description:
    joint = {**link("revolute", {"body": "ground"}, {"body": "one"}), **sections.pop("joint", {})}
    return space(bodies={"one": {"mass": 1, "inertia": [1, 1, 1]}}, joints={"hinge": joint}, **sections)


def test_start_values_of_joints_are_wishes() -> None:
    start = {"angle": 0.3, "angle_rate": {"value": "2*k", "priority": "guess"}}
    m = tabulate(hinged(parameters={"k": {"value": 1.5}}, joint={"start": start}))
    angle, rate = m.initials
    assert (angle.level, angle.required, angle.unit) == ("position", True, "rad")
    assert (rate.level, rate.required, rate.unit) == ("velocity", False, "rad/s")
    state = {"one": Body(np.zeros(3), about([0, 0, 1], 0.5), np.array([0, 0, 0, 0, 0, 1.0]), np.zeros(6))}
    close(numbers(m, [angle.value, rate.value], state), [0.2, -2.0], EXACT)
    assert m.signals["hinge.angle.start"].causality == "parameter"
    (winding,) = m.windings
    assert winding.start is m.signals["hinge.angle.start"].node


def test_start_value_of_an_unknown_coordinate_names_what_there_is() -> None:
    with pytest.raises(
        ModelError, match=r"joints.hinge.start: 'angel' is no free coordinate .*'angle'.*angle, angle_rate"
    ):
        tabulate(hinged(joint={"start": {"angel": 0.3}}))


def driven(level: str, value: str) -> SymbolicModel:
    motion = {"of": "hinge.angle", "value": value, "level": level}
    return tabulate(hinged(inputs={"u": {}}, motions={"drive": motion}))


@pytest.mark.parametrize("level, unit", [("position", 0), ("velocity", 1), ("acceleration", 2)])
def test_motions_prescribe_their_level(level: str, unit: int) -> None:
    m = driven(level, "0.1*time")
    state = {
        "one": Body(np.zeros(3), about([0, 0, 1], 0.5), np.array([0, 0, 0, 0, 0, 1.5]), np.array([0, 0, 0, 0, 0, 2.5]))
    }
    row = next(row for c, row in rows_of(m) if c.name == "drive")
    assert row.level == level
    assert row.unit == "rad"
    close(numbers(m, [row.value], state), [(0.5, 1.5, 2.5)[unit] - 0.1 * T], EXACT)


def test_inputs_drive_velocities_only() -> None:
    with pytest.raises(ModelError, match='"level": "velocity"'):
        driven("position", "u")
    for level in ("velocity", "acceleration"):
        assert driven(level, "u").constraints


def test_relations_name_coordinates_that_exist() -> None:
    gear = {"type": "gear", "first": "hinge.angel", "second": "hinge.angle", "ratio": 2}
    description = hinged()
    data = description.to_data()
    data["joints"]["gear"] = gear
    with pytest.raises(ModelError, match=r"joints.gear: nothing is called 'hinge.angel'; did you mean 'hinge.angle'"):
        tabulate(Description(**data))


def test_forces_in_space_act_along_their_measures() -> None:
    rng = np.random.default_rng(4)
    i, j = on("one", rng), on("two", rng)
    m = tabulate(
        space(
            bodies=bodies(),
            forces={
                "spring": link("translational", i, j, stiffness=3.0, damping=0.4, free_length=0.2),
                "strut": link("translational", i, j, stiffness=3.0, axis=[0, 1, 1]),
                "twist": link("rotational", i, j, stiffness=2.0, damping=0.1, axis=[1, 2, 0]),
            },
        )
    )
    state = random_state()
    measures = [m.signals[name].node for name in ("spring.length", "strut.length", "twist.angle")]
    check_derivatives(m, measures, state)
    check_rates(m, measures, state)
    one, two = state.values()
    gap = two.r + two.R.apply(j["at"]) - one.r - one.R.apply(i["at"])
    close(numbers(m, [m.signals["spring.length"].node], state), [np.linalg.norm(gap)], EXACT)
    axis = (one.R * about(**i["orientation"])).apply(unit([0, 1, 1]))
    close(numbers(m, [m.signals["strut.length"].node], state), [axis @ gap], EXACT)
    assert [w.name for w in m.windings] == ["twist.angle"]
    power = [m.signals[f"{n}.power"].node for n in ("spring", "twist")]
    law = [
        m.signals["spring.force"].node * m.signals["spring.length_rate"].node,
        m.signals["twist.torque"].node * m.signals["twist.angle_rate"].node,
    ]
    close(numbers(m, power, state), numbers(m, law, state), EXACT)


def test_markers_show_where_they_are() -> None:
    m = tabulate(space(bodies=bodies(centres=True), markers={"tip": {"body": "one", "at": [0.5, 0.6, 0.7]}}))
    body = random_state()["one"]
    arm = np.array([0.5, 0.6, 0.7]) - np.array([0.1, -0.2, 0.3])
    place = numbers(m, [m.signals[f"tip.{k}"].node for k in "xyz"], random_state())
    speed = numbers(m, [m.signals[f"tip.v{k}"].node for k in "xyz"], random_state())
    close(place, body.r + body.R.apply(arm), EXACT)
    close(speed, body.v[:3] + body.R.apply(np.cross(body.v[3:], arm)), EXACT)


def test_a_long_chain_grows_linearly() -> None:
    """Each link costs the same: nodes, not seconds, are counted."""

    def chain(count: int) -> int:
        links = {f"b{k}": {"mass": 1, "inertia": [1, 1, 1], "position": [k, 0, 0]} for k in range(count)}
        ends = [{"body": "ground"}, *({"body": f"b{k}", "at": [0.5, 0, 0]} for k in range(count))]
        joints = {f"j{k}": link("spherical", ends[k], {"body": f"b{k}", "at": [-0.5, 0, 0]}) for k in range(count)}
        return tabulate(space(bodies=links, joints=joints)).graph.size

    assert chain(80) - chain(40) < 1.05 * (chain(40) - chain(20)) * 2


@pytest.mark.parametrize("kind", ["universal", "perpendicular_axes"])
def test_the_axes_of_a_cross_must_not_be_parallel(kind: str) -> None:
    ends = {"i": {"body": "ground"}, "j": {"body": "one"}}
    with pytest.raises(ModelError, match=r"axis_i and axis_j must not be parallel, found \[0.0, 0.0, 1.0\] and \["):
        Joint.named(kind)(**ends, axis_i=(0, 0, 1), axis_j=(0, 0, -2))
    assert Joint.named(kind)(**ends, axis_i=(0, 0, 1), axis_j=(0, "p", 1))
    cross = {"type": kind, **ends, "axis_i": [0, 0, 1]}
    for axis, found in (([0, 0, "p"], "must not be parallel"), ([0, 0, "pp"], "nothing is called 'pp'")):
        description = space(bodies=bodies(), parameters={"p": {"value": 1}}, joints={"k": {**cross, "axis_j": axis}})
        with pytest.raises(ModelError) as caught:
            tabulate(description)
        (problem,) = caught.value.problems
        assert problem.startswith("joints.k") and found in problem


def test_a_gear_is_between_two_coordinates() -> None:
    with pytest.raises(ModelError, match=r"must be two coordinates, found 'h\.angle' twice"):
        Relation.named("gear")(first="h.angle", second=" h.angle", ratio=2)
