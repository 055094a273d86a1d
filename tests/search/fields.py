"""Draws the fields of any registered element from what they declare: unit, bounds, shape, what they name.

The registries of joints, forces and blocks are enough: a new member is drawn without a word here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from typing import Any, get_args

from pydantic import PlainValidator
from pydantic.fields import FieldInfo

from mbdfmu.description import Element, Only
from mbdfmu.description.values import Reference
from mbdfmu.errors import ModelError
from search.sketch import GROUND, Sketch

SIGNED = ("N", "N.m", "rad", "m/s")  # quantities of either sign, where no bound says otherwise
ACTING = ("N", "N.m")  # what an expression of any signals may give
NEVER = ("text", "i", "j", "start", "active", "unit", "nominal")
TRIES = 60
GIVEN = 0.6  # share of the optional fields that are given at first
EXPRESSED = 0.5  # of what an expression may give

Expressed = Callable[[str], str]  # an expression in a unit


@cache
def properties(member: type[Element]) -> dict[str, Any]:
    found: dict[str, Any] = member.model_json_schema(mode="validation")["properties"]
    return found


def drawn(
    member: type[Element],
    sketch: Sketch,
    expressed: Expressed | None = None,
    left_out: Iterable[str] = (),
    **given: Any,
) -> dict[str, Any]:
    """Fields that the member's own checks accept, with those that are given; ends are not among them."""
    for trial in range(TRIES):  # with fewer and fewer fields, as some exclude each other
        share = GIVEN * (1 - trial / TRIES)
        chosen = dict(_fields(member, sketch, expressed, {*left_out, *given}, share)) | given
        if fits(member, chosen):
            return chosen
    raise ModelError(f"no fields were found that '{member.type_name}' accepts")


def fits(member: type[Element], fields: dict[str, Any]) -> bool:
    ends = {end: {"body": GROUND} for end in ("i", "j") if end in member.model_fields}
    try:
        member(**ends, **fields)
    except ModelError:
        return False
    return True


def _fields(
    member: type[Element], sketch: Sketch, expressed: Expressed | None, left_out: Container[str], share: float
) -> Iterator[tuple[str, Any]]:
    for name, info in member.model_fields.items():
        if name in NEVER or name in left_out or not _exists(info, sketch.dimensions):
            continue
        if info.is_required() or sketch.draw.chance(share):
            value = _value(info, properties(member)[info.alias or name], sketch, expressed)
            if value is not None:
                yield name, value


def _exists(info: FieldInfo, dimensions: int) -> bool:
    return all(m.dimensions == dimensions for m in info.metadata if isinstance(m, Only))


def named(info: FieldInfo) -> tuple[str, ...]:
    """The sections of which the field names an element."""
    for rule in _rules(info.annotation, *info.metadata):
        try:
            found = rule.func("a")  # type: ignore[call-arg]
        except (ModelError, TypeError, ValueError):
            continue
        if isinstance(found, Reference):
            return type(found).sections
    return ()


def _rules(*places: Any) -> Iterator[PlainValidator]:
    for place in places:
        if isinstance(place, PlainValidator):
            yield place
        elif not isinstance(place, type):
            yield from _rules(*get_args(place))


def _value(info: FieldInfo, schema: dict[str, Any], sketch: Sketch, expressed: Expressed | None) -> Any:
    """None where the field is better left at its default."""
    sections, text, draw = named(info), json.dumps(schema), sketch.draw
    if "#/$defs/Marker" in text:
        return {"body": draw.pick([GROUND, *sketch.bodies])}
    if sections:
        known = [name for section in sections for name in sketch.section(section)]
        return draw.pick(known) if known else None
    if "$defs" in text or "object" in text:
        return None
    if "enum" in schema:
        return draw.pick(schema["enum"])
    if schema.get("type") == "boolean":
        return draw.chance(0.5)
    return _quantity(schema, text, sketch, expressed)


def _quantity(schema: dict[str, Any], text: str, sketch: Sketch, expressed: Expressed | None) -> Any:
    unit, draw = schema.get("unit", ""), sketch.draw
    bounded = "inimum" in text

    def one() -> float | str:
        if unit in ACTING and not bounded and expressed is not None and draw.chance(EXPRESSED):
            return expressed(unit)
        value = draw.size(unit)
        return -value if unit in SIGNED and not bounded and draw.chance(0.5) else value

    if '"maxItems": 3, "minItems": 2' in text:  # a vector of the model
        return draw.direction(sketch.dimensions) if unit == "1" else [one() for _ in range(sketch.dimensions)]
    if '"array"' in text and sketch.dimensions == 3:  # a number in the plane, a list in space
        return [one() for _ in range(2 if '"minItems": 1' in text else 3)]
    return one()
