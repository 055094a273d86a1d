"""One model through its ways: findings, and how many ways have decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mbdfmu.errors import ModelError
from search.case import Case, Finding, Undecided
from search.generate import generated
from search.independent import NotCovered
from search.sketch import Sample
from search.ways import WAYS


@dataclass
class Verdict:
    """Over one or several models."""

    findings: list[tuple[int, str, Finding]] = field(default_factory=list)  # seed, way, what
    decided: int = 0
    beside: int = 0  # ways that do not know such a model
    undecided: list[tuple[int, str, str]] = field(default_factory=list)  # seed, way, why

    @property
    def share(self) -> float:
        """Of ways that have decided."""
        total = self.decided + len(self.undecided)
        return self.decided / total if total else 1.0

    def add(self, other: Verdict) -> None:
        self.findings += other.findings
        self.decided += other.decided
        self.beside += other.beside
        self.undecided += other.undecided

    def text(self) -> str:
        lines = [f"seed {seed}: {finding}\n  {again(seed, way)}" for seed, way, finding in self.findings]
        return "\n".join(
            [*lines, f"decided {self.decided}, undecided {len(self.undecided)} ({self.share:.0%} decided)"]
        )


def again(seed: int, way: str) -> str:
    """The command that runs it again, and makes it small."""
    return f"python tests/search/run.py --seed {seed} --way {way} --shrink"


def judged(sample: Sample, ways: Iterable[str], few: bool = False) -> Verdict:
    case, verdict = Case(sample, few), Verdict()
    for way in ways:
        try:
            verdict.findings += [(sample.seed, way, finding) for finding in WAYS[way](case)]
            verdict.decided += 1
        except NotCovered:
            verdict.beside += 1
        except Undecided as why:
            verdict.undecided.append((sample.seed, way, str(why)))
        except ModelError as error:  # nobody has written these models: a refusal is a finding
            verdict.findings.append((sample.seed, way, Finding(way, f"refused: {error}", float("inf"), 0.0)))
        except Exception as error:  # of the package, or of an oracle: others go on
            what = f"{type(error).__name__}: {error}"
            verdict.findings.append((sample.seed, way, Finding(way, what, float("inf"), 0.0)))
    return verdict


def searched(seeds: Iterable[int], ways: Sequence[str], each: int) -> Verdict:
    """Models of these seeds, each through so many of the ways and some of the schemes by turns."""
    whole = Verdict()
    for seed in seeds:
        chosen = [ways[(seed * each + k) % len(ways)] for k in range(each)]
        whole.add(judged(generated(seed), chosen, few=True))
    return whole
