"""The files of an FMU that runs in the host's Python: what pythonfmu packs, and callbacks; must not know the model.

Limits of pythonfmu's wrapper, which docs/fmu.md lists: the target needs Python with mbdfmu; a host that is no Python
program must preload libpython on Linux; the folder into which the host unpacks must have a plain name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mbdfmu.errors import ModelError
from mbdfmu.fmi.resources import CALLBACKS, Callback, callbacks_to_json
from mbdfmu.signals import Function

EMBEDDED = "resources/pythonfmu/"

_SCRIPT = '''\
"""What pythonfmu loads first; the slave itself is mbdfmu's, and the model is data beside this file."""

import logging
import sys

try:
    from {module} import Slave, hold
except ImportError as error:
    message = (
        f"this FMU needs the Python package mbdfmu in the Python of its host ({{sys.executable}}, "
        f"Python {{sys.version_info.major}}.{{sys.version_info.minor}}), where it cannot be imported: {{error}}; "
        "install mbdfmu there"
    )
    logging.getLogger("mbdfmu").error(message)  # hosts show the FMI log on request only
    raise ImportError(message) from error

hold(globals())
'''


def script_with(module: str) -> bytes:
    """The script of an FMU whose class of pythonfmu is in this module."""
    return _SCRIPT.format(module=module).encode()


SCRIPT = script_with("mbdfmu.fmi.python_slave")


def callback_files(functions: Sequence[Function]) -> dict[str, bytes]:
    """The source files of callbacks, under names that no other FMU has, and where each function is in them."""
    if not functions:
        return {}
    sources, callbacks = {}, []
    for f in functions:
        module, function = _source_of(f)
        name = f"callback_{hashlib.sha256(module).hexdigest()[:16]}.py"
        sources[name] = module
        callbacks.append(
            Callback(name=f.name, file=name, function=function, inputs=len(f.inputs), values=len(f.values))
        )
    return {**sources, CALLBACKS: callbacks_to_json(callbacks).encode()}


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


def python_files(
    identifier: str, guid: str, resources: Mapping[str, bytes], content: bytes = SCRIPT
) -> dict[str, bytes]:
    """The files of an FMU as pythonfmu builds it: binaries, script and resources."""
    from pythonfmu.builder import FmuBuilder

    # The module's name is the FMU's own: in one process pythonfmu would give a second FMU the first one's module.
    module = f"m_{guid[:16]}"
    with tempfile.TemporaryDirectory(prefix="mbdfmu_") as name, _imports_restored(module):
        folder = Path(name)
        source = folder / "source"
        source.mkdir()
        script = source / f"{module}.py"
        script.write_bytes(content)
        for file, resource in resources.items():
            (source / file).write_bytes(resource)
        built = FmuBuilder.build_FMU(script, folder / "built.fmu", [source / file for file in resources])
        with zipfile.ZipFile(built) as archive:
            files = {info.filename: archive.read(info) for info in archive.infolist()}
    # Its copy of itself is left out: whoever has mbdfmu has pythonfmu, which a copy in a temporary folder would shadow.
    kept = {_renamed(file, identifier): content for file, content in files.items() if not file.startswith(EMBEDDED)}
    _check_binaries(kept, identifier)
    return kept


def _renamed(file: str, identifier: str) -> str:
    """Binaries are called like the model's identifier."""
    path = PurePosixPath(file)
    return str(path.with_stem(identifier)) if path.parts[0] == "binaries" and path.suffix else file


def _check_binaries(files: Mapping[str, bytes], identifier: str) -> None:
    """That pythonfmu found its binaries."""
    if not any(file.startswith("binaries/") and PurePosixPath(file).stem == identifier for file in files):
        import pythonfmu

        raise RuntimeError(
            f"FMU '{identifier}' could not be built: pythonfmu in {pythonfmu.__path__[0]} gave no binary; "
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
