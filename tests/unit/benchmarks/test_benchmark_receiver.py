"""What the receiver answers, whole, in pieces and several requests at once; and how tools' outputs are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from bench.clients.outcome import Outcome
from bench.clients.triton_http import infer_request, parse_infer_response
from bench.errors import MeasurementInvalid
from benchmarks.plan import ASYNC, PACING, Cell
from benchmarks.receiver import INPUT, MODEL, OUTPUT, WIDTH, Connection, Log, control_answer
from benchmarks.tools import PerfAnalyzer, Wrk, lua

REQUEST = infer_request(MODEL, {INPUT: np.zeros((1, WIDTH), np.float32)}, [OUTPUT], "h:1", "0_17")


class Kept:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data


def connected() -> tuple[Connection, Kept, Log]:
    log, kept = Log(capacity=10), Kept()
    connection = Connection(log, {})
    connection.connection_made(cast("object", kept))  # type: ignore[arg-type]
    return connection, kept, log


def body_of(answer: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = [line.split(": ") for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body


def test_an_inference_is_answered_as_triton_does_with_its_id() -> None:
    connection, kept, log = connected()
    connection.data_received(REQUEST)
    headers, body = body_of(kept.written)
    assert parse_infer_response(Outcome(200, headers, body, ""))[OUTPUT].shape == (1, WIDTH)
    assert json.loads(body[: int(headers["inference-header-content-length"])])["id"] == "0_17"
    assert log.count == 1


def test_a_request_in_pieces_is_one_arrival_stamped_at_its_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, kept, log = connected()
    clock = iter(range(1000, 10_000))
    monkeypatch.setattr("benchmarks.receiver.perf_counter_ns", lambda: next(clock))
    for at in range(0, len(REQUEST), 20):
        assert not kept.written
        connection.data_received(REQUEST[at : at + 20])
    assert (log.count, log.times[0]) == (1, 1000)
    connection.data_received(REQUEST)
    assert log.count == 2
    assert log.times[1] > 1001


def test_requests_that_come_together_are_all_answered() -> None:
    connection, kept, log = connected()
    connection.data_received(REQUEST * 3 + REQUEST[:50])
    assert (log.count, kept.written.count(b"HTTP/1.1 200 OK")) == (3, 3)
    connection.data_received(REQUEST[50:])
    assert log.count == 4


def test_a_full_log_goes_on_counting(tmp_path: Path) -> None:
    log = Log(capacity=2)
    for now_ns in (5, 6, 7):
        log.arrived(now_ns)
    log.write(tmp_path / "log")
    assert log.count == 3
    assert np.fromfile(tmp_path / "log", dtype=np.int64).tolist() == [5, 6]


@pytest.mark.parametrize("path", [f"/v2/models/{MODEL}", f"/v2/models/{MODEL}/versions/1/config", "/v2/health/ready"])
def test_what_a_client_asks_before_load_is_there(path: str) -> None:
    assert control_answer(f"GET {path} HTTP/1.1".encode(), 0).startswith(b"HTTP/1.1 200 OK")


def test_another_path_is_not_found() -> None:
    assert control_answer(b"GET /v2/models/other HTTP/1.1", 0).startswith(b"HTTP/1.1 404")


CELL = Cell(PACING, ASYNC, "poisson", 500, 2.0, 1)


def test_perf_analyzers_figures_come_from_its_csv_and_its_count_from_its_output(tmp_path: Path) -> None:
    text = "Request Rate,Inferences/Second,p50 latency,p90 latency,p95 latency,p99 latency\n500,374.9,191,272,316,415\n"
    (tmp_path / "perf_analyzer.csv").write_text(text)
    told = PerfAnalyzer(ASYNC, "pa").told(CELL, "  Client: \n    Request count: 998\n", tmp_path)
    assert (told.planned, told.ok) == (1000, 998)
    assert (told.p50_s, told.p99_s) == pytest.approx((191e-6, 415e-6))


def test_a_tool_that_leaves_no_result_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(MeasurementInvalid, match="Thread \\[0\\] had error: HTTP client failed"):
        PerfAnalyzer(ASYNC, "pa").told(CELL, "start\nThread [0] had error: HTTP client failed\nbye\n", tmp_path)


def test_wrks_failed_answers_are_no_answers(tmp_path: Path) -> None:
    output = "  264043 requests in 2.10s, 74.80MB read\n  Non-2xx or 3xx responses: 43\n"
    assert Wrk("wrk").told(CELL, output, tmp_path).ok == 264_000


def test_any_byte_can_be_sent_by_wrk() -> None:
    assert lua(b'\x00"\\\xff') == 'request = function() return "\\000\\034\\092\\255" end\n'
