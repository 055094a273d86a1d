"""FMUs that are broken in some hundred ways, and every verb that takes one: who fails is told by the FMU's name."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hostile import DESCRIPTION, GUID
from hostile import build as build_hostile

from mbdfmu.cli import main
from mbdfmu.fmi import remote

NAMES = {"step": "doStep", "first": "doStep", "get": "get", "late": "get", "load": "instantiation",
         "instantiate": "instantiation", "enter": "enterInitializationMode", "leave": "exitInitializationMode",
         "setup": "setupExperiment", "free": "freeInstance", "terminate": "terminate"}  # fmt: skip
ENDS = {
    "crash": "crashed (SIGSEGV) in {}", "overflow": "crashed (SIGSEGV) in {}", "abort": "crashed (SIGABRT) in {}",
    "fpe": "crashed (SIGFPE) in {}", "ill": "crashed (SIGILL) in {}", "kill": "crashed (SIGKILL) in {}",
    "fork": "crashed (SIGABRT) in {}", "flood": "crashed (SIGABRT) in {}",
    "exit": "ended its process with code 0 in {}", "thread": "ended its process with code 3 in {}",
    "deaf": "ended its process with code 1 in {}",
    "hang": "did not come back from {} within",
}  # fmt: skip
EARLY, WHOLE = None, 1.0  # no rows, all rows
# Exit code, what is said, and the time of the last row.
COMPLAINTS = ("gave up", "illegal return code")
RUNS: dict[str, tuple[int, str, float | None]] = {
    **{f"step:{action}": (1, said, 0.5) for action, said in ENDS.items()},
    **{f"late:{action}": (1, ENDS[action], 0.5) for action in ("crash", "exit", "hang")},
    **{f"first:{action}": (1, ENDS[action], 0.0) for action in ("crash", "exit")},
    **{
        f"{function}:{action}": (1, ENDS[action], EARLY)
        for function in ("load", "instantiate", "setup", "enter", "leave", "get")
        for action in ("crash", "exit", "hang")
    },
    "instantiate:error": (2, "cannot be loaded", EARLY),
    **{f"{function}:error": (2, "gave up", EARLY) for function in ("setup", "enter", "leave")},
    "enter:fatal": (2, "gave up", EARLY),
    "enter:negative": (2, "illegal return code", EARLY),
    "get:error": (1, "gave up", EARLY),
    "get:unknown": (1, "illegal return code", EARLY),
    "get:negative": (1, "illegal return code", EARLY),
    "late:error": (1, "gave up", 0.5),
    **{f"step:{action}": (1, "gave up", 0.5) for action in ("discard", "error", "fatal")},
    **{f"step:{action}": (1, "illegal return code", 0.5) for action in ("unknown", "negative")},
    "step:nan": (1, "gave out nan for 'y' at t = 0.51 s", 0.5),
    "step:inf": (1, "gave out -inf for 'y' at t = 0.51 s", 0.5),
    "first:error": (1, "gave up", 0.0),
    **{f"step:{action}": (0, "", WHOLE) for action in ("print", "close", "move", "garbage", "silence")},
    **{
        f"{function}:{action}": (0, ENDS[action], WHOLE)
        for function in ("terminate", "free") for action in ("crash", "abort", "exit", "overflow", "hang")
    },
    "terminate:error": (1, "gave up", WHOLE),
    **{f"unload:{action}": (0, "", WHOLE) for action in ("crash", "hang")},
}  # fmt: skip

LIBRARY = "binaries/linux64/hostile.so"
Files = dict[str, bytes]


def xml(*edits: tuple[str, str]) -> Files:
    text = DESCRIPTION
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return {"modelDescription.xml": text.encode()}


LAUGHS = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 10))
BOMB = f'?><!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]>'
# What is wrong with the files of the FMU: their new contents, empty ones are left out; what is said.
FILES: dict[str, tuple[Callable[[Files], Files], str]] = {
    "no xml": (lambda files: {"modelDescription.xml": b""}, "has no modelDescription.xml"),
    "xml is empty": (lambda files: {"modelDescription.xml": b" "}, "cannot be read"),
    "xml is cut": (lambda files: {"modelDescription.xml": DESCRIPTION[:500].encode()}, "cannot be read"),
    "xml is garbage": (lambda files: {"modelDescription.xml": b"\xff\x00" * 100}, "cannot be read"),
    "xml of something else": (lambda files: {"modelDescription.xml": b"<html/>"}, "modelDescription.xml"),
    "xml laughs": (lambda files: xml(("?>", BOMB), ('name="y"', 'name="&a9;"')), "cannot be read"),
    "no version": (lambda files: xml((' fmiVersion="2.0"', "")), "is not as FMI wants it"),
    "another version": (lambda files: xml(('fmiVersion="2.0"', 'fmiVersion="7.0"')), "FMI version: 7.0"),
    "reference is a word": (lambda files: xml(('valueReference="0"', 'valueReference="many"')), "valueReference"),
    "start is a word": (lambda files: xml(('start="0"/>', 'start="soon"/>')), "soon"),
    "output of nothing": (lambda files: xml(('Unknown index="1"', 'Unknown index="7"')), "modelDescription.xml"),
}
# The same of those whose description is good.
LIBRARIES: dict[str, tuple[Callable[[Files], Files], str]] = {
    "another guid": (lambda files: xml((GUID, "{another}")), "cannot be loaded"),
    "no library": (lambda files: {LIBRARY: b""}, "has no binary"),
    "for another system": (lambda files: {LIBRARY: b"", "binaries/win64/hostile.dll": b"MZ"}, "has no binary"),
    "library of another name": (lambda files: {LIBRARY: b"", LIBRARY.replace("hostile", "other"): files[LIBRARY]},
                                "cannot be loaded"),
    "library is garbage": (lambda files: {LIBRARY: b"\x7fELF" + bytes(range(256)) * 10}, "cannot be loaded"),
    "library is cut": (lambda files: {LIBRARY: files[LIBRARY][:3000]}, "crashed (SIGBUS) in instantiation"),
    "library of another machine": (lambda files: {LIBRARY: files[LIBRARY][:18] + b"\xb7" + files[LIBRARY][19:]},
                                   "cannot be loaded"),
    "a function is missing": (lambda files: {LIBRARY: files[LIBRARY].replace(b"fmi2DoStep\0", b"fmi2DoStop\0")},
                              "cannot be loaded"),
    "a symbol is missing": (lambda files: {LIBRARY: files[LIBRARY].replace(b"\0usleep\0", b"\0uslee0\0")},
                            "cannot be loaded"),
}  # fmt: skip
ENTRY = b"PK\x01\x02\x14\x03\x14\x00"  # of the archive's directory, up to its flags
# What is wrong with the archive.
ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "cannot be read"),
    "cut": (lambda data: data[: len(data) // 2], "cannot be read"),
    "garbage": (lambda data: bytes(range(256)) * 10, "cannot be read"),
    "damaged": (lambda data: data.replace(b"<fmiModelDescription", b"<fmiModelDescriptiom"), "cannot be read"),
    "encrypted": (lambda data: data.replace(ENTRY + b"\x00", ENTRY + b"\x01"), "cannot be read"),
}
VERBS = ("simulate", "record", "compare", "cosim")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Folders with an FMU of each version of FMI, its reference, and a system that it is alone in."""
    found = {}
    for version in (2, 3):
        found[version] = tmp_path_factory.mktemp(f"hostile{version}")
        assert command("record", build_hostile(found[version], version)).exit_code == 0
        data = {"format_version": 1, "name": "one", "fmus": {"Hostile": {"fmu": "Hostile.fmu"}}, "couplings": {}}
        (found[version] / "one.json").write_text(json.dumps(data))
    return found


@pytest.fixture
def folder(good: dict[int, Path], request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy to work in; what was recorded before is as it was in the end, and nothing else lies there."""
    here = tmp_path / "here"
    shutil.copytree(good[getattr(request, "param", 2)], here)
    before = {path.name: path.read_bytes() for path in here.iterdir() if "_ref" in path.name}
    monkeypatch.chdir(here)
    monkeypatch.setattr(remote, "FREEING", 1.0)
    yield here
    assert {name: (here / name).read_bytes() for name in before} == before
    kept = {"hostile.so", "Hostile.fmu", "one.json", "out.csv", *before}
    assert not {path.name for path in here.iterdir()} - kept


def command(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), prog_name="mbdfmu")


def played(verb: str, *more: object) -> Result:
    """What a verb says: never a trace, nor too much."""
    given = {"simulate": ["-o", "out.csv"], "record": ["--force"], "compare": [], "info": [],
             "cosim": ["-t", 1, "--step", 0.01, "-o", "out.csv"]}[verb]  # fmt: skip
    done = command(verb, "one.json" if verb == "cosim" else "Hostile.fmu", *given, *more)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert "Traceback" not in done.output and len(done.output) < 3000, done.output[:3000]
    assert done.exit_code == 0 or "Hostile" in done.output
    return done


def cells() -> Iterator[Any]:
    for fault in RUNS:
        function, _, action = fault.partition(":")
        slow = [pytest.mark.nightly] if action == "hang" else []
        for version, verb in [(2, verb) for verb in VERBS] + [(3, "simulate"), (3, "cosim")]:
            if version == 2 or function != "setup":
                yield pytest.param(version, verb, fault, marks=slow, id=f"{verb}-{version}-{fault}")


@pytest.mark.by_day(3)
@pytest.mark.parametrize(("folder", "verb", "fault"), cells(), indirect=["folder"])
def test_a_library_may_do_anything(verb: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows up to there are written. That an FMU cannot begin is 2 where it alone is asked for, 1 in a comparison."""
    code, said, until = RUNS[fault]
    code = 2 if verb == "cosim" and said in COMPLAINTS and fault.startswith("get:") else code  # while it is initialised
    monkeypatch.setenv("HOSTILE", fault)
    done = played(verb, "--time-limit", 5 if fault.endswith("hang") else 60)
    assert done.exit_code == (min(code, 1) if verb == "compare" else code), done.output
    assert said.format(NAMES.get(fault.partition(":")[0])) in done.output
    if until is not EARLY and verb in ("simulate", "cosim"):
        assert float(Path("out.csv").read_text().splitlines()[-1].split(",")[0]) == pytest.approx(until)


@pytest.mark.parametrize("verb", [*VERBS, "info"])
@pytest.mark.parametrize("fault", [*FILES, *LIBRARIES])
def test_files_may_be_anything(verb: str, fault: str, folder: Path) -> None:
    """What an FMU says about itself can be read whatever its library is."""
    changed, said = (FILES | LIBRARIES)[fault]
    with zipfile.ZipFile("Hostile.fmu") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    new = files | changed(files)
    assert new != files
    with zipfile.ZipFile("Hostile.fmu", "w") as archive:
        for name, content in new.items():
            if content:
                archive.writestr(name, content)
    expect(verb, said, good=fault in LIBRARIES)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("verb", [*VERBS, "info"])
@pytest.mark.parametrize("fault", ARCHIVES)
def test_archives_may_be_anything(verb: str, fault: str, folder: Path) -> None:
    changed, said = ARCHIVES[fault]
    data = Path("Hostile.fmu").read_bytes()
    assert changed(data) != data
    Path("Hostile.fmu").write_bytes(changed(data))
    expect(verb, said, good=False)


def expect(verb: str, said: str, *, good: bool) -> None:
    """The code and the words for an FMU that does not run."""
    done = played(verb)
    if verb == "info" and good:
        assert done.exit_code == 0 and re.search(r"^ *y ", done.output, re.M)
    else:
        # compare: where the description cannot be read nothing is compared, else the comparison fails
        fails = (1, "compare") if "crashed" not in said else (1, verb)
        assert (done.exit_code, verb) in ((2, verb), fails), done.output
        assert said in done.output


@pytest.mark.by_day(1)
@pytest.mark.parametrize("fault", ["load:crash", "instantiate:hang", "step:crash"])
def test_what_an_fmu_is_can_be_read_whatever_it_does(fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTILE", fault)
    assert played("info").exit_code == 0
