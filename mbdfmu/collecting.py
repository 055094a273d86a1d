"""Pausing the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Let the garbage collector rest while a graph or a long list grows.

    These are a great many small objects that all live as long as the whole does: looking through them again and again
    for garbage takes a quarter of the time of compiling a large model, and more of reading a large FMU. The pause holds
    for the whole process: what other threads leave behind in cycles waits until the end.
    """
    resting = not gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not resting:
            gc.enable()
