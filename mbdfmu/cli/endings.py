"""How a command ends: messages on stderr and the exit code, never a traceback for what a user can cause."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from mbdfmu.errors import ModelError, StepFailed

NEGATIVE, WRONG, INTERRUPTED = 1, 2, 130


def complain(problems: Iterable[str]) -> None:
    """One message for each problem."""
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)


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
        if error.errno == errno.EPIPE:  # `mbdfmu list | head`: click ends quietly
            raise
        end(WRONG, f"{error.filename}: {error.strerror}" if error.filename else str(error))
