"""What a gRPC error says of one request, in the terms that HTTP outcomes have.

A server's gRPC code and an error of the client's own arrive as the same thing, and one code stands for several
causes: UNAVAILABLE is a full queue on Triton, and a lost connection in gRPC itself. The text tells them apart.
"""

from __future__ import annotations

from grpc import StatusCode  # type: ignore[import-untyped]
from grpc.aio import AioRpcError  # type: ignore[import-untyped]

from bench.clients import outcome as causes
from bench.clients.outcome import Outcome, unanswered

# The HTTP equivalents that google.rpc.Code documents. DEADLINE_EXCEEDED is not among them: the deadline is ours.
HTTP_STATUS: dict[StatusCode, int] = {
    StatusCode.OK: 200,
    StatusCode.INVALID_ARGUMENT: 400,
    StatusCode.FAILED_PRECONDITION: 400,
    StatusCode.OUT_OF_RANGE: 400,
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.NOT_FOUND: 404,
    StatusCode.ALREADY_EXISTS: 409,
    StatusCode.ABORTED: 409,
    StatusCode.RESOURCE_EXHAUSTED: 429,
    StatusCode.CANCELLED: 499,
    StatusCode.UNKNOWN: 500,
    StatusCode.INTERNAL: 500,
    StatusCode.DATA_LOSS: 500,
    StatusCode.UNIMPLEMENTED: 501,
    StatusCode.UNAVAILABLE: 503,
}

# How the texts of gRPC's own errors begin; a server's text comes as the server wrote it.
_OWN_ERRORS = (
    "failed to connect to all addresses",
    "Stream removed (",
    "Socket closed",
    "Delayed close",
    "Received RST_STREAM",
    "GOAWAY received",
    "Connection reset by peer",
    "Broken pipe",
    "recvmsg:",
    "keepalive watchdog timeout",
    "CLIENT: Received message larger than max",
    "Cancelling all calls",  # sent by a server of gRPC's C++ core that ends
    "max connection age",  # and by one that limits it
)
# (text, cause) for an error of gRPC's own: the first that fits.
_OWN_CAUSES = (
    ("Received message larger than max", causes.TOO_LARGE),
    ("RST_STREAM with error code 7", causes.STREAM_REFUSED),
    ("Connection refused", causes.CONNECTION_REFUSED),
    ("Too many open files", causes.NO_DESCRIPTORS),
    ("Failed parsing HTTP/2", causes.MALFORMED),
    ("failed to connect", causes.CONNECTION_FAILED),
    ("RST_STREAM", causes.CUT_SHORT),
    ("", causes.CONNECTION_CLOSED),
)


def failed(error: AioRpcError) -> Outcome:
    """The outcome of a call that did not end with OK.

    An answer of the server has the HTTP equivalent of its code as `status`, the code's number in the header
    'grpc-status', the server's text as `body` and 'gRPC <CODE>' as `cause`. Where no answer came, `status` is 0.
    """
    code: StatusCode = error.code()
    text: str = error.details() or ""
    if code is StatusCode.DEADLINE_EXCEEDED:
        return unanswered(causes.TIMEOUT)
    if text.startswith(_OWN_ERRORS):
        return unanswered(next(cause for mark, cause in _OWN_CAUSES if mark in text))
    return Outcome(HTTP_STATUS[code], {"grpc-status": str(code.value[0])}, text.encode(), f"gRPC {code.name}")
