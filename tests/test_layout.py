"""The picture of the rooms, checked: who imports whom, what is loaded when, and what the build found."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mbdfmu"

# A room may import itself and the rows above it; rooms in one row do not know each other. `_solver` is the native core,
# `__init__` the public face.
ORDER = (
    ("errors",),
    ("collecting", "files"),
    ("blob",),
    ("registry",),
    ("calling",),
    ("units",),
    ("tabular",),
    ("roads",),
    ("expressions",),
    ("quantities",),
    ("resolution",),
    ("description",),
    ("coordinates",),
    ("vectors",),
    ("orientation",),
    ("inertia",),
    ("counterparts",),
    ("frames",),
    ("planar", "spatial"),
    ("joints", "forces", "blocks"),
    ("signals",),
    ("_solver",),
    ("lowering",),
    ("schemes",),
    ("analyses",),
    ("results",),
    ("fmi",),
    ("modelica",),
    ("regression",),
    ("cosim",),
    ("animation", "importers"),
    ("facade",),
    ("content",),
    ("controllers",),
    ("reproduce",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, row in enumerate(ORDER) for room in row}

HEAVY = ("scipy", "h5py", "fmpy", "pythonfmu", "matplotlib", "tqdm")
# A slave must derive from pythonfmu's class, and whoever imports the slave wants pythonfmu.
HEAVY_ALLOWED = {("fmi/python_slave.py", "pythonfmu")}


@dataclass(frozen=True)
class Import:
    """One imported module: its dotted name, the names taken from it, where it stands, whether it runs at import."""

    module: str
    names: tuple[str, ...]
    line: int
    at_import: bool


def imports_of(path: Path) -> list[Import]:
    """All imports of a file, those inside functions and `if TYPE_CHECKING:` marked as not run at import."""
    return list(_imports_below(ast.parse(path.read_text(encoding="utf-8")), path, at_import=True))


def _imports_below(node: ast.AST, path: Path, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, (), child.lineno, at_import) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            names = tuple(alias.name for alias in child.names)
            yield Import(_absolute(child, path), names, child.lineno, at_import)
        else:
            yield from _imports_below(child, path, at_import and not _is_deferred(child))


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT).parent.parts
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def _is_deferred(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def rooms_imported(found: Import) -> set[str]:
    """Rooms that an import reaches; a name of the package that is no room belongs to its public face."""
    parts = found.module.split(".")
    if parts[0] != "mbdfmu":
        return set()
    if len(parts) > 1:
        return {parts[1]}
    return {name if name in RANK else "__init__" for name in found.names} or {"__init__"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.by_day(1000)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_rooms_import_only_the_rooms_before_them(path: Path) -> None:
    room = room_of(path)
    assert room in RANK, f"{path.relative_to(ROOT)}: room '{room}' has no place yet; give it one in ORDER"
    for found in imports_of(path):
        for other in sorted(rooms_imported(found) - {room}):
            where = f"{path.relative_to(ROOT)}:{found.line}"
            assert other in RANK, f"{where}: there is no room '{other}'"
            assert RANK[other] < RANK[room], f"{where}: '{room}' must not import '{other}', which is not before it"


@pytest.mark.by_day(1000)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_heavy_packages_are_imported_inside_functions(path: Path) -> None:
    place = path.relative_to(PACKAGE).as_posix()
    for found in imports_of(path):
        top = found.module.split(".")[0]
        if found.at_import and top in HEAVY and (place, top) not in HEAVY_ALLOWED:
            pytest.fail(f"mbdfmu/{place}:{found.line}: import {top} inside the function that needs it")


def test_the_public_face_imports_no_room() -> None:
    eager = {room for found in imports_of(PACKAGE / "__init__.py") if found.at_import for room in rooms_imported(found)}
    assert not eager, f"mbdfmu/__init__.py must load {sorted(eager)} on first use (PEP 562)"


@pytest.mark.parametrize("room", ["joints", "forces", "blocks", "schemes"])
def test_each_file_of_a_family_is_imported_by_its_room(room: str) -> None:
    files = sorted((PACKAGE / room).glob("[a-z]*.py"))
    assert files, f"mbdfmu/{room} is empty"
    imported = {
        f"{found.module}.{name}".removeprefix(f"mbdfmu.{room}.").split(".")[0]
        for path in (PACKAGE / room).glob("*.py")
        for found in imports_of(path)
        for name in (found.names or ("",))
        if found.module.startswith(f"mbdfmu.{room}")
    }
    forgotten = [path.stem for path in files if path.stem not in imported]
    assert not forgotten, f"mbdfmu/{room}/__init__.py does not import {forgotten}; what they define is not registered"


def test_content_folders_are_no_packages() -> None:
    for folder in ("models", "fmus", "solver"):
        assert (ROOT / folder).is_dir(), f"{folder}/ is missing"
        assert not list((ROOT / folder).rglob("__init__.py")), f"{folder}/ holds content and must not be a package"


@pytest.mark.parametrize(
    "code",
    ["import mbdfmu", "import sys; sys.argv = ['mbdfmu', '--help']; from mbdfmu.cli import main; main()"],
    ids=["import mbdfmu", "mbdfmu --help"],
)
def test_first_contact_loads_nothing_heavy(code: str, tmp_path: Path) -> None:
    report = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('loaded:', *(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr))\n"
    )
    done = subprocess.run([sys.executable, "-c", report + code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == ["loaded:"], done.stderr


def test_eigen_comes_from_its_python_package() -> None:
    caches = sorted((ROOT / "build").glob("*/CMakeCache.txt"))
    assert caches, "no CMake cache below build/; run `make build` first"
    for cache in caches:
        found = [line for line in cache.read_text(encoding="utf-8").splitlines() if line.startswith("Eigen3_DIR")]
        assert found, f"{cache}: Eigen3_DIR is not set"
        assert "cmeel.prefix" in found[0], f"{cache}: Eigen of the system masks the one of cmeel-eigen: {found[0]}"
