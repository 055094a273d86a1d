"""The class that pythonfmu runs inside an FMU: an `Instance` behind FMI calls; must not know what is computed.

pythonfmu's wrapper is unforgiving, so nothing may escape from here: an exception makes it release its objects twice,
and the host crashes sooner or later. Whatever goes wrong is logged, the instance counts as failed, and `do_step`
returns False (fmi2Discard with fmi2Terminated, on which a master ends the run). Getters then give the last good values,
or NaN where there are none.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from mbdfmu.calling import Called, checked, function_of, source_module
from mbdfmu.errors import ModelError
from mbdfmu.fmi.instance import REFUSALS, Instance
from mbdfmu.fmi.interface import (
    BLOB,
    ERROR_LOG,
    HEARD,
    INTERFACE,
    LOG_CATEGORIES,
    SOLVER_LOG,
    Callback,
    Interface,
    Value,
)

_LOGGER = logging.getLogger(__name__)
T = TypeVar("T")


def hold(namespace: dict[str, Any]) -> None:
    """Keep the script's globals alive: pythonfmu (0.7.0, findClass) gives back a reference to them that it never took.

    It does so at every instantiation, which also runs the script once. Without this the next one meets freed memory.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(namespace))


def _called(callback: Callback, resources: Path) -> Called:
    function = function_of(source_module(resources / callback.file), callback.function, callback.file)
    return checked(callback.name, callback.inputs, callback.values, function)


class Slave(Fmi2Slave):  # type: ignore[misc]  # pythonfmu has no types
    """An exported model as an FMI 2.0 co-simulation slave."""

    log_categories = LOG_CATEGORIES

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._failed = False
        self._instance: Instance | None = None
        self._attempt(lambda: self._load(Path(self.resources)), None)

    def _load(self, resources: Path) -> None:
        while sys.path.count(str(resources)) > 1:  # the wrapper puts it there for every instance
            sys.path.remove(str(resources))
        interface = Interface.from_json((resources / INTERFACE).read_text(encoding="utf-8"))
        self.modelName = interface.model
        functions = [_called(callback, resources) for callback in interface.callbacks]
        self._instance = Instance(interface, (resources / BLOB).read_bytes(), functions)

    @property
    def _model(self) -> Instance:
        if self._instance is None:
            raise ModelError("the instance was not created, see the first message")
        return self._instance

    # ---- lifecycle

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        self._attempt(lambda: self._model.set_up(start_time, tolerance), None)

    def enter_initialization_mode(self) -> None:
        """Nothing: start values may be set in this mode too, so the start is computed when its results are read."""

    def exit_initialization_mode(self) -> None:
        self._attempt(lambda: self._model.initialise(), None)

    def do_step(self, current_time: float, step_size: float) -> bool:
        return self._attempt(lambda: self._step(current_time, step_size), False)

    def _step(self, time: float, size: float) -> bool:
        self._model.step(time, size)
        return True

    def terminate(self) -> None:
        self._attempt(self._log_statistics, None)

    def _log_statistics(self) -> None:
        text = ", ".join(f"{name} {value:g}" for name, value in self._model.statistics().items())
        self.log(text or "not started", Fmi2Status.ok, SOLVER_LOG)

    # ---- values

    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        self._set(vrs, values)

    def set_integer(self, vrs: Sequence[int], values: Sequence[int]) -> None:
        self._set(vrs, values)

    def set_boolean(self, vrs: Sequence[int], values: Sequence[bool]) -> None:
        self._set(vrs, values)

    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        self._set(vrs, values)

    def _set(self, vrs: Iterable[int], values: Iterable[Value]) -> None:
        self._attempt(lambda: self._model.set_all(zip(vrs, values, strict=True)), None)

    def get_real(self, vrs: Sequence[int]) -> list[float]:
        return self._get(vrs, float, float("nan"))

    def get_integer(self, vrs: Sequence[int]) -> list[int]:
        return self._get(vrs, int, 0)

    def get_boolean(self, vrs: Sequence[int]) -> list[bool]:
        return self._get(vrs, bool, False)

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        return self._get(vrs, str, "")

    def _get(self, vrs: Sequence[int], convert: Callable[[Any], T], otherwise: T) -> list[T]:
        readable = self._instance is not None and (self._instance.started or not self._failed)
        if not readable:
            return [otherwise] * len(vrs)
        return self._attempt(lambda: [convert(self._model.get(r)) for r in vrs], [otherwise] * len(vrs), always=True)

    # ---- states

    def _get_fmu_state(self) -> Any:
        return self._attempt(lambda: self._model.save(), None)

    def _set_fmu_state(self, state: Any) -> None:
        self._failed = self._instance is None  # back to where all was well
        self._attempt(lambda: self._model.restore(state), None)

    @staticmethod
    def _fmu_state_to_bytes(state: Any) -> bytes:
        return b""  # not offered (canSerializeFMUstate), and it may not raise

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> Any:
        return None  # which `_set_fmu_state` refuses

    # ---- failures

    def _attempt(self, action: Callable[[], T], otherwise: T, *, always: bool = False) -> T:
        """The one place through which everything runs; a failed instance does nothing unless `always`."""
        if self._failed and not always:
            return otherwise
        try:
            return action()
        except REFUSALS as error:
            self._fail(str(error))
        except KeyboardInterrupt:
            self._fail("interrupted")
        except Exception:
            self._fail(f"unexpected error, please report it:\n{traceback.format_exc()}")
        return otherwise

    def _fail(self, reason: str) -> None:
        self._failed = True
        self.log(reason, Fmi2Status.error, ERROR_LOG)
        if not HEARD.get():  # most hosts show the FMI log on request only
            _LOGGER.error("FMU %s (%s): %s", self.modelName, self.instance_name, reason)

    def log(self, msg: str, status: Fmi2Status = Fmi2Status.ok, category: str | None = None, debug: Any = None) -> None:
        """FMI hands the message to printf, and the wrapper crashes on what is not UTF-8."""
        printable = msg.encode("utf-8", "replace").decode("utf-8")
        super().log(printable.replace("%", "%%"), status, category or SOLVER_LOG)
