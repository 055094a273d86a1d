"""`check` counts where a simulation can start, and says so where the pose as written is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.analyses.check import check
from mbdfmu.cli import main
from mbdfmu.joints import Distance, Revolute

GROUND = {"body": "ground"}
AXES = {"mass": 1, "inertia": (0.01, 0.1, 0.1)}


def four_bar(scale: float) -> mbd.Model:
    """A four-bar in space, all hinges about z: 2 rows too many where it is closed. Scaled places are open by metres."""
    model = mbd.Model("loop", dimensions=3, gravity=(0, 0, 0))
    places = {"left": (0, 0.5), "top": (0.5, 1), "right": (1, 0.5)}
    for name, (x, y) in places.items():
        turn = None if name == "top" else {"axis": (0, 0, 1), "angle": "90*deg"}
        tilt = {"axis": (1, 0.3, 0), "angle": f"{20 * (scale - 1)}*deg"} if scale != 1 and name == "top" else turn
        model.add(name, mbd.Body(**AXES, position=(scale * x, scale * y, scale - 1), orientation=tilt))
    model.add("foot", Revolute(i=GROUND, j={"body": "left", "at": (-0.5, 0, 0)}))
    model.add("knee", Revolute(i={"body": "left", "at": (0.5, 0, 0)}, j={"body": "top", "at": (-0.5, 0, 0)}))
    model.add("elbow", Revolute(i={"body": "top", "at": (0.5, 0, 0)}, j={"body": "right", "at": (0.5, 0, 0)}))
    model.add("hand", Revolute(i={"body": "right", "at": (-0.5, 0, 0)}, j={"body": "ground", "at": (1, 0, 0)}))
    return model


def test_freedoms_are_counted_after_assembly() -> None:
    closed, open_by_metres = check(four_bar(1.0).compile()), check(four_bar(3.0).compile())
    assert (closed.freedoms, closed.rank, len(closed.redundant), closed.counted) == (1, 17, 3, "")
    assert closed.passed and not open_by_metres.passed
    assert (open_by_metres.freedoms, open_by_metres.rank, len(open_by_metres.redundant)) == (1, 17, 3)
    assert open_by_metres.counted.startswith("after assembly: body '")
    assert any("leave it open by" in finding for finding in open_by_metres.findings)


def test_what_cannot_be_assembled_is_said() -> None:
    model = four_bar(1.0)
    model.add("far", Distance(i={"body": "ground", "at": (9, 0, 0)}, j={"body": "top"}, length=1))
    found = check(model.compile())
    assert not found.passed
    assert found.counted == "as written, where joints are open: this means nothing"


def test_the_command_says_where_it_counts(tmp_path: Path) -> None:
    four_bar(3.0).save(tmp_path / "loop.json")
    result = CliRunner().invoke(main, ["check", str(tmp_path / "loop.json")], prog_name="mbdfmu")
    assert result.exit_code == 1
    assert "after assembly: body '" in result.output and "leave it open by" in result.output


@pytest.mark.parametrize("name", ["pendulum", "slider_crank3d", "bricard"])
def test_models_that_fit_are_counted_as_they_are(name: str) -> None:
    assert check(mbd.models.load(name).compile()).counted == ""
