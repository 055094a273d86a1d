"""The kinds of value a model file may hold: numbers, expressions, points, names, units; must not know any element.

Every kind is an annotated type, so that a field reads `mass: Annotated[Positive, In("kg")]` and its rule, message and
JSON schema come along. A rule raises ModelError with what was found, what is allowed and the cure.
"""

from __future__ import annotations

import math
import re
import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    GetJsonSchemaHandler,
    PlainValidator,
    Tag,
    WithJsonSchema,
)
from pydantic_core import CoreSchema

from mbdfmu.errors import ModelError
from mbdfmu.expressions import parse
from mbdfmu.units import unit

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
DOTTED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})*"  # of elements inside sub-models
COMPONENT = rf"{DOTTED}(?:\[[1-9][0-9]*\])?"  # or one number of an array
_ANY_NUMBER_OR_TEXT = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_NAME_SCHEMA = {"type": "string", "pattern": f"^{IDENTIFIER}$"}


@dataclass(frozen=True)
class In:
    """The SI unit of a field's value: `Annotated[Value, In("m")]`."""

    unit: str

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "unit": self.unit}


class Code(str):
    """A function in Python, `module:function`: the folder where the module may lie, or the function itself."""

    folder: Path | None
    function: Callable[..., Any] | None

    def __new__(cls, text: str, folder: Path | None = None, function: Callable[..., Any] | None = None) -> Self:
        code = super().__new__(cls, text)
        code.folder, code.function = folder, function
        return code

    @property
    def can_be_named(self) -> bool:
        """Whether a file can say it, so that it is found again."""
        return bool(re.fullmatch(f"{DOTTED}:{DOTTED}", self)) and not self.startswith("__main__:")


class Formula(str):
    """The text of an expression; sub-models find it wherever an element holds it."""


class File(str):
    """A file as it was written, with the folder it is relative to and the files around it, outermost first.

    It has to be `within` a folder, if that is given.
    """

    folder: Path
    chain: tuple[str, ...]
    within: Path | None

    def __new__(
        cls, text: str, folder: Path = Path(), chain: tuple[str, ...] = (), within: Path | None = None
    ) -> Self:
        file = super().__new__(cls, text)
        file.folder, file.chain, file.within = folder, chain, within
        return file

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder / self


class Reference(str):
    """The name of another element; the cross checks find it wherever an element holds it."""

    sections: ClassVar[tuple[str, ...]]  # where it may be
    kind: ClassVar[str]  # what it is


class BodyReference(Reference):
    sections, kind = ("bodies",), "body"


class MarkerReference(Reference):
    sections, kind = ("markers",), "marker"


class JointReference(Reference):
    sections, kind = ("joints",), "joint"


class SwitchReference(Reference):
    sections, kind = ("joints", "motions", "constraints"), "joint, motion or constraint"


class TableReference(Reference):
    sections, kind = ("tables",), "table"


class StateReference(Reference):
    sections, kind = ("states", "blocks", "forces"), "differential state"


class Vector(tuple[float | str, ...]):
    """A point or direction; the cross checks hold its length against the dimensions of the model."""


@dataclass(frozen=True)
class Only:
    """Marks a field that models of other dimensions do not have: `Annotated[Value, Only(2, "give orientation")]`."""

    dimensions: int
    cure: str


@dataclass(frozen=True)
class Mirrored:
    """Marks what a mirror makes of a field: a direction along which something moves is "true" and is reflected; an axis
    about which something turns is "axial" and is reversed besides, so that the angle stays; a number that is "odd"
    changes its sign; what is "even" stays. A direction without mark is "true"; one that is "up" is the last axis where
    it is not given.
    """

    kind: Literal["true", "axial", "odd", "even", "up"]
    dimensions: int | None = None  # of the models that it counts in

    def applies(self, dimensions: int) -> bool:
        return self.dimensions in (None, dimensions)


@dataclass(frozen=True)
class Either:
    """Marks a field that is a number in a planar model and a list in a spatial one, with the words for both."""

    planar: str
    spatial: str


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
    return Formula(text)


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


def _reference(value: object) -> str:
    """The name of an element, of one inside a sub-model with dots."""
    if isinstance(value, str) and re.fullmatch(DOTTED, value):
        return value
    return _name(value)


def _state_name(value: object) -> StateReference:
    """The name of a state: `phase`, `Z[1]`, of a block or a sub-model with dots."""
    if isinstance(value, str) and re.fullmatch(COMPONENT, value):
        return StateReference(value)
    raise ModelError(f"must name one differential state as 'phase' or 'Z[1]', found {shown(value)}")


def _name_list(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ModelError(f'must be a list of names as ["hinge"], found {shown(value)}')
    return tuple(value)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"names {twice!r} twice; once is enough")
    return names


def _file(value: object) -> File:
    return value if isinstance(value, File) else File(_text(value))


def _code(value: object) -> Code:
    if isinstance(value, Code):
        return value
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return Code(f"{getattr(value, '__module__', '')}:{name}", function=value)
    if isinstance(value, str) and re.fullmatch(f"{DOTTED}:{DOTTED}", value):
        return Code(value)
    raise ModelError(f'must be a function as "module:function", found {shown(value)}')


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
        raise ModelError(f"must be a whole number from 1 to 1000, found {shown(value)}")
    return value


def _mass_key(value: object) -> str:
    """One coordinate or two; M is symmetric, so the order of two says nothing and is normalised."""
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if len(names) not in (1, 2) or not all(re.fullmatch(DOTTED, name) for name in names):
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


def _list(allowed: str, *lengths: int) -> BeforeValidator:
    """A list, tuple or array of as many items."""

    def check(value: object) -> object:
        value = value.tolist() if hasattr(value, "tolist") else value  # a NumPy array, without knowing NumPy
        if not isinstance(value, list | tuple) or len(value) not in lengths:
            raise ModelError(f"must be {allowed}, found {shown(value)}")
        return tuple(value)

    return BeforeValidator(check)


def _several(value: object) -> object:
    """A list, tuple or array of at least two items."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise ModelError(f"must be a list of at least two numbers, found {shown(value)}")
    return tuple(value)


def _kind(value: object) -> str:
    return "<list>" if isinstance(value, list | tuple) or bool(getattr(value, "shape", None)) else "<value>"


def _filled(value: object) -> object:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple) or not value:
        raise ModelError(f"must be a number, an expression or a list of them, found {shown(value)}")
    return tuple(value)


def _series(value: object) -> object:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple) or not value:
        raise ModelError(f"must be a list of numbers or expressions, found {shown(value)}")
    return tuple(value)


def _rows(value: object) -> object:
    value = value.tolist() if hasattr(value, "tolist") else value
    rows = value if isinstance(value, list | tuple) else ()
    if not rows or not all(isinstance(row, list | tuple) and row for row in rows):
        raise ModelError(f"must be a list of rows such as [[1, 2], [3, 4]], found {shown(value)}")
    lengths = [len(row) for row in rows]
    if len(set(lengths)) > 1:
        raise ModelError(f"must have rows of one length, found rows of {', '.join(map(str, lengths))}")
    return tuple(rows)


def _listed(value: object) -> object:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple):
        raise ModelError(f"must be a list of numbers and expressions, found {shown(value)}")
    return tuple(value)


def _moments(value: tuple[float | str, ...]) -> tuple[float | str, ...]:
    for k, moment in enumerate(value[:3]):
        if isinstance(moment, float) and moment < 0:
            raise ModelError(f"moments of inertia must be zero or positive, found {moment!r} at [{k}]")
    return value


def _color(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
        raise ModelError(f'must be a colour as "#rrggbb", found {shown(value)}')
    return value.lower()


@dataclass(frozen=True)
class Bound:
    """Marks a field with a bound, for expressions, which are known only when parameters are."""

    allowed: str
    least: float
    most: float = math.inf
    positive: bool = False  # the least itself is not allowed
    items: int = sys.maxsize  # of a list, as many as it is about

    def holds(self, value: float) -> bool:
        """Whether a value is allowed."""
        return value <= self.most and (value > self.least if self.positive else value >= self.least)


def _bounded(allowed: str, holds: Callable[[float], bool]) -> AfterValidator:
    """A bound on literal numbers."""

    def check(value: float | str) -> float | str:
        if isinstance(value, float) and not holds(value):
            raise ModelError(f"must be {allowed}, found {value!r}")
        return value

    return AfterValidator(check)


def _direction(value: tuple[float | str, ...]) -> tuple[float | str, ...]:
    if not any(value):
        zeros, example = [0] * len(value), [1, *[0] * (len(value) - 1)]
        raise ModelError(f"must not be {zeros}; a direction needs a length, as {example}")
    return value


_SEVERAL_NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 2}
Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
Name = Annotated[str, PlainValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
MassKey = Annotated[str, PlainValidator(_mass_key), WithJsonSchema({"type": "string"})]
Flag = Annotated[bool, PlainValidator(_flag), WithJsonSchema({"type": "boolean"})]
Number = Annotated[float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
Numbers = Annotated[tuple[Number, ...], BeforeValidator(_several), WithJsonSchema(_SEVERAL_NUMBERS)]
Expression = Annotated[str, PlainValidator(_expression), WithJsonSchema({"type": "string"})]
UnitText = Annotated[str, PlainValidator(_si_unit), WithJsonSchema({"type": "string"})]

Value = Annotated[float | str, PlainValidator(_value), WithJsonSchema(_ANY_NUMBER_OR_TEXT)]
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE = {"type": "number", "minimum": 0}
_above_zero = _bounded("positive", lambda value: value > 0)
_not_below_zero = _bounded("zero or positive", lambda value: value >= 0)
_POSITIVE_OR_TEXT = {"anyOf": [_POSITIVE, {"type": "string"}]}
Positive = Annotated[Value, _above_zero, Bound("positive", 0, positive=True), WithJsonSchema(_POSITIVE_OR_TEXT)]
NonNegative = Annotated[
    Value, _not_below_zero, Bound("zero or positive", 0), WithJsonSchema({"anyOf": [_NOT_NEGATIVE, {"type": "string"}]})
]
PositiveNumber = Annotated[Number, _above_zero, WithJsonSchema(_POSITIVE)]
_UNIT_INTERVAL = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}
Fraction = Annotated[
    Value,
    _bounded("between 0 and 1", lambda value: 0 <= value <= 1),
    Bound("between 0 and 1", 0, 1),
    WithJsonSchema(_UNIT_INTERVAL),
]
_PLACE = _list("a list [x, y], or [x, y, z] in a spatial model", 2, 3)
_TENSOR = _list("[Jxx, Jyy, Jzz] or [Jxx, Jyy, Jzz, Jxy, Jxz, Jyz]", 3, 6)


def _items(least: int, most: int) -> WithJsonSchema:
    return WithJsonSchema({"type": "array", "items": _ANY_NUMBER_OR_TEXT, "minItems": least, "maxItems": most})


_Values = tuple[Value, ...]
Point = Annotated[_Values, AfterValidator(Vector), _PLACE, _items(2, 3)]
Direction = Annotated[Point, AfterValidator(_direction)]
_EXTENTS = {"type": "array", "items": _POSITIVE_OR_TEXT, "minItems": 2, "maxItems": 3}
Extents = Annotated[tuple[Positive, ...], AfterValidator(Vector), _PLACE, WithJsonSchema(_EXTENTS)]
Triple = Annotated[_Values, _list("a list [x, y, z]", 3), _items(3, 3)]  # whatever the dimensions of the model
Axis = Annotated[Triple, AfterValidator(_direction)]
Quadruple = Annotated[_Values, _list("a list [e0, e1, e2, e3]", 4), _items(4, 4)]
_THREE_SIZES = {"type": "array", "items": _POSITIVE_OR_TEXT, "minItems": 3, "maxItems": 3}
Sizes = Annotated[tuple[Positive, ...], _list("a list [x, y, z]", 3), WithJsonSchema(_THREE_SIZES)]
Tensor = Annotated[_Values, AfterValidator(_moments), Bound("zero or positive", 0, items=3), _TENSOR, _items(3, 6)]
Inertia = Annotated[Annotated[Positive, Tag("<value>")] | Annotated[Tensor, Tag("<list>")], Discriminator(_kind)]
Spin = Annotated[Annotated[Value, Tag("<value>")] | Annotated[Triple, Tag("<list>")], Discriminator(_kind)]
_SIZES = tuple[NonNegative, ...]
Coefficients = Annotated[_SIZES, AfterValidator(Vector), _PLACE, _items(2, 3)]  # one for each direction
_THREE = Annotated[_SIZES, _list("a list [x, y, z]", 3), _items(3, 3)]
SpinCoefficients = Annotated[
    Annotated[NonNegative, Tag("<value>")] | Annotated[_THREE, Tag("<list>")], Discriminator(_kind)
]
_LIST = {"type": "array", "items": _ANY_NUMBER_OR_TEXT, "minItems": 1}
Several = Annotated[
    Annotated[Value, Tag("<value>")]
    | Annotated[_Values, BeforeValidator(_filled), WithJsonSchema(_LIST), Tag("<list>")],
    Discriminator(_kind),
]
SeveralNumbers = Annotated[
    Annotated[Number, Tag("<value>")] | Annotated[Numbers, Tag("<list>")],
    Discriminator(_kind),
]
Series = Annotated[_Values, BeforeValidator(_series), WithJsonSchema(_LIST)]
Matrix = Annotated[
    tuple[Series, ...],
    BeforeValidator(_rows),
    WithJsonSchema({"type": "array", "items": _LIST, "minItems": 1}),
]
Color = Annotated[str, PlainValidator(_color), WithJsonSchema({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"})]

_DOTTED_SCHEMA = {"type": "string", "pattern": f"^{DOTTED}$"}
BodyName = Annotated[
    str, PlainValidator(lambda value: BodyReference(_reference(value))), WithJsonSchema(_DOTTED_SCHEMA)
]
MarkerName = Annotated[
    str, PlainValidator(lambda value: MarkerReference(_reference(value))), WithJsonSchema(_DOTTED_SCHEMA)
]
_JOINT_NAME = PlainValidator(lambda value: JointReference(_reference(value)))
_SWITCH_NAME = PlainValidator(lambda value: SwitchReference(_reference(value)))
JointName = Annotated[str, _JOINT_NAME, WithJsonSchema(_DOTTED_SCHEMA)]
_SwitchName = Annotated[str, _SWITCH_NAME, WithJsonSchema(_DOTTED_SCHEMA)]
TableName = Annotated[
    str, PlainValidator(lambda value: TableReference(_reference(value))), WithJsonSchema(_DOTTED_SCHEMA)
]
_NAMES = (AfterValidator(_distinct), BeforeValidator(_name_list))
JointNames = Annotated[tuple[JointName, ...], *_NAMES]
SwitchNames = Annotated[tuple[_SwitchName, ...], *_NAMES]
StateName = Annotated[str, PlainValidator(_state_name), WithJsonSchema({"type": "string", "pattern": f"^{COMPONENT}$"})]
ParameterName = Annotated[str, PlainValidator(_reference), WithJsonSchema(_DOTTED_SCHEMA)]
_CODE_SCHEMA = {"type": "string", "pattern": f"^{DOTTED}:{DOTTED}$"}
PythonFunction = Annotated[Code, PlainValidator(_code), WithJsonSchema(_CODE_SCHEMA)]
Count = Annotated[int, PlainValidator(_count), WithJsonSchema({"type": "integer", "minimum": 1})]
Values = Annotated[_Values, BeforeValidator(_listed), WithJsonSchema({**_LIST, "minItems": 0})]
FileName = Annotated[str, PlainValidator(_file), WithJsonSchema({"type": "string"})]
