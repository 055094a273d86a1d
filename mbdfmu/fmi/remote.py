"""An FMU in a process of its own: its calls pass through a pipe.

There a crash, an exit, an abort or a call that never returns is a failure of the FMU, by its name, and what it prints
is no output of ours. The other end of the pipe is served.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.fmi.calls import WARNING
from mbdfmu.fmi.hearing import Messages
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.types import Value

TIME_LIMIT = 600.0  # s, of all calls of one run
STARTING = 120.0  # s, for a process to start, which is not the FMU's time
FREEING = 10.0  # s, for an FMU to be freed
DYING = 2.0  # s, for a process to end that has nothing more to do
LOOK = 1.0  # s, between two looks whether a process still lives
WORDS, LENGTH = 5, 1000  # last lines that it has printed, in a message, and the most bytes of them
CALLED = {  # by FMI, where that has another word
    "prepare": "setupExperiment", "enter_initialisation": "enterInitializationMode",
    "leave_initialisation": "exitInitializationMode", "set_slope": "setRealInputDerivatives",
    "get_state": "getFMUState", "set_state": "setFMUState", "free_state": "freeFMUState",
}  # fmt: skip
# Kinds of messages: a value, a ModelError, a status, something on the way, an error of the system.
ANSWER, REFUSED, FAILED, HEARD, LACKING = range(5)


class Gone(StepFailed):
    """The process of an FMU has ended, or was stopped: it cannot be called any more."""


@dataclass(frozen=True)
class Alone:
    """That an FMU is to have a process of its own, which is stopped when its calls have taken `time_limit` seconds."""

    time_limit: float = TIME_LIMIT
    name: str = ""  # what it is called in a system of FMUs


class Process:
    """A process that serves one FMU: questions and answers, one at a time."""

    def __init__(self, facts: FmuInfo, alone: Alone) -> None:
        self._name, self._limit = alone.name or facts.name, alone.time_limit
        self._left, self._started = alone.time_limit, False  # s
        self._printed: IO[bytes] = tempfile.TemporaryFile(prefix="mbdfmu_")  # noqa: SIM115  closed by stop()
        # Ours, not of the process: that may crash or be stopped, and then removes nothing.
        self._folder = tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True)
        self._pipe, theirs = Pipe()
        # -P: a folder of the user's must not stand in for our packages.
        command = [sys.executable, "-P", "-m", "mbdfmu.fmi.served", str(theirs.fileno()), self._folder.name]
        self._child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._printed, stderr=self._printed, **_handing_over(theirs)
        )
        theirs.close()

    def ask(self, doing: str, *question: Any, limit: float | None = None, heard: Callable[[Any], None]) -> Any:
        """The answer to a question; what is told on the way to it goes to `heard`. Gone says why there is none."""
        if self._pipe.closed:
            raise Gone(f"FMU '{self._name}' was stopped before {_called(doing)}")
        try:
            kind, content = self._answer((doing, *question), limit, heard)
        except (OSError, EOFError):
            self._child.wait(DYING)
            text = f"FMU '{self._name}' {_ending(self._child.returncode)} in {_called(doing)}{self._words()}"
            self.stop()
            raise Gone(text) from None
        except BaseException:  # an answer that comes later would be taken for that to the next question
            self.stop()
            raise
        if kind == REFUSED:
            raise ModelError(content)
        if kind == LACKING:
            raise OSError(*content)
        if kind == FAILED:
            from fmpy.fmi1 import FMICallException

            raise FMICallException(*content)
        return content

    def _answer(self, question: Any, limit: float | None, heard: Callable[[Any], None]) -> tuple[int, Any]:
        if not self._started:
            self._await_start()
        self._pipe.send(question)
        begin = time.monotonic()
        until = begin + (self._left if limit is None else limit)
        while self._hears(until):
            kind, content = self._pipe.recv()
            if kind != HEARD:
                self._left -= time.monotonic() - begin
                return kind, content
            heard(content)
        text = f"FMU '{self._name}' did not come back from {_called(question[0])} within "
        if limit is not None:
            raise Gone(f"{text}{limit:g} s and was stopped{self._words()}")
        cure = "raise the time limit if it needs more"
        raise Gone(f"{text}the {self._limit:g} s of its run and was stopped{self._words()}; {cure}")

    def _hears(self, until: float) -> bool:
        """Whether it says something in time; EOFError where it has ended but what it has started holds the pipe."""
        while not self._pipe.poll(max(0.0, min(LOOK, until - time.monotonic()))):
            if time.monotonic() >= until:
                return False
            if self._child.poll() is not None and not self._pipe.poll():
                raise EOFError
        return True

    def _await_start(self) -> None:
        if not self._pipe.poll(STARTING):
            raise Gone(f"the process of FMU '{self._name}' did not start within {STARTING:g} s{self._words()}")
        self._pipe.recv()
        self._started = True

    def _words(self) -> str:
        self._printed.seek(max(0, self._printed.seek(0, os.SEEK_END) - LENGTH))
        lines = self._printed.read().decode("utf-8", "replace").strip().splitlines()[-WORDS:]
        return f"; it printed: {' | '.join(lines)}" if lines else ""

    @property
    def is_over(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._pipe.closed

    def stop(self) -> None:
        """End it, whatever it does; a second time nothing happens."""
        if self._pipe.closed:
            return
        self._pipe.close()
        self._child.kill()
        self._child.wait()
        self._printed.close()
        self._folder.cleanup()

    def leave(self) -> None:
        """Let it end by itself; what goes wrong then is nobody's concern."""
        if self._pipe.closed:
            return
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(DYING)
        self.stop()


def _handing_over(pipe: Connection) -> dict[str, Any]:
    """What lets a child inherit one end of a pipe."""
    if sys.platform != "win32":
        return {"pass_fds": [pipe.fileno()]}
    os.set_handle_inheritable(pipe.fileno(), True)
    return {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [pipe.fileno()]})}


def _called(doing: str) -> str:
    return CALLED.get(doing, doing)


def _ending(code: int) -> str:
    if code < 0 and -code in set(signal.Signals):
        return f"crashed ({signal.Signals(-code).name})"
    return f"ended its process with code {code}"


# ---------------------------------------------------------------- calls


class RemoteCalls:
    """The calls of calls.py, made in another process."""

    def __init__(self, facts: FmuInfo, messages: Messages, alone: Alone, *, follows: bool) -> None:
        self._messages = messages
        self._lists: dict[tuple[int, ...], tuple[int, Sequence[FmuVariable]]] = {}
        self._process = Process(facts, alone)
        try:
            self.version: int = self._ask(
                "instantiation", os.fspath(facts.path.absolute()), follows, facts.is_integrated
            )
        except BaseException:
            self._process.stop()
            raise

    def _ask(self, doing: str, *question: Any, limit: float | None = None) -> Any:
        return self._process.ask(doing, *question, limit=limit, heard=self._messages.append)

    def prepare(self, t_start: float, t_end: float | None, tolerance: float | None) -> None:
        self._ask("prepare", t_start, t_end, tolerance)

    def enter_initialisation(self) -> None:
        self._ask("enter_initialisation")

    def leave_initialisation(self) -> None:
        self._ask("leave_initialisation")

    def get(self, variables: Sequence[FmuVariable]) -> list[Value]:
        """The values of variables that are all of one type."""
        found: list[Value] = self._ask("get", self._list(variables))
        return found

    def _list(self, variables: Sequence[FmuVariable]) -> int:
        """The number under which the other side knows them; they are kept, so that no other ones get their places."""
        key = tuple(map(id, variables))
        if key not in self._lists:
            self._lists[key] = self._ask("listing", [v.name for v in variables]), list(variables)
        return self._lists[key][0]

    def set(self, variable: FmuVariable, value: Value) -> None:
        self._ask("set", variable.name, value)

    def recall(self, variable: FmuVariable) -> None:
        self._ask("recall", variable.name)

    def set_slope(self, variable: FmuVariable, slope: float) -> None:
        self._ask("set_slope", variable.name, slope)

    def access(
        self, verb: str, type_: str, references: Sequence[int], values: Any, size: int
    ) -> Callable[[], int]:
        """A call of Get or Set with arguments that stay; it returns the status."""
        number = ctypes.sizeof(values._type_) * size
        function = self._ask("access", verb, type_, list(references), number, size)
        address = ctypes.cast(values, ctypes.c_void_p).value or 0

        def read() -> int:
            status, found = self._ask("get", function, None)
            ctypes.memmove(address, found, number)
            return int(status)

        def write() -> int:
            return int(self._ask("set", function, ctypes.string_at(address, number))[0])

        read.values = write.values = values  # type: ignore[attr-defined]  # they live as long as the calls
        return read if verb == "Get" else write

    def slopes(
        self, variables: Sequence[FmuVariable], values: NDArray[np.float64], slopes: NDArray[np.float64]
    ) -> Callable[[], int] | None:
        """A call that lets inputs follow lines during the next step; None where the FMU cannot follow."""
        function = self._ask("slopes", [v.name for v in variables])
        if function is None:
            return None
        return lambda: int(self._ask("follow", function, values.tobytes(), slopes.tobytes()))

    def stepper(self, *, repeatable: bool) -> Callable[[float, float], int]:
        """A call of one step from a time by a size, which returns the status."""
        function = self._ask("stepper", repeatable)
        return lambda time, size: int(self._ask("doStep", function, time, size))

    def take_the_word(self) -> None:
        """What it says is heard anyway."""

    def ended_at(self) -> float | None:
        """The time up to which it went, where it wants no more steps."""
        found: float | None = self._ask("ended_at")
        return found

    def get_state(self) -> Any:
        return self._ask("get_state")

    def set_state(self, state: Any) -> None:
        self._ask("set_state", state)

    def free_state(self, state: Any) -> None:
        if not self._process.is_over:  # which has taken its states along
            self._ask("free_state", state, limit=FREEING)

    def terminate(self) -> None:
        self._ask("terminate")

    def free(self) -> None:
        """What is done is done: an FMU that crashes now has no more to lose."""
        if self._process.is_over:
            return
        try:
            self._ask("freeInstance", limit=FREEING)
        except Gone as gone:
            self._messages.append((WARNING, str(gone)))
        self._process.leave()

    def abandon(self) -> None:
        """It may not be called any more."""
        self._process.stop()
