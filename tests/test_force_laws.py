"""Stops, drag, gravitation and forces with components against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
import mbdfmu.forces
from mbdfmu.description import Description
from mbdfmu.lowering import lower

GROUND = {"body": "ground"}


def simulated(force: dict[str, Any], body: dict[str, Any], end: float, dimensions: int = 2, **more: Any) -> mbd.Result:
    inertia: Any = 1.0 if dimensions == 2 else [1.0, 1.0, 1.0]
    d = Description(
        format_version=1, name="sample", dimensions=dimensions, forces={"f": {"i": GROUND, "j": {"body": "b"}} | force},
        bodies={"b": {"mass": 2.0, "inertia": inertia, "free": True} | body}, **more,
    )  # fmt: skip
    return mbd.Model.from_description(d).simulate(end, end / 100, tolerance=1e-9)


def test_a_body_falls_at_its_terminal_speed_through_air() -> None:
    """v = v_t tanh(g t/v_t) with v_t = sqrt(2 m g/(rho cd A))."""
    drag = {"type": "drag", "area": 0.8, "coefficient": 1.1}
    result = simulated(drag, {"position": [0, 0]}, 3.0, gravity=[0, -9.81])
    limit = np.sqrt(2 * 2.0 * 9.81 / (1.225 * 1.1 * 0.8))
    np.testing.assert_allclose(result["b.vy"], -limit * np.tanh(9.81 * result.time / limit), atol=1e-5)
    np.testing.assert_allclose(result["f.speed"], -result["b.vy"], atol=1e-12)


def test_drag_takes_a_body_along_with_the_wind() -> None:
    """v = w (1 - 1/(1 + c w t/m)) with c = rho cd A/2, in space."""
    drag = {"type": "drag", "area": 0.8, "coefficient": 1.1, "density": 10.0, "wind": [3.0, 0.0, 0.0]}
    result = simulated(drag, {"position": [0, 0, 0]}, 2.0, dimensions=3)
    c = 0.5 * 10.0 * 1.1 * 0.8
    np.testing.assert_allclose(result["b.vx"], 3.0 - 3.0 / (1 + c * 3.0 * result.time / 2.0), atol=1e-5)


def test_two_masses_orbit_each_other_after_kepler() -> None:
    """A circle of radius 2 about a fixed mass: period 2 pi sqrt(r^3/(G M))."""
    attraction = {"type": "gravitation", "mass_i": 8.0, "mass_j": 2.0, "constant": 1.0}
    period = 2 * np.pi
    result = simulated(attraction, {"position": [2, 0], "velocity": [0, 2]}, period)
    np.testing.assert_allclose(np.hypot(result["b.x"], result["b.y"]), 2.0, atol=1e-4)
    assert result["b.x"][-1] == pytest.approx(2.0, abs=1e-5)
    assert result["b.y"][-1] == pytest.approx(0.0, abs=1e-3)


def test_a_bump_stop_gives_back_the_speed_without_damping() -> None:
    """Half a period pi sqrt(m/k) within a linear stop, between 0.5 and 1.5 m from the wall, then the other one."""
    stop = {"type": "bump_stop", "axis": [1, 0], "lower": 0.5, "upper": 1.5, "stiffness": 2e4, "locate": True}
    stay = np.pi * np.sqrt(2.0 / 2e4)
    round_trip = 2 * (1.0 / 2.0 + stay)
    result = simulated(stop, {"position": [1, 0], "velocity": [2, 0]}, round_trip)
    assert result["b.x"][-1] == pytest.approx(1.0, abs=1e-4)
    assert result["b.vx"][-1] == pytest.approx(2.0, abs=1e-4)
    depth = 2.0 * np.sqrt(2.0 / 2e4)  # v sqrt(m/k)
    assert result["b.x"].max() == pytest.approx(1.5 + depth, rel=1e-3)
    np.testing.assert_allclose(result["f.energy"] + result["energy.kinetic"], 4.0, rtol=1e-4)


def test_a_damped_stop_never_pulls() -> None:
    stop = {"type": "bump_stop", "axis": [1, 0], "lower": 0.5, "stiffness": 2e3, "damping": 80.0}
    stop |= {"damping_depth": 0.01, "exponent": 1.5}
    result = simulated(stop, {"position": [1, 0], "velocity": [-2, 0]}, 1.0)
    assert result["f.force"].min() >= 0
    assert result["f.force"].max() > 0
    assert 0 < result["b.vx"][-1] < 1.0


def test_forces_with_components_act_in_the_axes_that_are_named() -> None:
    """Axes of i on a turned marker, of the ground, and of the body itself."""
    turned = {"body": "ground", "angle": "90*deg"}
    for frame, wanted in (({}, (-1.0, 0.0)), ({"frame": GROUND}, (0.0, 1.0)), ({"frame": {"body": "b"}}, (0.0, -1.0))):
        force = {"type": "vector", "i": turned, "force": [0.0, 2.0], **frame}
        result = simulated(force, {"position": [1, 0], "angle": "180*deg"}, 1.0)
        np.testing.assert_allclose((result["b.vx"][-1], result["b.vy"][-1]), wanted, atol=1e-9)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"type": "single", "force": 1.0, "frame": GROUND}, "has a frame but no axis"),
        ({"type": "bump_stop", "stiffness": 1.0}, "must have a lower or an upper length"),
        ({"type": "bump_stop", "stiffness": 1.0, "lower": 2.0, "upper": 1.0}, "lower must not exceed upper"),
        ({"type": "bump_stop", "stiffness": 1.0, "lower": 2.0, "damping": 1.0}, "give the damping_depth"),
        ({"type": "general", "torque": [1.0, 2.0, 3.0]}, "must be a number in a planar model"),
        ({"type": "vector", "force": [1.0, 2.0, 3.0]}, r"must be \[x, y\] in a planar model"),
        ({"type": "vector", "force": ["nothing", 2.0]}, "nothing is called 'nothing'"),
        ({"type": "bushing", "stiffness": [1.0, -2.0]}, "must be zero or positive"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        simulated(fields, {"position": [1, 0]}, 1.0)


def test_forces_may_depend_on_each_other_and_on_themselves() -> None:
    """Two forces in a circle become unknowns of the equations: f = 1 - g/2, g = f gives f = 2/3."""
    single = {"type": "single", "axis": [1, 0], "i": GROUND, "j": {"body": "b"}}
    forces = {"f": {**single, "force": "1 - g.force/2"}, "g": {**single, "force": "f.force"}}
    d = Description(
        format_version=1, name="loop", forces=forces,
        bodies={"b": {"mass": 2.0, "inertia": 1.0, "position": [1, 0], "free": True}},
    )  # fmt: skip
    assert lower(d).model.unknowns
    result = mbd.Model.from_description(d).simulate(1.0, 0.1)
    np.testing.assert_allclose(result["f.force"], 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(result["b.vx"], 2 / 3 * result.time, atol=1e-9)


def test_springs_and_dampers_by_tables_hold_what_the_tables_say() -> None:
    """Outside the points too; the energy is the area below the curve."""
    tables = {
        "spring": {"x": [-1.0, 0.0, 1.0], "y": [-10.0, 0.0, 30.0], "extrapolate": "linear"},
        "damper": {"x": [-1.0, 0.0, 1.0], "y": [-4.0, 0.0, 1.0]},
    }
    spring = {"type": "translational", "spring_table": "spring", "damper_table": "damper", "free_length": 2.0}
    for length, speed, force, energy in (
        (2.5, 0.0, -15.0, 0.5 * 30 * 0.25),
        (1.5, 0.0, 5.0, 0.5 * 10 * 0.25),
        (4.0, 0.0, -60.0, 0.5 * 30 * 4.0),
        (0.5, 0.0, 15.0, 0.5 * 10 * 2.25),
        (2.0, -0.5, 2.0, 0.0),
        (2.0, 3.0, -1.0, 0.0),
    ):
        result = simulated(spring, {"position": [length, 0], "velocity": [speed, 0]}, 1e-3, tables=tables)
        assert result["f.force"][0] == pytest.approx(force, abs=1e-12)
        assert result["f.energy"][0] == pytest.approx(energy, abs=1e-12)


def test_a_table_and_a_number_for_one_thing_are_refused() -> None:
    tables = {"spring": {"x": [0.0, 1.0], "y": [0.0, 1.0]}}
    both = {"type": "rotational", "spring_table": "spring", "stiffness": 2.0}
    with pytest.raises(mbd.ModelError, match="has both stiffness and spring_table"):
        simulated(both, {"position": [1, 0]}, 1.0, tables=tables)
