"""gRPC's codes and texts as outcomes: a server's answer apart from an error of gRPC's own."""

from __future__ import annotations

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata

from bench.clients.grpc_status import HTTP_STATUS, failed
from bench.clients.outcome import Outcome

REFUSED = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
    "Failed to connect to remote host: Connection refused"
)
HTTP1 = (
    "failed to connect to all addresses; last error: INTERNAL: ipv4:127.0.0.1:1: Failed parsing HTTP/2 (Expected "
    "SETTINGS frame as the first frame, got frame type 80) (Trying to connect an http1.x server (HTTP status 400))"
)


def outcome(code: StatusCode, text: str) -> Outcome:
    return failed(AioRpcError(code, Metadata(), Metadata(), text))


@pytest.mark.parametrize(
    ("code", "status", "number"),
    [
        (StatusCode.INVALID_ARGUMENT, 400, "3"),
        (StatusCode.NOT_FOUND, 404, "5"),
        (StatusCode.RESOURCE_EXHAUSTED, 429, "8"),
        (StatusCode.UNIMPLEMENTED, 501, "12"),
        (StatusCode.INTERNAL, 500, "13"),
        (StatusCode.UNAVAILABLE, 503, "14"),
    ],
)
def test_an_answer_of_the_server_keeps_its_text_and_has_the_http_status_of_its_code(
    code: StatusCode, status: int, number: str
) -> None:
    expected = Outcome(status, {"grpc-status": number}, "läuft nicht".encode(), f"gRPC {code.name}")
    assert outcome(code, "läuft nicht") == expected


def test_every_code_but_the_deadline_has_a_status() -> None:
    assert set(StatusCode) - set(HTTP_STATUS) == {StatusCode.DEADLINE_EXCEEDED}


@pytest.mark.parametrize(
    ("code", "text", "cause"),
    [
        (StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", "timeout"),
        (StatusCode.DEADLINE_EXCEEDED, "Stream removed (Deadline Exceeded)", "timeout"),
        (StatusCode.UNAVAILABLE, REFUSED, "connection refused"),
        (StatusCode.UNAVAILABLE, HTTP1, "malformed response"),
        (
            StatusCode.UNAVAILABLE,
            "failed to connect to all addresses; last error: UNKNOWN: Too many open files",
            "too many open files",
        ),
        (
            StatusCode.UNAVAILABLE,
            "failed to connect to all addresses; last error: Socket closed",
            "connection failed",
        ),
        (StatusCode.UNAVAILABLE, "Stream removed (Socket closed)", "connection closed"),
        (StatusCode.UNAVAILABLE, "recvmsg:Connection reset by peer", "connection closed"),
        (
            StatusCode.UNAVAILABLE,
            "Stream removed (RST_STREAM (Received RST_STREAM with error code 7))",
            "stream refused",
        ),
        (StatusCode.INTERNAL, "Received RST_STREAM with error code 2", "response cut short"),
        (
            StatusCode.RESOURCE_EXHAUSTED,
            "Stream removed (CLIENT: Received message larger than max (9 vs. 4))",
            "response too large",
        ),
    ],
)
def test_an_error_of_grpcs_own_is_no_answer(code: StatusCode, text: str, cause: str) -> None:
    assert outcome(code, text) == Outcome(0, {}, b"", cause)


def test_a_full_queue_is_an_answer_though_its_code_is_that_of_a_lost_connection() -> None:
    assert outcome(StatusCode.UNAVAILABLE, "Exceeds maximum queue size").status == 503
