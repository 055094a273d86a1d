"""Makes findings small: elements are taken out, and numbers made plain, while the disagreement stays."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mbdfmu.errors import ModelError, StepFailed
from search.case import Case, Undecided
from search.generate import NUDGE
from search.independent import NotCovered
from search.sketch import Sample

Disagrees = Callable[[Sample], bool]
FEW_DIGITS = 2


def shrunk(sample: Sample, way: str, ways: dict[str, Any]) -> Sample:
    """The smallest sample found whose findings by this way begin with the same words."""
    first = next((f.way for f in found(sample, ways[way])), None)
    return sample if first is None else smallest(sample, lambda s: any(f.way == first for f in found(s, ways[way])))


def found(sample: Sample, way: Any) -> list[Any]:
    """Findings; none where the sample is no model any more, or says nothing."""
    try:
        return list(way(Case(sample)))
    except (Undecided, NotCovered, ModelError, StepFailed):
        return []


def smallest(sample: Sample, disagrees: Disagrees) -> Sample:
    """Tries again from the start after each success, until nothing more can go."""
    going = True
    while going:
        going = False
        for smaller in _smaller(sample):
            if disagrees(smaller):
                sample, going = smaller, True
                break
    return sample


def _smaller(sample: Sample) -> Iterator[Sample]:
    names = [
        (section, name) for section, entries in sample.data.items() if isinstance(entries, dict) for name in entries
    ]
    for section, name in names:
        if name != NUDGE:
            yield without(sample, section, name)
    for part, key in _optional(sample):
        data = copy.deepcopy(sample.data)
        del data[part[0]][part[1]][key]
        yield replace(sample, data=data)
    yield from _plainer(sample)


def without(sample: Sample, section: str, name: str) -> Sample:
    """The element is gone, and all that names it."""
    data, gone = copy.deepcopy(sample.data), [name]
    del data[section][name]
    while gone:
        word = re.compile(rf"\b{gone.pop()}\b")
        for entries in (e for e in data.values() if isinstance(e, dict)):
            for other in [
                key for key, entry in entries.items() if word.search(json.dumps(entry)) or word.fullmatch(key)
            ]:
                del entries[other]
                gone.append(other)
    inputs = {key: pair for key, pair in sample.inputs.items() if key in data.get("inputs", {})}
    return replace(sample, data=data, inputs=inputs)


def _optional(sample: Sample) -> list[tuple[tuple[str, str], str]]:
    return [((section, name), key)
            for section, entries in sample.data.items() if isinstance(entries, dict)
            for name, entry in entries.items() if isinstance(entry, dict)
            for key in entry if key not in ("type", "i", "j")]  # fmt: skip


def _plainer(sample: Sample) -> Iterator[Sample]:
    """Expressions become their first term, numbers get few digits."""
    for section, entries in sample.data.items():
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            for key, value in entry.items() if isinstance(entry, dict) else ():
                plain = _plain(value)
                if plain != value and section not in ("bodies", "joints"):
                    data = copy.deepcopy(sample.data)
                    data[section][name][key] = plain
                    yield replace(sample, data=data)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value.split(" + ")[0] if " + " in value else value
    return float(f"{value:.{FEW_DIGITS}g}") if isinstance(value, float) else value
