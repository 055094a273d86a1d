"""What a Python program that runs FMUs and a slave in its thread tell each other past FMI; must not know either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Host:
    """A program that shows the FMI log to its user."""

    interrupted: bool = False  # Ctrl-C has arrived inside the slave, which may let no exception out


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
        if host.interrupted:
            raise KeyboardInterrupt
