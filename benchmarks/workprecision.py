"""Error in q over CPU time, of every scheme and of peers on six models; must not know how any of them solves.

    python benchmarks/workprecision.py [MODEL ...]    measure; a table and pictures into build/workprecision
    python benchmarks/workprecision.py --publish      measure, of all or of MODEL, for docs/schemes.md
    python benchmarks/workprecision.py --draw         its table and pictures anew, from the measurement stored
    python benchmarks/workprecision.py --check        end with 1 where they are others

Each curve is run over tolerances, or over steps where a peer controls no error. What a decade of the error costs is
read off the points that no other point of the curve beats in both error and CPU time, by straight lines in logarithms;
beyond its points a curve says nothing, except that what is better than asked for costs no less. IDA counts with what it
is charged with (ida_models.py), which is less than what it took.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from cases import SIX, Case, Ours, Run, error
from machine import machine
from mbdfmu._solver import NativeModelError, NativeStepFailed
from pictures import Curve, decades, picture
from timing import Record, interleaved, table

from mbdfmu.schemes import Scheme
from mbdfmu.schemes.formulas import WithFormula

ROOT = Path(__file__).resolve().parents[1]
STORED = Path(__file__).parent / "data" / "workprecision.json"
FOLDER = ROOT / "build" / "workprecision"
PAGE, IMAGES = ROOT / "docs" / "schemes.md", ROOT / "docs" / "images"
BLOCK = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end -->)", re.DOTALL)
TITLE = "CPU ms at each decade of the error in q: our best scheme and the best peer"

OURS = "mbdfmu"
TARGETS = tuple(10.0**-k for k in range(2, 9))  # rad, of a body's angle, or m, of its place in space
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(4, 27))  # 1e-2 to 1e-13, half a decade each
COARSEST = 40  # steps of a run with fixed ones
ENOUGH = 3e-10  # an error below which no curve is carried on
BUDGET = 0.1  # s of CPU, for one run
SECONDS = 20.0  # for the timing of one model
FORMULAS = {  # of the schemes that integrate accelerations, those that are drawn
    "direct": ("dopri5", "adams"),
    "baumgarte": ("rk4", "adams"),
    "gcp": ("dopri5", "adams"),
    "hybrid": ("mampc4", "adams"),
}
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {"hht": ({}, {"index": 2}), "generalised-alpha": ({}, {"index": 2})}
Simulate = Callable[[float], Run | None]
Models = Mapping[str, Sequence[Record]]
Point = Mapping[str, float]  # level, error, cpu in s; of a charged peer also most and took, in s
Best = tuple[str, float]  # a name and its seconds
SURELY, PERHAPS = "peer", "at its bound"


@dataclass(frozen=True, kw_only=True)
class Method:
    """Something that simulates a case at a tolerance, or at a step."""

    name: str
    by: str  # OURS or a peer's name
    run: Simulate
    levels: Sequence[float] = TOLERANCES
    charged: Callable[[Run], float] | None = None  # s, in place of what a run took


@dataclass(kw_only=True)
class Measured:
    """A method's points: level, error and seconds; and why it stopped where it failed."""

    method: Method
    points: list[dict[str, float]] = field(default_factory=list)
    failed: str = ""


# ---------------------------------------------------------------- who is measured


def our_methods(case: Case) -> Iterator[Method]:
    ours = Ours(case.model)
    for name, scheme in schemes():
        yield Method(name=name, by=OURS, run=partial(_tolerant, ours, scheme, case.t_end))


def _tolerant(ours: Ours, scheme: Scheme, t_end: float, tolerance: float) -> Run:
    return ours.run(t_end, scheme=scheme, tolerance=tolerance)


def schemes() -> Iterator[tuple[str, Scheme]]:
    """Every scheme that there is, with the options that matter here."""
    for name, kind in Scheme.members().items():
        if issubclass(kind, WithFormula):
            options = tuple({"formula": formula} for formula in FORMULAS[name])
        else:
            options = VARIANTS.get(name, ({},))
        for chosen in options:
            yield ", ".join([name, *(_worded(*option) for option in chosen.items())]), kind.from_options(chosen)


def _worded(option: str, value: Any) -> str:
    return str(value) if option == "formula" else f"{option} {value}"


def peer_methods(case: Case) -> Iterator[Method]:
    for package, methods in (("exudyn", _exudyn), ("mujoco", _mujoco), ("sksundae", _ida)):
        if importlib.util.find_spec(package) is not None:
            yield from methods(case)


def _exudyn(case: Case) -> Iterator[Method]:
    module = importlib.import_module("exudyn_models")
    try:
        peer = module.Peer(case.model)
        settings = [s for s in peer.settings() if s.jacobian_each_step and s.converged]
        peer.built(settings[0].rotations)
    except NotImplementedError:  # what cannot be said in it
        return
    for setting in settings:
        run = partial(_exudyn_run, peer, setting, case.t_end)
        yield Method(name=setting.name.replace("new matrix each step, ", ""), by="Exudyn", run=run, levels=_steps(case))


def _exudyn_run(peer: Any, setting: Any, t_end: float, step: float) -> Run | None:
    found: Run | None = peer.run(t_end, step, setting)
    return found


def _mujoco(case: Case) -> Iterator[Method]:
    if case.family not in ("chain", "chain3d"):
        return
    peer = importlib.import_module("mujoco_models").Peer(case.model)
    for name in ("RK4", "implicitfast"):
        yield Method(name=name, by="MuJoCo", run=partial(_mujoco_run, peer, name, case.t_end), levels=_steps(case))


def _mujoco_run(peer: Any, name: str, t_end: float, step: float) -> Run:
    run: Run = peer.run(t_end, step, name)
    return run


def _ida(case: Case) -> Iterator[Method]:
    module = importlib.import_module("ida_models")
    peer = module.Peer(case.model)
    for form in module.FORMS:
        run, charged = partial(_ida_run, peer, form, case.t_end), partial(peer.charged, form=form)
        yield Method(name=form, by="IDA", run=run, levels=TOLERANCES[::2], charged=charged)


def _ida_run(peer: Any, form: str, t_end: float, tolerance: float) -> Run | None:
    found: Run | None = peer.run(t_end, tolerance, form)
    return found


def _steps(case: Case) -> list[float]:
    return [case.t_end / (COARSEST * 2**k) for k in range(20)]


# ---------------------------------------------------------------- measuring


def measure(smallest: bool) -> dict[str, list[Record]]:
    """Tables by title."""
    if smallest:
        case = next(case for case in SIX if case.model == "slider_crank")
        found = [swept(method, case, range(4, 7, 2)) for method in our_methods(case)]
        return {TITLE: rows(case.model, [_stored(m) for m in found])}
    return {TITLE: [row for case in SIX for row in rows(case.model, measured(case))]}


def measured(case: Case, quick: bool = False) -> list[Record]:
    """Every curve of a model, as it is stored; a quick look times each run once."""
    found = [swept(method, case) for method in (*our_methods(case), *peer_methods(case))]
    if quick:
        return [_stored(m) for m in found]
    tasks = {
        (k, n): partial(_cpu, m.method, point["level"])
        for k, m in enumerate(found)
        for n, point in enumerate(m.points)
        if m.method.charged is None
    }
    for (k, n), seconds in interleaved(tasks, SECONDS).items():
        found[k].points[n]["cpu"] = min(seconds, found[k].points[n]["cpu"])
    return [_stored(m) for m in found]


def swept(method: Method, case: Case, levels: range | None = None) -> Measured:
    """One run at each level, from the coarsest, until the error is small or a run takes long."""
    found = Measured(method=method)
    for level in [method.levels[k] for k in levels] if levels else method.levels:
        try:
            run = method.run(level)
        except (NativeStepFailed, NativeModelError) as reason:
            found.failed = f"{level:.0e}: {str(reason).splitlines()[0]}"
            continue
        if run is None:
            found.failed = f"{level:.0e}: gave up"
            continue
        point = {"level": level, "error": error(run, case), "cpu": run.cpu}
        if method.charged is not None:
            least = method.charged(run)
            point |= {"cpu": least, "most": least + run.statistics["own"], "took": run.cpu}
        if math.isfinite(point["error"]):
            found.points.append(point)
        if point["error"] < ENOUGH or point["cpu"] > BUDGET or run.cpu > 30 * BUDGET:
            break
    return found


def _cpu(method: Method, level: float) -> float:
    run = method.run(level)
    return math.inf if run is None else run.cpu


def _stored(m: Measured) -> Record:
    return {"name": m.method.name, "by": m.method.by, "points": m.points, **({"failed": m.failed} if m.failed else {})}


# ---------------------------------------------------------------- reading


def front(points: Sequence[Point], kind: str = "cpu") -> list[tuple[float, float]]:
    """Error and seconds of the points that no other beats in both, from the cheapest."""
    kept: list[tuple[float, float]] = []
    found = [(point["error"], point.get(kind, point["cpu"])) for point in points]
    for point in sorted(found, key=lambda p: (p[1], p[0])):
        if not kept or point[0] < kept[-1][0]:
            kept.append(point)
    return kept


def cost(points: Sequence[Point], target: float, kind: str = "cpu") -> float:
    """Seconds at an error; NaN where no point is as good."""
    kept = front(points, kind)
    if not kept or kept[-1][0] > target:
        return math.nan
    if kept[0][0] <= target:
        return kept[0][1]
    (e, s), (f, u) = next(pair for pair in pairwise(kept) if pair[1][0] <= target)
    share = math.log(e / target) / math.log(e / max(f, 1e-300))
    return s * (u / s) ** share


def rows(model: str, curves: Sequence[Record]) -> list[Record]:
    """Who is best at each decade; a peer by the least that it could take, beside the most."""
    ours, theirs = ([c for c in curves if (c["by"] == OURS) == own] for own in (True, False))
    return [_row(model, target, *(_best(*of) for of in _sides(ours, theirs, target))) for target in TARGETS]


def _sides(ours: list[Record], theirs: list[Record], target: float) -> tuple[tuple[list[Record], float, str], ...]:
    return (ours, target, "cpu"), (theirs, target, "cpu"), (theirs, target, "most")


def _row(model: str, target: float, ours: Best, least: Best, most: Best) -> Record:
    none = math.isnan(ours[1])
    behind = none or least[1] < ours[1]
    return {
        "model": model,
        "error": f"{target:.0e}",
        "our best": ours[0],
        "ms": 1e3 * ours[1],
        "best peer": least[0],
        "at least": 1e3 * least[1],
        "at most": 1e3 * most[1],
        "ratio": least[1] / ours[1],
        "ahead": "" if not behind or math.isnan(least[1]) else SURELY if none or most[1] < ours[1] else PERHAPS,
    }


def _best(curves: Sequence[Record], target: float, kind: str) -> Best:
    costs = [(_named(c), cost(c["points"], target, kind)) for c in curves]
    reached = [(name, seconds) for name, seconds in costs if not math.isnan(seconds)]
    return min(reached, key=lambda found: found[1], default=("none", math.nan))


def _named(curve: Record) -> str:
    return str(curve["name"]) if curve["by"] == OURS else f"{curve['by']}, {curve['name']}"


def drawn(model: str, curves: Sequence[Record]) -> str:
    """The picture of a model."""
    shown = [
        Curve(name=_named(c), points=[(1e3 * p["cpu"], p["error"]) for p in c["points"]], emphasised=c["by"] != OURS)
        for c in curves
        if c["points"]
    ]
    times = decades(p[0] for c in shown for p in c.points)
    title = f"{model}: error in q at the end over CPU time"
    return picture(title, ("CPU time, ms", "error, rad or m"), shown, (times, (1e-10, 1.0)))


def ahead(models: Models) -> list[str]:
    """Rows in which a peer is or may be ahead, by name."""
    found = [row for model, curves in models.items() for row in rows(model, curves) if row["ahead"]]
    return [f"{r['model']} at {r['error']}: {r['best peer']}, {_extent(r)}" for r in found]


def _extent(row: Record) -> str:
    times = f"{1 / row['ratio']:.2f} times as fast" if row["ratio"] == row["ratio"] else "which alone reaches it"
    return times + (" at its bound" if row["ahead"] == PERHAPS else "")


# ---------------------------------------------------------------- writing


def files(folder: Path, models: Models) -> dict[Path, str]:
    """The pictures."""
    return {folder / f"{_file(model)}.svg": drawn(model, curves) for model, curves in models.items()}


def _file(model: str) -> str:
    return "work-precision-" + model.replace(":N=", "-").replace("_", "-")


def page(stored: Record) -> str:
    """The page of the docs with a measurement."""
    models, machine_ = stored["models"], stored["machine"]
    found = [row for model, curves in models.items() for row in rows(model, curves)]
    head = ["model", "error", "our best", "ms", "best peer", "at least", "at most"]
    cells = [[_cell(row[column]) for column in head] for row in found]
    lines = [head, ["---"] * len(head), *cells]
    text = [
        f"Measured on {stored['date']}: {machine_['processor']}, one core, {', '.join(stored['peers'])}.\n",
        *("| " + " | ".join(line) + " |" for line in lines),
        f"\n{_verdict(found)}\n",
        *(f"* {line}" for line in ahead(models)),
        "",
        *(f"![{model}: error over CPU time of all schemes and peers](images/{_file(model)}.svg)\n" for model in models),
    ]
    return BLOCK.sub(lambda _: "\n".join(text), PAGE.read_text(encoding="utf-8"))


def _verdict(found: Sequence[Record]) -> str:
    surely, perhaps = (sum(row["ahead"] == kind for row in found) for kind in (SURELY, PERHAPS))
    named = dict.fromkeys(row["model"] for row in found)
    clear = [model for model in named if not any(row["ahead"] for row in found if row["model"] == model)]
    return (
        f"Our best scheme needs no more than the least that any peer could take in {len(found) - surely - perhaps} of "
        f"{len(found)} rows, at all decades of {', '.join(clear) or 'no model'}. In {perhaps} rows it lies between the "
        f"bounds of the best peer's time, so that nothing is decided; in {surely} a peer is surely ahead. By name:"
    )


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "-" if math.isnan(value) else f"{value:.3g}"


def published(stored: Record) -> dict[Path, str]:
    """What the docs show of a measurement."""
    return {PAGE: page(stored), **files(IMAGES, stored["models"])}


def publish(measured: Record) -> None:
    """Into the docs; of models that were not measured what is there stays."""
    before = json.loads(STORED.read_text(encoding="utf-8"))["models"] if STORED.is_file() else {}
    both = {**before, **measured["models"]}
    stored = {**measured, "models": {case.model: both[case.model] for case in SIX if case.model in both}}
    _write({STORED: _compact(stored), **published(stored)})


def _compact(stored: Record) -> str:
    """A curve a line."""
    return json.dumps(_rounded(stored)).replace('{"name"', '\n{"name"') + "\n"


def _rounded(value: Any) -> Any:
    """To three digits."""
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _write(wanted: Mapping[Path, str]) -> None:
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _measurement(names: Sequence[str], quick: bool) -> Record:
    models: dict[str, list[Record]] = {}
    for case in SIX:
        if not names or case.model in names:
            begin = time.perf_counter()
            models[case.model] = measured(case, quick)
            print(f"\n{table(rows(case.model, models[case.model]))}", flush=True)
            print(f"({time.perf_counter() - begin:.0f} s)", flush=True)
    print("\nA peer is ahead:", *(ahead(models) or ["nowhere"]), sep="\n  ")
    return {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "peers": versions(), "models": models}


def versions() -> list[str]:
    """Of the peers that are installed."""
    names = {"exudyn": "Exudyn", "mujoco": "MuJoCo", "sksundae": "scikit-sundae"}
    distributions = {"sksundae": "scikit-sundae"}
    found = [package for package in names if importlib.util.find_spec(package) is not None]
    return [f"{names[p]} {importlib.metadata.version(distributions.get(p, p))}" for p in found]


def main() -> int:
    parser = argparse.ArgumentParser(description="Error over CPU time of all schemes and peers.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="which of the six (default: all)")
    for name, text in (
        ("quick", "time each run once"),
        ("publish", "measure for the docs"),
        ("draw", "the docs as stored"),
        ("check", "the docs"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=text)
    given = parser.parse_args()
    if given.check or given.draw:
        wanted = published(json.loads(STORED.read_text(encoding="utf-8")))
        stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]
        print(*(f"{path.relative_to(ROOT)} is not as measured" for path in stale), sep="\n")
        if given.draw:
            _write(wanted)
        return 1 if stale and not given.draw else 0
    text = _compact(_measurement(given.models, given.quick))
    stored = json.loads(text)
    found = table(row for model, curves in stored["models"].items() for row in rows(model, curves))
    _write({FOLDER / "measured.json": text, FOLDER / "table.txt": found + "\n", **files(FOLDER, stored["models"])})
    if given.publish:
        publish(stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
