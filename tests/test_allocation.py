"""No allocation inside a step or a derivative: counted in the native core itself, without Python."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import mbdfmu as mbd
from mbdfmu.lowering import lower
from mbdfmu.schemes import Baumgarte, Direct, Dop853, Hht, Radau, Scheme, Welch1, Welch2

ROOT = Path(__file__).parents[1]
SCHEMES: list[Scheme] = [
    Hht(), Hht(index=2), Radau(), Welch1(), Welch2(), Dop853(), Direct(formula="mampc4"), Baumgarte(formula="adams")
]  # fmt: skip


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counting program, compiled against the sources of the core."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    eigen = find_spec("cmeel.prefix") or find_spec("cmeel")
    if compiler is None:
        pytest.skip("no C++ compiler on the path")
    folders = [Path(p) for p in (eigen.submodule_search_locations if eigen else [])]
    include = next((f for p in folders for f in p.parent.glob("cmeel.prefix/include/eigen3")), None)
    if include is None:
        pytest.skip("the Eigen headers of the build requirement cmeel-eigen are not installed")
    program = tmp_path_factory.mktemp("native") / "count_allocations"
    sources = [str(p) for p in (ROOT / "solver").glob("*.cpp") if not p.name.startswith("bindings")]
    command = [compiler, "-std=c++17", "-O1", f"-I{ROOT / 'solver'}", f"-I{include}", "-o", str(program)]
    subprocess.run([*command, str(ROOT / "tests/native/count_allocations.cpp"), *sources], check=True)
    return program


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "end"),
    [("pendulum", 1), ("slider_crank", 1), ("andrews", 0.01), ("andrews_angles", 0.01), ("chain:N=50", 0.2)],
)
@pytest.mark.parametrize("fixed", [False, True], ids=["error-controlled", "fixed"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_steps_allocate_nothing(
    counter: Path, tmp_path: Path, name: str, end: float, fixed: bool, scheme: Scheme
) -> None:
    blob = tmp_path / "model.blob"
    blob.write_bytes(lower(mbd.models.load(name).description).blob)
    end *= 5 if scheme.type_name == "dop853" else 1  # its steps are long
    command = [str(counter), str(blob), str(end), str(end / 500 if fixed else 0)]
    command += [scheme.type_name, *map(repr, scheme.native())]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    allocations, steps, fallbacks, of_derivatives, of_exchange = (int(word) for word in output.split())
    assert steps > 3
    assert fallbacks == 0  # a pivoting factorisation does allocate
    assert allocations == of_derivatives == of_exchange == 0
