from __future__ import annotations

import math

import pytest

from bench.analysis.verdict import judge
from bench.theory.interval import Interval


@pytest.mark.parametrize(
    ("value", "lo", "hi", "outcome"),
    [
        (0.02, 0.01, 0.03, "holds"),
        (-0.02, -0.03, -0.01, "holds"),
        (0.05, 0.04, 0.06, "holds"),  # on the tolerance
        (0.04, -0.5, 0.6, "holds"),  # within it, whatever the interval
        (0.10, 0.08, 0.12, "fails"),
        (-0.10, -0.12, -0.08, "fails"),
        (0.10, 0.06, math.inf, "fails"),
        (0.06, 0.04, 0.08, "holds"),  # cannot be told from the tolerance, and would have told 10 %
        (-0.06, -0.08, -0.04, "holds"),
        (0.10, 0.01, 0.19, "invalid"),
        (0.10, 0.01, math.inf, "invalid"),
    ],
)
def test_an_error_with_its_interval_is_judged_against_a_tolerance_of_5_percent(
    value: float, lo: float, hi: float, outcome: str
) -> None:
    assert judge(Interval(value, lo, hi), 0.05)[0] == outcome


def test_a_judgement_gives_the_error_with_its_interval_and_what_to_do() -> None:
    assert judge(Interval(0.02, 0.01, 0.03), 0.05)[1] == "off by +2.0% [+1.0%, +3.0%]"
    assert judge(Interval(0.06, 0.04, 0.08), 0.05)[1].endswith(": cannot be told from 5%")
    assert judge(Interval(0.10, 0.01, 0.19), 0.05)[1].endswith(
        ": too wide for a tolerance of 5%; raise calibration.max_duration"
    )
