"""Controllers inside a model, connected as in a co-simulation; must not know any controller.

States become states of the model, laws its expressions and events: what is simulated has no communication points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from mbdfmu.controllers.base import Controller
from mbdfmu.controllers.functions import Symbol, text_of
from mbdfmu.controllers.parts import Part, SampledPart, Sections
from mbdfmu.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from mbdfmu.cosim.description import Coupling
    from mbdfmu.description import Description
    from mbdfmu.facade import Model

M = TypeVar("M", bound="Model")
STILL = "still"
LATE = 1e-8  # of a sample time: that far behind its time a sample beside a plant occurs, for rounding of what is set


def alone(controller: Controller, name: str) -> Model:
    """A controller as a model without bodies."""
    from mbdfmu.description import Experiment, State
    from mbdfmu.facade import Model

    part = SampledPart("", controller, controller.type_name) if controller.sampled else Part("", controller)
    inputs = {port: Symbol(port) for port in controller.inputs}
    experiment = Experiment(step=controller.communication_step) if controller.sampled else None
    model = Model(name, text=type(controller).summary(), experiment=experiment)
    for entries in _merged(part.sections(inputs), part.late_events()).values():
        for key, entry in entries.items():
            model.add(key, entry)
    if not controller.states and not controller.sampled:  # a model must have something that could move
        model.add(STILL, State(rate=0.0, text="stands still: the controller itself has no state"))
    return model


def inside(model: M, controllers: Mapping[str, Controller], connections: Mapping[str, Any], plant: str = "plant") -> M:
    """The model with the controllers in it: one set of equations instead of a co-simulation.

    Sampled ones take their samples at the start and every `sample_time` from then on, as beside the model.

    `connections` are inputs with the output that feeds each: {"skyhook.body_speed": "plant.body_speed",
    "plant.actuator": "skyhook.force"}, or as a system file couples, {"from": "skyhook.force", "factor": 0.5, "offset":
    10}. Inputs of controllers that nothing feeds become inputs of the model, called `skyhook_body_speed`; so are
    parameters, states and outputs.
    """
    description = model.description.whole()
    wiring = _Wiring(description, controllers, connections, plant)
    wiring.check()
    sections = {name: getattr(description, name) for name in type(description).model_fields}
    sections["inputs"] = {name: port for name, port in sections["inputs"].items() if name not in wiring.driven}
    for section, entries in wiring.sections().items():
        _refuse_twice(section, sections[section], entries)
        sections[section] = {**sections[section], **entries}
    twin = type(model).from_description(type(description)(**sections))
    twin._allow_python = model._allow_python  # what the plant may do, its twin may
    return twin


def _merged(*parts: Sections) -> Sections:
    found: Sections = {}
    for part in parts:
        for section, entries in part.items():
            found[section] = {**found.get(section, {}), **entries}
    return found


def _refuse_twice(section: str, there: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    both = [name for name in more if name in there]
    if both:
        cure = "call the controller otherwise"
        raise ModelError(f"{section}.{name}: the model has one and a controller brings one; {cure}" for name in both)


@dataclass
class _Wiring:
    """Who feeds whom."""

    description: Description
    controllers: Mapping[str, Controller]
    connections: Mapping[str, Any]
    plant: str
    couplings: dict[str, Coupling] = field(init=False)

    def __post_init__(self) -> None:
        apart = sum(c.sampled for c in self.controllers.values()) > 1
        self.parts = {
            name: SampledPart(f"{name}_", c, name, LATE, apart) if c.sampled else Part(f"{name}_", c)
            for name, c in self.controllers.items()
        }
        self.couplings = _couplings(self.connections)

    @property
    def driven(self) -> dict[str, Coupling]:
        """Inputs of the plant: what feeds each."""
        ends = {_split(end): coupling for end, coupling in self.couplings.items()}
        return {port: coupling for (owner, port), coupling in ends.items() if owner == self.plant}

    # ---- checks

    def check(self) -> None:
        """All that does not fit, as one ModelError."""
        problems = [*self._bad_names()]
        for end, coupling in self.couplings.items():
            source = coupling.source
            problems += [f"connections: {end} <- {source}: {p}" for p in self._bad_ends(end, source)]
        if problems:
            raise ModelError(problems)

    def _bad_names(self) -> Iterator[str]:
        for name in self.controllers:
            if not name.isidentifier():
                yield f"a controller's name must be letters, digits and _, found {name!r}"
            if name == self.plant:
                yield f"a controller must not be called '{name}', which is the plant; choose another name"

    def _bad_ends(self, end: str, source: str) -> Iterator[str]:
        for text, side in ((end, "inputs"), (source, "outputs")):
            owner, port = _split(text)
            owners = [self.plant, *self.controllers]
            if owner not in owners:
                yield f"nothing is called {owner!r}{did_you_mean(owner, owners)}; known: {', '.join(owners)}"
                continue
            known = list(self._ports(owner, side))
            if owner == self.plant and side == "inputs" and port in set(self.description.merged.inputs) - set(known):
                yield f"'{port}' is an input of a sub-model, which only the outside can drive; run them side by side"
            elif owner == self.plant and side == "inputs" and isinstance(self._start_of(port), tuple):
                yield f"'{port}' is an array, which only the outside can drive"
            elif port not in known:
                yield f"'{owner}' has no {side[:-1]} {port!r}{did_you_mean(port, known)}; known: {', '.join(known)}"

    def _start_of(self, port: str) -> Any:
        found = self.description.inputs.get(port)
        return None if found is None else found.start

    def _ports(self, owner: str, side: str) -> Mapping[str, Any]:
        return getattr(self.description if owner == self.plant else self.controllers[owner], side)  # type: ignore[no-any-return]

    # ---- expressions

    def sections(self) -> dict[str, dict[str, Any]]:
        """What the model gets."""
        from mbdfmu.description import Variable

        parts = [part.sections(self._fed(name, (), part.sampled)) for name, part in self.parts.items()]
        late = [part.late_events() for part in self.parts.values()]
        variables = {}
        for port, coupling in self.driven.items():
            given = self.description.inputs[port]
            variables[port] = Variable(value=self._scaled(coupling, (), False).text, unit=given.unit, text=given.text)
        return _merged(*parts, *late, {"variables": variables})

    def _fed(self, name: str, above: tuple[str, ...], sampling: bool) -> dict[str, Symbol]:
        """What each input of a controller is: at samples (`sampling`), or what acts at any time."""
        part, fed = self.parts[name], {}
        for port in part.controller.inputs:
            coupling = self.couplings.get(f"{name}.{port}")
            fed[port] = Symbol(part.name(port)) if coupling is None else self._scaled(coupling, above, sampling)
        return fed

    def _scaled(self, coupling: Coupling, above: tuple[str, ...], sampling: bool) -> Symbol:
        """factor * output + offset."""
        value = self._value(coupling.source, above, sampling)
        if coupling.factor not in (None, 1.0):
            value = Symbol(f"({coupling.factor!r}*{value.text})")
        return Symbol(f"({value.text} + {coupling.offset!r})") if coupling.offset else value

    def _value(self, source: str, above: tuple[str, ...], sampling: bool) -> Symbol:
        owner, port = _split(source)
        if owner == self.plant:
            return Symbol(f"({self.description.outputs[port].value})")
        part = self.parts[owner]
        if isinstance(part, SampledPart) and not sampling:
            return part.held(port)
        if isinstance(part, SampledPart) and part.delayed:  # what appears now was taken before, whatever feeds it
            return Symbol(f"({text_of(part.seen(port, {}))})")
        if source in above:
            raise ModelError(f"connections: controllers feed each other in a circle: {' <- '.join((*above, source))}")
        value = part.seen(port, self._fed(owner, (*above, source), sampling))
        return Symbol(f"({text_of(value)})")


def _couplings(connections: Mapping[str, Any]) -> dict[str, Coupling]:
    from mbdfmu.cosim.description import Coupling

    found, problems = {}, []
    for end, given in connections.items():
        try:
            found[end] = Coupling(**({"from": given} if isinstance(given, str) else given))
        except ModelError as error:
            problems += [f"connections.{end}: {problem}" for problem in error.problems]
            continue
        if found[end].delayed:
            problems.append(f"connections.{end}: a model has no communication points; leave delayed out")
    if problems:
        raise ModelError(problems)
    return found


def _split(end: str) -> tuple[str, str]:
    owner, _, port = end.partition(".")
    return owner, port
