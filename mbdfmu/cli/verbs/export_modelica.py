"""`mbdfmu export-modelica`: a model as Modelica text."""

from __future__ import annotations

from pathlib import Path

import click

from mbdfmu.cli.printing import example, file_stem
from mbdfmu.cli.targets import allow_outside, allow_python, load_model
from mbdfmu.cli.values import constants, output_file, word

STYLES = ("multibody", "equations", "wrapper")  # spelled out as in export_fmu.py


@click.command(
    epilog=example(
        "mbdfmu export-modelica slider_crank -o slider_crank.mo",
        "mbdfmu export-modelica pendulum --style equations --signals 'bar.*'",
        "mbdfmu export-modelica quarter_car --style wrapper",
    )
)
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=output_file(".mo"),
    metavar="FILE",
    help="File to write; in this folder, named after the class in it, if not given.",
)
@click.option(
    "--style",
    type=word(*STYLES),
    metavar=f"[{'|'.join(STYLES)}]",
    default=STYLES[0],
    show_default=True,
    help="multibody: components of the Modelica Standard Library 4; equations: flat, without any library; wrapper: the "
    "interface of the model's FMU.",
)
@click.option(
    "--signals",
    multiple=True,
    metavar="PATTERN",
    help="Signals to be variables beside the outputs, where a style has equations; repeatable.",
)
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter; repeatable.")
@click.option("--start", multiple=True, metavar="NAME=VALUE", help="Where a coordinate begins; repeatable.")
@click.option("--assemble/--no-assemble", default=None, help="Close the joints from a start that does not fit.")
@allow_python
@allow_outside
def command(
    model: str, output: Path | None, style: str, signals: tuple[str, ...], parameters: tuple[str, ...],
    start: tuple[str, ...], assemble: bool | None,
) -> None:  # fmt: skip
    """Export a MODEL as Modelica text."""
    loaded = load_model(model)
    stem = file_stem(loaded.name)
    path = output or Path(f"{stem}_fmu.mo" if style == "wrapper" else f"{stem}.mo")  # tools look for classes by files
    given, begins = constants({"--set": parameters, "--start": start})
    loaded.export_modelica(
        path, style, signals=signals, parameters=given or None, start=begins or None, assemble=assemble
    )
    click.echo(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB, style {style})")
