"""The calls of a loaded FMU, alike for FMI 2.0 and 3.0; must not know names, runs or what to do about failures.

fmpy makes the calls themselves; what it raises passes through.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from mbdfmu.fmi.hearing import Messages, callbacks_for, readable, take_the_word
from mbdfmu.fmi.reading import DESCRIPTION, REALS, FmuInfo, FmuVariable
from mbdfmu.fmi.types import Value

PYTHON: dict[str, Callable[[Any], Value]] = {
    **dict.fromkeys(REALS, float),
    **dict.fromkeys(("Integer", "Enumeration", *(f"{u}Int{n}" for u in ("", "U") for n in (8, 16, 32, 64))), int),
    "Boolean": bool,
    "String": str,
}
RANGES = {
    **{f"Int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"UInt{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
}
RANGES |= {"Integer": RANGES["Int32"], "Enumeration": RANGES["Int32"]}
OK, WARNING, DISCARD, ERROR, FATAL = range(5)  # of fmi2Status and fmi3Status
LAST_SUCCESSFUL_TIME, TERMINATED = 2, 3  # of fmi2StatusKind

_LOADING = threading.RLock()


@contextmanager
def loading() -> Iterator[None]:
    """Around every loading of a library: fmpy changes the working folder of the process for it.

    Two threads at once would put back each other's, and where it fails fmpy puts back none.
    """
    with _LOADING:
        here = os.getcwd()
        try:
            yield
        finally:
            os.chdir(here)


class Calls2:
    """FMI 2.0 for co-simulation."""

    version, kind = 2, "CoSimulation"

    def __init__(
        self, facts: FmuInfo, folder: str, description: Any, messages: Messages, *, follows: bool = False
    ) -> None:
        from fmpy.fmi2 import FMU2Model, FMU2Slave

        steps = self.kind == "CoSimulation"
        interface = description.coSimulation if steps else description.modelExchange
        self._fmu = (FMU2Slave if steps else FMU2Model)(
            guid=description.guid, modelIdentifier=interface.modelIdentifier, unzipDirectory=folder,
        )  # fmt: skip
        callbacks, self._stop_hearing = callbacks_for(messages)
        try:
            self._fmu.instantiate(callbacks=callbacks, loggingOn=True)
        except BaseException:
            self._stop_hearing()
            raise
        refuse_negative(self._fmu)
        self._interpolates = facts.capabilities.get("canInterpolateInputs", False)

    @property
    def fmu(self) -> Any:
        """fmpy's instance, whose next call is heard."""
        take_the_word()
        return self._fmu

    def prepare(self, t_start: float, t_end: float | None, tolerance: float | None) -> None:
        """What comes before start values are set."""
        self.fmu.setupExperiment(tolerance=tolerance, startTime=t_start, stopTime=t_end)

    def enter_initialisation(self) -> None:
        self.fmu.enterInitializationMode()

    def leave_initialisation(self) -> None:
        self.fmu.exitInitializationMode()

    def get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        called = {"Enumeration": "Integer"}.get(variables[0].type, variables[0].type)
        found = getattr(self.fmu, f"get{called}")([v.reference for v in variables])
        return [_converted(variables[0], value) for value in found]

    def set(self, variable: FmuVariable, value: Value) -> None:
        called = {"Enumeration": "Integer"}.get(variable.type, variable.type)
        getattr(self.fmu, f"set{called}")([variable.reference], [PYTHON[variable.type](value)])

    def recall(self, variable: FmuVariable) -> None:
        """What was written past `set` is known to it from now on: FMI 2.0 has no arrays to be remembered."""

    def set_slope(self, variable: FmuVariable, slope: float) -> None:
        """What an input does during the next step, as far as the FMU can follow."""
        if self._interpolates and variable.is_real:
            self.fmu.setRealInputDerivatives([variable.reference], [1], [slope])

    def access(
        self, verb: str, type_: str, references: Sequence[int], values: Any, size: int
    ) -> Callable[[], int]:
        """A call of Get or Set with arguments that stay; it returns the status."""
        called = {"Enumeration": "Integer"}.get(type_, type_)
        function = getattr(self._fmu.dll, f"fmi2{verb}{called}")
        return _fixed(function, self._fmu.component, _c_array(references), len(references), values)

    def slopes(
        self, variables: Sequence[FmuVariable], values: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> Callable[[], int] | None:
        """A call that lets inputs follow lines during the next step; None where the FMU cannot follow."""
        if not self._interpolates:
            return None
        references = _c_array([v.reference for v in variables])
        orders, pointer = (ctypes.c_int * len(variables))(*[1] * len(variables)), _pointer(slopes)
        function = self._fmu.dll.fmi2SetRealInputDerivatives
        return _fixed(function, self._fmu.component, references, len(variables), orders, pointer)

    def stepper(self, *, repeatable: bool) -> Callable[[float, float], int]:
        """A call of one step from a time by a size, which returns the status; `repeatable`: it may be taken back."""
        function, component = self._fmu.dll.fmi2DoStep, ctypes.c_void_p(self._fmu.component)
        final = ctypes.c_int(not repeatable)

        def step(time: float, size: float) -> int:
            status: int = function(component, time, size, final)
            return status

        return step

    def take_the_word(self) -> None:
        """From now on what it says is heard, whatever else has used fmpy."""
        take_the_word()

    def ended_at(self) -> float | None:
        """The time up to which it went, after a step that it has discarded as it wants no more of them."""
        fmu = self.fmu
        return float(fmu.getRealStatus(LAST_SUCCESSFUL_TIME)) if fmu.getBooleanStatus(TERMINATED) else None

    def get_state(self) -> Any:
        return self.fmu.getFMUstate()

    def set_state(self, state: Any) -> None:
        self.fmu.setFMUstate(state)

    def free_state(self, state: Any) -> None:
        self.fmu.freeFMUstate(state)

    def terminate(self) -> None:
        self.fmu.terminate()

    def free(self) -> None:
        self.fmu.freeInstance()
        self._stop_hearing()

    def abandon(self) -> None:
        """It may not be called any more."""


class Calls3:
    """FMI 3.0 for co-simulation, without event mode and early return.

    Elements of arrays are set one by one here, so the values of the others are remembered. Slopes of inputs reach the
    FMU through its intermediate updates.
    """

    version, kind = 3, "CoSimulation"

    def __init__(self, facts: FmuInfo, folder: str, description: Any, messages: Messages, *, follows: bool) -> None:
        from fmpy.simulation import instantiate_fmu

        def logger(environment: object, status: int, category: bytes, message: bytes) -> None:
            messages.append((status, readable(message)))

        follows = follows and facts.capabilities.get("providesIntermediateUpdate", False)
        self._followed = _followed(folder) if follows else set()
        self._arrays = _start_values(facts)
        self._lines: dict[tuple[int, int], tuple[float, float, float]] = {}  # of inputs: time, value, slope
        self._time = 0.0
        self._begin: dict[str, Any] = {}
        self._ended_at: float | None = None
        self.fmu = instantiate_fmu(
            folder, description, self.kind, debug_logging=True, logger=logger,
            intermediate_update=self._update if self._followed else None,
            required_intermediate_variables=sorted(self._followed) or None,
        )  # fmt: skip
        refuse_negative(self.fmu)

    def prepare(self, t_start: float, t_end: float | None, tolerance: float | None) -> None:
        """What comes before start values are set."""
        self._begin = {"tolerance": tolerance, "startTime": t_start, "stopTime": t_end}
        self._time = t_start

    def enter_initialisation(self) -> None:
        self.fmu.enterInitializationMode(**self._begin)

    def leave_initialisation(self) -> None:
        self.fmu.exitInitializationMode()

    def get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        sizes = {v.reference: v.size for v in variables}
        called = {"Enumeration": "Int64"}.get(variables[0].type, variables[0].type)
        found = iter(getattr(self.fmu, f"get{called}")(list(sizes), nValues=sum(sizes.values())))
        values = {reference: [next(found) for _ in range(size)] for reference, size in sizes.items()}
        return [_converted(v, values[v.reference][v.element]) for v in variables]

    def set(self, variable: FmuVariable, value: Value) -> None:
        values = self._arrays.setdefault(variable.reference, [value] * variable.size)
        values[variable.element] = PYTHON[variable.type](value)
        called = {"Enumeration": "Int64"}.get(variable.type, variable.type)
        getattr(self.fmu, f"set{called}")([variable.reference], values)

    def recall(self, variable: FmuVariable) -> None:
        """What was written past `set`, by `access`, is known to it from now on."""
        if variable.size > 1:
            called = {"Enumeration": "Int64"}.get(variable.type, variable.type)
            values = getattr(self.fmu, f"get{called}")([variable.reference], nValues=variable.size)
            self._arrays[variable.reference] = list(values)

    def set_slope(self, variable: FmuVariable, slope: float) -> None:
        """What an input does during the next step, as far as the FMU can follow."""
        if variable.reference in self._followed:
            value = float(self._arrays[variable.reference][variable.element])
            self._lines[variable.reference, variable.element] = self._time, value, slope

    def access(
        self, verb: str, type_: str, references: Sequence[int], values: Any, size: int
    ) -> Callable[[], int]:
        """A call of Get or Set with arguments that stay; it returns the status."""
        called = {"Enumeration": "Int64"}.get(type_, type_)
        function = getattr(self.fmu.dll, f"fmi3{verb}{called}")
        return _fixed(function, self.fmu.component, _c_array(references), len(references), values, size)

    def slopes(
        self, variables: Sequence[FmuVariable], values: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> Callable[[], int] | None:
        """A call that lets inputs follow lines during the next step; None where the FMU cannot follow."""
        if not all(v.reference in self._followed for v in variables):
            return None

        def follow() -> int:
            for variable, value, slope in zip(variables, values.tolist(), slopes.tolist(), strict=True):
                self._arrays.setdefault(variable.reference, [value] * variable.size)[variable.element] = value
                self._lines[variable.reference, variable.element] = self._time, value, slope
            return 0

        return follow

    def stepper(self, *, repeatable: bool) -> Callable[[float, float], int]:
        """A call of one step from a time by a size, which returns the status; `repeatable`: it may be taken back."""
        event, terminate, early = (ctypes.c_bool() for _ in range(3))
        reached = ctypes.c_double()
        told = tuple(ctypes.byref(place) for place in (event, terminate, early, reached))
        function, component = self.fmu.dll.fmi3DoStep, self.fmu.component

        def step(time: float, size: float) -> int:
            status = int(function(component, time, size, not repeatable, *told))
            self._time, self._ended_at = time + size, reached.value if terminate.value else None
            return DISCARD if status <= DISCARD and terminate.value else status

        return step

    def take_the_word(self) -> None:
        """Messages of FMI 3.0 arrive by themselves."""

    def _update(self, environment: object, time: float, set_requested: bool, *_: object) -> None:
        """Called by the FMU within a step: inputs go on along their lines."""
        if not set_requested:
            return
        for (reference, element), (since, value, slope) in self._lines.items():
            self._arrays[reference][element] = value + slope * (time - since)
        references = sorted({reference for reference, _ in self._lines})
        if references:
            self.fmu.setFloat64(references, [x for r in references for x in self._arrays[r]])

    def ended_at(self) -> float | None:
        """The time up to which it went, where it wanted no more steps after the last one."""
        return self._ended_at

    def get_state(self) -> Any:
        arrays = {reference: list(values) for reference, values in self._arrays.items()}
        return self.fmu.getFMUState(), self._time, arrays, dict(self._lines)

    def set_state(self, state: Any) -> None:
        handle, self._time, arrays, lines = state
        self._arrays = {reference: list(values) for reference, values in arrays.items()}
        self._lines = dict(lines)
        self.fmu.setFMUState(handle)

    def free_state(self, state: Any) -> None:
        self.fmu.freeFMUState(state[0])

    def terminate(self) -> None:
        self.fmu.terminate()

    def free(self) -> None:
        self.fmu.freeInstance()

    def abandon(self) -> None:
        """It may not be called any more."""


def refuse_negative(fmu: Any) -> None:
    """Let functions fail with a status below 0, which FMI has not and fmpy takes for success."""
    for function in fmu._functions.values():
        if function.restype is ctypes.c_int:
            function.errcheck = lambda status, *_: ctypes.c_uint(status).value


def _fixed(function: Any, component: int, *arguments: Any) -> Callable[[], int]:
    """A call with arguments that stay: they are converted once, and live as long as it does.

    The function as fmpy declares it would convert them at every call, which takes longer than the call itself.
    """
    given = [ctypes.c_size_t(x) if isinstance(x, int) else ctypes.cast(x, ctypes.c_void_p) for x in arguments]
    kind = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, *map(type, given))  # below 0 is no success
    return partial(ctypes.cast(function, kind), ctypes.c_void_p(component), *given)


def _c_array(references: Sequence[int]) -> Any:
    return (ctypes.c_uint32 * len(references))(*references)


def _pointer(values: NDArray[np.float64]) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _followed(folder: str) -> set[int]:
    """References of the inputs that may be set within steps, which fmpy does not tell (0.3.32)."""
    root = etree.parse(os.path.join(folder, DESCRIPTION))
    inputs = root.iterfind("ModelVariables/*[@causality='input']")
    return {int(v.get("valueReference", "")) for v in inputs if v.get("intermediateUpdate") in ("true", "1")}


def _start_values(facts: FmuInfo) -> dict[int, list[Any]]:
    """Of arrays and inputs, by reference."""
    values: dict[int, list[Any]] = {}
    for v in facts.variables:
        if v.start is not None and (v.size > 1 or v.causality == "input"):
            values.setdefault(v.reference, []).append(v.start)
    return values


def _converted(variable: FmuVariable, value: Any) -> Value:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else PYTHON[variable.type](value)
