"""The page about an FMU that lies in its documentation folder; must not know how the FMU is made or run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from mbdfmu.fmi.capabilities import NATIVE, PYTHON
from mbdfmu.fmi.markup import About
from mbdfmu.fmi.variables import Table, Variable

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .6em 0 1.4em; }
th, td { text-align: left; padding: .2em .9em .2em 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .95em; }
svg { float: right; max-width: 40%; height: auto; }
"""
_BEHAVIOUR = {
    (NATIVE, 2): (
        "Nothing has to be installed: the solver is in the libraries in <code>binaries</code>.",
        "Inputs act at once. Between communication points they are held, or follow the derivative that was set "
        "(fmi2SetRealInputDerivatives, order 1) until the end of the next step.",
        "States can be saved, restored and written as bytes; outputs have derivatives of order 1 and directional "
        "derivatives by inputs and parameters.",
        "A step that cannot be made is taken back and answered by fmi2Discard; the message says which element is the "
        "reason. It may be repeated with a smaller size.",
    ),
    (NATIVE, 3): (
        "Nothing has to be installed: the solver is in the libraries in <code>binaries</code>.",
        "Inputs act at once. Between communication points they are held, or go straight from one value to the next "
        "where the importer sets them in intermediate updates, which come before and after every internal step.",
        "A step ends early where an event is located, if the importer allows that, or when it asks for it after an "
        "internal step. In event mode the event happens in fmi3UpdateDiscreteStates: values before and after it can be "
        "read. Otherwise it has happened when the step returns.",
        "States can be saved, restored and written as bytes; outputs have derivatives of order 1, directional and "
        "adjoint derivatives by inputs and parameters.",
        "A step that cannot be made is taken back and answered by fmi3Discard; the message says which element is the "
        "reason. It may be repeated with a smaller size.",
    ),
    (PYTHON, 2): (
        "Python 3.11 or newer with the package mbdfmu must be in the Python that runs the host: a Python program "
        "(fmpy and others) or, on Linux, any host started with <code>LD_PRELOAD</code> set to libpython.",
        "The folder to be unpacked to needs a plain name: letters of ASCII, digits, blanks and <code>- . _ ~</code>. "
        "With any other character in its path, such as &uuml;, %, ( or #, pythonfmu crashes the host; set "
        "<code>TMPDIR</code> (Windows: <code>TEMP</code>) to another folder.",
        "Inputs act at once and are held between communication points.",
        "States can be saved, restored and written as bytes; there are no derivatives of inputs and outputs and no "
        "directional derivatives.",
        "A step that cannot be made is taken back and answered by fmi2Discard; the log says which element is the "
        "reason. What is refused elsewhere is logged only, and discards every step until a state is restored or the "
        "instance is reset.",
    ),
}  # fmt: skip
_EXCHANGE = (
    "The environment integrates: states are all coordinates (of bodies in space with their quaternions), all "
    "velocities and the states of force elements and blocks.",
    "Joints that the integrator's errors open are drawn back weakly, at the pace of the motion, and closed at an event "
    "that fmi2CompletedIntegratorStep asks for where a gap is ten times the tolerance.",
    "Events and impacts have event indicators; times at which something jumps are told ahead.",
    "An evaluation that has no value is answered by fmi2Discard; the message says which element is the reason.",
)
NEEDS_PYTHON = _BEHAVIOUR[PYTHON, 2][:2]  # of the host, whatever runs in it
_COMMON = (
    "Steps may have any size; the solver takes as many internal steps as the accuracy asks for and ends exactly at the "
    "communication point.",
    "Parameters, start values and <code>solver.*</code> can be set until the initialization ends, tunable parameters "
    "later too. A changed start value such as <code>crank.phi.start</code> is kept, and the other coordinates are "
    "moved until the joints close.",
    "The table of outputs says which of them answer to inputs at once, at a communication point; all others follow in "
    "the next step.",
)
Row = tuple[str, ...]


def page(
    table: Table, about: About, runtime: str, drawing: str, version: int = 2, behaviour: Sequence[str] = ()
) -> bytes:
    """The page as HTML; `drawing` is an SVG picture of the model or '', `version` that of FMI.

    `behaviour` says how it behaves, where that is not what models do.
    """
    groups = _grouped(table)
    exchanged = table.event_indicators is not None
    behaviour = behaviour or (_EXCHANGE if exchanged else (*_BEHAVIOUR[runtime, version], *_COMMON))
    parts = [
        f"<h1>{escape(table.model)}</h1>",
        drawing,
        f"<p>{escape(about.text)}</p>",
        f"<p>Made by {escape(about.tool)}, runtime <b>{runtime}</b>.</p>",
        *_experiment(about),
        *_section("Inputs", ("name", "start", "unit", "range", ""), map(_settable, groups["inputs"])),
        *_section("Outputs", ("name", "unit", "answers at once to", ""), _outputs(groups["outputs"], table)),
        *_section("Parameters", ("name", "start", "unit", "range", ""), map(_settable, groups["parameters"])),
        *_section("Solver", ("name", "start", "unit", "range", ""), map(_settable, groups["settings"])),
        "<h2>How it behaves</h2>",
        f"<ul>{''.join(f'<li>{text}</li>' for text in behaviour)}</ul>",
        *_section("Log categories", ("name", ""), about.log_categories.items()),
        *_locals(groups["locals"]),
    ]
    head = f'<meta charset="utf-8"><title>{escape(table.model)}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{_joined(parts)}\n</body></html>\n'.encode()


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _grouped(table: Table) -> Mapping[str, list[Variable]]:
    by_causality = {"inputs": "input", "outputs": "output"}
    groups = {name: [v for v in table.variables if v.causality == c] for name, c in by_causality.items()}
    groups["parameters"] = table.with_role("parameter")
    groups["settings"] = table.with_role("setting")
    groups["locals"] = [v for v in table.variables if v.causality in ("local", "calculatedParameter")]
    return groups


def _section(title: str, header: Iterable[str], rows: Iterable[Row]) -> Iterator[str]:
    """A heading with a table; nothing where there is no row."""
    found = list(rows)
    if found:
        yield f"<h2>{title}</h2>"
        yield _table(header, found)


def _table(header: Iterable[str], rows: Iterable[Row]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    lines = (f"<tr><td><code>{escape(name)}</code></td>{_cells(rest)}</tr>" for name, *rest in rows)
    return f"<table><tr>{head}</tr>\n" + "\n".join(lines) + "\n</table>"


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)


def _experiment(about: About) -> Iterator[str]:
    e = about.experiment
    told = [f"tolerance {about.tolerance:g}"]
    if e is not None and e.stop_time is not None:
        told.insert(0, f"0 to {e.stop_time:g} s")
    if e is not None and e.step is not None:
        told.append(f"a communication point every {e.step:g} s")
    yield f"<p>Default experiment: {', '.join(told)}.</p>"


def _settable(v: Variable) -> Row:
    tunable = ["tunable"] if v.variability == "tunable" else []
    return (v.name, _start(v), v.unit, _range(v), "; ".join([v.text, *tunable] if v.text else tunable))


def _start(v: Variable) -> str:
    if v.choices is not None and isinstance(v.start, int):
        return v.choices.items[v.start - 1][0]
    return " ".join(f"{start:.9g}" if isinstance(start, float) else str(start) for start in v.starts)


def _range(v: Variable) -> str:
    if v.choices is not None:
        return ", ".join(item for item, _ in v.choices.items)
    low = "" if v.minimum is None else f"from {v.minimum:g}"
    high = "" if v.maximum is None else f"to {v.maximum:g}"
    return f"{low} {high}".strip()


def _outputs(outputs: Iterable[Variable], table: Table) -> Iterator[Row]:
    names = {v.reference: v.name for v in table.variables}
    for v in outputs:
        yield v.name, v.unit, ", ".join(names[r] for r in v.depends or ()) or "no input", v.text


def _locals(variables: list[Variable]) -> Iterator[str]:
    """Many: folded away."""
    if variables:
        yield f"<h2>Other variables</h2><details><summary>{len(variables)}, all readable</summary>"
        yield _table(("name", "unit", ""), ((v.name, v.unit, v.text) for v in variables))
        yield "</details>"
