"""What lies in an FMU's resources, for whoever writes it and for the slave that reads it; must not know tables or XML.

The slave loads this module in the host's Python, so it may need nothing but the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

BLOB = "model.mbd"  # the compiled model
INTERFACE = "interface.mbd"  # its variables, see solver/interface.hpp
CALLBACKS = "callbacks.json"  # only where the model calls functions in Python
ERROR_LOG, DISCARD_LOG, SOLVER_LOG = "logStatusError", "logStatusDiscard", "logSolver"
LOG_CATEGORIES = {  # those of FMI 2.0.4 section 2.2.4 that occur, as solver/slave.cpp says them
    "logStatusWarning": "What a reader of the results has to know.",
    DISCARD_LOG: "Why a step was taken back.",
    ERROR_LOG: "What was refused, and why.",
    "logStatusFatal": "Errors of the solver itself.",
    "logEvents": "Events, impacts and restarts, as they occur.",
    SOLVER_LOG: "Work done by the solver.",
}


@dataclass(frozen=True, kw_only=True)
class Callback:
    """A function in Python that the model calls: where it is in the resources, how many numbers go in and out."""

    name: str
    file: str
    function: str
    inputs: int
    values: int


def callbacks_to_json(callbacks: Iterable[Callback]) -> str:
    """Where the Python functions of the model are in the resources."""
    return json.dumps([asdict(callback) for callback in callbacks], separators=(",", ":"))


def callbacks_from_json(text: str) -> list[Callback]:
    """Read what `callbacks_to_json` wrote."""
    return [Callback(**row) for row in json.loads(text)]
