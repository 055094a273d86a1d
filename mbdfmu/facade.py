"""A model and everything that can be done with it, one call each; the last room, which no other looks into."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import mbdfmu.blocks
import mbdfmu.fmi
import mbdfmu.forces
import mbdfmu.joints
import mbdfmu.modelica
from mbdfmu.analyses import (
    CompiledModel,
    Equilibrium,
    InputSchedule,
    InverseDynamics,
    Kinematics,
    LinearModel,
    Settings,
    Simulation,
    wanted,
)
from mbdfmu.analyses.inverse_dynamics import Question, inverse_dynamics
from mbdfmu.analyses.simulate import output_times, recorded_names
from mbdfmu.analyses.simulate import simulate as run
from mbdfmu.analyses.stepping import Assembly
from mbdfmu.animation.picture import still
from mbdfmu.description import (
    Block,
    Body,
    Callback,
    Constraint,
    Coordinate,
    Description,
    Element,
    Event,
    Force,
    Impact,
    Input,
    Joint,
    Marker,
    Motion,
    Output,
    Parameter,
    State,
    Submodel,
    Table,
    Variable,
)
from mbdfmu.errors import Interrupted, ModelError, StepFailed, did_you_mean
from mbdfmu.files import named_file
from mbdfmu.fmi.archive import Choices, Drawing
from mbdfmu.fmi.references import Reference
from mbdfmu.lowering import lower
from mbdfmu.results import Result
from mbdfmu.signals import Signal, SymbolicModel, unresolved
from mbdfmu.tabular import Table as Columns
from mbdfmu.tabular import read_inputs

_SECTION: dict[type[Element], str] = {
    Parameter: "parameters", Input: "inputs", Marker: "markers", Body: "bodies", Joint: "joints", Force: "forces",
    Motion: "motions", Coordinate: "coordinates", Constraint: "constraints", Output: "outputs",
    State: "states", Variable: "variables", Block: "blocks", Callback: "callbacks",
    Event: "events", Impact: "impacts", Submodel: "submodels", Table: "tables",
}  # fmt: skip
Start = Mapping[str, float] | Equilibrium | str | None
DEFAULT_POINTS = 500  # of output, where nothing is said
PLACES = ("equilibrium", "start")  # to linearise at, beside times


class Model:
    """A multibody model: built in Python or loaded from a file, then simulated and exported."""

    def __init__(self, name: str, **header: Any) -> None:
        """`header`: dimensions, gravity, text, length, velocity_terms, experiment as in a model file."""
        self._data: dict[str, Any] = {"format_version": 1, "name": name, **header}
        self._compiled: CompiledModel | None = None
        self._description: Description | None = None
        self._origin = ""  # the file, as findings begin with it
        self._allow_python = False

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, allow_python: bool = False, allow_outside: bool = False
    ) -> Self:
        """Read a model file (JSON); `allow_python` lets its callbacks import and run the Python code that they name.

        `allow_outside` lets it refer to files outside of its folder.
        """
        origin = f"{os.fspath(named_file(path))}: "
        try:
            model = cls.from_description(Description.load(path, allow_outside=allow_outside))
        except ModelError as error:
            raise _complete(error, origin) from None
        model._origin, model._allow_python = origin, allow_python
        return model

    @classmethod
    def from_description(cls, description: Description) -> Self:
        """Take over a checked description."""
        model = cls(description.name)
        fields = type(description).model_fields
        model._data = {k: dict(v) if isinstance(v := getattr(description, k), dict) else v for k in fields}
        model._description = description
        return model

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self._data[s])} {s}" for s in _SECTION.values() if self._data.get(s))
        return f"<Model '{self.name}': {counts or 'empty'}>"

    # ---- building

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self._data["name"])

    def add(self, name: str, element: Element | float | str) -> None:
        """Add an element under a name; a bare number is a parameter, a bare expression an output."""
        if not isinstance(name, str) or not name.isidentifier():
            raise ModelError(f"a name must be letters, digits and _, starting with no digit, found {name!r}")
        if isinstance(element, int | float):
            element = Parameter(value=element)
        elif isinstance(element, str):
            element = Output(value=element)
        section = next((s for kind, s in _SECTION.items() if isinstance(element, kind)), None)
        if section is None:
            raise ModelError(
                f"{name}: a {type(element).__name__} cannot be added; known: {', '.join(k.__name__ for k in _SECTION)}"
            )
        self._put(section, name, element)

    def add_mass(self, coordinates: str, value: float | str) -> None:
        """Add an entry of the mass matrix of user-written coordinates: "theta" or "theta,phi"."""
        self._put("mass", coordinates, value)

    def _put(self, section: str, name: str, value: Any) -> None:
        entries = self._data.setdefault(section, {})
        if name in entries:
            raise ModelError(f"{section}.{name}: the name is already there; choose another")
        entries[name] = value
        self._description = self._compiled = None
        self._origin = ""  # the file no longer says it all

    @property
    def description(self) -> Description:
        """The checked description; a ModelError lists all that is wrong."""
        if self._description is None:
            try:
                self._description = Description(**self._data)
            except ModelError as error:
                raise _complete(error) from None
        return self._description

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file."""
        self.description.save(path)

    # ---- looking

    def compile(self) -> CompiledModel:
        """The equations in arrays; a new object at every call, each for one thread."""
        return CompiledModel(self._shared().lowered, allow_python=self._allow_python)

    def _shared(self) -> CompiledModel:
        if self._compiled is None:
            description = self.description
            try:
                lowered = lower(description)
            except ModelError as error:
                raise ModelError(self._origin + problem for problem in error.problems) from None
            self._compiled = CompiledModel(lowered, allow_python=self._allow_python)
        return self._compiled

    @property
    def symbolic(self) -> SymbolicModel:
        """The model with all names resolved."""
        return self._shared().lowered.model

    def signals(self, pattern: str = "*") -> list[Signal]:
        """The variables whose name fits the pattern."""
        if not isinstance(pattern, str):
            raise ModelError(f"pattern must be a text such as 'crank.*', found {pattern!r}")
        return self.symbolic.matching(pattern)

    # ---- running

    def start(
        self,
        *,
        parameters: Mapping[str, float] | None = None,
        start: Start = None,
        assemble: Assembly = None,
        **settings: Any,
    ) -> Simulation:
        """A simulation to be stepped from Python; `settings`: scheme, options, tolerance, step, ...

        Events that are true with the start values have happened.
        """
        simulation = self._started(parameters, start, assemble, None, settings)
        simulation.catch_up()
        return simulation

    def _started(
        self,
        parameters: Mapping[str, float] | None,
        start: Start,
        assemble: Assembly,
        inputs: InputSchedule | None,
        settings: Mapping[str, Any],
    ) -> Simulation:
        settles = isinstance(start, str)
        if settles and start != "equilibrium":
            raise ModelError(f'start must be "equilibrium", an equilibrium or a mapping name -> value, found {start!r}')
        given = None if isinstance(start, str) else start
        simulation = Simulation(
            self._shared(), self._settings(settings), parameters=parameters, start=given, assemble=assemble
        )
        if settles:
            for name, value in inputs.first().items() if inputs else ():
                simulation.set_input(name, value)
            simulation.settle()
        return simulation

    def equilibrium(
        self,
        *,
        method: str = "settle",
        tolerance: float = 1e-10,
        limit: int = 5000,
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | Equilibrium | None = None,
        inputs: Any = None,
        interpolation: str = "linear",
        assemble: bool | None = None,
    ) -> Equilibrium:
        """Find positions and states at which the model stands still, from where it starts.

        "settle" follows the forces without inertia and with time held, so that what time alone drives stands still; it
        ends where a step moves nothing by more than `tolerance` (rad, or of the model's length, or of a state's size).
        "equations" solves the equations of equilibrium by Newton's iteration, which finds unstable ones too, and says
        so (`stable`). "energy" goes down to the least potential energy near the start; it refuses forces without one.
        `limit` bounds the steps of any of them. `start` says where it begins; start velocities are kept for the motion
        that starts from the equilibrium.
        `inputs` are numbers by name, or as in `simulate`, whose values at t = 0 count.
        """
        simulation = self._started(parameters, start, assemble, None, {})
        if not (isinstance(inputs, Mapping) and all(isinstance(value, Real) for value in inputs.values())):
            inputs = self._schedule(inputs, interpolation).first()
        for name, value in inputs.items():
            simulation.set_input(name, value)
        return simulation.settle(tolerance, limit, method)

    def linearize(
        self,
        *,
        at: str | float | Equilibrium | Simulation = "equilibrium",
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        input_values: Mapping[str, float] | None = None,
        method: str = "settle",
        parameters: Mapping[str, float] | None = None,
        start: Start = None,
        assemble: bool | None = None,
        **settings: Any,
    ) -> LinearModel:
        """The linear model about a state: A, B, C, D by exact derivatives, joints eliminated, everything named.

        `at`: "equilibrium" (found by `method`, as by `equilibrium`) or an `Equilibrium`, both at rest with time held;
        "start"; a time (s) to simulate to, with `settings` as in `simulate`; or a running `Simulation`, which stays as
        it is. `inputs` (all) and `outputs` (those of the model) are names or patterns, outputs of any signals.
        `states` are the independent coordinates, chosen where not given. `input_values` hold inputs at the point.
        """
        if isinstance(at, Simulation):
            simulation, still, where = at, False, f"t = {at.time:g} s"
            self._refuse_beside_simulation(input_values, parameters, start, assemble, settings)
        else:
            still = not isinstance(at, Real) and at != "start"
            simulation = self._led_to(at, input_values, method, parameters, start, assemble, settings)
            where = f"t = {at:g} s" if isinstance(at, Real) else at if isinstance(at, str) else "equilibrium"
        return simulation.linearize(wanted(self.symbolic, inputs, outputs, states, where), still=still)

    def _refuse_beside_simulation(self, *given: Any) -> None:
        names = ("input_values", "parameters", "start", "assemble", "settings")
        found = [name for name, value in zip(names, given, strict=True) if value]
        if found:
            raise ModelError(f"{', '.join(found)}: the simulation has its own; set them there")

    def _led_to(
        self,
        at: str | float | Equilibrium,
        input_values: Mapping[str, float] | None,
        method: str,
        parameters: Mapping[str, float] | None,
        start: Start,
        assemble: bool | None,
        settings: Mapping[str, Any],
    ) -> Simulation:
        """A simulation at the place that `at` means."""
        timed = isinstance(at, Real) and not isinstance(at, bool)
        if not (timed or isinstance(at, Equilibrium) or at in PLACES):
            hint = did_you_mean(at, PLACES) if isinstance(at, str) else ""
            known = f"{', '.join(map(repr, PLACES))}, a time in s, an equilibrium or a simulation"
            raise ModelError(f"at must be {known}, found {at!r}{hint}")
        if timed and not 0 <= float(at) < math.inf:  # type: ignore[arg-type]
            raise ModelError(f"at must be a time from 0 s on, found {at:g} s; a model begins at 0 s")
        if isinstance(at, Equilibrium):
            if start is not None:
                raise ModelError("start: the equilibrium says where the model is; leave one of them out")
            start = at
        simulation = self._started(parameters, start, assemble, None, settings)
        if not isinstance(input_values, Mapping | None):
            raise ModelError(f"input_values must be a mapping name -> value, found {input_values!r}")
        for name, value in (input_values or {}).items():
            simulation.set_input(name, value)
        if at == "equilibrium":
            simulation.settle(method=method)
        elif timed and at != 0:
            simulation.advance(float(at))  # type: ignore[arg-type]
        return simulation

    def _settings(self, given: Mapping[str, Any]) -> Settings:
        known = [f.name for f in fields(Settings)]
        hints = [*known, *(name for name in signature(self.simulate).parameters if name != "settings")]
        listed = f"; give one by one what there is: {', '.join(known)}"
        problems = [
            f"no setting is called {name!r}{listed if name == 'settings' else did_you_mean(name, hints)}"
            for name in given
            if name not in known
        ]
        if problems:
            raise ModelError(problems)
        experiment = self.description.experiment
        default = {"tolerance": experiment.tolerance} if experiment and experiment.tolerance else {}
        return Settings(**{**default, **{k: v for k, v in given.items() if v is not None or k == "step"}})

    def simulate(
        self,
        t_end: float | None = None,
        step_output: float | None = None,
        *,
        record: str | Iterable[str] | None = None,
        inputs: Any = None,
        interpolation: str = "linear",
        parameters: Mapping[str, float] | None = None,
        start: Start = None,
        assemble: Assembly = None,
        progress: Callable[[float], object] | None = None,
        **settings: Any,
    ) -> Result:
        """Simulate from 0 to `t_end` and return the recorded signals.

        `inputs` is a CSV file, a mapping name -> (times, values) or a function t -> {name: value} (linear between
        output times). `start` are start values, an equilibrium, or "equilibrium": the model settles first (see
        `equilibrium`). `record` are patterns such as "crank.*". `settings`: scheme="hht", options={"alpha": -0.1},
        tolerance=1e-6, step=None (error-controlled), first_step, largest_step, smallest_step; times in s;
        most_steps=1_000_000 tries of a step from one output to the next.
        """
        times = self._times(t_end, step_output)
        schedule = self._schedule(inputs, interpolation)
        simulation = self._started(parameters, start, assemble, schedule, settings)
        names = recorded_names(self.symbolic, record)
        recording = run(simulation, times, names, schedule, progress)
        return self._result(recording, times[-1], parameters or {})

    def kinematics(
        self,
        t_end: float | None = None,
        step_output: float | None = None,
        *,
        record: str | Iterable[str] | None = None,
        inputs: Any = None,
        interpolation: str = "linear",
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        assemble: bool = True,
        progress: Callable[[float], object] | None = None,
    ) -> Result:
        """The motion of a fully driven model, and the forces it takes, without integration.

        Positions are solved for from 0 to `t_end`, each from the last one; all signals are reported as `simulate` does,
        the reactions of motions and joints too. Arguments as in `simulate`; start positions are where the search for
        the first pose begins.
        """
        times = self._times(t_end, step_output)
        schedule = self._schedule(inputs, interpolation)
        driven = Kinematics(self._shared(), parameters=parameters, start=start, assemble=assemble)
        recording = run(driven, times, recorded_names(self.symbolic, record), schedule, progress)
        return self._result(recording, times[-1], parameters or {})

    def inverse_dynamics(
        self,
        motion: Columns | Mapping[str, Any] | str | os.PathLike[str],
        *,
        actuators: str | Iterable[str] = (),
        coordinates: str | Iterable[str] | None = None,
        spline: str = "quintic",
        tolerance: float = 1e-3,
        record: str | Iterable[str] | None = None,
        inputs: Any = None,
        interpolation: str = "linear",
        parameters: Mapping[str, float] | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Result:
        """The values of inputs (`actuators`) that make the model move as given, with all signals and reactions.

        `motion` is a result, a file of one, or a mapping with "time" and signals of positions. Velocities and
        accelerations come from it where it has them, else from splines ("quintic" or "cubic"). `coordinates` names the
        signals that are the motion, such as "hinge.angle"; the rest of the positions follows from the joints.
        `tolerance` is what accelerations may lack, of the largest, and positions may miss, of the model's length. A
        result of this very model brings its parameters and other inputs, unless they are given.
        """
        table = self._motion(motion)
        if parameters is None and isinstance(table, Result) and table.description == self.description.whole().to_json():
            parameters = table.parameters
        solver = InverseDynamics(
            self._shared(),
            table,
            Question(
                actuators=_names(actuators, "actuators"),
                coordinates=None if coordinates is None else _names(coordinates, "coordinates"),
                spline=spline,
                tolerance=tolerance,
            ),
            inputs=self._schedule(inputs, interpolation),
            parameters=parameters,
        )
        recording = inverse_dynamics(solver, recorded_names(self.symbolic, record), progress)
        return self._result(recording, float(table.time[-1]), parameters or {})

    def _motion(self, motion: Any) -> Columns:
        if isinstance(motion, str | os.PathLike):
            return Result.read(motion)
        if isinstance(motion, Columns):
            return motion
        if not isinstance(motion, Mapping) or "time" not in motion:
            found = f": {', '.join(map(str, motion))}" if isinstance(motion, Mapping) else ""
            raise ModelError(
                'the motion must be a result, a file or a mapping with "time" and signals of positions, found '
                f"{type(motion).__name__}{found}"
            )
        return Columns(motion["time"], {name: values for name, values in motion.items() if name != "time"})

    def _times(self, t_end: float | None, step_output: float | None) -> NDArray[np.float64]:
        """Output times; the model's experiment says what is not given."""
        experiment = self.description.experiment
        if t_end is None:
            t_end = experiment.stop_time if experiment else None
        if t_end is None:
            raise ModelError(f"model '{self.name}' names no experiment.stop_time; give t_end")
        if step_output is None:
            step_output = (experiment.step if experiment else None) or t_end / DEFAULT_POINTS
        return output_times(t_end, step_output)

    def export_fmu(
        self,
        path: str | os.PathLike[str],
        runtime: str | None = None,
        *,
        interface: str = "cs2",
        platforms: str | Iterable[str] | None = None,
        signals: str | Iterable[str] | None = None,
        assemble: bool = False,
        reference: bool | Mapping[str, Any] = False,
        **settings: Any,
    ) -> Path:
        """Write the model as an FMU, `path` ending in .fmu; docs/fmu.md says what it offers.

        A model that cannot start is refused: nobody could leave the initialization of its FMU. `assemble` lets the FMU
        close the joints from a start that does not fit.

        `runtime` "native" needs nothing on the target; "python" needs Python with mbdfmu, and is what None means where
        the model calls functions in Python. `interface` "cs2" is FMI 2.0 co-simulation, "cs3" that of FMI 3.0, "me2"
        FMI 2.0 model exchange; these two native only. `platforms` of the native runtime are all that are installed,
        unless some are named. `signals` are patterns of the local signals to take along (all). `reference` True packs a
        run of the model's experiment into the FMU, a mapping one with these arguments of `simulate`: t_end,
        step_output, inputs, interpolation. `settings` as in `simulate` become the start values of the FMU's `solver.*`
        parameters.
        """
        choices = Choices(
            runtime=runtime,
            interface=interface,
            platforms=None if platforms is None else _names(platforms, "platforms"),
            signals=None if signals is None else _names(signals, "signals"),
            assemble=assemble,
        )
        chosen, lowered = self._settings(settings), self._shared().lowered
        begun = self.start(assemble=assemble, **settings)
        asked = reference if isinstance(reference, Mapping) else {} if reference else None
        run = None if asked is None else self._reference(asked, assemble, settings)
        return mbdfmu.fmi.export(lowered, path, chosen, choices, drawing=self._drawing(begun), reference=run)

    def export_modelica(
        self,
        path: str | os.PathLike[str],
        style: str = "multibody",
        *,
        signals: str | Iterable[str] = (),
        parameters: Mapping[str, float] | None = None,
        start: Start = None,
        assemble: Assembly = None,
    ) -> Path:
        """Write the model as Modelica text, `path` ending in .mo; docs/modelica.md says what each style offers.

        `style` "multibody" has components of the Modelica Standard Library, "equations" needs no library, "wrapper" is
        the interface of the model's FMU. `signals` are patterns of signals to be variables beside the outputs, where
        a style has equations. `parameters`, `start` and `assemble` say where the model begins, as in `simulate`.
        """

        def begin() -> Simulation:
            return self.start(parameters=parameters, start=start, assemble=assemble)

        shown = _names(signals, "signals")
        return mbdfmu.modelica.export(self._shared().lowered, begin, path, style=style, signals=shown)

    def _reference(self, asked: Mapping[str, Any], assemble: bool, settings: Mapping[str, Any]) -> Reference:
        """A run to pack into an FMU: its outputs or, where there are none, its positions."""
        known = ("t_end", "step_output", "inputs", "interpolation")
        problems = [f"reference: unknown argument {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
                    for name in asked if name not in known]  # fmt: skip
        if problems:
            raise ModelError(problems)
        times = self._times(asked.get("t_end"), asked.get("step_output"))
        schedule = self._schedule(asked.get("inputs"), asked.get("interpolation", "linear"))
        names = list(self.description.outputs) or [c.name for c in self.symbolic.coordinates]
        result = self.simulate(**{"t_end": float(times[-1]), **asked}, record=names, assemble=assemble, **settings)
        return Reference(
            result=result, inputs=schedule.over(times), step=float(times[1] - times[0]),
            tolerance=self._settings(settings).tolerance,
        )  # fmt: skip

    def _drawing(self, begun: Simulation) -> Drawing | None:
        """The model where it begins; None where it has shapes that cannot be drawn."""
        try:
            picture = still(self.description, dict(zip(begun.names, begun.values(), strict=True)))
        except (ModelError, StepFailed):  # signals that are not finite
            return None
        return Drawing(png=picture.png(), svg=picture.svg())

    def _schedule(self, inputs: Any, interpolation: str) -> InputSchedule:
        known = {s.name: s.unit for s in self.symbolic.inputs}
        if isinstance(inputs, str | Path):
            inputs = read_inputs(inputs, known)
        return InputSchedule.make(inputs, known, interpolation)

    def _result(self, recording: Any, t_end: float, parameters: Mapping[str, float]) -> Result:
        message = ""
        if recording.interrupted:
            reached = recording.time[-1] if len(recording.time) else 0
            message = f"{recording.interrupted} at t = {reached:g} s of {t_end:g} s"
        if recording.failure is not None:
            message = str(recording.failure)
        signals = self.symbolic.signals
        result = Result(
            recording.time,
            {name: recording.values[:, k] for k, name in enumerate(recording.names)},
            {name: signals[name].unit for name in recording.names},
            statistics=recording.statistics,
            complete=not message,
            message=message,
            notes=tuple(recording.notes),
            events=tuple(recording.events),
            model=self.name,
            description=self.description.whole().to_json(),
            parameters={name: float(value) for name, value in parameters.items()},
        )
        if recording.failure is not None:
            recording.failure.result = result
            raise recording.failure
        if recording.interrupted:
            raise Interrupted(message, result)
        return result


def _names(given: str | Iterable[str], what: str) -> list[str]:
    if not isinstance(given, Iterable):
        raise ModelError(f"{what} must be a name or several, found {given!r}")
    return [given] if isinstance(given, str) else list(given)


def _complete(error: ModelError, origin: str = "") -> ModelError:
    """The findings of a description, and those in the expressions of what could be read of it."""
    more = [] if error.rest is None else unresolved(error.rest)
    return ModelError([*error.problems, *(origin + problem for problem in more)])
