"""The native Adams formulas against the plain transcription of the book (tests/reference/adams.py), step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import adams

import mbdfmu as mbd
from mbdfmu.reproduce import haug89
from mbdfmu.reproduce.formulas import gamma, gamma_star

H, COUNT = 0.05, 40
RATE = "-x^2 + sin(3*time)"


def rate(x: float, t: float) -> float:
    return -(x**2) + math.sin(3 * t)


def native(formula: str) -> list[float]:
    """x after every step, the order growing from 1."""
    model = mbd.Model("decay")
    model.add("x", mbd.State(rate=RATE, start=0.8))
    options = {"formula": formula, "start": "growing"}
    simulation = model.start(scheme="direct", options=options, step=H)
    found = [simulation["x"]]
    for k in range(COUNT):
        simulation.advance((k + 1) * H)
        found.append(simulation["x"])
    return found


@pytest.mark.parametrize("k", range(1, 6))
def test_adams_bashforth_is_that_of_the_book(k: int) -> None:
    np.testing.assert_allclose(native(f"ab{k}"), adams.bashforth(rate, 0.8, H, COUNT, k), rtol=1e-13)


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize(("family", "corrector"), [("mampc", 1), ("abm", 0)])
def test_predictor_correctors_are_those_of_the_book(family: str, corrector: int, k: int) -> None:
    expected = adams.corrected(rate, 0.8, H, COUNT, k, corrector=corrector)
    np.testing.assert_allclose(native(f"{family}{k}"), expected, rtol=1e-13)  # rounding of 40 steps


def test_both_ways_to_the_weights_agree() -> None:
    """Recursions there, integrals of Newton's polynomials here."""
    assert adams.predictor_weights(7) == [float(gamma(k)) for k in range(7)]
    assert adams.corrector_weights(7) == pytest.approx([float(gamma_star(k)) for k in range(7)], abs=1e-15)


@pytest.mark.parametrize("h", [0.1, 0.01])
def test_the_correct_values_of_the_books_tables_are_those_of_the_transcription(h: float) -> None:
    for k, expected in enumerate(haug89.CORRECT[h], start=1):
        found = adams.corrected(lambda x, t: x, 1.0, h, round(10 / h), k)[-1]
        assert f"{found:.9f}" == expected
