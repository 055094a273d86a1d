"""Every joint and force: native kernels, symbols, differences and equations written by hand must say the same.

The families give the list, so a new member is tested by existing: with each combination of ends, with numbers, with
parameters, and with a marker that moves in time. States are random and need not satisfy the constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from reference import models, planar
from reference.models import EARTH, link, model, on

from mbdfmu.analyses import CompiledModel, Settings
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description, Force, Joint, Only
from mbdfmu.lowering import lower

Vector = NDArray[np.float64]

EXACT = 1e-12  # two ways to compute the same numbers of order 1 to 10
BY_DIFFERENCES = 1e-7  # five points at a distance of 1e-3 leave about 1e-11
STEP = 1e-3
T = 0.37  # any time

JOINTS = [name for name, joint in Joint.members().items() if joint.freedoms.planar is not None]
FORCES = list(planar.FORCES)  # those with native kernels
ENDS = {"body-body": ("one", "two"), "ground-body": ("ground", "two"), "body-ground": ("one", "ground")}
STYLES = ("numbers", "parameters", "moving")

VARIANTS = {"translational along an axis": ("translational", {"axis": [0.6, 0.7]})}  # fields that change the law
ALL = [("joints", k) for k in JOINTS] + [("forces", k) for k in [*FORCES, *VARIANTS]]
KNOWN_BY_HAND = [("joints", k) for k in planar.JOINTS] + [("forces", k) for k in planar.FORCES]

member_of_both = pytest.mark.parametrize("family, kind", ALL)
each_end = pytest.mark.parametrize("ends", ENDS)
each_style = pytest.mark.parametrize("style", STYLES)


# ---------------------------------------------------------------- models


def sampled(member: type, rng: np.random.Generator) -> dict[str, Any]:
    """A value for every field of a member's own that takes a number or a pair of them."""
    fields = {}
    for name, info in member.model_fields.items():
        spatial_only = any(isinstance(mark, Only) for mark in info.metadata)
        if name in ("i", "j", "start", "text") or spatial_only or info.default is None:
            continue
        accepts = TypeAdapter(Annotated[info.annotation, *info.metadata])
        for candidate in (float(rng.uniform(0.5, 1.5)), [float(x) for x in rng.uniform(0.3, 1.0, 2)]):
            try:
                accepts.validate_python(candidate)
            except (ValidationError, ValueError):
                continue
            fields[name] = candidate
            break
        else:
            assert not info.is_required(), f"{member.type_name}.{name}: teach sampled() a value for this field"
    return fields


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


def element_model(family: str, kind: str, ends: str, style: str) -> Description:
    """Two free bodies and one element."""
    rng = np.random.default_rng([ord(c) for c in family + kind + ends])
    kind, extra = VARIANTS.get(kind, (kind, {}))
    member = (Joint if family == "joints" else Force).named(kind)
    i, j = (on(body, *(float(x) for x in rng.uniform(-1, 1, 3))) for body in ENDS[ends])
    element = link(kind, i, j, **sampled(member, rng), **extra)
    parameters: dict[str, Any] = {}
    if style == "parameters":
        element = as_parameters(element, parameters)
    if style == "moving":
        i["at"] = ["0.3*sin(2*time)", "0.1 + 0.2*time^2"]
    bodies = {
        "one": {"mass": 1.3, "inertia": 0.4, "position": [0.2, -0.1], "angle": 0.3, "free": True},
        "two": {"mass": 0.7, "inertia": 0.2, "position": [-0.6, 0.9], "angle": -0.5, "free": True},
    }
    return model("elements", bodies=bodies, parameters=parameters, **{family: {"element": element}})


def expressions() -> Description:
    """What only expressions can say: forces from states and reactions, motions, user-written constraints and masses."""
    spring = {
        "stiffness": "k*(1 + hinge.angle^2)",
        "free_length": "0.1*two.phi",
        "force": "two.omega*spring.length_rate + 0.3*hinge.reaction.x*one.alpha",
    }
    torque = "step(time, 0, 0, 1, 1) - tanh(two.omega) + spring.force*theta"
    return model(
        "expressions",
        parameters={"k": {"value": 3.0}, "amplitude": {"value": 0.4}},
        bodies={
            "one": {"mass": "1 + k/10", "inertia": 0.4, "position": [0.3, -0.1]},
            "two": {"mass": 0.7, "inertia": 0.2, "position": [1.2, 0.4]},
        },
        joints={"hinge": link("revolute", on("ground"), on("one", -0.3, 0.1))},
        forces={
            "spring": link("translational", on("one", 0.2), on("two", -0.1), **spring),
            "motor": link("rotational", on("ground"), on("two"), torque=torque),
        },
        coordinates={
            "theta": {"start": 0.2, "force": "-sin(theta)*one.vx - der(theta)^3"},
            "s": {"start": 0.1, "unit": "m", "force": "time*s"},
        },
        mass={"theta": "1 + 0.3*cos(theta)", "s": "0.5 + s^2", "theta,s": "0.2*s*sin(theta)"},
        motions={"drive": {"of": "hinge.angle", "value": "amplitude*sin(3*time)"}},
        constraints={
            "circle": "(two.x - s)^2 + two.y^2 - exp(-time)*(1 + theta)",
            "gear": {"value": "two.phi - 2*theta + sin(one.phi)*two.phi", "unit": "rad"},
        },
    )


WHOLE = {
    "expressions": expressions,
    "pendulum": models.pendulum,
    "slider_crank": models.slider_crank,
    "slider_crank_bodies": models.slider_crank_bodies,
    "spring_damper": models.spring_damper,
    "mixed_joints": models.mixed_joints,
    "double_pendulum_angles": models.double_pendulum_angles,
    "andrews": models.andrews,
}
each_whole = pytest.mark.parametrize("name", WHOLE)


# ---------------------------------------------------------------- evaluation


class State(NamedTuple):
    q: Vector
    v: Vector
    a: Vector
    lam: Vector


def compiled(description: Description, *, kernels: bool = True) -> CompiledModel:
    result = CompiledModel(lower(description, kernels=kernels))
    result.start(assemble=True)
    return result


def random_state(m: CompiledModel, seed: int = 1) -> State:
    rng = np.random.default_rng(seed)
    return State(*(rng.uniform(-1, 1, n) for n in (m.nv, m.nv, m.nv, m.nc)))


def close(mine: Any, theirs: Any, tolerance: float) -> None:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * scale)


def slope(f: Callable[[float], Vector]) -> Vector:
    """df/ds at s = 0 by five points."""
    return (8 * (f(STEP) - f(-STEP)) - (f(2 * STEP) - f(-2 * STEP))) / (12 * STEP)


def by_differences(f: Callable[[Vector], Vector], x: Vector) -> Vector:
    columns = [slope(lambda s, unit=unit: f(x + s * unit)) for unit in np.eye(len(x))]
    return np.stack(columns, axis=-1) if columns else np.zeros((len(f(x)), 0))


def jacobian(m: CompiledModel, state: State, *weights: float) -> Vector:
    return m.jacobian(T, *state, weights).toarray()


def check_jacobian(m: CompiledModel) -> None:
    """Each block of [ca M + cv D + cq K, G^T - Q_lam; G, 0] against differences of the residual."""
    state = random_state(m)
    for field, weights in (("a", (1, 0, 0)), ("v", (0, 1, 0)), ("q", (0, 0, 1)), ("lam", (0, 0, 0))):
        moved = lambda x, field=field: m.residual(T, *state._replace(**{field: x}))  # noqa: E731
        wanted = by_differences(moved, getattr(state, field))
        found = jacobian(m, state, *weights)
        columns = slice(m.nv, None) if field == "lam" else slice(0, m.nv)
        close(found[: m.nv, columns], wanted[: m.nv], BY_DIFFERENCES)
        close(found[m.nv :, m.nv :], np.zeros((m.nc, m.nc)), 0)
    mixed = jacobian(m, state, 0.7, 0.4, 0.2)
    parts = [c * jacobian(m, state, *unit)[: m.nv, : m.nv] for c, unit in zip((0.7, 0.4, 0.2), np.eye(3), strict=True)]
    close(mixed[: m.nv, : m.nv], sum(parts), EXACT)


def check_constraints(m: CompiledModel) -> None:
    """G against Phi, and the rates against G, along a motion that starts with v and has no acceleration."""
    state = random_state(m, seed=2)
    G = jacobian(m, state, 1, 0, 0)[m.nv :, : m.nv]
    close(m.residual(T, *state)[m.nv :], m.constraints(T, state.q), EXACT)
    close(G, by_differences(lambda q: m.constraints(T, q), state.q), BY_DIFFERENCES)
    speed, gamma = m.rates(T, state.q, state.v)
    close(speed, slope(lambda s: m.constraints(T + s, state.q + s * state.v)), BY_DIFFERENCES)
    close(gamma, -slope(lambda s: m.rates(T + s, state.q + s * state.v, state.v)[0]), BY_DIFFERENCES)


# ---------------------------------------------------------------- single elements


@member_of_both
@each_end
@each_style
def test_kernels_compute_what_the_symbols_say(family: str, kind: str, ends: str, style: str) -> None:
    description = element_model(family, kind, ends, style)
    native, symbolic = compiled(description), compiled(description, kernels=False)
    for seed in range(3):
        state = random_state(native, seed)
        close(native.residual(T, *state), symbolic.residual(T, *state), EXACT)
        close(jacobian(native, state, 0.7, 0.4, 0.2), jacobian(symbolic, state, 0.7, 0.4, 0.2), EXACT)
        close(native.constraints(T, state.q), symbolic.constraints(T, state.q), EXACT)
        for mine, theirs in zip(native.rates(T, *state[:2]), symbolic.rates(T, *state[:2]), strict=True):
            close(mine, theirs, EXACT)


@member_of_both
@each_end
@each_style
@pytest.mark.parametrize("kernels", [True, False], ids=["kernels", "symbols"])
def test_derivatives_of_an_element_are_exact(family: str, kind: str, ends: str, style: str, kernels: bool) -> None:
    m = compiled(element_model(family, kind, ends, style), kernels=kernels)
    check_jacobian(m)
    check_constraints(m)


@pytest.mark.parametrize("family, kind", KNOWN_BY_HAND)
@each_end
def test_elements_agree_with_equations_by_hand(family: str, kind: str, ends: str) -> None:
    description = element_model(family, kind, ends, "numbers")
    m, by_hand = compiled(description), planar.Planar(description)
    for seed in range(3):
        state = random_state(m, seed)
        close(m.residual(T, *state), by_hand.residual(T, *state), EXACT)
        speed, gamma = m.rates(T, state.q, state.v)
        close(speed, by_hand.speed(T, state.q, state.v), EXACT)
        close(gamma, by_hand.gamma(T, state.q, state.v), EXACT)


@each_end
@pytest.mark.parametrize("kind", planar.JOINTS)
def test_rows_by_hand_are_the_derivative_of_their_constraints(kind: str, ends: str) -> None:
    """The reference, too, must not rest on one derivation."""
    by_hand = planar.Planar(element_model("joints", kind, ends, "numbers"))
    q = np.random.default_rng(3).uniform(-1, 1, 6)
    close(by_hand.rows(T, q), planar.derivative(lambda q: by_hand.constraints(T, q), q), EXACT)


@pytest.mark.parametrize("kind", JOINTS)
def test_constraint_forces_do_no_work(kind: str) -> None:
    """The multiplier's column is the transposed row: kernels write both."""
    m = compiled(element_model("joints", kind, "body-body", "numbers"))
    matrix = jacobian(m, random_state(m), 1, 0, 0)
    close(matrix[: m.nv, m.nv :], matrix[m.nv :, : m.nv].T, 0)


@pytest.mark.parametrize("kind", FORCES)
def test_changed_parameters_reach_kernels(kind: str) -> None:
    """As if the model had been lowered anew."""
    fresh = compiled(element_model("forces", kind, "body-body", "numbers"))
    description = element_model("forces", kind, "body-body", "parameters")
    others = {name: p.model_copy(update={"value": 0.1}) for name, p in description.parameters.items()}
    m = CompiledModel(lower(description.model_copy(update={"parameters": others})))
    for name, parameter in description.parameters.items():
        m._native.set_parameter(m.lowered.parameters[name], parameter.value)
    m.start(assemble=True)
    state = random_state(fresh)
    close(m.residual(T, *state), fresh.residual(T, *state), EXACT)


# ---------------------------------------------------------------- whole models


@each_whole
@pytest.mark.parametrize("kernels", [True, False], ids=["kernels", "symbols"])
def test_derivatives_of_a_model_are_exact(name: str, kernels: bool) -> None:
    m = compiled(WHOLE[name](), kernels=kernels)
    check_jacobian(m)
    check_constraints(m)


@each_whole
def test_models_lower_alike_with_and_without_kernels(name: str) -> None:
    native, symbolic = compiled(WHOLE[name]()), compiled(WHOLE[name](), kernels=False)
    state = random_state(native)
    close(native.residual(T, *state), symbolic.residual(T, *state), EXACT)
    close(jacobian(native, state, 0.7, 0.4, 0.2), jacobian(symbolic, state, 0.7, 0.4, 0.2), EXACT)


BY_HAND: dict[str, Callable[[Description], planar.System]] = {
    "pendulum": planar.Planar,
    "double_pendulum": planar.Planar,
    "slider_crank_bodies": planar.Planar,
    "spring_damper": planar.Planar,
    "mixed_joints": planar.Planar,
    "slider_crank": lambda _: planar.SliderCrank(),
    "double_pendulum_angles": lambda _: planar.DoublePendulum(),
    "andrews": lambda _: planar.Andrews(),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_models_agree_with_equations_by_hand(name: str) -> None:
    description = getattr(models, name)()
    m, by_hand = compiled(description), BY_HAND[name](description)
    for seed in range(3):
        state = random_state(m, seed)
        close(m.residual(T, *state), by_hand.residual(T, *state), EXACT)
        close(jacobian(m, state, 1, 0, 0)[m.nv :, : m.nv], by_hand.rows(T, state.q), EXACT)
        close(m.rates(T, state.q, state.v)[1], by_hand.gamma(T, state.q, state.v), EXACT)


# ---------------------------------------------------------------- M(q)


def lagrange(mass: Callable[[Vector], Vector], q: Vector, v: Vector, a: Vector) -> Vector:
    """d/dt (dT/dv) - dT/dq with T = v^T M v / 2, by differences along the motion and across it."""

    def momentum(s: float) -> Vector:
        return mass(q + s * v + s**2 / 2 * a) @ (v + s * a)

    return slope(momentum) - by_differences(lambda x: np.array([v @ mass(x) @ v / 2]), q)[0]


def coupled_mass(q: Vector) -> Vector:
    x, y, z = q
    xy, xz, yz = 0.3 * x * y, 0.1 * np.cos(z), 0.2 * x * z
    return np.array([[2 + np.sin(y) * z, xy, xz], [xy, 1 + x**2, yz], [xz, yz, 3 + x * y * z]])


def coupled_masses() -> Description:
    """Every entry of M depends on some coordinate, in all combinations."""
    diagonal = {"x": "2 + sin(y)*z", "y": "1 + x^2", "z": "3 + x*y*z"}
    mass = diagonal | {"x,y": "0.3*x*y", "x,z": "0.1*cos(z)", "y,z": "0.2*x*z"}
    return model("coupled", coordinates={name: {} for name in "xyz"}, mass=mass)


@pytest.mark.parametrize("seed", range(3))
def test_velocity_terms_are_those_of_lagrange(seed: int) -> None:
    m = compiled(coupled_masses())
    q, v, a, lam = random_state(m, seed)
    close(m.residual(T, q, v, a, lam), lagrange(coupled_mass, q, v, a), BY_DIFFERENCES)


def test_velocity_terms_of_andrews_are_those_of_the_test_set() -> None:
    """Its forces hold them, written by its authors; here they follow from M."""
    m, by_hand = compiled(models.andrews()), planar.Andrews()
    q, v, a, lam = random_state(m)
    v, still = 1e4 * v, np.zeros(7)  # fast enough for the terms to stand out from the spring's force
    terms = m.residual(T, q, v, a, lam) - m.residual(T, q, still, a, lam)
    close(terms[:7], by_hand.force(T, q, still) - by_hand.force(T, q, v), EXACT)


def test_given_velocity_terms_replace_the_derived_ones() -> None:
    derived, given = compiled(models.double_pendulum_angles()), compiled(models.double_pendulum_angles("given"))
    state = random_state(derived)
    close(given.residual(T, *state), derived.residual(T, *state), EXACT)
    close(jacobian(given, state, 0.7, 0.4, 0.2), jacobian(derived, state, 0.7, 0.4, 0.2), EXACT)


# ---------------------------------------------------------------- linear solves


def held(description: dict[str, Any], body: str, place: Vector) -> dict[str, Any]:
    """A marker of the body at a place on the ground, with its axes parallel to the ground's."""
    if body == "ground":
        return on("ground", *map(float, place))
    part = description[body]
    d, c, s = place - part["position"], np.cos(part["angle"]), np.sin(part["angle"])
    return on(body, float(c * d[0] + s * d[1]), float(c * d[1] - s * d[0]), -part["angle"])


def mechanism(seed: int) -> Description:
    """A random tree of bodies with as many loops as stay regular; consistent by construction."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 12))
    bodies = {
        f"b{k}": {"mass": float(rng.uniform(0.2, 2)), "inertia": float(rng.uniform(0.02, 0.2)),
                  "position": [float(x) for x in rng.uniform(-1, 1, 2)], "angle": float(rng.uniform(-3, 3))}
        for k in range(count)
    }  # fmt: skip
    joints: dict[str, Any] = {}

    def whole() -> Description:
        spring = models.spring(on("ground"), on("b0", 0.1), 50.0, 1.0, 0.3)
        return model("mechanism", bodies=bodies, joints=joints, forces={"spring": spring})

    def hold(kind: str, i: str, j: str) -> None:
        place = rng.uniform(-1, 1, 2)
        fields = {"axis": [float(x) for x in rng.uniform(0.2, 1, 2)]} if kind in ("prismatic", "point_on_line") else {}
        joints[f"j{len(joints)}"] = link(kind, held(bodies, i, place), held(bodies, j, place), **fields)

    for k in range(count):
        earlier = "ground" if k == 0 or rng.random() < 0.2 else f"b{rng.integers(k)}"
        hold(str(rng.choice(["revolute", "revolute", "prismatic", "point_on_line", "fixed"])), earlier, f"b{k}")
    for _ in range(count):
        i, j = (f"b{k}" for k in rng.choice(count, 2, replace=False))
        hold(str(rng.choice(["revolute", "point_on_line"])), i, j)
        system = planar.Planar(whole())
        rows = system.rows(0.0, system.start()[0])
        if len(rows) >= 3 * count or np.linalg.svd(rows, compute_uv=False)[-1] < 1e-2:
            joints.popitem()
    return whole()


def chain(count: int, *, closed: bool = False) -> Description:
    """A hanging chain; closed, its last link is held too."""
    bodies = {f"b{k}": models.bar(0.3 * k, 0.0, 0.0, 0.3, 1.0) for k in range(count)}
    hinges = [("ground", on("ground"))] + [(b, on(b, 0.15)) for b in bodies]
    joints = {f"j{k}": link("revolute", hinges[k][1], on(f"b{k}", -0.15)) for k in range(count)}
    if closed:
        joints["end"] = link("point_on_line", on("ground"), hinges[-1][1])
    return model("chain", bodies=bodies, joints=joints)


def hub(arms: int) -> Description:
    """One body that carries many, and the ground holds every second of them."""
    bodies: dict[str, Any] = {"hub": {"mass": 2.0, "inertia": 0.5, "position": [0.0, 0.0], "angle": 0.0}}
    joints: dict[str, Any] = {"axle": link("revolute", on("ground"), on("hub"))}
    for k in range(arms):
        angle = 2 * np.pi * k / arms
        root = np.array([np.cos(angle), np.sin(angle)]) * 0.4
        bodies[f"arm{k}"] = models.bar(*root, angle, 0.5, 0.3)
        joints[f"root{k}"] = link("revolute", on("hub", *root), on(f"arm{k}", -0.25))
        if k % 2:
            joints[f"tip{k}"] = link("point_on_line", on("ground", *(0.9 / 0.4 * root), angle), on(f"arm{k}", 0.25))
    return model("hub", bodies=bodies, joints=joints)


SOLVED = {
    **{name: describe for name, describe in WHOLE.items() if name != "expressions"},
    "chain": lambda: chain(20),
    "closed_chain": lambda: chain(12, closed=True),
    "hub": lambda: hub(6),
    **{f"mechanism_{seed}": lambda seed=seed: mechanism(seed) for seed in range(20)},
}
H = 0.01
WEIGHTS = {"index 1": (1.0, 0.0, 0.0), "a step": (1 / 0.7, 0.8 * H, 0.4225 * H**2)}


@pytest.mark.parametrize("name", SOLVED)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_linear_solves_agree_with_numpy(name: str, weights: str) -> None:
    system = _solver.System(lower(SOLVED[name]()).blob)
    native = _solver.Simulation(system, *Settings().native())
    native.start(correct=True)
    state, nothing = native.save(), np.zeros(0)
    c = WEIGHTS[weights]
    values = native.derivative(state.t, state.q, native.v, native.a, native.lam, nothing, nothing, nothing, *c, 0.0)
    matrix = np.zeros((system.n, system.n))
    np.add.at(matrix, (system.rows, system.cols), values)
    rhs = np.random.default_rng(4).uniform(-1, 1, system.n)
    x, eliminated = native.solve(rhs, *c, 0.0)
    expected = np.linalg.solve(matrix, rhs)
    rounding = 1e3 * np.finfo(float).eps * np.linalg.cond(matrix) * np.max(np.abs(expected))
    np.testing.assert_allclose(x, expected, rtol=0, atol=rounding)
    assert eliminated, "the elimination program has lost a pivot of a regular matrix and fell back to pivoting"


@pytest.mark.parametrize("seed", range(20))
def test_mechanisms_start_as_the_equations_by_hand_say(seed: int) -> None:
    description = mechanism(seed)
    m, by_hand = compiled(description), planar.Planar(description)
    q, _, a, lam = m.start()
    theirs = by_hand.accelerations(0.0, *by_hand.start())
    close(q, by_hand.start()[0], EXACT)
    close(a, theirs[0], 1e-9)
    close(lam, theirs[1], 1e-9)


def test_earth_pulls_down() -> None:
    """The sign of gravity, without any joint."""
    m = compiled(model("stone", gravity=EARTH, bodies={"stone": {"mass": 2.0, "inertia": 1.0, "free": True}}))
    _, _, a, _ = m.start()
    close(a, [0.0, -9.81, 0.0], 0)
