"""The equations by hand that judge the spatial solver: they agree with each other and with numbers from elsewhere.

Nothing here simulates with the package; descriptions only carry numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.spatial import Body, Mechanism
from reference.spatial_joints import GAPS, WRENCHES, End, Link, Vector, matrix, quaternion, turning
from reference.spatial_models import ENDS, JOINTS, joint_model
from reference.spatial_reading import mechanism
from reference.states import reference
from reference.tops import FreeTop, HeavyTop, RollingDisc

import mbdfmu as mbd

INTEGRATED = 1e-10  # DOP853 at a relative tolerance of 1e-12, over a few seconds


def test_every_spatial_joint_is_known_by_hand() -> None:
    assert set(JOINTS) <= WRENCHES.keys() & GAPS.keys()


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("ends", ENDS)
def test_gaps_and_wrenches_of_a_joint_hold_the_same_motions(kind: str, ends: str) -> None:
    """Rates of the gaps are combinations of the rows W; only a joint that rolls holds more."""
    system = mechanism(joint_model(kind, ends))
    state = system.started()
    assert np.max(np.abs(system.gaps(0.0, state))) < 1e-13
    W, G = system.rows(state), system.gap_rows(0.0, state)
    rank = np.linalg.matrix_rank(W)
    assert rank == len(W)
    assert np.linalg.matrix_rank(np.concatenate([W, G]), tol=1e-9) == rank
    assert len(G) == (1 if kind == "rolling_disc" else rank)


@pytest.mark.parametrize("seed", range(5))
def test_quaternions_and_matrices_are_inverse_to_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R = turning(rng.normal(size=3), rng.uniform(-np.pi, np.pi))
    np.testing.assert_allclose(matrix(quaternion(R)), R, atol=1e-15)


STATES = {"position": "x y z", "velocity": "vx vy vz", "acceleration": "ax ay az", "quaternion": "e0 e1 e2 e3",
          "omega": "omega_x omega_y omega_z", "alpha": "alpha_x alpha_y alpha_z"}  # fmt: skip


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("name", "at"), [("pendulum3d", 0), ("pendulum3d", 2), ("bricard", 0), ("bricard", 2)])
def test_models_reach_states_computed_elsewhere(name: str, at: int) -> None:
    """Those of the pendulum grow by a factor of 1e4 in its first seconds."""
    data = reference(name)
    description = mbd.models.load(name).description
    (sample,) = mechanism(description).run([data["time"][at]], 1e-12)
    for field, signals in STATES.items():
        theirs = np.array([[data["signals"][f"{b}.{s}"][at] for s in signals.split()] for b in description.bodies])
        mine = getattr(sample, field)
        if field == "quaternion":
            mine = mine * np.sign(np.sum(mine * theirs, axis=1, keepdims=True))
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8)


def test_a_rank_deficient_ring_has_one_row_too_many() -> None:
    system = mechanism(mbd.models.load("bricard").description)
    W = system.rows(system.started())
    assert W.shape == (30, 30) and np.linalg.matrix_rank(W, tol=1e-9) == 29


# ---------------------------------------------------------------- closed forms


def body(inertia: Any, **motion: Any) -> Body:
    return Body(mass=2.0, inertia=np.diag(inertia), **{k: np.array(v) for k, v in motion.items()})


@pytest.mark.by_day(1)
@pytest.mark.parametrize("omega", [(0.3, 9.0, 1.2), (0.0, 10.0, 0.3), (2.0, -1.0, 6.0)])
def test_a_free_top_moves_in_elliptic_functions(omega: tuple[float, float, float]) -> None:
    exact = FreeTop(inertia=(0.01, 0.02, 0.03), omega=omega)
    system = Mechanism({"top": body(exact.inertia, omega=omega)}, {})
    for sample in system.run([0.3, 2.0], 1e-12):
        np.testing.assert_allclose(sample.omega[0], exact.omega_at(sample.t), atol=INTEGRATED)
        np.testing.assert_allclose(matrix(sample.quaternion[0]), exact.rotation(sample.t), atol=INTEGRATED)


def heavy_top(exact: HeavyTop, height: float, mass: float = 2.0) -> Mechanism:
    """Its axis starts towards +x."""
    R = turning([0, 1, 0], exact.tilt)
    omega = R.T @ np.array([0, 0, exact.precession])
    omega[2] = exact.spin
    J = [exact.across - mass * height**2] * 2 + [exact.along]
    part = body(J, centre=[0, 0, height], rotation=R, omega=omega)
    tip = Link(kind="spherical", i=End(), j=End(body="top"))
    return Mechanism({"top": part}, {"tip": tip}, gravity=[0, 0, -exact.weight / (mass * height)])


@pytest.mark.by_day(1)
@pytest.mark.parametrize("precession", [0.0, 3.0, 30.0])
def test_a_heavy_top_nods_in_elliptic_functions(precession: float) -> None:
    exact = HeavyTop(across=0.03, along=0.01, weight=2.0, tilt=0.6, precession=precession, spin=40.0)
    for sample in heavy_top(exact, 0.1).run([0.1, exact.period, 1.0], 1e-12):
        axis = matrix(sample.quaternion[0])[:, 2]
        assert axis[2] == pytest.approx(exact.height(sample.t), abs=INTEGRATED)
        turned = exact.turned(sample.t)
        np.testing.assert_allclose(axis[:2], np.sqrt(1 - axis[2] ** 2) * np.array([np.cos(turned), np.sin(turned)]),
                                   atol=INTEGRATED)  # fmt: skip


@pytest.mark.by_day(1)
@pytest.mark.parametrize("which", [0, 1])
def test_a_heavy_top_has_two_steady_precessions(which: int) -> None:
    constants = {"across": 0.03, "along": 0.01, "weight": 2.0, "tilt": 0.6, "spin": 60.0}
    exact = HeavyTop(**constants, precession=HeavyTop.steady(**constants)[which])
    for sample in heavy_top(exact, 0.1).run([0.7], 1e-12):
        assert matrix(sample.quaternion[0])[2, 2] == pytest.approx(np.cos(0.6), abs=INTEGRATED)


def rolling(exact: RollingDisc) -> Mechanism:
    n, u, travel = exact.axes(0)
    R = np.stack([-u, -travel, n], axis=1)
    part = body([exact.across, exact.across, exact.along], position=exact.centre(0), rotation=R,
                velocity=exact.velocity(0), omega=R.T @ exact.omega(0))  # fmt: skip
    contact = Link(kind="rolling_disc", i=End(), j=End(body="disc"), data={"radius": exact.radius})
    return Mechanism({"disc": part}, {"contact": contact}, gravity=[0, 0, -exact.gravity])


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("tilt", "precession"), [(1.2, -2.0), (0.5, 3.0), (2.0, 1.0)])
def test_a_disc_rolls_in_a_circle(tilt: float, precession: float) -> None:
    exact = RollingDisc(mass=2.0, radius=0.3, across=0.045, along=0.09, gravity=9.81, tilt=tilt, precession=precession)
    for sample in rolling(exact).run([0.3, 1.0], 1e-12):
        checks: list[tuple[Vector, Vector]] = [
            (sample.position[0], exact.centre(sample.t)),
            (sample.velocity[0], exact.velocity(sample.t)),
            (matrix(sample.quaternion[0]) @ sample.omega[0], exact.omega(sample.t)),
            (sample.force["contact"], exact.contact_force(sample.t)),
        ]
        for mine, theirs in checks:
            np.testing.assert_allclose(mine, theirs, atol=1e-8)  # the circle may be unstable
