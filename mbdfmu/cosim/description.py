"""What a user says about coupled FMUs: which there are and how they are coupled; must not look into any FMU.

A system file is JSON. Variables are called `FMU.VARIABLE`, and files are relative to the folder of the system file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_serializer, model_validator

from mbdfmu.description import Experiment, In, Name, Number, PositiveNumber, Text
from mbdfmu.description.messages import listed
from mbdfmu.description.parts import Element
from mbdfmu.description.pieces import sections, take_apart
from mbdfmu.description.reading import parse_json, read_bytes, strays, to_text, unfit
from mbdfmu.description.values import Count, Flag, shown
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic
from mbdfmu.fmi.types import Value

FORMAT_VERSION = 1
LARGEST_FMU, LARGEST_TABLE = 4 << 30, 1 << 30  # bytes of a file
_TYPED = {"type": ["number", "boolean", "string"]}


def _variable(value: object) -> str:
    """A name such as `car.slip_fl`."""
    if not isinstance(value, str) or not all(value.partition(".")):
        raise ModelError(f"must be FMU.VARIABLE, such as car.slip, found {shown(value)}")
    return value


def _typed(value: object) -> Value:
    if not isinstance(value, float | int | bool | str) or value != value:
        raise ModelError(f"must be a number, true, false or a text, found {shown(value)}")
    return value


def _file(value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ModelError(f"must be the name of a file, found {shown(value)}")
    return Path(value)


Variable = Annotated[str, PlainValidator(_variable), WithJsonSchema({"type": "string", "pattern": r"^[^.]+\..+$"})]
Typed = Annotated[Any, PlainValidator(_typed), WithJsonSchema(_TYPED)]
File = Annotated[Path, PlainValidator(_file), PlainSerializer(Path.as_posix), WithJsonSchema({"type": "string"})]


class Component(Element):
    """One FMU of a system, and what is set in it before the run."""

    fmu: File
    text: Text = ""
    parameters: dict[str, Typed] = Field(default_factory=dict)
    start: dict[str, Number] = Field(default_factory=dict)
    inputs: dict[str, Typed] = Field(default_factory=dict)  # constant values of inputs that nothing is coupled to
    step: Annotated[PositiveNumber | None, In("s")] = None  # its own communication step
    tolerance: PositiveNumber | None = None  # of its solver, or of ours
    kind: Literal["co-simulation", "model exchange"] | None = None  # None: the first that it offers

    @model_validator(mode="before")
    @classmethod
    def _from_file(cls, data: Any) -> Any:
        return {"fmu": data} if isinstance(data, str | os.PathLike) else data

    @model_serializer(mode="wrap")
    def _to_file(self, handler: Any) -> Any:
        data = handler(self)
        return data["fmu"] if data.keys() == {"fmu"} else data


class Coupling(Element):
    """Where an input takes its value from: factor * output + offset."""

    source: Variable = Field(alias="from")
    factor: Number | None = None  # None: 1 and, where units differ, what turns one into the other
    offset: Number = 0.0
    delayed: Flag = False  # the value of the last communication point: opens an algebraic loop

    @model_validator(mode="before")
    @classmethod
    def _from_source(cls, data: Any) -> Any:
        return {"from": data} if isinstance(data, str) else data

    @model_serializer(mode="wrap")
    def _to_source(self, handler: Any) -> Any:
        data = handler(self)
        return data["from"] if data.keys() == {"from"} else data


class Bond(Element):
    """An input and an output of one FMU whose product is the power that it is given, such as force and speed."""

    effort: Variable
    flow: Variable


class Master(Element):
    """How the FMUs are stepped together."""

    algorithm: Literal["jacobi", "gauss-seidel"] = "jacobi"
    extrapolation: Literal[0, 1, 2] = 0  # order of the polynomials that inputs follow during a step
    iterations: Count = 1  # at most, of each step; 1: none
    iteration_tolerance: PositiveNumber = 1e-8  # of what is coupled, relative to its largest value so far
    tolerance: PositiveNumber | None = None  # of the extrapolation, likewise; None: communication steps are fixed
    smallest_step: Annotated[PositiveNumber, In("s")] = 1e-9
    order: tuple[Name, ...] = ()  # in which Gauss-Seidel steps the FMUs; those not named follow as they stand


class _Header(Element):
    """The entries of a system that are no section."""

    format_version: Literal[1]  # raised when an old reader would misread a new file
    name: Name
    text: Text = ""
    experiment: Experiment | None = None
    master: Master = Master()
    inputs: File | None = None  # CSV with inputs over time that nothing is coupled to
    record: tuple[str, ...] = ()  # patterns of variables beside outputs and what is coupled


class SystemDescription(_Header):
    """Coupled FMUs. Constructing one checks all that can be told without the FMUs; a ModelError lists what is wrong."""

    fmus: dict[Name, Component] = Field(default_factory=dict)
    couplings: dict[Variable, Coupling] = Field(default_factory=dict)
    bonds: dict[Name, Bond] = Field(default_factory=dict)

    def __init__(self, /, **data: Any) -> None:
        pieces = take_apart(_Header, SystemDescription, data)
        problems = pieces.problems or _strays(pieces.fields)
        if problems:
            raise ModelError(problems)
        super().__init__(**pieces.fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow_outside: bool = False) -> Self:
        """Read a system file; every line of the ModelError begins with the file.

        `allow_outside` lets its inputs lie outside of its folder, as FMUs always may.
        """
        folder = Path(path).parent
        try:
            data, problems = parse_json(read_bytes(Path(path)))
            try:
                description = cls(**data)
            except ModelError as error:
                raise ModelError(problems + error.problems) from None
            problems += description._unfit_files(folder, allow_outside)
            if problems:
                raise ModelError(problems)
        except ModelError as error:
            raise ModelError(f"{os.fspath(path)}: {problem}" for problem in error.problems) from None
        return description.moved(lambda file: folder / file)

    def _unfit_files(self, folder: Path, allow_outside: bool) -> list[str]:
        """Devices and pipes in place of files; and a table elsewhere, which errors might quote."""
        files = {f"fmus.{name}": (folder / component.fmu, LARGEST_FMU) for name, component in self.fmus.items()}
        problems = []
        if self.inputs is not None:
            files["inputs"] = (folder / self.inputs, LARGEST_TABLE)
            if not allow_outside and strays(files["inputs"][0].resolve(), folder.resolve()):
                cure = "allow_outside=True or --allow-outside lets it"
                problems.append(f"inputs: {self.inputs}: lies outside of the system's folder '{folder}'; {cure}")
        for place, (file, largest) in files.items():
            problem = unfit(file.stat(), largest) if file.exists() else ""
            problems += [f"{place}: {file}: {problem}"] if problem else []
        return problems

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a system file, which names the FMUs relative to its folder where they are below that."""
        folder = Path(path).resolve().parent
        here = self.moved(lambda file: _relative(file.resolve(), folder))
        with atomic(path) as temporary:
            temporary.write_text(to_text(here.to_data()), encoding="utf-8", newline="\n")

    def moved(self, place: Any) -> Self:
        """The same system with other places of its files."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        fields["fmus"] = {
            name: component.model_copy(update={"fmu": place(component.fmu)}) for name, component in self.fmus.items()
        }
        fields["inputs"] = self.inputs and place(self.inputs)
        return type(self)(**fields)

    def to_data(self) -> dict[str, Any]:
        """The plain data of a system file: the header, and the sections that are not empty."""
        header = set(_Header.model_fields)
        data: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, by_alias=True, include=header)
        data["format_version"] = FORMAT_VERSION
        for section in sections(SystemDescription):
            if entries := getattr(self, section):
                data[section] = {name: entry.to_data() for name, entry in entries.items()}
        return data


def split(variable: str) -> tuple[str, str]:
    """`car.slip_fl`: the FMU and its variable."""
    fmu, _, name = variable.partition(".")
    return fmu, name


def _relative(file: Path, folder: Path) -> Path:
    return file.relative_to(folder) if file.is_relative_to(folder) else file


def _strays(fields: dict[str, Any]) -> list[str]:
    """FMUs that are named and are not there."""
    fmus = fields.get("fmus", {})
    named = [(f"couplings.{target}", target) for target in fields.get("couplings", {})]
    named += [(f"couplings.{target}", coupling.source) for target, coupling in fields.get("couplings", {}).items()]
    for name, bond in fields.get("bonds", {}).items():
        named += [(f"bonds.{name}.effort", bond.effort), (f"bonds.{name}.flow", bond.flow)]
    wanted = [(place, split(variable)[0]) for place, variable in named]
    order = fields.get("master", Master()).order
    wanted += [("master.order", name) for name in order]
    problems = [
        f"{place}: no FMU is called {name!r}{did_you_mean(name, fmus)}; known: {listed(fmus)}"
        for place, name in wanted
        if name not in fmus
    ]
    problems += [f"master.order: {name!r} is there {order.count(name)} times; name it once"
                 for name in dict.fromkeys(order) if order.count(name) > 1]  # fmt: skip
    problems += _driven_twice(fmus, fields.get("couplings", {}))
    return problems if fmus else ["fmus: there is none; name at least one, as in \"car\": \"car.fmu\""]


def _driven_twice(fmus: Mapping[str, Component], couplings: Mapping[str, Coupling]) -> Iterator[str]:
    """Values of coupled inputs, which the first exchange would overwrite; a start value may be a first guess."""
    for name, component in fmus.items():
        for section in ("parameters", "inputs"):
            for variable in getattr(component, section):
                coupling = couplings.get(f"{name}.{variable}")
                if coupling is not None:
                    yield (
                        f"fmus.{name}.{section}: '{variable}' is an input that takes its value from {coupling.source} "
                        f"(couplings.{name}.{variable}); leave out the value or the coupling"
                    )
