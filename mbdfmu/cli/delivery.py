"""What a run leaves to its user: summary, file, picture, final values, exit code; must not know how it was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbdfmu.cli.drawing import draw
from mbdfmu.cli.endings import INTERRUPTED, NEGATIVE, end
from mbdfmu.cli.printing import file_stem
from mbdfmu.cli.summary import final_values, summary
from mbdfmu.errors import Interrupted, StepFailed

if TYPE_CHECKING:
    from mbdfmu.results import Result


def kept(run: Callable[[], Result]) -> Result:
    """The result, also where the run failed or was interrupted; one that ended before its first point has none."""
    try:
        return run()
    except (StepFailed, Interrupted) as error:
        if error.result is None:
            raise
        result: Result = error.result
        return result


def deliver(result: Result, shown: Sequence[str], output: Path | None, *, plot: bool) -> None:
    """Tell the work, write file and picture, else show final values; a run that ended early ends the command."""
    click.echo(summary(result))
    if output:
        result.write(output)
        click.echo(f"wrote {output}")
    if plot and len(result.time):
        picture = (output or Path(file_stem(result.model))).with_suffix(".png")
        draw({result.model: result}, picture, shown)
        click.echo(f"wrote {picture}")
    if not (output or plot):
        click.echo(final_values(result, shown), nl=bool(shown))
    if not result.complete:
        interrupted = result.message.startswith(("interrupted", "terminated"))
        end(INTERRUPTED if interrupted else NEGATIVE, result.message)
