"""The whole of what a user says about a model, valid by construction; must not know how a model is computed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, PlainValidator, PrivateAttr, WithJsonSchema, model_validator

from mbdfmu.description.checks import cross_checks
from mbdfmu.description.events import Event, Impact
from mbdfmu.description.flattening import flatten
from mbdfmu.description.messages import finding, findings
from mbdfmu.description.parts import (
    PLANAR_ANGLE,
    TURN,
    Block,
    Body,
    Callback,
    Constraint,
    Coordinate,
    Element,
    Experiment,
    Force,
    Input,
    Joint,
    Marker,
    Motion,
    Output,
    Parameter,
    Part,
    State,
    Table,
    Variable,
    Whole,
)
from mbdfmu.description.pieces import Pieces, sections, take_apart
from mbdfmu.description.places import placed
from mbdfmu.description.reading import locate, parse_json, read_bytes, strays, to_text
from mbdfmu.description.rest import Rest, valid_rest
from mbdfmu.description.sizes import check_size
from mbdfmu.description.values import (
    BodyName,
    File,
    FileName,
    In,
    MassKey,
    Name,
    ParameterName,
    Point,
    Positive,
    Text,
    Value,
    shown,
)
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.expressions import Curve
from mbdfmu.files import atomic

FORMAT_VERSION = 1  # of model files; raised when an old reader would misread a new file


def _version(value: object) -> int:
    if isinstance(value, bool) or value != FORMAT_VERSION:
        raise ModelError(f"must be {FORMAT_VERSION}, found {shown(value)}; other formats need another mbdfmu")
    return FORMAT_VERSION


def _inline(value: object) -> Description | None:
    """A model inside the entry."""
    if value is None or isinstance(value, Description):
        return value
    if not isinstance(value, dict):
        raise ModelError(f"must be a model {{...}}, found {shown(value)}")
    try:
        return Description(**value)
    except ModelError as error:
        raise findings("Submodel", (), error.problems) from None


def _data_of(model: Description | None) -> Any:
    return None if model is None else model.to_data()


def _included(file: File) -> Description:
    _check_place(file)
    here = str(file.path.resolve())
    if here in file.chain:
        inside = [Path(name).name for name in (*file.chain[file.chain.index(here) :], here)]
        raise finding("Submodel", ("file",), f"a model must not be a part of itself: {' -> '.join(inside)}")
    try:
        return Description.read(file.path, file.chain, within=file.within)
    except ModelError as error:
        raise findings("Submodel", ("file",), error.problems) from None


def _check_place(file: File) -> None:
    """A model that somebody has sent must not read what else there is on the disk, which errors might quote."""
    try:
        astray = strays(file.path.resolve(), file.within)
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, or a zero byte
        raise finding("Submodel", ("file",), f"{file.path}: cannot be read: {error}; check the path") from None
    if astray:
        cure = "allow_outside=True or --allow-outside lets it"
        text = f"{file.path}: lies outside of the model's folder '{file.within}', which may read no other; {cure}"
        raise finding("Submodel", ("file",), text)


class Submodel(Part):
    """A model as a part of another: its elements get the name of the part before theirs, with a dot."""

    file: FileName | None = None  # relative to the file that holds the entry
    model: Annotated[Any, PlainValidator(_inline), PlainSerializer(_data_of), WithJsonSchema({"type": "object"})] = None
    parameters: dict[ParameterName, Value] = Field(default_factory=dict)  # in place of the values in the sub-model
    position: Annotated[Point, In("m")] = (0.0, 0.0)
    angle: PLANAR_ANGLE = 0.0
    orientation: TURN = None
    mirror: Literal["x", "y", "z"] | None = None  # normal of the plane, through the sub-model's origin
    attach: dict[Name, BodyName] = Field(default_factory=dict)  # external bodies of the sub-model: which they are
    _read: Description | None = PrivateAttr(default=None)

    @property
    def content(self) -> Description:
        """The model."""
        content = self.model if self._read is None else self._read
        assert isinstance(content, Description)
        return content

    def whole(self) -> Submodel:
        """The same with the model in place of its file."""
        return Submodel(**{**dict(self), "file": None, "model": self.content.whole()})

    @model_validator(mode="after")
    def _read_file(self) -> Self:
        if (self.file is None) == (self.model is None):
            raise ModelError('must have either a "file" or a "model"')
        if isinstance(self.file, File) and self._read is None:
            self._read = _included(self.file)
        return self


class Header(Whole):
    """The entries of a model that are no section."""

    format_version: Annotated[Literal[1], PlainValidator(_version), WithJsonSchema({"const": FORMAT_VERSION})]
    name: Name
    text: Text = ""
    dimensions: Literal[2, 3] = 2  # planar or spatial
    gravity: Annotated[Point, In("m/s2")] = (0.0, 0.0)
    length: Annotated[Positive | None, In("m")] = None  # the model's length scale
    velocity_terms: Literal["derived", "given"] = "derived"  # whether the forces hold the derivatives of M
    energy_balance: bool = False  # sums up the power from outside as a state, `energy.supplied`
    experiment: Experiment | None = None


class Description(Header):
    """A model. Constructing one checks all but names in expressions; a ModelError lists what is wrong at once."""

    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    inputs: dict[Name, Input] = Field(default_factory=dict)
    tables: dict[Name, Table] = Field(default_factory=dict)
    markers: dict[Name, Marker] = Field(default_factory=dict)
    bodies: dict[Name, Body] = Field(default_factory=dict)
    joints: dict[Name, Joint] = Field(default_factory=dict)
    forces: dict[Name, Force] = Field(default_factory=dict)
    motions: dict[Name, Motion] = Field(default_factory=dict)
    coordinates: dict[Name, Coordinate] = Field(default_factory=dict)
    mass: dict[MassKey, Value] = Field(default_factory=dict)  # entries of M(q): "theta" or "beta,theta"
    constraints: dict[Name, Constraint] = Field(default_factory=dict)
    states: dict[Name, State] = Field(default_factory=dict)
    variables: dict[Name, Variable] = Field(default_factory=dict)
    blocks: dict[Name, Block] = Field(default_factory=dict)
    callbacks: dict[Name, Callback] = Field(default_factory=dict)
    events: dict[Name, Event] = Field(default_factory=dict)
    impacts: dict[Name, Impact] = Field(default_factory=dict)
    outputs: dict[Name, Output] = Field(default_factory=dict)
    submodels: dict[Name, Submodel] = Field(default_factory=dict)
    _flattened: Description | None = PrivateAttr(default=None)

    def __init__(self, /, **data: Any) -> None:
        pieces = take_apart(Header, Description, data)
        problems = pieces.problems + cross_checks(pieces)
        if problems:
            raise type(self)._incomplete(pieces, problems)
        super().__init__(**pieces.fields)
        if self.submodels:
            self._flattened = flatten(self)

    @classmethod
    def _incomplete(cls, pieces: Pieces, problems: list[str]) -> ModelError:
        """The findings, and what else there is to be looked at."""
        error = ModelError(problems)
        if pieces.lost or pieces.dimensions is None:  # anything might follow from that
            return error
        fields, lost = valid_rest(pieces, problems)
        defaults = {name: info.get_default(call_default_factory=True) for name, info in cls.model_fields.items()}
        rest = cls.model_construct(None, **{**defaults, "name": "", **fields})
        try:
            rest._flattened = flatten(rest) if rest.submodels else None
        except ModelError as more:
            return ModelError(problems + more.problems)
        error.rest = Rest(rest, lost)
        return error

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow_outside: bool = False) -> Self:
        """Read a model file; every line of the ModelError begins with the file.

        `allow_outside` lets it refer to files outside of its folder.
        """
        return cls.read(Path(path), allow_outside=allow_outside)

    @classmethod
    def read(
        cls, path: Path, around: tuple[str, ...] = (), *, within: Path | None = None, allow_outside: bool = False
    ) -> Self:
        """Read a model file that is a part of the models in the files `around` it, all of which are `within` a folder.

        The folder is that of the outermost file.
        """
        try:
            data, problems = parse_json(read_bytes(path))
            if not around:
                within = None if allow_outside else within or path.parent.resolve()
                check_size(data, path, within)
            locate(data, path.parent, (*around, str(path.resolve())), within)
            return cls._checked(data, problems)
        except ModelError as error:
            raise _located(error, str(path)) from None

    @classmethod
    def from_json(cls, text: str | bytes, origin: str = "", *, allow_outside: bool = False) -> Self:
        """Read JSON text; `origin` begins every line of the ModelError. Files are relative to the working folder.

        `allow_outside` lets it refer to files outside of that folder.
        """
        within = None if allow_outside else Path().resolve()
        try:
            data, problems = parse_json(text)
            check_size(data, Path(), within)
            locate(data, Path(), (), within)
            return cls._checked(data, problems)
        except ModelError as error:
            raise _located(error, origin) from None

    @classmethod
    def _checked(cls, data: dict[str, Any], problems: list[str]) -> Self:
        try:
            description = cls(**data)
        except ModelError as error:
            raise _reworded(error, problems + error.problems) from None
        if problems:
            found = ModelError(problems)
            found.rest = Rest(description, frozenset())
            raise found
        return description

    def to_json(self) -> str:
        """The text of a model file; reading it gives an equal description."""
        return to_text(self.to_data())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file; an existing one is replaced as a whole or not at all."""
        callbacks = self.flat().callbacks
        lost = [name for name, callback in callbacks.items() if not callback.python.can_be_named]
        if lost:
            cure = "move its function to the top of a module"
            raise ModelError(f"callbacks.{k}: a file cannot name {str(callbacks[k].python)!r}; {cure}" for k in lost)
        with atomic(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_data(self) -> dict[str, Any]:
        """The plain data of a model file: the header, and the sections that are not empty."""
        header = set(Header.model_fields)
        data: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, by_alias=True, include=header)
        for section in sections(Description):
            entries = getattr(self, section)
            if entries:
                data[section] = {n: e.to_data() if isinstance(e, Element) else e for n, e in entries.items()}
        return data

    def elements(self) -> Iterator[tuple[str, str, Part]]:
        """Section, name and element of everything that has a name."""
        for section, rule in sections(Description).items():
            if rule.named:
                for name, element in getattr(self, section).items():
                    yield section, name, element

    def section_of(self, name: str) -> str:
        """The section that holds the element called `name`."""
        for section, known, _ in self.elements():
            if known == name:
                return section
        hint = did_you_mean(name, (known for _, known, _ in self.elements()))
        raise ModelError(f"model '{self.name}': nothing is named {name!r}{hint}")

    def element(self, name: str) -> Part:
        """The element called `name`, whatever its section."""
        element: Part = getattr(self, self.section_of(name))[name]
        return element

    def marker(self, end: Marker | str) -> Marker:
        """The marker that the end of a joint or force means: itself, or the one of that name."""
        return self.markers[end] if isinstance(end, str) else end

    @property
    def curves(self) -> dict[str, Curve]:
        """What tables are."""
        return {name: table.curve for name, table in self.tables.items()}

    @property
    def merged(self) -> Description:
        """The model with its sub-models dissolved; external bodies may be left."""
        return self if self._flattened is None else self._flattened

    def flat(self) -> Description:
        """The model to be computed: no sub-models, names such as `front.left.wheel`, no external bodies."""
        external = [name for name, body in self.merged.bodies.items() if body.external]
        if external:
            reason = "is external, so this model is a part of others; give the body a mass, or use it as a sub-model"
            raise ModelError(f"bodies.{name}: {reason}" for name in external)
        return self.merged

    def placed(self, problem: str) -> str:
        """A finding about the flat model, with the sub-models and files it is in."""
        return placed(self, problem)

    def whole(self) -> Self:
        """The same model with the files of its sub-models written into it, to be kept or sent alone."""
        parts = {name: part.whole() for name, part in self.submodels.items()}
        return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, "submodels": parts})

    def point(self, value: object) -> tuple[float | str, ...]:
        """The components of a point, direction or angular velocity: a default is short and ends in zeros."""
        given = value if isinstance(value, tuple) else ()
        return (*given, 0.0, 0.0, 0.0)[: self.dimensions]


def _located(error: ModelError, origin: str) -> ModelError:
    return _reworded(error, [f"{origin}: {problem}" for problem in error.problems]) if origin else error


def _reworded(error: ModelError, problems: list[str]) -> ModelError:
    new = ModelError(problems)
    new.rest = error.rest
    return new
