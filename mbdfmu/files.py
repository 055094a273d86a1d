"""Write a file whole or not at all; must not know what is in the file."""

from __future__ import annotations

import errno
import os
import platform
import re
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import ModelError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota, and the largest file that is allowed
_NAMED = 100  # bytes of the name that a temporary file takes over; a name has at most 255


def named_file(path: object) -> Path:
    """The file that a caller names; anything but a name is refused."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ModelError(f"a file must be named by a text or a Path, found {path!r}")
    return Path(path)


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a free name beside `path` to write to; it becomes `path` on success and vanishes on failure or Ctrl-C.

    It is on the disk before it gets its name. What fails is told with the name `path`, not with that of the moment.
    """
    target = Path(os.path.realpath(named_file(path)))  # a link keeps pointing to the file
    if not target.parent.is_dir():
        raise ModelError(f"{path}: there is no folder '{target.parent}'; create it first")
    if target.is_dir():
        raise ModelError(f"{path}: is a folder; give the name of a file")
    _remove_leftovers(target)
    # Not tempfile.mkstemp: its files are private (0600) and would stay so. The suffix stays, writers look at it.
    temporary = target.with_name(f"{_beginning(target)}{os.getpid()}.{uuid.uuid4().hex[:8]}{target.suffix}")
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, target)
    except Exception as error:
        code = _failed(error, temporary)
        if code is None:
            raise
        raise OSError(code, os.strerror(code), os.fspath(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # not every system can do that with a folder
        _sync(target.parent)


def _failed(error: BaseException | None, temporary: Path) -> int | None:
    """Why the file could not be written; None where that is not what went wrong.

    Writers that compress meet a full disk twice, and the second error says nothing of it.
    """
    first = error
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None and (error is first or error.errno in FULL):
            return error.errno if error.filename in (None, str(temporary), temporary) else None
        error = error.__context__
    return None


def _sync(path: Path) -> None:
    """A loss of power must not leave a name without content."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beginning(target: Path) -> str:
    """Of the names of temporary files of this target that are written here."""
    stem = os.fsencode(target.stem)[:_NAMED].decode("utf-8", "ignore")
    return f".{stem}.{_here():08x}."


def _here() -> int:
    """Where process numbers mean what they mean to us: this machine or container."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbers = ""
    return zlib.crc32(f"{platform.node()} {numbers}".encode())


def _remove_leftovers(target: Path) -> None:
    """What writers of the same file have left who were killed; those who still write keep theirs."""
    name = re.compile(re.escape(_beginning(target)) + r"(\d+)\.[0-9a-f]{8}" + re.escape(target.suffix))
    with suppress(OSError):  # a folder may be closed to those who look
        for entry in os.listdir(target.parent):
            found = name.fullmatch(entry)
            if found and not _runs(int(found[1])):
                target.with_name(entry).unlink()


def _runs(process: int) -> bool:
    if os.name == "nt":  # where a signal of 0 is none, but Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of somebody else
        return True
    return True
