"""A system of coupled FMUs: built in Python or loaded from a file, then simulated or stepped, one call each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mbdfmu.cosim import ssp
from mbdfmu.cosim.description import FORMAT_VERSION, SystemDescription, split
from mbdfmu.cosim.running import Running, Span, facts_of, schedule
from mbdfmu.cosim.simulating import check_times, first_step, simulate, stops
from mbdfmu.cosim.wiring import Wiring, wired
from mbdfmu.errors import Interrupted, ModelError, did_you_mean
from mbdfmu.files import named_file
from mbdfmu.fmi.harness import isolation
from mbdfmu.fmi.types import Value
from mbdfmu.results import Result


class System:
    """FMUs that run together: `system.add("car", "car.fmu")`, `system.connect("abs.slip", "car.slip")`."""

    def __init__(self, name: str, **header: Any) -> None:
        """`header`: text, experiment, master, inputs, record as in a system file."""
        self._data: dict[str, Any] = {"format_version": FORMAT_VERSION, "name": name, **header}
        self._description: SystemDescription | None = None
        self.notes: tuple[str, ...] = ()  # what reading a file of another tool has brought up
        self._unpacked: Any = None  # keeps the files of a .ssp

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow_outside: bool = False) -> Self:
        """Read a system file: JSON, or by its suffix SSP, .ssp with the FMUs in it or .ssd, of ours or of other tools.

        The FMUs of a .ssp are unpacked into a temporary folder, which is there as long as the system is.
        `allow_outside` lets the table of inputs of a JSON file lie outside of its folder, as FMUs always may.
        """
        file = named_file(path)
        if file.suffix.lower() == ".fmu":
            cure = "name it in a system file (.json, .ssp), or run it alone: mbdfmu simulate, mbd.fmu.simulate"
            raise ModelError(f"{file}: is an FMU, not a system of FMUs; {cure}")
        if file.suffix.lower() not in ssp.SUFFIXES:
            return cls.from_description(SystemDescription.load(path, allow_outside=allow_outside))
        loaded = ssp.load(path)
        system = cls.from_description(loaded.description)
        system.notes, system._unpacked = loaded.notes, loaded.unpacked
        return system

    @classmethod
    def from_description(cls, description: SystemDescription) -> Self:
        """Take over a checked description."""
        system = cls(description.name)
        system._data = {k: dict(v) if isinstance(v := getattr(description, k), dict) else v
                        for k in type(description).model_fields}  # fmt: skip
        system._description = description
        return system

    def __repr__(self) -> str:
        fmus, couplings = (len(self._data.get(key, {})) for key in ("fmus", "couplings"))
        return f"<System '{self.name}': {fmus} FMUs, {couplings} couplings>"

    # ---- building

    @property
    def name(self) -> str:
        """The system's name."""
        return str(self._data["name"])

    def add(self, name: str, fmu: str | os.PathLike[str], **settings: Any) -> None:
        """Add an FMU under a name; `settings`: parameters, start, inputs, step, tolerance, kind as in a file."""
        self._put("fmus", name, {"fmu": fmu, **settings})

    def connect(self, target: str, source: str, **settings: Any) -> None:
        """Let an input take its value from an output; `settings`: factor, offset, delayed."""
        self._put("couplings", target, {"from": source, **settings})

    def bond(self, name: str, *, effort: str, flow: str) -> None:
        """Count the energy that an input times an output of one FMU stands for."""
        self._put("bonds", name, {"effort": effort, "flow": flow})

    def _put(self, section: str, name: str, entry: Any) -> None:
        entries = self._data.setdefault(section, {})
        if name in entries:
            raise ModelError(f"{section}.{name}: is there already; remove one")
        entries[name] = entry
        self._description = None

    @property
    def description(self) -> SystemDescription:
        """The checked description; a ModelError lists all that is wrong."""
        if self._description is None:
            self._description = SystemDescription(**self._data)
        return self._description

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a system file: JSON with the FMUs by name, or by its suffix SSP, .ssp with the FMUs in it or .ssd.

        Files that a .ssp has brought along are copied into a folder `NAME_resources` beside what names them.
        """
        description, suffix = self.description, Path(path).suffix.lower()
        if self._unpacked is not None and suffix != ssp.PACKAGE:
            description = ssp.settled(description, self._unpacked, path)
        if suffix in ssp.SUFFIXES:
            ssp.save(description, path)
        else:
            description.save(path)

    def with_master(self, **settings: Any) -> System:
        """The same system, stepped in another way: algorithm, extrapolation, iterations, tolerance, ..."""
        data = self.description.to_data()
        return self._otherwise({**data, "master": {**data.get("master", {}), **settings}})

    def with_parameters(self, values: Mapping[str, Value]) -> System:
        """The same system with other values of parameters, called as in `car.friction`."""
        if not isinstance(values, Mapping):
            raise ModelError(f"parameters must be values by name, as in {{'car.friction': 0.4}}, found {values!r}")
        data = self.description.to_data()
        for name, value in values.items():
            fmu, parameter = split(str(name))
            if fmu not in data["fmus"] or not parameter:
                known = f"{did_you_mean(fmu, data['fmus'])}; known FMUs: {', '.join(data['fmus'])}"
                raise ModelError(f"parameter {name!r}: must be FMU.NAME{known}")
            entry = data["fmus"][fmu]
            entry = {"fmu": entry} if isinstance(entry, str) else entry
            data["fmus"][fmu] = {**entry, "parameters": {**entry.get("parameters", {}), parameter: value}}
        return self._otherwise(data)

    def _otherwise(self, data: Mapping[str, Any]) -> System:
        """A system of other data, whose FMUs may be unpacked where those of this one are."""
        system = System.from_description(SystemDescription(**data))
        system.notes, system._unpacked = self.notes, self._unpacked
        return system

    # ---- use

    def check(self) -> Wiring:
        """How values pass; a ModelError lists every FMU, coupling and parameter that is wrong."""
        return wired(self.description, facts_of(self.description), [])

    def start(
        self, *, t_start: float = 0.0, t_end: float | None = None, inputs: Mapping[str, float] | None = None,
        isolate: bool = False, time_limit: float | None = None,
    ) -> Running:  # fmt: skip
        """Load and initialise, to be stepped: `with system.start() as run: run.step(1e-3)`.

        `inputs` are values that stay, of inputs that nothing is coupled to; `t_end` is a time beyond which there will
        be no step. With `isolate` each FMU has a process of its own, whose calls may take `time_limit` seconds, if
        that is given.
        """
        given = {name: ([t_start], [value]) for name, value in (inputs or {}).items()}
        facts = facts_of(self.description)
        made = schedule(self.description, facts, given, "hold")
        alone = isolation(isolate, time_limit, endless=True)
        return Running(self.description, facts, Span(t_start=t_start, t_end=t_end), inputs=made, alone=alone)

    def simulate(
        self,
        t_end: float | None = None,
        step: float | None = None,
        *,
        t_start: float = 0.0,
        step_output: float | None = None,
        parameters: Mapping[str, Value] | None = None,
        inputs: Any = None,
        interpolation: str = "linear",
        record: str | list[str] | None = None,
        isolate: bool = False,
        time_limit: float | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Result:
        """Run from `t_start` to `t_end` with communication steps of `step` and return one table for all FMUs.

        `step` is the first one where the master controls the error. What is not given comes from the system's
        experiment. Parameters, inputs and what is recorded are called as in `car.friction`; `step_output` is the time
        between rows, of which there is one for every communication point if it is not given.

        With `isolate` each FMU has a process of its own, so that a crash is a StepFailed that carries what was computed
        until then; when its calls have taken `time_limit` seconds (600) it is stopped.
        """
        description = self.with_parameters(parameters or {}).description
        experiment = description.experiment
        t_end = experiment.stop_time if t_end is None and experiment else t_end
        if t_end is None:
            raise ModelError(f"system '{self.name}' names no experiment.stop_time; give t_end")
        controlled = description.master.tolerance is not None
        step = experiment.step if step is None and experiment else step
        check_times(t_start, t_end, step=step, step_output=step_output)
        step, first = first_step(step, controlled, t_end - t_start)
        facts = facts_of(description)
        made = schedule(description, facts, inputs, interpolation)
        times, recorded = stops(t_start, t_end, step, step_output, made.knots().tolist())
        patterns = [record] if isinstance(record, str) else record
        span = Span(t_start=t_start, t_end=t_end)
        alone = isolation(isolate, time_limit)
        with Running(description, facts, span, inputs=made, record=patterns, alone=alone) as running:
            running.step_size = first
            running.notes[:0] = self.notes
            try:
                result = simulate(running, self.name, times, recorded, progress)
            except Interrupted as end:
                end.result = replace(end.result, notes=tuple(dict.fromkeys([*end.result.notes, *running.warnings()])))
                raise
        notes = dict.fromkeys([*result.notes, *running.warnings()])  # some come when FMUs are freed
        return replace(result, notes=tuple(notes))

