"""`mbdfmu animate`: a result as a moving picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbdfmu.cli.printing import example
from mbdfmu.cli.targets import allow_outside, load_model, outside_allowed
from mbdfmu.cli.values import assignments, constant, output_file
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.description import Description
    from mbdfmu.results import Result


@click.command(
    epilog=example(
        "mbdfmu simulate slider_crank -t 2 -o out.h5",
        "mbdfmu animate out.h5 -o out.html --gltf out.glb",
        "mbdfmu simulate pendulum -t 2 --set length=2 -o out.csv",
        "mbdfmu animate out.csv --model pendulum --set length=2 -o out.html",
    )
)
@click.argument("result")
@click.option("-o", "--output", type=output_file(".html", ".htm"), metavar="FILE", help="Page to write: .html.")
@click.option("--gltf", type=output_file(".glb", ".gltf"), metavar="FILE", help="Scene to write: .glb, .gltf.")
@click.option("--model", metavar="MODEL", help="What was simulated; a .h5 file knows it by itself.")
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter, if it was set in the simulation; a .h5 file knows it by itself; repeatable.",
)
@click.option("--frames", type=click.IntRange(min=2), metavar="NUMBER", help="Draw at most so many points; 1001.")
@allow_outside
def command(
    result: str,
    output: Path | None,
    gltf: Path | None,
    model: str | None,
    parameters: tuple[str, ...],
    frames: int | None,
) -> None:
    """Draw the motion in a RESULT file (.csv, .h5 or .mat).

    The page is one file that needs no network: open it in a browser. The glTF scene is for other programs.
    """
    from mbdfmu.animation import FRAMES, animate
    from mbdfmu.results import Result

    paths = [path for path in (output, gltf) if path is not None]
    if not paths:
        raise ModelError("there is nothing to write; give -o FILE.html, or --gltf FILE.glb, or both")
    given = assignments("--set", parameters, lambda _, text: constant(text))
    loaded = Result.read(result)
    description = _description(result, loaded, model)
    for note in animate(loaded, description, *paths, frames=frames or FRAMES, parameters=given):
        click.echo(f"note: {note}")
    for path in paths:
        click.echo(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


def _description(path: str, result: Result, model: str | None) -> Description:
    """The model that was named, or the one that the result brings along."""
    import mbdfmu.blocks
    import mbdfmu.forces
    import mbdfmu.joints  # noqa: F401  # all three: fills the families, so that entries can be read
    from mbdfmu.description import Description

    if model is not None:
        return load_model(model).description
    if not result.description:
        raise ModelError(f"{path}: does not say what was simulated; name the model: --model MODEL")
    return Description.from_json(result.description, path, allow_outside=outside_allowed())
