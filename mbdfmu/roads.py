"""Roads as heights over the way: bumps, rough roads after ISO 8608, sums of them, and inputs over time that follow from
a speed; must not know models or vehicles.

A rough road is a sum of harmonics with random phases. The band is cut into bins of equal width, a harmonic stands in
the middle of each and has the power of its bin, so that the variance is the integral of the density.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbdfmu.errors import ModelError
from mbdfmu.tabular import Table, write_csv

Vector = NDArray[np.float64]
Inputs = dict[str, tuple[Vector, Vector]]

REFERENCE = 0.1  # n0 of ISO 8608, 1/m
BAND = (0.01, 10.0)  # 1/m
# Displacement density at n0, m3: the geometric mean of each class; the limits of a class are half and twice of it.
GRADES = {grade: 16e-6 * 4**k for k, grade in enumerate("ABCDEFGH")}
LARGEST = float(np.finfo(float).max)
MOST = 1e7  # harmonics, and points of inputs: more is a mistake
SPACING = 1 / 80  # m between the points of inputs, an eighth of the shortest wave


class Profile:
    """Heights over the way; profiles can be added."""

    def height(self, x: ArrayLike) -> Vector:
        """In m, at places x (m)."""
        raise NotImplementedError

    def __add__(self, other: Profile) -> Profile:
        return _Sum((self, other)) if isinstance(other, Profile) else NotImplemented

    def inputs(
        self, speed: float, t_end: float, wheels: Mapping[str, float], *, spacing: float = SPACING, t_start: float = 0.0
    ) -> Inputs:
        """For `inputs=` of a run: {"front_road": 0.0, "rear_road": 2.7} are wheels by the name of their input, and how
        far (m) each is behind the place 0 when the run starts. Between points `spacing` (m) apart inputs are lines.
        """
        _finite("inputs", t_end=t_end, t_start=t_start)
        _require("inputs", speed=speed, spacing=spacing, duration=t_end - t_start)
        if not isinstance(wheels, Mapping):
            raise ModelError(f"inputs: wheels must say how far each is behind, as in {{'road': 0.0}}, found {wheels!r}")
        for name, behind in wheels.items():
            _finite("inputs", **{name: behind})
        if (t_end - t_start) * speed > MOST * spacing:
            least = (t_end - t_start) * speed / MOST
            raise ModelError(f"inputs: spacing must be above {least:g} m, with {MOST:g} points, found {spacing:g}")
        count = math.ceil((t_end - t_start) * speed / spacing)
        way = np.linspace(0.0, (t_end - t_start) * speed, count + 1)
        times = t_start + way / speed
        return {name: (times, self.height(way - behind)) for name, behind in wheels.items()}

    def write_csv(
        self, path: str | os.PathLike[str], speed: float, t_end: float, wheels: Mapping[str, float], **more: float
    ) -> None:
        """The same as a table `time [s],front_road [m],..`."""
        found = self.inputs(speed, t_end, wheels, **more)
        if not found:
            raise ModelError("wheels: name at least one input, as in {'road': 0.0}")
        times = next(iter(found.values()))[0]
        columns = {name: heights for name, (_, heights) in found.items()}
        write_csv(path, Table(times, columns, dict.fromkeys(columns, "m")))


@dataclass(frozen=True)
class _Sum(Profile):
    parts: tuple[Profile, ...]

    def height(self, x: ArrayLike) -> Vector:
        found: Vector = np.sum([part.height(x) for part in self.parts], axis=0)
        return found


@dataclass(frozen=True, kw_only=True)
class Bump(Profile):
    """A haversine: slope and height are zero at both ends."""

    peak: float  # m
    length: float  # m
    start: float  # m

    def height(self, x: ArrayLike) -> Vector:
        s = (np.asarray(x, dtype=float) - self.start) / self.length
        found: Vector = np.where((s > 0) & (s < 1), self.peak * np.sin(np.pi * s) ** 2, 0.0)
        return found


@dataclass(frozen=True, kw_only=True)
class Rough(Profile):
    """A rough stretch between even ones; `fade` (m) at either end leads from one to the other."""

    grade: str
    length: float  # m
    fade: float  # m
    band: tuple[float, float]  # 1/m
    seeds: tuple[int, ...]  # of the road, and of every track that was made from it
    amplitudes: NDArray[np.complex128] = field(repr=False)  # m, of harmonics in the middle of bins of the band

    @property
    def width(self) -> float:
        """Of a bin, 1/m."""
        return (self.band[1] - self.band[0]) / len(self.amplitudes)

    def density(self, n: ArrayLike) -> Vector:
        """What the class has at wave numbers n (1/m), m3."""
        found: Vector = GRADES[self.grade] * (np.asarray(n, dtype=float) / REFERENCE) ** -2
        return found

    @property
    def variance(self) -> float:
        """Of the height, m2: the integral of the density over the band."""
        return _power(self.grade, *self.band)

    def height(self, x: ArrayLike) -> Vector:
        places = np.asarray(x, dtype=float)
        first = np.exp(2j * np.pi * (self.band[0] + self.width / 2) * places)
        waves = np.polyval(self.amplitudes[::-1], np.exp(2j * np.pi * self.width * places))  # much faster than cosines
        found: Vector = np.real(first * waves) * self._share(places)
        return found

    def _share(self, x: Vector) -> Vector:
        """0 on the even road, 1 on the rough one."""
        inner = np.minimum(x, self.length - x)
        into = inner / self.fade if self.fade else np.where(inner >= 0, 1.0, 0.0)
        found: Vector = np.sin(0.5 * np.pi * np.clip(into, 0.0, 1.0)) ** 2
        return found


def bump(height: float, length: float, start: float = 0.0) -> Bump:
    """One bump, a haversine of this height and length (m) from `start` on; a negative height is a dip."""
    _require("bump", length=length)
    _finite("bump", height=height, start=start)
    return Bump(peak=float(height), length=float(length), start=float(start))


def iso8608(
    grade: str = "C", *, length: float, seed: int = 0, band: tuple[float, float] = BAND, fade: float = 5.0
) -> Rough:
    """A rough road of a class of ISO 8608: the density of its height is Gd(n0) (n/n0)^-2 within the band (1/m).

    `grade` is A (16e-6 m3 at n0 = 0.1 1/m, the geometric mean of the class), B (64e-6), C (256e-6) to H; the same
    `seed` gives the same road. The road is even before 0 and beyond `length` (m), and grows rough within `fade`.
    """
    _check_road(grade, length, seed, band, fade)
    count = math.ceil((band[1] - band[0]) * length)
    edges = np.linspace(*band, count + 1)
    sizes = np.sqrt(2 * np.array([_power(grade, a, b) for a, b in pairwise(edges)]))
    seeds = (int(seed),)
    return Rough(grade=grade, length=float(length), fade=float(fade), band=(float(band[0]), float(band[1])),
                 seeds=seeds, amplitudes=sizes * _waves(seeds, count))  # fmt: skip


def tracks(left: Rough, track: float, seed: int = 1) -> tuple[Rough, Rough]:
    """A road for both sides of a vehicle: `left` itself, and what lies `track` (m) to its right.

    The road is taken as isotropic; the coherence of two tracks is then z K1(z), z = 2 pi n track, K1 a Bessel function
    [Kamash and Robson, The application of isotropy in road surface modelling, JSV 57 (1978)]: long waves are common to
    both, short ones are not. What the right track has alone is drawn from the seeds of both, so that it is independent
    of `left` whatever the seeds are.
    """
    from scipy.special import k1

    if not isinstance(left, Rough):
        raise ModelError(f"tracks: left must be a road of iso8608, found {left!r}; add what both meet behind that")
    _require("tracks", track=track)
    seeds = (*left.seeds, _seed("tracks", seed))
    count = len(left.amplitudes)
    n = left.band[0] + left.width * (np.arange(count) + 0.5)
    z = 2 * np.pi * n * track
    common = z * k1(z)
    alone = np.sqrt(1 - common**2) * np.abs(left.amplitudes) * _waves(seeds, count)
    return left, replace(left, seeds=seeds, amplitudes=common * left.amplitudes + alone)


def _waves(seeds: tuple[int, ...], count: int) -> NDArray[np.complex128]:
    """Of size 1, with random phases; a road and the tracks made from it have streams of their own."""
    source = np.random.SeedSequence(seeds[0], spawn_key=seeds[1:])
    found: NDArray[np.complex128] = np.exp(1j * np.random.default_rng(source).uniform(0, 2 * np.pi, count))
    return found


def _power(grade: str, low: float, high: float) -> float:
    """The integral of the density."""
    return float(GRADES[grade] * REFERENCE**2 * (1 / low - 1 / high))


# ---------------------------------------------------------------- checks


def _check_road(grade: str, length: float, seed: int, band: Any, fade: float) -> None:
    if not isinstance(grade, str) or grade not in GRADES:
        raise ModelError(f"iso8608: grade must be one of {', '.join(GRADES)}, found {grade!r}")
    _require("iso8608", length=length)
    _seed("iso8608", seed)
    pair = isinstance(band, Sequence | np.ndarray) and len(band) == 2 and all(isinstance(n, Real) for n in band)
    if not pair or not 0 < band[0] < band[1] < math.inf:
        raise ModelError(f"iso8608: band must be two wave numbers (1/m), the smaller one first, found {band!r}")
    if (band[1] - band[0]) * length > MOST:
        raise ModelError(f"iso8608: length must be below {MOST / (band[1] - band[0]):g} m with this band, "
                         f"which then has {MOST:g} harmonics, found {length:g}")  # fmt: skip
    _finite("iso8608", fade=fade)
    if not 0 <= fade <= length / 2:
        raise ModelError(f"iso8608: fade must be from 0 to half of the length, {length / 2:g} m, found {fade:g}")


def _seed(what: str, seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ModelError(f"{what}: seed must be a whole number from 0, found {seed!r}")
    return int(seed)


def _finite(what: str, **values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not abs(value) <= LARGEST:
            raise ModelError(f"{what}: {name} must be a finite number, found {value!r}")


def _require(what: str, **values: float) -> None:
    """Above zero."""
    _finite(what, **values)
    for name, value in values.items():
        if value <= 0:
            raise ModelError(f"{what}: {name} must be above 0, found {value:g}")
