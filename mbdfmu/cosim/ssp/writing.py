"""From our description to a package of SSP, or to a bare description, with all files; must not know the XML."""

from __future__ import annotations

import os
import re
import shutil
import time
import zipfile
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from urllib.parse import quote

from mbdfmu.cosim.description import SystemDescription
from mbdfmu.cosim.ssp import BARE
from mbdfmu.cosim.ssp.describing import Writer
from mbdfmu.cosim.ssp.package import MAIN, Unpacked
from mbdfmu.errors import ModelError
from mbdfmu.files import atomic
from mbdfmu.fmi.markup import EPOCH, build_time
from mbdfmu.fmi.reading import FmuInfo, info


def save(description: SystemDescription, path: str | os.PathLike[str]) -> None:
    """Write a .ssp file with the FMUs in it, or a .ssd file that names them; a ModelError lists what cannot be said."""
    facts = _facts(description)
    named = [component.fmu for component in description.fmus.values()]
    named += [description.inputs] if description.inputs else []
    if Path(path).suffix.lower() == BARE:
        folder = Path(path).resolve().parent
        content = Writer(description, facts, {file: _uri(file, folder) for file in named}).content()
        with atomic(path) as temporary:
            temporary.write_bytes(content)
        return
    sources = _resources(named)
    content = Writer(description, facts, sources).content()
    with atomic(path) as temporary:
        _pack(temporary, content, {source: file for file, source in sources.items()})


def settled(description: SystemDescription, unpacked: Unpacked, path: str | os.PathLike[str]) -> SystemDescription:
    """The same system with what is unpacked copied beside a file that is to name it: into `NAME_resources`."""
    folder = Path(path).resolve().with_suffix("")
    folder = folder.with_name(f"{folder.name}_resources")

    def place(file: Path) -> Path:
        if not file.is_relative_to(unpacked.path):
            return file
        folder.mkdir(exist_ok=True)
        with atomic(folder / file.name) as temporary:
            shutil.copyfile(file, temporary)
        return folder / file.name

    return description.moved(place)


def _facts(description: SystemDescription) -> dict[str, FmuInfo]:
    """What the FMUs say about themselves. They need not run here."""
    found, problems = {}, []
    for name, component in description.fmus.items():
        try:
            found[name] = info(component.fmu)
        except ModelError as error:
            problems += [f"fmus.{name}: {problem}" for problem in error.problems]
    if description.inputs and not description.inputs.is_file():
        problems.append(f"inputs: {description.inputs}: there is no such file; correct the name")
    if problems:
        raise ModelError(problems)
    return found


# ---------------------------------------------------------------- files


def _resources(files: list[Path]) -> dict[Path, str]:
    """The names in the archive, each file once."""
    names: dict[Path, str] = {}
    for file in files:
        if file.resolve() not in names:
            names[file.resolve()] = _resource(file, {name.lower() for name in names.values()})
    return {file: names[file.resolve()] for file in files}


def _resource(file: Path, taken: Collection[str]) -> str:
    """A name that every tool and disk can hold; it differs from the others by more than case."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", file.stem)
    names = (f"resources/{stem}{f'_{k}' if k > 1 else ''}{file.suffix}" for k in count(1))
    return next(name for name in names if name.lower() not in taken)


def _uri(file: Path, folder: Path) -> str:
    whole = file.resolve()
    return quote(whole.relative_to(folder).as_posix()) if whole.is_relative_to(folder) else whole.as_uri()


def _pack(path: Path, content: bytes, files: Mapping[str, Path]) -> None:
    """A zip archive that depends on names and contents only; FMUs are archives already and are not packed again."""
    date = time.gmtime(max(build_time(), EPOCH))[:6]
    with zipfile.ZipFile(path, "x") as archive:
        for name in [MAIN, *sorted(files)]:
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_STORED if name.lower().endswith(".fmu") else zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o100644 << 16  # Unix, wherever this runs
            if name == MAIN:
                archive.writestr(entry, content)
            else:
                with archive.open(entry, "w", force_zip64=True) as sink, files[name].open("rb") as source:
                    shutil.copyfileobj(source, sink)
