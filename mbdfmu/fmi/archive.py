"""From a compiled model to an .fmu file through pythonfmu; must not know what is in the model.

Limits of pythonfmu's wrapper, which the archive's documentation repeats: the target needs Python with mbdfmu; a host
that is no Python program must preload libpython on Linux; the folder into which the host unpacks must have a plain
name.
"""

from __future__ import annotations

import hashlib
import html
import importlib.util
import inspect
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from mbdfmu.analyses import Settings
from mbdfmu.description import Experiment
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic
from mbdfmu.fmi.description import CAPABILITIES, EPOCH, About, build_time, interface_of, model_description
from mbdfmu.fmi.interface import BLOB, INTERFACE, LOG_CATEGORIES, PACKED_INTERFACE, Callback, packed
from mbdfmu.fmi.variables import table_of
from mbdfmu.lowering import Lowered
from mbdfmu.signals import Function

RUNTIMES = ("python", "native")
SUFFIX = ".fmu"
XML = "modelDescription.xml"
EMBEDDED = "resources/pythonfmu/"

SCRIPT = '''\
"""What pythonfmu loads first; the slave itself is mbdfmu's, and the model is data beside this file."""

import logging
import sys

try:
    from mbdfmu.fmi.python_slave import Slave, hold
except ImportError as error:
    message = (
        f"this FMU needs the Python package mbdfmu in the Python of its host ({sys.executable}, "
        f"Python {sys.version_info.major}.{sys.version_info.minor}), where it cannot be imported: {error}; "
        "install mbdfmu there"
    )
    logging.getLogger("mbdfmu").error(message)  # hosts show the FMI log on request only
    raise ImportError(message) from error

hold(globals())
'''

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title></head><body>
<h1>{name}</h1>
<p>{text}</p>
<h2>What it needs</h2>
<ul>
<li>Python 3.11 or newer with the package mbdfmu, in the Python that runs the host.</li>
<li>A Python host (fmpy and others), or on Linux a host started with <code>LD_PRELOAD</code> set to libpython.</li>
<li>A plain folder to be unpacked to: letters of ASCII, digits, blanks and <code>- . _ ~</code>. With any other
character in its path, such as &uuml;, %, ( or #, pythonfmu crashes the host; set <code>TMPDIR</code> (Windows:
<code>TEMP</code>) to another folder.</li>
</ul>
<h2>How it behaves</h2>
<ul>
<li>Time begins at 0. Inputs are constant during a communication step. Steps may have any size.</li>
<li>Parameters, start values and <code>solver.*</code> can be set until the initialisation ends. A changed start value
such as <code>crank.phi.start</code> is kept, and the other coordinates are moved until the joints close.</li>
<li>On failure the step returns fmi2Discard with fmi2Terminated, and the log category logStatusError says why.</li>
</ul>
</body></html>
"""


def export(
    lowered: Lowered,
    path: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    runtime: str = "python",
    experiment: Experiment | None = None,
) -> Path:
    """Write the model as an FMI 2.0 co-simulation FMU; an existing file is replaced as a whole or not at all.

    `settings` become the start values of the `solver.*` parameters; `experiment` is the model's own where not given.
    """
    _check(runtime, path, lowered.model.functions)
    description = lowered.model.description
    settings = settings or Settings()
    about = About(text=description.text, tolerance=settings.tolerance, experiment=experiment or description.experiment,
                  log_categories=LOG_CATEGORIES)  # fmt: skip
    sources, callbacks = _packed(lowered.model.functions)
    interface = replace(interface_of(lowered, settings), callbacks=callbacks)
    resources = {**sources, BLOB: lowered.blob, INTERFACE: interface.to_json().encode()}
    guid = _digest(model_description(interface, about, ""), SCRIPT.encode(), *resources.values())
    tool = f"mbdfmu {version('mbdfmu')}"
    resources[PACKED_INTERFACE] = packed(table_of(lowered, settings, tool), guid, tool)
    files = _built_by_pythonfmu(guid, resources)
    _check_binaries(files, interface.model)
    files[XML] = model_description(interface, about, guid)
    files["documentation/index.html"] = PAGE.format(name=interface.model, text=html.escape(description.text)).encode()
    with atomic(path) as temporary:
        _write(temporary, files)
    return Path(path)


def _check(runtime: str, path: str | os.PathLike[str], functions: Sequence[Function]) -> None:
    if runtime == "native" and functions:
        names = ", ".join(f"callback '{f.name}'" for f in functions)
        raise ModelError(f"runtime 'native' has no Python, which {names} needs; use 'python', or expressions instead")
    if runtime == "native":
        raise ModelError(
            "runtime 'native' is not in this release, which exports through pythonfmu; leave it out or use 'python'"
        )
    if runtime not in RUNTIMES:
        raise ModelError(f"unknown runtime {runtime!r}{did_you_mean(runtime, RUNTIMES)}; known: {', '.join(RUNTIMES)}")
    if Path(path).suffix.lower() != SUFFIX:
        raise ModelError(f"{os.fspath(path)}: the name of an FMU must end in {SUFFIX}")


def _packed(functions: Sequence[Function]) -> tuple[dict[str, bytes], tuple[Callback, ...]]:
    """The source files of callbacks, under names that no other FMU has, and where each function is in them."""
    sources, callbacks = {}, []
    for f in functions:
        module, function = _source_of(f)
        name = f"callback_{_digest(module)[:16]}.py"
        sources[name] = module
        callbacks.append(
            Callback(name=f.name, file=name, function=function, inputs=len(f.inputs), values=len(f.values))
        )
    return sources, tuple(callbacks)


def _source_of(f: Function) -> tuple[bytes, str]:
    """The module that holds a function, and its name there."""
    module, _, path = f.python.partition(":")
    file = f.python.folder / f"{module.replace('.', '/')}.py" if f.python.folder is not None else None
    if f.python.function is not None:
        found = inspect.getsourcefile(f.python.function)
        file = None if found is None else Path(found)
    elif file is None or not file.is_file():
        spec = importlib.util.find_spec(module)
        file = None if spec is None or spec.origin is None else Path(spec.origin)
    if file is None or not file.is_file() or "<" in path:
        reason = f"the source of {str(f.python)!r} cannot be packed into an FMU"
        raise ModelError(f"callbacks.{f.name}: {reason}; move the function to the top of a module in a file")
    return file.read_bytes(), path


def _digest(*contents: bytes) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _built_by_pythonfmu(guid: str, resources: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of an FMU as pythonfmu builds it: binaries, script and resources."""
    from pythonfmu.builder import FmuBuilder

    # The module's name is the FMU's own: in one process pythonfmu would give a second FMU the first one's module.
    module = f"m_{guid[:16]}"
    with tempfile.TemporaryDirectory(prefix="mbdfmu_") as name, _imports_restored(module):
        folder = Path(name)
        source = folder / "source"
        source.mkdir()
        script = source / f"{module}.py"
        script.write_text(SCRIPT, encoding="utf-8", newline="\n")
        for file, content in resources.items():
            (source / file).write_bytes(content)
        options = {name: value for name, value in CAPABILITIES.items() if isinstance(value, bool)}
        built = FmuBuilder.build_FMU(
            script, folder / f"built{SUFFIX}", [source / file for file in resources], **options
        )
        with zipfile.ZipFile(built) as archive:
            files = {info.filename: archive.read(info) for info in archive.infolist()}
    # Its copy of itself is left out: whoever has mbdfmu has pythonfmu, which a copy in a temporary folder would shadow.
    return {file: content for file, content in files.items() if not file.startswith(EMBEDDED)}


def _check_binaries(files: Mapping[str, bytes], model: str) -> None:
    """That pythonfmu found its binaries, and that the slave could say its name."""
    if not any(Path(file).parts[0] == "binaries" and Path(file).stem == model for file in files):
        import pythonfmu

        raise RuntimeError(
            f"the FMU of model '{model}' could not be built: pythonfmu in {pythonfmu.__path__[0]} gave no binary; "
            "install it again, or export in a new process"
        )


@contextmanager
def _imports_restored(module: str) -> Iterator[None]:
    """pythonfmu imports the script to look at it and leaves its folder on the path."""
    path, known = list(sys.path), set(sys.path_importer_cache)
    try:
        yield
    finally:
        sys.path[:] = path
        sys.modules.pop(module, None)
        for folder in set(sys.path_importer_cache) - known:
            sys.path_importer_cache.pop(folder, None)


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    """A zip archive that depends on names and contents only."""
    date = time.gmtime(max(build_time(), EPOCH))[:6]
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = (0o100755 if name.startswith("binaries/") else 0o100644) << 16
            archive.writestr(entry, files[name])
