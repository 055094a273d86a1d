"""Run the benchmarks and print their tables: `python benchmarks/run.py [NAME ...]`; must not know what they measure."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import accuracy
import belt
import cosim
import elimination
import fmu
import forces
import lowering
import reach
import speed
import startup
import workprecision
from machine import machine
from timing import Record, table

_MODULES = (speed, reach, elimination, forces, belt, accuracy, startup, lowering, fmu, cosim, workprecision)
BENCHMARKS: dict[str, ModuleType] = {m.__name__: m for m in _MODULES}
PEERS = tuple(peer for m in BENCHMARKS.values() if (peer := getattr(m, "PEER", None)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure mbdfmu, side by side with a peer where one is installed.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--smallest", action="store_true", help="only check that everything still runs")
    parser.add_argument(
        "--peer", choices=(*PEERS, "none"), help="default: those that are installed, none with --smallest"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the tables as JSON")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; known: {', '.join(BENCHMARKS)}")
    if given.peer in PEERS and not _installed(given.peer):
        parser.error(f"{given.peer} is not installed; `pip install '.[bench]'` installs it")
    return given


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def peer_module(benchmark: ModuleType, asked: str | None, smallest: bool) -> ModuleType | None:
    """The module that drives a benchmark's peer, if that is wanted."""
    peer: str = benchmark.PEER
    wanted = _installed(peer) and not smallest if asked is None else asked == peer
    return importlib.import_module(f"{peer}_models") if wanted else None


def main() -> None:
    given = arguments()
    results: dict[str, dict[str, list[Record]]] = {}
    for name in given.names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        extra = {"peer": peer_module(benchmark, given.peer, given.smallest)} if hasattr(benchmark, "PEER") else {}
        results[name] = benchmark.measure(given.smallest, **extra)
        for title, records in results[name].items():
            print(f"\n{name}: {title}\n{table(records)}", flush=True)
    if given.output:
        text = json.dumps({"machine": machine(), "results": results}, indent=1)
        given.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
