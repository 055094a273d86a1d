"""A running controller behind any FMI: lifecycle, values, steps, states as bytes; must not know pythonfmu or XML.

It answers as the native slave does (solver/slave.hpp): by numbers of fmi2Status, with a message for all that is
refused. What is refused changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mbdfmu.calling import function_of, source_module
from mbdfmu.controllers.base import Controller, out_of_bounds
from mbdfmu.controllers.running import Moment, Running, Saved
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.fmi.resources import DISCARD_LOG, ERROR_LOG

CONTROLLER = "controller.json"  # among the resources
FORMAT = 1  # of that file and of states as bytes
OK, DISCARD, ERROR = 0, 2, 3
PARAMETER, INPUT, VALUE = "parameter", "input", "value"
INSTANTIATED, INITIALIZATION, STEP, TERMINATED = "instantiated", "initialization", "step", "terminated"
PREPARING, ALL = (INSTANTIATED, INITIALIZATION), (INSTANTIATED, INITIALIZATION, STEP, TERMINATED)
# FMI 2.0.4 section 4.2.4.
_RULES = {
    "setting up the experiment": (INSTANTIATED,),
    "entering the initialization mode": (INSTANTIATED,),
    "leaving the initialization mode": (INITIALIZATION,),
    "reading values": (INITIALIZATION, STEP, TERMINATED),
    "setting values": (*PREPARING, STEP),
    "making a step": (STEP,),
    "saving the state": ALL,
    "restoring a state": ALL,
    "terminating": (STEP,),
}
_SEAL = struct.Struct("<8sI32sI")  # mark, format, whose state it is, checksum
_MARK = b"MBDCTRL\n"
_FURTHEST = 1e9  # s, where numbers lose the microseconds
T = TypeVar("T")
Answer = int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A variable as the slave sees it."""

    reference: int
    name: str
    type: str  # Real or Integer, which enumerations are too
    role: str
    tunable: bool = False


@dataclass(frozen=True, kw_only=True)
class Content:
    """`controller.json`: what an FMU is made of."""

    model: str
    guid: str
    source: str  # the file with the controller's class
    kind: str  # the class
    values: Mapping[str, Any]  # what it is made from
    entries: tuple[Entry, ...]

    def packed(self) -> bytes:
        """The file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def unpacked(cls, file: bytes) -> Content:
        """Read what `packed` wrote."""
        cure = "export the controller again, or use the mbdfmu that wrote the FMU"
        try:
            data = json.loads(file)
            if data.pop("format", None) != FORMAT:
                raise ModelError(f"'{CONTROLLER}' in the FMU is of another version; {cure}")
            return cls(**{**data, "entries": tuple(Entry(**row) for row in data["entries"])})
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ModelError(f"'{CONTROLLER}' in the FMU is damaged: {error}; {cure}") from None

    def controller(self, folder: Path) -> Controller:
        """The controller, of a class of its own: other FMUs may hold the same one, or another version."""
        with Controller.apart():
            found: Any = function_of(source_module(folder / self.source), self.kind, self.source)
        made: Controller = found(**self.values)
        return made


class Slave:
    """One instance."""

    def __init__(self, controller: Controller, content: Content) -> None:
        self.model = content.model
        self._exported, self._content = controller, content
        self._identity = hashlib.sha256(content.packed()).digest()
        self._entries = {e.reference: e for e in content.entries}
        self._heard: list[tuple[Answer, str, str]] = []
        self._mode = INSTANTIATED
        self._begin, self._stop = 0.0, math.inf
        self._parameters = {name: p.value for name, p in controller.parameters.items()}
        self._inputs = {name: port.start for name, port in controller.inputs.items()}
        self._run: Running | None = None
        self._failed = 0.0  # size of a step that cannot be made

    # ---- lifecycle

    def setup(self, start_time: float, stop_time: float | None, tolerance: float | None) -> Answer:
        """What the experiment is; a tolerance means nothing to a controller."""

        def act() -> None:
            stop = math.inf if stop_time is None else stop_time
            if not math.isfinite(start_time):
                raise ModelError(f"the start time must be finite, found {start_time}")
            if not stop > start_time:
                raise ModelError(f"the stop time must lie behind the start time of {start_time} s, found {stop_time} s")
            if tolerance is not None and not (tolerance > 0 and math.isfinite(tolerance)):
                raise ModelError(f"the experiment's tolerance must be a positive number, found {tolerance}")
            self._begin, self._stop, self._run = start_time, stop, None

        return self._attempt("setting up the experiment", act)

    def enter_initialization(self) -> Answer:
        return self._attempt("entering the initialization mode", partial(self._go, INITIALIZATION))

    def exit_initialization(self) -> Answer:
        def act() -> None:
            self._running().outputs()  # what has no value is told here
            self._go(STEP)

        return self._attempt("leaving the initialization mode", act)

    def terminate(self) -> Answer:
        return self._attempt("terminating", partial(self._go, TERMINATED))

    def _go(self, mode: str) -> None:
        self._mode = mode

    # ---- values

    def get(self, references: Sequence[int], kind: Any) -> tuple[Answer, list[float]]:
        def act() -> list[float]:
            run = self._running()
            return [float(run[entry.name]) for entry in self._found(references, kind.name)]

        return self._value("reading values", act, [])

    def set(self, references: Sequence[int], kind: Any, values: Sequence[float]) -> Answer:
        return self._attempt("setting values", lambda: self._set(self._found(references, kind.name), values))

    def get_texts(self, references: Sequence[int]) -> tuple[Answer, list[str]]:
        return self._value("reading values", lambda: [e.name for e in self._found(references, "string")], [])

    def set_texts(self, references: Sequence[int], values: Sequence[str]) -> Answer:
        return self._attempt("setting values", lambda: self._set(self._found(references, "string"), ()))

    def _found(self, references: Sequence[int], kind: str) -> list[Entry]:
        found = []
        for reference in references:
            entry = self._entries.get(reference)
            if entry is None:
                raise ModelError(f"there is no variable with the value reference {reference}")
            if entry.type.lower() != kind:
                raise ModelError(f"'{entry.name}' (value reference {reference}) is of type {entry.type}, not {kind}")
            found.append(entry)
        return found

    def _set(self, entries: Sequence[Entry], values: Sequence[float]) -> None:
        if len(entries) != len(values):
            raise ModelError(f"{len(entries)} variables need as many values, found {len(values)}")
        pairs = list(zip(entries, map(float, values), strict=True))
        for entry, value in pairs:
            self._check(entry, value)
        parameters = {e.name: value for e, value in pairs if e.role == PARAMETER}
        inputs = {e.name: value for e, value in pairs if e.role == INPUT}
        if self._mode == STEP:
            run = self._running()
            if parameters:
                run.set_parameters(parameters)
            for name, value in inputs.items():
                run[name] = value
        else:
            self._run = None
        self._failed = 0.0
        self._parameters.update(parameters)
        self._inputs.update(inputs)

    def _check(self, entry: Entry, value: float) -> None:
        if entry.role == VALUE:
            raise ModelError(f"'{entry.name}' cannot be set; only inputs and parameters can")
        if not math.isfinite(value):
            raise ModelError(f"'{entry.name}' must be a finite number, found {value}")
        if entry.role == INPUT:
            return  # bounds of inputs describe
        if self._mode == STEP and not entry.tunable:
            raise ModelError(f"parameter '{entry.name}' is fixed once the initialization has ended; set it before")
        known = self._exported.parameters[entry.name]
        if problem := out_of_bounds(value, known.low, known.high):
            raise ModelError(f"'{entry.name}' {problem}")

    def _running(self) -> Running:
        if self._run is None:
            run = Running(self._configured(self._parameters), self._begin)
            for name, value in self._inputs.items():
                run[name] = value
            self._run = run
        return self._run

    def _configured(self, parameters: Mapping[str, float]) -> Controller:
        controller = self._exported.with_parameters(parameters)
        controller.check()
        return controller

    # ---- steps

    def do_step(self, time: float, size: float) -> Answer:
        def act() -> None:
            run = self._running()
            self._check_step(time, size, run.time)
            if size == self._failed:
                raise ModelError("the same step has just failed; set other inputs, or restore a state")
            self._failed = size
            run.step(size, to=time + size)
            self._failed = 0.0

        return self._attempt("making a step", act)

    def _check_step(self, time: float, size: float, now: float) -> None:
        if not (size > 0 and math.isfinite(size)):
            raise ModelError(f"the step size must be a positive number of seconds, found {size}")
        if not time + size <= _FURTHEST:
            raise ModelError(f"a step to t = {time + size} s was asked for; no further than t = {_FURTHEST:g} s")
        near = max(1e-9 * max(abs(time), abs(now)), 1e-6 * size)
        if not (abs(time - now) <= near and now < time + size):
            raise ModelError(f"a step from t = {time} s was asked for, the controller is at t = {now} s")
        if time + size > self._stop + 1e-6 * size + 1e-9 * abs(time):
            raise ModelError(f"a step to t = {time + size} s was asked for, the stop time is {self._stop} s")

    # ---- states

    def save(self) -> tuple[Answer, bytes]:
        return self._value("saving the state", self._saved, b"")

    def restore(self, state: bytes) -> Answer:
        return self._attempt("restoring a state", partial(self._restore, state))

    def _saved(self) -> bytes:
        run = self._run if self._mode in (STEP, TERMINATED) else None
        moment = None if run is None else asdict(run.save().moment)
        data = {"mode": self._mode, "begin": self._begin, "stop": self._stop, "parameters": self._parameters,
                "inputs": self._inputs, "moment": moment}  # fmt: skip
        payload = json.dumps(data, separators=(",", ":")).encode()
        return _SEAL.pack(_MARK, FORMAT, self._identity, zlib.crc32(payload)) + payload

    def _restore(self, state: bytes) -> None:
        try:
            data = json.loads(self._unsealed(state))
            mode, begin, stop = data["mode"], float(data["begin"]), float(data["stop"])
            parameters = _numbers(data["parameters"], self._parameters)
            inputs = _numbers(data["inputs"], self._inputs)
            self._check_restored(mode, begin, stop, parameters)
            sample_time = parameters.get("sample_time", 0.0)
            moment = None if mode in PREPARING else self._moment(data["moment"], begin, sample_time)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"the saved state is damaged: {type(error).__name__} {error}") from None
        run = None
        if moment is not None:
            run = Running(self._configured(parameters), begin)
            run.restore(Saved(run.controller, begin, inputs, moment))
        self._mode, self._begin, self._stop, self._run = mode, begin, stop, run
        self._parameters, self._inputs, self._failed = parameters, inputs, 0.0

    def _unsealed(self, state: bytes) -> bytes:
        if len(state) < _SEAL.size:
            raise ModelError(f"the saved state is cut off: {len(state)} bytes")
        mark, version, identity, checksum = _SEAL.unpack_from(state)
        if mark != _MARK or version != FORMAT:
            raise ModelError("the bytes are no saved state of a controller of this version")
        if identity != self._identity:
            raise ModelError("the state to be restored belongs to another FMU")
        payload = state[_SEAL.size :]
        if zlib.crc32(payload) != checksum:
            raise ModelError("the saved state is damaged: its checksum does not fit")
        return payload

    def _check_restored(self, mode: str, begin: float, stop: float, parameters: Mapping[str, float]) -> None:
        if mode not in ALL or not math.isfinite(begin) or not stop > begin:
            raise ModelError("the saved state is damaged: its experiment cannot be")
        known = self._exported.parameters
        for name, value in parameters.items():
            if problem := out_of_bounds(value, known[name].low, known[name].high):
                raise ModelError(f"the saved state is damaged: '{name}' {problem}")

    def _moment(self, data: Mapping[str, Any], begin: float, sample_time: float) -> Moment:
        """What moves, as it can be: samples that are long due would take forever."""
        controller = self._exported
        outputs = dict.fromkeys(controller.outputs)
        moment = Moment(
            time=float(data["time"]),
            count=_whole(data["count"]),
            x=_numbers(data["x"], {**controller.states, **controller.memory}),
            held=_numbers(data["held"], outputs),
            waiting=tuple((_whole(count), _numbers(values, outputs)) for count, values in data["waiting"]),
        )
        due = begin + moment.count * sample_time if sample_time else moment.time
        if not (begin <= moment.time <= _FURTHEST) or abs(due - moment.time) > 1.01 * sample_time:
            raise ModelError("the saved state is damaged: its time cannot be")
        return moment

    # ---- answers

    def set_debug_logging(self, on: bool, categories: Sequence[str]) -> Answer:
        """All that there is to hear are failures, which are always heard."""
        return OK

    def messages(self) -> list[tuple[Answer, str, str]]:
        """What there was to say since the last call."""
        said, self._heard = self._heard, []
        return said

    def _attempt(self, what: str, act: Callable[[], None]) -> Answer:
        return self._value(what, act, None)[0]

    def _value(self, what: str, act: Callable[[], T], otherwise: T) -> tuple[Answer, T]:
        """The one place through which everything runs."""
        try:
            modes = _RULES[what]
            if self._mode not in modes:
                wanted = " or ".join(modes)
                raise ModelError(f"{what} is not possible in the {self._mode} mode, but in the {wanted} mode")
            return OK, act()
        except StepFailed as error:
            self._heard.append((DISCARD, DISCARD_LOG, str(error)))
            return DISCARD, otherwise
        except ModelError as error:
            self._heard.append((ERROR, ERROR_LOG, str(error)))
            return ERROR, otherwise


def _numbers(data: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, float]:
    """Finite numbers of exactly these names."""
    found = {str(name): float(value) for name, value in data.items()}
    if set(found) != set(like) or not all(map(math.isfinite, found.values())):
        raise ModelError(f"the saved state is damaged: it must have finite numbers for {', '.join(like) or 'nothing'}")
    return {name: found[name] for name in like}


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**53:
        raise ModelError(f"the saved state is damaged: {value!r} counts nothing")
    return value
