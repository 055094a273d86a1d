"""The progress bar of a long run, on a terminal only; must not know what runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # s; what is done earlier needs no bar


@contextmanager
def progress_bar(t_end: float | None, unit: str = "s", begin: float = 0.0) -> Iterator[Callable[[float], None] | None]:
    """A function to be told the present time of the simulation, or the count of items; None where nobody watches."""
    if t_end is None or not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    shape = f"{{percentage:3.0f}}% |{{bar}}| {{desc}} of {t_end:.4g} {unit} [{{elapsed}}<{{remaining}}]"
    size = shutil.get_terminal_size()  # where a terminal tells no size, tqdm by itself would draw nothing
    look: dict[str, Any] = {"bar_format": shape, "ncols": min(size.columns, 100), "nrows": size.lines, "leave": False}
    with tqdm(total=t_end - begin, delay=PATIENCE, file=sys.stderr, **look) as bar:

        def tell(t: float) -> None:
            bar.set_description_str(f"{t:.4g}", refresh=False)
            bar.update(t - begin - bar.n)

        yield tell
