"""What FMUs of FMI 2.0 say through fmpy; must not know what is done with it.

fmpy puts a native function between FMUs and Python that writes out their messages. It passes them on to one function
of the whole process, that of the instance made last: with that instance gone, the next message of any other FMU meets
freed memory. So there is one function here that never goes; it tells by the environment whose message it is, and is
put into its place again before every call, as whoever uses fmpy beside us may have taken that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from typing import Any

Messages = list[tuple[int, str]]  # status and text

_HEARING: dict[int, Messages] = {}  # by environment
_environments = count(1)


def readable(message: bytes | None) -> str:
    """What an FMU has said, whatever bytes these are."""
    return (message or b"").decode("utf-8", "replace")


@cache
def _function() -> Any:
    """What fmpy's native function calls; lives as long as the process."""
    from fmpy.fmi2 import fmi2CallbackLoggerTYPE

    def heard(environment: int | None, instance: bytes, status: int, category: bytes, message: bytes) -> None:
        if environment in _HEARING:
            _HEARING[environment].append((status, readable(message)))

    return fmi2CallbackLoggerTYPE(heard)


def take_the_word() -> None:
    """From now on messages arrive here."""
    from fmpy.fmi2 import addLoggerProxy, fmi2CallbackFunctions

    addLoggerProxy(ctypes.byref(fmi2CallbackFunctions(logger=_function())))


def callbacks_for(messages: Messages) -> tuple[Any, Callable[[], None]]:
    """Callbacks for an instance whose messages go to the list, and what ends that."""
    from fmpy import calloc, free
    from fmpy.fmi2 import (
        addLoggerProxy,
        fmi2CallbackAllocateMemoryTYPE,
        fmi2CallbackFreeMemoryTYPE,
        fmi2CallbackFunctions,
    )

    environment = next(_environments)
    _HEARING[environment] = messages
    callbacks = fmi2CallbackFunctions(
        logger=_function(), allocateMemory=fmi2CallbackAllocateMemoryTYPE(calloc),
        freeMemory=fmi2CallbackFreeMemoryTYPE(free), componentEnvironment=environment,
    )  # fmt: skip
    addLoggerProxy(ctypes.byref(callbacks))
    return callbacks, partial(_HEARING.__delitem__, environment)
