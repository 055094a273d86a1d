"""What an FMU costs beside the solver's own work, measured from C; must not know how FMUs are made.

The host is that of the tests (tests/native/host.c). FMUs of the Python runtime need an interpreter around it: there it
is loaded into a Python process, and the measured calls come from C all the same.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from timing import Record

import mbdfmu as mbd

HOST = Path(__file__).parents[1] / "tests" / "native" / "host.c"
IN_PYTHON = (
    "import ctypes, sys; a = [x.encode() for x in sys.argv]; "
    "sys.exit(ctypes.CDLL(a[1]).main(len(a) - 1, (ctypes.c_char_p * len(a))(*a[1:], None)))"
)
MODELS = ("pendulum", "slider_crank", "chain:N=10")
STEP, LONGER = 1e-4, 10  # s; a communication step of several internal ones, which take no call each


@dataclass(frozen=True)
class Fmu:
    """An FMU unpacked beside its file, and the command that plays scripts on it."""

    file: Path
    folder: Path
    command: tuple[str, ...]

    def spans(self, lines: list[str]) -> list[float]:
        """Seconds of CPU time between the `clock` lines of a script."""
        script = self.file.with_suffix(".txt")
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [*self.command, "play", str(self.folder), str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [float(line) * 1e-9 for line in done.stdout.splitlines()]


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    models = MODELS[:1] if smallest else MODELS
    if shutil.which(_compiler()) is None:
        print(f"fmu: no C compiler '{_compiler()}' on the path; nothing measured")
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = [_record(model, runtime, folder, smallest) for model in models for runtime in ("native", "python")]
    return {"calls of an FMU, from C": records}


def _record(model: str, runtime: str, folder: Path, smallest: bool) -> Record:
    fmu = _fmu(model, runtime, folder / f"{model.partition(':')[0]}_{runtime}")
    facts = mbd.fmu.info(fmu.file)
    fixed = f"real {facts.variable('solver.step').reference} {STEP!r}"
    step, call = _stepping(fmu, fixed, *((1000, 1) if smallest else (20_000, 15)))
    return {
        "model": model,
        "runtime": runtime,
        "MB": fmu.file.stat().st_size / 1e6,
        "instantiate ms": 1e3 * _instantiation(fmu, 2 if smallest else 30),
        "step us": 1e6 * step,
        "of it the call": 1e6 * call,
    }


def _instantiation(fmu: Fmu, count: int) -> float:
    """The fastest of some, in one process that has loaded the library before."""
    lines = ["instantiate", "free", *["clock", "instantiate", "clock", "free"] * count]
    return min(fmu.spans(lines)[0::2])


def _stepping(fmu: Fmu, fixed: str, count: int, repeats: int) -> tuple[float, float]:
    """A step of one internal step, and what the call of it takes: the same steps with fewer calls are the rest."""
    begin = ["instantiate", "setup 0", fixed, "enter", "exit", f"march {STEP!r} 100", "clock"]
    many, few = [*begin, f"march {STEP!r} {count}"], [*begin, f"march {STEP * LONGER!r} {count // LONGER}"]
    tasks = {
        "many": lambda: fmu.spans([*many, "clock", "free"])[0],
        "few": lambda: fmu.spans([*few, "clock", "free"])[0],
    }
    best = dict.fromkeys(tasks, math.inf)
    for _ in range(repeats):  # in turns: a slow moment of the machine hits both
        best = {key: min(best[key], task()) for key, task in tasks.items()}
    return best["many"] / count, (best["many"] - best["few"]) / (count - count // LONGER)


def _fmu(model: str, runtime: str, folder: Path) -> Fmu:
    folder.mkdir()
    file = mbd.models.load(model).export_fmu(folder / "x.fmu", runtime=runtime)
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "unpacked")
    library = runtime == "python"
    host = folder / ("host.so" if library else "host")
    kind = ["-shared", "-fPIC"] if library else []
    subprocess.run([_compiler(), "-std=c11", "-O2", *kind, "-o", host, HOST, "-lpthread", "-ldl"], check=True)
    return Fmu(file, folder / "unpacked", (sys.executable, "-c", IN_PYTHON, str(host)) if library else (str(host),))


def _compiler() -> str:
    return os.environ.get("CC", "cc")
