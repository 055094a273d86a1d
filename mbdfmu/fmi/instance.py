"""One instance of an exported model: set, start, step, read, save and restore; must not know FMI libraries or files.

It drives the native core directly and loads neither descriptions nor lowering: a slave starts in milliseconds and needs
no pydantic, click or h5py on the target.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbdfmu import _solver
from mbdfmu.calling import Called
from mbdfmu.errors import ModelError
from mbdfmu.fmi.interface import (
    EVENTS,
    INPUT,
    OPTIONS,
    PARAMETER,
    SETTING,
    SIGNAL,
    SOLVER,
    TEXT,
    Interface,
    Value,
    Variable,
)
from mbdfmu.schemes import Scheme

REFUSALS = (ModelError, _solver.NativeModelError, _solver.NativeStepFailed)  # what is told to the user in one sentence


@dataclass(frozen=True, kw_only=True)
class Saved:
    """All that the continuation of an instance depends on, as a value."""

    model: str  # digest
    given: Mapping[int, Value]
    applied: Mapping[int, float]
    tolerance: float | None
    running: bool
    stepped: bool
    native: Any  # the solver's State; None before the first start


class Instance:
    """Two stages: start values may be set until `initialise`; from then on inputs are set and time advances.

    Inputs reach the solver when a step begins and are constant during it. So what is read between two steps belongs to
    the last step, whatever has been set since: no output depends on an input at a communication point.
    """

    def __init__(self, interface: Interface, blob: bytes, functions: Sequence[Called] = ()) -> None:
        self._interface, self._functions = interface, list(functions)
        self._digest = hashlib.sha256(blob).hexdigest()
        self._system = _solver.System(blob)
        self._table = {v.reference: v for v in interface.variables}
        self._given: dict[int, Value] = {
            v.reference: v.start for v in interface.with_role(PARAMETER, INPUT, SETTING, TEXT) if v.start is not None
        }
        self._applied: dict[int, float] = {}  # inputs as the solver has them
        self._tolerance: float | None = None  # of the experiment
        self._native: Any = None
        self._signals: list[float] | None = None  # at the present time
        self._running = self._stepped = False

    # ---- before the first step

    def set_up(self, start_time: float, tolerance: float | None) -> None:
        """Begin an experiment; its tolerance counts unless `solver.tolerance` is set."""
        if start_time != 0:
            raise ModelError(
                f"models begin at t = 0 s, found a start time of {start_time:g} s; begin the experiment at 0"
            )
        if tolerance is not None and not (0 < tolerance < math.inf):
            raise ModelError(f"the experiment's tolerance must be a positive number, found {tolerance!r}")
        self._tolerance = tolerance
        self._native = self._signals = None

    def initialise(self) -> None:
        """End the first stage: the model is assembled and consistent."""
        self._ensure_started()
        self._running = True

    @property
    def started(self) -> bool:
        """Whether there are signals to be read without computing a start."""
        return self._native is not None

    # ---- values

    def set(self, reference: int, value: Value) -> None:
        """Set an input, or before `initialise` a parameter, start value or solver setting."""
        variable = self._variable(reference)
        if variable.role in (SIGNAL, TEXT, EVENTS):
            raise ModelError(f"'{variable.name}' is computed by the model; only inputs and parameters can be set")
        if self._running and variable.role != INPUT:
            raise ModelError(
                f"{variable.role} '{variable.name}' is fixed once the initialisation has ended; set it before"
            )
        self._given[reference] = variable.checked(value)
        if not self._running:
            self._native = self._signals = None

    def set_all(self, pairs: Iterable[tuple[int, Value]]) -> None:
        """`set` for several."""
        for reference, value in pairs:
            self.set(reference, value)

    def get(self, reference: int) -> Value:
        """The value of any variable."""
        variable = self._variable(reference)
        if variable.role == EVENTS:
            self._ensure_started()
            return len(self._native.events)
        return self._given[reference] if reference in self._given else self._computed()[variable.index]

    def _variable(self, reference: int) -> Variable:
        if reference not in self._table:
            raise ModelError(f"model '{self._interface.model}' has no variable with the value reference {reference}")
        return self._table[reference]

    def _computed(self) -> list[float]:
        self._ensure_started()
        if self._signals is None:
            self._native.report()
            self._signals = self._native.signals().tolist()
        return self._signals

    # ---- time

    def step(self, time: float, size: float) -> None:
        """Advance from `time` by `size`, in as many internal steps as the accuracy asks for."""
        if not self._running:
            raise ModelError("a step was asked for before the initialisation has ended")
        if not 0 < size < math.inf:
            raise ModelError(f"the step size must be a positive number of seconds, found {size!r}")
        now = float(self._native.time)
        if not math.isclose(time, now, rel_tol=1e-9, abs_tol=1e-6 * size) or not now < time + size:
            raise ModelError(f"a step from t = {time:.17g} s was asked for, the model is at t = {now:.17g} s")
        self._apply({v.reference: self._number(v) for v in self._interface.with_role(INPUT)})
        self._signals = None
        self._stepped = True
        self._native.advance(time + size)

    def statistics(self) -> dict[str, float]:
        """Work done since the start."""
        return dict(self._native.statistics) if self._native is not None else {}

    def _apply(self, inputs: Mapping[int, float]) -> None:
        for reference, value in inputs.items():
            if value != self._applied.get(reference, self._table[reference].start):
                self._native.set_input(self._table[reference].index, value, 0.0)
                self._applied[reference] = value

    def _number(self, variable: Variable) -> float:
        return float(self._given[variable.reference])

    # ---- start

    def _ensure_started(self) -> None:
        if self._native is None:
            self._start({v.reference: self._number(v) for v in self._interface.with_role(INPUT)})

    def _start(self, inputs: Mapping[int, float]) -> None:
        """As Model.start does: any changed parameter asks for assembly, which leaves the start values that were set."""
        native = _solver.Simulation(self._system, *self._settings(), functions=self._functions)
        kept: dict[str, list[tuple[int, float]]] = {"q": [], "v": []}
        changed = [v for v in self._interface.with_role(PARAMETER) if self._given[v.reference] != v.start]
        for variable in changed:
            native.set_parameter(variable.index, self._number(variable))
            if variable.keeps:
                kept[variable.keeps[0]].append((variable.keeps[1], self._number(variable)))
        native.start(bool(changed), kept["q"], kept["v"])
        self._native, self._signals, self._applied, self._stepped = native, None, {}, False
        self._apply(inputs)

    def _settings(self) -> tuple[Any, ...]:
        """The arguments of the native Simulation after the system."""
        given = [(v, self._given[v.reference]) for v in self._interface.with_role(SETTING)]
        settings = {v.name: v.choices[int(value) - 1] if v.choices else value for v, value in given}
        changed = {v.name for v, value in given if value != v.start}
        if self._tolerance is not None and "solver.tolerance" not in changed:
            settings["solver.tolerance"] = self._tolerance
        for name in ("solver.tolerance", "solver.smallest_step"):
            if not float(settings[name]) > 0:
                raise ModelError(f"setting '{name}' must be positive, found {settings[name]!r}")
        scheme = str(settings["solver.scheme"])
        # The options in the table are those of the exported scheme; another one gets only what was set for it.
        wanted = changed if "solver.scheme" in changed else set(settings)
        options = {
            n.removeprefix(OPTIONS): value for n, value in settings.items() if n.startswith(OPTIONS) and n in wanted
        }
        numbers = (
            float(settings[SOLVER + n]) for n in ("tolerance", "step", "first_step", "largest_step", "smallest_step")
        )
        return (scheme, Scheme.named(scheme).from_options(options).native(), *numbers)

    # ---- states

    def save(self) -> Saved:
        """The present state, inputs that wait for the next step included."""
        native = self._native.save() if self._native is not None else None
        return Saved(
            model=self._digest, given=dict(self._given), applied=dict(self._applied), tolerance=self._tolerance,
            running=self._running, stepped=self._stepped, native=native,
        )  # fmt: skip

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state of this model, bit for bit."""
        if not isinstance(saved, Saved) or saved.model != self._digest:
            raise ModelError("the state to be restored is not one of this FMU")
        # The solver's State holds parameter values but not what was computed from them, nor that a jump of an input is
        # still to be met; both are right only if this instance has the same start values and is past its first step.
        same = self._tolerance == saved.tolerance and self._start_values(self._given) == self._start_values(saved.given)
        usable = same and self._stepped and saved.stepped and self._native is not None
        self._given, self._tolerance = dict(saved.given), saved.tolerance
        if not usable:
            self._native = None
            if saved.native is not None:
                self._start({} if saved.stepped else saved.applied)
        if saved.stepped:
            self._native.restore(saved.native)
        self._applied, self._signals = dict(saved.applied), None
        self._running, self._stepped = saved.running, saved.stepped

    def _start_values(self, given: Mapping[int, Value]) -> dict[int, Value]:
        return {reference: value for reference, value in given.items() if self._table[reference].role != INPUT}
