"""How fast a sampled curve swings: what a tolerance along time must stay far below."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..tabular import Array


def crossings(time: Array, values: Array, band: float) -> Array:
    """The times at which the curve is half way between one turn and the next; smaller swings than `band` are none."""
    found = []
    for first, last in pairwise(_turns(values, band) if len(values) else []):
        middle, sign = (values[first] + values[last]) / 2, math.copysign(1.0, values[last] - values[first])
        k = first + int(np.argmax((values[first : last + 1] - middle) * sign >= 0))
        part = (middle - values[k - 1]) / (values[k] - values[k - 1])
        found.append(time[k - 1] + part * (time[k] - time[k - 1]))
    return np.array(found)


def shortest_half(time: Array, values: Array, band: float) -> float:
    """The shortest half period, s; infinite where the curve does not swing to and fro."""
    between = np.diff(crossings(time, values, band))
    return float(between[between > 0].min(initial=math.inf))


def _turns(values: Array, band: float) -> list[int]:
    """Rows at which the curve turns round, with both ends; from one to the next it goes by more than `band`."""
    moves = np.flatnonzero(np.diff(values))
    rising = np.diff(values)[moves] > 0
    extremes = [*(moves[:-1][rising[1:] != rising[:-1]] + 1), len(values) - 1]
    turns, sign = [0], 0.0
    for k in extremes:
        way = values[k] - values[turns[-1]]
        if way * sign > 0:
            turns[-1] = k
        elif abs(way) > band:
            turns.append(k)
            sign = math.copysign(1.0, way)
    return turns
