"""Schedules against hand-computed offsets and against what a Poisson process is known to do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.load.arrivals import ArrivalStatistics, schedule, statistics


def test_constant_arrivals_are_evenly_spaced_from_zero() -> None:
    assert schedule("constant", 4, 1.0, seed=0).tolist() == [0, 250_000_000, 500_000_000, 750_000_000]


def test_a_last_interval_that_is_not_whole_still_has_its_arrival() -> None:
    assert schedule("constant", 4, 0.6, seed=0).tolist() == [0, 250_000_000, 500_000_000]


def test_rounding_does_not_add_an_arrival_at_the_end() -> None:
    assert len(schedule("constant", 0.1, 30, seed=0)) == 3
    assert len(schedule("constant", 200, 1.5, seed=0)) == 300


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_offsets_are_sorted_whole_nanoseconds_within_the_duration(arrivals: str) -> None:
    offsets = schedule(arrivals, 777.7, 2.5, seed=1)
    assert offsets.dtype == np.int64
    assert (np.diff(offsets) >= 0).all()
    assert offsets[0] >= 0
    assert offsets[-1] < 2_500_000_000


def test_a_seed_gives_the_same_arrivals_and_a_longer_run_only_adds_to_them() -> None:
    short, long = schedule("poisson", 500, 2, seed=7), schedule("poisson", 500, 60, seed=7)
    assert np.array_equal(short, long[: len(short)])
    assert not np.array_equal(short[:100], schedule("poisson", 500, 2, seed=8)[:100])


def test_poisson_gaps_are_exponential_and_counts_vary_as_much_as_their_mean() -> None:
    offsets = schedule("poisson", 1000, 60, seed=5)
    found = statistics(offsets)
    assert found.mean_rate_per_s == pytest.approx(1000, rel=0.02)
    assert found.cv_of_gaps == pytest.approx(1, rel=0.02)
    assert stats.kstest(np.diff(offsets[:5000]) / 1e6, "expon").pvalue > 0.001
    counts = [len(schedule("poisson", 50, 1, seed=seed)) for seed in range(400)]
    assert np.mean(counts) == pytest.approx(50, abs=1.5)
    assert np.var(counts) == pytest.approx(50, rel=0.3)


def test_statistics_of_evenly_spaced_and_of_too_few_arrivals() -> None:
    assert statistics(np.array([0, 1000, 2000, 3000])) == ArrivalStatistics(4, 1e6, 0.0)
    few = statistics(np.array([5, 10]))
    assert few.count == 2
    assert math.isnan(few.mean_rate_per_s)
    assert math.isnan(few.cv_of_gaps)


@pytest.mark.parametrize(
    ("arrivals", "rate", "duration", "text"),
    [
        ("bursty", 1, 1, "expected one of constant, poisson, got 'bursty'"),
        ("poisson", 0, 1, "rate_per_s: expected a number > 0, got 0"),
        ("poisson", math.nan, 1, "rate_per_s"),
        ("constant", 1, -1, "duration_s: expected a number > 0, got -1"),
        ("constant", 1, math.inf, "duration_s"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(arrivals: str, rate: float, duration: float, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        schedule(arrivals, rate, duration, seed=0)
