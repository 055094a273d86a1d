"""From a compiled model to an .fmu file; must not know what is in the model, nor what runs it."""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution, version
from pathlib import Path

from mbdfmu.analyses import Settings
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic, named_file
from mbdfmu.fmi import binaries, xml_fmi2, xml_fmi3
from mbdfmu.fmi.arrays import with_arrays
from mbdfmu.fmi.capabilities import CO_SIMULATION_2, CO_SIMULATION_3, MODEL_EXCHANGE_2, NATIVE, PYTHON, RUNTIMES
from mbdfmu.fmi.exchange_description import for_exchange, shown_in_exchange, with_states
from mbdfmu.fmi.interface import packed
from mbdfmu.fmi.markup import EPOCH, About, Kinds, build_time
from mbdfmu.fmi.page import page
from mbdfmu.fmi.python_files import SCRIPT, callback_files, python_files
from mbdfmu.fmi.reading import DESCRIPTION
from mbdfmu.fmi.references import Reference, reference_files
from mbdfmu.fmi.resources import BLOB, INTERFACE, LOG_CATEGORIES
from mbdfmu.fmi.variables import Table, table_of
from mbdfmu.lowering import Lowered
from mbdfmu.signals import Function

SUFFIX = ".fmu"
_LONGEST = 64  # of a file name in the archive; unpacked below a deep folder it must stay within 260 on Windows
_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{k}" for name in ("com", "lpt") for k in range(10))}


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One of the interfaces that FMI offers: who writes its XML, and what each runtime can do behind it."""

    version: int  # of FMI
    write: Callable[[Table, About, Kinds, str], bytes]
    kinds: Mapping[str, Kinds]  # by runtime
    # The variables as the interface has them and, of these, those that the XML shows.
    arranged: Callable[[Table, Lowered], Table] = lambda table, lowered: table
    shown: Callable[[Table], Table] = lambda table: table
    # The local signals to take along: those that are asked for, and what the interface cannot do without.
    signals: Callable[[Sequence[str] | None, Lowered], Sequence[str] | None] = lambda asked, lowered: asked
    # Where the page wants pictures of the model besides the page itself: PNG by name, SVG by name.
    png: tuple[str, ...] = ("model.png",)
    svg: tuple[str, ...] = ()


INTERFACES = {
    "cs2": Interface(
        version=2,
        write=xml_fmi2.model_description,
        kinds={runtime: {"CoSimulation": flags} for runtime, flags in CO_SIMULATION_2.items()},
    ),
    "cs3": Interface(
        version=3,
        write=xml_fmi3.model_description,
        kinds={NATIVE: {"CoSimulation": CO_SIMULATION_3}},
        arranged=lambda table, lowered: with_arrays(table),
        png=("terminalsAndIcons/icon.png", "documentation/diagram.png"),
        svg=("documentation/diagram.svg",),
    ),
    "me2": Interface(
        version=2,
        write=xml_fmi2.model_description,
        kinds={NATIVE: {"ModelExchange": MODEL_EXCHANGE_2}},
        arranged=for_exchange,
        shown=shown_in_exchange,
        signals=with_states,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the FMU shall be, beside the model and its settings."""

    runtime: str | None = None  # of RUNTIMES; None: native, but python where the model calls functions in Python
    platforms: Sequence[str] | None = None  # of the native runtime; None: all that are installed
    interface: str = "cs2"  # of INTERFACES
    signals: Sequence[str] | None = None  # patterns of the local ones to take along; None: all
    assemble: bool = False  # the start, although nothing is changed


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A picture of the model."""

    png: bytes
    svg: str


def export(
    lowered: Lowered,
    path: str | os.PathLike[str],
    settings: Settings,
    choices: Choices = Choices(),
    *,
    drawing: Drawing | None = None,
    reference: Reference | None = None,
) -> Path:
    """Write the model as an FMU; an existing file is replaced as a whole or not at all.

    `settings` become the start values of the `solver.*` parameters.
    """
    path = named_file(path)
    description = lowered.model.description
    runtime = runtime_for(choices.runtime, lowered.model.functions)
    _check(path, runtime, choices)
    about = About(
        identifier=identifier(description.name), tool=tool_of(runtime), text=description.text,
        tolerance=settings.tolerance, experiment=description.experiment, log_categories=LOG_CATEGORIES,
    )  # fmt: skip
    interface = INTERFACES[choices.interface]
    signals = interface.signals(choices.signals, lowered)
    table = table_of(lowered, settings, about.tool, signals, assemble=choices.assemble)
    table = interface.arranged(table, lowered)
    shown = interface.shown(table)
    files = _model_files(lowered, table, about, runtime, choices)
    files |= papers(shown, about, runtime, interface, drawing)
    if reference is not None:
        files |= reference_files(reference, shown, about.identifier)
    with atomic(path) as temporary:
        write(temporary, files)
    return Path(path)


def runtime_for(wanted: str | None, functions: Sequence[Function]) -> str:
    """What runs the equations; ModelError where it cannot."""
    if wanted is None:
        return PYTHON if functions else NATIVE
    if wanted not in RUNTIMES:
        raise ModelError(f"unknown runtime {wanted!r}{did_you_mean(wanted, RUNTIMES)}; known: {', '.join(RUNTIMES)}")
    if wanted == NATIVE and functions:
        names = ", ".join(f"callback '{f.name}'" for f in functions)
        raise ModelError(f"runtime 'native' has no Python, which {names} needs; use 'python', or expressions instead")
    return wanted


def identifier(model: str) -> str:
    """The model's name as the name of a library, on every platform, and as a prefix of functions in C."""
    name = model[:_LONGEST]
    return f"{name}_model" if name.lower() in _DEVICES else name


def _check(path: str | os.PathLike[str], runtime: str, choices: Choices) -> None:
    problems = []
    interface = INTERFACES.get(choices.interface)
    if interface is None:
        hint = did_you_mean(choices.interface, INTERFACES)
        problems.append(f"unknown interface {choices.interface!r}{hint}; known: {', '.join(INTERFACES)}")
    elif runtime not in interface.kinds:
        fitting = ", ".join(interface.kinds)
        problems.append(f"interface '{choices.interface}' is not offered by runtime '{runtime}', but by {fitting}")
    if choices.platforms is not None and runtime == PYTHON:
        problems.append("platforms: runtime 'python' has those of pythonfmu; choose platforms with runtime 'native'")
    if Path(path).suffix.lower() != SUFFIX:
        problems.append(f"{os.fspath(path)}: the name of an FMU must end in {SUFFIX}")
    if problems:
        raise ModelError(problems)


def tool_of(runtime: str) -> str:
    """What made an FMU of this runtime."""
    own = f"mbdfmu {version('mbdfmu')}"
    return f"{own} with pythonfmu {version('pythonfmu')}" if runtime == PYTHON else own


def _model_files(lowered: Lowered, table: Table, about: About, runtime: str, choices: Choices) -> dict[str, bytes]:
    """What runs: the XML, the model as data, and the libraries. The guid is a digest of all that is no library."""
    interface = INTERFACES[choices.interface]
    kinds = interface.kinds[runtime]
    resources = {BLOB: lowered.blob, **callback_files(lowered.model.functions)}
    script = [SCRIPT] if runtime == PYTHON else []
    shown = interface.shown(table)
    content = [interface.write(shown, about, kinds, ""), packed(table, "", about.tool), *script]
    guid = digest_of(*content, *resources.values())
    resources[INTERFACE] = packed(table, guid, about.tool)
    if runtime == PYTHON:
        files = python_files(about.identifier, guid, resources)
    else:
        files = {f"resources/{name}": content for name, content in resources.items()}
        files |= _libraries(about.identifier, choices.platforms, interface.version)
    return {**files, DESCRIPTION: interface.write(shown, about, kinds, guid)}


def _libraries(identifier: str, platforms: Sequence[str] | None, version: int) -> dict[str, bytes]:
    """The same library for every model, called like the model."""
    files = {}
    for name, library in binaries.chosen(platforms).items():
        folder = name if version == 2 else binaries.PLATFORMS[name].fmi3
        files[f"binaries/{folder}/{identifier}{library.suffix}"] = library.read_bytes()
    return files


def papers(
    table: Table, about: About, runtime: str, interface: Interface, drawing: Drawing | None = None,
    behaviour: Sequence[str] = (),
) -> dict[str, bytes]:
    """What people read, where FMI 2.0.4 section 2.3 and FMI 3.0.2 section 2.5.1 want it."""
    files = {
        "documentation/index.html": page(
            table, about, runtime, drawing.svg if drawing else "", interface.version, behaviour
        ),
        "documentation/licenses/license.txt": _license(runtime).encode(),
    }
    if drawing:
        files |= dict.fromkeys(interface.png, drawing.png) | dict.fromkeys(interface.svg, drawing.svg.encode())
    return files


def _license(runtime: str) -> str:
    """Of the code that is in the FMU; the model itself is its author's."""
    own = distribution("mbdfmu").read_text("licenses/LICENSE")
    if own is None:
        raise RuntimeError("mbdfmu is installed without its licence, which belongs into an FMU; install it again")
    others = {
        NATIVE: "The libraries in binaries hold code of Eigen (Mozilla Public License 2.0, unchanged; its sources are "
        "at https://eigen.tuxfamily.org) and of the C++ standard library of the compiler.",
        PYTHON: "The libraries in binaries are those of pythonfmu (MIT License, https://github.com/NTNU-IHB/PythonFMU).",
    }
    return f"mbdfmu, which runs this FMU:\n\n{own.strip()}\n\n{others[runtime]}\n"


def digest_of(*contents: bytes) -> str:
    """Of several files in order."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """A zip archive that depends on names and contents only."""
    date = time.gmtime(max(build_time(), EPOCH))[:6]
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in _ordered(files):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = (0o100755 if name.startswith("binaries/") else 0o100644) << 16
            archive.writestr(entry, files[name])


def _ordered(names: Iterable[str]) -> list[str]:
    """The XML first, where those who look for nothing else find it at once."""
    return sorted(names, key=lambda name: (name != DESCRIPTION, name))
