"""What became of one request, as far as HTTP tells."""

from __future__ import annotations

from dataclasses import dataclass

TIMEOUT = "timeout"
CONNECTION_REFUSED = "connection refused"
CONNECTION_FAILED = "connection failed"
CONNECTION_CLOSED = "connection closed"
CUT_SHORT = "response cut short"
MALFORMED = "malformed response"
TOO_LARGE = "response too large"
NO_DESCRIPTORS = "too many open files"
POOL_CLOSED = "pool closed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer, or the reason why there was none.

    `status` is the HTTP status, 0 when no whole answer came; `headers` have lower-case names, the last of
    equal names wins; `body` is whole and unchunked. `cause` is '' for a 200, 'HTTP <status>' for any other
    answer, and one of this module's constants when there was no answer. A client module's `error_cause` says
    more of a non-200.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    cause: str


def unanswered(cause: str) -> Outcome:
    """The outcome of a request that got no whole HTTP answer."""
    return Outcome(0, {}, b"", cause)
