"""FMUs that misbehave on request, and their references; shared by the tests of the regression harness."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

import numpy as np
from pythonfmu import FmuBuilder

from mbdfmu.fmi.references import options_csv, table_csv
from mbdfmu.regression.story import Conditions, story_text
from mbdfmu.results import Result

STEP, END = 0.01, 1.0
TIMES = np.append(np.arange(100) * STEP, END)

# A slave as users write them, not ours. What it does wrong is a parameter, so that one file is enough.
SCRIPT = """
import math, os, signal, time
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real
from pythonfmu.enums import Fmi2Status


class {name}(Fmi2Slave):
    def __init__(self, **given):
        super().__init__(**given)
        self.u = 0.0
        self.fault = 0.0
        self.y = self.z = 0.0
        parameter = {{"causality": Fmi2Causality.parameter, "variability": Fmi2Variability.tunable}}
        self.register_variable(Real("u", causality=Fmi2Causality.input, start=0.0))
        self.register_variable(Real("fault", start=0.0, **parameter))
        self.register_variable(Real("y", causality=Fmi2Causality.output))
        self.register_variable(Real("z", causality=Fmi2Causality.output))

    def do_step(self, t, dt):
        late = t + dt > 0.5
        if self.fault == 1 and late:
            return False
        if self.fault == 2 and late:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.fault == 3 and late:
            time.sleep(300)
        if self.fault == 4 and late:
            raise RuntimeError("the spring broke")
        if self.fault == 7 and late:
            self.log("the oil is hot", Fmi2Status.warning)
        if self.fault == 8 and late:
            os._exit(0)
        self.y = math.sin(6 * (t + dt)) + self.u
        self.z = math.nan if self.fault == 5 and late else self.y
        if self.fault == 6:
            self.y = math.nan
        return True
"""


class Fault(IntEnum):
    """What the FMU does wrong."""

    DISCARD = 1
    CRASH = 2
    ENDLESS = 3
    EXCEPTION = 4
    WILD_OUTPUT = 5
    ALL_NAN = 6
    WARNING = 7
    EXIT = 8


def build(folder: Path, name: str = "Wave") -> Path:
    """An FMU by plain pythonfmu: y = sin(6 t) + u, z the same."""
    script = folder / f"{name.lower()}_script.py"
    script.write_text(SCRIPT.format(name=name), encoding="utf-8")
    built: Path = FmuBuilder.build_FMU(script, folder / f"{name}.fmu", needsExecutionTool=False)
    script.unlink()
    return built


def reference() -> Result:
    """What the FMU computes without a fault and with u = 0.5 from t = 0.3 on."""
    return Result(TIMES, {"y": np.sin(6 * TIMES) * (TIMES > 0) + 0.5 * (TIMES > 0.3 + 1e-9)})


def write_reference(fmu: Path, result: Result | None = None, end: float = END, fault: float = 0.0) -> None:
    """The files beside an FMU, in place of those there."""
    base = fmu.parent / fmu.stem
    for end_of_name in ("_ref.csv", "_in.csv", "_ref.opt", "_ref.json"):
        Path(f"{base}{end_of_name}").unlink(missing_ok=True)
    inputs = Result([0.0, 0.3, 0.3, END], {"u": [0.0, 0.0, 0.5, 0.5]})
    Path(f"{base}_ref.csv").write_bytes(table_csv(reference() if result is None else result))
    Path(f"{base}_in.csv").write_bytes(table_csv(inputs))
    conditions = Conditions(parameters={"fault": fault} if fault else {})
    Path(f"{base}_ref.opt").write_bytes(options_csv(0.0, end, STEP, None))
    Path(f"{base}_ref.json").write_text(story_text(conditions), encoding="utf-8")
