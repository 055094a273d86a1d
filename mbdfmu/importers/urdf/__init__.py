"""URDF files become models: links bodies and markers, joints joints; must not know how a model is computed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import mbdfmu.forces
import mbdfmu.joints  # noqa: F401  with forces: fills the families, so that entries can be validated
from mbdfmu.description import Description
from mbdfmu.description.reading import read_bytes
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.masses import check_masses, stands
from mbdfmu.importers.urdf.naming import identifier, note_change
from mbdfmu.importers.urdf.placing import place
from mbdfmu.importers.urdf.reading import read_robot
from mbdfmu.importers.urdf.tree import arrange
from mbdfmu.importers.urdf.writing import sections

BASES = ("auto", "fixed", "floating")
GRAVITY = (0.0, 0.0, -9.81)  # m/s2; a URDF file has none


class Imported(NamedTuple):
    """A model and, line by line, what was decided and what the model does not hold of the file."""

    description: Description
    notes: tuple[str, ...]


def read_urdf(
    path: str | os.PathLike[str],
    *,
    base: str = "auto",
    name: str | None = None,
    gravity: Sequence[float] = GRAVITY,
) -> Imported:
    """Read a robot. Every line of the ModelError begins with the file and names the line of the XML.

    `base`: whether the root link is "fixed" to the ground or "floating"; "auto" fixes it if it has no inertial.
    """
    if base not in BASES:
        raise ModelError(f"base {base!r} is not known{did_you_mean(base, BASES)}; known: {', '.join(BASES)}")
    findings = Findings()
    try:
        robot = read_robot(read_bytes(Path(path)), findings)
        check_masses(robot, base, findings)
        tree = arrange(robot, findings)
        placed = place(tree, stands(tree.root, base), findings)
        findings.end_if_wrong()
        if base == "auto":
            _note_base(tree.root.name, placed.on_ground, findings)
        header = {"format_version": 1, "name": _name(robot.name, findings) if name is None else name, "dimensions": 3}
        rest = sections(placed, findings)
        text = f"imported from {Path(path).name}"
        description = Description(**header, text=text, gravity=list(gravity), **rest)
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {problem}" for problem in error.problems) from None
    return Imported(description, findings.notes)


def _name(given: str, findings: Findings) -> str:
    name = identifier(given)
    note_change(given, name, findings)
    return name


def _note_base(root: str, on_ground: bool, findings: Findings) -> None:
    """Say what was chosen where the caller left the choice."""
    if on_ground:
        findings.note('root link fixed to the ground, base="floating" (--floating) changes that', root)
    else:
        findings.note('root link free to move, base="fixed" (--fixed-base) changes that', root)
