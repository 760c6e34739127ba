"""What each generator's output is read as, from small recorded samples."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bench.errors import MeasurementInvalid
from benchmarks.cell import Cell
from benchmarks.latency import Latency
from benchmarks.names import ASYNC, HEY, LOCUST, OURS, PACING, WRK
from benchmarks.null_model import TENSOR, http_request, request_bytes
from benchmarks.tool_hey import Hey
from benchmarks.tool_locust import Locust
from benchmarks.tool_perf_analyzer import PerfAnalyzer
from benchmarks.tool_serve_bench import ServeBench
from benchmarks.tool_wrk import Wrk, lua

CELL = Cell(PACING, ASYNC, "poisson", 500, 2.0, 1)

HEY_CSV = """\
response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0094,0.0090,0.0000,0.0001,0.0002,0.0000,200,0.0656
0.0004,0.0000,0.0000,0.0001,0.0003,0.0000,200,0.0855
0.0006,0.0000,0.0000,0.0001,0.0004,0.0000,503,0.1054
"""


def test_every_tool_sends_the_same_body() -> None:
    request = http_request()
    head, _, body = request_bytes(8000).partition(b"\r\n\r\n")
    assert body == request.body
    assert body[request.json_length :] == TENSOR
    assert f"POST {request.path} HTTP/1.1".encode() in head
    for name, value in request.headers.items():
        assert f"\r\n{name}: {value}\r\n".encode() in head + b"\r\n"


def test_perf_analyzers_figures_come_from_its_csv_and_its_count_from_its_output(tmp_path: Path) -> None:
    text = "Request Rate,Inferences/Second,p50 latency,p90 latency,p95 latency,p99 latency\n500,374.9,191,272,316,415\n"
    (tmp_path / "perf_analyzer.csv").write_text(text)
    told = PerfAnalyzer(ASYNC, "pa").told(CELL, "  Client: \n    Request count: 998\n", tmp_path)
    assert (told.planned, told.ok) == (1000, 998)
    assert (told.latency.p50_s, told.latency.p99_s) == pytest.approx((191e-6, 415e-6))
    assert math.isnan(told.latency.max_s)


def test_a_tool_that_leaves_no_result_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(MeasurementInvalid, match="Thread \\[0\\] had error: HTTP client failed"):
        PerfAnalyzer(ASYNC, "pa").told(CELL, "start\nThread [0] had error: HTTP client failed\nbye\n", tmp_path)


def test_wrks_failed_answers_are_no_answers(tmp_path: Path) -> None:
    output = "  264043 requests in 2.10s, 74.80MB read\n  Non-2xx or 3xx responses: 43\n"
    assert Wrk(WRK, "wrk").told(CELL, output, tmp_path).ok == 264_000


def test_any_byte_can_be_sent_by_wrk() -> None:
    assert lua(b'\x00"\\\xff') == 'request = function() return "\\000\\034\\092\\255" end\n'


def test_hey_shares_the_rate_out_among_its_workers_and_sends_the_body_from_a_file(tmp_path: Path) -> None:
    command = Hey(HEY, "hey").command(Cell(PACING, HEY, "constant", 500, 1.5, 1), 8000, tmp_path)
    assert command[command.index("-c") + 1] == "10"
    assert command[command.index("-q") + 1] == "50"
    assert command[command.index("-z") + 1] == "1.5s"
    assert Path(command[command.index("-D") + 1]).read_bytes() == http_request().body


def test_heys_latencies_are_exact_and_a_503_is_no_success(tmp_path: Path) -> None:
    told = Hey(HEY, "hey").told(CELL, HEY_CSV, tmp_path)
    assert (told.planned, told.ok) == (3, 2)
    assert told.latency == Latency(0.0006, pytest.approx(0.0006 + 0.98 * 0.0088), 0.0094)


def test_a_warning_before_heys_table_is_passed_over(tmp_path: Path) -> None:
    assert Hey(HEY, "hey").told(CELL, "some warning, with commas\n" + HEY_CSV, tmp_path).planned == 3


@pytest.mark.parametrize("output", ["", HEY_CSV.splitlines()[0] + "\n", HEY_CSV + "0.0004,0.0000\nrun failed,\n"])
def test_hey_without_a_whole_table_left_no_result(output: str, tmp_path: Path) -> None:
    with pytest.raises(MeasurementInvalid, match="hey: no result"):
        Hey(HEY, "hey").told(CELL, output, tmp_path)


@pytest.mark.parametrize(("rate", "users"), [(500, 10), (5000, 100), (1010, 21)])
def test_locusts_users_times_their_throughput_are_the_rate(rate: float, users: int, tmp_path: Path) -> None:
    command = Locust(LOCUST, "locust").command(Cell(PACING, LOCUST, "constant", rate, 1.5, 1), 8000, tmp_path)
    assert command[command.index("-u") + 1] == command[command.index("-r") + 1] == str(users)
    file = Path(command[command.index("-f") + 1]).read_text()
    assert f"constant_throughput({rate / users!r})" in file
    assert repr(http_request().body) in file
    compile(file, "locustfile.py", "exec")


def test_locusts_latencies_are_those_of_its_request_events_and_failures_are_planned_too(tmp_path: Path) -> None:
    said = {"latencies_ms": [47.1, 1.3, 2.1], "failed": 2, "first_failure": ["timed out"]}
    (tmp_path / "locust.json").write_text(json.dumps(said))
    told = Locust(LOCUST, "locust").told(CELL, "", tmp_path)
    assert (told.planned, told.ok) == (5, 3)
    assert (told.latency.p50_s, told.latency.max_s) == pytest.approx((0.0021, 0.0471))


def test_locust_that_never_wrote_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(MeasurementInvalid, match="Locust: no result; it said: ModuleNotFoundError"):
        Locust(LOCUST, "locust").told(CELL, "ModuleNotFoundError: no gevent\n", tmp_path)


def test_ours_is_timed_from_the_schedule_and_from_the_send_beside_it(tmp_path: Path) -> None:
    times = {"scheduled_ns": [0, 10], "sent_ns": [2, -1], "completed_ns": [7, -1]}
    np.savez(tmp_path / "times.npz", **{name: np.array(column, dtype=np.int64) for name, column in times.items()})
    said = {"scheduled": 2, "sent": 1, "ok": 1, "start_ns": 1000, "rows": 0, "peak_bytes": 5}
    told = ServeBench(OURS).told(CELL, json.dumps(said) + "\n", tmp_path)
    assert (told.planned, told.ok, told.start_ns, told.peak_bytes) == (2, 1, 1000, 5)
    assert told.latency == Latency(7e-9, 7e-9, 7e-9)
    assert told.from_send == Latency(5e-9, 5e-9, 5e-9)


def test_ours_over_grpc_has_a_receiver_of_its_own() -> None:
    ours = ServeBench("x", protocol="grpc")
    assert ours.receiver == "benchmarks.grpc_receiver"
    assert "--protocol=grpc" in ours.command(CELL, 1, Path())
