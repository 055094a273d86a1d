"""Checks that everything in a model is planar, or everything spatial; must not know what the values are for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from mbdfmu.description.messages import Location, path
from mbdfmu.description.parts import Body, Element, Whole
from mbdfmu.description.pieces import Pieces
from mbdfmu.description.values import Either, Only, Vector, shown

_KIND = {2: "planar", 3: "spatial"}
_POINT = {2: "[x, y]", 3: "[x, y, z]"}
_CURE = '; a spatial model says "dimensions": 3'


def wrong_dimensions(pieces: Pieces) -> Iterator[str]:
    """Every point, number or field that belongs to models of other dimensions; a default belongs to both."""
    if (dimensions := pieces.dimensions) is None:
        return
    for name, value in pieces.header.items():
        if isinstance(value, Vector) and any(value) and (reason := _misfit(dimensions, value, [])):
            yield f"{name}: {reason}"
    for section in pieces.named:
        for key, element in pieces.valid[section].items():
            for location, value, info in _fields((section, key), element):
                if value != info.default and (reason := _misfit(dimensions, value, info.metadata)):
                    yield f"{path(location)}: {reason}"
    yield from _planar_weights(pieces, dimensions)


def _fields(location: Location, item: object) -> Iterator[tuple[Location, Any, FieldInfo]]:
    """Every field of an element and of those inside it; the depth is that of the class, hence the recursion."""
    if isinstance(item, Element) and not isinstance(item, Whole):
        for name, info in type(item).model_fields.items():
            value, here = getattr(item, name), (*location, info.alias or name)
            yield here, value, info
            yield from _fields(here, value)
    elif isinstance(item, tuple) and not isinstance(item, Vector):
        for index, value in enumerate(item):
            yield from _fields((*location, index), value)


def _misfit(dimensions: int, value: object, metadata: list[Any]) -> str:
    cure = _CURE if dimensions == 2 else ""
    for mark in metadata:
        if isinstance(mark, Only) and mark.dimensions != dimensions:
            return f"belongs to {_KIND[mark.dimensions]} models; {mark.cure}{cure}"
        if isinstance(mark, Either) and isinstance(value, tuple) != (dimensions == 3):
            allowed = mark.spatial if dimensions == 3 else mark.planar
            return f"must be {allowed} in a {_KIND[dimensions]} model, found {_plain(value)}{cure}"
    if isinstance(value, Vector) and len(value) != dimensions:
        return f"must be {_POINT[dimensions]} in a {_KIND[dimensions]} model, found {_plain(value)}{cure}"
    return ""


def _plain(value: object) -> str:
    """Whole numbers as they are usually written."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_plain, value))}]"
    return f"{value:g}" if isinstance(value, float) else shown(value)


def _planar_weights(pieces: Pieces, dimensions: int) -> Iterator[str]:
    for name, body in pieces.valid["bodies"].items():
        if dimensions == 2 and isinstance(body, Body) and not body.external and not body.weighed:
            yield f"bodies.{name}: a planar body gives its mass and inertia itself; shapes are only drawn{_CURE}"
