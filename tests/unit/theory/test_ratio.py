from __future__ import annotations

import math

import numpy as np
import pytest

from bench.theory.ratio import measured_ceiling, paired_ratio, speedup_interval, upper_half


def test_two_pairs_give_the_geometric_mean_and_students_interval() -> None:
    # Ratios 2 and 8: log mean log 4, standard error log 2, t(0.95, 1 df) = 12.7062.
    interval = paired_ratio([2, 8], [1, 1])
    assert interval.value == pytest.approx(4)
    assert interval.hi == pytest.approx(4 * 2**12.7062, rel=1e-3)
    assert interval.lo == pytest.approx(4 / 2**12.7062, rel=1e-3)


def test_one_pair_has_a_value_and_no_bounds() -> None:
    interval = paired_ratio([6], [2])
    assert (interval.value, interval.lo, interval.hi) == (pytest.approx(3), 0, math.inf)


def test_drift_that_both_of_a_pair_share_cancels() -> None:
    drift = np.array([1.0, 1.5, 2.0, 0.5])
    interval = paired_ratio(6 * drift, 2 * drift)
    assert (interval.lo, interval.hi) == pytest.approx((3, 3))


def test_yuens_interval_comes_out_by_hand() -> None:
    # Logs 1 … 10 trimmed by 2 a side: mean 5.5, winsorised sum of squares 2·(3·2.5² + 1.5² + 0.5²) = 42.5,
    # standard error √(42.5 / (6·5)) = 1.190238, t(0.95, 5 df) = 2.570582, widened by 1 + 0.5/10.
    interval = paired_ratio(np.exp(np.arange(1.0, 11.0)), np.ones(10))
    assert math.log(interval.value) == pytest.approx(5.5)
    assert math.log(interval.hi) == pytest.approx(5.5 + 3.212584, abs=1e-5)
    assert math.log(interval.lo) == pytest.approx(5.5 - 3.212584, abs=1e-5)


def test_a_spike_in_one_of_ten_pairs_does_not_move_the_ratio() -> None:
    interval = paired_ratio([3] * 9 + [300], [1] * 10)
    assert (interval.value, interval.lo, interval.hi) == pytest.approx((3, 3, 3))


@pytest.mark.parametrize("pairs", [4, 9, 10, 20])
def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says(pairs: int) -> None:
    rng = np.random.default_rng(11)
    noise = np.exp(0.05 * rng.standard_normal((1000, 2, pairs)))
    hits = [paired_ratio(10 * a, 5 * b).contains(2) for a, b in noise]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([1, 2], [1], "two arrays of one length"),
        ([], [], "not empty"),
        ([1, 0], [1, 1], "values above 0"),
        ([1, 1], [1, -1], "values above 0"),
        ([1, math.nan], [1, 1], "finite"),
    ],
)
def test_pairs_without_a_ratio_are_refused(a: list[float], b: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        paired_ratio(a, b)


def test_a_confidence_is_a_share_for_ratios_too() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        paired_ratio([1, 2], [1, 2], confidence=95)


def test_ten_requests_in_36_ms_instead_of_9_ms_each_are_a_speedup_of_2_and_a_half() -> None:
    interval = speedup_interval([0.009, 0.009, 0.009], [0.036, 0.036, 0.036], B=10)
    assert (interval.value, interval.lo, interval.hi) == pytest.approx((2.5, 2.5, 2.5))


def test_the_speedup_of_no_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        speedup_interval([1.0], [1.0], B=0)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 2, 3, 4, 6, 8, 12, 16], [8, 12, 16]),
        ([16, 1, 16, 8, 12, 1], [8, 12, 16]),
        ([1, 2, 4, 64], [4, 64]),
        ([1, 2], [1, 2]),
    ],
)
def test_the_upper_half_holds_at_least_the_two_largest(sizes: list[int], expected: list[int]) -> None:
    assert upper_half(sizes).tolist() == expected


def test_one_batch_size_has_no_slope() -> None:
    with pytest.raises(ValueError, match="at least 2 batch sizes"):
        upper_half([4, 4])


def test_the_ceiling_comes_out_from_the_slope_alone() -> None:
    # 10 ms one by one, 1 ms more per request at the upper sizes.
    interval = measured_ceiling([0.010] * 3, [8, 12, 16], [[0.017, 0.021, 0.025]] * 3)
    assert (interval.value, interval.lo, interval.hi) == pytest.approx((10, 10, 10))


def test_the_ceiling_uses_a_serial_time_that_the_line_does_not_know() -> None:
    # Unbatched requests take 15 ms, not the 10 ms of the line at B = 1.
    interval = measured_ceiling([0.015] * 3, [8, 16], [[0.017, 0.025]] * 3)
    assert interval.value == pytest.approx(15)


def test_the_interval_of_the_ceiling_comes_out_by_hand() -> None:
    # Slopes 1, 2 and 3 ms: mean 2, standard error 1/√3. With t(0.5, 2 df) = 0.816497 the mean slope lies
    # within 2 ± 0.471405, and 12 ms divided by that within 4.855717 … 7.850167.
    times = [[0.010, 0.011], [0.010, 0.012], [0.010, 0.013]]
    interval = measured_ceiling([0.012] * 3, [7, 8], times, confidence=0.5)
    assert (interval.value, interval.lo, interval.hi) == pytest.approx((6, 4.855717, 7.850167), rel=1e-4)


def test_one_block_has_a_ceiling_and_no_bounds() -> None:
    interval = measured_ceiling([0.010], [8, 16], [[0.017, 0.025]])
    assert (interval.value, interval.lo, interval.hi) == (pytest.approx(10), 0, math.inf)


def test_one_block_with_a_falling_time_is_unbounded() -> None:
    interval = measured_ceiling([0.010], [8, 16], [[0.017, 0.016]])
    assert (interval.value, interval.lo, interval.hi) == (math.inf, 0, math.inf)


def test_a_falling_time_in_some_blocks_leaves_no_upper_bound_but_a_value() -> None:
    times = [[0.017, 0.033], [0.017, 0.016], [0.017, 0.018], [0.017, 0.025]]
    interval = measured_ceiling([0.010] * 4, [8, 16], times)
    # The slopes are 2, −1/8, 1/8 and 1 ms, 0.75 on average.
    assert interval.value == pytest.approx(13.33333)
    assert 0 < interval.lo < interval.value
    assert interval.hi == math.inf


def test_a_time_that_falls_on_average_is_unbounded() -> None:
    times = [[0.017, 0.016], [0.017, 0.0165], [0.017, 0.0172]]
    interval = measured_ceiling([0.010] * 3, [8, 16], times)
    assert interval.value == interval.hi == math.inf
    assert interval.lo > 0


@pytest.mark.parametrize("blocks", [5, 12, 30])
def test_the_measured_ceiling_covers_the_truth_as_often_as_it_says(blocks: int) -> None:
    rng = np.random.default_rng(12)
    sizes = np.array([8.0, 12, 16])
    hits = []
    for _ in range(600):
        drift = 1 + 0.1 * rng.standard_normal((blocks, 1))
        serial = 0.010 * drift[:, 0] * (1 + 0.03 * rng.standard_normal(blocks))
        times = (0.009 + 0.001 * sizes) * drift * (1 + 0.03 * rng.standard_normal((blocks, 3)))
        hits.append(measured_ceiling(serial, sizes, times).contains(10))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    ("serial", "sizes", "times", "words"),
    [
        ([1.0, 1.0], [8, 16], [[1.0, 2.0]], "shape"),
        ([1.0], [8, 16], [1.0, 2.0], "shape"),
        ([1.0], [8], [[1.0]], "2 sizes"),
        ([1.0], [8, 8], [[1.0, 1.0]], "2 sizes"),
        ([0.0], [8, 16], [[1.0, 2.0]], "above 0"),
        ([1.0], [8, 16], [[1.0, math.nan]], "finite"),
    ],
)
def test_a_ceiling_without_a_slope_is_refused(
    serial: list[float], sizes: list[float], times: list[list[float]], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        measured_ceiling(serial, sizes, times)
