from __future__ import annotations

import math

import numpy as np
import pytest

from bench.theory.interval import Interval, fieller


def test_the_relative_half_width_is_half_the_width_over_the_value() -> None:
    assert Interval(10, 9, 12).half_width_relative == pytest.approx(0.15)


@pytest.mark.parametrize("interval", [Interval(2, 0, math.inf), Interval(0, -1, 1)])
def test_an_open_interval_or_one_about_0_has_no_relative_width(interval: Interval) -> None:
    assert interval.half_width_relative == math.inf


def test_an_interval_contains_its_ends() -> None:
    interval = Interval(2, 1, 3)
    assert [interval.contains(x) for x in (0.9, 1, 3, 3.1)] == [False, True, True, False]


def test_an_interval_scales_with_its_quantity() -> None:
    assert Interval(2, 1, math.inf).scaled(10) == Interval(20, 10, math.inf)


@pytest.mark.parametrize("ends", [(3, 4), (0, 1), (math.nan, 3)])
def test_an_estimate_outside_its_interval_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="lo <= value <= hi"):
        Interval(2, *ends)


def test_fiellers_interval_comes_out_by_hand() -> None:
    # a = 3, b = 2, variances 1/4 and 0, t = 2: (3 − 2ρ)² <= 1, so ρ runs from 1 to 2.
    interval = fieller(3, 2, 0.25, 0, 0, t=2)
    assert (interval.value, interval.lo, interval.hi) == pytest.approx((1.5, 1, 2))


def test_fiellers_interval_is_lopsided_when_the_denominator_is_uncertain() -> None:
    # (3 − 2ρ)² <= ρ², so ρ runs from 1 to 3.
    interval = fieller(3, 2, 0, 0, 0.25, t=2)
    assert (interval.lo, interval.hi) == pytest.approx((1, 3))


def test_a_common_error_narrows_fiellers_interval() -> None:
    # Errors that are equal in a and b: (3 − 2ρ)² <= (1 − ρ)², so ρ runs from 4/3 to 2.
    interval = fieller(3, 2, 0.25, 0.25, 0.25, t=2)
    assert (interval.lo, interval.hi) == pytest.approx((4 / 3, 2))


def test_a_denominator_that_may_be_0_leaves_the_ratio_without_upper_end() -> None:
    # (3 − ρ)² <= 4ρ²: every ρ >= 1.
    interval = fieller(3, 1, 0, 0, 1, t=2)
    assert (interval.value, interval.lo, interval.hi) == (3, pytest.approx(1), math.inf)


def test_a_denominator_below_0_by_chance_still_bounds_the_ratio_from_below() -> None:
    # (3 + ρ)² <= 4ρ²: every ρ >= 3.
    interval = fieller(3, -1, 0, 0, 1, t=2)
    assert (interval.value, interval.lo, interval.hi) == (math.inf, pytest.approx(3), math.inf)


def test_a_denominator_surely_below_0_makes_the_ratio_unbounded() -> None:
    assert fieller(3, -1, 0, 0, 0.01, t=2) == Interval(math.inf, math.inf, math.inf)


def test_two_quantities_that_may_both_be_0_say_nothing_of_their_ratio() -> None:
    assert fieller(1, 1, 1, 0, 1, t=2) == Interval(1, 0, math.inf)


def test_fiellers_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    rng = np.random.default_rng(20)
    a, b = 5 + rng.standard_normal(2000), 4 + rng.standard_normal(2000)
    hits = [fieller(x, y, 1, 0, 1, t=1.959964).contains(5 / 4) for x, y in zip(a, b, strict=True)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.015)
