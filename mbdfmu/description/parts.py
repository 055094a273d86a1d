"""What a model consists of: bodies, markers, parameters, joints, ...; must not know how any of it is computed.

Elements are frozen and carry no name: the key under which a description holds them is the name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from mbdfmu.description.messages import explained, finding, problems
from mbdfmu.description.values import (
    Axis,
    BodyName,
    Color,
    Count,
    Either,
    Expression,
    Flag,
    In,
    Inertia,
    MarkerName,
    Name,
    Number,
    Numbers,
    Only,
    Point,
    Positive,
    PositiveNumber,
    PythonFunction,
    Quadruple,
    Several,
    SeveralNumbers,
    Sizes,
    Spin,
    Text,
    Triple,
    UnitText,
    Value,
    Values,
    shown,
)
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Curve
from mbdfmu.registry import Registered
from mbdfmu.units import unit


class Element(BaseModel):
    """Base of everything described: frozen, no unknown entries, errors as ModelError."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, validate_by_name=True,
        validate_by_alias=True,
    )  # fmt: skip
    ascending: ClassVar[tuple[tuple[str, str], ...]] = ()  # pairs of fields of which the first must not be larger

    def __init__(self, /, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise ModelError(problems(error, (type(self).__name__,))) from None

    # Marks the constructor as the plain one, so that a nested element reports its findings with their path instead
    # of raising ModelError half-way (pydantic's own RootModel does the same).
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise explained(error, cls.entries()) from None

    @classmethod
    def entries(cls) -> list[str]:
        """What the fields are called in a file; `from` is no name in Python."""
        return [info.alias or name for name, info in cls.model_fields.items()]

    @classmethod
    def units(cls) -> dict[str, str]:
        """The unit of every field that declares one with `In`."""
        return {
            name: unit(m.unit).text
            for name, info in cls.model_fields.items()
            for m in info.metadata
            if isinstance(m, In)
        }

    def to_data(self) -> Any:
        """What a model file holds: plain JSON data without the defaults."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)


class Whole(Element):
    """An element that is a model of its own: checks of what is around it end here."""


class Part(Element):
    """An element with a name and a line of text about it."""

    text: Text = ""


class Short(Part):
    """A part that a file may give by its value alone: `"z": "car.y"` for `"z": {"value": "car.y"}`."""

    value: Value

    @model_validator(mode="before")
    @classmethod
    def _from_value(cls, data: Any) -> Any:
        return {"value": data} if isinstance(data, str | int | float) else data

    @model_serializer(mode="wrap")
    def _to_value(self, handler: SerializerFunctionWrapHandler) -> Any:
        data = handler(self)
        return data["value"] if data.keys() == {"value"} else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string"}, handler(core)]}


class Parameter(Short):
    """A number that may be changed without building the model anew."""

    unit: UnitText = ""
    min: Number | None = None
    max: Number | None = None
    tunable: Flag = False  # may change while a simulation runs

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        _check_bounds("value", self.value, self.min, self.max)
        return self


class Input(Part):
    """A signal that comes from outside, or a list of them: a file, a controller, another FMU."""

    unit: UnitText = ""
    start: SeveralNumbers = 0.0  # a list makes an array
    min: Number | None = None
    max: Number | None = None
    discrete: bool = False  # is read at events only: an FMU says so, and masters hold it between them

    def starts(self, name: str) -> dict[str, float]:
        """The start value of every signal: of `u`, or of `u[1]`, `u[2]`, .."""
        values = self.start if isinstance(self.start, tuple) else (self.start,)
        return dict(zip(components(name, self.start), values, strict=True))

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for value in self.starts("").values():
            _check_bounds("start", value, self.min, self.max)
        return self


class Output(Short):
    """A signal that the model gives to the outside; its unit follows from the value if none is given."""

    unit: UnitText | None = None
    discrete: bool = False  # changes at events only: an FMU says so, and masters hold it between them


def components(name: str, value: object) -> list[str]:
    """The names of what is given as a number or expression, or as a list: `Z`, or `Z[1]`, `Z[2]`, .."""
    return [f"{name}[{k}]" for k in range(1, len(value) + 1)] if isinstance(value, tuple) else [name]


def _alike(start: float | str | tuple[float | str, ...], wanted: object, what: str) -> None:
    """A list of start values has one for each component."""
    size, found = (len(v) if isinstance(v, tuple) else 0 for v in (wanted, start))
    if found and found != size:
        wanted_text = f"a list of {size}" if size else "one number"
        raise ModelError(f"start must be {wanted_text} as {what} is, found a list of {found}")


class State(Part):
    """A differential state, or a list of them: its rate, or equations that hold the rates `der(name)`."""

    rate: Several | None = None
    equation: Several | None = None  # has to be zero
    start: Several = 0.0
    unit: UnitText = ""
    nominal: PositiveNumber = 1.0  # the size from which on its error counts in proportion

    @property
    def law(self) -> float | str | tuple[float | str, ...]:
        """Rate or equation."""
        law = self.equation if self.rate is None else self.rate
        assert law is not None
        return law

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if (self.rate is None) == (self.equation is None):
            found = "neither" if self.rate is None else "both"
            raise ModelError(f'must have either a "rate" or an "equation", found {found}')
        _alike(self.start, self.law, "the rate" if self.equation is None else "the equation")
        return self


class Variable(Short):
    """A value computed from any signals, or a list of them; or unknowns that make equations zero."""

    value: Several | None = None  # type: ignore[assignment]
    equation: Several | None = None
    start: Several = 0.0  # where the search for the solution of equations begins
    unit: UnitText = ""

    @property
    def law(self) -> float | str | tuple[float | str, ...]:
        """Value or equation."""
        law = self.equation if self.value is None else self.value
        assert law is not None
        return law

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if (self.value is None) == (self.equation is None):
            found = "neither" if self.value is None else "both"
            raise ModelError(f'must have either a "value" or an "equation", found {found}')
        _alike(self.start, self.law, "the value" if self.equation is None else "the equation")
        return self


class Callback(Part):
    """A function in Python: `f(t, inputs, parameters)` returns values, or these and their derivatives by the inputs.

    It must keep nothing between calls, since steps are tried again: memory is a state.
    """

    python: PythonFunction
    inputs: Values = ()
    parameters: Values = ()  # expressions of parameters alone
    outputs: Count = 1
    start: Several = 0.0  # where the search for the values begins
    unit: UnitText = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What its values are called behind its own name."""
        return ("",) if self.outputs == 1 else tuple(f"[{k}]" for k in range(1, self.outputs + 1))

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _alike(self.start, (0.0,) * self.outputs if self.outputs > 1 else 0.0, "the output")
        return self


class Table(Part):
    """A function given by points, which expressions read as `lookup(table, x)`."""

    x: Numbers
    y: Numbers
    x_unit: UnitText = ""
    y_unit: UnitText = ""
    method: Literal["linear", "akima"] = "linear"
    extrapolate: Literal["hold", "linear"] = "hold"

    @cached_property
    def curve(self) -> Curve:
        """The function."""
        return Curve(self.x, self.y, self.method, self.extrapolate)

    @model_validator(mode="after")
    def _one_function(self) -> Self:
        if len(self.y) != len(self.x):
            reason = f"must have as many numbers as x, found {len(self.y)} for {len(self.x)}"
            raise finding("Table", ("y",), reason)
        for k, (before, x) in enumerate(pairwise(self.x), start=1):
            if x <= before:
                raise finding("Table", ("x", k), f"must be above the number before it, found {x!r} after {before!r}")
        if not self.curve.is_finite:
            raise ModelError("is too steep for finite slopes; put the numbers of x farther apart")
        return self


class Orientation(Element):
    """How a frame is turned, in one of several forms; it takes vectors from its own axes to those it is given in."""

    quaternion: Quadruple | None = None  # e0 + e1 i + e2 j + e3 k, of any length but 0
    axis: Axis | None = None  # turned by `angle` about it
    angle: Annotated[Value | None, In("rad")] = None
    angles: Annotated[Triple | None, In("rad")] = None  # with `sequence`
    sequence: Literal["313", "rpy"] | None = None  # Rz(a) Rx(b) Rz(c), or roll, pitch, yaw: Rz(c) Ry(b) Rx(a)
    x: Axis | None = None  # direction of the own axis x
    y: Axis | None = None  # the own axis y lies in the plane of both, on this side
    reverse: Orientation | None = None  # the turn back
    within: Orientation | None = None  # besides one of the forms: given in axes that are turned by this

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        fields = (name for name in type(self).model_fields if name != "within")
        given = frozenset(name for name in fields if getattr(self, name) is not None)
        if given not in ORIENTATION_FORMS:
            forms = "; ".join(" with ".join(sorted(form)) for form in ORIENTATION_FORMS)
            found = ", ".join(sorted(given)) or "nothing"
            raise ModelError(f"must be given in one form, found {found}; allowed are {forms}")
        if self.quaternion is not None and not any(self.quaternion):
            raise ModelError("quaternion must not be [0, 0, 0, 0]; no turn is [1, 0, 0, 0]")
        if self.x is not None and self.y is not None and parallel(self.x, self.y):
            raise ModelError(f"x and y must not be parallel, found {list(self.x)} and {list(self.y)}")
        return self


SEQUENCES = {"313": ((0, 2), (1, 0), (2, 2)), "rpy": ((2, 2), (1, 1), (0, 0))}  # from outside: which angle, which axis
ORIENTATION_FORMS = tuple(
    map(frozenset, (("quaternion",), ("axis", "angle"), ("angles", "sequence"), ("x", "y"), ("reverse",)))
)
TURN = Annotated[Orientation | None, Only(3, 'planar models have "angle"')]
PLANAR_ANGLE = Annotated[Value, In("rad"), Only(2, 'spatial models have "orientation"')]


class Typed(Registered, Part):
    """Base of the families whose members a file tells apart by "type".

    A member is a class with a name: `class Revolute(Joint, name="revolute")`.
    """

    # What a mirror makes of the signals, by dimensions of the model: "even" ones keep their value, "odd" ones change
    # the sign, "x", "y", "z" change it where the mirror reflects that axis, "-x", "-y", "-z" where it does not. Signals
    # that are not listed are refused in mirrored sub-models.
    parity: ClassVar[Mapping[int, Mapping[str, str]]] = {}

    def __init__(self, /, **data: Any) -> None:
        if not self.type_name:
            raise TypeError(f"{type(self).__name__} has no type name; use a member of the {self.family} family")
        super().__init__(**data)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # see Element

    @model_validator(mode="wrap")
    @classmethod
    def _member(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """A family hands its data to the member that "type" names."""
        if cls.type_name or isinstance(data, cls) or not isinstance(data, dict):
            return handler(data)
        rest = dict(data)
        return cls._chosen(rest.pop("type", None)).model_validate(rest)

    @classmethod
    def _chosen(cls, name: object) -> type[Self]:
        if not isinstance(name, str):
            reason = f"must name the {cls.family} type, found {shown(name)}; known: {', '.join(cls.names()) or 'none'}"
            raise finding(cls.__name__, ("type",), reason)
        try:
            return cls.named(name)
        except ModelError as error:
            raise finding(cls.__name__, ("type",), str(error)) from None

    @model_serializer(mode="wrap")
    def _with_type(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"type": self.type_name, **handler(self)}


class Shape(Typed, family="shape"):
    """Base of what a body looks like; with mass or density it also weighs."""

    mass: Annotated[Positive | None, In("kg")] = None
    density: Annotated[Positive | None, In("kg/m3")] = None
    color: Color | None = None

    @property
    def weighs(self) -> bool:
        """Whether it counts in the body's mass."""
        return self.mass is not None or self.density is not None

    @model_validator(mode="after")
    def _one_weight(self) -> Self:
        if self.mass is not None and self.density is not None:
            raise ModelError("has both mass and density; leave out one of them")
        return self


class Placed(Shape):
    """Base of the shapes with a middle and axes of their own."""

    at: Annotated[Point, In("m")] = (0.0, 0.0)  # of the middle, in the body's frame
    orientation: TURN = None


class Box(Placed, name="box"):
    """Cuboid along its own axes."""

    size: Annotated[Sizes, In("m")]


class Cylinder(Placed, name="cylinder"):
    """Round, along its own axis z."""

    radius: Annotated[Positive, In("m")]
    length: Annotated[Positive, In("m")]


class Sphere(Placed, name="sphere"):
    """Ball."""

    radius: Annotated[Positive, In("m")]


class Rod(Shape, name="rod"):
    """Round bar between two points; without a radius it is thin, and drawn as a line."""

    start: Annotated[Point, In("m")] = Field(alias="from")
    end: Annotated[Point, In("m")] = Field(alias="to")
    radius: Annotated[Positive | None, In("m")] = None

    @model_validator(mode="after")
    def _thick_if_dense(self) -> Self:
        if self.density is not None and self.radius is None:
            raise ModelError("has a density but no radius; give the radius, or the mass in place of the density")
        if self.start == self.end:
            raise ModelError("must not end where it begins; a rod needs a length")
        return self


class Marker(Part):
    """A frame fixed to a body, in the body's axes."""

    body: BodyName
    at: Annotated[Point, In("m")] = (0.0, 0.0)
    angle: PLANAR_ANGLE = 0.0
    orientation: TURN = None


class Body(Part):
    """A rigid body, or a placeholder for one outside; start values are those of its frame.

    In the plane the frame lies in the centre of mass. Without mass and inertia these follow from the shapes.
    """

    mass: Annotated[Positive | None, In("kg")] = None
    inertia: Annotated[Inertia | None, In("kg.m2"), Either("a number", "a list [Jxx, Jyy, Jzz]")] = None
    center: Annotated[Point, In("m"), Only(3, "a planar body has its frame in the centre of mass")] = (0.0, 0.0)
    position: Annotated[Point, In("m")] = (0.0, 0.0)
    angle: PLANAR_ANGLE = 0.0
    orientation: TURN = None
    velocity: Annotated[Point, In("m/s")] = (0.0, 0.0)
    omega: Annotated[Spin, In("rad/s"), Either("a number", "a list [x, y, z]")] = 0.0  # spatial: in body axes
    held: Flag = False  # assembly may not move it
    free: Flag = False  # nothing needs to hold it
    external: Flag = False  # a place for a body of the model around this one
    shapes: tuple[SerializeAsAny[Shape], ...] = ()

    @property
    def weighed(self) -> bool:
        """Whether mass and inertia are given, so that shapes are only drawn."""
        return self.mass is not None

    @model_validator(mode="after")
    def _one_weight(self) -> Self:
        heavy = next((k for k, shape in enumerate(self.shapes) if shape.weighs), None)
        missing = [name for name in ("mass", "inertia") if getattr(self, name) is None]
        if self.external:
            self._check_placeholder()
        elif heavy is None and missing:
            raise finding("Body", (missing[0],), self._cure(missing))
        elif heavy is not None and len(missing) < 2:
            reason = "has a mass although the body gives its own; leave out one of them"
            raise finding("Body", ("shapes", heavy), reason)
        elif heavy is not None and any(self.center):
            raise finding("Body", ("center",), "follows from the shapes; leave it out")
        return self

    def _cure(self, missing: list[str]) -> str:
        besides = f", and {missing[1]}" if len(missing) > 1 else ""
        weighed = ", or give a shape mass or density" if self.shapes and len(missing) > 1 else ""
        return f"is missing and has no default; give it{besides}{weighed}"

    def _check_placeholder(self) -> None:
        given = sorted(self.model_fields_set - {"external", "text"})
        if given:
            raise ModelError(f"an external body has no entries of its own, found {', '.join(given)}; leave them out")


class Initial(Short):
    """What a coordinate or rate of a joint is at the start; a guess gives way to whatever is required."""

    priority: Literal["required", "guess"] = "required"


class Motion(Part):
    """Prescribes a signal such as `hinge.angle`, its rate or its acceleration as a function of time."""

    of: Expression
    value: Value
    unit: UnitText | None = None
    level: Literal["position", "velocity", "acceleration"] = "position"
    active: Flag = True  # from the start; an event may switch it


class Coordinate(Part):
    """A scalar generalised coordinate of a user-written system and the generalised force on it."""

    start: Value = 0.0
    velocity: Value = 0.0
    force: Value = "0"
    unit: UnitText = "rad"


class Constraint(Short):
    """A user-written constraint: the value has to be zero."""

    unit: UnitText = "m"
    active: Flag = True  # from the start; an event may switch it


class Experiment(Element):
    """What to simulate when nothing else is said."""

    stop_time: Annotated[PositiveNumber | None, In("s")] = None
    step: Annotated[PositiveNumber | None, In("s")] = None
    tolerance: PositiveNumber | None = None


def _end_kind(value: object) -> str:
    return "<name>" if isinstance(value, str) else "<marker>"  # "<" keeps the tag out of paths


def _end(value: object) -> object:
    if not isinstance(value, str | dict | Marker):
        raise ModelError(f"must be the name of a marker or a marker {{...}}, found {shown(value)}")
    return value


MarkerRef = Annotated[
    Annotated[MarkerName, Tag("<name>")] | Annotated[Marker, Tag("<marker>")],
    Discriminator(_end_kind),
    BeforeValidator(_end),
]


class Joint(Typed, family="joint"):
    """Base of the joints: holds some directions of the frame at `j` to the frame at `i`."""

    i: MarkerRef
    j: MarkerRef
    start: dict[Name, Initial] = Field(default_factory=dict)  # of free coordinates such as `angle`, and `angle_rate`
    active: Flag = True  # from the start; an event may switch it


class Force(Typed, family="force"):
    """Base of the force elements; a member says where it acts."""


class Block(Typed, family="block"):
    """Base of the blocks: signals computed from others by means of states of their own."""


def parallel(a: tuple[float | str, ...], b: tuple[float | str, ...]) -> bool:
    """Whether two directions of plain numbers are parallel; what is an expression is known later."""
    if any(isinstance(c, str) for c in (*a, *b)):
        return False
    (x, y, z), (u, v, w) = ((*map(float, d), 0.0)[:3] for d in (a, b))
    across = math.hypot(y * w - z * v, z * u - x * w, x * v - y * u)
    return across <= 1e-9 * math.hypot(x, y, z) * math.hypot(u, v, w)


def _check_bounds(field: str, value: float | str, low: float | None, high: float | None) -> None:
    if low is not None and high is not None and low > high:
        raise ModelError(f"min must not exceed max, found min {low!r} and max {high!r}")
    if isinstance(value, str):
        return
    if (low is not None and value < low) or (high is not None and value > high):
        raise ModelError(f"{field} must lie within min and max, found {value!r} in [{low!r}, {high!r}]")
