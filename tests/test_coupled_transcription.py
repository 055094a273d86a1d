"""The transcription with X, V and F against solutions computed otherwise; the package has no part in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import coupled, hht
from reference.states import reference

SYSTEMS = {"pi_actuator": coupled.PiActuator, "arm": coupled.Arm}
STATES = {"pi_actuator": ["X1", "X2"], "arm": ["i1", "i2", "z1", "z2"]}
VARIABLES = {"pi_actuator": ["V1", "V2"], "arm": ["e1", "e2", "s", "u1", "u2", "T1", "T2"]}


def errors(name: str, at: int, steps: int, **options: Any) -> dict[str, float]:
    """Of the states and the variables, and of the angles, at one of the reference's times."""
    data, system = reference(name), SYSTEMS[name]()
    run = hht.Hht(system, 1e-10, 1.0, hht.Options(**options), data["time"][at] / steps)
    run.start(*system.start())
    for _ in range(steps):
        run.advance(data["time"][at])
    signals = {key: values[at] for key, values in data["signals"].items()}
    angles = [value for key, value in signals.items() if key.endswith(".phi")]
    known = {"q": (run.q[2::3], angles), "X": (run.X, [signals[k] for k in STATES[name]])}
    known["Y"] = run.Y[: len(VARIABLES[name])], [signals[k] for k in VARIABLES[name]]
    return {what: float(np.max(np.abs(mine - np.array(theirs)))) for what, (mine, theirs) in known.items()}


def orders(name: str, at: int, steps: int, **options: Any) -> dict[str, float]:
    coarse, fine = (errors(name, at, n, **options) for n in (steps, 2 * steps))
    return {what: float(np.log2(coarse[what] / fine[what])) for what in coarse}


@pytest.mark.parametrize(("name", "at", "steps"), [("pi_actuator", 1, 200), ("arm", 1, 200)])
def test_everything_is_of_second_order(name: str, at: int, steps: int) -> None:
    assert orders(name, at, steps) == pytest.approx(dict.fromkeys("qXY", 2.0), abs=0.05)


def test_eq_9a_is_of_first_order_and_draws_the_positions_along() -> None:
    assert orders("pi_actuator", 1, 400, states="paper", rho=0.95) == pytest.approx(dict.fromkeys("qXY", 1.0), abs=0.05)


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("states", "exponent"), [("corrected", -1 / 3), ("paper", -1 / 2)])
def test_steps_follow_the_tolerance(states: str, exponent: float) -> None:
    """Eqs. 37b and 38b: the error of X by eq. 9a is of second order only."""
    system, tolerances, steps = coupled.PiActuator(), [1e-4, 1e-5, 1e-6], []
    for tolerance in tolerances:
        run = hht.Hht(system, tolerance, 1.0, hht.Options(states=states, rho=0.75))
        run.start(*system.start())
        while run.t < 0.5:
            run.advance(0.5)
        steps.append(run.count["steps"])
    assert np.polyfit(np.log10(tolerances), np.log10(steps), 1)[0] == pytest.approx(exponent, abs=0.04)
