"""Every example runs on its own, with and without matplotlib, and leaves its files in the current folder only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
PICTURES = {
    "abs_stop", "active_suspension", "energy_drift", "inputs_from_csv", "linearize_quarter_car", "pi_loop",
    "skyhook_from_end_to_end",
}  # fmt: skip
SLOW = {"abs_stop", "active_suspension", "skyhook_from_end_to_end"}  # by night without matplotlib
LONG = {"abs_stop", "active_suspension"}  # above 10 s: by night


def run(script: Path, folder: Path, *first_on_path: Path) -> str:
    """What the script prints; it must end well within a folder that is empty."""
    places = [*map(str, first_on_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=[pytest.mark.nightly] * (path.stem in LONG)) for path in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    before = {path for path in script.parent.rglob("*") if "__pycache__" not in path.parts}
    assert run(script, tmp_path).strip()
    assert {path.stem for path in tmp_path.glob("*.png")} == PICTURES & {script.stem}
    assert {path for path in script.parent.rglob("*") if "__pycache__" not in path.parts} == before


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, marks=[pytest.mark.nightly] * (path.stem in SLOW))
        for path in EXAMPLES
        if path.stem in PICTURES
    ],
    ids=lambda path: path.stem,
)
def test_an_example_does_without_matplotlib(script: Path, tmp_path: Path) -> None:
    hidden, folder = tmp_path / "hidden", tmp_path / "folder"
    (hidden / "matplotlib").mkdir(parents=True)
    (hidden / "matplotlib" / "__init__.py").write_text("raise ImportError('hidden by a test')\n", encoding="utf-8")
    folder.mkdir()
    assert "matplotlib" in run(script, folder, hidden)
    assert not list(folder.glob("*.png"))


def test_the_examples_say_what_they_show() -> None:
    assert {path.stem for path in EXAMPLES} >= PICTURES | {"own_scheme"}
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8").startswith('"""')


def test_the_page_lists_every_example() -> None:
    page = EXAMPLES[0].with_name("README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if f"| `{path.name}` |" not in page] == []
