"""What servers tell of requests, as parts of response times that are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from raw_by_hand import fail, point, rows, steady

from bench.analysis.load import Counted, Point
from bench.analysis.parts import PARTS, parts_of, queue_waits

N = 1200  # requests of the point by default: 100/s for 12 s


def executed(way_in_s: float = 0.001, wait_s: float | np.ndarray = 0.005, response_s: float = 0.020) -> pd.DataFrame:
    """Sent 0.5 ms late; executed for 8 ms in batches of 2 after the way in and the wait."""
    frame = rows(steady(), response_s=response_s, late_s=0.0005)
    frame["execution_started_s"] = frame["sent_s"] + way_in_s + wait_s
    frame["compute_s"] = 0.008
    frame["batch_size"] = pd.array([2] * N, dtype="Int32")
    return frame


def counts(*, wait_s: float = 0.005, total_s: float = 0.017, held_s: float | None = 0.010) -> Counted:
    """Of N requests: means."""
    held = (None, None) if held_s is None else (N, N * held_s)
    return Counted(N, N * wait_s, None, None, N * total_s, *held)


def told_by_headers(frame: pd.DataFrame, counted: Counted) -> Point:
    return point(frame.assign(queue_wait_s=queue_waits(frame, counted)), server="torchserve", counted=counted)


def mean(frame: pd.DataFrame) -> dict[str, float]:
    return {name: float(frame[name].mean()) for name in ("response_s", *PARTS)}


# ---- the queue wait of each request


def test_the_way_in_is_what_the_counters_leave_of_the_time_before_an_execution() -> None:
    wait_s = np.where(np.arange(N) % 2, 0.002, 0.008)
    found = queue_waits(executed(way_in_s=0.0013, wait_s=wait_s), counts())
    np.testing.assert_allclose(found, wait_s, atol=1e-12)


def test_failed_requests_have_no_wait_and_the_counters_are_of_the_others() -> None:
    wait_s = np.where(np.arange(N) < 100, 0.5, 0.005)
    frame = fail(executed(wait_s=wait_s), slice(0, 100), 503, "queue full")
    answered = N - 100
    found = queue_waits(frame, Counted(N, answered * 0.005, None, None, answered * 0.017))
    assert np.isnan(found[:100]).all()
    np.testing.assert_allclose(found[100:], 0.005, atol=1e-12)


@pytest.mark.parametrize(
    "counted",
    [None, Counted(N, 6.0, None, None), Counted(N, 0.0, None, None, 0.0, 0, 0.0)],
    ids=["no counters", "no total", "counted without times, as over gRPC"],
)
def test_without_the_servers_own_times_no_wait_is_known(counted: Counted | None) -> None:
    assert np.isnan(queue_waits(executed(), counted)).all()


def test_where_too_few_tell_when_they_were_executed_no_wait_is_known() -> None:
    frame = executed()
    frame.loc[frame.index[:100], "execution_started_s"] = math.nan
    assert np.isnan(queue_waits(frame, counts())).all()
    frame = executed()
    frame.loc[frame.index[:10], "execution_started_s"] = math.nan
    assert int(np.isnan(queue_waits(frame, counts())).sum()) == 10


# ---- headers, counters and log


def test_what_the_servers_figures_leave_of_its_total_is_unexplained() -> None:
    # Round trip 19.5 ms, of which 17 in the server: 5 of wait, 10 with the worker, 8 of them compute; 2 are left.
    found = parts_of([told_by_headers(executed(), counts())], None)
    assert (found.source, found.each, len(found.requests)) == ("headers, counters and log", True, 1000)
    told = mean(found.requests)
    assert told == pytest.approx(
        {"response_s": 0.020, "dispatch_delay_s": 0.0005, "queue_wait_s": 0.005, "compute_s": 0.008,
         "handover_s": 0.002, "network_s": 0.0025}
    )  # fmt: skip
    assert told["response_s"] - sum(told[name] for name in PARTS) == pytest.approx(0.002)


def test_without_the_log_the_handover_is_what_the_other_figures_leave_and_nothing_is_unexplained() -> None:
    found = parts_of([told_by_headers(executed(), counts(held_s=None))], None)
    assert found.source == "headers and counters: handover is what they leave over"
    told = mean(found.requests)
    assert told["handover_s"] == pytest.approx(0.004)
    assert told["response_s"] == pytest.approx(sum(told[name] for name in PARTS))


def test_a_slow_request_has_the_wait_of_its_own() -> None:
    wait_s = np.full(N, 0.004)
    wait_s[1000:1012] = 0.104
    found = parts_of([told_by_headers(executed(wait_s=wait_s), counts(wait_s=float(wait_s.mean())))], None)
    assert found.requests["queue_wait_s"].max() == pytest.approx(0.104)


def test_replications_are_pooled() -> None:
    one = told_by_headers(executed(), counts())
    assert len(parts_of([one, replace(one, replication=2)], None).requests) == 2000


# ---- traces


def traced(frame: pd.DataFrame | None = None) -> Point:
    """Each request 18 ms in the server: 5 of wait, 8 of compute, 3 of handover."""
    frame = executed() if frame is None else frame
    return point(frame.assign(queue_wait_s=0.005, handover_s=0.003, server_s=0.018))


def test_traces_tell_each_part_of_each_request_and_come_first() -> None:
    found = parts_of([told_by_headers(executed(), counts())], traced())
    assert (found.source, found.each) == ("traces", True)
    assert mean(found.requests) == pytest.approx(
        {"response_s": 0.020, "dispatch_delay_s": 0.0005, "queue_wait_s": 0.005, "compute_s": 0.008,
         "handover_s": 0.003, "network_s": 0.0015}
    )  # fmt: skip


def test_requests_without_a_trace_are_left_out_and_with_many_of_them_the_counters_tell() -> None:
    few, many = traced(), traced()
    few.rows.loc[few.rows.index[500:520], "server_s"] = math.nan
    many.rows.loc[many.rows.index[500:600], "server_s"] = math.nan
    assert len(parts_of([], few).requests) == 980
    counted = Counted(N, N * 0.005, N * 0.008, N // 3, N * 0.018, N, N * 0.011)
    assert parts_of([point(counted=counted)], many).source == "counters"


# ---- counters, and nothing


def test_counters_tell_the_means_of_the_whole_point_and_of_no_single_request() -> None:
    counted = Counted(N, N * 0.005, N * 0.008, N // 3, N * 0.018, N, N * 0.011)
    found = parts_of([point(rows(steady(), late_s=0.0005), counted=counted)], None)
    assert (found.source, found.each, len(found.requests)) == ("counters", False, N)
    assert mean(found.requests) == pytest.approx(
        {"response_s": 0.020, "dispatch_delay_s": 0.0005, "queue_wait_s": 0.005, "compute_s": 0.008,
         "handover_s": 0.003, "network_s": 0.0015}
    )  # fmt: skip
    assert (found.requests["batch_size"] == 3).all()


@pytest.mark.parametrize("counted", [None, Counted(N, 6.0, 9.6, 400)], ids=["nothing", "a run of before"])
def test_a_server_that_tells_no_total_leaves_what_the_client_sees(counted: Counted | None) -> None:
    found = parts_of([point(counted=counted)], None)
    assert (found.source, found.each) == ("the client alone", False)
    assert found.requests["response_s"].tolist() == pytest.approx([0.020] * 1000)
    assert found.requests[list(PARTS[1:])].isna().all().all()


def test_of_no_point_there_are_no_requests() -> None:
    assert len(parts_of([], None).requests) == 0
    assert len(parts_of([point(fail(rows(steady()), slice(0, N), 503, "queue full"))], None).requests) == 0
