"""What an FMU file says about itself, ours or another tool's; must not run it."""

from __future__ import annotations

import fnmatch
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from mbdfmu.collecting import without_collection
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import named_file
from mbdfmu.fmi.binaries import oldest_glibc
from mbdfmu.fmi.types import Value
from mbdfmu.fmi.unpacking import check_archive
from mbdfmu.units import bare

CO_SIMULATION, MODEL_EXCHANGE = "co-simulation", "model exchange"
KINDS = {
    "coSimulation": CO_SIMULATION,
    "modelExchange": MODEL_EXCHANGE,
    "scheduledExecution": "scheduled execution",
}
DESCRIPTION = "modelDescription.xml"
PYTHONFMU_MARK = "resources/slavemodule.txt"
REALS = ("Real", "Float64", "Float32")
_ANY_STEP = {"canHandleVariableCommunicationStepSize": True}  # of our integrator


@dataclass(frozen=True, kw_only=True)
class FmuVariable:
    """One variable as the XML declares it; of an array, which FMI 3.0 has, one element."""

    name: str
    reference: int
    type: str
    causality: str
    variability: str
    unit: str
    start: Value | None
    minimum: float | None
    maximum: float | None
    nominal: float  # its usual size, 1 where nothing is said
    text: str
    settable: bool  # before the simulation begins
    choices: Mapping[str, int] = field(default_factory=dict, repr=False)  # of enumerations: their numbers by name
    element: int = 0  # in the array, row by row, and the size of that
    size: int = 1

    @property
    def is_real(self) -> bool:
        """Whether it holds a number of any size."""
        return self.type in REALS


@dataclass(frozen=True, kw_only=True)
class FmuInfo:
    """The facts about an FMU file."""

    path: Path
    name: str
    text: str
    fmi_version: str
    kinds: tuple[str, ...]  # of KINDS
    guid: str
    generation_tool: str
    generation_date: str
    platforms: tuple[str, ...]  # that it has binaries for
    glibc: Mapping[str, str]  # of Linux platforms: the oldest C library that will do
    runtime: str  # "python" if it was made by pythonfmu, else "native"
    start_time: float | None  # these four: of the default experiment
    stop_time: float | None
    step: float | None
    tolerance: float | None
    # Of outputs: the inputs that they are said to depend on at once; None where nothing is said, which means all.
    dependencies: Mapping[str, frozenset[str] | None] = field(repr=False)
    capabilities: Mapping[str, bool] = field(repr=False)  # of co-simulation
    exchange_capabilities: Mapping[str, bool] = field(repr=False)  # of model exchange, with our integrator
    variables: tuple[FmuVariable, ...] = field(repr=False)

    def signals(self, pattern: str = "*") -> list[FmuVariable]:
        """The variables whose name fits a pattern such as `crank.*`; a full name is taken literally."""
        if pattern in self._by_name:
            return [self._by_name[pattern]]
        return [v for v in self.variables if fnmatch.fnmatchcase(v.name, pattern)]

    def variable(self, name: str, what: str = "variable") -> FmuVariable:
        """The variable of that name; ModelError with the nearest one if there is none."""
        if name not in self._by_name:
            known = did_you_mean(name, self._by_name) or "; all names: mbdfmu info FMU --signals '*'"
            raise ModelError(f"FMU '{self.name}' has no {what} {name!r}{known}")
        return self._by_name[name]

    def for_exchange(self) -> FmuInfo:
        """The same as if it were for model exchange only: what is loaded by these facts is integrated by us."""
        return replace(self, kinds=(MODEL_EXCHANGE,), capabilities=self.exchange_capabilities)

    @property
    def is_integrated(self) -> bool:
        """Whether it leaves its steps to an integrator."""
        return self.kinds == (MODEL_EXCHANGE,)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def feedthrough(self) -> frozenset[str]:
        """Outputs that are said to depend on some input at once."""
        return frozenset(name for name, inputs in self.dependencies.items() if inputs)

    @cached_property
    def _by_name(self) -> dict[str, FmuVariable]:
        return {v.name: v for v in self.variables}


def info(path: str | os.PathLike[str]) -> FmuInfo:
    """Read an FMU file of FMI 1, 2 or 3."""
    with without_collection():
        return _info(named_file(path))


def _info(path: Path) -> FmuInfo:
    description, names, glibc = _read(path)
    _check_identifiers(path, description)
    experiment = description.defaultExperiment
    return FmuInfo(
        path=path,
        name=description.modelName,
        text=description.description or "",
        fmi_version=description.fmiVersion,
        kinds=tuple(kind for attribute, kind in KINDS.items() if getattr(description, attribute) is not None),
        guid=description.guid,
        generation_tool=description.generationTool or "",
        generation_date=description.generationDateAndTime or "",
        platforms=tuple(
            sorted({name.split("/")[1] for name in names if name.startswith("binaries/") and name.count("/") > 1})
        ),
        glibc=glibc,
        runtime="python" if PYTHONFMU_MARK in names else "native",
        start_time=_number(experiment and experiment.startTime),
        stop_time=_number(experiment and experiment.stopTime),
        step=_number(experiment and experiment.stepSize),
        tolerance=_number(experiment and experiment.tolerance),
        dependencies={unknown.variable.name: _inputs_of(unknown) for unknown in description.outputs},
        capabilities=_capabilities(description.coSimulation),
        exchange_capabilities={**_capabilities(description.modelExchange), **_ANY_STEP},
        variables=_all_variables(path, description),
    )


def _read(path: Path) -> tuple[Any, set[str], dict[str, str]]:
    if path.is_dir():
        raise ModelError(f"{path}: is a folder; name an FMU as it was exported, in one file")
    if not path.is_file():
        raise ModelError(f"{path}: there is no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            check_archive(archive)
            names = set(archive.namelist())
            if DESCRIPTION not in names:
                raise ModelError(f"{path}: is no FMU: it has no {DESCRIPTION}; name a file that a tool has exported")
            glibc = {
                name.split("/")[1]: version
                for name in sorted(names)
                if _is_library(name) and (version := oldest_glibc(archive.read(name)))
            }
        return _described(path), names, glibc
    except ModelError:
        raise
    except Exception as error:  # fmpy raises whatever its XML and zip libraries do
        raise ModelError(f"{path}: cannot be read as an FMU: {error}") from error


def _check_identifiers(path: Path, description: Any) -> None:
    """The name of the library: another one than C allows could lead to a file from elsewhere."""
    for attribute, kind in KINDS.items():
        found = getattr(getattr(description, attribute), "modelIdentifier", None)
        if found is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", found):
            allowed = "letters, digits and _, beginning with none of the digits, as a name in C"
            raise ModelError(f"{path}: {DESCRIPTION}: modelIdentifier {found!r} of {kind}: must be {allowed}")


def _described(path: Path) -> Any:
    """What fmpy reads of the XML; where it stumbles over something, what the schema of the standard says of that."""
    from fmpy import read_model_description

    try:
        return read_model_description(os.fspath(path), validate=False)
    except (AttributeError, LookupError, TypeError, ValueError):
        try:
            read_model_description(os.fspath(path), validate=True)
        except Exception as error:
            found = [line.removeprefix("- ERROR ") for line in str(error).splitlines() if line.startswith("- ")]
            found = found or [f"it is not as FMI wants it ({error})"]
            raise ModelError([f"{path}: {DESCRIPTION}: {finding}" for finding in found]) from error
        raise


def _is_library(name: str) -> bool:
    return name.startswith("binaries/") and name.count("/") == 2 and name.endswith(".so")


def _inputs_of(unknown: Any) -> frozenset[str] | None:
    if unknown.dependencies is None:
        return None
    return frozenset(variable.name for variable in unknown.dependencies if variable.causality == "input")


def _capabilities(interface: Any) -> dict[str, bool]:
    flags = {
        name: getattr(interface, name)
        for name in dir(interface)
        if name.startswith(("can", "needs", "provides"))
    }
    return {name: value for name, value in flags.items() if isinstance(value, bool)}


def _all_variables(path: Path, description: Any) -> tuple[FmuVariable, ...]:
    try:
        return tuple(one for v in description.modelVariables for one in _variables(v))
    except ModelError as error:
        raise ModelError(f"{path}: {DESCRIPTION}: {problem}" for problem in error.problems) from None


def _variables(v: Any) -> Iterator[FmuVariable]:
    """The variable, or the elements of an array: `u[1]`, `u[2]`, or `u[1,1]`, `u[1,2]`."""
    if not v.shape:
        yield _variable(v)
        return
    for k, place in enumerate(product(*(range(1, size + 1) for size in v.shape))):
        yield replace(_variable(v, k), name=f"{v.name}[{','.join(map(str, place))}]")


def _variable(v: Any, element: int = 0) -> FmuVariable:
    return FmuVariable(
        name=v.name,
        reference=v.valueReference,
        type=v.type,
        causality=v.causality,
        variability=v.variability or "",
        unit=bare(v.unit or (v.declaredType.unit if v.declaredType is not None else None) or ""),
        start=_start(v, element),
        minimum=_number(v.min),
        maximum=_number(v.max),
        nominal=abs(_number(v.nominal) or 1.0),
        text=v.description or "",
        choices=_choices(v.declaredType),
        settable=v.causality == "input" or (v.variability != "constant" and v.initial in ("exact", "approx")),
        element=element,
        size=math.prod(v.shape or ()),
    )


def _choices(declared: Any) -> dict[str, int]:
    items = getattr(declared, "items", None) if declared is not None else None
    return {item.name: int(item.value) for item in items} if items else {}


def _start(v: Any, element: int) -> Value | None:
    """Of an array that names one value for all elements, that one."""
    if v.start is None or v.type in ("String", "Binary"):
        return None if v.start is None else str(v.start)
    given = str(v.start).split()
    try:
        text = given[element if len(given) > 1 else 0]
        if v.type == "Boolean":
            return text in ("true", "1")
        return (float if v.type in REALS else int)(text)
    except (IndexError, ValueError):
        raise ModelError(f"'{v.name}' of type {v.type} cannot start at {v.start!r}") from None


def _number(text: Any) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
