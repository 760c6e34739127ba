from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.measure.growth import Growth, growth

Floats = NDArray[np.float64]


def queue(rng: np.random.Generator, n: int, load: float) -> tuple[Floats, Floats]:
    """(due, response) at an M/M/1 queue that starts empty, 1 arrival per second."""
    due, work = np.cumsum(rng.exponential(size=n)), load * rng.exponential(size=n)
    walk = np.concatenate([[0.0], np.cumsum(work[:-1] - np.diff(due))])
    return due, walk - np.minimum.accumulate(walk) + work


def test_a_straight_line_has_its_slope_and_no_width() -> None:
    due = np.arange(100.0)
    found = growth(due, 3 + 0.2 * due)
    assert found is not None
    assert (found.slope, found.lo, found.hi) == pytest.approx((0.2, 0.2, 0.2))


def test_steps_between_the_parts_are_in_no_slope() -> None:
    due = np.arange(80.0)
    assert growth(due, np.repeat(np.arange(8.0), 10)) == Growth(0.0, 0.0, 0.0)


def test_slopes_of_plus_and_minus_1_come_out_by_hand() -> None:
    # Four parts rise and four fall by 1 s per s: sd √(8/7), standard error √(1/7), t(0.975, 7) = 2.364624.
    due = np.arange(80.0)
    sign = np.where(np.arange(80) // 10 % 2 == 0, 1.0, -1.0)
    found = growth(due, sign * (due % 10))
    assert found is not None
    assert (found.slope, found.hi) == pytest.approx((0, 2.364624 / np.sqrt(7)), abs=1e-5)


@pytest.mark.parametrize(("load", "truth"), [(0.3, 0.0), (1.2, 0.2), (2.0, 1.0)])
def test_the_interval_covers_in_a_steady_state_and_in_an_overload(load: float, truth: float) -> None:
    rng = np.random.default_rng(1)
    found = [growth(*queue(rng, 2000, load)) for _ in range(400)]
    covered = [one is not None and one.lo <= truth <= one.hi for one in found]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


def test_a_loaded_queue_that_is_steady_is_not_told_to_grow() -> None:
    rng = np.random.default_rng(2)
    found = [growth(*queue(rng, 600, 0.9)) for _ in range(200)]
    assert sum(one is not None and one.lo > 0.01 for one in found) <= 6


def test_few_requests_have_no_growth() -> None:
    assert growth(np.arange(20.0), np.ones(20)) is None
    assert growth([], []) is None
    assert growth(np.ones(50), np.ones(50)) is None


def test_requests_that_were_due_at_once_within_a_part_have_no_slope() -> None:
    assert growth(np.repeat(np.arange(9.0), 5), np.ones(45)) is None


def test_arrays_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="two arrays of one length"):
        growth([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="finite"):
        growth([1.0, 2.0], [1.0, np.nan])
