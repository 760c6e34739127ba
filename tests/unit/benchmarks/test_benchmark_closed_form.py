"""Response times under a freeze by hand, and how far measured ones are from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.closed_form import expected
from benchmarks.latency import NOT_TOLD, Latency, latency, worst_difference

MS = 1_000_000
NOTHING = np.zeros(0, dtype=np.int64)


def at(*milliseconds: float) -> np.ndarray:
    return np.array([round(ms * MS) for ms in milliseconds], dtype=np.int64)


def test_those_due_in_the_freeze_wait_for_its_end_and_no_others() -> None:
    # Due at its first moment: caught. At its last: served.
    found = expected(at(50, 100, 150, 180, 200), (100 * MS, 200 * MS), NOTHING)
    waits = [0.0, 0.1, 0.05, 0.02, 0.0]
    assert found.at_once == latency(np.array(waits))
    assert (found.at_once.p50_s, found.at_once.max_s) == (0.02, 0.1)


def test_two_thirds_of_a_constant_rate_have_the_median_at_a_quarter_of_the_freeze() -> None:
    due = np.arange(0, 1_500_000_000, 100_000, dtype=np.int64)
    found = expected(due, (250 * MS, 1250 * MS), NOTHING).at_once
    assert (found.p50_s, found.p99_s, found.max_s) == pytest.approx((0.25, 0.985, 1.0), rel=1e-3)


def test_in_turn_the_first_come_is_the_first_that_was_read_after_the_freeze() -> None:
    due, read = at(50, 110, 120, 250), at(50.1, 203, 209, 250.1)
    found = expected(due, (100 * MS, 200 * MS), read)
    assert found.in_turn == latency(np.array([0.0, 0.093, 0.089, 0.0]))
    assert found.at_once == latency(np.array([0.0, 0.09, 0.08, 0.0]))
    assert found.backlog_s == pytest.approx(0.009)


def test_one_that_was_never_read_counts_as_answered_at_the_end() -> None:
    found = expected(at(110, 120), (100 * MS, 200 * MS), at(201))
    assert found.in_turn == latency(np.array([0.091, 0.08]))


def test_the_worst_of_three_relative_differences_counts() -> None:
    assert worst_difference(Latency(0.26, 0.98, 1.0), Latency(0.25, 0.98, 1.0)) == pytest.approx(0.04)
    assert worst_difference(Latency(0.25, 0.98, 0.9), Latency(0.25, 0.98, 1.0)) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("measured", "wanted"),
    [(NOT_TOLD, Latency(1, 1, 1)), (Latency(1, 1, 1), NOT_TOLD), (Latency(1, 1, 1), Latency(0, 1, 1))],
)
def test_there_is_no_difference_to_what_is_missing(measured: Latency, wanted: Latency) -> None:
    assert math.isnan(worst_difference(measured, wanted))
