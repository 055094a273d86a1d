"""Importers of model exchange as their authors write them: event times by bisection, steps of their own formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi1 import FMICallException
from numpy.typing import NDArray
from scipy.integrate import DOP853
from test_model_exchange import FMU2Exchange, opened

from mbdfmu.fmi.calls import DISCARD

Vector = NDArray[np.float64]
Piece = Callable[[float], Vector]  # the states at a time within a step
Steps = Iterator[tuple[float, float, Piece]]  # begin, end and states of each step up to a time event at most
INSTANT = 1e-13  # how well bisection knows the time of an event, s


def cvode(path: Path, end: float, tolerance: float, names: list[str]) -> list[float]:
    """FMPy's own loop with its CVode."""
    rows = fmpy.simulate_fmu(str(path), stop_time=end, relative_tolerance=tolerance, solver="CVode", output=names,
                             fmi_type="ModelExchange", output_interval=end / 50)  # fmt: skip
    assert rows["time"][-1] > end - 1e-9  # FMPy ends early without a word
    return [float(rows[name][-1]) for name in names]


def rk4(path: Path, end: float, step: float, names: list[str]) -> list[float]:
    """Equal steps of the classical formula; what happens within one is found by shorter steps from its begin."""

    def steps(fmu: FMU2Exchange, t: float, until: float) -> Steps:
        while t < until:
            h, x, begin = min(step, until - t), fmu.x, t
            t = until if until - t < 1.001 * step else t + h
            yield begin, t, lambda now, begin=begin, x=x: classical(fmu, begin, x, now - begin)

    return _run(path, end, names, None, steps)


def dop853(path: Path, end: float, tolerance: float, names: list[str]) -> list[float]:
    """Error-controlled steps of order 8; what happens within one is found on its dense output."""

    def steps(fmu: FMU2Exchange, t: float, until: float) -> Steps:
        def slope(now: float, x: Vector) -> Vector:
            if not np.isfinite(x).all():  # of the stages behind such a one
                return np.full_like(x, np.nan)
            try:
                return fmu.slope(now, x)
            except FMICallException as error:  # a discarded one asks for a smaller step, as nan does
                assert error.status == DISCARD
                return np.full_like(x, np.nan)

        solver = DOP853(slope, t, fmu.x, until, rtol=tolerance, atol=tolerance * fmu.nominals)
        while solver.status == "running":
            begin = solver.t
            assert solver.step() is None
            yield begin, solver.t, solver.dense_output()

    return _run(path, end, names, tolerance, steps)


def classical(fmu: FMU2Exchange, t: float, x: Vector, h: float) -> Vector:
    k1 = fmu.slope(t, x)
    k2 = fmu.slope(t + h / 2, x + h / 2 * k1)
    k3 = fmu.slope(t + h / 2, x + h / 2 * k2)
    k4 = fmu.slope(t + h, x + h * k3)
    return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def _run(
    path: Path, end: float, names: list[str], tolerance: float | None,
    steps: Callable[[FMU2Exchange, float, float], Steps],
) -> list[float]:  # fmt: skip
    with opened(path) as fmu:
        next_event = fmu.begin(tolerance)
        t = 0.0
        while t < end:
            t, next_event = _until_event(fmu, t, min(end, next_event), steps)
        return fmu.look(*names)


def _until_event(
    fmu: FMU2Exchange, t: float, until: float, steps: Callable[[FMU2Exchange, float, float], Steps]
) -> tuple[float, float]:
    """Goes on to the next event of any kind; its time, and the time event that is known after it."""
    signs = fmu.z > 0
    for begin, ends, piece in steps(fmu, t, until):
        t, found = _first_change(fmu, begin, ends, piece, signs)
        fmu.slope(t, piece(t))
        if fmu.completedIntegratorStep()[0] or found or t == until:
            break
    fmu.enterEventMode()
    next_event = fmu.settle()
    fmu.enterContinuousTimeMode()
    return t, next_event


def _first_change(
    fmu: FMU2Exchange, lo: float, hi: float, piece: Piece, signs: NDArray[np.bool_]
) -> tuple[float, bool]:
    """The time right behind the first change of an indicator's sign that the end of a step shows."""

    def changed(t: float) -> bool:
        fmu.setTime(t)
        fmu.x = piece(t)
        return bool(((fmu.z > 0) != signs).any())

    if not changed(hi):
        return hi, False
    while hi - lo > INSTANT:
        middle = lo + (hi - lo) / 2
        lo, hi = (lo, middle) if changed(middle) else (middle, hi)
    return hi, True
