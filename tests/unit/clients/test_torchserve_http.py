"""TorchServe's requests, the meanings of its statuses, and the headers of the generated handler."""

from __future__ import annotations

import pytest

from bench.clients.outcome import Outcome
from bench.clients.torchserve_http import error_cause, executed, predict_request, started_ns


def test_a_request_is_a_post_of_the_bytes() -> None:
    assert predict_request("m", b"\x00\r\n\r\n\x01", "127.0.0.1:8080") == (
        b"POST /predictions/m HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: 6\r\n\r\n\x00\r\n\r\n\x01"
    )


@pytest.mark.parametrize(
    ("status", "message", "cause"),
    [
        (
            503,
            'Model \\"m\\" has no worker to serve inference request. Please use scale',
            "queue full or no workers",
        ),
        (503, "Prediction failed", "handler raised"),
        (503, "number of batch response mismatched, expect: 1, got: 8.", "wrong output count"),
        (503, "Invalid model predict output", "invalid output"),
        (507, "Out of resources", "out of resources"),
        (507, "Worker died.", "worker killed, often for memory"),
        (500, "Worker died.", "worker died"),
        (404, "Model not found: m", "model not found"),
        (400, "Token Authorization failed. Token either incorrect", "token refused"),
        (405, "", "method not allowed"),
        (413, "", "request too large"),
        (503, "something new", "HTTP 503"),
    ],
)
def test_causes_by_status_and_text(status: int, message: str, cause: str) -> None:
    body = f'{{"code":{status},"type":"t","message":"{message}"}}'.encode()
    assert error_cause(Outcome(status, {}, body, f"HTTP {status}")) == cause


def test_a_200_has_no_cause_and_no_answer_keeps_its_own() -> None:
    assert error_cause(Outcome(200, {}, b"Prediction failed", "")) == ""
    assert error_cause(Outcome(0, {}, b"", "connection closed")) == "connection closed"


def test_the_execution_is_read_from_the_headers() -> None:
    assert executed(Outcome(200, {"x-batch-size": "4", "x-handler-time-ns": "2500000"}, b"", "")) == (
        4,
        0.0025,
    )


@pytest.mark.parametrize("headers", [{}, {"x-batch-size": "4"}, {"x-batch-size": "four", "x-handler-time-ns": "1"}])
def test_without_whole_headers_there_is_no_execution(headers: dict[str, str]) -> None:
    assert executed(Outcome(200, headers, b"", "")) is None


def test_the_start_of_an_execution_is_told_by_a_header_or_not_at_all() -> None:
    assert started_ns(Outcome(200, {"x-handler-started-ns": "123456789"}, b"", "")) == 123456789
    assert started_ns(Outcome(200, {}, b"", "")) == -1
    assert started_ns(Outcome(200, {"x-handler-started-ns": "soon"}, b"", "")) == -1
