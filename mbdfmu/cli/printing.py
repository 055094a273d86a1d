"""Text for people: aligned columns, numbers, examples of the help; must not know what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def columns(rows: Iterable[Sequence[str]], indent: int = 2) -> str:
    """Rows of text with aligned columns; the last column is as long as it is."""
    table = [tuple(row) for row in rows]
    if not table:
        return ""
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]) - 1)]
    return "\n".join(" " * indent + _line(row, widths) for row in table)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return "  ".join([*cells, row[-1]]).rstrip()


def number(value: float | int | str | bool | None) -> str:
    """A number to be read, not to be computed with."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def counted(count: int, what: str) -> str:
    """`1 body`, `2 bodies`."""
    if count == 1:
        return f"1 {what}"
    return f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"


def example(*commands: str) -> str:
    """The end of a command's help; click keeps the lines after the mark as they are."""
    return "\n".join(["\b", "Example:", *(f"  {command}" for command in commands)])


def file_stem(name: str) -> str:
    """A model's name as part of a file name."""
    return re.sub(r"[^\w.-]", "_", name) or "model"
