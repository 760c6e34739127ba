from __future__ import annotations

import math

import numpy as np
import pytest

from bench.measure.gates import (
    all_sent,
    dispatch_delay_mean,
    dispatch_delay_p99,
    enough_for_percentile,
    enough_samples,
    last_send_on_time,
    littles_law,
    load_point_gates,
    samples_needed,
)
from bench.measure.latency import summarise
from bench.measure.requests import Requests


def steady(rate_per_s: float = 100, end_s: float = 12, response_s: float = 0.020, delay_s: float = 0.0) -> Requests:
    """One request every 1/rate seconds, each sent `delay_s` late and completed `response_s` after it was
    due."""
    scheduled = np.arange(int(rate_per_s * end_s)) / rate_per_s
    return Requests(scheduled, scheduled + delay_s, scheduled + response_s, np.ones(len(scheduled), dtype=bool))


def changed(requests: Requests, **columns: np.ndarray) -> Requests:
    kept = {name: getattr(requests, name) for name in ("scheduled_s", "sent_s", "completed_s", "ok")}
    return Requests(**(kept | columns))


def test_a_steady_load_passes_every_gate() -> None:
    gates = load_point_gates(steady(), warmup_s=2, duration_s=10)
    assert [g.name for g in gates] == [
        "all sent",
        "last send on time",
        "p99 dispatch delay",
        "mean dispatch delay",
        "send gaps",
        "Little's law",
    ]
    assert [g.name for g in gates if not g.holds] == []


def test_no_load_at_all_passes_no_gate() -> None:
    nothing = Requests(np.array([]), np.array([]), np.array([]), np.array([], dtype=bool))
    assert [g.name for g in load_point_gates(nothing, 0, 10) if g.holds] == []


def test_a_poisson_schedule_that_misses_its_rate_by_chance_is_valid() -> None:
    rng = np.random.default_rng(1)
    scheduled = np.sort(rng.uniform(0, 12, 90))
    load = Requests(scheduled, scheduled, scheduled + 0.020, np.ones(90, dtype=bool))
    assert all(g.holds for g in load_point_gates(load, 2, 10))


def test_a_request_dropped_in_the_warm_up_invalidates_the_load_point() -> None:
    load = steady()
    sent, completed, ok = load.sent_s.copy(), load.completed_s.copy(), load.ok.copy()
    sent[3], completed[3], ok[3] = math.nan, math.nan, False
    gate = all_sent(changed(load, sent_s=sent, completed_s=completed, ok=ok))
    assert not gate.holds
    assert (gate.expected, gate.measured) == ("1200 scheduled requests sent", "1199 sent")
    assert gate.remedy == "lower the rate or allow more requests in flight"


@pytest.mark.parametrize(("late_s", "holds"), [(0.049, True), (0.051, False)])
def test_the_last_send_of_10_s_may_be_50_ms_late(late_s: float, holds: bool) -> None:
    load = steady()
    sent = load.sent_s.copy()
    sent[-1] += late_s
    gate = last_send_on_time(changed(load, sent_s=sent, completed_s=load.completed_s + 1), 2, 10)
    assert gate.holds is holds
    assert gate.measured == f"{late_s * 1000:.3g} ms"
    assert "at most 50 ms" in gate.expected


def test_a_generator_that_stretches_the_schedule_by_1_percent_is_caught() -> None:
    load = steady()
    gate = last_send_on_time(changed(load, sent_s=load.scheduled_s * 1.01, completed_s=load.scheduled_s + 1), 2, 10)
    assert not gate.holds


@pytest.mark.parametrize(
    ("response_s", "delay_s", "holds"),
    [
        (0.002, 0.0009, True),  # under the clock's own 1 ms
        (0.002, 0.0011, False),
        (0.100, 0.0240, True),  # under 25 % of the response
        (0.100, 0.0260, False),
    ],
)
def test_p99_dispatch_delay_may_be_1_ms_or_a_quarter_of_the_response(
    response_s: float, delay_s: float, holds: bool
) -> None:
    summary = summarise(steady(response_s=response_s, delay_s=delay_s), 2, 10)
    assert dispatch_delay_p99(summary).holds is holds


@pytest.mark.parametrize(("delay_s", "holds"), [(0.0049, True), (0.0051, False)])
def test_mean_dispatch_delay_may_be_a_twentieth_of_the_response(delay_s: float, holds: bool) -> None:
    gate = dispatch_delay_mean(summarise(steady(response_s=0.100, delay_s=delay_s), 2, 10))
    assert gate.holds is holds
    assert gate.expected == "at most 5 ms, the larger of 1 ms and 5 % of the mean response time"


def test_without_a_success_the_delays_are_held_against_the_clock_alone() -> None:
    load = steady(delay_s=0.0005)
    summary = summarise(changed(load, ok=np.zeros(len(load), dtype=bool)), 2, 10)
    assert dispatch_delay_p99(summary).holds
    assert dispatch_delay_mean(summary).holds
    assert dispatch_delay_mean(summary).expected.startswith("at most 1 ms")


def test_a_hundred_requests_a_second_of_20_ms_are_2_in_flight() -> None:
    gate = littles_law(steady(), 2, 10)
    assert gate.holds
    assert gate.expected.startswith("2 in flight")
    assert gate.measured == "2 in flight"


def test_requests_carried_into_the_window_count_for_their_time_in_it() -> None:
    # Due at 0, 1, 2 … s and 5 s long: 5 are in flight at any time, 5 of them carried into the window.
    gate = littles_law(steady(rate_per_s=1, end_s=40, response_s=5), 10, 20)
    assert gate.holds
    assert gate.measured == "5 in flight"


def test_a_backlog_that_grows_breaks_littles_law() -> None:
    load = steady()
    # Served at 80 a second: the k-th of 100 a second is done at k/80.
    overloaded = changed(load, completed_s=(np.arange(len(load)) + 1) / 80)
    assert not littles_law(overloaded, 2, 10).holds


def test_a_steady_poisson_load_keeps_littles_law_in_a_short_window() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        scheduled = np.sort(rng.uniform(0, 3, rng.poisson(300)))
        load = Requests(scheduled, scheduled, scheduled + 0.1, np.ones(len(scheduled), dtype=bool))
        assert littles_law(load, 1, 1).holds


def test_lost_requests_break_littles_law() -> None:
    load = steady()
    completed, ok = load.completed_s.copy(), load.ok.copy()
    completed[500], ok[500] = math.nan, False
    assert not littles_law(changed(load, completed_s=completed, ok=ok), 2, 10).holds


def test_failures_that_are_answered_do_not_break_littles_law() -> None:
    load = steady()
    ok = load.ok.copy()
    ok[::3] = False
    assert littles_law(changed(load, ok=ok), 2, 10).holds


@pytest.mark.parametrize(
    ("q", "to_show", "for_verdict"),
    [(50, 2, 10), (90, 10, 50), (95, 20, 100), (99, 100, 500), (99.9, 1000, 5000)],
)
def test_a_percentile_needs_one_request_beyond_it_to_show_and_five_for_a_verdict(
    q: float, to_show: int, for_verdict: int
) -> None:
    assert samples_needed(q) == to_show
    assert samples_needed(q, for_verdict=True) == for_verdict
    assert enough_for_percentile(to_show, q)
    assert not enough_for_percentile(to_show - 1, q)
    assert not enough_for_percentile(for_verdict - 1, q, for_verdict=True)


@pytest.mark.parametrize("q", [-1, 100, math.nan])
def test_no_number_of_requests_is_enough_for_the_maximum(q: float) -> None:
    with pytest.raises(ValueError, match="0 <= q < 100"):
        samples_needed(q)


def test_the_gate_of_sample_counts_says_how_many_are_missing() -> None:
    gate = enough_samples(499, 99)
    assert not gate.holds
    assert gate.name == "samples for p99"
    assert (gate.expected, gate.measured) == (
        "at least 500 successful requests, pooled over replications",
        "499",
    )
    assert enough_samples(500, 99).holds
