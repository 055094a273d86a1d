"""Checks between the entries of a description: names, references, ends, connections; must not know any formula.

They run on whatever pieces are valid. A broken piece still counts as existing, so that it causes no second finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from mbdfmu.description.dimensions import wrong_dimensions
from mbdfmu.description.messages import Location, listed, path
from mbdfmu.description.parts import Element, Marker, Whole
from mbdfmu.description.pieces import Pieces
from mbdfmu.description.values import IDENTIFIER, BodyReference, MarkerReference, Reference
from mbdfmu.errors import did_you_mean
from mbdfmu.expressions import FUNCTIONS
from mbdfmu.expressions.parser import KEYWORDS, LOOKUP

GROUND = "ground"
RESERVED = frozenset({"time", GROUND, "solver", "deg", "pi", "der", "energy", LOOKUP, *FUNCTIONS, *KEYWORDS})
_NO_REFERENCE = ("text", "unit", "type")  # entries whose text is no expression and no name


def cross_checks(pieces: Pieces) -> list[str]:
    """Every finding between the pieces."""
    return [problem for check in _CHECKS for problem in check(pieces)]


def _reserved_names(pieces: Pieces) -> Iterator[str]:
    for section in pieces.named:
        for name in RESERVED.intersection(pieces.given[section]):
            yield f"{section}.{name}: the name is reserved; choose another, reserved are {', '.join(sorted(RESERVED))}"


def _name_clashes(pieces: Pieces) -> Iterator[str]:
    first: dict[str, str] = {}
    for section in pieces.named:
        for name in pieces.given[section]:
            owner = first.setdefault(name, section)
            if owner != section:
                yield f"{section}.{name}: the name is taken by {owner}.{name}; sections share their names, rename one"


def _unknown_references(pieces: Pieces) -> Iterator[str]:
    for location, reference in _references(pieces):
        known = [name for section in reference.sections for name in _known(pieces, section)]
        lost = not pieces.lost.isdisjoint(reference.sections) or _in_broken_part(pieces, reference)
        if reference not in known and not lost:
            hint = did_you_mean(reference, known) or _cure(pieces, reference)
            yield f"{path(location)}: no {reference.kind} is named {reference!r}{hint}; known: {listed(known)}"


def _cure(pieces: Pieces, reference: Reference) -> str:
    """The commonest mix-up: the name of a body where a marker belongs, or the other way round."""
    if isinstance(reference, MarkerReference) and reference in _known(pieces, "bodies"):
        return f'; it is a body, write {{"body": "{reference}"}}'
    if isinstance(reference, BodyReference) and reference in _known(pieces, "markers"):
        return "; it is a marker, give its body"
    return ""


def _known(pieces: Pieces, section: str) -> list[str]:
    return [*([GROUND] if section == "bodies" else []), *pieces.given[section], *pieces.inner[section]]


def _in_broken_part(pieces: Pieces, reference: str) -> bool:
    """Whether a name belongs to a sub-model that could not be read."""
    part = reference.partition(".")[0]
    return part != reference and part in pieces.given["submodels"] and part not in pieces.valid["submodels"]


def _equal_ends(pieces: Pieces) -> Iterator[str]:
    for section in ("joints", "forces"):
        for name, element in pieces.valid[section].items():
            i, j = (_body(pieces, getattr(element, end, None)) for end in ("i", "j"))
            if i is not None and i == j:
                yield f"{section}.{name}: both ends are on {_called(i)}; i and j must be on two different bodies"


def _body(pieces: Pieces, end: Marker | str | None) -> str | None:
    if isinstance(end, str) and end in pieces.inner["markers"]:
        part, marker = pieces.inner["markers"][end]
        attached = pieces.valid["submodels"][part].attach
        return str(attached.get(marker.body, marker.body if marker.body == GROUND else f"{part}.{marker.body}"))
    marker = pieces.valid["markers"].get(end) if isinstance(end, str) else end
    return marker.body if isinstance(marker, Marker) else None


def _called(body: str) -> str:
    return GROUND if body == GROUND else f"body '{body}'"


def _disconnected_bodies(pieces: Pieces) -> Iterator[str]:
    if not pieces.mentions_complete:
        return
    mentioned = _mentioned(pieces)
    for name, body in pieces.valid["bodies"].items():
        if not body.free and name not in mentioned:
            yield f'bodies.{name}: nothing refers to it; connect it by a joint or a force, or give "free": true'


def _mentioned(pieces: Pieces) -> set[str]:
    """Every identifier in a name or expression, also of broken entries: their author meant to refer to it."""
    found: set[str] = set()
    waiting: list[Any] = [e for entries in pieces.given.values() for e in entries.values()]
    seen: dict[int, Any] = {}  # data built in Python may contain themselves
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.update(re.findall(IDENTIFIER, item))
        elif id(item) in seen:
            continue
        elif isinstance(item, Element):
            waiting.append(item.to_data())
        elif isinstance(item, dict):
            waiting.extend(value for key, value in item.items() if key not in _NO_REFERENCE)
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        seen[id(item)] = item  # kept alive, so that its id stays its own
    return found


def _mass_entries(pieces: Pieces) -> Iterator[str]:
    known = [*pieces.given["coordinates"], *pieces.inner["coordinates"]]
    for key in pieces.given["mass"]:
        for name in key.split(","):
            lost = "coordinates" in pieces.lost or _in_broken_part(pieces, name)
            if name not in known and not lost:
                hint = did_you_mean(name, known)
                yield f"{path(('mass', key))}: no coordinate is named {name!r}{hint}; known: {listed(known)}"


def _unfit_submodels(pieces: Pieces) -> Iterator[str]:
    """What a sub-model is told must exist in it, and both must be models of one kind."""
    for name, submodel in pieces.valid["submodels"].items():
        content = submodel.content
        if pieces.dimensions is not None and content.dimensions != pieces.dimensions:
            found, wanted = (f'"dimensions": {d}' for d in (content.dimensions, pieces.dimensions))
            yield f"submodels.{name}: the model '{content.name}' has {found}, this one {wanted}; both must be alike"
        if pieces.dimensions == 2 and submodel.mirror == "z":
            yield f"submodels.{name}.mirror: must be 'x' or 'y' in a planar model, found 'z'"
        terms = pieces.header.get("velocity_terms", "derived")
        told = "velocity_terms" not in pieces.wrong and bool(content.merged.coordinates)
        if told and content.velocity_terms != terms:
            yield f"submodels.{name}: velocity_terms of the model '{content.name}' must be {terms!r} as in this one"
        for key in submodel.parameters:
            if key not in content.merged.parameters:
                hint, known = did_you_mean(key, content.merged.parameters), listed(content.merged.parameters)
                yield f"submodels.{name}.parameters: no parameter is named {key!r}{hint}; known: {known}"
        yield from _attachments(name, submodel)


def _attachments(name: str, submodel: Any) -> Iterator[str]:
    external = [key for key, body in submodel.content.merged.bodies.items() if body.external]
    for key in submodel.attach:
        if key not in external:
            hint = did_you_mean(key, external)
            yield f"submodels.{name}.attach: no external body is named {key!r}{hint}; known: {listed(external)}"
    for key in external:
        if key not in submodel.attach:
            yield f'submodels.{name}: body {key!r} is external; give "attach": {{"{key}": a body of this model}}'


def _references(pieces: Pieces) -> Iterator[tuple[Location, Reference]]:
    for section in pieces.named:
        for name, element in pieces.valid[section].items():
            yield from held((section, name), element)


def held(location: Location, item: object) -> Iterator[tuple[Location, Reference]]:
    """The references inside a valid element; its depth is that of the class, hence the recursion."""
    if isinstance(item, Reference):
        yield location, item
        return
    inside: Any = ()
    if isinstance(item, Element) and not isinstance(item, Whole):
        inside = item
    elif isinstance(item, dict):
        inside = item.items()
    elif isinstance(item, list | tuple):
        inside = enumerate(item)
    for key, value in inside:
        yield from held((*location, key), value)


_CHECKS: tuple[Callable[[Pieces], Iterator[str]], ...] = (
    _reserved_names,
    _name_clashes,
    _unknown_references,
    _equal_ends,
    _mass_entries,
    _unfit_submodels,
    wrong_dimensions,
    _disconnected_bodies,
)
