"""The elimination program against a general sparse factorisation on the same matrices; must not know the models."""

from __future__ import annotations

from cases import Ours
from timing import Record, exponent

MODELS = (
    "slider_crank", "andrews", "four_bar:N=2", "four_bar:N=40", "chain:N=2", "chain:N=10", "chain:N=100", "chain:N=1000"
)  # fmt: skip
TITLE = "elimination program and Eigen SparseLU, same matrix (us)"
TIMES = ("factorise", "solve", "SparseLU factorise", "SparseLU solve")


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    if smallest:
        return {TITLE: [_record("chain:N=10", 3)]}
    records = {model: _record(model, 300) for model in MODELS}
    small, large = records["chain:N=100"], records["chain:N=1000"]
    exponents = {column: exponent(small[column], large[column], 10) for column in ("operations", *TIMES)}
    return {TITLE: [*records.values(), {"model": "exponent, chain 100 to 1000", **exponents}]}


def _record(model: str, repeats: int) -> Record:
    ours = Ours(model)
    times = dict(zip(TIMES, ours.simulation().factorisation_times(repeats), strict=True))
    return {
        "model": model,
        "unknowns": ours.system.n,
        "operations": ours.system.elimination_operations,
        **{name: 1e6 * seconds for name, seconds in times.items()},
        "ratio, factorise": times["SparseLU factorise"] / times["factorise"],
        "ratio, solve": times["SparseLU solve"] / times["solve"],
    }
