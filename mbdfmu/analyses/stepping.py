"""A simulation that the user steps: set inputs, advance, read signals, save and restore; must not know files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.balancing import balance
from mbdfmu.analyses.beginning import odd_forces
from mbdfmu.analyses.compiled import CompiledModel
from mbdfmu.analyses.equilibrium import METHODS, Equilibrium
from mbdfmu.analyses.linear_model import LinearModel
from mbdfmu.analyses.linearising import Wanted, linearise
from mbdfmu.analyses.minimising import minimise
from mbdfmu.analyses.native import _solver, translated
from mbdfmu.analyses.notes import (
    HalfTurns,
    failing,
    large_angles,
    other_steps,
    shared_reactions,
    unfollowed_blow,
    unmet_switches,
)
from mbdfmu.analyses.redundancy import Redundancy, redundancies
from mbdfmu.analyses.settings import Settings
from mbdfmu.analyses.settling import check_search, settle
from mbdfmu.coordinates import ROTATIONS
from mbdfmu.errors import ModelError, StepFailed, did_you_mean
from mbdfmu.lowering import Lowered
from mbdfmu.signals import Signal

Starts = list[tuple[int, float]]
OPEN: Final = "open"
_PLACES = ("x", "y", "z", "vx", "vy", "vz")  # of a body in space
Assembly = bool | Literal["open"] | None


class Simulation:
    """One run of a compiled model: `sim["torque"] = 3.0; sim.step(1e-3); sim["crank.omega"]`.

    Independent of every other; one thread at a time. `assemble` moves an inconsistent start onto the joints; it is
    implied by `start` and `parameters`, whose given start values are kept; "open" leaves joints open that are so by
    less than 1e-3 of the model's length, for schemes that carry such gaps along or let them decay. From an equilibrium
    come positions and states; the velocities are those of the model's start, made consistent.
    """

    begins_as_written = True  # but for what motions set
    follows_inputs = True  # signals show a new input before the next step

    def __init__(
        self,
        compiled: CompiledModel,
        settings: Settings,
        *,
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | Equilibrium | None = None,
        assemble: Assembly = None,
    ) -> None:
        self._lowered = compiled.lowered
        self._model = compiled.lowered.model
        self._functions = compiled.functions
        self._unmet = () if settings.step or settings.largest_step else compiled.lowered.unmet
        self._fixed_step, self._first_interval = settings.step, 0.0
        self._index = {name: k for k, name in enumerate(self._lowered.signals)}
        self._values: NDArray[np.float64] | None = None  # of all signals, at the present time
        rest = start if isinstance(start, Equilibrium) else None
        parameters = parameters or {}
        starts = start.velocities if isinstance(start, Equilibrium) else start or {}
        for what, given in (("parameters", parameters), ("start", starts)):
            if not isinstance(given, Mapping):
                raise ModelError(f"{what} must be a mapping name -> value, found {type(given).__name__}")
            strange = [name for name in given if not isinstance(name, str)]
            if strange:
                raise ModelError(f"{what}: names must be texts, found {strange[0]!r}")
        if isinstance(assemble, str) and assemble != OPEN:
            raise ModelError(f'assemble must be true, false or "{OPEN}", found {assemble!r}')
        correct = bool(parameters or start) if assemble is None else assemble is True
        with translated(f"model '{self._model.description.name}': "):
            self._native = _solver.Simulation(compiled.system, *settings.native(), functions=compiled.functions)
            self._constraint_labels = compiled.constraint_labels
            kept = self._set_start(parameters, starts)
            self._native.start(correct, *kept, open=assemble == OPEN)
            self._velocities = kept[1]
            if rest and kept[0]:
                raise ModelError("start: positions come from the equilibrium; give velocities only beside it")
            if rest:
                self._native.place(*rest.arrays(self._model))
                self._native.set_in_motion(self._velocities)
        kinds = {name: kept_coordinates(name, self._lowered) for name in starts}
        self._given = {name: value for name, value in starts.items() if (kinds[name] or "")[:1] == ("v",)}
        self._rest_notes = rest.notes if rest else ()
        self._begun = list(self._begun_inside())
        if not rest:  # there all forces are in balance
            self._begun += odd_forces(self._model, self.__getitem__, self.length, self._native.a)
        self._half_turns = HalfTurns(self._index, self._model)
        if self._half_turns:
            self._half_turns.see(self.time, self.values())

    def _begun_inside(self) -> Iterator[str]:
        """Impacts that have no gap to close at the start."""
        for name, impact in self._model.description.impacts.items():
            gap = self[f"{name}.gap"]
            if impact.where is None and gap < -1e-6 * self.length:
                yield f"impact '{name}' begins {-gap:.3g} {impact.unit} inside: its gap is negative at the start"

    @property
    def time(self) -> float:
        """Present time, s."""
        return float(self._native.time)

    @property
    def length(self) -> float:
        """Of the model, m: what positions are compared with."""
        return float(self._native.length)

    @property
    def statistics(self) -> dict[str, int | float]:
        """Work done so far: steps, iterations, factorisations, worst constraint violations."""
        return dict(self._native.statistics)

    @property
    def names(self) -> list[str]:
        """All signals."""
        return list(self._index)

    @property
    def redundancies(self) -> list[Redundancy]:
        """Constraint rows that repeat others; reactions of their joints are not unique, the smallest are reported."""
        return redundancies(self._native.redundancies, self._constraint_labels)

    @property
    def events(self) -> list[tuple[float, str]]:
        """What has occurred: time (s) and name; `x.rest` where an impact comes to rest, `x.release` where it parts."""
        return list(self._native.events)

    @property
    def notes(self) -> list[str]:
        """What a reader of the signals has to know."""
        given_up = [
            f"{label} was a guess and is given up: the joints do not admit it" for label in self._native.given_up
        ]
        begun = [*(self._native.set_by_motions if self.begins_as_written else ()), *given_up]
        gaps = [self._native.gap_note] if self._native.gap_note else []
        blows = unfollowed_blow(self._native.blow_note, self._native.blow_at, self._model)
        moved = [text for _, text in self._native.jumps]
        failed = failing(self._native.statistics, self._native.failed_at, self._model)
        shared, unmet = shared_reactions(self.redundancies, self._model), unmet_switches(self._unmet)
        turned = self._half_turns.notes()
        steps = other_steps(self._fixed_step, self._first_interval)
        begun = [*large_angles(self._model.description), *self._rest_notes, *self._begun, *begun, *steps]
        return [*begun, *turned, *moved, *blows, *gaps, *failed, *shared, *unmet]

    def catch_up(self) -> None:
        """What is true with the inputs and parameters as they are now happens at once, not with the next step."""
        self._values = None
        with translated(f"model '{self._model.description.name}': "):
            self._native.catch_up()

    def __getitem__(self, name: str) -> float:
        if name not in self._index:
            raise ModelError(
                f"model '{self._model.description.name}' has no signal {name!r}{did_you_mean(name, self._index)}"
            )
        return float(self.values([self._index[name]])[0])

    def __setitem__(self, name: str, value: float) -> None:
        """Set an input, or a tunable parameter, from now on."""
        signal = self._model.signals.get(name)
        if signal is None or signal.variability != "tunable" or signal.causality != "parameter":
            self.set_input(name, value)
            return
        finding = _out_of_bounds(signal, value)
        if finding:
            raise ModelError(finding)
        with translated(f"parameter '{name}': "):
            self._native.change_parameter(self._lowered.parameters[name], float(value))
        self._values = None

    def set_input(self, name: str, value: float, slope: float = 0.0) -> None:
        """From now on the input is value + slope * (t - now)."""
        inputs = self._lowered.inputs
        for number in (value, slope):
            if not isinstance(number, Real):
                raise ModelError(f"input '{name}' must be a number, found {number!r}")
        if name not in inputs:
            raise ModelError(f"model '{self._model.description.name}' has no input {name!r}{self._not_an_input(name)}")
        with translated(f"input '{name}': "):
            self._native.set_input(inputs[name], float(value), float(slope))
        self._values = None

    def values(self, columns: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Signals at the present time, in the order of `names`; velocities, accelerations, reactions consistent.

        All, or those at `columns`; StepFailed names the first of them that is not finite.
        """
        if self._values is None:
            with translated(f"model '{self._model.description.name}': "):
                self._native.report()
                self._values = self._native.signals()
        wanted: NDArray[np.float64] = self._values if columns is None else self._values[columns]
        if not np.isfinite(wanted).all():
            odd = int(np.flatnonzero(~np.isfinite(wanted))[0])
            signal = odd if columns is None else columns[odd]
            raise StepFailed(f"signal '{self.names[signal]}' is {self._native.why_not_finite(signal)}")
        return wanted

    def step(self, size: float) -> None:
        """Advance by `size` seconds, in as many internal steps as the accuracy asks for."""
        if not (isinstance(size, Real) and 0 < size < math.inf):
            raise ModelError(f"step must be a positive number of seconds, found {size!r}")
        self.advance(self.time + size)

    def advance(self, time: float) -> None:
        """Advance exactly to `time`; KeyboardInterrupt and StepFailed leave the last good state."""
        if not isinstance(time, Real):
            raise ModelError(f"the time to advance to must be a number of seconds, found {time!r}")
        self._values = None
        self._first_interval = self._first_interval or float(time) - self.time
        with translated(f"model '{self._model.description.name}': "):
            if not self._native.advance(float(time)):
                raise KeyboardInterrupt
        if self._half_turns:
            self._half_turns.see(self.time, self.values())

    def settle(self, tolerance: float = 1e-10, limit: int = 5000, method: str = "settle") -> Equilibrium:
        """Come to rest before the motion begins; see `Model.equilibrium`. It then begins there.

        The inputs are as they are now; the velocities of the start are put back and made consistent.
        """
        if method not in METHODS:
            known = f"{did_you_mean(method, METHODS)}; known: {', '.join(METHODS)}"
            raise ModelError(f"there is no method {method!r} to find an equilibrium{known}")
        if self.time > 0:
            raise ModelError(f"settling comes before the motion, found t = {self.time:g} s; start anew")
        self._values = None
        before = self._native.save()
        try:
            rest = self._rest(method, tolerance, limit)
            with translated(f"model '{self._model.description.name}': "):
                self._native.set_in_motion(self._velocities)
        except BaseException:  # Ctrl-C too: the simulation is what it was
            self._native.restore(before)
            raise
        self._rest_notes, self._begun = rest.notes, []
        return rest

    def linearize(self, wanted: Wanted, *, still: bool = False) -> LinearModel:
        """The linear model about the present state; see `Model.linearize`. `still`: without velocities, time held."""
        if not still:
            return linearise(self._native, self._lowered, self._functions, wanted)
        before = self._native.save()
        try:
            with translated(f"model '{self._model.description.name}': "):
                self._native.stand_still()
            return linearise(self._native, self._lowered, self._functions, wanted)
        finally:
            self._native.restore(before)
            self._values = None

    def _rest(self, method: str, tolerance: float, limit: int) -> Equilibrium:
        check_search(tolerance, limit)
        if method == "energy":
            return minimise(self._native, self._lowered, self._given, tolerance, limit, self._functions)
        search = settle if method == "settle" else balance
        return search(self._native, self._lowered, self._given, tolerance, limit)

    def save(self) -> Any:
        """The state as a value, which can be pickled; restoring it continues bit for bit, in another process too."""
        return self._native.save()

    def restore(self, state: Any) -> None:
        """Go back (or on) to a saved state of this model."""
        if not isinstance(state, _solver.State):
            raise ModelError(f"can restore what save() returned, found {type(state).__name__}")
        with translated():
            self._native.restore(state)
        self._values = None

    # ---- start values

    def _set_start(self, parameters: Mapping[str, float], start: Mapping[str, float]) -> tuple[Starts, Starts]:
        """Set the parameters; return the given start positions and velocities, by number of coordinate."""
        problems: list[str] = []
        for name, value in parameters.items():
            self._set_parameter(name, value, problems)
            if name.endswith(".start") and name in self._lowered.parameters:
                start = {name.removesuffix(".start"): value, **start}
        positions: Starts = []
        velocities: Starts = []
        for name, value in start.items():
            kept = kept_coordinates(name, self._lowered)
            parameter = f"{name}.start"
            if kept is None and parameter not in self._lowered.parameters:
                problems.append(f"start: {self._no_start(name)}")
            elif not (isinstance(value, Real) and math.isfinite(value)):
                problems.append(f"start: {name!r} must be a finite number, found {value!r}")
            else:
                if parameter in self._lowered.parameters:  # other start values may be computed from it
                    self._set_parameter(parameter, value, problems)
                space, numbers, rotational = kept or ("", [], False)
                given = 0.0 if rotational else float(value)  # orientations start from their parameters
                (positions if space == "q" else velocities).extend((number, given) for number in numbers)
        if problems:
            raise ModelError(problems)
        return positions, velocities

    def _no_start(self, name: str) -> str:
        if f"{name}.start" in self._model.signals:
            return self._no_parameter(f"{name}.start")
        if name in self._model.signals:
            return f'{name!r} is computed and has no start value of its own; joints take them in their entry "start"'
        known = [s.removesuffix(".start") for s in self._index if s.endswith(".start")]
        return f"{name!r} is no coordinate; only coordinates start{did_you_mean(name, known)}"

    def _set_parameter(self, name: str, value: float, problems: list[str]) -> None:
        known = self._lowered.parameters
        if name not in known:
            problems.append(self._no_parameter(name))
            return
        finding = _out_of_bounds(self._model.signals[name], value)
        if finding:
            problems.append(finding)
        else:
            self._native.set_parameter(known[name], float(value))

    def _no_parameter(self, name: str) -> str:
        signal = self._model.signals.get(name)
        if signal is not None and signal.causality == "calculatedParameter":
            uses = ", ".join(sorted(s.value[1] for s in signal.node.support))
            return f"parameter {name!r} is computed from {uses}; set that instead"
        if name in self._lowered.inputs:
            how = "inputs={...}, --input FILE; a value that stays: a file of one row"
            return f"{name!r} is an input, not a parameter; give it over time ({how})"
        return f"no parameter is called {name!r}{did_you_mean(name, self._lowered.parameters)}"

    def _not_an_input(self, name: str) -> str:
        if name in self._lowered.parameters:
            return "; it is a fixed parameter: give it at the start (parameters={...}) or declare it tunable"
        known: Iterable[str] = self._lowered.inputs
        return did_you_mean(name, known) or f"; known: {', '.join(known) or 'none'}"


def kept_coordinates(name: str, lowered: Lowered) -> tuple[str, list[int], bool] | None:
    """What assembly may not move where a start value is given: space, numbers, whether it is an orientation."""
    coordinates = lowered.coordinates
    signal = lowered.model.signals.get(name)
    space, symbol = signal.node.value if signal and isinstance(signal.node.value, tuple) else ("", "")
    if space in ("q", "v") and symbol in coordinates:
        return space, [coordinates[symbol]], False
    body, _, part = name.rpartition(".")
    turns = part not in _PLACES  # these are computed where the centre of mass lies elsewhere
    if turns and f"{name}.start" in lowered.parameters and f"{body}.{ROTATIONS[0]}" in coordinates:
        return "q", [coordinates[f"{body}.{theta}"] for theta in ROTATIONS], True
    return None


def _out_of_bounds(signal: Signal, value: float) -> str:
    if not (isinstance(value, Real) and math.isfinite(value)):
        return f"parameter '{signal.name}' must be a finite number, found {value!r}"
    low = -math.inf if signal.minimum is None else signal.minimum
    high = math.inf if signal.maximum is None else signal.maximum
    return "" if low <= value <= high else f"parameter '{signal.name}' must lie in [{low:g}, {high:g}], found {value:g}"
