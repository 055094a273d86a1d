"""The whole of what a user says about a model, valid by construction; must not know how a model is computed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema

from mbdfmu.description.checks import cross_checks
from mbdfmu.description.parts import (
    Body,
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
)
from mbdfmu.description.pieces import sections, take_apart
from mbdfmu.description.reading import parse_json, read_bytes, to_text
from mbdfmu.description.values import In, MassKey, Name, Point, Positive, Text, Value, shown
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic

FORMAT_VERSION = 1  # of model files; raised when an old reader would misread a new file


def _version(value: object) -> int:
    if isinstance(value, bool) or value != FORMAT_VERSION:
        raise ModelError(f"must be {FORMAT_VERSION}, found {shown(value)}; other formats need another mbdfmu")
    return FORMAT_VERSION


class Header(Element):
    """The entries of a model that are no section."""

    format_version: Annotated[Literal[1], PlainValidator(_version), WithJsonSchema({"const": FORMAT_VERSION})]
    name: Name
    text: Text = ""
    gravity: Annotated[Point, In("m/s2")] = (0.0, 0.0)
    length: Annotated[Positive | None, In("m")] = None  # the model's length scale
    velocity_terms: Literal["derived", "given"] = "derived"  # whether the forces hold the derivatives of M
    experiment: Experiment | None = None


class Description(Header):
    """A model. Constructing one checks everything; a ModelError lists all that is wrong at once."""

    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    inputs: dict[Name, Input] = Field(default_factory=dict)
    markers: dict[Name, Marker] = Field(default_factory=dict)
    bodies: dict[Name, Body] = Field(default_factory=dict)
    joints: dict[Name, Joint] = Field(default_factory=dict)
    forces: dict[Name, Force] = Field(default_factory=dict)
    motions: dict[Name, Motion] = Field(default_factory=dict)
    coordinates: dict[Name, Coordinate] = Field(default_factory=dict)
    mass: dict[MassKey, Value] = Field(default_factory=dict)  # entries of M(q): "theta" or "beta,theta"
    constraints: dict[Name, Constraint] = Field(default_factory=dict)
    outputs: dict[Name, Output] = Field(default_factory=dict)

    def __init__(self, /, **data: Any) -> None:
        pieces = take_apart(Header, Description, data)
        problems = pieces.problems + cross_checks(pieces)
        if problems:
            raise ModelError(problems)
        super().__init__(**pieces.fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file; every line of the ModelError begins with the file."""
        try:
            content = read_bytes(Path(path))
        except ModelError as error:
            raise _located(error, os.fspath(path)) from None
        return cls.from_json(content, os.fspath(path))

    @classmethod
    def from_json(cls, text: str | bytes, origin: str = "") -> Self:
        """Read JSON text; `origin` begins every line of the ModelError."""
        try:
            data, problems = parse_json(text)
            return cls._checked(data, problems)
        except ModelError as error:
            raise _located(error, origin) from None

    @classmethod
    def _checked(cls, data: dict[str, Any], problems: list[str]) -> Self:
        try:
            description = cls(**data)
        except ModelError as error:
            raise ModelError(problems + error.problems) from None
        if problems:
            raise ModelError(problems)
        return description

    def to_json(self) -> str:
        """The text of a model file; reading it gives an equal description."""
        return to_text(self.to_data())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file; an existing one is replaced as a whole or not at all."""
        with atomic(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_data(self) -> dict[str, Any]:
        """The plain data of a model file: the header, and the sections that are not empty."""
        data: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, include=set(Header.model_fields))
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


def _located(error: ModelError, origin: str) -> ModelError:
    return ModelError(f"{origin}: {problem}" for problem in error.problems) if origin else error
