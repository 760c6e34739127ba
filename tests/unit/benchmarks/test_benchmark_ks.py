"""Distances of gaps by hand, and against scipy's own test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.ks import distance, least_d, rejected_from_d, shortest_needed_s, within


def times_of(gaps_s: list[float]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.round(np.array(gaps_s) * 1e9).astype(np.int64))])


def test_one_gap_at_the_median_is_half_away() -> None:
    assert distance(times_of([math.log(2)]), "poisson", 1.0).d == pytest.approx(0.5)


def test_two_gaps_by_hand() -> None:
    # F = 0.25 and 0.75; the empirical one jumps 0 -> 0.5 -> 1 there, so it is nowhere further off than 0.25.
    found = distance(times_of([math.log(4 / 3), math.log(4)]), "poisson", 1.0)
    assert found.d == pytest.approx(0.25)
    assert found.gaps == 2


def test_gamma_of_cv_1_is_poisson() -> None:
    times = times_of([0.1, 0.7, 1.9, 0.4])
    assert distance(times, "gamma", 1.0, cv=1.0) == distance(times, "poisson", 1.0)


@pytest.mark.parametrize("cv", [0.5, 2.0])
def test_it_agrees_with_scipy_on_gamma_gaps(cv: float) -> None:
    gaps = np.random.default_rng(1).gamma(cv**-2, cv**2 / 500, 2000)
    times = times_of(gaps.tolist())
    found = distance(times, "gamma", 500.0, cv)
    theirs = stats.kstest(np.diff(times) / 1e9, stats.gamma(cv**-2, scale=cv**2 / 500).cdf)
    assert (found.d, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_gaps_of_another_rate_are_rejected() -> None:
    times = times_of(np.random.default_rng(2).exponential(1 / 550, 5000).tolist())
    assert distance(times, "poisson", 500.0).p_value < 0.01


def test_beyond_the_resolution_short_gaps_may_be_anywhere_below_it() -> None:
    gaps = np.random.default_rng(3).exponential(1 / 1000, 4000)
    # No gap under 60 µs, as a sender has that cannot send faster: 6 % of the gaps are moved, none beyond 100 µs.
    slow = times_of(np.maximum(gaps, 60e-6).tolist())
    assert distance(slow, "poisson", 1000.0).p_value < 0.01
    assert distance(slow, "poisson", 1000.0, beyond_s=100e-6).p_value > 0.01


def test_with_every_gap_below_the_resolution_what_lies_beyond_is_missing() -> None:
    assert distance(times_of([0.1, 0.1]), "poisson", 1.0, beyond_s=math.log(2)).d == pytest.approx(0.5)


def test_only_the_first_5000_gaps_count_and_the_order_of_times_does_not() -> None:
    times = times_of([1.0] * 6000)
    assert distance(times, "poisson", 1.0).gaps == 5000
    assert distance(times[::-1], "poisson", 1.0) == distance(times, "poisson", 1.0)


@pytest.mark.parametrize("arrivals", ["constant", "closed loop"])
def test_no_distance_where_there_is_no_continuous_distribution(arrivals: str) -> None:
    assert math.isnan(distance(times_of([1.0, 1.0]), arrivals, 1.0).d)


def test_no_distance_without_gaps() -> None:
    assert distance(times_of([]), "poisson", 1.0).gaps == 0


def test_share_of_constant_gaps_within_the_tolerance() -> None:
    assert within(times_of([0.002, 0.0021, 0.0023, 0.0019]), 500.0) == pytest.approx(0.75)
    assert math.isnan(within(times_of([]), 500.0))


def test_the_shortest_gap_of_a_sender_bounds_its_distance_from_below() -> None:
    # F(x) is about (x / 8 ms)^0.25 / Γ(1.25) for gamma gaps of CV 2 at 500/s.
    assert least_d(8e-6, "gamma", 500.0, 2.0) == pytest.approx(0.001**0.25 / math.gamma(1.25), rel=1e-3)
    assert least_d(8e-6, "poisson", 500.0) == pytest.approx(0.004, rel=1e-2)
    gaps = np.maximum(np.random.default_rng(1).gamma(0.25, 0.008, 5000), 8e-6)
    assert distance(times_of(gaps.tolist()), "gamma", 500.0, 2.0).d >= least_d(8e-6, "gamma", 500.0, 2.0) - 1e-3


def test_how_short_gaps_have_to_be_for_the_test_to_pass_is_the_way_back() -> None:
    d = rejected_from_d(0.01)
    assert d == pytest.approx(0.023, abs=1e-4)
    needed_s = shortest_needed_s(d, "gamma", 500.0, 2.0)
    assert needed_s == pytest.approx(1.5e-9, rel=0.02)
    assert least_d(needed_s, "gamma", 500.0, 2.0) == pytest.approx(d)
