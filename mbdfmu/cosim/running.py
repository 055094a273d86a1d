"""Coupled FMUs that are stepped: loaded and initialised together, read and set by names, freed; must not know files."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses import InputSchedule
from mbdfmu.cosim.bonds import Account, accounts
from mbdfmu.cosim.description import Component, SystemDescription, split
from mbdfmu.cosim.master import Coupled
from mbdfmu.cosim.slave import LAST, VARIES, Slave
from mbdfmu.cosim.wiring import Place, wired
from mbdfmu.errors import ModelError, StepFailed, did_you_mean
from mbdfmu.fmi.calls import PYTHON
from mbdfmu.fmi.harness import checked_inputs, runnable, start_values
from mbdfmu.fmi.host import hosting
from mbdfmu.fmi.instance import Experiment, Instance
from mbdfmu.fmi.reading import MODEL_EXCHANGE, FmuInfo, FmuVariable, info
from mbdfmu.fmi.remote import Alone, Gone
from mbdfmu.fmi.running import RECORDABLE, converted
from mbdfmu.fmi.types import Value
from mbdfmu.tabular import read_inputs

SHRINK, GROW, SAFETY = 0.2, 2.0, 0.8  # of the size of communication steps, under error control


@dataclass(frozen=True, kw_only=True)
class Span:
    """When a run begins, and beyond which time it will not go."""

    t_start: float = 0.0
    t_end: float | None = None


class Running:
    """A system of FMUs to be stepped: `run["car.rack"] = 0.1; run.step(1e-3); run["car.yaw_rate"]`.

    The FMUs stay loaded until it is closed: by `close()`, or at the end of a `with`. One thread at a time.
    """

    def __init__(
        self,
        description: SystemDescription,
        facts: Mapping[str, FmuInfo],
        span: Span = Span(),
        *,
        inputs: InputSchedule | None = None,
        record: Sequence[str] | None = None,
        alone: Alone | None = None,
    ) -> None:
        self._description = description
        self._facts = facts
        self._schedule = inputs or InputSchedule({})
        given = [split(name) for name in self._schedule.curves]
        recorded = self._recorded(record)
        self._wiring = wired(description, self._facts, recorded, given)
        self._check_given(given)
        self.notes = [*self._wiring.notes, *self._integrated()]
        self._steps = self._own_steps()
        self._failed = self._is_closed = False
        with ExitStack() as undo:
            self._slaves = [self._slave(name, undo, alone) for name in description.fmus]
            self._coupled = Coupled(
                self._wiring, self._slaves, description.master, self._outside, watched=bool(description.bonds)
            )
            self._accounts = accounts(description, self._wiring, self._slaves)
            self._initialise(span)
            self._close = undo.pop_all().close
        places = {place: k for k, place in enumerate([*self._wiring.sources, *given])}
        self.names = [".".join(place) for place in dict.fromkeys([*recorded, *given])]
        self._columns = np.array([places[place] for place in dict.fromkeys([*recorded, *given])], dtype=int)
        self.step_size = math.inf  # under error control: the next one

    def __repr__(self) -> str:
        return f"<Running '{self._description.name}': {len(self._slaves)} FMUs, t = {self.time:g} s>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free all FMUs; a second time nothing happens."""
        self._is_closed = True
        self._close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ModelError(f"system '{self._description.name}' is closed; start it again")

    # ---- start

    def _slave(self, name: str, undo: ExitStack, alone: Alone | None) -> Slave:
        facts, master = self._facts[name], self._description.master
        repeats = master.iterations > 1 or master.tolerance is not None
        follows = bool(master.extrapolation or master.iterations > 1) or self._schedule.has_slopes
        try:
            instance = Instance(facts, follows=follows, alone=alone and replace(alone, name=name))
        except ModelError as error:
            raise ModelError(f"fmus.{name}: {problem}" for problem in error.problems) from None
        undo.callback(instance.close)
        if repeats and not instance.keeps_states:
            asked = "iterations" if master.iterations > 1 else "tolerance"
            raise ModelError(
                f"master.{asked}: steps have to be taken back, which FMU '{name}' cannot (canGetAndSetFMUstate is "
                f"false); leave {asked} out"
            )
        varies = facts.capabilities.get(VARIES, False)
        if master.tolerance is not None and not varies:
            raise ModelError(
                f"master.tolerance: steps vary in size, which FMU '{name}' cannot take ({VARIES} is not true); leave "
                "tolerance out"
            )
        leads = master.tolerance is not None and name in self._wiring.sampled
        return Slave(name, instance, step=self._steps[name], repeatable=repeats, varies=varies, leads=leads)

    def _integrated(self) -> list[str]:
        names = [name for name, facts in self._facts.items() if facts.is_integrated]
        how = "for model exchange, integrated by fmpy's CVode between communication points"
        return [f"{', '.join(names)}: {how}"] if names else []

    def _own_steps(self) -> dict[str, float | None]:
        """Of all FMUs; under error control those that take samples do so at communication points of their own."""
        steps = {name: component.step for name, component in self._description.fmus.items()}
        if self._description.master.tolerance is None:
            return steps
        problems = []
        for name, discrete in self._wiring.sampled.items():
            said = self._facts[name].step
            if steps[name] is None and said is None:
                problems.append(
                    f"fmus.{name}: {', '.join(dict.fromkeys(discrete))} changes at points in time that "
                    'master.tolerance cannot know of; give the FMU its sample time as "step", or leave tolerance out'
                )
            elif steps[name] is None:
                self.notes.append(f"{name} has communication steps of {said:g} s, its sample time by its description")
                steps[name] = said
        problems += [
            f"couplings.{target}: what is sampled and delayed waits for a step whose size master.tolerance chooses; "
            "leave delayed or tolerance out"
            for target, coupling in self._description.couplings.items()
            if coupling.delayed and split(coupling.source)[1] in self._wiring.sampled.get(split(coupling.source)[0], ())
        ]
        if problems:
            raise ModelError(problems)
        return steps

    def _initialise(self, span: Span) -> None:
        """All into the initialisation mode, values until they stay, all out of it."""
        try:
            with hosting():
                for slave in self._slaves:
                    with slave.naming():
                        slave.instance.prepare(self._experiment(slave, span))
                self._coupled.settle(span.t_start)
                for slave in self._slaves:
                    with slave.naming():
                        slave.instance.begin()
                    slave.initialised = True
                self._coupled.start()
        except Gone:
            raise
        except StepFailed as error:
            raise ModelError(str(error)) from None
        for account in self._accounts:
            account.open(self._coupled)

    def _experiment(self, slave: Slave, span: Span) -> Experiment:
        component, facts = self._description.fmus[slave.name], self._facts[slave.name]
        return Experiment(
            t_start=span.t_start, t_end=span.t_end, tolerance=component.tolerance or facts.tolerance,
            values=_set_values(slave.name, component, facts),
        )  # fmt: skip

    def _outside(self, time: float, end: float) -> NDArray[np.float64]:
        """Inputs from outside as polynomials about a time."""
        pieces = self._schedule.at(time, end if math.isfinite(end) else time)
        lines = np.array(list(pieces.values())).reshape(-1, 2).T
        return np.vstack([lines, np.zeros((1, lines.shape[1]))])

    def _check_given(self, given: Iterable[Place]) -> None:
        problems = [
            f"inputs: {'.'.join(place)} is coupled to {self._description.couplings['.'.join(place)].source}"
            for place in given if ".".join(place) in self._description.couplings
        ]  # fmt: skip
        if problems:
            raise ModelError(problems)

    def _recorded(self, patterns: Sequence[str] | None) -> list[Place]:
        """Outputs and what the description asks for, or what fits the patterns."""
        known = {f"{fmu}.{v.name}": (fmu, v.name) for fmu, facts in self._facts.items() for v in facts.variables
                 if v.type in RECORDABLE and v.causality != "independent"}  # fmt: skip
        found: dict[Place, None] = {}
        if patterns is None:
            found.update(dict.fromkeys(p for p in known.values() if self._variable(p).causality == "output"))
        if not isinstance(patterns, Iterable | None):
            raise ModelError(f"record must be names or patterns such as 'car.*', found {patterns!r}")
        for pattern in self._description.record if patterns is None else patterns:
            fitting = [pattern] if pattern in known else [name for name in known if fnmatch.fnmatchcase(name, pattern)]
            if not fitting:
                raise ModelError(f"record: no variable fits {pattern!r}{did_you_mean(pattern, known)}")
            found.update(dict.fromkeys(known[name] for name in fitting))
        return list(found)

    def _variable(self, place: Place) -> FmuVariable:
        return self._facts[place[0]].variable(place[1])

    # ---- values

    @property
    def time(self) -> float:
        """Present time, s."""
        return self._coupled.time

    @property
    def statistics(self) -> dict[str, int | float]:
        """Work done so far."""
        found: dict[str, int | float] = dict(self._coupled.counts)
        for account in self._accounts:
            found |= {f"{account.name}.energy": account.energy, f"{account.name}.residual_energy": account.residual}
        return found

    def units(self) -> dict[str, str]:
        """Of `names`."""
        return {name: self._variable(split(name)).unit for name in self.names}

    def values(self) -> NDArray[np.float64]:
        """Of `names`, at the present time."""
        found: NDArray[np.float64] = self._coupled.exchange.Y[self._columns]
        return found

    def energies(self) -> list[float]:
        """Energy and residual of every bond."""
        return [x for account in self._accounts for x in (account.energy, account.residual)]

    @property
    def accounts(self) -> Sequence[Account]:
        """The bonds."""
        return self._accounts

    def __getitem__(self, name: str) -> Value:
        slave, variable = self._found(name)
        if variable.type not in PYTHON:
            raise ModelError(f"'{name}' is of type {variable.type}, which cannot be read")
        with slave.naming():
            found: Value = slave.instance.call(slave.instance.calls.get, [variable])[0]
            slave.instance.check_finite([variable], [found])
        return found

    def __setitem__(self, name: str, value: Value) -> None:
        """Set an input that nothing is coupled to, or a tunable parameter, from now on."""
        slave, variable = self._found(name)
        if name in self._description.couplings:
            raise ModelError(f"'{name}' is coupled; set what it takes its value from")
        if name in self._schedule.curves:
            raise ModelError(f"'{name}' has been given when the system was started; leave it out of inputs there")
        if variable.causality != "input" and variable.variability != "tunable":
            raise ModelError(f"'{name}' is {variable.variability} {variable.causality} and cannot be set now")
        try:
            slave.set(variable, converted(variable, value))
        except StepFailed as failure:
            raise ModelError(f"'{name}' cannot be {value!r}: {failure}") from None

    def _found(self, name: str) -> tuple[Slave, FmuVariable]:
        self._check_open()
        fmu, variable = split(str(name))
        if fmu not in self._facts:
            raise ModelError(f"no FMU is called {fmu!r}{did_you_mean(fmu, self._facts)}; a name is FMU.VARIABLE")
        return next(slave for slave in self._slaves if slave.name == fmu), self._facts[fmu].variable(variable)

    # ---- steps

    def step(self, size: float) -> None:
        """Advance by `size` seconds."""
        if not (isinstance(size, Real) and 0 < size < math.inf):
            raise ModelError(f"step must be a positive number of seconds, found {size!r}")
        self.advance(self.time + float(size))

    def advance(self, end: float) -> None:
        """To `end`: in one communication step, under error control in as many as it takes; StepFailed says why not."""
        with hosting():
            self.listen()
            while self.time < end:
                self.go(end)

    def listen(self) -> None:
        """What the FMUs say is heard from now on, whatever else has used fmpy."""
        self._check_open()
        for slave in self._slaves:
            slave.instance.calls.take_the_word()

    def go(self, end: float) -> None:
        """One communication step towards `end`; the caller is `hosting`. Ended: there is no other."""
        if self._failed:
            raise StepFailed("a step has failed before; start the system again")
        control = self._description.master.tolerance is not None
        try:
            self._controlled(end) if control else self._single(end)
        except StepFailed as failure:
            self._failed = not control or isinstance(failure, LAST)
            raise
        ended = next((slave.ended for slave in self._slaves if slave.ended), None)
        if ended:
            self._failed = True
            raise ended

    def _single(self, end: float) -> None:
        end = self._coupled.bounded(end)
        self._coupled.step(end)
        self._book()

    def _controlled(self, stop: float) -> None:
        """One step towards `stop` whose extrapolation is as good as asked for; what fails is tried again, smaller."""
        begin = self.time
        while self.time == begin:
            end = self._ahead(stop)
            size = end - begin
            try:
                error = self._coupled.step(end)
            except LAST:
                raise
            except StepFailed as failure:
                self._shrink(size * SHRINK, str(failure))
                continue
            order = 1 if self._is_late(self._coupled.worst) else self._description.master.extrapolation + 1
            factor = min(GROW, max(SHRINK, SAFETY * max(error, 1e-12) ** (-1 / order)))
            if error > 1.0:
                self._shrink(size * min(factor, SAFETY), self._far_off())
            else:
                is_cut = size < 0.99 * self.step_size
                self.step_size = max(self.step_size * is_cut, size * factor)
        self._book()

    def _is_late(self, target: str) -> bool:
        return target in self._description.couplings and self._description.couplings[target].delayed

    def _far_off(self) -> str:
        worst = self._coupled.worst
        if self._is_late(worst):
            return f"{worst} is too late by a step, as it is delayed; raise master.tolerance, or leave delayed out"
        source = self._description.couplings[worst].source
        own = self._description.fmus[split(source)[0]].step
        cure = "raise master.tolerance" + (f", or shorten the step of {own:g} s of '{split(source)[0]}'" if own else "")
        return f"the extrapolation of {worst} from {source} is too far off; {cure}"

    def _ahead(self, stop: float) -> float:
        """Where the next step ends: equal steps to `stop`, so that no tiny one is left over."""
        parts = max(1, math.ceil((stop - self.time) / self.step_size * (1 - 1e-9)))
        return self._coupled.bounded(stop if parts == 1 else self.time + (stop - self.time) / parts)

    def _shrink(self, size: float, reason: str) -> None:
        self.step_size = size
        least = self._description.master.smallest_step
        if self.step_size < least:
            raise StepFailed(f"no communication step of {least:g} s and more will do at t = {self.time:g} s: {reason}")

    def _book(self) -> None:
        for account in self._accounts:
            account.book(self._coupled)

    def end(self) -> None:
        """Terminate all FMUs, and take along what they have warned of."""
        with hosting():
            for slave in self._slaves:
                try:
                    slave.instance.end()
                except Gone as gone:  # everything has been computed
                    self.notes.append(str(gone))
        self.notes += self.warnings()

    def warnings(self) -> list[str]:
        """What the FMUs have warned of."""
        return [f"{slave.name}: {note}" for slave in self._slaves for note in slave.instance.notes]


# ---------------------------------------------------------------- what is asked for


def facts_of(description: SystemDescription) -> dict[str, FmuInfo]:
    """What the FMUs say about themselves; a ModelError names all that cannot run here."""
    found, problems = {}, []
    for name, component in description.fmus.items():
        try:
            facts = info(component.fmu)
            is_integrated = runnable(facts, component.kind) == MODEL_EXCHANGE
            found[name] = facts.for_exchange() if is_integrated else facts
        except ModelError as error:
            problems += [f"fmus.{name}: {problem}" for problem in error.problems]
    if problems:
        raise ModelError(problems)
    return found


def schedule(
    description: SystemDescription, facts: Mapping[str, FmuInfo], inputs: Any, interpolation: str
) -> InputSchedule:
    """Inputs over time, called FMU.VARIABLE, from a file or a mapping."""
    known = {
        f"{fmu}.{v.name}": v for fmu, f in facts.items() for v in f.variables
        if v.causality == "input" and v.type in RECORDABLE
    }  # fmt: skip
    inputs = description.inputs if inputs is None else inputs
    if callable(inputs):
        raise ModelError("inputs of a system must be a file or a mapping name -> (times, values), found a function")
    if inputs is not None and not isinstance(inputs, Mapping):
        table = read_inputs(inputs, {name: variable.unit for name, variable in known.items()})
        inputs = {name: (table.time, table[name]) for name in table.columns}
    held = [name for name, v in known.items() if not v.is_real or v.variability == "discrete"]
    return checked_inputs(InputSchedule.make(inputs, known, interpolation, held), known)


def _set_values(name: str, component: Component, facts: FmuInfo) -> list[tuple[FmuVariable, Value]]:
    """Parameters, start values and constant inputs."""
    try:
        values = start_values(facts, component.parameters, component.start)
        for n, x in component.inputs.items():
            variable = facts.variable(n)
            if variable.causality != "input":
                raise ModelError(f"inputs: '{n}' is {variable.variability} {variable.causality}, which is no input")
            values.append((variable, converted(variable, x)))
        return values
    except ModelError as error:
        raise ModelError(f"fmus.{name}: {problem}" for problem in error.problems) from None
