"""Force elements of every type between bodies, or a body and the ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.forces import ForceElement
from search.fields import drawn
from search.independent import FORCES
from search.signals import effort
from search.sketch import GROUND, Sketch, built

REACH = 0.5  # m, between the frames at the start
NEAR = -0.02, 0.15  # m: the gap of a contact at the start
TRIES = 8


def kinds(dimensions: int) -> list[str]:
    return [name for name, member in ForceElement.members().items() if dimensions in member.dimensions]


def forces(sketch: Sketch) -> None:
    for _ in range(sketch.draw.count(0, 4)):
        _tried(sketch)


def _tried(sketch: Sketch) -> None:
    """A force that the model accepts; contacts near each other."""
    known = kinds(sketch.dimensions)
    kind = sketch.draw.pick([name for name in known if name in FORCES] if sketch.plain else known)
    for _ in range(TRIES):
        element = _element(sketch, kind)
        if _fits(sketch, element):
            sketch.add("forces", "f", element)
            return


def _fits(sketch: Sketch, element: dict[str, Any]) -> bool:
    """Whether a joint that it acts in is one of those it knows, and whether a contact is near; others fit."""
    fields = {name: value for name, value in element.items() if name != "type"}
    if "joint" not in element and "gap" not in ForceElement.named(element["type"])(**fields).outputs(sketch.dimensions):
        return True
    entries = {
        name: sketch.data[name]
        for name in ("format_version", "name", "dimensions", "bodies", "inputs")
        if name in sketch.data
    }
    entries |= {"joints": sketch.section("joints")} if "joint" in element else {}
    still = {name: value for name, value in element.items() if not _is_expressed(value)}
    try:
        now = built({**entries, "forces": {"f": still}}).start(assemble="joint" in element)
    except (ModelError, StepFailed):
        return False
    return "f.gap" not in now.names or NEAR[0] <= now["f.gap"] <= NEAR[1]


def _is_expressed(value: Any) -> bool:
    return isinstance(value, str) and "(" in value


def _element(sketch: Sketch, kind: str) -> dict[str, Any]:
    draw, d, member = sketch.draw, sketch.dimensions, ForceElement.named(kind)
    fields = drawn(member, sketch, effort(sketch))
    if "j" not in member.model_fields:
        return {"type": kind, **fields}
    j = draw.pick(sketch.bodies)
    i = draw.pick([GROUND, *(other for other in sketch.bodies if other != j)])
    origin, axes = sketch.pose(j)
    rotation = np.eye(3) if draw.chance(0.5) else draw.rotation(d)
    place = origin + axes @ draw.point(d, 0.3)
    away = draw.point(d, REACH)
    if "length" in fields and "axis" in member.model_fields:  # it is straight at the start
        along = np.array([*fields.get("axis", [1.0, 0.0, 0.0]), 0.0][:3])
        away = -rotation @ along / np.linalg.norm(along) * fields["length"]
    return {
        "type": kind,
        "i": sketch.marker(i, place + away, rotation),
        "j": sketch.marker(j, place, rotation),
        **fields,
    }
