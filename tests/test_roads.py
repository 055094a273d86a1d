"""Roads: density and variance of rough ones, what wheels meet over time, two tracks, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import k1

import mbdfmu as mbd
from mbdfmu import roads

OCTAVES = 0.0125 * 2.0 ** np.arange(10)  # 1/m, from edge to edge; the first ones hold few waves
LENGTH, SPACING = 2000.0, 0.04  # m
PLACES = np.arange(50.0, LENGTH - 50, SPACING)


def band_powers(heights: np.ndarray) -> np.ndarray:
    """Mean density in each octave, from a Fourier transform behind a Hann window."""
    window = np.hanning(len(heights))
    spectrum = np.abs(np.fft.rfft(window * heights)) ** 2 * 2 * SPACING / np.sum(window**2)
    n = np.fft.rfftfreq(len(heights), SPACING)
    edges = pairwise(OCTAVES)
    return np.array([np.mean(spectrum[(n >= a) & (n < b)]) for a, b in edges])


@pytest.mark.by_day(1)
@pytest.mark.parametrize("grade", ["A", "C", "E"])
def test_the_density_of_every_octave_is_that_of_the_class(grade: str) -> None:
    """The mean of n^-2 over an octave from a is 1/(2 a^2). Harmonics of fixed size scatter by their phases alone."""
    found = band_powers(roads.iso8608(grade, length=LENGTH, seed=3).height(PLACES))
    wanted = roads.GRADES[grade] * 0.1**2 / (2 * OCTAVES[:-1] ** 2)
    assert found / wanted == pytest.approx(np.ones(len(wanted)), abs=0.25), "the class itself allows 0.5 to 2"
    assert np.all(np.abs(found[4:] / wanted[4:] - 1) < 0.05), "hundreds of waves in each"


def test_the_geometric_means_are_those_of_the_standard() -> None:
    assert [roads.GRADES[g] for g in "ABCDE"] == pytest.approx([16e-6, 64e-6, 256e-6, 1024e-6, 4096e-6], rel=1e-12)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", range(4))
def test_the_variance_is_the_integral_of_the_density(seed: int) -> None:
    """Over 2 km; the longest waves of 100 m make most of it, and 20 of them scatter by a few percent."""
    road = roads.iso8608("B", length=LENGTH, seed=seed)
    assert road.variance == pytest.approx(64e-6 * 0.1**2 * (1 / 0.01 - 1 / 10), rel=1e-12)
    assert np.var(road.height(PLACES)) == pytest.approx(road.variance, rel=0.06)
    assert np.sum(np.abs(road.amplitudes) ** 2) / 2 == pytest.approx(road.variance, rel=1e-12)


def test_heights_are_sums_of_cosines() -> None:
    road = roads.iso8608("C", length=30, seed=1, band=(0.1, 2.0), fade=0)
    x = np.linspace(0, 30, 41)
    n = 0.1 + road.width * (np.arange(len(road.amplitudes)) + 0.5)
    wanted = [np.sum(np.abs(road.amplitudes) * np.cos(2 * np.pi * n * p + np.angle(road.amplitudes))) for p in x]
    assert road.height(x) == pytest.approx(np.array(wanted), abs=1e-13)


def test_a_seed_is_a_road() -> None:
    first, again, other = (roads.iso8608("C", length=100, seed=s).height(PLACES[:50]) for s in (5, 5, 6))
    assert np.array_equal(first, again) and not np.allclose(first, other)


def test_a_rough_stretch_lies_between_even_roads() -> None:
    road = roads.iso8608("D", length=60, fade=4)
    assert np.all(road.height([-3, 0, 60, 70]) == 0) and abs(road.height(30.0)) > 0
    eps = 1e-4
    assert abs(road.height(eps)) < 1e-9 and abs(road.height(60 - eps)) < 1e-9, "it begins without a kink"


def test_a_bump_is_a_haversine() -> None:
    road = roads.bump(0.05, 3.0, start=5.0)
    assert road.height([4, 5, 5.75, 6.5, 8, 9]) == pytest.approx([0, 0, 0.025, 0.05, 0, 0], abs=1e-15)


def test_roads_add_up() -> None:
    rough, hump = roads.iso8608("A", length=50), roads.bump(0.05, 3.0, 10.0)
    x = np.linspace(0, 50, 77)
    assert np.array_equal((rough + hump).height(x), rough.height(x) + hump.height(x))


def test_the_rear_wheel_meets_the_road_a_wheelbase_later() -> None:
    road = roads.iso8608("C", length=50, seed=2)
    found = road.inputs(speed=10, t_end=4, wheels={"front_road": 0.0, "rear_road": 2.7})
    (times, front), (_, rear) = found["front_road"], found["rear_road"]
    assert times[0] == 0 and times[-1] == 4 and np.max(np.diff(times)) <= roads.SPACING / 10 * (1 + 1e-9)
    assert front == pytest.approx(road.height(10 * times), abs=1e-15)
    assert rear == pytest.approx(road.height(10 * (times - 0.27)), abs=1e-15) and rear[0] == 0


def test_a_bump_as_input_is_that_of_the_model(tmp_path: Path) -> None:
    """The shipped quarter car has the same bump as an expression; as a table it is lines of 5 mm of way."""
    car, road = mbd.models.load("quarter_car"), roads.bump(0.05, 3.0, 5.0)
    road.write_csv(tmp_path / "road.csv", 10, 2, {"road": 0.0}, spacing=0.005)
    settings = {"t_end": 2, "step_output": 0.01, "tolerance": 1e-8}
    own = car.simulate(**settings)
    wanted = np.ptp(own["height_of_body"])
    for inputs in (tmp_path / "road.csv", road.inputs(10, 2, {"road": 0.0}, spacing=0.005)):
        found = car.simulate(**settings, parameters={"bump": 0}, inputs=inputs)
        assert found["height_of_body"] == pytest.approx(own["height_of_body"], abs=1e-3 * wanted)


Seeds = Callable[[int], tuple[int, int]]


@pytest.mark.parametrize("seeds", [lambda k: (2 * k, 2 * k + 1), lambda k: (k, k), lambda k: (k, 1)])
def test_tracks_share_their_long_waves(seeds: Seeds) -> None:
    """Coherence and levels in octaves against their formulas, from many roads, whatever the seeds of left and right."""
    track, cross, powers = 1.5, [], []
    for number in range(20):
        first, second = seeds(number)
        left, right = roads.tracks(roads.iso8608("C", length=100, seed=first), track, seed=second)
        cross.append(np.real(right.amplitudes * np.conj(left.amplitudes)))
        powers.append([np.abs(left.amplitudes) ** 2, np.abs(right.amplitudes) ** 2])
    n = 0.01 + left.width * (np.arange(len(left.amplitudes)) + 0.5)
    density, both = np.mean(powers, axis=0), np.mean(cross, axis=0)
    for low, high in ((0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 0.8), (0.8, 1.6)):
        of = (n >= low) & (n < high)
        z = 2 * np.pi * n[of] * track
        wanted = np.mean(z * k1(z))
        assert np.sum(both[of]) / np.sum(density[0][of]) == pytest.approx(wanted, abs=0.1)
        assert np.sum(density[1][of]) / np.sum(density[0][of]) == pytest.approx(1, abs=0.15)


def test_tracks_by_default_are_two() -> None:
    """The example of the documentation: at 0.2 1/m and a track of 1.5 m, z K1(z) is 0.31."""
    car = roads.tracks(roads.iso8608("C", length=4000, seed=1), track=1.5)
    left, right = (side.amplitudes for side in car)
    n = 0.01 + car[0].width * (np.arange(len(left)) + 0.5)
    of = (n > 0.19) & (n < 0.21)  # 80 harmonics: 1/sqrt(80) of scatter
    share = np.abs(np.sum(right[of] * np.conj(left[of]))) / np.sum(np.abs(left[of]) ** 2)
    assert share == pytest.approx(0.307, abs=0.2)
    assert np.sum(np.abs(right[of]) ** 2) / np.sum(np.abs(left[of]) ** 2) == pytest.approx(1, abs=0.2)


def test_each_of_three_tracks_has_waves_of_its_own() -> None:
    """Of short waves nothing is common, also where each was made with the same seed."""
    first, second = roads.tracks(roads.iso8608("C", length=200, seed=1), 1.5)
    _, third = roads.tracks(second, 1.5)
    n = 0.01 + first.width * (np.arange(len(first.amplitudes)) + 0.5)
    short = [road.amplitudes[n > 1.5] / np.abs(first.amplitudes[n > 1.5]) for road in (first, second, third)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.mean(short[i] * np.conj(short[j]))) < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roads.iso8608("X", length=10), "grade must be one of A, B, C, D, E, F, G, H, found 'X'"),
        (lambda: roads.iso8608("A", length=-1), "iso8608: length must be above 0, found -1"),
        (lambda: roads.iso8608("A", length=np.nan), "iso8608: length must be a finite number"),
        (lambda: roads.iso8608("A", length=10, seed=1.5), "seed must be a whole number"),  # type: ignore[arg-type]
        (lambda: roads.iso8608("A", length=20, band=(1, 0.1)), "band must be two wave numbers"),
        (lambda: roads.iso8608("A", length=10, fade=6), "fade must be from 0 to half of the length, 5 m, found 6"),
        (lambda: roads.bump(0.1, 0), "bump: length must be above 0"),
        (lambda: roads.bump("high", 1), "bump: height must be a finite number, found 'high'"),  # type: ignore[arg-type]
        (lambda: roads.bump(0.1, 1).inputs(0, 1, {"road": 0}), "inputs: speed must be above 0"),
        (lambda: roads.bump(0.1, 1).inputs(1, 1, {"road": np.inf}), "inputs: road must be a finite number"),
        (lambda: roads.bump(0.1, 1).inputs(1, 0, {"road": 0}), "inputs: duration must be above 0"),
        (lambda: roads.bump(0.1, 1).write_csv("x.csv", 1, 1, {}), "name at least one input"),
        (lambda: roads.tracks(roads.iso8608("A", length=10), 0), "tracks: track must be above 0"),
        (lambda: roads.tracks(roads.bump(0.1, 1), 1.5), "tracks: left must be a road of iso8608, found Bump"),  # type: ignore[arg-type]
        (lambda: roads.iso8608(["C"], length=10), "grade must be one of A"),  # type: ignore[arg-type]
        (lambda: roads.iso8608("A", length=20, band=5), "band must be two wave numbers"),  # type: ignore[arg-type]
        (lambda: roads.iso8608("A", length=1e9), r"length must be below 1.001e\+06 m with this band"),
        (lambda: roads.bump(10**400, 1), "bump: height must be a finite number"),
        (lambda: roads.bump(0.1, 1).inputs(1, "5", {"road": 0}), "inputs: t_end must be a finite"),  # type: ignore[arg-type]
        (lambda: roads.bump(0.1, 1).inputs(1, 5, ["road"]), r"wheels must say .* as in {'road': 0.0}"),  # type: ignore[arg-type]
        (lambda: roads.bump(0.1, 1).inputs(1, 5, {"road": 0}, spacing=1e-9), "spacing must be above 5e-07 m"),
    ],
)
def test_what_cannot_be_a_road_is_named(call: object, message: str) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        call()  # type: ignore[operator]


def test_numbers_of_numpy_are_numbers() -> None:
    road = roads.iso8608("C", length=np.int64(40), seed=np.int64(3), band=np.array([0.01, 10.0]))  # type: ignore[arg-type]
    assert np.array_equal(road.height([7.0]), roads.iso8608("C", length=40, seed=3).height([7.0]))
    assert road.inputs(np.int64(20), 1, {"road": 0})["road"][0][-1] == 1.0


def test_lines_between_points_keep_of_a_wave_what_the_page_says() -> None:
    """sinc(n spacing)^2."""
    assert np.sinc(np.array([2, 10]) * roads.SPACING) ** 2 == pytest.approx([0.998, 0.95], abs=5e-4)
