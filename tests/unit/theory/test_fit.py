from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.theory.fit import AffineFit, fit_affine
from bench.theory.law import CostModel

SIZES = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])


def noisy(
    times_s: NDArray[np.float64], rng: np.random.Generator, spikes: float = 0.0, cv: float = 0.03
) -> NDArray[np.float64]:
    """Times with normal noise in proportion to them; a share of `spikes` is 1.5 to 4 times too long."""
    out = times_s * (1 + cv * rng.standard_normal(times_s.shape))
    return np.where(rng.random(out.shape) < spikes, out * rng.uniform(1.5, 4, out.shape), out)


def test_exact_times_give_the_exact_line() -> None:
    # 6 ms + B · 3 ms at B = 1, 2, 10.
    fit = fit_affine([1, 2, 10, 1, 2, 10], [0.009, 0.012, 0.036, 0.009, 0.012, 0.036])
    assert (fit.c_s, fit.m_s, fit.ceiling) == pytest.approx((0.006, 0.003, 3.0))
    # A clock is read twice: a microsecond is what no number of repeats tells.
    assert (fit.c_lo_s, fit.c_hi_s) == pytest.approx((0.006, 0.006), abs=1e-6)
    assert fit.c_hi_s - fit.c_lo_s > 1e-6
    assert (fit.m_lo_s, fit.m_hi_s) == pytest.approx((0.003, 0.003), abs=1e-7)
    assert (fit.ceiling_lo, fit.ceiling_hi) == pytest.approx((3.0, 3.0), abs=1e-3)
    assert fit.shape == "affine"
    assert fit.max_residual == pytest.approx(0, abs=1e-9)
    assert fit.lack_of_fit_p == 1
    assert fit.samples == 6
    assert fit.precision == pytest.approx(0, abs=2e-4)
    assert fit.predict(10) == pytest.approx(0.036)
    np.testing.assert_allclose(fit.predict(np.array([1.0, 2.0])), [0.009, 0.012])


def test_three_observations_of_two_sizes_are_enough_for_a_line() -> None:
    fit = fit_affine([1, 1, 10], [0.009, 0.009, 0.036])
    assert (fit.c_s, fit.m_s) == pytest.approx((0.006, 0.003))
    assert math.isnan(fit.lack_of_fit_p)


def test_without_repeats_there_is_no_lack_of_fit_test() -> None:
    assert math.isnan(fit_affine([1, 2, 10], [0.009, 0.012, 0.036]).lack_of_fit_p)


def test_one_outlier_does_not_move_the_line() -> None:
    sizes = np.repeat([1.0, 2, 4, 8, 16], 5)
    times = 0.005 + 0.001 * sizes
    times[7] *= 4
    fit = fit_affine(sizes, times)
    assert (fit.c_s, fit.m_s) == pytest.approx((0.005, 0.001), rel=1e-6)


@pytest.mark.parametrize(("c_s", "m_s"), [(0.005, 0.001), (0.001, 0.001), (0.0004, 0.001)])
def test_spikes_bias_c_and_m_by_less_than_1_percent(c_s: float, m_s: float) -> None:
    rng = np.random.default_rng(3)
    sizes = np.repeat(SIZES, 8)
    fits = [fit_affine(sizes, noisy(c_s + m_s * sizes, rng, spikes=0.05)) for _ in range(300)]
    assert np.mean([f.c_s for f in fits]) == pytest.approx(c_s, rel=0.01)
    assert np.mean([f.m_s for f in fits]) == pytest.approx(m_s, rel=0.01)


@pytest.mark.parametrize(
    ("c_s", "m_s", "repeats", "spikes"),
    [(0.005, 0.001, 5, 0.0), (0.005, 0.001, 5, 0.05), (0.001, 0.002, 3, 0.0), (0.02, 0.0004, 5, 0.0)],
)
def test_the_intervals_of_c_m_and_the_ceiling_cover_the_truth_as_often_as_they_say(
    c_s: float, m_s: float, repeats: int, spikes: float
) -> None:
    rng = np.random.default_rng(4)
    sizes = np.repeat(SIZES, repeats)
    fits = [fit_affine(sizes, noisy(c_s + m_s * sizes, rng, spikes)) for _ in range(500)]
    ceiling = 1 + c_s / m_s
    covered = np.array(
        [
            (
                f.c_lo_s <= c_s <= f.c_hi_s,
                f.m_lo_s <= m_s <= f.m_hi_s,
                f.ceiling_lo <= ceiling <= f.ceiling_hi,
            )
            for f in fits
        ]
    )
    np.testing.assert_allclose(covered.mean(axis=0), 0.95, atol=0.035)


def test_a_higher_confidence_widens_the_intervals() -> None:
    sizes = np.repeat(SIZES, 3)
    times = noisy(0.005 + 0.001 * sizes, np.random.default_rng(5))
    narrow, wide = fit_affine(sizes, times, confidence=0.5), fit_affine(sizes, times, confidence=0.99)
    assert wide.c_lo_s < narrow.c_lo_s < narrow.c_hi_s < wide.c_hi_s
    assert wide.ceiling_lo < narrow.ceiling_lo < narrow.ceiling_hi < wide.ceiling_hi


def test_a_time_that_does_not_grow_with_the_batch_has_no_ceiling() -> None:
    sizes = np.repeat([1.0, 2, 4], 4)
    times = noisy(np.full(12, 0.010), np.random.default_rng(6))
    fit = fit_affine(sizes, times)
    assert fit.m_lo_s < 0 < fit.m_hi_s
    assert fit.ceiling_hi == math.inf
    assert 1 < fit.ceiling_lo < fit.ceiling


def test_a_time_that_falls_with_the_batch_has_an_infinite_ceiling_and_m_0_in_the_model() -> None:
    fit = fit_affine([1, 1, 2, 2], [0.0101, 0.0101, 0.0100, 0.0100])
    assert fit.m_s < 0
    assert fit.ceiling == math.inf
    assert fit.precision == math.inf
    assert fit.model.m_s == 0


def test_a_c_below_0_by_chance_is_0_in_the_model() -> None:
    fit = fit_affine([1, 1, 10, 10], [0.00098, 0.00098, 0.010, 0.010])
    assert fit.c_s < 0
    assert fit.ceiling < 1
    assert fit.model == CostModel(0.0, fit.m_s)


def test_a_knee_is_not_affine() -> None:
    # Flat at 9 ms up to B = 4, then 5 ms + B · 1 ms.
    sizes = np.repeat(SIZES, 5)
    times = noisy(np.maximum(0.009, 0.005 + 0.001 * sizes), np.random.default_rng(7))
    fit = fit_affine(sizes, times)
    assert fit.shape == "not affine"
    assert fit.max_residual > 0.1
    assert fit.lack_of_fit_p < 0.001


def test_a_knee_is_seen_through_spikes() -> None:
    sizes = np.repeat(SIZES, 5)
    times = noisy(np.maximum(0.009, 0.005 + 0.001 * sizes), np.random.default_rng(8), spikes=0.05)
    assert fit_affine(sizes, times).lack_of_fit_p < 0.001


def test_a_knee_without_any_noise_has_no_chance_of_being_a_line() -> None:
    sizes = np.repeat(SIZES, 2)
    assert fit_affine(sizes, np.maximum(0.009, 0.005 + 0.001 * sizes)).lack_of_fit_p == 0


def test_the_largest_misfit_of_a_step_comes_out_by_hand() -> None:
    # The line through B = 1 and 2 is B ms; a single visit at 4 of 4.4 ms stands 10 % above it.
    sizes, times = [1] * 20 + [2] * 20 + [4], [0.001] * 20 + [0.002] * 20 + [0.0044]
    assert fit_affine(sizes, times).max_residual == pytest.approx(0.1, abs=1e-4)


def test_the_tolerance_decides_on_the_shape() -> None:
    sizes, times = [1] * 20 + [2] * 20 + [4], [0.001] * 20 + [0.002] * 20 + [0.0044]
    assert fit_affine(sizes, times, affine_tolerance=0.09).shape == "not affine"
    assert fit_affine(sizes, times, affine_tolerance=0.11).shape == "affine"


def test_lines_are_refused_by_the_lack_of_fit_test_as_rarely_as_chance_says() -> None:
    rng = np.random.default_rng(9)
    sizes = np.repeat(SIZES, 5)
    p = [fit_affine(sizes, noisy(0.005 + 0.001 * sizes, rng)).lack_of_fit_p for _ in range(500)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize(
    ("sizes", "times"),
    [([1, 1, 1], [0.1, 0.1, 0.1]), ([1, 2], [0.1, 0.2]), ([], [])],
)
def test_too_little_to_fit_is_said_so(sizes: list[float], times: list[float]) -> None:
    with pytest.raises(ValueError, match="at least 2 batch sizes and 3 observations"):
        fit_affine(sizes, times)


@pytest.mark.parametrize(
    ("sizes", "times", "words"),
    [
        ([1, 2, 3], [0.1, 0.2], "two arrays of one length"),
        ([1, 2, 4], [0.1, math.nan, 0.4], "times must be finite and above 0, got nan"),
        ([1, 2, 4], [0.1, 0.0, 0.4], "times must be finite and above 0, got 0.0"),
        ([0, 2, 4], [0.1, 0.2, 0.4], "batch sizes must be finite and above 0"),
    ],
)
def test_observations_that_are_none_are_refused(sizes: list[float], times: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit_affine(sizes, times)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit_affine([1, 2, 4], [0.1, 0.2, 0.4], confidence=confidence)


def test_precision_is_the_wider_of_the_two_relative_half_widths() -> None:
    fit = AffineFit(0.010, 0.009, 0.011, 0.002, 0.0019, 0.0021, 6, 5, 7, "affine", 0.5, 0.01, 40)
    assert fit.precision == pytest.approx(0.1)


def test_a_ceiling_that_no_batch_came_near_is_an_extrapolation() -> None:
    # c = 20 m, so 80 % of the ceiling is reached at B = 80.
    seen = fit_affine([1, 1, 100, 100], [0.021, 0.021, 0.120, 0.120])
    unseen = fit_affine([1, 1, 16, 16], [0.021, 0.021, 0.036, 0.036])
    assert (seen.largest_batch, seen.extrapolation) == (100, False)
    assert (unseen.largest_batch, unseen.extrapolation) == (16, True)


def test_a_ceiling_without_upper_end_is_unbounded() -> None:
    sizes = np.repeat([1.0, 2, 4], 4)
    flat = fit_affine(sizes, noisy(np.full(12, 0.010), np.random.default_rng(6)))
    steep = fit_affine(sizes, noisy(0.001 + 0.001 * sizes, np.random.default_rng(6)))
    assert (flat.unbounded, flat.extrapolation) == (True, True)
    assert not steep.unbounded


def test_spikes_of_5_times_the_time_are_left_out() -> None:
    rng = np.random.default_rng(10)
    sizes = np.tile(SIZES, 60)
    times = noisy(0.004 + 0.002 * sizes, rng, cv=0.02)
    spiked = np.where(rng.random(len(times)) < 0.03, 5 * times, times)
    clean, fit = fit_affine(sizes, times), fit_affine(sizes, spiked)
    assert (fit.c_s, fit.m_s) == pytest.approx((clean.c_s, clean.m_s), rel=5e-3)
    assert fit.samples == len(times)
