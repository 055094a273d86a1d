"""Every scheme against its declared order: on models with references, and on all smooth shipped models by Richardson."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from reference.states import kind, reference

import mbdfmu as mbd
from mbdfmu.schemes import Scheme

CORRECTOR = 1e-13  # fixed steps have no error test; the tolerance says how far correctors go, which must not limit errors
SCHEMES = Scheme.names()
# Which of the reference's times, and the first number of steps. Step counts go up by two from the first until rounding; fine enough that errors fall as the leading term says.
REFERENCES = {"double_pendulum": (1, 100), "slider_crank_g10": (0, 20), "andrews_angles": (0, 50), "pendulum3d": (0, 20)}


def declared(scheme: str) -> int:
    return Scheme.named(scheme).from_options({}).order_with_options


def error_after(name: str, scheme: str, count: int) -> float:
    """Largest error of positions and velocities at the reference's time, over the largest value of the signal."""
    data, at = reference(name), REFERENCES[name][0]
    end = data["time"][at]
    simulation = mbd.models.load(data["model"]).start(
        scheme=scheme, step=end / count, tolerance=CORRECTOR, parameters=data.get("parameters")
    )
    simulation.advance(end)
    signals = {n: values for n, values in data["signals"].items() if kind(n) != "reactions"}
    return max(abs(simulation[n] - v[at]) / max(1.0, *map(abs, v)) for n, v in signals.items())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", REFERENCES)
def test_errors_fall_at_the_declared_order(name: str, scheme: str) -> None:
    order, count = declared(scheme), REFERENCES[name][1] * (1 if declared(scheme) > 2 else 8)
    errors = [error_after(name, scheme, count)]
    floor = 1e-6 if order < 3 else 1.5e-11  # above it errors are those of the scheme, not of rounding or of lambda
    while errors[-1] > floor and len(errors) < 8:
        count *= 2
        errors.append(error_after(name, scheme, count))
    pairs = [(a, b) for a, b in zip(errors, errors[1:], strict=False) if a < 1e-2 and b > floor]
    found = math.log2(pairs[-1][0] / pairs[-1][1])
    assert found == pytest.approx(order, abs=0.13 * order), errors
