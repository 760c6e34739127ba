"""What became of one request, as far as HTTP or gRPC tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TIMEOUT = "timeout"
CONNECTION_REFUSED = "connection refused"
CONNECTION_FAILED = "connection failed"
CONNECTION_CLOSED = "connection closed"
CUT_SHORT = "response cut short"
STREAM_REFUSED = "stream refused"  # gRPC: over the number that the server takes on one connection
MALFORMED = "malformed response"
TOO_LARGE = "response too large"
NO_DESCRIPTORS = "too many open files"
POOL_CLOSED = "pool closed"
# What a server says of a batch that it had no memory for. A killed worker is most often the kernel's doing.
OUT_OF_RESOURCES = "out of resources"
WORKER_KILLED = "worker killed, often for memory"
WORKER_DIED = "worker died"


class Outcome(NamedTuple):
    """One answer, or the reason why there was none.

    `status` is the HTTP status, 0 when no whole answer came; `headers` have lower-case names, the last of
    equal names wins; `body` is whole and unchunked. `cause` is '' for a 200, 'HTTP <status>' for any other
    answer, and one of this module's constants when there was no answer. A client module's `error_cause` says
    more of a non-200.

    Of a gRPC call, `status` is 200 for OK and else the HTTP equivalent of the code, `body` is the response message
    or the error's text, and `cause` of an answer that is not OK is 'gRPC <CODE>'.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    cause: str


def unanswered(cause: str) -> Outcome:
    """The outcome of a request that got no whole answer."""
    return Outcome(0, {}, b"", cause)


def cause_by_text(outcome: Outcome, causes: Sequence[tuple[tuple[int, ...], bytes, str]]) -> str:
    """The cause of the first (statuses, text in the body, cause) that fits a server's error; else the outcome's own."""
    if outcome.status in (0, 200):
        return outcome.cause
    for statuses, text, cause in causes:
        if outcome.status in statuses and text in outcome.body:
            return cause
    return outcome.cause
