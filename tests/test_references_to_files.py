"""What a model file may read besides itself, and how large it may become."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.cosim import System
from mbdfmu.description import Description, reading, sizes

SECRET = "sesame:$6$salt$0123456789"
PART = {"bodies": {"stone": {"mass": 1, "inertia": 1, "free": True}}}
posix = pytest.mark.skipif(os.name != "posix", reason="devices and pipes of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test is in the folder of a model that somebody has sent; above it there is what is no business of his."""
    (tmp_path / "shadow").write_text(SECRET)
    write(tmp_path / "shared.json", PART)
    inside = tmp_path / "sent"
    inside.mkdir()
    monkeypatch.chdir(inside)
    return inside


def write(path: str | Path, data: dict[str, Any]) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps({"format_version": 1, "name": "model", **data}))


def refers_to(*files: str) -> dict[str, Any]:
    return {"submodels": {f"part_{k}": {"file": file} for k, file in enumerate(files)}}


def refused(path: str = "model.json", **options: bool) -> str:
    with pytest.raises(mbd.ModelError) as caught:
        mbd.Model.load(path, **options)
    assert SECRET[:6] not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- where


@pytest.mark.parametrize("place", ["../shadow", "parts/../../shadow", "{above}/shadow", "link"])
def test_files_outside_of_the_folder_are_refused_by_name_and_not_read(place: str, folder: Path) -> None:
    if place == "link":
        Path("link").symlink_to(folder.parent / "shadow")
    Path("parts").mkdir()
    place = place.format(above=folder.parent)
    write("model.json", refers_to(place))
    text = refused()
    assert f"submodels.part_0.file: {Path(place)}: lies outside of the model's folder '{folder}'" in text
    assert "--allow-outside" in text
    done = CliRunner().invoke(main, ["check", "model.json"])
    assert done.exit_code == 2 and "lies outside" in done.output and SECRET[:6] not in done.output
    with pytest.raises(mbd.ModelError, match="lies outside"):
        Description.from_json(Path("model.json").read_text())


def test_an_option_lets_them_be_read() -> None:
    write("model.json", refers_to("../shared.json"))
    assert "part_0.stone" in mbd.Model.load("model.json", allow_outside=True).description.flat().bodies
    assert "part_0.stone" in Description.from_json(Path("model.json").read_text(), allow_outside=True).flat().bodies
    for verb in ("check", "info"):
        assert CliRunner().invoke(main, [verb, "model.json"]).exit_code == 2
        assert CliRunner().invoke(main, [verb, "model.json", "--allow-outside"]).exit_code == 0


def test_parts_may_read_what_the_outermost_model_may(folder: Path) -> None:
    """The folder is that of the file that the user names; a model built in Python names its files himself."""
    write("wheel.json", PART)
    write("parts/axle.json", refers_to("../wheel.json"))
    write("parts/strange.json", refers_to("../../shared.json"))
    write("model.json", refers_to("parts/axle.json"))
    assert "part_0.part_0.stone" in mbd.Model.load("model.json").description.flat().bodies
    assert "lies outside" in refused("parts/axle.json")
    write("model.json", refers_to("parts/strange.json"))
    assert "lies outside" in refused()
    built = mbd.Model("built")
    built.add("part", mbd.Submodel(file="../shared.json"))
    assert "part.stone" in built.description.flat().bodies


@posix
def test_devices_pipes_and_folders_are_no_files(folder: Path) -> None:
    os.mkfifo("pipe")
    Path("parts").mkdir()
    Path("zero").symlink_to("/dev/zero")
    for place, what in (("pipe", "a pipe"), ("parts", "a folder"), ("zero", "a device"), ("/dev/zero", "a device")):
        write("model.json", refers_to(place))
        text = refused(allow_outside=True)
        assert f"submodels.part_0.file: {place}: cannot be read: is {what}, not a file" in text
    write("model.json", refers_to("/dev/zero"))
    assert "/dev/zero: lies outside" in refused()


def test_files_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    write("part.json", PART)
    with open("part.json", "ab") as file:
        file.truncate(reading.LARGEST + 1)
    write("model.json", refers_to("part.json"))
    assert f"part.json: has {reading.LARGEST + 1} bytes, allowed are {reading.LARGEST}" in refused()


@posix
def test_systems_read_no_table_outside_and_no_pipe(folder: Path) -> None:
    mbd.models.load("pendulum").export_fmu("pendulum.fmu")
    system = {"fmus": {"one": {"fmu": "pendulum.fmu"}}}
    os.mkfifo("pipe")
    for more, message in (
        ({"inputs": "../shadow"}, "inputs: ../shadow: lies outside of the system's folder"),
        ({"inputs": "pipe"}, "inputs: pipe: cannot be read: is a pipe, not a file"),
        ({"fmus": {"one": {"fmu": "pipe"}}}, "fmus.one: pipe: cannot be read: is a pipe, not a file"),
    ):
        write("system.json", {**system, **more})
        with pytest.raises(mbd.ModelError) as caught:
            System.load("system.json")
        assert message in str(caught.value) and SECRET[:6] not in str(caught.value)
    (folder.parent / "torque.csv").write_text("time [s],one.torque\n0,1\n1,1\n")
    write("system.json", {**system, "inputs": "../torque.csv"})
    assert System.load("system.json", allow_outside=True).simulate(0.1, 0.1).complete


# ---------------------------------------------------------------- how large


def test_files_that_use_the_next_one_twice_end_at_once() -> None:
    """25 of them would be 2^25 parts; the test of the time is that it ends."""
    for k in range(25):
        write(f"level{k}.json", refers_to(f"level{k + 1}.json", f"level{k + 1}.json"))
    write("level25.json", PART)
    text = refused("level0.json")
    parts = 2**14 - 2  # of level 12, with 2, 4, 8, ... below it
    assert f"level12.json: has {parts} sub-models, allowed are {sizes.MOST_PARTS}" in text
    assert len(text.splitlines()) == 1


def test_files_within_the_limits_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(4):
        write(f"level{k}.json", refers_to(f"level{k + 1}.json", f"level{k + 1}.json"))
    write("level4.json", PART)
    monkeypatch.setattr(sizes, "MOST_PARTS", 30)
    monkeypatch.setattr(sizes, "MOST_ELEMENTS", 46)  # 16 stones, and 30 parts
    assert len(mbd.Model.load("level0.json").description.flat().bodies) == 16
    monkeypatch.setattr(sizes, "MOST_ELEMENTS", 45)
    assert "level0.json: has 46 elements, allowed are 45" in refused("level0.json")


def test_files_that_use_each_other_too_deeply_are_refused() -> None:
    for k in range(60):
        write(f"level{k}.json", refers_to(f"level{k + 1}.json"))
    write("level60.json", PART)
    assert "level51.json: is used by files that use each other, deeper than 50" in refused("level0.json")


@pytest.mark.by_day(1)
@pytest.mark.parametrize("entry", ['"states": {"rate": "0"}', '"inputs": {"unit": "m"}'])
def test_a_million_entries_are_refused_before_they_are_read(entry: str) -> None:
    section, _, content = entry.partition(": ")
    entries = ",".join(f'"x{k}":{content}' for k in range(1_000_000))
    Path("model.json").write_text(f'{{"format_version": 1, "name": "many", {section}: {{{entries}}}}}')
    assert refused().startswith(f"model.json: has {Path('model.json').stat().st_size} bytes, allowed are 20000000")
