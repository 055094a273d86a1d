"""`mbdfmu export-fmu`: a model as a component for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from mbdfmu.cli.printing import example, file_stem
from mbdfmu.cli.targets import allow_python, load_model
from mbdfmu.cli.values import output_file, word

RUNTIMES = ("python",)


@click.command(epilog=example("mbdfmu export-fmu pendulum -o pendulum.fmu", "mbdfmu info pendulum.fmu"))
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=output_file(".fmu"),
    metavar="FILE",
    help="File to write; the model's name in this folder if not given.",
)
@click.option(
    "--runtime",
    type=word(*RUNTIMES),
    metavar=f"[{'|'.join(RUNTIMES)}]",
    default=RUNTIMES[0],
    show_default=True,
    help="What runs the equations inside: python needs mbdfmu in the host's Python.",
)
@allow_python
def command(model: str, output: Path | None, runtime: str) -> None:
    """Export a MODEL as an FMU for co-simulation."""
    loaded = load_model(model)
    path = output or Path(f"{file_stem(loaded.name)}.fmu")
    loaded.export_fmu(path, runtime=runtime)
    click.echo(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB, runtime {runtime})")
