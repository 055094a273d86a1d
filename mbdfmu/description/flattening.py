"""Dissolves sub-models: their elements come with longer names, placed, mirrored, attached; must not know any formula.

Inner sub-models are dissolved when their own model is read, so that one level remains to be done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mbdfmu.description.checks import GROUND
from mbdfmu.description.messages import explained, problems
from mbdfmu.description.parts import Body, Element, Joint, Marker, Motion, Orientation, Output
from mbdfmu.description.pieces import sections
from mbdfmu.description.placement import Placement
from mbdfmu.description.scalars import negated, times
from mbdfmu.description.seen import Seen
from mbdfmu.description.values import DOTTED, Formula, Mirrored, Reference, Vector
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.description.description import Description, Submodel


def flatten(description: Description) -> Description:
    """The same model without sub-models; a ModelError lists all that does not fit."""
    kind = type(description)
    merged = {name: dict(getattr(description, name)) for name in _sections(description)}
    waiting, found = dict(description.submodels), []
    while ready := [name for name, part in waiting.items() if _attached_to(part) <= {GROUND, *merged["bodies"]}]:
        for name in ready:
            try:
                _join(merged, _Part(name, waiting.pop(name), description.dimensions, merged["bodies"]).sections())
            except ModelError as error:
                found += [f"submodels.{name}: {problem}" for problem in error.problems]
    if waiting and not found:
        found = [f"submodels.{name}.attach: sub-models are attached to each other in a circle" for name in waiting]
    if found:
        raise ModelError(found)
    fields = {name: getattr(description, name) for name in kind.model_fields if name not in sections(kind)}
    return kind.model_construct(None, **fields, **merged)


def _sections(description: Description) -> list[str]:
    return [name for name in sections(type(description)) if name != "submodels"]


def _attached_to(part: Submodel) -> set[str]:
    return set(part.attach.values())


def _join(merged: dict[str, dict[str, Any]], added: Mapping[str, Mapping[str, Any]]) -> None:
    for section, entries in added.items():
        merged[section].update(entries)


class _Part:
    """One sub-model on its way into the model around it."""

    def __init__(self, name: str, part: Submodel, dimensions: int, bodies: Mapping[str, Body]) -> None:
        self.name, self.part, self.dimensions = name, part, dimensions
        self.content = part.content.merged
        self.place = Placement.of(part.position, part.angle, part.orientation, part.mirror)
        elements = {key: element for _, key, element in self.content.elements()}
        self.seen = Seen(name, elements, self.place, dimensions)
        self.places = {GROUND: self.place}  # of markers on what is outside, in the frame of that body
        for inner, outer in part.attach.items():
            self.places[inner] = self._seen_from(bodies.get(outer))

    def _seen_from(self, body: Body | None) -> Placement:
        if body is None:
            return self.place
        return self.place.seen_from(body.position, body.angle, body.orientation)

    def sections(self) -> dict[str, dict[str, Any]]:
        """All entries with their full names."""
        found: list[str] = []
        done: dict[str, dict[str, Any]] = {}
        for section in _sections(self.content):
            done[section] = {}
            for key, entry in getattr(self.content, section).items():
                if not getattr(entry, "external", False):
                    made = self._entry(section, key, entry, found)
                    done[section][",".join(f"{self.name}.{one}" for one in key.split(","))] = made
        if self.seen.uses_ground:
            done["markers"][f"{self.name}.{GROUND}"] = self._entry("markers", GROUND, Marker(body=GROUND), found)
        if found:
            raise ModelError(found)
        return done

    def _entry(self, section: str, key: str, entry: Any, found: list[str]) -> Any:
        try:
            if section == "parameters" and key in self.part.parameters:
                return type(entry).model_validate({**dict(entry), "value": self.part.parameters[key]})
            return self._value(entry)
        except ValidationError as error:
            found += problems(explained(error), (section, key))
        except ModelError as error:
            found += [f"{section}.{key}: {problem}" for problem in error.problems]
        return None

    # ---- names

    def _value(self, value: Any) -> Any:
        """Anything that an element holds; the depth is that of its class, hence the recursion."""
        if isinstance(value, Formula):
            return Formula(self.seen.formula(value))
        if isinstance(value, Reference):
            return self._reference(value)
        if isinstance(value, Element):
            return self._element(value)
        if isinstance(value, tuple):
            items = map(self._value, value)
            return Vector(items) if isinstance(value, Vector) else tuple(items)
        if isinstance(value, dict):
            return {self._value(key): self._value(item) for key, item in value.items()}
        return value

    def _reference(self, name: Reference) -> Reference:
        outer = self.part.attach.get(name)
        if outer is not None or name == GROUND:
            return type(name)(outer or GROUND)
        return type(name)(f"{self.name}.{name}")

    def _element(self, old: Element) -> Element:
        given = {name: getattr(old, name) for name, info in type(old).model_fields.items()}
        values = {name: self._value(value) for name, value in given.items()}
        for kind, change in _CHANGES.items():
            if isinstance(old, kind):
                change(self, old, values)
                break
        else:
            self._reflect(old, values)
        defaults = {name: info.get_default(call_default_factory=True) for name, info in type(old).model_fields.items()}
        return type(old).model_validate({name: v for name, v in values.items() if v != defaults[name]})

    # ---- places

    def _reflect(self, old: Element, values: dict[str, Any]) -> None:
        """What is given in frames that move along changes in a mirror only."""
        if not self.place.mirrored:
            return
        for name, info in type(old).model_fields.items():
            marks = (m for m in info.metadata if isinstance(m, Mirrored) and m.applies(self.dimensions))
            kind = next((m.kind for m in marks), "true")
            if kind == "refused" and values[name] is not None:
                raise ModelError(f"{name} has no mirror image; leave it out of mirrored sub-models")
            values[name] = self._mirrored(values[name], kind)

    def _mirrored(self, value: Any, kind: str) -> Any:
        if kind == "up":
            value = value or Vector((*[0.0] * (self.dimensions - 1), 1.0))
        if value is None or kind == "even":
            return value
        if isinstance(value, Orientation):
            return self.place.facing(value)
        if kind == "odd":
            return negated(value)
        if isinstance(value, Vector):
            return self._direction(value, axial=kind == "axial")
        if kind == "axial":  # a number in the plane, a list in space
            return self.place.reversed(value) if isinstance(value, tuple) else self.place.turning(value)
        return value

    def _direction(self, given: Vector, *, axial: bool) -> Vector:
        v = tuple(given[: self.dimensions])
        if not any(v):  # zero, or the default of a joint's axis that points out of the plane
            return given
        return Vector(self.place.reversed(v) if axial else self.place.reflected(v))

    def _body(self, old: Body, values: dict[str, Any]) -> None:
        place, zeros = self.place, (0.0,) * self.dimensions
        values["position"] = place.point(values["position"] if any(values["position"]) else zeros)
        values["velocity"] = place.direction(values["velocity"])
        if self.dimensions == 2:
            values["angle"], values["omega"] = place.heading(values["angle"]), place.turning(values["omega"])
            return
        values["orientation"] = place.pose(values["orientation"])
        values["center"] = place.reflected(values["center"])
        if isinstance(values["omega"], tuple):
            values["omega"] = place.reversed(values["omega"])
        if isinstance(values["inertia"], tuple):
            values["inertia"] = place.tensor(values["inertia"])

    def _marker(self, old: Marker, values: dict[str, Any]) -> None:
        place = self.places.get(old.body)
        if place is None:
            self._reflect(old, values)
            values["angle"] = self.place.turning(values["angle"])
            return
        values["at"] = place.point(values["at"] if any(values["at"]) else (0.0,) * self.dimensions)
        if self.dimensions == 2:
            values["angle"] = place.heading(values["angle"])
        else:
            values["orientation"] = place.pose(values["orientation"])

    def _joint(self, old: Joint, values: dict[str, Any]) -> None:
        self._reflect(old, values)
        if not self.place.mirrored:
            return
        owner = next(name for name, element in self.seen.elements.items() if element is old)
        for key, initial in values["start"].items():
            value = times(self.seen.sign(owner, key), initial.value)
            values["start"][key] = type(initial)(**{**dict(initial), "value": value})

    def _orientation(self, old: Orientation, values: dict[str, Any]) -> None:
        """Who holds it turns and reflects it, with those it lies in."""

    def _motion(self, old: Motion, values: dict[str, Any]) -> None:
        if old.unit is None and not re.fullmatch(DOTTED, values["of"]):
            values["unit"] = self.seen.unit(old.of.strip())

    def _output(self, old: Output, values: dict[str, Any]) -> None:
        if old.unit is None and isinstance(old.value, str) and not re.fullmatch(DOTTED, values["value"]):
            values["unit"] = self.seen.unit(old.value.strip())


_CHANGES: dict[type[Element], Callable[[_Part, Any, dict[str, Any]], None]] = {
    Body: _Part._body,
    Marker: _Part._marker,
    Joint: _Part._joint,
    Orientation: _Part._orientation,
    Motion: _Part._motion,
    Output: _Part._output,
}
