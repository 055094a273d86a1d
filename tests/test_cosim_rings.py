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
STEPS = (0.04, 0.02, 0.01)  # s, of the master
PARTS = 10
RATIOS = (None, 0.25, 0.5, 2, 3, 4)  # own steps over those of the master


def linear(name: str) -> mbd.Model:
    model = mbd.Model(name)
    model.add("u", mbd.Input())
    for key, value in {"a": -1.0, "b": 1.0, "c": 1.0, "d": 0.0}.items():
        model.add(key, mbd.Parameter(value=value))
    model.add("x", mbd.State(rate="a*x + b*u", start=1.0))
    model.add("y", mbd.Output(value="c*x + d*u" if name == DIRECT else "c*x"))
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("linear")
    for name in (DIRECT, BEHIND):
        _store(export(linear(name), found))
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

    @property
    def order(self) -> int:
        """Held values are of first order, and so is what follows a longer step of its own through them (T21.2)."""
        longer = any(ratio is not None and ratio > 1 for ratio in self.ratios)
        lines = self.master["extrapolation"] or (self.master["iterations"] > 1 and not longer)
        return 2 if lines else 1

    def exact(self) -> NDArray[np.float64]:
        """The outputs at the end: y = C x + D S y with S y the outputs before."""
        shift = np.roll(np.eye(self.count), 1, axis=0)
        outputs = np.linalg.solve(np.eye(self.count) - np.diag(self.d) @ shift, np.diag(self.c))
        matrix = np.diag(self.a) + np.diag(self.b) @ shift @ outputs
        return outputs @ expm(matrix * END) @ np.ones(self.count)

    def error(self, step: float) -> float:
        system = System("ring", master=self.master)
        names = [f"f{k}" for k in range(self.count)]
        for k, name in enumerate(names):
            own = self.ratios[k]
            values = {"a": self.a[k], "b": self.b[k], "c": self.c[k]}
            values |= {"d": self.d[k]} if self.kinds[k] == DIRECT else {}
            system.add(name, self.folder / f"{self.kinds[k]}.fmu", step=own and own * step, parameters=values)
        for k, name in enumerate(names):
            system.connect(f"{name}.u", f"{names[k - 1]}.y")
        result = system.simulate(END, step)
        found = [result[f"{name}.y"][-1] for name in names]
        return float(np.abs(found - self.exact()).max())


@pytest.mark.parametrize("part", range(PARTS))
def test_rings_of_linear_fmus_hold_their_order(part: int, folder: Path, counts: Callable[..., int]) -> None:
    """Old outputs of FMUs with longer steps were given to partners that answer at once: first order for second."""
    for seed in range(part, counts(1000, 0.01), PARTS):
        ring = Ring(np.random.default_rng(seed), folder)
        errors = np.array([ring.error(step) for step in STEPS])
        # The mean over two halvings; errors of some millionths may change their sign on the way.
        order = np.log2(errors[0] / errors[-1]) / 2
        assert order > ring.order - 0.35 or errors[-1] < 5e-6, (seed, vars(ring), errors)
