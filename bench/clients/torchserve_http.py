"""TorchServe's HTTP inference protocol: raw bytes to /predictions/{model}, the handler's bytes back.

The generated handlers tell of each execution in three response headers: `x-batch-size`, the requests executed
together; `x-handler-started-ns`, when that one execution began by its machine's monotonic clock; and
`x-handler-time-ns`, how long it took.
"""

from __future__ import annotations

from urllib.parse import quote

from bench.clients.outcome import OUT_OF_RESOURCES, WORKER_DIED, WORKER_KILLED, Outcome, cause_by_text
from bench.measure.requests import QUEUE_FULL

# (statuses, text in the body, cause): the first that fits. One status stands for several causes, so the text
# decides. Over gRPC the text is the same; the status is the HTTP equivalent of the code, and that is INTERNAL (500)
# for a full queue, an unknown model, and every 507.
_CAUSES = (
    ((503, 500), b"has no worker to serve", f"{QUEUE_FULL} or no workers"),
    ((503,), b"number of batch response mismatched", "wrong output count"),
    ((503,), b"Invalid model predict output", "invalid output"),
    ((503,), b"Prediction failed", "handler raised"),
    ((507,), b"Worker died", WORKER_KILLED),
    ((507,), b"", OUT_OF_RESOURCES),
    ((500,), b"Out of resources", OUT_OF_RESOURCES),
    ((500,), b"Worker died", WORKER_DIED),
    ((404,), b"", "model not found"),
    ((500,), b"Model not found", "model not found"),
    ((500,), b"not found for model", "model not found"),
    ((400, 401, 403), b"Token Authorization failed", "token refused"),
    ((405,), b"", "method not allowed"),
    ((413,), b"", "request too large"),
    ((429,), b"exceeds maximum size", "request too large"),
)


def predict_request(model: str, body: bytes, host: str, content_type: str = "application/octet-stream") -> bytes:
    """A whole HTTP request, ready to be written. `host` is 'name:port'."""
    return (
        f"POST /predictions/{quote(model, safe='')} HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def error_cause(outcome: Outcome) -> str:
    """Why a request failed, in a few words ('handler raised', 'worker died', …); '' for a 200 or a gRPC OK.

    A full queue and a model without workers give the same answer: GET /models/{model} tells which it was.
    """
    return cause_by_text(outcome, _CAUSES)


def executed(outcome: Outcome) -> tuple[int, float] | None:
    """(batch size, seconds in the handler) of the execution behind this answer; None where it is not told."""
    try:
        return int(outcome.headers["x-batch-size"]), int(outcome.headers["x-handler-time-ns"]) / 1e9
    except (KeyError, ValueError):
        return None


def started_ns(outcome: Outcome) -> int:
    """When the execution behind this answer began, by the monotonic clock of its machine; -1 where it is not told."""
    try:
        return int(outcome.headers["x-handler-started-ns"])
    except (KeyError, ValueError):
        return -1
