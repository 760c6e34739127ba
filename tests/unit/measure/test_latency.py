from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.measure.latency import percentile, summarise
from bench.measure.requests import Requests


def requests(*rows: tuple[float, float, float, bool]) -> Requests:
    """Rows of scheduled, sent, completed, ok."""
    scheduled, sent, completed, ok = zip(*rows, strict=True)
    return Requests(np.array(scheduled, float), np.array(sent, float), np.array(completed, float), np.array(ok))


NEVER = math.nan

# Window 2 … 6 s. In ms: responses 100, 200, 300, 400; round trips 90, 180, 270, 400;
# dispatch delays 10, 20, 40, 30, 0.
LOAD = requests(
    (1.0, 1.0, 9.0, True),  # warm-up
    (2.0, 2.01, 2.1, True),
    (3.0, 3.02, 3.2, True),
    (3.5, 3.54, 9.0, False),  # failed
    (4.0, 4.03, 4.3, True),
    (5.0, NEVER, NEVER, False),  # shed
    (5.9, 5.9, 6.3, True),  # completes after the window
    (6.0, 6.0, 6.1, True),  # tail
)


def test_one_load_point_comes_out_by_hand() -> None:
    summary = summarise(LOAD, warmup_s=2, duration_s=4, objective_s=0.25)
    assert dataclasses.asdict(summary) == pytest.approx(
        {
            "scheduled": 6,
            "sent": 5,
            "completed": 4,
            "errors": 1,
            "shed": 1,
            "throughput_per_s": 1.0,
            "goodput_per_s": 0.5,
            "response_mean_s": 0.250,
            "response_p50_s": 0.250,
            "response_p90_s": 0.370,
            "response_p95_s": 0.385,
            "response_p99_s": 0.397,
            "response_p999_s": 0.3997,
            "response_max_s": 0.400,
            "round_trip_mean_s": 0.235,
            "round_trip_p50_s": 0.225,
            "round_trip_p99_s": 0.3961,
            "dispatch_delay_mean_s": 0.020,
            "dispatch_delay_p50_s": 0.020,
            "dispatch_delay_p99_s": 0.0396,
            "dispatch_delay_max_s": 0.040,
        }
    )


def test_without_an_objective_every_success_is_good() -> None:
    summary = summarise(LOAD, warmup_s=2, duration_s=4)
    assert summary.goodput_per_s == summary.throughput_per_s == 1.0


def test_a_response_exactly_at_the_objective_meets_it() -> None:
    summary = summarise(requests((0, 0, 0.25, True), (0.5, 0.5, 1.0, True)), 0, 1, objective_s=0.25)
    assert summary.goodput_per_s == 1.0


def test_a_window_without_requests_has_counts_of_0_and_no_times() -> None:
    summary = summarise(LOAD, warmup_s=20, duration_s=4)
    assert (summary.scheduled, summary.completed, summary.throughput_per_s) == (0, 0, 0.0)
    assert math.isnan(summary.response_mean_s)
    assert math.isnan(summary.response_p99_s)
    assert math.isnan(summary.dispatch_delay_max_s)


def test_a_window_of_failures_has_dispatch_delays_but_no_responses() -> None:
    summary = summarise(requests((0, 0.1, 1.0, False), (0.5, 0.5, NEVER, False)), 0, 1)
    assert (summary.sent, summary.errors, summary.completed) == (2, 2, 0)
    assert summary.dispatch_delay_max_s == pytest.approx(0.1)
    assert math.isnan(summary.response_max_s)


@pytest.mark.parametrize("duration_s", [0.0, -1.0, math.nan])
def test_a_window_without_duration_is_refused(duration_s: float) -> None:
    with pytest.raises(ValueError, match="duration_s must be above 0"):
        summarise(LOAD, 0, duration_s)


@pytest.mark.parametrize(("q", "expected"), [(0, 10), (25, 17.5), (50, 25), (90, 37), (99, 39.7), (100, 40)])
def test_a_percentile_lies_between_its_neighbours_in_proportion(q: float, expected: float) -> None:
    assert percentile([40, 10, 30, 20], q) == pytest.approx(expected)


def test_a_percentile_of_nothing_is_not_a_number() -> None:
    assert math.isnan(percentile([], 99))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(min_value=0, max_value=1e3), min_size=1), st.floats(min_value=0, max_value=100))
def test_a_percentile_lies_within_the_values(values: list[float], q: float) -> None:
    assert min(values) <= percentile(values, q) <= max(values)


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        Requests(np.zeros(2), np.zeros(2), np.zeros(1), np.ones(2, bool))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((NEVER, 0.0, 1.0, True), "scheduled time"),
        ((0.0, NEVER, 1.0, True), "sent and completed"),
        ((0.0, 0.0, NEVER, True), "sent and completed"),
    ],
)
def test_a_success_without_its_times_is_refused(row: tuple[float, float, float, bool], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        requests(row)
