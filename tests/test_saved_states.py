"""States as bytes: complete, the same in another instance and another process, and refused where they are damaged."""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses.native import _solver
from mbdfmu.schemes import Scheme

MODELS = mbd.models.names()
SCHEMES = Scheme.names()
Answers = list[bytes]

CONTINUE = """
import pickle, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_saved_states import continued
cases = pickle.loads(Path({cases!r}).read_bytes())
Path({answers!r}).write_bytes(pickle.dumps([continued(*case) for case in cases]))
"""


def played(simulation: Any, seed: int, steps: int) -> Answers:
    """All signals after some of the steps, of random sizes, with inputs that jump and slopes that change."""
    draw, seen = np.random.default_rng(seed), []
    inputs = list(simulation._lowered.inputs)
    try:
        for _ in range(steps):
            if inputs and draw.random() < 0.3:
                slope = draw.normal() if draw.random() < 0.3 else 0.0
                simulation.set_input(str(draw.choice(inputs)), float(draw.normal()), float(slope))
            simulation.step(0.02 * draw.uniform(0.2, 1.5))
            if draw.random() < 0.6:
                seen.append(simulation.values().tobytes())
        seen.append(simulation.values().tobytes())
    except mbd.StepFailed as reason:  # some motions end: all of them with the same words
        seen.append(str(reason).encode())
    return seen


def continued(name: str, scheme: str, saved: Any, seed: int, steps: int) -> Answers:
    simulation = mbd.models.load(name).start(scheme=scheme)
    simulation.restore(saved)
    return played(simulation, seed, steps)


def cases(count: int, steps: int) -> tuple[list[tuple[Any, ...]], list[Answers]]:
    """States at random times, by every scheme in turn, and how the motion goes on from them where it was saved."""
    draw, found, answers = np.random.default_rng(6), [], []
    while len(found) < count:
        name, scheme = str(draw.choice(MODELS)), SCHEMES[len(found) % len(SCHEMES)]
        seed, before = int(draw.integers(1 << 30)), int(draw.integers(1, steps))
        try:
            simulation = mbd.models.load(name).start(scheme=scheme)
        except (mbd.ModelError, mbd.StepFailed):  # not every scheme takes every model
            continue
        played(simulation, seed + 1, before)
        found.append((name, scheme, simulation.save(), seed, steps))
        answers.append(played(simulation, seed, steps))
    return found, answers


@pytest.mark.parametrize(("full", "share", "steps"), [(200, 0.075, 8), pytest.param(200, 1, 500, marks=pytest.mark.nightly)])
def test_states_continue_bit_for_bit_in_another_instance_and_in_another_process(
    full: int, share: float, steps: int, counts: Callable[..., int], tmp_path: Path
) -> None:
    found, answers = cases(counts(full, share) if share < 1 else full, steps)
    paths = {name: str(tmp_path / name) for name in ("cases", "answers")}
    Path(paths["cases"]).write_bytes(pickle.dumps(found))
    code = CONTINUE.format(tests=str(Path(__file__).parent), **paths)
    subprocess.run([sys.executable, "-c", code], check=True)
    elsewhere = pickle.loads(Path(paths["answers"]).read_bytes())
    for case, here, there in zip(found, answers, elsewhere, strict=True):
        assert there == here, case[:2]
