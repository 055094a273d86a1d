"""The child process of one FMU: makes the calls that remote.py asks for."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np

from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.files import FULL
from mbdfmu.fmi.calls import Calls2, Calls3
from mbdfmu.fmi.host import hosting
from mbdfmu.fmi.reading import info
from mbdfmu.fmi.remote import ANSWER, FAILED, HEARD, LACKING, REFUSED

KEPT = 100  # messages of the FMU, here; all of them are passed on


class _Pipe:
    """Messages of several threads, one after the other."""

    def __init__(self, pipe: Connection, folder: str) -> None:
        self._pipe, self._folder, self._lock = pipe, folder, threading.Lock()

    def send(self, kind: int, content: Any) -> None:
        with self._lock:
            try:
                self._pipe.send((kind, content))
            except OSError:  # whoever asked is gone, or the FMU has closed the pipe
                _give_up(self._folder)

    def received(self) -> Any:
        """The next question; None where there are no more."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError):  # whoever asked is gone
            return None


class _Messages(list[tuple[int, str]]):
    """Passes on what is said as it is said: a crash must not take the reason along."""

    def __init__(self, pipe: _Pipe) -> None:
        super().__init__()
        self._pipe = pipe

    def append(self, message: tuple[int, str]) -> None:
        self._pipe.send(HEARD, message)
        if len(self) < KEPT:  # the reason why an instance cannot be made is among the first
            super().append(message)


class Served:
    """One FMU; its methods are what can be asked for, by their names or by what the user is told was being done."""

    calls: Calls2 | Calls3

    def __init__(self, pipe: _Pipe, folder: str) -> None:
        self._pipe, self._folder = pipe, folder
        self._functions: list[Callable[..., Any]] = []
        self._states: dict[int, Any] = {}

    def answer(self, doing: str, *arguments: Any) -> Any:
        """To one question."""
        own = getattr(self, f"_{doing}", None)
        return getattr(self.calls, doing)(*arguments) if own is None else own(*arguments)

    def _number(self, function: Callable[..., Any]) -> int:
        self._functions.append(function)
        return len(self._functions) - 1

    def _instantiation(self, path: str, follows: bool, is_integrated: bool) -> int:
        from mbdfmu.fmi.instance import loaded_into

        facts = info(path)
        self._facts = facts.for_exchange() if is_integrated else facts
        self.calls = loaded_into(self._folder, self._facts, _Messages(self._pipe), follows)
        return self.calls.version

    def _variables(self, names: Sequence[str]) -> list[Any]:
        return [self._facts.variable(name) for name in names]

    def _listing(self, names: Sequence[str]) -> int:
        variables = self._variables(names)
        return self._number(lambda: self.calls.get(variables))

    def _get(self, function: int, *_: None) -> Any:
        return self._functions[function]()

    def _set(self, what: str | int, value: Any) -> Any:
        if isinstance(what, int):
            return self._functions[what](value)
        return self.calls.set(self._facts.variable(what), value)

    def _recall(self, name: str) -> None:
        self.calls.recall(self._facts.variable(name))

    def _set_slope(self, name: str, slope: float) -> None:
        self.calls.set_slope(self._facts.variable(name), slope)

    def _access(self, verb: str, type_: str, references: Sequence[int], number: int, size: int) -> int:
        values = (ctypes.c_char * number)()
        call = self.calls.access(verb, type_, references, ctypes.cast(values, ctypes.POINTER(ctypes.c_char)), size)

        def access(given: bytes | None = None) -> tuple[int, bytes]:
            if given is not None:
                values.raw = given
            return call(), values.raw if given is None else b""

        return self._number(access)

    def _slopes(self, names: Sequence[str]) -> int | None:
        values, slopes = np.zeros(len(names)), np.zeros(len(names))
        call = self.calls.slopes(self._variables(names), values, slopes)
        if call is None:
            return None

        def follow(given: bytes, sloping: bytes) -> int:
            values[:], slopes[:] = np.frombuffer(given), np.frombuffer(sloping)
            return call()

        return self._number(follow)

    def _follow(self, function: int, values: bytes, slopes: bytes) -> int:
        return int(self._functions[function](values, slopes))

    def _stepper(self, repeatable: bool) -> int:
        return self._number(self.calls.stepper(repeatable=repeatable))

    def _doStep(self, function: int, time: float, size: float) -> int:
        return int(self._functions[function](time, size))

    def _get_state(self) -> int:
        key = max(self._states, default=0) + 1
        self._states[key] = self.calls.get_state()
        return key

    def _set_state(self, key: int) -> None:
        self.calls.set_state(self._states[key])

    def _free_state(self, key: int) -> None:
        self.calls.free_state(self._states.pop(key))

    def _freeInstance(self) -> None:
        self.calls.free()

    def _integrate(self, path: str, names: Sequence[str], run: Mapping[str, Any]) -> tuple[Any, str]:
        """The result and why it ends early."""
        from mbdfmu.fmi.integrating import Integration, integrate

        def heard(row: Sequence[float]) -> None:
            self._pipe.send(HEARD, row)

        try:
            return integrate(info(path), names, Integration(**run, row=heard)), ""
        except StepFailed as error:
            return error.result, str(error)


def main(handle: int, folder: str) -> None:
    """Answer until there is no more to be asked; all files go to the folder, which who asks removes."""
    _live_with_the_parent(folder)
    tempfile.tempdir = folder
    kind: Any = Connection
    if os.name == "nt":
        from multiprocessing.connection import PipeConnection as kind  # type: ignore[attr-defined,no-redef]
    pipe = _Pipe(kind(handle), folder)
    served = Served(pipe, folder)
    from fmpy import fmi2, fmi3  # noqa: F401  what takes its time, before that of the FMU counts

    pipe.send(ANSWER, "started")
    while (question := pipe.received()) is not None:
        pipe.send(*_answered(served, question))
    shutil.rmtree(folder, ignore_errors=True)  # who has asked may be gone


def _answered(served: Served, question: Sequence[Any]) -> tuple[int, Any]:
    from fmpy.fmi1 import FMICallException

    try:
        with hosting():
            return ANSWER, served.answer(*question)
    except ModelError as error:
        return REFUSED, error.problems
    except FMICallException as error:
        return FAILED, (error.function, error.status)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return LACKING, (error.errno, error.strerror, error.filename)


def _give_up(folder: str) -> NoReturn:
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _live_with_the_parent(folder: str) -> None:
    """Ctrl-C and SIGTERM are for who asks; without whom an FMU that hangs would hang for ever, and its files stay."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        _give_up(folder)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
