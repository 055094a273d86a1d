"""Small FMUs to be coupled, whose motion together is known exactly: a mass on a spring, and an actuator with a lag."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

import mbdfmu as mbd
from mbdfmu.cosim import System

STIFFNESS, GAIN, LAG = 40.0, 3.0, 0.2  # N/m at 1 kg, N.s/m, s
START = np.array([0.5, -1.0, 0.3])  # place, speed, force
TIGHT = {"tolerance": 1e-11, "scheme": "dop853"}


def mass() -> mbd.Model:
    """m x'' = -k x + force + push; the speed depends on no input at once, the acceleration on both."""
    model = mbd.Model("mass")
    model.add("force", mbd.Input(unit="N"))
    model.add("push", mbd.Input(unit="N"))
    model.add("k", mbd.Parameter(value=STIFFNESS, unit="N/m"))
    model.add("m", mbd.Parameter(value=1.0, unit="kg"))
    model.add("x", mbd.State(rate="v", start=START[0], unit="m"))
    model.add("v", mbd.State(rate="(-k*x + force + push)/m", start=START[1], unit="m/s"))
    model.add("place", mbd.Output(value="x", unit="m"))
    model.add("speed", mbd.Output(value="v", unit="m/s"))
    model.add("acceleration", mbd.Output(value="(-k*x + force + push)/m", unit="m/s2"))
    return model


def actuator() -> mbd.Model:
    """lag force' = -gain speed - force."""
    model = mbd.Model("actuator")
    model.add("speed", mbd.Input(unit="m/s"))
    model.add("gain", mbd.Parameter(value=GAIN, unit="N.s/m"))
    model.add("lag", mbd.Parameter(value=LAG, unit="s"))
    model.add("f", mbd.State(rate="(-gain*speed - f)/lag", start=START[2], unit="N"))
    model.add("force", mbd.Output(value="f", unit="N"))
    return model


def through(name: str, expression: str, unit: str = "") -> mbd.Model:
    """An output that answers to its input `u` at once."""
    model = mbd.Model(name)
    model.add("u", mbd.Input(unit=unit))
    model.add("y", mbd.Output(value=expression, unit=unit))
    model.add("clock", mbd.State(rate="1", unit="s"))  # a model needs something that moves
    return model


def exact(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place, speed and force of mass and actuator together."""
    matrix = np.array([[0, 1, 0], [-STIFFNESS, 0, 1], [0, -GAIN / LAG, -1 / LAG]])
    return np.array([expm(matrix * t) @ START for t in times])


def export(model: mbd.Model, folder: Path, **choices: object) -> Path:
    """The FMU of a model, with a tight solver."""
    path = folder / f"{model.name}.fmu"
    model.export_fmu(path, **{**TIGHT, **choices})  # type: ignore[arg-type]
    return path


def pair(folder: Path, *, actuator_step: float | None = None, **master: object) -> System:
    """Mass and actuator, coupled."""
    system = System("pair", master=master)
    system.add("mass", folder / "mass.fmu")
    system.add("actuator", folder / "actuator.fmu", step=actuator_step)
    system.connect("actuator.speed", "mass.speed")
    system.connect("mass.force", "actuator.force")
    return system
