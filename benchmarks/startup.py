"""How long the first contact takes and what it loads; must not know how the package is laid out."""

from __future__ import annotations

import subprocess
import sys

from timing import Record, fastest

# Nothing of these is needed to look at or simulate a model.
HEAVY = ("scipy", "h5py", "fmpy", "pythonfmu", "matplotlib", "tqdm")
CONTACTS = {
    "python alone": "pass",
    "import numpy": "import numpy",
    "import mbdfmu": "import mbdfmu",
    "mbdfmu --help": "import sys; sys.argv = ['mbdfmu', '--help']; from mbdfmu.cli import main; main()",
    "load pendulum": "import mbdfmu; mbdfmu.models.load('pendulum')",
    "simulate pendulum": "import mbdfmu; mbdfmu.models.load('pendulum').simulate(1.0)",
}


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    contacts = ["import mbdfmu"] if smallest else CONTACTS
    return {"processes": [_record(name, 1 if smallest else 15) for name in contacts]}


def _record(name: str, repeats: int) -> Record:
    loaded = modules_after(CONTACTS[name])
    own = sum(module.split(".")[0] == "mbdfmu" for module in loaded)
    heavy = sorted({module.split(".")[0] for module in loaded}.intersection(HEAVY))
    return {
        "process": name,
        "ms": 1e3 * fastest(lambda: _python(CONTACTS[name]), repeats),
        "modules": len(loaded),
        "of mbdfmu": own,
        "heavy": ", ".join(heavy) or "none",
    }


def modules_after(code: str) -> list[str]:
    """Names of all modules that a fresh interpreter has loaded after running the code."""
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    return _python(report + code).stderr.splitlines()[-1].split()


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
