"""What a command is about: a model file, a shipped model or an FMU; must not know what is done with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbdfmu.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from mbdfmu.facade import Model


_ALLOWED = "mbdfmu.allow_python"


def _allow(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta[_ALLOWED] = value


# For the verbs that run a model.
allow_python = click.option(
    "--allow-python", is_flag=True, expose_value=False, callback=_allow,
    help="Let the model's callbacks import and run the Python code that they name.",
)  # fmt: skip


def is_fmu(target: str) -> bool:
    """Whether the target means an FMU."""
    return target.lower().endswith(".fmu")


def fmu_file(target: str) -> Path:
    """The FMU, which must be there."""
    path = Path(target)
    if not path.exists():
        raise ModelError(f"{target}: there is no such FMU; export one: mbdfmu export-fmu MODEL -o {target}")
    return path


def load_model(target: str) -> Model:
    """The model of a file, or else the shipped one of that name."""
    from mbdfmu import content
    from mbdfmu.facade import Model

    path = Path(target)
    if path.is_file():
        return Model.load(path, allow_python=bool(click.get_current_context().meta.get(_ALLOWED)))
    if path.suffix.lower() == ".json" or len(path.parts) > 1:
        hint = f"; did you mean the shipped model '{path.stem}'?" if path.stem in content.names() else _similar(path)
        raise ModelError(f"{target}: there is no such file{hint}")
    if is_fmu(target):
        raise ModelError(f"{target}: is an FMU; this command needs a model")
    return content.load(target)


def _similar(path: Path) -> str:
    """The hint for a misspelt file name."""
    files = [file.name for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
    return did_you_mean(path.name, files)
