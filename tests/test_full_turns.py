"""What starts full turns apart fits, and what stands in a branch that is not taken is not asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses.check import check
from mbdfmu.joints import Fixed, Prismatic

GROUND = {"body": "ground"}
TURN = 2 * np.pi


def guided(turns: float, joint: type = Prismatic) -> mbd.Model:
    model = mbd.Model("guided", gravity=(2.0, 0))
    model.add("slide", mbd.Body(mass=1, inertia=1, angle=TURN * turns))
    model.add("guide", joint(i=GROUND, j={"body": "slide"}))
    model.add("x", "slide.x")
    model.add("phi", "slide.phi")
    return model


@pytest.mark.parametrize("joint", [Prismatic, Fixed])
@pytest.mark.parametrize("turns", [1, -2, 40])
def test_full_turns_are_no_misfit(joint: type, turns: int) -> None:
    model = guided(turns, joint)
    assert check(model.compile()).passed
    for scheme in ("hht", "gcp", "dopri5", "radau"):
        result = model.simulate(1.0, 0.5, scheme=scheme)
        assert result["phi"] == pytest.approx(np.full(3, TURN * turns), abs=1e-9)
        assert result["x"][-1] == pytest.approx(1.0 if joint is Prismatic else 0.0, abs=1e-6)


def test_the_least_turn_closes_the_joint() -> None:
    assert guided(0.9).start(assemble=True)["phi"] == pytest.approx(TURN, abs=1e-12)
    with pytest.raises(mbd.ModelError, match=r"joint 'guide' \(angle\) is off by -0\.628 rad"):
        guided(0.9).start()


@pytest.mark.parametrize("interface", ["cs2", "cs3", "me2"])
def test_fmus_start_full_turns_apart(interface: str, tmp_path: Path) -> None:
    result = mbd.fmu.simulate(guided(1).export_fmu(tmp_path / "x.fmu", interface=interface), 1.0, 0.5)
    assert result["phi"] == pytest.approx(np.full(len(result.time), TURN), abs=1e-6)
    assert result["x"][-1] == pytest.approx(1.0, abs=1e-4)


def test_a_saved_state_keeps_its_turns() -> None:
    simulation = guided(3).start()
    saved = simulation.save()
    other = guided(3).start()
    other.restore(saved)
    other.advance(1.0)
    assert (other["phi"], other["x"]) == pytest.approx((3 * TURN, 1.0), abs=1e-6)


# ---------------------------------------------------------------- branches that are not taken


@pytest.mark.parametrize(
    "law",
    [
        "if(s > 10, 1/k, 2)",
        "if(s > 10 and time > 1/k, 1, 2)",
        "if(k > 0 and time > 1/k, 1, 2)",
        "if(s <= 10 or time > 1/k, 2, 1)",
        "if(s > 10, if(time > 1/k, 1, 3), 2)",
        "if(not (s > 10 and s > log(k)), 2, s^(1/k))",
    ],
)
@pytest.mark.parametrize("place", ["state", "output", "force"])
def test_what_is_not_needed_may_have_no_value(law: str, place: str) -> None:
    model = mbd.Model("branches", gravity=(0, 0))
    model.add("k", mbd.Parameter(value=0.0))
    model.add("s", mbd.State(rate="1"))
    model.add("body", mbd.Body(mass=1, inertia=1, free=True))
    add = {
        "state": lambda: model.add("y", mbd.State(rate=law)),
        "output": lambda: model.add("y", law),
        "force": lambda: model.add("push", mbd.forces.VectorForce(i=GROUND, j={"body": "body"}, force=[law, 0])),
    }
    add[place]()
    name, expected = {"state": ("y", 2.0), "output": ("y", 2.0), "force": ("body.vx", 2.0)}[place]
    assert model.simulate(1.0, 0.5)[name][-1] == pytest.approx(expected, abs=1e-6)
