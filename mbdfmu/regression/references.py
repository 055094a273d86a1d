"""Where the reference of an FMU is and what it says: inside the archive or beside it; must not know how to run FMUs.

Beside `crank.fmu` lie the files of the FMI cross-check rules 4.1, section 9.1.4: `crank_ref.csv` (the result),
`crank_in.csv` (inputs) and `crank_ref.opt` (times, tolerance); `crank_ref.json` (story.py) tells what these cannot.
`crank.reference.csv` stands for `crank_ref.csv`. Inside the FMU they are named by the layered standard FMI-LS-REF.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from mbdfmu.errors import ModelError
from mbdfmu.fmi.references import MANIFEST
from mbdfmu.regression.story import UNSAID, Conditions, read_options, read_story
from mbdfmu.results import Result
from mbdfmu.tabular import Table, read_csv

RESULT, INPUTS, OPTIONS, STORY = "_ref.csv", "_in.csv", "_ref.opt", "_ref.json"
OTHER_RESULT = ".reference.csv"
_ENDS = (RESULT, OTHER_RESULT, "_out.csv", ".csv", ".h5", ".hdf5", ".mat")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What an FMU should compute, under which conditions, and where that is written."""

    name: str  # tells the references of one FMU apart; '' where there is but one
    origin: str
    result: Result
    inputs: Table | None = None
    conditions: Conditions = UNSAID


def find(fmu: str | os.PathLike[str], where: str | os.PathLike[str] | None = None) -> list[Reference]:
    """The references of an FMU: those in the file or folder `where`, else beside it, else inside it."""
    path = Path(fmu)
    if where is not None and not Path(where).is_dir():
        return _named_apart([_of_file(Path(where))])
    folder = path.parent if where is None else Path(where)
    found = [_of_file(file) for file in _beside(path, folder)] or list(_inside(path) if where is None else ())
    if not found:
        names = f"{path.stem}{RESULT} or {path.stem}{OTHER_RESULT}"
        inside = "" if where is not None else f", nor {MANIFEST} inside the FMU"
        raise ModelError(
            f"{path}: nothing says what it should compute: there is no {names} in '{folder}'{inside}; "
            f"make a reference: mbdfmu record {shlex.quote(str(path))}"
        )
    return _named_apart(found)


def _named_apart(found: list[Reference]) -> list[Reference]:
    """A name matters only where there are several."""
    return [replace(found[0], name="")] if len(found) == 1 else found


def _beside(fmu: Path, folder: Path) -> list[Path]:
    candidates = [folder / f"{fmu.stem}{end}" for end in (RESULT, OTHER_RESULT)]
    return [path for path in candidates if path.is_file()]


def _of_file(path: Path, *, name: str = "", inputs: Path | None = None) -> Reference:
    """The reference in a file, with what lies beside it: inputs, options, story."""
    base = path.name
    for end in _ENDS:
        if base.lower().endswith(end):
            base = base[: -len(end)]
            break
    beside = {end: path.with_name(f"{base}{end}") for end in (INPUTS, OPTIONS, STORY)}
    conditions = UNSAID
    if beside[OPTIONS].is_file():
        conditions = read_options(beside[OPTIONS])
    if beside[STORY].is_file():
        conditions = read_story(beside[STORY], conditions)
    inputs = inputs or (beside[INPUTS] if beside[INPUTS].is_file() else None)
    return Reference(
        name=name or path.name,
        origin=os.fspath(path),
        result=_checked(Result.read(path), path),
        inputs=None if inputs is None else read_csv(inputs),
        conditions=conditions,
    )


def _checked(result: Result, path: Path) -> Result:
    if not result.columns or not len(result.time) or not result.time[0] < result.time[-1]:
        raise ModelError(f"{path}: holds no curve; a reference needs a column beside the time, and rows over time")
    return result


# ---------------------------------------------------------------- inside the FMU


@dataclass(frozen=True, kw_only=True)
class _Experiment:
    """One experiment of the manifest; sources are members of the archive."""

    name: str
    result: str
    inputs: str = ""
    parameters: str = ""
    conditions: Conditions = UNSAID


def _inside(fmu: Path) -> Iterator[Reference]:
    """The references that the FMU's manifest names (FMI-LS-REF 1.0.0-alpha.1, and experiments as it points to them)."""
    if not fmu.is_file():
        raise ModelError(f"{fmu}: there is no such FMU; export one: mbdfmu export-fmu MODEL -o {fmu}")
    try:
        archive = zipfile.ZipFile(fmu)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{fmu}: cannot be read as an FMU: {error}") from None
    with archive, tempfile.TemporaryDirectory(prefix="mbdfmu_") as folder:
        if MANIFEST not in archive.namelist():
            return
        try:
            for experiment in _experiments(archive):
                yield _unpacked(archive, experiment, Path(folder))
        except ModelError as error:
            # Names in the archive mean more to a reader than those of a temporary folder.
            raise ModelError(p.replace(f"{folder}{os.sep}", f"{fmu}: ") for p in error.problems) from None


def _experiments(archive: zipfile.ZipFile) -> list[_Experiment]:
    """Experiments with their stimuli, then results that no experiment claims."""
    root = _xml(archive, MANIFEST)
    found = list(_listed(root, MANIFEST))  # drafts of the standard had them in the manifest
    related = [(e.get("role", ""), _member(MANIFEST, e.get("source", ""))) for e in root.iterfind("Related")]
    for role, source in related:
        if role.split("/")[0] == "experiment" and source.endswith(".xml"):
            found += _listed(_xml(archive, source), source)
    claimed = {experiment.result for experiment in found}
    loose = [source for role, source in related if role == "result" and source not in claimed]
    return found + [_Experiment(name=posixpath.basename(source), result=source) for source in loose]


def _listed(root: etree._Element, base: str) -> Iterator[_Experiment]:
    for e in root.iter("Experiment"):
        sources = {
            tag: _member(base, part.get("source", ""))
            for tag in ("References", "Stimuli", "Parameters")
            if (part := e.find(tag)) is not None
        }
        if "References" in sources:
            numbers = {key: e.get(key) for key in ("startTime", "stopTime", "stepSize", "tolerance")}
            yield _Experiment(
                name=e.get("name", ""),
                result=sources["References"],
                inputs=sources.get("Stimuli", ""),
                parameters=sources.get("Parameters", ""),
                conditions=_conditions(numbers, base),
            )


def _conditions(numbers: dict[str, str | None], base: str) -> Conditions:
    try:
        start, stop, step, tolerance = (None if text is None else float(text) for text in numbers.values())
    except ValueError as error:
        raise ModelError(f"{base}: {error}; startTime, stopTime, stepSize and tolerance are numbers") from None
    return Conditions(t_start=start, t_end=stop, step=step, tolerance=tolerance)


def _xml(archive: zipfile.ZipFile, member: str) -> etree._Element:
    try:
        return etree.fromstring(archive.read(member), etree.XMLParser(resolve_entities=False, no_network=True))
    except KeyError:
        raise ModelError(f"{archive.filename}: {member} is named by the manifest and not in the archive") from None
    except etree.XMLSyntaxError as error:
        raise ModelError(f"{archive.filename}: {member}: {error}") from None


def _member(base: str, source: str) -> str:
    """The member of the archive that a URI relative to another member means (RFC 3986)."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(source)))


def _unpacked(archive: zipfile.ZipFile, experiment: _Experiment, folder: Path) -> Reference:
    """Read a reference and what lies beside it in the archive."""
    beside = posixpath.dirname(experiment.result)
    for member in archive.namelist():
        if posixpath.dirname(member) == beside and not member.endswith("/"):
            archive.extract(member, folder)
    needed = [member for member in (experiment.result, experiment.inputs, experiment.parameters) if member]
    missing = [member for member in needed if member not in archive.namelist()]
    if missing:
        raise ModelError(f"{archive.filename}: {', '.join(missing)}: named by the manifest and not in the archive")
    for member in needed:
        archive.extract(member, folder)
    inputs = folder / experiment.inputs if experiment.inputs else None
    found = _of_file(folder / experiment.result, name=experiment.name, inputs=inputs)
    conditions = found.conditions.completed_by(experiment.conditions)
    if experiment.parameters:
        conditions = replace(conditions, parameters=_parameters(_xml(archive, experiment.parameters)))
    return replace(found, origin=f"{archive.filename}: {experiment.result}", conditions=conditions)


def _parameters(root: etree._Element) -> dict[str, float | str]:
    """The values of a parameter set in SSV format (SSP 1.0, section 6)."""
    values: dict[str, float | str] = {}
    for parameter in root.iter("{*}Parameter"):
        for kind in parameter:
            text = kind.get("value", "")
            tag = etree.QName(kind).localname
            name = parameter.get("name", "")
            values[name] = text if tag in ("String", "Enumeration") else _number(name, tag, text)
    return values


def _number(name: str, tag: str, text: str) -> float:
    try:
        return float(text in ("true", "1")) if tag == "Boolean" else float(text)
    except ValueError:
        raise ModelError(f"parameter '{name}' of type {tag} cannot be {text!r}") from None
