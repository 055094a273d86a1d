"""What happens on the way: conditions of events, what they switch and set, gaps; must not know how time is found."""

from __future__ import annotations

from collections.abc import Iterator

from mbdfmu.description import Event as Wanted
from mbdfmu.description.messages import listed
from mbdfmu.errors import did_you_mean
from mbdfmu.expressions import Node, indicator, is_condition, minimum
from mbdfmu.frames import Gap, Primitive, Row
from mbdfmu.resolution import ANY, PARAMETERS, POSITION
from mbdfmu.signals.draft import Draft
from mbdfmu.signals.elements import Elements, kind
from mbdfmu.signals.table import Event, Impact, Setting, Signal

_SWITCHED = {"joints": "joint", "motions": "motion", "constraints": "constraint"}
_ROUNDING = 1e-8  # of the rest speed: what closes more slowly touches, but does not hit
_HOLDING = "what holds the locked coordinate, towards a larger value"


class Switching:
    """The sections `events` and `impacts`."""

    def __init__(self, draft: Draft, elements: Elements) -> None:
        self.draft, self.elements = draft, elements
        self.labels = {
            name: f"{word} '{name}'" for section, word in _SWITCHED.items() for name in getattr(draft.d, section)
        }

    # ---- locks

    def locks(self) -> None:
        """Rows that hold the free coordinates of a joint, off until an event wants them."""
        for name in dict.fromkeys(name for event in self.draft.d.events.values() for name in event.lock):
            free = self.elements.free.get(name, {})
            rows = [
                Row(direction=key, value=m.value, unit=m.unit, reaction=f"lock_{key}", sign=-1.0, text=_HOLDING)
                for key, m in free.items()
            ]
            if rows:
                self.elements.hold(name, _lock(name), (Primitive(rows=tuple(rows)),), active=False)

    # ---- impacts

    def impacts(self) -> None:
        for name, impact in self.draft.d.impacts.items():
            path, names = f"impacts.{name}", self.draft.names
            known = names.unresolved
            gap = names.value(f"{path}.gap", impact.gap, POSITION, "; a gap is a distance of what moves")
            if not self.draft.motion.of(gap) and names.unresolved == known:
                self.draft.problems.append(f"{path}.gap: depends on no coordinate; nothing could close it")
            label, text = f"impact '{name}'", "of the contact at rest, towards a larger gap"
            row = Row(direction="gap", value=gap, unit=kind(impact.unit), reaction="force", text=text)
            self.draft.add(Signal(name=f"{name}.gap", unit=impact.unit, node=gap, text="must not become negative"))
            self.elements.hold(name, label, (Primitive(rows=(row,)),), active=False)
            there = self._there(f"{path}.where", impact.where)
            rest_speed = names.value(f"{path}.rest_speed", impact.rest_speed, PARAMETERS)
            rate = self.draft.motion.rate(gap)
            self.draft.gaps[label] = Gap(value=gap, rate=rate, rigid=True)
            closing = -rate - _ROUNDING * rest_speed
            self.draft.impacts.append(
                Impact(
                    name=name,
                    label=label,
                    indicator=minimum(minimum(-gap, closing), there),
                    ends=-there,
                    restitution=names.value(f"{path}.restitution", impact.restitution, PARAMETERS),
                    rest_speed=rest_speed,
                )
            )

    def _there(self, path: str, where: str | None) -> Node:
        return self.draft.graph.one if where is None else indicator(self._condition(path, where, POSITION))

    # ---- events

    def events(self) -> None:
        for name, event in self.draft.d.events.items():
            path = f"events.{name}"
            self.draft.problems += [f"{path}.{problem}" for problem in self._useless(event)]
            condition = self._condition(f"{path}.when", event.when, ANY)
            actions, settings = tuple(self._actions(event)), tuple(self._settings(f"{path}.set", event))
            self.draft.events.append(
                Event(
                    name=name, condition=condition, indicator=indicator(condition), actions=actions, settings=settings
                )
            )

    def _condition(self, path: str, text: str, allowed: frozenset[str]) -> Node:
        known = self.draft.names.unresolved
        node = self.draft.names.value(path, text, allowed)
        if not is_condition(node) and self.draft.names.unresolved == known:
            self.draft.problems.append(f"{path}: must be a condition such as {text} > 0, found a quantity; compare it")
        return node

    def _actions(self, event: Wanted) -> Iterator[tuple[str, bool]]:
        """In this order: what is let go leaves room for what is held."""
        known = self.labels
        yield from ((known[name], False) for name in event.release if name in known)
        yield from ((_lock(name), False) for name in event.unlock if name in self._locked)
        yield from ((known[name], True) for name in event.engage if name in known)
        yield from ((_lock(name), True) for name in event.lock if self.elements.free.get(name))

    def _settings(self, path: str, event: Wanted) -> Iterator[Setting]:
        """What states become; an expression may have no value but where the event occurs."""
        known = [state.name for state in self.draft.states()] if event.set else []
        for state, value in event.set.items():
            node = self.draft.names.value(f"{path}.{state}", value, ANY, seldom=True)
            if state not in known:
                self._report_unknown(path, state, known)
            elif self._is_implicit(state):
                problem = f"{path}: {state!r} is held by an equation, which need not admit the value"
                self.draft.problems.append(f'{problem}; give the state a "rate" in place of the "equation"')
            else:
                yield Setting(state=state, value=node, label=f"{path}.{state}: {' '.join(str(value).split())}")

    def _report_unknown(self, path: str, state: str, known: list[str]) -> None:
        if self.draft.names.is_lost(state):
            return
        parts = [one for one in (f"{state}[1]", f"{state}.x[1]") if one in known]
        hint = f"; did you mean {parts[0]!r}?" if parts else did_you_mean(state, known)
        problem = f"no differential state is named {state!r}{hint}; known: {listed(known)}"
        self.draft.problems.append(f"{path}: {problem}")

    def _is_implicit(self, state: str) -> bool:
        given = self.draft.d.states.get(state.partition("[")[0])
        return given is not None and given.rate is None

    @property
    def _locked(self) -> set[str]:
        return {name for event in self.draft.d.events.values() for name in event.lock if self.elements.free.get(name)}

    def _useless(self, event: Wanted) -> Iterator[str]:
        """Actions that can never have an effect."""
        events = self.draft.d.events.values()
        for name in event.engage:
            if self._active(name) and not any(name in other.release for other in events):
                cure = 'give it "active": false, or release it in another event'
                yield f"engage: {name!r} is always active; {cure}"
        for name in event.release:
            if not self._active(name) and not any(name in other.engage for other in events):
                cure = 'leave out its "active": false, or engage it in another event'
                yield f"release: {name!r} is never active; {cure}"
        for name in event.lock:
            if not self.elements.free.get(name, {name: None}):
                yield f"lock: {name!r} has no free coordinates; engage a joint that is not active at first in its place"
        for name in event.unlock:
            if not any(name in other.lock for other in events):
                yield f"unlock: {name!r} is never locked; lock it in another event"

    def _active(self, name: str) -> bool:
        d = self.draft.d
        return any(getattr(d, section)[name].active for section in _SWITCHED if name in getattr(d, section))


def _lock(name: str) -> str:
    return f"lock of joint '{name}'"
