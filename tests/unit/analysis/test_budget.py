"""The latency budget's rows and its verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import fail, point, rows, scenario, steady

from bench.analysis.budget import budget
from bench.analysis.load import Counted, Point
from bench.analysis.parts import PARTS
from bench.analysis.run import RawRun, analyse
from bench.scenario.spec import External, Server
from bench.theory.law import CostModel

TRITON = Server("triton", "triton", max_batch_size=16, max_queue_delay_s=0.005)
LAW = CostModel(0.004, 0.002)
SERVER_PARTS_S = {"queue_wait_s": 0.005, "compute_s": 0.008, "handover_s": 0.001}


def traced(unexplained_s: float = 0.0, *, end_s: float = 12, response_s: float | np.ndarray = 0.020) -> Point:
    """Every request spends 5 ms waiting, 8 in compute, 1 in handover, and some time unexplained, in the server."""
    frame = rows(steady(end_s), response_s=response_s)
    n = len(frame)
    told = frame.assign(**SERVER_PARTS_S, server_s=sum(SERVER_PARTS_S.values()) + unexplained_s)
    return point(told.assign(batch_size=pd.array([2] * n, dtype="Int32")))


def by_of(points: list[Point], one: Point | None) -> pd.DataFrame:
    return budget(points, one, TRITON, LAW)[0].set_index("of")


def test_the_parts_and_the_unexplained_add_up_to_the_measured_response_time() -> None:
    response_s = np.full(1200, 0.020)
    response_s[::150] = 0.100
    found = by_of([point()], traced(0.0002, response_s=response_s))
    parts = found[[*PARTS, "unexplained_s"]].sum(axis=1)
    assert parts.to_numpy() == pytest.approx(found["response_s"].to_numpy())
    assert found["unexplained_s"].tolist() == pytest.approx([0.0002, 0.0002])


def test_the_slowest_hundredth_has_a_row_of_its_own() -> None:
    # 1000 requests in the window, 10 of them 80 ms slower on the network.
    response_s = np.full(1200, 0.020)
    response_s[300:310] = 0.100
    found = by_of([point()], traced(response_s=response_s))
    assert found["requests"].tolist() == [1000, 10]
    assert found["response_s"].tolist() == pytest.approx([0.0208, 0.100])
    assert found["network_s"].tolist() == pytest.approx([0.0068, 0.086])
    assert found["queue_wait_s"].tolist() == pytest.approx([0.005, 0.005])
    assert found["mean_batch_size"].tolist() == [2, 2]
    assert found["source"].tolist() == ["traces", "traces"]


@pytest.mark.parametrize(
    ("unexplained_s", "outcome"),
    [(0.0, "holds"), (0.00059, "holds"), (-0.00059, "holds"), (0.00061, "fails"), (-0.00061, "fails")],
)
def test_three_percent_of_the_mean_response_time_may_be_unexplained(unexplained_s: float, outcome: str) -> None:
    verdict = budget([point()], traced(unexplained_s), TRITON, LAW)[1]
    assert verdict is not None
    assert (verdict.check, verdict.server, verdict.subject) == ("budget", "triton", "100/s")
    assert (verdict.expected, verdict.tolerance, verdict.outcome) == (0.0, 0.03, outcome)
    assert verdict.measured == pytest.approx(unexplained_s / 0.020, abs=1e-12)
    assert "by traces" in verdict.why


def test_of_too_few_requests_a_mean_is_invalid() -> None:
    one = replace(traced(end_s=0.4), warmup_s=0.0, duration_s=0.4)
    verdict = budget([one], one, TRITON, LAW)[1]
    assert verdict is not None
    assert (verdict.outcome, verdict.why) == ("not applicable", "40 requests, expected 50 or more: raise load.duration")


def test_a_saturated_point_has_no_budget() -> None:
    due = steady()
    table, verdict = budget([point(rows(due, response_s=0.020 + 0.5 * due))], traced(), TRITON, LAW)
    assert verdict is not None
    assert (verdict.outcome, verdict.measured) == ("not applicable", "nothing")
    assert table[["response_s", *PARTS, "unexplained_s"]].isna().all().all()


def test_where_only_means_are_counted_the_slowest_have_their_response_time_alone() -> None:
    counted = Counted(1200, 6.0, 9.6, 600, 1200 * 0.0145, 1200, 1200 * 0.009)
    table, verdict = budget([point(counted=counted)], None, TRITON, LAW)
    assert verdict is not None
    assert verdict.outcome == "holds"
    slowest = table.set_index("of").loc["slowest 1 %"]
    assert slowest["response_s"] == pytest.approx(0.020)
    assert slowest[list(PARTS[1:])].isna().all()
    assert math.isnan(slowest["unexplained_s"])
    assert set(table["source"]) == {"counters"}


@pytest.mark.parametrize(
    "one",
    [point(), point(fail(rows(steady()), slice(0, 1200), 500, "model raised"))],
    ids=["told nothing", "all failed"],
)
def test_where_nothing_is_told_there_is_a_row_and_nothing_to_judge(one: Point) -> None:
    table, verdict = budget([one], None, TRITON, LAW)
    assert len(table) == 2
    assert verdict is None


def test_late_replications_are_left_out() -> None:
    late = point(rows(steady(), response_s=0.5, late_s=0.4), replication=2)
    assert by_of([point(), late], None).loc["mean", "response_s"] == pytest.approx(0.020)
    alone = by_of([late], None).loc["mean"]
    assert (alone["response_s"], alone["dispatch_delay_s"]) == (pytest.approx(0.5), pytest.approx(0.4))


def test_the_expected_batch_size_stands_beside_the_measured_one() -> None:
    found = by_of([point()], traced())
    # At 100/s and a delay of 5 ms: 1 + λd; a cycle of T(B) brings 100·0.004/(1 − 100·0.002) = 0.5 only.
    assert found["expected_batch_size"].tolist() == [1.5, 1.5]
    assert found.loc["mean", "batches"].startswith("at 100/s a batch holds 2 of at most 16: ")
    assert math.isnan(budget([point()], traced(), TRITON, None)[0]["expected_batch_size"].iloc[0])


def test_a_whole_run_has_a_budget_for_each_server_and_rate_and_an_endpoint_of_somebody_elses_none() -> None:
    made = scenario("triton")
    raw = RawRun(made, pd.DataFrame(columns=["server", "layer", "batch_size", "repeat", "time_s", "block"]),
                 (point(), point(rate_per_s=50.0)), None, traced=(traced(),))  # fmt: skip
    analysis = analyse(raw)
    table = analysis.tables["budget"]
    assert table[["rate_per_s", "of", "source"]].to_numpy().tolist() == [
        [100.0, "mean", "traces"], [100.0, "slowest 1 %", "traces"],
        [50.0, "mean", "the client alone"], [50.0, "slowest 1 %", "the client alone"],
    ]  # fmt: skip
    assert [v.subject for v in analysis.verdicts if v.check == "budget"] == ["100/s"]
    foreign = analyse(replace(raw, scenario=replace(made, model=External("triton"))))
    assert foreign.tables["budget"].empty
