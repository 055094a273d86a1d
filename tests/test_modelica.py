"""Models as equations in Modelica: run by rumoca, they do what `simulate` does; what cannot be said is refused."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from reference.force_models import cases, described, element
from reference.modelica import compared, exported, ramps, simulated
from reference.models import link, on
from reference.models import model as planar_model
from reference.spatial_models import JOINTS, RELATIONS, joint_model, relation_model

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.description import Description, Joint
from mbdfmu.joints import Relation
from mbdfmu.modelica.words import RESERVED, Names, identifier, number, quoted, wrapped

rumoca = pytest.importorskip("rumoca", reason="rumoca (extra [test]) is not installed")

# ---------------------------------------------------------------- shipped models

# How long the motion can be told apart from rounding: chaotic ones and those with a singular pose end earlier.
ENDS = {"andrews": 0.03, "andrews_angles": 0.03, "andrews_stiff": 0.03, "four_bar": 0.5, "four_bar3d": 0.5,
        "stick_slip": 0.5, "gyroscope": 0.3, "stewart": 0.2, "full_vehicle": 0.1, "double_wishbone": 0.3}  # fmt: skip
SLOW = ("stewart", "full_vehicle", "double_wishbone", "ring")  # more than 20 s in rumoca
REFUSED = {
    "bouncing_ball": ["impact 'bounce'"],
    "trebuchet": ["event 'release' changes what is held (joint 'rope')", "event 'brake'", "impact 'trough'"],
}
SHIPPED = [
    pytest.param(name, marks=pytest.mark.nightly if name in SLOW else ())
    for name in mbd.models.names()
    if name not in REFUSED
]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_moves_as_here(name: str, tmp_path: Path) -> None:
    compared(mbd.models.load(name), ENDS.get(name, 1.0), tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_equations_cannot_say_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError) as found:
        mbd.models.load(name).export_modelica(tmp_path / "x.mo", "equations")
    assert len(found.value.problems) == len(REFUSED[name])
    for problem, words in zip(found.value.problems, REFUSED[name], strict=True):
        assert problem.startswith(words)
        assert problem.endswith("export an FMU, which keeps it")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- every joint and force

PLANAR = [name for name, joint in Joint.members().items() if joint.freedoms.planar is not None]
FIELDS: dict[str, dict[str, Any]] = {"distance": {"length": 0.7}, "rolling_disc": {"radius": 0.4}}


def planar_joint(kind: str) -> Description:
    bodies = {
        "one": {"mass": 1.3, "inertia": 0.4, "position": [0.2, -0.1], "angle": 0.3, "omega": 0.5, "free": True},
        "two": {"mass": 0.7, "inertia": 0.2, "position": [0.6, 0.4], "angle": -0.5, "velocity": [0.3, 1], "free": True},
    }
    joint = link(kind, on("one", 0.3, 0.1, 0.2), on("two", -0.2, 0.3, 0.4), **FIELDS.get(kind, {}))
    return planar_model("joint", bodies=bodies, joints={"joint": joint})


@pytest.mark.parametrize("kind", PLANAR)
def test_every_joint_of_the_plane(kind: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(planar_joint(kind)), 0.5, tmp_path, assemble=True)


@pytest.mark.parametrize("ends", ["body-body", "ground-body"])
@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_of_space(kind: str, ends: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(joint_model(kind, ends)), 0.2, tmp_path)


@pytest.mark.parametrize("kind", RELATIONS)
def test_every_relation(kind: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(relation_model(kind)), 0.2, tmp_path)


def test_no_joint_is_left_out() -> None:
    relations = [name for name, joint in Joint.members().items() if issubclass(joint, Relation)]
    assert {*PLANAR, *JOINTS, *RELATIONS} == {*Joint.members()}
    assert sorted(relations) == sorted(RELATIONS)


@pytest.mark.parametrize("case", cases())
def test_every_force(case: Any, tmp_path: Path) -> None:
    """Each in a model of two free bodies, from rest."""
    description = described(case, element(case, ("one", "two")))
    compared(mbd.Model.from_description(description), 0.3, tmp_path, assemble=True)
