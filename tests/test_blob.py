"""Compiled models are checked when they are read: damage gives our own error, never a crash."""

import struct
import zlib

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.analyses.settings import Settings
from mbdfmu.blob import pack
from mbdfmu.description import Description
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.lowering import lower

OWN_ERRORS = (ModelError, StepFailed, _solver.NativeModelError, _solver.NativeStepFailed)
HEADER = 32


def blobs() -> list[bytes]:
    names = ("pendulum", "slider_crank_coordinates", "andrews", "trebuchet")
    shipped = [mbd.models.load(name).description for name in names]
    return [lower(description).blob for description in (*shipped, with_a_table(), with_a_memory())]


def with_a_table() -> Description:
    table = {"x": [-1, 0, 0.5, 2], "y": [-2, 0.1, 1, 1.5], "method": "akima"}
    mass = {"s": {"unit": "m", "start": 1, "force": "-lookup(pull, s)"}}
    return Description(format_version=1, name="table", tables={"pull": table}, coordinates=mass, mass={"s": 1})


def with_a_memory() -> Description:
    state = {"x": {"rate": "1 - on", "start": 1}, "on": {"rate": 0}}
    swap = {"when": "x > 1.0005 and on < 0.5", "set": {"on": "x/x", "x": "on"}}
    return Description(format_version=1, name="memory", states=state, events={"swap": swap})


def run(blob: bytes) -> None:
    """Whatever the numbers are now: read, start, step, report."""
    system = _solver.System(blob)
    simulation = _solver.Simulation(system, *Settings(tolerance=1e-4, smallest_step=1e-6).native())
    simulation.start(correct=True)
    simulation.advance(1e-3, limit=5)
    simulation.report()
    simulation.signals()


def signed(blob: bytes) -> bytes:
    """The blob with a checksum that fits its content, so that the damage reaches the reader behind it."""
    body = blob[HEADER:]
    return blob[:16] + struct.pack("<QII", len(blob), zlib.crc32(body), 0) + body


def damaged(blob: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(blob)
    kind = rng.integers(4)
    at = int(rng.integers(HEADER, len(data)))
    if kind == 0:
        for _ in range(rng.integers(1, 6)):
            data[rng.integers(HEADER, len(data))] = rng.integers(256)
    elif kind == 1:
        del data[at : at + int(rng.integers(1, 64))]
    elif kind == 2:
        data[at:at] = rng.bytes(int(rng.integers(1, 64)))
    else:
        at -= at % 4
        data[at : at + 4] = struct.pack("<i", int(rng.choice([-1, 0, 1, 2**31 - 1, -(2**31), 10_000])))[
            : len(data) - at
        ]
    return bytes(data)


def test_intact_blobs_run() -> None:
    for blob in blobs():
        run(blob)


def test_damage_without_new_checksum_is_found(counts) -> None:
    rng = np.random.default_rng(1)
    for blob in blobs():
        for _ in range(counts(300)):
            broken = damaged(blob, rng)
            if broken != blob:
                with pytest.raises(_solver.NativeModelError):
                    _solver.System(broken)


def test_damage_with_fitting_checksum_gives_our_error_or_runs(counts) -> None:
    rng = np.random.default_rng(2)
    refused = 0
    models = blobs()
    for k in range(counts(1000, fraction=0.3)):
        try:
            run(signed(damaged(models[k % len(models)], rng)))
        except OWN_ERRORS:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "not a compiled mbdfmu model"),
        (b"PK\3\4" + bytes(60), "not a compiled mbdfmu model"),
        (pack({})[:8] + struct.pack("<I", 99) + pack({})[12:], "written in format 99, this solver reads format 5"),
        (pack({})[:-1], "not a compiled mbdfmu model"),
        (pack({}) + b"x", "length does not match"),
        (pack({}), "section 'counts' is missing"),
    ],
)
def test_message(blob: bytes, message: str) -> None:
    with pytest.raises(_solver.NativeModelError, match=message):
        _solver.System(blob)
