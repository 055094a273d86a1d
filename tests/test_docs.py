"""The docs say what the program does: tables, equations, commands and examples; must not judge what they explain."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree

import click
import pytest

import mbdfmu as mbd
import mbdfmu.blocks
import mbdfmu.forces
import mbdfmu.joints  # all three: fills the families, so that entries can be validated
from mbdfmu.cli import VERBS, main
from mbdfmu.cosim import SystemDescription
from mbdfmu.description import Description
from mbdfmu.description.description import Header
from mbdfmu.description.pieces import sections

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
THEORY = DOCS / "theory.md"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
KINDS = {"", "python", "console", "json", "xml"}  # "" are equations and what other tools run
EQUATION = r"T\d+\.\d+"
KEY = re.compile(r"\[([A-Z][a-z]+\d\d)\]")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.finditer(text_of(page))
    return [dedent(block["text"]) for block in found if block["language"] == language]


def sources() -> Iterator[Path]:
    """Everything that may cite an equation or a paper."""
    folders = ("mbdfmu", "solver", "tests", "models", "examples", "benchmarks")
    for folder in folders:
        for suffix in ("py", "hpp", "cpp", "json"):
            yield from (path for path in (ROOT / folder).rglob(f"*.{suffix}") if path != Path(__file__))
    yield from PAGES


# ---------------------------------------------------------------- tables


def test_tables_are_those_of_the_program() -> None:
    """In a process of its own: tests that add joints must not add rows."""
    script = [sys.executable, str(DOCS / "make_tables.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- equations and papers


def derived() -> list[str]:
    """The equations that the theory derives: numbers at the end of a line of a block."""
    shown = "\n".join(blocks(THEORY, ""))
    return re.findall(rf"\(({EQUATION})\)$", shown, re.MULTILINE)


def test_each_equation_has_a_number_of_its_own() -> None:
    twice = [number for number, count in Counter(derived()).items() if count > 1]
    assert not twice
    assert len(derived()) > 20


def test_what_is_cited_is_there() -> None:
    lost = [f"{path.relative_to(ROOT)}: {what}" for path in sources() for what in _lost(text_of(path))]
    assert not lost, "\n".join(lost)


def _lost(text: str) -> Iterator[str]:
    """What a text cites and the docs do not have."""
    theory, known = text_of(THEORY), set(derived())
    yield from (f"({e}) is not derived in docs/theory.md" for e in set(re.findall(rf"\b{EQUATION}\b", text)) - known)
    for chapter in set(re.findall(r"\(T(\d+)\)|theory\.md, chapter\s+(?://\s*)?(\d+)", text)):
        number = "".join(chapter)
        if f"\n## {number} " not in theory:
            yield f"docs/theory.md has no chapter {number}"
    yield from (f"[{key}] is not in docs/theory.md" for key in set(KEY.findall(text)) if f"**[{key}]**" not in theory)
    for number in set(re.findall(r"decisions/(\d{3})\b", text)):
        if not list((DOCS / "decisions").glob(f"{number}-*.md")):
            yield f"docs/decisions has no {number}"


# ---------------------------------------------------------------- the command line


def commands(page: Path) -> Iterator[list[str]]:
    """The arguments of all `$ mbdfmu ...` lines; what the shell would do with them is cut off."""
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ mbdfmu "):
                yield shlex.split(line)[2:] if " > " not in line else shlex.split(line.partition(" > ")[0])[2:]


COMMANDS = [(page, command) for page in PAGES for command in commands(page)]


@pytest.mark.parametrize(
    ("page", "command"), COMMANDS, ids=[f"{page.stem}: {shlex.join(command)[:60]}" for page, command in COMMANDS]
)
def test_commands_parse(page: Path, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    top = main.make_context("mbdfmu", list(command))
    verb = main.get_command(top, command[0])
    assert verb is not None, f"{page.name} shows the verb '{command[0]}', which is not there"
    verb.make_context(command[0], command[1:], parent=top)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_is_explained_with_its_options_and_an_example(verb: str) -> None:
    page = text_of(DOCS / "command-line.md")
    assert f"\n## {verb}\n" in page
    section = page.partition(f"\n## {verb}\n")[2].partition("\n## ")[0]
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    options = [o for p in command.params if isinstance(p, click.Option) for o in (*p.opts, *p.secondary_opts)]
    missing = [option for option in options if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", section)]
    assert not missing, f"docs/command-line.md: '{verb}' does not explain {', '.join(missing)}"
    assert f"$ mbdfmu {verb}" in section


# ---------------------------------------------------------------- the model file

JSON = blocks(DOCS / "model-file.md", "json")
OTHERS = [page for page in PAGES if page.stem not in ("model-file", "co-simulation")]  # a system is no model
ENTRIES = [*JSON, *(block for page in OTHERS for block in blocks(page, "json"))]


@pytest.mark.parametrize("text", ENTRIES, ids=range(len(ENTRIES)))
def test_entries_of_model_files_are_valid(text: str) -> None:
    data: dict[str, Any] = json.loads(text)
    table = sections(Description)
    if "format_version" in data:
        Header.model_validate({key: value for key, value in data.items() if key not in table})
    for name in data.keys() & table.keys():
        for key, entry in data[name].items():
            table[name].key.validate_python(key)
            table[name].item.validate_python(entry)
    assert data.keys() <= table.keys() | Header.model_fields.keys()


def test_the_whole_model_of_the_page_runs() -> None:
    model = mbd.Model.from_description(Description.from_json(JSON[0]))
    assert model.simulate(0.5, 0.1).complete


def test_each_section_of_a_model_file_is_shown() -> None:
    shown = {key for text in JSON for key in json.loads(text)}
    assert set(sections(Description)) <= shown


def test_the_system_file_of_the_page_is_valid() -> None:
    (text,) = blocks(DOCS / "co-simulation.md", "json")
    data = json.loads(text)
    assert SystemDescription(**data).to_data() == data


# ---------------------------------------------------------------- Python


def showing(language: str) -> list[Any]:
    """The pages that have blocks of a language; one that is slow runs at night."""
    pages = [page for page in PAGES if page.parent == DOCS and blocks(page, language)]
    return [pytest.param(p, id=p.name, marks=[pytest.mark.nightly] * ((p.stem, language) in SLOW)) for p in pages]


LONG = ("command-line", "regression", "fmu", "modelica", "co-simulation", "animation")
SLOW = {("vehicles", "python"), *((stem, "console") for stem in LONG)}


def in_folder(command: list[str], folder: Path) -> None:
    """With the files that a page speaks of: those that it shows itself, as XML."""
    robot = blocks(DOCS / "urdf.md", "xml")[0]
    (folder / "robot.urdf").write_text(robot, encoding="utf-8")
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    environment = os.environ | {"MPLBACKEND": "Agg", "PATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.by_day(1)
@pytest.mark.parametrize("page", showing("python"))
def test_pages_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    in_folder([sys.executable, str(script)], tmp_path)


ELSEWHERE = re.compile(r"\$ (pytest |mbdfmu reproduce (?!--list))")  # its plugin, test_reproduce.py


def run_shell(texts: Iterable[str], folder: Path) -> None:
    """As typed, redirections too."""
    lines = [line for text in texts for line in text.splitlines() if line.startswith("$ ")]
    script = "\n".join(["set -e", *(line[2:] for line in lines if not ELSEWHERE.match(line))])
    in_folder(["sh", "-c", script], folder)


@pytest.mark.by_day(1)
@pytest.mark.skipif(os.name == "nt", reason="the pages show a POSIX shell")
@pytest.mark.parametrize("page", showing("console"))
def test_commands_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    if page.stem != "command-line":
        run_shell(blocks(page, "console"), tmp_path)
        return
    for number, block in enumerate(blocks(page, "console")):  # one for each verb, from an empty folder
        folder = tmp_path / str(number)
        folder.mkdir()
        before = blocks(DOCS / "co-simulation.md", "console") if "ride.json" in block else []  # that makes it
        run_shell([*before, block], folder)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    """Shell lines begin with $, so that they are found; XML can be read; what has no language is no Python of ours."""
    assert {block["language"] for block in BLOCK.finditer(text_of(page))} <= KINDS
    for text in blocks(page, "console"):
        assert text.startswith("$ ") or page.stem == "README"
    for text in blocks(page, "xml"):
        ElementTree.fromstring(text)
    assert not any("mbd." in text for text in blocks(page, ""))


def test_the_python_page_names_everything_public() -> None:
    page = text_of(DOCS / "python.md")
    missing = [name for name in mbd.__all__ if not name.startswith("_") and not _is_named(name, page)]
    assert not missing, f"docs/python.md does not name {', '.join(missing)}"


def _is_named(name: str, page: str) -> bool:
    return re.search(rf"\b(mbd|mbdfmu)\.{name}\b", page) is not None
