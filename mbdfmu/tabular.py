"""A table of time and named columns with units, in memory and as CSV; must not know models, runs or other formats.

The CSV form is the same in and out: first column `time [s]`, then `name [unit]`; a time given twice is a jump.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError, did_you_mean
from .files import atomic

Array: TypeAlias = NDArray[np.float64]
Lines: TypeAlias = list[tuple[int, str]]  # line number in the file (from 1) and text

TIME = "time"
SHOWN = 10  # findings or known names in one message
BLOCK = 4096  # rows turned into text at once, to bound the memory
# The blank before the bracket is required, so that `body.r[1]` stays a name.
LABEL = re.compile(r"(?P<name>.*\S)\s+\[(?P<unit>[^\[\]]*)\]")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns over one never decreasing time; `units` may be left out, a column without unit has the unit ''."""

    time: Array
    columns: dict[str, Array]
    units: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stray = [name for name in self.units if name not in self.columns]
        problems = [f"unit given for '{name}', which is not a column" for name in stray]
        set_field = object.__setattr__  # frozen for everyone else
        set_field(self, "time", _vector(TIME, self.time))
        set_field(self, "columns", {name: _vector(name, values) for name, values in self.columns.items()})
        set_field(self, "units", {name: self.units.get(name, "") for name in self.columns})
        problems += [f"row {row}: {text}" for row, text in _time_problems(self.time)]
        problems += [text for name, values in self.columns.items() for text in self._column_problems(name, values)]
        if problems:
            raise ModelError(problems[:SHOWN])

    def _column_problems(self, name: str, values: Array) -> Iterable[str]:
        if not name or name != name.strip() or name == TIME:
            yield f"column name {name!r} cannot be used; give a text without blanks around it, not '' and not '{TIME}'"
        if values.shape != self.time.shape:
            yield f"column '{name}' has shape {values.shape}, time has {self.time.shape}; give one value for each time"

    def __getitem__(self, name: str) -> Array:
        if not isinstance(name, str):
            raise ModelError(f"a signal is asked for by its name, found {name!r}")
        if name == TIME:
            return self.time
        if name not in self.columns:
            raise ModelError(unknown("signal", name, self.columns))
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name == TIME or name in self.columns

    __iter__: ClassVar[None] = None  # else Python would try table[0], table[1], ...

    def unit(self, name: str) -> str:
        """The unit of a column, '' where it has none."""
        if name == TIME:
            return "s"
        self[name]  # an unknown name is refused here
        return self.units[name]

    def label(self, name: str) -> str:
        """`name [unit]`, the way headers and axes show a column."""
        unit = self.unit(name)
        return f"{name} [{unit}]" if unit else name

    def names(self, pattern: str = "*") -> list[str]:
        """The columns that match a shell pattern such as `crank.*`; a full name matches only itself."""
        if not isinstance(pattern, str):
            raise ModelError(f"signals are chosen by names or patterns such as 'crank.*', found {pattern!r}")
        if pattern in self.columns:  # `r[1]` is a name first and a pattern second
            return [pattern]
        return [name for name in self.columns if fnmatchcase(name, pattern)]

    def select(self, patterns: str | Iterable[str]) -> list[str]:
        """The columns that match the pattern or any of several, each once; one without a match is refused."""
        several = list(patterns) if isinstance(patterns, Iterable) and not isinstance(patterns, str) else [patterns]
        found = dict(zip(several, map(self.names, several), strict=True))
        problems = [unknown("signal", pattern, self.columns) for pattern, names in found.items() if not names]
        if problems:
            raise ModelError(problems)
        return list(dict.fromkeys(name for names in found.values() for name in names))


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that is not there: what was meant, or what there is."""
    known = list(known)
    hint = did_you_mean(name, known)
    if not hint:
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        hint = f"; known {what}s: {', '.join(known[:SHOWN]) or 'none'}{more}"
    return f"no {what} is named '{name}'{hint}"


def write_csv(path: str | os.PathLike[str], table: Table) -> None:
    """Write the table so that reading it gives the same numbers to the last bit."""
    names = list(table.columns)
    with atomic(path) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow([table.label(name) for name in (TIME, *names)])
        for start in range(0, len(table.time), BLOCK):
            rows = slice(start, start + BLOCK)
            block = np.column_stack([table.time[rows], *(table.columns[name][rows] for name in names)])
            file.writelines(",".join(map(repr, row)) + "\n" for row in block.tolist())


def read_csv(path: str | os.PathLike[str], *, finite: bool = True) -> Table:
    """Read a table; everything wrong is reported with its line, at most ten findings at once."""
    return _read(path, finite)[1]


def read_inputs(path: str | os.PathLike[str], known: Mapping[str, str]) -> Table:
    """Read input signals; `known` gives name and unit of the inputs there are. Inputs may be left out."""
    header, table = _read(path, finite=True)
    where = f"{path}: line {header}"
    problems = [f"{where}: {unknown('input', name, known)}" for name in table.columns if name not in known]
    problems += [f"{where}: {problem}" for problem in foreign_units(table, known)]
    if not len(table.time):
        problems.append(f"{path}: has a header but no rows; give at least one time")
    if problems:
        raise ModelError(problems)
    return table


def foreign_units(table: Table, known: Mapping[str, str]) -> list[str]:
    """What is wrong with the units that input signals are said to have; `known` as in `read_inputs`."""
    return [
        f"input '{name}' is in '{unit}', the model has it in '{known[name] or 1}'; convert the numbers"
        for name, unit in table.units.items()
        if differ(unit, known.get(name, unit))
    ]


def differ(found: str, wanted: str) -> bool:
    """Whether a column says another unit; it may say none, and '1' is no unit too."""
    return bool(found) and found != (wanted or "1")


def _read(path: str | os.PathLike[str], finite: bool) -> tuple[int, Table]:
    """The line of the header and the table below it."""
    header, *rows = _lines(path)
    try:
        labels = _labels(*header)
        values = _values(rows, labels)
        _check_rows(values, rows, labels, finite)
    except ModelError as error:
        raise ModelError(f"{path}: {problem}" for problem in error.problems[:SHOWN]) from None
    time, *columns = np.ascontiguousarray(values.T)
    names = [name for name, _ in labels[1:]]
    return header[0], Table(time, dict(zip(names, columns, strict=True)), dict(labels[1:]))


def _vector(name: str, values: object) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"column '{name}' is not made of numbers: {error}") from error


def _time_problems(time: Array) -> list[tuple[int, str]]:
    """Row (from 0) and text of what is wrong with a time column."""
    if time.ndim != 1:
        return [(0, f"time has shape {time.shape}; give a plain sequence of numbers")]
    wild = np.flatnonzero(~np.isfinite(time))[:SHOWN]
    if len(wild):
        return [(int(row), f"time is {time[row]}; it must be finite") for row in wild]
    back = np.flatnonzero(np.diff(time) < 0)[:SHOWN] + 1
    return [(int(row), f"time {time[row]!s} comes after {time[row - 1]!s}; time must not go back") for row in back]


def _lines(path: str | os.PathLike[str]) -> Lines:
    """The lines that are not blank."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ModelError(f"{path}: is a folder; give the name of a file") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ModelError(f"{path}: line {line}: not UTF-8 text; save it as CSV in UTF-8") from None
    lines = [(number, line) for number, line in enumerate(io.StringIO(text, newline=None), 1) if line.strip()]
    if not lines:
        raise ModelError(f"{path}: is empty; the first line must be 'time [s],name [unit],...'")
    return lines


def _labels(number: int, line: str) -> list[tuple[str, str]]:
    """Name and unit of each column of the header, time first."""
    labels = [_parse_label(text) for text in next(csv.reader([line.strip()]))]
    names = [name for name, _ in labels]
    if labels[0] not in ((TIME, ""), (TIME, "s")):
        cure = "; separate columns by commas" if re.search("[;\t]", line) else ""
        found = next(csv.reader([line.strip()]))[0].strip()  # with the unit, which may be what is wrong
        raise ModelError(f"line {number}: the first column must be 'time [s]', found '{found}'{cure}")
    problems = [f"line {number}: column {k} has no name" for k, name in enumerate(names, 1) if not name]
    twice = dict.fromkeys(name for name in names if name and names.count(name) > 1)
    problems += [f"line {number}: column '{name}' is given {names.count(name)} times; keep one" for name in twice]
    if problems:
        raise ModelError(problems)
    return labels


def _parse_label(text: str) -> tuple[str, str]:
    match = LABEL.fullmatch(text.strip())
    return (match["name"], match["unit"].strip()) if match else (text.strip(), "")


def _values(lines: Lines, labels: list[tuple[str, str]]) -> Array:
    """All numbers, one row for each line. Only where NumPy's fast reader fails are the lines searched one by one."""
    if not lines:
        return np.empty((0, len(labels)))
    try:
        values: Array = np.loadtxt([line for _, line in lines], delimiter=",", comments=None, quotechar='"', ndmin=2)
    except ValueError as error:
        raise ModelError(_unreadable(lines, labels) or [str(error)]) from None
    if values.shape[1] != len(labels):
        raise ModelError(_unreadable(lines, labels))
    return values


def _unreadable(lines: Lines, labels: list[tuple[str, str]]) -> list[str]:
    problems: list[str] = []
    for number, line in lines:
        cells = next(csv.reader([line.strip()]))
        if len(cells) != len(labels):
            problems.append(f"line {number}: {len(cells)} values, the header names {len(labels)} columns")
            continue
        wrong = ((name, cell) for (name, _), cell in zip(labels, cells, strict=True) if not _is_number(cell))
        problems += [f"line {number}: column '{name}': '{cell.strip()}' is not a number" for name, cell in wrong]
        if len(problems) >= SHOWN:
            break
    return problems


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_000, other tools do not


def _check_rows(values: Array, lines: Lines, labels: list[tuple[str, str]], finite: bool) -> None:
    problems = [f"line {lines[row][0]}: {text}" for row, text in _time_problems(values[:, 0])]
    if finite:
        wild = [(i, j) for i, j in np.argwhere(~np.isfinite(values))[:SHOWN] if j]  # column 0 is time, see above
        problems += [f"line {lines[i][0]}: column '{labels[j][0]}': {values[i, j]} is not finite" for i, j in wild]
    if problems:
        raise ModelError(problems)
