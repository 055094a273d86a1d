"""`mbdfmu import`: a robot's URDF file becomes a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbdfmu.cli.printing import columns, counted, example, file_stem
from mbdfmu.cli.values import constant, output_file
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.description import Description

SECTIONS = {"bodies": "body", "joints": "joint", "forces": "force", "markers": "marker"}


def acceleration(text: str) -> tuple[float, ...]:
    """The type of an option: three constants with commas between them."""
    words = text.split(",")
    if len(words) != 3:
        raise click.BadParameter(f"must be three values with commas as in 0,0,-9.81, found {text}")
    try:
        return tuple(constant(word) for word in words)
    except ModelError as error:
        raise click.BadParameter(str(error)) from None


@click.command("import", epilog=example("mbdfmu import robot.urdf -o robot.json", "mbdfmu check robot.json"))
@click.argument("file", metavar="FILE.urdf")
@click.option(
    "-o",
    "--output",
    type=output_file(".json"),
    metavar="FILE",
    help="Model file to write; that of the robot's name in this folder if not given.",
)
@click.option(
    "--fixed-base/--floating",
    "fixed",
    default=None,
    help="Whether the root link is fixed to the ground; if not given, it is where it has no inertial.",
)
@click.option("--name", metavar="NAME", help="Of the model; the robot's if not given.")
@click.option(
    "--gravity",
    type=acceleration,
    metavar="X,Y,Z",
    default="0,0,-9.81",
    show_default=True,
    help="Acceleration of free fall, m/s2.",
)
def command(file: str, output: Path | None, fixed: bool | None, name: str | None, gravity: tuple[float, ...]) -> None:
    """Turn a robot's URDF file into a model file.

    Says what a model cannot hold of the file.
    """
    from mbdfmu.importers import read_urdf

    base = {None: "auto", True: "fixed", False: "floating"}[fixed]
    description, notes = read_urdf(file, base=base, name=name, gravity=gravity)
    path = output or Path(f"{file_stem(description.name)}.json")
    description.save(path)
    click.echo(f"wrote {path}: {_counts(description)}")
    click.echo(columns((note,) for note in notes))


def _counts(description: Description) -> str:
    found = ((len(getattr(description, section)), what) for section, what in SECTIONS.items())
    return ", ".join(counted(count, what) for count, what in found if count)
