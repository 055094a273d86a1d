"""What a command is about: a model, a controller or an FMU; must not know what is done with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.values import assignments, constant, positive
from mbdfmu.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from mbdfmu.controllers import Controller
    from mbdfmu.facade import Model


_ALLOWED, _OUTSIDE = "mbdfmu.allow_python", "mbdfmu.allow_outside"


def _allow(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta[f"mbdfmu.{option.name}"] = value


# For the verbs that run a model.
allow_python = click.option(
    "--allow-python", is_flag=True, expose_value=False, callback=_allow,
    help="Let the model's callbacks import and run the Python code that they name.",
)  # fmt: skip


# For the verbs that read a model file.
allow_outside = click.option(
    "--allow-outside", is_flag=True, expose_value=False, callback=_allow,
    help="Let the model file refer to files outside of its folder.",
)  # fmt: skip


def outside_allowed() -> bool:
    """What this option says."""
    return bool(click.get_current_context().meta.get(_OUTSIDE))


def own_processes(command: Callable[..., Any]) -> Callable[..., Any]:
    """For the verbs that run FMUs, which are native code."""
    for option in (
        click.option("--time-limit", type=positive, metavar="SECONDS", help="Of the run of an FMU; 600."),
        click.option(
            "--isolate/--no-isolate", default=None,
            help="FMUs have processes of their own, which may crash or hang; or none, which is a little faster.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def isolation(isolate: bool | None, time_limit: float | None) -> dict[str, Any]:
    """What these options say to fmi.simulate."""
    if time_limit is not None and isolate is False:
        raise ModelError("--time-limit: only a process of its own can be stopped; leave out --no-isolate")
    return {"isolate": isolate is not False, "time_limit": time_limit}


def begin_of(start: Iterable[str]) -> tuple[tuple[str, ...], float | None]:
    """What `--start` says of an FMU: start values, and the time among them at which it begins."""
    times = [text for text in start if "=" not in text]
    if len(times) > 1:
        raise ModelError(f"--start: an FMU begins at one time, found {', '.join(times)}")
    try:
        begin = constant(times[0]) if times else None
    except ModelError:
        allowed = "NAME=VALUE, or the time at which an FMU begins"
        raise ModelError(f"--start must be {allowed}, found '{times[0]}'") from None
    return tuple(text for text in start if text not in times), begin


def is_fmu(target: str) -> bool:
    """Whether the target means an FMU."""
    return target.lower().endswith(".fmu")


def fmu_file(target: str) -> Path:
    """The FMU, which must be there."""
    path = Path(target)
    if not path.exists():
        raise ModelError(f"{target}: there is no such FMU; export one: mbdfmu export-fmu MODEL -o {target}")
    return path


def is_controller(target: str) -> bool:
    """Whether the target means a controller: shipped models are never called like one, files come first."""
    from mbdfmu import controllers

    return not Path(target).is_file() and target.partition(":")[0] in controllers.names()


def load_controller(target: str, parameters: Iterable[str] = ()) -> Controller:
    """The shipped controller of that name, with parameters given as `NAME=VALUE`."""
    from mbdfmu import controllers

    return controllers.load(target, **assignments("--set", parameters, lambda _, text: _value(text)))


def _value(text: str) -> Any:
    """A constant, rows of numbers `[[1,2],[3,4]]`, names `["a","b"]`, or none."""
    if text == "none":
        return None
    if not text.startswith("["):
        return constant(text)
    try:
        return json.loads(text)
    except ValueError:
        raise ModelError(f"{text!r} is no list such as [[1,2],[3,4]] or [\"a\",\"b\"]") from None


def load_model(target: str) -> Model:
    """The model of a file, or else the shipped one of that name."""
    from mbdfmu import content
    from mbdfmu.facade import Model

    path = Path(target)
    if is_fmu(target) and not path.is_dir():
        runs = f"run it (mbdfmu simulate {target}) or look at it (mbdfmu info {target})"
        raise ModelError(f"{target}: is an FMU; this command needs a model; {runs}")
    if path.is_dir() and target not in content.names():
        raise ModelError(f"{target}: is a folder; give a model file (.json) or the name of a shipped model")
    if path.is_file():
        allowed = bool(click.get_current_context().meta.get(_ALLOWED))
        return Model.load(path, allow_python=allowed, allow_outside=outside_allowed())
    if path.suffix.lower() == ".json" or len(path.parts) > 1:
        hint = f"; did you mean the shipped model '{path.stem}'?" if path.stem in content.names() else _similar(path)
        raise ModelError(f"{target}: there is no such file{hint}")
    if is_controller(target):
        cure = f"export it and run the FMU: mbdfmu export-fmu {target}"
        raise ModelError(f"{target}: is a controller; this command needs a model; {cure}")
    return content.load(target)


def whole_model(target: str) -> Model:
    """The model with all names resolved, so that whatever is wrong with its file is found."""
    model = load_model(target)
    model.symbolic  # noqa: B018
    return model


def _similar(path: Path) -> str:
    """The hint for a misspelt file name."""
    files = [file.name for file in path.parent.glob("*.json")] if path.parent.is_dir() else []
    return did_you_mean(path.name, files)
