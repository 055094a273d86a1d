"""What model exchange adds to the table of an FMU's variables: which signals are continuous states, their derivatives,
and what these depend on; must not know XML, archives or runtimes.

The order of the states is that of solver/exchange.hpp: coordinates, quaternions of spatial bodies, velocities, X.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mbdfmu.coordinates import QUATERNION, ROTATIONS
from mbdfmu.fmi.dependencies import Dependencies, Unknown
from mbdfmu.fmi.variables import (
    RATE,
    SETTING,
    SIGNAL,
    SLOPE,
    SOLVER,
    Kept,
    Table,
    Variable,
    rate_of,
    structured,
)
from mbdfmu.lowering import Lowered
from mbdfmu.units import differentiated

RATES_FROM = 3_000_000  # value references of derivatives that are no signals of the model
# The settings that an integrator outside leaves something to do, and what that is where it is another.
KEPT_SETTINGS = {
    f"{SOLVER}tolerance": "of the integrator, relative; joints that are open by ten times that are closed at an event; "
    "where unchanged, the experiment's counts",
    f"{SOLVER}log_level": "",
    f"{SOLVER}assemble": "",
}
_NEXT = {"q": "v", "v": "a", "x": "xd"}


@dataclass(frozen=True)
class State:
    """A continuous state: the symbol that the equations have for it, and the signal that shows it."""

    symbol: Unknown
    signal: str

    @property
    def rate(self) -> str:
        """The name of its derivative ([FMI 2.0.4] section 2.2.9)."""
        return rate_of(structured(self.signal))


def continuous_states(lowered: Lowered) -> list[State]:
    """The states of a model in order."""
    shown: dict[Unknown, str] = {}
    for name, signal in lowered.model.signals.items():
        if isinstance(signal.node.value, tuple):
            shown.setdefault(signal.node.value, name)
    symbols = list(_symbols(lowered))
    hidden = [symbol for symbol in symbols if symbol not in shown]
    if hidden:
        raise RuntimeError(f"no signal shows {hidden}")  # every model has a signal for every symbol it moves with
    return [State(symbol, shown[symbol]) for symbol in symbols]


def _symbols(lowered: Lowered) -> Iterator[Unknown]:
    for space in ("q", "v", "x"):
        places = lowered.places[space]
        for name in sorted(places, key=places.__getitem__):
            if space != "q" or not _is_rotation(name, lowered):
                yield space, name


def _is_rotation(name: str, lowered: Lowered) -> bool:
    body, _, last = name.rpartition(".")
    return last in ROTATIONS and f"{body}.{QUATERNION[0]}" in lowered.places["q"]


def with_states(signals: Sequence[str] | None, lowered: Lowered) -> Sequence[str] | None:
    """Patterns of signals to take along, and the states, which belong to every table."""
    return None if signals is None else [*signals, *(state.signal for state in continuous_states(lowered))]


def shown_in_exchange(table: Table) -> Table:
    """The table without the settings of schemes, which do not run: none of them would change anything."""
    shown = (v for v in table.variables if v.role != SETTING or v.name in KEPT_SETTINGS)
    return replace(table, variables=tuple(replace(v, text=KEPT_SETTINGS.get(v.name) or v.text) for v in shown))


def for_exchange(table: Table, lowered: Lowered) -> Table:
    """The table with derivatives, and with what values depend on where states are given from outside."""
    return _ForExchange(table, lowered).table()


class _ForExchange:
    def __init__(self, given: Table, lowered: Lowered) -> None:
        self.given = given
        self.lowered = lowered
        self.states = continuous_states(lowered)
        self.dependencies = Dependencies(lowered)
        self.signals = {name: k for k, name in enumerate(lowered.model.signals)}  # their value references
        self.reference = {state.symbol: self.signals[state.signal] for state in self.states}
        self.state_of = {reference: symbol for symbol, reference in self.reference.items()}
        self.by_name = {v.name: v for v in given.variables}
        inputs = {place: name for name, place in lowered.inputs.items()}
        self.slopes = {inputs[v.index]: v.reference for v in given.with_role(SLOPE)}
        self.rows = list(lowered.model.signals.values())

    def table(self) -> Table:
        rates = {v.reference: v for v in map(self._rate, range(len(self.states)))}
        variables = [rates.pop(v.reference) if v.reference in rates else self._with_states(v)
                     for v in self.given.variables]  # fmt: skip
        model = self.lowered.model
        indicators = len(model.events) + len(model.crossings) + len(model.impacts)
        return replace(self.given, variables=(*variables, *rates.values()), event_indicators=indicators)

    def _rate(self, k: int) -> Variable:
        """A signal that is the derivative of a state, as velocities of user-written coordinates are, stays itself."""
        state = self.states[k]
        space, name = state.symbol
        signal = self.lowered.model.signals[state.signal]
        there = self.by_name.get(state.rate)
        variable = there or Variable(
            reference=RATES_FROM + k, name=state.rate, role=RATE, index=k, unit=differentiated(signal.unit),
            text=f"derivative of {state.signal}",
        )  # fmt: skip
        itself = self.state_of.get(variable.reference)
        return replace(
            variable, role=RATE, index=k, derivative_of=self.reference[state.symbol],
            depends=self._rate_depends(state.symbol), initially=self._initially(_NEXT[space], name),
            kept=self._kept(itself) if itself else None,
        )  # fmt: skip

    def _initially(self, space: str, name: str) -> tuple[int, ...]:
        """Of what the equations are solved for: all parameters, and all inputs that may reach it."""
        return self._sorted_signals(
            {s.name for s in self.lowered.model.parameters} | set(self.dependencies.inputs_reaching((space, name)))
        )

    def _with_states(self, v: Variable) -> Variable:
        if v.role != SIGNAL:
            return v
        signal = self.rows[v.index]
        if v.causality == "output":
            v = replace(v, depends=self._behind(s.value for s in signal.node.support))
        if v.reference in self.state_of:
            starts = self._sorted_signals(self.dependencies.at_start(signal.node))
            v = replace(v, initially=starts, kept=self._kept(self.state_of[v.reference]))
        return v

    def _kept(self, symbol: Unknown) -> Kept:
        space, name = symbol
        return Kept(space=space, first=self.lowered.places[space][name], count=1)

    # ---- what depends on which states

    def _rate_depends(self, symbol: Unknown) -> tuple[int, ...]:
        space, name = symbol
        if space == "q" and ("v", name) in self.reference:
            return (self.reference["v", name],)
        if space == "q":
            return tuple(sorted(self._orientation(name.rpartition(".")[0])))
        return self._behind([(_NEXT[space], name)])

    def _behind(self, symbols: Iterable[Unknown]) -> tuple[int, ...]:
        """References of the states and inputs behind symbols, and behind those that the equations connect with them."""
        found: set[int] = set()
        for symbol in self.dependencies.reached(symbols, given_velocities=True):
            space, name = symbol
            if space == "a":
                found |= self._moved_by(name)
            elif symbol in self.reference:
                found.add(self.reference[symbol])
            elif space == "u":
                found.add(self.signals[name])
            elif space == "ud":
                found.add(self.slopes[name])
            elif space in ("r", "turn"):
                found |= {self.reference[s] for s in self.reference if s[0] == "q"}
        return tuple(sorted(found))

    def _moved_by(self, coordinate: str) -> set[int]:
        """An acceleration follows from masses, joints and forces where the coordinate is, at its speed."""
        body, _, last = coordinate.rpartition(".")
        if last in ROTATIONS and ("q", f"{body}.{QUATERNION[0]}") in self.reference:
            return self._orientation(body)
        return {self.reference["q", coordinate], self.reference["v", coordinate]}

    def _orientation(self, body: str) -> set[int]:
        names = [("q", f"{body}.{e}") for e in QUATERNION] + [("v", f"{body}.{r}") for r in ROTATIONS]
        return {self.reference[name] for name in names}

    def _sorted_signals(self, names: Iterable[str]) -> tuple[int, ...]:
        found = set(names)
        return tuple(sorted([self.signals[n] for n in found] + [self.slopes[n] for n in found & {*self.slopes}]))
