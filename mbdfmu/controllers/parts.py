"""One controller on its way into a model: names, parameters, states, events, outputs; must not know what feeds it.

A sampled one becomes states of rate 0 and an event for each sample. The event occurs just behind the time of its
sample, so that what is set there counts; until then outputs show what the law says, as `Running` does (decision 022).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mbdfmu.controllers import base
from mbdfmu.controllers.base import Controller, Law
from mbdfmu.controllers.functions import Symbol, both, either, text_of, where
from mbdfmu.controllers.running import NEAR
from mbdfmu.errors import ModelError

MOST_WAITING = 100  # samples whose outputs wait for their time: each is a state for every output
Inputs = Mapping[str, Any]
Sections = dict[str, dict[str, Any]]


class Part:
    """A continuous controller; names of what it brings begin with `prefix`."""

    sampled = False

    def __init__(self, prefix: str, controller: Controller) -> None:
        self.prefix, self.controller = prefix, controller
        # How a continuous law is run says nothing about its expressions.
        self.parameters = {n: p for n, p in controller.parameters.items() if n != "largest_step"}

    def name(self, own: str) -> str:
        """In the model; `gains[1,2]` is `gains_1_2` there."""
        return self.prefix + own.replace("[", "_").replace(",", "_").replace("]", "")

    def symbol(self, own: str) -> Symbol:
        """In expressions of the model."""
        return Symbol(self.name(own))

    def law(self, inputs: Inputs) -> Law:
        """As expressions of the model's names."""
        symbols = {name: self.symbol(name) for name in self.parameters}
        x = {name: self.symbol(name) for name in self.controller.states}
        x |= {name: self.symbol(f"{name}_held") for name in self.controller.memory}
        return self.controller.with_parameters(symbols).law(x, inputs)

    def seen(self, port: str, inputs: Inputs) -> Any:
        """An output as it is reported."""
        return self.law(inputs).outputs[port]

    # ---- elements of the model

    def sections(self, inputs: Inputs) -> Sections:
        """Parameters, states, events, outputs and the inputs that stay inputs."""
        return {
            "parameters": self._parameters(),
            "inputs": self._free_inputs(inputs),
            "states": self._states(inputs),
            "outputs": self._outputs(inputs),
        }

    def late_events(self) -> Sections:
        """What occurs after the samples of all controllers at one time."""
        return {}

    def _parameters(self) -> dict[str, Any]:
        from mbdfmu.description import Parameter

        return {
            self.name(n): Parameter(value=p.value, unit=p.unit, text=p.text, min=p.low, max=p.high, tunable=p.tunable)
            for n, p in self.parameters.items()
        }

    def _free_inputs(self, inputs: Inputs) -> dict[str, Any]:
        from mbdfmu.description import Input

        free = {n: p for n, p in self.controller.inputs.items() if inputs[n].text == self.name(n)}
        return {
            self.name(n): Input(
                unit=p.unit, text=p.text, start=p.start, min=p.low, max=p.high, discrete=self.sampled
            )
            for n, p in free.items()
        }

    def _states(self, inputs: Inputs) -> dict[str, Any]:
        from mbdfmu.description import State

        rates = self.law(inputs).rates
        return {
            self.name(n): State(rate=text_of(rates[n]), start=s.start, unit=s.unit, text=s.text)
            for n, s in self.controller.states.items()
        }

    def _outputs(self, inputs: Inputs) -> dict[str, Any]:
        from mbdfmu.description import Output

        return {
            self.name(n): Output(
                value=text_of(self.seen(n, inputs)), unit=p.unit or None, text=p.text, discrete=self.sampled
            )
            for n, p in self.controller.outputs.items()
        }


class SampledPart(Part):
    """A controller that is evaluated at samples.

    `late`, a part of the sample time, is how far behind its time a sample occurs. Outputs appear by an event of their
    own where they are delayed, or where `apart`: no other controller's sample at that time sees what they do.
    """

    sampled = True

    def __init__(self, prefix: str, controller: Controller, who: str, late: float = NEAR, apart: bool = False) -> None:
        super().__init__(prefix, controller)
        self.late, self.delayed = late, controller.delay > 0
        # Samples that wait at most, one more where the one that appears and the last one fall on one time.
        self.places = int(controller.delay / controller.sample_time + NEAR) + 1 if self.delayed else int(apart)
        if not self.delayed:  # a delay of none stays one
            self.parameters.pop("delay")
        if self.places > MOST_WAITING:
            limit = MOST_WAITING * controller.sample_time
            raise ModelError(
                f"controller '{who}' ({controller.type_name}): its delay of {controller.delay:g} s must be below "
                f"{limit:g} s inside a model, {MOST_WAITING} samples of {controller.sample_time:g} s; make it shorter, "
                "sample more slowly, or run the controller beside the model"
            )

    # ---- times

    @property
    def _size(self) -> Symbol:
        return self.symbol("sample_time")

    def _instant(self, count: str, margin: float) -> Any:
        """The time of the sample with this number, and `margin` sample times later."""
        return self.symbol("begin") + self.symbol(count) * self._size + margin * self._size

    def _appearance(self, margin: float) -> Any:
        """The time at which the next outputs appear."""
        at = self._instant("shown", margin)
        return at + self.symbol("delay") if self.delayed else at

    def _is_due(self) -> Any:
        """Whether there is a sample at the present time that does not count yet."""
        return either(self._since_begin(-0.5) < 0, Symbol("time") >= self._instant("samples", -self.late))

    def _since_begin(self, count: float) -> Any:
        """Above 0 where more than `count` samples are taken, as a time; at the start there are -1."""
        return self._size * (self.symbol("samples") - count)

    def _is_to_appear(self) -> Any:
        """Whether outputs belong to the present time that do not act yet."""
        taken = self.symbol("shown") < self.symbol("samples") - 0.5
        return both(taken, Symbol("time") >= self._appearance(-self.late))

    # ---- values

    def held(self, port: str) -> Symbol:
        """An output as it acts."""
        return self.symbol(f"{port}_held")

    def seen(self, port: str, inputs: Inputs) -> Any:
        """An output as it is at a communication point, and as other samples at that time see it."""
        if self.delayed:
            return where(self._is_to_appear(), self._next(port), self.held(port))
        latest = self._taken(port)[0] if self.places else self.held(port)
        return where(self._is_due(), self.law(inputs).outputs[port], latest)

    def _taken(self, port: str) -> list[Symbol]:
        """What the last samples gave, the latest first, as far as it may wait for its time."""
        return [self.symbol(f"{port}_taken{k}") for k in range(1, self.places + 1)]

    def _next(self, port: str) -> Any:
        """What appears next: of the samples that are not shown, the first."""
        *later, found = self._taken(port)
        age = self.symbol("samples") - self.symbol("shown")
        for k in range(len(later), 0, -1):
            found = where(age < k + 0.5, later[k - 1], found)
        return found

    # ---- elements of the model

    def sections(self, inputs: Inputs) -> Sections:
        from mbdfmu.description import Event

        known: dict[str, float | str] = {self.name("begin"): "time", self.name("samples"): 0.0}
        begin = Event(when=text_of(self._since_begin(-0.5) < 0), set=known, text="the time of the first sample")
        reached = Symbol("time") > self._instant("samples", self.late)
        text = f"a sample of {type(self.controller).type_name}"
        sample = Event(when=text_of(both(self._since_begin(-0.5) > 0, reached)), set=self._sample(inputs), text=text)
        return {**super().sections(inputs), "events": {self.name("start"): begin, self.name("sample"): sample}}

    def late_events(self) -> Sections:
        from mbdfmu.description import Event

        if not self.places:
            return {}
        begun = self._since_begin(0.5) > 0
        # What no delay separates from the samples at that time has to come behind all of them.
        reached = self._appearance(self.late if self.delayed else 2 * self.late)
        held: dict[str, float | str] = {
            self.held(port).text: text_of(self._next(port)) for port in self.controller.outputs
        }
        event = Event(
            when=text_of(both(begun, Symbol("time") > reached)),
            set={**held, self.name("shown"): text_of(self.symbol("shown") + 1)},
            text="its outputs appear",
        )
        return {"events": {self.name("appearance"): event}}

    def _sample(self, inputs: Inputs) -> dict[str, float | str]:
        """What a sample sets, by the values just before it."""
        law, count = self.law(inputs), self.symbol("samples")
        found = {"samples": count + 1}
        found |= {name: self.symbol(name) + self._size * rate for name, rate in law.rates.items()}
        found |= {f"{name}_held": value for name, value in law.memory.items()}
        for port, value in law.outputs.items():
            if not self.places:
                found[f"{port}_held"] = value
            given = [value, *self._taken(port)]  # each moves on by one place
            found |= {f"{port}_taken{k}": given[k - 1] for k in range(1, self.places + 1)}
        return {self.name(name): text_of(value) for name, value in found.items()}

    def _parameters(self) -> dict[str, Any]:
        """Where outputs wait, their places suffice for these sample times and delays."""
        found = super()._parameters()
        if self.delayed:
            size, delay = self.name("sample_time"), self.name("delay")
            shortest = self.controller.sample_time
            found[size] = found[size].model_copy(update={"min": shortest})
            found[delay] = found[delay].model_copy(update={"max": (self.places - NEAR) * shortest})
        return found

    def _states(self, inputs: Inputs) -> dict[str, Any]:
        from mbdfmu.description import State

        controller = self.controller
        found = {self.name("begin"): State(rate=0.0, unit="s", text="time of the first sample")}
        found[self.name("samples")] = State(rate=0.0, start=-1.0, text="that have been taken; -1 before the start")
        if self.places:
            found[self.name("shown")] = State(rate=0.0, text="samples whose outputs have appeared")
        moving: dict[str, base.State | base.Memory] = dict(controller.states)
        moving |= {f"{n}_held": m for n, m in controller.memory.items()}
        found |= {self.name(n): State(rate=0.0, start=s.start, unit=s.unit, text=s.text) for n, s in moving.items()}
        for port, p in controller.outputs.items():
            for place in (self.held(port), *self._taken(port)):  # before the first sample appears: its start value
                found[place.text] = State(rate=0.0, start=p.start, unit=p.unit, text=p.text)
        return found

    def _outputs(self, inputs: Inputs) -> dict[str, Any]:
        """Of memory too: what it becomes by a sample that does not count yet."""
        from mbdfmu.description import Output

        memory, due = self.law(inputs).memory, self._is_due()
        return super()._outputs(inputs) | {
            self.name(n): Output(
                value=text_of(where(due, memory[n], self.held(n))), unit=m.unit or None, text=m.text, discrete=True
            )
            for n, m in self.controller.memory.items()
        }
