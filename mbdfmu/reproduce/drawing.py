"""The figures of the items as files; must not know what they show."""

from __future__ import annotations

from pathlib import Path

from mbdfmu.files import atomic
from mbdfmu.reproduce.items import Item


def drawn(item: Item, folder: Path) -> Path:
    """Draw the figure of an item into `folder`/NAME.png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert item.draw is not None
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    item.draw(figure)
    for axes in figure.axes:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
    path = folder / f"{item.name}.png"
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return path
