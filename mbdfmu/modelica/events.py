"""Events that set states, in the order in which they occur at one instant; must not know any text.

What is true at one time occurs together, in the order of the model, each event seeing what those before it have set;
what becomes true by that follows (docs/theory.md, chapter 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mbdfmu.expressions import Node, logical_and, logical_not, logical_or, select
from mbdfmu.signals import Event, SymbolicModel


def together(model: SymbolicModel) -> list[list[Event]]:
    """Events that set states, in groups of which no one sets what another sets or sees."""
    groups: list[list[Event]] = []
    for event in (event for event in model.events if event.settings):
        common = [group for group in groups if any(_touch(event, other) for other in group)]
        groups = [g for g in groups if g not in common]
        groups.append([*(other for g in common for other in g), event])
    return [sorted(group, key=model.events.index) for group in groups]


def becoming(
    model: SymbolicModel, events: Iterable[Event], occurs: Mapping[str, Node | None], values: Mapping[Node, Node]
) -> dict[Node, Node]:
    """The states after those events that occur; without a condition an event does. `values` are those before."""
    found = dict(values)
    for event in events:
        symbols = [model.graph.symbol("x", s.state) for s in event.settings]
        new = model.graph.substitute([s.value for s in event.settings], found)
        condition = occurs[event.name]
        for symbol, value in zip(symbols, new, strict=True):
            found[symbol] = value if condition is None else select(condition, value, found[symbol])
    return found


def at_start(model: SymbolicModel) -> dict[Node, Node]:
    """States that events set, after those that occur at the start."""
    events = [event for event in model.events if event.settings]
    values = {model.graph.symbol("x", s.name): s.start for s in model.states}
    waiting = [event for event in events if _follows(event, events)]
    occurs = _true(model, events, values)
    values = becoming(model, events, occurs, values)
    passed = dict(occurs)
    for _ in waiting:  # each occurs once, so no chain is longer
        true = _true(model, waiting, values)
        occurs = {name: logical_and(one, logical_not(passed[name])) for name, one in true.items()}
        values = becoming(model, waiting, occurs, values)
        passed |= {name: logical_or(passed[name], one) for name, one in true.items()}
    every = {name for event in events for name in _sets(event)}
    return {symbol: value for symbol, value in values.items() if symbol.value[1] in every}


def _true(model: SymbolicModel, events: Iterable[Event], values: Mapping[Node, Node]) -> dict[str, Node]:
    every = list(events)
    found = model.graph.substitute([event.condition for event in every], values)
    return {event.name: one for event, one in zip(every, found, strict=True)}


def _follows(event: Event, events: Iterable[Event]) -> bool:
    """Whether what others set may make it occur."""
    looks_at = {symbol.value[1] for symbol in event.condition.support if symbol.value[0] == "x"}
    return any(looks_at & _sets(other) for other in events if other is not event)


def _touch(one: Event, other: Event) -> bool:
    return bool(_sets(one) & (_sets(other) | _sees(other)) or _sees(one) & _sets(other))


def _sets(event: Event) -> set[str]:
    return {s.state for s in event.settings}


def _sees(event: Event) -> set[str]:
    return {symbol.value[1] for s in event.settings for symbol in s.value.support if symbol.value[0] == "x"}
