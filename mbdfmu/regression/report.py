"""Verdicts as one web page that needs nothing but itself; must not know how they came about."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from textwrap import shorten

from mbdfmu.files import atomic
from mbdfmu.regression.comparator import Deviation, allowance
from mbdfmu.regression.judging import Verdict
from mbdfmu.regression.plots import Curve, picture

PLOTS_FAILED, PLOTS_PASSED = 12, 4  # of one FMU; the signals nearest to their limits come first
SHORT = 120  # letters of a problem in the table; its section has all
ROWS = 60  # of signals of one FMU; those left out are farther from their limits than all that are shown


def write_report(path: str | os.PathLike[str], verdicts: Sequence[Verdict], title: str = "FMUs and references") -> None:
    """Write the page; texts of FMUs and files are escaped, and no script is in it."""
    with atomic(path) as temporary:
        temporary.write_text(page(verdicts, title), encoding="utf-8")


def page(verdicts: Sequence[Verdict], title: str) -> str:
    """The text of the page; what failed comes first and is unfolded."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.passed)
    template = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title),
        subtitle=escape(_summary(verdicts)),
        tiles="".join(_tiles(verdicts)),
        rows="\n".join(_row(number, verdict) for number, verdict in enumerate(ordered)),
        sections="\n".join(_section(number, verdict) for number, verdict in enumerate(ordered)),
        footer=escape(f"mbdfmu {version('mbdfmu')}, FMUs run by fmpy {version('fmpy')}"),
    )


def _summary(verdicts: Sequence[Verdict]) -> str:
    failed = [verdict.name for verdict in verdicts if not verdict.passed]
    return f"Failed: {', '.join(failed)}" if failed else "Every signal of every reference lies in its tube."


def _tiles(verdicts: Sequence[Verdict]) -> Iterator[str]:
    passed = sum(verdict.passed for verdict in verdicts)
    signals = sum(len(verdict.comparison.deviations) for verdict in verdicts if verdict.comparison is not None)
    tiles = [
        ("good" if passed else "", passed, "passed"),
        ("bad" if passed < len(verdicts) else "", len(verdicts) - passed, "failed"),
        ("", signals, "signals compared"),
        ("", f"{sum(verdict.seconds for verdict in verdicts):.3g} s", "of running"),
    ]
    for kind, count, what in tiles:
        yield f'<div class="tile {kind}"><b>{count}</b><span>{what}</span></div>'


def _chip(passed: bool) -> str:
    return '<span class="chip good">passed</span>' if passed else '<span class="chip bad">FAILED</span>'


def _row(number: int, verdict: Verdict) -> str:
    found = verdict.comparison
    worst = found.worst if found is not None else None
    count = f"{len(found.failed)} of {len(found.deviations)} fail" if found is not None and found.failed else ""
    count = count or (str(len(found.deviations)) if found is not None else "")
    told = escape(worst.name if worst else shorten(" ".join(verdict.problems), SHORT))
    end = f"{verdict.result.time[-1]:.6g} s" if verdict.result is not None and len(verdict.result.time) else ""
    cells = [
        f'<td class="long"><a href="#v{number}">{escape(verdict.name)}</a></td>',
        f"<td>{_chip(verdict.passed)}</td>",
        f'<td class="n">{count}</td>',
        f'<td class="long">{told}</td>',
        f'<td class="n">{_part(worst) if worst else ""}</td>',
        f'<td class="n">{end}</td>',
        f'<td class="n">{verdict.seconds:.2g} s</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _part(deviation: Deviation) -> str:
    """The deviation as a part of what is allowed, as number and bar."""
    ratio = deviation.ratio
    width, kind = min(ratio, 1.0) * 100, "" if deviation.passed else " bad"
    text = f"{100 * ratio:.3g} %" if deviation.passed else f"{ratio:.3g} times"
    if not math.isfinite(ratio):
        text = "not finite" if math.isnan(deviation.deviation) else "nothing is allowed"
    return f'{text}<span class="bar{kind}"><i style="width:{width:.0f}%"></i></span>'


def _section(number: int, verdict: Verdict) -> str:
    opened = "" if verdict.passed else " open"
    problems = [*verdict.problems, *(verdict.comparison.problems if verdict.comparison is not None else ())]
    against = f"<small>against {escape(verdict.origin)}</small>" if verdict.origin else ""
    summary = f"<summary><b>{escape(verdict.name)}</b>{_chip(verdict.passed)}{against}</summary>"
    return (
        f'<details id="v{number}"{opened}>{summary}'
        f"<div>{_listed('problems', problems)}{_listed('notes', verdict.notes)}{_signals(verdict)}</div></details>"
    )


def _listed(kind: str, texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def _signals(verdict: Verdict) -> str:
    found = verdict.comparison
    if found is None or not found.deviations:
        return ""
    count = max(min(len(found.failed), PLOTS_FAILED), PLOTS_PASSED)
    figures = "".join(_figure(verdict, deviation) for deviation in found.ranked[:count])
    rows = "".join(_signal_row(deviation) for deviation in found.ranked[:ROWS])
    rest = len(found.ranked) - ROWS
    more = f'<p class="sub">and {rest} more, all farther from their limits</p>' if rest > 0 else ""
    head = "".join(
        f"<th{kind}>{text}</th>"
        for kind, text in (
            ("", "signal"), ("", "unit"), ("", "verdict"), (' class="n"', "worst at"), (' class="n"', "result"),
            (' class="n"', "reference"), (' class="n"', "deviation"), (' class="n"', "allowed"),
            (' class="n"', "of what is allowed"),
        )
    )  # fmt: skip
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    tube = f"rtol {found.rtol:g}, time tolerance {found.time_tolerance:.4g} s"
    return f'<p class="sub">{tube}</p><div class="plots">{figures}</div>{table}{more}'


def _signal_row(d: Deviation) -> str:
    numbers = (f"{d.time:.6g} s", *(f"{value:.6g}" for value in (d.value, d.reference)),
               *(f"{value:.3g}" for value in (d.deviation, d.allowed)))  # fmt: skip
    cells = "".join(f'<td class="n">{escape(text)}</td>' for text in numbers)
    name = f'<td class="long">{escape(d.name)}</td><td>{escape(d.unit)}</td><td>{_chip(d.passed)}</td>'
    return f'<tr>{name}{cells}<td class="n">{_part(d)}</td></tr>'


def _figure(verdict: Verdict, deviation: Deviation) -> str:
    result, reference, found = verdict.result, verdict.reference, verdict.comparison
    assert result is not None and reference is not None and found is not None  # a deviation has all three
    name = deviation.name
    curve = picture(
        Curve(time=result.time, values=result[name]),
        Curve(time=reference.time, values=reference[name]),
        allowance(reference[name], found.rtol, found.atol),
        deviation.reach,
        deviation,
    )
    unit = f" [{deviation.unit}]" if deviation.unit else ""
    kind = "" if deviation.passed else ' class="bad"'
    caption = f"<span>{escape(name + unit)}</span><small>over time [s]</small>"
    return f"<figure{kind}><figcaption>{caption}</figcaption>{curve}</figure>"
