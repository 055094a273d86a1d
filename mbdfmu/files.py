"""Write a file whole or not at all; must not know what is in the file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ModelError


def named_file(path: object) -> Path:
    """The file that a caller names; anything but a name is refused."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ModelError(f"a file must be named by a text or a Path, found {path!r}")
    return Path(path)


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a free name beside `path` to write to; it becomes `path` on success and vanishes on failure or Ctrl-C."""
    target = Path(os.path.realpath(named_file(path)))  # a link keeps pointing to the file
    if not target.parent.is_dir():
        raise ModelError(f"{path}: there is no folder '{target.parent}'; create it first")
    if target.is_dir():
        raise ModelError(f"{path}: is a folder; give the name of a file")
    # Not tempfile.mkstemp: its files are private (0600) and would stay so. The suffix stays, writers look at it.
    temporary = target.with_name(f".{target.stem[:100]}.{uuid.uuid4().hex[:12]}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
