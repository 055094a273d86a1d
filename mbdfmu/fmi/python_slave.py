"""The class that pythonfmu runs inside an FMU: a neutral slave behind its calls; must not know what is computed.

A neutral slave answers by numbers of fmi2Status and collects messages: the native one, or one in Python with the same
calls (mbdfmu.controllers.slave).

pythonfmu's wrapper is unforgiving, so nothing may escape from here: an exception makes it release its objects twice,
and the host crashes sooner or later. It also has no answer but that of a step, of which False means fmi2Discard. So
what is refused anywhere else (a value that is not finite, a start that cannot be made) is logged, and every step is
refused until a state is restored or the instance is reset; only values that cannot be read are no more than nan,
and end the steps where the host has read them before. A step that fails is taken back and may be repeated.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from mbdfmu import _solver
from mbdfmu.calling import Called, checked, function_of, source_module
from mbdfmu.errors import ModelError
from mbdfmu.fmi.host import HOST
from mbdfmu.fmi.resources import (
    BLOB,
    CALLBACKS,
    DISCARD_LOG,
    ERROR_LOG,
    INTERFACE,
    SOLVER_LOG,
    Callback,
    callbacks_from_json,
)

_LOGGER = logging.getLogger(__name__)
_REFUSALS = (ModelError, _solver.NativeModelError, _solver.NativeStepFailed)  # told to the user in one sentence
_REAL, _INTEGER, _BOOLEAN = _solver.Type.real, _solver.Type.integer, _solver.Type.boolean
T = TypeVar("T")
U = TypeVar("U")


def hold(namespace: dict[str, Any]) -> None:
    """What the script of an FMU calls whenever the wrapper runs it; mends faults of pythonfmu 0.7.0.

    The wrapper (findClass) gives back a reference to the script's globals that it never took, at every instantiation;
    without another one the next instantiation meets freed memory. For the other faults see `_end_in_order`.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(namespace))
    if os.name == "posix" and "_held" not in namespace:
        namespace["_held"] = True
        for library in Path(namespace["__file__"]).parents[1].glob("binaries/*/*.so"):
            _end_in_order(str(library))


def _end_in_order(library: str) -> None:
    """Let the library give up what its instances share before the destructors of libraries run.

    In a process that ends without having unloaded it, those would destroy this twice; and where it has started Python
    itself, they would end Python after the destructors of what Python has loaded. Both crash the host.
    """
    if sys.orig_argv:  # a Python program
        atexit.register(_give_up, library)
    elif (loaded := _if_loaded(library)) is not None:  # which stays loaded now
        ctypes.CDLL(None).__cxa_atexit(loaded.finalizePythonInterpreter, None, None)


def _give_up(library: str) -> None:
    loaded = _if_loaded(library)
    if loaded is not None:
        loaded.finalizePythonInterpreter()


def _if_loaded(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library, mode=os.RTLD_NOLOAD)
    except OSError:  # unloaded again, or made for another platform
        return None


def _moved_back(folder: str) -> bool:
    """Put the folder at the end of Python's path, once, where it hides no module of the host.

    True where it was in front, as the wrapper puts it before every instantiation, but not before a reset.
    """
    in_front = sys.path[:1] == [folder]
    sys.path[:] = [*(p for p in sys.path if p != folder), folder]
    return in_front


def content_of(file: Path) -> bytes:
    """Of one of the resources; ModelError with the cure where it is missing."""
    if not file.exists():
        cure = "export the model again, or use the mbdfmu that wrote the FMU"
        raise ModelError(f"'{file.name}' is missing among the resources of the FMU; {cure}")
    return file.read_bytes()


def _callbacks(resources: Path) -> list[Called]:
    """The model's functions in Python, in order."""
    file = resources / CALLBACKS
    found = callbacks_from_json(file.read_text(encoding="utf-8")) if file.exists() else []
    return [_called(callback, resources) for callback in found]


def _called(callback: Callback, resources: Path) -> Called:
    function = function_of(source_module(resources / callback.file), callback.function, callback.file)
    return checked(callback.name, callback.inputs, callback.values, function)


class Slave(Fmi2Slave):  # type: ignore[misc]  # pythonfmu has no types
    """An exported model as an FMI 2.0 co-simulation slave."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._refused = False  # something that the wrapper cannot tell its host
        self._read: dict[int, None] = {}  # references of what the host reads
        self._printed = ""  # last, where nobody hears the FMI log
        self._neutral: Any = None
        is_new = _moved_back(self.resources)
        if not self._attempt(self._load, False) and is_new:
            # The one place for an exception: as yet the wrapper has no object to release twice. The host gets no slave.
            raise ModelError(self.log_queue[-1].msg)

    def _load(self) -> bool:
        self._neutral = self.made(Path(self.resources))
        self._neutral.set_debug_logging(True, [])  # which categories are heard is left to the wrapper
        self.modelName = self._neutral.model
        return True

    @staticmethod
    def made(resources: Path) -> Any:
        """The neutral slave of what lies in the resources of the FMU."""
        model, interface = (content_of(resources / name) for name in (BLOB, INTERFACE))
        return _solver.Slave(model, interface, _callbacks(resources))

    # ---- lifecycle; a reset is another object of this class

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        self._demand(lambda slave: slave.setup(start_time, stop_time, tolerance))

    def enter_initialization_mode(self) -> None:
        self._demand(lambda slave: slave.enter_initialization())

    def exit_initialization_mode(self) -> None:
        self._demand(lambda slave: slave.exit_initialization())

    def terminate(self) -> None:
        self._demand(lambda slave: slave.terminate())

    def do_step(self, current_time: float, step_size: float) -> bool:
        if self._refused:
            text = "no step is made after what was refused before; restore a state or reset the instance"
            self.log(text, Fmi2Status.discard, DISCARD_LOG)
            return False
        answer = self._answer(lambda slave: slave.do_step(current_time, step_size))
        return answer < int(Fmi2Status.discard) and self._is_readable()

    def _is_readable(self) -> bool:
        """Whether what the host has read so far can be read again: the wrapper could not tell it when it does."""
        if self._read:
            self._demand(lambda slave: slave.get(list(self._read), _REAL)[0])
        return not self._refused

    # ---- values

    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        self._demand(lambda slave: slave.set(vrs, _REAL, values))

    def set_integer(self, vrs: Sequence[int], values: Sequence[int]) -> None:
        self._demand(lambda slave: slave.set(vrs, _INTEGER, values))

    def set_boolean(self, vrs: Sequence[int], values: Sequence[bool]) -> None:
        self._demand(lambda slave: slave.set(vrs, _BOOLEAN, values))

    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        # No text can be set, and the wrapper's list holds null pointers for what is not UTF-8: it stays untouched.
        self._demand(lambda slave: slave.set_texts(vrs, [""] * len(vrs)))

    def get_real(self, vrs: Sequence[int]) -> list[float]:
        values: list[float] | None = self._get(lambda slave: slave.get(vrs, _REAL), None)
        if values is None:
            return [float("nan")] * len(vrs)
        self._read.update(dict.fromkeys(vrs))
        return values

    def get_integer(self, vrs: Sequence[int]) -> list[int]:
        return [int(v) for v in self._get(lambda slave: slave.get(vrs, _INTEGER), [0.0] * len(vrs))]

    def get_boolean(self, vrs: Sequence[int]) -> list[bool]:
        return [bool(v) for v in self._get(lambda slave: slave.get(vrs, _BOOLEAN), [0.0] * len(vrs))]

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        return self._get(lambda slave: slave.get_texts(vrs), [""] * len(vrs))

    # ---- states are bytes, here as in the solver

    def _get_fmu_state(self) -> bytes:
        return self._get(lambda slave: slave.save(), b"")

    def _set_fmu_state(self, state: bytes) -> None:
        self._refused = False  # back to where all was well
        self._demand(lambda slave: slave.restore(state))

    @staticmethod
    def _fmu_state_to_bytes(state: bytes) -> bytes:
        return state

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> bytes:
        return state  # looked at when it is restored: the wrapper has no answer here

    # ---- failures

    def _demand(self, call: Callable[[Any], int]) -> None:
        """What fails without the host's knowing ends the steps."""
        if self._answer(call) >= Fmi2Status.discard:
            self._refused = True

    def _get(self, call: Callable[[Any], tuple[int, T]], otherwise: U) -> T | U:
        found: T | U = otherwise

        def read(slave: Any) -> int:
            nonlocal found
            answer, value = call(slave)
            if answer < Fmi2Status.discard:
                found = value
            return answer

        self._answer(read)  # what is missing is seen; see the table in docs/fmu.md
        return found

    def _answer(self, call: Callable[[Any], int]) -> int:
        """The answer of the neutral slave, fmi2Error where there is none; what it has to say is logged."""
        return self._attempt(lambda: self._told(call), int(Fmi2Status.error))

    def _told(self, call: Callable[[Any], int]) -> int:
        if self._neutral is None:
            raise ModelError("the instance was not created, see the first message")
        try:
            return call(self._neutral)
        finally:
            for answer, category, text in self._neutral.messages():
                self._say(answer, category, text)

    def _attempt(self, action: Callable[[], T], otherwise: T) -> T:
        """The one place through which everything runs."""
        try:
            return action()
        except _REFUSALS as error:
            self._say(Fmi2Status.error, ERROR_LOG, str(error))
        except KeyboardInterrupt as interrupt:
            self._interrupt(interrupt)
        except Exception:
            self._say(Fmi2Status.error, ERROR_LOG, f"unexpected error, please report it:\n{traceback.format_exc()}")
        return otherwise

    def _interrupt(self, interrupt: KeyboardInterrupt) -> None:
        host = HOST.get()
        if host is not None:
            host.interrupted = interrupt
        self._say(Fmi2Status.error, ERROR_LOG, "interrupted")
        self._refused = True

    def _say(self, answer: int, category: str, text: str) -> None:
        self.log(text, answer, category)
        if answer >= Fmi2Status.discard and not self._refused and HOST.get() is None and text != self._printed:
            self._printed = text
            # most hosts show the FMI log on request only
            _LOGGER.error("FMU %s (%s): %s", self.modelName, self.instance_name, text)

    def log(self, msg: str, status: int = Fmi2Status.ok, category: str | None = None, debug: Any = None) -> None:
        """FMI hands the message to printf, and the wrapper crashes on what is not UTF-8."""
        printable = msg.encode("utf-8", "replace").decode("utf-8")
        super().log(printable.replace("%", "%%"), status, category or SOLVER_LOG)
