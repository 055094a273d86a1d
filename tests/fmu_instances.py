"""Instances of FMUs for tests: names instead of references, what they say is kept; must not know runtimes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave

import mbdfmu as mbd
from mbdfmu.fmi.calls import loading

STEP = 0.01  # communication step of most tests, s
RUNTIMES = ("native", "python")
FAMILIES = {"chain": {"N": 3}, "four_bar": {}}  # small ones
MODELS = [*mbd.models.names(), "own_coordinates"]
_CALLED = {"Enumeration": "Integer"}


@cache
def shipped(name: str) -> mbd.Model:
    """One of MODELS, for all tests, which change nothing about it: compiling takes longer than exporting."""
    if name == "own_coordinates":
        return user_coordinates()
    return mbd.models.load(name, **FAMILIES.get(name, {}))


def user_coordinates(gravity: float = 9.81) -> mbd.Model:
    """A pendulum in the user's own coordinate, whose velocity is called der(theta)."""
    model = mbd.Model("own_coordinates")
    model.add("g", gravity)
    model.add("theta", mbd.Coordinate(start=0.5, force="-g*sin(theta)"))
    model.add_mass("theta", 1.0)
    model.add("rate", "der(theta)")
    return model


def blow_up() -> mbd.Model:
    """A coordinate that is infinite after a finite time, about 1.2 s."""
    model = mbd.Model("blow_up")
    model.add("x", mbd.Coordinate(start=1.0, velocity=1.0, unit="m", force="x^3"))
    model.add_mass("x", 1.0)
    return model


class FMU2Named(FMU2Slave):  # type: ignore[misc]
    """An instance with names instead of references, and what it logged; fmpy wants the class to be called FMU2..."""

    facts: Any
    said: list[str]

    def put(self, name: str, value: float) -> None:
        variable = self.facts.variable(name)
        setter = getattr(self, f"set{_CALLED.get(variable.type, variable.type)}")
        setter([variable.reference], [value])

    def look(self, *names: str) -> list[Any]:
        return [self._look(self.facts.variable(name)) for name in names]

    def _look(self, variable: Any) -> Any:
        value = getattr(self, f"get{_CALLED.get(variable.type, variable.type)}")([variable.reference])[0]
        return value.decode() if isinstance(value, bytes) else value

    def begin(self, tolerance: float | None = None, at: float = 0.0, **values: float) -> None:
        self.setupExperiment(startTime=at, tolerance=tolerance)
        for name, value in values.items():
            self.put(name, value)
        self.enterInitializationMode()
        self.exitInitializationMode()

    def run(self, begin: int, end: int, size: float = STEP) -> list[float]:
        for k in range(begin, end):
            self.doStep(k * size, (k + 1) * size - k * size)
        return self.look("time", "angle", "speed", "pull")


@contextmanager
def opened(path: Path, folder: Path | None = None) -> Iterator[FMU2Named]:
    """An instance of the FMU, in the folder where it has been unpacked or in a temporary one."""
    with tempfile.TemporaryDirectory() as temporary:
        unzipped = str(folder or fmpy.extract(str(path), temporary))
        description = fmpy.read_model_description(unzipped)
        names = {"modelIdentifier": description.coSimulation.modelIdentifier, "unzipDirectory": unzipped}
        with loading():
            fmu = FMU2Named(guid=description.guid, instanceName="test", **names)
        fmu.facts, fmu.said = mbd.fmu.info(path), []
        fmu.instantiate(callbacks=callbacks_for(fmu.said), loggingOn=True)
        try:
            yield fmu
        finally:
            fmu.freeInstance()


_ALIVE: list[Any] = []  # fmpy gives the messages of all FMUs to the function that was put in last, even if it is gone


def callbacks_for(said: list[str]) -> Any:
    callbacks = fmpy.fmi2.fmi2CallbackFunctions()
    callbacks.logger = fmpy.fmi2.fmi2CallbackLoggerTYPE(lambda e, i, status, c, message: said.append(message.decode()))
    callbacks.allocateMemory = fmpy.fmi2.fmi2CallbackAllocateMemoryTYPE(fmpy.calloc)
    callbacks.freeMemory = fmpy.fmi2.fmi2CallbackFreeMemoryTYPE(fmpy.free)
    fmpy.fmi2.addLoggerProxy(fmpy.fmi2.byref(callbacks))
    _ALIVE.append(callbacks)
    return callbacks


def held_torque() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """One value for each communication step; it begins at the input's start value, 0."""
    times = np.arange(101) * STEP
    return times, np.round(3 * np.sin(5 * times), 1)


def first_rows(result: mbd.Result) -> np.ndarray[Any, Any]:
    """The rows before jumps: an FMU is asked once at each communication point."""
    return np.unique(result.time, return_index=True)[1]


def in_new_process(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)
