"""What an FMU should compute, packed into it: reference result, inputs and times; must not know how they are compared.

Layout: the layered standard FMI-LS-REF 1.0.0-alpha.1 names the files, which are those of the FMI cross-check rules 4.1
(section 9.1.4 and appendix B).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from mbdfmu.errors import ModelError
from mbdfmu.fmi.markup import attributes, written_xml
from mbdfmu.fmi.variables import Table
from mbdfmu.tabular import TIME
from mbdfmu.tabular import Table as Columns

FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
MANIFEST = f"{FOLDER}/fmi-ls-manifest.xml"
_NAMESPACE = "http://fmi-standard.org/fmi-ls-manifest"
_STANDARD = {
    "fmi-ls-name": "org.fmi-standard.fmi-ls-ref",
    "fmi-ls-version": "1.0.0-alpha.1",
    "fmi-ls-description": "Layered Standard providing information on related files included in an FMU.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """A run of the model with its start values, and the inputs that it was given."""

    result: Columns
    inputs: Columns | None
    step: float  # s, between communication points
    tolerance: float


def reference_files(reference: Reference, table: Table, identifier: str) -> dict[str, bytes]:
    """The files by their name in the archive."""
    names = _names(reference, table)
    files = {f"{identifier}_ref.csv": table_csv(reference.result, names)}
    if reference.inputs is not None and reference.inputs.columns:
        files[f"{identifier}_in.csv"] = table_csv(reference.inputs)
    times = reference.result.time
    files[f"{identifier}_ref.opt"] = options_csv(
        float(times[0]), float(times[-1]), reference.step, reference.tolerance
    )
    files["fmi-ls-experiments.xml"] = _experiments(reference, identifier, with_inputs=f"{identifier}_in.csv" in files)
    files["fmi-ls-manifest.xml"] = _manifest(identifier, files)
    return {f"{FOLDER}/{name}": content for name, content in files.items()}


def _names(reference: Reference, table: Table) -> list[str]:
    """The outputs of the FMU; ModelError where there is nothing to be compared."""
    names = [v.name for v in table.variables if v.causality == "output"]
    names = names or [v.name for v in table.variables if v.causality == "local" and v.name in reference.result]
    if not names:
        raise ModelError(f"model '{table.model}' has no signal that a reference could hold; export without")
    return names


def table_csv(columns: Columns, names: Sequence[str] | None = None) -> bytes:
    """A table as the cross-check rules have it: names in quotes, no units, all digits."""
    names = [TIME, *(columns.columns if names is None else names)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(names)
    values = [columns[name].tolist() for name in names]
    text.writelines(",".join(map(repr, row)) + "\n" for row in zip(*values, strict=True))
    return text.getvalue().encode()


def options_csv(t_start: float | None, t_end: float | None, step: float | None, tolerance: float | None) -> bytes:
    """The numbers that are known of a run, a line for each."""
    numbers = {"StartTime": t_start, "StopTime": t_end, "StepSize": step, "RelTol": tolerance,
               "OutputIntervalLength": step}  # fmt: skip
    return "".join(f"{name}, {number!r}\n" for name, number in numbers.items() if number is not None).encode()


def _experiments(reference: Reference, identifier: str, *, with_inputs: bool) -> bytes:
    times = reference.result.time
    root = etree.Element("Experiments")
    experiment = etree.SubElement(root, "Experiment", attributes(
        name="default", description="start values as in the model", startTime=float(times[0]),
        stopTime=float(times[-1]), tolerance=reference.tolerance, stepSize=reference.step,
    ))  # fmt: skip
    if with_inputs:
        etree.SubElement(experiment, "Stimuli", attributes(source=f"{identifier}_in.csv", type="text/csv"))
    etree.SubElement(experiment, "References", attributes(source=f"{identifier}_ref.csv", type="text/csv"))
    return written_xml(root)


def _manifest(identifier: str, files: dict[str, bytes]) -> bytes:
    root = etree.Element("fmiReferences", nsmap={"fmi-ls": _NAMESPACE})
    for name, value in _STANDARD.items():
        root.set(f"{{{_NAMESPACE}}}{name}", value)
    about = {
        f"{identifier}_ref.csv": ("text/csv", "result", "outputs, as the exporting tool computes them"),
        f"{identifier}_in.csv": ("text/csv", "other", "inputs of that run, linear between rows"),
        f"{identifier}_ref.opt": ("text/plain", "other", "times and tolerance, after the FMI cross-check rules"),
        "fmi-ls-experiments.xml": ("application/xml", "experiment/smoke-test", "which belongs to which"),
    }
    for name in files:
        kind, role, text = about[name]
        etree.SubElement(root, "Related", attributes(source=name, type=kind, role=role, description=text))
    return written_xml(root)
