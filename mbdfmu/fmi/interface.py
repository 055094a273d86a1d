"""The variables of one FMU: the table that its XML is written from and its slave works by; must not know either.

It travels inside the FMU as JSON, so this module may need nothing but the standard library and our errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import Field, asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from mbdfmu.blob import doubles, ints, lines, pack, text
from mbdfmu.errors import ModelError
from mbdfmu.schemes import Scheme

if TYPE_CHECKING:
    from mbdfmu.fmi.variables import Table
    from mbdfmu.fmi.variables import Variable as Row

FORMAT = 2  # of the JSON; raised when an older mbdfmu would misread a newer FMU
SOLVER_REFERENCES = 1_000_000  # value references of `solver.*` begin here: they stay when the model gets more signals
SOLVER = "solver."
OPTIONS = "solver.options."
# Files in the FMU's resources.
BLOB = "model.mbd"
INTERFACE = "interface.json"
PACKED_INTERFACE = "interface.mbd"
CALLBACKS = "callbacks.json"
ERROR_LOG, SOLVER_LOG = "logStatusError", "logSolver"
LOG_CATEGORIES = {  # those of FMI 2.0.4 section 2.2.4 that occur, as solver/slave.cpp says them
    "logStatusWarning": "What a reader of the results has to know.",
    "logStatusDiscard": "Why a step was taken back.",
    ERROR_LOG: "What was refused, and why.",
    "logStatusFatal": "Errors of the solver itself.",
    "logEvents": "Events, impacts and restarts, as they occur.",
    SOLVER_LOG: "Work done by the solver.",
}
Value = float | int | bool | str
# Whether whoever runs the FMU in this thread shows its FMI log; if not, a slave tells its failures to Python's logging.
HEARD: ContextVar[bool] = ContextVar("mbdfmu_fmi_log_is_heard", default=False)

# What a variable is to the slave.
SIGNAL, PARAMETER, INPUT, SETTING, TEXT, EVENTS = "signal", "parameter", "input", "setting", "text", "events"


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One scalar variable of the FMU."""

    reference: int
    name: str
    role: str  # SIGNAL is computed, the others can be set
    index: int  # in the solver's table of its role
    type: str = "Real"  # Real, Integer, Boolean, String
    start: Value | None = None  # of what can be set
    minimum: float | None = None
    maximum: float | None = None
    keeps: tuple[str, int] | None = (
        None  # of start values: space ("q" or "v") and coordinate that assembly shall not move
    )
    choices: tuple[str, ...] = ()

    def checked(self, value: Value) -> Value:
        """The value if it may be set; ModelError otherwise."""
        if isinstance(value, str):
            return value
        if not math.isfinite(value):
            raise ModelError(f"{self.role} '{self.name}' must be a finite number, found {value!r}")
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if self.role != INPUT and not low <= value <= high:
            raise ModelError(f"{self.role} '{self.name}' must lie in [{low:g}, {high:g}], found {value:g}")
        return value


@dataclass(frozen=True, kw_only=True)
class Callback:
    """A function in Python that the model calls: where it is in the resources, how many numbers go in and out."""

    name: str
    file: str
    function: str
    inputs: int
    values: int


@dataclass(frozen=True, kw_only=True)
class Interface:
    """All variables of one FMU, and the name of its model."""

    model: str
    variables: tuple[Variable, ...] = field(repr=False)
    callbacks: tuple[Callback, ...] = ()

    def with_role(self, *roles: str) -> list[Variable]:
        """The variables of these roles, in order."""
        return [v for v in self.variables if v.role in roles]

    def to_json(self) -> str:
        """What the slave needs of it."""
        rows = [{k: v for k, v in asdict(variable).items() if v is not None} for variable in self.variables]
        callbacks = [asdict(callback) for callback in self.callbacks]
        data = {"format": FORMAT, "model": self.model, "variables": rows, "callbacks": callbacks}
        return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    @classmethod
    def of(cls, table: Table, callbacks: Iterable[Callback]) -> Self:
        """What the slave in Python works by."""
        rows = (
            Variable(
                reference=v.reference, name=v.name, role=v.role, index=v.index, type=v.type, start=v.start,
                minimum=v.minimum, maximum=v.maximum,
                keeps=(v.kept.space, v.kept.first) if v.kept and v.kept.count == 1 else None,
                choices=tuple(item for item, _ in v.choices.items) if v.choices else (),
            )
            for v in table.variables
        )  # fmt: skip
        return cls(model=table.model, variables=tuple(rows), callbacks=tuple(callbacks))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; ModelError if another mbdfmu wrote it."""
        data = json.loads(text)
        if data.get("format") != FORMAT:
            raise ModelError(
                f"the FMU was exported in format {data.get('format')!r}, this mbdfmu reads format {FORMAT}; "
                "export it again, or install the mbdfmu that wrote it"
            )
        return cls(model=data["model"], variables=tuple(_variables(data["variables"])),
                   callbacks=tuple(Callback(**row) for row in data["callbacks"]))  # fmt: skip


def _variables(rows: Iterable[dict[str, Any]]) -> Iterable[Variable]:
    for row in rows:
        keeps = row.pop("keeps", None)
        yield Variable(**row, keeps=tuple(keeps) if keeps else None)


# ---------------------------------------------------------------- interface.mbd


def packed(table: Table, guid: str, tool: str) -> bytes:
    """`interface.mbd`: the table and the schemes with their options, as solver/interface.hpp reads them."""
    settable = [v for v in table.variables if v.settable]
    return pack(
        {
            "model": text(table.model),
            "guid": text(guid),
            "tool": text(tool),
            "variables": ints(n for v in table.variables for n in _row(v)),
            "names": lines(v.name for v in table.variables),
            "bounds": doubles(x for v in table.variables for x in _bounds(v.minimum, v.maximum)),
            "starts": doubles(v.start for v in settable),
        }
        | _schemes()
    )


def _row(v: Row) -> list[int]:
    from mbdfmu.fmi.variables import ROLES, SPACES, TYPES, VARIABILITIES

    kept = (SPACES[v.kept.space], v.kept.first, v.kept.count) if v.kept else (0, 0, 0)
    kinds = (TYPES.index(v.type), ROLES.index(v.role), VARIABILITIES.index(v.variability))
    return [v.reference, *kinds, v.index, v.size, *kept]


def _bounds(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else low, math.inf if high is None else high


def _schemes() -> dict[str, bytes]:
    """What may be chosen as scheme, and every option of every scheme; a choice stands for its place, from 0."""
    names = Scheme.names()
    options = [(k, f) for k, name in enumerate(names) for f in fields(Scheme.named(name))]
    return {
        "schemes": lines(names),
        "options": ints(n for k, f in options for n in (k, isinstance(f.default, int))),
        "option.names": lines(f.name for _, f in options),
        "option.choices": lines("|".join(f.metadata["choices"]) for _, f in options),
        "option.num": doubles(x for _, f in options for x in _default_and_bounds(f)),
    }


def _default_and_bounds(f: Field[Any]) -> tuple[Any, ...]:
    choices = f.metadata["choices"]
    if choices:
        return choices.index(f.default), 0, len(choices) - 1
    return f.default, f.metadata["low"], f.metadata["high"]


# ---------------------------------------------------------------- callbacks.json


def callbacks_to_json(callbacks: Iterable[Callback]) -> str:
    """Where the Python functions of the model are in the resources."""
    return json.dumps([asdict(callback) for callback in callbacks], separators=(",", ":"))


def callbacks_from_json(text: str) -> list[Callback]:
    """Read what `callbacks_to_json` wrote."""
    return [Callback(**row) for row in json.loads(text)]
