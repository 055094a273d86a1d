"""How a command ends: messages on stderr and the exit code, never a traceback for what a user can cause."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

import click

from mbdfmu.errors import Interrupted, ModelError, StepFailed, how
from mbdfmu.files import FULL

NEGATIVE, WRONG, INTERRUPTED, TERMINATED = 1, 2, 130, 143
_terminated = threading.Event()  # SIGTERM has come


def complain(problems: Iterable[str]) -> None:
    """One message for each problem."""
    try:
        for problem in problems:
            click.echo(f"Error: {problem}", err=True)
    except OSError:  # the exit code still says it
        _give_up(sys.stderr)


def end(code: int, *problems: str) -> NoReturn:
    """Leave the command."""
    complain(problems)
    raise click.exceptions.Exit(TERMINATED if _terminated.is_set() else code)


@contextmanager
def ended() -> Iterator[None]:
    """Turn errors into messages and exit codes."""
    try:
        yield
    except ModelError as error:
        end(WRONG, *error.problems)
    except StepFailed as error:
        end(NEGATIVE, str(error))
    except KeyboardInterrupt as interrupt:
        end(INTERRUPTED, how(interrupt))
    except ImportError as error:  # a package of an extra, or the native core
        end(WRONG, str(error))
    except MemoryError:
        end(WRONG, "there is not enough memory; record fewer signals (--record) or fewer points (--dt)")
    except OSError as error:
        if error.errno == errno.EPIPE or _is_of_printing(error):  # see printed_whole
            raise
        code = NEGATIVE if error.errno in FULL else WRONG
        end(code, f"{error.filename}: {error.strerror}" if error.filename else str(error))


@contextmanager
def heeding_termination() -> Iterator[None]:
    """SIGTERM, as schedulers and services send it, ends what Ctrl-C ends, and keeps what that keeps."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    _terminated.clear()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # `timeout` sends it twice; what is done is being written then
    _terminated.set()
    raise Interrupted("terminated")


@contextmanager
def printed_whole() -> Iterator[None]:
    """Around all: what could not be printed, as on a full disk, must not end with success."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:  # `mbdfmu list | head` ends quietly
            complain([f"standard output: {error.strerror or error}"])
        _give_up(sys.stdout)
        sys.exit(NEGATIVE)


def _is_of_printing(error: OSError) -> bool:
    """Whether it comes out of click, which prints; a second try would not fail any more."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("click.")


def _give_up(stream: TextIO) -> None:
    """Else Python would try again at its end, and complain in its own words."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
