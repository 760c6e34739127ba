"""What the receivers answer, whole, in pieces and several requests at once."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import cast

import pytest

from bench.clients import triton_grpc
from bench.clients.outcome import Outcome
from bench.clients.triton_http import infer_request, parse_infer_response
from benchmarks.arrival_log import ArrivalLog
from benchmarks.grpc_receiver import Calls, infer_answer
from benchmarks.null_model import INPUT, MODEL, OUTPUT, WIDTH, row
from benchmarks.receiver import Connection
from benchmarks.receiver_control import control_answer

REQUEST = infer_request(MODEL, {INPUT: row()}, [OUTPUT], "h:1", "0_17")


class Kept:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data


def connected() -> tuple[Connection, Kept, ArrivalLog]:
    log, kept = ArrivalLog(capacity=10), Kept()
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


@pytest.mark.parametrize("path", [f"/v2/models/{MODEL}", f"/v2/models/{MODEL}/versions/1/config", "/v2/health/ready"])
def test_what_a_client_asks_before_load_is_there(path: str) -> None:
    assert control_answer(f"GET {path} HTTP/1.1".encode(), 0).startswith(b"HTTP/1.1 200 OK")


def test_another_path_is_not_found() -> None:
    assert control_answer(b"GET /v2/models/other HTTP/1.1", 0).startswith(b"HTTP/1.1 404")


def test_over_grpc_the_answer_is_one_that_tritons_client_reads() -> None:
    tensors = triton_grpc.parse_infer_response(Outcome(200, {}, infer_answer(), ""))
    assert tensors[OUTPUT].shape == (1, WIDTH)


def test_over_grpc_each_inference_is_an_arrival_and_no_other_method_is_served() -> None:
    log = ArrivalLog(capacity=10)
    calls = Calls(log)
    assert asyncio.run(calls.infer(b"", None)) == infer_answer()
    assert log.count == 1
    assert calls.service(SimpleNamespace(method=triton_grpc.METHOD)) is not None
    assert calls.service(SimpleNamespace(method="/inference.GRPCInferenceService/ServerLive")) is None
