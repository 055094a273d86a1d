"""`mbdfmu compare`: is a result what it should be?"""

from __future__ import annotations

import click

from mbdfmu.cli.endings import NEGATIVE, end
from mbdfmu.cli.printing import example
from mbdfmu.cli.values import not_negative


@click.command(
    epilog=example(
        "mbdfmu simulate pendulum -t 1 --dt 0.01 -o a.csv",
        "mbdfmu simulate pendulum -t 1 --dt 0.01 --tolerance 1e-8 -o b.h5",
        "mbdfmu compare a.csv b.h5 --rtol 1e-3 --signals 'bar.*'",
    )
)
@click.argument("result")
@click.argument("reference")
@click.option(
    "--rtol",
    type=not_negative,
    metavar="NUMBER",
    default="1e-3",
    show_default=True,
    help="Allowed, as a part of the range of each signal.",
)
@click.option("--atol", type=not_negative, metavar="NUMBER", help="Allowed at least, in the unit of each signal.")
@click.option(
    "--time-tolerance",
    type=not_negative,
    metavar="SECONDS",
    help="Allowed along time; without it rtol times the duration.",
)
@click.option("--signals", multiple=True, metavar="PATTERN", help="Compare these only; repeatable.")
def command(
    result: str, reference: str, rtol: float, atol: float | None, time_tolerance: float | None, signals: tuple[str, ...]
) -> None:
    """Compare RESULT with REFERENCE (.csv, .h5) by signals.

    Every signal of the reference must lie in a tube around its curve. Ends with 1 if one does not.
    """
    from mbdfmu.regression import compare

    found = compare(result, reference, rtol=rtol, atol=atol, time_tolerance=time_tolerance, signals=signals or None)
    click.echo(found.report())
    if not found.passed:
        end(NEGATIVE)
