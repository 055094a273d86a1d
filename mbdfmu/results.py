"""What a run leaves behind: named columns with units, its files and plots; must not know how the run was made."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ModelError
from .files import atomic, named_file
from .tabular import TIME, Table, read_csv, write_csv

if TYPE_CHECKING:
    import h5py
    from matplotlib.figure import Figure

MAT_NAME_LENGTH = 63  # MATLAB's namelengthmax
MAT_TABLE = ("signal_names", "signal_variables", "signal_units")  # row k of each describes one variable of the file
MAT_KEYWORD = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|persistent|return|spmd|"
    "switch|try|while"
)
STATISTIC, PARAMETER = "statistics.", "parameters."  # prefixes of the HDF5 attributes that hold them
EVENTS = "%run/events"  # HDF5 dataset: time and name in every line
HDF5_GROWTH = 1 << 20  # bytes by which a file grows in memory
MODEL = "%model/description"  # HDF5 dataset; too long for an attribute, and no signal has such a key


@dataclass(frozen=True, eq=False, repr=False)
class Result(Table):
    """The table of a run and its story; `message` says why a run ended early.

    Then `complete` is False, unless the FMU wanted to go no further.

    `notes` are what a reader of the values has to know, such as reactions that are not unique.

    `description` is the text of the model file, `parameters` are the values that the run had in place of the model's.
    """

    statistics: dict[str, int | float] = field(default_factory=dict, kw_only=True)
    complete: bool = field(default=True, kw_only=True)
    message: str = field(default="", kw_only=True)
    events: tuple[tuple[float, str], ...] = field(default=(), kw_only=True)  # time, name
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    model: str = field(default="", kw_only=True)
    description: str = field(default="", kw_only=True)
    parameters: dict[str, float] = field(default_factory=dict, kw_only=True)

    def __repr__(self) -> str:
        span = f", t = {self.time[0]:g} .. {self.time[-1]:g} s" if len(self.time) else ""
        state = "complete" if self.complete else f"ended early: {self.message}"
        return f"<Result '{self.model}': {len(self.columns)} signals, {len(self.time)} points{span}, {state}>"

    @classmethod
    def from_array(cls, array: np.ndarray[Any, Any], units: Mapping[str, str] | None = None) -> Result:
        """Take over a structured array with a field `time`, the form in which fmpy returns results."""
        names = array.dtype.names or ()
        if TIME not in names:
            raise ModelError(f"the array has no field 'time'; its fields: {', '.join(names) or 'none'}")
        columns = {name: array[name] for name in names if name != TIME}
        return cls(array[TIME], columns, dict(units or {}))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Result:
        """Read a .csv, .h5 or .mat file. CSV and MATLAB files hold signals only, HDF5 files the whole story."""
        result: Result = _by_suffix(path, _READERS)(cls, path)
        return result

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write in the format that the suffix of `path` names."""
        _by_suffix(path, _WRITERS)(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `time [s],name [unit],...` with all digits; a time given twice is a jump."""
        write_csv(path, self)

    def to_hdf5(self, path: str | os.PathLike[str]) -> None:
        """Write one dataset for each signal with its unit; the story of the run is in the attributes of the file."""
        content = self._hdf5()
        with atomic(path) as temporary:
            temporary.write_bytes(content)

    def _hdf5(self) -> bytes:
        """The file in memory: HDF5 crashes where it closes a file that it could not write, as on a full disk."""
        import h5py

        memory: dict[str, Any] = {"driver": "core", "backing_store": False, "block_size": HDF5_GROWTH}
        with h5py.File("memory", "w", track_order=True, **memory) as file:
            for name in (TIME, *self.columns):
                dataset = file.create_dataset(_hdf5_key(name), data=self[name])
                dataset.attrs["name"] = name
                dataset.attrs["unit"] = self.unit(name)
            for key, value in self._story().items():
                file.attrs[key] = value
            if self.description:
                file[MODEL] = self.description
            if self.events:
                file[EVENTS] = "\n".join(f"{time!r} {name}" for time, name in self.events)
            file.flush()
            content: bytes = file.id.get_file_image()
        return content

    def _story(self) -> dict[str, Any]:
        """What else there is to say, as attributes."""
        story = {"model": self.model, "complete": self.complete, "message": self.message}
        story["notes"] = "\n".join(self.notes)
        story |= {STATISTIC + key: value for key, value in self.statistics.items()}
        return story | {PARAMETER + key: value for key, value in self.parameters.items()}

    def to_mat(self, path: str | os.PathLike[str]) -> None:
        """Write MATLAB v4: a column vector for each signal and three tables of original name, variable and unit."""
        from scipy.io import savemat

        names = [TIME, *self.columns]
        variables = _mat_variables(names)
        table = (names, variables, [self.unit(name) for name in names])
        content = {variable: self[name] for name, variable in zip(names, variables, strict=True)}
        content |= {key: _mat_text(texts) for key, texts in zip(MAT_TABLE, table, strict=True)}
        with atomic(path) as temporary:
            savemat(temporary, content, format="4", appendmat=False, oned_as="column")

    def to_dataframe(self) -> Any:
        """A pandas DataFrame over time; the units are in its `attrs`."""
        try:
            pandas = import_module("pandas")  # not a dependency, not even of an extra
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas, which is not installed; run: pip install pandas") from error

        frame = pandas.DataFrame(self.columns, index=pandas.Index(self.time, name=TIME))
        frame.attrs["units"] = dict(self.units)
        return frame

    def plot(self, *names: str, x: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the signals (patterns allowed; none means all) over time or `x`, one subplot for each unit."""
        by_unit: dict[str, list[str]] = {}
        for name in self.select(names or ("*",)):
            by_unit.setdefault(self.unit(name), []).append(name)
        figure = _draw(self, list(by_unit.values()), TIME if x is None else x)
        if path is not None:
            with atomic(path) as temporary:
                figure.savefig(temporary, format=Path(path).suffix[1:] or "png")
        return figure


def _draw(result: Result, groups: list[list[str]], x: str) -> Figure:
    """One axes below the other. No pyplot: its global state keeps figures alive and wants a screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib, which is not installed; run: pip install 'mbdfmu[plot]'") from error

    abscissa = result[x]
    figure = Figure(figsize=(8.0, 1.0 + 2.5 * len(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for ax, group in zip(axes, groups, strict=True):
        for name in group:
            ax.plot(abscissa, result[name], label=name)
        ax.set_ylabel(result.label(group[0]) if len(group) == 1 else f"[{result.unit(group[0]) or '1'}]")
        ax.grid(True, alpha=0.3)
        ax.legend()
    axes[-1].set_xlabel(result.label(x))
    if result.model:
        axes[0].set_title(result.model)
    return figure


def _read_csv(cls: type[Result], path: str | os.PathLike[str]) -> Result:
    table = read_csv(path, finite=False)  # a failed run may hold NaN, and comparisons must see it
    return cls(table.time, table.columns, table.units)


def _read_hdf5(cls: type[Result], path: str | os.PathLike[str]) -> Result:
    import h5py

    if not Path(path).is_file():
        raise ModelError(f"{path}: there is no such file")
    try:
        with h5py.File(path, "r", track_order=True) as file:
            return _from_hdf5(cls, file)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read as HDF5: {error}") from error
    except ModelError as error:
        raise ModelError(f"{path}: {problem}" for problem in error.problems) from None


def _from_hdf5(cls: type[Result], file: h5py.File) -> Result:
    import h5py

    datasets = {str(item.attrs.get("name", key)): item for key, item in file.items() if isinstance(item, h5py.Dataset)}
    if TIME not in datasets:
        raise ModelError(f"has no dataset 'time'; its datasets: {', '.join(datasets) or 'none'}")
    time = datasets.pop(TIME)[()]
    return cls(
        time,
        {name: dataset[()] for name, dataset in datasets.items()},
        {name: str(dataset.attrs.get("unit", "")) for name, dataset in datasets.items()},
        notes=tuple(str(file.attrs.get("notes", "")).splitlines()),
        events=tuple(map(_event, file[EVENTS].asstr()[()].splitlines())) if EVENTS in file else (),
        statistics=_attributes(file, STATISTIC),
        complete=bool(file.attrs.get("complete", True)),
        message=str(file.attrs.get("message", "")),
        model=str(file.attrs.get("model", "")),
        description=file[MODEL].asstr()[()] if MODEL in file else "",
        parameters=_attributes(file, PARAMETER),
    )


def _event(line: str) -> tuple[float, str]:
    time, _, name = line.partition(" ")
    return float(time), name


def _attributes(file: h5py.File, prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value.item() for key, value in file.attrs.items() if key.startswith(prefix)}


def _read_mat(cls: type[Result], path: str | os.PathLike[str]) -> Result:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not Path(path).is_file():
        raise ModelError(f"{path}: there is no such file")
    try:
        content = loadmat(path, appendmat=False)
    except (MatReadError, NotImplementedError, OSError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read as a MATLAB file: {error}") from error
    lost = [name for name in MAT_TABLE if name not in content]
    if lost:
        raise ModelError(f"{path}: has no {', '.join(lost)}; only files written by mbdfmu can be read")
    table = [[_plain(text) for text in content[name]] for name in MAT_TABLE]
    columns = {name: content[variable].reshape(-1) for name, variable, _ in zip(*table, strict=True)}
    units = {name: unit for name, _, unit in zip(*table, strict=True) if name != TIME}
    return cls(columns.pop(TIME), columns, units)


def _plain(text: str) -> str:
    """A row of a MATLAB table as it was before `_mat_text`."""
    return re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", lambda m: chr(int(m[1][1:], 16)), text.rstrip())


def _hdf5_key(name: str) -> str:
    """HDF5 takes a slash for a folder; FMUs of other tools may have it in names."""
    return name.replace("%", "%25").replace("/", "%2F")


def _mat_variables(names: Iterable[str]) -> list[str]:
    """MATLAB variables for the names, in order: `crank.phi` -> `crank_phi`; a second `crank_phi` -> `crank_phi_2`."""
    taken = set(MAT_TABLE)
    variables = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_]", "_", name)
        base = base if base[0].isalpha() else f"x{base}"
        variable, count = base[:MAT_NAME_LENGTH], 1
        while variable in taken or MAT_KEYWORD.fullmatch(variable):
            count += 1
            variable = f"{base[: MAT_NAME_LENGTH - len(str(count)) - 1]}_{count}"
        taken.add(variable)
        variables.append(variable)
    return variables


def _mat_text(texts: Iterable[str]) -> np.ndarray[Any, Any]:
    """Rows of one length; version 4 knows Latin-1 only, other letters become escapes such as \\u03a9."""
    plain = [text.encode("latin-1", "backslashreplace").decode("latin-1") for text in texts]
    width = max(1, *map(len, plain))
    return np.array([text.ljust(width) for text in plain])


def _by_suffix(path: str | os.PathLike[str], table: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    suffix = named_file(path).suffix.lower()
    if Path(path).is_dir():
        raise ModelError(f"{path}: is a folder; give the name of a file: {', '.join(table)}")
    if suffix not in table:
        raise ModelError(f"{path}: suffix '{suffix}' names no format known here; allowed: {', '.join(table)}")
    return table[suffix]


_READERS: dict[str, Callable[..., Any]] = {".csv": _read_csv, ".h5": _read_hdf5, ".hdf5": _read_hdf5, ".mat": _read_mat}
_WRITERS: dict[str, Callable[..., Any]] = {
    ".csv": Result.to_csv,
    ".h5": Result.to_hdf5,
    ".hdf5": Result.to_hdf5,
    ".mat": Result.to_mat,
}
