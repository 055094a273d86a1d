"""Random numbers of the size that small mechanisms have; knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from reference.spatial_joints import Vector, quaternion, turning, unit

T = TypeVar("T")

# Bounds between which a quantity in a unit lies; where one spans more than a decade its logarithm is even.
SIZES: dict[str, tuple[float, float]] = {
    "m": (0.1, 0.5), "rad": (0.1, 0.6), "s": (0.01, 0.1), "1": (0.2, 1.8), "kg": (0.5, 2.0),
    "N": (0.5, 8.0), "N.m": (0.1, 2.0), "N/m": (10.0, 500.0), "N.s/m": (0.2, 5.0),
    "N.m/rad": (0.5, 20.0), "N.m.s/rad": (0.02, 0.5), "m/s": (0.05, 0.5), "rad/s": (2.0, 20.0),
    "Pa": (1e5, 1e6), "m2": (1e-3, 4e-3), "m4": (1e-6, 1e-5), "kg/m3": (0.5, 5.0), "1/m": (20.0, 500.0),
    "s/m": (0.1, 2.0), "m3/(kg.s2)": (0.05, 0.5), "": (30.0, 3000.0),
}  # fmt: skip
EVEN_LOGARITHM = 10.0
LITTLE = 0.7  # rad
DIGITS = 4  # of drawn numbers, so that findings are easy to read


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def numbers(values: Any) -> list[float]:
    return [float(x) for x in values]


class Draw:
    """A source of random numbers, words and directions."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: float, high: float) -> float:
        return rounded(self.rng.uniform(low, high))

    def signed(self, low: float, high: float) -> float:
        return self.number(low, high) * (1 if self.chance(0.5) else -1)

    def count(self, low: int, high: int) -> int:
        """A whole number from low to high."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def size(self, unit_text: str) -> float:
        """A positive number of a quantity in this unit."""
        low, high = SIZES[unit_text]
        if high > EVEN_LOGARITHM * low:
            return rounded(float(np.exp(self.rng.uniform(np.log(low), np.log(high)))))
        return self.number(low, high)

    def point(self, dimensions: int, reach: float) -> Vector:
        """Three components, the third zero in the plane."""
        return np.array([self.number(-reach, reach) if k < dimensions else 0.0 for k in range(3)])

    def direction(self, dimensions: int) -> list[float]:
        """Of any length."""
        if dimensions == 2:
            angle = self.rng.uniform(-np.pi, np.pi)
            return [rounded(np.cos(angle)), rounded(np.sin(angle))]
        return [rounded(x) for x in unit(self.rng.normal(size=3))]

    def rotation(self, dimensions: int, largest: float = np.pi) -> Vector:
        """In the plane about z, and so little that sums of a few stay within half a turn."""
        if dimensions == 2:
            return turning([0.0, 0.0, 1.0], min(largest, LITTLE) * self.rng.uniform(-1, 1))
        return turning(self.rng.normal(size=3).tolist(), self.rng.uniform(-largest, largest))


def angle_of(rotation: Vector) -> float:
    """About z."""
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def turn_of(rotation: Vector, dimensions: int) -> dict[str, Any]:
    """What a marker or body says of how it is turned."""
    if dimensions == 2:
        return {"angle": angle_of(rotation)}
    return {"orientation": {"quaternion": numbers(quaternion(rotation))}}
