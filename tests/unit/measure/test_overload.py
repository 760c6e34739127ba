from __future__ import annotations

import numpy as np
import pytest

from bench.measure.overload import OverloadWatch, overload
from bench.measure.requests import Requests


def nothing_refused(requests: Requests) -> np.ndarray:
    return np.zeros(len(requests), dtype=bool)


def test_without_load_a_server_may_be_quicker_and_its_growth_is_that_under_load() -> None:
    # 200/s at a capacity of 100/s while the load is on, and of 200/s once it is over.
    due = np.arange(2000) / 200
    busy = np.minimum(2 * due, 10 + (2 * due - 10) / 2)
    found = overload(one := Requests(due, due, busy + 0.01, np.ones(2000, dtype=bool)), nothing_refused(one), 0, 10)
    assert found.saturated
    assert found.excess == pytest.approx(1.0, abs=0.01)


def test_a_backlog_that_only_grows_is_given_up() -> None:
    watch = OverloadWatch(rate_per_s=100, after_s=1.0)
    told = [watch.hopeless(t / 5, int(50 * t / 5), 20 * t, 0) for t in range(60)]
    assert not any(told[:10])
    assert any(told)
    assert told.index(True) / 5 >= 2.0  # a second's worth of arrivals are waiting by then


def test_a_backlog_that_comes_and_goes_is_not_given_up() -> None:
    watch = OverloadWatch(rate_per_s=100, after_s=0.0)
    assert not any(watch.hopeless(t / 5, int(150 + 100 * np.sin(t / 3)), 20 * t, 0) for t in range(300))


def limited_queue(
    rate_per_s: float, service_s: float, room: int, seconds: float, seed: int
) -> tuple[Requests, np.ndarray]:
    """As `single_server`, but at most `room` requests wait; also which were refused."""
    rng = np.random.default_rng(seed)
    due = np.cumsum(rng.exponential(1 / rate_per_s, int(rate_per_s * seconds)))
    done = due + 0.001
    refused = np.zeros(len(due), dtype=bool)
    free = 0.0
    for i, at in enumerate(due):
        if (free - at) / service_s > room:
            refused[i] = True
        else:
            free = done[i] = max(free, at) + service_s
    return Requests(due, due, done, ~refused), refused


@pytest.mark.parametrize("room", [16, 500])
def test_twice_the_capacity_of_a_limited_queue_is_told_by_growth_and_refusals(room: int) -> None:
    found = overload(*limited_queue(200, 0.010, room, 20, seed=1), 0.0, 20.0)
    assert found.saturated
    assert found.refused > 0
    assert 0.9 < found.excess < 1.1
    if room == 500:  # five seconds until it is full
        assert 0.9 < found.growth.slope < 1.1


def test_a_limited_queue_that_is_hardly_ever_full_is_no_overload() -> None:
    found = overload(*limited_queue(80, 0.010, 12, 60, seed=2), 0.0, 60.0)
    assert not found.saturated
    assert found.refused == 0


def test_a_queue_that_refuses_is_given_up_and_a_few_refusals_are_not() -> None:
    watch = OverloadWatch(rate_per_s=100, after_s=1.0)
    told = [watch.hopeless(t / 5, 50, 20 * t, 10 * t) for t in range(60)]
    assert told.index(True) / 5 == pytest.approx(6.0, abs=0.21)  # 500 sends after 1 s
    watch = OverloadWatch(rate_per_s=100, after_s=1.0)
    assert not any(watch.hopeless(t / 5, 50, 20 * t, t // 2) for t in range(600))
