"""A run in a few lines: size, work, accuracy, final values; must not know where the run came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbdfmu.cli.printing import columns, counted, number

if TYPE_CHECKING:
    from mbdfmu.results import Result

SHOWN = 20  # final values
NAMED = 6  # events
# Key of the statistics and the word for it; other keys are for those who look into the file.
WORK = {"iterations": "iteration", "jacobians": "Jacobian", "factorisations": "factorisation"}


def summary(result: Result) -> str:
    """Points, work and the worst violation of the constraints, as parts of the model's length."""
    lines = [f"{result.model or 'result'}: {_extent(result)}", *_work(result), *_accuracy(result), *_events(result)]
    lines += [f"  {note}" for note in result.notes]
    return "\n".join(lines)


def _extent(result: Result) -> str:
    end = f" up to t = {number(float(result.time[-1]))} s" if len(result.time) else ""
    return f"{counted(len(result.time), 'point')}{end}, {counted(len(result.columns), 'signal')}"


def _work(result: Result) -> Iterator[str]:
    s = result.statistics
    if "steps" in s:
        steps = f"{counted(int(s['steps']), 'step')} ({s.get('rejected', 0)} rejected)"
        yield "  " + ", ".join([steps, *(counted(int(s[key]), word) for key, word in WORK.items() if key in s)])


def _accuracy(result: Result) -> Iterator[str]:
    position, velocity = (result.statistics.get(f"worst_{level}_violation") for level in ("position", "velocity"))
    found = [f"position {position:.1e}"] if position else []  # nothing to say of a model without constraints
    found += [f"velocity {velocity:.1e}/s (removed from what is reported)"] if velocity else []
    if found:
        yield f"  worst constraint violation, of the model's length: {', '.join(found)}"


def _events(result: Result) -> Iterator[str]:
    """How often each event occurred, and the first time."""
    if not result.events:
        return
    first = {name: time for time, name in reversed(result.events)}
    times = Counter(name for _, name in result.events)
    found = [f"{name} at t = {number(first[name])} s" + (f" (of {n})" if n > 1 else "") for name, n in times.items()]
    more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
    yield f"  {counted(len(result.events), 'event')}: {', '.join(found[:NAMED])}{more}"


def final_values(result: Result, names: Iterable[str]) -> str:
    """The last value of each signal, a line each."""
    names = [name for name in names if name in result] if len(result.time) else []
    if not names:
        return ""
    rows = [(name, number(float(result[name][-1])), result.unit(name)) for name in names[:SHOWN]]
    more = [f"  and {counted(len(names) - SHOWN, 'more signal')}"] if len(names) > SHOWN else []
    return "\n".join([f"at t = {number(float(result.time[-1]))} s", columns(rows), *more])
