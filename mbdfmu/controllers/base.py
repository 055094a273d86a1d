"""What a controller is: parameters, ports, states and one law; must not know any controller, nor how one is run.

A member is one frozen dataclass. Its law is a pure function of states x and inputs u, written with arithmetic and the
functions of `mbdfmu.controllers.functions`, so that it runs on numbers and can be written down as expressions.
"""

from __future__ import annotations

import copy
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.registry import Registered

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from mbdfmu.controllers.running import Running
    from mbdfmu.facade import Model

SAMPLING = ("sample_time", "delay", "largest_step")  # parameters of how the law is run
PARTS, ROUNDED = 100, 1e-9  # of a sample time, which delays may be parts of
_APART = threading.RLock()
_ELEMENT = re.compile(r"(?P<name>\w+)(?:\[(?P<row>\d+),(?P<column>\d+)\])?")


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or output; bounds of inputs describe and are not held."""

    unit: str = ""
    text: str = ""
    low: float | None = None
    high: float | None = None
    start: float = 0.0  # of outputs: until the first sample appears


@dataclass(frozen=True, kw_only=True)
class State:
    """What the law gives a rate for."""

    unit: str = ""
    text: str = ""
    start: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What the law gives the next value for at each sample; of phases, the number from 1."""

    unit: str = ""
    text: str = ""
    start: float = 0.0
    phases: tuple[tuple[str, str], ...] = ()  # name and a line about it


@dataclass(frozen=True)
class Law:
    """What a law says at one moment."""

    outputs: Mapping[str, Any]
    rates: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)  # the next values


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number of a controller; of a matrix an element, `gains[1,2]`."""

    name: str
    value: float
    unit: str
    text: str
    low: float | None
    high: float | None
    tunable: bool  # may change while it runs


def tunable(default: Any, unit: str, text: str, *, low: float | None = None, high: float | None = None) -> Any:
    """A number, or a matrix of them, that may change while the controller runs; None: there is none."""
    return _parameter(default, unit, text, low, high, "tunable")


def fixed(default: Any, unit: str, text: str, *, low: float | None = None, high: float | None = None) -> Any:
    """A number, or a matrix of them, that stays once the controller runs; None: there is none."""
    return _parameter(default, unit, text, low, high, "fixed")


def structural(default: Any, text: str) -> Any:
    """What decides which ports and states there are; no parameter of an FMU or model."""
    return _parameter(default, "", text, None, None, "structural")


def _parameter(default: Any, unit: str, text: str, low: float | None, high: float | None, kind: str) -> Any:
    return field(default=default, metadata={"unit": unit, "text": text, "low": low, "high": high, "kind": kind})


@dataclass(frozen=True, kw_only=True)
class Controller(Registered, family="controller"):
    """Base of the controllers: a member declares its parameters and ports, and gives the law.

    Ports, states and memory are attributes of the class, or properties where they depend on what is structural.
    """

    inputs: ClassVar[Mapping[str, Port]] = {}
    outputs: ClassVar[Mapping[str, Port]] = {}
    states: ClassVar[Mapping[str, State]] = {}
    memory: ClassVar[Mapping[str, Memory]] = {}

    sample_time: float = fixed(0.0, "s", "between two samples; 0 = continuous", low=0.0)
    delay: float = fixed(0.0, "s", "between a sample and the appearance of its outputs", low=0.0)
    largest_step: float = fixed(0.0, "s", "largest internal step where continuous; 0 = chosen", low=0.0)

    def __post_init__(self) -> None:
        self.check()

    # ---- what a member gives

    def law(self, x: Mapping[str, Any], u: Mapping[str, Any]) -> Law:
        """Outputs, rates of states and next values of memory, from states and memory x and inputs u."""
        raise TypeError(f"controller '{self.type_name}' has no law")

    def time_constants(self) -> Iterable[float]:
        """Of its states, as far as they have any, s."""
        return ()

    def problems(self) -> Iterator[str]:
        """What does not fit together among the parameters, beside bounds."""
        yield from ()

    # ---- parameters

    @property
    def sampled(self) -> bool:
        """Whether the law is evaluated at samples only."""
        return self.sample_time > 0

    @property
    def communication_step(self) -> float:
        """Samples are multiples of it; so is what appears later, if the delay is a simple part of the sample time."""
        late = self.delay / self.sample_time
        part = Fraction(late).limit_denominator(PARTS)
        return self.sample_time / (part.denominator if abs(part - late) <= ROUNDED * (1 + late) else 1)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The numbers that an FMU or a model has as parameters, by name."""
        return {p.name: p for f in fields(self) for p in self._numbers(f)}

    def _numbers(self, f: Any) -> Iterator[Parameter]:
        about, value = f.metadata, getattr(self, f.name)
        if about["kind"] == "structural" or value is None or not self._has_use(f.name):
            return
        common = {key: about[key] for key in ("unit", "text", "high")} | {"tunable": about["kind"] == "tunable"}
        for name, number in _elements(f.name, value):
            # 0 would change which variables there are: what is there stays above it.
            low = 1e-6 if f.name in SAMPLING and number > 0 else about["low"]
            yield Parameter(name=name, value=number, low=low, **common)

    def _has_use(self, name: str) -> bool:
        """Whether a parameter of how the law is run says anything here."""
        continuous = name == "largest_step"
        return name not in SAMPLING or (not self.sampled and bool(self.states) if continuous else self.sampled)

    def with_parameters(self, values: Mapping[str, Any]) -> Self:
        """The same controller with other values by name, elements of matrices too; unchecked, so that symbols fit."""
        other = copy.copy(self)
        for name, value in values.items():
            found = _ELEMENT.fullmatch(name)
            assert found is not None
            if found["row"] is not None:
                rows = [list(row) for row in getattr(other, found["name"])]
                rows[int(found["row"]) - 1][int(found["column"]) - 1] = value
                value = tuple(map(tuple, rows))
            object.__setattr__(other, found["name"], value)
        return other

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Self:
        """A controller of these values; ModelError for unknown names."""
        known = [f.name for f in fields(cls)]
        who = f"controller '{cls.type_name}'"
        problems = [
            f"{who} has no parameter {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
            for name in values
            if name not in known
        ]
        if problems:
            raise ModelError(problems)
        return cls(**values)

    # ---- classes of FMUs

    @classmethod
    @contextmanager
    def apart(cls) -> Iterator[None]:
        """Controllers that are defined meanwhile do not enter the family: FMUs may hold other versions of them."""
        with _APART:
            table, Controller._table = Controller._table, {}
            try:
                yield
            finally:
                Controller._table = table

    # ---- checks

    def check(self) -> None:
        """All that is wrong with the values, as one ModelError."""
        found = [problem for f in fields(self) for problem in self._checked(f)]
        found = found or [*self.problems()] or [*self._misfits()]  # which look at ports that problems may prevent
        if found:
            raise ModelError(f"controller '{self.type_name}': {problem}" for problem in found)

    def _checked(self, f: Any) -> Iterator[str]:
        about, value = f.metadata, getattr(self, f.name)
        if about["kind"] == "structural":
            yield from self._checked_structure(f.name, f.default, value)
            return
        if value is None and "None" in str(f.type):
            return
        try:
            value = _numeric(value)
        except (TypeError, ValueError):
            yield f"{f.name} must be a number{' or rows of numbers' * isinstance(f.default, tuple)}, found {value!r}"
            return
        object.__setattr__(self, f.name, value)
        for name, number in _elements(f.name, value):
            if problem := out_of_bounds(number, about["low"], about["high"]):
                yield f"{name} {problem}"

    def _checked_structure(self, name: str, default: Any, value: Any) -> Iterator[str]:
        """Names, or a whole number."""
        if isinstance(default, tuple):
            wanted = "names"
            fits = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        else:
            wanted = "a whole number"
            fits = isinstance(value, int | float) and value == int(value)
        if fits:
            object.__setattr__(self, name, type(default)(value))
        else:
            yield f"{name} must be {wanted}, found {value!r}"

    def _misfits(self) -> Iterator[str]:
        if self.memory and not self.sampled:
            yield f"{', '.join(self.memory)} change at samples only: sample_time must be above 0"
        if self.delay > 0 and not self.sampled:
            yield f"delay = {self.delay:g} s belongs to samples; give sample_time too, or delay = 0"
        shortest = min(self.time_constants(), default=math.inf)
        if self.sample_time > 2 * shortest:
            yield (
                f"sample_time = {self.sample_time:g} s is more than twice the shortest time constant of "
                f"{shortest:g} s, which is unstable; sample faster"
            )
        names = Counter([*self.parameters, *self.inputs, *self.outputs, *self.states, *self.memory, "time"])
        yield from (f"the name '{name}' is there twice; rename one" for name, count in names.items() if count > 1)

    # ---- what can be done with it

    def start(self, at: float = 0.0) -> Running:
        """One running instance, from the time `at` (s) on."""
        from mbdfmu.controllers.running import Running

        return Running(self, at)

    def model(self, name: str = "") -> Model:
        """The controller alone as a model: inputs, states, outputs and no bodies; samples are events."""
        from mbdfmu.controllers.twin import alone

        return alone(self, name or self.type_name)

    def export_fmu(self, path: str | os.PathLike[str], runtime: str = "python", name: str = "") -> Path:
        """Write the controller as an FMU for co-simulation.

        `runtime` "python" needs Python with mbdfmu on the target, "native" nothing. `name` is that of its model, the
        controller's if not given.
        """
        from mbdfmu.controllers.export import export

        return export(self, path, runtime, name or self.type_name)


def out_of_bounds(value: float, low: float | None, high: float | None) -> str:
    """Why a number is not allowed; empty if it is."""
    if not math.isfinite(value):
        return f"must be a finite number, found {value}"
    if (low is None or value >= low) and (high is None or value <= high):
        return ""
    ends = [f"{word} {bound:g}" for word, bound in (("at least", low), ("at most", high)) if bound is not None]
    return f"must be {' and '.join(ends)}, found {value:g}"


def _numeric(value: Any) -> Any:
    """A number, or rows of numbers."""
    if isinstance(value, bool | str):
        raise TypeError
    if not hasattr(value, "__len__"):
        return float(value)
    rows = tuple(tuple(float(x) for x in row) for row in value)
    if len({len(row) for row in rows}) > 1:
        raise ValueError
    return rows


def _elements(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if not isinstance(value, tuple):
        yield name, value
        return
    for i, row in enumerate(value, 1):
        yield from ((f"{name}[{i},{j}]", number) for j, number in enumerate(row, 1))
