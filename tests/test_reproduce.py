"""The papers' tables come out, and the page and the command that show them are true; must not hold paper values."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mbdfmu.cli.verbs.reproduce as verb
from mbdfmu.cli import main
from mbdfmu.errors import ModelError
from mbdfmu.reproduce import PAPERS, Item, Paper, Row, catalogue, chosen, items
from mbdfmu.reproduce.formulas import adams_bashforth, bashforth, gamma, gamma_star, moulton, real_limit
from mbdfmu.reproduce.items import EXACT, SHOWN, Between, Digits, Lost, Within, like

DOCS = Path(__file__).parents[1] / "docs"
LONG = [pytest.param(name, marks=pytest.mark.nightly) if item.long else name for name, item in items().items()]


@cache
def rows_of(name: str) -> Sequence[Row]:
    """Computed once for all tests of this file."""
    return list(items()[name].rows())


# ---------------------------------------------------------------- the papers


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", LONG)
def test_the_paper_comes_out(name: str) -> None:
    rows = rows_of(name)
    assert rows
    missed = [f"{r.label}: paper {r.paper}, correct {r.expected}, ours {r.shown}: {r.verdict.text}"
              for r in rows if not r.verdict.agrees]  # fmt: skip
    assert not missed, "\n".join(missed)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", LONG)
def test_each_row_says_what_it_is_judged_by(name: str) -> None:
    """A departure from the paper has a reason; a verdict has something to compare with."""
    for row in rows_of(name):
        assert row.remark or not (row.paper and row.expected), row.label
        assert row.target or isinstance(row.check, Between | type(SHOWN)), row.label


def docs_script() -> Any:
    spec = importlib.util.spec_from_file_location("make_reproduction", DOCS / "make_reproduction.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.nightly
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_the_page_is_that_of_the_program(quick: bool) -> None:
    script = docs_script()
    old = script.PAGE.read_text(encoding="utf-8")
    new = script.page(old, quick, rows=lambda item: rows_of(item.name))
    assert not list(script.differing(old, new)), "run: python docs/make_reproduction.py"


def test_the_page_forgives_what_machines_differ_in() -> None:
    same = docs_script().same
    assert same("| steps | 1000 | within 5 |", "| steps | 1001 | within 5 |")
    assert not same("| steps | 1000 |", "| steps | 1100 |")
    assert not same("| steps | 1000 |", "| stages | 1000 |")


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("printed", "value", "shown"),
    [("1.0856e-4", 1.08560e-4, "1.0856e-4"), ("0.0000000000", -3e-15, "0.0000000000"), ("2", 1.96, "2"),
     ("21,841.518", 21841.5184, "21841.518"), ("-0.333", -0.33296, "-0.333")],
)  # fmt: skip
def test_values_are_written_as_the_paper_prints_them(printed: str, value: float, shown: str) -> None:
    assert like(printed, value) == shown


def test_digits_may_be_cut_off() -> None:
    assert Digits(cut=True).judge(21841.5186, "21,841.518").agrees
    assert not Digits().judge(21841.5186, "21,841.518").agrees
    assert Digits().judge(21841.5186, "21,841.519").agrees


def test_verdicts() -> None:
    assert EXACT.judge(Fraction(95, 288), "95/288").agrees and not EXACT.judge(Fraction(95, 288), "95/298").agrees
    assert Within(0.02).judge(4.667e-6, "4.65e-6").agrees and not Within(0.02).judge(4.867e-6, "4.65e-6").agrees
    near = Within(0.1, relative=False)
    assert near.judge(1.95, "2").agrees and not near.judge(1.8, "2").agrees
    assert Between(low=1).judge(2, "").agrees and not Between(high=1).judge(2, "").agrees
    assert SHOWN.judge(7, "8").agrees
    assert not Within(0.1).judge(float("nan"), "1").agrees and not Between(low=1).judge(float("nan"), "").agrees


# ---------------------------------------------------------------- formulas


def test_adams_formulas_integrate_polynomials_exactly() -> None:
    """To the degree that their order says, over [0, 1] from values at 0, -1, -2, ... (explicit) or 1, 0, -1, ..."""
    for order in range(1, 7):
        for weights, first in ((bashforth(order), 0), (moulton(order), 1)):
            for degree in range(order + 1):
                found = sum(w * Fraction(first - j) ** degree for j, w in enumerate(weights))
                assert (found == Fraction(1, degree + 1)) == (degree < order)


def test_the_first_difference_left_out_gives_the_error() -> None:
    assert sum(gamma_star(k) for k in range(6)) == gamma(5)  # [Wu00] eq. 15


@pytest.mark.parametrize(("order", "limit"), [(1, 2.0), (2, 1.0), (3, 6 / 11), (4, 3 / 10), (5, 90 / 551)])
def test_limits_of_adams_bashforth_are_the_known_fractions(order: int, limit: float) -> None:
    assert real_limit(adams_bashforth(order).growth) == pytest.approx(limit, abs=1e-8)


# ---------------------------------------------------------------- finding and showing


def test_items_are_found_by_name_paper_and_pattern() -> None:
    assert [item.name for item in chosen(["wu00.table2"])] == ["wu00.table2"]
    assert {item.name.partition(".")[0] for item in chosen(["Wu00"])} == {"wu00"}
    assert len(chosen(["*.table?"])) > 1
    assert chosen([]) == list(items().values())


def test_unknown_names_are_refused_all_at_once() -> None:
    with pytest.raises(ModelError) as error:
        chosen(["wu00.tabel2", "wu00.table2", "haug"])
    assert "did you mean 'wu00.table2'?" in error.value.problems[0]
    assert len(error.value.problems) == 2


def test_names_are_unique_and_begin_with_their_paper() -> None:
    names = [(paper.key.lower(), item.name) for paper in PAPERS for item in paper.items]
    assert len({name for _, name in names}) == len(names)
    assert all(name.startswith(f"{key}.") for key, name in names)


GOOD = Row(label="one", paper="1.0", ours=1.01)
BAD = Row(label="two", paper="2.0", ours=1.0, remark="wrong on purpose")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One paper with an item that agrees, and a long one that does not."""
    made = (
        Item(name="small.good", title="Table 1", convention="", rows=lambda: [GOOD], draw=lambda f: f.add_subplot()),
        Item(name="small.bad", title="Table 2", convention="", rows=lambda: [GOOD, BAD], long=True),
    )
    paper = Paper(key="Small", title="A paper", items=made, lost=(Lost(title="Table 3", reason="lost"),))
    monkeypatch.setattr(catalogue, "PAPERS", (paper,))
    monkeypatch.setattr("mbdfmu.reproduce.PAPERS", (paper,))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["reproduce", *arguments])


@pytest.mark.usefixtures("small")
def test_what_is_missed_is_named_and_ends_with_1() -> None:
    done = run()
    assert done.exit_code == 1
    assert "missed: small.bad: two" in done.output and "wrong on purpose" in done.output
    assert "3 values of 2 items, 2 agree" in done.output


@pytest.mark.usefixtures("small")
def test_quick_leaves_out_what_takes_long_and_says_so() -> None:
    done = run("--quick")
    assert done.exit_code == 0
    assert "left out (--quick): small.bad" in done.output


@pytest.mark.usefixtures("small")
def test_the_list_runs_nothing_and_names_what_is_lost() -> None:
    done = run("--list")
    assert done.exit_code == 0
    assert "small.bad" in done.output and "(long)" in done.output and "not reproducible: Table 3: lost" in done.output
    assert "wrong on purpose" not in done.output


@pytest.mark.usefixtures("small")
def test_json_holds_everything() -> None:
    done = run("--json", "small.bad")
    assert done.exit_code == 1
    (item,) = json.loads(done.output)
    assert [row["agrees"] for row in item["rows"]] == [True, False]
    assert item["rows"][1] == {"label": "two", "paper": "2.0", "expected": "2.0", "ours": 1.0, "agrees": False,
                               "agreement": "1.0", "remark": "wrong on purpose"}  # fmt: skip


@pytest.mark.usefixtures("small")
def test_figures_are_drawn_into_a_folder(tmp_path: Path) -> None:
    done = run("--quick", "--plot", str(tmp_path / "figures"))
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["small.good.png"]


DRAWN = [
    pytest.param(name, marks=pytest.mark.nightly) if item.long else name for name, item in items().items() if item.draw
]


@pytest.mark.nightly
@pytest.mark.parametrize("name", DRAWN)
def test_each_figure_can_be_drawn(name: str, tmp_path: Path) -> None:
    from mbdfmu.reproduce.drawing import drawn

    assert drawn(items()[name], tmp_path).stat().st_size > 10_000


def test_the_verb_is_there() -> None:
    assert verb.command.name
    assert run("wu00.table1").exit_code == 0
    assert run("nothing").exit_code == 2
