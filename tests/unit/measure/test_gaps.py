from __future__ import annotations

import numpy as np
import pytest

from bench.measure.gaps import DENSE_SPAN_S, planned_against_sent, planned_and_sent, stride
from bench.measure.gates import send_gaps
from bench.measure.requests import Requests

WRITE_S = 20e-6


def sent_at(due: np.ndarray, sent: np.ndarray) -> Requests:
    return Requests(due, sent, sent + 0.01, np.ones(len(due), dtype=bool))


def one_write_after_another(due: np.ndarray) -> np.ndarray:
    """Sends of a generator that is never late but for a write of 20 µs to each request before."""
    sent, free = np.empty_like(due), 0.0
    for i, at in enumerate(due):
        sent[i] = max(at, free)
        free = sent[i] + WRITE_S
    return sent


def in_wake_ups(due: np.ndarray, rest_s: float) -> np.ndarray:
    """Sends of a generator that rests so long after each wake-up, then writes all that is due, 10 µs each."""
    sent, i, now = np.empty_like(due), 0, 0.0
    while i < len(due):
        now = max(due[i], now + rest_s)
        end = int(np.searchsorted(due, now, side="right"))
        sent[i:end] = now + 10e-6 * np.arange(end - i)
        i = end
    return sent


def gamma(rate_per_s: float, cv: float, n: int, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).gamma(1 / cv**2, cv**2 / rate_per_s, n))


def test_sends_on_schedule_have_the_planned_gaps() -> None:
    due = np.cumsum(np.random.default_rng(3).exponential(0.002, 5000))
    late = due + np.random.default_rng(4).exponential(50e-6, 5000)
    found = planned_against_sent(*planned_and_sent(due, late))
    assert found is not None
    assert found.p_value > 0.01


def test_sends_in_bunches_of_ten_have_not() -> None:
    due = np.cumsum(np.random.default_rng(3).exponential(0.002, 5000))
    assert not send_gaps(sent_at(due, np.repeat(due[9::10], 10))).holds


@pytest.mark.parametrize("seed", range(5))
def test_gaps_shorter_than_a_write_are_nobodys_fault(seed: int) -> None:
    due = gamma(500, 2.0, 5001, seed)
    assert np.mean(np.diff(due) < WRITE_S) > 0.2
    assert send_gaps(sent_at(due, one_write_after_another(due))).holds


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
def test_dense_sends_in_small_bunches_are_no_distortion_and_in_long_ones_they_are(arrivals: str) -> None:
    rng = np.random.default_rng(1)
    n, rate = 100_000, 20_000.0
    due = np.cumsum(rng.exponential(1 / rate, n)) if arrivals == "poisson" else np.arange(n) / rate

    assert send_gaps(sent_at(due, in_wake_ups(due, 250e-6))).holds
    assert not send_gaps(sent_at(due, in_wake_ups(due, 0.010))).holds


def test_dense_sends_are_compared_four_milliseconds_apart() -> None:
    assert stride(np.arange(1000) / 500) == 1
    assert stride(np.arange(1000) / 20_000) == pytest.approx(20_000 * DENSE_SPAN_S, abs=1)
    assert stride(np.zeros(3)) == stride(np.zeros(0)) == 1


def test_a_regular_load_is_held_against_each_gap() -> None:
    due = np.arange(1000) / 100
    late = due + np.where(np.arange(1000) % 20 == 0, 0.003, 0.0)
    assert send_gaps(sent_at(due, due + 1e-5)).holds
    assert not send_gaps(sent_at(due, late)).holds


def test_bunches_of_a_small_part_of_the_response_time_distort_nothing() -> None:
    due = np.cumsum(np.random.default_rng(2).exponential(1 / 1000, 20_000))
    bunched = in_wake_ups(due, 0.002)
    ok = np.ones(len(due), dtype=bool)
    assert not send_gaps(Requests(due, bunched, bunched + 0.002, ok)).holds
    assert send_gaps(Requests(due, bunched, bunched + 0.400, ok)).holds


def test_too_few_gaps_to_compare_hold_and_none_at_all_do_not() -> None:
    due = np.cumsum([0.1, 0.2, 0.05])
    assert send_gaps(sent_at(due, due)).holds
    assert not send_gaps(sent_at(due[:0], due[:0])).holds
