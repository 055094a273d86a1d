"""Whatever a master calls, and in whatever order: what the standard allows works, all else is refused and does no harm.

Random calls are played by the C host and held against the table of states of FMI 2.0.4 (tests/fmi_oracle.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fmi_host import Call, Host, begin, native_host, python_host, unpacked
from fmi_oracle import Move, Player

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.fmi.reading import FmuInfo

BATCH = 500  # sequences of one process


GROUND = {"body": "ground"}
JUDGED: dict[str, Any] = {
    "format_version": 1,
    "name": "judged",
    "gravity": [0, -9.81],
    "parameters": {
        "length": {"value": 1, "unit": "m", "min": 0.1, "max": 5},
        "mass": {"value": 2, "unit": "kg", "min": 0.5},
        "stiffness": {"value": 100, "unit": "N.m/rad", "min": 1, "max": 1e4, "tunable": True},
        "damping": {"value": 2, "unit": "N.m.s/rad", "min": 0, "max": 50, "tunable": True},
    },
    "inputs": {"torque": {"unit": "N.m", "start": 0.5}, "push": {"unit": "N"}},
    "bodies": {"bar": {"mass": "mass", "inertia": "mass*length^2/12", "position": ["length/2", 0]}},
    "joints": {"hinge": {"type": "revolute", "i": GROUND, "j": {"body": "bar", "at": ["-length/2", 0]}}},
    "forces": {
        "spring": {"type": "rotational", "i": GROUND, "j": {"body": "bar"}, "torque": "torque",
                   "stiffness": "stiffness", "damping": "damping"},
        "hand": {"type": "vector", "i": GROUND, "j": {"body": "bar"}, "force": ["push", 0]},
    },
    "events": {"low": {"when": "hinge.angle < -1e-4", "restart": True}},
    "outputs": {"angle": "hinge.angle", "acceleration": "bar.alpha", "pull": "hinge.reaction.x"},
}  # fmt: skip


def judged_model() -> mbd.Model:
    """A bar on a hinge: fixed and tunable parameters, inputs, an event, outputs that feel inputs at once."""
    return mbd.Model.from_description(Description(**JUDGED))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return native_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_model().export_fmu(tmp_path_factory.mktemp("fmu") / "judged.fmu", runtime="native")


@pytest.fixture(scope="module")
def facts(exported: Path) -> FmuInfo:
    return mbd.fmu.info(exported)


@pytest.fixture(scope="module")
def folder(exported: Path) -> Path:
    return unpacked(exported, exported.with_suffix(""))


# ---------------------------------------------------------------- random calls against the table of states


def judge(moves: list[Move], calls: list[Call], watched: list[str]) -> list[str]:
    """Where the FMU and the table disagree."""
    read: dict[int, str] = {}  # what was read, by version of the values
    findings = []
    for k, (move, call) in enumerate(zip(moves, calls, strict=True)):
        for what in _disagreements(move, call, read, watched):
            before = " | ".join(m.line for m in moves[: k + 1] if not m.looks)
            findings.append(f"{what}: {call.status} {call.said}\n  after {before}")
    return findings


def _disagreements(move: Move, call: Call, read: dict[int, str], watched: list[str]) -> Iterator[str]:
    if move.accepted != (call.status <= 1):
        yield f"'{move.line}' should have been {'accepted' if move.accepted else 'refused'}"
    if not move.accepted and not call.said.startswith(("logStatusError: ", "logStatusDiscard: ")):
        yield f"'{move.line}' was refused without a message"
    if move.line.startswith("forget") and call.rows:
        yield f"'{move.line}': {call.rows[0]}"
    if not move.looks or not call.rows:
        return
    if read.setdefault(move.machine.version, call.rows[0]) != call.rows[0]:
        yield f"values have changed from {read[move.machine.version]} to {call.rows[0]}"
    values = dict(zip(watched, call.values, strict=True))
    if values["time"] != move.machine.time:
        yield f"time is {values['time']!r}, not {move.machine.time!r}"
    yield from (f"{name} is {values[name]!r}, not {x!r}" for name, x in move.machine.told.items() if values[name] != x)


def played(host: Host, fmu: Path, sequences: list[list[Move]]) -> list[list[Call]]:
    """What came of every sequence, all played by one process."""
    calls = iter(host.trace(fmu, [move.line for moves in sequences for move in moves]))
    return [[next(calls) for _ in moves] for moves in sequences]


def judged(
    host: Host, fmu: Path, facts: FmuInfo, count: int, seed: int, only: Callable[[Move], bool] = lambda move: True
) -> list[str]:
    """Findings of a batch of random sequences."""
    watched = [v for v in facts.variables if v.type == "Real" and not v.name.startswith("solver.")]
    player = Player(facts, watched, str(host.folder), seed)
    sequences = [player.sequence(player.random.randint(5, 30), only) for _ in range(count)]
    names = [v.name for v in watched]
    results = zip(sequences, played(host, fmu, sequences), strict=True)
    return [finding for moves, calls in results for finding in judge(moves, calls, names)]


def test_random_calls_agree_with_the_table_of_states(
    host: Host, folder: Path, facts: FmuInfo, counts: Callable[..., int]
) -> None:
    findings = []
    for seed in range(counts(20_000 // BATCH, 0.03)):
        findings += judged(host, folder, facts, BATCH, seed)
    assert not findings, "\n".join(findings[:5])


# What pythonfmu's wrapper has not (docs/fmu.md). What it refuses it tells with other statuses, or at the next step:
# there only calls are made that the standard allows.
NOT_IN_PYTHON = ("forget", "slope", "rates", "derivative", "lasttime", "ended")


@pytest.fixture(scope="module")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> tuple[Host, Path, FmuInfo]:
    """The same model in the Python runtime, and a Python process around the host."""
    folder = tmp_path_factory.mktemp("python")
    path = judged_model().export_fmu(folder / "judged.fmu", runtime="python")
    return python_host(folder), unpacked(path, folder / "judged"), mbd.fmu.info(path)


def test_allowed_calls_work_in_the_python_runtime(
    in_python: tuple[Host, Path, FmuInfo], counts: Callable[..., int]
) -> None:
    def wanted(move: Move) -> bool:
        return move.accepted and not move.line.startswith(NOT_IN_PYTHON)

    findings = judged(*in_python, counts(2000), 0, wanted)
    assert not findings, "\n".join(findings[:5])


def test_no_call_crashes_the_python_runtime(in_python: tuple[Host, Path, FmuInfo], counts: Callable[..., int]) -> None:
    def wanted(move: Move) -> bool:  # its wrapper follows null pointers
        return move.accepted or not move.line.startswith(("write", "restore", "forget", "load"))

    judged(*in_python, counts(2000), 1, wanted)  # what it answers is in tests/test_fmu_runtimes.py


# ---------------------------------------------------------------- instances that cannot be, steps that cannot be made


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("guid=0123", "the guid '0123' is not that of this FMU"),
        ("guid=none", "is not that of this FMU"),
        ("resources=none", "has not said where the FMU's resources are"),
        ("resources=file:///no/such/folder%231", "/no/such/folder##1"),  # 2.1.5: # is written twice in messages
        ("resources=http://folder", "is no file"),
        ("resources=", "names no folder"),
        ("type=7", "there is no FMU type 7"),
    ],
)
def test_instances_that_cannot_be_are_refused_with_the_reason(host: Host, folder: Path, how: str, reason: str) -> None:
    lines = ["setup 0", "enter", "getreal 0", "real 0 1", "step 0 1", "save 1", "reset", "terminate", "free"]
    created, *others = host.trace(folder, [f"instantiate {how}", *lines])
    assert created.status == 3
    assert created.said.startswith("logStatusError: ")
    assert reason in created.said
    assert {c.status for c in others[:-1]} == {3}, "calls without an instance"


@pytest.mark.parametrize("callbacks", ["mute", "none"])
def test_masters_that_do_not_listen_are_served(host: Host, folder: Path, callbacks: str) -> None:
    calls = host.trace(folder, [f"instantiate callbacks={callbacks}", *begin()[1:], "step 0 0.01", "step 7 1", "free"])
    assert [c.status for c in calls] == [0, 0, 0, 0, 0, 3, 0]


@pytest.fixture(scope="module")
def blows_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FmuInfo]:
    """A model whose solution ends at about t = 2.6 s."""
    model = mbd.Model("blow_up")
    model.add("pull", mbd.Input())
    model.add("x", mbd.Coordinate(start=1.0, velocity=1.0, unit="m", force="x^3 - pull"))
    model.add_mass("x", 1.0)
    path = model.export_fmu(tmp_path_factory.mktemp("fmu") / "x.fmu", runtime="native")
    return unpacked(path, path.with_suffix("")), mbd.fmu.info(path)


def test_a_step_that_fails_is_taken_back_and_may_be_tried_otherwise(host: Host, blows_up: tuple[Path, FmuInfo]) -> None:
    folder, facts = blows_up
    names = ("time", "x", "der(x)", "der(x,2)", "pull")
    look = "getreal " + " ".join(str(facts.variable(name).reference) for name in names)
    pull = f"real {facts.variable('pull').reference}"
    lines = ["step 0 0.5", look, "step 0.5 5", look, "lasttime", "ended", "step 0.5 0.25", look, "save 1",
             "step 0.75 5", f"{pull} 0", "step 0.75 5", f"{pull} 9", "step 0.75 0.25", "restore 1", look, "step 0.75 5",
             "reset", *begin()[1:], "step 0 0.5", look]  # fmt: skip
    calls = dict(enumerate(host.trace(folder, [*begin(), *lines, "free"])[len(begin()) :]))
    discarded, again = [c for c in calls.values() if c.status == 2], [c for c in calls.values() if c.status == 3]
    assert [k for k, c in calls.items() if c.status == 2] == [2, 9, 16]
    assert all(c.said.startswith("logStatusDiscard: ") and "the step is taken back" in c.said for c in discarded)
    assert [k for k, c in calls.items() if c.status == 3] == [11]  # as before: masters would repeat it without end
    assert "the same step has just failed" in again[0].said
    assert calls[3].rows == calls[1].rows
    assert (calls[4].values, calls[5].values) == ([0.5], [0])
    assert calls[15].rows == calls[7].rows != calls[1].rows
    assert calls[len(calls) - 2].rows == calls[1].rows


def test_other_categories_of_messages_are_refused_and_known_ones_heard(host: Host, folder: Path) -> None:
    lines = ["debug 1 logSolver", "terminate", "reset", "debug 0", *begin()[1:], "terminate"]
    calls = host.trace(folder, [*begin(), *lines, "free"])[len(begin()) :]
    assert calls[1].said.startswith("logSolver: t = 0 s: steps")
    assert calls[-2].said == ""
