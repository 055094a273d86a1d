"""Builds the C host of `tests/native/host.c` and plays scripts of FMI calls through it; no test stands here.

As a program it is a host without Python; loaded into a Python process it plays the same scripts on FMUs of the Python
runtime, whose binary needs an interpreter around it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "native" / "host.c"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# Memory that glibc keeps at hand for each thread counts as in use: a leak is seen where it keeps none.
KEEPS_NONE = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
IN_PYTHON = (
    "import ctypes, sys; a = [x.encode() for x in sys.argv]; "
    "sys.exit(ctypes.CDLL(a[1]).main(len(a) - 1, (ctypes.c_char_p * len(a))(*a[1:], None)))"
)


@dataclass(frozen=True)
class Call:
    """What came of one call: the rows that it printed, its status and what the FMU said."""

    status: int
    said: str
    rows: tuple[str, ...]

    @property
    def values(self) -> list[float]:
        return [float(x) for x in ",".join(self.rows).split(",") if x]


@dataclass(frozen=True)
class Played:
    """What came of a script."""

    code: int
    out: str
    err: str

    @property
    def table(self) -> list[list[float]]:
        """The numbers of every row that was printed; of a script that was not traced."""
        return [[float(x) for x in row.split(",")] for row in self.out.splitlines()]

    @property
    def counted(self) -> dict[str, float]:
        """Of the modes that count: a header and a row."""
        header, row = self.out.splitlines()
        return dict(zip(header.split(","), map(float, row.split(",")), strict=True))

    @property
    def calls(self) -> list[Call]:
        """Of a traced script; the last call of a crashed process is missing."""
        found: list[Call] = []
        rows: list[str] = []
        for line in self.out.splitlines():
            if line.startswith("= "):
                status, _, said = line[2:].partition(" ")
                found.append(Call(int(status), said, tuple(rows)))
                rows = []
            else:
                rows.append(line)
        return found


@dataclass(frozen=True)
class Host:
    """The host: `command` is what stands before the mode, such as ("host",) or ("qemu-aarch64", "host")."""

    command: tuple[str, ...]
    folder: Path  # for scripts

    def run(self, mode: str, fmu: Path, lines: Iterable[str], *arguments: object, seconds: float = 300.0) -> Played:
        """One run of the host in a process of its own; `fmu` is an unpacked folder."""
        script = self.folder / "script.txt"
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        flags = ("-s",) if mode == "trace" else ()
        command = [*self.command, "play" if flags else mode, *flags, str(fmu), str(script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=seconds, env=os.environ | KEEPS_NONE)
        return Played(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def play(self, fmu: Path, lines: Iterable[str]) -> Played:
        """Every call must be accepted."""
        played = self.run("play", fmu, lines)
        assert (played.code, played.err) == (0, ""), played.err
        return played

    def trace(self, fmu: Path, lines: Iterable[str]) -> list[Call]:
        """Every call with its status; the process must not die."""
        played = self.run("trace", fmu, lines)
        assert played.code == 0, f"{played.err}\nafter: {played.out[-2000:]}"
        return played.calls


def build(folder: Path, *flags: str, library: bool = False) -> Path:
    """The host compiled into the folder; as a library for Python processes where asked for."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler on the path")
    target = folder / (f"host{SUFFIX}" if library else "host")
    kind = ["-shared", "-fPIC"] if library else []
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1"]
    command = [compiler, *warnings, *kind, *flags, "-o", str(target), str(SOURCE), "-lpthread", "-ldl"]
    subprocess.run(command, check=True)
    return target


def native_host(folder: Path, *flags: str) -> Host:
    """A process without Python."""
    return Host((str(build(folder, *flags)),), folder)


def python_host(folder: Path) -> Host:
    """A process of the interpreter that runs the tests."""
    return Host((sys.executable, "-c", IN_PYTHON, str(build(folder, library=True))), folder)


def unpacked(fmu: Path, folder: Path) -> Path:
    """The folder into which the FMU is unpacked."""
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(folder)
    return folder


def begin(start: float = 0.0, stop: float | str = "-", tolerance: float | str = "-", logging: int = 0) -> list[str]:
    """Calls up to the end of the initialisation."""
    return [f"instantiate logging={logging}", f"setup {start!r} {stop} {tolerance}", "enter", "exit"]


def steps(times: Sequence[float], each: Iterable[Sequence[str]] = ()) -> list[str]:
    """Steps from point to point; the calls of `each` stand before the step."""
    before = iter(each)
    return [
        line for a, b in pairwise(times) for line in (*next(before, ()), f"step {float(a)!r} {float(b) - float(a)!r}")
    ]
