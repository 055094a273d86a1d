"""What a Python program that runs FMUs and a slave in its thread tell each other past FMI; must not know either."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType


@dataclass
class Host:
    """A program that shows the FMI log to its user."""

    interrupted: KeyboardInterrupt | None = None  # Ctrl-C has arrived inside the slave, which may let no exception out


# Of this thread; where there is none, a slave tells its failures to Python's logging.
HOST: ContextVar[Host | None] = ContextVar("mbdfmu_fmi_host", default=None)


@contextmanager
def hosting() -> Iterator[None]:
    """Around every call of an FMU: its log is heard, and Ctrl-C that it has met is raised afterwards."""
    host = Host()
    token = HOST.set(host)
    try:
        yield
    finally:
        HOST.reset(token)
        if host.interrupted is not None:
            raise host.interrupted


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Around a whole run: Ctrl-C is raised at its end where a slave of another tool has made a failure of it."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    host = Host()

    def hear(number: int, frame: FrameType | None) -> None:
        host.interrupted = KeyboardInterrupt()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if host.interrupted is not None:
            raise host.interrupted
