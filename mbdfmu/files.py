"""Write a file whole or not at all; must not know what is in the file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ModelError


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a free name beside `path` to write to; it becomes `path` on success and vanishes on failure or Ctrl-C."""
    target = Path(os.path.realpath(path))  # a link keeps pointing to the file
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
