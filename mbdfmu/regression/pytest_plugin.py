"""A folder of FMUs as a pytest suite: every FMU is a test against its reference; must not know how one is judged.

pytest loads this module in every session of whoever has mbdfmu installed, so it imports nothing until an FMU is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mbdfmu.regression import Case, Verdict

MARKER = "fmu: an FMU against its reference (mbdfmu)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; those that a project wants always are ini settings too."""
    group = parser.getgroup("fmu", "FMUs against their references (mbdfmu)")
    group.addoption(
        "--fmus", action="append", default=[], metavar="PATH",
        help="run every FMU in this folder, or this FMU; repeatable",
    )  # fmt: skip
    group.addoption("--fmu-references", metavar="FOLDER", help="where references are, if not beside or inside the FMUs")
    group.addoption("--fmu-isolate", action="store_true", default=None, help="run each FMU in a process of its own")
    group.addoption(
        "--fmu-time-limit", type=float, metavar="SECONDS", help="of one isolated run (600); implies --fmu-isolate"
    )
    group.addoption("--fmu-rtol", type=float, metavar="NUMBER", help="allowed, as a part of the range of each signal")
    group.addoption("--fmu-atol", type=float, metavar="NUMBER", help="allowed at least, in the unit of each signal")
    parser.addini("fmu_collect", "collect *.fmu files wherever tests are collected", type="bool", default=False)
    parser.addini("fmu_isolate", "run each FMU in a process of its own", type="bool", default=False)
    parser.addini("fmu_time_limit", "seconds of one isolated run", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; folders of --fmus take the place of the usual test paths, not of those given."""
    config.addinivalue_line("markers", MARKER)
    wanted = config.getoption("fmus")
    if not wanted:
        return
    missing = [path for path in wanted if not Path(path).exists()]
    if missing:
        raise pytest.UsageError(f"--fmus {', '.join(missing)}: there is no such file or folder")
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    known = {Path(argument).absolute() for argument in given}  # a worker of xdist is given them already
    config.args = [*given, *(path for path in wanted if Path(path).absolute() not in known)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> FmuFile | None:
    """A collector for a file that is an FMU and is meant."""
    if file_path.suffix.lower() != ".fmu" or not _meant(file_path, parent.config):
        return None
    file: FmuFile = FmuFile.from_parent(parent, path=file_path)
    return file


def _meant(path: Path, config: pytest.Config) -> bool:
    if config.getini("fmu_collect"):
        return True
    return any(path.is_relative_to(Path(wanted).absolute()) for wanted in config.getoption("fmus"))


class FmuFile(pytest.File):
    """An FMU: a test for each of its kinds and references."""

    def collect(self) -> Iterator[FmuItem]:
        """One item for each kind and reference; an FMU without any is an item that fails, not an end of collection."""
        from mbdfmu.regression import cases

        for case in cases(self.path, self.config.getoption("fmu_references")):
            which = f"[{case.reference.name}]" if case.reference and case.reference.name else ""
            name = f"{case.kind or 'reference'}{which}"
            yield FmuItem.from_parent(self, name=name, case=case)


class FmuItem(pytest.Item):
    """One run of an FMU and its comparison."""

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self.case = case
        self.add_marker("fmu")

    def runtest(self) -> None:
        """Fails with the report of the verdict."""
        from mbdfmu.regression import Terms, judge

        option = self.config.getoption
        terms = Terms(rtol=option("fmu_rtol"), atol=option("fmu_atol"))
        verdict = judge(self.case, terms, run=_runner(self.config))
        for note in verdict.notes:
            self.add_report_section("call", "notes", note)
        if not verdict.passed:
            raise FmuFailed(verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone: a traceback of ours says nothing about an FMU."""
        if isinstance(excinfo.value, FmuFailed):
            return excinfo.value.verdict.report()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What pytest calls the test."""
        return self.path, None, f"FMU {self.case.name}"


class FmuFailed(Exception):
    """An FMU that is not what its reference says."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.name)
        self.verdict = verdict


def _runner(config: pytest.Config) -> Any:
    """In this process, or each run in its own."""
    from mbdfmu import fmi

    limit = config.getoption("fmu_time_limit") or float(config.getini("fmu_time_limit") or 0)
    if limit or config.getoption("fmu_isolate") or config.getini("fmu_isolate"):
        return partial(fmi.simulate, isolate=True, time_limit=limit or None)
    return fmi.simulate
