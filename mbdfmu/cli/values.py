"""Values given on the command line: numbers, `NAME=VALUE`, files to write; must not know what they are for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from mbdfmu.errors import ExpressionError, ModelError, did_you_mean

T = TypeVar("T")
_FAULTS = "mbdfmu.faults_of_outputs"


def constant(text: str) -> float:
    """The value of a number or constant expression such as `30*deg`."""
    from mbdfmu.expressions import Graph, build, evaluate, parse

    value = float(evaluate([build(parse(text), Graph(), _no_name)], {})[0])
    if not math.isfinite(value):
        raise ModelError(f"{text!r} is {value}; give a finite number")
    return value


def _no_name(name: str) -> Any:
    raise ExpressionError(f"a value given here must be constant, found {name!r}; use numbers, pi, deg and functions")


def positive(text: str) -> float:
    """The type of an option: a constant above 0."""
    value = _amount(text)
    if value <= 0:
        raise click.BadParameter(f"must be positive, found {text}")
    return value


def not_negative(text: str) -> float:
    """The type of an option: a constant that may be 0."""
    value = _amount(text)
    if value < 0:
        raise click.BadParameter(f"must not be negative, found {text}")
    return value


def _amount(text: str) -> float:
    try:
        return constant(text)
    except ModelError as error:
        raise click.BadParameter(str(error)) from None


def check_interval(dt: float | None, duration: float) -> None:
    """Refuse points that lie farther apart than the run is long."""
    if dt is not None and dt > duration * (1 + 1e-9):
        raise ModelError(f"--dt {dt:g} s is longer than the run of {duration:g} s; give at most that")


def word(*words: str) -> Callable[[str], str]:
    """The type of an option: one of a few words. Not click's Choice, which does not say what was meant."""

    def convert(text: str) -> str:
        if text not in words:
            raise click.BadParameter(f"{text!r} is not known{did_you_mean(text, words)}; known: {', '.join(words)}")
        return text

    return convert


def output_file(*suffixes: str) -> Callable[[str], Path]:
    """The type of an option: a file to be written, refused before an hour of computing rather than after it."""

    def convert(text: str) -> Path:
        path = Path(text)
        if path.is_dir():
            raise click.BadParameter(f"'{path}' is a folder; give the name of a file")
        if path.suffix.lower() not in suffixes:
            found = f"the suffix '{path.suffix}' names no format; allowed: {', '.join(suffixes)}"
            raise click.BadParameter(f"'{path}': {found}")
        return _inside_a_folder(path)

    return convert


def checked_later(convert: Callable[[str], Path]) -> Callable[[str], Path]:
    """The type of an output whose faults are told by `together`, with those of what is read; that must be called."""

    def later(text: str) -> Path:
        try:
            return convert(text)
        except click.BadParameter as error:
            click.get_current_context().meta.setdefault(_FAULTS, []).append(f"output {error.message}")
            return Path(text)

    return later


def together(*reads: Callable[[], Any]) -> list[Any]:
    """What each returns; or a ModelError with all their findings and the faults of outputs."""
    problems: list[str] = list(click.get_current_context().meta.get(_FAULTS, []))
    found = []
    for read in reads:
        try:
            found.append(read())
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(dict.fromkeys(problems))
    return found


def output_folder(text: str) -> Path:
    """The type of an option: a folder to write into, made when it is needed."""
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise click.BadParameter(f"'{path}' is a file; give the name of a folder")
    return _inside_a_folder(path)


def _inside_a_folder(path: Path) -> Path:
    if not path.parent.is_dir():
        raise click.BadParameter(f"'{path}': there is no folder '{path.parent}'; create it first")
    return path


def assignments(
    option: str, texts: Iterable[str], read: Callable[[str, str], T], words: Iterable[str] = ()
) -> dict[str, T]:
    """`NAME=VALUE` texts of one option as a mapping, `read(name, value)` each; all findings at once.

    `words` are what else the option takes.
    """
    values: dict[str, T] = {}
    problems: list[str] = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            hint = did_you_mean(text, words)
            problems.append(f"{option} {text}: must look like NAME=VALUE, as in {option} k=3e4{hint}")
        elif name in values:
            problems.append(f"{option} {text}: '{name}' is given twice; keep one")
        else:
            try:
                values[name] = read(name, value)
            except ModelError as error:
                problems += [f"{option} {text}: {problem}" for problem in error.problems]
    if problems:
        raise ModelError(problems)
    return values


def constants(options: Mapping[str, Iterable[str]]) -> list[dict[str, float]]:
    """The `NAME=VALUE` texts of several options, whose values are constants; all findings at once."""
    problems: list[str] = []
    found: list[dict[str, float]] = []
    for option, texts in options.items():
        try:
            found.append(assignments(option, texts, lambda _, text: constant(text)))
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return found
