"""Clocks and tables that all benchmarks share; must not know what is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Record = dict[str, Any]  # one row of a table: column -> text or number


LEAST, MOST = 3, 40  # turns


def interleaved(tasks: Mapping[Any, Callable[[], float]], seconds: float) -> dict[Any, float]:
    """The smallest time that each task reports, in turns, so that a slow moment of the machine hits all."""
    best = dict.fromkeys(tasks, math.inf)
    begin = time.perf_counter()
    for turn in range(MOST):
        if turn >= LEAST and time.perf_counter() - begin > seconds:
            break
        for key, task in tasks.items():
            best[key] = min(best[key], task())
    return best


def fastest(task: Callable[[], Any], repeats: int) -> float:
    """The smallest wall time of a call, s."""
    best = math.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - begin)
    return best


def exponent(small: float, large: float, ratio: float) -> float:
    """p in cost ~ size^p, from two costs whose sizes have a ratio."""
    return math.log(large / small) / math.log(ratio)


def table(records: Iterable[Record]) -> str:
    """Aligned columns; a column is a key of the records."""
    rows = list(records)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([_text(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    numeric = [any(isinstance(row.get(column), int | float) for row in rows) for column in columns]

    def line(texts: list[str]) -> str:
        aligned = (t.rjust(w) if n else t.ljust(w) for t, w, n in zip(texts, widths, numeric, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join(map(line, cells))


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    if value and not 1e-2 <= abs(value) < 1e5:
        return f"{value:.1e}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
