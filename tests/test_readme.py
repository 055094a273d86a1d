"""What the README shows runs as shown, from an empty folder; must not know what the examples are about."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPTS = Path(sysconfig.get_path("scripts"))


def blocks(language: str) -> list[str]:
    found = BLOCK.finditer(README.read_text(encoding="utf-8"))
    return [block["text"] for block in found if block["language"] == language]


def commands(block: str) -> list[list[str]]:
    """The `$ mbdfmu ...` lines of a console block as argument lists."""
    lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ mbdfmu")]
    return [shlex.split(line) for line in lines]


def run(arguments: list[str], folder: Path) -> None:
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(arguments)}\n{done.stdout}{done.stderr}"


PYTHON_BLOCKS = blocks("python")
CONSOLE_BLOCKS = [block for block in blocks("console") if commands(block)]


def test_the_readme_shows_python_and_the_command_line() -> None:
    assert len(PYTHON_BLOCKS) >= 2
    assert CONSOLE_BLOCKS


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=range(len(PYTHON_BLOCKS)))
def test_python_example_runs(block: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(block, encoding="utf-8")
    run([sys.executable, str(script)], tmp_path)


@pytest.mark.parametrize("block", CONSOLE_BLOCKS, ids=range(len(CONSOLE_BLOCKS)))
def test_commands_run_one_after_the_other(block: str, tmp_path: Path) -> None:
    for _, *arguments in commands(block):
        run([str(SCRIPTS / "mbdfmu"), *arguments], tmp_path)
