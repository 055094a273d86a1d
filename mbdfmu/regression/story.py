"""The conditions of a reference run as files: `_ref.opt` for every tool, `_ref.json` for the rest; must not know FMUs.

`_ref.opt` has lines `NAME, VALUE` (FMI cross-check rules 4.1, section 9.1.4). Readers of other tools take every value
for a number, so what is none of these numbers goes into `_ref.json`: values set before the run, how inputs lie between
two rows, the tolerances of the comparison, and which versions made the reference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mbdfmu.errors import ModelError, did_you_mean

FORMAT = 1
_NUMBERS = ("StartTime", "StopTime", "StepSize", "RelTol", "OutputIntervalLength")
# What stands in the story, and what each entry is.
_IN_STORY: dict[str, tuple[type, ...]] = {
    "parameters": (dict,), "start": (dict,), "interpolation": (str,), "rtol": (int, float, type(None)),
    "atol": (int, float, type(None)), "made_with": (dict,),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a reference was run and shall be compared; None where it does not say."""

    t_start: float | None = None
    t_end: float | None = None
    step: float | None = None  # between communication points
    tolerance: float | None = None  # of the FMU's solver
    parameters: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    interpolation: str = "linear"  # of inputs, as the cross-check rules have it
    rtol: float | None = None  # of the comparison
    atol: float | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)

    def completed_by(self, other: Conditions) -> Conditions:
        """These, and where they say nothing the other's numbers."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: getattr(other, name) for name, value in given.items() if value is None})


UNSAID = Conditions()


def read_options(path: Path) -> Conditions:
    """The numbers of a `_ref.opt` file; names that are not known here are left to the tools that wrote them."""
    found: dict[str, float] = {}
    problems = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        name, comma, text = (part.strip() for part in line.partition("//")[0].partition(","))
        if name not in _NUMBERS or not comma:
            continue
        try:
            found[name] = float(text)
        except ValueError:
            problems.append(f"{path}: line {number}: {name} must be a number, found {text!r}")
    wild = [name for name, value in found.items() if not math.isfinite(value)]
    problems += [f"{path}: {name} is {found[name]}; it must be finite" for name in wild]
    if problems:
        raise ModelError(problems)
    # 0 means: a variable step, every point.
    step = found.get("StepSize") or found.get("OutputIntervalLength") or None
    return Conditions(
        t_start=found.get("StartTime"), t_end=found.get("StopTime"), step=step, tolerance=found.get("RelTol") or None
    )


def read_story(path: Path, conditions: Conditions) -> Conditions:
    """The conditions with what a `_ref.json` file adds."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: is not JSON: {error}") from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ModelError(f"{path}: is not the story of a reference in format {FORMAT}; record the reference again")
    problems = [_finding(name, value) for name, value in content.items()]
    if any(problems):
        raise ModelError(f"{path}: {problem}" for problem in problems if problem)
    return replace(conditions, **content)


def _finding(name: str, value: object) -> str:
    if name not in _IN_STORY:
        return f"unknown entry {name!r}{did_you_mean(name, _IN_STORY)}"
    kinds = _IN_STORY[name]
    words = {dict: "a table of names", str: "a text", int: "a number"}
    return "" if isinstance(value, kinds) else f"{name} must be {words[kinds[0]]}, found {value!r}"


def story_text(conditions: Conditions) -> str:
    """The content of a `_ref.json` file."""
    known = asdict(conditions)
    content = {"format": FORMAT, **{name: known[name] for name in _IN_STORY}}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
