"""Events that set states, in the order in which they occur at one instant; must not know any text.

What is true at one time occurs together, in the order of the model, each event seeing what those before it have set;
what becomes true by that follows (docs/theory.md, chapter 9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mbdfmu.expressions import Node, logical_and, logical_not, select
from mbdfmu.signals import Event, SymbolicModel

Variable = Callable[[str, Node], Node]  # from what it is called and what it is: a symbol for it, or the formula itself


class Occurring(NamedTuple):
    """An event that may occur now: the condition, or none where it does in any case."""

    event: Event
    condition: Node | None


def together(model: SymbolicModel) -> list[list[Event]]:
    """Events that set states, in groups of which no one sets what another sets or sees."""
    groups: list[list[Event]] = []
    for event in (event for event in model.events if event.settings):
        common = [group for group in groups if any(_touch(event, other) for other in group)]
        groups = [g for g in groups if g not in common]
        groups.append([*(other for g in common for other in g), event])
    return [sorted(group, key=model.events.index) for group in groups]


def becoming(
    model: SymbolicModel, occurring: Iterable[Occurring], values: Mapping[Node, Node], variable: Variable
) -> dict[Node, Node]:
    """The states after the events, one after another; `values` are those before."""
    found = dict(values)
    for event, condition in occurring:
        symbols = [model.graph.symbol("x", s.state) for s in event.settings]
        new = model.graph.substitute([s.value for s in event.settings], found)
        for symbol, value in zip(symbols, new, strict=True):
            chosen = value if condition is None else select(condition, value, found[symbol])
            found[symbol] = variable(f"{symbol.value[1]}.{event.name}", chosen)
    return found


class Begun(NamedTuple):
    """What events have set at the start, and what is true by them but has not occurred: nothing, if it was enough."""

    states: dict[Node, Node]
    left: dict[str, Node]  # by event, with what holds now


def at_start(model: SymbolicModel, rounds: int, variable: Variable) -> Begun:
    """After so many rounds of events, each of which makes others true."""
    events = [event for event in model.events if event.settings]
    every = {name for event in events for name in _sets(event)}
    values = {model.graph.symbol("x", s.name): s.start for s in model.states if s.name in every}
    passed: dict[str, Node] = {}
    for k in range(rounds):
        if k:
            events = [event for event in events if _follows(event, model.events)]
        true = model.graph.substitute([event.condition for event in events], values)
        occurring = []
        for event, condition in zip(events, true, strict=True):
            one = variable(f"{event.name}.start", condition)
            occurring.append(Occurring(event, _newly(one, passed[event.name]) if k else one))
            passed[event.name] = one
        values = becoming(model, occurring, values, variable)
    following = [event for event in events if _follows(event, model.events)]
    return Begun(values, {event.name: _newly(event.condition, passed[event.name]) for event in following})


def _newly(condition: Node, before: Node) -> Node:
    return logical_and(condition, logical_not(before))


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
