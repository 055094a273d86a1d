"""`mbdfmu demo`: a first look at everything: simulate, export, run the FMU, compare, draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbdfmu.cli.drawing import draw, need_matplotlib
from mbdfmu.cli.endings import NEGATIVE, end
from mbdfmu.cli.printing import example
from mbdfmu.cli.summary import summary
from mbdfmu.cli.values import output_folder

if TYPE_CHECKING:
    from mbdfmu.facade import Model
    from mbdfmu.results import Result

MODEL = "slider_crank"
RUNTIMES = ("native", "python")


@click.command(epilog=example("mbdfmu demo", "mbdfmu demo -o elsewhere"))
@click.option(
    "-o",
    "--output",
    "folder",
    type=output_folder,
    metavar="FOLDER",
    default="mbdfmu-demo",
    show_default=True,
    help="Folder to write into.",
)
def command(folder: Path) -> None:
    """Simulate a model, export and run its FMUs, compare all.

    Writes an FMU that needs nothing on the target and one that runs in Python, a CSV file of each run and a picture of
    all; fmpy runs the FMUs.
    """
    from mbdfmu import content

    need_matplotlib()
    folder.mkdir(exist_ok=True)
    model = content.load(MODEL)
    click.echo(f"{model.name}: {model.description.text}")
    ours = _simulated(model, folder)
    theirs = {runtime: _through_fmu(model, folder, ours, runtime) for runtime in RUNTIMES}
    picture = folder / f"{MODEL}.png"
    draw({"model": ours, **{f"FMU, {runtime}": result for runtime, result in theirs.items()}}, picture)
    click.echo(f"4. drew all into {picture}")
    for runtime, result in theirs.items():
        _compared(result, ours, runtime)


def _simulated(model: Model, folder: Path) -> Result:
    result = model.simulate(record=list(model.symbolic.description.outputs))
    path = folder / f"{MODEL}.csv"
    result.write(path)
    click.echo(f"1. simulated it and wrote {path}\n{summary(result)}")
    return result


def _through_fmu(model: Model, folder: Path, ours: Result, runtime: str) -> Result:
    from mbdfmu import fmi

    path = folder / f"{MODEL}-{runtime}.fmu"
    model.export_fmu(path, runtime=runtime)
    click.echo(f"2. exported {path} ({path.stat().st_size / 1000:.0f} kB, runtime {runtime})")
    result = fmi.simulate(path, record=list(ours.columns))
    table = folder / f"{MODEL}-{runtime}.csv"
    result.write(table)
    click.echo(f"3. ran the FMU through fmpy and wrote {table}: {len(result.time)} points")
    return result


def _compared(result: Result, reference: Result, runtime: str) -> None:
    from mbdfmu.regression import compare

    found = compare(result, reference)
    click.echo(f"5. compared the FMU of runtime {runtime} with the model\n{found.report()}")
    if not found.passed:
        end(NEGATIVE)
