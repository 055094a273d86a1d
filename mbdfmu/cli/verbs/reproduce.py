"""`mbdfmu reproduce`: the papers' tables and figures, computed anew."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.drawing import need_matplotlib
from mbdfmu.cli.printing import columns, counted, example
from mbdfmu.cli.progress import progress_bar

if TYPE_CHECKING:
    from mbdfmu.reproduce import Item, Row

HEAD = ("", "value", "paper", "correct", "ours", "agreement", "remark")


@click.command(epilog=example("mbdfmu reproduce wu00.table2", "mbdfmu reproduce wu00 --plot figures"))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listed", is_flag=True, help="Only say what there is, and what cannot be reproduced.")
@click.option("--quick", is_flag=True, help="Leave out what takes longer than a few seconds.")
@click.option("--plot", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Draw the figures too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(names: tuple[str, ...], listed: bool, quick: bool, plot: Path | None, as_json: bool) -> None:
    """Compute tables and figures of the papers.

    NAME is a table (haug89.7.4.1), a paper (wu00) or a pattern; everything if not given. Each value is shown as the
    paper prints it and as it comes out here. Ends with 1 if one does not agree.
    """
    from mbdfmu.reproduce import chosen

    found = chosen(names)
    if listed:
        click.echo("\n".join(_catalogue(found)))
        return
    if plot:
        need_matplotlib()
    wanted = [item for item in found if not (quick and item.long)]
    results = list(_computed(wanted, quiet=as_json))
    if as_json:
        click.echo(json.dumps([_as_data(item, rows) for item, rows in results], indent=1))
    else:
        click.echo("\n".join(_summary(results, [item for item in found if item not in wanted])))
    if plot:
        _draw(wanted, plot, quiet=as_json)
    if any(not row.verdict.agrees for _, rows in results for row in rows):
        raise SystemExit(1)


def _computed(items: Sequence[Item], quiet: bool) -> Iterator[tuple[Item, list[Row]]]:
    """Each item with its rows, shown as soon as they are there."""
    with progress_bar(len(items), "items") as tell:
        for count, item in enumerate(items, start=1):
            rows = list(item.rows())
            if not quiet:
                click.echo(f"{item.name}: {item.title}\n  {item.convention}")
                click.echo(columns([HEAD, *map(_cells, rows)]) + "\n")
            if tell:
                tell(count)
            yield item, rows


def _cells(row: Row) -> tuple[str, ...]:
    verdict = row.verdict
    mark = "" if verdict.agrees else "!"
    return (mark, row.label, row.paper or "-", row.expected, row.shown, verdict.text, row.remark)


def _summary(results: Sequence[tuple[Item, list[Row]]], left_out: Sequence[Item]) -> Iterator[str]:
    rows = [row for _, found in results for row in found]
    missed = [f"{item.name}: {row.label}" for item, found in results for row in found if not row.verdict.agrees]
    yield f"{counted(len(rows), 'value')} of {counted(len(results), 'item')}, {len(rows) - len(missed)} agree"
    yield from (f"  missed: {name}" for name in missed)
    if left_out:
        yield f"left out (--quick): {', '.join(item.name for item in left_out)}"


def _as_data(item: Item, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "name": item.name,
        "title": item.title,
        "convention": item.convention,
        "rows": [
            {
                "label": row.label,
                "paper": row.paper or None,
                "expected": row.target or None,
                "ours": float(row.ours),
                "agrees": row.verdict.agrees,
                "agreement": row.verdict.text,
                "remark": row.remark,
            }
            for row in rows
        ],
    }


def _catalogue(found: Sequence[Item]) -> Iterator[str]:
    from mbdfmu.reproduce import PAPERS

    for paper in PAPERS:
        items = [item for item in paper.items if item in found]
        if items:
            yield f"[{paper.key}] {paper.title}"
            yield columns((item.name, item.title + (" (long)" if item.long else "")) for item in items)
            yield from (f"  our finding: {finding}" for finding in paper.findings)
            yield from (f"  misprint: {erratum}" for erratum in paper.errata)
            yield from (f"  not reproducible: {lost.title}: {lost.reason}" for lost in paper.lost)


def _draw(items: Sequence[Item], folder: Path, quiet: bool) -> None:
    from mbdfmu.reproduce.drawing import drawn

    folder.mkdir(parents=True, exist_ok=True)
    for item in items:
        if item.draw:
            path = drawn(item, folder)
            if not quiet:
                click.echo(f"wrote {path}")
