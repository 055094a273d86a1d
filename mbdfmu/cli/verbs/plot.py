"""`mbdfmu plot`: curves of one or several result files in one picture."""

from __future__ import annotations

from pathlib import Path

import click

from mbdfmu.cli.drawing import PICTURES, draw, need_matplotlib
from mbdfmu.cli.printing import example
from mbdfmu.cli.values import output_file
from mbdfmu.errors import ModelError


@click.command(
    epilog=example(
        "mbdfmu simulate pendulum -t 2 -o a.csv",
        "mbdfmu simulate pendulum -t 2 --set length=2 -o b.csv",
        "mbdfmu plot a.csv b.csv -y angle -y speed -o both.png",
    )
)
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "-y",
    "names",
    multiple=True,
    metavar="NAME",
    help="Signals to draw, a name or pattern; repeatable, all if not given.",
)
@click.option("-x", "abscissa", metavar="NAME", help="Signal to draw over; time if not given.")
@click.option(
    "-o",
    "--output",
    type=output_file(*PICTURES),
    metavar="FILE",
    required=True,
    help=f"Picture to write: {', '.join(PICTURES)}.",
)
def command(results: tuple[str, ...], names: tuple[str, ...], abscissa: str | None, output: Path) -> None:
    """Draw signals of RESULTs (.csv or .h5) into one picture."""
    from mbdfmu.results import Result

    need_matplotlib()
    problems: list[str] = []
    loaded: dict[str, Result] = {}
    for file in results:
        try:
            loaded[_label(file, results)] = Result.read(file)
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    draw(loaded, output, names, abscissa)
    click.echo(f"wrote {output}")


def _label(file: str, files: tuple[str, ...]) -> str:
    """The name of the file, with its folder where two have the same."""
    alone = [Path(other).stem for other in files].count(Path(file).stem) == 1
    return Path(file).stem if alone else file
