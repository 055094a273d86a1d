"""Make the reference of an FMU: run it and write what it did, with the conditions; must not know how it is compared."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mbdfmu import fmi
from mbdfmu.analyses.simulate import output_times
from mbdfmu.errors import ModelError
from mbdfmu.files import atomic
from mbdfmu.fmi.harness import DEFAULT_POINTS, input_schedule, time_span
from mbdfmu.fmi.reading import FmuInfo
from mbdfmu.fmi.references import options_csv, table_csv
from mbdfmu.regression.references import INPUTS, OPTIONS, RESULT, STORY
from mbdfmu.regression.story import UNSAID, Conditions, story_text
from mbdfmu.results import Result
from mbdfmu.tabular import Table


def record(
    fmu: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    conditions: Conditions = UNSAID,
    *,
    inputs: Any = None,
    signals: tuple[str, ...] = (),
    replace_old: bool = False,
    progress: Callable[[float], None] | None = None,
    run: Callable[..., Result] = fmi.simulate,
) -> list[Path]:
    """Run the FMU and write `X_ref.csv`, `X_in.csv`, `X_ref.opt` and `X_ref.json`, beside it or into `folder`.

    `inputs` as in `fmi.simulate`. `signals` are patterns; without any the outputs are recorded, and where there are
    none whatever moves. Conditions that are not given are those of the FMU's default experiment. An existing reference
    is refused unless `replace_old`; either all files are written or none. `run` may be another way to simulate, as
    `partial(fmi.simulate, isolate=True)`. Returns their paths.
    """
    path = Path(fmu)
    facts = fmi.info(path)
    targets = {end: (Path(folder) if folder else path.parent) / f"{path.stem}{end}" for end in _ENDS}
    if not replace_old:
        _refuse_existing(targets)
    conditions = _complete(conditions, facts)
    table = _lines(facts, inputs, conditions)
    conditions = replace(conditions, interpolation="linear")
    result = _run(partial(run, path, progress=progress), facts, conditions, table, signals)
    return _write(targets, result, table, conditions)


_ENDS = (INPUTS, OPTIONS, STORY, RESULT)  # the result last: with it the reference begins to be one


def _refuse_existing(targets: Mapping[str, Path]) -> None:
    there = [os.fspath(path) for path in targets.values() if path.exists()]
    if there:
        raise ModelError(f"{', '.join(there)}: already there; replace the whole reference with --force, or remove it")


def _lines(facts: FmuInfo, inputs: Any, told: Conditions) -> Table | None:
    """The inputs as every tool takes them: linear between rows, whatever they were given as."""
    if inputs is None:
        return None
    assert told.t_start is not None and told.t_end is not None and told.step is not None  # see _complete
    times = told.t_start + output_times(told.t_end - told.t_start, told.step)
    table = input_schedule(facts, inputs, told.interpolation).over(times)
    return table if table.columns else None


def _complete(conditions: Conditions, facts: FmuInfo) -> Conditions:
    """All that the run depends on, said: a later default must not change it."""
    t_start, t_end = time_span(facts, conditions.t_start, conditions.t_end)
    return replace(
        conditions,
        t_start=t_start,
        t_end=t_end,
        step=conditions.step or facts.step or (t_end - t_start) / DEFAULT_POINTS,
        tolerance=conditions.tolerance or facts.tolerance,
        made_with=_versions(facts),
    )


def _versions(facts: FmuInfo) -> dict[str, str]:
    found = {name: version(name) for name in ("mbdfmu", "fmpy")}
    fmu = {"fmu": facts.name, "guid": facts.guid, "generation_tool": facts.generation_tool}
    found |= {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    return {**fmu, **found}


def _run(
    run: Callable[..., Result], facts: FmuInfo, conditions: Conditions, inputs: Table | None, signals: tuple[str, ...]
) -> Result:
    result = run(
        conditions.t_end,
        conditions.step,
        t_start=conditions.t_start or 0.0,
        parameters=conditions.parameters,
        start=conditions.start,
        inputs=inputs,
        interpolation=conditions.interpolation,
        record=signals or [v.name for v in facts.variables if v.causality == "output"] or None,
        tolerance=conditions.tolerance,
    )
    if not result.complete:
        raise KeyboardInterrupt
    if not result.columns:
        raise ModelError(f"FMU '{facts.name}': nothing was recorded; name signals: --record PATTERN")
    return result


def _write(targets: Mapping[str, Path], result: Result, inputs: Table | None, conditions: Conditions) -> list[Path]:
    """All files or none; inputs of an earlier reference go."""
    contents: dict[str, Callable[[Path], Any]] = {
        OPTIONS: lambda path: path.write_bytes(_options(conditions)),
        STORY: lambda path: path.write_text(story_text(conditions), encoding="utf-8"),
        RESULT: lambda path: path.write_bytes(table_csv(result)),
    }
    if inputs is not None:
        contents = {INPUTS: lambda path: path.write_bytes(table_csv(inputs)), **contents}
    with ExitStack() as files:
        for end, write in reversed(contents.items()):  # the stack gives them their names in the opposite order
            write(files.enter_context(atomic(targets[end])))
    if inputs is None:
        targets[INPUTS].unlink(missing_ok=True)
    return [targets[end] for end in contents]


def _options(told: Conditions) -> bytes:
    return options_csv(told.t_start, told.t_end, told.step, told.tolerance)
