"""The comparator: what must fail fails, what must pass passes, and the report says where and by how much."""

import numpy as np
import pytest

from mbdfmu.errors import ModelError
from mbdfmu.regression import compare
from mbdfmu.results import Result

N = 1001  # samples of a run of one second
JUMP = 0.4  # seconds; the jump of the shape "jump", in a double time


def smooth(t):
    return np.sin(2 * np.pi * 3 * t) + 0.2 * np.cos(2 * np.pi * 8 * t)


def ramp(t):
    return 5.0 * t


def decay(t):
    return np.exp(-30 * t)


def triangle(t):
    return np.abs(((4.3 * t) % 1.0) - 0.5)


def biased(t):
    """A small motion around a large value, as a height above sea level."""
    return 1000.0 + smooth(t)


def tiny(t):
    """Micromachines move in nanometres."""
    return 1e-9 * smooth(t)


def jump(t):
    """Continuous from both sides; the double time is made by `run`."""
    return np.where(t < JUMP, np.sin(5 * t), 2.0 + np.sin(5 * t))


SHAPES = [smooth, ramp, decay, triangle, biased, tiny, jump]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)


def run(shape, times=None):
    """The shape as a Result; where the shape jumps its time is given twice."""
    t = np.linspace(0.0, 1.0, N) if times is None else times
    y = shape(t)
    if shape is jump:
        k = int(np.searchsorted(t, JUMP, "left"))
        t = np.concatenate([t[:k], [JUMP, JUMP], t[k + (t[k] == JUMP) :]])
        y = shape(t)
        y[k] = np.sin(5 * JUMP)
    return Result(t, {"y": y}, {"y": "m"})


def changed(result, change):
    y = result["y"].copy()
    change(result.time, y, np.ptp(y))
    return Result(result.time, {"y": y}, result.units)


def spike_at(place, part):
    def change(_, y, size):
        k = int(place * (len(y) - 5))
        y[k : k + 5] += part * size

    return change


def offset(_, y, size):
    y += 0.01 * size


def noise(_, y, size):
    y += 1e-6 * size * np.random.default_rng(7).uniform(-1, 1, len(y))


# --- must fail


@shapes
@pytest.mark.parametrize("sign", [1, -1])
def test_offset_of_one_percent_fails(shape, sign):
    reference = run(shape)
    moved = changed(reference, lambda _, y, size: np.add(y, sign * 0.01 * size, out=y))
    assert not compare(moved, reference)


@shapes
@pytest.mark.parametrize("place", [0.0, 0.123, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("part", [0.1, -0.1])
def test_spike_of_five_samples_fails_in_either_curve(shape, place, part):
    clean = run(shape)
    spiked = changed(clean, spike_at(place, part))
    assert not compare(spiked, clean)
    assert not compare(clean, spiked)


@shapes
@pytest.mark.parametrize("shift", [0.02, -0.02])
def test_time_shift_of_two_percent_fails(shape, shift):
    reference = run(shape)
    y = np.interp(reference.time + shift, reference.time, reference["y"])
    assert not compare(Result(reference.time, {"y": y}), reference)


@shapes
@pytest.mark.parametrize("row", [0, 500, -1])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_fail(shape, row, bad):
    reference = run(shape)
    broken = changed(reference, lambda _, y, size: y.__setitem__(row, bad))
    for comparison in (compare(broken, reference), compare(reference, broken)):
        assert not comparison.passed
        assert comparison.worst.time == reference.time[row]


def test_all_nan_fails():
    reference = run(smooth)
    assert not compare(changed(reference, lambda _, y, size: y.fill(np.nan)), reference)


@shapes
@pytest.mark.parametrize("rows", [1, 2, 10, 500, N - 1, N])
def test_run_that_ends_early_fails(shape, rows):
    reference = run(shape)
    length = len(reference.time) - rows
    short = Result(reference.time[:length], {"y": reference["y"][:length]})
    comparison = compare(short, reference)
    assert not comparison
    assert "the result ends at" in str(comparison) or "no rows" in str(comparison)


def test_run_that_starts_late_fails():
    reference = run(smooth)
    late = Result(reference.time[3:], {"y": reference["y"][3:]})
    assert "the result starts at t = 0.003 s, the reference at t = 0 s" in str(compare(late, reference))


def test_run_without_common_time_fails():
    comparison = compare(Result([2.0, 3.0], {"y": [0, 0]}), run(smooth))
    assert not comparison
    assert comparison.deviations == {}


def test_two_samples_do_not_stand_for_a_run():
    assert not compare(run(smooth, np.array([0.0, 0.6])), run(smooth))
    assert not compare(run(smooth, np.array([0.0, 1.0])), run(smooth))


def test_incomplete_run_fails_whatever_its_values():
    reference = run(smooth)
    failed = Result(reference.time, reference.columns, complete=False, message="Newton gave up")
    assert "the result's run ended early: Newton gave up" in str(compare(failed, reference))


def test_missing_signal_fails_by_name():
    reference = Result([0, 1], {"a": [0, 1], "b": [0, 1]})
    comparison = compare(Result([0, 1], {"a": [0, 1], "c": [0, 1]}), reference)
    assert not comparison
    assert "missing in the result: b" in str(comparison)


def test_other_unit_fails():
    comparison = compare(Result([0, 1], {"a": [0, 1]}, {"a": "deg"}), Result([0, 1], {"a": [0, 1]}, {"a": "rad"}))
    assert "a: the result is in 'deg', the reference in 'rad'" in str(comparison)


def test_jump_that_is_missing_or_late_fails():
    reference = run(jump)
    assert not compare(Result(reference.time, {"y": np.sin(5 * reference.time)}), reference)
    late = np.where(reference.time < JUMP + 0.005, 0.0, 2.0) + np.sin(5 * reference.time)
    assert not compare(Result(reference.time, {"y": late}), reference)


# --- must pass


@shapes
def test_same_run_passes_without_deviation(shape):
    reference = run(shape)
    comparison = compare(reference, reference)
    assert comparison
    assert comparison.worst.deviation <= 4 * np.finfo(float).eps * np.abs(reference["y"]).max()  # of interpolation


@shapes
def test_noise_of_a_millionth_passes(shape):
    assert compare(changed(run(shape), noise), run(shape))


GRIDS = {
    "third": np.linspace(0, 1, N)[::3],
    "third, ends early": np.linspace(0, 1, N)[: N - 1 : 3],
    "triple": np.linspace(0, 1, 3 * (N - 1) + 1),
    "other": np.linspace(0, 1, 787),
    "random": np.unique(np.concatenate([[0, 1], np.random.default_rng(3).uniform(0, 1, N)])),
    "clustered": np.linspace(0, 1, N) ** 2,
}


@shapes
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("noisy", [False, True])
def test_resampling_passes(shape, grid, noisy):
    """The exact curve on another grid: what a run with another output step gives."""
    result = run(shape, grid)
    assert compare(changed(result, noise) if noisy else result, run(shape))


@shapes
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_resampling_by_interpolation_passes(shape, grid):
    """Interpolated from the samples, without double times: what spreadsheets and other tools give."""
    reference = run(shape)
    assert compare(Result(grid, {"y": np.interp(grid, reference.time, reference["y"])}), reference)


@pytest.mark.parametrize("shape", [smooth, ramp, triangle, jump], ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("factor", [1 / 3, 3])
def test_coarse_grids_pass_and_still_find_an_offset(shape, factor):
    """Some twenty samples a period: chords alone are wrong by more than the tolerance."""
    coarse, other = np.linspace(0, 1, 151), np.linspace(0, 1, int(150 * factor) + 1)
    assert compare(run(shape, other), run(shape, coarse))
    assert not compare(changed(run(shape, other), offset), run(shape, coarse))


@shapes
def test_resampled_offset_fails(shape):
    for grid in GRIDS.values():
        assert not compare(changed(run(shape, grid), offset), run(shape))


@pytest.mark.parametrize("keep", ["before", "after", "neither"])
def test_jump_without_its_double_time_passes(keep):
    reference = run(jump)
    k = int(np.searchsorted(reference.time, JUMP))
    rows = np.delete(np.arange(len(reference.time)), {"before": [k + 1], "after": [k], "neither": [k, k + 1]}[keep])
    single = Result(reference.time[rows], {"y": reference["y"][rows]})
    assert compare(single, reference)
    assert compare(reference, single)


def wave(times: np.ndarray, *tones: tuple[float, float]) -> Result:
    """A sum of sines: amplitudes and frequencies in Hz."""
    return Result(times, {"y": sum(size * np.sin(2 * np.pi * rate * times) for size, rate in tones)})


@pytest.mark.parametrize("periods", [1, 3, 10, 100, 600, 10_000])
def test_another_oscillation_fails_however_many_periods_there_are(periods):
    """The time tolerance was a share of the duration: 80 Hz for 60 Hz passed, and so did the other sign."""
    times = np.linspace(0, 1, 40 * periods + 1)
    reference = wave(times, (1.0, periods))
    assert compare(wave(times, (1.0005, periods)), reference)
    assert not compare(wave(times, (-1.0, periods)), reference)
    assert not compare(wave(times, (1.0, periods * 4 / 3)), reference)
    assert not compare(wave(times, (0.99, periods)), reference)
    assert not compare(Result(times, {"y": 0 * times}), reference)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("rate", [30, 300])
def test_a_small_tone_on_a_large_one_is_compared_too(rate):
    times = np.linspace(0, 10, 100_001)
    reference = wave(times, (1.0, 0.3), (0.02, rate))
    assert compare(wave(times, (1.0, 0.3), (0.0203, rate)), reference)
    assert not compare(wave(times, (1.0, 0.3), (-0.02, rate)), reference)
    assert not compare(wave(times, (1.0, 0.3), (0.02, rate * 1.1)), reference)


def test_a_reference_with_few_rows_says_nothing_of_what_happens_between_them():
    times = np.linspace(0, 1, 1001)
    result = wave(times, (1.0, 20))
    for rows in ([0], [0, 1000], [0, 500, 1000], list(range(0, 301)) + list(range(700, 1001))):
        reference = Result(times[rows], {"y": result["y"][rows]})
        assert not compare(result, reference)
    assert compare(wave(times, (1.0, 0.4)), wave(times[::40], (1.0, 0.4)))


def test_jump_within_the_time_tolerance_passes():
    reference = run(jump)
    early = np.where(reference.time >= JUMP, reference.time + 4e-4, reference.time)
    assert compare(Result(early, reference.columns), reference)
    assert not compare(Result(early, reference.columns), reference, time_tolerance=1e-4)


def test_nearly_double_time_does_not_open_the_tube_beside_it():
    t = np.array([0, 0.1, 0.2, 0.3, 0.3 + 1e-12, 0.4, 0.5, 0.6])
    reference = Result(t, {"y": [0, 0, 0, 0, 1, 1, 1, 1]})
    middle = np.sort(np.append(t, [0.25, 0.35]))
    y = np.where(middle > 0.3, 1.0, 0.0)
    assert compare(Result(middle, {"y": y}), reference)
    for place in (0.25, 0.35):
        assert not compare(Result(middle, {"y": y + 0.1 * (middle == place)}), reference)


def test_single_sample_of_a_run_is_comparable():
    reference = Result([0.5], {"y": [2.0]})
    assert compare(reference, reference)
    assert not compare(Result([0.5], {"y": [2.1]}), reference)


def test_longer_run_and_further_signals_pass():
    t = np.linspace(0, 2, 2 * N - 1)
    assert compare(Result(t, {"y": smooth(t), "z": t}), run(smooth))


# --- constant signals


@pytest.mark.parametrize("value", [0.0, 9.81, -1e5, 1e-6])
def test_constant_signal_tolerates_rounding_but_no_change(value):
    t = np.linspace(0, 1, 11)
    reference = Result(t, {"y": np.full(11, value)})
    rounding = np.random.default_rng(5).uniform(-1, 1, 11) * max(abs(value) * 1e-9, 1e-14)
    assert compare(reference, reference)
    assert compare(Result(t, {"y": value + rounding}), reference)
    assert compare(reference, Result(t, {"y": value + rounding}))
    assert not compare(Result(t, {"y": np.full(11, value * 1.01 + 1e-9)}), reference)


def test_atol_replaces_the_floor():
    t = np.linspace(0, 1, 11)
    reference, off = Result(t, {"y": np.zeros(11)}), Result(t, {"y": np.full(11, 0.01)})
    assert not compare(off, reference)
    assert compare(off, reference, atol=0.01)
    assert compare(reference, reference, rtol=0.0, atol=0.0)


# --- the report and the ways in


def test_report_names_signal_time_values_and_limit():
    t = np.linspace(0, 1, N)
    reference = Result(t, {"a": t, "b": t}, {"b": "m"})
    result = Result(t, {"a": t, "b": t + 0.5 * (t == 0.25) - 0.1 * (t == 0.75)}, {"b": "m"})
    comparison = compare(result, reference)
    worst = comparison.worst
    assert (worst.name, worst.time, worst.value, worst.reference) == ("b", 0.25, 0.75, 0.25)
    # The spike of 0.5 over a slope of 1: reach 1e-3 s in time explains 1e-3, 1e-3 of the range is allowed.
    assert worst.deviation == pytest.approx(0.499)
    assert worst.allowed == pytest.approx(1e-3)
    assert worst.ratio == pytest.approx(499)
    assert [deviation.name for deviation in comparison.failed] == ["b"]
    assert str(comparison).splitlines() == [
        "FAILED: 1 of 2 compared signals leave the tube (rtol 0.001, time tolerance 0.001 s)",
        "b: at t = 0.25 s the result is 0.75 m, the reference is 0.25 m; deviation 0.499, allowed 0.001",
    ]


def test_report_tells_result_from_reference_where_the_result_lacks_a_spike():
    clean = run(ramp)
    spiked = changed(clean, spike_at(0.5, 0.4))
    worst = compare(Result(clean.time[::7], {"y": clean["y"][::7]}), spiked).worst
    assert worst.value == pytest.approx(ramp(worst.time))
    assert worst.reference == pytest.approx(ramp(worst.time) + 2.0)


def test_report_of_a_pass_names_the_nearest():
    assert str(compare(run(smooth), run(smooth))).startswith("passed: 1 signal is inside the tube")


def test_only_chosen_signals_are_compared():
    t = [0.0, 1.0]
    reference, result = Result(t, {"a.x": t, "a.y": t, "b": t}), Result(t, {"a.x": t, "a.y": t, "b": [5, 5]})
    assert compare(result, reference, signals="a.*")
    assert list(compare(result, reference, signals=["b", "a.x"]).deviations) == ["b", "a.x"]
    with pytest.raises(ModelError, match=r"no signal is named 'a.z'"):
        compare(result, reference, signals=["a.z"])


def test_paths_and_structured_arrays_are_accepted(tmp_path):
    reference = run(smooth)
    reference.to_csv(tmp_path / "r.csv")
    reference.to_hdf5(tmp_path / "r.h5")
    array = np.array(list(zip(reference.time, reference["y"], strict=True)), dtype=[("time", "f8"), ("y", "f8")])
    assert compare(tmp_path / "r.csv", str(tmp_path / "r.h5"))
    assert compare(array, tmp_path / "r.csv")


@pytest.mark.parametrize("wrong", [{"rtol": -1.0}, {"atol": np.nan}, {"time_tolerance": np.inf}])
def test_impossible_tolerances_are_refused(wrong):
    with pytest.raises(ModelError, match=f"{next(iter(wrong))} is .*; it must be a finite number, not below 0"):
        compare(run(smooth), run(smooth), **wrong)


def test_empty_reference_is_refused():
    with pytest.raises(ModelError, match="the reference has no rows"):
        compare(run(smooth), Result([], {"y": []}))


def test_tube_agrees_with_its_definition():
    """Against the plain definition, sample by sample, on grids with double times and clusters."""
    from mbdfmu.regression.tube import Tube

    rng = np.random.default_rng(11)
    for reach in (1e-12, 0.03, 0.4, 5.0):
        knots = np.sort(np.round(rng.uniform(0, 1, 60), 2))
        at = np.sort(np.concatenate([rng.uniform(0, 1, 40), knots[::5]]))
        y = rng.normal(size=60)
        low, high = Tube(knots, at, reach)._span(y, (np.full(59, np.inf), np.full(59, -np.inf)))
        for k, t in enumerate(at):
            near = y[(knots >= t - reach) & (knots <= t + reach)]
            ends = np.interp([t - reach, t + reach], knots, y)
            assert low[k] == pytest.approx(min([*near, *ends]), abs=1e-12)
            assert high[k] == pytest.approx(max([*near, *ends]), abs=1e-12)


def test_a_swing_whose_end_is_a_jump_at_a_row_is_no_news():
    """The row before the jump, the two at it: half of the rise and the jump lie between the same two times."""
    curve = Result([0.0, 0.1, 0.2, 0.2, 0.3], {"y": [0.0, 0.0, 1.0, 0.0, 0.0]})
    assert compare(curve, curve, rtol=1e-6).passed
    finer = Result([0.0, 0.1, 0.15, 0.2, 0.2, 0.25, 0.3], {"y": [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]})
    assert compare(finer, curve, rtol=1e-6).passed
    swinging = Result([0.0, 0.1, 0.13, 0.16, 0.2, 0.2, 0.3], {"y": [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]})
    assert not compare(swinging, curve, rtol=1e-6).passed
