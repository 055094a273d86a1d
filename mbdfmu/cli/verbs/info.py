"""`mbdfmu info`: the variables of a model, controller or FMU, the signals of a result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from mbdfmu.cli.printing import columns, counted, example, number
from mbdfmu.cli.targets import allow_outside, fmu_file, is_controller, is_fmu, load_controller, load_model
from mbdfmu.cli.verbs.simulate import FORMATS
from mbdfmu.errors import ModelError, did_you_mean

# Causalities by the heading under which they are shown, in this order.
HEADINGS = {
    "parameter": "parameters",
    "calculatedParameter": "computed parameters",
    "structuralParameter": "structural parameters",
    "input": "inputs",
    "output": "outputs",
    "local": "other variables",
    "recorded": "signals",
    "independent": "independent variable",
}
SHORT = ("parameter", "structuralParameter", "input", "output", "recorded")  # shown in full without --signals
KEYS = ("name", "unit", "causality", "variability", "start", "minimum", "maximum", "text")
COUNTED = ("bodies", "joints", "forces", "motions", "constraints", "events", "impacts", "states", "variables", "blocks")
FMU_FACTS = (
    "text",
    "fmi_version",
    "kinds",
    "runtime",
    "platforms",
    "glibc",
    "generation_tool",
    "stop_time",
    "step",
    "tolerance",
)


@dataclass(frozen=True)
class Recorded:
    """A signal of a result file."""

    name: str
    unit: str
    text: str  # its range
    causality: str = "recorded"
    variability: str = ""
    start: None = None


@dataclass(frozen=True)
class Subject:
    """What models and FMUs have in common."""

    name: str
    facts: dict[str, Any]  # what there is to say about the whole
    variables: list[Any]  # with attributes as in KEYS, as far as there are


@click.command(
    epilog=example("mbdfmu info pendulum", "mbdfmu info pendulum --signals 'bar.*'", "mbdfmu info pendulum --json")
)
@click.argument("target", metavar="MODEL|CONTROLLER|FMU|RESULT")
@click.option(
    "--signals",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Show these variables only, such as 'crank.*'; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@allow_outside
def command(target: str, patterns: tuple[str, ...], as_json: bool) -> None:
    """Show variables of a MODEL or FMU, or signals of a result."""
    subject = _subject(target)
    chosen = _chosen(subject, patterns)
    click.echo(_json(subject, chosen) if as_json else "\n".join(_text(subject, chosen, everything=bool(patterns))))


def _subject(target: str) -> Subject:
    if is_fmu(target):
        return _of_fmu(target)
    if Path(target).suffix.lower() in FORMATS:
        return _of_result(target)
    return _of_controller(target) if is_controller(target) else _of_model(target)


def _of_controller(target: str) -> Subject:
    from mbdfmu.controllers.export import table_of

    controller = load_controller(target)
    facts: dict[str, Any] = {"text": type(controller).summary(), "states": len(controller.states)}
    facts["sampled every"] = f"{controller.sample_time:g} s" if controller.sampled else ""
    variables = list(table_of(controller, controller.type_name).variables)
    return Subject(controller.type_name, {key: fact for key, fact in facts.items() if fact}, variables)


def _of_model(target: str) -> Subject:
    model = load_model(target)
    d = model.symbolic.description
    facts: dict[str, Any] = {"text": d.text, "coordinates": len(model.symbolic.coordinates)}
    facts |= {section: len(getattr(d, section)) for section in COUNTED}
    if d.experiment:
        facts["experiment"] = d.experiment.model_dump(exclude_none=True)
    return Subject(model.name, {key: fact for key, fact in facts.items() if fact}, model.signals())


def _of_result(target: str) -> Subject:
    from mbdfmu.results import Result

    result = Result.read(target)
    facts: dict[str, Any] = {"model": result.model, "points": len(result.time), "signals": len(result.columns)}
    if len(result.time):
        facts["time"] = f"{number(float(result.time[0]))} .. {number(float(result.time[-1]))} s"
    facts |= {"ended early": result.message if not result.complete else "", "events": len(result.events)}
    facts["parameters"] = dict(result.parameters)
    variables = [Recorded(name, result.unit(name), _range(result[name])) for name in result.columns]
    return Subject(Path(target).name, {key: fact for key, fact in facts.items() if fact}, variables)


def _range(values: Any) -> str:
    return f"{number(float(values.min()))} .. {number(float(values.max()))}" if len(values) else ""


def _of_fmu(target: str) -> Subject:
    path = fmu_file(target)
    from mbdfmu import fmi  # loads what takes longer than to see that there is no such file

    found = fmi.info(path)
    facts = {key.replace("_", " "): getattr(found, key) for key in FMU_FACTS}
    return Subject(found.name, {key: fact for key, fact in facts.items() if fact}, list(found.variables))


def _chosen(subject: Subject, patterns: Iterable[str]) -> list[Any]:
    """The variables that fit any pattern; all without a pattern, and a pattern without a match is refused."""
    patterns = list(patterns)
    if not patterns:
        return subject.variables
    names = [v.name for v in subject.variables]
    lost = [p for p in patterns if not any(_fits(name, p) for name in names)]
    problems = [f"{subject.name} has no variable {p!r}{did_you_mean(p, names)}" for p in lost]
    if problems:
        raise ModelError(problems)
    return [v for v in subject.variables if any(_fits(v.name, p) for p in patterns)]


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)  # `der(x)` and `r[1]` are names first


def _json(subject: Subject, variables: list[Any]) -> str:
    rows = [{key: value for key in KEYS if (value := getattr(v, key, None)) not in (None, "")} for v in variables]
    return json.dumps({"name": subject.name, **subject.facts, "variables": rows}, indent=2, ensure_ascii=False)


def _text(subject: Subject, variables: list[Any], *, everything: bool) -> Iterator[str]:
    yield subject.name
    yield columns((key, _fact(value)) for key, value in subject.facts.items())
    hidden = 0
    for causality, heading in HEADINGS.items():
        group = [v for v in variables if v.causality == causality]
        if everything or causality in SHORT:
            group_text = columns(_row(v) for v in group)
            yield from (heading, group_text) if group else ()
        else:
            hidden += len(group)
    if hidden:
        yield f"and {counted(hidden, 'more variable')}; see them by --signals '*'"


def _fact(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number(v)}" for key, v in value.items())
    return ", ".join(value) if isinstance(value, tuple) else number(value)


def _row(variable: Any) -> tuple[str, str, str, str]:
    start = "" if variable.start is None else f"= {_start(variable)}"
    tunable = "tunable" if variable.variability == "tunable" else ""
    unit = "" if isinstance(variable.start, str) or getattr(variable, "choices", None) else variable.unit or "1"
    return variable.name, unit, start, "; ".join(filter(None, [variable.text or "", tunable]))


def _start(variable: Any) -> str:
    """A number, a text, or what a number chooses."""
    choices = getattr(variable, "choices", None)
    names = {value: name for name, value in choices.items()} if isinstance(choices, Mapping) else {}
    return names.get(variable.start) or number(variable.start)
