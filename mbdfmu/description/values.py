"""The kinds of value a model file may hold: numbers, expressions, points, names, units; must not know any element.

Every kind is an annotated type, so that a field reads `mass: Annotated[Positive, In("kg")]` and its rule, message and
JSON schema come along. A rule raises ModelError with what was found, what is allowed and the cure.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic_core import CoreSchema

from mbdfmu.errors import ModelError
from mbdfmu.expressions import parse
from mbdfmu.units import unit

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_ANY_NUMBER_OR_TEXT = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_NAME_SCHEMA = {"type": "string", "pattern": f"^{IDENTIFIER}$"}


@dataclass(frozen=True)
class In:
    """The SI unit of a field's value: `Annotated[Value, In("m")]`."""

    unit: str

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "unit": self.unit}


class Reference(str):
    """The name of another element; the cross checks find it wherever an element holds it."""

    section: ClassVar[str]


class BodyReference(Reference):
    section = "bodies"


class MarkerReference(Reference):
    section = "markers"


def shown(value: object) -> str:
    """A short, printable rendering of whatever was found, in the words of JSON."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _SHORT.repr(value).replace("\n", " ")


class _Short(reprlib.Repr):
    """Cuts what is long or deep, and never fails: a number too long to be printed gives its size."""

    def repr_int(self, value: int, level: int) -> str:
        return repr(value) if abs(value) < 10**20 else f"an integer of about {int(value.bit_length() * 0.30103)} digits"

    def repr_str(self, value: str, level: int) -> str:
        return repr(value) if len(value) <= self.maxstring else repr(value[: self.maxstring - 3])[:-1] + "...'"


_SHORT = _Short()
_SHORT.maxstring, _SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxother = 60, 2, 3, 4, 60


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"must be a number, found {shown(value)}")
    return _finite(value)


def _finite(value: Real) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ModelError(f"must be a finite number, found {shown(value)}")
    return number


def _value(value: object) -> float | str:
    if isinstance(value, str):
        return _expression(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"must be a number or an expression in quotes, found {shown(value)}")
    return _finite(value)


def _expression(value: object) -> str:
    text = _text(value)
    if not text.strip():
        raise ModelError('is empty; give an expression such as "30*deg"')
    parse(text)
    return text


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ModelError(f"must be text in quotes, found {shown(value)}")
    odd = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", value)  # what XML cannot hold
    if odd:
        raise ModelError(f"has a character that cannot be stored: {odd[0]!r}; remove it")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ModelError(f"must be a name in quotes, found {shown(value)}")
    if not re.fullmatch(IDENTIFIER, value):
        found = shown(value) if value else "an empty name"
        raise ModelError(f"must be a name of letters, digits and _ that starts with no digit, found {found}")
    return value


def _mass_key(value: object) -> str:
    """One coordinate or two; M is symmetric, so the order of two says nothing and is normalised."""
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if len(names) not in (1, 2) or not all(re.fullmatch(IDENTIFIER, name) for name in names):
        raise ModelError(f"must name one coordinate or two as in 'beta,theta', found {shown(value)}")
    return ",".join(sorted(set(names)))


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ModelError(f"must be true or false, found {shown(value)}")
    return value


def _si_unit(value: object) -> str:
    if not isinstance(value, str):
        raise ModelError(f'must be a unit in quotes such as "N/m", found {shown(value)}')
    read = unit(value)
    if not read.is_si:
        raise ModelError(f"must be an SI unit, found {value!r}; use {read.si!r} and convert the values")
    return read.text


def _pair(value: object) -> object:
    value = value.tolist() if hasattr(value, "tolist") else value  # a NumPy array, without knowing NumPy
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ModelError(f"must be a pair [x, y], found {shown(value)}")
    return tuple(value)


def _bounded(allowed: str, holds: Callable[[float], bool]) -> AfterValidator:
    """A bound on literal numbers; an expression is known only when parameters are, and is checked then."""

    def check(value: float | str) -> float | str:
        if isinstance(value, float) and not holds(value):
            raise ModelError(f"must be {allowed}, found {value!r}")
        return value

    return AfterValidator(check)


def _direction(value: tuple[float | str, float | str]) -> tuple[float | str, float | str]:
    if value == (0.0, 0.0):
        raise ModelError("must not be [0, 0]; a direction needs a length, as [1, 0]")
    return value


Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
Name = Annotated[str, PlainValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
MassKey = Annotated[str, PlainValidator(_mass_key), WithJsonSchema({"type": "string"})]
Flag = Annotated[bool, PlainValidator(_flag), WithJsonSchema({"type": "boolean"})]
Number = Annotated[float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
Expression = Annotated[str, PlainValidator(_expression), WithJsonSchema({"type": "string"})]
UnitText = Annotated[str, PlainValidator(_si_unit), WithJsonSchema({"type": "string"})]

Value = Annotated[float | str, PlainValidator(_value), WithJsonSchema(_ANY_NUMBER_OR_TEXT)]
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE = {"type": "number", "minimum": 0}
_above_zero = _bounded("positive", lambda value: value > 0)
_not_below_zero = _bounded("zero or positive", lambda value: value >= 0)
Positive = Annotated[Value, _above_zero, WithJsonSchema({"anyOf": [_POSITIVE, {"type": "string"}]})]
NonNegative = Annotated[Value, _not_below_zero, WithJsonSchema({"anyOf": [_NOT_NEGATIVE, {"type": "string"}]})]
PositiveNumber = Annotated[Number, _above_zero, WithJsonSchema(_POSITIVE)]
Point = Annotated[tuple[Value, Value], BeforeValidator(_pair)]
Direction = Annotated[Point, AfterValidator(_direction)]

BodyName = Annotated[str, PlainValidator(lambda value: BodyReference(_name(value))), WithJsonSchema(_NAME_SCHEMA)]
MarkerName = Annotated[str, PlainValidator(lambda value: MarkerReference(_name(value))), WithJsonSchema(_NAME_SCHEMA)]
