"""Pictures of one or several results; must not know how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbdfmu.errors import ModelError
from mbdfmu.files import atomic

if TYPE_CHECKING:
    from mbdfmu.results import Result

PICTURES = (".png", ".pdf", ".svg")  # by all backends of matplotlib that need no screen
STYLES = ("-", "--", ":", "-.")  # the first result's, then the others' in turn: curves that agree stay visible


def need_matplotlib() -> None:
    """Refuse to draw before anything is computed."""
    if find_spec("matplotlib") is None:
        raise ModelError("a plot needs matplotlib, which is not installed; run: pip install 'mbdfmu[plot]'")


def draw(results: Mapping[str, Result], path: Path, names: Sequence[str] = (), x: str | None = None) -> None:
    """The signals of all results over time or `x`; a result that lacks a signal of the first is refused."""
    empty = [label for label, result in results.items() if not len(result.time)]
    if empty:
        raise ModelError(f"{label}: has no rows, of which nothing can be drawn" for label in empty)
    (first, *others) = results
    figure = results[first].plot(*names, x=x)
    if others:
        drawn = results[first].select(names or ("*",))
        for label, style in zip(others, cycle(STYLES[1:])):
            _overlay(figure, drawn, results[label], label, (x, style))
        _finish(figure, first)
    with atomic(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower())


def _overlay(figure: Any, drawn: Sequence[str], result: Result, label: str, how: tuple[str | None, str]) -> None:
    """Draw another result into the axes that hold the first."""
    x, style = how
    names = result.select(drawn)
    abscissa = result["time" if x is None else x]
    for ax in figure.axes:
        for name in [str(line.get_label()) for line in ax.lines]:
            if name in names:  # of the first result; those of others carry their label
                ax.plot(abscissa, result[name], style, label=f"{name} ({label})")


def _finish(figure: Any, first: str) -> None:
    """Say in the legend which curve is whose."""
    for ax in figure.axes:
        for line in ax.lines:
            if line.get_linestyle() == STYLES[0]:
                line.set_label(f"{line.get_label()} ({first})")
        ax.legend()
