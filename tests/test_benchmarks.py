"""The benchmarks still run, and what they measure is bounded by counts; no clock is asserted."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.lowering import lower

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def operations(model: str) -> int:
    """Multiply-adds of one factorisation."""
    system = _solver.System(lower(mbd.models.load(model).description).blob)
    return int(system.elimination_operations)


@pytest.mark.nightly
def test_the_smallest_benchmarks_run_and_write_their_tables(tmp_path: Path) -> None:
    done = run("--smallest", "-o", str(tmp_path / "tables.json"))
    assert done.returncode == 0, done.stderr
    written: dict[str, Any] = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    groups = ["speed", "reach", "elimination", "forces", "belt", "accuracy", "startup", "lowering", "fmu", "cosim"]
    assert list(written["results"]) == [*groups, "workprecision"]
    for name, tables in written["results"].items():
        for title, records in tables.items():
            assert records and f"{name}: {title}" in done.stdout


def test_eliminated_forces_move_the_bodies_as_unknown_ones() -> None:
    """With the corrector driven to rounding; 40 vector forces by expressions."""
    code = "import forces; record = forces._record(40, 0.0); print(record['difference'], record['all unknowns'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True)
    difference, unknowns = map(float, done.stdout.split())
    assert unknowns == (3 + 2) * 40
    assert difference < 1e-10


@pytest.mark.skipif(importlib.util.find_spec("exudyn") is None, reason="the peer is not installed (extra [bench])")
def test_the_peer_runs_side_by_side() -> None:
    done = run("--smallest", "speed", "--peer", "exudyn")
    assert done.returncode == 0, done.stderr
    assert "ratio, equal error" in done.stdout


@pytest.mark.by_day(1)
@pytest.mark.parametrize("wrong", [("sped",), ("--peer", "nobody")])
def test_what_does_not_exist_is_refused_with_what_does(wrong: tuple[str, ...]) -> None:
    done = run(*wrong)
    assert done.returncode == 2
    assert "speed" in done.stderr or "exudyn" in done.stderr


def test_elimination_of_a_chain_is_exactly_linear_in_its_length() -> None:
    ten, twenty = operations("chain:N=10"), operations("chain:N=20")
    per_link = (twenty - ten) / 10
    for count in (2, 40, 1000):
        assert operations(f"chain:N={count}") == ten + per_link * (count - 10)


def test_elimination_of_loops_in_a_row_is_linear_in_their_number() -> None:
    """To the few operations by which both ends of the row differ from its middle."""
    ten, twenty, forty = (operations(f"four_bar:N={count}") for count in (10, 20, 40))
    assert forty - twenty == pytest.approx(2 * (twenty - ten), rel=0.02)


def test_every_measured_model_has_a_converged_state_at_its_end() -> None:
    code = "from cases import *; print([c.model for c in (*CASES, *SIX) if references()[c.model]['time'] != c.t_end])"
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_page_of_schemes_shows_the_stored_measurement() -> None:
    command = [sys.executable, "workprecision.py", "--check"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# Modules on top of the interpreter's own; it was 11 and 86 when this was written.
LOADED = {"import mbdfmu": 25, "mbdfmu --help": 120}


@pytest.mark.parametrize("contact", LOADED)
def test_first_contact_loads_few_modules(contact: str) -> None:
    code = (
        "from startup import CONTACTS, modules_after\n"
        f"print(len(modules_after(CONTACTS[{contact!r}])) - len(modules_after(CONTACTS['python alone'])))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= LOADED[contact]
