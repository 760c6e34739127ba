"""Schedules against hand-computed offsets, and against the laws of Poisson and gamma gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.load.arrivals import ArrivalStatistics, Dispersion, schedule, statistics


def test_constant_arrivals_are_evenly_spaced_from_zero() -> None:
    assert schedule("constant", 4, 1.0, seed=0).tolist() == [0, 250_000_000, 500_000_000, 750_000_000]


def test_a_last_interval_that_is_not_whole_still_has_its_arrival() -> None:
    assert schedule("constant", 4, 0.6, seed=0).tolist() == [0, 250_000_000, 500_000_000]


def test_rounding_does_not_add_an_arrival_at_the_end() -> None:
    assert len(schedule("constant", 0.1, 30, seed=0)) == 3
    assert len(schedule("constant", 200, 1.5, seed=0)) == 300


PARAMETERS: dict[str, dict[str, Any]] = {
    "constant": {},
    "poisson": {},
    "gamma": {"cv": 2.0},
    "on_off": {"on_s": 0.1, "off_s": 0.3},
    "mmpp": {"states": ({"rate": 1.0, "dwell_s": 0.3}, {"rate": 9.0, "dwell_s": 0.1}, {"rate": 0.0, "dwell_s": 0.1})},
    "steps": {"steps": ({"factor": 1.0, "share": 0.5}, {"factor": 3.0, "share": 0.5})},
    "ramp": {"start": 0.0, "end": 2.0},
    "sine": {"period_s": 1.0, "amplitude": 1.0},
}
STATIONARY = ("poisson", "gamma", "on_off", "mmpp")


@pytest.mark.parametrize("arrivals", PARAMETERS)
def test_offsets_are_sorted_whole_nanoseconds_within_the_duration(arrivals: str) -> None:
    offsets = schedule(arrivals, 777.7, 2.5, 1, PARAMETERS[arrivals], warmup_s=0.5)
    assert offsets.dtype == np.int64
    assert (np.diff(offsets) >= 0).all()
    assert offsets[0] >= 0
    assert offsets[-1] < 2_500_000_000


@pytest.mark.parametrize("arrivals", PARAMETERS)
def test_a_seed_gives_the_same_arrivals_every_time(arrivals: str) -> None:
    once, again = (schedule(arrivals, 500, 2, 7, PARAMETERS[arrivals]) for _ in range(2))
    assert np.array_equal(once, again)
    other = schedule(arrivals, 500, 2, 8, PARAMETERS[arrivals])
    assert np.array_equal(once, other) == (arrivals == "constant")


@pytest.mark.parametrize("arrivals", STATIONARY)
def test_a_longer_run_only_adds_to_the_arrivals_and_a_warmup_changes_none(arrivals: str) -> None:
    short, long = (schedule(arrivals, 500, duration, 7, PARAMETERS[arrivals]) for duration in (2, 60))
    assert np.array_equal(short, long[: len(short)])
    assert np.array_equal(short, schedule(arrivals, 500, 2, 7, PARAMETERS[arrivals], warmup_s=1))


def test_poisson_gaps_are_exponential_and_counts_vary_as_much_as_their_mean() -> None:
    offsets = schedule("poisson", 1000, 60, seed=5)
    found = statistics(offsets)
    assert found.mean_rate_per_s == pytest.approx(1000, rel=0.02)
    assert found.cv_of_gaps == pytest.approx(1, rel=0.02)
    assert stats.kstest(np.diff(offsets[:5000]) / 1e6, "expon").pvalue > 0.001
    counts = [len(schedule("poisson", 50, 1, seed=seed)) for seed in range(400)]
    assert np.mean(counts) == pytest.approx(50, abs=1.5)
    assert np.var(counts) == pytest.approx(50, rel=0.3)


def test_gamma_gaps_have_the_asked_cv_and_law() -> None:
    gaps_s = np.diff(schedule("gamma", 500, 30, 3, {"cv": 2.0}))[:5000] / 1e9
    assert len(gaps_s) == 5000
    # Mean 2 ms and standard deviation 4 ms: shape (2/4)² and scale 2 ms / shape.
    assert stats.kstest(gaps_s, stats.gamma(0.25, scale=0.008).cdf).pvalue > 0.01
    assert statistics(schedule("gamma", 500, 400, 3, {"cv": 2.0})).cv_of_gaps == pytest.approx(2, rel=0.03)


def test_gamma_of_cv_one_is_poisson_and_of_a_small_cv_nearly_constant() -> None:
    gaps_s = np.diff(schedule("gamma", 500, 12, 3, {"cv": 1.0}))[:5000] / 1e9
    assert stats.kstest(gaps_s, stats.expon(scale=0.002).cdf).pvalue > 0.01
    even = statistics(schedule("gamma", 500, 12, 3, {"cv": 0.1}))
    assert even.cv_of_gaps == pytest.approx(0.1, rel=0.03)
    assert even.index_of_dispersion < 0.05


def test_a_gamma_schedule_starts_between_arrivals_so_that_no_rate_is_too_high() -> None:
    # From an arrival on, CV 2 would make it (4 - 1)/2 arrivals more than 10. Standard error: √(4·10/4000) = 0.1.
    counts = [len(schedule("gamma", 5, 2, seed, {"cv": 2.0})) for seed in range(4000)]
    assert np.mean(counts) == pytest.approx(10, abs=0.3)


def test_statistics_of_evenly_spaced_and_of_too_few_arrivals() -> None:
    even = statistics(np.array([0, 1000, 2000, 3000]), duration_s=1e-5)
    assert even == ArrivalStatistics(4, 1e6, 0.0, (), pytest.approx(7e-6))
    few = statistics(np.array([5, 10]))
    assert few.count == 2
    assert math.isnan(few.mean_rate_per_s)
    assert math.isnan(few.cv_of_gaps)


def test_dispersion_is_the_variance_over_the_mean_of_counts() -> None:
    # 20 arrivals in 10 ticks, none in the next 10, 20 times: counts 20, 0, 20, 0, …, with mean 10 and variance
    # 100·40/39. The last arrival closes the last window.
    tick = 1000
    bursts = (np.arange(20)[:, None] * 20 * tick + np.arange(20) * tick // 2).ravel()
    found = statistics(np.append(bursts, 400 * tick))
    assert found.dispersion == (Dispersion(pytest.approx(1e-5), 40, pytest.approx(10 * 40 / 39)),)
    assert found.index_of_dispersion == pytest.approx(10.256, abs=0.001)


def test_dispersion_is_one_at_every_length_for_poisson_and_nothing_for_constant() -> None:
    random = statistics(schedule("poisson", 1000, 300, seed=2))
    assert [round(d.window_s * 1000) for d in random.dispersion] == [10, 100, 1000]
    assert [d.index for d in random.dispersion] == [pytest.approx(1, abs=0.25)] * 3
    even = statistics(schedule("constant", 1000, 300, seed=2))
    # Whole nanoseconds put some arrivals on the other side of a window's edge.
    assert [d.index for d in even.dispersion] == [pytest.approx(0, abs=0.01)] * 3
    assert math.isnan(statistics(schedule("poisson", 100, 1, seed=2)).index_of_dispersion)


def test_an_empty_schedule_is_silent_from_its_start() -> None:
    found = statistics(np.empty(0, np.int64), duration_s=3.0)
    assert (found.count, found.silent_end_s, found.dispersion) == (0, 3.0, ())


@pytest.mark.parametrize(
    ("arrivals", "rate", "duration", "text"),
    [
        ("bursty", 1, 1, "expected one of constant, poisson, gamma, .*, trace, got 'bursty'"),
        ("gamma", 1, 1, "gamma: missing a required .*argument: 'cv'"),
        ("poisson", 0, 1, "rate_per_s: expected a number > 0, got 0"),
        ("poisson", math.nan, 1, "rate_per_s"),
        ("constant", 1, -1, "duration_s: expected a number > 0, got -1"),
        ("constant", 1, math.inf, "duration_s"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(arrivals: str, rate: float, duration: float, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        schedule(arrivals, rate, duration, seed=0)


@pytest.mark.parametrize(
    ("kind", "parameters", "text"),
    [
        ("poisson", {"cv": 2.0}, "poisson: got an unexpected keyword argument 'cv'"),
        ("on_off", {"on_s": 1.0, "off_s": 1.0, "dwell": "fix"}, "dwell: expected exponential or fixed, got 'fix'"),
    ],
)
def test_parameters_of_another_kind_are_refused(kind: str, parameters: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        schedule(kind, 1, 1, 0, parameters)


@pytest.mark.parametrize("warmup_s", [-1, 1, 2, math.nan])
def test_a_warmup_lies_within_the_duration(warmup_s: float) -> None:
    with pytest.raises(ValueError, match="warmup_s: expected a number >= 0 and below duration_s"):
        schedule("poisson", 1, 1, 0, warmup_s=warmup_s)
