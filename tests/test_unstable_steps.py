"""A fixed step that is too long for stiff forces fails by name where its motion grows without bound."""

from pathlib import Path

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.forces import Translational

TOO_LONG = 0.02  # s, for a spring of 1000 rad/s
GROWS = r"grows without bound: body 'ball' x is .* times the model's length at t = .* s; the fixed step of 0.02 s is"
FMUS = [("native", "cs2"), ("python", "cs2"), ("native", "cs3")]  # runtime and interface


def stiff(**fields: float) -> mbd.Model:
    model = mbd.Model("stiff")
    model.add("ball", mbd.Body(mass=1, inertia=1, position=(1.5, 0), free=True))
    spring = {"stiffness": 1e6, "free_length": 1.0, **fields}
    model.add("spring", Translational(i={"body": "ground"}, j={"body": "ball"}, **spring))
    return model


@pytest.mark.parametrize("scheme", ["dopri5", "dop853", "welch2", "gcp", "baumgarte"])
def test_a_fixed_step_that_is_unstable_fails_by_name(scheme: str) -> None:
    """It ended with 1e118 m, and no failure."""
    with pytest.raises(mbd.StepFailed, match=GROWS + " too long .* shorter one, or error control") as caught:
        stiff().simulate(2.0, 0.1, scheme=scheme, step=TOO_LONG)
    assert np.abs(caught.value.result["ball.x"]).max() < 1e12, "what is kept was within reach"


@pytest.mark.parametrize(("runtime", "interface"), FMUS)
def test_an_fmu_whose_steps_are_unstable_fails_by_name(runtime: str, interface: str, tmp_path: Path) -> None:
    path = tmp_path / "stiff.fmu"
    stiff().export_fmu(path, runtime, interface=interface, scheme="dopri5", step=TOO_LONG)
    with pytest.raises(mbd.StepFailed, match=GROWS):
        mbd.fmu.simulate(path, 2.0, 0.1)


def test_a_motion_that_grows_by_itself_is_told_of_its_forces() -> None:
    """A force with the wrong sign: cosh(29) is above 1e12."""
    model = mbd.Model("wrong_sign")
    model.add("x", mbd.Coordinate(start=1.0, unit="m", force="x"))
    model.add_mass("x", 1.0)
    with pytest.raises(mbd.StepFailed, match=r"grows without bound: .* at t = 29 s; check forces, their signs"):
        model.simulate(50.0, 1.0)


def test_what_begins_far_away_may_be_there() -> None:
    """A planet in the units of a wheel."""
    model = mbd.Model("far", length=1.0)
    model.add("planet", mbd.Body(mass=1, inertia=1, position=(6e12, 0), velocity=(1e3, 0), free=True))
    assert model.simulate(10.0, 1.0)["planet.x"][-1] == pytest.approx(6e12 + 1e4)
