"""What a master costs beside the work of its FMUs, ours next to those of others; must not know how masters step."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import cosim_masters
from timing import Record, interleaved

import mbdfmu as mbd

STEPS, REPEATS, SECONDS = 8000, 4, 60.0
SMALLEST = ("doStep alone", "all FMI calls alone", "mbdfmu", "fmpy alone")
# Steps of other sizes are other work for the FMUs.
OF_OTHER_SIZES = ("mbdfmu, tolerance 1e-3",)


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    steps, repeats = (20, 1) if smallest else (STEPS, REPEATS)
    wanted = SMALLEST if smallest else [name for name in cosim_masters.MASTERS if _installed(name)]
    with tempfile.TemporaryDirectory() as folder:
        files = _fmus(Path(folder))
        tasks = {name: lambda name=name: _per_step(name, files, steps, repeats) for name in wanted}
        found = {name: task() for name, task in tasks.items()} if smallest else interleaved(tasks, SECONDS)
    title = f"a quarter car and its controller, steps of {cosim_masters.STEP:g} s"
    return {title: [_record(name, found) for name in wanted]}


def _fmus(folder: Path) -> list[str]:
    car = mbd.models.load("quarter_car").export_fmu(folder / "car.fmu", runtime="native")
    sky = mbd.controllers.load("skyhook").export_fmu(folder / "sky.fmu", runtime="native")
    return [str(car), str(sky)]


def _package(name: str) -> str | None:
    return cosim_masters.PACKAGES.get(name.partition(",")[0])


def _is_foreign(name: str) -> bool:
    return _package(name) is not None


def _installed(name: str) -> bool:
    package = _package(name)
    return package is None or importlib.util.find_spec(package) is not None


def _per_step(name: str, files: list[str], steps: int, repeats: int) -> float:
    """Seconds of CPU time, measured in a process of its own; nan where the master does not run here."""
    command = [sys.executable, cosim_masters.__file__, name, *files, str(steps), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and _is_foreign(name):
        return math.nan
    done.check_returncode()
    return float(done.stdout.split()[-1])


def _record(name: str, found: dict[str, float]) -> Record:
    us = {key: 1e6 * value for key, value in found.items()}
    same = name not in OF_OTHER_SIZES
    return {
        "master": name,
        "us/step": us[name],
        "beyond doStep": us[name] - us["doStep alone"] if same else math.nan,
        "beyond all FMI calls": us[name] - us["all FMI calls alone"] if same else math.nan,
    }
