"""The library inside native FMUs: what it shows, what it needs, and the same motion on every platform."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

import mbdfmu as mbd
from mbdfmu.fmi.binaries import PLATFORMS, available, chosen, needs, oldest_glibc

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "solver"
# What a library may call that is there wherever glibc is.
C_LIBRARY = re.compile(r"lib(c|m|pthread|dl)\.so\.\d+|ld-linux.*\.so\.\d+")
# Functions that write to where the user reads, or end the process that was kind enough to load the library.
RUDE = {"printf", "vprintf", "puts", "putchar", "stdout", "exit", "_exit", "_Exit", "quick_exit", "system", "popen"}
SIZE = 1_400_000  # packed; the 1.5 MB for an FMU, less its other files


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on the path (binutils)")
    return found


def printed(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def host_library() -> Path:
    """What this machine's compiler has made."""
    libraries = [path for path in available().values() if path.suffix == ".so"]
    if not libraries:
        pytest.skip("no ELF library is installed on this system")
    if b"__asan_init" in libraries[0].read_bytes():
        pytest.skip("a library with sanitizers needs more and shows more")
    return libraries[0]


# ---------------------------------------------------------------- the library of this machine


def test_all_functions_of_fmi_are_seen_from_outside_and_nothing_else(host_library: Path) -> None:
    seen = {line.split()[-1] for line in printed(tool("nm"), "-D", "--defined-only", str(host_library)).splitlines()}
    assert declared() <= seen
    assert {name for name in seen if not re.fullmatch(r"fmi[23]\w+", name)} == set()


def declared() -> set[str]:
    """The functions of FMI that our headers declare one by one (fmi3.h declares some by types)."""
    headers = "".join((SOURCES / "fmi" / name).read_text() for name in ("fmi2.h", "fmi3.h"))
    return set(re.findall(r"_EXPORT [\w *]*?\b(fmi[23]\w+)\(", headers))


def test_nothing_but_the_c_library_is_needed(host_library: Path) -> None:
    needed = re.findall(r"NEEDED\s+(\S+)", printed(tool("objdump"), "-p", str(host_library)))
    assert needed
    assert [name for name in needed if not C_LIBRARY.fullmatch(name)] == []


def test_nothing_is_printed_and_no_process_ended(host_library: Path) -> None:
    taken = {
        line.split()[-1].partition("@")[0] for line in printed(tool("nm"), "-D", "-u", str(host_library)).splitlines()
    }
    assert taken & RUDE == set()


def test_the_library_is_small(host_library: Path) -> None:
    assert len(zlib.compress(host_library.read_bytes(), 9)) < SIZE


# ---------------------------------------------------------------- platforms


def test_this_machine_can_export_native_fmus() -> None:
    assert set(chosen()) == set(available()) <= set(PLATFORMS)


def test_platforms_that_are_not_there_are_refused_all_at_once() -> None:
    missing = [name for name in PLATFORMS if name not in available()]
    with pytest.raises(mbd.ModelError) as refused:
        chosen(["linx64", *missing])
    text = str(refused.value)
    assert "unknown platform 'linx64'; did you mean 'linux64'?" in text
    assert all(f"no library for platform '{name}' is installed" in text for name in missing)


def test_the_oldest_c_library_is_read_from_the_file(host_library: Path) -> None:
    by_objdump = re.findall(r"GLIBC_(\d+)\.(\d+)", printed(tool("objdump"), "-p", str(host_library)))
    expected = "{}.{}".format(*max((int(a), int(b)) for a, b in by_objdump))
    assert oldest_glibc(host_library.read_bytes()) == expected
    assert needs("linux64", host_library.read_bytes()) == f"Linux on x86-64, glibc {expected}"
    assert oldest_glibc(b"MZ\0GLIBC_2.99\0") == ""


# ---------------------------------------------------------------- where resources/ is

# As the standard wants it, as importers write it, and what is no folder: location, path elsewhere, path on Windows.
LOCATIONS = (
    ("file:///tmp/a%20b/resources", "/tmp/a b/resources", r"\tmp\a b\resources"),
    ("file:/tmp/x/", "/tmp/x", r"\tmp\x"),
    ("file://localhost/x%C3%BC", "/xü", r"\xü"),
    ("FILE:///C:/x%23+y%2520", "/C:/x#+y%20", r"C:\x#+y%20"),
    ("file:///tmp/100%/50%zz", "/tmp/100%/50%zz", r"\tmp\100%\50%zz"),
    ("/plain/path#?%20/", "/plain/path#?%20", r"\plain\path#?%20"),
    ("file://server/share/x", None, r"\\server\share\x"),
    ("file://C:/x", None, r"C:\x"),
    ("http://server/x", None, None),
    ("file:///a%00b", None, None),
    ("file://", None, None),
    ("", None, None),
)


@pytest.fixture(scope="module")
def print_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler on the path")
    program = tmp_path_factory.mktemp("native") / "print_path"
    sources = [ROOT / "tests/native/print_path.cpp", SOURCES / "fmi/resources.cpp", SOURCES / "blob.cpp"]
    command = [compiler, "-std=c++17", "-O0", f"-I{SOURCES}", "-o", str(program), *map(str, sources)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("system", "column"), [("u", 1), ("w", 2)], ids=["elsewhere", "Windows"])
def test_resource_locations_name_folders(print_path: Path, system: str, column: int) -> None:
    found = printed(str(print_path), system, *(row[0] for row in LOCATIONS)).splitlines()
    for row, path in zip(LOCATIONS, found, strict=True):
        expected = row[column]
        if expected is None:
            assert path.startswith(f"resource location '{row[0]}' ")
            assert path.endswith("allowed: a file URI such as file:///folder/resources, or the path of the folder")
        else:
            assert path == expected
