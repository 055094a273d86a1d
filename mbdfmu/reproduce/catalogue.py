"""All papers, and their items by name; one line per paper."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.reproduce import haug89, haug97, negrut05, welch07, wu00
from mbdfmu.reproduce.items import Item

PAPERS = (haug89.PAPER, haug97.PAPER, wu00.PAPER, negrut05.PAPER, welch07.PAPER)
LISTS = "all names: mbdfmu reproduce --list"


def items() -> dict[str, Item]:
    """All items by name, in the order of the papers."""
    return {item.name: item for paper in PAPERS for item in paper.items}


def chosen(names: Sequence[str]) -> list[Item]:
    """The items called so: `wu00.table2`, all of a paper (`wu00`), or a pattern (`*.table*`); all without names."""
    known = items()
    found: dict[str, Item] = {}
    problems = []
    for name in names or ("*",):
        fitting = {key: item for key, item in known.items() if _fits(key, name.lower())}
        if not fitting:
            papers = [paper.key.lower() for paper in PAPERS]
            problems.append(f"nothing to reproduce is called {name!r}{did_you_mean(name, [*known, *papers])}; {LISTS}")
        found |= fitting
    if problems:
        raise ModelError(problems)
    return list(found.values())


def _fits(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.") or fnmatchcase(key, name)
