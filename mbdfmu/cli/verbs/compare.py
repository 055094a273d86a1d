"""`mbdfmu compare`: is a result, or what an FMU computes, what it should be?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.endings import NEGATIVE, end
from mbdfmu.cli.printing import counted, example
from mbdfmu.cli.progress import progress_bar
from mbdfmu.cli.targets import fmu_file, is_fmu, isolation, own_processes
from mbdfmu.cli.values import not_negative, output_file
from mbdfmu.errors import ModelError

if TYPE_CHECKING:
    from mbdfmu.regression import Case, Terms, Verdict


@click.command(
    epilog=example(
        "mbdfmu simulate pendulum -t 1 --dt 0.01 -o a.csv",
        "mbdfmu simulate pendulum -t 1 --dt 0.01 --tolerance 1e-8 -o b.h5",
        "mbdfmu compare a.csv b.h5 --rtol 1e-3 --signals 'bar.*'",
        "mbdfmu export-fmu pendulum -o pendulum.fmu",
        "mbdfmu record pendulum.fmu -t 2",
        "mbdfmu compare pendulum.fmu",
        "mbdfmu compare . --html report.html",
    )
)
@click.argument("target", metavar="RESULT|FMU|FOLDER")
@click.argument("reference", required=False)
@click.option(
    "--rtol",
    type=not_negative,
    metavar="NUMBER",
    help="Allowed, as a part of the range of each signal; the reference's own, else 1e-3.",
)
@click.option("--atol", type=not_negative, metavar="NUMBER", help="Allowed at least, in the unit of each signal.")
@click.option(
    "--time-tolerance",
    type=not_negative,
    metavar="SECONDS",
    help="Allowed along time; without it rtol times the duration.",
)
@click.option("--signals", multiple=True, metavar="PATTERN", help="Compare these only; repeatable.")
@click.option("--input", "inputs", metavar="FILE", help="Inputs of the FMU, in place of those of the reference.")
@own_processes
@click.option("--html", type=output_file(".html", ".htm"), metavar="FILE", help="Report with plots to write.")
def command(
    target: str, reference: str | None, inputs: str | None, isolate: bool | None, time_limit: float | None,
    html: Path | None, **tolerances: Any,
) -> None:  # fmt: skip
    """Compare a result, or what FMUs compute, with references.

    A RESULT (.csv, .h5, .mat) is compared with REFERENCE. An FMU is run as its reference was run, and of a FOLDER
    every FMU. The reference of X.fmu is the file or folder REFERENCE, else X_ref.csv beside it (with X_in.csv,
    X_ref.opt, X_ref.json; see mbdfmu record), else what the FMU itself has.

    Every signal of the reference must lie in a tube around its curve. Ends with 1 if one does not, or if an FMU
    fails, ends early or has no reference.
    """
    from mbdfmu.fmi import simulate
    from mbdfmu.regression import Terms

    terms = Terms(**tolerances)
    if Path(target).is_dir() or is_fmu(target):
        verdicts = _of_fmus(target, reference, inputs, terms, partial(simulate, **isolation(isolate, time_limit)))
    else:
        _refuse_options_of_fmus(inputs, isolate, time_limit)
        verdicts = [_of_results(target, reference, terms)]
    if html:
        from mbdfmu.regression import write_report

        write_report(html, verdicts, f"{target} and its references")
        click.echo(f"wrote {html}")
    if not all(verdicts):
        end(NEGATIVE)


# ---------------------------------------------------------------- results


def _of_results(target: str, reference: str | None, terms: Terms) -> Verdict:
    from mbdfmu.regression import Verdict, compare
    from mbdfmu.results import Result

    if reference is None:
        raise ModelError(f"{target}: what is it to be compared with? give a REFERENCE, or an FMU that has its own")
    result, expected = Result.read(target), Result.read(reference)
    given = {name: value for name, value in vars(terms).items() if value is not None and name != "signals"}
    found = compare(result, expected, signals=terms.signals or None, **given)
    click.echo(found.report())
    return Verdict(name=target, origin=reference, comparison=found, result=result, reference=expected)


def _refuse_options_of_fmus(inputs: str | None, isolate: bool | None, time_limit: float | None) -> None:
    given = {"--input": inputs, "--isolate": isolate, "--time-limit": time_limit}
    found = [name for name, value in given.items() if value is not None]
    if found:
        raise ModelError(f"{', '.join(found)}: for FMUs, which are run; a result is compared as it is")


# ---------------------------------------------------------------- FMUs


def _of_fmus(
    target: str, reference: str | None, inputs: str | None, terms: Terms, run: Callable[..., Any]
) -> list[Verdict]:
    from mbdfmu.regression import judge

    cases = _cases(target, reference, inputs)
    if len(cases) == 1 and cases[0].reference:
        cases[0].reference.result.select(terms.signals)  # refuses a misspelt name; of a folder not every FMU has each
    verdicts: list[Verdict] = []
    for case in cases:
        with _progress(cases, len(verdicts)) as progress:
            verdicts.append(judge(case, terms, run=run, progress=progress))
        click.echo(verdicts[-1].report())
    if len(verdicts) > 1:
        failed = sum(not verdict.passed for verdict in verdicts)
        click.echo(f"{counted(len(verdicts), 'run')}, {len(verdicts) - failed} passed, {failed} failed")
    return verdicts


def _progress(cases: list[Case], number: int) -> Any:
    """The time of a single run; of several, where verdicts are printed meanwhile, none."""
    reference = cases[number].reference
    return progress_bar(float(reference.result.time[-1]) if reference and len(cases) == 1 else None)


def _cases(target: str, reference: str | None, inputs: str | None) -> list[Case]:
    from mbdfmu.regression import cases

    fmus = sorted(Path(target).rglob("*.fmu")) if Path(target).is_dir() else [fmu_file(target)]
    if not fmus:
        raise ModelError(f"{target}: there is no FMU in this folder; export one: mbdfmu export-fmu MODEL -o X.fmu")
    found = [case for fmu in fmus for case in cases(fmu, reference)]
    lost = [case.problem for case in found if case.problem]
    if len(fmus) == 1 and lost:
        raise lost[0]
    return found if inputs is None else [_with_inputs(case, inputs) for case in found]


def _with_inputs(case: Case, inputs: str) -> Case:
    from mbdfmu.tabular import read_csv

    reference = case.reference and replace(case.reference, inputs=read_csv(inputs))
    return replace(case, reference=reference)
