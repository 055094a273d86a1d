"""The references for forces, contact, friction and tyres against each other and against published figures."""

from __future__ import annotations

import numpy as np
import pytest
from reference import beams, contact, friction, linear, tyres
from reference.states import reference
from scipy.integrate import solve_ivp

# ---------------------------------------------------------------- contact


@pytest.mark.parametrize(("c", "pulls"), [(0.0, True), (20.0, True), (20.0, False)])
def test_spring_contacts_in_closed_form_are_those_of_integration(c: float, pulls: bool) -> None:
    """Times until a contact in four grow with the errors of all before: 1e-11 s."""
    closed = contact.Spring(mass=1.0, k=1e4, c=c, pulls=pulls).contacts(0.5, 3)

    def force(d: float, rate: float) -> float:
        return max(1e4 * d + c * rate, -np.inf if pulls else 0.0) if d > 0 else 0.0

    run = contact.dropped(force, 1.0, 0.5, np.array([2.0]))
    assert np.array(run.contacts[:3]) == pytest.approx(np.array(closed), abs=1e-11 if pulls else 1e-9)


def test_hunt_crossley_by_two_methods() -> None:
    force, times = contact.hunt_crossley(1e6, 1.5, 3e5), np.array([0.5, 1.0])
    fine, other = (contact.dropped(force, 1.0, 0.5, times, method=m, rtol=1e-12) for m in ("DOP853", "Radau"))
    assert fine.height == pytest.approx(other.height, abs=1e-10)
    assert np.array(fine.contacts) == pytest.approx(np.array(other.contacts), abs=1e-10)


def test_the_rebound_of_hunt_and_crossley_is_an_invariant() -> None:
    force = contact.hunt_crossley(1e6, 1.5, 3e5)
    start = [0.0, -3.0]
    run = solve_ivp(lambda t, y: [y[1], force(-y[0], -y[1])], (0, 0.1), start, method="DOP853", rtol=1e-12, atol=1e-15)
    assert run.y[1, -1] == pytest.approx(contact.rebound(1e6, 3e5, 3.0), rel=1e-9)


def test_light_dissipation_gives_the_restitution_it_is_meant_for() -> None:
    c = contact.dissipation(1e6, 0.98, 2.0)
    assert contact.rebound(1e6, c, 2.0) / 2.0 == pytest.approx(0.98, abs=1e-3)


def test_newton_bounces_are_zeros_of_the_height() -> None:
    for t in contact.newton_bounces(1.0, 0.8, 6):
        assert contact.newton_height(t, 1.0, 0.8) == pytest.approx(0.0, abs=1e-13)


# ---------------------------------------------------------------- friction


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["stick_slip", "stick_slip_lugre"])
def test_limit_cycles_are_those_of_the_data(name: str) -> None:
    law = friction.LuGre() if name.endswith("lugre") else friction.Stribeck()
    cycle, stored = friction.limit_cycle(friction.Belt(friction=law), end=5.0, rtol=1e-10), reference(name)["cycle"]
    for what in ("period", "lowest", "highest", "slowest", "fastest"):
        assert getattr(cycle, what) == pytest.approx(stored[what], rel=1e-9), what


def test_the_rubbing_pendulum_is_that_of_the_data() -> None:
    data = reference("friction_pendulum")
    rows = friction.swung(friction.RubbingPendulum(), 0.2, data["time"], "DOP853", 1e-11)
    assert rows[:, 0] == pytest.approx(np.array(data["signals"]["bar.phi"]), abs=1e-10)


# ---------------------------------------------------------------- tyres


def test_the_formula_of_1987_gives_its_published_factors() -> None:
    """[Bakker87] Table 1 and 2: stiffness a3 sin(a4 arctan(a5 Fz)) at 4 kN, peaks -22.1*16 + 1011*4 and its like."""
    slope = tyres.bakker_side(1e-6, 4.0) / 1e-6
    assert slope == pytest.approx(1078 * np.sin(1.82 * np.arctan(0.208 * 4)), rel=1e-9)
    assert max(tyres.bakker_side(np.linspace(0, 20, 2001), 4.0)) == pytest.approx(3690.4, rel=1e-5)
    assert max(tyres.bakker_brake(np.linspace(0, 100, 2001), 4.0)) == pytest.approx(4235.2, rel=1e-5)


def test_slip_stiffnesses_of_the_delft_formula() -> None:
    p, d = tyres.A_TYRE, 1e-7
    H = tyres.longitudinal(p, tyres.Slip(0.0, 0.0, 4000.0)).H
    rise = tyres.delft_pure(p, tyres.Slip(-H + d, 0.0, 4000.0))[0] - tyres.delft_pure(p, tyres.Slip(-H, 0.0, 4000.0))[0]
    assert rise / d == pytest.approx(4000 * 21.51, rel=1e-6)
    H = tyres.lateral(p, tyres.Slip(0.0, 0.0, 4000.0)).H
    rise = tyres.delft_pure(p, tyres.Slip(0.0, d - H, 4000.0))[1] - tyres.delft_pure(p, tyres.Slip(0.0, -H, 4000.0))[1]
    assert rise / d == pytest.approx(-14.95 * 4000 * np.sin(2 * np.arctan(1 / 2.13)), rel=1e-6)


def test_combined_slip_is_pure_where_the_other_slip_is_zero() -> None:
    for load in (2000.0, 5000.0):
        x = np.linspace(-0.3, 0.3, 7)
        Fx = tyres.delft_combined(tyres.A_TYRE, tyres.Slip(x, 0.0, load))[0]
        Fy = tyres.delft_combined(tyres.A_TYRE, tyres.Slip(0.0, x, load))[1]
        assert Fx == pytest.approx(tyres.delft_pure(tyres.A_TYRE, tyres.Slip(x, 0.0, load))[0])
        assert Fy == pytest.approx(tyres.delft_pure(tyres.A_TYRE, tyres.Slip(0.0, x, load))[1])


# ---------------------------------------------------------------- linear vibrations and beams


def test_the_exponential_solves_the_quarter_car() -> None:
    car = linear.QuarterCar()
    v = car.on(0.05)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], np.linalg.solve(v.M, v.f - v.C @ y[2:] - v.K @ y[:2])])

    run = solve_ivp(rate, (0, 0.3), np.zeros(4), method="DOP853", rtol=1e-13, atol=1e-16)
    assert np.concatenate(car.step(0.3, 0.05)) == pytest.approx(run.y[:, -1], rel=1e-10)


def test_a_bushing_between_free_bodies_vibrates_with_the_reduced_mass() -> None:
    bushing = linear.Bushing(first=2.0, second=3.0, stiffness=500.0, damping=4.0)
    q, _ = bushing.vibration().at(0.7, np.array([0.0, 0.02]), np.array([0.0, 0.1]))
    assert q[1] - q[0] == pytest.approx(bushing.difference(0.7, 0.02, 0.1), rel=1e-12)


def test_the_tip_of_a_chain_is_that_of_the_cantilever() -> None:
    beam, load = beams.Beam(), np.array([3.0, 2.0, 10.0, 0.5, -0.4, 0.7])
    for count in (1, 5):
        assert beams.chain_tip(beam, count, load) == pytest.approx(beam.deflection(load), rel=1e-9)


@pytest.mark.parametrize("count", [2, 8])
def test_rigid_segments_lack_the_bending_of_the_last_half_only(count: int) -> None:
    beam, half = beams.Beam(), 1.0 / count / 2
    stiffness = beam.young * beam.second_moments[0], beam.shear * beam.shear_modulus * beam.area
    lacking = 10 * (half**3 / (3 * stiffness[0]) + half / stiffness[1])
    tip = beam.deflection(np.array([0, 0, 10.0, 0, 0, 0]))[2]
    assert beams.chain_of_bodies(beam, count, 10.0) == pytest.approx(tip - lacking, rel=1e-9)


def test_known_figures_of_beams() -> None:
    """Torsion of a square: 0.1406 a^4; elastica with P L^2/(E I) = 2: 0.83936 and 0.49346 (Mattiasson 1981)."""
    assert beams.Beam(width=1.0, height=1.0).torsion == pytest.approx(0.140577, rel=1e-5)
    beam = beams.Beam()
    force = 2 * beam.young * beam.second_moments[0]
    assert beams.elastica_tip(beam, force) == pytest.approx((0.83936, 0.49346), abs=6e-6)
    assert beam.cantilever_frequencies(1)[0] == pytest.approx(206.7223, rel=1e-6)  # 1.875104^2 sqrt(E I/(rho A))
