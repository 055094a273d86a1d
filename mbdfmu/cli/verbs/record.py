"""`mbdfmu record`: run an FMU and keep what it did as its reference."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.printing import example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import begin_of, fmu_file, isolation, own_processes
from mbdfmu.cli.values import assignments, check_interval, constant, not_negative, output_folder, positive, word

if TYPE_CHECKING:
    from mbdfmu.results import Result


@click.command(
    epilog=example(
        "mbdfmu export-fmu pendulum -o pendulum.fmu",
        "mbdfmu simulate pendulum -t 2 --record torque -o torque.csv",
        "mbdfmu record pendulum.fmu -t 2 --input torque.csv --set length=1.5",
        "mbdfmu compare pendulum.fmu",
    )
)
@click.argument("fmu")
@click.option("-o", "--output", "folder", type=output_folder, metavar="FOLDER", help="Where to write; beside the FMU.")
@click.option("--input", "inputs", metavar="FILE", help="CSV file with inputs over time: time [s],name [unit],...")
@click.option(
    "--interpolate",
    "interpolation",
    type=word("linear", "hold"),
    metavar="[linear|hold]",
    default="linear",
    show_default=True,
    help="Inputs between the rows of the file.",
)
@click.option("-t", "--time", "t_end", type=positive, metavar="SECONDS", help="End time; the FMU's if not given.")
@click.option("--dt", "step", type=positive, metavar="SECONDS", help="Between communication points; the FMU's.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the FMU; repeatable.")
@click.option("--start", multiple=True, metavar="NAME=VALUE|SECONDS", help="Start value, or time; repeatable.")
@click.option("--tolerance", type=positive, metavar="NUMBER", help="Of the FMU's solver; the FMU's.")
@click.option("--record", "signals", multiple=True, metavar="PATTERN", help="Signals to keep; the outputs; repeatable.")
@click.option("--rtol", type=not_negative, metavar="NUMBER", help="For comparisons: allowed part of each range.")
@click.option("--atol", type=not_negative, metavar="NUMBER", help="For comparisons: allowed at least.")
@own_processes
@click.option("--force", is_flag=True, help="Replace the reference that is there.")
def command(
    fmu: str, folder: Path | None, inputs: str | None, parameters: tuple[str, ...], start: tuple[str, ...],
    signals: tuple[str, ...], force: bool, isolate: bool | None, time_limit: float | None, **conditions: Any,
) -> None:  # fmt: skip
    """Run an FMU and keep what it did as its reference.

    The files X_ref.csv, X_in.csv, X_ref.opt and X_ref.json hold the result, the inputs, times and tolerances, and what
    was set and which versions ran; mbdfmu compare repeats the run from them, here or elsewhere. The first three are
    those of the FMI cross-check rules.
    """
    from mbdfmu import fmi
    from mbdfmu.fmi.harness import time_span
    from mbdfmu.regression import record
    from mbdfmu.regression.story import Conditions

    path = fmu_file(fmu)
    facts = fmi.info(path)
    words = {v.name for v in facts.variables if v.type == "String" or v.choices}
    values, begin = begin_of(start)
    given = Conditions(
        parameters=assignments("--set", parameters, lambda name, text: text if name in words else constant(text)),
        start=assignments("--start", values, lambda _, text: constant(text)),
        t_start=begin,
        **conditions,
    )
    if folder is not None:
        folder.mkdir(exist_ok=True)
    notes: list[str] = []
    simulate = partial(fmi.simulate, **isolation(isolate, time_limit))

    def run(*arguments: Any, **settings: Any) -> Result:
        result = simulate(*arguments, **settings)
        notes.extend(result.notes)
        return result

    begin, t_end = time_span(facts, begin, given.t_end)
    check_interval(given.step, t_end - begin)
    with progress_bar(t_end, begin=begin) as progress:
        written = record(
            path, folder, given, inputs=inputs, signals=signals, replace_old=force, progress=progress, run=run
        )  # fmt: skip
    for note in notes:
        click.echo(note)
    click.echo(f"wrote {', '.join(map(str, written))}")
