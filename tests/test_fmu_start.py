"""An FMU can always be started: what could not is refused at export, or assembled by the FMU itself."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.joints import Distance, Revolute

GROUND = {"body": "ground"}
KINDS = [("native", "cs2"), ("python", "cs2"), ("native", "cs3"), ("native", "me2")]  # runtime and interface


def hung(*, off: float = 0.05) -> mbd.Model:
    """A pendulum that is written down `off` metres beside its hinge."""
    model = mbd.Model("hung", gravity=(0, -9.81))
    model.add("bar", mbd.Body(mass=1, inertia=0.1, position=(0.5, off)))
    model.add("hinge", Revolute(i=GROUND, j={"body": "bar", "at": (-0.5, 0)}))
    model.add("angle", "bar.phi")
    return model


@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_what_cannot_start_is_not_exported(runtime: str, interface: str, tmp_path: Path) -> None:
    path = tmp_path / "x.fmu"
    with pytest.raises(mbd.ModelError, match=r"joint 'hinge' \(y\) is off by 0\.05 m; .*assemble=True, --assemble"):
        hung().export_fmu(path, runtime=runtime, interface=interface)
    assert not path.exists()


@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_the_cure_works(runtime: str, interface: str, tmp_path: Path) -> None:
    path = hung().export_fmu(tmp_path / "x.fmu", runtime=runtime, interface=interface, assemble=True)
    expected = hung().simulate(0.5, 0.1, assemble=True, record="angle")
    got = mbd.fmu.simulate(path, 0.5, 0.1)
    assert got["angle"][0] == pytest.approx(expected["angle"][0], abs=1e-12)
    assert got["angle"][-1] == pytest.approx(expected["angle"][-1], abs=1e-3)  # of another integrator
    with pytest.raises(mbd.ModelError, match=r"'hinge' .*solver\.assemble of an FMU"):
        mbd.fmu.simulate(path, 0.5, 0.1, parameters={"solver.assemble": 0})


def test_an_fmu_may_be_asked_to_assemble(tmp_path: Path) -> None:
    path = hung(off=0.0).export_fmu(tmp_path / "x.fmu")
    assert mbd.fmu.info(path).variable("solver.assemble").start is False
    assert mbd.fmu.simulate(path, 0.1, 0.1, parameters={"solver.assemble": 1})["angle"][0] == 0


def test_what_cannot_be_assembled_is_not_exported(tmp_path: Path) -> None:
    model = hung()
    model.add("far", Distance(i={"body": "ground", "at": (9, 0)}, j={"body": "bar", "at": (0.5, 0)}, length=1))
    with pytest.raises(mbd.StepFailed, match="assembly failed: the joints cannot be closed"):
        model.export_fmu(tmp_path / "x.fmu", assemble=True)


def test_the_command_says_so_and_ends_with_1(tmp_path: Path) -> None:
    hung().save(tmp_path / "hung.json")
    path = tmp_path / "x.fmu"

    def run(more: str = "") -> tuple[int, str]:
        command = f"export-fmu {tmp_path / 'hung.json'} -o {path} {more}"
        result = CliRunner().invoke(main, shlex.split(command), prog_name="mbdfmu")
        return result.exit_code, result.output

    code, said = run()
    assert code != 0 and "--assemble" in said and not path.exists()
    code, said = run("--assemble")
    assert code == 0 and "wrote" in said
    assert mbd.fmu.simulate(path, 0.1, 0.1).complete
