"""The search against a queue whose answer is known, and its steps on made-up curves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from bench.measure.autocorrelation import autocorrelation_time
from bench.measure.search import Goal, HighestRate, Probe, bracket, highest_rate, next_rate

C, M, LARGEST = 0.004, 0.002, 16
WARM_UP = 500
CAPACITY = LARGEST / (C + M * LARGEST)


def responses_of_a_batch_server(rate: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Of `count` Poisson arrivals at a server that takes all that waits, up to 16, whenever it is free.

    It was busy for a while before.
    """
    count += WARM_UP
    arrivals = np.cumsum(rng.exponential(1 / rate, count))
    free_s, first, response = 0.0, 0, np.empty(count)
    while first < count:
        start = max(free_s, arrivals[first])
        last = min(int(np.searchsorted(arrivals, start, side="right")), first + LARGEST)
        free_s = start + C + M * (last - first)
        response[first:last] = free_s - arrivals[first:last]
        first = last
    return response[WARM_UP:]


def probed(rate: float, response_s: np.ndarray, objective_s: float) -> Probe:
    beyond = response_s > objective_s
    p99_s = float(np.percentile(response_s, 99))
    return Probe(rate, p99_s, len(beyond), int(beyond.sum()), autocorrelation_time([beyond]))


def search(goal: Goal, measure: Callable[[float], Probe]) -> tuple[HighestRate, list[Probe]]:
    probes: list[Probe] = []
    while (rate := next_rate(goal, probes)) is not None:
        probes.append(measure(rate))
    return highest_rate(goal, probes), probes


def truth(objective_s: float) -> float:
    """By bisection with 300,000 requests, the same at each rate."""
    low, high = 50.0, CAPACITY
    while high > low * 1.002:
        middle = (low + high) / 2
        response_s = responses_of_a_batch_server(middle, 300_000, np.random.default_rng(5))
        met = float(np.percentile(response_s, 99)) <= objective_s
        low, high = (middle, high) if met else (low, middle)
    return (low + high) / 2


def test_the_rate_of_a_queue_is_found_within_five_percent_and_its_interval_holds() -> None:
    right = truth(0.060)
    goal = Goal(99, 0.060, 10.0, math.inf, 0.03, 3, CAPACITY)
    near, covered, made = 0, 0, 0
    seeds = 40
    for seed in range(seeds):
        rng = np.random.default_rng(seed)

        def measure(rate: float, rng: np.random.Generator = rng) -> Probe:
            return probed(rate, responses_of_a_batch_server(rate, round(rate * 8), rng), 0.060)

        found, probes = search(goal, measure)
        assert found.found
        near += abs(found.rate_per_s / right - 1) < 0.05
        covered += found.lo_per_s <= right <= found.hi_per_s
        made += len(probes)
    assert near >= 0.9 * seeds, (near, covered, made / seeds, right)
    assert covered >= 0.8 * seeds, (near, covered, made / seeds, right)
    assert made / seeds < 22, made / seeds


def curve(rate: float, factor: float = 1.0) -> Probe:
    """p99 0.02 s at 0, 0.06 s at 200 and infinite from 300 on; response times are exponential."""
    p99_s = math.inf if rate >= 300 else factor * 0.02 / (1 - rate / 300)
    beyond = 100_000 * 0.01 ** (0.060 / p99_s)
    return Probe(rate, p99_s, 100_000, round(beyond))


@pytest.mark.parametrize("capacity", [None, 300.0])
@pytest.mark.parametrize("start", [1.0, 10.0, 150.0, 900.0])
def test_it_is_found_from_any_start_with_or_without_the_capacity(start: float, capacity: float | None) -> None:
    found, probes = search(Goal(99, 0.060, min(start, 100), math.inf, 0.02, 2, capacity), curve)
    assert found.rate_per_s == pytest.approx(200, rel=0.01)
    assert found.lo_per_s <= found.rate_per_s <= found.hi_per_s
    assert len(probes) < 25


def test_without_a_crossing_the_ends_are_told() -> None:
    missed, probes = search(Goal(99, 0.060, 250.0, math.inf, 0.03, 3), curve)
    assert not missed.found
    assert math.isnan(missed.rate_per_s)
    assert [probe.rate_per_s for probe in probes] == [250.0] * 3
    assert "missed at 250/s" in missed.why
    met, probes = search(Goal(99, 0.060, 10.0, 80.0, 0.03, 3), curve)
    assert not met.found
    assert (met.rate_per_s, max(probe.rate_per_s for probe in probes)) == (80.0, 80.0)
    assert "met at 80/s" in met.why


def test_one_unlucky_replication_does_not_move_the_bracket_for_good() -> None:
    unlucky = iter([True])
    found, _ = search(
        Goal(99, 0.060, 100.0, math.inf, 0.02, 3), lambda rate: curve(rate, 9.0 if next(unlucky, False) else 1.0)
    )
    assert found.rate_per_s == pytest.approx(200, rel=0.05)


def test_a_rate_is_judged_by_its_median_replication() -> None:
    goal = Goal(99, 0.060, 10.0, math.inf, 0.03, 3)
    seen = [(100, 0.03), (200, 0.05), (200, 0.9), (200, 0.04), (250, 0.2)]
    probes = [Probe(rate, p99_s, 1000, 9) for rate, p99_s in seen]
    assert bracket(goal, probes) == (200, 250)
    assert bracket(goal, probes[:1]) == (100, None)
    assert bracket(goal, [Probe(100, math.inf, 1000, 1000)]) == (None, 100)


def test_where_the_percentile_does_not_rise_the_bracket_is_the_answer() -> None:
    goal = Goal(99, 0.060, 10.0, math.inf, 0.03, 2)
    seen = [(100, 0.05, 8), (100, 0.07, 16), (100, 0.05, 8), (103, 0.061, 11), (103, 0.0601, 11)]
    probes = [Probe(rate, p99_s, 1000, beyond) for rate, p99_s, beyond in seen]
    found = highest_rate(goal, probes)
    assert found.rate_per_s == pytest.approx(math.sqrt(100 * 103))
    assert (found.lo_per_s, found.hi_per_s) == pytest.approx((100 / 1.03, 103 * 1.03))


def test_the_search_ends_whatever_the_noise() -> None:
    rng = np.random.default_rng(1)
    goal = Goal(99, 0.060, 10.0, math.inf, 0.001, 3, 400.0)
    found, probes = search(goal, lambda rate: curve(rate, float(rng.lognormal(0, 0.5))))
    assert len(probes) <= goal.most
    assert found.lo_per_s <= found.rate_per_s <= found.hi_per_s or math.isnan(found.rate_per_s)
