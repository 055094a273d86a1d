"""The tyre: steady forces against an independent transcription of the formula, lag, stops, standstill, roads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.tyres import A_TYRE, Slip, delft_aligning, delft_backwards, delft_combined
from scipy.spatial.transform import Rotation

import mbdfmu as mbd

SET = {name: value for name, value in A_TYRE.items() if name not in ("fz0", "radius")}
RADIUS, STIFFNESS, G = 0.313, 200e3, 9.81
HEAVY = 1e12  # kg: nothing that a tyre does changes the motion of such a wheel


def rig(load: float = 4000.0, camber: float = 0.0, speed: float = 20.0, **tyre: Any) -> mbd.Model:
    """A wheel so heavy that it keeps its motion, pressed on the road with a given force at the start."""
    radius = RADIUS - load * np.cos(camber) / STIFFNESS  # F = k d / cos(camber)
    wheel = mbd.Body(
        mass=HEAVY,
        inertia=(HEAVY, HEAVY, HEAVY),
        position=(0, 0, radius * np.cos(camber)),
        orientation=mbd.Orientation(axis=(1, 0, 0), angle=camber),
        velocity=(speed, 0, 0),
        omega=(0, speed / RADIUS, 0),
        free=True,
    )
    element = {"type": "tyre", "i": {"body": "ground"}, "j": {"body": "wheel"}, "stiffness": STIFFNESS, **tyre}
    data = {"format_version": 1, "name": "rig", "dimensions": 3, "forces": {"tyre": element}}
    return mbd.Model.from_description(mbd.Description(**data, bodies={"wheel": wheel}))


def at_start(model: mbd.Model, **slips: float) -> dict[str, float]:
    """Signals of the tyre while its slips have given values."""
    simulation = model.start(start={f"tyre.slip.{key}": value for key, value in slips.items()})
    return {name.removeprefix("tyre."): simulation[name] for name in simulation.names if name.startswith("tyre.")}


# ---------------------------------------------------------------- steady forces

SLIPS = [(0.0, 0.0), (0.05, 0.0), (-0.12, 0.0), (0.0, 0.06), (0.0, -0.2), (0.08, -0.05), (-0.4, 0.15), (-1.0, 0.3)]


@pytest.mark.parametrize("load", [800.0, 4000.0, 7500.0])
@pytest.mark.parametrize("camber", [0.0, 0.08, -0.05])
@pytest.mark.parametrize(("kappa", "alpha"), SLIPS)
def test_steady_forces_are_those_of_the_published_formula(load: float, camber: float, kappa: float, alpha: float):
    found = at_start(rig(load, camber, side=1, coefficients=SET), kappa=kappa, tan_alpha=np.tan(alpha))
    assert found["force.z"] == pytest.approx(load, rel=1e-10)
    assert found["camber"] == pytest.approx(camber, abs=1e-12)
    along, across = delft_combined(A_TYRE, Slip(kappa, alpha, load, camber))
    assert found["force.x"] == pytest.approx(float(along), abs=1e-10 * load)
    assert found["force.y"] == pytest.approx(float(across), abs=1e-10 * load)
    aligning = delft_aligning(A_TYRE, Slip(kappa, alpha, load, camber))
    assert found["torque.z"] == pytest.approx(float(aligning), abs=1e-8 * load)  # of a root of (rad)2 that is never 0


# Every coefficient counts in these: what is zero in the published set, and what is not odd in the slips.
WHOLE = A_TYRE | {"phx1": 0.003, "pvx1": 0.02, "pvx2": -0.01, "pex4": 0.2, "rex1": 0.3, "rex2": -0.1, "rey1": 0.2,
                  "rey2": 0.1, "rhy2": -0.004, "qbz4": 0.1, "qbz10": 0.05, "qdz7": 0.01, "qez3": 0.1}  # fmt: skip
ALL = {name: value for name, value in WHOLE.items() if name not in ("fz0", "radius")}


@pytest.mark.parametrize("camber", [0.0, 0.08])
@pytest.mark.parametrize(("kappa", "alpha"), SLIPS)
def test_a_tyre_that_rolls_backwards_is_one_turned_by_half_a_turn(camber: float, kappa: float, alpha: float):
    model = rig(3000.0, camber, speed=-20.0, side=1, coefficients=ALL)
    found = at_start(model, kappa=kappa, tan_alpha=np.tan(alpha))
    wanted = delft_backwards(WHOLE, Slip(kappa, alpha, 3000.0, camber))
    assert found["force.x"] == pytest.approx(float(wanted[0]), abs=3e-7)
    assert found["force.y"] == pytest.approx(float(wanted[1]), abs=3e-7)
    assert found["torque.z"] == pytest.approx(float(wanted[2]), abs=3e-5)


@pytest.mark.parametrize("speed", [20.0, -20.0, 0.7, 0.0])
def test_forces_do_not_depend_on_the_sense_of_the_axis(speed: float):
    """An axis to the right is the same wheel: its slips, camber and forces count the other way."""
    left, right = (rig(3000.0, 0.06, speed=speed, side=1, coefficients=ALL, axis=(0, k, 0)) for k in (1, -1))
    one = at_start(left, kappa=0.04, tan_alpha=-0.05)
    other = at_start(right, kappa=-0.04, tan_alpha=0.05)
    for name in ("force.x", "force.y", "camber"):
        assert other[name] == pytest.approx(-one[name], rel=1e-9), name
    for name in ("force.z", "torque.z"):
        assert other[name] == pytest.approx(one[name], rel=1e-9), name


def test_the_trail_trails_the_motion():
    """The side force acts behind the middle of the patch, wherever that is, and turns the wheel into its motion."""
    for speed in (20.0, -20.0):
        found = at_start(rig(speed=speed), tan_alpha=0.01)
        assert found["force.y"] < 0 and found["torque.z"] == pytest.approx(
            -np.sign(speed) * 0.1 * RADIUS * found["force.y"], rel=0.05
        )
    standing = at_start(rig(speed=0.0), tan_alpha=0.01)
    assert standing["force.y"] < 0 == standing["torque.z"]


def test_a_mirrored_wheel_of_the_plane_has_mirrored_shifts():
    """Two wheels that roll away from each other, one in a mirrored sub-model, move as mirror images."""
    wheel = {"mass": 20, "inertia": 1, "position": [0.5, 0.305], "velocity": [8, 0], "omega": -40, "free": True}
    tyre = {"type": "tyre", "i": {"body": "ground"}, "j": {"body": "wheel"},
            "coefficients": {"phx1": 0.004, "pvx1": 0.03, "pex4": 0.3}}  # fmt: skip
    alone = {"format_version": 1, "name": "wheel", "bodies": {"wheel": wheel}, "forces": {"tyre": tyre}}
    one = {"model": alone}
    submodels = {"right": one, "left": one | {"mirror": "x"}}
    data = {"format_version": 1, "name": "away", "gravity": [0, -9.81], "submodels": submodels}
    result = mbd.Model.from_description(mbd.Description(**data)).simulate(1.0, 0.05, tolerance=1e-8)
    assert abs(result["right.wheel.vx"][-1] - 8) > 0.3
    for name, sign in (("x", -1), ("y", 1), ("omega", -1)):
        assert result[f"left.wheel.{name}"] == pytest.approx(sign * result[f"right.wheel.{name}"], rel=1e-5), name


@pytest.mark.parametrize(
    "given", [{"pex1": 1.2}, {"pey1": 1.5, "pey4": 0.0}, {"rex1": 2.0}, {"rey1": 2.0}, {"qez1": 3.0}]
)
def test_no_curvature_turns_a_force_round(given: dict[str, float]):
    """Factors E are limited to 1, as [Pacejka02] asks of them."""
    for kappa, alpha in ((0.3, 0.0), (0.9, 0.02), (0.05, 0.3), (0.0, 1.0)):
        found = at_start(rig(coefficients=given), kappa=kappa, tan_alpha=alpha)
        assert found["force.x"] >= 0 >= found["force.y"]
        limited = dict.fromkeys(given, 1.0)
        at_most = at_start(rig(coefficients=given | limited), kappa=kappa, tan_alpha=alpha)
        for name in ("force.x", "force.y"):
            assert found[name] == pytest.approx(at_most[name], abs=1e-9)


@pytest.mark.parametrize("camber", [-0.7, -0.5, 0.5, 0.7])
def test_a_wheel_that_leans_far_keeps_the_sign_of_its_side_force(camber: float):
    """The published E of the force across is above 1 there."""
    near, far = (at_start(rig(camber=camber), tan_alpha=np.tan(-np.sign(camber) * a))["force.y"] for a in (0.3, 1.2))
    assert np.sign(far) == np.sign(near) and abs(far) > 0.5 * abs(near)


@pytest.mark.parametrize("speed", [20.0, -20.0])
def test_a_tyre_in_steady_slip_only_takes_power(speed: float):
    """The force along acts at the rolling radius about the axle: at the loaded one a driven wheel would gain 4 %."""
    model, rolling = rig(speed=speed, rolling_resistance=0), RADIUS - 0.02 / 3
    for kappa, lateral in ((0.0, 0.0), (1e-3, 0.0), (0.05, 0.0), (0.4, 0.1), (-0.02, -0.01), (-0.9, 0.0), (0.0, 0.2)):
        wheel = {"wheel.omega_y": (speed + kappa * abs(speed)) / rolling, "wheel.vy": lateral * abs(speed)}
        tyre = {"tyre.slip.kappa": kappa, "tyre.slip.tan_alpha": lateral}
        simulation = model.start(start=wheel | tyre)
        forces = (simulation["tyre.force.x"], simulation["tyre.force.y"])
        lost = -forces[0] * kappa * abs(speed) + forces[1] * lateral * abs(speed)
        assert simulation["tyre.power"] == pytest.approx(lost, abs=1e-6) and lost <= 0


def test_below_low_speed_slip_is_a_deflection():
    """At 0.5 m/s a locked wheel is held near the peak, where the force is half as large again."""
    fast, slow = (at_start(rig(speed=v), kappa=-1.0)["force.x"] for v in (20.0, 2.0))
    assert slow == pytest.approx(fast, rel=1e-9)
    model, bend = rig(speed=0.5), 1 / (21.51 / 1.21)
    result = model.simulate(t_end=0.5, step_output=0.1, start={"wheel.omega_y": 0.0, "tyre.slip.kappa": -1.0})
    assert -2 * bend < result["tyre.slip.kappa"][-1] < -bend
    assert result["tyre.force.x"][-1] / fast == pytest.approx(1.45, abs=0.1)


def test_the_plane_has_the_same_force_along():
    slips = np.linspace(-1, 0.5, 7)
    wheel = mbd.Body(mass=HEAVY, inertia=HEAVY, position=(0, RADIUS - 0.02), velocity=(20, 0), omega=-64, free=True)
    element = {"type": "tyre", "i": {"body": "ground"}, "j": {"body": "wheel"}, "coefficients": SET}
    data = {"format_version": 1, "name": "rig", "forces": {"tyre": element}, "bodies": {"wheel": wheel}}
    model = mbd.Model.from_description(mbd.Description(**data))
    curve = {**A_TYRE, "rhx1": 0.0}
    for kappa in slips:
        along, _ = delft_combined(curve, Slip(kappa, 0.0, 4000.0))
        assert at_start(model, kappa=kappa)["force.x"] == pytest.approx(float(along), abs=1e-7)


def test_a_symmetric_tyre_has_no_force_without_slip():
    found = at_start(rig())
    assert [found[name] for name in ("force.x", "force.y", "torque.z")] == [0, 0, 0]
    left, right = (at_start(rig(camber=0.05 * s, side=s), tan_alpha=0.03 * s) for s in (1, -1))
    assert left["force.y"] == pytest.approx(-right["force.y"]) and left["torque.z"] == pytest.approx(-right["torque.z"])


def test_friction_scales_the_peak_and_leaves_the_slope():
    slips = np.linspace(0.001, 0.5, 60)
    models = {mu: rig(friction=mu) for mu in (1.0, 0.3)}
    curves = {mu: [at_start(model, kappa=k)["force.x"] for k in slips] for mu, model in models.items()}
    assert max(curves[1.0]) == pytest.approx(1.210 * 4000, rel=1e-3)
    assert max(curves[0.3]) == pytest.approx(0.3 * 1.210 * 4000, rel=1e-3)
    assert curves[0.3][0] == pytest.approx(curves[1.0][0], rel=5e-3)


def test_a_heavy_load_keeps_its_friction():
    """The published polynomial would end at 7.8 nominal loads."""
    forces = [at_start(rig(load), tan_alpha=3.0)["force.y"] / load for load in (15e3, 30e3, 34e3)]
    assert all(-1.0 < force < -0.4 for force in forces)


def test_the_aligning_torque_turns_the_wheel_towards_its_motion():
    small = at_start(rig(), tan_alpha=0.01)
    assert small["force.y"] < 0 < small["torque.z"]
    trail = small["torque.z"] / -small["force.y"]
    assert trail == pytest.approx(0.1 * RADIUS, rel=0.05)  # qdz1 R
    assert at_start(rig(), tan_alpha=0.4)["torque.z"] < 0.1 * small["torque.z"]  # the trail vanishes


# ---------------------------------------------------------------- the lag of slip


@pytest.mark.parametrize("turn", [0.0, 0.05])
def test_slips_follow_over_the_relaxation_length(turn: float):
    """d(kappa)/dt = (-sliding - |V| kappa)/sigma at constant speeds."""
    speed, radius = 20.0, RADIUS - 0.02 / 3
    model = rig()
    start = {"wheel.omega_y": 0.95 * speed / radius, "wheel.vy": speed * np.tan(turn)}
    result = model.simulate(t_end=0.1, step_output=0.002, start=start, tolerance=1e-8)
    t = result.time
    assert result["tyre.slip.kappa"] == pytest.approx(-0.05 * (1 - np.exp(-speed * t / 0.3)), abs=1e-6)
    assert result["tyre.slip.tan_alpha"] == pytest.approx(np.tan(turn) * (1 - np.exp(-speed * t / 0.5)), abs=1e-6)


# ---------------------------------------------------------------- off the road, stops, standstill


def test_the_tyre_never_pulls():
    model = rig(speed=0)
    for height in (RADIUS - 1e-4, RADIUS, RADIUS + 0.01):
        for sink in (-3.0, 0.0, 3.0):
            simulation = model.start(start={"wheel.z": height, "wheel.vz": sink})
            assert simulation["tyre.force.z"] >= 0
            if height >= RADIUS:
                assert simulation["tyre.force.z"] == 0 == simulation["tyre.energy"]


@pytest.mark.parametrize("brake", [800.0, 1200.0, 3000.0])
@pytest.mark.parametrize("friction", [1.0, 0.4])
def test_braking_ends_at_rest(brake: float, friction: float):
    model = mbd.models.load("brake_rig")
    start = 15.0
    result = model.simulate(t_end=9, step_output=0.01, inputs={"brake": ([0, 0.2, 0.25], [0, 0, brake])},
                            parameters={"friction": friction, "speed": start})  # fmt: skip
    speed, late = result["car_speed"], result.time > 8
    assert np.max(np.abs(speed[late])) < 1e-3 and np.max(np.abs(result["deceleration"][late])) < 1e-2
    assert np.max(result["distance"]) - result["distance"][-1] < 0.05  # it springs back a little
    assert np.max(result["deceleration"]) < 1.30 * friction * G  # peak of 1.21, and the load while it pitches
    assert (np.min(result["slip"]) < -0.9) == (brake > 1.4 * friction * 1200)


def test_a_parked_wheel_holds_on_a_slope_like_a_spring():
    """Of stiffness K / sigma, K the slip stiffness."""
    model = mbd.models.load("brake_rig")
    data = model.description.to_data() | {"gravity": [-1.0, -9.81]}
    parked = mbd.Model.from_description(mbd.Description(**data))
    result = parked.simulate(
        t_end=6, step_output=0.5, parameters={"speed": 0}, inputs={"brake": ([0, 10], [5000, 5000])}
    )
    assert abs(result["car_speed"][-1]) < 3e-3  # the brake holds by creeping
    assert result["force"][-1] == pytest.approx(400, rel=1e-3)
    assert result["slip"][-1] == pytest.approx(400 / (21.51 * 3924), rel=0.03)


# ---------------------------------------------------------------- roads


def test_a_slope_by_height_is_a_slope_by_marker():
    angle, gravity = 0.1, [0, 0, -9.81]
    up = {"type": "tyre", "i": {"body": "ground"}, "j": {"body": "wheel"}, "height": f"{np.tan(angle):.17g}*tyre.x"}
    turned = {"axis": [0, 1, 0], "angle": -angle}
    tilted = {"type": "tyre", "i": {"body": "ground", "orientation": turned}, "j": {"body": "wheel"}}
    runs = []
    for element in (up, tilted):
        wheel = {"mass": 20, "inertia": [0.6, 1, 0.6], "position": [0, 0, 0.32], "velocity": [5, 0, 0.5], "free": True}
        data = {"format_version": 1, "name": "hill", "dimensions": 3, "gravity": gravity, "bodies": {"wheel": wheel}}
        model = mbd.Model.from_description(mbd.Description(**data, forces={"tyre": element}))
        runs.append(model.simulate(t_end=0.5, step_output=0.01, tolerance=1e-8))
    for name in ("wheel.x", "wheel.z", "wheel.omega_y", "tyre.force.z", "tyre.force.x", "tyre.power"):
        scale = max(1.0, np.max(np.abs(runs[0][name])))
        assert runs[0][name] == pytest.approx(runs[1][name], abs=2e-5 * scale), name


def test_a_road_that_moves_is_a_wheel_that_moves():
    """What counts is the relative motion; the reaction goes to the road."""
    bodies = {
        "wheel": {"mass": 20, "inertia": [0.6, 1, 0.6], "position": [0, 0, 0.3], "omega": [0, 30, 0], "free": True},
        "belt": {"mass": 50, "inertia": [9, 9, 9], "velocity": [-4, 1, 0], "free": True},
    }
    element = {"type": "tyre", "i": {"body": "belt"}, "j": {"body": "wheel"}, "rolling_resistance": 0}
    data = {"format_version": 1, "name": "belt", "dimensions": 3, "bodies": bodies, "forces": {"tyre": element}}
    model = mbd.Model.from_description(mbd.Description(**data))
    result = model.simulate(t_end=0.1, step_output=0.01, tolerance=1e-8)
    turning = []
    for k in "xyz":
        total = 20 * result[f"wheel.v{k}"] + 50 * result[f"belt.v{k}"]
        assert total == pytest.approx(total[0], abs=1e-5)
    for body, mass, inertia in (("wheel", 20, (0.6, 1, 0.6)), ("belt", 50, (9, 9, 9))):
        place, speed, omega = (np.array([result[f"{body}.{p}{k}"] for k in "xyz"]).T for p in ("", "v", "omega_"))
        turn = Rotation.from_quat(np.array([result[f"{body}.e{k}"] for k in (1, 2, 3, 0)]).T)
        turning.append(mass * np.cross(place, speed) + turn.apply(omega * inertia))
    assert np.ptp(sum(turning), axis=0) == pytest.approx([0, 0, 0], abs=1e-5)
    kinetic, stored = (result[name] for name in ("energy.kinetic", "tyre.energy"))
    assert np.all(np.diff(kinetic + stored) < 0)


def test_friction_may_depend_on_the_place():
    split = {"friction": "if(tyre.y > 0, 0.2, 0.9)"}
    model = rig(**split)
    left, right = (model.start(start={"wheel.y": y})["tyre.friction_factor"] for y in (0.5, -0.5))
    assert (left, right) == (0.2, 0.9)


def test_a_road_may_be_a_table():
    """Straight pieces are slopes: what the formula of the same line gives."""
    tables = {"hill": {"x": [0, 2, 4], "y": [0, 0.2, 0.1]}, "grip": {"x": [0, 2, 4], "y": [1, 0.4, 0.4]}}
    by_table = {"height": "lookup(hill, tyre.x)", "friction": "lookup(grip, tyre.x)"}
    by_formula = {"height": "0.1*tyre.x", "friction": "1 - 0.3*tyre.x"}
    found = []
    for road in (by_table, by_formula):
        wheel = {"mass": 20, "inertia": 1, "position": [1, 0.4], "velocity": [5, 0.5], "free": True}
        element = {"type": "tyre", "i": {"body": "ground"}, "j": {"body": "wheel"}, **road}
        data = {"format_version": 1, "name": "hill", "gravity": [0, -9.81], "bodies": {"wheel": wheel}}
        model = mbd.Model.from_description(mbd.Description(**data, tables=tables, forces={"tyre": element}))
        found.append(model.simulate(t_end=0.1, step_output=0.01))
    for name in ("wheel.x", "wheel.y", "wheel.omega", "tyre.force.z", "tyre.friction_factor"):
        assert found[0][name] == pytest.approx(found[1][name], rel=1e-9, abs=1e-9), name
