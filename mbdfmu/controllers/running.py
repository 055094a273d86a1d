"""One running instance of a controller, in plain Python; must not know FMI or models.

Sampled: sample k is due at start + k sample_time. At a communication point it is computed when its outputs are read,
with the inputs as they are, and again where these change; it counts once the next step begins. Samples within a step
see held inputs. States move by the forward rule, outputs hold. Times are whole numbers of samples and do not drift.
Continuous: outputs follow states and inputs at once; a step integrates by the classic Runge-Kutta method, inputs held.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mbdfmu.controllers.base import Controller, Law, out_of_bounds
from mbdfmu.errors import ModelError, StepFailed, did_you_mean

NEAR = 1e-3  # of a sample time: how near to a communication point a sample is at it; masters add up steps
_MOST = 1e6  # samples or internal steps in one step: more is a mistake
_FINE = 20.0  # internal steps in the shortest time constant: the error of a lag is 1e-8
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Moment:
    """All that moves; a step gives another one, so that nothing is left behind by a step that fails."""

    time: float
    count: int  # of samples that count
    x: Numbers  # states and memory
    held: Numbers  # outputs that have appeared
    waiting: tuple[tuple[int, Numbers], ...] = ()  # samples whose outputs appear later


@dataclass(frozen=True)
class Saved:
    """What a continuation depends on."""

    controller: Controller
    begin: float
    inputs: Numbers
    moment: Moment


class Running:
    """A controller with inputs, time and states: c["body_speed"] = 0.3; c.step(1e-3); c["force"]."""

    def __init__(self, controller: Controller, at: float = 0.0) -> None:
        if not math.isfinite(at):
            raise ModelError(f"controller '{controller.type_name}': the start time must be finite, found {at}")
        self.controller = controller
        self._begin = at
        self._inputs = {name: port.start for name, port in controller.inputs.items()}
        x = {name: state.start for name, state in controller.states.items()}
        x |= {name: memory.start for name, memory in controller.memory.items()}
        self._moment = Moment(at, 0, x, {name: port.start for name, port in controller.outputs.items()})
        self._answer: Law | None = None
        # Which there are does not change, and some controllers make these tables anew whenever they are asked.
        outputs, states, memory = controller.outputs, controller.states, controller.memory
        self._outputs, self._states, self._memory = dict(outputs), dict(states), dict(memory)

    def __repr__(self) -> str:
        return f"<{self.controller.type_name} at t = {self.time:g} s>"

    @property
    def time(self) -> float:
        """The present time, s."""
        return self._moment.time

    # ---- values

    def __getitem__(self, name: str) -> float:
        if name in self._inputs:
            return self._inputs[name]
        if name in self._outputs:
            return float(self.outputs()[name])
        if name in self._memory and self._is_due():
            return float(self._law().memory[name])
        if name in self._moment.x:
            return self._moment.x[name]
        if name == "time":
            return self.time
        return self._parameter(name)

    def __setitem__(self, name: str, value: float) -> None:
        if name not in self._inputs:
            self._parameter(name)
            return self.set_parameters({name: value})
        self._inputs[name] = self._finite(name, value)
        self._answer = None

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change tunable parameters, all or none."""
        known = self.controller.parameters
        for name, value in values.items():
            if not known[name].tunable:
                raise ModelError(f"{self._who}: parameter '{name}' is fixed; set it before the start")
            if problem := out_of_bounds(self._finite(name, value), known[name].low, known[name].high):
                raise ModelError(f"{self._who}: {name} {problem}")
        changed = self.controller.with_parameters({name: float(value) for name, value in values.items()})
        changed.check()
        self.controller, self._answer = changed, None

    def outputs(self) -> Numbers:
        """All outputs at the present time."""
        if not self.controller.sampled:
            return self._law().outputs
        moment = self._moment
        return self._law().outputs if self._is_due() and not self.controller.delay else moment.held

    @property
    def _who(self) -> str:
        return f"controller '{self.controller.type_name}'"

    def _parameter(self, name: str) -> float:
        known = self.controller.parameters
        if name not in known:
            names = ["time", *self._inputs, *self._outputs, *self._moment.x, *known]
            raise ModelError(f"{self._who} has no {name!r}{did_you_mean(name, names)}; known: {', '.join(names)}")
        return known[name].value

    def _finite(self, name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"{self._who}: {name} must be a number, found {value!r}") from None
        if not math.isfinite(number):
            raise ModelError(f"{self._who}: {name} must be a finite number, found {number}")
        return number

    # ---- steps

    def step(self, size: float, *, to: float | None = None) -> None:
        """Advance by `size` (s), inputs held; `to` is the time then, where it is known better. Nothing else has moved
        where it fails."""
        target = self.time + size if to is None else to
        if not (size > 0 and math.isfinite(target) and target > self.time):
            raise ModelError(f"{self._who}: a step must have a positive size, found {size} at t = {self.time} s")
        moment = self._sampled_to(target) if self.controller.sampled else self._integrated_to(target)
        self._moment, self._answer = moment, None

    def save(self) -> Saved:
        """The state, for `restore`."""
        return Saved(self.controller, self._begin, dict(self._inputs), self._moment)

    def restore(self, saved: Saved) -> None:
        """Go back to a state of this controller."""
        if type(saved.controller) is not type(self.controller) or set(saved.inputs) != set(self._inputs):
            raise ModelError(f"{self._who}: the state is that of '{saved.controller.type_name}', another controller")
        self.controller, self._begin, self._moment = saved.controller, saved.begin, saved.moment
        self._inputs, self._answer = dict(saved.inputs), None

    # ---- the law

    def _law(self) -> Law:
        """At the present time, with the inputs as they are."""
        if self._answer is None:
            self._answer = self._evaluated(self._moment.x, self._moment.time)
        return self._answer

    def _evaluated(self, x: Numbers, time: float) -> Law:
        try:
            found = self.controller.law(x, self._inputs)
        except (ArithmeticError, ValueError) as error:  # of functions outside of where they are defined
            raise StepFailed(f"{self._who} at t = {time:g} s: {type(error).__name__} in its law: {error}") from None
        parts = (found.outputs, self._outputs), (found.rates, self._states), (found.memory, self._memory)
        for part, declared in parts:
            if part.keys() != declared.keys():
                raise ModelError(f"{self._who}: its law must give {_listed(declared)}, found {_listed(part)}")
            for name, value in part.items():
                if not math.isfinite(value):
                    raise StepFailed(f"{self._who} at t = {time:g} s: '{name}' or its rate is {value}")
        return found

    # ---- samples

    def _instant(self, count: int) -> float:
        return self._begin + count * self.controller.sample_time

    def _margin(self) -> float:
        return NEAR * self.controller.sample_time

    def _is_due(self) -> bool:
        """Whether there is a sample at the present time that does not count yet."""
        if not self.controller.sampled:
            return False
        return self._instant(self._moment.count) <= self._moment.time + self._margin()

    def _sampled_to(self, target: float) -> Moment:
        moment = self._moment
        if target - moment.time > _MOST * self.controller.sample_time:
            raise StepFailed(f"{self._who}: a step to t = {target:g} s would have more than {_MOST:g} samples")
        while (instant := self._instant(moment.count)) < target - self._margin():
            moment = self._after_sample(moment, instant)
        return self._shown(replace(moment, time=target))

    def _after_sample(self, moment: Moment, instant: float) -> Moment:
        known = self._answer if moment is self._moment else None
        found = known or self._evaluated(moment.x, instant)
        size = self.controller.sample_time
        moved = {name: moment.x[name] + size * rate for name, rate in found.rates.items()}
        waiting = (*moment.waiting, (moment.count, found.outputs))
        moment = replace(moment, count=moment.count + 1, x={**moment.x, **moved, **found.memory}, waiting=waiting)
        return self._shown(replace(moment, time=instant))

    def _shown(self, moment: Moment) -> Moment:
        """With the outputs that have appeared until then."""
        latest = moment.time + self._margin() - self.controller.delay
        appeared = [outputs for count, outputs in moment.waiting if self._instant(count) <= latest]
        if not appeared:
            return moment
        return replace(moment, held=appeared[-1], waiting=moment.waiting[len(appeared) :])

    # ---- continuous

    def _integrated_to(self, target: float) -> Moment:
        moment = self._moment
        x = {name: moment.x[name] for name in self._states}
        if not x:
            return replace(moment, time=target)
        count = self._internal_steps(target - moment.time)
        h = (target - moment.time) / count
        for k in range(count):
            x = self._runge_kutta(x, moment.time + k * h, h)
        return replace(moment, time=target, x=x)

    def _internal_steps(self, size: float) -> int:
        controller = self.controller
        largest = controller.largest_step or min(controller.time_constants(), default=math.inf) / _FINE
        if size / largest > _MOST:
            raise StepFailed(f"{self._who}: a step of {size:g} s needs more than {_MOST:g} internal steps")
        return max(1, math.ceil(size / largest - 1e-9))

    def _runge_kutta(self, x: dict[str, float], time: float, h: float) -> dict[str, float]:
        def rates(slope: Numbers | None, part: float) -> Numbers:
            at = x if slope is None else {name: value + part * slope[name] for name, value in x.items()}
            return self._evaluated(at, time).rates

        k1 = rates(None, 0.0)
        k2 = rates(k1, h / 2)
        k3 = rates(k2, h / 2)
        k4 = rates(k3, h)
        return {n: value + h / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]) for n, value in x.items()}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
