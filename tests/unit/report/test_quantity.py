from __future__ import annotations

import math

import pytest

from bench.report import quantity


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00435, "4.35 ms"), (0.0435, "43.5 ms"), (0.435, "435 ms"), (4.35, "4350 ms"), (0.000435, "0.435 ms"),
        (0.0000435, "0.0435 ms"), (0.00000435, "0.0043 ms"), (0.0, "0 ms"), (-0.002, "-2.00 ms"), (0.001, "1.00 ms"),
        (math.nan, "–"), (math.inf, "–"),
    ],
)  # fmt: skip
def test_times_are_read_in_milliseconds(seconds: float, text: str) -> None:
    assert quantity.milliseconds(seconds) == text


def test_in_a_column_of_milliseconds_the_unit_is_left_out() -> None:
    assert quantity.ms_with_interval(0.00435, 0.00433, 0.00436) == "4.35 [4.33, 4.36]"
    assert quantity.ms_with_interval(0.003, 0.0, math.inf) == "3.00 [0, ∞]"
    assert quantity.ms(math.nan) == "–"


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((3.1358, 3.1182, 3.1536), "3.14 [3.12, 3.15]"),
        ((3.0, 2.9, math.inf), "3 [2.9, ∞]"),
        ((math.inf, 12.0, math.inf), "unbounded"),
    ],
)
def test_a_ratio_is_read_with_its_interval(interval: tuple[float, float, float], text: str) -> None:
    assert quantity.with_interval(*interval) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.023, "2.3 %"), (-0.0123, "-1.23 %"), (1.0, "100 %"), (0.0, "0 %"), (math.nan, "–")]
)
def test_shares_are_read_in_percent(fraction: float, text: str) -> None:
    assert quantity.share(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"), [(277.7778, "277.8"), (2.5, "2.5"), (10.0, "10"), (0.0, "0"), (math.inf, "–"), (math.nan, "–")]
)
def test_numbers_have_four_significant_digits(value: float, text: str) -> None:
    assert quantity.number(value) == text
