"""`mbdfmu linearize`: the linear model about a state, and its modes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import columns, counted, example, file_stem, number
from mbdfmu.cli.targets import allow_outside, allow_python, whole_model
from mbdfmu.cli.values import checked_later, constant, constants, output_file, together

if TYPE_CHECKING:
    from mbdfmu.analyses import LinearModel, Mode
    from mbdfmu.facade import Model

SHOWN = 30  # modes
LARGE = 0.1  # of the largest in a shape
ASSIGNED = {"--set": "parameters", "--start": "start", "--hold": "input_values"}


@click.command(
    epilog=example(
        "mbdfmu linearize quarter_car --input road --output acceleration --plot",
        "mbdfmu linearize cart_pendulum -o cart.mat",
        "mbdfmu linearize top --at 0.5",
    )
)
@click.argument("model")
@click.option(
    "--at", default="equilibrium", show_default=True, metavar="equilibrium|start|TIME",
    help="Where: at rest, at the start, or at a time in s.",
)  # fmt: skip
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="Input (or pattern); all if not given.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="Signal; the outputs if not given.")
@click.option("--state", "states", multiple=True, metavar="NAME", help="Independent coordinate; chosen if not given.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter; repeatable.")
@click.option("--start", multiple=True, metavar="NAME=VALUE", help="Where a coordinate begins; repeatable.")
@click.option("--hold", "input_values", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable.")
@click.option("--method", default="settle", show_default=True, metavar="settle|equations|energy", help="To rest.")
@click.option("--assemble/--no-assemble", default=None, help="Close the joints from a start that does not fit.")
@allow_python
@allow_outside
@click.option(
    "-o", "--output-file", "file", type=checked_later(output_file(".json", ".mat")), metavar="FILE",
    help="File (.json, .mat).",
)
@click.option("--plot", is_flag=True, help="Draw the first output over the first input (Bode) beside FILE.")
def command(model: str, at: str, file: Path | None, plot: bool, **given: Any) -> None:
    """Linearise a MODEL and show its modes.

    Gives xdot = A x + B u, y = C x + D u. Joints are eliminated exactly: states are independent positions and
    velocities, then the model's own. Ends with 1 if there is no rest.
    """
    if plot:
        need_matplotlib()
    assigned = {option: given.pop(key) for option, key in ASSIGNED.items()}
    loaded, (parameters, start, values), place = together(
        lambda: whole_model(model), lambda: constants(assigned), lambda: _place(at)
    )
    for key in ("inputs", "outputs", "states"):
        given[key] = given[key] or None
    found = loaded.linearize(at=place, parameters=parameters, start=start or None, input_values=values, **given)
    click.echo("\n".join(_summary(found)))
    click.echo(columns(_table(found)), nl=bool(found.modes))
    for note in found.notes:
        click.echo(f"  {note}")
    if file:
        found.write(file)
        click.echo(f"wrote {file}")
    if plot:
        _draw(found, file, loaded)


def _place(at: str) -> str | float:
    """A word or a time."""
    return constant(at) if at[:1].isdigit() or at[:1] in "+-." else at


def _summary(found: LinearModel) -> Iterator[str]:
    counts = (counted(len(getattr(found, what)), what[:-1]) for what in ("states", "inputs", "outputs"))
    yield f"{found.model} at {found.at}: {', '.join(counts)}"
    yield f"  states   {', '.join(found.states) or 'none'}"
    yield f"  inputs   {', '.join(found.inputs) or 'none'}"
    yield f"  outputs  {', '.join(found.outputs) or 'none'}"


def _table(found: LinearModel) -> list[tuple[str, ...]]:
    if not found.modes:
        return []
    rows: list[tuple[str, ...]] = [("frequency [Hz]", "damping", "eigenvalue [1/s]", "moves")]
    rows += [_row(mode, set(found.states)) for mode in found.modes[:SHOWN]]
    if len(found.modes) > SHOWN:
        rows.append((f"and {len(found.modes) - SHOWN} more", "", "", ""))
    return rows


def _row(mode: Mode, states: set[str]) -> tuple[str, ...]:
    value = mode.eigenvalue
    text = f"{value.real:.5g} +- {value.imag:.5g}i" if mode.oscillates else f"{value.real + 0.0:.5g}"
    sizes = {name: abs(part) for name, part in mode.moves.items() if name in states}
    most = sorted((name for name, size in sizes.items() if size >= LARGE), key=lambda n: -sizes[n])
    return number(mode.frequency), number(mode.damping), text, ", ".join(most[:4])


def _draw(found: LinearModel, file: Path | None, model: Model) -> None:
    if not (found.inputs and found.outputs):
        raise click.UsageError("a plot needs an input and an output; name them (--input, --output)")
    path = (file or Path(f"{file_stem(model.name)}_bode")).with_suffix(".png")
    found.plot_bode(found.outputs[0], found.inputs[0], path=path)
    click.echo(f"wrote {path}")
