"""Verdicts and tables of simulations made by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.statistics_document import markdown
from benchmarks.statistics_rows import FAILS, HOLDS, OVER, UNDER, Row, Share, coverage_verdict, rows_of, shape_row
from benchmarks.statistics_shapes import ShapeStudy, shape_studies
from benchmarks.statistics_studies import Found, Study

IN, OUT = Found(1.0, 0.9, 1.1, 1.0), Found(1.2, 1.1, 1.3, 1.0)
OPEN, NONE = Found(1.0, 0.9, math.inf, 1.0), Found(1.0, math.nan, math.nan, 1.0)


def nothing(_rng: np.random.Generator) -> Sequence[Found]:
    return ()


def study(*intervals: str, same: bool = False) -> Study:
    return Study(intervals, "normal 2 %", "10 blocks", nothing, intervals, same=same)


def row(found: Sequence[Found], same: bool = False) -> Row:
    (only,) = rows_of(study("c", same=same), [[one] for one in found])
    return only


def test_the_interval_of_a_share_is_that_of_clopper_and_pearson() -> None:
    # Of 0 in 10: 1 − 0.025^(1/10).
    assert (Share(0, 10).lo, Share(0, 10).hi) == pytest.approx((0, 0.30850), abs=1e-5)
    assert (Share(10, 10).lo, Share(10, 10).hi) == pytest.approx((1 - 0.30850, 1), abs=1e-5)
    assert math.isnan(Share(0, 0).value)


@pytest.mark.parametrize(
    ("covered", "verdict"),
    [(1900, HOLDS), (1860, HOLDS), (1845, HOLDS), (1800, UNDER), (1950, HOLDS), (1980, OVER)],
)
def test_coverage_is_judged_up_to_the_chance_of_the_simulation(covered: int, verdict: str) -> None:
    assert coverage_verdict(Share(covered, 2000)) == verdict


def test_covered_given_and_bounded_are_counted() -> None:
    found = row([IN, IN, OUT, OPEN, NONE])
    assert (found.covered, found.given, found.bounded) == (Share(3, 4), Share(4, 5), Share(3, 5))
    assert found.bias == 0


def test_the_bias_is_the_median_error_and_absolute_where_the_truth_is_0() -> None:
    assert row([OUT, OUT, IN]).bias == pytest.approx(0.2)
    assert row([Found(0.3, 0.0, 1.0, 0.0)] * 3).bias == pytest.approx(0.3)


def test_of_arms_that_are_alike_the_alarms_are_counted() -> None:
    assert row([IN] * 96 + [OUT] * 4, same=True).covered == Share(4, 100)
    assert row([IN] * 96 + [OUT] * 4, same=True).verdict == HOLDS
    assert row([IN] * 80 + [OUT] * 20, same=True).verdict == FAILS


def test_each_interval_of_a_study_has_a_row_and_only_promised_ones_can_fail() -> None:
    two = replace(study("c", "m"), promised=("m",))
    rows = rows_of(two, [[OUT, IN]] * 200)
    assert [one.interval for one in rows] == ["c", "m"]
    assert [one.verdict for one in rows] == [UNDER, OVER]
    assert [one.fails for one in rows] == [False, True]


def shape() -> ShapeStudy:
    return shape_studies()[0]


def test_a_shape_fails_when_chance_does_not_explain_how_often_it_was_missed() -> None:
    good, bad = shape_row(shape(), ["affine"] * 490 + ["hinge"] * 10), shape_row(shape(), ["affine"] * 9 + ["hinge"])
    assert (good.right, good.verdict) == (Share(490, 500), HOLDS)
    assert good.others == "10 × hinge"
    assert shape_row(shape(), ["affine"] * 400 + ["hinge"] * 60 + ["no line"] * 40).others == "60 × hinge, 40 × no line"
    assert not bad.fails  # one of ten is chance
    assert shape_row(shape(), ["affine"] * 450 + ["hinge"] * 50).fails


def test_the_document_counts_promises_and_names_those_that_fail() -> None:
    rows = [row([IN] * 95 + [OUT] * 5), row([OUT] * 100)]
    text = markdown(rows, [shape_row(shape(), ["affine"] * 500)], {"simulations": "100"})
    assert "## Promises: 2 hold, 1 fail" in text
    assert "- c, normal 2 %, 10 blocks: 0.0 % [0.0, 3.6] under" in text
    assert "| c | normal 2 % | 10 blocks | 95.0 % [88.7, 98.4] | +0.00 % | holds |" in text
    assert "- simulations: 100" in text
    assert "nan" not in text


def test_what_is_not_promised_has_its_verdict_in_parentheses() -> None:
    loose = replace(row([OUT] * 100), promised=False)
    text = markdown([loose], [], {})
    assert "| (under) |" in text
    assert "## Promises: 0 hold" in text
