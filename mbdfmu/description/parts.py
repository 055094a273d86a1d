"""What a model consists of: bodies, markers, parameters, joints, ...; must not know how any of it is computed.

Elements are frozen and carry no name: the key under which a description holds them is the name.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema

from mbdfmu.description.messages import explained, finding, problems
from mbdfmu.description.values import (
    BodyName,
    Expression,
    Flag,
    In,
    MarkerName,
    Number,
    Point,
    Positive,
    PositiveNumber,
    Text,
    UnitText,
    Value,
    shown,
)
from mbdfmu.errors import ModelError
from mbdfmu.registry import Registered
from mbdfmu.units import unit


class Element(BaseModel):
    """Base of everything described: frozen, no unknown entries, errors as ModelError."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

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
            raise explained(error, cls.model_fields) from None

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
        return self.model_dump(mode="json", exclude_defaults=True)


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

    def to_data(self) -> Any:
        data = super().to_data()
        return data["value"] if data.keys() == {"value"} else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string"}, handler(core)]}


class Parameter(Part):
    """A number that may be changed without building the model anew."""

    value: Value
    unit: UnitText = ""
    min: Number | None = None
    max: Number | None = None
    tunable: Flag = False  # may change while a simulation runs

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        _check_bounds("value", self.value, self.min, self.max)
        return self


class Input(Part):
    """A signal that comes from outside: a file, a controller, another FMU."""

    unit: UnitText = ""
    start: Number = 0.0
    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        _check_bounds("start", self.start, self.min, self.max)
        return self


class Output(Short):
    """A signal that the model gives to the outside; its unit follows from the value if none is given."""

    unit: UnitText | None = None


class Marker(Part):
    """A frame fixed to a body, in the body's axes."""

    body: BodyName
    at: Annotated[Point, In("m")] = (0.0, 0.0)
    angle: Annotated[Value, In("rad")] = 0.0


class Body(Part):
    """A rigid body in the plane; its frame lies in the centre of mass, start values are those of that frame."""

    mass: Annotated[Positive, In("kg")]
    inertia: Annotated[Positive, In("kg.m2")]  # about the centre of mass
    position: Annotated[Point, In("m")] = (0.0, 0.0)
    angle: Annotated[Value, In("rad")] = 0.0
    velocity: Annotated[Point, In("m/s")] = (0.0, 0.0)
    omega: Annotated[Value, In("rad/s")] = 0.0
    free: Flag = False  # nothing needs to hold it


class Motion(Part):
    """Prescribes a position-level signal such as `hinge.angle` as a function of time and parameters."""

    of: Expression
    value: Value
    unit: UnitText | None = None


class Coordinate(Part):
    """A scalar generalised coordinate of a user-written system and the generalised force on it."""

    start: Value = 0.0
    velocity: Value = 0.0
    force: Value = "0"
    unit: UnitText = "rad"


class Constraint(Short):
    """A user-written constraint: the value has to be zero."""

    unit: UnitText = "m"


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


class Typed(Registered, Part):
    """Base of the families whose members a file tells apart by "type".

    A member is a class with a name: `class Revolute(Joint, name="revolute")`.
    """

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

    def to_data(self) -> Any:
        return {"type": self.type_name, **super().to_data()}


class Joint(Typed, family="joint"):
    """Base of the joints: holds some directions of the frame at `j` to the frame at `i`."""

    i: MarkerRef
    j: MarkerRef


class Force(Typed, family="force"):
    """Base of the force elements between the frames at `i` and `j`."""

    i: MarkerRef
    j: MarkerRef


def _check_bounds(field: str, value: float | str, low: float | None, high: float | None) -> None:
    if low is not None and high is not None and low > high:
        raise ModelError(f"min must not exceed max, found min {low!r} and max {high!r}")
    if isinstance(value, str):
        return
    if (low is not None and value < low) or (high is not None and value > high):
        raise ModelError(f"{field} must lie within min and max, found {value!r} in [{low!r}, {high!r}]")
