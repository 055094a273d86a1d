"""States of FMUs: a run goes on from a saved one bit for bit, also elsewhere; damaged ones are refused."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fmi_host import Call, Host, native_host, unpacked

import mbdfmu as mbd
from mbdfmu.fmi.reading import FmuInfo

# Events and impacts, algebraic loops, rotations, a controller with states; what is saved differs in each.
MODELS = ["slider_crank", "bouncing_ball", "pendulum3d", "cart_pendulum"]
STEPS, FOLLOWING = 700, 500
SLOPES = (-2.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return native_host(tmp_path_factory.mktemp("host"))


class Run:
    """An FMU and a schedule of steps, inputs and slopes of random sizes."""

    def __init__(self, model: mbd.Model, folder: Path, seed: int = 1) -> None:
        exported = model.export_fmu(folder / "x.fmu", runtime="native")
        self.facts: FmuInfo = mbd.fmu.info(exported)
        self.folder = unpacked(exported, folder / "unpacked")
        self.random = random.Random(seed)
        watched = [v for v in self.facts.variables if v.type == "Real" and v.causality in ("local", "output")]
        self.look = "getreal " + " ".join(str(v.reference) for v in watched)
        self.inputs = [v.reference for v in self.facts.variables if v.causality == "input"]
        self.time = 0.0
        self.steps = [self._step() for _ in range(STEPS)]

    def _step(self) -> list[str]:
        """Calls of one step: sometimes an input jumps, sometimes it is given a slope; one row is printed."""
        lines = []
        if self.inputs and self.random.random() < 0.3:
            lines.append(f"real {self.random.choice(self.inputs)} {self.random.uniform(-1, 1)!r}")
        if self.inputs and self.random.random() < 0.3:
            lines.append(f"slope 1 {self.random.choice(self.inputs)} {self.random.choice(SLOPES)!r}")
        size = self.random.choice([1e-4, 1e-3, 5e-3])
        lines.append(f"step {self.time!r} {size!r}")
        self.time += size
        return [*lines, self.look]

    def calls(self, begin: int, end: int) -> list[str]:
        return [line for step in self.steps[begin:end] for line in step]


BEGIN = ["instantiate", "setup 0", "enter", "exit"]


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(mbd.models.load(request.param), tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def rows(host: Host, run: Run) -> list[str]:
    """What the undisturbed run reads after every step."""
    return host.play(run.folder, [*BEGIN, *run.calls(0, STEPS), "free"]).out.splitlines()


def places(run: Run, count: int) -> list[int]:
    """Steps before which the state is saved; the first ones too, where the solver has no history yet."""
    return sorted({0, 1, *(run.random.randrange(STEPS - FOLLOWING) for _ in range(count))})


@pytest.mark.by_day(1)
def test_a_restored_state_goes_on_bit_for_bit(
    host: Host, run: Run, rows: list[str], counts: Callable[..., int]
) -> None:
    for k in places(run, counts(200 // len(MODELS), 0.05)):
        script = [*BEGIN, *run.calls(0, k), "save 1", *run.calls(k, k + FOLLOWING), "restore 1",
                  *run.calls(k, k + FOLLOWING), "reset", "restore 1", *run.calls(k, k + 20), "free"]  # fmt: skip
        got = host.play(run.folder, script).out.splitlines()
        expected = rows[k : k + FOLLOWING]
        assert got[k : k + FOLLOWING] == expected, "saving has changed the run"
        assert got[k + FOLLOWING :] == [*expected, *expected[:20]], f"restored before step {k}"


@pytest.mark.by_day(1)
def test_a_serialised_state_goes_on_in_a_fresh_process(
    host: Host, run: Run, rows: list[str], counts: Callable[..., int], tmp_path: Path
) -> None:
    chosen = places(run, counts(200 // len(MODELS), 0.05))
    script = [*BEGIN]
    for a, b in zip([0, *chosen], chosen, strict=False):
        script += [*run.calls(a, b), "save 1", f"write 1 {tmp_path}/state {b}"]
    host.play(run.folder, [*script, "free"])
    for k in chosen:
        begin = ["instantiate", f"load 0 {tmp_path}/state {k}", "restore 0"]
        got = host.play(run.folder, [*begin, *run.calls(k, k + FOLLOWING), "terminate", "free"]).out.splitlines()
        assert got == rows[k : k + FOLLOWING], f"continued before step {k}"


# ---------------------------------------------------------------- damaged states


def damaged(state: bytes, other: bytes, chance: random.Random) -> bytes:
    """A state with one flipped bit, a part cut off or put in, or another model's part in it."""
    at, bit = chance.randrange(len(state)), 1 << chance.randrange(8)
    kind = chance.randrange(6)
    if kind <= 2:
        return state[:at] + bytes([state[at] ^ bit]) + state[at + 1 :]
    if kind == 3:
        return state[:at]
    if kind == 4:
        return state + bytes(chance.randrange(1, 50))
    changed = other[:at] + state[at:]
    return changed if changed != state else other


def test_damaged_states_are_refused(
    host: Host, run: Run, rows: list[str], counts: Callable[..., int], tmp_path: Path
) -> None:
    other = Run(mbd.models.load("pendulum"), tmp_path)
    for this, name in ((run, "good"), (other, "other")):
        host.play(this.folder, [*BEGIN, *this.calls(0, 10), "save 1", f"write 1 {tmp_path}/{name}", "free"])
    good, foreign = (tmp_path / "good").read_bytes(), (tmp_path / "other").read_bytes()
    bad = [damaged(good, foreign, run.random) for _ in range(counts(1000 // len(MODELS), 0.2))] + [foreign, b""]
    for k, state in enumerate(bad):
        (tmp_path / f"bad{k}").write_bytes(state)
    loads = [f"load 2 {tmp_path}/bad{k}" for k in range(len(bad))]
    script = ["instantiate", *loads, f"load 3 {tmp_path}/good", "restore 3", *run.calls(10, 20), "free"]
    calls = host.trace(run.folder, script)
    refused = calls[1 : 1 + len(bad)]
    assert [c.status for c in refused] == [3] * len(bad), unexpected(refused, bad, good)
    assert all(c.said.startswith("logStatusError: ") for c in refused)
    assert [row for c in calls[1 + len(bad) :] for row in c.rows] == rows[10:20]


def forged(state: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, perhaps an end cut off, and a checksum that fits."""
    body = bytearray(state[:-4])
    for _ in range(chance.choice([1, 1, 2, 8])):
        body[chance.randrange(len(body))] = chance.choice([0, 1, 127, 255, chance.randrange(256)])
    cut = chance.randrange(len(body)) if chance.random() < 0.2 else len(body)
    return bytes(body[:cut]) + zlib.crc32(body[:cut]).to_bytes(4, "little")


def test_forged_states_crash_nothing(host: Host, run: Run, counts: Callable[..., int], tmp_path: Path) -> None:
    host.play(run.folder, [*BEGIN, *run.calls(0, 10), "save 1", f"write 1 {tmp_path}/good", "free"])
    good = (tmp_path / "good").read_bytes()
    assert zlib.crc32(good[:-4]) == int.from_bytes(good[-4:], "little"), "the checksum is elsewhere now"
    script = ["instantiate"]
    for k in range(counts(1000 // len(MODELS), 0.2)):
        (tmp_path / f"bad{k}").write_bytes(forged(good, run.random))
        script += [f"load 2 {tmp_path}/bad{k}", "restore 2", run.look, "step 0.01 0.001", run.look]
    host.trace(run.folder, [*script, f"load 3 {tmp_path}/good", "restore 3", "free"])  # ends well


def unexpected(calls: list[Call], bad: list[bytes], good: bytes) -> str:
    """Where the first damaged state that was taken differs."""
    k = next(k for k, c in enumerate(calls) if c.status != 3)
    a, b = np.frombuffer(bad[k], np.uint8), np.frombuffer(good, np.uint8)
    n = min(len(a), len(b))
    return f"taken: {len(a)} bytes of {len(b)}, different at {np.flatnonzero(a[:n] != b[:n])[:5]}"
