"""Percentiles of the response time with intervals: a row for each server, rate and percentile."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import fail, point, rows, steady

from bench.analysis.load import Point, rates
from bench.analysis.response import RESPONSE_COLUMNS, response_table
from bench.scenario.spec import Objective


def exponential(replication: int, mean_s: float = 0.010, **options: float) -> Point:
    rng = np.random.default_rng(replication)
    return point(rows(steady(), rng.exponential(mean_s, len(steady()))), replication=replication, **options)  # type: ignore[arg-type]


def table(*points: Point, percentile: float | None = None) -> pd.DataFrame:
    objective = None if percentile is None else Objective(percentile, 0.060)
    return response_table(rates(points), objective)


def row(found: pd.DataFrame, percentile: float) -> dict[str, object]:
    (only,) = found[found["percentile"] == percentile].to_dict("records")
    return {str(name): value for name, value in only.items()}


def test_a_rate_has_a_row_for_each_percentile_and_that_of_the_objective() -> None:
    assert tuple(table().columns) == RESPONSE_COLUMNS
    assert table(point())["percentile"].tolist() == [50, 90, 95, 99, 99.9]
    assert table(point(), percentile=98)["percentile"].tolist() == [50, 90, 95, 98, 99, 99.9]
    assert table(point(), percentile=99)["percentile"].tolist() == [50, 90, 95, 99, 99.9]


def test_replications_are_pooled_and_their_interval_holds_the_truth() -> None:
    found = table(*(exponential(replication) for replication in (1, 2, 3, 4)))
    assert found["requests"].tolist() == [4000] * 5  # the windows of 10 s at 100/s
    for q, true_s in ((50, 0.010 * math.log(2)), (90, 0.010 * math.log(10)), (99, 0.010 * math.log(100))):
        one = row(found, q)
        assert one["method"] == "t over 4 replications"
        assert one["reason"] == ""
        assert float(str(one["lo_s"])) < true_s < float(str(one["hi_s"]))
        assert float(str(one["lo_s"])) < float(str(one["value_s"])) < float(str(one["hi_s"]))
        assert 2000 < float(str(one["effective_samples"])) <= 4000


def test_a_percentile_beyond_which_nearly_nothing_lies_has_a_value_and_no_interval() -> None:
    one = row(table(*(exponential(replication) for replication in (1, 2, 3))), 99.9)
    assert one["reason"] == "3000 requests, p99.9 needs 5000"
    assert one["method"] == "none"
    assert float(str(one["value_s"])) > 0.05
    assert math.isnan(float(str(one["lo_s"])))
    assert math.isnan(float(str(one["hi_s"])))


def test_servers_and_rates_have_rows_of_their_own() -> None:
    found = table(exponential(1), exponential(1, server="torchserve"), exponential(1, rate_per_s=200.0))  # type: ignore[arg-type]
    keys = found[["server", "rate_per_s"]].drop_duplicates().to_numpy().tolist()
    assert keys == [["triton", 100.0], ["torchserve", 100.0], ["triton", 200.0]]


def test_a_late_replication_has_no_part_in_it() -> None:
    late = point(rows(steady(), response_s=0.040, late_s=0.020))
    found = table(late, exponential(2))
    assert found["requests"].tolist() == [1000] * 5
    assert float(str(row(found, 50)["value_s"])) < 0.020
    assert table(late)["reason"].unique().tolist() == ["no valid replication"]
    assert table(late)["value_s"].isna().all()


def test_a_saturated_rate_has_no_percentiles() -> None:
    overloaded = point(rows(steady(), response_s=0.2 * steady()))
    found = table(overloaded, exponential(2))
    assert found["reason"].unique().tolist() == ["1 of 2 replications are saturated: no steady state"]
    assert found[["value_s", "lo_s", "hi_s"]].isna().all(axis=None)
    assert found["requests"].tolist() == [0] * 5


def test_failed_requests_are_in_no_percentile() -> None:
    found = table(point(fail(rows(steady()), slice(500, 530), 503, "queue full")))
    assert found["requests"].tolist() == [970] * 5
    nothing = table(point(fail(rows(steady()), slice(None), 0, "connection refused")))
    assert nothing["reason"].unique().tolist() == ["no successful request"]
    assert nothing["value_s"].isna().all()


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_replications_are_cut_into_sections(count: int) -> None:
    one = row(table(*(exponential(replication) for replication in range(1, count + 1))), 90)
    assert one["method"] == "t over 20 sections"
