"""`mbdfmu cosim`: run FMUs that are coupled to each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.delivery import deliver, kept
from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import columns, counted, example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import allow_outside, isolation, outside_allowed, own_processes
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
from mbdfmu.cli.verbs.simulate import FORMATS
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.cosim import System
    from mbdfmu.results import Result

ALGORITHMS = ("jacobi", "gauss-seidel")
_WRITTEN = (".json", ".ssp")


@click.command(
    epilog=example(
        "mbdfmu export-fmu quarter_car -o car.fmu",
        "mbdfmu export-fmu skyhook -o skyhook.fmu",
        "mbdfmu cosim ride.json -t 3 --step 1e-3 -o out.csv",
        "mbdfmu cosim ride.json --set car.bump=0.08 --extrapolation 1 --record 'car.*load*' -o out.h5",
        "mbdfmu cosim ride.json --save ride.ssp",
    )
)
@click.argument("system", metavar="SYSTEM")
@click.option("-t", "--time", "t_end", type=positive, metavar="SECONDS", help="End time; the system's if not given.")
@click.option(
    "--step", type=positive, metavar="SECONDS", help="Communication step; the system's experiment if not given."
)
@click.option("--dt", "step_output", type=positive, metavar="SECONDS", help="Time between rows; every step.")
@click.option("--set", "parameters", multiple=True, metavar="FMU.NAME=VALUE", help="Parameter of an FMU; repeatable.")
@click.option("--input", "inputs", metavar="FILE", help="CSV file with inputs over time: time [s],FMU.NAME [unit],...")
@click.option(
    "--interpolate",
    "interpolation",
    type=word("linear", "hold"),
    metavar="[linear|hold]",
    default="linear",
    show_default=True,
    help="Inputs between the rows of the file.",
)
@click.option("--record", multiple=True, metavar="PATTERN", help="What to record, 'car.*'; all outputs; repeatable.")
@click.option(
    "--algorithm",
    type=word(*ALGORITHMS),
    metavar=f"[{'|'.join(ALGORITHMS)}]",
    help="All FMUs at once, or one after the other, which know what the former have found.",
)
@click.option(
    "--extrapolation", type=click.IntRange(0, 2), metavar="0|1|2", help="Order in which inputs go on during a step."
)
@click.option(
    "--iterations", type=click.IntRange(1), metavar="COUNT", help="Most sweeps over a step, taken back before each."
)
@click.option(
    "--tolerance", type=positive, metavar="NUMBER", help="Of the extrapolation, relative; chooses the steps by it."
)
@click.option(
    "--smallest-step", type=positive, metavar="SECONDS", help="Of those that --tolerance chooses; 1e-9 if not given."
)
@own_processes
@allow_outside
@click.option(
    "-o", "--output", type=checked_later(output_file(*FORMATS)), metavar="FILE",
    help=f"To write: {', '.join(FORMATS)}.",
)
@click.option("--plot", is_flag=True, help="Draw what was recorded into a .png beside the output file.")
@click.option(
    "--save",
    type=checked_later(output_file(*_WRITTEN)),
    metavar="FILE",
    help="Write the system with these options as .json or .ssp (with its FMUs inside) and run nothing.",
)
def command(
    system: str,
    output: Path | None,
    plot: bool,
    save: Path | None,
    parameters: tuple[str, ...],
    record: tuple[str, ...],
    **given: Any,
) -> None:
    """Run the coupled FMUs of a SYSTEM file.

    The file is .json, .ssp or .ssd; the run begins at time 0. Shows the couplings and, if no file is asked for, the
    final values. Ends with 1 if an FMU fails or
    stops and with 130 after Ctrl-C; what was computed until then is written.
    """
    if plot:
        need_matplotlib()
    loaded, words = together(lambda: _loaded(system, given))[0]
    values = assignments("--set", parameters, lambda name, text: text if name in words else constant(text))
    if save is not None:
        loaded.with_parameters(values).save(save)
        click.echo(f"wrote {save}")
        return
    result = _run(loaded, values, list(record) or None, given)
    deliver(result, list(result.columns), output, plot=plot)


def _loaded(file: str, given: dict[str, Any]) -> tuple[System, set[str]]:
    """The system, and the parameters of its FMUs that are words."""
    from mbdfmu.cosim import System

    system = _with_options(System.load(file, allow_outside=outside_allowed()), given)
    return system, _words(system)


def _with_options(system: System, given: dict[str, Any]) -> System:
    """What is said about the master goes before what the file says; the rest stays in `given`."""
    names = ("algorithm", "extrapolation", "iterations", "tolerance", "smallest_step")
    master = {name: value for name in names if (value := given.pop(name)) is not None}
    return system.with_master(**master) if master else system


def _words(system: System) -> set[str]:
    """Parameters that are texts or choices."""
    from mbdfmu.cosim.running import facts_of

    facts = facts_of(system.description)
    return {f"{fmu}.{v.name}" for fmu, f in facts.items() for v in f.variables if v.type == "String" or v.choices}


def _run(system: System, values: dict[str, Any], record: list[str] | None, given: dict[str, Any]) -> Result:
    click.echo(f"{system.name}: {counted(len(system.description.fmus), 'FMU')}, {_couplings(system)}")
    experiment = system.description.experiment
    t_end = given["t_end"] or (experiment.stop_time if experiment else None)
    if not t_end:
        raise ModelError(f"system '{system.name}' names no experiment.stop_time; give the end time: -t SECONDS")
    check_interval(given["step_output"], t_end)
    given = {**given, "t_end": t_end, **isolation(given["isolate"], given["time_limit"])}
    with progress_bar(t_end) as progress:
        return kept(lambda: system.simulate(parameters=values or None, record=record, progress=progress, **given))


def _couplings(system: System) -> str:
    """How many, and each in a line."""
    wiring = system.check()
    rows = [(".".join(link.target), "<-", ".".join(link.source)) for link in wiring.links if link.source]
    return counted(len(rows), "coupling") + ("\n" + columns(rows) if rows else "")
