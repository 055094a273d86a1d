"""`mbdfmu export-fmu`: a model or controller as a component for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbdfmu.cli.printing import example, file_stem
from mbdfmu.cli.targets import allow_outside, allow_python, is_controller, load_controller, whole_model
from mbdfmu.cli.values import checked_later, output_file, positive, together, word

# Spelled out: looking them up would load the room that exports for every help text; tests hold them together.
RUNTIMES = ("native", "python")
INTERFACES = ("cs2", "cs3", "me2")


@click.command(
    epilog=example(
        "mbdfmu export-fmu pendulum -o pendulum.fmu",
        "mbdfmu export-fmu pendulum --runtime python --signals 'bar.*' --with-reference",
        "mbdfmu export-fmu skyhook --set gain=2500 --set sample_time=0.005",
        "mbdfmu info pendulum.fmu",
    )
)
@click.argument("model", metavar="MODEL|CONTROLLER")
@click.option(
    "-o",
    "--output",
    type=checked_later(output_file(".fmu")),
    metavar="FILE",
    help="File to write; the model's name in this folder if not given.",
)
@click.option(
    "--runtime",
    type=word(*RUNTIMES),
    metavar=f"[{'|'.join(RUNTIMES)}]",
    help="What runs the equations inside: native needs nothing on the target; python needs mbdfmu in the host's Python "
    "and is chosen where the model calls functions in Python.",
)
@click.option(
    "--interface",
    type=word(*INTERFACES),
    metavar=f"[{'|'.join(INTERFACES)}]",
    default=INTERFACES[0],
    show_default=True,
    help="cs2: FMI 2.0 co-simulation; cs3: FMI 3.0 co-simulation; me2: FMI 2.0 model exchange, for an integrator of "
    "the environment. The last two native only.",
)
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    metavar="NAME",
    help="Of the native runtime, such as linux64 or win64; all that are installed; repeatable.",
)
@click.option(
    "--signals",
    multiple=True,
    metavar="PATTERN",
    help="Signals to take along beside inputs, outputs and parameters; all; repeatable.",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of a controller, such as gain=3000; repeatable. What a model's FMU has is set where it runs.",
)
@click.option(
    "--assemble", is_flag=True, help="Let the FMU close the joints from a start that does not fit; models only."
)
@click.option("--with-reference", is_flag=True, help="Pack a run of the model into the FMU, to be compared with.")
@click.option("--input", "inputs", metavar="FILE", help="Inputs of that run: a CSV file, time [s],name [unit],...")
@click.option("-t", "--time", "t_end", type=positive, metavar="SECONDS", help="End time of that run; the model's.")
@allow_python
@allow_outside
def command(
    model: str, output: Path | None, runtime: str | None, interface: str, platforms: tuple[str, ...],
    signals: tuple[str, ...], assemble: bool, with_reference: bool, parameters: tuple[str, ...], **run: Any,
) -> None:  # fmt: skip
    """Export a model or controller as an FMU for other tools."""
    if is_controller(model):
        referred = with_reference or any(value is not None for value in run.values())
        others = {"--interface": interface != INTERFACES[0], "--platform": platforms, "--signals": signals,
                  "--assemble": assemble, "--with-reference": referred}  # fmt: skip
        return _export_controller(model, output, runtime, parameters, [key for key, value in others.items() if value])
    if parameters:
        raise click.UsageError("--set belongs to controllers; parameters of a model's FMU are set where it runs")
    from mbdfmu import fmi

    given = {name: value for name, value in run.items() if value is not None}
    if given and not with_reference:
        raise click.UsageError("--input and --time belong to the run of --with-reference, which is missing")
    (loaded,) = together(lambda: whole_model(model))
    path = output or Path(f"{file_stem(loaded.name)}.fmu")
    loaded.export_fmu(
        path, runtime=runtime, interface=interface, platforms=platforms or None, signals=signals or None,
        assemble=assemble, reference=given if with_reference else False,
    )  # fmt: skip
    made = fmi.info(path)
    _tell(path)
    if runtime is None and made.runtime == "python":
        names = ", ".join(f.name for f in loaded.symbolic.functions)
        click.echo(f"note: the runtime is python, which the callbacks need: {names}")


def _export_controller(
    target: str, output: Path | None, runtime: str | None, parameters: tuple[str, ...], others: list[str]
) -> None:
    if others:
        raise click.UsageError(f"{', '.join(others)}: belong to models, '{target}' is a controller")
    (controller,) = together(lambda: load_controller(target, parameters))
    path = output or Path(f"{controller.type_name}.fmu")
    controller.export_fmu(path, runtime or "python")
    _tell(path)


def _tell(path: Path) -> None:
    from mbdfmu import fmi

    made = fmi.info(path)
    click.echo(
        f"wrote {path} ({path.stat().st_size / 1000:.0f} kB, runtime {made.runtime}, {', '.join(made.platforms)})"
    )
