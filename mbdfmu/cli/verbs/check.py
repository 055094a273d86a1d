"""`mbdfmu check`: what a model amounts to, and whether it can start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mbdfmu.cli.endings import NEGATIVE, end
from mbdfmu.cli.printing import columns, counted, example, number
from mbdfmu.cli.targets import allow_outside, allow_python, load_model

if TYPE_CHECKING:
    from mbdfmu.analyses.check import Check, Residual
    from mbdfmu.description import Description

NOT_UNIQUE = "  the motion needs no such row; reactions in the joints named are not unique, the smallest are reported"
SHOWN = 20  # elements, those that are open the most


@click.command(epilog=example("mbdfmu check pendulum"))
@click.argument("model")
@allow_python
@allow_outside
def command(model: str) -> None:
    """Count constraints and freedoms of MODEL, test its start.

    Ends with 1 if the start positions or velocities do not fit the joints. Redundant constraints are named; a
    simulation leaves them out.
    """
    from mbdfmu.analyses.check import check

    loaded = load_model(model)
    result = check(loaded.compile())
    click.echo(f"{result.name}: {loaded.description.text}" if loaded.description.text else result.name)
    click.echo(columns(_counts(loaded.symbolic.description, result)))
    if result.openings:
        click.echo(_openings(result))
    for redundancy in result.redundant:
        click.echo(f"redundant: {redundancy}")
    if result.redundant:
        click.echo(NOT_UNIQUE)
    for note in result.notes:
        click.echo(f"note: {note}")
    if not result.passed:
        end(NEGATIVE, *result.findings)
    click.echo("no further findings" if result.redundant or result.notes else "no findings")


def _counts(description: Description, result: Check) -> Iterator[tuple[str, str]]:
    if result.bodies:
        yield "bodies", f"{result.bodies}, total mass {number(result.mass)} kg"
        yield "centre of mass", f"({', '.join(map(number, result.center))}) m"
        names = ("xx", "yy", "zz", "xy", "xz", "yz") if len(result.inertia) > 1 else ("zz",)
        parts = [f"{name} {number(x)}" for name, x in zip(names, result.inertia, strict=True)]
        yield "inertia about it", f"{', '.join(parts)} kg.m2"
    for section in ("joints", "forces", "motions", "constraints", "events", "impacts", "variables", "blocks"):
        elements = getattr(description, section)
        if elements:
            yield section if section != "constraints" else "user constraints", str(len(elements))
    yield "coordinates", str(result.coordinates)
    if result.states:
        yield "differential states", str(result.states)
    if result.unknowns:
        yield "unknowns besides", f"{result.unknowns}, solved for in every step"
    yield "constraint rows", f"{result.constraints}, rank {result.rank}"
    yield "degrees of freedom", str(result.freedoms)
    if result.counted:
        yield "counted", result.counted
    yield "length scale", f"{number(result.length)} m"


def _openings(result: Check) -> str:
    """The elements and how far they are open, the worst first."""
    worst = sorted(result.openings, key=lambda o: (o.position.closed and o.velocity.closed, -abs(o.position.value)))
    rows = [(o.label, counted(o.rows, "row"), _shown(o.position), _shown(o.velocity)) for o in worst[:SHOWN]]
    more = [f"  and {counted(len(worst) - SHOWN, 'more element')}, open no further"] if len(worst) > SHOWN else []
    return "\n".join(["open at the start", columns(rows), *more])


def _shown(residual: Residual) -> str:
    return f"{residual.value:.2g} {residual.unit}"
