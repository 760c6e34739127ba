"""How early a timer wakes."""

from __future__ import annotations

import pytest

from bench.load.timer import lead_ns


@pytest.mark.parametrize(
    ("rate_per_s", "expected_ns"), [(10, 150_000), (200, 150_000), (2_000, 50_000), (10_000, 10_000)]
)
def test_the_lead_is_150_us_and_never_more_than_a_tenth_of_the_mean_gap(rate_per_s: int, expected_ns: int) -> None:
    assert lead_ns(1e9 / rate_per_s) == expected_ns
