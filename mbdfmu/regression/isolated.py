"""Run an FMU in a process of its own, so that a crash or an endless step is a finding; must not know references.

The parent writes what to do as JSON and the inputs as CSV; the child (worker.py) leaves the result as HDF5.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mbdfmu.errors import ModelError
from mbdfmu.results import Result
from mbdfmu.tabular import Table, write_csv

REQUEST, INPUTS, RESULT, PROBLEMS = "request.json", "inputs.csv", "result.h5", "problems.json"
TIME_LIMIT = 600.0  # s, of one run
LINES = 5  # of the child's last words in a message


class Isolated:
    """Called as `fmi.simulate`, without `progress` and with inputs as a table.

    A child that crashes or takes too long is a ModelError.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit

    def __call__(
        self, path: str | os.PathLike[str], t_end: float | None = None, step_output: float | None = None, **named: Any
    ) -> Result:
        named.pop("progress", None)  # nobody is told: the parent waits
        with tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            inputs: Table | None = named.pop("inputs", None)
            if inputs is not None:
                write_csv(folder / INPUTS, inputs)
                named["inputs"] = os.fspath(folder / INPUTS)
            request = {"path": os.fspath(Path(path).absolute()), "t_end": t_end, "step_output": step_output, **named}
            (folder / REQUEST).write_text(json.dumps(request, default=dict), encoding="utf-8")
            done = self._child(path, folder)
            return _outcome(path, folder, done)

    def _child(self, path: str | os.PathLike[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
        # -P: a folder of the user's must not stand in for our packages.
        command = [sys.executable, "-P", "-m", "mbdfmu.regression.worker", os.fspath(folder)]
        try:
            return subprocess.run(command, cwd=folder, capture_output=True, timeout=self.time_limit, check=False)
        except subprocess.TimeoutExpired:
            said = f"did not end within {self.time_limit:g} s and was stopped; raise the time limit if it needs more"
            raise ModelError(f"{path}: {said}") from None


def _outcome(path: str | os.PathLike[str], folder: Path, done: subprocess.CompletedProcess[bytes]) -> Result:
    if (folder / PROBLEMS).is_file():
        raise ModelError(json.loads((folder / PROBLEMS).read_text(encoding="utf-8")))
    if done.returncode or not (folder / RESULT).is_file():
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()[-LINES:]
        raise ModelError("\n    ".join([f"{path}: the process that ran it {_ending(done.returncode)}", *words]))
    return Result.read(folder / RESULT)


def _ending(code: int) -> str:
    if code < 0 and -code in set(signal.Signals):
        return f"crashed: {signal.Signals(-code).name}"
    return f"ended with code {code} and without a result"
