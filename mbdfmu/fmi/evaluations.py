"""What CVode asks an FMU for model exchange for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mbdfmu.fmi.calls import DISCARD

TOO_MUCH_WORK = "mxstep steps taken"  # as CVode says it
_ASKED = ("getDerivatives", "getContinuousStateDerivatives", "getEventIndicators")  # in FMI 2.0 and 3.0


class Evaluations:
    """Guards the calls that CVode makes; what has no value is nan, for which it tries a smaller step.

    An exception does not pass through CVode: what it is told instead is left to chance, and Python writes out a trace.
    """

    def __init__(self, fmu: Any) -> None:
        self.failure: BaseException | None = None  # after which nothing is asked any more
        self._placed = True  # the states are there that values are asked for
        fmu.setContinuousStates = partial(self._place, fmu.setContinuousStates)
        for name in _ASKED:
            if hasattr(fmu, name):
                setattr(fmu, name, partial(self._ask, getattr(fmu, name)))

    def _place(self, call: Callable[..., Any], values: Any, count: int) -> None:
        finite = bool(np.isfinite(np.ctypeslib.as_array(values, (count,))).all())
        self._placed = finite and self.is_answered(call, values, count)

    def _ask(self, call: Callable[..., Any], values: Any, count: int) -> None:
        if count and not (self._placed and self.is_answered(call, values, count)):
            np.ctypeslib.as_array(values, (count,))[:] = np.nan

    def is_answered(self, call: Callable[..., Any], *arguments: Any) -> bool:
        """Whether the FMU had an answer to this call."""
        from fmpy.fmi1 import FMICallException

        try:
            if self.failure is None:
                call(*arguments)
        except (FMICallException, KeyboardInterrupt) as error:
            self.failure = None if getattr(error, "status", None) == DISCARD else error
            return False
        return self.failure is None
