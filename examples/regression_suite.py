"""Vehicles and controllers as a regression suite: references recorded on roads and brakes, run by pytest, one changed.

Every FMU of the folder gets a reference with inputs that move it: rough roads for suspensions, a foot on the brake for
wheels, what sensors may see for controllers. `pytest --fmus suite` is all that runs them, here or anywhere.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mbdfmu as mbd
from mbdfmu.regression import record
from mbdfmu.regression.story import Conditions

FOLDER = Path("suite")
END, STEP, SPEED = 1.0, 5e-3, 20.0  # s, s, m/s
ROAD = mbd.roads.iso8608("C", length=30.0, seed=1)
FOOT = ([0.0, 0.1, 0.2], [0.0, 0.0, 1500.0])  # s, N.m
WHEELS = ("front_left", "front_right", "rear_left", "rear_right")

PLANTS: dict[str, dict[str, Any]] = {
    "quarter_car": ROAD.inputs(SPEED, END, {"road": 0.0}, spacing=0.1),
    "half_car": ROAD.inputs(SPEED, END, {"front_road": 0.0, "rear_road": 2.7}, spacing=0.1),
    "brake_rig": {"brake": FOOT},
    "full_vehicle": {f"{wheel}.brake": FOOT for wheel in WHEELS} | {"rack": ([0.0, 0.5, 0.7], [0.0, 0.0, 0.005])},
}
CONTROLLERS = {  # sampled and continuous ones; those with memory need Python on the target
    "skyhook": {"lag": 0.02, "limit": 900.0},
    "groundhook": {"sample_time": 0.01, "delay": 0.005},
    "lqr": {},
    "pid": {"kp": 2.0, "ki": 3.0, "kd": 0.1, "lowest": -1.0, "highest": 1.5},
    "abs_slip": {"wheels": 4},
    "abs_threshold": {},
    "state_space": {},
}


def sensors(controller: mbd.controllers.Controller) -> dict[str, Any]:
    """Something for every input: waves of its size, each a little faster than the one before."""
    times = np.arange(0.0, END + STEP / 2, STEP)
    sizes = {"N.m": 1500.0, "m/s": 10.0 if "speed" in controller.inputs else 0.3, "m": 0.02, "1": 0.15}
    found = {}
    for k, (name, port) in enumerate(controller.inputs.items(), 2):
        middle = {0.0: 1.0, -1.0: -1.0}.get(port.low, 0.0)  # torques are positive, slips of brakes negative
        found[name] = (times, sizes.get(port.unit, 1.0) * (middle + np.sin(2 * np.pi * k * times)))
    return found


def export() -> None:
    """All FMUs with their references."""
    FOLDER.mkdir(exist_ok=True)
    conditions = Conditions(t_end=END, step=STEP)
    for name, inputs in PLANTS.items():
        fmu = mbd.models.load(name).export_fmu(FOLDER / f"{name}.fmu", signals=[])
        record(fmu, conditions=conditions, inputs=inputs, replace_old=True)
    for name, parameters in CONTROLLERS.items():
        controller = mbd.controllers.load(name, **parameters)
        runtime = "python" if controller.sampled else "native"
        fmu = controller.export_fmu(FOLDER / f"{name}.fmu", runtime=runtime)
        record(fmu, conditions=conditions, inputs=sensors(controller), replace_old=True)


def suite(*options: str) -> str:
    """The verdict of pytest: its last line, and what has failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--fmus", str(FOLDER), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    failed = [line for line in lines if line.startswith("FAILED")]
    return "\n".join([*failed, lines[-1] if lines else done.stderr])


def main() -> None:
    export()
    print(f"recorded {len(PLANTS) + len(CONTROLLERS)} references in {FOLDER}")
    if find_spec("pytest") is None:
        print("pytest is not installed; `mbdfmu compare suite` runs them without it")
        return
    print(suite())
    # Somebody tunes the skyhook and forgets to say so.
    mbd.controllers.load("skyhook", lag=0.02, limit=900.0, gain=3100.0).export_fmu(
        FOLDER / "skyhook.fmu", runtime="native"
    )
    print("after a change of one gain:", suite("-k", "skyhook"), sep="\n")


if __name__ == "__main__":
    main()
