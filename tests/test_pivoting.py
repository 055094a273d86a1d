"""Where pivots are not safe by construction: coordinates without mass, coupled masses, singular positions, hubs."""

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses import Settings
from mbdfmu.analyses.native import _solver
from mbdfmu.description import Description
from mbdfmu.joints import Revolute
from mbdfmu.lowering import lower


def test_coordinate_without_mass_waits_for_its_constraint() -> None:
    """A massless pointer on an oscillator: eliminated last, no pivoting needed."""
    model = mbd.Model("pointer")
    model.add("x", mbd.Coordinate(start=1, unit="m", force="-9*x"))
    model.add_mass("x", 2)
    model.add("pointer", mbd.Coordinate(start=2, unit="m"))
    model.add("link", mbd.Constraint(value="pointer - 2*x"))
    result = model.simulate(2.0, 0.1, tolerance=1e-9)
    np.testing.assert_allclose(result["pointer"], 2 * np.cos(np.sqrt(4.5) * result.time), atol=1e-4)
    assert result.statistics["pivoting_fallbacks"] == 0


def test_zero_pivots_of_coupled_masses_fall_back_to_pivoting() -> None:
    """M = [[0, 1], [1, 0]] is regular, but no elimination without pivoting can start on it."""
    model = mbd.Model("crossed")
    model.add("a", mbd.Coordinate(start=1, unit="m", force="-b"))
    model.add("b", mbd.Coordinate(start=0.5, unit="m", force="-a"))
    model.add_mass("a,b", 1)
    result = model.simulate(2.0, 0.1, tolerance=1e-9)
    np.testing.assert_allclose(result["a"], np.cos(result.time), atol=1e-4)
    assert result.statistics["pivoting_fallbacks"] > 0


def test_level_four_bars_are_passed() -> None:
    """Singular when level: the motion is smooth there, and is passed."""
    result = mbd.models.load("four_bar", N=3).simulate(3.0, 0.1, tolerance=1e-7)
    heights = result["crank0.y"]
    assert heights.min() < -0.4 < 0.4 < heights.max()
    assert result.statistics["worst_position_violation"] < 1e-9


@pytest.mark.parametrize("arms", [3, 30, 300])
def test_hub_with_many_arms_costs_linear_operations(arms: int) -> None:
    """The rows of an arm follow the arm: a hub does not fill the matrix."""
    model = mbd.Model("hub", gravity=(0, -9.81))
    model.add("hub", mbd.Body(mass=1, inertia=1, free=True))
    for k in range(arms):
        x, y = np.cos(2 * np.pi * k / arms), np.sin(2 * np.pi * k / arms)
        model.add(f"arm{k}", mbd.Body(mass=1, inertia=0.1, position=(1.5 * x, 1.5 * y), angle=2 * np.pi * k / arms))
        model.add(f"pin{k}", Revolute(i={"body": "hub", "at": (x, y)}, j={"body": f"arm{k}", "at": (-0.5, 0)}))
    system = _solver.System(lower(model.description).blob)
    assert system.elimination_operations < 60 * (arms + 1)
    simulation = _solver.Simulation(system, *Settings().native())
    simulation.start()
    simulation.advance(0.1)
    assert simulation.statistics["pivoting_fallbacks"] == 0


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("density", [1e-3, 1.0, 1e6])
def test_size_and_mass_do_not_decide_about_pivots(scale: float, density: float) -> None:
    """The same two links from ten micrometres to a kilometre: time goes with the root of the length."""
    model = mbd.Model("links", gravity=(0, -10))
    mass = density * scale**2
    for k in range(2):
        body = mbd.Body(mass=mass, inertia=mass * scale**2 / 12, position=((k + 0.5) * scale, 0))
        model.add(f"link{k}", body)
        i = {"body": f"link{k - 1}", "at": (scale / 2, 0)} if k else {"body": "ground"}
        model.add(f"pin{k}", Revolute(i=i, j={"body": f"link{k}", "at": (-scale / 2, 0)}))
    simulation = model.start(start={"link1.phi": 0.1}, tolerance=1e-9)
    simulation.advance(np.sqrt(scale))
    assert simulation.statistics["pivoting_fallbacks"] <= 2  # only the start that keeps link1.phi pivots
    assert simulation["link0.phi"] == pytest.approx(-2.81553945, abs=1e-5)  # the same for all; dop853 at 1e-11


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_light_body_between_heavy_ones_costs_no_steps(dimensions: int) -> None:
    """Rounding of what joints hold reached accelerations: 2265 steps for 51 with a ratio of 1e8."""

    def steps(ratio: float) -> int:
        rest = [0.0] * (dimensions - 2)
        joint = "revolute" if dimensions == 2 else "spherical"
        bodies = {
            name: {"mass": m, "inertia": m / 12 if dimensions == 2 else [m / 12] * 3, "position": [x, 0, *rest]}
            for name, m, x in (("light", 1.0, 0.5), ("heavy", ratio, 1.5))
        }
        ends = {"at": [-0.5, 0, *rest]}
        first = {"type": joint, "i": {"body": "ground"}, "j": {"body": "light", **ends}}
        second = {"type": joint, "i": {"body": "light", "at": [0.5, 0, *rest]}, "j": {"body": "heavy", **ends}}
        description = Description(
            format_version=1, name="bars", dimensions=dimensions, gravity=[0, -9.81, *rest], length=1, bodies=bodies,
            joints={"first": first, "second": second},
        )  # fmt: skip
        simulation = mbd.Model.from_description(description).start(scheme="dop853", tolerance=1e-10)
        simulation.advance(1.0)
        return simulation.statistics["steps"]

    assert steps(1e8) <= 1.1 * steps(1e4)
