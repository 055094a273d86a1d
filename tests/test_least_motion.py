"""Assembly finds the closed pose nearest to the guess in the metric of the mass, however the mechanism is turned."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel
from mbdfmu.expressions import evaluate
from mbdfmu.joints import Cylindrical, Distance, Prismatic, Revolute, Spherical, Universal

KINDS = (Revolute, Spherical, Cylindrical, Universal, Prismatic)


@dataclass
class Guess:
    """A mechanism that can be closed, with a guess beside the closed pose, in axes of its own."""

    places: list[np.ndarray]
    turns: list[Rotation]
    inertias: list[tuple[float, float, float]]
    joints: list[tuple[type, int, np.ndarray, Rotation, int, np.ndarray, Rotation]] = field(default_factory=list)

    def model(self, by: Rotation) -> mbd.Model:
        """The whole of it turned, guess and ground alike."""
        model = mbd.Model("turned", dimensions=3, gravity=(0, 0, 0), length=1.0)
        for k, (place, turn, inertia) in enumerate(zip(self.places, self.turns, self.inertias, strict=True)):
            pose = {"position": tuple(by.apply(place)), "orientation": written(by * turn)}
            model.add(f"b{k}", mbd.Body(mass=1 + k, inertia=inertia, free=True, **pose))
        for k, (kind, *ends) in enumerate(self.joints):
            given = {"i": end(by, *ends[:3]), "j": end(by, *ends[3:])}
            model.add(
                f"joint{k}", kind(**given, **({"axis_i": (0, 1, 0), "axis_j": (1, 0, 0)} if kind is Universal else {}))
            )
        return model


def written(turn: Rotation) -> dict[str, Any]:
    x, y, z, w = turn.as_quat()
    return {"quaternion": (w, x, y, z)}


def end(by: Rotation, body: int, at: np.ndarray, turn: Rotation) -> dict[str, Any]:
    if body < 0:
        return {"body": "ground", "at": tuple(by.apply(at)), "orientation": written(by * turn)}
    return {"body": f"b{body}", "at": tuple(at), "orientation": written(turn)}


def mechanism(rng: np.random.Generator, *, bodies: int, loops: int, shift: float, turn: float) -> Guess:
    """Bodies on each other by any joints, closed into loops; the guess is off by up to `shift` m and `turn` rad."""
    true = [(rng.uniform(-1, 1, 3), Rotation.random(rng=rng)) for _ in range(bodies)]
    pairs = [(int(rng.integers(-1, k)), k) for k in range(bodies)]
    pairs += [(-1, bodies - 1)] * loops
    places = [place + rng.uniform(-shift, shift, 3) for place, _ in true]
    turns = [Rotation.from_rotvec(rng.uniform(-turn, turn, 3)) * own for _, own in true]
    inertias = [tuple(rng.uniform(0.1, 0.2, 3)) for _ in range(bodies)]
    guess = Guess(places, turns, inertias)
    for n, (i, j) in enumerate(pairs):
        kinds = KINDS if n < bodies else KINDS[1:3]
        kind = kinds[rng.integers(len(kinds))]
        point, axes = rng.uniform(-1, 1, 3), Rotation.random(rng=rng)
        seen = []
        for body in (i, j):
            place, own = (np.zeros(3), Rotation.identity()) if body < 0 else true[body]
            seen += [body, own.inv().apply(point - place), own.inv() * axes]
        guess.joints.append((kind, *seen))
    return guess


def closed(model: mbd.Model) -> np.ndarray:
    return model.compile().start(assemble=True)[0]


def turned_back(q: np.ndarray, bodies: int, by: Rotation) -> np.ndarray:
    """Places and rotation matrices in the mechanism's own axes."""
    places = by.inv().apply(q[: 6 * bodies].reshape(-1, 6)[:, :3])
    e = q[6 * bodies :].reshape(-1, 4)
    turns = by.inv() * Rotation.from_quat(e[:, [1, 2, 3, 0]])
    return np.concatenate([places.ravel(), turns.as_matrix().ravel()])


def test_assembly_turns_with_the_mechanism(counts: Callable[..., int]) -> None:
    """It commutes with every rotation of mechanism, ground and guess: no ground axis is preferred (to 1e-9)."""
    for seed in range(counts(400, 0.03)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 5))
        guess = mechanism(rng, bodies=n, loops=int(rng.integers(0, 2)), shift=0.15, turn=0.3)
        found = []
        for by in (Rotation.identity(), Rotation.random(rng=rng)):
            found.append(turned_back(closed(guess.model(by)), n, by))
        assert np.abs(found[1] - found[0]).max() < 1e-9, seed


def written_start(compiled: CompiledModel) -> np.ndarray:
    model = compiled.lowered.model
    values = {s.node: s.start for s in model.parameters}
    return np.array(evaluate([*model.position_starts, *model.orientation_starts], values))


def increments(q0: np.ndarray, q: np.ndarray, bodies: int) -> np.ndarray:
    """The motion d, rotation vectors in body axes, that `moved` takes q0 to q with."""
    d = q[: 6 * bodies] - q0[: 6 * bodies]
    e0, e = (Rotation.from_quat(x[6 * bodies :].reshape(-1, 4)[:, [1, 2, 3, 0]]) for x in (q0, q))
    d.reshape(-1, 6)[:, 3:] = (e0.inv() * e).as_rotvec()
    return d


def inertia(compiled: CompiledModel, q0: np.ndarray) -> np.ndarray:
    nv, zero = compiled.nv, np.zeros(compiled.nv)
    found: np.ndarray = compiled.jacobian(0.0, q0, zero, zero, np.zeros(compiled.nc)).toarray()[:nv, :nv]
    return found


def nearest(compiled: CompiledModel, q0: np.ndarray) -> np.ndarray | None:
    """The smallest motion that closes the joints, by the SQP of SciPy; it gives up where rows repeat each other."""
    zero, mass = np.zeros(compiled.nv), inertia(compiled, q0)
    found = minimize(
        lambda d: d @ mass @ d / 2,
        zero,
        jac=lambda d: mass @ d,
        constraints={"type": "eq", "fun": lambda d: compiled.constraints(0.0, compiled.moved(q0, d))},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 200},
    )
    return found.x if found.success else None


def test_no_closed_pose_nearby_is_nearer_to_the_guess(counts: Callable[..., int]) -> None:
    """Against an SQP that starts at the guess; 1e-7 is what its line search leaves, where it finds no farther pose."""
    compared = 0
    for seed in range(counts(200, 0.06)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 4))
        guess = mechanism(rng, bodies=n, loops=int(rng.integers(0, 2)), shift=0.15, turn=0.3)
        compiled = guess.model(Rotation.random(rng=rng)).compile()
        q0 = written_start(compiled)
        d = nearest(compiled, q0)
        if d is not None:
            compared += 1
            found = increments(q0, compiled.start(assemble=True)[0], n)
            mass = inertia(compiled, q0)
            assert np.abs(found - d).max() < 1e-7 or found @ mass @ found < 0.99 * d @ mass @ d, seed
    assert compared >= 4


def test_planar_poses_are_the_nearest_too() -> None:
    """A bar whose end belongs on a circle: the nearest point by the mass of its centre and its inertia."""
    model = mbd.Model("bar")
    model.add("bar", mbd.Body(mass=2, inertia=0.5, position=(1.2, 0.7), angle=0.4))
    ends = {"i": {"body": "ground"}, "j": {"body": "bar", "at": (0.5, 0)}}
    model.add("rod", Distance(**ends, length=2.5))
    simulation = model.start(assemble=True)
    x, y, phi = (simulation[f"bar.{k}"] for k in ("x", "y", "phi"))
    reach = np.array([x + 0.5 * np.cos(phi), y + 0.5 * np.sin(phi)])
    assert np.hypot(*reach) == pytest.approx(2.5, abs=1e-12)
    arm = 0.5 * (np.cos(phi) * reach[1] - np.sin(phi) * reach[0])
    force = np.array([*reach, arm])  # along which the nearest pose is pulled back to the guess
    assert np.linalg.matrix_rank([force, [2 * (x - 1.2), 2 * (y - 0.7), 0.5 * (phi - 0.4)]], tol=1e-9) == 1


# ---------------------------------------------------------------- reversed axes


def hinged(*, turn: dict[str, Any], **body: Any) -> mbd.Model:
    model = mbd.Model("hinged", dimensions=3, gravity=(0, 0, 0))
    model.add("bar", mbd.Body(mass=1, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0), orientation=turn, **body))
    model.add("hinge", Revolute(i={"body": "ground"}, j={"body": "bar", "at": (-0.5, 0, 0)}))
    return model


@pytest.mark.parametrize("degrees", [100, 130, 179, 180, -170])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (1, 2, 0)])
def test_a_guess_that_ends_on_the_reversed_axis_is_tried_again_flipped(axis: tuple, degrees: float) -> None:
    simulation = hinged(turn={"axis": axis, "angle": f"{degrees}*deg"}).start(assemble=True)
    e = [simulation[f"bar.e{k}"] for k in range(4)]
    assert Rotation.from_quat([*e[1:], e[0]]).apply([0, 0, 1]) == pytest.approx([0, 0, 1], abs=1e-9)


def test_a_reversed_axis_that_cannot_be_flipped_is_refused() -> None:
    with pytest.raises(mbd.ModelError, match=r"joint 'hinge': .*opposite directions at the start"):
        hinged(turn={"axis": (1, 0, 0), "angle": "180*deg"}, held=True).start(assemble=True)


def test_a_start_as_written_is_not_flipped() -> None:
    with pytest.raises(mbd.ModelError, match=r"joint 'hinge': .*opposite directions at the start"):
        hinged(turn={"axis": (1, 0, 0), "angle": "180*deg"}).start()


def test_a_chain_with_reversed_axes_closes_on_the_right_side() -> None:
    """Every other link of six is given upside down."""
    model = mbd.Model("chain", dimensions=3, gravity=(0, 0, 0))
    for k in range(6):
        turn = {"axis": (1, 0.1, 0), "angle": "170*deg"} if k % 2 else None
        model.add(f"link{k}", mbd.Body(mass=1, inertia=(0.01, 0.1, 0.1), position=(k + 0.5, 0, 0.1), orientation=turn))
        before = {"body": f"link{k - 1}", "at": (0.5, 0, 0)} if k else {"body": "ground"}
        model.add(f"hinge{k}", Revolute(i=before, j={"body": f"link{k}", "at": (-0.5, 0, 0)}))
    simulation = model.start(assemble=True)
    for k in range(6):
        e = [simulation[f"link{k}.e{n}"] for n in range(4)]
        assert Rotation.from_quat([*e[1:], e[0]]).apply([0, 0, 1]) == pytest.approx([0, 0, 1], abs=1e-9)
