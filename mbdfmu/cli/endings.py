"""How a command ends: messages on stderr and the exit code, never a traceback for what a user can cause."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

import click

from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.files import FULL

NEGATIVE, WRONG, INTERRUPTED = 1, 2, 130


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
    raise click.exceptions.Exit(code)


@contextmanager
def ended() -> Iterator[None]:
    """Turn errors into messages and exit codes."""
    try:
        yield
    except ModelError as error:
        end(WRONG, *error.problems)
    except StepFailed as error:
        end(NEGATIVE, str(error))
    except KeyboardInterrupt:
        end(INTERRUPTED, "interrupted")
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
