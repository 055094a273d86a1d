"""Spatial joints and models: their motion against equations by hand, closed forms and states computed elsewhere.

Joints come from the registry, so a new one is tested by existing. All runs are in steps of a fixed size unless they say
otherwise; the scheme is of second order, and what is left of its error is some 1e-7 at the sizes chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from reference.spatial import Sample
from reference.spatial_joints import Vector, matrix
from reference.spatial_models import CUBE, ENDS, JOINTS, RELATIONS, joint_model, numbers, relation_model, rotated
from reference.spatial_reading import Numbers, mechanism
from reference.states import reference
from reference.tops import FreeTop, HeavyTop, RollingDisc

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.analyses import Simulation
from mbdfmu.analyses.check import check
from mbdfmu.description import Description, Joint
from mbdfmu.lowering import lower
from mbdfmu.signals import tabulate

LIMITS = {"position": 1e-6, "velocity": 1e-5, "acceleration": 1e-4, "reaction": 1e-4}
STEP, END = 1e-4, 0.3  # s
TIGHT: dict[str, Any] = {"tolerance": 1e-10}  # of the corrector, where steps are fixed
SIGNALS = {
    "position": ("x", "y", "z"),
    "quaternion": ("e0", "e1", "e2", "e3"),
    "velocity": ("vx", "vy", "vz"),
    "omega": ("omega_x", "omega_y", "omega_z"),
    "acceleration": ("ax", "ay", "az"),
    "alpha": ("alpha_x", "alpha_y", "alpha_z"),
}
LEVELS = {"quaternion": "position", "omega": "velocity", "alpha": "acceleration"} | {n: n for n in LIMITS}

# Their forces are not known to the equations by hand; test_vehicles.py and test_controlled_models.py look after them.
DRIVEN = ("full_vehicle", "crane")
SPATIAL = (n for n in mbd.models.names() if n not in DRIVEN and mbd.models.load(n).description.dimensions == 3)
MODELS = list(SPATIAL)
# What turns fast needs shorter steps (s): the rotor of the gyroscope makes 32 turns a second.
STEPS = {"top": 2e-5, "gyroscope": 5e-6, "slider_crank3d": 5e-5}

each_joint = pytest.mark.parametrize("kind", JOINTS)
each_model = pytest.mark.parametrize("name", MODELS)


# ---------------------------------------------------------------- helpers


def vector(simulation: Simulation, owner: str, names: Iterable[str]) -> Vector:
    return np.array([simulation[f"{owner}.{name}"] for name in names])


def bodies(simulation: Simulation, description: Description, what: str) -> Vector:
    """A row for every body."""
    return np.array([vector(simulation, body, SIGNALS[what]) for body in description.bodies])


def started(description: Description, step: float = STEP, **settings: Any) -> Simulation:
    return mbd.Model.from_description(description).start(step=step, **(TIGHT | settings))


def relative(mine: Vector, theirs: Vector) -> float:
    """Largest difference over the largest number, or 1."""
    return float(np.max(np.abs(mine - theirs), initial=0.0) / max(1.0, np.max(np.abs(theirs), initial=0.0)))


def beyond(simulation: Simulation, description: Description, sample: Sample) -> dict[str, float]:
    """What differs by more than allowed."""
    found = {}
    for what in SIGNALS:
        mine, theirs = bodies(simulation, description, what), getattr(sample, what)
        if what == "quaternion":  # e and -e are the same orientation
            theirs = theirs * np.sign(np.sum(mine * theirs, axis=1, keepdims=True))
        found[what] = relative(mine, theirs)
    for what in ("force", "torque"):
        theirs = getattr(sample, what)
        held = [name for name in theirs if name in description.joints]
        mine = np.array([vector(simulation, name, [f"{what}.{c}" for c in "xyz"]) for name in held])
        found[what] = relative(mine, np.array([theirs[name] for name in held]))
    return {what: error for what, error in found.items() if error > LIMITS[LEVELS.get(what, "reaction")]}


def turned_into(simulation: Simulation, body: str) -> Vector:
    """Body axes -> ground axes."""
    return np.asarray(matrix(vector(simulation, body, SIGNALS["quaternion"])))


def energy(simulation: Simulation) -> float:
    return simulation["energy.kinetic"] + simulation["energy.potential"]


# ---------------------------------------------------------------- joints


@each_joint
def test_a_joint_holds_what_it_does_not_leave_free(kind: str) -> None:
    member = Joint.named(kind)
    assert mbd.Model.from_description(joint_model(kind)).compile().nc == 6 - member.freedoms.spatial


@each_joint
@pytest.mark.parametrize("ends", ENDS)
def test_a_joint_moves_as_the_equations_by_hand_say(kind: str, ends: str) -> None:
    description = joint_model(kind, ends)
    (sample,) = mechanism(description).run([END], 1e-11)
    simulation = started(description)
    simulation.advance(END)
    assert beyond(simulation, description, sample) == {}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", RELATIONS)
def test_a_relation_of_coordinates_moves_as_the_equations_by_hand_say(kind: str) -> None:
    """The wheel makes more than one turn on the way."""
    description, end = relation_model(kind), 1.0
    (sample,) = mechanism(description).run([end], 1e-11)
    simulation = started(description)
    simulation.advance(end)
    assert abs(simulation["spin.angle"]) > 2 * np.pi
    assert beyond(simulation, description, sample) == {}
    (force,) = sample.multipliers["relation"]
    assert simulation["relation.reaction.force"] == pytest.approx(force, rel=LIMITS["reaction"])


def test_a_screw_advances_by_its_pitch_at_every_turn() -> None:
    data = joint_model("screw", "ground-body").to_data()
    data["joints"]["joint"]["start"] = {"angle_rate": 40.0}
    simulation = started(Description(**data))
    pitch = data["joints"]["joint"]["pitch"]
    for end in (0.2, 0.5, 1.0):
        simulation.advance(end)
        angle = simulation["joint.angle"]
        assert abs(angle) > 4 * end
        assert simulation["joint.displacement"] == pytest.approx(pitch * angle / (2 * np.pi), abs=1e-10)
    assert abs(simulation["joint.angle"]) > 4 * np.pi


def free_coordinates() -> list[tuple[str, str]]:
    found = []
    for kind in JOINTS:
        rates = [name for name in tabulate(joint_model(kind)).signals if name.endswith("_rate")]
        found += [(kind, name.removeprefix("joint.").removesuffix("_rate")) for name in rates if "joint." in name]
    return found


def driven(kind: str, coordinate: str, level: str) -> tuple[Description, float]:
    """The joint with a motion on one of its coordinates, and what that is at the end."""
    data, name = joint_model(kind).to_data(), f"joint.{coordinate}"
    simulation = started(Description(**data))
    first, rate = simulation[name], simulation[f"{name}_rate"]
    values = {
        "position": f"{first!r} + {rate!r}*time + 0.2*(1 - cos(4*time))",
        "velocity": f"{rate!r} + 0.8*sin(4*time)",
        "acceleration": "3.2*cos(4*time)",
    }
    data["motions"] = {"drive": {"of": name, "value": values[level], "level": level}}
    return Description(**data), first + rate * END + 0.2 * (1 - np.cos(4 * END))


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("kind", "coordinate"), free_coordinates())
def test_a_motion_is_the_same_at_every_level(kind: str, coordinate: str) -> None:
    """Lambda of a motion is the same generalised force whatever the level of its row."""
    ends: dict[str, tuple[Vector, ...]] = {}
    for level in ("position", "velocity", "acceleration"):
        description, wanted = driven(kind, coordinate, level)
        simulation = started(description)
        simulation.advance(END)
        allowed = 1e-10 if level == "position" else LIMITS["position"]
        assert simulation[f"joint.{coordinate}"] == pytest.approx(wanted, abs=allowed)
        states = [bodies(simulation, description, what) for what in SIGNALS]
        ends[level] = (*states, np.array([simulation["drive.reaction.force"]]))
    limits = [LIMITS[LEVELS[what]] for what in SIGNALS] + [LIMITS["reaction"]]
    for level in ("velocity", "acceleration"):
        errors = [relative(mine, theirs) for mine, theirs in zip(ends[level], ends["position"], strict=True)]
        assert [e <= limit for e, limit in zip(errors, limits, strict=True)] == [True] * len(limits), (level, errors)


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("kind", "coordinate"), [("revolute", "angle"), ("prismatic", "displacement"), ("cylindrical", "angle"),
                             ("cylindrical", "displacement"), ("point_on_line", "displacement")]
)  # fmt: skip
def test_a_driven_joint_moves_as_the_equations_by_hand_say(kind: str, coordinate: str) -> None:
    description, _ = driven(kind, coordinate, "position")
    (sample,) = mechanism(description).run([END], 1e-11)
    simulation = started(description)
    simulation.advance(END)
    assert beyond(simulation, description, sample) == {}
    (force,) = sample.multipliers["drive"]
    assert simulation["drive.reaction.force"] == pytest.approx(force, rel=LIMITS["reaction"])


# ---------------------------------------------------------------- frame invariance

SAME = 1e-10  # of the largest number of its kind
EXACT: dict[str, Any] = {"tolerance": 1e-12}
LONG = 4e-3  # s: rounding of positions enters accelerations divided by the square of the step


def in_ground_axes(simulation: Simulation, description: Description) -> dict[str, Vector]:
    """Vectors of all bodies in ground axes, and what does not turn with the ground."""
    turns = [turned_into(simulation, body) for body in description.bodies]
    found = {w: bodies(simulation, description, w).T for w in ("position", "velocity", "acceleration")}
    for what in ("omega", "alpha"):
        own = bodies(simulation, description, what)
        found[what] = np.array([R @ w for R, w in zip(turns, own, strict=True)]).T
    found["axes"] = np.concatenate(turns, axis=1)
    return found


def of_joints(simulation: Simulation, description: Description) -> dict[str, list[str]]:
    """Signals of joints by kind: force, torque, angle, ...; they do not turn with the ground."""
    groups: dict[str, list[str]] = {}
    for name in simulation.names:
        joint, _, rest = name.partition(".")
        if joint in description.joints and not name.endswith(".start"):
            groups.setdefault(rest.partition(".")[0], []).append(name)
    return groups


def check_invariance(description: Description, rotations: int) -> None:
    plain = started(description, LONG, **EXACT)
    plain.advance(50 * LONG)
    wanted = in_ground_axes(plain, description)
    groups = of_joints(plain, description)
    chosen = np.random.default_rng(7).permutation(len(CUBE))[:rotations]
    for Q in (CUBE[k] for k in chosen):
        turned = started(rotated(description, Q), LONG, **EXACT)
        turned.advance(50 * LONG)
        found = in_ground_axes(turned, description)
        errors = {what: relative(Q.T @ found[what], wanted[what]) for what in wanted}
        for group, names in groups.items():
            errors[group] = relative(np.array([turned[n] for n in names]), np.array([plain[n] for n in names]))
        assert {what: error for what, error in errors.items() if error > SAME} == {}


@each_joint
def test_a_joint_does_not_see_how_the_ground_lies(kind: str, counts: Callable[..., int]) -> None:
    check_invariance(joint_model(kind, "ground-body"), counts(24, 0.1))


@each_model
def test_a_model_does_not_see_how_the_ground_lies(name: str, counts: Callable[..., int]) -> None:
    check_invariance(mbd.models.load(name).description, counts(24, 0.05))


# ---------------------------------------------------------------- shipped models


@each_model
def test_a_model_moves_as_the_equations_by_hand_say(name: str) -> None:
    """Reactions that are not unique are the smallest ones."""
    model = mbd.models.load(name)
    length = check(model.compile()).length
    (sample,) = mechanism(model.description, length=length).run([END], 1e-11)
    simulation = model.start(step=STEPS.get(name, STEP), **TIGHT)
    simulation.advance(END)
    assert beyond(simulation, model.description, sample) == {}


@each_model
def test_quaternions_keep_their_length(name: str) -> None:
    model = mbd.models.load(name)
    assert model.description.experiment is not None
    simulation = model.start()
    simulation.advance(model.description.experiment.stop_time)
    lengths = np.linalg.norm(bodies(simulation, model.description, "quaternion"), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-12)


CONSERVATIVE = [name for name in MODELS if name not in ("double_wishbone", "stewart")]  # no damper, no drive


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_energy_stays(name: str) -> None:
    """At a step of 0.2 ms, relative to the largest kinetic energy on the way."""
    model = mbd.models.load(name)
    assert model.description.experiment is not None
    simulation = model.start(step=2e-4, **TIGHT)
    first, largest = energy(simulation), simulation["energy.kinetic"]
    for end in np.linspace(0, model.description.experiment.stop_time, 11)[1:]:
        simulation.advance(end)
        largest = max(largest, simulation["energy.kinetic"])
        assert abs(energy(simulation) - first) < 1e-4 * largest  # 3e-5 where the slider-crank is fast, else 4e-6


@each_model
def test_check_tells_mass_centre_and_inertia_of_a_model(name: str) -> None:
    model = mbd.models.load(name)
    system, found = mechanism(model.description), check(model.compile())
    state, masses = system.started(), np.array([part.mass for part in system.parts])
    centre = masses @ state.r / masses.sum()
    J = np.zeros((3, 3))
    for part, r, R in zip(system.parts, state.r - centre, state.R, strict=True):
        J += R @ part.inertia @ R.T + part.mass * (r @ r * np.eye(3) - np.outer(r, r))
    assert found.mass == pytest.approx(masses.sum(), rel=1e-12)
    assert found.center == pytest.approx(centre, abs=1e-12)
    tensor = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    assert found.inertia == pytest.approx(tensor, rel=1e-9, abs=1e-9)


def worst(simulation: Simulation, data: dict[str, Any], at: int, ends: tuple[str, ...]) -> float:
    """Largest error over max(1, |value|) of the reference's signals with these ends."""
    signals = {name: values[at] for name, values in data["signals"].items() if name.endswith(ends)}
    return max(abs(simulation[n] - value) / max(1.0, abs(value)) for n, value in signals.items())


def test_the_spatial_pendulum_reaches_its_reference() -> None:
    """Its motion is chaotic: errors grow fast up to 5 s, the last of the reference's times."""
    data = reference("pendulum3d")
    simulation = mbd.models.load("pendulum3d").start(step=STEP, **TIGHT)
    for at, (time, growth) in enumerate(zip(data["time"], (1, 1, 1, 1, 30), strict=True)):
        simulation.advance(time)
        assert worst(simulation, data, at, (".x", ".y", ".z")) < growth * LIMITS["position"]
        assert worst(simulation, data, at, ("vx", "vy", "vz", "omega_x", "omega_y", "omega_z")) < growth * 1e-5
        assert worst(simulation, data, at, ("ax", "ay", "az", "alpha_x", "alpha_y", "alpha_z")) < growth * 1e-4


@pytest.mark.parametrize(("tolerance", "allowed"), [(1e-6, 1e-3), (1e-8, 5e-5)])
def test_the_spatial_pendulum_obeys_its_tolerance(tolerance: float, allowed: float) -> None:
    """Up to 3 s, about three times what is measured."""
    data = reference("pendulum3d")
    simulation = mbd.models.load("pendulum3d").start(tolerance=tolerance)
    for at in range(4):
        simulation.advance(data["time"][at])
        assert worst(simulation, data, at, (".x", ".y", ".z")) < allowed


# ---- tops


BRICK = {"mass": 1.0, "length": 0.3, "width": 0.2, "thickness": 0.05}
TURNS = 100 * 2 * np.pi / 10  # s, at the brick's 10 rad/s


def brick() -> FreeTop:
    a, b, c = (BRICK[k] ** 2 for k in ("length", "width", "thickness"))
    return FreeTop(inertia=((b + c) / 12, (a + c) / 12, (a + b) / 12), omega=(0.0, 10.0, 0.1))


def momentum(simulation: Simulation) -> Vector:
    """Of the brick, ground axes."""
    return turned_into(simulation, "brick") @ (brick().inertia * vector(simulation, "brick", SIGNALS["omega"]))


def free_top(**settings: Any) -> tuple[float, float, float]:
    """After 100 turns: errors of momentum and energy, relative, and of the angular velocity, rad/s."""
    simulation = mbd.models.load("free_top").start(**settings)
    L, E = momentum(simulation), energy(simulation)
    simulation.advance(TURNS)
    drift = np.max(np.abs(momentum(simulation) - L)) / np.linalg.norm(L)
    omega = vector(simulation, "brick", SIGNALS["omega"]) - brick().omega_at(TURNS)
    return float(drift), abs(energy(simulation) / E - 1), float(np.max(np.abs(omega)))


@pytest.mark.nightly
def test_a_free_top_keeps_its_momentum_and_energy_at_a_fixed_step() -> None:
    """The brick turns over again and again; a scheme of second order needs some 2e6 steps for 1e-8."""
    drift, loss, omega = free_top(step=TURNS / 2_500_000, **TIGHT)
    assert drift < 1e-8 and loss < 1e-8
    assert omega < 1e-6  # against elliptic functions


def test_a_free_top_keeps_its_momentum_and_energy_under_error_control() -> None:
    drift, loss, _ = free_top(tolerance=1e-11)
    assert drift < 1e-6 and loss < 1e-6


def test_a_free_top_converges_with_second_order() -> None:
    coarse, fine = (free_top(step=TURNS / n, **TIGHT)[0] for n in (100_000, 200_000))
    assert coarse / fine == pytest.approx(4, rel=0.05)


TOP = {"across": 0.5 * (3 * 0.1**2 + 0.02**2) / 12 + 0.5 * 0.08**2 + 0.05 * 0.16**2 / 3, "along": 0.5 * 0.1**2 / 2,
       "weight": 9.81 * (0.5 + 0.05) * 0.08}  # fmt: skip


@pytest.mark.parametrize(("precession", "spin"), [(0.0, 60.0), (5.0, 60.0), (0.0, 100.0)])
def test_a_top_nods_and_precesses_in_elliptic_functions(precession: float, spin: float) -> None:
    exact = HeavyTop(**TOP, tilt=0.5, precession=precession, spin=spin)
    simulation = mbd.models.load("top").start(
        parameters={"precession": precession, "spin": spin}, step=exact.period / 5000, **TIGHT
    )
    for end in (exact.period, 3.3 * exact.period):
        simulation.advance(end)
        axis, turned = turned_into(simulation, "top")[:, 2], exact.turned(end)
        assert axis[2] == pytest.approx(exact.height(end), abs=LIMITS["position"])
        level = np.sqrt(1 - exact.height(end) ** 2) * np.array([np.cos(turned), np.sin(turned)])
        np.testing.assert_allclose(axis[:2], level, rtol=0, atol=1e-5)


@pytest.mark.parametrize("which", [0, 1], ids=["slow", "fast"])
def test_a_top_precesses_without_nodding(which: int) -> None:
    precession = HeavyTop.steady(**TOP, tilt=0.5, spin=60.0)[which]
    simulation = mbd.models.load("top").start(parameters={"precession": precession}, step=2e-5, **TIGHT)
    for end in np.linspace(0.05, 0.5, 10):
        simulation.advance(end)
        assert turned_into(simulation, "top")[2, 2] == pytest.approx(np.cos(0.5), abs=LIMITS["position"])


@pytest.mark.parametrize(("tilt", "precession"), [(1.2, -2.0), (0.5, 3.0), (2.0, 1.0)])
def test_a_disc_rolls_in_a_circle(tilt: float, precession: float) -> None:
    exact = RollingDisc(mass=2.0, radius=0.3, across=0.045, along=0.09, gravity=9.81, tilt=tilt, precession=precession)
    simulation = mbd.models.load("rolling_disc").start(
        parameters={"tilt": tilt, "precession": precession, "spin": exact.spin}, step=5e-5, **TIGHT
    )
    origin = exact.centre(0) * [1, 1, 0]
    for end in (0.25, 0.5, 1.0):
        simulation.advance(end)
        omega = turned_into(simulation, "disc") @ vector(simulation, "disc", SIGNALS["omega"])
        force = vector(simulation, "contact", [f"force.{c}" for c in "xyz"])
        assert relative(vector(simulation, "disc", SIGNALS["position"]), exact.centre(end) - origin) < 1e-6
        assert relative(vector(simulation, "disc", SIGNALS["velocity"]), exact.velocity(end)) < 1e-5
        assert relative(omega, exact.omega(end)) < 1e-5
        assert relative(force, exact.contact_force(end)) < 1e-4


# ---- redundant rows


def test_bricard_reaches_its_reference() -> None:
    """At a tolerance of 1e-10."""
    data = reference("bricard")
    simulation = mbd.models.load("bricard").start(tolerance=1e-10)
    first = energy(simulation)
    simulation.advance(2.0)
    assert worst(simulation, data, data["time"].index(2.0), ("rod3.x", "rod3.y", "rod3.z")) < 1e-6
    simulation.advance(10.0)
    assert abs(energy(simulation) - first) < 1e-4
    assert worst(simulation, data, data["time"].index(10.0), ("rod3.x", "rod3.y", "rod3.z")) < 1e-6


def test_bricard_repeats_one_row() -> None:
    (row,) = mbd.models.load("bricard").start().redundancies
    assert "hinge" in row.label and row.repeats


def without_the_repeated_row(description: Description) -> Description:
    """The last hinge holds its point and one of the two rotations."""
    data = description.to_data()
    hinge = data["joints"].pop("hinge6")
    ends = {"i": hinge["i"], "j": hinge["j"]}
    data["joints"] |= {
        "ball6": {"type": "spherical", **ends},
        "cross6": {"type": "perpendicular_axes", "axis_i": [0, 1, 0], "axis_j": [1, 0, 0], **ends},
    }
    return Description(**data)


def test_bricard_moves_alike_without_its_repeated_row() -> None:
    whole = mbd.models.load("bricard").description
    reduced = without_the_repeated_row(whole)
    # iterated to the end: rows change places on the way, and where an iteration stops depends on multipliers foreseen
    one, other = (started(d, 1e-3, options={"stop_ratio": 1e-6}) for d in (whole, reduced))
    assert (len(one.redundancies), len(other.redundancies)) == (1, 0)
    for end in (1.0, 2.0, 5.0):
        one.advance(end)
        other.advance(end)
        for what in ("position", "velocity", "quaternion"):
            assert relative(bodies(one, whole, what), bodies(other, whole, what)) < 1e-9


def in_space(description: Description) -> Description:
    """A planar model of rods and hinges in three dimensions: every loop holds three motions twice."""
    n, data = Numbers(description), description.to_data()
    length = n("length")
    data |= {"dimensions": 3, "gravity": [0, -9.81, 0]}
    for name, body in description.bodies.items():
        J, angle, omega = n(body.inertia), n(body.angle), float(n(body.omega))
        data["bodies"][name] = {
            "mass": n(body.mass), "inertia": [0.1 * J, J, J], "position": numbers(n.point(body.position)),
            "orientation": {"axis": [0, 0, 1], "angle": angle}, "velocity": numbers(n.point(body.velocity)),
            "omega": [0, 0, omega],
        }  # fmt: skip
    for joint in data["joints"].values():
        for end in ("i", "j"):
            joint[end] = {"body": joint[end]["body"], "at": numbers(n.point(joint[end].get("at", [])))}
    return Description(**data, length=length)


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.nightly)])
def test_loops_in_a_row_pass_their_singular_pose_in_space_as_in_the_plane(count: int) -> None:
    """The level pose is reached at about 0.6 s: rods could fold, and do not."""
    planar = mbd.models.load("four_bar", N=count)
    description = in_space(planar.description)
    flat, spatial = planar.start(step=1e-3, **TIGHT), started(description, 1e-3)
    assert len(spatial.redundancies) == 3 * count
    for t in np.linspace(1, 10, 10):
        flat.advance(t)
        spatial.advance(t)
        for body in description.bodies:
            assert vector(spatial, body, "xy") == pytest.approx(vector(flat, body, "xy"), abs=1e-6)
            assert abs(spatial[f"{body}.z"]) < 1e-9


# ---------------------------------------------------------------- cost


@pytest.mark.nightly
def test_elimination_of_a_spatial_chain_is_exactly_linear_in_its_length() -> None:
    def operations(count: int) -> int:
        system = _solver.System(lower(mbd.models.load("chain3d", N=count).description).blob)
        return int(system.elimination_operations)

    ten, twenty = operations(10), operations(20)
    per_link = (twenty - ten) / 10
    for count in (2, 40, 200):
        assert operations(count) == ten + per_link * (count - 10)
