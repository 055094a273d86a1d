"""What every force element has to keep, whatever its law: exact derivatives, power, energy, action and reaction.

The family gives the list: an element without an example in reference/force_examples.py fails. States are random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.force_examples import EXAMPLES
from reference.force_models import BODIES, Case, cases, described, element, markers
from reference.spatial_joints import matrix, quaternion, turning

import mbdfmu as mbd
import mbdfmu.forces
from mbdfmu.analyses import CompiledModel
from mbdfmu.description import Description, Force
from mbdfmu.description.placement import Placement
from mbdfmu.description.seen import Seen
from mbdfmu.errors import ExpressionError, ModelError
from mbdfmu.expressions import Node, evaluate
from mbdfmu.lowering import lower

Vector = NDArray[np.float64]

EXACT = 1e-12  # two ways to compute the same numbers
BY_DIFFERENCES = 1e-7
STEP = 1e-5  # four points leave about 1e-11
T = 0.37  # any time
SEEDS = range(3)


each_case = pytest.mark.parametrize("case", cases())
between_bodies = pytest.mark.parametrize("case", cases(lambda e: not e.only_ground))


def test_every_element_has_an_example() -> None:
    missing = set(Force.members()) - set(EXAMPLES)
    assert not missing, f"add examples of {sorted(missing)} to tests/reference/force_examples.py"
    for kind, examples in EXAMPLES.items():
        shown = {d for example in examples for d in (2, 3) if example.of(d) is not None}
        assert shown == set(Force.named(kind).dimensions), f"{kind}: wants examples in all its dimensions"


# ---------------------------------------------------------------- models


@cache
def compiled(case: Case, ends: tuple[str, str] = BODIES, conservative: bool = False, **options: bool) -> CompiledModel:
    m = CompiledModel(lower(described(case, element(case, ends, conservative)), **options))
    m.start(assemble=True)
    return m


@cache
def without(case: Case) -> CompiledModel:
    m = CompiledModel(lower(described(case, None)))
    m.start(assemble=True)
    return m


# ---------------------------------------------------------------- states


@dataclass(frozen=True)
class State:
    q: Vector  # as the solver has it: in space zeros for the rotations, and quaternions
    v: Vector
    a: Vector
    lam: Vector
    x: Vector
    xdot: Vector
    y: Vector


def random_state(case: Case, m: CompiledModel, seed: int) -> State:
    rng = np.random.default_rng([seed, case.dimensions, case.number])
    reach = case.example.spread
    q = m.moved(m.start(assemble=True)[0], reach * rng.uniform(-1, 1, m.nv))
    x = case.example.states * rng.uniform(-1, 1, m.system.nx)
    a, v = rng.uniform(-1, 1, (2, m.nv))
    lam = rng.uniform(-1, 1, m.nc)
    return State(q, v, a, lam, x, rng.uniform(-1, 1, m.system.nx), rng.uniform(-1, 1, m.system.ny))


def during_a_step(m: CompiledModel, s: State) -> State:
    """The same with rotations since the begin of the step, in space."""
    turns = np.array([".theta_" in c.name for c in m.lowered.model.coordinates])
    increments = np.random.default_rng(8).uniform(-0.3, 0.3, m.nv) * turns
    return replace(s, q=np.concatenate([s.q[: m.nv] + increments, s.q[m.nv :]]))


def residual(m: CompiledModel, s: State) -> Vector:
    return m.residual(T, s.q, s.v, s.a, s.lam, x=s.x, xdot=s.xdot, y=s.y)


def jacobian(m: CompiledModel, s: State, *weights: float) -> Vector:
    return m.jacobian(T, s.q, s.v, s.a, s.lam, weights, x=s.x, xdot=s.xdot, y=s.y).toarray()


def rotations(m: CompiledModel, s: State) -> list[Vector]:
    return [matrix(s.q[m.nv + 4 * k :][:4]) for k in range(len(BODIES))]


def values(m: CompiledModel, s: State, nodes: list[Node]) -> Vector:
    """Nodes at a state, by NumPy."""
    model = m.lowered.model
    names = [c.name for c in model.coordinates]
    known: dict[tuple[str, str], float] = {("t", "time"): T}
    for space, row in (("q", s.q[: m.nv]), ("v", s.v), ("a", s.a)):
        known |= {(space, name): value for name, value in zip(names, row, strict=True)}
    rows = [f"{c.label} ({row.direction})" for c in model.constraints for p in c.primitives for row in p.rows]
    known |= {("lam", row): value for row, value in zip(rows, s.lam, strict=True)}
    for space, row in (("x", s.x), ("xd", s.xdot)):
        known |= {(space, one.name): value for one, value in zip(model.states, row, strict=True)}
    known |= {("y", one.name): value for one, value in zip(model.unknowns, s.y, strict=True)}
    known |= {("p", one.name): one.start for one in model.parameters}
    known |= {("turn", w.name): 0.0 for w in model.windings}
    if model.dimensions == 3:
        for body, turn, at in zip(BODIES, rotations(m, s), range(m.nv, len(s.q), 4), strict=True):
            known |= {("q", f"{body}.e{k}"): s.q[at + k] for k in range(4)}
            known |= {("r", f"{body}.r{i}{j}"): turn[i, j] for i in range(3) for j in range(3)}
    symbols = {symbol for node in nodes for symbol in node.support}
    return np.array(evaluate(nodes, {symbol: known[symbol.value] for symbol in symbols}), float)


def signals(m: CompiledModel, s: State, *keys: str) -> Vector:
    return values(m, s, [m.lowered.model.signals[f"f.{key}"].node for key in keys])


def close(found: Vector, wanted: Vector, limit: float, size: float = 1.0) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    scale = max(size, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=limit * scale)


def applied(case: Case, m: CompiledModel, s: State) -> Vector:
    """The generalised forces of the element: what the equations lack without it."""
    bare = without(case).residual(T, s.q, s.v, s.a, s.lam)
    return bare[: m.nv] - residual(m, s)[: m.nv]


def wrenches(case: Case, m: CompiledModel, s: State) -> Iterator[tuple[Vector, Vector]]:
    """Force and moment about the origin of the ground, of every body."""
    Q, planar = applied(case, m, s), case.dimensions == 2
    for k in range(len(BODIES)):
        if planar:
            (x, y), (fx, fy, moment) = s.q[3 * k : 3 * k + 2], Q[3 * k : 3 * k + 3]
            yield np.array([fx, fy]), np.array([x * fy - y * fx + moment])
        else:
            place, force, torque = s.q[6 * k : 6 * k + 3], Q[6 * k : 6 * k + 3], Q[6 * k + 3 : 6 * k + 6]
            yield force, np.cross(place, force) + rotations(m, s)[k] @ torque


# ---------------------------------------------------------------- derivatives


def differences(f: Callable[[Vector], Vector], n: int) -> Vector:
    columns = [(8 * (f(d) - f(-d)) - (f(2 * d) - f(-2 * d))) / (12 * STEP) for d in np.eye(n) * STEP]
    return np.array(columns).T


def check_derivatives(m: CompiledModel, s: State) -> None:
    """Every block of eq. 12: by a, v, q, and by the unknowns lambda, Xdot, with X that moves along, and Y."""
    ends = np.cumsum([0, m.nv, m.nc, m.system.nx, m.system.ny])
    first, lam, xdot, y = (slice(a, b) for a, b in pairwise(ends))
    blocks = [("a", (1, 0, 0, 0), first), ("v", (0, 1, 0, 0), first), ("q", (0, 0, 1, 0), first)]
    blocks += [("lam", (0, 0, 0, 0), lam), ("xdot", (0, 0, 0, 0), xdot), ("x", (0, 0, 0, 1), xdot)]
    blocks += [("y", (0, 0, 0, 0), y)]
    rows = [k for k in range(m.system.n) if k not in range(lam.start, lam.stop)]  # constraint rows always hold G
    still = jacobian(m, s, 0, 0, 0, 0)
    for name, weights, columns in (block for block in blocks if block[2].start < block[2].stop):

        def moved(d: Vector, name: str = name) -> Vector:
            new = m.moved(s.q, d) if name == "q" else getattr(s, name) + d
            return residual(m, replace(s, **{name: new}))[rows]

        found = (jacobian(m, s, *weights) - (still if name == "x" else 0))[rows, columns]
        close(found, differences(moved, columns.stop - columns.start), BY_DIFFERENCES)


@each_case
@pytest.mark.parametrize("eliminate", [True, False], ids=["eliminated", "unknowns"])
def test_derivatives_are_exact(case: Case, eliminate: bool) -> None:
    """Forces written into the equations, and forces as unknowns of their own."""
    m = compiled(case, eliminate=eliminate)
    for seed in SEEDS:
        check_derivatives(m, random_state(case, m, seed))


@pytest.mark.by_day(2)
@each_case
def test_derivatives_are_exact_at_ends_on_the_ground(case: Case) -> None:
    for ends in (("ground", "two"), ("one", "ground")):
        m = compiled(case, ends)
        check_derivatives(m, random_state(case, m, 5))


@each_case
def test_derivatives_are_exact_where_a_marker_moves(case: Case) -> None:
    force = element(case, BODIES)
    first = next((end for end in markers(Force.named(case.kind)) if "at" in force[end]), None)
    if first is None:
        pytest.skip("the element has no end to be moved")
    at = ["0.1*sin(2*time)", "0.1 + 0.2*time^2", "0.1*time"][: case.dimensions]
    m = CompiledModel(lower(described(case, {**force, first: {**force[first], "at": at}})))
    check_derivatives(m, random_state(case, m, 4))


@each_case
def test_kernels_compute_what_the_symbols_say(case: Case) -> None:
    native, symbolic = compiled(case), compiled(case, kernels=False)
    for seed in SEEDS:
        s = during_a_step(native, random_state(case, native, seed))
        close(residual(native, s), residual(symbolic, s), EXACT)
        weights = (0.7, 0.4, 0.2, 0.1)
        close(jacobian(native, s, *weights), jacobian(symbolic, s, *weights), EXACT)


# ---------------------------------------------------------------- mechanics


@between_bodies
def test_power_is_that_of_the_generalised_forces(case: Case) -> None:
    m = compiled(case)
    for seed in SEEDS:
        s = random_state(case, m, seed)
        close(signals(m, s, "power"), [applied(case, m, s) @ s.v], EXACT)


@between_bodies
def test_action_is_reaction(case: Case) -> None:
    """Forces on all bodies add up to nothing, and so do their moments about one point."""
    m = compiled(case)
    for seed in SEEDS:
        s = random_state(case, m, seed)
        found = list(wrenches(case, m, s))
        size = max(1.0, *(float(np.max(np.abs(part))) for pair in found for part in pair))
        for parts in zip(*found, strict=True):
            close(sum(parts), 0 * parts[0], EXACT, size)


def energy_and_loss(case: Case, m: CompiledModel, s: State) -> tuple[float, float, float]:
    """d(energy)/dt, power, and the sum of both, which is minus what is lost."""
    model = m.lowered.model
    settled = replace(s, xdot=0 * s.xdot)
    solved = residual(m, settled)[m.nv + m.nc :][: m.system.nx]  # of rates that stand alone in their equations
    rate = values(m, replace(s, xdot=-solved), [model.rate(model.signals["f.energy"].node)])[0]
    power = signals(m, s, "power")[0]
    return rate, power, rate + power


@pytest.mark.parametrize("case", cases(lambda e: e.conservative is not None))
def test_springs_give_back_what_they_store(case: Case) -> None:
    m, seen = compiled(case, conservative=True), 0.0
    for seed in range(8):
        _, power, rest = energy_and_loss(case, m, random_state(case, m, seed))
        assert abs(rest) <= 1e-9 * max(1.0, abs(power))
        seen = max(seen, abs(power))
    assert seen > 0, "no state of the example has any power"


@pytest.mark.parametrize("case", cases(lambda e: e.passive))
def test_passive_elements_give_no_more_than_they_store(case: Case) -> None:
    m, lost = compiled(case), 0.0
    for seed in range(8):
        _, power, rest = energy_and_loss(case, m, random_state(case, m, seed))
        assert rest <= 1e-9 * max(1.0, abs(power))
        lost = min(lost, rest)
    assert lost < 0, "no state of the example loses anything"


# ---------------------------------------------------------------- invariance


def carried(case: Case, m: CompiledModel, s: State, seed: int) -> State:
    """The same state, seen from a frame that has moved and is moving."""
    rng = np.random.default_rng([seed, 7])
    shift, speed, spin = rng.normal(size=(3, 3))
    q, v = s.q.copy(), s.v.copy()
    if case.dimensions == 2:
        angle, w = rng.uniform(-1, 1), spin[2]
        c, d = np.cos(angle), np.sin(angle)
        Q = np.array([[c, -d], [d, c]])
        for k in (0, 3):
            q[k : k + 2], q[k + 2] = shift[:2] + Q @ s.q[k : k + 2], s.q[k + 2] + angle
            v[k : k + 2] = Q @ s.v[k : k + 2] + speed[:2] + w * np.array([-q[k + 1], q[k]])
            v[k + 2] = s.v[k + 2] + w
        return replace(s, q=q, v=v)
    Q = turning(rng.normal(size=3), rng.uniform(0.1, 3))
    for k, R in enumerate(rotations(m, s)):
        here, turns = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
        q[here] = shift + Q @ s.q[here]
        q[m.nv + 4 * k : m.nv + 4 * k + 4] = quaternion(Q @ R)
        v[here] = Q @ s.v[here] + speed + np.cross(spin, q[here])
        v[turns] = s.v[turns] + (Q @ R).T @ spin
    return replace(s, q=q, v=v)


@between_bodies
def test_a_rigid_motion_of_everything_changes_nothing(case: Case) -> None:
    """Lengths, angles, components in the element's own axes, energy and power."""
    m = compiled(case)
    names = [n for n in m.lowered.model.signals if n.startswith("f.")]
    keys = [k for k in (n.removeprefix("f.") for n in names) if not k.startswith(case.example.absolute or "?")]
    for seed in SEEDS:
        s = replace(random_state(case, m, seed), a=np.zeros(m.nv))
        close(signals(m, carried(case, m, s, seed), *keys), signals(m, s, *keys), 1e-11)


# ---------------------------------------------------------------- mirror images


def twins(case: Case, mirror: str) -> Description:
    """The sample moving, twice: as it is and as its mirror image."""
    rng = np.random.default_rng(case.number)
    inner = described(case, element(case, BODIES)).to_data()
    for body in inner["bodies"].values():
        body["velocity"] = [float(x) for x in 0.3 * rng.normal(size=case.dimensions)]
        spin = [float(x) for x in 0.3 * rng.normal(size=3)]
        body["omega"] = spin if case.dimensions == 3 else spin[2]
    parts = {"plain": {"model": inner}, "image": {"model": inner, "mirror": mirror}}
    return Description(format_version=1, name="twins", dimensions=case.dimensions, submodels=parts)


def mirrored_signals(case: Case, mirror: str, m: CompiledModel) -> Iterator[tuple[str, float, float]]:
    """Key, value in the image, and what an expression in the sub-model makes of it: that of the original."""
    found = dict(zip(m.lowered.signals, m._native.signals(), strict=True))
    place = Placement.of((0.0,) * case.dimensions, 0.0, None, mirror)
    seen = Seen("image", {"f": described(case, element(case, BODIES)).element("f")}, place, case.dimensions)
    for name in (n for n in found if n.startswith("plain.f.")):
        key = name.removeprefix("plain.f.")
        try:
            sign = seen.sign("f", key)
        except ExpressionError:
            continue  # refused
        yield key, found[f"image.f.{key}"] * sign, found[name]


@each_case
@pytest.mark.parametrize("mirror", ["x", "y"])
def test_a_mirrored_element_acts_as_the_mirror_image(case: Case, mirror: str) -> None:
    """Or is refused by name: a table may be of any shape, and its mirror image is another one."""
    if (case.kind, case.dimensions) == ("rotational", 2) and "spring_table" in element(case, BODIES):
        with pytest.raises(ModelError, match="has no mirror image"):
            lower(twins(case, mirror))
        return
    m = CompiledModel(lower(twins(case, mirror)))
    a = m.start(assemble=True)[2]
    names = [c.name for c in m.lowered.model.coordinates]
    signs = dict.fromkeys("xyz", 1.0) | {mirror: -1.0}
    turning_signs = {f"theta_{k}": -sign for k, sign in signs.items()} | {"phi": -1.0}
    pairs = [n.removeprefix("plain.") for n in names if n.startswith("plain.")]
    for name in pairs:
        sign = (signs | turning_signs)[name.rpartition(".")[2]]
        found, wanted = (a[names.index(f"{part}.{name}")] for part in ("image", "plain"))
        close(found, sign * wanted, 1e-9)
    signals = list(mirrored_signals(case, mirror, m))
    assert {key for key, _, _ in signals} >= {"energy", "power"}
    for key, image, plain in signals:
        assert image == pytest.approx(plain, rel=1e-9, abs=1e-12), key


@pytest.mark.parametrize(
    ("force", "message"),
    [
        ({"type": "sphere_plane", "radius": "p", "stiffness": 1e4}, "radius of force 'f' must be positive, found 0"),
        ({"type": "translational", "stiffness": "p - 1"}, "f.stiffness: p - 1 must be zero or positive, found -1"),
    ],
)
def test_bounds_hold_for_expressions_of_parameters(force: dict[str, Any], message: str) -> None:
    ends = {"i": {"body": "ground"}, "j": {"body": "b"}}
    model = mbd.Model.from_description(
        Description(
            format_version=1, name="m", parameters={"p": {"value": 0}},
            bodies={"b": {"mass": 1, "inertia": 1, "position": [0, 1]}}, forces={"f": {**force, **ends}},
        )
    )  # fmt: skip
    with pytest.raises(mbd.ModelError, match=message):
        model.start()
    model.start(parameters={"p": 2.0})
