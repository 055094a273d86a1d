"""The cross-compiled libraries of native FMUs (`make native-binaries`): read as files, and run where emulators are.

What an emulated processor or system computes is compared with this machine's own library, bit for bit the core's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmi_host import SOURCE, Host, begin, native_host, steps, unpacked
from numpy.typing import NDArray

import mbdfmu as mbd
from mbdfmu.fmi.binaries import LIBRARY, PLATFORMS, available, oldest_glibc

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parents[1]
SIZE = 1_400_000  # packed; the 1.5 MB for an FMU, less its other files
# Relative to the largest signal of the same unit: a difference such as energy.total is as exact as what it is made of.
# The C library's functions differ by half a unit in the last place from one system to the next, which some hundred
# internal steps carry on: 2e-12 was found.
SAME = 1e-11
NOTHING = "power.balance"  # is zero but for rounding, which is not to be the same
STEP = 0.01  # communication step, s
TARGETS = {"win64": "x86_64-windows-gnu", "aarch64-linux": "aarch64-linux-gnu.2.17", "linux64": "x86_64-linux-gnu.2.17"}
# How a program for the platform is started here: what must be on the path, and the command before the program.
STARTED = {
    "win64": ("wine", ("wine",)),
    "aarch64-linux": ("qemu-aarch64", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
    "linux64": ("sh", ()),
}


def sources() -> Iterator[Path]:
    """What a library is made of."""
    for suffix in ("cpp", "hpp", "h"):
        yield from (p for p in (ROOT / "solver").rglob(f"*.{suffix}") if not p.name.startswith("bindings"))


def library(platform: str) -> Path:
    path = ROOT / "build" / "native" / platform / f"{LIBRARY}{PLATFORMS[platform].suffix}"
    if not path.is_file():
        pytest.skip(f"no library for {platform} is built: run 'make native-binaries'")
    if path.stat().st_mtime < max(p.stat().st_mtime for p in sources()):
        pytest.skip(f"the library for {platform} is older than the sources: run 'make native-binaries'")
    return path


# ---------------------------------------------------------------- files


def parsed(path: Path) -> Any:
    """To be held by a name as long as parts of it are used: these do not keep it alive."""
    lief = pytest.importorskip("lief", reason="lief is not installed (make native-binaries installs it)")
    lief.logging.disable()
    return lief.parse(str(path))


def functions(path: Path) -> set[str]:
    """What can be seen from outside, without the underscore of Mach-O."""
    found = parsed(path)
    names = {s.name for s in found.exported_functions}
    return {name.removeprefix("_") for name in names} if path.suffix == ".dylib" else names


# What zig's linker for macOS shows besides: the operators new and delete of C++, which macOS wants to be the same
# throughout a process, and two names of its own.
BESIDES = re.compile(r"_Zn[aw]m\w*|_Zd[al]Pv\w*|__dso_handle|_mh_dylib_header")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_shows_the_same_functions(platform: str) -> None:
    seen = functions(library(platform))
    if PLATFORMS[platform].suffix == ".dylib":
        seen = {name for name in seen if not BESIDES.fullmatch(name)}
    assert seen == functions(available()["linux64"])


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_is_small(platform: str) -> None:
    assert len(zlib.compress(library(platform).read_bytes(), 9)) < SIZE


@pytest.mark.parametrize("platform", ["linux64", "aarch64-linux"])
def test_old_linux_will_do(platform: str) -> None:
    major, minor = map(int, oldest_glibc(library(platform).read_bytes()).split("."))
    assert (major, minor) <= (2, 17)
    found = parsed(library(platform))
    needed = {name for name in found.libraries if not name.startswith("ld-linux")}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}  # all of glibc


def test_windows_needs_nothing_to_be_installed() -> None:
    found = parsed(library("win64"))
    needed = {i.name.lower() for i in found.imports}
    assert {n for n in needed if not n.startswith("api-ms-win-crt-")} <= {"kernel32.dll", "ntdll.dll"}


@pytest.mark.parametrize(("platform", "cpu"), [("darwin64", "X86_64"), ("aarch64-darwin", "ARM64")])
def test_macos_needs_its_system_library_only(platform: str, cpu: str) -> None:
    found = parsed(library(platform))
    assert found.header.cpu_type.name == cpu
    assert {lib.name for lib in found.libraries} <= {f"@rpath/{LIBRARY}.dylib", "/usr/lib/libSystem.B.dylib"}
    assert found.build_version.minos[:2] == [11, 0]
    assert found.has_code_signature or platform == "darwin64"  # macOS runs nothing on ARM that is not signed


@pytest.mark.parametrize("platform", PLATFORMS)
def test_nothing_runs_at_the_end_of_a_thread(platform: str) -> None:
    """A host that unloads the library while its threads live would jump to code that is gone."""
    found = parsed(library(platform))
    taken = {f.name for f in found.imported_functions}
    assert {name for name in taken if "thread_atexit" in name or "tlv_atexit" in name} == set()


# ---------------------------------------------------------------- motion


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Windows of its own."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WINEPREFIX", str(tmp_path_factory.mktemp("wine")))
        environment.setenv("WINEDEBUG", "-all")
        environment.setenv("ZIG_GLOBAL_CACHE_DIR", os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(ROOT / "build" / "zig")))
        yield


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return native_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module", params=TARGETS)
def there(request: pytest.FixtureRequest, prefix: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Host]:
    """A platform and the C host on it."""
    platform: str = request.param
    needed, before = STARTED[platform]
    if shutil.which(needed) is None:
        pytest.skip(f"no {needed} on the path")
    if find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: run 'make native-binaries'")
    folder = tmp_path_factory.mktemp(platform)
    program = folder / ("host.exe" if platform == "win64" else "host")
    system = [] if platform == "win64" else ["-lpthread", "-ldl"]
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[platform], "-std=c11", "-O1"]
    subprocess.run([*compiler, "-o", str(program), str(SOURCE), *system], check=True)
    subprocess.run([*before, str(program)], capture_output=True)  # wine tells how it makes its Windows, once
    return platform, Host((*before, str(program)), folder)


MODELS = ("slider_crank", "pendulum", "quarter_car", "stewart", "bouncing_ball", "double_wishbone")


def ported(name: str, platform: str, folder: Path) -> tuple[Path, list[str]]:
    """An unpacked FMU with this machine's library and that of `platform`, and a run of it with excited inputs."""
    model = mbd.models.load(name)
    fmu = unpacked(model.export_fmu(folder / f"{name}.fmu", runtime="native"), folder / "ü #%+ " / name)
    binary = next((fmu / "binaries").glob("*/*"))
    place = fmu / "binaries" / platform
    place.mkdir(exist_ok=True)
    shutil.copy(library(platform), place / f"{binary.stem}{PLATFORMS[platform].suffix}")
    signals = {s.name: k for k, s in enumerate(model.signals())}
    inputs = [k for k, s in enumerate(model.signals()) if s.causality == "input"]
    read = " ".join(map(str, signals.values()))
    times = [k * STEP for k in range(31)]
    waves = [[f"real {k} {0.1 * np.sin(20 * t)!r}" for k in inputs] for t in times]
    lines = [x for k, wave in enumerate(waves[:-1]) for x in (*wave, *steps(times[k : k + 2]), f"getreal {read}")]
    return fmu, [*begin(), *lines, "terminate", "free"]


@pytest.mark.parametrize("name", MODELS)
def test_every_platform_computes_the_same_motion(
    here: Host, there: tuple[str, Host], name: str, tmp_path: Path
) -> None:
    """In a folder whose name must be encoded in a URI."""
    platform, host = there
    fmu, script = ported(name, platform, tmp_path)
    got = np.array(host.play(fmu, script).table)
    shutil.copy(available()["linux64"], next((fmu / "binaries" / "linux64").glob("*")))
    expected = np.array(here.play(fmu, script).table)
    assert got.shape == expected.shape
    assert (np.abs(got - expected).max(axis=0) / sizes(name, expected)).max() < SAME


def sizes(name: str, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of every signal of the model: the largest value of all signals of its unit."""
    signals = mbd.models.load(name).signals()
    names, units = np.array([s.name for s in signals]), np.array([s.unit for s in signals])
    largest = np.abs(table).max(axis=0)
    found = np.array([max(largest[units == unit].max(), np.finfo(float).tiny) for unit in units])
    return np.where(names == NOTHING, np.inf, found)


def test_a_process_that_has_unloaded_the_library_ends_well(tmp_path: Path) -> None:
    """Statics with destructors (the tableau of dop853) go with the library, not with the process later on."""
    given = mbd.models.load("pendulum").export_fmu(tmp_path / "given.fmu", scheme="dop853", platforms=["linux64"])
    fmu = tmp_path / "portable.fmu"
    with zipfile.ZipFile(given) as source, zipfile.ZipFile(fmu, "w") as target:
        for name in source.namelist():
            is_library = name.startswith("binaries/")
            target.writestr(name, library("linux64").read_bytes() if is_library else source.read(name))
    run = f"import mbdfmu as mbd; print(mbd.fmu.simulate({str(fmu)!r}, 0.1, 0.01).time[-1])"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["0.1"]), done.stderr
