"""A ball on a plane against closed forms and motions computed elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import contact

import mbdfmu as mbd
import mbdfmu.forces
import mbdfmu.joints
from mbdfmu.description import Description

HEIGHT = 0.5  # m, from which it drops
SPRING: dict[str, Any] = {"stiffness": 1e4, "normal": "linear"}
HUNT_CROSSLEY: dict[str, Any] = {"stiffness": 1e6, "normal": "hunt_crossley", "exponent": 1.5, "dissipation": 0.3}


def ball(law: dict[str, Any], *, dimensions: int = 2) -> mbd.Model:
    """One kilogram at rest above a plane."""
    up = dimensions - 1
    place = [0.0] * up + [HEIGHT + 0.1]
    inertia = 0.01 if dimensions == 2 else [0.01, 0.01, 0.01]
    pad = {"type": "sphere_plane", "i": {"body": "ground"}, "j": {"body": "ball"}, "radius": 0.1, "locate": True}
    data = {
        "gravity": [0.0] * up + [-9.81],
        "length": 0.1,
        "bodies": {"ball": {"mass": 1, "inertia": inertia, "position": place}},
        "forces": {"pad": pad | law},
    }
    if dimensions == 3:
        data["dimensions"] = 3
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": "ball", **data}))


def touches(simulation: Any, end: float) -> list[float]:
    """Times at which the gap has changed its sign."""
    simulation.advance(end)
    return [t for t, name in simulation.events if name == "pad.gap"]


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_contacts_of_a_spring_begin_and_end_in_time(dimensions: int, damping: float) -> None:
    """With damping the force jumps where the contact begins, and no step ends right there."""
    closed = contact.Spring(mass=1.0, k=1e4, c=damping, pulls=False).contacts(HEIGHT, 2)
    simulation = ball(SPRING | {"damping": damping}, dimensions=dimensions).start(tolerance=1e-11)
    assert touches(simulation, 1.1)[:4] == pytest.approx([t for pair in closed for t in pair], abs=1e-6)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_contacts_with_a_jump_are_located_at_any_tolerance(tolerance: float) -> None:
    """The span in which no step can end, of the size of h^2 c/m, is crossed without one. The last step before it may
    end with as much of the jump as its tolerance does not see.
    """
    simulation = ball(SPRING | {"damping": 20}).start(tolerance=tolerance)
    assert touches(simulation, 2.0)[0] == pytest.approx(np.sqrt(2 * HEIGHT / 9.81), abs=2e-8)


def test_a_ball_of_hunt_and_crossley_nears_the_converged_motion() -> None:
    """Errors of contact times add up over bounces; they fall with the power 2/3 of the tolerance."""
    times, found = np.array([0.5, 1.0]), []
    converged = contact.dropped(contact.hunt_crossley(1e6, 1.5, 3e5), 1.0, HEIGHT, times)
    for tolerance in (1e-6, 1e-8, 1e-10):
        simulation, apart = ball(HUNT_CROSSLEY).start(tolerance=tolerance), []
        for t, x in zip(times, converged.height, strict=True):
            simulation.advance(t)
            apart.append(abs(simulation["ball.y"] - 0.1 - x))
        found.append(max(apart))
    assert found[2] < 3e-5
    assert np.log10(found[0] / found[2]) / 4 == pytest.approx(2 / 3, abs=0.1)
