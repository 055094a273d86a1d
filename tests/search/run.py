"""The search by hand: `python tests/search/run.py --seed 123 --way schemes --shrink`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from search.generate import generated
from search.judging import Verdict, judged
from search.shrinking import shrunk
from search.ways import WAYS


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--count", type=int, default=1, help="how many models, with the seeds that follow")
    parser.add_argument(
        "--way", choices=tuple(WAYS), action="append", help="one of the ways to run them; all if not given"
    )
    parser.add_argument("--shrink", action="store_true", help="take out elements while the disagreement stays")
    parser.add_argument("--show", action="store_true", help="print the models")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    asked, whole = options(given), Verdict()
    for seed in range(asked.seed, asked.seed + asked.count):
        sample = generated(seed)
        if asked.show:
            print(sample.text())
        verdict = judged(sample, asked.way or WAYS)
        whole.add(verdict)
        for *_, finding in verdict.findings:
            print(f"seed {seed}: {finding}", flush=True)
        for _, way, why in verdict.undecided:
            print(f"seed {seed}: {way} is undecided: {why}", flush=True)
        if asked.shrink:
            for way in asked.way or WAYS:
                if judged(sample, [way]).findings:
                    print(f"seed {seed}, {way}: {shrunk(sample, way, WAYS).text()}", flush=True)
    print(whole.text().splitlines()[-1])
    return 1 if whole.findings else 0


if __name__ == "__main__":
    sys.exit(main())
