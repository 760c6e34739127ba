from __future__ import annotations

import numpy as np

from bench.measure.requests import Requests
from bench.measure.trend import response_trend


def load(response_s: np.ndarray, scheduled_s: np.ndarray) -> Requests:
    return Requests(scheduled_s, scheduled_s, scheduled_s + response_s, np.ones(len(scheduled_s), dtype=bool))


def single_server(rate_per_s: float, service_s: float, seconds: float, seed: int) -> Requests:
    """Poisson arrivals at a server that serves one request after the other."""
    rng = np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate_per_s, int(rate_per_s * seconds)))
    done = np.empty_like(due)
    free = 0.0
    for i, at in enumerate(due):
        free = max(free, at) + service_s
        done[i] = free
    return load(done - due, due)


def test_twice_the_capacity_grows_by_one_second_per_second() -> None:
    trend = response_trend(single_server(200, 0.010, 10, seed=1), 0, 10)
    assert trend.saturated
    assert 0.9 < trend.slope < 1.1
    assert trend.lo < trend.slope < trend.hi


def test_twenty_percent_over_capacity_grows_by_a_fifth() -> None:
    trend = response_trend(single_server(120, 0.010, 30, seed=2), 0, 30)
    assert trend.saturated
    assert 0.15 < trend.slope < 0.26


def test_half_the_capacity_is_steady_whatever_the_seed() -> None:
    assert not any(response_trend(single_server(50, 0.010, 10, seed), 0, 10).saturated for seed in range(50))


def test_a_constant_response_is_steady() -> None:
    due = np.arange(1000) / 100
    assert not response_trend(load(np.full(1000, 0.02), due), 0, 10).saturated


def test_too_few_answers_are_steady() -> None:
    due = np.arange(5.0)
    assert not response_trend(load(due, due), 0, 5).saturated
    assert not response_trend(load(due[:0], due[:0]), 0, 5).saturated
