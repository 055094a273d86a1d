"""Gives names that a model file allows, near to those of the robot; must not know what is named."""

from __future__ import annotations

import re

from mbdfmu.description import RESERVED
from mbdfmu.importers.urdf.findings import Findings


class Names:
    """The names given so far; each is given once, since the sections of a model share them."""

    def __init__(self, findings: Findings) -> None:
        self._taken = set(RESERVED)
        self._findings = findings

    def give(self, wanted: str, kind: str) -> str:
        """The name itself where it is allowed and free, else one with the kind of element or a number behind it."""
        stem = identifier(wanted)
        name, count = stem, 1
        while name in self._taken:
            name = f"{stem}_{kind}" if count == 1 else f"{stem}_{kind}_{count}"
            count += 1
        self._taken.add(name)
        note_change(wanted, name, self._findings)
        return name


def note_change(wanted: str, name: str, findings: Findings) -> None:
    """Say that something is called otherwise than in the file."""
    if name != wanted:
        findings.note("names changed, a model has letters, digits and _, each once", f"'{wanted}' to {name}")


def identifier(text: str) -> str:
    """Letters, digits and _, not beginning with a digit."""
    name = re.sub("[^A-Za-z0-9_]", "_", text)
    return name if re.match("[A-Za-z_]", name) else f"_{name}"
