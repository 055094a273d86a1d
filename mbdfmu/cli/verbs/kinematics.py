"""`mbdfmu kinematics`: how a fully driven model moves, and what its drives have to give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbdfmu.cli.delivery import deliver, kept
from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import allow_outside, allow_python, load_model
from mbdfmu.cli.values import check_interval, constants, output_file, positive, word
from mbdfmu.errors import ModelError

FORMATS = (".csv", ".h5", ".hdf5", ".mat")


@click.command(
    epilog=example(
        "mbdfmu kinematics stewart -t 4 --dt 0.01",
        "mbdfmu kinematics stewart -t 4 --set stroke=0.1 --record 'drive?.reaction.force' -o legs.csv --plot",
    )
)
@click.argument("model")
@click.option(
    "-t", "--time", "t_end", type=positive, metavar="SECONDS", help="End time; the model's experiment if not given."
)
@click.option("--dt", type=positive, metavar="SECONDS", help="Time between recorded points.")
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter, such as phi0=30*deg; repeatable."
)
@click.option("--start", multiple=True, metavar="NAME=VALUE", help="Where the search for the first pose begins.")
@click.option("--input", "inputs", metavar="FILE", help="CSV file with inputs over time, which forces may use.")
@click.option(
    "--interpolate",
    type=word("linear", "hold"),
    metavar="[linear|hold]",
    default="linear",
    show_default=True,
    help="Inputs between the rows of the file.",
)
@click.option("--record", multiple=True, metavar="PATTERN", help="Signals to record, such as 'crank.*'; repeatable.")
@click.option(
    "--assemble/--no-assemble", default=True, show_default=True, help="Close the joints from a start that does not fit."
)
@click.option(
    "-o", "--output", type=output_file(*FORMATS), metavar="FILE", help=f"File to write: {', '.join(FORMATS)}."
)
@click.option("--plot", is_flag=True, help="Draw what was recorded, without --record outputs and drives.")
@allow_python
@allow_outside
def command(model: str, output: Path | None, plot: bool, **given: Any) -> None:
    """Move a fully driven MODEL as its motions say.

    Nothing is integrated: every pose follows from joints and motions, and with it velocities, accelerations, reactions
    and what the drives give. Ends with 1 if the motion cannot be met; what was found until then is written.
    """
    if plot:
        need_matplotlib()
    loaded = load_model(model)
    parameters, start = constants({"--set": given["parameters"], "--start": given["start"]})
    experiment = loaded.description.experiment
    t_end = given["t_end"] or (experiment.stop_time if experiment else None)
    if not t_end:
        raise ModelError(f"model '{loaded.name}' names no experiment.stop_time; give the end time: -t SECONDS")
    arguments = {key: given[key] for key in ("inputs", "assemble")}
    arguments |= {"record": list(given["record"]) or None, "interpolation": given["interpolate"]}
    check_interval(given["dt"], t_end)
    with progress_bar(t_end) as progress:
        result = kept(
            lambda: loaded.kinematics(
                t_end, given["dt"], parameters=parameters, start=start, progress=progress, **arguments
            )
        )
    description = loaded.description
    first = [*description.outputs, *(f"{motion}.reaction.force" for motion in description.motions)]
    shown = [] if given["record"] else [name for name in first if name in result]
    deliver(result, shown or list(result.columns), output, plot=plot)
