"""`mbdfmu equilibrium`: where a model stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.printing import columns, counted, example, number
from mbdfmu.cli.targets import allow_outside, allow_python, load_model
from mbdfmu.cli.values import constants, output_file, positive

if TYPE_CHECKING:
    from mbdfmu.analyses import Equilibrium
    from mbdfmu.facade import Model

SHOWN = 20  # signals
MOST_NAMED = 6  # coordinates
ASSIGNED = {"--set": "parameters", "--start": "start", "--input": "inputs"}


@click.command(
    epilog=example("mbdfmu equilibrium double_wishbone", "mbdfmu equilibrium pendulum --set phi0=30*deg -o rest.json")
)
@click.argument("model")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter; repeatable.")
@click.option(
    "--start",
    multiple=True,
    metavar="NAME=VALUE",
    help="Where a coordinate begins, or a velocity that a motion from here has; repeatable.",
)
@click.option("--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Input; repeatable.")
@click.option("--record", multiple=True, metavar="PATTERN", help="Signals to show; the outputs if not given.")
@click.option("--method", default="settle", show_default=True, metavar="settle|equations|energy", help="How to search.")
@click.option("--tolerance", type=positive, metavar="NUMBER", help="Largest motion of a step at rest (1e-10).")
@click.option("--limit", type=click.IntRange(min=1), metavar="COUNT", help="Steps allowed.")
@click.option("--assemble/--no-assemble", default=None, help="Close the joints from a start that does not fit.")
@click.option(
    "-o", "--output", type=output_file(".json"), metavar="FILE", help="File (.json) to start simulations from."
)
@allow_python
@allow_outside
def command(model: str, output: Path | None, record: tuple[str, ...], **given: Any) -> None:
    """Let a MODEL come to rest.

    Follows the forces from the start, without inertia and with time held; solves the equations of equilibrium, which
    finds unstable rests too; or goes down to the least potential energy. Ends with 1 if there is no rest.
    """
    loaded = load_model(model)
    parameters, start, inputs = constants({option: given.pop(key) for option, key in ASSIGNED.items()})
    chosen = {key: value for key, value in given.items() if value is not None}
    found = loaded.equilibrium(parameters=parameters, start=start, inputs=inputs, **chosen)
    click.echo("\n".join(_summary(found)))
    rows = list(_values(loaded, found, record))
    click.echo(columns(rows[:SHOWN]), nl=bool(rows))
    if len(rows) > SHOWN:
        click.echo(f"  and {counted(len(rows) - SHOWN, 'more signal')}")
    if output:
        found.write(output)
        click.echo(f"wrote {output}")


def _summary(found: Equilibrium) -> Iterator[str]:
    yield f"{found.model}: at rest after {counted(found.steps, 'step')}, {counted(found.iterations, 'iteration')}"
    yield f"  largest acceleration left {found.residual:.1e}, {found.worst}"
    verdicts = {True: "a small push is returned", False: "not stable", None: "stability not examined"}
    yield f"  {_neutral(found.neutral) if found.stable and found.neutral else verdicts[found.stable]}"
    yield from (f"  {note}" for note in found.notes)


def _neutral(along: tuple[str, ...]) -> str:
    named = ", ".join(along[:MOST_NAMED]) + (", .." if len(along) > MOST_NAMED else "")
    return f"neutral: a small push along {named} is neither returned nor grows"


def _values(model: Model, found: Equilibrium, record: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Name, value and unit of what was asked for, of the outputs, or of the positions."""
    from mbdfmu.analyses.simulate import recorded_names

    names = recorded_names(model.symbolic, record) if record else list(model.symbolic.description.outputs)
    for name in names or found.positions:
        yield name, number(found[name] if name in found.values else found.positions[name]), found.units.get(name, "")
