"""The library inside native FMUs: for which platforms it was built, and what each needs; must not know models.

It is generic, the model being data beside it. The build puts it beside `_solver`, in a folder for each platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mbdfmu.errors import ModelError, did_you_mean

LIBRARY = "mbdfmu_fmi"
CURE = "run 'make native-binaries' in the sources of mbdfmu"


@dataclass(frozen=True)
class Platform:
    """One operating system on one kind of processor."""

    name: str  # of its folder in an FMU of version 2
    fmi3: str  # the same in version 3
    suffix: str  # of its libraries
    needs: str


PLATFORMS = {
    p.name: p
    for p in (
        Platform("linux64", "x86_64-linux", ".so", "Linux on x86-64"),
        Platform("aarch64-linux", "aarch64-linux", ".so", "Linux on 64-bit ARM"),
        Platform("win64", "x86_64-windows", ".dll", "Windows 10 on x86-64"),
        Platform("darwin64", "x86_64-darwin", ".dylib", "macOS 11 on x86-64"),
        Platform("aarch64-darwin", "aarch64-darwin", ".dylib", "macOS 11 on 64-bit ARM"),
    )
}


def available() -> dict[str, Path]:
    """The platforms that native FMUs can be exported for, each with its library."""
    from mbdfmu import _solver

    folder = Path(_solver.__file__).parent / "binaries"
    files = {name: folder / name / f"{LIBRARY}{p.suffix}" for name, p in PLATFORMS.items()}
    return {name: file for name, file in files.items() if file.is_file()}


def chosen(names: Iterable[str] | None = None) -> dict[str, Path]:
    """The libraries for these platforms, all there are by default; ModelError for what is unknown or not built."""
    built = available()
    names = list(built) if names is None else list(names)
    problems = [_problem(name, built) for name in names if name not in built]
    if problems or not names:
        raise ModelError(problems or [f"native FMUs need a library, and none is installed; {CURE}"])
    return {name: built[name] for name in names}


def _problem(name: str, built: Iterable[str]) -> str:
    if name in PLATFORMS:
        return f"no library for platform '{name}' is installed (there are: {', '.join(built) or 'none'}); {CURE}"
    return f"unknown platform {name!r}{did_you_mean(name, PLATFORMS)}; known: {', '.join(PLATFORMS)}"


def needs(platform: str, library: bytes) -> str:
    """What a library needs at least, such as "Linux on x86-64, glibc 2.17"."""
    glibc = oldest_glibc(library)
    system = PLATFORMS[platform].needs if platform in PLATFORMS else platform
    return f"{system}, glibc {glibc}" if glibc else system


def oldest_glibc(library: bytes) -> str:
    """The C library that a library for Linux needs, such as "2.17"; "" for other systems.

    An ELF file names the versions of all symbols that it takes from elsewhere.
    """
    if not library.startswith(b"\x7fELF"):
        return ""
    versions = [(int(major), int(minor)) for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", library)]
    return "{}.{}".format(*max(versions)) if versions else ""
