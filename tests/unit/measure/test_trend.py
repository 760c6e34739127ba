from __future__ import annotations

import numpy as np

from bench.measure.gaps import planned_against_sent
from bench.measure.gates import send_gaps
from bench.measure.requests import Requests
from bench.measure.trend import BacklogWatch, response_trend


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
    assert 0.15 < trend.slope < 0.25


def test_half_the_capacity_is_steady_whatever_the_seed() -> None:
    assert not any(response_trend(single_server(50, 0.010, 10, seed), 0, 10).saturated for seed in range(50))


def test_a_constant_response_is_steady() -> None:
    due = np.arange(1000) / 100
    assert not response_trend(load(np.full(1000, 0.02), due), 0, 10).saturated


def test_too_few_answers_are_steady() -> None:
    due = np.arange(5.0)
    assert not response_trend(load(due, due), 0, 5).saturated
    assert not response_trend(load(due[:0], due[:0]), 0, 5).saturated


def test_a_backlog_that_only_grows_is_given_up() -> None:
    watch = BacklogWatch(rate_per_s=100, after_s=1.0)
    told = [watch.grows_without_end(t / 5, int(50 * t / 5)) for t in range(60)]
    assert not any(told[:10])
    assert any(told)
    assert told.index(True) / 5 >= 2.0  # a second's worth of arrivals are waiting by then


def test_a_backlog_that_comes_and_goes_is_not_given_up() -> None:
    watch = BacklogWatch(rate_per_s=100, after_s=0.0)
    assert not any(watch.grows_without_end(t / 5, int(150 + 100 * np.sin(t / 3))) for t in range(300))


def test_sends_on_schedule_have_the_planned_gaps() -> None:
    due = np.cumsum(np.random.default_rng(3).exponential(0.002, 5000))
    found = planned_against_sent(due, due + np.random.default_rng(4).exponential(50e-6, 5000))
    assert found is not None
    assert found.p_value > 0.01


def test_sends_in_bunches_of_ten_have_not() -> None:
    due = np.cumsum(np.random.default_rng(3).exponential(0.002, 5000))
    bunched = np.repeat(due[9::10], 10)
    gate = send_gaps(Requests(due, bunched, bunched + 0.01, np.ones(5000, dtype=bool)))
    assert not gate.holds


def test_a_regular_load_is_held_against_each_gap() -> None:
    due = np.arange(1000) / 100
    ok = np.ones(1000, dtype=bool)
    late = due + np.where(np.arange(1000) % 20 == 0, 0.003, 0.0)
    assert send_gaps(Requests(due, due + 1e-5, due + 0.01, ok)).holds
    assert not send_gaps(Requests(due, late, due + 0.01, ok)).holds
