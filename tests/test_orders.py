"""Every scheme against its declared order: on models with references, and on all smooth models by Richardson."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from reference.states import kind, reference

import mbdfmu as mbd
from mbdfmu.schemes import Scheme

CORRECTOR = 1e-13  # fixed steps have no error test: how far correctors go, which must not limit errors
SCHEMES = Scheme.names()
# Which of the reference's times, and the first number of steps; it doubles until rounding is near.
REFERENCES = {"double_pendulum": (1, 100), "slider_crank_g10": (0, 20), "andrews_angles": (0, 50),
              "pendulum3d": (0, 20)}  # fmt: skip


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


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if declared(name) < 8])
@pytest.mark.parametrize("name", REFERENCES)
def test_errors_fall_at_the_declared_order(name: str, scheme: str) -> None:
    order, count = declared(scheme), REFERENCES[name][1] * (1 if declared(scheme) > 2 else 8)
    errors = [error_after(name, scheme, count)]
    floor = 1e-6 if order < 3 else 1.5e-11  # above it errors are those of the scheme, not of rounding or of lambda
    while errors[-1] > floor and len(errors) < 8:
        count *= 2
        errors.append(error_after(name, scheme, count))
    pairs = [(a, b) for a, b in pairwise(errors) if a < 1e-2 and b > floor]
    found = math.log2(pairs[-1][0] / pairs[-1][1])
    assert found == pytest.approx(order, abs=0.13 * order), errors


@pytest.mark.parametrize("name", REFERENCES)
def test_order_eight_shows_between_the_first_steps_and_rounding(name: str) -> None:
    """Only three or four halvings lie between; the mean of their orders varies by more than one."""
    errors = [error_after(name, "dop853", 5 * 2**k) for k in range(5)]
    clean = [e for e in errors if e > 1e-12]
    found = math.log2(clean[0] / clean[-1]) / (len(clean) - 1)
    assert len(clean) >= 3
    assert found == pytest.approx(8, abs=1.5), errors


# ---------------------------------------------------------------- all smooth models

JUMPS = {"bouncing_ball", "stick_slip", "trebuchet", "brake_rig"}  # events, or laws with kinks
SMOOTH = [name for name in mbd.models.names() if name not in JUMPS]
# Ends other than 1 s: Andrews' mechanism is chaotic beyond its published 0.03 s, the four-bar is singular at 0.71 s.
ENDS = {"andrews": 0.03, "andrews_angles": 0.03, "andrews_stiff": 0.03, "four_bar": 0.6}
LIMITS = {1: 1e-4}  # of the Richardson limit, by order; above:
LIMIT = 1e-6
MOST_STEPS = {"full_vehicle": 2**11, "gyroscope": 2**17, "ring": 2**18}  # by model, for the sake of time; others:
MOST = 2**16
NEWTON = {"gcp-implicit": {"newton_tolerance": 1e-12}}  # 1e-8 of accelerations is seen in small errors
TOO_SLOW = {("full_vehicle", "welch1")}  # first order: 1e-4 would take some 1e5 steps of a millisecond each


@cache
def converged(name: str) -> Any:
    """Positions at the end by the error-controlled scheme of highest order, to rounding."""
    simulation = mbd.models.load(name).start(scheme="dop853", tolerance=1e-12, assemble=True)
    simulation.advance(ENDS.get(name, 1.0))
    return simulation.save().q


def positions(name: str, scheme: str, count: int) -> Any:
    """None where steps are too long to be solved."""
    end = ENDS.get(name, 1.0)
    options = NEWTON.get(scheme, {})
    simulation = mbd.models.load(name).start(
        scheme=scheme, step=end / count, tolerance=CORRECTOR, assemble=True, options=options
    )
    try:
        simulation.advance(end)
    except mbd.StepFailed:
        return None
    return simulation.save().q


def approach(name: str, scheme: str) -> list[tuple[int, float, float, float]]:
    """Steps, error, measured order and error of the Richardson limit, until that is within its limit."""
    order, exact = declared(scheme), converged(name)
    scale, rows, count = np.maximum(1.0, np.abs(exact)), [], 64 if declared(scheme) > 2 else 512
    near = LIMITS.get(order, LIMIT)
    before = positions(name, scheme, count)
    while count < MOST_STEPS.get(name, MOST):
        count *= 2
        now = positions(name, scheme, count)
        if now is not None and before is not None:
            first, second = (float(np.max(np.abs(q - exact) / scale)) for q in (before, now))
            limit = (2**order * now - before) / (2**order - 1)
            found = math.log2(max(first, 1e-300) / max(second, 1e-300))
            rows.append((count, second, found, float(np.max(np.abs(limit - exact) / scale))))
            if rows[-1][3] < near and (abs(found - order) < 0.15 * order or second < 1e-3 * near):
                break
        before = now
    return rows


LONG = {"full_vehicle", "ring"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.nightly] * (n in LONG)) for n in SMOOTH])
def test_every_scheme_comes_to_the_same_motion(name: str, counts: Any) -> None:
    """By day some schemes, others for every model; at night all."""
    share = counts(len(SCHEMES), 0.15)
    first = 0 if share == len(SCHEMES) else SMOOTH.index(name)
    missed = {}
    for scheme in (SCHEMES + SCHEMES)[first % len(SCHEMES) :][:share]:
        if (name, scheme) in TOO_SLOW:
            continue
        rows = approach(name, scheme)
        order = declared(scheme)
        near = LIMITS.get(order, LIMIT)
        _, error, found, limit = rows[-1] if rows else (0, math.inf, 0, math.inf)
        # Errors may change their sign on the way, and rounding ends the fall of those of high order.
        if not (limit < near and (found > 0.85 * order or error < 1e-2 * near)):
            missed[scheme] = rows[-2:]
    assert not missed
