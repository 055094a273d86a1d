"""States as bytes: complete, the same in another instance and another process, and refused where they are damaged."""

from __future__ import annotations

import hashlib
import pickle
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses.native import _solver
from mbdfmu.schemes import Scheme

MODELS = [name for name in mbd.models.names() if name != "full_vehicle"]  # which takes seconds to compile
SCHEMES = Scheme.names()
Answers = list[bytes]
SHORT = 2e-3  # s, from one time at which environments look to the next, where there are many
MOST = 20_000  # steps of the solver: what is driven without friction spins ever faster

CONTINUE = """
import pickle, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_saved_states import continued
cases = pickle.loads(Path({cases!r}).read_bytes())
Path({answers!r}).write_bytes(pickle.dumps([continued(*case) for case in cases]))
"""


@cache
def model(name: str) -> mbd.Model:
    return mbd.models.load(name)


def digest(simulation: Any) -> bytes:
    """Of all signals: these themselves are gigabytes."""
    return hashlib.sha256(simulation.values().tobytes()).digest()


def played(simulation: Any, seed: int, steps: int) -> Answers:
    """All signals after some of the steps, of random sizes, with inputs that jump and slopes that change."""
    draw, seen = np.random.default_rng(seed), []
    before = simulation.statistics["steps"]
    inputs = list(simulation._lowered.inputs)
    try:
        for _ in range(steps):
            if inputs and draw.random() < 0.3:
                slope = draw.normal() if draw.random() < 0.3 else 0.0
                simulation.set_input(str(draw.choice(inputs)), float(draw.normal()), float(slope))
            simulation.step((SHORT if steps > 100 else 10 * SHORT) * draw.uniform(0.2, 1.5))
            if draw.random() < 0.6:
                seen.append(digest(simulation))
            if simulation.statistics["steps"] - before > MOST:
                break
        seen.append(digest(simulation))
    except mbd.StepFailed as reason:  # some motions end: all of them with the same words
        seen.append(str(reason).encode())
    return seen


def continued(name: str, scheme: str, saved: Any, seed: int, steps: int) -> Answers:
    simulation = model(name).start(scheme=scheme)
    simulation.restore(saved)
    return played(simulation, seed, steps)


def cases(count: int, steps: int) -> tuple[list[tuple[Any, ...]], list[Answers]]:
    """States at random times, by every scheme in turn, and how the motion goes on from them where it was saved."""
    draw = np.random.default_rng(6)
    found: list[tuple[Any, ...]] = []
    answers: list[Answers] = []
    while len(found) < count:
        name, scheme = str(draw.choice(MODELS)), SCHEMES[len(found) % len(SCHEMES)]
        seed, before = int(draw.integers(1 << 30)), int(draw.integers(1, steps))
        try:
            simulation = model(name).start(scheme=scheme)
        except (mbd.ModelError, mbd.StepFailed):  # not every scheme takes every model
            continue
        played(simulation, seed + 1, before)
        found.append((name, scheme, simulation.save(), seed, steps))
        answers.append(played(simulation, seed, steps))
    return found, answers


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("full", "share", "steps"), [(200, 0.075, 8), pytest.param(200, 1, 500, marks=pytest.mark.nightly)]
)
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


# ---------------------------------------------------------------- bytes

HEADER, CHECKSUM = 24, 4  # bytes before and behind the content (solver/bytes.cpp)
PARTS = ("q", "v", "a", "lam", "x", "xdot", "y", "u", "udot", "turns", "parameters")


def resealed(data: bytearray) -> bytes:
    """With a checksum that fits again: damage that was meant."""
    return bytes(data[:-CHECKSUM]) + struct.pack("<I", zlib.crc32(data[:-CHECKSUM]))


@pytest.mark.parametrize("name", MODELS)
def test_bytes_come_back_as_they_were(name: str) -> None:
    simulation = mbd.models.load(name).start()
    simulation.step(0.01)
    saved = simulation.save()
    data = saved.to_bytes()
    back = _solver.State.from_bytes(data)
    assert back.to_bytes() == data == pickle.loads(pickle.dumps(saved)).to_bytes()
    for part in PARTS:
        np.testing.assert_array_equal(getattr(back, part), getattr(saved, part))


def test_damaged_bytes_are_refused(counts: Callable[..., int]) -> None:
    simulation = mbd.models.load("slider_crank").start()
    simulation.step(0.1)
    whole, draw = simulation.save().to_bytes(), np.random.default_rng(7)
    for _ in range(counts(1000, 0.2)):
        data, at = bytearray(whole), int(draw.integers(len(whole)))
        kind = draw.integers(4)
        if kind == 0:
            data[at] ^= 1 << int(draw.integers(8))
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data += bytes(int(draw.integers(1, 9)))
        else:
            data[at : at + 8] = draw.bytes(8)
        if data == whole:
            continue
        with pytest.raises(ValueError, match="saved state: "):
            _solver.State.from_bytes(bytes(data))
    with pytest.raises(ValueError, match="these bytes are none"):
        _solver.State.from_bytes(b"")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bytes_that_lie_do_no_harm(scheme: str, counts: Callable[..., int]) -> None:
    """With a checksum that fits they are refused, or continue as any state: with an answer and without a crash."""
    model = mbd.models.load(["slider_crank", "bouncing_ball", "rolling_disc"][SCHEMES.index(scheme) % 3])
    simulation, draw = model.start(scheme=scheme), np.random.default_rng(8)
    simulation.step(0.05)
    here = simulation.save()
    whole, before = here.to_bytes(), simulation.values().tobytes()
    for _ in range(counts(1000, 0.02)):
        data = bytearray(whole)
        for at in draw.integers(HEADER, len(whole) - CHECKSUM - 8, int(draw.integers(1, 4))):
            values = (b"\xff" * 8, bytes(8), draw.bytes(8), struct.pack("<d", draw.choice([-1, 3, np.nan, 1e300])))
            value = values[int(draw.integers(4))]
            at = at if draw.random() < 0.5 else HEADER + (at - HEADER) // 8 * 8
            data[at : at + 8] = value
        try:
            simulation.restore(_solver.State.from_bytes(resealed(data)))
            simulation._native.advance(simulation.time + 1e-3, 20)
        except (ValueError, mbd.StepFailed, RuntimeError):
            pass
        simulation.restore(here)
        assert simulation.values().tobytes() == before


def test_states_of_other_models_schemes_and_choices_are_refused_by_name() -> None:
    pendulum = mbd.models.load("pendulum").start()
    with pytest.raises(mbd.ModelError, match="another model"):
        pendulum.restore(pickle.loads(pickle.dumps(mbd.models.load("slider_crank").start().save())))
    with pytest.raises(mbd.ModelError, match="another scheme"):
        pendulum.restore(mbd.models.load("pendulum").start(scheme="radau").save())
    assert pendulum.time == 0


def test_a_state_that_is_refused_leaves_the_present_one() -> None:
    simulation = mbd.models.load("slider_crank").start()
    simulation.step(0.1)
    before = simulation.values().copy()
    data = bytearray(simulation.save().to_bytes())
    data[HEADER + 8 : HEADER + 16] = struct.pack("<d", np.nan)  # t
    with pytest.raises(ValueError, match="'t' is not a finite number"):
        simulation.restore(_solver.State.from_bytes(resealed(data)))
    np.testing.assert_array_equal(simulation.values(), before)
    simulation.step(0.1)


# ---------------------------------------------------------------- what occurs


def test_events_after_a_state_are_forgotten_and_those_before_it_are_known_by_number() -> None:
    model = mbd.models.load("bouncing_ball")
    simulation = model.start()
    simulation.advance(1.0)
    early, saved = list(simulation.events), simulation.save()
    simulation.advance(3.0)
    late = list(simulation.events)
    assert len(late) > len(early) > 0
    simulation.restore(saved)
    assert simulation.events == early
    simulation.advance(3.0)
    assert simulation.events == late
    other = model.start()
    other.restore(pickle.loads(pickle.dumps(saved)))
    assert other.events == []
    other.advance(3.0)
    assert other.events == late[len(early) :]
    assert other.statistics["events"] == len(late)


def test_reports_leave_no_trace_in_states() -> None:
    """At a dead point other rows are left out for the report, which no continuation may notice."""
    simulation = mbd.models.load("four_bar").start()
    for _ in range(40):
        simulation.step(0.02)
        saved = simulation.save().to_bytes()
        simulation._native.report()
        assert simulation.save().to_bytes() == saved
