"""Archives of FMUs from elsewhere: nothing leads out of them, nothing fills the disk, and large ones are read fast."""

from __future__ import annotations

import gc
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hostile import DESCRIPTION
from hostile import build as build_hostile

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.errors import ModelError
from mbdfmu.fmi import unpacking
from mbdfmu.fmi.reading import info


def packed(path: Path, **files: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", files.pop("description", DESCRIPTION))
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("identifier", ["../../x", "/tmp/x", "a b", "1a", "", "x.so", "hostile\u00e4"])
@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_the_name_of_the_library_is_one_of_c(identifier: str, kind: str, tmp_path: Path) -> None:
    """With '../../x' a library from outside of the FMU was loaded."""
    text = DESCRIPTION.replace('"hostile"', f'"{identifier}"').replace("CoSimulation", kind)
    path = packed(tmp_path / "x.fmu", description=text)
    with pytest.raises(ModelError, match=r"modelIdentifier .* of .*: must be letters, digits and _"):
        info(path)
    done = CliRunner().invoke(main, ["simulate", str(path)])
    assert done.exit_code == 2 and "modelIdentifier" in done.output


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside", "..\\outside", "C:\\outside"])
def test_files_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.fmu", **{name: "x"})
    for use in (info, lambda path: unpacking.unpack(path, tmp_path / "folder")):
        with pytest.raises(ModelError, match="leads out of the FMU; if it is to be trusted"):
            use(path)
    assert not (tmp_path / "outside").exists() and not (tmp_path / "folder").exists()


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "x.fmu", **{"resources/a.bin": bytes(unpacking.SUSPECT + 1)})
    with pytest.raises(ModelError, match=r"'resources/a.bin' would grow from \d+ to 67108865 bytes, as no FMU does"):
        info(path)
    path = packed(tmp_path / "y.fmu", **{f"resources/{k}": "x" * 1000 for k in range(20)})
    assert info(path).name == "Hostile"
    monkeypatch.setattr(unpacking, "MOST_FILES", 20)
    monkeypatch.setattr(unpacking, "LARGEST", 10_000)
    with pytest.raises(ModelError) as caught:
        info(path)
    assert [": has 21 files, allowed are 20" in p or "bytes of files, allowed are 10000" in p
            for p in caught.value.problems] == [True, True]  # fmt: skip


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = build_hostile(tmp_path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(x ^ 255 for x in whole[middle : middle + 200]) + whole[middle + 200 :])
    with pytest.raises(ModelError, match=r"Hostile.fmu"):
        mbd.fmu.simulate(path)


@pytest.mark.parametrize("version", [2, 3])
def test_many_variables_are_read_without_looking_for_garbage(version: int, tmp_path: Path) -> None:
    """Which took half as long again."""
    count = 20_000
    names = [f"part{k // 100}.signal[{k % 100}]" for k in range(count)]
    if version == 2:
        of_one = '<ScalarVariable name="{}" valueReference="{}"><Real unit="m"/></ScalarVariable>'
        variables = "".join(of_one.format(name, k) for k, name in enumerate(names))
        body = f"<ModelVariables>{variables}</ModelVariables><ModelStructure/>"
        head = 'fmiVersion="2.0" guid="x"'
    else:
        variables = "".join(f'<Float64 name="{name}" valueReference="{k + 1}"/>' for k, name in enumerate(names))
        clock = '<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
        body = f"<ModelVariables>{clock}{variables}</ModelVariables><ModelStructure/>"
        head = 'fmiVersion="3.0" instantiationToken="x"'
    path = packed(
        tmp_path / "big.fmu",
        description=f'<fmiModelDescription {head} modelName="Big"><CoSimulation modelIdentifier="big"/>'
        f"{body}</fmiModelDescription>",
    )
    before = sum(generation["collections"] for generation in gc.get_stats())
    found = info(path)
    after = sum(generation["collections"] for generation in gc.get_stats())
    assert after - before <= 3  # what has been put off; else there are hundreds
    assert len(found.variables) == count + (version == 3)
