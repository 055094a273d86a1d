"""Rewrite docs/reproduction.md, the papers' tables as they come out here; must not know any paper.

    python docs/make_reproduction.py            compute all and rewrite the page
    python docs/make_reproduction.py --quick    keep the sections of what takes long
    python docs/make_reproduction.py --check    name the sections that differ, write nothing, end with 1 if any
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mbdfmu.reproduce import PAPERS, Item, Paper, Row

PAGE = Path(__file__).resolve().parent / "reproduction.md"
SECTION = re.compile(r"<!-- item: (?P<name>\S+) -->\n(?P<body>.*?)<!-- end -->\n", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NEAR = 0.02  # counts of steps and measured orders differ a little from machine to machine
HEAD = """# The papers, computed anew

Tables, headline figures and measurable claims of the five papers that the [theory](theory.md#references) builds on, as
`mbdfmu reproduce` computes them: the value as printed, the value that should stand there where the paper is in error or
silent (from an independent computation), and ours. Written by `docs/make_reproduction.py` and compared by the tests.

```console
$ mbdfmu reproduce --list
$ mbdfmu reproduce wu00.table2
$ mbdfmu reproduce --quick --plot figures
```

"""
COLUMNS = ("value", "paper", "correct", "ours", "agreement", "remark")
Rows = Callable[[Item], Sequence[Row]]


def computed(item: Item) -> Sequence[Row]:
    """The rows of an item."""
    return list(item.rows())


def page(before: str, quick: bool, rows: Rows = computed) -> str:
    """The page; with `quick` the sections of long items stay as they are in `before`."""
    kept = {found["name"]: found["body"] for found in SECTION.finditer(before)} if quick else {}
    return HEAD + "\n".join(_paper(paper, kept, rows) for paper in PAPERS)


def _paper(paper: Paper, kept: dict[str, str], rows: Rows) -> str:
    parts = [f"## [{paper.key}] {paper.title}\n"]
    for item in paper.items:
        body = kept[item.name] if item.long and item.name in kept else section(item, rows(item))
        parts.append(f"<!-- item: {item.name} -->\n{body}<!-- end -->\n")
    lost = [f"{lost.title}: {lost.reason}" for lost in paper.lost]
    ends = {"Our findings": paper.findings, "Other misprints": paper.errata, "Not reproducible": lost}
    for title, points in ends.items():
        if points:
            parts.append(f"### {title}\n\n" + "".join(f"* {point}.\n" for point in points))
    return "\n".join(parts)


def section(item: Item, rows: Sequence[Row]) -> str:
    """One item."""
    lines = [f"### {item.title}\n", f"`mbdfmu reproduce {item.name}`: {item.convention}.\n"]
    table = [COLUMNS, ["---"] * len(COLUMNS), *map(_cells, rows)]
    return "\n".join(lines) + "\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in table)


def _cells(row: Row) -> tuple[str, ...]:
    agreement = row.check.promise() if row.verdict.agrees else "**missed**"
    cells = (row.label, row.paper, row.expected, row.shown, agreement, row.remark)
    return tuple(cell.replace("|", r"\|") for cell in cells)


def differing(old: str, new: str) -> Iterator[str]:
    """Names of the sections that are not the same, and "the rest"."""
    before, after = ({found["name"]: found["body"] for found in SECTION.finditer(text)} for text in (old, new))
    yield from (name for name in after if not same(before.get(name, ""), after[name]))
    if SECTION.sub("", old) != SECTION.sub("", new) or before.keys() - after.keys():
        yield "the rest"


def same(old: str, new: str) -> bool:
    """Equal words, and numbers that are equal or close."""
    if NUMBER.sub("", old) != NUMBER.sub("", new):
        return False
    numbers = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= NEAR * abs(float(a)) for a, b in numbers)


def main(arguments: Sequence[str]) -> int:
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    new = page(old, "--quick" in arguments)
    stale = list(differing(old, new))
    if "--check" not in arguments and stale:
        PAGE.write_text(new, encoding="utf-8", newline="\n")
    for name in stale:
        print(f"{PAGE.name}: {name} {'is' if '--check' in arguments else 'was'} stale")
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
