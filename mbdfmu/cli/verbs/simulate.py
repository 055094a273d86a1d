"""`mbdfmu simulate`: run a model or FMU and write or show what came out."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.delivery import deliver, kept
from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import (
    allow_outside,
    allow_python,
    begin_of,
    fmu_file,
    is_fmu,
    isolation,
    own_processes,
    whole_model,
)
from mbdfmu.cli.values import (
    assignments,
    check_interval,
    checked_later,
    constant,
    output_file,
    positive,
    together,
    word,
)
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.facade import Model
    from mbdfmu.fmi.reading import FmuInfo
    from mbdfmu.results import Result

FORMATS = (".csv", ".h5", ".hdf5", ".mat")
REST = "equilibrium"
Progress = Callable[[float], None] | None


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options as given."""

    t_end: float | None
    dt: float | None
    parameters: tuple[str, ...]
    start: tuple[str, ...]
    inputs: str | None
    interpolate: str
    record: tuple[str, ...]
    scheme: str | None
    options: tuple[str, ...]
    tolerance: float | None
    step: float | None
    first_step: float | None
    largest_step: float | None
    smallest_step: float | None
    most_steps: int | None
    assemble: bool | None
    isolate: bool | None
    time_limit: float | None


@click.command(
    epilog=example(
        "mbdfmu simulate pendulum -t 2",
        "mbdfmu simulate pendulum -t 2 --dt 0.01 --set length=2 --set phi0=30*deg --record 'bar.*' -o out.csv",
        "mbdfmu simulate pendulum -t 2 --scheme hht --option alpha=-0.1 --tolerance 1e-8 -o out.h5 --plot",
    )
)
@click.argument("target", metavar="MODEL|FMU")
@click.option(
    "-t", "--time", "t_end", type=positive, metavar="SECONDS", help="End time; the model's experiment if not given."
)
@click.option("--dt", type=positive, metavar="SECONDS", help="Time between recorded points.")
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter, such as k=3e4 or phi0=30*deg; repeatable.",
)
@click.option(
    "--start",
    multiple=True,
    metavar="NAME=VALUE|equilibrium|FILE.json|SECONDS",
    help="Start value of a coordinate or its rate, kept when the joints are closed; or where to begin: at rest, or an "
    "FMU at another time than that of its default experiment.",
)
@click.option("--input", "inputs", metavar="FILE", help="CSV file with inputs over time: time [s],name [unit],...")
@click.option(
    "--interpolate",
    type=word("linear", "hold"),
    metavar="[linear|hold]",
    default="linear",
    show_default=True,
    help="Inputs between the rows of the file.",
)
@click.option("--record", multiple=True, metavar="PATTERN", help="Signals to record, such as 'crank.*'; repeatable.")
@click.option("--scheme", metavar="NAME", help="Integration scheme; see mbdfmu list schemes.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the scheme, such as alpha=-0.1; repeatable.",
)
@click.option("--tolerance", type=positive, metavar="NUMBER", help="Of the local error, relative.")
@click.option("--step", type=positive, metavar="SECONDS", help="Fixed step; error-controlled if not given.")
@click.option("--first-step", type=positive, metavar="SECONDS", help="First step; chosen if not given.")
@click.option("--largest-step", type=positive, metavar="SECONDS", help="Largest step; no limit if not given.")
@click.option("--smallest-step", type=positive, metavar="SECONDS", help="Below it a run ends; 1e-10 if not given.")
@click.option(
    "--most-steps", type=click.IntRange(1, 2**31 - 1), metavar="COUNT",
    help="Tries of a step from one output to the next; 1000000 if not given.",
)  # fmt: skip
@click.option(
    "--assemble/--no-assemble",
    default=None,
    help="Close the joints from a start that does not fit; implied by --set and --start.",
)
@own_processes
@click.option(
    "-o", "--output", type=checked_later(output_file(*FORMATS)), metavar="FILE",
    help=f"File to write: {', '.join(FORMATS)}.",
)
@click.option(
    "--plot",
    is_flag=True,
    help="Draw the recorded signals, without --record the outputs, into a .png beside the output file.",
)
@allow_python
@allow_outside
def command(target: str, output: Path | None, plot: bool, **given: Any) -> None:
    """Simulate a MODEL or FMU.

    A model from time 0, an FMU from the start of its default experiment. Prints the work done and, if no file is asked
    for, the final values. Ends with 1 if the run fails and with 130 after Ctrl-C; what was computed until then is
    written.
    """
    if plot:
        need_matplotlib()
    request = Request(**given)
    run = _run_fmu if is_fmu(target) else _run_model
    result, shown = run(target, request)
    deliver(result, shown, output, plot=plot)


# ---------------------------------------------------------------- models


def _run_model(target: str, request: Request) -> tuple[Result, list[str]]:
    if request.isolate is not None or request.time_limit is not None:
        raise ModelError("--isolate and --time-limit are for FMUs, which are native code of anybody")
    model, arguments = together(lambda: whole_model(target), lambda: _model_arguments(request))
    arguments["start"] = _beginning(model, request, arguments)
    experiment = model.description.experiment
    t_end = request.t_end or (experiment.stop_time if experiment else None)
    if not t_end:
        raise ModelError(f"model '{model.name}' names no experiment.stop_time; give the end time: -t SECONDS")
    check_interval(request.dt, t_end)
    with progress_bar(t_end) as progress:
        result = kept(lambda: model.simulate(t_end, request.dt, progress=progress, **arguments))
    return result, _shown(result, request, list(model.symbolic.description.outputs))


def _model_arguments(request: Request) -> dict[str, Any]:
    """The arguments of Model.simulate."""
    values, options = _assigned(request)
    return {
        **values,
        "options": options,
        "inputs": request.inputs,
        "interpolation": request.interpolate,
        "record": list(request.record) or None,
        "scheme": request.scheme,
        "tolerance": request.tolerance,
        **_steps(request),
        "assemble": request.assemble,
    }


def _steps(request: Request) -> dict[str, float | None]:
    """Sizes of steps and their number, called as in Python and in our FMUs."""
    names = ("step", "first_step", "largest_step", "smallest_step", "most_steps")
    return {name: getattr(request, name) for name in names}


def _beginning(model: Model, request: Request, arguments: dict[str, Any]) -> Any:
    """Start values, or the equilibrium to begin from with the velocities among them."""
    from mbdfmu.analyses import Equilibrium

    rests = [text for text in request.start if _is_rest(text)]
    given = arguments["start"]
    if not rests:
        return given
    if len(rests) > 1:
        raise ModelError(f"--start: one equilibrium at a time, found {', '.join(rests)}")
    if rests[0] == REST:
        shared = {key: arguments[key] for key in ("parameters", "inputs", "interpolation", "assemble")}
        return model.equilibrium(start=given, **shared)
    found = Equilibrium.read(rests[0])
    return replace(found, velocities={**found.velocities, **given})


def _is_rest(start: str) -> bool:
    """Whether a start is an equilibrium, to be found or in a file; else it is NAME=VALUE."""
    return start == REST or ("=" not in start and start.lower().endswith(".json"))


def _assigned(request: Request, words: Container[str] = ()) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Parameters and start values, and the options of the scheme; all malformed values at once."""
    problems: list[str] = []

    def collected(option: str, texts: tuple[str, ...], read: Callable[[str, str], Any]) -> dict[str, Any]:
        try:
            return assignments(option, texts, read, [REST] if option == "--start" else ())
        except ModelError as error:
            problems.extend(error.problems)
            return {}

    values_at_start = tuple(text for text in request.start if not _is_rest(text))
    values = {
        "parameters": collected(
            "--set", request.parameters, lambda name, text: text if name in words else constant(text)
        ),
        "start": collected("--start", values_at_start, lambda _, text: constant(text)),
    }
    kinds = _kinds(request.scheme) if request.options else {}
    options = collected("--option", request.options, lambda name, text: _option(text, kinds.get(name)))
    if problems:
        raise ModelError(problems)
    return values, options


def _option(text: str, kind: str | None) -> Any:
    """The value of an option; of one that the scheme does not know any, so that the scheme names it."""
    if kind == "number":
        return constant(text)
    if kind == "word":
        return text
    try:
        return constant(text)
    except ModelError:
        return text


def _kinds(scheme: str | None) -> dict[str, str]:
    """Whether options of a scheme are words or numbers."""
    from dataclasses import fields

    from mbdfmu.analyses.settings import Settings
    from mbdfmu.schemes import Scheme

    options = fields(Scheme.named(scheme or Settings.scheme))
    return {f.name: "word" if f.metadata["choices"] else "number" for f in options}


def _shown(result: Result, request: Request, outputs: list[str]) -> list[str]:
    """What a reader wants to see first: what was asked for, or the outputs, or everything."""
    if request.record:
        return list(result.columns)
    return [name for name in outputs if name in result] or list(result.columns)


# ---------------------------------------------------------------- FMUs


def _run_fmu(target: str, request: Request) -> tuple[Result, list[str]]:
    from mbdfmu import fmi
    from mbdfmu.fmi.harness import time_span

    path, facts = together(lambda: _fmu(target))[0]
    if request.assemble is not None:
        raise ModelError("--assemble is for models; an FMU closes its joints by itself")
    if any(map(_is_rest, request.start)):
        raise ModelError("--start equilibrium is for models; an FMU begins where it was exported to begin")
    values, begin = begin_of(request.start)
    request = replace(request, start=values)
    begin, t_end = time_span(facts, begin, request.t_end)
    check_interval(request.dt, t_end - begin)
    alone = isolation(request.isolate, request.time_limit)
    arguments = alone | _fmu_arguments(request, {v.name for v in facts.variables if v.type == "String" or v.choices})
    with progress_bar(t_end, begin=begin) as progress:
        result = kept(lambda: fmi.simulate(path, t_end, request.dt, t_start=begin, progress=progress, **arguments))
    return result, _shown(result, request, [v.name for v in facts.variables if v.causality == "output"])


def _fmu(target: str) -> tuple[Path, FmuInfo]:
    from mbdfmu import fmi

    path = fmu_file(target)
    return path, fmi.info(path)


def _fmu_arguments(request: Request, words: Container[str]) -> dict[str, Any]:
    """The arguments of fmi.simulate; scheme and options are parameters of our FMUs, `words` those with texts."""
    values, options = _assigned(request, words)
    solver: dict[str, Any] = {"scheme": request.scheme, **_steps(request)}
    solver |= {f"options.{name}": value for name, value in options.items()}
    given = {f"solver.{key}": value for key, value in solver.items() if value is not None}
    return {
        "parameters": {**values["parameters"], **given},
        "start": values["start"],
        "inputs": request.inputs,
        "interpolation": request.interpolate,
        "record": list(request.record) or None,
        "tolerance": request.tolerance,
    }
