"""`mbdfmu inverse-dynamics`: which values of inputs make a model move as it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbdfmu.cli.delivery import deliver, kept
from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import allow_outside, allow_python, load_model
from mbdfmu.cli.values import constants, output_file, positive, word

FORMATS = (".csv", ".h5", ".hdf5", ".mat")


@click.command(
    epilog=example(
        "mbdfmu simulate slider_crank -t 2 --record '*' -o run.csv",
        "mbdfmu inverse-dynamics slider_crank --motion run.csv --actuator torque -o forces.csv --plot",
        "mbdfmu inverse-dynamics slider_crank --motion run.csv --coordinate shaft.angle --actuator torque",
    )
)
@click.argument("model")
@click.option(
    "--motion", required=True, metavar="FILE", help=f"How it moves: signals over time ({', '.join(FORMATS)})."
)
@click.option(
    "--actuator", "actuators", multiple=True, metavar="INPUT", help="Input whose values are wanted; repeatable."
)
@click.option(
    "--coordinate",
    "coordinates",
    multiple=True,
    metavar="SIGNAL",
    help="Column that is the motion, such as hinge.angle; if not given, the file says where all is. Repeatable.",
)
@click.option(
    "--spline",
    type=word("quintic", "cubic"),
    metavar="[quintic|cubic]",
    default="quintic",
    show_default=True,
    help="For rates that the file does not have.",
)
@click.option(
    "--tolerance",
    type=positive,
    default="1e-3",
    show_default=True,
    metavar="NUMBER",
    help="What accelerations may lack, of the largest, and positions may miss, of the model's length.",
)
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter; the file's own run if not given."
)
@click.option("--input", "inputs", metavar="FILE", help="CSV file with other inputs; the motion's own if not given.")
@click.option(
    "--interpolate",
    type=word("linear", "hold"),
    metavar="[linear|hold]",
    default="linear",
    show_default=True,
    help="Inputs between the rows of that file.",
)
@click.option("--record", multiple=True, metavar="PATTERN", help="Signals to record, such as 'hinge.*'; repeatable.")
@click.option(
    "-o", "--output", type=output_file(*FORMATS), metavar="FILE", help=f"File to write: {', '.join(FORMATS)}."
)
@click.option("--plot", is_flag=True, help="Draw the actuators, or what --record names.")
@allow_python
@allow_outside
def command(model: str, motion: str, output: Path | None, plot: bool, **given: Any) -> None:
    """Find what drives a MODEL so that it moves as in a file.

    Actuators are inputs of the model; joints and motions answer with their reactions. Ends with 1 if the actuators
    cannot drive the motion, with 2 if positions do not fit the model.
    """
    if plot:
        need_matplotlib()
    from mbdfmu.results import Result

    loaded, table = load_model(model), Result.read(motion)
    (parameters,) = constants({"--set": given["parameters"]})
    arguments = {key: given[key] for key in ("actuators", "spline", "tolerance", "inputs")}
    arguments |= {key: list(given[key]) or None for key in ("coordinates", "record")}
    with progress_bar(float(table.time[-1]) if len(table.time) else None) as progress:
        result = kept(
            lambda: loaded.inverse_dynamics(
                table,
                parameters=parameters or None,
                interpolation=given["interpolate"],
                progress=progress,
                **arguments,
            )
        )
    first = [] if given["record"] else [*given["actuators"], *loaded.description.outputs]
    shown = [name for name in first if name in result]
    deliver(result, shown or list(result.columns), output, plot=plot)
