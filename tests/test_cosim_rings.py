"""Rings of linear FMUs with steps of their own, against the matrix exponential: orders as documented (chapter 21)."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from coupled_fmus import export
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import expm

import mbdfmu as mbd
from mbdfmu.cosim import System

DIRECT, BEHIND = "direct", "behind"  # whether the output answers to the input at once
END = 0.96
SAMPLE = 0.16  # s, of FMUs that take samples
STEPS = (0.04, 0.02, 0.01)  # s, of the master
PARTS = 10
RATIOS = (None, 0.25, 0.5, 2, 3, 4)  # own steps over those of the master
TIGHT = 1e-8  # the solver's 1e-11, over some hundred steps that it begins anew


def linear(name: str, sampled: bool) -> mbd.Model:
    model = mbd.Model(f"{name}_sampled" if sampled else name)
    model.add("u", mbd.Input(discrete=sampled))
    for key, value in {"a": -1.0, "b": 1.0, "c": 1.0, "d": 0.0}.items():
        model.add(key, mbd.Parameter(value=value))
    model.add("x", mbd.State(rate="a*x + b*u", start=1.0))
    model.add("y", mbd.Output(value="c*x + d*u" if name == DIRECT else "c*x", discrete=sampled))
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("linear")
    for name in (DIRECT, BEHIND):
        for sampled in (False, True):
            _store(export(linear(name, sampled), found))
    return found


def _store(fmu: Path) -> None:
    """Without compression: unpacking was most of the time."""
    with zipfile.ZipFile(fmu) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


class Ring:
    """Each FMU takes the output of the one before; the first never answers at once, so that there is no loop."""

    def __init__(self, rng: Generator, folder: Path) -> None:
        self.folder, self.count = folder, int(rng.integers(2, 4))
        draw = rng.uniform
        self.a, self.b = draw(-1.5, -0.3, self.count), draw(-1, 1, self.count)
        self.c, self.d = draw(0.5, 1.5, self.count), draw(-0.9, 0.9, self.count)
        self.kinds = [BEHIND, *rng.choice([DIRECT, BEHIND], self.count - 1, p=[0.7, 0.3])]
        self.d[[kind == BEHIND for kind in self.kinds]] = 0.0
        self.ratios = [RATIOS[k] for k in rng.integers(len(RATIOS), size=self.count)]
        self.master = {
            "algorithm": str(rng.choice(["jacobi", "gauss-seidel"])),
            "extrapolation": int(rng.integers(0, 3)),
            "iterations": int(rng.choice([1, 12])),
        }
        self.delayed = self.sampled = np.zeros(self.count, dtype=bool)

    def some(self, rng: Generator) -> NDArray[np.bool_]:
        """At least one of its links or FMUs."""
        found = rng.random(self.count) < 0.5
        found[rng.integers(self.count)] = True
        return found

    @property
    def order(self) -> int:
        """Held values are of first order, and so is what follows a longer step of its own through them (T21.2)."""
        longer = any(ratio is not None and ratio > 1 for ratio in self.ratios)
        lines = self.master["extrapolation"] or (self.master["iterations"] > 1 and not longer)
        return 2 if lines and not self.delayed.any() and not self.jumps else 1

    @property
    def jumps(self) -> bool:
        """Whether a value that is extrapolated passes on what a sample has made: it jumps."""
        through, jumping = ~self.sampled & (self.d != 0), self.sampled
        for _ in range(self.count):
            jumping = self.sampled | (through & np.roll(jumping, 1))
        return bool((jumping & ~self.sampled & ~np.roll(self.sampled, -1)).any())

    def exact(self) -> NDArray[np.float64]:
        """The outputs at the end: y = C x + D S y with S y the outputs before."""
        shift = np.roll(np.eye(self.count), 1, axis=0)
        outputs = np.linalg.solve(np.eye(self.count) - np.diag(self.d) @ shift, np.diag(self.c))
        matrix = np.diag(self.a) + np.diag(self.b) @ shift @ outputs
        return outputs @ expm(matrix * END) @ np.ones(self.count)

    def exact_samples(self) -> NDArray[np.float64]:
        """The same where some hold what they take in and give out: from sample to sample, these behind the states."""
        n, one, hold = self.count, np.eye(self.count), np.diag(self.sampled * 1.0)
        shift, free = np.roll(one, 1, axis=0), one - hold
        a, b, c, d = (np.diag(x) for x in (self.a, self.b, self.c, self.d))
        at_once = np.linalg.solve(one - d @ shift, c)  # outputs at samples
        within = np.linalg.solve(one - free @ d @ shift, np.hstack([free @ c, 0 * one, hold]))  # and between them
        matrix = np.zeros((3 * n, 3 * n))
        matrix[:n] = np.hstack([a, b @ hold, 0 * one]) + b @ free @ shift @ within
        sample = np.eye(3 * n)[:, :n] @ np.eye(n, 3 * n)
        sample[n:, :n] = np.vstack([shift @ at_once, at_once])
        state = np.ones(3 * n)
        for _ in range(round(END / SAMPLE)):
            state = expm(matrix * SAMPLE) @ sample @ state
        found: NDArray[np.float64] = at_once @ state[:n]
        return found

    def exact_holds(self, step: float) -> NDArray[np.float64]:
        """The same where all hold what they take in during each step, as the value at its begin or the one before."""
        grown = np.exp(self.a * step)
        fresh = ~self.delayed if self.master["algorithm"] == "gauss-seidel" else np.zeros(self.count, dtype=bool)
        x, late = np.ones(self.count), None
        for _ in range(round(END / step)):
            y, u = self._outputs(x, late)
            late = y.copy()
            for j in range(self.count):
                u[j] = y[j - 1] if fresh[j] and j else u[j]
                x[j] = grown[j] * x[j] + (grown[j] - 1) / self.a[j] * self.b[j] * u[j]
                y[j] = self.c[j] * x[j] + self.d[j] * u[j]
        return self._outputs(x, late)[0]

    def _outputs(self, x: NDArray[np.float64], late: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], ...]:
        """Outputs and inputs at a communication point, where `late` are the outputs at the one before."""
        y, u = np.zeros(self.count), np.zeros(self.count)
        for j in [*range(self.count), 0]:  # the first answers to nothing at once
            u[j] = y[j - 1] if late is None or not self.delayed[j] else late[j - 1]
            y[j] = self.c[j] * x[j] + self.d[j] * u[j]
        return y, u

    def error(self, step: float, exact: NDArray[np.float64]) -> float:
        system = System("ring", master=self.master)
        names = [f"f{k}" for k in range(self.count)]
        for k, name in enumerate(names):
            kind = f"{self.kinds[k]}_sampled" if self.sampled[k] else self.kinds[k]
            own = SAMPLE / step if self.sampled[k] else self.ratios[k]
            values = {"a": self.a[k], "b": self.b[k], "c": self.c[k]}
            values |= {"d": self.d[k]} if self.kinds[k] == DIRECT else {}
            system.add(name, self.folder / f"{kind}.fmu", step=own and own * step, parameters=values)
        for k, name in enumerate(names):
            system.connect(f"{name}.u", f"{names[k - 1]}.y", delayed=bool(self.delayed[k]))
        result = system.simulate(END, step)
        found = [result[f"{name}.y"][-1] for name in names]
        return float(np.abs(found - exact).max())

    def check(self, seed: int, exact: NDArray[np.float64]) -> None:
        """That it approaches this at its order."""
        errors = np.array([self.error(step, exact) for step in STEPS])
        # The mean over two halvings; errors of some millionths may change their sign on the way.
        order = np.log2(errors[0] / errors[-1]) / 2
        near = 0.5 if self.jumps else 0.35  # of the coarsest steps few lie between two jumps
        assert order > self.order - near or errors[-1] < 5e-6, (seed, vars(self), errors)


@pytest.mark.parametrize("part", range(PARTS))
def test_rings_of_linear_fmus_hold_their_order(part: int, folder: Path, counts: Callable[..., int]) -> None:
    """Old outputs of FMUs with longer steps were given to partners that answer at once: first order for second."""
    for seed in range(part, counts(1000, 0.01), PARTS):
        ring = Ring(np.random.default_rng(seed), folder)
        ring.check(seed, ring.exact())


@pytest.mark.parametrize("part", range(PARTS))
def test_rings_with_delayed_links_approach_those_without(part: int, folder: Path, counts: Callable[..., int]) -> None:
    """At first order; where all others hold too, they are at what holding gives, to the solver's tolerance."""
    for seed in range(part, counts(1000, 0.01), PARTS):
        rng = np.random.default_rng(seed)
        ring = Ring(rng, folder)
        ring.delayed = ring.some(rng)
        ring.check(seed, ring.exact())
        ring.master = {"algorithm": ring.master["algorithm"]}
        ring.ratios = [ratio and min(ratio, 1) for ratio in ring.ratios]
        error = ring.error(STEPS[0], ring.exact_holds(STEPS[0]))
        assert error < TIGHT, (seed, vars(ring), error)


@pytest.mark.parametrize("part", range(PARTS))
def test_rings_with_samples_hold_their_order(part: int, folder: Path, counts: Callable[..., int]) -> None:
    """Samples at communication points have no error of their own: a ring of samples alone has none at all."""
    for seed in range(part, counts(1000, 0.01), PARTS):
        rng = np.random.default_rng(seed)
        ring = Ring(rng, folder)
        ring.sampled = ring.some(rng)
        ring.ratios = [ratio and min(ratio, 2) for ratio in ring.ratios]  # samples are at communication points of all
        ring.check(seed, ring.exact_samples())
        ring.sampled[:] = True
        error = ring.error(STEPS[1], ring.exact_samples())
        assert error < TIGHT, (seed, vars(ring), error)
